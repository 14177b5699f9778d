"""Conditions: what a node asks about a row, as data that can be evaluated, negated and read.

A row that meets the condition of a node goes left, and one that meets its negation goes right. Conditions restate
``kernel/forest/route.hpp`` for people; predictions do not use them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from arboretum.data.schema import MISSING, ColumnSchema, Schema
from arboretum.model.forest import CATEGORY, LEAF, LISTED, NUMERIC, OBLIQUE, Forest
from arboretum.reading.quantities import category_text, listing, name_text, number_text, threshold_text


class Condition(ABC):
    """A question about a row with the answer yes or no; ``~condition`` is its negation.

    Every kind is a frozen dataclass whose last field, ``negated``, turns the answer round.
    """

    negated: bool

    def __invert__(self) -> Condition:
        return replace(cast(Any, self), negated=not self.negated)  # type: ignore[no-any-return]

    def holds(self, row: Sequence[float]) -> bool:
        """Return whether a row meets the condition.

        Parameters
        ----------
        row : sequence of numbers
            One per column, as a table holds them: NaN is a missing number, a category is its code, −1 if it is
            missing. An unknown category counts as missing.

        Examples
        --------
        >>> Threshold(0, 37.5, missing_left=True).holds([float("nan")])
        True
        """
        return self._holds_plain(row) != self.negated

    @property
    @abstractmethod
    def reads(self) -> tuple[int, ...]:
        """Columns of the schema that it reads."""

    @abstractmethod
    def _holds_plain(self, row: Sequence[float]) -> bool:
        """Answer without the negation."""

    @abstractmethod
    def pretty(self, schema: Schema, *, digits: int | None = None, limit: int | None = 5) -> str:
        """Write the condition with the names of the columns.

        Where missing values go is written only for columns that had some at fit.

        Parameters
        ----------
        schema : Schema
            Columns of the model.
        digits : int, optional
            Significant digits of thresholds; by default as many as it takes to tell every float64 apart.
        limit : int or None
            Most categories of a set, or terms of a sum, to write out; None for all.

        Examples
        --------
        >>> from arboretum.data.schema import ColumnSchema
        >>> schema = Schema((ColumnSchema("age", "numeric", "number", has_missing=True),), named=True)
        >>> condition = Threshold(0, 37.5, missing_left=True)
        >>> condition.pretty(schema), (~condition).pretty(schema)
        ('age <= 37.5 or missing', 'age > 37.5')
        """


class ColumnCondition(Condition):
    """A question about one column."""

    feature: int

    @property
    def reads(self) -> tuple[int, ...]:  # noqa: D102
        return (self.feature,)

    def pretty(self, schema: Schema, *, digits: int | None = None, limit: int | None = 5) -> str:  # noqa: D102
        column = schema.columns[self.feature]
        return f"{name_text(column.name)} {self.asked(column, digits, limit)}"

    @abstractmethod
    def asked(self, column: ColumnSchema, digits: int | None, limit: int | None) -> str:
        """Write what is asked of the column, without its name."""


@dataclass(frozen=True)
class Threshold(ColumnCondition):
    """A number is at most a threshold.

    Parameters
    ----------
    feature : int
        Column of the schema.
    threshold : float
        Largest value that meets the condition.
    missing_left : bool
        Whether a missing value meets it.
    """

    feature: int
    threshold: float
    missing_left: bool
    negated: bool = False

    def _holds_plain(self, row: Sequence[float]) -> bool:
        value = row[self.feature]
        return self.missing_left if math.isnan(value) else value <= self.threshold

    def asked(self, column: ColumnSchema, digits: int | None, limit: int | None) -> str:  # noqa: D102
        text = f"{_sign(self)} {threshold_text(self.threshold, column.source, digits)}"
        if column.source == "bool" and 0 <= self.threshold < 1:
            text = f"is {'true' if self.negated else 'false'}"
        return text + " or missing" * (column.has_missing and self.missing_left != self.negated)


@dataclass(frozen=True)
class CategorySet(ColumnCondition):
    """A category is one of a set.

    Parameters
    ----------
    feature, missing_left
        Column, and whether a missing value meets the condition, as in :class:`Threshold`.
    categories : tuple of int
        Codes of the set, rising.
    n_known : int or None
        Codes from here on are unknown to the node; None: it knows them all.

    Examples
    --------
    The smaller side is written out, so that a condition and its negation name the same categories:

    >>> from arboretum.data.table import read_table
    >>> schema = read_table([["Basel"], ["Bern"], ["Chur"], [None]]).schema
    >>> condition = CategorySet(0, (0, 1), 3, missing_left=False)
    >>> condition.pretty(schema), (~condition).pretty(schema)
    ('x0 not in {Chur, missing}', 'x0 in {Chur, missing}')
    """

    feature: int
    categories: tuple[int, ...]
    n_known: int | None
    missing_left: bool
    negated: bool = False

    def _holds_plain(self, row: Sequence[float]) -> bool:
        code = int(row[self.feature])
        is_known = code > MISSING and (self.n_known is None or code < self.n_known)
        return code in self.categories if is_known else self.missing_left

    def asked(self, column: ColumnSchema, digits: int | None, limit: int | None) -> str:  # noqa: D102
        known, inside = column.categories[: self.n_known], set(self.categories)
        sides = [[category for code, category in enumerate(known) if (code in inside) == yes] for yes in (True, False)]
        is_complement = len(sides[1]) < len(sides[0])
        with_missing = column.has_missing and self.missing_left != is_complement
        categories = [category_text(category) for category in sides[is_complement]]
        verb = "not " if self.negated != is_complement else ""
        if with_missing and not categories:
            return f"is {verb}missing"
        return f"{verb}in {{{', '.join(listing(categories, limit) + ['missing'] * with_missing)}}}"


@dataclass(frozen=True)
class IsMissing(ColumnCondition):
    """The value of a column of numbers is missing."""

    feature: int
    negated: bool = False

    def _holds_plain(self, row: Sequence[float]) -> bool:
        return math.isnan(row[self.feature])

    def asked(self, column: ColumnSchema, digits: int | None, limit: int | None) -> str:  # noqa: D102
        return f"is {'not ' * self.negated}missing"


@dataclass(frozen=True)
class Oblique(Condition):
    """A weighted sum of numbers is at most a threshold.

    Parameters
    ----------
    features : tuple of int
        Columns of the schema.
    weights : tuple of float
        One per column.
    fills : tuple of float
        What stands for a missing value of each column.
    threshold : float
        Largest sum that meets the condition.

    Examples
    --------
    >>> from arboretum.data.schema import ColumnSchema
    >>> schema = Schema(tuple(ColumnSchema(name, "numeric", "number") for name in ("height", "weight")), named=True)
    >>> Oblique((0, 1), (0.7, -0.3), (170.0, 65.0), 12.5).pretty(schema)
    '0.7·height − 0.3·weight <= 12.5'
    """

    features: tuple[int, ...]
    weights: tuple[float, ...]
    fills: tuple[float, ...]
    threshold: float
    negated: bool = False

    @property
    def reads(self) -> tuple[int, ...]:  # noqa: D102
        return self.features

    def _holds_plain(self, row: Sequence[float]) -> bool:
        terms = zip(self.features, self.weights, self.fills, strict=True)
        return sum(weight * (fill if math.isnan(row[j]) else row[j]) for j, weight, fill in terms) <= self.threshold

    def pretty(self, schema: Schema, *, digits: int | None = None, limit: int | None = 5) -> str:  # noqa: D102
        columns = [schema.columns[j] for j in self.features]
        terms: list[str] = []
        for column, weight in zip(columns, self.weights, strict=True):
            size = "" if abs(weight) == 1 else f"{number_text(abs(weight), digits)}·"
            sign = ("− " if weight < 0 else "+ ") if terms else ("−" if weight < 0 else "")
            terms.append(f"{sign}{size}{name_text(column.name)}")
        total = " ".join(listing(terms, limit)).replace("…", "+ …")
        text = f"{total} {_sign(self)} {number_text(self.threshold, digits)}"
        filled = [
            f"{name_text(column.name)} = {number_text(fill, digits)}"
            for column, fill in zip(columns, self.fills, strict=True)
            if column.has_missing
        ]
        return f"{text} (missing: {', '.join(listing(filled, limit))})" if filled else text


def condition(forest: Forest, node: int) -> Condition:
    """Return the condition under which a row goes left at a node.

    Parameters
    ----------
    forest : Forest
        The trees.
    node : int
        Node, counted over all trees.

    Returns
    -------
    Condition
        Its negation, ``~condition``, is what sends a row right.

    Examples
    --------
    >>> import arboretum as arb
    >>> model = arb.BoostedTreesRegressor(n_estimators=1, min_samples_leaf=1).fit([[1.0], [2.0]], [0.0, 1.0])
    >>> condition(model.forest_, 0)
    Threshold(feature=0, threshold=1.5, missing_left=False, negated=False)
    """
    kind, feature = int(forest.kind[node]), int(forest.feature[node])
    missing_left = bool(forest.missing_left[node])
    if kind == LEAF:
        raise ValueError(f"node {node} is a leaf: it has no condition")
    if kind in (CATEGORY, LISTED):
        words = forest.set_words[forest.set_start[node] : forest.set_start[node + 1]]
        if kind == LISTED:
            return CategorySet(feature, tuple(words.tolist()), None, missing_left)
        bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
        return CategorySet(feature, tuple(np.flatnonzero(bits).tolist()), len(bits), missing_left)
    threshold = float(forest.threshold[node])
    if kind == OBLIQUE:
        terms = slice(int(forest.projection_start[node]), int(forest.projection_start[node + 1]))
        pools = (forest.projection_feature, forest.projection_weight, forest.projection_fill)
        features, weights, fills = (tuple(pool[terms].tolist()) for pool in pools)
        return Oblique(features, weights, fills, threshold)
    if kind != NUMERIC:
        raise ValueError(f"node {node} has a condition of unknown kind {kind}")
    if threshold == math.inf and not missing_left:  # all numbers go left, +inf too
        return IsMissing(feature, negated=True)
    return Threshold(feature, threshold, missing_left)


def _sign(condition: Condition) -> str:
    return ">" if condition.negated else "<="
