"""Trees of several outputs that grow at the same time are those that grow one after the other."""

from __future__ import annotations

import numpy as np
import pytest

import arboretum as arb
from arboretum import _kernel
from arboretum.data.binning import assign_bins, learn_bins
from arboretum.data.table import read_table
from arboretum.growing import growers

RNG = np.random.default_rng(5)
X = RNG.normal(size=(700, 6))
Y = np.digitize(X[:, 0] * X[:, 1] + 0.5 * RNG.normal(size=700), [-0.6, -0.1, 0.1, 0.6])
TARGETS = np.column_stack([X[:, 0], X[:, 1] ** 2, X[:, 2] * X[:, 3]])
OPTIONS = {
    "plain": {},
    "sample": {"subsample": 0.6, "max_features": 0.5},
    "goss": {"sampling": "goss"},
    "pruned": {"prune": True, "min_gain": 0.2},
    "several trees": {"trees_per_round": 2},
    "steps": {"leaf_steps": 2},
    "level": {"growth": "level", "max_depth": 4},
    "symmetric": {"growth": "symmetric", "max_depth": 4},
    "noise": {"score_noise": 1.0, "growth": "symmetric", "max_depth": 3},
    "linear": {"leaf_model": "linear"},
    "dart": {"dart_rate": 0.3},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_any_number_of_threads_grows_the_same_trees(name, monkeypatch):
    def fingerprints(n_jobs):
        given = {"n_estimators": 4, "early_stopping": False, "n_jobs": n_jobs, **OPTIONS[name]}
        classes = arb.BoostedTreesClassifier(**given).fit(X, Y)
        numbers = arb.BoostedTreesRegressor(**given, vector_leaves=False).fit(X, TARGETS)
        return classes.fingerprint(), numbers.fingerprint()

    found = {fingerprints(n_jobs) for n_jobs in (1, 2, 3, 5, 8)}
    monkeypatch.setattr(growers, "TEAM_BYTES", 0)  # no teams
    assert found == {fingerprints(2)}


def data_of(n_rows):
    table = read_table(X[:n_rows])
    return assign_bins(table, learn_bins(table))


@pytest.mark.parametrize(("n_outputs", "threads", "size"), [(1, 4, 0), (5, 1, 0), (5, 2, 2), (2, 4, 2), (5, 4, 4)])
def test_the_size_of_a_team(n_outputs, threads, size):
    assert len(growers.team_of(data_of(100), n_outputs, threads)) == size


def test_large_tables_have_teams_only_if_no_thread_is_idle(monkeypatch):
    monkeypatch.setattr(growers, "SMALL_ROWS", 99)
    assert [len(growers.team_of(data_of(100), 3, threads)) for threads in (2, 3, 4)] == [2, 3, 0]


@pytest.mark.parametrize("shape", [(2, 100), (4, 100), (3, 99)])
def test_gradients_that_do_not_fit_are_rejected(shape):
    team = growers.team_of(data_of(100), 3, 3)
    gradients, hessians = np.zeros((3, 100)), np.ones(shape)
    with pytest.raises(ValueError, match="expected a grower, and a row of gradients and hessians, for each seed"):
        _kernel.grow_each(team, gradients, hessians, None, _kernel.TreeParams(), [1, 2, 3], None)
