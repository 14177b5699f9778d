"""BoostedTreesRegressor: losses, weights, constraints, stopping, going on, custom losses."""

from __future__ import annotations

import time
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, mean_squared_error

from arboretum import BoostedTreesRegressor, Loss, losses

GROWTHS = ["leaf", "level", "symmetric"]
LOSSES = ["squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"]
IN_LEAF = 0


def friedman(n_rows=1500, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 5))
    signal = 5 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 10 * (X[:, 2] - 0.5) ** 2 + 3 * X[:, 3]
    return X, signal + noise * rng.normal(size=n_rows)


# ------------------------------------------------------------------------------------------------------- losses


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("loss", LOSSES)
def test_learns_rows_it_has_not_seen(loss, growth):
    X, y = friedman(2000)
    y = y - y.min() + 0.1
    model = BoostedTreesRegressor(loss=loss, growth=growth, n_estimators=100).fit(X[:1500], y[:1500])
    assert model.score(X[1500:], y[1500:]) > 0.85
    assert model.n_iter_ == model.history_.best_round


@pytest.mark.parametrize(
    ("loss", "power"), [("squared_error", 0.0), ("poisson", 1.0), ("tweedie", 1.5), ("gamma", 2.0)]
)
def test_predictions_are_calibrated(loss, power):
    """At the minimum Σ (μ − y) μ^(1 − power) = 0 in every leaf: for squared error and Poisson, equal means."""
    rng = np.random.default_rng(0)
    X, y = friedman(3000)
    mean = np.exp((y - y.mean()) / 4)
    y = {"gamma": rng.gamma(2.0, mean / 2), "squared_error": y}.get(loss, rng.poisson(3 * mean).astype(float))
    predicted = BoostedTreesRegressor(loss=loss).fit(X, y).predict(X)
    assert loss == "squared_error" or predicted.min() > 0
    weight = np.abs(predicted) ** (1 - power) if power else np.ones(3000)
    assert np.average(predicted, weights=weight) == pytest.approx(np.average(y, weights=weight), rel=0.005)


@pytest.mark.parametrize("level", [0.05, 0.5, 0.9])
def test_quantiles_cover_their_share_of_the_training_rows(level):
    X, y = friedman(3000, noise=2.0)
    params = {"n_estimators": 100, "max_leaf_nodes": 8, "early_stopping": False}
    model = BoostedTreesRegressor(loss="quantile", quantile=level, **params).fit(X, y)
    assert abs((y <= model.predict(X)).mean() - level) < 0.02


def test_quantiles_of_one_tree_are_those_of_its_leaves():
    X, y = friedman(1000, noise=2.0)
    params = {"n_estimators": 1, "learning_rate": 1.0, "subsample": 1.0, "early_stopping": False}
    model = BoostedTreesRegressor(loss="quantile", quantile=0.8, **params).fit(X, y)
    leaf, predicted = model.apply(X)[:, 0], model.predict(X)
    for each in np.unique(leaf):
        expected = np.quantile(y[leaf == each], 0.8, method="inverted_cdf")
        np.testing.assert_allclose(predicted[leaf == each], expected, rtol=1e-12)


def test_absolute_error_and_huber_shrug_off_outliers():
    X, y = friedman(2000)
    clean = y.copy()
    y[::50] += 1000.0
    error = {
        loss: mean_absolute_error(clean, BoostedTreesRegressor(loss=loss).fit(X, y).predict(X)) for loss in LOSSES[:3]
    }
    assert error["absolute_error"] < 1 < error["squared_error"]
    assert error["huber"] < error["squared_error"] / 3


@pytest.mark.parametrize(
    ("loss", "bad", "rule"),
    [
        ("poisson", -1.0, "y >= 0"),
        ("gamma", 0.0, "y > 0"),
        ("tweedie", -2.0, "y >= 0"),
        ("squared_error", 1e101, "beyond"),
    ],
)
def test_target_outside_the_domain_names_the_row(loss, bad, rule):
    X, y = friedman(100)
    y = np.abs(y) + 1
    y[17] = bad
    with pytest.raises(ValueError, match=rf"y\[17\] = .*{rule}"):
        BoostedTreesRegressor(loss=loss).fit(X, y)


