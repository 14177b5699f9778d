"""Explanations of predictions as drawings: a beeswarm or bars for many rows, a waterfall for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from arboretum.plotting.style import (
    FAINT,
    GRID,
    HIGH,
    INK,
    LOW,
    NAME_WIDTH,
    colour_bar,
    elided,
    fitting_font,
    name_rows,
    open_axes,
    rows_height,
    text_width,
)
from arboretum.reading.quantities import number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arboretum.explaining import Explanation

ShapKind: TypeAlias = Literal["beeswarm", "waterfall", "bar"]

_MOST_POINTS = 2000  # per feature
_LANES = 60  # places across the axis that points of a beeswarm are counted in
_DIGITS = 3


def plot_shap(
    explanation: Explanation,
    *,
    kind: ShapKind = "beeswarm",
    row: int = 0,
    output: int | None = None,
    top: int = 12,
    ax: Axes | None = None,
) -> Axes:
    """Draw what features add to predictions, on the scale of raw predictions.

    Parameters
    ----------
    explanation : Explanation
        What ``model.explain(X)`` returns, without interactions.
    kind : {"beeswarm", "waterfall", "bar"}
        All rows as points, coloured by the value of the feature; one row as steps from the base value to its
        prediction; or the mean size of what each feature adds.
    row : int
        Row of a waterfall.
    output : int, optional
        Which of several outputs (classes); by default the last.
    top : int
        Features to draw, those that add most; the others are summed up.
    ax : matplotlib Axes, optional
        Where to draw; by default on a new figure as high as the features need.

    Examples
    --------
    >>> from arboretum.explaining import Explanation
    >>> one = Explanation(np.array([[0.5, -2.0]]), np.array([1.0]), np.array([[7.0, 1.0]]), ["age", "fare"])
    >>> ax = plot_shap(one, kind="waterfall")
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['fare = 1', 'age = 7']
    """
    if kind not in get_args(ShapKind):
        raise ValueError(f"kind must be 'beeswarm', 'waterfall' or 'bar', not {kind!r}")
    if top < 1:
        raise ValueError(f"top={top!r}: draw at least one feature")
    values, base, label = _of_output(explanation, output)
    if not len(values):
        raise ValueError("the explanation has no rows: explain at least one")
    if kind == "waterfall":
        if not -len(values) <= row < len(values):
            raise ValueError(f"row={row!r}: the explanation has {len(values)} rows")
        return _waterfall(ax, explanation, values[row], float(base[row]), row, top, label)
    size = np.abs(values).mean(axis=0)
    order = np.argsort(-size, kind="stable")[:top]
    n_rest = len(size) - len(order)
    names = [str(explanation.feature_names[j]) for j in order]
    ax = open_axes(ax, "plot_shap", height=rows_height(len(order) + 1))
    if kind == "bar":
        ax.barh(np.arange(len(order)), size[order], 0.7, color=LOW)
        ax.set_xlabel(f"mean size of what a feature adds{label}")
    else:
        _beeswarm(ax, values[:, order], np.asarray(explanation.data, dtype=object)[:, order])
        ax.set_xlabel(f"adds to the prediction{label}")
    if n_rest:
        names.append(f"{n_rest} others together" if kind == "bar" else f"… {n_rest} others")
        rest = float(np.delete(size, order).sum())
        if kind == "bar":
            ax.barh([len(order)], [rest], 0.7, color=GRID)
        else:
            _swarm(ax, np.delete(values, order, axis=1).sum(axis=1), len(order), None)
    name_rows(ax, names)
    ax.grid(axis="x", color=GRID)
    ax.axvline(0, color=FAINT, linewidth=0.8, zorder=1)
    return ax


def _of_output(explanation: Explanation, output: int | None) -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
    """Values (rows, features), base values (rows) and a remark of the output that is drawn."""
    values, base = (np.asarray(part, dtype=np.float64) for part in (explanation.values, explanation.base_values))
    if values.ndim - base.ndim != 1:
        raise ValueError("an explanation with interactions has one matrix per row: explain with interactions=False")
    if values.ndim == 2:
        if output not in (None, 0):
            raise ValueError(f"output={output!r}: the model has one output")
        return values, base, ""
    n_outputs = values.shape[2]
    output = n_outputs - 1 if output is None else output
    if not 0 <= output < n_outputs:
        raise ValueError(f"output={output!r}: there are {n_outputs} outputs, counted from 0")
    names = explanation.output_names
    name = f"output {output}" if names is None else str(names[output])
    return values[..., output], base[..., output], f" of {elided(name, 2.0)}"


# -------------------------------------------------------------------------------------------------- beeswarm


def _beeswarm(ax: Axes, values: NDArray[np.float64], data: NDArray[Any]) -> None:
    for place in range(values.shape[1]):
        _swarm(ax, values[:, place], place, _ranks(data[:, place]))
    from matplotlib.cm import ScalarMappable

    bar = colour_bar(ax, ScalarMappable(cmap=_colour_map()), "feature value", aspect=40, pad=0.02)
    bar.set_ticks([0, 1], labels=["low", "high"])


def _colour_map() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("low to high", [LOW, "#b9b9b9", HIGH])


def _ranks(column: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return the place of each value among all, from 0 to 1, or NaN if it is missing; None for categories."""
    try:
        dates = np.array([hasattr(value, "isoformat") for value in column])
        numbers = (np.array(column.tolist(), "datetime64[us]") if dates.any() else column).astype(np.float64)
    except (TypeError, ValueError):
        return None
    known = np.sort(numbers[~np.isnan(numbers)])
    if not len(known) or known[0] == known[-1]:
        return np.where(np.isnan(numbers), np.nan, 0.5)
    middle = (np.searchsorted(known, numbers, "left") + np.searchsorted(known, numbers, "right") - 1) / 2
    return np.where(np.isnan(numbers), np.nan, middle / (len(known) - 1))


