"""Conformal intervals: wide enough, by the errors on rows that the model has not seen, to hold a share of new rows.

A model gives each row an interval [low, high]: two quantiles, or a point prediction, whose ends are equal. The score of
a row that it has not seen says by how much the interval has to grow on both sides to reach y (Romano, Patterson and
Candès 2019)::

    e_i = max(low(x_i) − y_i, y_i − high(x_i))

With one model and n scores, [low(x) − q, high(x) + q], q the ⌈coverage · (n + 1)⌉-th smallest score, holds a new y with
probability ≥ coverage, for any model and any distribution (split conformal: Vovk, Gammerman and Shafer 2005). With
models of several folds (CV+: Barber, Candès, Ramdas and Tibshirani 2021), k(i) the one that has not seen row i::

    lower end = the ⌈coverage · (n + 1)⌉-th largest of  low_k(i)(x) − e_i
    upper end = the ⌈coverage · (n + 1)⌉-th smallest of high_k(i)(x) + e_i

which is the same as before if there is one model. Where a spread s(x) > 0 of the errors is known, learned on other
rows, scores are e_i / s(x_i) and the ends low(x) − s(x) q and high(x) + s(x) q (Papadopoulos, Gammerman and Vovk 2008;
Lei, G'Sell, Rinaldo, Tibshirani and Wasserman 2018). A row of weight 2 counts as two rows, and n is the weight of all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.correcting.held_out import WAYS, Corrected, HeldOut, Predicted, quiet, read_way
from arboretum.data import targets
from arboretum.data.validity import Rules
from arboretum.ensembles.members.estimators import has_columns, unfitted
from arboretum.ensembles.members.goals import Numbers
from arboretum.losses import Loss
from arboretum.losses.links import RANGES
from arboretum.model.arrays import Arrays
from arboretum.model.members import Header, Members, is_ours

FloatArray: TypeAlias = NDArray[np.float64]

RULES = Rules("scores")

WAYS_OF_NUMBERS = (*WAYS, "pooled")
LABELS = (str, int, float, bool)  # types of labels of groups that a file can hold
LEAST_SPREAD = 1e-3  # share of the mean size: errors of 0 have no logarithm
POSITIVE = {"poisson", "gamma", "tweedie"}
ROUNDING = 1e-12  # a share of the weight that counts as 0: 0.55 · 100 is more than 55 in floats


def nonconformity(ends: FloatArray, y: FloatArray) -> FloatArray:
    """Return how much each interval (rows, 2) has to grow to reach y; if negative, how much it could shrink.

    Examples
    --------
    >>> nonconformity(np.array([[1.0, 3.0], [1.0, 3.0]]), np.array([5.0, 1.5]))
    array([ 2. , -0.5])
    """
    return np.maximum(ends[:, 0] - y, y - ends[:, 1])


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of rows, in one sorted list per model.

    Parameters
    ----------
    values : ndarray
        Scores; list k owns ``start[k] : start[k + 1]``.
    mass : ndarray
        Weight of the scores of the list up to and including each one.
    start : ndarray of int64
        First score of each list, and the total number of scores.

    Examples
    --------
    >>> scores = Scores.of([(np.array([3.0, 1.0, 2.0]), np.ones(3))])
    >>> scores.intervals(np.array([[10.0]]), np.array([[10.0]]), coverage=0.5)
    array([[ 8., 12.]])
    >>> scores.intervals(np.array([[10.0]]), np.array([[10.0]]), coverage=0.9)
    Traceback (most recent call last):
        ...
    ValueError: coverage=0.9 needs scores of at least 9 rows, but there are 3: calibrate on more rows or ask for less
    """

    values: FloatArray
    mass: FloatArray
    start: NDArray[np.int64]

    @classmethod
    def of(cls, lists: Sequence[tuple[FloatArray, FloatArray]]) -> Scores:
        """Make scores from those of each model, with the weights of their rows."""
        values, mass = [], []
        for scores, weight in lists:
            order = np.argsort(scores, kind="stable")
            values.append(scores[order])
            mass.append(np.cumsum(weight[order]))
        start = np.concatenate([[0], np.cumsum([len(part) for part in values])]).astype(np.int64)
        return cls(np.concatenate(values), np.concatenate(mass), start)

    @property
    def n_lists(self) -> int:
        """Number of models."""
        return len(self.start) - 1

    def part(self, first: int, end: int) -> Scores:
        """Return some of the lists."""
        start = self.start[first : end + 1]
        rows = slice(start[0], start[-1])
        return Scores(self.values[rows], self.mass[rows], start - start[0])

    def needed(self, coverage: float, group: Any = None) -> float:
        """Return the weight of the scores that the interval has to reach; reject a coverage that needs more rows."""
        ends = self.start[1:][np.diff(self.start) > 0] - 1
        total = float(self.mass[ends].sum())
        needed = coverage * (total + 1) * (1 - ROUNDING)
        if needed > total:
            least = math.ceil(round(coverage / (1 - coverage), 9))
            within = "" if group is None else f" in the group {group!r}"
            raise ValueError(
                f"coverage={coverage:g} needs scores of at least {least} rows, but there are {total:g}{within}: "
                "calibrate on more rows or ask for less"
            )
        return needed

    def intervals(
        self,
        low: FloatArray,
        high: FloatArray,
        coverage: float,
        *,
        spread: FloatArray | None = None,
        threads: int = 1,
    ) -> FloatArray:
        """Return the ends of the interval of each row, (rows, 2), from the ends by each model, (rows, models)."""
        needed, ends = self.needed(coverage), np.empty((2, len(low)))
        scale = None if spread is None else np.ascontiguousarray(spread)
        for sign, shift, out in ((-1.0, low, ends[0]), (1.0, high, ends[1])):
            shifts = np.ascontiguousarray(sign * shift)
            _kernel.interval_ends(shifts, scale, self.values, self.mass, self.start, needed, threads, out)
        ends[0] *= -1.0
        # Scores below 0 can turn a narrow interval inside out; its ends are then swapped.
        return np.sort(ends, axis=0).T.copy()

    def to_arrays(self) -> Arrays:
        """Return the arrays of a model file."""
        return {"score": self.values, "score_mass": self.mass, "score_start": self.start}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Scores:
        """Read scores from a file of unknown origin."""
        scores = cls(*(arrays[name] for name in ("score", "score_mass", "score_start")))
        RULES.types(scores, {"values": np.float64, "mass": np.float64, "start": np.int64})
        values, mass, start = scores.values, scores.mass, scores.start
        RULES.lengths(scores, {"mass": len(values)})
        RULES.require(len(start) > 1, "number of lists", len(start) - 1, "at least 1")
        RULES.starts("start", start, len(values))
        RULES.everywhere("values", values, np.isfinite(values), "must be finite")
        RULES.everywhere("mass", mass, np.isfinite(mass) & (mass > 0), "must be finite and more than 0")
        begins = np.isin(np.arange(len(values)), start)
        rises, grows = np.diff(values, prepend=-np.inf) >= 0, np.diff(mass, prepend=0.0) > 0
        RULES.everywhere("values", values, begins | rises, "must not be less than the one before")
        RULES.everywhere("mass", mass, begins | grows, "must be greater than the one before")
        return scores


