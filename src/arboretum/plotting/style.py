"""What drawings share: axes, colours, legends, and texts that fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Colour: TypeAlias = tuple[float, float, float]
Place: TypeAlias = Literal["above", "best", "lower left", "lower right", "upper left", "upper right"]

SMALL_FONT = 8.0  # points
INK, FAINT, GRID = "#1b1f24", "#59636e", "#dfe3e8"
WARNING = "#b3261e"
LOW, HIGH = "#0072b2", "#d55e00"  # below and above zero, small and large values
NAME_WIDTH = 1.9  # inches that the name of a feature or a class may take
MOST_CURVES = 8  # beyond, curves of single classes cannot be told apart

# Colours that stay apart for the colour-blind (Okabe & Ito 2008).
_PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#7f7f7f")


# ----------------------------------------------------------------------------------------------------- paper


def require_matplotlib(what: str) -> None:
    """Raise ImportError, with the cure, if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{what} needs matplotlib: pip install arboretum[plot]") from error


def open_axes(ax: Axes | None, what: str, width: float = 6.4, height: float = 4.8) -> Axes:
    """Return axes without a frame above and on the right: those given, or new ones of this size in inches.

    Examples
    --------
    >>> ax = open_axes(None, "a drawing", 4.0, 3.0)
    >>> ax.figure.get_size_inches().tolist()
    [4.0, 3.0]
    """
    require_matplotlib(what)
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(width, height), layout="constrained")[1]
    check_axes(ax)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    return ax


def check_axes(ax: Any) -> None:
    """Reject what cannot be drawn on."""
    if not hasattr(ax, "get_window_extent") or not hasattr(ax, "plot"):
        raise ValueError(f"ax={shown(ax)}: give axes of matplotlib, or None for a new figure")


def rows_height(n_rows: int) -> float:
    """Height in inches of a figure with a line of text for each of ``n_rows`` bars.

    Examples
    --------
    >>> rows_height(3) < rows_height(50) < 15
    True
    """
    return 1.0 + 0.24 * max(n_rows, 6)


def name_rows(ax: Axes, names: list[str]) -> None:
    """Name the rows of axes, the first on top, in letters that fit."""
    ax.set_yticks(np.arange(len(names)), [elided(name, NAME_WIDTH) for name in names], parse_math=False)
    ax.tick_params(axis="y", length=0, labelsize=fitting_font(ax, len(names)))
    ax.set_ylim(len(names) - 0.4, -0.6)


def fitting_font(ax: Axes, n_lines: int) -> float:
    """Return the font size at which ``n_lines`` lines fit above each other, at most the usual one.

    Examples
    --------
    >>> ax = open_axes(None, "a drawing", 4.0, 3.0)
    >>> fitting_font(ax, 5), fitting_font(ax, 60) < 4
    (9.0, True)
    """
    points = ax.get_window_extent().height / ax.figure.dpi * 72
    return float(min(9.0, 0.8 * points / max(n_lines, 1)))


def label_of(name: str | None, fact: str | None) -> str | None:
    """Write the name of a model and a fact about it for a legend.

    Examples
    --------
    >>> label_of("forest", "AUC 0.91"), label_of(None, "AUC 0.91"), label_of("forest", None)
    ('forest (AUC 0.91)', 'AUC 0.91', 'forest')
    """
    return fact if name is None else name if fact is None else f"{name} ({fact})"


def name_of(estimator: Any, name: str | None) -> str:
    """Return the name of a model: the one given, or that of its Python class.

    Examples
    --------
    >>> name_of(3, None), name_of(3, "three")
    ('int', 'three')
    """
    return type(estimator).__name__ if name is None else name


def colour_bar(ax: Axes, drawn: Any, label: str, **options: Any) -> Any:
    """Draw the scale of colours beside axes, without a frame."""
    bar = ax.figure.colorbar(drawn, ax=ax, **options)
    bar.set_label(label)
    bar.outline.set_visible(False)
    return bar


def legend(ax: Axes, place: Place = "best", more: Mapping[str, Any] | None = None) -> None:
    """Draw a legend of what has a label, and of more handles by their labels; labels are not parsed as mathematics.

    The place "above" is outside the axes, where it covers nothing.
    """
    handles, labels = ax.get_legend_handles_labels()
    if not handles and not more:
        return
    where: dict[str, Any] = {"loc": place}
    if place == "above":
        where = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
    every = [*handles, *(more or {}).values()]
    drawn = ax.legend(every, [*labels, *(more or {})], fontsize=SMALL_FONT + 0.5, framealpha=0.8, **where)
    drawn.get_frame().set_linewidth(0)
    for text in drawn.get_texts():
        text.set_parse_math(False)