def _swarm(ax: Axes, values: NDArray[np.float64], place: int, ranks: NDArray[np.float64] | None) -> None:
    """Draw points side by side where many have about the same value."""
    step = -(-len(values) // _MOST_POINTS)
    values, ranks = values[::step], None if ranks is None else ranks[::step]
    span = float(np.ptp(values)) or 1.0
    lane = np.minimum(((values - values.min()) / span * _LANES).astype(np.intp), _LANES - 1)
    order = np.lexsort((values, lane))
    first = np.searchsorted(lane[order], np.arange(_LANES))
    turn = np.empty(len(values), dtype=np.intp)
    turn[order] = np.arange(len(values)) - first[lane[order]]
    side = np.where(turn % 2, -1, 1) * ((turn + 1) // 2)  # 0, −1, 1, −2, 2, …
    fullest = max(int(np.abs(side).max()), 8)
    known = np.zeros(len(values), bool) if ranks is None else ~np.isnan(ranks)
    y, size = place + 0.4 * side / fullest, 9.0 if len(values) < 500 else 4.0
    ax.scatter(values[~known], y[~known], s=size, color="#a9b1ba", linewidths=0, rasterized=len(values) > 500)
    if ranks is not None:
        ax.scatter(
            values[known],
            y[known],
            s=size,
            c=ranks[known],
            cmap=_colour_map(),
            vmin=0,
            vmax=1,
            linewidths=0,
            rasterized=len(values) > 500,
        )


# ------------------------------------------------------------------------------------------------- waterfall


def _waterfall(
    ax: Axes | None, explanation: Explanation, values: NDArray[np.float64], base: float, row: int, top: int, label: str
) -> Axes:
    order = np.argsort(-np.abs(values), kind="stable")
    shown, rest = order[:top], order[top:]
    if len(rest) == 1:
        shown, rest = order, rest[:0]
    steps = [float(values[j]) for j in shown]
    names = [_equation(str(explanation.feature_names[j]), explanation.data[row][j]) for j in shown]
    if len(rest):
        steps.append(float(values[rest].sum()))
        names.append(f"{len(rest)} others")
    ax = open_axes(ax, "plot_shap", height=rows_height(len(steps)))
    # The last step is drawn first: the bars climb from the base at the bottom to the prediction on top.
    start = base + np.append(np.cumsum(steps[::-1])[:-1][::-1], 0.0)
    end = start + steps
    low, high = min(base, *start, *end), max(base, *start, *end)
    reach = (high - low) or 1.0
    font = fitting_font(ax, len(steps))
    for place, (a, b, step) in enumerate(zip(start.tolist(), end.tolist(), steps, strict=True)):
        ax.barh(place, b - a, 0.65, left=a, color=HIGH if step > 0 else LOW)
        if place:
            ax.plot([b, b], [place - 0.35, place - 1 + 0.35], color=FAINT, linewidth=0.7)
        right = step > 0 or b - low < 0.15 * reach
        at = max(a, b) if right else min(a, b)
        ax.annotate(
            f"{'+' if step > 0 else '−' if step < 0 else ''}{number_text(abs(step), _DIGITS)}",
            (at, place),
            xytext=(3 if right else -3, 0),
            textcoords="offset points",
            ha="left" if right else "right",
            va="center",
            fontsize=font,
            color=INK,
        )
    ax.set_xlim(low - 0.13 * reach, high + 0.16 * reach)
    name_rows(ax, names)
    ax.axvline(base, color=FAINT, linewidth=0.8, linestyle=":")
    ax.grid(axis="x", color=GRID)
    total = number_text(float(base + values.sum()), _DIGITS + 1)
    ax.set_title(f"prediction{label}: {total}", fontsize=10, loc="left", parse_math=False)
    ax.set_xlabel(f"up from the base value {number_text(base, _DIGITS + 1)}")
    return ax


def _equation(name: str, value: Any) -> str:
    """Return "name = value"; the value has the room that the name leaves, at least that of a date."""
    left = f"{elided(name, 1.0)} = "
    return left + elided(_value_text(value), NAME_WIDTH - text_width(left))


def _value_text(value: Any) -> str:
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return "missing"
    if hasattr(value, "isoformat"):
        return str(value.isoformat().removesuffix("T00:00:00"))
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return str(value)
    return number_text(float(value), _DIGITS + 1)
