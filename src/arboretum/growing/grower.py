"""Growing trees: the parameters of a tree, and the kernel's grown trees as a Forest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.data.binning import BinMap, BinnedData
from arboretum.data.schema import Schema
from arboretum.model.forest import NUMERIC, OBLIQUE, Forest
from arboretum.model.forest_pools import PROJECTIONS, join_starts

Growth: TypeAlias = Literal["leaf", "level", "symmetric"]
NO_LIMIT = 0
ALL_OUTPUTS = -1  # the output of a tree with vector leaves


@dataclass(frozen=True)
class TreeParams:
    """What a tree may look like; the same fields as the kernel's struct.

    ``monotone``, ``interaction_sets`` and ``category_ranks`` are per binned feature (see BinMap.order).
    ``max_features`` and the column samples are shares. ``cosine`` is the score of symmetric trees, others go by gain.
    ``score_noise`` is a standard deviation in units of the score, for one tree (see ensembles/boosting/score_noise.py).
    ``category_ranks`` breaks ties between categories, which without it go by code (ColumnSchema.ranks).
    """

    growth: Growth = "leaf"
    max_leaf_nodes: int = 31
    max_depth: int = NO_LIMIT
    min_samples_leaf: int = 20
    min_child_weight: float = 1e-3
    l1: float = 0.0
    l2: float = 0.0
    min_gain: float = 0.0
    cosine: bool = False
    score_noise: float = 0.0
    max_delta_step: float = 0.0
    max_features: float = 1.0
    colsample_level: float = 1.0
    colsample_tree: float = 1.0
    max_onehot: int = 4
    max_category_set: int = 32
    category_smoothing: float = 10.0
    category_l2: float = 10.0
    monotone: tuple[int, ...] = ()
    interaction_sets: tuple[tuple[int, ...], ...] = ()
    category_ranks: tuple[tuple[int, ...], ...] = ()

    def to_kernel(self) -> _kernel.TreeParams:
        """Pack into the kernel's struct."""
        packed = _kernel.TreeParams()
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "growth":
                value = getattr(_kernel.Growth, value)
            elif isinstance(value, tuple):
                value = [list(item) if isinstance(item, tuple) else item for item in value]
            setattr(packed, field.name, value)
        return packed