@pytest.mark.parametrize("power", [-250, -30, 30, 250])
@pytest.mark.parametrize("n_rows", [500, 80_000])
def test_unit_of_the_target_does_not_matter(n_rows, power):
    """Scaling by a power of two is exact, so that trees and predictions are, too."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 2))
    y = X[:, 0] + rng.normal(size=n_rows)
    params = {"n_estimators": 3, "max_leaf_nodes": 4, "early_stopping": False}
    model = BoostedTreesRegressor(**params).fit(X, y)
    scaled = BoostedTreesRegressor(**params).fit(X, y * 2.0**power)
    np.testing.assert_allclose(scaled.predict(X[:1000]) * 2.0**-power, model.predict(X[:1000]), rtol=1e-6)


# ------------------------------------------------------------------------------------------------------ weights


@pytest.mark.parametrize("loss", LOSSES)
def test_integer_weights_are_repetitions(loss):
    X, y = friedman(400)
    y = np.abs(y) + 0.1
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    params = {"n_estimators": 10, "min_samples_leaf": 1, "max_bins": None, "max_depth": 4, "loss": loss}
    params["min_gain"] = 1e-9  # where all gradients of a node are equal, gains are rounding
    weighted = BoostedTreesRegressor(**params).fit(X, y, sample_weight=weight)
    repeated = BoostedTreesRegressor(**params).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)


@pytest.mark.parametrize("params", [{}, {"subsample": 0.5}, {"early_stopping": True}, {"loss": "huber"}])
def test_row_of_weight_zero_is_no_row(params):
    X, y = friedman(600)
    weight = np.ones(600)
    weight[1::3] = 0
    kept = weight > 0
    X[~kept], y[~kept] = 1e6, -1e6
    params = {"n_estimators": 15, **params}
    weighted = BoostedTreesRegressor(**params).fit(X, y, sample_weight=weight)
    assert weighted.fingerprint() == BoostedTreesRegressor(**params).fit(X[kept], y[kept]).fingerprint()


def test_weights_of_one_are_no_weights():
    X, y = friedman(300)
    plain = BoostedTreesRegressor(n_estimators=5).fit(X, y).fingerprint()
    for ones in (1, 1.0, np.ones(300), [1] * 300, pd.Series(np.ones(300))):
        assert BoostedTreesRegressor(n_estimators=5).fit(X, y, ones).fingerprint() == plain


def test_no_minimum_of_hessians_allows_all_splits():
    """A side without rows has no hessian: 0/0 must not hide the best split behind it."""
    X, y = friedman(1000)
    scores = [
        BoostedTreesRegressor(n_estimators=20, min_samples_leaf=1, min_child_weight=least).fit(X, y).score(X, y)
        for least in (0.0, 1e-3)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)


# -------------------------------------------------------------------------------------------- the shape of trees


@pytest.mark.parametrize("growth", ["leaf", "level"])
@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_leaves_hold_at_least_the_rows_they_must(growth, loss):  # LGB#3690, #3634
    X, y = friedman(800)
    model = BoostedTreesRegressor(min_samples_leaf=37, growth=growth, loss=loss, n_estimators=20).fit(X, np.abs(y))
    leaves = model.apply(X)
    for tree in range(leaves.shape[1]):
        nodes, counts = np.unique(leaves[:, tree], return_counts=True)
        assert counts.min() >= 37
        start = model.forest_.tree_start[tree]
        np.testing.assert_array_equal(model.forest_.n_rows[start + nodes], counts)


def test_symmetric_leaves_of_too_few_rows_take_the_value_of_their_parent():
    """One condition splits a whole level, nodes of few rows too: these must not have a value of their own."""
    X, y = friedman(800)
    forest = BoostedTreesRegressor(min_samples_leaf=37, growth="symmetric", n_estimators=20).fit(X, y).forest_
    for tree in range(forest.n_trees):
        part = forest[tree : tree + 1]
        for node in np.flatnonzero(part.kind != IN_LEAF):
            for child in (part.left[node], part.right[node]):
                assert part.n_rows[child] >= 37 or part.value[child] == part.value[node]


@pytest.mark.parametrize("growth", GROWTHS)
def test_trees_keep_their_limits(growth):
    X, y = friedman(1000)
    shallow = BoostedTreesRegressor(growth=growth, max_depth=3, n_estimators=10).fit(X, y)
    assert shallow.forest_.tree_depths().max() == 3
    few = BoostedTreesRegressor(growth="leaf", max_leaf_nodes=5, n_estimators=10).fit(X, y)
    n_leaves = np.add.reduceat(few.forest_.kind == IN_LEAF, few.forest_.tree_start[:-1])
    assert (n_leaves == 5).all()


def test_staged_predictions_end_in_the_prediction():
    X, y = friedman(400)
    model = BoostedTreesRegressor(n_estimators=12, loss="poisson").fit(X, np.abs(y))
    stages = list(model.staged_predict(X))
    assert len(stages) == 12
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    np.testing.assert_array_equal(
        stages[4], BoostedTreesRegressor(n_estimators=5, loss="poisson").fit(X, np.abs(y)).predict(X)
    )


@pytest.mark.parametrize("growth", GROWTHS)
def test_node_of_equal_targets_is_not_split(growth):
    """Its gain is 0 but for rounding, which must not grow trees."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 6))
    y = np.where(X[:, 0] > 0.4, 0.7, 0.1)
    model = BoostedTreesRegressor(n_estimators=1, growth=growth, max_features=1.0).fit(X, y)
    assert model.forest_.n_nodes == 3


