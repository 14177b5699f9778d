"""SHAP values are Shapley values: equal to enumeration for every kind of condition and of leaf."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import prediction, shapley

from arboretum import _kernel
from arboretum.explaining import shap_values
from arboretum.model.forest import LEAF

NUMBERS = [-1.0, 0.0, 0.5, 1.0, 2.0, np.inf, -np.inf]
SEEDS = st.integers(0, 2**32 - 1)


def with_slopes(rng, forest, kinds):
    """Give some leaves one to three linear terms."""
    numeric = [j for j, kind in enumerate(kinds) if kind == "numeric"]
    counts = np.where(forest.kind == LEAF, rng.integers(0, min(3, len(numeric)) + 1, forest.n_nodes), 0)
    features = [j for count in counts for j in rng.permutation(numeric)[:count]]
    n = len(features)
    if not n:
        return forest
    low, width = rng.normal(size=n), rng.random(n)
    return dataclasses.replace(
        forest,
        slope_start=np.append(0, np.cumsum(counts)),
        slope_feature=np.array(features, np.int32),
        slope_weight=rng.normal(size=n),
        slope_centre=low + 0.5 * width,
        slope_low=low,
        slope_high=low + width,
    )


def random_forest(rng, kinds, form, oblique):
    def condition():
        if oblique and "numeric" in kinds and rng.integers(2):
            return prediction.random_projection(rng, kinds, NUMBERS)
        return prediction.random_condition(rng, kinds, NUMBERS, n_words=1)

    grow = {
        "any": lambda: prediction.random_tree(rng, int(rng.integers(1, 12)), condition),
        "symmetric": lambda: prediction.symmetric_tree(int(rng.integers(0, 4)), condition),
    }[form]
    n_outputs = int(rng.integers(1, 4))
    forest = prediction.to_forest(rng, [grow() for _ in range(2)], n_outputs, bool(rng.integers(2)))
    return with_slopes(rng, forest, kinds) if forest.width == 1 and rng.integers(2) else forest


@settings(max_examples=50)
@given(SEEDS, st.sampled_from(["any", "symmetric"]), st.booleans(), st.booleans(), st.booleans())
def test_values_are_those_of_enumeration(seed, form, oblique, by_background, interactions):
    rng = np.random.default_rng(seed)
    kinds = rng.choice(["numeric", "category"], int(rng.integers(2, 5))).tolist()
    forest = random_forest(rng, kinds, form, oblique)
    unknown = str(rng.choice(["average", "missing"]))
    n_rows = int(rng.integers(1, 4))
    columns = prediction.random_columns(rng, kinds, n_rows, NUMBERS, n_words=1)
    background = prediction.random_columns(rng, kinds, 2, NUMBERS, n_words=1) if by_background else None
    got, base = shap_values(
        forest, columns, n_rows, background=background, interactions=interactions, unknown=unknown, threads=2
    )
    for row in range(n_rows):
        want, nobody = shapley.values_of(
            forest, columns, row, background=background, unknown=unknown, interactions=interactions
        )
        np.testing.assert_allclose(got[row], want, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(base, nobody, rtol=1e-12, atol=1e-12)
    axes = (1, 2) if interactions else 1
    np.testing.assert_allclose(
        base + got.sum(axis=axes), forest.raw(columns, n_rows, unknown=unknown), rtol=1e-10, atol=1e-10
    )


def chain(n_features, n_nodes):
    """Grow one path along which features take turns."""
    nodes = [None]
    for i in range(n_nodes):
        prediction.split(nodes, len(nodes) - 1, (1, i % n_features, float(i), 0, []))
    return nodes


@pytest.mark.parametrize(("n_features", "n_nodes"), [(1, 3000), (150, 150), (40, 2000)])
def test_deep_trees_lose_nothing(n_features, n_nodes):
    rng = np.random.default_rng(n_nodes)
    forest = prediction.to_forest(rng, [chain(n_features, n_nodes)])
    forest = dataclasses.replace(forest, n_rows=np.arange(forest.n_nodes, 0, -1))
    columns = list(rng.uniform(0, n_nodes, size=(n_features, 20)))
    values, base = shap_values(forest, columns, 20)
    np.testing.assert_allclose(base + values.sum(axis=1), forest.raw(columns, 20), rtol=1e-11, atol=1e-11)
    assert np.isfinite(values).all()


@pytest.mark.parametrize("n_features", [9, 14, 70])
def test_bits_and_products_agree_on_a_background(n_features):
    """Values by a background are counted by bits, up to 64 columns a path; interactions are sums of products."""
    rng = np.random.default_rng(n_features)
    kinds = ["numeric"] * n_features
    shapes = [chain(n_features, 2 * n_features)]
    shapes += [prediction.random_tree(rng, 60, lambda: prediction.random_condition(rng, kinds)) for _ in range(3)]
    forest = prediction.to_forest(rng, shapes, 3, vector_leaves=n_features == 9)
    columns, background = (prediction.random_columns(rng, kinds, n) for n in (40, 7))
    values, base = shap_values(forest, columns, 40, background=background, threads=2)
    pairs, _ = shap_values(forest, columns, 40, background=background, interactions=True)
    np.testing.assert_allclose(values, pairs.sum(axis=2), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(base + values.sum(axis=1), forest.raw(columns, 40), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("draw", [prediction.random_condition, prediction.random_projection])
def test_threads_and_batches_change_no_bit(draw):
    rng = np.random.default_rng(0)
    kinds = ["numeric"] * 6
    trees = [prediction.random_tree(rng, 40, lambda: draw(rng, kinds)) for _ in range(5)]
    forest = prediction.to_forest(rng, trees)
    columns = prediction.random_columns(rng, kinds, 700)
    whole, _ = shap_values(forest, columns, 700)
    for threads in (2, 3, 7):
        np.testing.assert_array_equal(shap_values(forest, columns, 700, threads=threads)[0], whole)
    for rows in (slice(0, 1), slice(13, 14), slice(299, 700)):
        part = [column[rows] for column in columns]
        np.testing.assert_array_equal(shap_values(forest, part, len(part[0]))[0], whole[rows])


@pytest.mark.parametrize("interactions", [False, True])
def test_oblique_trees_of_more_unions_than_are_held_at_once(interactions):
    """Leaves of four values make too many. Those of one value do not, and are explained from the leaves up."""
    rng = np.random.default_rng(0)
    kinds = ["numeric"] * 70
    nodes, level = [None], [0]
    for _ in range(6):
        terms = [[(int(j), 1.0, 0.0) for j in rng.choice(70, 3, replace=False)] for _ in level]
        conditions = [(3, of_node[0][0], 0.0, 0, of_node) for of_node in terms]
        pairs = zip(level, conditions, strict=True)
        level = [child for node, condition in pairs for child in prediction.split(nodes, node, condition)]
    forest = prediction.to_forest(rng, [nodes, nodes], 4, vector_leaves=True)
    columns = prediction.random_columns(rng, kinds, 40)
    values, base = shap_values(forest, columns, 40, interactions=interactions, threads=2)
    for j in range(4):
        alone = dataclasses.replace(forest, value=forest.value[:, j : j + 1].copy(), base=forest.base[j : j + 1])
        of_one, base_of_one = shap_values(alone, columns, 40, interactions=interactions)
        np.testing.assert_allclose(values[..., j], of_one[..., 0], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(base[j], base_of_one[0])


def test_paths_of_too_many_oblique_conditions_want_a_background():
    rng = np.random.default_rng(0)
    kinds = ["numeric"] * 30
    nodes, leaf = [None], 0
    for i in range(14):
        terms = [(2 * i, 1.0, 0.0), (2 * i + 1, 1.0, 0.0)]
        leaf = prediction.split(nodes, leaf, (3, 2 * i, 0.0, 0, terms))[0]
    forest = prediction.to_forest(rng, [nodes])
    columns = [rng.normal(size=3) for _ in kinds]
    with pytest.raises(ValueError, match="more than 4096 sets of columns on a path of a tree: give background="):
        shap_values(forest, columns, 3)
    values, base = shap_values(forest, columns, 3, background=[column[::-1] for column in columns])
    np.testing.assert_allclose(base + values.sum(axis=1), forest.raw(columns, 3), rtol=1e-10)


def test_the_kernel_checks_the_length_of_columns():
    rng = np.random.default_rng(0)
    forest = prediction.to_forest(rng, [chain(1, 2)])
    with pytest.raises(ValueError, match="column 0 must have 3 values"):
        _kernel.shap_values(forest.to_arrays(), [np.zeros(2)], 3, [], 0, np.zeros(3), False, True, 1)
