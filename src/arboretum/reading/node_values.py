"""What the nodes of a tree predict, as text: scores, or shares of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data.schema import ColumnSchema, Schema
from arboretum.model.forest import Forest
from arboretum.reading.nodes import nodes_of
from arboretum.reading.quantities import listing, name_text, number_text, threshold_text

_NOISE = 1e-12  # of the largest value: left over from sums that cancel


@dataclass(frozen=True)
class Slope:
    """A term of a linear leaf.

    Examples
    --------
    >>> Slope(ColumnSchema("age", "numeric", "number"), -0.25, 40.0).text(digits=4)
    '− 0.25·(age − 40)'
    """

    column: ColumnSchema
    weight: float
    centre: float

    def text(self, digits: int) -> str:
        """Write it as it follows the value of the leaf."""
        sign = "−" if self.weight < 0 else "+"
        is_below = self.centre < 0 and self.column.source in ("number", "bool")
        centre = threshold_text(-self.centre if is_below else self.centre, self.column.source, digits)
        away = f"{name_text(self.column.name)} {'+' if is_below else '−'} {centre}"
        return f"{sign} {number_text(abs(self.weight), digits)}·({away})"


@dataclass(frozen=True)
class NodeValues:
    """The values of the nodes of one tree.

    Parameters
    ----------
    values : float64 array (nodes, width)
        Scores, or shares of classes that sum to 1.
    labels : tuple of str
        Name of each value; empty if they have none.
    are_shares : bool
        Whether they are shares of classes.
    score_of : str
        The class that single scores are for; empty if there is none.
    slopes : mapping of int to sequence of Slope
        What linear leaves add to their value, by node.
    """

    values: NDArray[np.float64]
    labels: tuple[str, ...]
    are_shares: bool
    score_of: str
    slopes: Mapping[int, Sequence[Slope]] = field(default_factory=dict)

    def text(self, node: int, digits: int, limit: int = 4) -> str:
        """Write the value of a node; classes by falling share, without those that do not occur."""
        values = [number_text(value, digits) for value in self.values[node].tolist()]
        if len(values) == 1:
            slopes = [slope.text(digits) for slope in self.slopes.get(node, ())]
            return " ".join([values[0], *listing(slopes, limit)])
        order = list(range(len(values)))
        if self.are_shares:
            shares = self.values[node]
            order = [j for j in np.argsort(-shares, kind="stable").tolist() if shares[j] > 0]
        texts = [f"{self.labels[j]} {values[j]}" if self.labels else values[j] for j in order]
        return ", ".join(listing(texts, limit))


def node_values(
    forest: Forest, schema: Schema, tree: int, class_names: Sequence[Any] | None, probabilities: bool | None
) -> NodeValues:
    """Read the values of a tree; the parameters are those of :func:`arboretum.reading.tree_to_text`.

    Examples
    --------
    >>> import arboretum as arb
    >>> model = arb.BoostedTreesClassifier(n_estimators=1, min_samples_leaf=1).fit([[1.0], [2.0]], ["no", "yes"])
    >>> node_values(model.forest_, model.schema_, 0, ["no", "yes"], None).score_of
    'yes'
    """
    nodes = nodes_of(forest, tree)
    values = forest.value[nodes]
    sums = values.sum(axis=1)
    is_vector = forest.width > 1
    if probabilities is None:
        probabilities = bool(is_vector and values.min() >= 0 and sums[0] > 0 and np.allclose(sums, sums[0]))
    if probabilities:
        values = values / np.where(sums, sums, 1.0)[:, np.newaxis] if is_vector else np.hstack([1 - values, values])
    else:
        values = np.where(np.abs(values) > _NOISE * np.abs(values).max(), values, 0.0)
    n_classes = values.shape[1] if is_vector or probabilities else max(forest.n_outputs, 2)
    names = _names(class_names, n_classes)
    if probabilities and not names:
        names = tuple(f"class {j}" for j in range(n_classes))
    has_labels = values.shape[1] > 1
    output = 1 if forest.n_outputs == 1 else int(forest.tree_output[tree])
    return NodeValues(
        values=values,
        labels=names if has_labels else (),
        are_shares=probabilities,
        score_of=names[output] if names and not has_labels else "",
        slopes=_slopes(forest, schema, nodes),
    )


def _slopes(forest: Forest, schema: Schema, nodes: slice) -> dict[int, list[Slope]]:
    found: dict[int, list[Slope]] = {}
    start = forest.slope_start[nodes.start : nodes.stop + 1].tolist()
    for node, (begin, end) in enumerate(pairwise(start)):
        if begin < end:
            arrays = (forest.slope_feature, forest.slope_weight, forest.slope_centre)
            terms = zip(*(array[begin:end].tolist() for array in arrays), strict=True)
            found[node] = [Slope(schema.columns[column], weight, centre) for column, weight, centre in terms]
    return found


def _names(class_names: Sequence[Any] | None, n_classes: int) -> tuple[str, ...]:
    if class_names is None:
        return ()
    if len(class_names) != n_classes:
        raise ValueError(f"class_names has {len(class_names)} names, but the trees have {n_classes} classes")
    return tuple(name_text(str(name)) for name in class_names)
