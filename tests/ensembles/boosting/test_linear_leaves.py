"""Linear leaves: slopes against a plain ridge solution, prediction against plain loops, bounds, damaged arrays."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import prediction as slow

import arboretum as arb
from arboretum import _kernel
from arboretum.data.binning import assign_bins, learn_bins
from arboretum.data.table import read_table
from arboretum.ensembles.boosting.linear_leaves import LinearLeaves, fit_slopes, number_columns
from arboretum.ensembles.boosting.rounds import BoostingParams, BoostingRun
from arboretum.ensembles.boosting.rows import Rows, filled_raw, start_raw
from arboretum.growing.grower import StepBound, TreeParams
from arboretum.growing.sampling import Goss, Sample, Subsample
from arboretum.losses import Multinomial, SquaredError
from arboretum.model.forest import LEAF, NUMERIC, Forest

MOST_SLOPES = 8


def friedman(n_rows, seed=0, n_columns=6):
    """Friedman's first function (1991) with noise of deviation 1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, n_columns))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + rng.normal(size=n_rows)


# ---- one leaf --------------------------------------------------------------------------------------------------------


def path_columns(tree, leaf):
    """Columns that are split on above a leaf, nearest first."""
    kind, feature = tree.kind, tree.feature
    parent = {int(child): node for node in range(tree.n_nodes) for child in (tree.left[node], tree.right[node])}
    found = []
    while leaf in parent and leaf > 0:
        leaf = parent[leaf]
        if kind[leaf] == NUMERIC and feature[leaf] not in found:
            found.append(int(feature[leaf]))
    return sorted(found[:MOST_SLOPES])


def ridge(columns, g, h, l2):
    """Return columns that vary as (place, low, high, mean in units of the range), A and b of the normal equations."""
    kept, units = [], []
    for place, x in enumerate(columns):
        finite = x[np.isfinite(x)].astype(float)
        with np.errstate(over="ignore", divide="ignore"):
            low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
            usable = low < high and np.isfinite(high - low) and np.isfinite(1 / (high - low))
        there = ~np.isnan(x)
        if not usable or not h[there].sum() > 0:
            continue
        u = (np.clip(x[there].astype(float), low, high) - low) / (high - low)
        mean = np.average(u, weights=h[there])
        z = np.zeros(len(x))
        z[there] = u - mean
        kept.append((place, low, high, mean))
        units.append(z)
    z = np.array(units).reshape(len(kept), len(g))
    A = (z * h) @ z.T
    return kept, A + np.diag(np.diag(A)) * (l2 / h.sum() if h.sum() > 0 else 0.0), z @ g


ODD = st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, 1.0, 2.0, -3.5, 1e-310, 1e17, -1e308, 1.7e308])


@st.composite
def odd_tables(draw):
    """Columns with holes, infinities, ties, constants, huge and tiny values, and one that repeats another."""
    n_rows = draw(st.integers(1, 60))
    columns = draw(st.lists(st.lists(ODD, min_size=n_rows, max_size=n_rows), min_size=1, max_size=3))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    plain = rng.normal(size=n_rows)
    return np.array([*columns, plain, plain * 2 + 1]).T


def grown(X, g, h, params, sample):
    table = read_table(X)
    data = assign_bins(table, learn_bins(table))
    grower = _kernel.Grower(data.codes, 1)
    tree = grower.grow(g, h, sample.rows, params.to_kernel(), 0, sample.factor)
    return tree, tree.values(params.to_kernel(), None), grower.leaf_of_row, number_columns(table, data.bin_map)


