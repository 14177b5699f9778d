"""Laws of the forest as data: slices, joins, stages, round trips; and what validate rejects."""

from __future__ import annotations

import copy
import pickle
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import prediction as slow

from arboretum.model.forest import Forest

KINDS = ["numeric", "category", "numeric"]
SEEDS = st.integers(0, 2**32 - 1)


def random_forest(seed, n_trees=4, n_outputs=2, vector_leaves=False):
    rng = np.random.default_rng(seed)
    oblique = rng.random(n_trees) < rng.integers(2)

    def tree(is_oblique):
        kinds = (slow.random_condition, slow.random_projection) if is_oblique else (slow.random_condition,)
        return slow.random_tree(rng, int(rng.integers(1, 7)), lambda: kinds[rng.integers(len(kinds))](rng, KINDS))

    trees = [tree(is_oblique) for is_oblique in oblique]
    return slow.to_forest(rng, trees, n_outputs, vector_leaves)


def random_columns(seed, n_rows=25):
    return slow.random_columns(np.random.default_rng(seed), KINDS, n_rows)


def assert_same(a, b):
    for name, array in a.to_arrays().items():
        np.testing.assert_array_equal(array, getattr(b, name), err_msg=name, strict=True)


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(0, 5), st.integers(-6, 6), st.integers(-6, 6))
def test_slices_join_to_the_whole(seed, n_trees, a, b):
    forest = random_forest(seed, n_trees)
    assert_same(Forest.concat([forest[:a], forest[a:]]) if a >= 0 else forest, forest)
    part = forest[a:b]
    part.validate()
    chosen = range(n_trees)[a:b]
    columns = random_columns(seed)
    first, last = (chosen[0], chosen[-1] + 1) if chosen else (0, 0)
    np.testing.assert_array_equal(part.raw(columns, 25), forest.raw(columns, 25, first=first, last=last))


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.sampled_from([-3, -1, 2, 3]))
def test_a_slice_with_a_step_picks_trees(seed, step):
    forest = random_forest(seed, 5)
    columns = random_columns(seed)
    part = forest[::step]
    part.validate()
    picked = forest.apply(columns, 25, unknown="missing")[:, ::step]
    np.testing.assert_array_equal(part.apply(columns, 25, unknown="missing"), picked)


def test_an_index_is_not_a_slice():
    with pytest.raises(TypeError, match="index a forest by a slice of its trees, not by 0"):
        random_forest(0)[0]


def test_concat_rejects_what_does_not_fit():
    forest = random_forest(0)
    with pytest.raises(ValueError, match="concat needs at least one forest"):
        Forest.concat([])
    with pytest.raises(ValueError, match="forest 1 has 3 outputs and leaves of width 1, the first has 2"):
        Forest.concat([forest, random_forest(0, n_outputs=3)])
    with pytest.raises(ValueError, match=r"forest 1 has the base \[.*\]: give it that of the first"):
        Forest.concat([forest, random_forest(1)])


def test_concat_takes_a_zero_base():
    forest, more = random_forest(0), random_forest(1).to_arrays()
    joined = Forest.concat([forest, Forest.from_arrays(more | {"base": np.zeros(2)})])
    np.testing.assert_array_equal(joined.base, forest.base)
    assert joined.n_trees == 8


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(1, 4))
def test_stages_are_partial_sums(seed, step):
    forest = random_forest(seed, 5)
    columns = random_columns(seed)
    ends = [min(end, 5) for end in range(step, 5 + step, step)]
    stages = list(forest.staged(columns, 25, step=step))
    assert len(stages) == len(ends)
    for stage, end in zip(stages, ends, strict=True):
        np.testing.assert_array_equal(stage, forest.raw(columns, 25, last=end))


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_round_trips(seed):
    forest = random_forest(seed)
    forest.raw(random_columns(seed), 25)
    for twin in (
        Forest.from_arrays(forest.to_arrays()),
        pickle.loads(pickle.dumps(forest)),
        copy.deepcopy(forest),
    ):
        assert_same(twin, forest)


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_depths(seed):
    forest = random_forest(seed)

    def depth_below(start, node):
        left, right = forest.left[start + node], forest.right[start + node]
        return 0 if left < 0 else 1 + max(depth_below(start, left), depth_below(start, right))

    expected = [depth_below(start, 0) for start in forest.tree_start[:-1]]
    np.testing.assert_array_equal(forest.tree_depths(), expected)
    assert (forest.depths >= 0).all()
    np.testing.assert_array_equal(forest.depths[forest.tree_start[:-1]], 0)


