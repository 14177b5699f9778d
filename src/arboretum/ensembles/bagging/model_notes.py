"""Notes of a fit that a forest or a single tree keeps: seed, out-of-bag predictions, and the bags of its trees."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.data.table import Table
from arboretum.ensembles.bagging.parameters import features_a_node
from arboretum.ensembles.bagging.preparation import TrainingSet
from arboretum.ensembles.bagging.settings import Choice
from arboretum.model.arrays import Arrays
from arboretum.model.forest import Forest
from arboretum.model.heads import MeanHead
from arboretum.model.model import Model
from arboretum.model.notes import Notes, read_flag, read_n_outputs, read_seed

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bags:
    """Leaf of each training row in each tree, how often the tree drew the row, and the targets.

    Parameters
    ----------
    leaves : ndarray of int32, (n_rows, n_trees)
        Leaves.
    copies : ndarray of uint, (n_rows, n_trees)
        Draws.
    target : ndarray of float64, (n_rows, n_outputs)
        Numbers, or codes of classes.
    """

    leaves: NDArray[np.int32]
    copies: NDArray[Any]
    target: FloatArray

    @classmethod
    def of(cls, model: Model, training: TrainingSet, seed: int, threads: int) -> Bags:
        """Return the bags of a model that was grown from these rows."""
        leaves, target = training.leaves(model.forest, threads, 0, model.forest.n_trees), training.target
        copies = np.ones(leaves.shape, np.uint8)
        if training.bootstrap.n_draws:
            copies = np.column_stack([training.copies(seed, tree) for tree in range(leaves.shape[1])])
            copies = copies.astype(np.min_scalar_type(int(copies.max())))
        values = target.numbers if target.numbers is not None else target.classes
        return cls(leaves, copies, np.asarray(values, dtype=np.float64))

    @property
    def out_of_bag(self) -> NDArray[np.bool_]:
        """Whether each tree never saw the row, (rows, trees)."""
        return np.asarray(self.copies == 0)

    def hold(self, model: Model, table: Table, threads: int) -> bool:
        """Return whether the rows of a table are the training rows, in their order."""
        return table.n_rows == len(self.leaves) and np.array_equal(model.leaves(table, threads), self.leaves)

    def to_arrays(self) -> Arrays:
        """Return the arrays by their names in a file."""
        return {"bag_leaves": self.leaves, "bag_copies": self.copies, "bag_target": self.target}

    @classmethod
    def from_arrays(cls, arrays: Arrays, forest: Forest) -> Bags:
        """Read arrays of unknown origin."""
        leaves, copies, target = (arrays[f"bag_{name}"] for name in ("leaves", "copies", "target"))
        if leaves.ndim != 2 or leaves.shape[1] != forest.n_trees or leaves.shape != copies.shape or target.ndim != 2:
            raise ValueError("bags: the shapes of the arrays do not fit the forest")
        if leaves.dtype != np.int32 or copies.dtype.kind != "u" or target.dtype != np.float64:
            raise ValueError("bags: expected leaves as int32, copies as unsigned integers, targets as float64")
        n_nodes = np.diff(forest.tree_start)
        if len(target) != len(leaves) or (len(leaves) and ((leaves < 0) | (leaves >= n_nodes)).any()):
            raise ValueError("bags: expected one target per row, and leaves that are nodes of the forest")
        return cls(leaves, copies, target)


def mean_out_of_bag(model: Model, leaves: NDArray[np.int32], out_of_bag: NDArray[np.bool_]) -> FloatArray:
    """Return the mean of the trees that never saw each row, (rows, values per leaf); each row must have such a tree."""
    forest, head = model.summed, model.head_as(MeanHead)
    values = np.where(out_of_bag[:, :, None], forest.value[forest.tree_start[:-1] + leaves], 0.0)
    return np.asarray((forest.base + values.sum(axis=1)) / head.weight_of(out_of_bag.sum(axis=1)[:, None]))


@dataclass(frozen=True, eq=False)
class ForestNotes(Notes):
    """Notes of trees that are grown independently.

    Parameters
    ----------
    seed : int
        Seed of the trees, from which their draws can be repeated.
    n_outputs : int
        Outputs of the target.
    oob_score : float, optional
        Score of predictions by trees that never saw a row; NaN if there are none.
    oob_mean : ndarray, optional
        Means of these trees, (rows given, values per leaf); NaN where there is none.
    bags : Bags, optional
        The bags of the trees, if they are kept.
    is_averaged : bool
        Whether trees have the weights of a mean of forests, which were drawn by other seeds.
    choice : Choice, optional
        What "auto" stood for.
    """

    seed: int = 0
    n_outputs: int = 1
    oob_score: float | None = None
    oob_mean: FloatArray | None = None
    bags: Bags | None = None
    is_averaged: bool = False
    choice: Choice | None = None

    def to_json(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return seed, outputs and the out-of-bag score, null if it is NaN."""
        notes: dict[str, Any] = {"seed": self.seed, "n_outputs": self.n_outputs}
        if self.is_averaged:
            notes["is_averaged"] = True
        if self.choice is not None:
            notes["choice"] = asdict(self.choice)
        if self.oob_score is not None:
            notes["oob_score"] = None if math.isnan(self.oob_score) else self.oob_score
        return notes

    def to_arrays(self) -> Arrays:
        """Return out-of-bag predictions and bags."""
        means = {} if self.oob_mean is None else {"oob_mean": self.oob_mean}
        return {**means, **({} if self.bags is None else self.bags.to_arrays())}

    @classmethod
    def from_file(cls, header: dict[str, Any], arrays: Arrays, forest: Forest) -> ForestNotes:
        """Read the notes."""
        score, mean = None, arrays.get("oob_mean")
        if mean is not None:
            score = header["oob_score"]
            if mean.ndim != 2 or mean.dtype != np.float64 or mean.shape[1] != forest.width:
                raise ValueError("out-of-bag predictions: the shape does not fit the forest")
            if score is not None and type(score) is not float:
                raise ValueError(f"oob_score is {score!r:.80}: expected a number or null")
            score = math.nan if score is None else score
        bags = Bags.from_arrays(arrays, forest) if "bag_leaves" in arrays else None
        seed, n_outputs = read_seed(header["seed"]), read_n_outputs(header["n_outputs"])
        choice = read_choice(header["choice"]) if "choice" in header else None
        return cls(seed, n_outputs, score, mean, bags, read_flag(header, "is_averaged"), choice)


def read_choice(entry: Any) -> Choice:
    """Return what "auto" stood for, from a file."""
    columns, draws = entry["max_features"], entry["least_draws"]
    if type(draws) is not int or draws < 1:
        raise ValueError(f"choice: least_draws is {draws!r:.80}: expected a number of at least 1")
    features_a_node(columns, 1)
    return Choice(columns, draws)


def notes_of(model: Model) -> ForestNotes:
    """Return the notes of a forest or a single tree."""
    assert isinstance(model.notes, ForestNotes)
    return model.notes