# ---- the model -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ends(Numbers):
    """Numbers; models predict the ends of an interval."""

    def outcome(self, model: Any, rows: Any, threads: int = 1) -> FloatArray:
        """Return the first and the last quantile, or a point prediction twice."""
        return ends_of(model.predict(rows))

    def out_of_bag(self, model: Any) -> FloatArray:
        """Return the same from out-of-bag predictions."""
        return ends_of(super().out_of_bag(model))


def ends_of(prediction: Any) -> FloatArray:
    """Return the first and last column of quantiles, (rows, 2); a point prediction is both.

    Examples
    --------
    >>> ends_of([3.0]), ends_of([[1.0, 2.0, 5.0]])
    (array([[3., 3.]]), array([[1., 5.]]))
    """
    columns = np.asarray(prediction, dtype=np.float64)
    columns = columns[:, None] if columns.ndim == 1 else columns
    return np.stack([columns[:, 0], columns[:, -1]], axis=1)


@dataclass(frozen=True, eq=False)
class Conformal(Corrected):
    """A regressor, the scores of its errors, and models of their spread.

    ::

        parts   "estimator"              what users ask
                "member 0", "member 1" … the model of each list of scores; for all but "cross" it is the estimator
                "spread 0", "spread 1" … a model of the size of its errors, if intervals are adaptive

    Parameters
    ----------
    scores : Scores
        Errors on rows that the models have not seen, divided by their spread; with groups, the lists of the first
        group, one per model, then those of the next.
    groups : tuple, optional
        Labels of the groups of rows within which intervals hold (Mondrian conformal prediction: Vovk, Gammerman and
        Shafer 2005, section 4.5); None if all rows are one group.
    """

    scores: Scores
    groups: tuple[Any, ...] | None = None

    def facts(self) -> Header:
        """Return where the correction was learned, and the groups."""
        return super().facts() | ({} if self.groups is None else {"groups": list(self.groups)})

    @property
    def n_models(self) -> int:
        """Number of lists of scores of a group."""
        return self.scores.n_lists // (1 if self.groups is None else len(self.groups))

    def arrays(self) -> Arrays:
        """Return the scores."""
        return self.scores.to_arrays()

    @classmethod
    def part_names(cls, header: Header, arrays: Arrays) -> list[str]:
        """Return the names of the estimator and of the further models of each list of scores."""
        kinds = (["member"] if header["calibration"] == "cross" else []) + (["spread"] if "spread 0" in arrays else [])
        lists = Scores.from_arrays(arrays).n_lists // len(read_groups(header) or "1")
        return ["estimator", *(f"{kind} {number}" for kind in kinds for number in range(lists))]

    @classmethod
    def from_file(cls, header: Header, arrays: Arrays, read: Members, goal: Ends) -> Conformal:
        """Read the scores; the models must be regressors with the columns of the estimator."""
        for member in read.models:
            goal.check(member)
            if not has_columns(member, getattr(read.parts["estimator"], "n_features_in_", None)):
                raise ValueError(f"a member of class {type(member).__name__} does not match the estimator")
        scores, groups = Scores.from_arrays(arrays), read_groups(header)
        if groups is not None and scores.n_lists % len(groups):
            raise ValueError(f"scores have {scores.n_lists} lists, which {len(groups)} groups cannot share")
        return cls(read_way(header, WAYS_OF_NUMBERS), scores, groups)

    def models(self, members: Members) -> list[Any]:
        """Return the model of each list of scores."""
        parts = members.parts
        return [parts.get(f"member {number}", parts["estimator"]) for number in range(self.n_models)]

    def spreads(self, members: Members) -> list[Any] | None:
        """Return the model of the size of errors of each list of scores."""
        if "spread 0" not in members.parts:
            return None
        return [members.parts[f"spread {number}"] for number in range(self.n_models)]

    def groups_of(self, by: Any, n_rows: int) -> NDArray[np.intp] | None:
        """Return the group of each row as its number; None if there are no groups."""
        if self.groups is None:
            if by is not None:
                raise ValueError("by is given, but the model was fitted without it: fit with by, or leave it out")
            return None
        if by is None:
            raise ValueError("the model was fitted with by: give the group of each row, by=, here as well")
        labels = np.empty(len(self.groups), dtype=object)
        labels[:] = self.groups
        return targets.encode_classes(targets.as_column(by, n_rows, "by"), labels, "by").astype(np.intp)

    def intervals(
        self,
        members: Members,
        X: Any,
        levels: Sequence[float],
        threads: int,
        by: Any = None,
        bounds: tuple[float, float] = (-np.inf, np.inf),
    ) -> FloatArray:
        """Return intervals (levels, rows, 2); the interval of a larger level contains that of a smaller one."""
        parts = self._scores_of_groups()
        for level in levels:
            for label, scores in parts:
                scores.needed(level, label)  # rejects an invalid level before predicting
        models, spreads = self.models(members), self.spreads(members)
        asked = {id(model): ends_of(model.predict(X)) for model in {id(model): model for model in models}.values()}
        ends = np.stack([asked[id(model)] for model in models], axis=1)
        with quiet():  # the members have warned
            spread = None if spreads is None else np.stack([model.predict(X) for model in spreads], axis=1)
        low, high = ends[..., 0], ends[..., 1]
        group, intervals = self.groups_of(by, len(ends)), np.empty((len(levels), len(ends), 2))
        for number, (_, scores) in enumerate(parts):
            rows = slice(None) if group is None else np.flatnonzero(group == number)
            own = None if spread is None else spread[rows]
            for place, level in enumerate(levels):
                intervals[place, rows] = scores.intervals(low[rows], high[rows], level, spread=own, threads=threads)
        for within in (range_of(members.parts["estimator"]), bounds):
            intervals = np.clip(intervals, *within)
        # An interval that was turned inside out need not lie within the next larger one.
        for larger, smaller in pairwise(np.argsort(levels)[::-1].tolist()):
            intervals[smaller] = np.clip(intervals[smaller], intervals[larger, :, :1], intervals[larger, :, 1:])
        return intervals

    def _scores_of_groups(self) -> list[tuple[Any, Scores]]:
        """Return the scores of each group, beside its label; None is the label of all rows."""
        if self.groups is None:
            return [(None, self.scores)]
        n = self.n_models
        return [(label, self.scores.part(k * n, (k + 1) * n)) for k, label in enumerate(self.groups)]


