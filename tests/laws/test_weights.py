"""What weights mean, for every estimator: whole ones are copies of rows, of others only the ratios count."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.every_estimator import CASES, PUBLIC, VARIANTS, answers, taken

import arboretum as arb
from arboretum.data.weights import are_copies, in_rows

N_ROWS = 60
RNG = np.random.default_rng(0)
SHARES = RNG.random(N_ROWS) + 0.01
COPIES = RNG.integers(0, 4, N_ROWS)

ONE_ROW = {"min_samples_leaf": 1}  # which counts rows, not weights
BOOSTED = [case for case in CASES if case.name.startswith("BoostedTrees")]
# What must be said for copies to be counted as rows are.
EXACT = {
    "BoostedTreesClassifier": ONE_ROW,
    "BoostedTreesRanker": ONE_ROW,
    "BoostedTreesRegressor": ONE_ROW,
    "BoostedTreesSurvival": ONE_ROW,
    "CalibratedClassifier": {"estimator": lambda: arb.BoostedTreesClassifier(n_estimators=5, **ONE_ROW)},
    "CheckpointAverage": {"estimator": lambda: arb.BoostedTreesClassifier(n_estimators=5, **ONE_ROW)},
    "ConformalRegressor": {"estimator": lambda: arb.BoostedTreesRegressor(n_estimators=5, **ONE_ROW)},
    "RandomSurvivalForest": {**ONE_ROW, "min_samples_split": 2},
    "UpliftForest": {**ONE_ROW, "min_samples_treatment": 1, "honest": False, "adjust": False},
}


def weights_of(case, weight):
    """Rows of a query share a weight."""
    return np.repeat(weight[::5], 5) if case.name == "BoostedTreesRanker" else weight


def repeated(case, rows, copies):
    """Rows as often as they weigh; copies of a query are queries of their own."""
    again = taken(rows, np.repeat(np.arange(len(copies)), copies))
    if "group" in rows:
        number = np.concatenate([np.arange(n) for n in copies])
        again["group"] = 10 * again["group"] + number
    return again


def test_every_estimator_is_tried():
    assert sorted(case.name for case in CASES) == sorted(PUBLIC)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_equal_weights_are_none_in_any_unit(case):
    rows = case.problem(N_ROWS)
    plain = case.fitted(rows).fingerprint()
    for unit in (1e-6, 0.3, 1e-305):
        assert case.fitted(rows, np.full(N_ROWS, unit)).fingerprint() == plain


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_only_ratios_of_shares_count(case):
    rows, weight = case.problem(N_ROWS), weights_of(case, SHARES)
    model = case.fitted(rows, weight)
    assert case.fitted(rows, weight * 2.0**-30).fingerprint() == model.fingerprint()
    for unit in (1e-6, 1e6 / 3):
        scaled = case.fitted(rows, weight * unit)
        np.testing.assert_allclose(answers(scaled, rows["X"]), answers(model, rows["X"]), rtol=1e-9)


# But for models that deal rows into folds, where copies would tell each other's target, and options that tell copies of
# a row apart.
DEALT = ("UpliftBoostedTrees", "Stacking", "Blending", "EnsembleSelection")
BY_PLACE = {"subsample", "early_stopping", "learning_rate", "honest", "oob"}
BY_CONTENT = [
    case
    for case in [*CASES, *VARIANTS]
    if not case.name.startswith(DEALT) and not BY_PLACE & {*case.params, case.params.get("calibration")}
]


@pytest.mark.parametrize("case", BY_CONTENT, ids=str)
def test_whole_weights_are_copies(case):
    rows, copies, params = case.problem(N_ROWS), weights_of(case, COPIES), EXACT.get(case.name, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rows of weight 0 may lack a category
        weighted = case.fitted(rows, copies, **params)
        again = case.fitted(repeated(case, rows, copies), **params)
    seen = rows["X"][copies > 0]
    np.testing.assert_allclose(answers(weighted, seen), answers(again, seen), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.name != "UpliftBoostedTrees"], ids=lambda case: case.name
)
@pytest.mark.parametrize(
    "few", [{}, {"max_samples": 0.5}, {"max_samples": 20, "bootstrap": False}, {"subsample": 0.7}], ids=str
)
def test_equal_rows_of_other_weights_come_in_any_order(case, few):
    """Rows that are the same but for their weights were drawn in the order of the table."""
    bootstraps = case.name.startswith(("RandomForest", "ExtraTrees", "RandomSurvival", "Uplift"))
    if not set(few) <= set(case.make().get_params(deep=False)) or (few and (bootstraps or case in BOOSTED)):
        pytest.skip("no such parameter, or rows are drawn by place")
    rng, half = np.random.default_rng(1), np.arange(N_ROWS) // 10 * 5 + np.arange(N_ROWS) % 5
    rows = taken(case.problem(N_ROWS), half)  # each twice
    weight, order = rng.random(N_ROWS) + 0.1, rng.permutation(N_ROWS)
    weight = np.repeat(weight[::5], 5) if "group" in rows else weight
    if "group" in rows:
        rows["group"] = np.arange(N_ROWS) // 5
    one, other = case.fitted(rows, weight, **few), case.fitted(taken(rows, order), weight[order], **few)
    np.testing.assert_allclose(answers(one, rows["X"]), answers(other, rows["X"]), rtol=1e-9, atol=1e-12)


PENALTIES = [{"l2": 1.0}, {"min_child_weight": 1.0}, {"l1": 0.3, "min_gain": 0.05}]


@pytest.mark.parametrize("params", PENALTIES, ids=str)
@pytest.mark.parametrize("case", BOOSTED, ids=lambda case: case.name)
def test_penalties_count_rows(case, params):
    """Copies count as rows, and the mean share is a row: a least hessian of 1 was missed by rounding."""
    rows, copies = case.problem(N_ROWS), weights_of(case, COPIES)
    weighted = case.fitted(rows, copies, **ONE_ROW, **params)
    again = case.fitted(repeated(case, rows, copies), **ONE_ROW, **params)
    seen = rows["X"][copies > 0]
    np.testing.assert_allclose(answers(weighted, seen), answers(again, seen), rtol=1e-9, atol=1e-12)
    shares = weights_of(case, SHARES)
    model, scaled = (case.fitted(rows, shares * unit, **params) for unit in (1.0, 1e-7))
    np.testing.assert_allclose(answers(scaled, rows["X"]), answers(model, rows["X"]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("preset", ["gbm", "xgboost", "lightgbm", "catboost"])
def test_presets_see_light_weights(preset):
    """Weights of 1e-6 gave models without a split, and no word of it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y, weight = X[:, 0] + X[:, 1], 1e-6 * (1 + rng.random(300))
    model = arb.BoostedTreesRegressor.preset(preset, n_estimators=20, learning_rate=0.3).fit(X, y, weight)
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("cls", [arb.BoostedTreesClassifier, arb.RandomForestClassifier, arb.DecisionTreeClassifier])
def test_class_weights_are_shares_too(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] + rng.normal(size=120) > 1).astype(int)
    params = {} if cls is arb.DecisionTreeClassifier else {"n_estimators": 5}
    params |= {"l2": 1.0} if cls is arb.BoostedTreesClassifier else {}
    one, other = (cls(**params, class_weight={0: unit, 1: 2.5 * unit}).fit(X, y) for unit in (0.5, 0.5e-8))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-9)
    as_weights = cls(**params).fit(X, y, np.where(y == 1, 2.5, 1.0))
    np.testing.assert_allclose(one.predict_proba(X), as_weights.predict_proba(X), rtol=1e-9)


