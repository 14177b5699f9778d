"""How well scores tell classes apart: ROC, precision and recall, calibration.

One curve for two classes, one for each of up to eight classes against the rest, and beyond that their mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum.plotting.style import (
    FAINT,
    GRID,
    MOST_CURVES,
    Place,
    class_colours,
    elided,
    label_of,
    legend,
    open_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
Curve: TypeAlias = tuple[FloatArray, FloatArray, float]  # x, y and what sums them up
Display = TypeVar("Display", bound="ClassCurves")

_GRID_POINTS = np.linspace(0, 1, 501)  # that curves of many classes are averaged at


class ClassCurves:
    """Curves of one or several classes, in the manner of scikit-learn's displays.

    Make it with ``from_estimator`` or ``from_predictions``.

    Parameters
    ----------
    curves : dict
        Points and a summary, (x, y, number), by the label of the class; one for two classes.
    name : str, optional
        Name of the model, for the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : list of matplotlib Line2D
        The curves.
    """

    ax_: Axes
    figure_: Any
    lines_: list[Any]

    _measure: ClassVar[str]
    _axes: ClassVar[dict[str, str]]
    _legend_place: ClassVar[Place] = "lower right"
    _style: ClassVar[dict[str, Any]] = {}

    def __init__(self, curves: dict[Any, Curve], name: str | None = None) -> None:
        self.curves, self.name = curves, name

    @staticmethod
    def _curve(truth: BoolArray, score: FloatArray, weight: FloatArray | None) -> Curve:
        raise NotImplementedError

    @classmethod
    def from_estimator(
        cls: type[Display],
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **line: Any,
    ) -> Display:
        """Predict rows and draw the curves of their classes.

        Parameters
        ----------
        estimator : classifier
            A fitted model.
        X, y, sample_weight
            Rows, their classes and weights.
        name, ax, **line
            As for ``from_predictions``; by default the name is that of the class.
        """
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(f"{cls.__name__} needs a classifier with predict_proba, not {type(estimator).__name__}")
        scores, name = estimator.predict_proba(X), type(estimator).__name__ if name is None else name
        classes = estimator.classes_
        return cls.from_predictions(y, scores, classes=classes, sample_weight=sample_weight, name=name, ax=ax, **line)

    @classmethod
    def from_predictions(
        cls: type[Display],
        y: Any,
        scores: Any,
        *,
        classes: Any = None,
        sample_weight: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **line: Any,
    ) -> Display:
        """Draw the curves of predictions.

        Parameters
        ----------
        y : array (rows)
            Classes of the rows.
        scores : array (rows) or (rows, classes)
            Scores or probabilities of the second of two classes, or of each class.
        classes : array, optional
            Labels of the columns; by default those of ``y``, sorted.
        sample_weight : array, optional
            Weight of each row.
        name : str, optional
            Name of the model.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        **line
            What matplotlib's ``plot`` takes.
        """
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        curves = {
            label: cls._curve(truth, score, weight)
            for label, truth, score in _one_against_rest(np.asarray(y), np.asarray(scores, np.float64), classes)
        }
        return cls(curves, name).plot(ax=ax, **line)

    def plot(self: Display, *, ax: Axes | None = None, **line: Any) -> Display:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        **line
            What matplotlib's ``plot`` takes.
        """
        ax = open_axes(ax, type(self).__name__, 5.2, 4.8)
        self.lines_ = []
        many = len(self.curves) > MOST_CURVES
        for (label, (x, y, number)), colour in zip(self.curves.items(), class_colours(len(self.curves)), strict=True):
            style: dict[str, Any] = {"color": FAINT, "alpha": 0.25, "linewidth": 0.8} if many else {}
            if not many:
                of_class = None if len(self.curves) == 1 else elided(str(label), 1.6)
                named = label_of(self.name if of_class is None else of_class, f"{self._measure} {number:.3f}")
                style = {"label": named, "linewidth": 1.8, **self._style}
                style |= {"color": colour} if len(self.curves) > 1 else {}
            self.lines_ += ax.plot(x, y, **{**style, **({} if many else line)})
        if many:
            x, y, number = self._mean_curve()
            label = f"mean of {len(self.curves)} classes"
            named = label_of(label if self.name is None else f"{self.name}, {label}", f"{self._measure} {number:.3f}")
            self.lines_ += ax.plot(x, y, **{"label": named, "linewidth": 2.2, **line})
        elif len(self.curves) > 1 and self.name is not None:
            ax.set_title(self.name, fontsize=10, loc="left")
        self._draw_reference(ax)
        ax.set(**self._axes, xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        ax.grid(color=GRID)
        legend(ax, self._legend_place)
        self.ax_, self.figure_ = ax, ax.get_figure()
        return self

    def _mean_curve(self) -> Curve:
        """Mean of the curves where at least half of them are, and of their summaries: macro averages."""
        rising = [(x, y) if x[0] <= x[-1] else (x[::-1], y[::-1]) for x, y, _ in self.curves.values()]
        heights = np.array([np.interp(_GRID_POINTS, x, y, left=np.nan, right=np.nan) for x, y in rising])
        known = np.count_nonzero(~np.isnan(heights), axis=0) * 2 >= len(heights)
        number = float(np.mean([number for *_, number in self.curves.values()]))
        return _GRID_POINTS[known], np.nanmean(heights[:, known], axis=0), number

    def _draw_reference(self, ax: Axes) -> None:
        ax.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1.0, zorder=1)


