"""The arithmetic of a race, against plain formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from arboretum.ensembles.boosting.racing import (
    CLEARLY,
    DEFAULT,
    HOPEFUL,
    LEGS,
    Losses,
    ahead,
    unbeaten,
)

N = 12
LOSSES = arrays(np.float64, N, elements=st.floats(0, 1e6))
WEIGHTS = st.none() | arrays(np.float64, N, elements=st.floats(0.01, 100))
FIELDS = st.dictionaries(st.sampled_from("abcd"), LOSSES, min_size=1)


@given(LOSSES, LOSSES, WEIGHTS)
def test_the_error_of_a_difference_is_that_of_the_formula(one, other, weight):
    w = np.ones(N) if weight is None else weight
    difference = one - other
    mean = np.average(difference, weights=w)
    expected = np.sqrt(np.sum((w * (difference - mean)) ** 2)) / w.sum()
    assert Losses(one, weight).mean == pytest.approx(np.average(one, weights=w))
    assert Losses(one, weight).error_beside(Losses(other, weight)) == pytest.approx(expected, abs=1e-9)


@given(LOSSES, LOSSES, st.permutations(range(N)))
def test_the_order_of_rows_does_not_matter(one, other, order):
    a, b = Losses(one, None), Losses(other, None)
    shuffled = Losses(one[order], None), Losses(other[order], None)
    assert (a.mean, a.error_beside(b)) == (shuffled[0].mean, shuffled[0].error_beside(shuffled[1]))


@given(LOSSES, LOSSES, WEIGHTS)
def test_folds_are_joined(one, other, weight):
    joined = Losses(other, weight).after(Losses(one, weight))
    both = None if weight is None else np.concatenate([weight, weight])
    assert joined.mean == Losses(np.concatenate([one, other]), both).mean
    assert Losses(one, weight).after(None).values is one


@given(FIELDS, st.floats(0, 12))
def test_the_best_stays_and_whoever_is_near(field, most):
    losses = {name: Losses(values, None) for name, values in field.items()}
    left = unbeaten(losses, most)
    best = min(one.mean for one in losses.values())
    assert best in [losses[name].mean for name in left]
    for name, one in losses.items():
        errors = [one.error_beside(other) for other in losses.values() if other.mean == best]
        assert (name in left) == (one.mean == best or one.mean - best <= most * errors[0])


@given(FIELDS, LOSSES, st.floats(0, 3))
def test_the_default_stays_with_those_that_are_better_by_so_many_errors(field, base, errors):
    default = Losses(base, None)
    losses = {DEFAULT: default, **{name: Losses(values, None) for name, values in field.items()}}
    left = ahead(losses, errors)
    assert left[DEFAULT] is default
    for name in field:
        other = losses[name]
        assert (name in left) == (default.mean - other.mean > errors * default.error_beside(other))
    assert list(ahead({name: losses[name] for name in field}, errors)) == list(field)


def test_a_race_looks_for_a_clear_winner():
    assert 0 < HOPEFUL < CLEARLY
    assert list(LEGS.values()) == sorted(LEGS.values(), reverse=True)
