"""Standard errors and calibration against what repeated draws do."""

from __future__ import annotations

import numpy as np
import pytest

from arboretum.report.calibration import calibration
from arboretum.report.chance import jackknife, mean_and_error, normal_limit
from arboretum.report.evaluation.figures import Figure, measured

DRAW = np.random.default_rng(1)


def area(score, hit):
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(hit, score))


@pytest.mark.parametrize("n_rows", [60, 400, 8000])
def test_standard_errors_are_those_of_repeated_draws(n_rows):
    def rows():
        hit = DRAW.random(n_rows) < 0.4
        return DRAW.normal(size=n_rows) + hit, hit

    def errors(score, hit):
        found = jackknife(
            lambda at: {"area": area(score[at], hit[at]), "root": float(np.sqrt((score[at] ** 2).mean()))}, n_rows
        )
        return found["area"], found["root"]

    draws = [rows() for _ in range(40)]
    truth = np.std([[area(*one), np.sqrt((one[0] ** 2).mean())] for one in draws], axis=0)
    told = np.mean([errors(*one) for one in draws[:6]], axis=0)
    np.testing.assert_allclose(told, truth, rtol=0.5)


def test_errors_of_whole_units_and_of_weights():
    values = np.repeat(DRAW.normal(size=50), 20)
    unit = np.repeat(np.arange(50), 20)
    by_rows, by_units = (
        jackknife(lambda at: {"mean": float(values[at].mean())}, 1000, one)["mean"] for one in (None, unit)
    )
    assert by_units == pytest.approx(1 / np.sqrt(50), rel=0.5)
    assert by_rows < by_units / 2
    some = DRAW.normal(size=200)
    weight = np.where(np.arange(200) < 100, 1.0, 0.0)
    mean, error = mean_and_error(some, weight)
    assert mean == pytest.approx(some[:100].mean())
    assert error == pytest.approx(mean_and_error(some[:100])[1], rel=0.02)


def test_one_value_or_no_weight_has_no_error():
    for values, weight in ((np.ones(1), None), (np.ones(0), None), (np.ones(5), np.zeros(5))):
        assert np.isnan(mean_and_error(values, weight)).all()


def test_figures_without_a_value_have_no_error_and_no_verdict():
    nothing = Figure("a", "", lambda at: None, lambda at: 1.0)
    (fact,) = measured([nothing], 10)
    assert fact["error"] is None
    assert fact["verdict"] is None
    assert jackknife(lambda at: {"a": 1.0}, 1) == {}


def test_noise_is_neither_better_nor_worse():
    values = DRAW.normal(size=500)
    figure = Figure("mean", "", lambda at: float(values[at].mean()), lambda at: 0.0)
    assert measured([figure], 500)[0]["verdict"] == "alike"
    assert normal_limit(100) > normal_limit(1) > 3


def test_honest_probabilities_are_calibrated_and_others_are_not():
    certain, errors = 0, []
    for _ in range(200):
        proba = DRAW.beta(0.5, 2, 400)
        found = calibration(proba, DRAW.random(400) < proba, np.ones(400))
        certain += found.is_certain(1)
        errors.append(found.error)
    assert certain <= 1
    assert np.median(errors) < 0.03
    proba = DRAW.random(2000)
    hit = DRAW.random(2000) < proba
    assert calibration(proba**3, hit, np.ones(2000)).is_certain(1)
    assert calibration(np.where(hit, 1.0, 0.0), hit, np.ones(2000)).error == 0
    twice = calibration(proba, hit, np.full(2000, 2.0))
    assert twice.error == pytest.approx(calibration(proba, hit, np.ones(2000)).error)
