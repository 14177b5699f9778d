"""Threads: the same bits for any number, after a fork, and from many callers at once."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.reference import growing as slow

import arboretum as arb
from arboretum import _kernel
from arboretum.growing import TreeParams
from arboretum.losses import SquaredError


@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
@pytest.mark.parametrize("n_features", [4, 20])
def test_trees_do_not_depend_on_threads(growth, n_features):
    data, g, h = slow.large_problem(60_000, n_features)
    codes = data.to_kernel()
    params = TreeParams(growth=growth, max_leaf_nodes=64, max_depth=8, min_samples_leaf=50, max_features=0.7)
    rows = _kernel.subsample_rows(60_000, 0.9, 1, 1)
    for sample in (None, rows):
        grower, tree = slow.grow_tree(codes, g, h, params, sample)
        for threads in (2, 3, 8):
            other_grower, other = slow.grow_tree(codes, g, h, params, sample, threads)
            slow.assert_same_tree(tree, other)
            np.testing.assert_array_equal(grower.leaf_of_row, other_grower.leaf_of_row)


def test_many_blocks_of_features_do_not_depend_on_threads():
    rng = np.random.default_rng(13)
    n_bins = [int(n) for n in rng.choice([3, 100, 300, 1000], 150)]
    data = slow.Codes([rng.integers(0, n, 3000) for n in n_bins], n_bins, [False] * 150)
    g = np.round(data.columns[70] % 7 - 3 + data.columns[140] / n_bins[140] * 6)
    codes, h = data.to_kernel(), np.ones(3000)
    few_leaves = TreeParams(min_samples_leaf=1, max_leaf_nodes=10)
    _, tree = slow.grow_tree(codes, g, h, few_leaves)
    for threads in (2, 3):
        slow.assert_same_tree(tree, slow.grow_tree(codes, g, h, few_leaves, threads=threads)[1])
    best = slow.best_gain(
        data, np.arange(3000), g, h, slow.root_leaf(few_leaves), 0, [int(tree.feature[0])], few_leaves
    )
    assert tree.gain[0] == pytest.approx(best, rel=1e-4)


# ---- forks ---------------------------------------------------------------------------------------------------------

AFTER_FORK = """
import os, signal, sys, warnings
import numpy as np
import arboretum as arb

X = np.random.default_rng(0).normal(size=(20_000, 20))
model = arb.BoostedTreesRegressor(n_estimators=3, n_jobs=4)
before = model.fit(X, X[:, 0]).fingerprint()
warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forks of threaded processes
child = os.fork()
if child == 0:
    same = model.fit(X, X[:, 0]).fingerprint() == before
    os._exit(0 if same else 3)
_, status = os.waitpid(child, 0)
assert model.fit(X, X[:, 0]).fingerprint() == before
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_can_fit_with_threads():
    finished = subprocess.run([sys.executable, "-c", AFTER_FORK], timeout=60, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr


# ---- callers -------------------------------------------------------------------------------------------------------


def test_many_callers_at_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20))
    y = X[:, 0] + rng.normal(size=3000)

    def fit(seed):
        model = arb.BoostedTreesRegressor(n_estimators=5, subsample=0.5, random_state=seed, n_jobs=4).fit(X, y)
        return model.fingerprint(), model.predict(X)

    expected = [fit(seed) for seed in range(4)]
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(fit, [0, 1, 2, 3] * 8))
    for i, (fingerprint, predictions) in enumerate(found):
        assert fingerprint == expected[i % 4][0]
        np.testing.assert_array_equal(predictions, expected[i % 4][1])


def test_growers_of_one_table_at_once():
    data, g, h = slow.large_problem(20_000, 20)
    codes, params = data.to_kernel(), TreeParams(max_leaf_nodes=40)
    _, expected = slow.grow_tree(codes, g, h, params)
    with ThreadPoolExecutor(16) as pool:
        found = list(
            pool.map(lambda threads: slow.grow_tree(codes, g, h, params, threads=threads)[1], [1, 2, 3, 8] * 8)
        )
    for tree in found:
        slow.assert_same_tree(tree, expected)


def test_one_model_predicts_for_many_callers():
    X = np.random.default_rng(1).normal(size=(5000, 5))
    model = arb.BoostedTreesRegressor(n_estimators=20, n_jobs=4).fit(X, X[:, 0] * X[:, 1])
    expected = model.predict(X)
    with ThreadPoolExecutor(16) as pool:
        for found in pool.map(lambda _: model.predict(X), range(64)):
            np.testing.assert_array_equal(found, expected)


class FitsInside(SquaredError):  # noqa: N818
    """A loss that itself fits a model for its gradients."""

    def gradients(self, y, raw):
        inner = arb.BoostedTreesRegressor(n_estimators=2, n_jobs=4).fit(raw.reshape(-1, 1), y)
        inner.predict(raw.reshape(-1, 1))
        return super().gradients(y, raw)


def test_a_fit_inside_a_fit():
    X = np.random.default_rng(2).normal(size=(3000, 20))
    models = [
        arb.BoostedTreesRegressor(loss=loss, n_estimators=3, n_jobs=4).fit(X, X[:, 0])
        for loss in (SquaredError(), FitsInside())
    ]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))


def test_many_short_jobs():
    """Workers that wake late must not take part in the next job by mistake."""
    rng = np.random.default_rng(3)
    y, raw = rng.normal(size=20_000), rng.normal(size=20_000)
    g, h = np.empty(20_000), np.empty(20_000)
    for threads in [2, 8, 3, 64] * 500:
        g[:] = np.nan
        _kernel.gradients(_kernel.LossKind.squared_error, 0.0, y, raw, None, g, h, threads)
        np.testing.assert_array_equal(g, raw - y)