def test_tiny_subsample_trains_on_what_there_is():
    X, y = friedman(200)
    model = BoostedTreesRegressor(n_estimators=5, subsample=1e-9).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


# -------------------------------------------------------------------------------------------------- constraints


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    growth=st.sampled_from(GROWTHS),
    loss=st.sampled_from(LOSSES),
    direction=st.sampled_from([-1, 1]),
    holes=st.booleans(),
    subsample=st.sampled_from([0.6, 1.0]),
)
def test_monotone_constraint_holds_everywhere(seed, growth, loss, direction, holes, subsample):
    # LGB#5358, #6155, #2309 (violated), XGB#7830 (Tweedie), XGB#5060 (ignored by some growers)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 3))
    y = np.exp(0.5 * direction * X[:, 0] * (1 + np.sin(3 * X[:, 1])) + rng.normal(size=150))
    if holes:
        X[rng.random(X.shape) < 0.1] = np.nan
    model = BoostedTreesRegressor(
        loss=loss, growth=growth, subsample=subsample, monotonic_cst=[direction, 0, 0], n_estimators=15,
        min_samples_leaf=3, learning_rate=0.5, random_state=seed,
    ).fit(X, y)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for others in (rng.normal(size=2), [np.nan, 0.0]):
            grid = np.column_stack([np.linspace(-4, 4, 200), np.tile(others, (200, 1))])
            assert (direction * np.diff(model.predict(grid)) >= -1e-12).all()


@pytest.mark.parametrize("growth", GROWTHS)
def test_free_constraints_change_nothing(growth):  # LGB#4936
    X, y = friedman(400)
    plain = BoostedTreesRegressor(n_estimators=5, growth=growth).fit(X, y)
    for free in ([0] * 5, {}, {0: 0}):
        constrained = BoostedTreesRegressor(n_estimators=5, growth=growth, monotonic_cst=free).fit(X, y)
        assert constrained.fingerprint() == plain.fingerprint()


def test_constraints_by_name_equal_those_by_position():
    X, y = friedman(300)
    frame = pd.DataFrame(X, columns=list("edcba"))
    models = [
        BoostedTreesRegressor(n_estimators=5, monotonic_cst=cst, interaction_cst=sets).fit(frame, y)
        for cst, sets in (({"d": 1}, [{"e", "c"}, {"d", "b"}]), ([0, 1, 0, 0, 0], [{0, 2}, [1, 3]]))
    ]
    assert models[0].fingerprint() == models[1].fingerprint()