def read_groups(header: Header) -> tuple[Any, ...] | None:
    """Return the labels of groups in a file, None if it has none."""
    groups = header.get("groups")
    if groups is None:
        return None
    if not isinstance(groups, list) or not groups or not all(type(label) in LABELS for label in groups):
        raise ValueError(f"groups: expected a list of texts or numbers, found {groups!r:.80}")
    if len(set(groups)) < len(groups):
        raise ValueError(f"groups: expected different labels, found {groups!r:.80}")
    return tuple(groups)


def range_of(model: Any) -> tuple[float, float]:
    """Return the smallest and largest value that a regressor can predict, as far as its loss shows.

    Examples
    --------
    >>> import arboretum as arb
    >>> range_of(arb.BoostedTreesRegressor(loss="poisson", n_estimators=1).fit([[0.0], [1.0]], [0, 1]))
    (0.0, inf)
    """
    while (inner := getattr(model, "judged_as_", None)) is not None:
        model = inner
    if isinstance(loss := getattr(model, "loss_", None), Loss):
        return RANGES[loss.link]
    if is_ours(model) and (base := getattr(model, "estimator", None)) is not None:
        return range_of(base)
    # Such as "poisson", "count:poisson" or "Tweedie:variance_power=1.5", in the words of several libraries.
    given = [getattr(model, name, None) for name in ("criterion", "loss", "objective", "loss_function")]
    if any(set(re.split("[:_]", name.lower())) & POSITIVE for name in given if isinstance(name, str)):
        return RANGES["exp"]
    if is_ours(model):
        return RANGES["identity"]
    from sklearn.utils import get_tags

    try:
        return RANGES["exp" if get_tags(model).target_tags.positive_only else "identity"]
    except (AttributeError, TypeError):  # it has no tags
        return RANGES["identity"]


