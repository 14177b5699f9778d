"""Several outputs in one tree: the loss of each, the mixture that shapes a tree, and a round against its plain twin."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arboretum.data.binning import assign_bins, learn_bins
from arboretum.data.table import read_table
from arboretum.ensembles.boosting.rounds import BoostingParams, BoostingRun
from arboretum.ensembles.boosting.rows import Rows, filled_raw
from arboretum.ensembles.boosting.vector_leaves import OutputSketch, draw_normals
from arboretum.growing.grower import TreeParams
from arboretum.growing.sampling import Bayesian, Subsample, sample_key
from arboretum.losses import (
    AbsoluteError,
    EachOutput,
    Gamma,
    Huber,
    Logistic,
    Multinomial,
    Ordinal,
    Poisson,
    PredictOnly,
    Quantile,
    SquaredError,
    from_json,
)
from arboretum.losses.base import constant_raw
from arboretum.losses.each_output import newton_units
from arboretum.testing import check_loss

SEEDS = st.integers(0, 2**32 - 1)
VECTOR_FORMS = [SquaredError(), Poisson(), Gamma(), Logistic()]


def outputs_for(loss, rng, n_rows=60, n_outputs=3, missing=0.2):
    shape = (n_rows, n_outputs)
    y = rng.integers(0, 2, shape).astype(float) if loss.task == "classification" else rng.random(shape) * 3 + 0.1
    y[rng.random(shape) < missing] = np.nan
    y[0] = 1.0
    y[1] = 0.0 if loss.task == "classification" else 2.0
    return y


# ------------------------------------------------------------------------------------------ the loss of each output


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("loss", VECTOR_FORMS, ids=lambda loss: type(loss).__name__)
def test_the_laws_of_a_loss_hold(loss, missing):
    y = outputs_for(loss, np.random.default_rng(0), missing=missing)
    several = EachOutput.of(loss, 3)
    several.check_target(y)
    raw = np.random.default_rng(1).normal(size=y.shape)
    values = np.zeros(len(y))
    for row, output in np.ndindex(*y.shape):
        if not np.isnan(y[row, output]):
            values[row] += loss.values(y[row, output : output + 1], raw[row, output : output + 1])[0]
    np.testing.assert_allclose(several.values(y, raw), values, rtol=1e-12)
    gradient, hessian = several.gradients(y, raw)
    step = 1e-5
    for output in range(3):
        moved = np.zeros(3)
        moved[output] = step
        slope = (several.values(y, raw + moved) - several.values(y, raw - moved)) / (2 * step)
        np.testing.assert_allclose(gradient[:, output], slope, rtol=1e-5, atol=1e-8)
        bend = (several.gradients(y, raw + moved)[0] - several.gradients(y, raw - moved)[0])[:, output] / (2 * step)
        np.testing.assert_allclose(hessian[:, output], bend, rtol=1e-5, atol=1e-8)
    check_loss(loss)


@pytest.mark.parametrize("loss", VECTOR_FORMS, ids=lambda loss: type(loss).__name__)
def test_weights_are_repetitions(loss):
    rng = np.random.default_rng(2)
    y, weight = outputs_for(loss, rng), rng.integers(0, 3, 60)
    weight[:2] = 1
    several, many = EachOutput.of(loss, 3), np.repeat(y, weight, axis=0)
    weighted, repeated = several.in_units_of(y, weight.astype(float)), several.in_units_of(many, None)
    np.testing.assert_allclose(several.start(y, weight.astype(float)), several.start(many, None), rtol=1e-9)
    np.testing.assert_allclose(weighted.units, repeated.units, rtol=1e-9)
    raw = rng.normal(size=y.shape)
    score = weighted.value(y, raw, weight.astype(float))
    assert score == pytest.approx(repeated.value(many, np.repeat(raw, weight, axis=0)), rel=1e-9)


def test_the_score_of_squared_errors_is_half_the_share_unexplained():
    rng = np.random.default_rng(3)
    y = rng.normal(size=(100, 3)) * [1e-6, 1.0, 1e6]
    loss = EachOutput.of(SquaredError(), 3).in_units_of(y, None)
    raw = y * [0.5, 0.0, 1.0]
    share = np.mean(((y - raw) ** 2).mean(axis=0) / y.var(axis=0))
    assert loss.value(y, raw) == pytest.approx(share / 2, rel=1e-12)


def test_an_output_without_known_rows_is_left_out_of_the_score():
    loss = EachOutput.of(SquaredError(), 2)
    assert loss.value(np.array([[1.0, np.nan]]), np.zeros((1, 2))) == 0.5
    assert loss.value(np.full((1, 2), np.nan), np.zeros((1, 2))) == 0.0


def test_units_of_a_constant_output_are_one():
    y = np.array([[1.0, 5.0], [3.0, 5.0]])
    assert EachOutput.of(SquaredError(), 2).in_units_of(y, None).units == (1.0, 1.0)
    assert newton_units(EachOutput.of(SquaredError(), 2), y, constant_raw(np.array([2.0, 5.0]), 2), None)[
        0
    ].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("loss", "reason"),
    [
        (AbsoluteError(), "computes leaf values itself"),
        (Quantile(0.9), "computes leaf values itself"),
        (Huber(), "computes leaf values itself"),
        (Ordinal(3), "adapts to each round"),
        (Multinomial(3), "3 outputs of its own"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_losses_without_a_vector_form_are_refused(loss, reason):
    with pytest.raises(
        ValueError, match=rf"^loss '{loss.name}' has no form for 4 outputs, because it.*{reason}: use one"
    ):
        EachOutput.of(loss, 4)


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        (SquaredError(), [[1.0, 2.0, 3.0]], r"y has shape \(1, 3\): give 2 outputs per row"),
        (SquaredError(), [[1.0, np.nan], [2.0, np.nan]], r"y\[:, 1\] has no known value: give at least one, or leave"),
        (SquaredError(), [[1.0, 2.0], [np.nan, np.inf]], r"y\[1, 1\] = inf: the target must be finite"),
        (Poisson(), [[1.0, np.nan], [2.0, 1.0], [2.0, -3.0]], r"y\[2, 1\] = -3.0: "),
    ],
)
def test_bad_targets_are_named(loss, y, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        EachOutput.of(loss, 2).check_target(np.array(y))


@pytest.mark.parametrize("loss", [*VECTOR_FORMS, PredictOnly("mine.Loss", "regression", "exp", 1)], ids=repr)
def test_json_round_trip(loss):
    several = EachOutput.of(loss, 3)
    again = from_json(json.loads(json.dumps(several.to_json())))
    assert again == several
    raw = np.random.default_rng(0).normal(size=(4, 3))
    np.testing.assert_array_equal(again.predict(raw), np.column_stack([loss.predict(column) for column in raw.T]))


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "each_output", "n_outputs": 3},
        {"name": "each_output", "loss": {"name": "squared_error"}, "n_outputs": 1},
        {"name": "each_output", "loss": {"name": "squared_error"}, "n_outputs": True},
        {"name": "each_output", "loss": {"name": "squared_error"}, "n_outputs": 2, "units": [1, 1]},
        {"name": "each_output", "loss": {"name": "huber"}, "n_outputs": 2},
        {"name": "each_output", "loss": "squared_error", "n_outputs": 2},
        {"name": "each_output", "loss": {"name": "log_loss", "n_outputs": 3}, "n_outputs": 2},
    ],
)
def test_forged_entries_are_refused(entry):
    with pytest.raises(ValueError, match=r"in a model file is invalid|n_outputs=.*: expected an integer|has no form"):
        from_json(entry)


# ------------------------------------------------------------------------------------------------------ mixtures


def test_mixtures_look_normal_and_differ():
    draws = np.array([draw_normals(50, key) for key in range(400)])
    np.testing.assert_allclose((draws**2).sum(axis=1), 1.0)
    scaled = draws * np.sqrt(50)
    assert abs(scaled.mean()) < 0.03
    assert abs((scaled**4).mean() - 3) < 0.5
    assert abs(np.corrcoef(draws.T) - np.eye(50)).max() < 0.25
    assert len(np.unique(draws[:, 0])) == 400


@settings(max_examples=30)
@given(SEEDS, st.lists(st.sampled_from([1e-8, 1e-3, 1.0, 1e5]), min_size=2, max_size=5))
def test_the_unit_of_an_output_changes_nothing(seed, scales):
    rng = np.random.default_rng(seed)
    y, k = rng.normal(size=(40, len(scales))), len(scales)
    mixtures = []
    for factor in (np.ones(k), np.array(scales)):
        loss = EachOutput.of(SquaredError(), k)
        start = loss.start(y * factor, None)
        sketch = OutputSketch(loss, y * factor, constant_raw(start, 40), None, seed=7)
        g, h = loss.gradients(y * factor, np.tile(start, (40, 1)))
        gradients = np.ascontiguousarray(g.T), np.ascontiguousarray(h.T)
        mixtures.append(sketch.of(gradients, 3, 1))
    for one, other in zip(*mixtures, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-10)


def test_the_mean_score_of_mixtures_is_that_of_all_outputs():
    """E (Σ mixture)² = Σ_k (G_k / s_k)² / outputs for outputs of equal hessians."""
    rng = np.random.default_rng(4)
    y = rng.normal(size=(50, 4)) * [1.0, 10.0, 0.1, 5.0]
    loss = EachOutput.of(SquaredError(), 4)
    base = loss.start(y, None)
    sketch, side = OutputSketch(loss, y, constant_raw(base, 50), None, seed=0), rng.random(50) < 0.4
    g = np.ascontiguousarray((base - y).T)
    scores = [sketch.of((g, np.ones_like(g)), number, 1)[0][side].sum() ** 2 for number in range(4000)]
    expected = np.mean((g[:, side].sum(axis=1) / y.std(axis=0)) ** 2)
    assert np.mean(scores) == pytest.approx(expected, rel=0.1)


def test_a_constant_output_shapes_no_tree():
    y = np.column_stack([np.arange(10.0), np.full(10, 3.0)])
    loss = EachOutput.of(SquaredError(), 2)
    mix, share = OutputSketch(loss, y, constant_raw(loss.start(y, None), 10), None, seed=0).mixture(0)
    assert mix[0] != 0 == mix[1]
    assert share[0] > 0 == share[1]
    constant = OutputSketch(loss, np.ones((10, 2)), np.ones((10, 2)), None, seed=0).mixture(0)
    assert not np.any(constant)


# -------------------------------------------------------------------------------------------------- whole rounds


def plain_values(leaf, g, h, l2, n_nodes):
    """Newton's step of each leaf and output, row after row."""
    sums = np.zeros((n_nodes, g.shape[1], 2))
    for row, node in enumerate(leaf):
        sums[node, :, 0] += g[row]
        sums[node, :, 1] += h[row]
    curvature = sums[..., 1] + l2
    return np.where(curvature > 0, -sums[..., 0] / np.where(curvature > 0, curvature, 1.0), 0.0)


