"""Qini curves as drawings."""

from __future__ import annotations

import subprocess
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import arboretum as arb
from arboretum.metrics import qini_curve, qini_score
from arboretum.plotting import QiniDisplay

mpl.use("Agg")
Y, UPLIFT, TREATMENT = [1, 0, 0, 1, 1], [0.9, 0.8, 0.2, 0.1, 0.5], [1, 0, 1, 0, 1]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_lines_are_the_curve_and_that_of_a_random_order():
    display = QiniDisplay.from_predictions(Y, UPLIFT, TREATMENT)
    rows, gain = qini_curve(Y, UPLIFT, TREATMENT)
    np.testing.assert_array_equal(display.line_.get_xydata(), np.column_stack([rows / 5, gain]))
    np.testing.assert_array_equal(display.random_.get_xydata(), [[0, 0], [1, gain[-1]]])
    assert display.line_.get_label() == f"Qini {qini_score(Y, UPLIFT, TREATMENT):.2f}"


def test_models_are_drawn_on_given_axes():
    rng = np.random.default_rng(0)
    X, arm = rng.random((600, 2)), rng.integers(0, 3, 600)
    y = np.where(rng.random(600) < 0.3 + 0.2 * arm * (X[:, 0] > 0.5), "yes", "no")
    model = arb.UpliftForest(n_estimators=3).fit(X, y, arm)
    ax = plt.subplots()[1]
    display = QiniDisplay.from_estimator(model, X, y, arm, arm=2, ax=ax, color="red")
    rows = arm != 1
    rows_of_curve, gain = qini_curve(y[rows] == "yes", model.predict(X)[rows, 1], arm[rows] == 2)
    np.testing.assert_allclose(display.rows, rows_of_curve)
    np.testing.assert_allclose(display.gain, gain)
    assert display.ax_ is ax
    assert display.figure_ is ax.get_figure()
    assert display.line_.get_color() == "red"
    assert display.line_.get_label().startswith("UpliftForest (Qini ")
    with pytest.raises(ValueError, match=r"arm=None: name one of the treatments \[1, 2\]"):
        QiniDisplay.from_estimator(model, X, y, arm)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"QiniDisplay needs matplotlib: pip install arboretum\[plot\]"):
        QiniDisplay(np.array([0.0, 1.0]), np.array([0.0, 1.0])).plot()


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys, arboretum.metrics, arboretum.plotting; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
