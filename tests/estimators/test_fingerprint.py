"""Same data, parameters and seed give the same model, byte for byte: any threads, columns in any order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from arboretum import (
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

GROWTHS = ["leaf", "level", "symmetric"]
THREADS = [1, 2, 3, 8]
N_ROWS, N_COLUMNS = 30_000, 12

RNG = np.random.default_rng(0)
X = RNG.normal(size=(N_ROWS, N_COLUMNS))
X[RNG.random(X.shape) < 0.02] = np.nan
X[:, 11] = RNG.integers(0, 40, N_ROWS)
Y = np.exp(np.nan_to_num(X[:, 0] * X[:, 1] - X[:, 2] + (X[:, 11] % 3)) / 3 + 0.3 * RNG.normal(size=N_ROWS))
WEIGHT = RNG.random(N_ROWS) + 0.1


def prints(cls, y, weight=None, threads=THREADS, **params):
    """Fingerprints of the model, and the bits of its predictions, for each number of threads."""
    found = set()
    for n_jobs in threads:
        model = cls(
            **{"n_estimators": 4, "early_stopping": False, "categorical_features": [11], **params, "n_jobs": n_jobs}
        )
        model.fit(X, y, sample_weight=weight)
        output = model.predict_proba(X) if cls is BoostedTreesClassifier else model.predict(X)
        found.add((model.fingerprint(), output.tobytes()))
    return found


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize(
    "sampling",
    [
        {},
        {"subsample": 0.4},
        {"max_features": 0.5, "colsample_tree": 0.8, "colsample_level": 0.7},
        {"subsample": 0.7, "max_features": 3},
    ],
    ids=["all", "rows", "columns", "both"],
)
def test_threads_do_not_change_the_model(growth, sampling):  # LGB#6731, #6683, #3761, #3654, CB#2804, #1587
    assert len(prints(BoostedTreesRegressor, Y, growth=growth, **sampling)) == 1


@pytest.mark.parametrize("loss", ["absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"])
def test_threads_do_not_change_the_model_of_any_loss(loss):
    assert len(prints(BoostedTreesRegressor, Y, weight=WEIGHT, loss=loss, threads=[1, 3, 8])) == 1


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("growth", GROWTHS)
def test_threads_do_not_change_a_classifier(growth, n_classes):
    labels = np.digitize(Y, np.quantile(Y, np.arange(1, n_classes) / n_classes))
    assert len(prints(BoostedTreesClassifier, labels, growth=growth, subsample=0.8, threads=[1, 2, 8])) == 1


@pytest.mark.parametrize(
    "params",
    [
        {"max_bins": None, "max_leaf_nodes": 100},
        {"monotonic_cst": [1, -1] + [0] * 10},
        {"early_stopping": True, "n_iter_no_change": 2},
        {"max_leaf_nodes": 255, "min_samples_leaf": 1},
        {"interaction_cst": "pairwise", "l1": 0.5, "l2": 3.0, "max_delta_step": 0.4},
    ],
    ids=["exact", "monotone", "early stopping", "deep", "regularised"],
)
def test_threads_do_not_change_the_model_of_any_mode(params):
    assert len(prints(BoostedTreesRegressor, Y, weight=WEIGHT, threads=[1, 2, 8], **params)) == 1


def test_heavy_tails_do_not_change_with_threads():
    heavy = np.exp(3 * np.random.default_rng(1).normal(size=N_ROWS))
    weight = np.ones(N_ROWS)
    weight[5] = 1e6
    assert len(prints(BoostedTreesRegressor, heavy, weight=weight, threads=[1, 2, 8])) == 1


def frame():
    columns = {f"c{j}": X[:2000, j] for j in range(6)}
    columns["word"] = np.array(["ab", "cd", "ef", "gh", "ij", "kl"])[np.nan_to_num(X[:2000, 11]).astype(int) % 6]
    return pd.DataFrame(columns)


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize(
    "params", [{}, {"max_features": 0.4, "subsample": 0.5}, {"colsample_tree": 3, "colsample_level": 2}]
)
def test_order_of_named_columns_does_not_change_the_model(growth, params):
    table, rng = frame(), np.random.default_rng(2)
    table["c5"] = table["c4"]  # ties between columns are broken by name, too
    found = set()
    for _ in range(4):
        shuffled = table[rng.permutation(table.columns)]
        model = BoostedTreesRegressor(
            n_estimators=5, growth=growth, monotonic_cst={"c0": 1}, interaction_cst=[{"c0", "c1", "word"}], **params
        ).fit(shuffled, Y[:2000])
        found.add((model.fingerprint(), model.predict(table).tobytes()))
    assert len(found) == 1


@pytest.mark.parametrize(
    "sampling",
    [
        {"subsample": 0.5},
        {"max_features": 0.3},
        {"colsample_tree": 0.5},
        {"colsample_level": 0.5},
        {"early_stopping": True},
    ],
)
def test_seed_matters_where_something_is_drawn_and_only_there(sampling):
    def fingerprint(seed, **params):
        fixed = {"n_estimators": 4, "subsample": 1.0, "max_features": 1.0, "early_stopping": False, "refit": False}
        return BoostedTreesRegressor(random_state=seed, **{**fixed, **params}).fit(X[:2000], Y[:2000]).fingerprint()

    assert fingerprint(0, **sampling) == fingerprint(0, **sampling)
    assert len({fingerprint(seed, **sampling) for seed in (0, 1, -1, 2**64 - 2)}) == 4
    assert fingerprint(0) == fingerprint(1)


def test_every_fact_of_the_model_counts():
    base = BoostedTreesClassifier(n_estimators=3).fit(X[:500], Y[:500] > 1)
    other_data = X[:500].copy()
    other_data[:, 0] *= 1.5
    others = [
        BoostedTreesClassifier(n_estimators=3).fit(other_data, Y[:500] > 1),
        BoostedTreesClassifier(n_estimators=4).fit(X[:500], Y[:500] > 1),
        BoostedTreesClassifier(n_estimators=3).fit(X[:500], np.where(Y[:500] > 1, "b", "a")),
        BoostedTreesClassifier(n_estimators=3).fit(pd.DataFrame(X[:500], columns=list("abcdefghijkl")), Y[:500] > 1),
        BoostedTreesClassifier(n_estimators=3, unknown="missing").fit(X[:500], Y[:500] > 1),
        BoostedTreesRegressor(n_estimators=3).fit(X[:500], Y[:500] > 1),
    ]
    assert len({model.fingerprint() for model in [base, *others]}) == 7


def test_what_does_not_change_predictions_does_not_count():
    base = BoostedTreesRegressor(n_estimators=3).fit(X[:500], Y[:500]).fingerprint()
    for params in ({"n_jobs": 2}, {"callbacks": [lambda report: None]}, {"time_limit": 1e6}):
        assert BoostedTreesRegressor(n_estimators=3, **params).fit(X[:500], Y[:500]).fingerprint() == base


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f4", "f8", ">f8", "i2", "u8", "f2"])
def test_strides_and_types_do_not_change_the_model(order, dtype):
    table = np.random.default_rng(0).integers(0, 40, (200, 6)).astype(float)
    y = table[:, 0] - table[:, 2]
    expected = BoostedTreesRegressor(n_estimators=5).fit(table[:, ::2], y).fingerprint()
    assert (
        BoostedTreesRegressor(n_estimators=5).fit(np.array(table, dtype, order=order)[:, ::2], y).fingerprint()
        == expected
    )


def test_predictions_do_not_depend_on_the_batch():
    model = BoostedTreesRegressor(n_estimators=20, early_stopping=False).fit(X, Y)
    whole = model.predict(X[:5000])
    parts = np.concatenate([model.predict(X[i : i + 7]) for i in range(0, 700, 7)])
    np.testing.assert_array_equal(parts, whole[:700])
    one = np.array([model.predict(X[i : i + 1])[0] for i in range(50)])
    np.testing.assert_array_equal(one, whole[:50])
    np.testing.assert_array_equal(model.predict(np.asfortranarray(X[:5000])), whole)


# ---- forests -------------------------------------------------------------------------------------------------------

FORESTS = [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor]
OPTIONS = {
    "as they are": {},
    "bootstrap": {"bootstrap": True, "max_samples": 0.3},
    "no bootstrap": {"bootstrap": False, "max_features": 0.5},
    "exact": {"max_bins": None, "max_depth": 8},
    "best first": {"max_leaf_nodes": 50},
    "limits": {"min_samples_leaf": 5, "min_samples_split": 0.01, "min_impurity_decrease": 1e-4},
    "monotone": {"monotonic_cst": [1, -1] + [0] * 10, "max_depth": 6},
    "one tree": {"n_estimators": 1},
}
FEW = 6000


def print_of(cls, y, rows=slice(FEW), weight=None, **params):
    params = {"n_estimators": 3, "categorical_features": [11], **params}
    model = cls(**params).fit(X[rows], y[rows], sample_weight=None if weight is None else weight[rows])
    output = model.predict(X[:FEW]) if cls in FORESTS[1::2] else model.predict_proba(X[:FEW])
    return model.fingerprint(), np.hstack(output).tobytes()


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
def test_threads_do_not_change_a_forest(cls, options, weight):
    y = Y if cls in FORESTS[1::2] else Y > 1
    assert len({print_of(cls, y, weight=weight, n_jobs=n_jobs, **options) for n_jobs in THREADS}) == 1


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize("case", ["criterion", "many", "outputs", "balanced", "hard"])
def test_threads_do_not_change_a_forest_of_any_target(cls, case):
    numbers = cls in FORESTS[1::2]
    if numbers and case in ("balanced", "hard"):
        return
    y = Y if numbers else np.digitize(Y, np.quantile(Y, [0.3, 0.6]))
    y = np.column_stack([y, y > 1]) if case == "outputs" else y
    params = {
        "criterion": {"criterion": "poisson" if numbers else "entropy"},
        "balanced": {"bootstrap": "balanced", "class_weight": "balanced"},
        "hard": {"voting": "hard", "max_depth": 3},
    }.get(case, {})
    assert len({print_of(cls, y, n_jobs=n_jobs, **params) for n_jobs in (1, 2, 3)}) == 1


@pytest.mark.parametrize("cls", FORESTS[1::2])
def test_threads_do_not_change_a_forest_of_medians(cls):
    rows = slice(1500)
    found = {print_of(cls, Y, rows, criterion="absolute_error", n_jobs=n_jobs, max_depth=8) for n_jobs in THREADS}
    assert len(found) == 1


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize("n_columns", [3, 12, 40, 90])
def test_one_tree_on_several_threads_is_the_tree_of_one(cls, n_columns):
    """Threads share the columns of its large nodes, then its branches."""
    rng = np.random.default_rng(n_columns)
    table = np.round(rng.normal(size=(N_ROWS // 2, n_columns)), 2)
    y = np.nan_to_num(table[:, 0]) + table[:, 1] * table[:, 2] + rng.normal(size=len(table))
    y = y if cls in FORESTS[1::2] else y > 0
    params = {"n_estimators": 1, "max_features": None, "bootstrap": False, "min_samples_leaf": 20}
    assert len({cls(**params, n_jobs=n_jobs).fit(table, y).fingerprint() for n_jobs in (1, 2, 5)}) == 1


@pytest.mark.parametrize("cls", FORESTS)
def test_threads_do_not_decide_between_columns_that_tie(cls):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, N_ROWS)
    table = np.column_stack([x, x, np.where((x == 1) & (rng.random(N_ROWS) < 0.3), np.nan, x)]).astype(float)
    y = x ^ (rng.random(N_ROWS) < 0.2)
    params = {"n_estimators": 1, "max_features": None, "categorical_features": [1], "max_depth": 2}
    for seed in range(4):
        prints = {cls(**params, random_state=seed, n_jobs=n).fit(table, y).fingerprint() for n in (1, 2)}
        assert len(prints) == 1


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
def test_order_of_rows_does_not_change_a_forest(cls, bootstrap, weight):
    rows = np.arange(2000)
    y = Y if cls in FORESTS[1::2] else np.digitize(Y, [0.8, 1.5])
    shuffled = np.random.default_rng(3).permutation(rows)
    params = {"weight": weight, "bootstrap": bootstrap, "min_samples_leaf": 10}
    assert print_of(cls, y, shuffled, **params) == print_of(cls, y, rows, **params)


@pytest.mark.parametrize("cls", FORESTS)
def test_order_of_named_columns_does_not_change_a_forest(cls):
    table, rng, found = frame(), np.random.default_rng(2), set()
    table["c5"] = table["c4"]
    y = Y[:2000] if cls in FORESTS[1::2] else Y[:2000] > 1
    for _ in range(4):
        shuffled = table[rng.permutation(table.columns)]
        model = cls(n_estimators=5, monotonic_cst={"c0": 1}).fit(shuffled, y)
        found.add((model.fingerprint(), model.predict(table).tobytes()))
    assert len(found) == 1


@pytest.mark.parametrize("cls", FORESTS)
def test_seeds_of_forests(cls):
    y = Y if cls in FORESTS[1::2] else Y > 1
    rows = slice(500)
    assert len({print_of(cls, y, rows, random_state=seed)[0] for seed in (0, 1, -1, 2**64 - 2)}) == 4
    assert print_of(cls, y, rows, random_state=7) == print_of(cls, y, rows, random_state=np.int32(7))
    assert print_of(cls, y, rows, random_state=None) != print_of(cls, y, rows, random_state=None)
