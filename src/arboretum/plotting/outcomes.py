"""Predictions against what was observed: confusion of classes, residuals of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from arboretum.plotting.style import (
    FAINT,
    GRID,
    INK,
    LOW,
    SMALL_FONT,
    colour_bar,
    elided,
    name_of,
    open_axes,
    require_matplotlib,
)
from arboretum.reading.quantities import number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ResidualKind: TypeAlias = Literal["actual", "residual"]

_MOST_NUMBERS = 20  # classes; the cells of more are too small for numbers
_MOST_NAMES = 50
_MOST_POINTS = 5000  # more points are counted in hexagons


class ConfusionDisplay:
    """Confusion of classes: which class is taken for which; rows are true classes, columns predicted ones.

    Make it with ``from_estimator`` or ``from_predictions``.

    Parameters
    ----------
    matrix : array (classes, classes)
        Rows, or weights, of each true and predicted class.
    classes : array
        Labels.
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.

    Examples
    --------
    >>> from arboretum.plotting import ConfusionDisplay
    >>> ConfusionDisplay.from_predictions(["a", "b", "b"], ["a", "b", "a"]).matrix
    array([[1, 0],
           [1, 1]])
    """

    ax_: Axes
    figure_: Any

    def __init__(self, matrix: NDArray[Any], classes: NDArray[Any], name: str | None = None) -> None:
        self.matrix, self.classes, self.name = matrix, classes, name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, **options: Any
    ) -> ConfusionDisplay:
        """Predict the classes of rows and draw which are taken for which.

        Parameters
        ----------
        estimator : classifier
            A fitted model of one output.
        X, y
            Rows and their classes.
        name : str, optional
            Name of the model; by default the name of its Python class.
        **options
            ``sample_weight`` and ``ax``, as for ``from_predictions``.
        """
        classes, name = estimator.classes_, name_of(estimator, name)
        return cls.from_predictions(y, estimator.predict(X), classes=classes, name=name, **options)

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        predicted: Any,
        *,
        classes: Any = None,
        sample_weight: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> ConfusionDisplay:
        """Draw which classes are taken for which.

        Parameters
        ----------
        y, predicted : arrays (rows)
            True and predicted classes.
        classes : array, optional
            Labels in the order to draw; by default all that occur, sorted.
        sample_weight : array, optional
            Weight of each row.
        name, ax
            Name of the model, for the title; where to draw, as for ``plot``.
        """
        from sklearn.metrics import confusion_matrix

        truth, said = np.asarray(y), np.asarray(predicted)
        labels = np.unique(np.concatenate([truth, said])) if classes is None else np.asarray(classes)
        return cls(confusion_matrix(truth, said, labels=labels, sample_weight=sample_weight), labels, name).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> ConfusionDisplay:
        """Draw the matrix: the colour of a cell is its share of the true class, its text the number of rows.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure as large as the classes need.
        """
        n = len(self.classes)
        size = float(np.clip(2.6 + 0.42 * n, 4.4, 10.0))
        ax = open_axes(ax, type(self).__name__, size + 0.8, size)
        total = self.matrix.sum(axis=1, keepdims=True)
        share = np.divide(self.matrix, total, out=np.zeros(self.matrix.shape), where=total > 0)
        image = ax.imshow(share, cmap="Blues", vmin=0, vmax=1)
        ax.spines[:].set_visible(False)
        self._name_cells(ax)
        if n <= _MOST_NUMBERS:
            self._write_numbers(ax, share)
        ax.set(xlabel="predicted class", ylabel="true class")
        right = float(np.trace(self.matrix) / max(self.matrix.sum(), 1e-300))
        ax.set_title(f"{self.name + ': ' if self.name else ''}{right:.1%} right", fontsize=10, loc="left")
        percent: Any = {"format": lambda part, _: f"{part:.0%}"}
        colour_bar(ax, image, "share of the true class", fraction=0.046, pad=0.03, **percent)
        self.ax_, self.figure_ = ax, ax.get_figure()
        return self

    def _name_cells(self, ax: Axes) -> None:
        n = len(self.classes)
        cell = ax.get_window_extent().height / ax.figure.dpi / n
        step = 1 if n <= _MOST_NAMES else -(-n // 25)
        places = np.arange(0, n, step)
        names = [elided(str(self.classes[i]), 1.2) for i in places]
        font = float(np.clip(0.75 * cell * step * 72, 4.0, 9.0))
        upright = max(map(len, names)) * font * 0.6 / 72 > cell * step
        ax.set_xticks(places, names, rotation=90 if upright else 0, fontsize=font, parse_math=False)
        ax.set_yticks(places, names, fontsize=font, parse_math=False)
        ax.tick_params(length=0)

    def _write_numbers(self, ax: Axes, share: NDArray[np.float64]) -> None:
        cell = ax.get_window_extent().height / ax.figure.dpi / len(self.classes) * 72
        texts = [[_count_text(cell_) for cell_ in row] for row in self.matrix.tolist()]
        longest = max(len(text) for row in texts for text in row)
        font = float(np.clip(1.2 * cell / max(longest, 2), 3.0, 10.0))
        for i, row in enumerate(texts):
            for j, text in enumerate(row):
                ink = "white" if share[i, j] > 0.55 else INK if self.matrix[i, j] else "#b6bdc5"
                ax.text(j, i, text, ha="center", va="center", color=ink, fontsize=font)


def _count_text(count: float) -> str:
    return f"{count:,}" if isinstance(count, int) else number_text(count, 3)


class ResidualsDisplay:
    """Observed numbers, and residuals, over predictions.

    Make it with ``from_estimator`` or ``from_predictions``.

    Parameters
    ----------
    y, predicted : arrays (rows)
        What was observed and what was predicted.
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of them.

    Examples
    --------
    >>> from arboretum.plotting import ResidualsDisplay
    >>> display = ResidualsDisplay.from_predictions([1.0, 2.0, 4.0], [1.5, 2.0, 3.5], kind="residual")
    >>> display.axes_[0].get_ylabel()
    'observed − predicted'
    """

    axes_: list[Axes]
    figure_: Any

    def __init__(self, y: NDArray[Any], predicted: NDArray[Any], name: str | None = None) -> None:
        self.y, self.predicted, self.name = y, predicted, name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, **options: Any
    ) -> ResidualsDisplay:
        """Predict rows and draw their residuals.

        Parameters
        ----------
        estimator : regressor
            A fitted model of one output.
        X, y
            Rows and what was observed.
        name, **options
            Name of the model, by default that of its Python class; ``kind`` and ``ax``, as for ``plot``.
        """
        return cls.from_predictions(y, estimator.predict(X), name=name_of(estimator, name), **options)

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        predicted: Any,
        *,
        kind: ResidualKind | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> ResidualsDisplay:
        """Draw residuals of predictions.

        Parameters
        ----------
        y, predicted : arrays (rows)
            What was observed and what was predicted.
        name : str, optional
            Name of the model.
        kind, ax
            As for ``plot``.
        """
        truth, said = (np.asarray(part, dtype=np.float64) for part in (y, predicted))
        if truth.ndim != 1 or truth.shape != said.shape or not len(truth):
            raise ValueError(f"y has shape {truth.shape}, predicted {said.shape}: expected one number each per row")
        return cls(truth, said, name).plot(kind=kind, ax=ax)

    def plot(self, *, kind: ResidualKind | None = None, ax: Axes | None = None) -> ResidualsDisplay:
        """Draw points, or hexagons that count them if there are many.

        Parameters
        ----------
        kind : {"actual", "residual"}, optional
            Observed values or residuals over predictions; by default both, side by side on a new figure.
        ax : matplotlib Axes, optional
            Where to draw one kind; by default on a new figure.
        """
        what = type(self).__name__
        require_matplotlib(what)
        if kind not in (None, *get_args(ResidualKind)):
            raise ValueError(f"kind must be None, 'actual' or 'residual', not {kind!r}")
        if kind is None and ax is not None:
            raise ValueError("both kinds need two axes: say kind='actual' or 'residual', or leave ax out")
        kinds = get_args(ResidualKind) if kind is None else (kind,)
        panels: list[Any] = [ax]
        if kind is None:
            import matplotlib.pyplot as plt

            panels = list(plt.subplots(1, 2, figsize=(9.6, 4.4), layout="constrained")[1])
        self.axes_ = [open_axes(panel, what) for panel in panels]
        for panel, shown in zip(self.axes_, kinds, strict=True):
            self._draw(panel, shown)
        self.axes_[0].set_title(self._title(), fontsize=10, loc="left")
        self.figure_ = self.axes_[0].get_figure()
        return self

    def _title(self) -> str:
        residual = self.y - self.predicted
        spread = float(np.sum(np.square(self.y - self.y.mean())))
        told = f"mean absolute error {number_text(float(np.abs(residual).mean()), 3)}"
        told = f"R² {1 - float(np.sum(residual**2)) / spread:.3f}, {told}" if spread else told
        return f"{self.name}: {told}" if self.name else told

    def _draw(self, ax: Axes, kind: str) -> None:
        shown = self.y if kind == "actual" else self.y - self.predicted
        if len(shown) > _MOST_POINTS:
            ax.hexbin(self.predicted, shown, gridsize=45, bins="log", mincnt=1, cmap="Blues", linewidths=0)
        else:
            alpha = float(np.clip(300 / len(shown), 0.15, 0.8))
            ax.scatter(self.predicted, shown, s=10, color=LOW, alpha=alpha, linewidths=0)
        if kind == "actual":
            ends = [min(self.predicted.min(), shown.min()), max(self.predicted.max(), shown.max())]
            ax.plot(ends, ends, color=FAINT, linestyle="--", linewidth=1.0)
        else:
            ax.axhline(0, color=FAINT, linestyle="--", linewidth=1.0)
        ax.set(xlabel="predicted", ylabel="observed" if kind == "actual" else "observed − predicted")
        ax.grid(color=GRID)
        ax.tick_params(labelsize=SMALL_FONT + 1)
