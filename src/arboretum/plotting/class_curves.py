"""How well scores tell classes apart: ROC, precision and recall, calibration.

Two classes have one curve, up to eight have one curve each against the rest, and more have the mean of their curves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
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
    name_of,
    open_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
Curve: TypeAlias = tuple[FloatArray, FloatArray, float]  # x, y and a summary
Display = TypeVar("Display", bound="ClassCurves")

N_GROUPS = 10  # of equal size, by probability, that calibration is read from
_GRID_POINTS = np.linspace(0, 1, 501)  # where curves of many classes are averaged


@dataclass(frozen=True)
class CurveKind:
    """What sets one kind of curve apart from the others.

    Parameters
    ----------
    curve : callable
        From membership in a class, scores and weights of rows to a curve.
    measure : str
        Name of the summary.
    x, y : str
        Names of the axes.
    place : str
        Where the legend stands.
    style : mapping
        What matplotlib's ``plot`` takes for a single curve.
    has_diagonal : bool
        Whether the diagonal is drawn for comparison.
    """

    curve: Callable[[BoolArray, FloatArray, FloatArray | None], Curve]
    measure: str
    x: str
    y: str
    place: Place = "lower right"
    style: Mapping[str, Any] = field(default_factory=dict)
    has_diagonal: bool = True


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

    kind: ClassVar[CurveKind]

    def __init__(self, curves: dict[Any, Curve], name: str | None = None) -> None:
        self.curves, self.name = curves, name

    @classmethod
    def from_estimator(
        cls: type[Display], estimator: Any, X: Any, y: Any, *, name: str | None = None, **options: Any
    ) -> Display:
        """Predict rows and draw the curves of their classes.

        Parameters
        ----------
        estimator : classifier
            A fitted model, of arboretum or scikit-learn.
        X, y
            Rows and their classes.
        name : str, optional
            Name of the model; by default the name of its Python class.
        **options
            ``sample_weight``, ``ax`` and ``**line``, as for ``from_predictions``.
        """
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(f"{cls.__name__} needs a classifier with predict_proba, not {type(estimator).__name__}")
        scores, classes = estimator.predict_proba(X), estimator.classes_
        return cls.from_predictions(y, scores, classes=classes, name=name_of(estimator, name), **options)

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
        ax, **line
            As for ``plot``.
        """
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        curves = {
            label: cls.kind.curve(truth, score, weight)
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
        self.ax_ = ax = open_axes(ax, type(self).__name__, 5.2, 4.8)
        self.figure_ = ax.get_figure()
        self.lines_ = [drawn for (x, y, _), style in self._styled(line) for drawn in ax.plot(x, y, **style)]
        if 1 < len(self.curves) <= MOST_CURVES and self.name is not None:
            ax.set_title(self.name, fontsize=10, loc="left")
        if self.kind.has_diagonal:
            ax.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1.0, zorder=1)
        ax.set(xlabel=self.kind.x, ylabel=self.kind.y, xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        ax.grid(color=GRID)
        legend(ax, self.kind.place)
        return self

    def _styled(self, line: dict[str, Any]) -> Iterator[tuple[Curve, dict[str, Any]]]:
        """Yield each curve with its style: one per class, or faint ones and their mean."""
        n = len(self.curves)

        def named(name: str | None, curve: Curve) -> str | None:
            return label_of(name, f"{self.kind.measure} {curve[2]:.3f}")

        if n > MOST_CURVES:
            yield from ((curve, {"color": FAINT, "alpha": 0.25, "linewidth": 0.8}) for curve in self.curves.values())
            mean, of_all = self._mean_curve(), f"mean of {n} classes"
            label = named(of_all if self.name is None else f"{self.name}, {of_all}", mean)
            yield mean, {"label": label, "linewidth": 2.2, **line}
            return
        for (label, curve), colour in zip(self.curves.items(), class_colours(n), strict=True):
            label = named(self.name if n == 1 else elided(str(label), 1.6), curve)
            own = {} if n == 1 else {"color": colour}
            yield curve, {"label": label, "linewidth": 1.8, **self.kind.style, **own, **line}

    def _mean_curve(self) -> Curve:
        """Mean of the curves where at least half of them are, and of their summaries: macro averages."""
        rising = [(x, y) if x[0] <= x[-1] else (x[::-1], y[::-1]) for x, y, _ in self.curves.values()]
        heights = np.array([np.interp(_GRID_POINTS, x, y, left=np.nan, right=np.nan) for x, y in rising])
        known = np.count_nonzero(~np.isnan(heights), axis=0) * 2 >= len(heights)
        number = float(np.mean([number for *_, number in self.curves.values()]))
        return _GRID_POINTS[known], np.nanmean(heights[:, known], axis=0), number


def _one_against_rest(y: NDArray[Any], scores: FloatArray, classes: Any) -> Iterator[tuple[Any, BoolArray, FloatArray]]:
    """Yield label, membership and score of each class, or of the second of two classes alone."""
    if y.ndim != 1 or len(y) != len(scores):
        raise ValueError(
            f"y has shape {y.shape} and scores {scores.shape}: expected one class and one score, or one row of "
            "scores, per row"
        )
    labels = np.unique(y) if classes is None else np.asarray(classes)
    strangers = [label for label in np.unique(y).tolist() if label not in labels.tolist()]
    if strangers:
        raise ValueError(f"y has the class {strangers[0]!r}, expected one of {labels.tolist()}")
    if scores.ndim == 1:
        if len(labels) > 2:
            raise ValueError(f"scores has one column for {len(labels)} classes: give one column per class")
        scores = scores[:, np.newaxis]
    elif scores.shape[1] != len(labels):
        raise ValueError(f"scores has {scores.shape[1]} columns for {len(labels)} classes: name them by classes=")
    if len(labels) <= 2:
        labels, scores = labels[-1:], scores[:, -1:]
    truths = [y == label for label in labels]
    if not any(truth.any() and not truth.all() for truth in truths):
        raise ValueError(f"y has one class only, {y.tolist()[0]!r}: a curve needs rows of two classes")
    for label, truth, score in zip(labels.tolist(), truths, scores.T, strict=True):
        if truth.any() and not truth.all():
            yield label, truth, score


def roc(truth: BoolArray, score: FloatArray, weight: FloatArray | None) -> Curve:
    """Return false positive rates, true positive rates and the area below."""
    from sklearn.metrics import auc, roc_curve

    false, true, _ = roc_curve(truth, score, sample_weight=weight)
    return false, true, float(auc(false, true))


def precision_recall(truth: BoolArray, score: FloatArray, weight: FloatArray | None) -> Curve:
    """Return recall, precision and the average precision."""
    from sklearn.metrics import average_precision_score, precision_recall_curve

    precision, recall, _ = precision_recall_curve(truth, score, sample_weight=weight)
    return recall, precision, float(average_precision_score(truth, score, sample_weight=weight))


def calibration(truth: BoolArray, score: FloatArray, weight: FloatArray | None) -> Curve:
    """Return mean probabilities of groups of rows, shares of the class, and their mean distance.

    Examples
    --------
    >>> calibration(np.array([False, True, True]), np.array([0.5, 0.5, 0.75]), None)
    (array([0.5 , 0.75]), array([0.5, 1. ]), 0.08333333333333333)
    """
    if not ((score >= 0) & (score <= 1)).all():
        worst = float(score[np.argmax((score < 0) | (score > 1) | np.isnan(score))])
        raise ValueError(f"calibration needs probabilities from 0 to 1, not {worst:g}")
    weights = np.ones(len(score)) if weight is None else weight
    order = np.argsort(score, kind="stable")
    before = np.cumsum(weights[order]) - weights[order]
    group = np.minimum((before / weights.sum() * N_GROUPS).astype(int), N_GROUPS - 1)
    # Equal probabilities stay together, in the group of the first of them.
    _, first, copies = np.unique(score[order], return_index=True, return_counts=True)
    group = np.repeat(group[first], copies)
    sums = [np.bincount(group, weights[order] * part, N_GROUPS) for part in (1.0, score[order], truth[order])]
    totals, probability, share = (part[sums[0] > 0] for part in sums)
    x, y = probability / totals, share / totals
    return x, y, float(np.sum(np.abs(x - y) * totals) / sums[0].sum())


class RocDisplay(ClassCurves):
    """The ROC curve of a classifier: which share of the class is found at which share of false alarms.

    ``curves`` holds false positive rates, true positive rates and the area below; parameters and attributes are those
    of every display of class curves.

    Examples
    --------
    >>> from arboretum.plotting import RocDisplay
    >>> display = RocDisplay.from_predictions(["a", "b", "b", "a"], [0.1, 0.9, 0.4, 0.5], name="forest")
    >>> display.lines_[0].get_label()
    'forest (AUC 0.750)'
    """

    kind = CurveKind(roc, "AUC", "false positive rate", "true positive rate")


class PrecisionRecallDisplay(ClassCurves):
    """Precision over recall of a classifier: how pure the rows are that find a share of the class.

    ``curves`` holds recall, precision and the average precision.

    Examples
    --------
    >>> from arboretum.plotting import PrecisionRecallDisplay
    >>> display = PrecisionRecallDisplay.from_predictions([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.5])
    >>> display.lines_[0].get_label()
    'AP 0.833'
    """

    kind = CurveKind(
        precision_recall,
        "AP",
        "recall",
        "precision",
        "lower left",
        {"drawstyle": "steps-post"},  # between two recalls, precision is the later one
        has_diagonal=False,
    )


class CalibrationDisplay(ClassCurves):
    """Calibration of probabilities: how often the class occurs among rows that are given about the same probability.

    Rows are put into ten groups of equal size by their probability. ``curves`` holds mean probabilities, shares of the
    class and the expected calibration error: the mean distance from the diagonal weighted by the rows of the groups.

    Examples
    --------
    >>> from arboretum.plotting import CalibrationDisplay
    >>> CalibrationDisplay.from_predictions([0, 0, 1, 1], [0.25, 0.25, 0.75, 0.75]).lines_[0].get_label()
    'error 0.250'
    """

    kind = CurveKind(
        calibration, "error", "mean probability", "share of the class", "upper left", {"marker": "o", "markersize": 4}
    )
