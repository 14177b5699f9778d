"""Importances as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arboretum.plotting.style import (
    GRID,
    INK,
    WARNING,
    class_colours,
    elided,
    legend,
    name_rows,
    open_axes,
    rows_height,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arboretum.explaining import Importances

_BY_TRUST = ("permutation", "sage", "shap", "gain")  # the first of these is drawn by default
_ERRORS = {"permutation": "permutation_error"}
_SMALL_IS_IMPORTANT = "depth"


def plot_importances(
    importances: Importances, *, kinds: str | Sequence[str] | None = None, top: int = 20, ax: Axes | None = None
) -> Axes:
    """Draw importances of features as bars, the most important on top.

    Parameters
    ----------
    importances : Importances
        What ``model.importances()`` returns.
    kinds : str or sequence of str, optional
        Which to draw; the first gives the order. One kind is drawn in its own unit, with its error if that is known;
        several as shares of the largest of each. By default the first there is of permutation, SAGE, SHAP and gain.
    top : int
        Most features to draw; the others are counted below.
    ax : matplotlib Axes, optional
        Where to draw; by default on a new figure as high as the bars need.

    Returns
    -------
    matplotlib Axes
        Names of suspects are red; a legend tells why.

    Examples
    --------
    >>> from arboretum.explaining import Importances
    >>> ax = plot_importances(Importances(["age", "id"], {"gain": np.array([1.0, 3.0])}))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['id', 'age']
    """
    chosen = _chosen(importances, kinds)
    if top < 1:
        raise ValueError(f"top={top!r}: draw at least one feature")
    lead = importances.kinds[chosen[0]]
    order = np.argsort(lead if chosen[0] == _SMALL_IS_IMPORTANT else -lead, kind="stable")[:top]  # NaN comes last
    names = [str(importances.feature_names[i]) for i in order]
    n_rows = len(order) * (1 + 0.35 * (len(chosen) - 1))
    ax = open_axes(ax, "plot_importances", height=rows_height(int(n_rows)) + 0.16 * len(chosen))
    _draw_bars(ax, importances, chosen, order)
    name_rows(ax, names)
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.grid(axis="x", color=GRID)
    hidden = len(lead) - len(order)
    of_all = f", {len(order)} of {len(lead)} features" if hidden else ""
    ax.set_xlabel((chosen[0].replace("_", " ") if len(chosen) == 1 else "share of the largest") + of_all)
    _mark_suspects(ax, names, importances.suspects)
    return ax


def _chosen(importances: Importances, kinds: str | Sequence[str] | None) -> list[str]:
    known = list(importances.kinds)
    if kinds is None:
        return [next((kind for kind in _BY_TRUST if kind in known), known[0])]
    chosen = [kinds] if isinstance(kinds, str) else list(kinds)
    for kind in chosen:
        if kind not in known:
            raise ValueError(
                f"kinds={kinds!r}: there is no importance {kind!r} here; expected some of {', '.join(known)}"
            )
    if not chosen:
        raise ValueError("kinds is empty: name at least one kind, or leave it None")
    if len(chosen) > 1 and _SMALL_IS_IMPORTANT in chosen:
        raise ValueError("'depth' is small where a feature is important: draw 'inverse_depth' beside other kinds")
    return chosen


def _draw_bars(ax: Axes, importances: Importances, chosen: list[str], order: NDArray[np.intp]) -> None:
    width = 0.75 / len(chosen)
    for place, (kind, colour) in enumerate(zip(chosen, class_colours(len(chosen)), strict=True)):
        values = np.where(np.isfinite(importances.kinds[kind]), importances.kinds[kind], np.nan)
        error = importances.kinds.get(_ERRORS[kind]) if kind in _ERRORS else None
        if len(chosen) > 1:
            largest = np.nanmax(np.abs(values)) or 1.0
            values, error = values / largest, None if error is None else error / largest
        ax.barh(
            np.arange(len(order)) + (place - (len(chosen) - 1) / 2) * width,
            values[order],
            width,
            color=colour,
            xerr=None if error is None else error[order],
            error_kw={"ecolor": INK, "elinewidth": 0.8, "capsize": 1.5},
            label=kind.replace("_", " ") if len(chosen) > 1 else None,
        )


def _mark_suspects(ax: Axes, names: list[str], suspects: Sequence[tuple[Any, str]]) -> None:
    """Colour names of suspects; the reasons go where bars are short."""
    from matplotlib.lines import Line2D

    reasons = {str(feature): reason for feature, reason in suspects}
    for label, name in zip(ax.get_yticklabels(), names, strict=True):
        if name in reasons:
            label.set_color(WARNING)
    told = [elided(f"{name}: {reasons[name]}", 3.2) for name in names if name in reasons]
    mark = Line2D([], [], color=WARNING, marker="s", linestyle="", markersize=4)
    legend(ax, "above", dict.fromkeys(told, mark))