@given(seed=SEEDS, n_trees=st.integers(0, 3))
@settings(max_examples=50)
def test_a_narrowed_forest_answers_from_the_columns_that_it_reads(seed, n_trees):
    forest, columns = random_forest(seed, n_trees) if n_trees else Forest.empty(2), random_columns(seed)
    read, narrow = forest.narrowed
    few = [columns[column] for column in read]
    assert set(read) >= set(forest.feature[forest.feature >= 0]) | set(forest.projection_feature)
    np.testing.assert_array_equal(narrow.raw(few, 25), forest.raw(columns, 25))
    np.testing.assert_array_equal(narrow.apply(few, 25), forest.apply(columns, 25))


def test_an_empty_forest_is_its_base():
    forest = random_forest(0, 0)
    forest.validate()
    assert forest.tree_depths().size == 0
    np.testing.assert_array_equal(forest.raw([], 3), np.tile(forest.base, (3, 1)))
    assert forest.apply([], 3).shape == (3, 0)
    assert list(forest.staged([], 3)) == []


def test_repr():
    assert repr(random_forest(0, 0)) == "Forest(0 trees, 0 nodes, 2 outputs)"


def test_arrays_are_frozen():
    forest = random_forest(0)
    with pytest.raises(ValueError, match="read-only"):
        forest.value[0] = 1.0
    with pytest.raises(AttributeError, match="cannot assign"):
        forest.value = forest.gain


def test_one_forest_serves_many_threads():
    forest, columns = random_forest(0, 20), random_columns(0, 3000)
    expected = forest.raw(columns, 3000)
    with ThreadPoolExecutor(4) as pool:
        for raw in pool.map(lambda _: forest.raw(columns, 3000, threads=2), range(12)):
            np.testing.assert_array_equal(raw, expected)


def test_unknown_policy_is_checked():
    with pytest.raises(ValueError, match="unknown='error': use 'average' or 'missing'"):
        random_forest(0).raw(random_columns(0), 25, unknown="error")


def test_from_arrays_names_what_is_absent():
    arrays = random_forest(0).to_arrays()
    del arrays["gain"], arrays["base"]
    with pytest.raises(ValueError, match="a forest needs the arrays gain, base"):
        Forest.from_arrays(arrays)


def example():
    """Two trees: node 0 splits a number, node 1 a category; then a lone leaf."""
    rng = np.random.default_rng(0)
    tree = [(1, 0, 0.5, 1, [], 1, 2), (2, 1, 0.0, 0, [6, 1], 3, 4), None, None, None]
    return slow.to_forest(rng, [tree, [None]])


CORRUPTIONS = [
    ("kind", 2, 5, r"kind\[2\] = 5 must be 0 \(leaf\), 1 \(numeric\), 2 \(category\), 3 \(oblique\) or 4 \(listed\)"),
    ("kind", 1, 4, r"set_words\[0\] = 6 must rise in a list of categories"),
    ("kind", 0, 3, r"kind\[0\] = 3 is an oblique condition, but there are no projections"),
    ("tree_start", 0, 1, r"tree_start\[0\] = 1 must be 0"),
    ("tree_start", 1, 7, r"tree_start\[2\] = 6 must not be less than the one before"),
    ("tree_start", 1, 6, r"tree_start\[1\] = 6 must be less than the next"),
    ("tree_start", 2, 7, r"tree_start\[2\] = 7 must be 6"),
    ("tree_output", 1, 1, r"tree_output\[1\] = 1 is not an output"),
    ("tree_output", 1, -2, r"tree_output\[1\] = -2 is not an output"),
    ("feature", 0, -1, r"feature\[0\] = -1 is not a feature"),
    ("feature", 0, 2, r"feature\[0\] = 2 is not a feature"),
    ("feature", 0, 1, r"feature\[0\] = 1 is used both as numeric and as category"),
    ("feature", 5, 0, r"feature\[5\] = 0 must be −1 at a leaf"),
    ("threshold", 0, np.nan, r"threshold\[0\] = nan must be a number"),
    ("left", 0, 0, r"left\[0\] = 0 must come after its parent"),
    ("left", 1, -1, r"left\[1\] = -1 must come after its parent"),
    ("right", 1, 5, r"right\[1\] = 5 is outside of its tree"),
    ("left", 1, 2, r"kind\[2\] = 0 is a node with two parents"),
    ("right", 0, 1, r"left\[0\] = 1 is also the right child"),
    ("left", 3, 4, r"left\[3\] = 4 must be −1 at a leaf"),
    ("missing_left", 0, 2, r"missing_left\[0\] = 2 must be 0 or 1"),
    ("set_start", 0, 1, r"set_start\[1\] = 0 must not be less than the one before"),
    ("set_start", 2, -1, r"set_start\[2\] = -1 must not be less than the one before"),
    ("set_start", 2, 0, r"set_start\[1\] = 0 must have words at a category condition"),
    ("set_start", 1, 1, r"set_start\[0\] = 0 must have words at category conditions only"),
    ("set_start", 6, 3, r"set_start\[6\] = 3 must be 2"),
    ("value", (3, 0), np.inf, r"value\[3, 0\] = inf must be finite"),
    ("gain", 1, np.nan, r"gain\[1\] = nan must be finite"),
    ("base", 0, np.nan, r"base\[0\] = nan must be finite"),
    ("n_rows", 4, -1, r"n_rows\[4\] = -1 must not be negative"),
]


