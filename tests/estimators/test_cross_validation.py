"""Cross-validation: every fold is the fit that it would be alone, and their mean decides."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, TimeSeriesSplit

import arboretum as arb

RNG = np.random.default_rng(0)
N = 300
X = RNG.normal(size=(N, 4))
NUMBERS = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + RNG.normal(size=N) / 2
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(shop=RNG.choice([f"s{i}" for i in range(30)], N))
CLASSES = np.array(["low", "mid", "high"])[np.digitize(NUMBERS, [-0.5, 0.8])]
EVENTS = np.empty(N, dtype=[("event", bool), ("time", float)])
EVENTS["event"], EVENTS["time"] = RNG.random(N) < 0.6, np.exp(-NUMBERS)
GRADES, QUERY = np.digitize(NUMBERS, [0.0, 1.0]), RNG.permutation(np.arange(N) % 30)
TREATED = RNG.integers(0, 2, N)
WEIGHT = RNG.integers(0, 3, N).astype(float)
QUICK = {"n_estimators": 12, "learning_rate": 0.3, "n_iter_no_change": 4, "early_stopping": False}
THREE = KFold(3, shuffle=True, random_state=1)

CASES = {
    "numbers": (arb.BoostedTreesRegressor(**QUICK), FRAME, NUMBERS, {}),
    "weights": (arb.BoostedTreesRegressor(**QUICK, scoring="mae"), X, NUMBERS, {"sample_weight": WEIGHT}),
    "counts": (arb.BoostedTreesRegressor(**QUICK, loss="poisson"), X, GRADES, {"offset": X[:, 3] / 4}),
    "several numbers": (arb.BoostedTreesRegressor(**QUICK), X, np.column_stack([NUMBERS, -NUMBERS]), {}),
    "classes": (arb.BoostedTreesClassifier(**QUICK, scoring="accuracy"), FRAME, CLASSES, {}),
    "two classes": (arb.BoostedTreesClassifier(**QUICK, scoring="f1_macro"), X, NUMBERS > 0, {}),
    "labels": (arb.BoostedTreesClassifier(**QUICK), X, np.column_stack([NUMBERS > 0, X[:, 0] > 0]), {}),
    "survival": (arb.BoostedTreesSurvival(**QUICK, scoring="concordance"), X, EVENTS, {}),
    "function": (
        arb.BoostedTreesRegressor(**QUICK, loss=lambda y, raw: (raw - y, np.ones_like(raw)), scoring="rmse"),
        X,
        NUMBERS,
        {},
    ),
    "dart": (arb.BoostedTreesRegressor(**QUICK, dart_rate=0.5, dart_skip=0.0), X, NUMBERS, {}),
}


def rows_of(given, rows):
    return given.iloc[rows] if hasattr(given, "iloc") else given[rows]


@pytest.mark.parametrize("name", CASES)
def test_every_fold_is_the_fit_that_it_would_be_alone(name):
    model, table, y, given = CASES[name]
    found = arb.cross_validate(model, table, y, cv=THREE, **given)
    assert found.scores.shape == (3, 12)
    for fold, (learnt, held) in enumerate(THREE.split(X)):
        of_learnt, of_held = (
            {f"{column}{suffix}": values[rows] for column, values in given.items()}
            for rows, suffix in ((learnt, ""), (held, "_val"))
        )
        alone = clone(model).set_params(n_estimators=12)
        alone.fit(rows_of(table, learnt), y[learnt], X_val=rows_of(table, held), y_val=y[held], **of_learnt, **of_held)
        history = alone.history_
        assert found.scores[fold].tolist() == (history.validation_score or history.validation_loss)
        assert (found.folds[held] == fold).all()
        fewer = clone(model).set_params(n_estimators=found.best_round)
        fewer.fit(rows_of(table, learnt), y[learnt], **of_learnt)
        assert found.models[fold].fingerprint() == fewer.fingerprint()
        asked = fewer.predict_proba if isinstance(fewer, arb.BoostedTreesClassifier) else fewer.predict
        offset = {"offset": given["offset"][held]} if "offset" in given else {}
        told = found.predictions if isinstance(found.predictions, list) else [found.predictions]
        expected = asked(rows_of(table, held), **offset)
        for one, other in zip(told, expected if isinstance(expected, list) else [expected], strict=True):
            np.testing.assert_array_equal(one[held], other)


@pytest.mark.parametrize("name", CASES)
def test_the_mean_over_folds_decides(name):
    model, table, y, given = CASES[name]
    found = arb.cross_validate(clone(model).set_params(early_stopping=True), table, y, cv=THREE, **given)
    every = arb.cross_validate(model, table, y, cv=THREE, **given)
    n_rounds = found.scores.shape[1]
    np.testing.assert_array_equal(found.scores, every.scores[:, :n_rounds])
    sign = -1 if found.greater_is_better else 1
    assert found.best_round == (sign * found.mean).argmin() + 1
    assert n_rounds in (12, found.best_round + 4)
    np.testing.assert_allclose(found.mean, found.scores.mean(axis=0))
    np.testing.assert_allclose(found.deviation, found.scores.std(axis=0))
    assert found.best_score == found.mean[found.best_round - 1]


def test_rankers_keep_queries_whole():
    model = arb.BoostedTreesRanker(**QUICK, scoring="ndcg@3")
    found = arb.cross_validate(model, X, GRADES, group=QUERY, cv=3)
    assert all(len(np.unique(found.folds[query == QUERY])) == 1 for query in range(30))
    held = found.folds == 0
    alone = clone(model).fit(
        X[~held], GRADES[~held], QUERY[~held], X_val=X[held], y_val=GRADES[held], group_val=QUERY[held]
    )
    assert found.scores[0].tolist() == alone.history_.validation_score
    by_splitter = arb.cross_validate(model, X, GRADES, group=QUERY, cv=GroupKFold(3))
    assert by_splitter.scores.shape == (3, 12)


@pytest.mark.parametrize(
    ("model", "y", "given", "strata"),
    [
        (arb.BoostedTreesClassifier(**QUICK), CLASSES, {}, CLASSES),
        (arb.BoostedTreesSurvival(**QUICK), EVENTS, {}, EVENTS["event"]),
    ],
    ids=["classes", "events"],
)
def test_folds_have_the_same_share_of_each_stratum(model, y, given, strata):
    found = arb.cross_validate(model, X, y, cv=4, **given)
    for label in np.unique(strata):
        counts = np.bincount(found.folds[strata == label], minlength=4)
        assert counts.max() - counts.min() <= 1
    again = arb.cross_validate(model, X, y, cv=4, **given)
    np.testing.assert_array_equal(again.folds, found.folds)
    other = arb.cross_validate(clone(model).set_params(random_state=5), X, y, cv=4, **given)
    assert (other.folds != found.folds).any()


def test_splitters_and_pairs_of_rows():
    model = arb.BoostedTreesRegressor(**QUICK)
    pairs = list(TimeSeriesSplit(3).split(X))
    by_splitter = arb.cross_validate(model, X, NUMBERS, cv=TimeSeriesSplit(3))
    for cv in (pairs, iter(pairs), [(np.isin(np.arange(N), a), np.isin(np.arange(N), b)) for a, b in pairs]):
        np.testing.assert_array_equal(arb.cross_validate(model, X, NUMBERS, cv=cv).scores, by_splitter.scores)
    never = by_splitter.folds == -1
    assert never.sum() == 75
    assert np.isnan(by_splitter.predictions[never]).all()
    assert np.isfinite(by_splitter.predictions[~never]).all()
    stratified = arb.cross_validate(arb.BoostedTreesClassifier(**QUICK), X, CLASSES, cv=StratifiedKFold(3))
    assert stratified.predictions.shape == (N, 3)


def test_a_class_that_a_fold_lacks_is_impossible_to_its_model():
    y = np.where(np.arange(N) < 5, "rare", CLASSES)
    first, rest = np.arange(5), np.arange(5, N)
    cv = [(rest[::2], rest[1::2]), (np.arange(N)[1::2], rest[1::2]), (np.concatenate([first, rest[::2]]), rest[1::4])]
    found = arb.cross_validate(arb.BoostedTreesClassifier(**QUICK), X, y, cv=cv)
    assert found.predictions.shape == (N, 4)
    lacking = found.folds == 0
    assert not lacking.any() or (found.predictions[lacking, 3] == 0).all()
    with pytest.raises(ValueError, match="cv: fold 0 holds out the label 'rare' in row 0, which its training rows do"):
        arb.cross_validate(arb.BoostedTreesClassifier(**QUICK), X, y, cv=[(rest, first)])


def test_the_best_parameters_make_the_model_of_all_rows():
    model = arb.BoostedTreesClassifier(n_estimators=40, n_iter_no_change=5, scoring="roc_auc")
    found = arb.cross_validate(model, X, NUMBERS > 0, cv=3)
    assert not hasattr(model, "forest_")
    assert found.best_params == {
        "n_estimators": found.best_round,
        "early_stopping": False,
        "learning_rate": found.models[0].learning_rate_,
    }
    final = clone(model).set_params(**found.best_params).fit(X, NUMBERS > 0)
    assert (final.n_iter_, final.learning_rate_) == (found.best_round, found.models[0].learning_rate_)
    fixed = arb.cross_validate(arb.BoostedTreesRegressor(**QUICK), X, NUMBERS, cv=2)
    assert fixed.best_params == {"n_estimators": fixed.best_round, "early_stopping": False}


@pytest.mark.parametrize(
    ("model", "y", "given"),
    [
        (arb.AdaBoostClassifier(n_estimators=5), CLASSES, {}),
        (arb.AdaBoostRegressor(n_estimators=5), NUMBERS, {"sample_weight": WEIGHT + 1}),
        (arb.AdditiveBoostingRegressor(n_estimators=5, early_stopping=True, n_iter_no_change=2), NUMBERS, {}),
        (arb.UpliftBoostedTrees(n_estimators=5, min_samples_leaf=5, n_folds=2), NUMBERS, {"treatment": TREATED}),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_other_boosted_models_are_compared_by_their_score(model, y, given):
    found = arb.cross_validate(model, X, y, cv=3, **given)
    assert (found.scoring, found.greater_is_better) == ("score", True)
    assert found.best_round == found.mean.argmax() + 1
    held = found.folds == 1
    of_held = {name: values[held] for name, values in given.items()}
    assert found.scores[1, found.best_round - 1] == found.models[1].score(X[held], y[held], **of_held)
    assert not hasattr(model, "n_features_in_")


def test_a_dataset_names_its_columns():
    rows = arb.Dataset.from_frame({"a": X[:, 0], "b": X[:, 1], "y": NUMBERS, "w": WEIGHT + 1})
    model = arb.BoostedTreesRegressor(**QUICK)
    found = arb.cross_validate(model, rows, target="y", sample_weight="w", cv=THREE)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    expected = arb.cross_validate(model, frame, NUMBERS, sample_weight=WEIGHT + 1, cv=THREE)
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(found.predictions, expected.predictions)


@pytest.mark.parametrize(
    "form", [list, pd.Series, lambda y: pd.Series(y, index=np.arange(N)[::-1]), pl.Series, pa.array]
)
def test_targets_of_any_container(form):
    model = arb.BoostedTreesClassifier(**QUICK)
    expected = arb.cross_validate(model, X, CLASSES, cv=3)
    found = arb.cross_validate(model, X.tolist(), form(CLASSES), cv=3)
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_an_order_of_classes_is_kept():
    y = pd.Series(pd.Categorical(CLASSES, ["low", "mid", "high"], ordered=True))
    found = arb.cross_validate(arb.BoostedTreesClassifier(**QUICK, loss="ordinal"), X, y, cv=3)
    assert found.models[0].classes_.tolist() == ["low", "mid", "high"]


def test_the_same_for_any_number_of_threads():
    scores = [
        arb.cross_validate(arb.BoostedTreesRegressor(**QUICK, n_jobs=n_jobs), FRAME, NUMBERS, cv=3).scores
        for n_jobs in (1, 3)
    ]
    np.testing.assert_array_equal(scores[0], scores[1])


def test_time_ends_all_folds_together():
    model = arb.BoostedTreesRegressor(**{**QUICK, "n_estimators": 10**6}, time_limit=0.2)
    found = arb.cross_validate(model, X, NUMBERS, cv=3)
    assert 1 <= found.best_round <= found.scores.shape[1] < 10**6


def test_the_table_and_the_drawing():
    pytest.importorskip("matplotlib").use("agg")
    found = arb.cross_validate(
        arb.BoostedTreesRegressor(**{**QUICK, "n_estimators": 25}, scoring="r2"), X, NUMBERS, cv=3
    )
    table = found.to_dict()
    assert list(table) == ["round", "mean", "deviation", "fold 0", "fold 1", "fold 2"]
    assert pd.DataFrame(table).shape == (25, 6)
    text = str(found).splitlines()
    assert text[0].split() == ["round", "r2", "deviation"]
    assert [line.split()[0] for line in text if line.endswith("best")] == [str(found.best_round)]
    assert len(text) <= 12
    ax = found.plot()
    assert ax.lines[0].get_ydata().tolist() == found.mean.tolist()
    assert ax.lines[2].get_xydata().tolist() == [[found.best_round, found.best_score]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("rounds", "r2")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cv": 1}, "cv=1: use at least 2 folds, and at most as many as there are rows, 300"),
        ({"cv": 301}, "cv=301: use at least 2 folds"),
        ({"cv": 4, "group": np.arange(N) % 3}, "cv=4: .* at most as many as there are groups, 3"),
        ({"cv": "five"}, "cv='five': use a number of folds, a splitter of scikit-learn, or pairs"),
        ({"cv": True}, "cv=True: use a number of folds"),
        ({"cv": []}, "cv gives folds without training rows or without held-out rows"),
        ({"cv": [(np.arange(5), [])]}, "cv gives folds without"),
        ({"cv": [(np.arange(5), [300])]}, r"cv gives rows array\(\[300\]\): use positions from 0 to 299, or a mask"),
        ({"cv": [(np.arange(5), [True])]}, "cv gives rows"),
        ({"cv": [(["a"], [1])]}, "cv gives rows"),
    ],
)
def test_bad_folds_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        arb.cross_validate(arb.BoostedTreesRegressor(**QUICK), X, NUMBERS, **change)


@pytest.mark.parametrize(
    ("model", "y", "given"),
    [
        (arb.AdditiveBoostingRegressor(n_estimators=4, scoring="rmse"), NUMBERS, {"sample_weight": WEIGHT + 1}),
        (arb.AdditiveBoostingClassifier(n_estimators=4, scoring="log_loss"), CLASSES, {}),
        (arb.AdditiveBoostingRegressor(n_estimators=4, scoring="neg_median_absolute_error"), NUMBERS, {}),
        (arb.UpliftBoostedTrees(n_estimators=4, min_samples_leaf=5, n_folds=2, scoring="auuc"), NUMBERS, TREATED),
        (
            arb.UpliftBoostedTrees(
                n_estimators=4,
                min_samples_leaf=5,
                n_folds=2,
                scoring=lambda model, X, y, treatment: treatment.mean() + y.mean(),
            ),
            NUMBERS,
            np.array(["control", "mail"])[TREATED],
        ),
    ],
    ids=["rmse", "log_loss", "scorer", "auuc", "function"],
)
def test_other_boosted_models_are_compared_by_their_scoring(model, y, given):
    given = given if isinstance(given, dict) else {"treatment": given}
    found = arb.cross_validate(model, X, y, cv=3, **given)
    held = found.folds == 1
    weight = {name: values[held] for name, values in given.items() if name == "sample_weight"}
    best, truth = found.models[1], y[held]
    if model.scoring == "rmse":
        expected = np.sqrt(np.average((best.predict(X[held]) - truth) ** 2, weights=weight["sample_weight"]))
    elif model.scoring == "log_loss":
        expected = log_loss(truth, best.predict_proba(X[held]))
    elif model.scoring == "auuc":
        of_held = best.against_control(X[held], truth, given["treatment"][held])
        expected = arb.metrics.auuc_score(*of_held[:3], normalise=False)
    elif callable(model.scoring):
        expected = TREATED[held].mean() + truth.mean()
    else:
        expected = -np.median(np.abs(best.predict(X[held]) - truth))
    assert found.scoring == (model.scoring if isinstance(model.scoring, str) else "<lambda>")
    assert found.greater_is_better == (model.scoring not in ("rmse", "log_loss"))
    assert found.scores[1, found.best_round - 1] == pytest.approx(expected)


@pytest.mark.parametrize("scoring", ["loss", "rmse"])
def test_callbacks_hear_of_the_rounds_of_all_folds(scoring):
    reports = []
    model = arb.BoostedTreesRegressor(**QUICK, scoring=scoring, callbacks=[reports.append])
    found = arb.cross_validate(model, X, NUMBERS, cv=3)
    assert [report.number for report in reports] == list(range(1, 13))
    told = [r.validation_loss if scoring == "loss" else r.validation_score for r in reports]
    assert told == found.mean.tolist()
    model.set_params(callbacks=[lambda report: report.number == 5])
    assert arb.cross_validate(model, X, NUMBERS, cv=3).scores.shape == (3, 5)


def changed(values, row, value):
    values = np.array(values, dtype=object if isinstance(value, str | None) else float)
    values[row] = value
    return values


EFFECTS = arb.UpliftBoostedTrees(n_estimators=2)


@pytest.mark.parametrize(
    ("model", "y", "given", "message"),
    [
        (arb.BoostedTreesRegressor(**QUICK), changed(NUMBERS, 203, np.nan), {}, "y contains NaN: nan in row 203 "),
        (arb.BoostedTreesRegressor(**QUICK, loss="poisson"), changed(GRADES, 203, -1), {}, r"y\[203\]"),
        (arb.BoostedTreesClassifier(**QUICK), changed(CLASSES, 203, None), {}, "y has a missing label .* in row 203"),
        (arb.BoostedTreesRanker(**QUICK), changed(GRADES, 203, np.inf), {"group": QUERY}, "infinity: inf in row 203 "),
        (arb.AdaBoostRegressor(n_estimators=2), changed(NUMBERS, 203, np.nan), {}, "y contains NaN: nan in row 203 "),
        (arb.AdaBoostClassifier(n_estimators=2), changed(CLASSES, 203, None), {}, "y has a missing label .* row 203"),
        (EFFECTS, changed(NUMBERS, 203, np.nan), {"treatment": TREATED}, "y contains NaN: nan in row 203 "),
        (EFFECTS, NUMBERS, {"treatment": changed(TREATED, 203, np.nan)}, "treatment contains NaN: nan in row 203 "),
        (EFFECTS, NUMBERS, {}, "treatment is None|treatment to be passed"),
        *(
            (model, NUMBERS, {"sample_weight": changed(WEIGHT, 203, -1)}, "sample_weight is negative in row 203 ")
            for model in (arb.BoostedTreesRegressor(**QUICK), arb.AdditiveBoostingRegressor(n_estimators=2))
        ),
        (
            arb.BoostedTreesRegressor(**QUICK),
            NUMBERS,
            {"offset": changed(NUMBERS, 203, np.nan)},
            "offset contains NaN: nan in row 203 ",
        ),
        (arb.BoostedTreesRegressor(**QUICK), NUMBERS[:200], {}, "y has 200 values, but X has 300 rows"),
        (arb.AdaBoostClassifier(n_estimators=2), CLASSES[:200], {}, "y has 200 values, but X has 300 rows"),
        (arb.BoostedTreesRegressor(**QUICK), None, {}, "the target y is None"),
        (arb.BoostedTreesRegressor(**QUICK), NUMBERS, {"group": [1, 2]}, "group has 2 ids, but X has 300 rows"),
        (arb.BoostedTreesRegressor(**QUICK), NUMBERS, {"offset": [1, 2]}, "offset has shape"),
        (
            arb.BoostedTreesRegressor(**QUICK),
            NUMBERS,
            {"treatment": TREATED},
            "treatment: BoostedTreesRegressor takes none; uplift models do",
        ),
        (
            arb.BoostedTreesRegressor(**QUICK),
            NUMBERS,
            {"cv": [(np.arange(9), np.arange(5, 20))]},
            "cv: fold 0 learns from 4 of the rows that it holds out, such as row 5: give each row to one side",
        ),
        (
            arb.BoostedTreesClassifier(**QUICK),
            changed(CLASSES, 203, "rare"),
            {},
            "cv: fold . holds out the label 'rare' in row 203, which its training rows do not have: leave such rows",
        ),
        (
            arb.UpliftBoostedTrees(n_estimators=2, scoring=lambda model, X, y, treatment: 0.0, n_folds=2),
            NUMBERS,
            {"treatment": np.arange(N) % 3},
            "scoring='<lambda>' compares one treatment with the control, but there are 2: use 'qini' or 'auuc'",
        ),
    ],
)
def test_errors_tell_the_rows_of_the_user(model, y, given, message):
    with pytest.raises(ValueError, match=message):
        arb.cross_validate(model, X, y, **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"nfold": 3}, r"'nfold': LightGBM's, XGBoost's and CatBoost's nfold is cv here \(a number of folds\)$"),
        ({"folds": 3}, "folds is cv here"),
        ({"groups": [1]}, "scikit-learn's groups is group here"),
        ({"early_stopping_rounds": 3}, "set n_iter_no_change of the model"),
        ({"scoring": "rmse"}, "set scoring of the model"),
        ({"sample_wieght": [1]}, "did you mean 'sample_weight'"),
        ({"spam": 1}, "unexpected keyword argument 'spam'; arguments are model, X, y, cv, sample_weight"),
    ],
)
def test_unknown_arguments_are_refused_with_ours(given, message):
    with pytest.raises(TypeError, match=message):
        arb.cross_validate(arb.BoostedTreesRegressor(**QUICK), X, NUMBERS, **given)


def test_all_arguments_may_be_named():
    found = arb.cross_validate(model=arb.BoostedTreesRegressor(**QUICK), X=X, y=NUMBERS, cv=2)
    assert found.scores.shape == (2, 12)


def test_a_class_is_refused():
    with pytest.raises(
        TypeError, match=r"model=AdaBoostRegressor is a class: give an object, such as AdaBoostRegressor"
    ):
        arb.cross_validate(arb.AdaBoostRegressor, X, NUMBERS)


def test_an_offset_that_a_model_does_not_take_is_refused():
    with pytest.raises(ValueError, match="offset: AdaBoostRegressor takes none; boosted trees do"):
        arb.cross_validate(arb.AdaBoostRegressor(n_estimators=2), X, NUMBERS, offset=np.zeros(N))


def test_models_without_rounds_are_refused():
    with pytest.raises(TypeError, match="cross_validate compares rounds, which RandomForestRegressor does not have"):
        arb.cross_validate(arb.RandomForestRegressor(), X, NUMBERS)
    function = arb.BoostedTreesRegressor(**QUICK, loss=lambda y, raw: (raw - y, np.ones_like(raw)))
    with pytest.raises(ValueError, match="gives gradients but no loss values to compare: give scoring="):
        arb.cross_validate(function, X, NUMBERS)