def tilt_if_long(ax: Axes, labels: list[str]) -> None:
    """Write the labels of columns upright where they do not fit side by side."""
    room = ax.get_window_extent().width / ax.figure.dpi / max(len(labels), 1)
    shown = [elided(label, 1.2) for label in labels]
    crowded = max(map(text_width, shown), default=0.0) * 9 / SMALL_FONT > 0.95 * room
    size = min(9.0, 0.8 * room * 72)
    ax.set_xticks(np.arange(len(labels)), shown, rotation=90 if crowded else 0, fontsize=size, parse_math=False)


# ------------------------------------------------------------------------------------------------------ text


def text_width(text: str) -> float:
    """Width of a line in inches, in the font of the drawing."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=SMALL_FONT), ismath=False)
    return float(width) / 72


def elided(text: str, width: float) -> str:
    """Shorten a text to a width by an ellipsis in its middle: beginnings and ends tell names apart.

    Examples
    --------
    >>> elided("number of days since the last visit", 1.0)
    'number o…t visit'
    """
    if text_width(text) <= width:
        return text
    return _longest(
        lambda n: f"{text[: (n + 1) // 2].rstrip()}…{text[len(text) - n // 2 :].lstrip()}", len(text), width
    )


def _longest(shorten: Callable[[int], str], n: int, width: float) -> str:
    """Return the longest of ``shorten(0), …, shorten(n - 1)`` that fits, by bisection."""
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if text_width(shorten(middle)) <= width else (low, middle)
    return shorten(low)


def wrapped(text: str, width: float, max_lines: int) -> tuple[str, ...]:
    """Break a text into lines at spaces; the last line is shortened to fit.

    Examples
    --------
    >>> wrapped("petal length (cm) <= 2.45", 1.0, 2)
    ('petal length (cm)', '<= 2.45')
    """
    lines: list[str] = []
    words = text.split(" ")
    while words and len(lines) < max_lines - 1:
        n = 1
        while n < len(words) and text_width(" ".join(words[: n + 1])) <= width:
            n += 1
        if n < len(words) and n > 1 and words[n - 1] in ("<=", ">", "in", "not"):
            n -= 1  # a sign begins a line
        lines.append(elided(" ".join(words[:n]), width))
        words = words[n:]
    return (*lines, elided(" ".join(words), width)) if words else tuple(lines)


# --------------------------------------------------------------------------------------------------- colours


def mixed(colour: Colour, strength: float) -> Colour:
    """Dilute a colour with white.

    Examples
    --------
    >>> mixed((0.0, 0.0, 0.5), 0.5)
    (0.5, 0.5, 0.75)
    """
    red, green, blue = (1 - strength + strength * part for part in colour)
    return red, green, blue


def class_colours(n_classes: int) -> list[Colour]:
    """Give each class a colour of its own.

    Examples
    --------
    >>> len(set(class_colours(3))), len(set(class_colours(30)))
    (3, 30)
    """
    from matplotlib.colors import to_rgb

    if n_classes <= len(_PALETTE):
        return [to_rgb(name) for name in _PALETTE[:n_classes]]
    return _from_map("turbo", np.linspace(0.05, 0.95, n_classes))


def score_colours(scores: NDArray[np.float64]) -> list[Colour]:
    """Colour scores: purple below zero and orange above; if all have one sign, from pale green to blue.

    Examples
    --------
    >>> (red, _, blue), _ = score_colours(np.array([-1.0, 2.0]))
    >>> blue > red
    True
    """
    low, high = float(scores.min()), float(scores.max())
    if low < 0 < high:
        return _from_map("PuOr_r", 0.5 + 0.45 * scores / max(-low, high))
    return _from_map("YlGnBu", 0.2 + 0.6 * (scores - low) / ((high - low) or 1.0))


def _from_map(name: str, places: NDArray[np.float64]) -> list[Colour]:
    from matplotlib import colormaps

    return [(red, green, blue) for red, green, blue, _ in colormaps[name](places).tolist()]
