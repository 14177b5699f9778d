"""Drawings: what is drawn is what was given, names find room, errors name the cure."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

import arboretum as arb
from arboretum.explaining import Dependence, Explanation, Importances
from arboretum.plotting import (
    CalibrationDisplay,
    ConfusionDisplay,
    PrecisionRecallDisplay,
    ResidualsDisplay,
    RocDisplay,
    plot_dependence,
    plot_importances,
    plot_learning_curve,
    plot_shap,
)
from arboretum.plotting.class_curves import calibration

mpl.use("Agg")
RNG = np.random.default_rng(0)
LONG = "the number of days since $the last visit$ of this customer to any of the shops"
X = RNG.normal(size=(300, 3))
Y = X[:, 0] + 0.5 * RNG.normal(size=300)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def importances(n, **kinds):
    names = [LONG if i % 5 == 0 else f"x{i}" for i in range(n)]
    return Importances(names, {"gain": np.arange(n, dtype=float), **kinds})


def tick_texts(ax, axis="y"):
    return [label.get_text() for label in (ax.get_yticklabels() if axis == "y" else ax.get_xticklabels())]


def assert_room(ax, labels):
    """Labels neither overlap nor leave the figure."""
    figure = ax.figure
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in labels if label.get_text()]
    for one, other in pairwise(boxes):
        assert not (one.shrunk(0.98, 0.98)).overlaps(other.shrunk(0.98, 0.98))
    for box in boxes:
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.x1 + 1


@pytest.mark.parametrize("n", [3, 50])
def test_importances_are_bars_in_order(n):
    ax = plot_importances(importances(n), top=n)
    assert [bar.get_width() for bar in ax.patches] == sorted(range(n), reverse=True)
    assert tick_texts(ax)[0] == f"x{n - 1}"
    assert_room(ax, ax.get_yticklabels())
    short = plot_importances(importances(n), top=2)
    assert len(short.patches) == 2
    assert short.get_xlabel() == f"gain, 2 of {n} features"


def test_kinds_of_importances_and_suspects():
    table = importances(4, permutation=np.array([3.0, 1.0, 2.0, -1.0]), permutation_error=np.full(4, 0.1))
    table.kinds["depth"] = np.array([0.5, np.nan, np.inf, 1.0])  # of columns that no tree reads
    table.suspects.append(("x1", "looks like an identifier"))
    ax = plot_importances(table)
    assert ax.get_xlabel() == "permutation"
    assert tick_texts(ax)[1:] == ["x2", "x1", "x3"]
    assert [label.get_color() == "#b3261e" for label in ax.get_yticklabels()] == [False, False, True, False]
    assert ax.get_legend().get_texts()[0].get_text() == "x1: looks like an identifier"
    both = plot_importances(table, kinds=["gain", "permutation"])
    np.testing.assert_allclose(max(bar.get_width() for bar in both.patches), 1.0)
    assert tick_texts(plot_importances(table, kinds="depth"))[1:] == ["x3", "x2", "x1"]
    for arguments, message in [
        ({"kinds": "sage"}, "no importance 'sage' here; expected some of gain, permutation"),
        ({"kinds": ["gain", "depth"]}, "draw 'inverse_depth' beside other kinds"),
        ({"kinds": []}, "kinds is empty"),
        ({"top": 0}, "top=0: draw at least one feature"),
    ]:
        with pytest.raises(ValueError, match=message):
            plot_importances(table, **arguments)


def dependence(grid, n_outputs=1, individual=None, **named):
    shape = (*(len(points) for points in grid), n_outputs)
    values = np.arange(np.prod(shape), dtype=float).reshape(shape)
    return Dependence([LONG, "b"][: len(grid)], grid, values, individual, "partial_dependence", **named)


def test_dependence_on_numbers_is_a_curve():
    grid = np.array([1.0, 2.0, 4.0, np.nan])
    rows = np.random.default_rng(0).random((30, 4, 1))
    found = dependence([grid], individual=rows)
    ax = plot_dependence(found, data=np.arange(100.0), ax=plt.subplots()[1])
    curve = ax.lines[30]
    assert curve.get_xydata().tolist() == [[1, 0], [2, 1], [4, 2]]
    assert ax.lines[31].get_ydata()[0] == 3  # where a missing value leads
    assert ax.get_legend().get_texts()[0].get_text() == "missing"
    centred = plot_dependence(found, centred=True)
    assert all(line.get_ydata()[0] == 0 for line in centred.lines[:31])
    dates = np.array(["2024-01-01", "2024-06-01", "2025-01-01"], "datetime64[us]")
    drawn = plot_dependence(dependence([dates]))
    assert_room(drawn, drawn.get_xticklabels())


def test_dependence_on_categories_is_bars_and_on_two_features_a_map():
    towns = np.array([f"a town with a long name {i}" for i in range(40)], object)
    ax = plot_dependence(dependence([towns]))
    assert [bar.get_height() for bar in ax.patches] == list(range(40))
    assert_room(ax, ax.get_xticklabels())
    rows = np.random.default_rng(0).random((30, 2, 1))
    spread = plot_dependence(dependence([np.array(["a", "b"], object)], individual=rows)).collections[0].get_segments()
    np.testing.assert_allclose([line[:, 1] for line in spread], np.quantile(rows[..., 0], [0.1, 0.9], axis=0).T)
    with_missing = np.array(["a", None], object)
    assert tick_texts(plot_dependence(dependence([with_missing])), "x") == ["a", "missing"]
    two = plot_dependence(dependence([np.array([1.0, 2.0, np.nan]), with_missing], n_outputs=3))
    np.testing.assert_array_equal(two.collections[0].get_array(), [[2, 8], [5, 11]])
    assert tick_texts(two) == ["a", "missing"]
    names = np.array([LONG], object)
    strength = plot_dependence(Dependence([LONG], [names, names], np.ones((1, 1, 1)), None, "interaction_strength"))
    assert strength.get_xlabel() == ""


def test_dependence_of_many_outputs():
    grid = np.array([1.0, 2.0])
    ax = plot_dependence(dependence([grid], n_outputs=11))
    assert len(ax.lines) == 8
    assert ax.get_title(loc="left") == "8 of 11 outputs"
    named = plot_dependence(dependence([grid], n_outputs=2, output_names=["no", "yes"]))
    assert [text.get_text() for text in named.get_legend().get_texts()] == ["no", "yes"]
    assert plot_dependence(dependence([grid], n_outputs=3), outputs=[2]).lines[0].get_ydata().tolist() == [2, 5]
    with pytest.raises(ValueError, match="there are 3 outputs, counted from 0"):
        plot_dependence(dependence([grid], n_outputs=3), outputs=[3])
    with pytest.raises(ValueError, match="of 3 features cannot be drawn"):
        plot_dependence(dependence([grid] * 3))


def explanation(n_rows, n_features, n_outputs=None):
    rng = np.random.default_rng(1)
    shape = (n_rows, n_features) if n_outputs is None else (n_rows, n_features, n_outputs)
    data = rng.normal(size=(n_rows, n_features)).astype(object)
    data[:, 0], data[::3, -1] = "red", None
    names = [LONG if i % 5 == 0 else f"x{i}" for i in range(n_features)]
    return Explanation(rng.normal(size=shape), np.full((n_rows, *shape[2:]), 0.5), data, names)


@pytest.mark.parametrize("n_features", [3, 50])
@pytest.mark.parametrize("kind", ["beeswarm", "waterfall", "bar"])
def test_explanations_find_room(kind, n_features):
    ax = plot_shap(explanation(40, n_features), kind=kind)
    assert_room(ax, ax.get_yticklabels())
    assert len(tick_texts(ax)) == min(n_features, 13)


def test_a_waterfall_goes_from_the_base_to_the_prediction():
    found = explanation(5, 6)
    ax = plot_shap(found, kind="waterfall", row=2)
    bars = ax.patches
    widths = np.array([bar.get_width() for bar in bars])
    np.testing.assert_allclose(widths, found.values[2][np.argsort(-np.abs(found.values[2]))])
    np.testing.assert_allclose(bars[-1].get_x(), 0.5)
    np.testing.assert_allclose(bars[0].get_x() + widths[0], 0.5 + found.values[2].sum())
    assert "missing" in "".join(tick_texts(plot_shap(found, kind="waterfall", row=0)))
    assert len(plot_shap(found, kind="waterfall", top=5).patches) == 6  # one other has the room of a line for others
    assert tick_texts(plot_shap(found, kind="waterfall", top=4))[-1] == "2 others"
    found.data[0, :2] = pd.Timestamp("2024-02-03"), pd.Timestamp("2024-02-03 04:05")
    dates = {text.partition(" = ")[2] for text in tick_texts(plot_shap(found, kind="waterfall", row=0))}
    assert {"2024-02-03", "2024-02-03T04:05:00"} <= dates


def test_points_of_a_beeswarm_are_the_values():
    found = explanation(30, 2)
    ax = plot_shap(found)
    order = np.argsort(-np.abs(found.values).mean(axis=0))
    for place, j in enumerate(order):
        drawn = [offset for dots in ax.collections for offset in dots.get_offsets() if round(offset[1]) == place]
        np.testing.assert_allclose(sorted(x for x, _ in drawn), np.sort(found.values[:, j]))
    constant = Explanation(found.values, found.base_values, np.ones((30, 2)), ["a", "b"])
    colours = [dots.get_array() for dots in plot_shap(constant).collections]
    np.testing.assert_array_equal([colour for colour in colours if colour is not None], np.full((2, 30), 0.5))
    several = explanation(20, 4, n_outputs=3)
    sizes = [bar.get_width() for bar in plot_shap(several, kind="bar", output=1).patches]
    np.testing.assert_allclose(sizes, np.sort(np.abs(several.values[..., 1]).mean(axis=0))[::-1])


def test_explanations_that_cannot_be_drawn():
    for found, arguments, message in [
        (explanation(3, 2), {"kind": "pie"}, "kind must be 'beeswarm', 'waterfall' or 'bar', not 'pie'"),
        (explanation(3, 2), {"kind": "waterfall", "row": 3}, "row=3: the explanation has 3 rows"),
        (explanation(3, 2), {"output": 1}, "the model has one output"),
        (explanation(3, 2, 2), {"output": 2}, "there are 2 outputs"),
        (explanation(0, 2), {}, "no rows"),
        (explanation(3, 2), {"top": 0}, "top=0"),
        (Explanation(np.zeros((3, 2, 2)), np.zeros(3), np.zeros((3, 2)), ["a", "b"]), {}, "interactions=False"),
    ]:
        with pytest.raises(ValueError, match=message):
            plot_shap(found, **arguments)


def test_learning_curves_are_the_history_or_the_error_out_of_the_bag():
    model = arb.BoostedTreesRegressor(n_estimators=15, callbacks=[lambda report: None])
    model.fit(X[:200], Y[:200], X_val=X[200:], y_val=Y[200:])
    ax = plot_learning_curve(model)
    assert ax.lines[0].get_ydata().tolist() == model.history_.training_loss
    assert ax.lines[1].get_ydata().tolist() == model.history_.validation_loss
    best = model.history_.best_round
    assert ax.lines[3].get_xydata().tolist() == [[best, model.history_.validation_loss[best - 1]]]
    model.set_params(scoring="r2", callbacks=None).fit(X[:200], Y[:200], X_val=X[200:], y_val=Y[200:])
    assert plot_learning_curve(model).lines[0].get_ydata().tolist() == model.history_.validation_score
    forest = arb.RandomForestClassifier(n_estimators=20, keep_bags=True, oob_score=True).fit(X, Y > 0)
    errors = plot_learning_curve(forest).lines[0].get_ydata()
    assert errors[-1] == pytest.approx(1 - forest.oob_score_)
    numbers = arb.RandomForestRegressor(n_estimators=20, keep_bags=True, oob_score=True).fit(X, Y)
    squared = plot_learning_curve(numbers).lines[0].get_ydata()[-1]
    assert squared == pytest.approx((1 - numbers.oob_score_) * np.var(Y))
    for silent, cure in [
        (arb.BoostedTreesRegressor(n_estimators=2, early_stopping=False).fit(X, Y), "early_stopping=True, with X_val"),
        (arb.RandomForestRegressor(n_estimators=2).fit(X, Y), "keep_bags=True"),
    ]:
        with pytest.raises(ValueError, match=cure):
            plot_learning_curve(silent)


def test_curves_of_classes_agree_with_scikit_learn():
    y = np.array(["a", "b", "c"])[np.digitize(Y, [-0.5, 0.5])]
    model = arb.RandomForestClassifier(n_estimators=10, max_depth=3).fit(X, y)
    proba, weight = model.predict_proba(X), RNG.random(300)
    roc = RocDisplay.from_estimator(model, X, y, sample_weight=weight)
    precision = PrecisionRecallDisplay.from_estimator(model, X, y, sample_weight=weight)
    for k, label in enumerate("abc"):
        assert roc.curves[label][2] == pytest.approx(roc_auc_score(y == label, proba[:, k], sample_weight=weight))
        area = average_precision_score(y == label, proba[:, k], sample_weight=weight)
        assert precision.curves[label][2] == pytest.approx(area)
    assert len(roc.lines_) == 3
    assert roc.lines_[0].get_label() == f"a (AUC {roc.curves['a'][2]:.3f})"
    two = RocDisplay.from_predictions(y == "a", proba[:, 0], name="$m$", ax=plt.subplots()[1], color="red")
    assert two.lines_[0].get_color() == "red"
    assert two.lines_[0].get_label() == f"$m$ (AUC {roc_auc_score(y == 'a', proba[:, 0]):.3f})"


def test_many_classes_have_their_mean():
    y = np.repeat(np.arange(12), 20)
    scores = np.random.default_rng(0).random((240, 12)) + 2 * np.eye(12)[y] * (RNG.random((240, 1)) < 0.7)
    display = RocDisplay.from_predictions(y, scores)
    assert len(display.lines_) == 13
    assert "mean of 12 classes" in display.lines_[-1].get_label()
    single = np.mean([roc_auc_score(y == k, scores[:, k]) for k in range(12)])
    assert f"AUC {single:.3f}" in display.lines_[-1].get_label()
    x, height = display.lines_[-1].get_xydata().T
    assert np.sum((height[1:] + height[:-1]) / 2 * np.diff(x)) == pytest.approx(single, abs=0.01)
    assert CalibrationDisplay.from_predictions(y, scores / 3).lines_[-1].get_xdata().max() < 1


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]), st.integers(1, 3)), min_size=2)
)
@settings(max_examples=50, deadline=None)
def test_calibration_keeps_equal_probabilities_together_and_weights_are_copies(rows):
    truth, score, weight = (np.array(part) for part in zip(*rows, strict=True))
    x, y, error = calibration(truth, score, weight.astype(float))
    copied = calibration(np.repeat(truth, weight), np.repeat(score, weight), None)
    np.testing.assert_allclose(x, copied[0])
    np.testing.assert_allclose(y, copied[1])
    assert error == pytest.approx(copied[2])
    assert len(x) <= min(10, len(set(score.tolist())))
    assert (np.diff(x) > 0).all()


def test_predictions_that_cannot_be_drawn_as_curves():
    for y, scores, options, message in [
        ([0, 1, 2], [0.1, 0.2, 0.3], {}, "one column for 3 classes"),
        ([0, 1], [[0.1, 0.2, 0.7]] * 2, {}, "3 columns for 2 classes"),
        ([1, 1], [0.1, 0.2], {}, "one class only, 1: a curve needs rows of two classes"),
        ([0, 1, 7], [0.1, 0.2, 0.3], {"classes": [0, 1]}, r"class 7, expected one of \[0, 1\]"),
        ([0, 1], [0.1, 0.2, 0.3], {}, "expected one class and one score"),
    ]:
        with pytest.raises(ValueError, match=message):
            RocDisplay.from_predictions(y, scores, **options)
    with pytest.raises(ValueError, match=r"probabilities from 0 to 1, not 1\.5"):
        CalibrationDisplay.from_predictions([0, 1], [0.5, 1.5])
    with pytest.raises(TypeError, match="needs a classifier with predict_proba, not BoostedTreesRegressor"):
        RocDisplay.from_estimator(arb.BoostedTreesRegressor(), X, Y)


@pytest.mark.parametrize("n", [2, 12, 60])
def test_confusion_counts_and_finds_room(n):
    labels = np.array([f"class {i}" + (" of a long name" if i % 3 == 0 else "") for i in range(n)])
    y, predicted = labels[RNG.integers(0, n, 500)], labels[RNG.integers(0, n, 500)]
    display = ConfusionDisplay.from_predictions(y, predicted, classes=labels)
    i, j = n - 1, 0
    assert display.matrix[i, j] == np.sum((y == labels[i]) & (predicted == labels[j]))
    assert len(display.ax_.texts) == (n * n if n <= 20 else 0)
    assert_room(display.ax_, display.ax_.get_yticklabels())
    assert_room(display.ax_, display.ax_.get_xticklabels())
    assert display.ax_.get_title(loc="left") == f"{np.mean(y == predicted):.1%} right"


def test_confusion_of_an_estimator_is_that_of_its_predictions():
    model = arb.DecisionTreeClassifier(max_depth=2).fit(X, np.digitize(Y, [-1, 1]))
    found, expected = (
        ConfusionDisplay.from_estimator(model, X, Y > 0),
        ConfusionDisplay.from_predictions(Y > 0, model.predict(X), classes=model.classes_),
    )
    np.testing.assert_array_equal(found.matrix, expected.matrix)
    assert "DecisionTreeClassifier" in found.ax_.get_title(loc="left")


def test_residuals_are_points_or_hexagons():
    model = arb.BoostedTreesRegressor(n_estimators=5).fit(X, Y)
    display = ResidualsDisplay.from_estimator(model, X, Y)
    predicted = model.predict(X)
    actual, residual = (panel.collections[0].get_offsets() for panel in display.axes_)
    np.testing.assert_allclose(actual, np.column_stack([predicted, Y]))
    np.testing.assert_allclose(residual, np.column_stack([predicted, Y - predicted]))
    assert f"R² {model.score(X, Y):.3f}" in display.axes_[0].get_title(loc="left")
    ax = plt.subplots()[1]
    assert ResidualsDisplay.from_predictions(Y, predicted, kind="actual", ax=ax).axes_ == [ax]
    many = ResidualsDisplay.from_predictions(np.tile(Y, 20), np.tile(predicted, 20), kind="residual")
    assert len(many.axes_[0].collections[0].get_offsets()) < 3000
    with pytest.raises(ValueError, match="both kinds need two axes"):
        ResidualsDisplay.from_predictions(Y, predicted, ax=ax)
    with pytest.raises(ValueError, match="kind must be None, 'actual' or 'residual'"):
        ResidualsDisplay.from_predictions(Y, predicted, kind="both")
    with pytest.raises(ValueError, match="expected one number each per row"):
        ResidualsDisplay.from_predictions(Y, predicted[:5])


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (
        lambda: plot_importances(importances(3)),
        lambda: plot_shap(explanation(2, 2)),
        lambda: RocDisplay.from_predictions([0, 1], [0.1, 0.2]),
        lambda: ResidualsDisplay.from_predictions([0, 1], [0.1, 0.2]),
    ):
        with pytest.raises(ImportError, match=r"needs matplotlib: pip install arboretum\[plot\]"):
            draw()


def test_nothing_heavy_is_imported_with_the_drawings():
    code = (
        "import sys, arboretum.plotting, arboretum.reading; "
        "assert not {'matplotlib', 'sklearn', 'pandas', 'scipy'} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