# ---- categories ------------------------------------------------------------------------------------------------------

FORESTS = {"RandomForest": {"n_estimators": 4}, "ExtraTrees": {"n_estimators": 4}, "DecisionTree": {}}
TREES = [
    *(
        (f"{name}Regressor", criterion)
        for name in FORESTS
        for criterion in ("squared_error", "absolute_error", "poisson")
    ),
    *((f"{name}Classifier", criterion) for name in FORESTS for criterion in ("gini", "entropy")),
    ("BaggingRegressor", None),
    ("BaggingClassifier", None),
    ("AdaBoostRegressor", None),
    ("AdaBoostClassifier", None),
    ("IsolationForest", None),
    ("RandomSurvivalForest", None),
]


def categorical_problem(seed, n_levels, n_rows=120):
    rng = np.random.default_rng(seed)
    level = rng.integers(0, n_levels, n_rows)
    X = pd.DataFrame(
        {
            "number": rng.normal(size=n_rows).round(1),
            "level": np.array([f"level {i:02d}" for i in range(n_levels)])[level],
            "few": rng.integers(0, 3, n_rows).astype(float),
        }
    )
    y = rng.normal(size=n_levels)[level] + X["number"].to_numpy() + rng.normal(size=n_rows).round(1)
    return rng, X, y