@given(odd_tables(), st.sampled_from([0.0, 0.3, 10.0]), st.sampled_from([None, "half", "weighted"]), st.booleans())
@settings(max_examples=150)
def test_slopes_are_the_ridge_solution(X, l2, sampled, narrow):
    rng = np.random.default_rng(len(X))
    real = np.float32 if narrow else np.float64
    h = rng.choice([0.0, 0.25, 1.0], len(X)).astype(real)
    g = np.where(h > 0, rng.normal(size=len(X)), 0).astype(real)  # else there would be no least objective
    rows = None if sampled is None else np.flatnonzero(rng.random(len(X)) < 0.6).astype(np.uint32)
    if rows is not None and not rows.size:
        rows = np.array([0], np.uint32)
    factor = rng.uniform(0.5, 2, len(rows)) if sampled == "weighted" else None
    params = TreeParams(max_leaf_nodes=5, min_samples_leaf=2, min_child_weight=0.0)
    sample = Sample(rows, factor)
    tree, values, leaf_of_row, numbers = grown(X, g, h, params, sample)
    slopes = fit_slopes(
        tree, values, leaf_of_row, sample, (g, h), numbers, LinearLeaves(l2).rules(params, StepBound()), 1
    )
    terms = terms_of(slopes)
    members, factors = np.arange(len(X)) if rows is None else rows, np.ones(len(X))
    factors[members] = 1.0 if factor is None else factor
    for leaf in np.flatnonzero(tree.kind == LEAF):
        mine = members[leaf_of_row[members] == leaf]
        path = path_columns(tree, leaf)
        kept, A, b = ridge([X[mine, j] for j in path], g[mine] * factors[mine], h[mine] * factors[mine], l2)
        assert {column for node, column in terms if node == leaf} <= {path[place] for place, *_ in kept}
        found = np.zeros(len(kept))
        for i, (place, low, high, mean) in enumerate(kept):
            if (leaf, path[place]) in terms:
                weight, centre, *ends = terms[leaf, path[place]]
                assert ends == [low, high]
                assert centre == pytest.approx(low + mean * (high - low), rel=1e-9, abs=1e-9 * (high - low))
                found[i] = weight * (high - low)
        # The objective, not the slopes: with columns that repeat each other many are best.
        best = np.linalg.lstsq(A, -b, rcond=1e-9)[0]
        objective = [s @ A @ s / 2 + b @ s for s in (found, best)]
        assert objective[0] <= objective[1] + 1e-6 * abs(objective[1]) + 1e-9


def terms_of(slopes):
    """Map (leaf, column) to weight, centre, low and high."""
    if slopes is None:
        return {}
    leaf = np.repeat(np.arange(len(slopes.start) - 1), np.diff(slopes.start))
    rows = zip(slopes.weight, slopes.centre, slopes.low, slopes.high, strict=True)
    return dict(zip(zip(leaf.tolist(), slopes.feature.tolist(), strict=True), rows, strict=True))


def test_a_line_is_found_exactly():
    x = np.linspace(-1, 3, 400)[:, None]
    y = 5 - 2 * x[:, 0]
    model = arb.BoostedTreesRegressor(
        n_estimators=1, learning_rate=1.0, l2=0.0, max_leaf_nodes=4, leaf_model="linear", linear_l2=0.0
    ).fit(x, y)
    np.testing.assert_allclose(model.forest_.slope_weight, -2, rtol=1e-9)
    np.testing.assert_allclose(model.predict(x), y, rtol=1e-9)


def test_values_are_those_of_constant_leaves():
    X, y = friedman(400)
    models = [arb.BoostedTreesRegressor(n_estimators=1, leaf_model=kind).fit(X, y) for kind in ("constant", "linear")]
    plain, linear = (model.forest_.to_arrays() for model in models)
    assert models[1].forest_.has_slopes
    for name, array in plain.items():
        np.testing.assert_array_equal(array, linear[name])


def test_a_leaf_reads_the_eight_columns_split_on_nearest_to_it():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, size=(4000, 12)) + rng.normal(size=(4000, 12)) / 50
    y = (X > 0.5) @ 2.0 ** np.arange(12)
    model = arb.BoostedTreesRegressor(
        n_estimators=1, max_depth=11, max_leaf_nodes=200, min_samples_leaf=2, leaf_model="linear", race=False
    )
    forest = model.fit(X, y).forest_
    sizes = np.diff(forest.slope_start)
    assert sizes.max() == MOST_SLOPES
    for leaf in np.flatnonzero(sizes):
        above, node = [], leaf
        while node:
            node = int(np.flatnonzero((forest.left == node) | (forest.right == node))[0])
            above.append(int(forest.feature[node]))
        nearest = list(dict.fromkeys(above))[:MOST_SLOPES]
        assert set(forest.slope_feature[forest.slope_start[leaf] : forest.slope_start[leaf + 1]]) <= set(nearest)


