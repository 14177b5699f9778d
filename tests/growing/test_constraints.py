"""Constraints by name and position, and their errors."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from arboretum.data.table import read_table
from arboretum.growing.constraints import in_binned_order, interaction_sets, monotone_directions

FRAME = read_table(
    pd.DataFrame({"age": [1.0, 2.0], "income": [3.0, 4.0], "city": ["x", "y"], "rooms": [1.0, 1.0]})
).schema
ARRAY = read_table(np.zeros((2, 3))).schema


def test_no_constraint():
    assert monotone_directions(None, FRAME) == ()
    assert monotone_directions([0, 0, 0], ARRAY) == ()
    assert monotone_directions({}, FRAME) == ()
    assert interaction_sets(None, FRAME) == ()


SAME = [{"income": -1, "age": 1}, {0: 1, 1: -1}, {np.int64(0): 1, "income": -1}, [1, -1, 0, 0]]


@pytest.mark.parametrize("spec", SAME)
def test_directions_by_name_position_or_sequence(spec):
    assert monotone_directions(spec, FRAME) == (1, -1, 0, 0)


def test_directions_from_an_array():
    found = monotone_directions(np.array([0, 1, -1]), ARRAY)
    assert found == (0, 1, -1)
    assert all(type(direction) is int for direction in found)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ([1, 0], "monotonic_cst has 2 entries, but X has 4 columns: give one each"),
        ({"age": 2}, "monotonic_cst of column 'age' is 2: use 1 (rising), -1 (falling) or 0 (free)"),
        ([0, 0.5, 0, 0], "monotonic_cst of column 'income' is 0.5: use"),
        ({"city": 1}, "monotonic_cst on the categorical column 'city': categories have no order"),
        ({"incme": 1}, "monotonic_cst names column 'incme', which X does not have: did you mean 'income'?"),
        ({"qqqq": 1}, "monotonic_cst names column 'qqqq', which X does not have; columns are"),
        ({4: 1}, "monotonic_cst names column 4, but X has 4 columns"),
        ({-1: 1}, "monotonic_cst names column -1, but X has 4 columns"),
        ({True: 1}, "monotonic_cst names column True: use a name or a position"),
        ({1.0: 1}, "monotonic_cst names column 1.0: use a name or a position"),
    ],
)
def test_bad_directions(spec, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        monotone_directions(spec, FRAME)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("no_interactions", ((0,), (1,), (2,), (3,))),
        ("pairwise", ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))),
        ([{"age", "city"}], ((0, 2), (1, 3))),
        ([("rooms", 0), [1, 1]], ((0, 3), (1,), (2,))),
        ([{0, 1, 2}, {2, 3}], ((0, 1, 2), (2, 3))),
        ([], ((0, 1, 2, 3),)),
    ],
)
def test_interaction_sets(spec, expected):
    assert interaction_sets(spec, FRAME) == expected


def test_pairs_of_one_column():
    assert interaction_sets("pairwise", read_table([[1.0]]).schema) == ((0,),)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("pairs", "interaction_cst='pairs': use 'pairwise', 'no_interactions' or a list of sets of columns"),
        (3, "interaction_cst=3: use 'pairwise'"),
        (["age"], "interaction_cst holds 'age': each entry must be a set of columns"),
        ([3], "interaction_cst holds 3: each entry must be a set of columns"),
        ([{"agee"}], "interaction_cst names column 'agee', which X does not have: did you mean 'age'?"),
        ([{7}], "interaction_cst names column 7, but X has 4 columns"),
    ],
)
def test_bad_interactions(spec, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        interaction_sets(spec, FRAME)


def test_binned_order():
    assert in_binned_order((1, 0, -1), (2, 0, 1)) == (-1, 1, 0)
    assert in_binned_order((), (2, 0, 1)) == ()
