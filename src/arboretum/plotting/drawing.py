"""A tree as a drawing with matplotlib.

Lengths are in inches of paper at scale 1; on given axes the whole drawing, fonts too, is scaled to fit::

    ┌ box ─────────────┐
    │ condition        │  padding
    │ rows             │  lines of text
    │ value            │
    │ ▓▓▓▓▓▓▓▒▒▒░      │  bar: shares of classes
    └──────────────────┘
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from arboretum.data.schema import Category, Schema
from arboretum.model.forest import Forest
from arboretum.plotting.layout import slot_positions, tidy_positions
from arboretum.plotting.style import (
    FAINT,
    INK,
    SMALL_FONT,
    Colour,
    check_axes,
    class_colours,
    elided,
    mixed,
    require_matplotlib,
    score_colours,
    text_width,
    wrapped,
)
from arboretum.reading.conditions import condition
from arboretum.reading.node_values import NodeValues, node_values
from arboretum.reading.nodes import branches_of, children_of, descendants, nodes_of
from arboretum.reading.quantities import name_text, number_text, rows_text
from arboretum.reading.text import branch_text, check_depth
from arboretum.trees.multiway import MultiwayTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Orientation: TypeAlias = Literal["down", "right"]

_LINE, _PADDING, _BAR = 0.155, 0.075, 0.09
_MIN_WIDTH, _MAX_WIDTH = 0.8, 1.75
_LEVEL_GAP, _GAP, _MARGIN = {"down": 0.5, "right": 0.7}, {"down": 0.22, "right": 0.12}, 0.15
_TITLE, _LEGEND, _TITLE_WIDTH = 0.35, 0.22, 3.0
_MAX_FIGURE, _MAX_BOXES = 24.0, 5000
_DIGITS = 4
_CATEGORIES, _CATEGORY_LENGTH = 4, 14  # listed, and characters of each
_EDGE, _BORDER = "#a9b1ba", "#8b949e"

# A cubic Bézier curve at t = 0.65, where it has parted from its sibling.
_LABEL_WEIGHTS = np.array([0.35**3, 3 * 0.65 * 0.35**2, 3 * 0.65**2 * 0.35, 0.65**3])


def plot_tree(
    forest: Forest,
    schema: Schema,
    tree: int = 0,
    *,
    ax: Axes | None = None,
    max_depth: int | None = 4,
    class_names: Sequence[Any] | None = None,
    probabilities: bool | None = None,
    orientation: Orientation | None = None,
) -> Axes:
    """Draw a tree: one box per node, and thick edges where many training rows go.

    A row that meets the condition of a box follows the edge "yes". Thresholds are rounded to four digits and long names
    are shortened; the text of a tree has them in full.

    Parameters
    ----------
    forest, schema, tree, class_names, probabilities
        As for :func:`arboretum.reading.tree_to_text`. Shares of classes are drawn as bars; other values as the colour
        of the box.
    ax : matplotlib Axes, optional
        Where to draw; by default on a new figure as large as the tree needs.
    max_depth : int or None
        Deeper nodes are counted under an ellipsis; None draws all.
    orientation : {"down", "right"}, optional
        Where the tree grows. By default down if its boxes fit on a figure, else to the right, where more of them fit.

    Returns
    -------
    matplotlib Axes
        The box of node ``i`` has the gid ``"node i"``.

    Examples
    --------
    >>> import arboretum as arb
    >>> model = arb.BoostedTreesRegressor(n_estimators=1, min_samples_leaf=1).fit([[1.0], [2.0]], [0.0, 1.0])
    >>> ax = plot_tree(model.forest_, model.schema_)
    >>> ax.figure.savefig("tree.svg")  # doctest: +SKIP
    """
    values = node_values(forest, schema, tree, class_names, probabilities)
    nodes = nodes_of(forest, tree)
    rows = forest.n_rows[nodes]

    def heading(node: int, asks: bool) -> str:
        if not asks:
            return ""
        asked = condition(forest, nodes.start + node)
        return asked.pretty(with_short_names(schema, asked.reads), digits=_DIGITS, limit=_CATEGORIES)

    outline = Outline(
        title=f"tree {tree} of {forest.n_trees}" + (f": score of {values.score_of}" if values.score_of else ""),
        children=children_of(forest, tree),
        share=rows / max(rows[0], 1),
        size=[rows_text(n) for n in rows.tolist()],
        values=values,
        heading=heading,
        answers=("yes", "no"),
    )
    return draw(outline, ax=ax, max_depth=max_depth, orientation=orientation)


def plot_multiway(
    tree: MultiwayTree,
    schema: Schema,
    *,
    class_names: Sequence[Any],
    ax: Axes | None = None,
    max_depth: int | None = 4,
    orientation: Orientation | None = None,
) -> Axes:
    """Draw a tree with many branches per node: a box has the condition that leads to it, and shares of classes.

    The parameters are those of :func:`plot_tree`, and of :func:`arboretum.reading.multiway_to_text`.
    """

    def heading(node: int, asks: bool) -> str:
        if not node:
            return ""
        short = with_short_names(schema, (int(tree.feature[tree.parent[node]]),))
        return branch_text(tree, short, node, _DIGITS)

    def size(weight: float) -> str:
        return rows_text(int(weight)) if weight.is_integer() else f"{number_text(weight, _DIGITS)} rows"

    labels = tuple(name_text(str(name)) for name in class_names)
    outline = Outline(
        title="decision tree",
        children=branches_of(tree),
        share=tree.weight / tree.weight[0],
        size=[size(float(weight)) for weight in tree.weight],
        values=NodeValues(tree.counts / tree.weight[:, np.newaxis], labels, are_shares=True, score_of=""),
        heading=heading,
        answers=("", ""),
    )
    return draw(outline, ax=ax, max_depth=max_depth, orientation=orientation)


@dataclass(frozen=True)
class Outline:
    """What a drawing needs to know about a tree, whatever the number of children of its nodes.

    Parameters
    ----------
    title : str
        Stands above the drawing.
    children : list of lists of int
        Children of each node, which come after it.
    share : float64 array (nodes)
        Share of the training rows that reach a node.
    size : list of str
        Those rows as text.
    values : NodeValues
        What the nodes predict.
    heading : callable
        From a node, and whether its children are drawn, to the first lines of its box.
    answers : pair of str
        Labels of the edges to the first child and to the others; empty if there are none.
    """

    title: str
    children: list[list[int]]
    share: NDArray[np.float64]
    size: list[str]
    values: NodeValues
    heading: Callable[[int, bool], str]
    answers: tuple[str, str]


def draw(outline: Outline, *, ax: Axes | None, max_depth: int | None, orientation: Orientation | None) -> Axes:
    """Draw a tree; the parameters are those of :func:`plot_tree`."""
    check_depth(max_depth)
    if orientation not in (None, *get_args(Orientation)):
        raise ValueError(f"orientation must be None, 'down' or 'right', not {orientation!r}")
    require_matplotlib("plot_tree")
    boxes, orientation = _Sheet(outline, max_depth).boxes(orientation)
    ax, scale = _open_axes(ax, boxes, _TITLE + _LEGEND * outline.values.are_shares)
    _Pen(ax, scale, outline.values, orientation).draw(boxes, outline.title)
    return ax


# ----------------------------------------------------------------------------------------------------- boxes


@dataclass(frozen=True)
class _Box:
    node: int
    parent: int  # box, −1 at the root
    answer: str  # that leads from the parent to it
    share: float  # of the rows of the root
    heading: tuple[str, ...]
    facts: tuple[str, ...]
    is_inner: bool
    is_cut: bool  # whether there are nodes below that are not drawn
    left: float = 0.0
    bottom: float = 0.0
    width: float = 0.0
    height: float = 0.0

    @property
    def top(self) -> float:
        return self.bottom + self.height

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def centre(self) -> tuple[float, float]:
        return self.left + self.width / 2, self.bottom + self.height / 2


class _Sheet:
    """The boxes of the nodes that are drawn, in their places."""

    def __init__(self, outline: Outline, max_depth: int | None) -> None:
        """List the nodes down to a depth, level by level; children of boxes are boxes."""
        self.outline, self.values = outline, outline.values
        self.shown, self.parent, self.depth = [0], [-1], [0]
        self.children: list[list[int]] = [[]]
        for box, node in enumerate(self.shown):  # grows while it is walked
            below = outline.children[node] if self.depth[box] != max_depth else []
            self.children[box] = list(range(len(self.shown), len(self.shown) + len(below)))
            self.shown += below
            self.parent += [box] * len(below)
            self.depth += [self.depth[box] + 1] * len(below)
            self.children += [[] for _ in below]
            if len(self.shown) > _MAX_BOXES:
                raise ValueError(
                    f"a drawing of more than {_MAX_BOXES} boxes cannot be read: lower max_depth, or write the tree "
                    "as text"
                )

    def boxes(self, orientation: Orientation | None) -> tuple[list[_Box], Orientation]:
        """Place the boxes, and return which way the tree grows."""
        below = descendants(self.outline.children)
        boxes = [self._describe(box, below[node]) for box, node in enumerate(self.shown)]
        lines = (line for box in boxes for line in (*box.heading, *box.facts))
        width = min(max(_MIN_WIDTH, *map(text_width, lines)), _MAX_WIDTH) + 2 * _PADDING
        boxes = [replace(box, width=width, height=self._height(box)) for box in boxes]
        aside = self._aside()
        if orientation is None:
            fits = (aside.max() + 1) * (width + _GAP["down"]) + 2 * _MARGIN <= _MAX_FIGURE
            orientation = "down" if fits else "right"
        return (self._down if orientation == "down" else self._right)(boxes, aside.tolist()), orientation

    def _aside(self) -> NDArray[np.float64]:
        """Place the boxes of a level side by side; a binary tree can be packed tighter."""
        if any(len(below) > 2 for below in self.children):
            return slot_positions(self.children)
        left, right = ([below[side] if below else -1 for below in self.children] for side in (0, 1))
        return tidy_positions(left, right)

    def _down(self, boxes: list[_Box], aside: list[float]) -> list[_Box]:
        level_height = np.zeros(max(self.depth) + 1)
        np.maximum.at(level_height, self.depth, [box.height for box in boxes])
        tops = -np.append(0.0, np.cumsum(level_height + _LEVEL_GAP["down"]))
        step = boxes[0].width + _GAP["down"]
        places = zip(boxes, aside, tops[self.depth].tolist(), strict=True)
        return [replace(box, left=x * step, bottom=top - box.height) for box, x, top in places]

    def _right(self, boxes: list[_Box], aside: list[float]) -> list[_Box]:
        across = max(box.height for box in boxes) + _GAP["right"]
        along = boxes[0].width + _LEVEL_GAP["right"]
        top = max(box.height / 2 - y * across for box, y in zip(boxes, aside, strict=True))
        places = zip(boxes, aside, self.depth, strict=True)
        return [replace(box, left=depth * along, bottom=-y * across - box.height / 2 - top) for box, y, depth in places]

    def _describe(self, box: int, below: int) -> _Box:
        outline, node, parent = self.outline, self.shown[box], self.parent[box]
        is_inner = bool(self.children[box])
        is_cut = not is_inner and below > 0
        heading = outline.heading(node, is_inner)
        return _Box(
            node=node,
            parent=parent,
            answer=outline.answers[self.children[parent][0] != box] if parent >= 0 else "",
            share=float(outline.share[node]),
            heading=wrapped(heading, _MAX_WIDTH, 3) if heading else (),
            facts=(outline.size[node], *self._value_lines(node), *[f"… {below:,} nodes below"] * is_cut),
            is_inner=is_inner,
            is_cut=is_cut,
        )

    def _value_lines(self, node: int) -> tuple[str, ...]:
        values = self.values
        if values.are_shares:
            winner = int(np.argmax(values.values[node]))
            share = f" {_percent(float(values.values[node, winner]))}"
            return (elided(values.labels[winner], _MAX_WIDTH - text_width(share)) + share,)
        return wrapped(f"value {values.text(node, _DIGITS)}", _MAX_WIDTH, 2)

    def _height(self, box: _Box) -> float:
        n_lines = len(box.heading) + len(box.facts)
        return n_lines * _LINE + 2 * _PADDING + (_BAR + _PADDING) * self.values.are_shares


def _percent(share: float) -> str:
    """Round a share; only a share of exactly 1 becomes 100 %."""
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def with_short_names(schema: Schema, used: Collection[int]) -> Schema:
    """Shorten the names of some columns and of their categories."""

    def category(value: Category) -> Category:
        if not isinstance(value, str) or len(value) <= _CATEGORY_LENGTH:
            return value
        return f"{value[: _CATEGORY_LENGTH // 2]}…{value[-(_CATEGORY_LENGTH // 2) :]}"

    columns = list(schema.columns)
    for j in used:
        categories = tuple(map(category, columns[j].categories))
        columns[j] = replace(columns[j], name=elided(columns[j].name, _MAX_WIDTH), categories=categories)
    return replace(schema, columns=tuple(columns))


# --------------------------------------------------------------------------------------------------- drawing


def _open_axes(ax: Axes | None, boxes: Sequence[_Box], head: float) -> tuple[Axes, float]:
    """Make room for the boxes, whose top is at 0, and a head; return the axes and their inches per unit."""
    import matplotlib.pyplot as plt

    left, right = min(box.left for box in boxes) - _MARGIN, max(box.right for box in boxes) + _MARGIN
    bottom, top = min(box.bottom for box in boxes) - _MARGIN, head
    spare = max(0.0, _TITLE_WIDTH - (right - left)) / 2
    left, right = left - spare, right + spare
    width, height = right - left, top - bottom
    if ax is None:
        scale = min(1.0, _MAX_FIGURE / max(width, height))
        ax = plt.figure(figsize=(width * scale, height * scale)).add_axes((0.0, 0.0, 1.0, 1.0))
    else:
        check_axes(ax)
        place = ax.get_window_extent()
        dpi = ax.figure.dpi
        scale = min(place.width / dpi / width, place.height / dpi / height)
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    ax.set_aspect("equal")
    ax.axis("off")
    return ax, scale


class _Pen:
    """Draws boxes and edges on axes."""

    def __init__(self, ax: Axes, scale: float, values: NodeValues, orientation: Orientation) -> None:
        self.ax, self.scale, self.values, self.orientation = ax, scale, values, orientation
        self.class_colours = class_colours(values.values.shape[1]) if values.are_shares else []

    def draw(self, boxes: Sequence[_Box], title: str) -> None:
        for box in boxes:
            if box.parent >= 0:
                self._edge(boxes[box.parent], box)
        for box, colour in zip(boxes, self._colours(boxes), strict=True):
            self._box(box, colour)
        (left, right), (_, top) = self.ax.get_xlim(), self.ax.get_ylim()
        left, right = left + _MARGIN, right - _MARGIN
        self._text(left, top - 0.14, elided(title, right - left), INK, ha="left")
        if self.values.are_shares:
            self._legend(left, right, top - 0.14 - _LEGEND)

    def _colours(self, boxes: Sequence[_Box]) -> list[Colour]:
        """Return the colours of the boxes: that of the most frequent class, or one by score."""
        values = self.values.values[[box.node for box in boxes]]
        if self.values.are_shares:
            return [self.class_colours[winner] for winner in values.argmax(axis=1).tolist()]
        return score_colours(values.mean(axis=1))

    def _edge(self, parent: _Box, child: _Box) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        (x0, y0), (x1, y1) = parent.centre, child.centre
        if self.orientation == "down":
            y0, y1 = parent.bottom, child.top
            bends = [(x0, (y0 + y1) / 2), (x1, (y0 + y1) / 2)]
        else:
            x0, x1 = parent.right, child.left
            bends = [((x0 + x1) / 2, y0), ((x0 + x1) / 2, y1)]
        curve = np.array([(x0, y0), *bends, (x1, y1)])
        path = Path(curve, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
        width = (0.7 + 6.0 * child.share) * self.scale
        self.ax.add_patch(PathPatch(path, facecolor="none", edgecolor=_EDGE, linewidth=width, zorder=1))
        x, y = (_LABEL_WEIGHTS @ curve).tolist()
        if not child.answer:
            return
        label = self._text(x, y, child.answer, FAINT, size=0.85)
        label.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.8 * self.scale, "alpha": 0.85})

    def _box(self, box: _Box, colour: Colour) -> None:
        from matplotlib.patches import FancyBboxPatch

        shares = self.values.are_shares
        patch = FancyBboxPatch(
            (box.left, box.bottom),
            box.width,
            box.height,
            boxstyle="round,pad=0,rounding_size=0.06",
            facecolor=mixed(colour, 0.0 if shares and box.is_inner else 0.3),
            edgecolor=colour if shares else _BORDER,
            linestyle="--" if box.is_cut else "-",
            linewidth=1.0 * self.scale,
            gid=f"node {box.node}",
            zorder=2,
        )
        self.ax.add_patch(patch)
        lines = [(line, INK) for line in box.heading]
        lines += [(line, FAINT if box.heading else INK) for line in box.facts]
        for k, (line, ink) in enumerate(lines):
            self._text(box.centre[0], box.top - _PADDING - (k + 0.5) * _LINE, line, ink)
        if shares:
            self._bar(box)

    def _bar(self, box: _Box) -> None:
        from matplotlib.patches import Rectangle

        left = box.left + _PADDING
        for share, colour in zip(self.values.values[box.node].tolist(), self.class_colours, strict=True):
            width, corner = share * (box.width - 2 * _PADDING), (left, box.bottom + _PADDING)
            self.ax.add_patch(Rectangle(corner, width, _BAR, facecolor=colour, linewidth=0, zorder=3))
            left += width

    def _legend(self, left: float, right: float, y: float) -> None:
        """Name as many colours as fit on one line."""
        from matplotlib.patches import Rectangle

        for k, (label, colour) in enumerate(zip(self.values.labels, self.class_colours, strict=True)):
            name = elided(label, _MAX_WIDTH)
            more = f"… {len(self.class_colours) - k} more"
            end = left + 0.18 + text_width(name) + 0.2
            if end + (text_width(more) if k + 1 < len(self.class_colours) else 0) > right:
                self._text(left, y, more, FAINT, ha="left")
                return
            self.ax.add_patch(Rectangle((left, y - 0.05), 0.12, 0.1, facecolor=colour, linewidth=0, zorder=3))
            self._text(left + 0.18, y, name, INK, ha="left")
            left = end

    def _text(self, x: float, y: float, text: str, ink: str, *, size: float = 1.0, ha: str = "center") -> Any:
        # Names may hold dollar signs, which are not mathematics.
        return self.ax.text(
            x,
            y,
            text,
            color=ink,
            fontsize=SMALL_FONT * size * self.scale,
            ha=ha,
            va="center",
            parse_math=False,
            zorder=4,
        )