# ---- the recipe ------------------------------------------------------------------------------------------------------


def conform(held: HeldOut, spread: Any, X: Any, y: Any, sample_weight: Any = None, by: Any = None) -> Members:
    """Fit a regressor, and score its errors on rows that it has not seen.

    Parameters
    ----------
    held : HeldOut
        How the regressor is fitted, with rows left to predict.
    spread : estimator or None
        A regressor of positive numbers that learns the size of errors; None gives about the same width everywhere. It
        has no effect if the estimator predicts several columns.
    X, y, sample_weight, by
        As for ``fit``.
    """
    groups, codes = None, None
    if by is not None:
        groups, codes = labels_and_codes(targets.as_column(by, len(targets.to_numpy(y, "y")), "by"))
    found, way = held.fit(X, y, sample_weight), held.given.calibration
    unseen = found.unseen
    errors = [nonconformity(part.prediction, found.y[part.rows]) for part in unseen]
    spreads: list[Any] = []
    if spread is not None and all((part.prediction[:, 0] == part.prediction[:, 1]).all() for part in unseen):
        scored = slice(0, 1) if way == "split" else slice(None)
        spreads, unseen = _fit_spreads(spread, found, errors, way == "pooled")[scored], unseen[scored]
        with quiet():
            errors = [
                error / model.predict(found.table(part.rows))
                for error, model, part in zip(errors, spreads, unseen, strict=False)
            ]
        spreads = spreads[-1:] if way == "pooled" else spreads
    lists = [(error, part.weight, part.rows) for error, part in zip(errors, unseen, strict=True)]
    if way == "pooled":  # the errors of all folds stand for those of the model of all rows
        error, weight, rows = (np.concatenate(parts) for parts in zip(*lists, strict=True))
        lists = [(error, weight, rows)]
    group = np.zeros(len(found.y), np.intp) if codes is None else codes[found.kept]
    scores = Scores.of(
        [
            (error[group[rows] == number], weight[group[rows] == number])
            for number in range(len(groups or "1"))
            for error, weight, rows in lists
        ]
    )
    crossed = [part.model for part in unseen] if way == "cross" else []
    others = {f"member {number}": model for number, model in enumerate(crossed)}
    others |= {f"spread {number}": model for number, model in enumerate(spreads)}
    return held.members(found, Conformal(way, scores, groups), others)