@pytest.mark.parametrize(("name", "position", "value", "message"), CORRUPTIONS)
def test_validate_names_the_broken_element(name, position, value, message):
    arrays = example().to_arrays()
    arrays[name] = arrays[name].copy()
    arrays[name][position] = value
    with pytest.raises(ValueError, match=f"^invalid forest: {message}$"):
        Forest.from_arrays(arrays).validate(n_features=2)


def oblique_example():
    """One tree: node 0 splits a sum of columns 0 and 2, node 1 a category of column 1."""
    terms = [(0, 1.0, 0.5), (2, -2.0, 0.0)]
    tree = [(3, 0, 0.5, 0, terms, 1, 2), (2, 1, 0.0, 0, [6], 3, 4), None, None, None]
    return slow.to_forest(np.random.default_rng(0), [tree])


@pytest.mark.parametrize(
    ("name", "position", "value", "message"),
    [
        ("projection_start", 1, 0, r"projection_start\[0\] = 0 must have terms at an oblique condition"),
        ("projection_start", 1, 1, r"projection_start\[1\] = 1 must have terms at oblique conditions only"),
        ("projection_start", 5, 3, r"projection_start\[5\] = 3 must be 2"),
        ("projection_feature", 1, 3, r"projection_feature\[1\] = 3 is not a feature"),
        ("projection_feature", 1, -1, r"projection_feature\[1\] = -1 is not a feature"),
        ("projection_feature", 1, 1, r"feature\[1\] = 1 is used both as numeric and as category"),
        ("projection_feature", 0, 2, r"feature\[0\] = 0 must be that of the first term"),
        ("projection_weight", 1, np.inf, r"projection_weight\[1\] = inf must be finite"),
        ("projection_fill", 0, np.nan, r"projection_fill\[0\] = nan must be finite"),
    ],
)
def test_validate_names_the_broken_element_of_a_projection(name, position, value, message):
    oblique_example().validate(n_features=3)
    arrays = oblique_example().to_arrays()
    arrays[name] = arrays[name].copy()
    arrays[name][position] = value
    with pytest.raises(ValueError, match=f"^invalid forest: {message}$"):
        Forest.from_arrays(arrays).validate(n_features=3)


def test_projections_come_whole():
    arrays = oblique_example().to_arrays()
    del arrays["projection_fill"]
    with pytest.raises(ValueError, match="a forest with projections needs the arrays projection_fill"):
        Forest.from_arrays(arrays)
    arrays["projection_fill"] = np.zeros(1)
    with pytest.raises(ValueError, match="invalid forest: projection_fill must have length 2, not 1"):
        Forest.from_arrays(arrays).validate()


def test_a_slice_without_oblique_conditions_has_no_arrays_of_them():
    forest, plain = oblique_example(), example()
    joined = Forest.concat([plain, Forest.from_arrays(forest.to_arrays() | {"base": plain.base})])
    assert_same(joined[:2], plain)
    assert set(joined[:2].to_arrays()) == set(plain.to_arrays())
    np.testing.assert_array_equal(joined[2:].projection_weight, forest.projection_weight)


def test_reads_are_shared_by_the_columns_of_a_sum():
    node, column, share = oblique_example().reads()
    assert sorted(zip(node.tolist(), column.tolist(), share.tolist(), strict=True)) == [
        (0, 0, 0.5),
        (0, 2, 0.5),
        (1, 1, 1.0),
    ]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("feature", lambda a: a.astype(np.int64), "feature must be a 1-D int32 array, not 1-D int64"),
        ("value", lambda a: a[:, 0], "value must be a 2-D float64 array, not 1-D float64"),
        ("value", lambda a: a[:, :0], "value must not be empty"),
        ("base", lambda a: a[:0], "base must not be empty"),
        ("gain", lambda a: a[:-1], "gain must have length 6, not 5"),
        ("tree_start", lambda a: a[:-1], "tree_start must have length 3, not 2"),
        ("tree_output", lambda a: a[:0], "tree_start must have length 1, not 3"),
        ("set_start", lambda a: a[:0], "set_start must have length 7, not 0"),
    ],
)
def test_validate_checks_types_and_shapes(name, change, message):
    arrays = example().to_arrays()
    arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match=f"^invalid forest: {message}$"):
        Forest.from_arrays(arrays).validate()