def category_ranks(schema: Schema, order: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return the ranks of the categories of each binned feature, for ``TreeParams``; ``order`` is BinMap's."""
    return tuple(schema.columns[column].ranks for column in order)


@dataclass(frozen=True)
class SplitRules:
    """What a tree of impurity may look like; the same fields as the kernel's struct.

    ``monotone`` is per binned feature; ``max_features`` is a number of features per node, ``min_weight_leaf`` a weight.
    """

    random_thresholds: bool = False
    max_depth: int = NO_LIMIT
    max_leaf_nodes: int = NO_LIMIT
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    max_features: int = NO_LIMIT
    monotone: tuple[int, ...] = ()

    def to_kernel(self) -> _kernel.SplitRules:
        """Pack into the kernel's struct."""
        packed = _kernel.SplitRules()
        for field in fields(self):
            value = getattr(self, field.name)
            setattr(packed, field.name, list(value) if isinstance(value, tuple) else value)
        return packed


@dataclass(frozen=True)
class StepBound:
    """How far leaf values may move raw predictions (kernel/leaves/steps.hpp).

    Parameters
    ----------
    growth : float
        A step v multiplies hessians by no more than e^(growth · |v|); 0 if that is not known, then steps have no bound.
    share : float
        Part of the longest step to trust that a value may be.

    Examples
    --------
    >>> StepBound(growth=1.0).moved(np.array([0.5, 1000.0]), weight=1.0).round(1)
    array([0.5, 6.9])
    >>> StepBound().moved(np.array([0.5, 1000.0]), weight=0.1)
    array([5.e-02, 1.e+02])
    """

    growth: float = 0.0
    share: float = 1.0

    @property
    def longest(self) -> float:
        """The longest step; infinite if there is no bound."""
        return float(self.moved(np.array([1e300]), 1.0)[0]) if self.growth else np.inf

    def moved(self, values: NDArray[np.float64], weight: float) -> NDArray[np.float64]:
        """Return values times a weight, none beyond the bound; OverflowError if one is not finite."""
        flat, share = values.ravel(), self.share if self.growth else np.inf
        return _kernel.weighted_values(flat, weight, share, self.growth or 1.0).reshape(values.shape)


@dataclass(frozen=True, eq=False)
class WeightedTree:
    """A grown tree, the values of its nodes and the slopes of its leaves (learning rate included), and its output.

    A tree of ALL_OUTPUTS has values (nodes, outputs).
    """

    tree: _kernel.GrownTree
    values: NDArray[np.float64]
    output: int
    slopes: _kernel.LeafSlopes | None = None  # None: constant leaves

    def scaled(self, weight: float, bound: StepBound | None = None) -> WeightedTree:
        """Multiply values and slopes; OverflowError if one is no longer finite."""
        slopes = None if self.slopes is None else self.slopes.scaled(weight)
        values = (bound or StepBound()).moved(self.values, weight)
        return WeightedTree(self.tree, values, self.output, slopes)

    @property
    def is_plain(self) -> bool:
        """Whether a leaf says one number."""
        return self.slopes is None and self.output != ALL_OUTPUTS

    def add_to(
        self, raw: NDArray[np.float64], data: BinnedData, numbers: _kernel.NumberColumns | None, threads: int
    ) -> None:
        """Add what the tree says of the rows of a table to their raw predictions (outputs × rows).

        ``numbers`` are the columns of the table, for linear leaves.
        """
        if self.is_plain:
            self.tree.add_values(data.codes, self.values, threads, raw[self.output])
            return
        leaves = np.empty(data.n_rows, np.uint32)
        self.tree.leaves(data.codes, threads, leaves)
        self.add_at(leaves, raw, numbers, threads)

    def add_at(
        self,
        leaves: NDArray[np.uint32],
        raw: NDArray[np.float64],
        numbers: _kernel.NumberColumns | None,
        threads: int,
    ) -> None:
        """Add what leaves that are not plain say of the rows that are known to be in them."""
        if self.output == ALL_OUTPUTS:
            _kernel.add_output_values(leaves, np.ascontiguousarray(self.values.T), threads, raw)
            return
        assert self.slopes is not None
        assert numbers is not None
        self.slopes.add(numbers, leaves, self.values, threads, raw[self.output])


def to_forest(
    trees: Sequence[WeightedTree], base: NDArray[np.float64], bin_map: BinMap, vector_leaves: bool = False
) -> Forest:
    """Freeze grown trees: codes become thresholds, binned features become columns of the schema."""
    width = len(base) if vector_leaves else 1
    order = np.asarray(bin_map.order, dtype=np.int32)
    nodes = _kernel.join_trees([item.tree for item in trees])
    numeric = nodes["kind"] == NUMERIC
    nodes["threshold"][numeric] = bin_map.thresholds(nodes["feature"][numeric], nodes["code"][numeric])
    return Forest(
        tree_start=np.concatenate([[0], np.cumsum([item.tree.n_nodes for item in trees])]).astype(np.int64),
        tree_output=np.array([item.output for item in trees], dtype=np.int32),
        value=np.concatenate([np.empty((0, width)), *(item.values.reshape(-1, width) for item in trees)]),
        base=base,
        **_frozen(nodes, order),
        **_slopes(trees, order),
    )


def _frozen(nodes: dict[str, Any], order: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a Forest that are per node; ``order`` is the column of each binned feature."""
    feature = np.append(order, np.int32(-1))[nodes["feature"]]  # −1, of a leaf, reads the last
    set_start, set_words = nodes["sets"]
    names = ("kind", "threshold", "left", "right", "missing_left", "gain", "n_rows")
    return {name: nodes[name] for name in names} | {"feature": feature, "set_start": set_start, "set_words": set_words}


def _slopes(trees: Sequence[WeightedTree], order: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
    linear = [item.slopes for item in trees if item.slopes is not None]
    if not linear:
        return {}
    terms = {
        f"slope_{name}": np.concatenate([getattr(slopes, name) for slopes in linear])
        for name in ("feature", "weight", "centre", "low", "high")
    }
    terms["slope_feature"] = order[terms["slope_feature"]]
    starts = [np.zeros(item.tree.n_nodes + 1, np.int64) if item.slopes is None else item.slopes.start for item in trees]
    return {"slope_start": join_starts(starts), **terms}


def grown_to_forest(grown: _kernel.GrownForest, n_outputs: int, columns: Sequence[int]) -> Forest:
    """Freeze trees of impurity; their leaves have one value per output. ``columns`` is the column of each feature."""
    order = np.asarray(columns, dtype=np.int32)
    nodes, sizes = _kernel.join_trees(grown), grown.sizes
    return Forest(
        tree_start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        tree_output=np.full(len(sizes), 0 if grown.width == 1 else -1, dtype=np.int32),
        value=grown.values.reshape(-1, grown.width),
        base=np.zeros(n_outputs),
        **_frozen(nodes, order),
        **(_projections(grown, order) if (nodes["kind"] == OBLIQUE).any() else {}),
    ).trusted()


def _projections(grown: _kernel.GrownForest, order: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
    start, feature, weight, fill = grown.projections
    return dict(zip(PROJECTIONS.dtypes, (start, order[feature], weight, fill), strict=True))
