"""Cumulative hazards of the leaves of survival trees (Nelson 1969; Aalen 1978), as steps.

A leaf of a few rows has a few steps, so steps are kept, not a value for every time::

    node          0     1           2     …        all nodes of all trees
    start         0     0           3     5        node i owns steps start[i] : start[i + 1]; inner nodes have none
    time                4   9   30  7  9           which of the times of events of all rows
    step                ⅛   ⅐   ½   ¼  ⅓           deaths / rows at risk

The hazard of a row is the mean over its leaves: steps are summed over leaves first and accumulated over time last. The
survival function is found likewise, from the steps of the leaves' Kaplan–Meier curves, S ← S · (1 − step).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.ensembles.bagging.trees import BaggedRows
from arboretum.model.arrays import Arrays
from arboretum.model.forest import Forest
from arboretum.model.heads import Head, MeanHead, last_events, read_event_times
from arboretum.model.model import Model

FloatArray: TypeAlias = NDArray[np.float64]

CELLS_AT_ONCE = 1 << 22  # nodes × times that are laid out at once


@dataclass(frozen=True, eq=False)
class TimedRows:
    """Training rows in the order of their times: ranks of times, starting at 1, negative for a row without event."""

    rank: FloatArray
    weight: FloatArray | None

    @property
    def event_index(self) -> NDArray[np.int32]:
        """Index of the first time of an event at or after the time of each row."""
        return np.searchsorted(np.unique(self.rank[self.rank > 0]), np.abs(self.rank)).astype(np.int32)


@dataclass(frozen=True, eq=False)
class LeafHazards:
    """Steps of the cumulative hazards of all leaves of a forest."""

    start: NDArray[np.int64]
    time: NDArray[np.int32]
    step: FloatArray

    @classmethod
    def of(cls, forest: Forest, rows: BaggedRows, timed: TimedRows, first: int = 0) -> LeafHazards:
        """Find the steps of the trees from ``first`` on, from their training rows and the times of these."""
        parts = [NO_HAZARDS]
        event_index = timed.event_index
        for tree, leaf in rows.leaves_of_trees(first, forest.n_trees):
            copies = rows.copies(tree) if rows.bootstrap.n_draws else None
            weight = timed.weight if copies is None else None  # else rows were drawn by weight
            n_nodes = int(forest.tree_start[tree + 1] - forest.tree_start[tree])
            parts.append(cls(*_kernel.leaf_hazards(leaf, copies, weight, timed.rank, event_index, n_nodes)))
        return cls.concat(parts)

    @classmethod
    def concat(cls, parts: list[LeafHazards]) -> LeafHazards:
        """Join the steps of trees that follow each other."""
        ends = np.cumsum([0, *(len(part.step) for part in parts)])
        starts = [part.start[:-1] + offset for part, offset in zip(parts, ends, strict=False)]
        return cls(
            np.concatenate([*starts, ends[-1:]]),
            np.concatenate([part.time for part in parts]),
            np.concatenate([part.step for part in parts]),
        )

    @property
    def n_nodes(self) -> int:
        """Nodes of all trees."""
        return len(self.start) - 1

    @property
    def node_of_step(self) -> NDArray[np.int64]:
        """Node that each step belongs to."""
        return np.repeat(np.arange(self.n_nodes), np.diff(self.start))

    def mortality(self, forest: Forest, n_times: int) -> FloatArray:
        """Return the sum of the cumulative hazard over the times of events.

        These are the expected deaths if all rows were in the node. Inner nodes have the mean of
        their children, weighted by rows.
        """
        # A step counts at its own time and at all later ones.
        value = np.zeros(self.n_nodes)
        np.add.at(value, self.node_of_step, self.step * (n_times - self.time))
        first = np.repeat(forest.tree_start[:-1], np.diff(forest.tree_start))
        depth = np.where(forest.left >= 0, forest.depths, -1)
        for level in range(int(depth.max(initial=-1)), -1, -1):
            node = np.flatnonzero(depth == level)
            left, right = first[node] + forest.left[node], first[node] + forest.right[node]
            rows_left, rows_right = forest.n_rows[left], forest.n_rows[right]
            value[node] = (value[left] * rows_left + value[right] * rows_right) / (rows_left + rows_right)
        return value

    def survival_steps(self) -> FloatArray:
        """Return how much the Kaplan–Meier curve of a leaf falls at each of its steps (Kaplan & Meier 1958).

        Examples
        --------
        >>> hazards = LeafHazards(np.array([0, 0, 3]), np.array([0, 1, 4], np.int32), np.array([0.5, 0.5, 1.0]))
        >>> hazards.survival_steps()
        array([0.5 , 0.25, 0.25])
        """
        fall, alive = np.empty_like(self.step), np.ones(self.n_nodes)
        leaves, place = np.flatnonzero(np.diff(self.start)), 0
        while len(leaves):  # the first step of all leaves, then the second of those that have one, …
            steps = self.start[leaves] + place
            fall[steps] = alive[leaves] * np.minimum(self.step[steps], 1.0)
            alive[leaves] -= fall[steps]
            place += 1
            leaves = leaves[place < np.diff(self.start)[leaves]]
        return fall

    def forests(self, forest: Forest, n_times: int, steps: FloatArray) -> Iterator[tuple[slice, Forest]]:
        """Yield forests whose leaf values are the steps at a few times: sums of trees are then sums of steps."""
        width = max(1, min(n_times, CELLS_AT_ONCE // max(self.n_nodes, 1)))
        node = self.node_of_step
        for begin in range(0, n_times, width):
            end = min(begin + width, n_times)
            some = (self.time >= begin) & (self.time < end)
            value = np.zeros((self.n_nodes, end - begin))
            value[node[some], self.time[some] - begin] = steps[some]
            outputs = np.full(forest.n_trees, 0 if end - begin == 1 else -1, np.int32)
            yield slice(begin, end), replace(forest, value=value, base=np.zeros(end - begin), tree_output=outputs)

    # ---- files ---------------------------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        return {"hazard_start": self.start, "hazard_time": self.time, "hazard_step": self.step}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], forest: Forest, n_times: int) -> LeafHazards:
        """Undo ``to_arrays``; reject steps that do not fit the forest and its times."""
        start, time, step = (arrays[f"hazard_{name}"] for name in ("start", "time", "step"))
        shapes = [(start, np.int64), (time, np.int32), (step, np.float64)]
        if any(array.ndim != 1 or array.dtype != dtype for array, dtype in shapes):
            raise ValueError("hazards: expected 1-D arrays of int64, int32 and float64")
        if len(start) != forest.n_nodes + 1 or start[0] != 0 or start[-1] != len(step) or len(time) != len(step):
            raise ValueError("hazards: the number of steps does not fit the forest")
        if (np.diff(start) < 0).any() or (np.diff(start)[forest.left >= 0] != 0).any():
            raise ValueError("hazards: expected steps at leaves only, with starts in ascending order")
        if len(step) and not (time.min() >= 0 and time.max() < n_times and step.min() > 0 and step.max() <= 1 + 1e-9):
            raise ValueError("hazards: a step has an unknown time or an invalid size")
        within = np.ones(max(len(step) - 1, 0), dtype=bool)
        within[start[1:-1][(start[1:-1] > 0) & (start[1:-1] < len(step))] - 1] = False  # from one leaf to the next
        if (np.diff(time)[within] <= 0).any():
            raise ValueError("hazards: the steps of a leaf are not in ascending order of time")
        return cls(start, time, step)


NO_HAZARDS = LeafHazards(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))


@dataclass(frozen=True, eq=False)
class HazardHead(MeanHead):
    """The mean mortality of leaves, and the hazards that it sums up."""

    event_times: FloatArray = field(kw_only=True)  # of the training rows, rising
    hazards: LeafHazards = NO_HAZARDS

    def arrays(self, forest: Forest) -> Arrays:
        """Add times and hazards."""
        return {**super().arrays(forest), "event_times": self.event_times, **self.hazards.to_arrays()}

    @classmethod
    def from_file(cls, header: dict[str, Any], arrays: Arrays, forest: Forest) -> HazardHead:
        """Read times and hazards that fit the forest."""
        if forest.n_outputs != 1:
            raise ValueError(f"{forest.n_outputs} values per leaf, not one")
        times = read_event_times(arrays)
        hazards = LeafHazards.from_arrays(arrays, forest, len(times))
        return cls(event_times=times, hazards=hazards).of(forest)

    def is_like(self, other: Head) -> bool:
        """Return whether the times of events are the same."""
        return isinstance(other, HazardHead) and np.array_equal(self.event_times, other.event_times)

    def cumulative_hazard(self, model: Model, X: Any, times: FloatArray, threads: int) -> FloatArray:
        """Return the cumulative hazard of each row at some times, (rows, times)."""
        return self._mean_of_steps(model, X, times, self.hazards.step, threads)

    def survival(self, model: Model, X: Any, times: FloatArray, threads: int) -> FloatArray:
        """Return the probability of each row to outlive some times, (rows, times)."""
        falls = self._mean_of_steps(model, X, times, self.hazards.survival_steps(), threads)
        return np.maximum(1.0 - falls, 0.0)

    def _mean_of_steps(self, model: Model, X: Any, times: FloatArray, steps: FloatArray, threads: int) -> FloatArray:
        """Return the steps of each row's leaves, accumulated up to some times and averaged over the trees."""
        table, n_times = model.conform(X), len(self.event_times)
        sums = np.empty((table.n_rows, n_times))
        for part, summing in self.hazards.forests(model.forest, n_times, steps):
            sums[:, part] = model.raw(table, threads, summing)
        mean = self.mean(np.cumsum(sums, axis=1))
        place = last_events(self.event_times, times)
        return np.where(place >= 0, mean[:, np.maximum(place, 0)], 0.0)