def paths(forest):
    """Features on each path from a root to a leaf."""

    def walk(tree, node, seen):
        place = forest.tree_start[tree] + node
        if forest.kind[place] == IN_LEAF:
            yield seen
            return
        for child in (forest.left[place], forest.right[place]):
            yield from walk(tree, child, seen | {int(forest.feature[place])})

    for tree in range(forest.n_trees):
        yield from walk(tree, 0, frozenset())


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize(
    ("cst", "allowed"),
    [
        ([{0, 1}, {1, 2}], [{0, 1}, {1, 2}, {3, 4}]),
        ("no_interactions", [{0}, {1}, {2}, {3}, {4}]),
        ("pairwise", [{a, b} for a in range(5) for b in range(5)]),
    ],
)
def test_interaction_constraint_holds_on_every_path(growth, cst, allowed):  # YDF#129
    X, y = friedman(600)
    model = BoostedTreesRegressor(growth=growth, interaction_cst=cst, n_estimators=20).fit(X, y)
    found = set(paths(model.forest_))
    assert all(any(path <= each for each in allowed) for path in found)
    assert any(len(path) == max(map(len, allowed)) for path in found)


# ------------------------------------------------------------------------- early stopping, time, interruption


def test_best_round_is_kept():  # XGB#3942, #1288, #264, #4052, #429
    X, y = friedman(400, noise=3.0)
    X_val, y_val = friedman(300, noise=3.0, seed=1)
    model = BoostedTreesRegressor(n_estimators=300, learning_rate=0.3, n_iter_no_change=10)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    losses_seen = model.history_.validation_loss
    assert model.history_.stopped_by == "early stopping"
    assert model.n_iter_ == model.history_.best_round == int(np.argmin(losses_seen)) + 1
    assert len(losses_seen) == model.n_iter_ + 10 < 300
    assert 0.5 * mean_squared_error(y_val, model.predict(X_val)) == pytest.approx(min(losses_seen), rel=1e-9)
    errors = [mean_squared_error(y_val, p) for p in model.staged_predict(X_val)]
    assert int(np.argmin(errors)) == model.n_iter_ - 1


def test_validation_without_stopping_is_only_watched():
    X, y = friedman(400, noise=3.0)
    model = BoostedTreesRegressor(n_estimators=60, learning_rate=0.5, early_stopping=False).fit(X, y, X_val=X, y_val=-y)
    assert (model.n_iter_, len(model.history_.validation_loss)) == (60, 60)
    assert model.fingerprint() == BoostedTreesRegressor(n_estimators=60, learning_rate=0.5).fit(X, y).fingerprint()


@pytest.mark.parametrize(("n_rows", "stops"), [(999, False), (1000, True)])
def test_early_stopping_begins_by_itself_on_large_data(n_rows, stops):  # LGB#3313, #1044, XGB#6026, CB#1387
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    params = {"n_estimators": 3, "max_leaf_nodes": 3, "subsample": 1.0}
    model = BoostedTreesRegressor(**params, refit=False).fit(X, X[:, 0])
    assert bool(model.history_.validation_loss) == stops
    assert model.forest_.n_rows[0] == (n_rows - n_rows // 10 if stops else n_rows)
    assert BoostedTreesRegressor(**params).fit(X, X[:, 0]).forest_.n_rows[0] == n_rows


def test_weights_of_validation_rows_count():
    X, y = friedman(200)
    held = X[:2], np.array([0.0, 100.0])
    model = BoostedTreesRegressor(n_estimators=4, early_stopping=False)
    model.fit(X, y, X_val=held[0], y_val=held[1], sample_weight_val=[1.0, 3.0])
    squares = (model.predict(held[0]) - held[1]) ** 2 / 2
    assert model.history_.validation_loss[-1] == pytest.approx(np.average(squares, weights=[1, 3]))


def test_validation_needs_both_parts_and_rows():
    X, y = friedman(50)
    with pytest.raises(ValueError, match="X_val is given without y_val: give both"):
        BoostedTreesRegressor().fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="without X_val: give X_val as well"):
        BoostedTreesRegressor().fit(X, y, y_val=y)
    with pytest.raises(ValueError, match="leaves no row to train or to validate on: give X_val"):
        BoostedTreesRegressor(early_stopping=True).fit(X[:5], y[:5])