def made(name, criterion):
    params = {key: value for stem, given in FORESTS.items() if name.startswith(stem) for key, value in given.items()}
    if name.startswith(("Bagging", "AdaBoost", "Isolation", "RandomSurvival")):
        params = {"n_estimators": 4}
    if name == "RandomSurvivalForest":
        params |= {"min_samples_leaf": 1, "min_samples_split": 2}
    return getattr(arb, name)(**params, **({} if criterion is None else {"criterion": criterion}))


def target_of(name, y):
    if name.endswith("Classifier"):
        return np.digitize(y, [-1, 1])
    if name == "RandomSurvivalForest":
        return np.column_stack([np.exp(y).round(1) + 0.1, y < 1.5])
    return np.exp(y / 3)


@pytest.mark.parametrize("n_levels", [3, 8, 40])
@pytest.mark.parametrize(("name", "criterion"), TREES)
def test_order_and_copies_of_rows_with_categories(name, criterion, n_levels):
    """Categories were known by codes, which follow their frequencies, and gains by medians were sums of floats."""
    rng, X, y = categorical_problem(1, n_levels)
    y = target_of(name, y)
    order, copies, shares = rng.permutation(len(y)), rng.integers(0, 4, len(y)), rng.random(len(y)) + 0.1
    rows = np.repeat(np.arange(len(y)), copies)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a bag may lack a category
        for one, other, some in (
            ((X, y), (X.iloc[order], y[order]), slice(None)),
            ((X, y, shares), (X.iloc[order], y[order], shares[order]), slice(None)),
            ((X, y, copies), (X.iloc[rows], y[rows]), copies > 0),
        ):
            first, second = (made(name, criterion).fit(*args) for args in (one, other))
            seen = X[some]
            np.testing.assert_allclose(answers(first, seen), answers(second, seen), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile", "huber", "poisson"])
@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_copies_of_boosted_rows_with_categories(loss, growth):
    """Gradients of ±1 tie all the time: their categories went by frequency."""
    rng, X, y = categorical_problem(3, 8)
    copies = rng.integers(0, 4, len(y))
    params = {"n_estimators": 8, "loss": loss, "growth": growth, "category_levels": None, **ONE_ROW}
    rows, y = np.repeat(np.arange(len(y)), copies), np.exp(y / 3)
    weighted = arb.BoostedTreesRegressor(**params).fit(X, y, copies)
    again = arb.BoostedTreesRegressor(**params).fit(X.iloc[rows], y[rows])
    seen = X[copies > 0]
    np.testing.assert_allclose(weighted.predict(seen), again.predict(seen), rtol=1e-9)


# ---- the rule itself -------------------------------------------------------------------------------------------------


@given(st.lists(st.just(0.0) | st.floats(1e-200, 1e30), min_size=1, max_size=50).filter(any))
def test_weights_in_rows(given):
    weight = np.array(given)
    found = in_rows(weight)
    found = np.ones(len(weight)) if found is None else found
    if are_copies(weight):
        np.testing.assert_array_equal(found, weight)
    else:
        assert found[found > 0].mean() == pytest.approx(1, rel=1e-9)
        np.testing.assert_allclose(found / found.max(), weight / weight.max(), rtol=1e-12, atol=1e-18)
        assert (found[weight == 0] == 0).all()


@pytest.mark.parametrize("unit", [1e-20, 1e-150, 1e-308, 5e-324])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_faint_weights_are_none(case, unit):
    """Leaves of nothing but such rows made the numbers of a fit infinite, or sent slopes far away."""
    rows = case.problem(N_ROWS)
    kept = np.arange(N_ROWS) // 5 % 4 > 0  # whole queries
    params = {"leaf_model": "linear"} if case.name == "BoostedTreesRegressor" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        faint = case.fitted(rows, np.where(kept, 1.5, unit), **params)
        without = case.fitted(taken(rows, kept), **params)
    np.testing.assert_allclose(answers(faint, rows["X"]), answers(without, rows["X"]), rtol=1e-9, atol=1e-12)


def test_floats_too_large_to_count_are_shares():
    assert not are_copies(np.array([2.0**53, 2.0]))
    assert are_copies(np.array([2.0**52, 0.0, 3.0]))
