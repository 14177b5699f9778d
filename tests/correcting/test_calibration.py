"""Maps of probabilities: against scikit-learn's, and the laws of an honest one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.calibration import _sigmoid_calibration
from sklearn.isotonic import IsotonicRegression

from arboretum.correcting.calibration import Calibration, Isotonic, Platt, Temperature, log_odds

RNG = np.random.default_rng(0)
P = RNG.uniform(0.01, 0.99, 500)
TRUE = P**2  # the model is too sure
Y = (RNG.uniform(size=500) < TRUE).astype(float)

rows = st.lists(
    st.tuples(st.floats(0, 1) | st.sampled_from([0.0, 1.0]), st.booleans(), st.integers(1, 3)), min_size=2, max_size=40
).filter(lambda rows: len({of_class for _, of_class, _ in rows}) == 2)


def fit_temperature(p, is_class, weight):
    return Temperature.fit(np.stack([1 - p, p], axis=1), is_class, weight)


@pytest.mark.parametrize("fit", [Isotonic.fit, Platt.fit, fit_temperature])
@settings(max_examples=40)
@given(rows)
def test_laws(fit, rows):
    p, is_class, weight = np.array(rows, dtype=float).T
    found = fit(p, is_class, weight)
    line = found.apply(np.linspace(0, 1, 101))
    assert ((line > 0) & (line < 1)).all(), "n rows of one kind do not prove that the next is"
    assert (np.diff(line) >= -1e-15).all(), "the ranking is never turned round"
    repeated = fit(*(np.repeat(part, weight.astype(int)) for part in (p, is_class)), np.ones(int(weight.sum())))
    np.testing.assert_allclose(repeated.apply(p), found.apply(p), atol=1e-6)
    again = type(found).from_array(found.to_array())
    np.testing.assert_array_equal(again.apply(p), found.apply(p))


def test_isotonic_equals_sklearn_on_the_rows_and_the_two_imaginary_ones():
    weight = RNG.uniform(0.5, 2, 500)
    twin = IsotonicRegression(out_of_bounds="clip").fit(
        np.append(P, [P.min(), P.max()]), np.append(Y, [1, 0]), np.append(weight, [1, 1])
    )
    grid = np.linspace(0, 1, 1001)
    np.testing.assert_allclose(Isotonic.fit(P, Y, weight).apply(grid), twin.predict(grid), atol=1e-12)


def test_isotonic_keeps_only_the_ends_of_steps():
    found = Isotonic.fit(P, Y, np.ones(500))
    assert len(found.p) <= 2 * len(np.unique(found.value))
    assert len(found.p) < 100


def test_platt_equals_sklearn():
    slope, intercept = _sigmoid_calibration(log_odds(P), Y)
    found = Platt.fit(P, Y, np.ones(500))
    assert found.slope == pytest.approx(-slope, rel=1e-4)
    assert found.intercept == pytest.approx(-intercept, rel=1e-4)


def test_platt_of_scores_that_tell_nothing_or_the_contrary():
    for y in (1 - Y, np.tile([0.0, 1.0], 250)):
        found = Platt.fit(np.sort(P), np.sort(y)[::-1], np.ones(500))
        assert found.slope == 0
        assert found.apply(np.array([0.1]))[0] == pytest.approx(y.mean(), abs=0.01)


@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_probabilities_become_honest(method):
    rng = np.random.default_rng(1)
    p = rng.uniform(size=20_000)
    y = (rng.uniform(size=20_000) < p**2 / (p**2 + (1 - p) ** 2)).astype(float)
    found = Calibration.fit(method, np.stack([1 - p, p], axis=1), y, np.ones(20_000))
    grid = np.linspace(0.05, 0.95, 19)
    honest = found.apply(np.stack([1 - grid, grid], axis=1))
    np.testing.assert_allclose(honest[:, 1], grid**2 / (grid**2 + (1 - grid) ** 2), atol=0.05)
    np.testing.assert_allclose(honest.sum(axis=1), 1)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_temperature_has_the_least_log_loss(n_classes):
    rng = np.random.default_rng(0)
    honest = rng.dirichlet(np.ones(n_classes), 2000)
    codes = np.array([rng.choice(n_classes, p=row) for row in honest], dtype=float)
    weight = rng.integers(1, 4, 2000).astype(float)
    sure = honest**3 / (honest**3).sum(axis=1, keepdims=True)
    found = Calibration.fit("temperature", sure, codes, weight)

    def loss(power):
        told = sure**power / (sure**power).sum(axis=1, keepdims=True)
        return -(weight * np.log(told[np.arange(2000), codes.astype(int)])).sum()

    (one,) = found.maps
    assert one.power == pytest.approx(1 / 3, rel=0.1)
    assert one.power == pytest.approx(minimize_scalar(loss, bounds=(0.01, 5), method="bounded").x, rel=0.01)
    np.testing.assert_allclose(found.apply(sure).sum(axis=1), 1)
    assert (np.argmax(found.apply(sure), axis=1) == np.argmax(sure, axis=1)).all(), "labels stay"
    again = Calibration.from_arrays("temperature", found.to_arrays(), n_classes)
    np.testing.assert_array_equal(again.apply(sure), found.apply(sure))


def test_misleading_probabilities_are_levelled():
    sure = np.stack([1 - P, P], axis=1)
    (found,) = Calibration.fit("temperature", sure, 1 - (P > 0.5), np.ones(500)).maps
    assert found.power == 0


def test_several_classes_sum_to_one():
    proba = RNG.dirichlet([1, 1, 1], 300)
    codes = np.array([RNG.choice(3, p=row) for row in proba], dtype=float)
    for method in ("isotonic", "platt"):
        found = Calibration.fit(method, proba, codes, np.ones(300))
        assert len(found.maps) == 3
        np.testing.assert_allclose(found.apply(proba).sum(axis=1), 1)
        again = Calibration.from_arrays(method, found.to_arrays(), 3)
        np.testing.assert_array_equal(again.apply(proba), found.apply(proba))


@pytest.mark.parametrize(
    ("method", "array", "message"),
    [
        ("platt", np.zeros((2, 2)), r"shape is \(2, 2\), expected \(2, 1\)"),
        ("platt", np.array([[-1.0], [0.0]]), "slope is -1.0, expected at least 0"),
        ("platt", np.array([[np.nan], [0.0]]), r"array of class 0\[0, 0\] = nan must be finite"),
        ("temperature", np.zeros((2, 2)), r"shape is \(2, 2\), expected \(2, 1\)"),
        ("temperature", -np.ones((2, 1)), "power is -1.0, expected between 0 and 1000"),
        ("isotonic", np.zeros((3, 2)), r"array of class 0 is \('float64', \(3, 2\)\), expected float64, \(2, n\)"),
        ("isotonic", np.zeros((2, 0)), "number of knots is 0, expected at least 1"),
        ("isotonic", np.array([[0.1, 0.1], [0.2, 0.3]]), r"knots\[1\] = 0.1 must be greater than the one before"),
        ("isotonic", np.array([[0.1, 0.2], [0.3, 0.2]]), r"values\[1\] = 0.2 must not be less than the one before"),
        ("isotonic", np.array([[0.1, 0.2], [0.3, 1.2]]), r"values\[1\] = 1.2 must lie between 0 and 1"),
    ],
)
def test_damaged_files(method, array, message):
    with pytest.raises(ValueError, match=f"invalid calibration: {message}"):
        Calibration.from_arrays(method, {"calibration 0": array}, 2)