# ---- boosting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [SquaredError(), Multinomial(3)], ids=lambda loss: loss.name)
@pytest.mark.parametrize("sampler", [Subsample(1.0), Subsample(0.6), Goss(0.2, 0.3)], ids=["all", "share", "goss"])
@pytest.mark.parametrize("trees_per_round", [1, 2])
def test_the_forest_says_what_boosting_has_added_up(loss, sampler, trees_per_round):
    X, y = friedman(300)
    X[::7, 3] = np.nan
    X[5, 2], X[6, 2] = np.inf, -np.inf
    if loss.n_outputs > 1:
        y = np.digitize(y, np.quantile(y, [0.3, 0.6])).astype(float)
    tables = [read_table(X[:200]), read_table(X[200:])]
    bin_map = learn_bins(tables[0])
    base = start_raw(loss, y[:200], None)
    parts = [
        Rows(
            assign_bins(table, bin_map, bundle=True),
            y[part],
            None,
            filled_raw(base, table.n_rows),
            numbers=number_columns(table, bin_map),
        )
        for table, part in zip(tables, (slice(0, 200), slice(200, 300)), strict=True)
    ]
    params = BoostingParams(
        6, 0.3, TreeParams(), sampler, seed=1, threads=2, linear=LinearLeaves(1.0), trees_per_round=trees_per_round
    )
    forest, _ = BoostingRun(parts[0], loss, params, base=base, validation=parts[1]).complete()
    assert forest.has_slopes
    forest.validate(6)
    for table, part in zip(tables, parts, strict=True):
        np.testing.assert_array_equal(forest.raw(table.columns, table.n_rows).T, part.raw)


# ---- prediction ------------------------------------------------------------------------------------------------------

KINDS = ["numeric", "category", "numeric", "numeric"]


def with_slopes(rng, forest):
    """Give random leaves random slopes."""
    sizes = np.where(forest.kind == LEAF, rng.integers(0, 4, forest.n_nodes), 0)
    n = int(sizes.sum())
    low = rng.choice([-3e38, -1.0, 0.0, 0.1], n)
    high = low + rng.choice([0.0, 0.5, 1e300], n)
    return replace(
        forest,
        slope_start=np.concatenate([[0], np.cumsum(sizes)]),
        slope_feature=rng.choice([0, 2, 3], n).astype(np.int32),
        slope_weight=rng.normal(size=n) * rng.choice([1.0, 1e-300], n),
        slope_centre=np.clip(low + rng.uniform(size=n), low, high),
        slope_low=low,
        slope_high=high,
    )


def random_linear_forest(rng, n_trees=5, n_leaves=6, n_outputs=1):
    trees = [slow.random_tree(rng, n_leaves, lambda: slow.random_condition(rng, KINDS)) for _ in range(n_trees)]
    return with_slopes(rng, slow.to_forest(rng, trees, n_outputs))


def random_columns(rng, n_rows):
    numbers = [*slow.NUMBERS, math.nan]
    return [
        rng.choice(numbers, n_rows),
        rng.integers(-2, 70, n_rows).astype(np.int32),
        rng.choice(numbers, n_rows),
        rng.choice([0.1, 0.3, math.nan, math.inf], n_rows).astype(np.float32),
    ]


@given(st.integers(0, 10**6), st.integers(1, 3), st.sampled_from([1, 19, 20, 300]), st.sampled_from([4, 300]))
@settings(max_examples=30)
def test_prediction_is_its_definition(seed, n_outputs, n_rows, n_leaves):
    rng = np.random.default_rng(seed)
    forest = random_linear_forest(rng, n_leaves=n_leaves, n_outputs=n_outputs)
    forest.validate(4)
    columns = random_columns(rng, n_rows)
    for unknown in ("average", "missing"):
        expected = slow.raw(forest, columns, n_rows, unknown)
        assert np.isfinite(expected).all()
        for threads in (1, 3):
            np.testing.assert_array_equal(forest.raw(columns, n_rows, threads=threads, unknown=unknown), expected)
        plain = replace(forest, **{name: getattr(forest, name)[:0] for name in forest.to_arrays() if "slope" in name})
        np.testing.assert_array_equal(
            forest.apply(columns, n_rows, unknown=unknown), plain.apply(columns, n_rows, unknown=unknown)
        )
    np.testing.assert_array_equal(list(forest.staged(columns, n_rows))[-1], forest.raw(columns, n_rows))


@pytest.mark.parametrize("n_rows", [1, 400])
@pytest.mark.parametrize("n_leaves", [5, 400])  # the latter is walked in large chunks
def test_a_matrix_is_predicted_as_its_columns(n_rows, n_leaves):
    rng = np.random.default_rng(n_rows)
    kinds = ["numeric"] * 4
    trees = [slow.random_tree(rng, n_leaves, lambda: slow.random_condition(rng, kinds)) for _ in range(3)]
    forest = with_slopes(rng, slow.to_forest(rng, trees))
    for matrix in (rng.normal(size=(n_rows, 4)), rng.normal(size=(n_rows, 4)).astype(np.float32)):
        expected = slow.raw(forest, list(matrix.T), n_rows)
        np.testing.assert_array_equal(forest.raw_matrix(matrix, threads=2), expected)
        np.testing.assert_array_equal(forest.raw_matrix(np.asfortranarray(matrix)), expected)