def test_time_limit_ends_the_fit():  # LGB#6596, XGB#10684, CB#2717
    X, y = friedman(300)
    started = time.monotonic()
    model = BoostedTreesRegressor(n_estimators=10**6, learning_rate=0.1, time_limit=0.3).fit(X, y)
    assert time.monotonic() - started < 5
    assert model.history_.stopped_by == "time limit"
    assert 1 <= model.n_iter_ < 10**6
    rounds = model.n_iter_
    assert model.fingerprint() == BoostedTreesRegressor(n_estimators=rounds, learning_rate=0.1).fit(X, y).fingerprint()


def test_callbacks_hear_every_round_and_may_end_the_fit():
    X, y = friedman(200)
    heard, other = [], []

    def stop_at_three(report):
        heard.append(report)
        return report.number == 3

    model = BoostedTreesRegressor(n_estimators=9, callbacks=[stop_at_three, other.append]).fit(X, y)
    assert (model.n_iter_, model.history_.stopped_by) == (3, "callback")
    assert [report.number for report in heard] == [report.number for report in other] == [1, 2, 3]
    assert all(report.n_rounds == 9 and report.validation_loss is None for report in heard)
    assert all(a.training_loss > b.training_loss and a.seconds <= b.seconds for a, b in pairwise(heard))


def test_interrupt_keeps_the_rounds_so_far():  # CB#1506, #2048, #1421
    X, y = friedman(200)

    def press_control_c(report):
        if report.number == 4:
            raise KeyboardInterrupt

    model = BoostedTreesRegressor(n_estimators=50, callbacks=[press_control_c])
    with pytest.warns(UserWarning, match="fit was interrupted: the model keeps the 4 rounds so far") as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
    assert model.history_.stopped_by == "interrupt"
    assert model.fingerprint() == BoostedTreesRegressor(n_estimators=4).fit(X, y).fingerprint()


# ------------------------------------------------------------------------------------------------------ going on


def test_warm_start_refuses_another_loss():
    """Raw predictions of one link are not those of another."""
    X, y = friedman(200)
    model = BoostedTreesRegressor(n_estimators=3, warm_start=True).fit(X, np.abs(y) + 50)
    with pytest.raises(ValueError, match="loss"):
        model.set_params(loss="poisson", n_estimators=6).fit(X, np.abs(y) + 50)


def test_warm_start_after_early_stopping_keeps_the_best_round():
    X, y = friedman(300, noise=4.0)
    X_val, y_val = friedman(300, noise=4.0, seed=2)
    model = BoostedTreesRegressor(n_estimators=200, learning_rate=0.5, warm_start=True)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    best = mean_squared_error(y_val, model.predict(X_val))
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert mean_squared_error(y_val, model.predict(X_val)) <= best


def test_history_goes_on_with_the_model():
    X, y = friedman(200)
    model = BoostedTreesRegressor(n_estimators=4, early_stopping=False).fit(X, y, X_val=X, y_val=y)
    model.fit_more(X, y, n_estimators=3, X_val=X, y_val=y)
    assert model.n_iter_ == 7 == len(model.history_.validation_loss)


def test_fit_more_on_other_rows_with_unseen_categories():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": rng.choice(list("ab"), 300), "x": rng.normal(size=300)})
    y = frame["x"] + (frame["c"] == "a")
    model = BoostedTreesRegressor(n_estimators=30).fit(frame, y)
    first = model.forest_.n_trees
    other = pd.DataFrame({"x": rng.normal(size=300), "c": rng.choice(list("bz"), 300)})
    model.fit_more(other, other["x"] + 5.0 * (other["c"] == "z"), n_estimators=60)
    assert (model.n_iter_, first) == (90, 30)
    assert (
        model.schema_.columns[0].categories
        == BoostedTreesRegressor(n_estimators=1).fit(frame, y).schema_.columns[0].categories
    )
    fresh = pd.DataFrame({"c": ["b", "z"], "x": [0.0, 0.0]})
    assert np.isfinite(model.predict(fresh)).all()
    assert abs(model.predict(fresh)[0]) < 0.5


