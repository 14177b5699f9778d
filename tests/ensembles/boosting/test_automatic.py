"""What "auto" stands for, by release."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest

import arboretum as arb
from arboretum.ensembles.boosting import automatic
from arboretum.ensembles.boosting.automatic import NEWEST, RELEASES, of_release
from arboretum.losses import LOSSES

X = np.random.default_rng(0).normal(size=(300, 3))
Y = X[:, 0] + X[:, 1] ** 2
OF_0_1 = {
    "large_table": 1_000,
    "refit_rows": 50_000,
    "mean_penalty": 10.0,
    "sampled_share": 0.7,
    "leaves": 31,
    "ranking_leaves": 8,
    "fewest_held_queries": 100,
    "fewest_held_events": 100,
    "folds": 5,
    "fewest_events": 20,
    "rates": {
        "regression": (0.158, -4.287, -0.813, 0.15),
        "two classes": (0.408, -7.299, -0.928, 0.15),
        "several classes": (0.051, -2.889, -0.845, 0.3),
        "ranking": (0.0, -4.962, -1.0, 0.15),
    },
}


def test_a_release_keeps_its_constants():
    assert asdict(RELEASES["0.1"]) == OF_0_1


def test_the_newest_release_is_taken_by_default():
    assert of_release(None) is RELEASES[NEWEST] is list(RELEASES.values())[-1]


@pytest.fixture
def _later(monkeypatch):
    later = {**RELEASES, "0.2": replace(RELEASES["0.1"], leaves=4, mean_penalty=1000.0)}
    monkeypatch.setattr(automatic, "RELEASES", later)
    monkeypatch.setattr(automatic, "NEWEST", "0.2")


def predictions(defaults):
    return arb.BoostedTreesRegressor(n_estimators=5, defaults=defaults).fit(X, Y).predict(X)


def test_a_named_release_repeats_its_fits_when_another_is_newer(request):
    before = predictions(None)
    request.getfixturevalue("_later")
    assert not np.allclose(predictions(None), before)
    np.testing.assert_array_equal(predictions("0.1"), before)


def test_unknown_releases_are_refused():
    with pytest.raises(ValueError, match=r"defaults='0\.3'.*: use one of None, '0\.1'"):
        arb.BoostedTreesRanker(defaults="0.3").check_parameters()


def test_files_keep_the_release(tmp_path):
    for defaults in (None, "0.1"):
        arb.BoostedTreesRegressor(n_estimators=2, defaults=defaults).fit(X, Y).save(tmp_path / "model.arb")
        assert arb.load(tmp_path / "model.arb").defaults == defaults


@pytest.mark.parametrize(("loss", "leaves"), [("squared_error", 31), ("lambdamart", 8), ("yetirank", 8)])
def test_trees_of_rankings_have_fewer_leaves(loss, leaves):
    assert of_release(None).leaves_of_tree(LOSSES[loss]()) == leaves


@pytest.mark.parametrize("n_rounds", [25, 100, 1000])
def test_all_steps_of_a_small_ranking_are_7_long_together(n_rounds):
    query = np.repeat(np.arange(30), 10)
    model = arb.BoostedTreesRanker(n_estimators=n_rounds).fit(X, np.digitize(Y, [0, 1, 2]), group=query)
    assert model.n_iter_ * model.learning_rate_ == pytest.approx(7, rel=1e-3)
    assert np.diff(model.forest_.tree_start).max() == 2 * 8 - 1
