"""A Qini curve as a drawing with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arboretum.metrics.uplift import qini_curve, qini_score
from arboretum.plotting.style import check_axes, label_of, name_of, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class QiniDisplay:
    """The Qini curve of a model, in the manner of scikit-learn's displays.

    Make it with ``from_estimator`` or ``from_predictions``.

    Parameters
    ----------
    rows, gain : ndarray
        Points of the curve, as ``qini_curve`` gives them.
    score : float, optional
        Qini score, for the legend.
    name : str, optional
        Name of the model, for the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the curve was drawn.
    line_, random_ : matplotlib Line2D
        The curve, and that of a random order.

    Examples
    --------
    >>> from arboretum.plotting import QiniDisplay
    >>> display = QiniDisplay.from_predictions([1, 0, 0, 1], [0.9, 0.8, 0.2, 0.1], [1, 0, 1, 0], name="mail")
    >>> display.line_.get_label()
    'mail (Qini 1.00)'
    """

    ax_: Axes
    figure_: Any
    line_: Any
    random_: Any

    def __init__(
        self, rows: NDArray[np.float64], gain: NDArray[np.float64], score: float | None = None, name: str | None = None
    ) -> None:
        self.rows, self.gain, self.score, self.name = rows, gain, score, name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        treatment: Any,
        *,
        arm: Any = None,
        sample_weight: Any = None,
        propensity: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> QiniDisplay:
        """Predict the uplift of rows and draw its Qini curve.

        Parameters
        ----------
        estimator : UpliftForest or UpliftBoostedTrees
            A fitted model.
        X, y, treatment, sample_weight, propensity
            Rows, their outcomes and treatments, and what is known of them, as for ``fit``.
        arm : label, optional
            The treatment to compare with the control; may be left out if there is one.
        name, **options
            Name of the model, by default that of its Python class; ``ax`` and ``**line``, as for ``plot``.
        """
        given = {"sample_weight": sample_weight, "propensity": propensity}
        y, uplift, treated, weight = estimator.against_control(X, y, treatment, arm=arm, **given)
        return cls.from_predictions(y, uplift, treated, sample_weight=weight, name=name_of(estimator, name), **options)

    @classmethod
    def from_predictions(
        cls, y: Any, uplift: Any, treatment: Any, *, sample_weight: Any = None, name: str | None = None, **options: Any
    ) -> QiniDisplay:
        """Draw the Qini curve of predictions.

        Parameters
        ----------
        y, uplift, treatment, sample_weight
            As for ``qini_curve``.
        name, **options
            Name of the model; ``ax`` and ``**line``, as for ``plot``.
        """
        rows, gain = qini_curve(y, uplift, treatment, sample_weight=sample_weight)
        score = qini_score(y, uplift, treatment, sample_weight=sample_weight)
        return cls(rows, gain, score, name).plot(**options)

    def plot(self, *, ax: Axes | None = None, **line: Any) -> QiniDisplay:
        """Draw the curve, and the straight line of a random order, over shares of the rows.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        **line
            What matplotlib's ``plot`` takes.
        """
        require_matplotlib("QiniDisplay")
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.subplots()[1]
        check_axes(ax)
        share = self.rows / self.rows[-1]
        label = label_of(self.name, None if self.score is None else f"Qini {self.score:.2f}")
        (self.line_,) = ax.plot(share, self.gain, **{"label": label, **line})
        (self.random_,) = ax.plot([0, 1], [0, self.gain[-1]], color="0.6", linestyle="--", zorder=1)
        ax.set(xlabel="Share of rows, by falling uplift", ylabel="Extra outcomes", xlim=(0, 1))
        ax.legend(loc="lower right")
        self.ax_, self.figure_ = ax, ax.get_figure()
        return self