def test_fit_more_may_bring_the_first_missing_values():
    X, y = friedman(200)
    model = BoostedTreesRegressor(n_estimators=5).fit(X, y)
    X[:50, 0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit_more(X, y, n_estimators=5)
    assert np.isfinite(model.predict(X)).all()  # with warnings as errors: missing values are no longer new


# ------------------------------------------------------------------------------------------------ custom losses


class MySquares(Loss):
    def values(self, y, raw):
        return 0.5 * (y - raw) ** 2

    def gradients(self, y, raw):
        return raw - y, np.ones_like(raw)


class MyPoisson(Loss):
    link = "exp"

    def values(self, y, raw):
        return np.exp(raw) - y * raw

    def gradients(self, y, raw):
        return np.exp(raw) - y, np.exp(raw)


@pytest.mark.parametrize(("name", "mine"), [("squared_error", MySquares()), ("poisson", MyPoisson())])
def test_loss_written_again_gives_the_same_trees(name, mine):  # LGB#6040, #5114, #4077, #6219, #7193, #2558, #4629
    X, y = friedman(2000)
    y = np.abs(y)
    own = BoostedTreesRegressor(loss=mine, n_estimators=20).fit(X, y)
    built_in = BoostedTreesRegressor(loss=name, n_estimators=20).fit(X, y)
    for array in ("feature", "threshold", "left", "n_rows"):
        np.testing.assert_array_equal(getattr(own.forest_, array), getattr(built_in.forest_, array))
    np.testing.assert_allclose(own.forest_.base, built_in.forest_.base, rtol=1e-12)
    np.testing.assert_allclose(own.predict(X), built_in.predict(X), rtol=1e-12)


def test_loss_with_the_same_numbers_gives_the_same_bits():
    class Copied(losses.SquaredError):
        """A subclass takes the way of Python instead of the kernel's."""

    X, y = friedman(2000)
    for weight in (None, np.linspace(0.5, 2, 2000)):
        own = BoostedTreesRegressor(loss=Copied(), n_estimators=20).fit(X, y, sample_weight=weight)
        built_in = BoostedTreesRegressor(n_estimators=20).fit(X, y, sample_weight=weight)
        for array, expected in built_in.forest_.to_arrays().items():
            np.testing.assert_array_equal(own.forest_.to_arrays()[array], expected)


@pytest.mark.parametrize(
    ("gradients", "message"),
    [
        (lambda y, raw: (raw[:-1], raw[:-1]), r"returned gradients of shape \(149,\): expected \(150,\)"),
        (
            lambda y, raw: (raw, np.where(y == y[7], np.nan, 1.0)),
            "returned hessians that are not finite, first in row 7",
        ),
        (lambda y, raw: (raw - y, np.where(y == y[9], -1.0, 1.0)), "returned a negative hessian, first in row 9"),
    ],
)
def test_custom_loss_that_is_wrong_is_refused(gradients, message):
    class Wrong(MySquares):
        def gradients(self, y, raw):
            return gradients(y, raw)

        def start(self, y, weight):
            return np.zeros(1)

    X, y = friedman(150)
    with pytest.raises(ValueError, match=message):
        BoostedTreesRegressor(loss=Wrong()).fit(X, y)


def test_custom_loss_stops_early_and_is_silent(capfd):  # LGB#6643
    X, y = friedman(500, noise=3.0)
    model = BoostedTreesRegressor(loss=MySquares(), n_estimators=300, early_stopping=True, learning_rate=0.5).fit(X, y)
    assert model.history_.stopped_by == "early stopping"
    assert capfd.readouterr() == ("", "")