def test_columns_of_slopes_alone_are_needed():
    arrays = {
        "tree_start": np.array([0, 1]),
        "tree_output": np.zeros(1, np.int32),
        "kind": np.zeros(1, np.uint8),
        "feature": np.full(1, -1, np.int32),
        "threshold": np.zeros(1),
        "left": np.full(1, -1, np.int32),
        "right": np.full(1, -1, np.int32),
        "missing_left": np.zeros(1, np.uint8),
        "set_start": np.zeros(2, np.int64),
        "set_words": np.zeros(0, np.uint32),
        "value": np.ones((1, 1)),
        "gain": np.zeros(1),
        "n_rows": np.ones(1, np.int64),
        "base": np.zeros(1),
        "slope_start": np.array([0, 1]),
        "slope_feature": np.array([2], np.int32),
        "slope_weight": np.array([2.0]),
        "slope_centre": np.array([1.0]),
        "slope_low": np.array([0.0]),
        "slope_high": np.array([4.0]),
    }
    forest = Forest.from_arrays(arrays)
    x = np.array([-math.inf, 0.0, 1.0, 3.0, 9.0, math.nan])
    assert forest.raw([x, x, x], 6).ravel().tolist() == [-1.0, -1.0, 1.0, 5.0, 7.0, 1.0]
    with pytest.raises(ValueError, match="the forest reads column 2 but there are only 2 columns"):
        forest.raw([x, x], 6)
    with pytest.raises(TypeError, match="column 2 must be float32 or float64"):
        forest.raw([x, x, np.zeros(6, np.int32)], 6)


# ---- the arrays ------------------------------------------------------------------------------------------------------


def test_slices_and_joins_keep_the_slopes():
    rng = np.random.default_rng(3)
    linear, columns = random_linear_forest(rng, n_trees=4), random_columns(rng, 50)
    base = linear.base
    plain = replace(
        slow.to_forest(rng, [slow.random_tree(rng, 3, lambda: slow.random_condition(rng, KINDS))]), base=base
    )
    joined = Forest.concat([plain, linear, plain])
    joined.validate(4)
    assert joined.n_trees == 6
    np.testing.assert_array_equal(joined.raw(columns, 50, first=1, last=5), linear.raw(columns, 50))
    np.testing.assert_array_equal(joined[1:5].raw(columns, 50), linear.raw(columns, 50))
    np.testing.assert_allclose(joined[::-1].raw(columns, 50), joined.raw(columns, 50), rtol=1e-9)
    assert not joined[:1].has_slopes
    assert [name for name in joined[:1].to_arrays() if name.startswith("slope")] == []
    again = Forest.from_arrays(joined.to_arrays())
    np.testing.assert_array_equal(again.slope_weight, joined.slope_weight)


def stump():
    X, y = friedman(100)
    forest = arb.BoostedTreesRegressor(n_estimators=1, max_leaf_nodes=2, leaf_model="linear").fit(X, y).forest_
    assert forest.slope_start.tolist() == [0, 0, 1, 2]
    return forest.to_arrays()


@pytest.mark.parametrize(
    ("name", "position", "value", "message"),
    [
        ("slope_start", 1, 1, r"slope_start\[0\] = 0 must have terms at leaves only"),
        ("slope_start", 3, 3, r"slope_start\[3\] = 3 must be 2"),
        ("slope_start", 2, 5, r"slope_start\[3\] = 2 must not be less than the one before"),
        ("slope_feature", 1, 6, r"slope_feature\[1\] = 6 is not a feature"),
        ("slope_feature", 0, -1, r"slope_feature\[0\] = -1 is not a feature"),
        ("slope_weight", 1, np.inf, r"slope_weight\[1\] = inf must be finite"),
        ("slope_weight", 1, 1e308, None),
        ("slope_centre", 0, np.nan, r"slope_centre\[0\] = nan must be finite"),
        ("slope_centre", 0, 7.0, r"slope_centre\[0\] = 7.0 must lie between slope_low and slope_high"),
        ("slope_low", 0, 7.0, r"must lie between slope_low and slope_high"),
        ("slope_high", 1, 1e308, None),
    ],
)
def test_validate_names_the_broken_element(name, position, value, message):
    arrays = stump()
    arrays[name] = arrays[name].copy()
    arrays[name][position] = value
    if message is None:
        Forest.from_arrays(arrays).validate(6)
    else:
        with pytest.raises(ValueError, match=message):
            Forest.from_arrays(arrays).validate(6)


