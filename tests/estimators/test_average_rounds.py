"""Averages of rounds: one forest whose raw predictions are the weighted mean of the stages."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import arboretum as arb
from arboretum.cli.methods import read_settings
from arboretum.estimators.standing_in import with_model

RNG = np.random.default_rng(0)
N = 240
X = RNG.normal(size=(N, 4))
NUMBERS = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + RNG.normal(size=N) / 2
CLASSES = np.array(["low", "mid", "high"])[np.digitize(NUMBERS, [-0.5, 0.8])]
GRADES = np.digitize(NUMBERS, [-0.5, 0.8])
EVENTS = np.column_stack([np.exp(-NUMBERS), RNG.random(N) < 0.7])
TOWNS = pd.DataFrame({"a": X[:, 0], "town": [f"town {k}" for k in RNG.integers(0, 40, N)], "b": X[:, 1]})
QUICK = {"n_estimators": 9, "learning_rate": 0.3, "early_stopping": False}
SAMPLED = {**QUICK, "trees_per_round": 3, "subsample": 0.5}
RULES = [1, 4, 100, arb.AverageRounds(every=3), arb.AverageRounds(last=7, every=2, decay=0.6)]

FITS = {
    "numbers": (arb.BoostedTreesRegressor, QUICK, X, {"y": NUMBERS}),
    "counts": (arb.BoostedTreesRegressor, {**QUICK, "loss": "poisson"}, X, {"y": np.exp(NUMBERS)}),
    "offsets": (arb.BoostedTreesRegressor, {**QUICK, "loss": "poisson"}, X, {"y": np.exp(NUMBERS), "offset": X[:, 3]}),
    "medians": (arb.BoostedTreesRegressor, {**QUICK, "loss": "absolute_error"}, X, {"y": NUMBERS}),
    "quantiles": (arb.BoostedTreesRegressor, {**QUICK, "loss": "quantile", "quantile": [0.2, 0.8]}, X, {"y": NUMBERS}),
    "several numbers": (arb.BoostedTreesRegressor, QUICK, X, {"y": np.column_stack([NUMBERS, -NUMBERS])}),
    "forests": (arb.BoostedTreesRegressor, SAMPLED, X, {"y": NUMBERS}),
    "linear leaves": (arb.BoostedTreesRegressor, {**QUICK, "leaf_model": "linear"}, X, {"y": NUMBERS}),
    "statistics": (arb.BoostedTreesRegressor, QUICK, TOWNS, {"y": NUMBERS}),
    "category sets": (arb.BoostedTreesRegressor, {**QUICK, "category_levels": None}, TOWNS, {"y": NUMBERS}),
    "automatic rate": (arb.BoostedTreesRegressor, {"n_estimators": 9}, X, {"y": NUMBERS}),
    "early stopping": (arb.BoostedTreesRegressor, {**QUICK, "early_stopping": True, "refit": False}, X, {"y": NUMBERS}),
    "refit": (arb.BoostedTreesRegressor, {**QUICK, "early_stopping": True, "refit": True}, X, {"y": NUMBERS}),
    "ordered": (arb.BoostedTreesRegressor, {**QUICK, "ordered_boosting": 2}, X, {"y": NUMBERS}),
    "two classes": (arb.BoostedTreesClassifier, QUICK, X, {"y": NUMBERS > 0}),
    "three classes": (arb.BoostedTreesClassifier, SAMPLED, X, {"y": CLASSES}),
    "vector leaves": (arb.BoostedTreesClassifier, {**QUICK, "vector_leaves": True}, X, {"y": CLASSES}),
    "ordered classes": (arb.BoostedTreesClassifier, {**QUICK, "loss": "ordinal"}, X, {"y": GRADES}),
    "ranking": (arb.BoostedTreesRanker, QUICK, X, {"y": GRADES, "group": np.arange(N) // 8}),
    "hazards": (arb.BoostedTreesSurvival, QUICK, X, {"y": EVENTS}),
    "times": (arb.BoostedTreesSurvival, {**QUICK, "loss": "aft"}, X, {"y": EVENTS}),
}
LEARNING = ("ordered classes", "hazards", "times")  # part of the model follows from raw predictions


def fitted(name, **params):
    cls, own, table, given = FITS[name]
    return cls(**{**own, **params}).fit(table, **given)


@pytest.fixture(scope="module")
def plain_models():
    return {name: fitted(name) for name in FITS}


def stages(model, table):
    """Raw predictions after each round, without offsets: sums of the model of its first rounds."""
    return np.array([model.first_rounds(k).predict_raw(table) for k in range(1, model.n_iter_ + 1)])


def weights_of(rule, n_rounds):
    return (arb.AverageRounds(last=rule) if isinstance(rule, int) else rule).weights(n_rounds)


def rows_of(name):
    return {key: value for key, value in {"X": FITS[name][2], **FITS[name][3]}.items() if key != "group"}


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("name", FITS)
def test_raw_predictions_are_the_mean_of_the_stages(plain_models, name, rule):
    model, table = fitted(name, average_rounds=rule), FITS[name][2]
    known = stages(plain_models[name], table)
    expected = np.tensordot(weights_of(rule, len(known)), known, axes=1)
    np.testing.assert_allclose(model.predict_raw(table), expected, rtol=1e-12, atol=1e-12 * np.abs(known).max())
    assert model.n_iter_ == plain_models[name].n_iter_
    assert model.forest_.n_trees == plain_models[name].forest_.n_trees
    if rule == 4:
        assert fitted(name, average_rounds=rule, n_jobs=2).fingerprint() == model.fingerprint()


@pytest.mark.parametrize("rule", RULES[1::3], ids=str)
@pytest.mark.parametrize("name", FITS)
def test_the_method_gives_the_model_of_the_parameter(plain_models, name, rule):
    rows = rows_of(name) if name in LEARNING else {}
    found = plain_models[name].averaged_rounds(rule, **rows)
    assert found.fingerprint() == fitted(name, average_rounds=rule).fingerprint()
    assert plain_models[name].fingerprint() == fitted(name).fingerprint()


def test_public_stages_agree(plain_models):
    numbers, classes = plain_models["numbers"], plain_models["three classes"]
    mean = np.mean(list(numbers.staged_predict(X))[-4:], axis=0)
    np.testing.assert_allclose(numbers.averaged_rounds(4).predict(X), mean, rtol=1e-12, atol=1e-12)
    mean = np.mean(list(classes.staged_decision_function(X))[-4:], axis=0)
    np.testing.assert_allclose(classes.averaged_rounds(4).decision_function(X), mean, rtol=1e-12, atol=1e-12)
    voted = np.mean(list(classes.staged_predict_proba(X))[-4:], axis=0)
    assert np.abs(classes.averaged_rounds(4).predict_proba(X) - voted).max() > 1e-6  # another thing


@pytest.mark.parametrize("name", FITS)
def test_one_snapshot_is_the_model(plain_models, name):
    model = plain_models[name]
    for rule in (1, arb.AverageRounds(every=1000)):
        assert (
            model.averaged_rounds(rule).fingerprint()
            == model.fingerprint()
            == fitted(name, average_rounds=rule).fingerprint()
        )


@pytest.mark.parametrize("name", [name for name in FITS if name not in ("ordered",)])
def test_averages_are_explained_and_stored(plain_models, name, tmp_path):
    table, rows = FITS[name][2], rows_of(name) if name in LEARNING else {}
    model = plain_models[name].averaged_rounds(4, **rows)
    explained = model.explain(table[:5])
    expected = model.predict_raw(table[:5])
    total = np.asarray(explained.base_values) + np.asarray(explained.values).sum(axis=1)
    np.testing.assert_allclose(total.reshape(expected.shape), expected, rtol=1e-9, atol=1e-9)
    model.save(tmp_path / "m.arb")
    for again in (arb.load(tmp_path / "m.arb"), pickle.loads(pickle.dumps(model))):
        assert again.fingerprint() == model.fingerprint()
        np.testing.assert_array_equal(again.predict_raw(table), model.predict_raw(table))
        with pytest.raises(ValueError, match="is an average"):
            again.averaged_rounds(2)


def test_importances_are_the_mean_of_the_snapshots(plain_models):
    model = plain_models["numbers"]
    known = [model.first_rounds(k).forest_ for k in (6, 7, 8, 9)]

    def gains(forest):
        return np.bincount(forest.feature[forest.feature >= 0], forest.gain[forest.feature >= 0], 4)

    found = gains(model.averaged_rounds(4).forest_)
    np.testing.assert_allclose(found, np.mean([gains(forest) for forest in known], axis=0), rtol=1e-12)


def test_early_stopping_chooses_the_rounds_first():
    held = {"X_val": X[160:], "y_val": NUMBERS[160:]}
    params = {"n_estimators": 200, "learning_rate": 0.5, "n_iter_no_change": 5}
    plain = arb.BoostedTreesRegressor(**params).fit(X[:160], NUMBERS[:160], **held)
    model = arb.BoostedTreesRegressor(**params, average_rounds=5).fit(X[:160], NUMBERS[:160], **held)
    assert 5 < model.n_iter_ == plain.n_iter_ < 200
    assert model.history_ == plain.history_
    mean = np.mean(list(plain.staged_predict(X))[-5:], axis=0)
    np.testing.assert_allclose(model.predict(X), mean, rtol=1e-12, atol=1e-12)


# ---- what follows from raw predictions ---------------------------------------------------------------------------


def test_thresholds_and_baselines_are_those_of_the_average(plain_models):
    for name in LEARNING:
        plain, model = plain_models[name], fitted(name, average_rounds=6)
        kept = with_model(model, replace(plain.model_, forest=model.forest_))  # what all rounds had learned
        assert kept.fingerprint() != model.fingerprint()
    model = fitted("hazards", average_rounds=6)
    # Breslow's estimate: the hazards of the training rows sum to the number of events.
    at_own_time = model.predict_cumulative_hazard(X, np.unique(EVENTS[:, 0]))
    own = at_own_time[np.arange(N), np.searchsorted(np.unique(EVENTS[:, 0]), EVENTS[:, 0])]
    assert own.sum() == pytest.approx(EVENTS[:, 1].sum(), rel=1e-6)


def test_without_rows_thresholds_are_refused_and_baselines_left_out(plain_models, tmp_path):
    with pytest.raises(ValueError, match="thresholds that follow from raw predictions: give X and y of the training"):
        plain_models["ordered classes"].averaged_rounds(3)
    model = plain_models["hazards"].averaged_rounds(3)
    model.save(tmp_path / "m.arb")
    for one in (model, arb.load(tmp_path / "m.arb")):
        np.testing.assert_allclose(one.predict(X), fitted("hazards", average_rounds=3).predict(X))
        with pytest.raises(ValueError, match="an average has changed: give the average training rows"):
            one.predict_survival_function(X)


# ---- what an average cannot do -----------------------------------------------------------------------------------


def test_dart_is_refused_with_the_reason():
    with pytest.raises(
        ValueError, match=r"average_rounds=3 with dart_rate=0.5: later rounds of DART change the weights"
    ):
        arb.BoostedTreesRegressor(average_rounds=3, dart_rate=0.5).fit(X, NUMBERS)
    dart = arb.BoostedTreesRegressor(**QUICK, dart_rate=0.5).fit(X, NUMBERS)
    for method, given in (("averaged_rounds", 3), ("snapshots", [1])):
        with pytest.raises(ValueError, match=rf"^{method} with dart_rate=0.5: later rounds of DART change"):
            getattr(dart, method)(given)


def test_no_round_is_added_to_an_average(plain_models):
    with pytest.raises(ValueError, match=r"average_rounds=3 with warm_start=True: .* then call averaged_rounds"):
        arb.BoostedTreesRegressor(average_rounds=3, warm_start=True).fit(X, NUMBERS)
    model = plain_models["numbers"].averaged_rounds(3)
    mark = model.fingerprint()
    with pytest.raises(ValueError, match="the fitted model is an average, after which no round can be grown: train"):
        model.fit_more(X, NUMBERS, n_estimators=2)
    with pytest.raises(ValueError, match="the fitted model is an average"):
        clone_with_model(model, warm_start=True, n_estimators=20).fit(X, NUMBERS)
    with pytest.raises(ValueError, match="its trees have the weights of an average"):
        model.influence(X[:2], X_train=X, y_train=NUMBERS)
    assert model.fingerprint() == mark


def clone_with_model(model, **params):
    return with_model(clone(model).set_params(**params), model.model_)


def test_rounds_added_to_a_plain_model_are_averaged_with_it():
    whole = arb.BoostedTreesRegressor(**{**QUICK, "n_estimators": 12}, average_rounds=5).fit(X, NUMBERS)
    part = arb.BoostedTreesRegressor(**QUICK).fit(X, NUMBERS).set_params(average_rounds=5)
    assert part.fit_more(X, NUMBERS, n_estimators=3).fingerprint() == whole.fingerprint()


@pytest.mark.parametrize("name", ["numbers", "ordered classes", "hazards", "refit", "forests"])
def test_a_killed_fit_becomes_the_same_average(name, tmp_path):
    cls, own, table, given = FITS[name]
    kept = arb.Checkpoint(tmp_path / "run.arb", rounds=2)

    def kill(report):
        if report.number == 7:
            raise RuntimeError("killed")

    model = cls(**{**own, "average_rounds": arb.AverageRounds(last=5, every=2)})
    mark = clone(model).fit(table, **given).fingerprint()
    with pytest.raises(RuntimeError, match="killed"):
        clone(model).set_params(callbacks=[kill]).fit(table, **given, checkpoint=kept)
    assert arb.load(kept.path).forest_.n_trees  # rounds so far, as they were grown
    resumed = clone(model).fit(table, **given, checkpoint=kept)
    assert resumed.fingerprint() == mark == arb.load(kept.path).fingerprint()
    assert clone(model).fit(table, **given, checkpoint=kept).fingerprint() == mark
    with pytest.raises(ValueError, match=r"it was begun with average_rounds=.*this fit has 3"):
        clone(model).set_params(average_rounds=3).fit(table, **given, checkpoint=kept)


# ---- as a parameter ------------------------------------------------------------------------------------------------


def test_the_parameter_survives(tmp_path):
    rule = arb.AverageRounds(last=6, every=2, decay=0.5)
    model = arb.BoostedTreesRegressor(**QUICK, average_rounds=rule)
    assert clone(model).average_rounds == rule
    assert eval(repr(model), {**vars(arb), **{name: getattr(arb, name) for name in arb.__all__}}).average_rounds == rule
    model.fit(X, NUMBERS).save(tmp_path / "m.arb")
    for again in (arb.load(tmp_path / "m.arb"), pickle.loads(pickle.dumps(model))):
        assert again.get_params() == model.get_params()
        assert again.fit(X, NUMBERS).fingerprint() == model.fingerprint()
    found = read_settings(arb.BoostedTreesRegressor, {"average_rounds": "20"})
    assert found == {"average_rounds": 20}


def test_it_can_be_searched():
    search = GridSearchCV(
        arb.BoostedTreesRegressor(**QUICK), {"average_rounds": [None, 3, arb.AverageRounds(every=3)]}, cv=2
    ).fit(X, NUMBERS)
    assert len(set(search.cv_results_["mean_test_score"])) == 3


@pytest.mark.parametrize("odd", [0, 2.5, True, "last", {"last": 3}])
def test_odd_values_are_refused_before_the_fit(odd):
    with pytest.raises(ValueError, match=r"average_rounds=.*: use the number of last rounds to average"):
        arb.BoostedTreesRegressor(average_rounds=odd).fit(None, None)


def test_members_and_folds_are_averages():
    rule = {"average_rounds": 4}
    bagged = [
        arb.BaggingRegressor(estimator=arb.BoostedTreesRegressor(**QUICK, **given), n_estimators=2).fit(X, NUMBERS)
        for given in ({}, rule)
    ]
    expected = [one.averaged_rounds(4).fingerprint() for one in bagged[0].estimators_]
    assert [one.fingerprint() for one in bagged[1].estimators_] == expected
    plain, averaged = (
        arb.cross_validate(arb.BoostedTreesRegressor(**QUICK, **given), X, NUMBERS, cv=2) for given in ({}, rule)
    )
    assert averaged.best_round == plain.best_round  # rounds are compared as they are
    expected = [one.averaged_rounds(4).fingerprint() for one in plain.models]
    assert [one.fingerprint() for one in averaged.models] == expected


# ---- snapshots -----------------------------------------------------------------------------------------------------


def test_snapshots_are_first_rounds(plain_models):
    model = plain_models["two classes"]
    found = model.snapshots(range(1, 10, 4))
    assert [one.n_iter_ for one in found] == [1, 5, 9]
    assert [one.fingerprint() for one in found] == [model.first_rounds(k).fingerprint() for k in (1, 5, 9)]
    with pytest.raises(ValueError, match="n_rounds=10: use an integer from 1 to 9, the rounds of this model"):
        model.snapshots([3, 10])
    with pytest.raises(ValueError, match=r"rounds=3: give a list of numbers of rounds, such as \[9\]"):
        model.snapshots(3)
    with pytest.raises(ValueError, match=r"^snapshots: this BoostedTreesClassifier is an average; ask the model"):
        model.averaged_rounds(3).snapshots([1])