def labels_and_codes(by: NDArray[Any]) -> tuple[tuple[Any, ...], NDArray[np.intp]]:
    """Return the labels of groups, and the number of each row's label.

    Examples
    --------
    >>> labels_and_codes(np.array(["b", "a", "b"]))
    (('a', 'b'), array([1, 0, 1]))
    """
    targets.refuse_missing(by, "by")
    found, codes = targets.unique_labels(by)
    labels = tuple(found.tolist())
    for label in labels:
        if type(label) not in LABELS:
            raise ValueError(f"by has the label {label!r} of type {type(label).__name__}: give texts or numbers")
    return labels, codes.reshape(-1).astype(np.intp)


def _fit_spreads(spread: Any, found: Predicted, errors: Sequence[FloatArray], pools: bool) -> list[Any]:
    """Fit one model per part, of the size of the errors of all other parts; one of all errors if it ``pools`` them."""
    if found.source.table is None:
        raise ValueError("adaptive=True needs a table of rows and columns: set adaptive=False")
    if len(found.unseen) < 2:
        raise ValueError("adaptive=True needs more than one row to calibrate on: give more or set adaptive=False")
    rows = np.concatenate([part.rows for part in found.unseen])
    weight = np.concatenate([part.weight for part in found.unseen])
    size = np.abs(np.concatenate(errors))
    number = np.repeat(np.arange(len(found.unseen)), [len(part.rows) for part in found.unseen])

    def fitted_to(chosen: NDArray[np.bool_]) -> Any:
        mean = float(np.average(size[chosen], weights=weight[chosen]))
        target = np.maximum(size[chosen], LEAST_SPREAD * mean) if mean > 0 else np.ones(int(chosen.sum()))
        return unfitted(spread).fit(found.table(rows[chosen]), target, weight[chosen])

    return [fitted_to(number != part) for part in range(len(found.unseen) + pools)]
