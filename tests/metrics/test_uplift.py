"""Scores of uplift against plain loops over the rows, and scikit-uplift where it is installed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arboretum.metrics import auuc_score, qini_curve, qini_score, uplift_at_k, uplift_curve

law = settings(max_examples=50, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


def experiment(seed, *, numbers=False):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 80))
    y = rng.normal(size=n).round(2) if numbers else rng.integers(0, 2, n)
    uplift = rng.normal(size=n).round(int(rng.integers(0, 3)))  # with ties
    treatment = np.concatenate([[0, 1], rng.integers(0, 2, n - 2)])
    return y, uplift, treatment


def curve(y, uplift, treatment, value):
    """Points of a curve, row by row: one after all rows of an uplift."""
    points = [(0, 0.0)]
    for least in sorted(set(uplift.tolist()), reverse=True):
        t, c = (y[(uplift >= least) & (treatment == which)] for which in (1, 0))
        points.append((len(t) + len(c), value(t, c)))
    return np.array(points).T


def qini_value(t, c):
    return t.sum() - (c.sum() * len(t) / len(c) if len(c) else 0.0)


def gain_value(t, c):
    return ((t.mean() if len(t) else 0.0) - (c.mean() if len(c) else 0.0)) * (len(t) + len(c))


def area(points):
    """Area between a curve and the straight line to its end, one trapezium after the other."""
    rows, gain = points
    steps = zip(rows, rows[1:], gain, gain[1:], strict=False)
    return sum((b - a) * (g + h) / 2 for a, b, g, h in steps) - rows[-1] * gain[-1] / 2


@law
@given(SEEDS, st.booleans())
def test_curves_are_those_of_plain_loops(seed, numbers):
    given_rows = experiment(seed, numbers=numbers)
    for fast, value in ((qini_curve, qini_value), (uplift_curve, gain_value)):
        np.testing.assert_allclose(fast(*given_rows), curve(*given_rows, value), rtol=1e-9, atol=1e-9)


@law
@given(SEEDS)
def test_scores_are_areas_beside_the_best_of_orders(seed):
    y, uplift, treatment = experiment(seed)
    n = len(y)
    for score, value, best in (
        (qini_score, qini_value, np.where(treatment == 1, y, -y)),
        (auuc_score, gain_value, best_gain(y, treatment)),
    ):
        mine, most = (area(curve(y, key, treatment, value)) for key in (uplift, best))
        assert score(y, uplift, treatment, normalise=False) == pytest.approx(mine / n**2, abs=1e-9)
        assert score(y, uplift, treatment) == pytest.approx(mine / most if most > 1e-9 else 0.0, abs=1e-6)
        assert score(y, best, treatment) in (pytest.approx(1.0), 0.0)
        assert score(y, np.full(n, 3.0), treatment) == pytest.approx(0.0, abs=1e-9)


def best_gain(y, treatment):
    second = y if (y * (1 - treatment)).sum() > ((1 - y) * treatment).sum() else treatment
    return 2 * (y == treatment) + second


@law
@given(SEEDS)
def test_weights_are_repetitions(seed):
    y, uplift, treatment = experiment(seed)
    times = np.random.default_rng(seed).integers(1, 4, len(y))
    again = np.repeat(np.arange(len(y)), times)
    for score in (qini_score, auuc_score):
        assert score(y, uplift, treatment, sample_weight=times) == pytest.approx(
            score(y[again], uplift[again], treatment[again]), abs=1e-9
        )


@law
@given(SEEDS)
def test_known_probabilities_are_inverse_weights(seed):
    y, uplift, treatment = experiment(seed)
    chance = np.random.default_rng(seed).uniform(0.05, 0.95, len(y))
    own = np.where(treatment == 1, chance, 1 - chance)
    weight = np.array(
        [1 / p / np.sum(1 / own[treatment == t]) * np.sum(treatment == t) for p, t in zip(own, treatment, strict=True)]
    )
    for metric in (qini_score, auuc_score):
        rows, plain = (y, uplift, treatment), {"normalise": False}
        known = metric(*rows, **plain, propensity=chance)
        assert known == pytest.approx(metric(*rows, **plain, sample_weight=weight), abs=1e-9)
        alike = metric(*rows, **plain, propensity=np.full(len(y), 0.3))
        assert alike == pytest.approx(metric(*rows, **plain), abs=1e-9)


def test_scores_are_those_of_scikit_uplift():
    theirs = pytest.importorskip("sklift.metrics")
    for seed in range(50):
        y, uplift, treatment = experiment(seed)
        if len(set(y.tolist())) < 2:
            continue
        assert qini_score(y, uplift, treatment) == pytest.approx(theirs.qini_auc_score(y, uplift, treatment))
        assert auuc_score(y, uplift, treatment) == pytest.approx(theirs.uplift_auc_score(y, uplift, treatment))


def test_uplift_of_the_first_rows():
    y, treatment = np.array([1, 0, 1, 0, 0, 1]), np.array([1, 0, 1, 0, 1, 0])
    uplift = np.array([6.0, 5, 4, 3, 2, 1])
    assert uplift_at_k(y, uplift, treatment, k=4) == 1.0
    assert uplift_at_k(y, uplift, treatment, k=2 / 3) == 1.0
    assert uplift_at_k(y, uplift, treatment, k=1.0) == pytest.approx(2 / 3 - 1 / 3)
    assert uplift_at_k(y, uplift, treatment, k=3, strategy="by_group") == pytest.approx(2 / 3 - 1 / 3)
    assert uplift_at_k(y, uplift, treatment, k=4, sample_weight=[1, 3, 1, 1, 1, 1]) == 1.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": [1, 0]}, r"uplift has 4 values, but y has 2 rows"),
        ({"y": []}, r"y is empty: give at least one treated and one control row"),
        ({"y": [1, 0, np.nan, 1]}, r"y contains NaN: nan in row 2"),
        ({"uplift": [1, 0, np.nan, 1]}, r"uplift contains NaN: nan in row 2"),
        ({"treatment": [0, 1, 2, 1]}, r"treatment is 2 in row 2: .* score one treatment at a time"),
        ({"treatment": ["a", "b", "a", "b"]}, r"treatment has dtype .* use 1 for treated rows, 0 for control"),
        ({"treatment": [0, 0, 0, 0]}, r"no treated row has weight"),
        ({"propensity": [0.5, 0.5, 1, 0.5]}, r"propensity is 1 in row 2: use probabilities above 0 and below 1"),
        ({"propensity": [0.5, 0.5]}, r"propensity has 2 values, but y has 4 rows"),
        ({"sample_weight": [0, 1, 0, 1]}, r"no control row has weight"),
    ],
)
def test_what_cannot_be_scored_is_refused(changes, message):
    rows = {"y": [1, 0, 0, 1], "uplift": [4.0, 3, 2, 1], "treatment": [0, 1, 0, 1]}
    with pytest.raises(ValueError, match=message):
        qini_score(**{**rows, **changes})


@pytest.mark.parametrize("k", [0, 5, 0.0, 1.5, True, "3", None])
def test_k_is_checked(k):
    with pytest.raises(ValueError, match="use a share above 0 and at most 1, or a number of rows of at most 4"):
        uplift_at_k([1, 0, 0, 1], [4.0, 3, 2, 1], [0, 1, 0, 1], k=k)


def test_first_rows_of_one_group_are_refused():
    with pytest.raises(ValueError, match="takes no row of one of the groups"):
        uplift_at_k([1, 0, 0, 1], [4.0, 3, 2, 1], [0, 1, 0, 1], k=1)
    with pytest.raises(ValueError, match="strategy='each': use 'overall' or 'by_group'"):
        uplift_at_k([1, 0, 0, 1], [4.0, 3, 2, 1], [0, 1, 0, 1], strategy="each")


def test_the_best_uplift_curve_is_known_for_two_outcomes():
    with pytest.raises(ValueError, match=r"y is 2 in row 0: the best order is known for outcomes 0 and 1"):
        auuc_score([2, 0, 0, 1], [4.0, 3, 2, 1], [0, 1, 0, 1])
    assert auuc_score([2, 0, 0, 1], [4.0, 3, 2, 1], [0, 1, 0, 1], normalise=False) < 0