def _one_against_rest(y: NDArray[Any], scores: FloatArray, classes: Any) -> Iterator[tuple[Any, BoolArray, FloatArray]]:
    """Label, membership and score of each class; of two classes of the second alone."""
    if y.ndim != 1 or len(y) != len(scores):
        raise ValueError(f"y has shape {y.shape}, scores {scores.shape}: give one class and one score, or row, a row")
    labels = np.unique(y) if classes is None else np.asarray(classes)
    strangers = [label for label in np.unique(y).tolist() if label not in labels.tolist()]
    if strangers:
        raise ValueError(f"y has the class {strangers[0]!r}, which is none of {labels.tolist()}")
    if scores.ndim == 1:
        if len(labels) > 2:
            raise ValueError(f"scores has one column for {len(labels)} classes: give one a class")
        scores = scores[:, np.newaxis]
    elif scores.shape[1] != len(labels):
        raise ValueError(f"scores has {scores.shape[1]} columns for {len(labels)} classes: name them by classes=")
    if len(labels) <= 2:
        labels, scores = labels[-1:], scores[:, -1:]
    truths = [y == label for label in labels]
    if not any(truth.any() and not truth.all() for truth in truths):
        raise ValueError(f"y has one class only, {y[0]!r}: a curve needs rows of two")
    for label, truth, score in zip(labels.tolist(), truths, scores.T, strict=True):
        if truth.any() and not truth.all():
            yield label, truth, score


class RocDisplay(ClassCurves):
    """The ROC curve of a classifier: which share of the class is found at which share of false alarms.

    Parameters
    ----------
    curves : dict
        False positive rates, true positive rates and the area below, by label; one for two classes.
    name : str, optional
        Name of the model, for the legend.

    Attributes
    ----------
    ax_, figure_, lines_
        Where it was drawn, and the curves.

    Examples
    --------
    >>> from arboretum.plotting import RocDisplay
    >>> display = RocDisplay.from_predictions(["a", "b", "b", "a"], [0.1, 0.9, 0.4, 0.5], name="forest")
    >>> display.lines_[0].get_label()
    'forest (AUC 0.750)'
    """

    _measure = "AUC"
    _axes: ClassVar = {"xlabel": "false positive rate", "ylabel": "true positive rate"}

    @staticmethod
    def _curve(truth: BoolArray, score: FloatArray, weight: FloatArray | None) -> Curve:
        from sklearn.metrics import auc, roc_curve

        false, true, _ = roc_curve(truth, score, sample_weight=weight)
        return false, true, float(auc(false, true))