def test_validate_refuses_terms_that_lead_to_infinity():
    arrays = stump() | {"slope_weight": np.array([1e300, 1.0]), "slope_high": np.array([1e300, 2.0])}
    with pytest.raises(ValueError, match=r"slope_weight\[0\] = 1e\+300 must not lead to infinity"):
        Forest.from_arrays(arrays).validate(6)


def test_slopes_come_whole_and_with_leaves_of_one_value():
    arrays = stump()
    with pytest.raises(ValueError, match="invalid forest: slope_low must have length 2, not 1"):
        Forest.from_arrays(arrays | {"slope_low": np.zeros(1)}).validate()
    with pytest.raises(ValueError, match="slope_weight must be a 1-D float64 array, not 1-D float32"):
        Forest.from_arrays(arrays | {"slope_weight": np.zeros(2, np.float32)}).validate()
    vectors = {"value": np.zeros((3, 2)), "base": np.zeros(2), "tree_output": np.array([-1], np.int32)}
    with pytest.raises(ValueError, match="slope_start needs leaves of one value"):
        Forest.from_arrays(arrays | vectors).validate()
    del arrays["slope_high"]
    with pytest.raises(ValueError, match="a forest with slopes needs the arrays slope_high"):
        Forest.from_arrays(arrays)


def test_a_category_has_no_slope():
    rng = np.random.default_rng(0)
    forest = random_linear_forest(rng)
    arrays = forest.to_arrays()
    arrays["slope_feature"] = np.full(len(forest.slope_feature), 1, np.int32)
    with pytest.raises(ValueError, match="is used both as numeric and as category"):
        Forest.from_arrays(arrays).validate(4)


# ---- bounds ----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.sampled_from(["leaf", "level", "symmetric"]), st.sampled_from([0.0, 0.2]))
@settings(max_examples=40)
def test_leaves_parted_by_a_constraint_do_not_overlap(seed, growth, max_delta_step):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3))
    g, h = rng.normal(size=200) + 3 * X[:, 0] * X[:, 1], np.ones(200)
    directions = (1, -1, 0)
    params = TreeParams(growth, 12, 5, 3, monotone=directions, max_delta_step=max_delta_step)
    sample = Sample(None, None)
    tree, values, leaf_of_row, numbers = grown(X, g, h, params, sample)
    slopes = fit_slopes(
        tree, values, leaf_of_row, sample, (g, h), numbers, LinearLeaves(0.1).rules(params, StepBound()), 1
    )
    terms = terms_of(slopes)
    low, high = values.copy(), values.copy()
    for (leaf, column), (weight, centre, *ends) in terms.items():
        assert weight * directions[column] >= 0
        said = [weight * (end - centre) for end in ends]
        low[leaf] += min(said)
        high[leaf] += max(said)
    if max_delta_step:
        assert (np.abs([low, high])[:, tree.kind == LEAF] <= max_delta_step + 1e-12).all()
    for node in reversed(np.flatnonzero(tree.kind != LEAF)):
        left, right = tree.left[node], tree.right[node]
        direction = directions[tree.feature[node]]
        if direction:
            lower, upper = (left, right) if direction > 0 else (right, left)
            assert high[lower] <= low[upper]
        low[node], high[node] = min(low[left], low[right]), max(high[left], high[right])


def test_slopes_are_scaled_to_finite_ones_only():
    x = np.linspace(0.0, 1.0, 40)
    table = read_table(x[:, None])
    data, params = assign_bins(table, learn_bins(table)), TreeParams(max_leaf_nodes=2, min_samples_leaf=1)
    grower = _kernel.Grower(data.codes, 1)
    gradients = (1e3 * x, np.ones(40))
    tree = grower.grow(*gradients, None, params.to_kernel(), 0)
    numbers, rules = number_columns(table, data.bin_map), LinearLeaves(l2=0.0).rules(params, StepBound())
    leaves, sample = grower.leaf_of_row, Sample(None, None)
    slopes = fit_slopes(tree, np.zeros(tree.n_nodes), leaves, sample, gradients, numbers, rules, 1)
    np.testing.assert_array_equal(slopes.scaled(0.5).weight, slopes.weight / 2)
    with pytest.raises(OverflowError, match="the slope of a leaf is not finite"):
        slopes.scaled(1e308)
