"""The first rounds of every boosted model: a model of its own, and what the staged methods yield."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

import arboretum as arb

RNG = np.random.default_rng(0)
N = 240
X = RNG.normal(size=(N, 4))
NUMBERS = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + RNG.normal(size=N) / 2
CLASSES = np.array(["low", "mid", "high"])[np.digitize(NUMBERS, [-0.5, 0.8])]
EVENTS = np.column_stack([np.exp(-NUMBERS), RNG.random(N) < 0.7])
QUERY = np.arange(N) // 8
TREATED = RNG.integers(0, 3, N)
QUICK = {"n_estimators": 9, "learning_rate": 0.3, "early_stopping": False}
FEW = {"n_estimators": 6}

FITS = {
    "numbers": (arb.BoostedTreesRegressor(**QUICK), NUMBERS),
    "several numbers": (arb.BoostedTreesRegressor(**QUICK), np.column_stack([NUMBERS, -NUMBERS])),
    "quantiles": (arb.BoostedTreesRegressor(**QUICK, loss="quantile", quantile=[0.2, 0.8]), NUMBERS),
    "forests": (arb.BoostedTreesRegressor(**QUICK, trees_per_round=3, subsample=0.5), NUMBERS),
    "linear leaves": (arb.BoostedTreesRegressor(**QUICK, leaf_model="linear"), NUMBERS),
    "two classes": (arb.BoostedTreesClassifier(**QUICK), NUMBERS > 0),
    "three classes": (arb.BoostedTreesClassifier(**QUICK), CLASSES),
    "vector leaves": (arb.BoostedTreesClassifier(**QUICK, vector_leaves=True), CLASSES),
    "ranking": (arb.BoostedTreesRanker(**QUICK), np.digitize(NUMBERS, [0, 1]), QUERY),
    "hazards": (arb.BoostedTreesSurvival(**QUICK), EVENTS),
    "times": (arb.BoostedTreesSurvival(**QUICK, loss="aft"), EVENTS),
    "uplift": (arb.UpliftBoostedTrees(**FEW, min_samples_leaf=3, n_folds=2), NUMBERS, TREATED),
    "AdaBoost, stumps": (arb.AdaBoostClassifier(**FEW), NUMBERS > 0),
    "AdaBoost, trees": (arb.AdaBoostClassifier(**FEW, estimator=arb.DecisionTreeClassifier(max_depth=2)), CLASSES),
    "AdaBoost, members": (arb.AdaBoostRegressor(**FEW, estimator=Ridge()), NUMBERS),
    "AdaBoost, numbers": (arb.AdaBoostRegressor(**FEW), NUMBERS),
    "additive": (arb.AdditiveBoostingRegressor(**FEW), NUMBERS),
    "additive classes": (arb.AdditiveBoostingClassifier(**FEW), CLASSES),
}
BOOSTED_TREES = [name for name, (model, *_) in FITS.items() if type(model).__name__.startswith("BoostedTrees")]
STAGED = ("predict", "predict_proba", "decision_function")


@pytest.fixture(scope="module")
def models():
    return {name: type(model)(**model.get_params(deep=False)).fit(X, *given) for name, (model, *given) in FITS.items()}


def n_rounds_of(model):
    return len(model.estimator_weights_) if hasattr(model, "estimator_weights_") else int(np.max(model.n_iter_))


@pytest.mark.parametrize("name", FITS)
def test_stages_are_the_predictions_of_first_rounds(models, name):
    model = models[name]
    n_rounds = n_rounds_of(model)
    for method in STAGED:
        if not hasattr(model, method):
            continue
        stages = list(getattr(model, f"staged_{method}")(X))
        assert len(stages) == n_rounds
        for k in (1, 3, n_rounds):
            found = getattr(model.first_rounds(k), method)(X)
            if name == "times" or np.asarray(found).dtype.kind != "f":
                np.testing.assert_array_equal(np.asarray(stages[k - 1]), np.asarray(found))
            else:
                np.testing.assert_allclose(np.asarray(stages[k - 1]), np.asarray(found), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", FITS)
def test_all_rounds_are_the_model_and_the_model_stays(models, name):
    model = models[name]
    before = np.asarray(model.predict(X))
    whole = model.first_rounds(n_rounds_of(model))
    np.testing.assert_array_equal(whole.predict(X), before)
    if name != "AdaBoost, members":
        assert whole.fingerprint() == model.fingerprint()
    few = model.first_rounds(2)
    assert n_rounds_of(few) == 2
    assert type(few) is type(model)
    assert few.get_params(deep=False) == model.get_params(deep=False)
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("name", [name for name in BOOSTED_TREES if name not in ("hazards",)])
def test_first_rounds_are_a_fit_of_fewer(models, name):
    base, *given = FITS[name]
    fewer = type(base)(**{**base.get_params(), "n_estimators": 4}).fit(X, *given)
    first = models[name].first_rounds(4)
    assert first.forest_.to_arrays().keys() == fewer.forest_.to_arrays().keys()
    for part, array in fewer.forest_.to_arrays().items():
        np.testing.assert_array_equal(first.forest_.to_arrays()[part], array)
    if name != "times":
        assert first.fingerprint() == fewer.fingerprint()


@pytest.mark.parametrize("name", BOOSTED_TREES)
def test_first_rounds_can_be_trained_further(models, name):
    _, *given = FITS[name]
    again = models[name].first_rounds(4)
    again.fit_more(X, *given, n_estimators=5)
    assert again.fingerprint() == models[name].fingerprint()
    assert again.n_iter_ == 9


@pytest.mark.parametrize("name", [name for name in FITS if name != "AdaBoost, members"])
def test_first_rounds_are_saved(models, name, tmp_path):
    few = models[name].first_rounds(2)
    few.save(tmp_path / "m.arb")
    again = arb.load(tmp_path / "m.arb")
    assert again.fingerprint() == few.fingerprint()
    np.testing.assert_array_equal(again.predict(X), few.predict(X))


def test_first_rounds_are_explained_and_read(models):
    few = models["numbers"].first_rounds(3)
    explained = few.explain(X[:5])
    np.testing.assert_allclose(explained.values.sum(axis=1) + explained.base_values, few.predict(X[:5]), atol=1e-9)
    assert few.apply(X).shape == (N, 3)
    assert few.importances().kinds["nodes"].sum() < models["numbers"].importances().kinds["nodes"].sum()


def test_histories_are_cut():
    model = arb.BoostedTreesRegressor(**QUICK, callbacks=[lambda report: None]).fit(X, NUMBERS, X_val=X, y_val=NUMBERS)
    first = model.first_rounds(4).history_
    assert first.training_loss == model.history_.training_loss[:4]
    assert first.validation_loss == model.history_.validation_loss[:4]


def test_hazards_need_all_rounds(models, tmp_path):
    few = models["hazards"].first_rounds(3)
    message = "the baseline hazard belongs to all rounds of a fit, which first_rounds or an average has changed"
    few.save(tmp_path / "m.arb")
    for model in (few, arb.load(tmp_path / "m.arb")):
        with pytest.raises(ValueError, match=message):
            model.predict_survival_function(X)
    whole = models["hazards"]
    np.testing.assert_array_equal(
        whole.first_rounds(9).predict_cumulative_hazard(X), whole.predict_cumulative_hazard(X)
    )


def test_treatments_of_fewer_rounds_keep_theirs(models):
    model = models["uplift"]
    short = model.first_rounds(6)
    counts = model.n_iter_
    assert counts.tolist() == [6, 6]
    uneven = model.first_rounds(6)
    uneven.model_ = replace(uneven.model_, forest=arb.Forest.concat([short.forest_[:2], short.forest_[6:]]))
    assert uneven.n_iter_.tolist() == [2, 6]
    assert uneven.first_rounds(3).n_iter_.tolist() == [2, 3]
    stages = list(uneven.staged_predict(X))
    np.testing.assert_allclose(stages[-1], uneven.predict(X), atol=1e-12)
    np.testing.assert_allclose(stages[2], uneven.first_rounds(3).predict(X), atol=1e-12)


@pytest.mark.parametrize("n_rounds", [0, -1, 10, 2.0, "all", None, True])
def test_other_numbers_of_rounds_are_refused(models, n_rounds):
    with pytest.raises(
        ValueError, match=rf"n_rounds={n_rounds!r}: use an integer from 1 to 9, the rounds of this model"
    ):
        models["numbers"].first_rounds(n_rounds)


@pytest.mark.parametrize("name", FITS)
def test_models_that_are_not_fitted_have_no_rounds(name):
    model = type(FITS[name][0])(**FITS[name][0].get_params(deep=False))
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        model.first_rounds(1)