class PrecisionRecallDisplay(ClassCurves):
    """Precision over recall of a classifier: how pure the rows are that find a share of the class.

    Parameters
    ----------
    curves : dict
        Recall, precision and average precision, by label; one for two classes.
    name : str, optional
        Name of the model, for the legend.

    Attributes
    ----------
    ax_, figure_, lines_
        Where it was drawn, and the curves.

    Examples
    --------
    >>> from arboretum.plotting import PrecisionRecallDisplay
    >>> display = PrecisionRecallDisplay.from_predictions([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.5])
    >>> display.lines_[0].get_label()
    'AP 0.833'
    """

    _measure = "AP"
    _axes: ClassVar = {"xlabel": "recall", "ylabel": "precision"}
    _legend_place: ClassVar[Place] = "lower left"
    _style: ClassVar[dict[str, Any]] = {"drawstyle": "steps-post"}  # between two recalls, precision is the later one

    @staticmethod
    def _curve(truth: BoolArray, score: FloatArray, weight: FloatArray | None) -> Curve:
        from sklearn.metrics import average_precision_score, precision_recall_curve

        precision, recall, _ = precision_recall_curve(truth, score, sample_weight=weight)
        return recall, precision, float(average_precision_score(truth, score, sample_weight=weight))

    def _draw_reference(self, ax: Axes) -> None:
        pass


class CalibrationDisplay(ClassCurves):
    """Calibration of probabilities: how often the class occurs among rows that are given about the same probability.

    Rows are put into ten groups of equal size by their probability. The summary is the expected calibration error, the
    mean distance from the diagonal weighted by the rows of the groups.

    Parameters
    ----------
    curves : dict
        Mean probabilities, shares of the class and the error, by label; one for two classes.
    name : str, optional
        Name of the model, for the legend.

    Attributes
    ----------
    ax_, figure_, lines_
        Where it was drawn, and the curves.

    Examples
    --------
    >>> from arboretum.plotting import CalibrationDisplay
    >>> display = CalibrationDisplay.from_predictions([0, 0, 1, 1], [0.25, 0.25, 0.75, 0.75])
    >>> display.lines_[0].get_label()
    'error 0.250'
    """

    _measure = "error"
    _axes: ClassVar = {"xlabel": "mean probability", "ylabel": "share of the class"}
    _legend_place: ClassVar[Place] = "upper left"
    _style: ClassVar[dict[str, Any]] = {"marker": "o", "markersize": 4}
    n_groups: ClassVar[int] = 10

    @staticmethod
    def _curve(truth: BoolArray, score: FloatArray, weight: FloatArray | None) -> Curve:
        if not ((score >= 0) & (score <= 1)).all():
            worst = float(score[np.argmax((score < 0) | (score > 1) | np.isnan(score))])
            raise ValueError(f"calibration needs probabilities from 0 to 1, not {worst:g}")
        weights = np.ones(len(score)) if weight is None else weight
        order = np.argsort(score, kind="stable")
        before = np.cumsum(weights[order]) - weights[order]
        group = np.minimum((before / weights.sum() * CalibrationDisplay.n_groups).astype(int), 9)
        # Equal probabilities stay together, in the group of the first of them.
        _, first, copies = np.unique(score[order], return_index=True, return_counts=True)
        group = np.repeat(group[first], copies)
        totals, probability, share = (
            np.bincount(group, weights[order] * part, CalibrationDisplay.n_groups)
            for part in (1.0, score[order], truth[order])
        )
        filled = totals > 0
        x, y = probability[filled] / totals[filled], share[filled] / totals[filled]
        return x, y, float(np.sum(np.abs(x - y) * totals[filled]) / totals.sum())
