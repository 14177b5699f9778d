"""Early stopping by a metric or scorer of choice: rounds are compared by what the model after each of them scores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import get_scorer, make_scorer, mean_absolute_error

import arboretum as arb
from arboretum.metrics import concordance_index, ndcg_score, qini_score
from arboretum.metrics.named import named_metrics

RNG = np.random.default_rng(0)
N = 400
X = RNG.normal(size=(N, 4))
NUMBERS = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + RNG.normal(size=N) / 2
BINARY = np.where(NUMBERS > 0, "yes", "no")
CLASSES = np.array(["low", "mid", "high"])[np.digitize(NUMBERS, [-0.5, 0.8])]
GRADES, QUERY = np.digitize(NUMBERS, [-0.5, 0.5, 1.2]), np.arange(N) // 10
EVENTS = np.empty(N, dtype=[("event", bool), ("time", float)])
EVENTS["event"], EVENTS["time"] = RNG.random(N) < 0.7, np.exp(-NUMBERS)
TREATED = RNG.integers(0, 2, N)
QUICK = {"n_estimators": 25, "learning_rate": 0.3, "n_iter_no_change": 5, "refit": False}
INSIDE, HELD = np.arange(300), np.arange(300, N)


def absolute(model, X, y, sample_weight=None):
    return -mean_absolute_error(y, model.predict(X), sample_weight=sample_weight)


def right(model, X, y):
    return float((model.predict(X) == y).mean())


def within(model, X, y, group):
    return ndcg_score(y, model.predict(X), group)


def ordered(model, X, y):
    return concordance_index(y, model.predict(X))


# Estimator, target, what is scored by, and the same by hand: a function of the model of some rounds.
CASES = {
    "numbers, rmse": (
        "Regressor",
        NUMBERS,
        "rmse",
        lambda m: np.sqrt(np.mean((m.predict(X[HELD]) - NUMBERS[HELD]) ** 2)),
    ),
    "numbers, r2": ("Regressor", NUMBERS, "r2", lambda m: m.score(X[HELD], NUMBERS[HELD])),
    "numbers, None": ("Regressor", NUMBERS, None, lambda m: m.score(X[HELD], NUMBERS[HELD])),
    "numbers, scikit-learn": (
        "Regressor",
        NUMBERS,
        "neg_median_absolute_error",
        lambda m: get_scorer("neg_median_absolute_error")(m, X[HELD], NUMBERS[HELD]),
    ),
    "numbers, made": (
        "Regressor",
        NUMBERS,
        make_scorer(mean_absolute_error, greater_is_better=False),
        lambda m: absolute(m, X[HELD], NUMBERS[HELD]),
    ),
    "numbers, function": ("Regressor", NUMBERS, absolute, lambda m: absolute(m, X[HELD], NUMBERS[HELD])),
    "two classes, roc_auc": (
        "Classifier",
        BINARY,
        "roc_auc",
        lambda m: get_scorer("roc_auc")(m, X[HELD], BINARY[HELD]),
    ),
    "two classes, average_precision": (
        "Classifier",
        BINARY == "yes",
        "average_precision",
        lambda m: get_scorer("average_precision")(m, X[HELD], (BINARY == "yes")[HELD]),
    ),
    "classes, accuracy": ("Classifier", CLASSES, "accuracy", lambda m: m.score(X[HELD], CLASSES[HELD])),
    "classes, None": ("Classifier", CLASSES, None, lambda m: m.score(X[HELD], CLASSES[HELD])),
    "classes, log_loss": (
        "Classifier",
        CLASSES,
        "log_loss",
        lambda m: -get_scorer("neg_log_loss")(m, X[HELD], CLASSES[HELD]),
    ),
    "classes, scikit-learn": (
        "Classifier",
        CLASSES,
        "f1_macro",
        lambda m: get_scorer("f1_macro")(m, X[HELD], CLASSES[HELD]),
    ),
    "classes, function": ("Classifier", CLASSES, right, lambda m: right(m, X[HELD], CLASSES[HELD])),
    "ranking, ndcg@3": (
        "Ranker",
        GRADES,
        "ndcg@3",
        lambda m: ndcg_score(GRADES[HELD], m.predict(X[HELD]), QUERY[HELD], k=3),
    ),
    "ranking, None": ("Ranker", GRADES, None, lambda m: m.score(X[HELD], GRADES[HELD], QUERY[HELD])),
    "ranking, function": ("Ranker", GRADES, within, lambda m: m.score(X[HELD], GRADES[HELD], QUERY[HELD])),
    "survival, concordance": ("Survival", EVENTS, "concordance", lambda m: m.score(X[HELD], EVENTS[HELD])),
    "survival, function": ("Survival", EVENTS, ordered, lambda m: m.score(X[HELD], EVENTS[HELD])),
}


def fitted(kind, y, scoring, **params):
    groups = {"group": QUERY[INSIDE], "group_val": QUERY[HELD]} if kind == "Ranker" else {}
    model = getattr(arb, f"BoostedTrees{kind}")(**{**QUICK, "scoring": scoring, **params})
    return model.fit(X[INSIDE], y[INSIDE], X_val=X[HELD], y_val=y[HELD], **groups)


@pytest.mark.parametrize("case", CASES)
def test_rounds_have_the_scores_of_the_models_after_them(case):
    kind, y, scoring, by_hand = CASES[case]
    model = fitted(kind, y, scoring, early_stopping=False)
    history = model.history_
    assert len(history.validation_score) == len(history.validation_loss) == model.n_iter_ == 25
    for n_rounds in (1, 7, 25):
        assert history.validation_score[n_rounds - 1] == pytest.approx(by_hand(model.first_rounds(n_rounds)), rel=1e-9)
    assert history.greater_is_better == (scoring not in ("rmse", "log_loss"))
    best = np.argmax if history.greater_is_better else np.argmin
    assert history.best_round == best(history.validation_score) + 1


@pytest.mark.parametrize("case", ["numbers, rmse", "classes, accuracy", "ranking, ndcg@3", "survival, concordance"])
def test_the_best_round_by_score_is_kept(case):
    kind, y, scoring, _ = CASES[case]
    model, watched = fitted(kind, y, scoring), fitted(kind, y, scoring, early_stopping=False)
    scores = watched.history_.validation_score
    assert model.history_.validation_score == scores[: len(model.history_.validation_score)]
    assert model.n_iter_ == model.history_.best_round
    np.testing.assert_array_equal(model.forest_.value, watched.first_rounds(model.n_iter_).forest_.value)
    if model.history_.stopped_by == "early stopping":
        assert len(model.history_.validation_score) == model.n_iter_ + 5


def test_tol_is_by_how_much_a_round_must_be_better():
    exact, coarse = (fitted("Regressor", NUMBERS, "rmse", n_estimators=200, tol=tol) for tol in (0.0, 0.05))
    scores = np.array(coarse.history_.validation_score)
    assert scores[-5:].min() >= scores[:-5].min() - 0.05
    assert len(scores) < len(exact.history_.validation_score)
    assert coarse.n_iter_ == scores.argmin() + 1
    losses = [fitted("Regressor", NUMBERS, "loss", n_estimators=200, tol=tol).history_ for tol in (0.0, 0.05)]
    assert len(losses[1].validation_loss) < len(losses[0].validation_loss)
    assert losses[1].validation_score == []


def test_refit_takes_the_rounds_that_scored_best():
    model = arb.BoostedTreesClassifier(**{**QUICK, "refit": True}, scoring="roc_auc", early_stopping=True)
    model.fit(X, BINARY)
    found = clone(model).set_params(refit=False).fit(X, BINARY)
    assert model.history_ == found.history_
    assert model.n_iter_ == found.n_iter_ == found.history_.best_round
    every = clone(model).set_params(early_stopping=False, n_estimators=found.n_iter_).fit(X, BINARY)
    assert model.fingerprint() == every.fingerprint()


def test_rounds_that_are_added_compete_with_those_before():
    model = fitted("Regressor", NUMBERS, "mae")
    kept, score = model.n_iter_, min(model.history_.validation_score)
    model.fit_more(X[INSIDE], NUMBERS[INSIDE], n_estimators=20, X_val=X[HELD], y_val=NUMBERS[HELD])
    assert min(model.history_.validation_score) <= score
    assert model.n_iter_ >= kept
    worse = [value for value in model.history_.validation_score[kept:] if value >= score]
    assert model.n_iter_ == kept or len(worse) < len(model.history_.validation_score) - kept


@pytest.mark.parametrize("weights", ["rows", "classes"])
def test_validation_rows_are_weighted(weights):
    weight = np.where(BINARY == "yes", 3.0, 1.0)
    given = {"sample_weight": weight[INSIDE], "sample_weight_val": weight[HELD]} if weights == "rows" else {}
    params = {} if given else {"class_weight": {"yes": 3.0, "no": 1.0}}
    model = arb.BoostedTreesClassifier(**QUICK, **params, scoring="accuracy", early_stopping=False)
    model.fit(X[INSIDE], BINARY[INSIDE], X_val=X[HELD], y_val=BINARY[HELD], **given)
    assert model.history_.validation_score[-1] == pytest.approx(model.score(X[HELD], BINARY[HELD], weight[HELD]))
    with pytest.raises(ValueError, match="scoring='right' takes no sample_weight, but rows or classes have weights"):
        model.set_params(scoring=right).fit(X[INSIDE], BINARY[INSIDE], X_val=X[HELD], y_val=BINARY[HELD], **given)


def test_several_outputs_and_ordered_classes():
    y = np.column_stack([NUMBERS, -2 * NUMBERS])
    model = arb.BoostedTreesRegressor(**QUICK, scoring="mae", early_stopping=True).fit(X, y)
    assert model.n_iter_ == model.history_.best_round
    labels = np.column_stack([NUMBERS > 0, X[:, 0] > 0])
    multi = arb.BoostedTreesClassifier(**QUICK, scoring="roc_auc", early_stopping=True).fit(X, labels)
    assert max(multi.history_.validation_score) > 0.8
    codes = np.digitize(NUMBERS, [-0.5, 0.8])
    ordinal = arb.BoostedTreesClassifier(**QUICK, loss="ordinal", scoring="accuracy", early_stopping=False)
    ordinal.fit(X[INSIDE], codes[INSIDE], X_val=X[HELD], y_val=codes[HELD])
    assert ordinal.history_.validation_score[-1] == ordinal.score(X[HELD], codes[HELD])


def test_labels_reach_scorers_as_they_were_given():
    seen = []

    def look(model, X, y):
        seen.append((y.dtype, model.classes_.tolist(), model.predict_proba(X).shape))
        return 0.0

    fitted("Classifier", CLASSES, look, n_estimators=2)
    assert seen[0] == (CLASSES.dtype, ["high", "low", "mid"], (100, 3))


def test_bounds_of_times_reach_scorers_by_name():
    bounds = pd.DataFrame({"lower": np.exp(-NUMBERS), "upper": np.exp(-NUMBERS) * 2})
    seen = []

    def look(model, X, y):
        seen.append(y.dtype.names)
        return float(len(seen))

    model = arb.BoostedTreesSurvival(**QUICK, loss="aft", scoring=look, early_stopping=True).fit(X, bounds)
    assert seen[0] == ("lower", "upper")
    assert model.n_iter_ == 25
    with pytest.raises(ValueError, match="only events and right-censored rows"):
        model.set_params(scoring="concordance_ipcw").fit(X, bounds)
    model.set_params(scoring="concordance").fit(X, bounds)
    assert 0.5 < model.history_.validation_score[-1] <= 1.0


def test_a_scorer_that_asks_about_other_rows_is_refused():
    def curious(model, X, y):
        return model.predict(np.zeros((3, 4))).mean()

    with pytest.raises(ValueError, match="scoring made a model in training predict rows other than its validation"):
        fitted("Regressor", NUMBERS, curious)


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, X: len(model),
        lambda model, X: model.forest_.n_trees,
        lambda model, X: model.feature_importances_,
        lambda model, X: model.fingerprint(),
        lambda model, X: model.to_text(),
        lambda model, X: model.apply(X),
        lambda model, X: model.explain(X),
        lambda model, X: list(model.staged_predict(X)),
    ],
)
def test_a_scorer_that_asks_for_trees_is_told_what_it_can_ask(ask):
    with pytest.raises(AttributeError, match="scoring asks a model in training for its trees: ask for predictions"):
        fitted("Regressor", NUMBERS, lambda model, X, y: float(np.size(ask(model, X))))


def test_a_scorer_that_asks_for_hazards_is_told_what_it_can_ask():
    for ask in ("predict_survival_function", "predict_cumulative_hazard"):
        with pytest.raises(AttributeError, match=r"is in training: .* the risks that predict gives"):
            fitted("Survival", EVENTS, lambda model, X, y, ask=ask: float(getattr(model, ask)(X).mean()))


@pytest.mark.parametrize("scoring", [lambda model, X, y: np.nan, lambda model, X, y: ("auc", 0.5, True)])
def test_scores_must_be_numbers(scoring):
    with pytest.raises(ValueError, match="for the validation rows, but rounds are compared by finite numbers"):
        fitted("Regressor", NUMBERS, scoring)


def test_one_class_in_the_validation_rows_is_told():
    with pytest.raises(ValueError, match=r"scoring='roc_auc' gives nan for the validation rows.*hold out more rows"):
        arb.BoostedTreesClassifier(**QUICK, scoring="roc_auc").fit(
            X, BINARY, X_val=X[BINARY == "yes"], y_val=BINARY[BINARY == "yes"]
        )


@pytest.mark.parametrize(("kind", "y"), [("Classifier", BINARY), ("Regressor", NUMBERS), ("Survival", EVENTS)])
def test_a_metric_of_another_task_is_refused_even_if_nothing_is_followed(kind, y):
    with pytest.raises(ValueError, match="scoring='ndcg' is a metric of ranking, not of"):
        getattr(arb, f"BoostedTrees{kind}")(scoring="ndcg", n_estimators=2).fit(X, y)


def test_several_quantiles_have_no_single_error():
    followed = fitted("Regressor", NUMBERS, "loss", loss="quantile", quantile=[0.1, 0.9])
    assert len(followed.history_.validation_loss) >= followed.n_iter_
    with pytest.raises(ValueError, match="scoring='rmse' reads one prediction per row, but the model gives 2"):
        fitted("Regressor", NUMBERS, "rmse", loss="quantile", quantile=[0.1, 0.9])


def test_files_and_copies_keep_what_rounds_were_compared_by(tmp_path):
    model = fitted("Classifier", BINARY, "roc_auc")
    model.save(tmp_path / "m.arb")
    again = arb.load(tmp_path / "m.arb")
    assert (again.scoring, again.tol, again.history_) == ("roc_auc", 0.0, model.history_)
    assert again.fingerprint() == model.fingerprint()
    assert "validation roc_auc" in model.to_text()
    assert "validation_score" not in fitted("Classifier", BINARY, "loss").history_.to_json()


def test_checkpoints_go_on_by_score(tmp_path):
    class DiedError(Exception):
        pass

    def dying(report):
        if report.number == 4:
            raise DiedError

    def fit(callbacks, checkpoint=None):
        model = arb.BoostedTreesClassifier(**QUICK, scoring="accuracy", early_stopping=True, callbacks=callbacks)
        return model.fit(X, BINARY, checkpoint=checkpoint)

    path = arb.Checkpoint(tmp_path / "run.arb", rounds=3)
    whole = fit([lambda report: None])
    with pytest.raises(DiedError):
        fit([dying], path)
    model = fit([lambda report: None], path)
    assert (model.fingerprint(), model.history_) == (whole.fingerprint(), whole.history_)


def test_callbacks_hear_scores():
    heard = []
    model = fitted("Classifier", BINARY, "roc_auc", callbacks=[heard.append])
    assert [report.validation_score for report in heard] == model.history_.validation_score
    assert [report.validation_loss for report in heard] == model.history_.validation_loss


def test_the_same_bits_for_any_number_of_threads():
    prints = {fitted("Classifier", BINARY, "roc_auc", n_jobs=n_jobs).fingerprint() for n_jobs in (1, 2, 4)}
    assert len(prints) == 1


# --------------------------------------------------------------------------------------------- other boosted models


@pytest.mark.parametrize("scoring", ["mae", None, absolute, "neg_median_absolute_error"])
def test_stages_of_additive_models(scoring):
    params = {
        "n_estimators": 15,
        "learning_rate": 0.5,
        "early_stopping": True,
        "n_iter_no_change": 4,
        "scoring": scoring,
    }
    model = arb.AdditiveBoostingRegressor(**params).fit(X, NUMBERS)
    scores = model.history_.validation_score
    assert len(scores) == len(model.history_.validation_loss)
    assert model.n_iter_ == model.history_.best_round
    assert scores[model.n_iter_ - 1] == (min(scores) if scoring == "mae" else max(scores))


@pytest.mark.parametrize(("scoring", "y"), [("roc_auc", BINARY), (right, CLASSES), ("log_loss", CLASSES)])
def test_stages_of_additive_classifiers(scoring, y):
    params = {"n_estimators": 8, "learning_rate": 0.5, "early_stopping": True, "scoring": scoring}
    model = arb.AdditiveBoostingClassifier(**params).fit(X, y)
    assert model.n_iter_ == model.history_.best_round
    assert model.history_.scoring == (scoring if isinstance(scoring, str) else "right")


def test_effects_are_compared_by_the_order_of_rows():
    def by_hand(model, X, y, treatment):
        return qini_score(y, model.predict(X), treatment)

    outcome = (NUMBERS + 3 * TREATED * X[:, 3] > 0) * 1
    params = {"n_estimators": 20, "early_stopping": True, "min_samples_leaf": 5, "n_folds": 2}
    models = [
        arb.UpliftBoostedTrees(**params, scoring=scoring).fit(X, outcome, TREATED).fingerprint()
        for scoring in ("qini", None, by_hand, "loss")
    ]
    assert len(set(models[:3])) == 1
    assert models[3] != models[0]
    with pytest.raises(ValueError, match="scoring='rmse' is a metric of regression, not of uplift: use qini, auuc"):
        arb.UpliftBoostedTrees(scoring="rmse").fit(X, outcome, TREATED)


def test_names_of_metrics_are_in_the_docstrings():
    for name, task in (("Regressor", "regression"), ("Ranker", "ranking"), ("Survival", "survival")):
        assert all(f'"{metric}"' in getattr(arb, f"BoostedTrees{name}").__doc__ for metric in named_metrics(task))
    assert all(f'"{metric}"' in arb.BoostedTreesClassifier.__doc__ for metric in named_metrics("binary"))
