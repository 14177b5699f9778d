"""Partial dependence, individual curves and accumulated effects as drawings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.plotting.style import (
    FAINT,
    GRID,
    MOST_CURVES,
    SMALL_FONT,
    class_colours,
    colour_bar,
    elided,
    fitting_font,
    legend,
    open_axes,
    tilt_if_long,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arboretum.explaining import Dependence

FloatArray: TypeAlias = NDArray[np.float64]

_MOST_LINES = 200  # individual curves; more would cover each other
_DECILES = np.arange(1, 10) / 10


def plot_dependence(
    dependence: Dependence,
    *,
    outputs: list[int] | None = None,
    centred: bool = False,
    data: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how predictions depend on a feature, or on two.

    Numbers become a curve, categories bars, two features a heat map. Curves of single rows, where there are any, are
    drawn thin.

    Parameters
    ----------
    dependence : Dependence
        What ``partial_dependence``, ``ice``, ``accumulated_effects`` or ``interaction_strength`` returns.
    outputs : list of int, optional
        Which outputs (classes) to draw; by default the first eight, or the last one in a heat map.
    centred : bool, default=False
        Let the curves begin at 0, so that individual curves are compared by their shape.
    data : array, optional
        Values of the feature in a table; their deciles are marked on the axis.
    ax : matplotlib Axes, optional
        Where to draw; by default on a new figure.

    Examples
    --------
    >>> from arboretum.explaining import Dependence
    >>> found = Dependence(["age"], [np.array([20.0, 40.0])], np.array([[1.0], [3.0]]), None, "partial_dependence")
    >>> plot_dependence(found).lines[0].get_ydata().tolist()
    [1.0, 3.0]
    """
    n_features = len(dependence.grid)
    if n_features not in (1, 2) or dependence.values.ndim != n_features + 1:
        raise ValueError(f"{dependence.kind!r} of {n_features} features cannot be drawn: ask for curves of one or two")
    n_outputs = dependence.values.shape[-1]
    drawn = _drawn_outputs(n_outputs, outputs, most=MOST_CURVES if n_features == 1 else 1)
    ax = open_axes(ax, "plot_dependence")
    names = dependence.output_names or [f"output {i}" for i in range(n_outputs)]
    if n_features == 2:
        _heat_map(ax, dependence, dependence.values[..., drawn[-1]], names[drawn[-1]] if n_outputs > 1 else None)
        return ax
    values, individual = dependence.values[:, drawn], dependence.individual
    individual = None if individual is None else individual[..., drawn]
    if centred:
        values = values - values[:1]
        individual = None if individual is None else individual - individual[:, :1]
    grid = np.asarray(dependence.grid[0])
    labels = [elided(str(names[output]), 2.0) if len(drawn) > 1 else None for output in drawn]
    (_curves if _is_numeric(grid) else _bars)(ax, grid, values, individual, labels)
    legend(ax)
    if outputs is None and n_outputs > len(drawn):
        ax.set_title(f"{len(drawn)} of {n_outputs} outputs", fontsize=10, loc="left")
    ax.set_xlabel(elided(str(dependence.features[0]), 5.0), parse_math=False)
    ax.set_ylabel(f"{_kind_text(dependence.kind)}{' − first' if centred else ''}")
    ax.grid(axis="y", color=GRID)
    if grid.dtype.kind == "M":
        _write_dates(ax)
    if data is not None and _is_numeric(grid):
        _mark_deciles(ax, data)
    return ax


def _kind_text(kind: str) -> str:
    return {"ice": "prediction"}.get(kind, str(kind).replace("_", " "))


def _is_numeric(grid: NDArray[Any]) -> bool:
    return grid.dtype.kind in "fiumM"


def _label(value: Any) -> str:
    return "missing" if value is None or value != value else str(value)


def _drawn_outputs(n_outputs: int, outputs: list[int] | None, most: int) -> list[int]:
    if outputs is None:
        return list(range(n_outputs))[-most:] if n_outputs > most and most == 1 else list(range(min(n_outputs, most)))
    for output in outputs:
        if not 0 <= output < n_outputs:
            raise ValueError(f"outputs={outputs!r}: there are {n_outputs} outputs, counted from 0")
    return outputs


