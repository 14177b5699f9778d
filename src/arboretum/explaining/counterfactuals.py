"""Counterfactuals: the nearest row that the model predicts otherwise.

The nearest choice of options (options.py) with the wanted prediction is found exactly for one tree, and for one change
(two, if there are not too many pairs). Beyond that the problem is NP-hard (Z. Cui, W. Chen, Y. He & Y. Chen, *Optimal
action extraction for random forests and boosted trees*, KDD 2015): rows that have the prediction lose their differences
one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import check_integer
from arboretum.data.table import Table
from arboretum.estimators.averaged_trees import ClassTrees, NumberTrees
from arboretum.estimators.boosted_trees import BoostedTreesClassifier, BoostedTreesRegressor
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.estimators.protocol import Classifier
from arboretum.explaining.options import Column, options_of
from arboretum.model.forest import LEAF, NUMERIC
from arboretum.reading.conditions import condition
from arboretum.reading.quantities import name_text, number_text
from arboretum.running.threads import n_threads

Array: TypeAlias = NDArray[Any]
FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
Choices: TypeAlias = NDArray[np.intp]
"""Options of some rows, (rows, columns); 0 is the value of the row that is asked about."""

MOST_PAIRS = 200_000  # of options of two columns, tried all


class Change(NamedTuple):
    """What a counterfactual changes: the column, its value before and after."""

    feature: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Counterfactual:
    """A row like another but for a few changes, and what the model predicts for it.

    Parameters
    ----------
    row : tuple
        Values of all columns, in the order of the fit; None where missing.
    changes : tuple of Change
        Columns that changed, those that moved farthest first.
    distance : float
        Σ of the changes: of numbers in units of the column's spread, of categories 1 each.
    prediction : object
        What the model predicts for the row.
    """

    row: tuple[Any, ...]
    changes: tuple[Change, ...]
    distance: float
    prediction: Any

    def __str__(self) -> str:
        lines = [f"{name_text(name)}: {_text(before)} → {_text(after)}" for name, before, after in self.changes]
        return "\n".join([*(lines or ["no change"]), f"prediction: {_text(self.prediction)}"])


def _text(value: Any) -> str:
    return "missing" if value is None else number_text(value, 6) if isinstance(value, float) else str(value)


def counterfactual(
    model: Any,
    row: Any,
    X: Any,
    *,
    target: Any,
    locked: Iterable[Any] = (),
    ranges: Mapping[Any, tuple[float | None, float | None]] | None = None,
    n_starts: int = 32,
) -> Counterfactual:
    """Find the nearest row that the model predicts otherwise: fewest changes first, then the least distance.

    A change of a number counts by its size in units of the column's mean deviation from its median in X, a change of a
    category counts 1. Columns that are whole numbers throughout X stay whole. The result is the same in every run; it
    is exact for a single tree and wherever one change is enough, else a good one.

    Parameters
    ----------
    model : BoostedTrees…, RandomForest…, ExtraTrees… or DecisionTree… estimator
        A fitted classifier or regressor of one output.
    row : sequence, dict, Series or table of one row
        The row to change.
    X : array-like, sparse matrix or data frame
        Rows of the same kind, such as the training rows: they tell the spread of columns and where to start from.
    target : label, or pair of numbers
        The class to reach; of a regressor the least and the largest prediction to accept, None for no limit.
    locked : iterable of str or int
        Columns that must not change, by name or place.
    ranges : dict, optional
        Least and largest values that numbers may be changed to, by column; None for no limit.
    n_starts : int, default=32
        Rows of X to start from, the nearest ones.

    Returns
    -------
    Counterfactual

    Examples
    --------
    >>> import arboretum as arb
    >>> from arboretum.explaining import counterfactual
    >>> X = [[20.0, 1.0], [30.0, 5.0], [40.0, 2.0], [50.0, 6.0]] * 5
    >>> model = arb.DecisionTreeClassifier().fit(X, ["no", "no", "yes", "yes"] * 5)
    >>> print(counterfactual(model, [30.0, 5.0], X, target="yes"))
    x0: 30 → 36
    prediction: yes
    """
    check_integer("n_starts", n_starts)
    table = _dense(_supported(model).model_.conform(X))
    options = options_of(model, _one_row(model, row), table, locked, ranges or {})
    search = _Search(model, options, target)
    choice = search.best(table, n_starts)
    if choice is None:
        raise ValueError(
            f"no row with the prediction {target!r} was found: X has none that keeps to the locked columns and ranges; "
            "unlock columns, widen ranges, or give more rows"
        )
    return search.describe(choice)


# ----------------------------------------------------------------------------------------------------- input


def _supported(model: Any) -> GrownTrees:
    if not isinstance(model, BoostedTreesClassifier | BoostedTreesRegressor | ClassTrees | NumberTrees):
        raise TypeError(
            f"counterfactuals are not known for {type(model).__name__}: use a classifier or regressor of boosted "
            "trees, a random forest or a decision tree"
        )
    if not model.model_.head.determines:
        raise ValueError("counterfactuals of trees with many branches a node are not known: use method='cart'")
    return model


def _one_row(model: GrownTrees, row: Any) -> Table:
    names = model.schema_.names
    if isinstance(row, Mapping) or (hasattr(row, "index") and hasattr(row, "loc") and np.ndim(row) == 1):
        missing = [name for name in names if name not in row]
        if missing:
            raise ValueError(f"row has no value of {missing[0]!r}: give one of every column")
        row = [[row[name] for name in names]]
    elif isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1):
        row = row if len(row) == 1 and np.ndim(row[0]) == 1 else [list(row)]
    table = _dense(model.model_.conform(row))
    if table.n_rows != 1:
        raise ValueError(f"row has {table.n_rows} rows: give one")
    return table


def _dense(table: Table) -> Table:
    return Table(table.schema, [values for _, batch in table.column_batches() for values in batch])


# ---------------------------------------------------------------------------------------------------- search


class _Search:
    """The nearest choice of options with the wanted prediction."""

    def __init__(self, model: Any, columns: list[Column], target: Any) -> None:
        self.model, self.columns, self.target = model, columns, target
        self.threads = n_threads(model.n_jobs)
        self.classifies = isinstance(model, Classifier)
        if not self.classifies:
            self.low, self.high = _interval(target)
        elif isinstance(model.classes_, list):
            raise ValueError("counterfactuals need one output: fit one model an output")
        elif target not in model.classes_.tolist():
            raise ValueError(f"target={target!r} is none of the classes {model.classes_.tolist()}")

    def best(self, table: Table, n_starts: int) -> Choices | None:
        stay = np.zeros((1, len(self.columns)), np.intp)
        if self.reaches(stay)[0]:
            return self._nearest(stay)
        if self._is_one_plain_tree():
            return self._nearest(self._reaching(self._leaves()))
        for n_changes in (1, 2):
            found = self._nearest_of(n_changes)
            if found is not None:
                return found
        starts = self._reaching(np.unique(np.column_stack([column.option_of for column in self.columns]), axis=0))
        improved = [self._improved(choice) for choice in starts[self._order(starts)[:n_starts]]]
        return self._nearest(np.array(improved)) if improved else None

    def distances(self, choices: Choices) -> FloatArray:
        total = np.zeros(len(choices))
        for column, options in zip(self.columns, choices.T, strict=True):
            total += column.distance[options]
        return total

    def _order(self, choices: Choices) -> Choices:
        """Order by the number of changes, then by distance; ties by their options."""
        keys = (*choices.T[::-1], self.distances(choices), np.count_nonzero(choices, axis=1))
        return np.lexsort(keys)

    def _nearest(self, choices: Choices) -> Choices | None:
        return np.asarray(choices[self._order(choices)[0]]) if len(choices) else None

    # ---- prediction ----------------------------------------------------------------------------------------------

    def reaches(self, choices: Choices) -> BoolArray:
        """Whether rows have the wanted prediction."""
        predicted = self.predict(choices)
        if self.classifies:
            return np.asarray(predicted == self.target)
        return np.asarray((predicted >= self.low) & (predicted <= self.high))

    def _reaching(self, choices: Choices) -> Choices:
        return np.asarray(choices[self.reaches(choices)])

    def predict(self, choices: Choices) -> Array:
        if not len(choices):
            return np.zeros(0)
        model = self.model
        values = [column.values[options] for column, options in zip(self.columns, choices.T, strict=True)]
        table = Table(model.schema_, values)
        predicted = model.model_.answers(table, self.threads)
        if predicted.ndim > 1:
            raise ValueError("counterfactuals need one output: fit one model an output")
        return np.asarray(predicted)

    # ---- one tree: every leaf is a box ---------------------------------------------------------------------------

    def _is_one_plain_tree(self) -> bool:
        forest = self.model.model_.forest
        is_plain = not forest.has_projections and not forest.has_slopes and self.model.encoding_ is None
        knows_own = all(column.schema.kind == "numeric" or column.values[0] != -2 for column in self.columns)
        return bool(forest.n_trees == 1 and is_plain and knows_own)

    def _boxes(self) -> Iterator[dict[int, BoolArray]]:
        """Yield for each leaf the options that lead there, of every column that is asked on the way."""
        forest = self.model.model_.forest
        stack: list[tuple[int, dict[int, BoolArray]]] = [(0, {})]
        while stack:
            node, allowed = stack.pop()
            if forest.kind[node] == LEAF:
                yield allowed
                continue
            j = int(forest.feature[node])
            goes_left, before = self._goes_left(node, j), allowed.get(j, np.ones(len(self.columns[j].values), bool))
            for child, side in ((forest.left[node], goes_left), (forest.right[node], ~goes_left)):
                if (before & side).any():
                    stack.append((int(child), {**allowed, j: before & side}))

    def _goes_left(self, node: int, j: int) -> BoolArray:
        forest, values = self.model.model_.forest, self.columns[j].values
        if forest.kind[node] == NUMERIC:
            left = np.where(np.isnan(values), forest.missing_left[node] == 1, values <= forest.threshold[node])
            return np.asarray(left)
        asked, row = condition(forest, node), [0.0] * len(self.columns)
        return np.array([asked.holds([*row[:j], float(value), *row[j + 1 :]]) for value in values.tolist()])

    def _leaves(self) -> Choices:
        """Give the nearest row of every leaf; options rise in distance."""
        found = []
        for allowed in self._boxes():
            choice = np.zeros(len(self.columns), np.intp)
            for j, options in allowed.items():
                choice[j] = int(np.argmax(options))
            found.append(choice)
        return np.array(found)

    # ---- few changes: all of them --------------------------------------------------------------------------------

    def _nearest_of(self, n_changes: int) -> Choices | None:
        sizes = [len(column.values) - 1 for column in self.columns]
        sets = [columns for columns in combinations(range(len(sizes)), n_changes) if all(sizes[j] for j in columns)]
        if n_changes > 1 and sum(int(np.prod([sizes[j] for j in columns])) for columns in sets) > MOST_PAIRS:
            return None
        parts = []
        for columns in sets:
            grid = np.stack(np.meshgrid(*[np.arange(1, sizes[j] + 1) for j in columns], indexing="ij"), axis=-1)
            part = np.zeros((grid.size // n_changes, len(sizes)), np.intp)
            part[:, columns] = grid.reshape(-1, n_changes)
            parts.append(part)
        if not parts:
            return None
        return self._nearest(self._reaching(np.concatenate(parts)))

    # ---- many: from rows that are there --------------------------------------------------------------------------

    def _improved(self, choice: Choices) -> Choices:
        """Undo a change, or else make one smaller, by the best step that keeps the prediction, while there is one."""
        while True:
            changed = np.flatnonzero(choice).tolist()
            undone = [(j, 0) for j in changed]
            smaller = [(j, option) for j in changed for option in range(1, int(choice[j]))]
            better = self._best_step(choice, undone)
            better = self._best_step(choice, smaller) if better is None else better
            if better is None:
                return choice
            choice = better

    def _best_step(self, choice: Choices, steps: list[tuple[int, int]]) -> Choices | None:
        tried = np.repeat(choice[None], len(steps), axis=0)
        for place, (j, option) in enumerate(steps):
            tried[place, j] = option
        return self._nearest(self._reaching(tried))

    def describe(self, choice: Choices) -> Counterfactual:
        changed = np.flatnonzero(choice)
        away = np.array([self.columns[j].distance[choice[j]] for j in changed])
        order = changed[np.argsort(-away, kind="stable")]
        changes = [
            Change(self.columns[j].schema.name, self.columns[j].shown(0), self.columns[j].shown(int(choice[j])))
            for j in order.tolist()
        ]
        row = [column.shown(int(option)) for column, option in zip(self.columns, choice.tolist(), strict=True)]
        prediction = self.predict(choice[None]).tolist()[0]
        return Counterfactual(tuple(row), tuple(changes), float(self.distances(choice[None])[0]), prediction)


def _interval(target: Any) -> tuple[float, float]:
    try:
        low, high = target
        low, high = -np.inf if low is None else float(low), np.inf if high is None else float(high)
    except (TypeError, ValueError):
        raise ValueError(f"target={target!r}: give the least and the largest prediction, None for no limit") from None
    if not low <= high:
        raise ValueError(f"target={target!r}: the first must not be above the second")
    return low, high
