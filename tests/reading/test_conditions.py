"""Conditions route rows as the kernel does, as data and as text."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import prediction as slow

import arboretum as arb
from arboretum.data.schema import ColumnSchema, Schema
from arboretum.model.forest import LEAF
from arboretum.reading import CategorySet, IsMissing, Oblique, Threshold, condition

KINDS = ["numeric", "category", "numeric"]
SEEDS = st.integers(0, 2**32 - 1)
N_ROWS = 25


def column(name, source="number", categories=(), has_missing=True):
    return ColumnSchema(name, "categorical" if categories else "numeric", source, tuple(categories), has_missing)


def schema_of(*columns):
    return Schema(columns, named=True)


def random_forest(seed, n_words=2):
    rng = np.random.default_rng(seed)
    trees = [
        slow.random_tree(rng, int(rng.integers(1, 9)), lambda: slow.random_condition(rng, KINDS, n_words=n_words))
        for _ in range(3)
    ]
    return slow.to_forest(rng, trees)


def route(forest, tree, meets):
    """Walk down, left where ``meets(condition)``; every negation must disagree."""
    start, node = int(forest.tree_start[tree]), 0
    while forest.kind[start + node] != LEAF:
        question = condition(forest, start + node)
        goes_left = meets(question)
        assert meets(~question) is not goes_left
        node = int((forest.left if goes_left else forest.right)[start + node])
    return node


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_rows_routed_by_conditions_reach_the_leaves_of_the_kernel(seed):
    forest, columns = random_forest(seed), slow.random_columns(np.random.default_rng(seed), KINDS, N_ROWS)
    leaves = forest.apply(columns, N_ROWS, unknown="missing")
    for r in range(N_ROWS):
        row = [values[r].item() for values in columns]
        routed = [route(forest, tree, lambda asked, row=row: asked.holds(row)) for tree in range(forest.n_trees)]
        assert routed == leaves[r].tolist()


CITIES = [f"c{code}" for code in range(32)]
TEXT_SCHEMA = schema_of(column("a"), column("city", "string", CITIES), column("b"))


def meets_text(text, row):
    """Read a condition as a person would; ``row`` maps names to a number, a category or None."""
    if match := re.fullmatch(r"(\w+) is (not )?missing", text):
        return (row[match[1]] is None) != bool(match[2])
    if match := re.fullmatch(r"(\w+) (not )?in \{(.*)\}", text):
        return (str(row[match[1]] or "missing") in match[3].split(", ")) != bool(match[2])
    match = re.fullmatch(r"(\w+) (<=|>) (\S+)( or missing)?", text)
    value = row[match[1]]
    if value is None:
        return bool(match[4])
    return (value <= float(match[3])) == (match[2] == "<=")


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_rows_routed_by_text_reach_the_leaves_of_the_kernel(seed):
    rng = np.random.default_rng(seed)
    forest = random_forest(seed, n_words=1)
    columns = slow.random_columns(rng, KINDS, N_ROWS)
    columns[1] = rng.integers(-1, 32, N_ROWS).astype(np.int32)
    leaves = forest.apply(columns, N_ROWS)
    for r in range(N_ROWS):
        row = {name: float(columns[j][r]) for name, j in (("a", 0), ("b", 2)) if not math.isnan(columns[j][r])}
        row = {"a": None, "b": None} | row | {"city": ([*CITIES, None])[columns[1][r]]}

        def meets(asked, row=row):
            return meets_text(asked.pretty(TEXT_SCHEMA, limit=None), row)

        assert [route(forest, tree, meets) for tree in range(forest.n_trees)] == leaves[r].tolist()


def both(asked, schema, **options):
    return asked.pretty(schema, **options), (~asked).pretty(schema, **options)


@pytest.mark.parametrize(
    ("threshold", "missing_left", "texts"),
    [
        (37.5, True, ("age <= 37.5 or missing", "age > 37.5")),
        (37.0, False, ("age <= 37", "age > 37 or missing")),
        (0.1 + 0.2, False, ("age <= 0.30000000000000004", "age > 0.30000000000000004 or missing")),
        (-0.0, False, ("age <= 0", "age > 0 or missing")),
        (-math.inf, True, ("age <= -inf or missing", "age > -inf")),
    ],
)
def test_thresholds(threshold, missing_left, texts):
    assert both(Threshold(0, threshold, missing_left), schema_of(column("age"))) == texts


def test_digits_round_thresholds():
    asked = Threshold(0, 1234.5678, missing_left=False)
    assert asked.pretty(schema_of(column("age")), digits=3) == "age <= 1230"
    assert Threshold(0, 123456.0, False).pretty(schema_of(column("age")), digits=3) == "age <= 123456"


def test_missing_is_silent_where_none_was_seen():
    schema = schema_of(column("age", has_missing=False), column("city", "string", ["Bern", "Chur"], has_missing=False))
    assert both(Threshold(0, 3.0, missing_left=True), schema) == ("age <= 3", "age > 3")
    assert both(CategorySet(1, (0,), 32, missing_left=True), schema) == ("city in {Bern}", "city not in {Bern}")


def test_other_types_of_columns_read_in_their_own_terms():
    schema = schema_of(column("day", "datetime"), column("wait", "duration"), column("paid", "bool"))
    noon = np.datetime64("2024-02-29T12:00", "us").astype(np.int64)
    assert both(Threshold(0, float(noon), True), schema) == (
        "day <= 2024-02-29T12:00 or missing",
        "day > 2024-02-29T12:00",
    )
    assert Threshold(1, 90e6, False).pretty(schema) == "wait <= 1m 30s"
    assert both(Threshold(2, 0.5, False), schema) == ("paid is false", "paid is true or missing")
    assert Threshold(2, 1.0, False).pretty(schema) == "paid <= 1"


def test_category_sets_name_the_smaller_side():
    schema = schema_of(column("city", "string", ["Basel", "Bern", "Chur", "Sion", "Zug"]))
    few, many = CategorySet(0, (0, 2), 32, missing_left=False), CategorySet(0, (0, 1, 2, 3), 32, missing_left=True)
    assert both(few, schema) == ("city in {Basel, Chur}", "city not in {Basel, Chur}")
    assert both(many, schema) == ("city not in {Zug}", "city in {Zug}")
    assert both(CategorySet(0, (), 32, True), schema) == ("city is missing", "city is not missing")
    assert both(CategorySet(0, (0, 1, 2, 3, 4), 32, False), schema) == ("city is not missing", "city is missing")


def test_long_sets_are_counted_but_never_a_single_category():
    schema = schema_of(column("city", "string", [f"c{j}" for j in range(20)]))
    asked = CategorySet(0, tuple(range(10)), 32, missing_left=True)
    assert asked.pretty(schema, limit=2) == "city in {c0, c1, … 8 more, missing}"
    assert asked.pretty(schema, limit=9).endswith("c8, c9, missing}")
    assert "more" not in asked.pretty(schema, limit=None)


def test_categories_that_could_be_misread_are_quoted():
    schema = schema_of(column("odd\nname", "string", ["a, b", "missing", "", " x"]), column("size", "number", [1, 2.5]))
    assert CategorySet(0, (0, 1), 32, False).pretty(schema) == "'odd\\nname' in {'a, b', 'missing'}"
    assert CategorySet(0, (2, 3), 32, True).pretty(schema) == "'odd\\nname' in {'', ' x', missing}"
    assert CategorySet(1, (1,), 32, False).pretty(schema) == "size in {2.5}"


def test_only_infinity_without_missing_separates_missing_from_all():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 1)) < 0.4, np.nan, rng.normal(size=(200, 1)))
    model = arb.BoostedTreesRegressor(n_estimators=1, max_depth=1).fit(X, np.isnan(X[:, 0]) * 5.0)
    asked = condition(model.forest_, 0)
    assert asked == IsMissing(0, negated=True)
    assert both(asked, model.schema_) == ("x0 is not missing", "x0 is missing")


SUM_SCHEMA = schema_of(column("height"), column("weight", has_missing=False), column("age", has_missing=False))


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (Oblique((0, 1), (0.7, -0.3), (170.0, 65.0), 12.5), "0.7·height − 0.3·weight <= 12.5 (missing: height = 170)"),
        (Oblique((1, 0), (-1.0, 1.0), (65.0, 1.5), 0.0), "−weight + height <= 0 (missing: height = 1.5)"),
        (Oblique((1, 2), (2.0, 1.0), (65.0, 40.0), -1.0), "2·weight + age <= -1"),
        (~Oblique((1, 2), (2.0, 1.0), (65.0, 40.0), -1.0), "2·weight + age > -1"),
    ],
)
def test_oblique_conditions(asked, text):
    assert asked.pretty(SUM_SCHEMA) == text


def test_long_sums_are_counted():
    asked = Oblique((2, 1, 0), (1 / 3, 2.0, 3.0), (0.0, 0.0, 1 / 3), 1.0)
    assert asked.pretty(SUM_SCHEMA, limit=1, digits=2) == "0.33·age + … 2 more <= 1 (missing: height = 0.33)"


def test_an_oblique_node_is_read_from_the_pool_of_projections():
    forest = SimpleNamespace(
        kind=np.array([3, 3]),
        feature=np.array([-1, -1]),
        threshold=np.array([1.0, 2.0]),
        missing_left=np.array([0, 1]),
        projection_start=np.array([0, 1, 3]),
        projection_feature=np.array([4, 0, 1]),
        projection_weight=np.array([9.0, 1.0, -2.0]),
        projection_fill=np.array([0.0, 4.0, 0.0]),
    )
    asked = condition(forest, 1)
    assert asked == Oblique((0, 1), (1.0, -2.0), (4.0, 0.0), 2.0)
    assert [asked.holds(row) for row in ([4.0, 1.0], [4.1, 1.0], [math.nan, 1.0])] == [True, False, True]
    assert (~asked).holds([4.1, 1.0])


def test_what_has_no_condition_is_refused():
    forest = slow.to_forest(np.random.default_rng(0), [[None]])
    with pytest.raises(ValueError, match="node 0 is a leaf: it has no condition"):
        condition(forest, 0)
    odd = SimpleNamespace(
        kind=np.array([9]), feature=np.array([0]), threshold=np.array([0.0]), missing_left=np.array([0])
    )
    with pytest.raises(ValueError, match="node 0 has a condition of unknown kind 9"):
        condition(odd, 0)


def test_conditions_know_their_columns():
    asked = (
        Threshold(2, 0.0, False),
        CategorySet(1, (), 32, False),
        IsMissing(3),
        Oblique((4, 2), (1.0, 1.0), (0.0, 0.0), 0.0),
    )
    assert [one.reads for one in asked] == [(2,), (1,), (3,), (4, 2)]