@settings(max_examples=25, deadline=None)
@given(
    SEEDS, st.sampled_from(VECTOR_FORMS), st.booleans(), st.sampled_from([0.0, 2.0]), st.sampled_from(["leaf", "level"])
)
def test_leaves_hold_the_newton_step_of_each_output(seed, loss, weighted, l2, growth):
    rng = np.random.default_rng(seed)
    y = outputs_for(loss, rng, n_rows=80)
    X = rng.normal(size=(80, 3))
    weight = rng.random(80) + 0.2 if weighted else None
    table = read_table(X)
    several = EachOutput.of(loss, 3)
    base = several.start(y, weight)
    rows = Rows(assign_bins(table, learn_bins(table)), np.asfortranarray(y), weight, filled_raw(base, 80))
    tree = TreeParams(min_samples_leaf=5, max_leaf_nodes=5, l2=l2, growth=growth)
    params = BoostingParams(1, 0.5, tree, Subsample(), seed=seed, threads=1, vector_leaves=True)
    forest, _ = BoostingRun(rows, several, params, base=base).complete()
    assert forest.tree_output.tolist() == [-1]
    assert forest.width == 3
    leaf = forest.apply(table.columns, 80)[:, 0]
    g, h = several.gradients(y, np.tile(base, (80, 1)))
    times = 1.0 if weight is None else weight[:, None]
    expected = plain_values(leaf, g * times, h * times, l2, forest.n_nodes)
    step = 0.5 * expected
    if loss.self_concordant:  # steps are bounded: kernel/leaves/steps.hpp
        step = np.copysign(np.minimum(np.abs(step), np.maximum(2.0, np.log1p(np.abs(expected)))), step)
    leaves = forest.kind == 0
    np.testing.assert_allclose(forest.value[leaves], step[leaves], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(rows.raw.T, forest.raw(table.columns, 80), rtol=1e-12, atol=1e-12)


def test_factors_of_a_sample_weigh_the_values_too():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    table = read_table(X)
    loss = EachOutput.of(SquaredError(), 2)
    base = loss.start(y, None)
    rows = Rows(assign_bins(table, learn_bins(table)), np.asfortranarray(y), None, filled_raw(base, 60))
    sampler = Bayesian()
    tree = TreeParams(min_samples_leaf=5, max_leaf_nodes=4)
    params = BoostingParams(1, 1.0, tree, sampler, seed=3, threads=1, vector_leaves=True)
    forest, _ = BoostingRun(rows, loss, params, base=base).complete()
    zeros = np.zeros((1, 60))
    factor = sampler.sample(zeros, zeros, key=sample_key(3, 0), threads=1).factor
    leaf = forest.apply(table.columns, 60)[:, 0]
    for node in np.unique(leaf):
        own = leaf == node
        mean = np.average((y - base)[own], axis=0, weights=factor[own])
        np.testing.assert_allclose(forest.value[node], mean, rtol=1e-9)