def broken_link(forest):
    """Give (array, node, rule) of the first rule that children break, rule by rule; None if they keep all."""
    sizes = np.diff(forest.tree_start)
    size, start = np.repeat(sizes, sizes), np.repeat(forest.tree_start[:-1], sizes)
    local, inner = np.arange(forest.n_nodes) - start, forest.kind != 0
    rules = []
    for name in ("left", "right"):
        child = getattr(forest, name)
        rules += [
            (name, inner | (child == -1), "must be −1 at a leaf"),
            (name, ~inner | (child > local), "must come after its parent"),
            (name, ~inner | (child < size), "is outside of its tree"),
        ]
    if all(holds.all() for _, holds, _ in rules):
        children = np.concatenate([(start + forest.left)[inner], (start + forest.right)[inner]])
        n_parents = np.bincount(children, minlength=forest.n_nodes)
        rules += [
            ("left", ~inner | (forest.left != forest.right), "is also the right child"),
            ("kind", n_parents <= 1, "is a node with two parents"),
            ("kind", (n_parents == 1) | (local == 0), "is a node without parent"),
        ]
    return next(((name, int(np.argmin(holds)), rule) for name, holds, rule in rules if not holds.all()), None)


@settings(max_examples=100)
@given(SEEDS)
def test_links_are_checked_as_the_rules_say(seed):
    rng = np.random.default_rng(seed)
    forest = random_forest(seed)
    arrays = forest.to_arrays()
    for _ in range(int(rng.integers(0, 4))):
        name = str(rng.choice(["left", "right"]))
        array = arrays[name].copy()
        array[rng.integers(forest.n_nodes)] = rng.integers(-2, np.diff(forest.tree_start).max() + 2)
        arrays[name] = array
    forest = Forest.from_arrays(arrays)
    broken = broken_link(forest)
    if broken is None:
        return forest.validate(threads=2)
    name, node, rule = broken
    message = re.escape(f"{name}[{node}] = {getattr(forest, name)[node]} {rule}")
    with pytest.raises(ValueError, match=message):
        forest.validate(threads=2)


def test_validate_finds_a_node_without_parent():
    arrays = example().to_arrays() | {"tree_start": np.array([0, 6]), "tree_output": np.zeros(1, np.int32)}
    with pytest.raises(ValueError, match=r"kind\[5\] = 0 is a node without parent"):
        Forest.from_arrays(arrays).validate()


def test_validate_matches_leaves_and_outputs():
    vector = random_forest(0, n_outputs=3, vector_leaves=True)
    vector.validate()
    with pytest.raises(ValueError, match=r"tree_output\[0\] = 0 must be −1 for vector leaves"):
        Forest.from_arrays(vector.to_arrays() | {"tree_output": np.zeros(4, np.int32)}).validate()
    scalar = random_forest(0, n_outputs=3)
    with pytest.raises(ValueError, match=r"tree_output\[0\] = -1 needs a value per output"):
        Forest.from_arrays(scalar.to_arrays() | {"tree_output": np.full(4, -1, np.int32)}).validate()


def test_prediction_validates_first():
    broken = Forest.from_arrays(example().to_arrays() | {"left": np.full(6, 2**30, np.int32)})
    with pytest.raises(ValueError, match="invalid forest"):
        broken.raw([np.zeros(3), np.zeros(3, np.int32)], 3)


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_random_damage_is_rejected_or_harmless(seed):
    rng = np.random.default_rng(seed)
    arrays = example().to_arrays()
    name = rng.choice([n for n in arrays if n != "set_words"])
    damaged = arrays[name].copy()
    damaged.view(np.uint8).reshape(-1)[rng.integers(damaged.nbytes)] = rng.integers(256)
    forest = Forest.from_arrays(arrays | {name: damaged})
    try:
        forest.validate(n_features=2)
    except ValueError:
        return
    columns = [np.zeros(30), np.zeros(30, np.int32)]
    np.testing.assert_array_equal(forest.raw(columns, 30), slow.raw(forest, columns, 30))
