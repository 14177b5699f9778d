"""Laws of the split criteria: the worked example, plain twins, mutual information; and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from arboretum.growing.criteria import (
    entropy,
    gain_ratio,
    gini,
    information_gain,
    misclassification,
    total_entropy,
    variance_reduction,
)

COUNTS = st.lists(st.integers(0, 10**6), min_size=1, max_size=6).filter(any)
SPLITS = (
    st.integers(1, 4)
    .flatmap(lambda k: st.lists(st.lists(st.integers(0, 50), min_size=k, max_size=k), min_size=1, max_size=5))
    .filter(lambda children: any(map(any, children)))
)


def test_the_worked_example():
    parent, children = [10, 6], [[8, 2], [2, 4]]
    assert entropy(parent) == pytest.approx(0.6615632, abs=5e-8)
    assert entropy(children[0]) == pytest.approx(0.5004024, abs=5e-8)
    assert entropy(children[1]) == pytest.approx(0.6365142, abs=5e-8)
    assert 10 / 16 * entropy(children[0]) + 6 / 16 * entropy(children[1]) == pytest.approx(0.5514443, abs=5e-8)
    assert information_gain(parent, children) == pytest.approx(0.1101189, abs=5e-8)
    assert information_gain(parent, children, base=2) == pytest.approx(0.1101189 / math.log(2), abs=1e-7)


@settings(max_examples=100, deadline=None)
@given(COUNTS)
def test_impurities_equal_their_definitions(counts):
    shares = [count / sum(counts) for count in counts]
    assert entropy(counts) == pytest.approx(-sum(p * math.log(p) for p in shares if p), abs=1e-12)
    assert gini(counts) == pytest.approx(1 - sum(p * p for p in shares), abs=1e-12)
    assert misclassification(counts) == pytest.approx(1 - max(shares), abs=1e-12)
    assert total_entropy(np.array(counts)) == pytest.approx(sum(counts) * entropy(counts, base=2), rel=1e-9, abs=1e-6)
    assert 0 <= entropy(counts) <= math.log(len(counts)) + 1e-12


@settings(max_examples=100, deadline=None)
@given(SPLITS)
def test_gain_is_mutual_information(children):
    parent = np.sum(children, axis=0)
    gain = information_gain(parent, children)
    assert gain == pytest.approx(max(mutual_info_score(None, None, contingency=np.array(children)), 0), abs=1e-12)
    sizes = np.sum(children, axis=1)
    between = entropy(sizes)
    assert gain_ratio(parent, children) == pytest.approx(gain / between if between else 0.0, abs=1e-12)


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e300, 1e308])
def test_scale_does_not_matter(scale):
    assert entropy([scale, scale], base=2) == 1.0
    assert gini([scale, scale]) == 0.5
    assert information_gain([scale, scale], [[scale, 0], [0, scale]], base=2) == 1.0
    assert gain_ratio([scale, scale], [[scale, 0], [0, scale]]) == 1.0


def test_a_child_may_be_empty():
    assert information_gain([2, 2], [[2, 0], [0, 0], [0, 2]]) == pytest.approx(math.log(2))
    assert gain_ratio([2, 2], [[2, 2], [0, 0]]) == 0.0


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(-1000, 1000), max_size=8), min_size=1, max_size=4).filter(any))
def test_variance_reduction_equals_the_difference(children):
    def variance(values):
        mean = Fraction(sum(values), len(values))
        return sum((v - mean) ** 2 for v in values) / len(values)

    parent = [value for child in children for value in child]
    after = sum(Fraction(len(child), len(parent)) * variance(child) for child in children if child)
    expected = float(variance(parent) - after)
    assert variance_reduction(parent[::-1], children) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_variance_of_huge_values():
    assert variance_reduction([-1e150, 1e150], [[-1e150], [1e150]]) == pytest.approx(1e300)
    assert variance_reduction([-1e308, 1e308], [[-1e308], [1e308]]) == math.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: entropy([]), "counts is empty: give the count of each class"),
        (lambda: entropy([0, 0]), "counts counts no rows"),
        (lambda: entropy([3, -1]), "counts must not be negative, but holds -1"),
        (lambda: gini([3, math.nan]), "counts must be finite, but holds nan"),
        (lambda: gini([[3, 1]]), "counts must be a list of numbers, not 2-dimensional"),
        (lambda: entropy([1, 1], base=1), "base must be a number above 1"),
        (lambda: entropy([1, 1], base=math.nan), "base must be a number above 1"),
        (lambda: information_gain([10, 6], [[8, 2], [2, 3]]), r"children add up to \[10, 5\], but parent is \[10, 6\]"),
        (lambda: information_gain([10, 6], [[10, 6, 0]]), r"children\[0\] has 3 classes, but parent has 2"),
        (lambda: information_gain([10, 6], []), "children is empty"),
        (lambda: information_gain([0, 0], [[0, 0]]), "parent counts no rows"),
        (lambda: gain_ratio([1, 1], [[2, 1], [-1, 0]]), r"children\[1\] must not be negative"),
        (lambda: variance_reduction([], []), "parent_values is empty"),
        (lambda: variance_reduction([1, 2], [[1], [3]]), "children_values must hold the values of parent_values"),
        (lambda: variance_reduction([1, math.inf], [[1], [3]]), "parent_values must be finite, but holds inf"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