def _curves(
    ax: Axes, grid: NDArray[Any], values: FloatArray, individual: FloatArray | None, labels: Sequence[str | None]
) -> None:
    """Draw curves; a dotted line across shows what a missing value leads to."""
    known, colours = grid == grid, class_colours(values.shape[1])
    for place, colour in enumerate(colours):
        if individual is not None:
            step = -(-len(individual) // _MOST_LINES)
            lines = individual[::step, known, place]
            ax.plot(grid[known], lines.T, color=colour, linewidth=0.5, alpha=max(0.08, min(0.5, 15 / len(lines))))
    for place, colour in enumerate(colours):
        marker = "o" if len(grid) <= 12 else None
        style: dict[str, Any] = {"linewidth": 2.2, "marker": marker, "markersize": 4, "label": labels[place]}
        ax.plot(grid[known], values[known, place], color=colour, **style)
        for value in values[~known, place]:
            ax.axhline(value, color=colour, linewidth=1.2, linestyle=":", label=None if place else "missing")


def _bars(
    ax: Axes, grid: NDArray[Any], values: FloatArray, individual: FloatArray | None, labels: Sequence[str | None]
) -> None:
    places, width = np.arange(len(grid)), 0.75 / values.shape[1]
    for place, colour in enumerate(class_colours(values.shape[1])):
        centre = places + (place - (values.shape[1] - 1) / 2) * width
        ax.bar(centre, values[:, place], width, color=colour, label=labels[place])
        if individual is not None and len(individual):
            low, high = np.quantile(individual[..., place], [0.1, 0.9], axis=0)
            ax.vlines(centre, low, high, color=FAINT, linewidth=1.0)  # eight of ten rows
    tilt_if_long(ax, [_label(value) for value in grid.tolist()])


def _heat_map(ax: Axes, dependence: Dependence, values: FloatArray, output: str | None) -> None:
    """Draw two features; missing numbers have no place on an axis."""
    first, second = (np.asarray(grid) for grid in dependence.grid)
    kept = [grid == grid if _is_numeric(grid) else np.ones(len(grid), bool) for grid in (first, second)]
    first, second, values = first[kept[0]], second[kept[1]], values[np.ix_(*kept)]
    spread = np.nanmax(np.abs(values), initial=0.0) or 1.0
    signed = np.nanmin(values, initial=0.0) < 0 < np.nanmax(values, initial=0.0)
    limits: dict[str, Any] = {"cmap": "PuOr_r", "vmin": -spread, "vmax": spread} if signed else {"cmap": "YlGnBu"}
    columns, rows = (grid if _is_numeric(grid) else np.arange(len(grid)) for grid in (first, second))
    mesh = ax.pcolormesh(columns, rows, values.T, shading="nearest", **limits)
    if not _is_numeric(first):
        tilt_if_long(ax, [_label(value) for value in first.tolist()])
    if not _is_numeric(second):
        names = [elided(_label(value), 1.2) for value in second.tolist()]
        ax.set_yticks(rows, names, parse_math=False, fontsize=min(SMALL_FONT, fitting_font(ax, len(names))))
    if dependence.kind != "interaction_strength":  # whose axes name all features
        ax.set_xlabel(elided(str(dependence.features[0]), 4.0), parse_math=False)
        ax.set_ylabel(elided(str(dependence.features[1]), 3.5), parse_math=False)
    ax.spines[:].set_visible(False)
    colour_bar(ax, mesh, _kind_text(dependence.kind) + (f" of {elided(str(output), 1.5)}" if output else ""))


def _write_dates(ax: Axes) -> None:
    import matplotlib.dates

    dates: Any = matplotlib.dates
    locator = dates.AutoDateLocator(maxticks=7)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))


def _mark_deciles(ax: Axes, data: Any) -> None:
    """Mark the deciles of the data on the axis: there is as much data between any two of them."""
    column = np.asarray(data).ravel()
    known = column[column == column]
    if len(known):
        at = np.quantile(known, _DECILES, method="lower")
        ax.vlines(at, 0, 0.03, transform=ax.get_xaxis_transform(), color=FAINT, linewidth=1.0)
