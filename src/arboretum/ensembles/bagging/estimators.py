"""Bagging of any estimator as a recipe (Breiman 1996; random patches: Louppe and Geurts 2012).

::

    y, weight ──goal──► classes or numbers
    X ──► rows by content ──► bag 0, bag 1, …           ensembles/bagging/resampling.py
              │
              └── members, fitted beside each other     ensembles/members/tables.py
                       │
                       └── Members: their mean, and that of those that never saw a row
"""

from __future__ import annotations

import numbers
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import shown
from arboretum.data import targets
from arboretum.data.schema import Schema
from arboretum.data.table import conform
from arboretum.ensembles.bagging.out_of_bag import score_out_of_bag
from arboretum.ensembles.bagging.parameters import OutOfBagRule
from arboretum.ensembles.bagging.resampling import Positions, RowDraws, draw_columns
from arboretum.ensembles.members.estimators import (
    has_columns,
    is_classifier,
    new_member,
    require_estimator,
    run_beside,
    shares,
)
from arboretum.ensembles.members.goals import Goal, OneClass
from arboretum.ensembles.members.tables import GivenTable, MemberTable, some_columns, table_for
from arboretum.ensembles.recipe import Recipe
from arboretum.model.arrays import Arrays
from arboretum.model.members import Header, Joint, Members, is_ours
from arboretum.model.notes import read_seed
from arboretum.parameters.checking import seed_of
from arboretum.parameters.declaring import COUNT, FLAG, Anything, CountOrShare, like, parameter, parameter_group
from arboretum.parameters.shared import Progress, Seed, Threads, WarmStart
from arboretum.running.interruption import keeps_part, warn_interrupted
from arboretum.running.progress import ProgressBar, RoundReport
from arboretum.running.threads import n_threads
from arboretum.running.warning import warn_user

FloatArray: TypeAlias = NDArray[np.float64]


class RowsOfMember(CountOrShare):
    """Number of draws per member; without replacement at most the number of rows."""

    def check(self, owner: Any, name: str) -> None:
        """Reject shares above 1 of draws without replacement."""
        if owner.bootstrap:
            super().check(owner, name)
        else:
            AT_MOST_ONCE.check(owner, name)


AT_MOST_ONCE = CountOrShare(by_integer=True)


@parameter_group("Ensemble")
class BaggedEstimator:
    """What to bag, and how often."""

    estimator: Any = parameter(
        None,
        Anything("estimator"),
        "The estimator to bag: of arboretum, of scikit-learn or of any library that follows its protocol; by default "
        "an unpruned tree.",
    )
    n_estimators: int = parameter(10, COUNT, "Number of members.")


@parameter_group("Rows and columns of each member")
class MemberDraws:
    """What members are fitted to."""

    max_samples: float | int = parameter(
        1.0, RowsOfMember(most=1e6, by_integer=True), "Number of rows that each member draws, or their share."
    )
    max_features: float | int = parameter(
        1.0, CountOrShare(by_integer=True), "Number of columns that each member uses, or their share."
    )
    bootstrap: bool = parameter(True, FLAG, "Draw rows with replacement, by weight.")
    bootstrap_features: bool = parameter(
        False, FLAG, "Draw columns with replacement; a column drawn twice is used once."
    )
    oob_score: Any = parameter(
        False,
        OutOfBagRule(),
        "Score each row by the members that did not draw it: True by accuracy or R², or a scorer's name, or a "
        "function of (y, prediction).",
    )


@parameter_group()
class BaggingParameters(BaggedEstimator, MemberDraws, WarmStart, Seed, Threads, Progress):
    """Parameters of bagging."""

    random_state: Any = like(Seed, doc="Seed of all draws, and of the members that have a ``random_state``.")


# ---- the model -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OutOfBag:
    """Mean of the members that have not drawn a row, NaN if all have drawn it, and the score of these means."""

    means: FloatArray
    score: float


@dataclass(frozen=True, eq=False)
class Bagged(Joint):
    """The mean of members.

    Parameters
    ----------
    goal : Goal
        What members predict, with the classes if there are some.
    columns : tuple of ndarray
        Columns of each member, in ascending order.
    seed : int
        Seed of all draws.
    draws : tuple of RowDraws or None
        How each member drew its rows; None for members read from a file.
    out_of_bag : OutOfBag, optional
        Out-of-bag predictions, if requested.
    """

    goal: Goal
    columns: tuple[Positions, ...]
    seed: int
    draws: tuple[RowDraws | None, ...]
    out_of_bag: OutOfBag | None = None

    # ---- answers -------------------------------------------------------------------------------------------------

    def mean(self, members: Members, X: Any, threads: int) -> FloatArray:
        """Return the mean of the members' outcomes."""
        models, rows, base = members.models, _as_read(members, X), members.bases[0][1]

        def outcome(member: int) -> FloatArray:
            return self.goal.outcome(models[member], some_columns(rows, self.chosen(members, member)), threads)

        beside = 1 if is_ours(base) else min(threads, len(models))
        total: Any = None
        for found in run_beside(outcome, range(len(models)), beside, ours=False):
            total = found if total is None else total + found
        return np.asarray(total / len(models))

    def chosen(self, members: Members, member: int) -> Positions | None:
        """Return the columns of a member; None means all."""
        columns = self.columns[member]
        return None if len(columns) == (members.n_columns or 0) else columns

    # ---- files ---------------------------------------------------------------------------------------------------

    def facts(self) -> Header:
        """Return the classes, and how members vote."""
        return self.goal.facts()

    def notes(self) -> Header:
        """Return the seed and the columns, which the fingerprint knows by their names."""
        return {"seed": self.seed, "columns": [columns.tolist() for columns in self.columns]}

    def identity(self, prints: Any, schema: Schema | None) -> Header:
        """Return the fingerprint and the column names of each member, sorted."""
        assert schema is not None
        columns = [sorted(schema.names[column] for column in chosen) for chosen in self.columns]
        return {**super().identity(prints, schema), "columns": columns}

    @classmethod
    def from_file(cls, header: Header, arrays: Arrays, read: Members, goal: Goal) -> Bagged:
        """Read members, all of one class, and check that each has as many columns as the file says."""
        goal, columns = goal.from_file(header), tuple(np.array(one, dtype=np.intp) for one in header["columns"])
        ((_, base),) = read.bases
        if not columns or len(columns) != len(read.parts) or read.n_columns is None:
            raise ValueError(f"{len(read.parts)} members, but columns for {len(columns)}")
        for model, chosen in zip(read.models, columns, strict=True):
            if type(model) not in (type(base), OneClass):
                raise ValueError(f"a member of class {type(model).__name__}")
            goal.check(model)
            if chosen.ndim != 1 or not has_columns(model, len(chosen)):
                raise ValueError(f"a member of class {type(model).__name__} does not have {len(chosen)} columns")
            if (np.diff(chosen, prepend=-1, append=read.n_columns) < 1).any():
                raise ValueError("columns of a member: expected ascending positions of existing columns")
        return cls(goal, columns, read_seed(header["seed"]), (None,) * len(columns))


def bagged(members: Members) -> Bagged:
    """Return the joint of bagged members."""
    assert isinstance(members.joint, Bagged)
    return members.joint


def first_members(members: Members, n_members: int) -> Members:
    """Return the model of the first members, without out-of-bag predictions, which belong to all members."""
    joint = bagged(members)
    columns, draws = joint.columns[:n_members], joint.draws[:n_members]
    return replace(
        members,
        parts=dict(list(members.parts.items())[:n_members]),
        joint=replace(joint, columns=columns, draws=draws, out_of_bag=None),
    )


def _as_read(members: Members, X: Any) -> Any:
    """Return rows as a Table if members share one, else in the user's container."""
    first = members.models[0]
    if not shares(first):
        return members.rows(X)
    assert members.schema is not None
    return conform(X, members.schema, unknown=first.unknown, missing=first.missing, estimator_name=members.name)


# ---- the recipe ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Bagging(Recipe[BaggingParameters, Goal]):
    """Bagging of any estimator: parameters, a goal and rows make Members.

    Parameters
    ----------
    base : estimator
        What is bagged.
    estimator : callable
        Makes an estimator for scorers from a fitted model.
    """

    base: Any
    estimator: Callable[[Members], Any]

    def fit(self, X: Any, y: Any, sample_weight: Any = None, earlier: Members | None = None) -> Members:
        """Fit members, and add them to those of an earlier model, if any."""
        given, done = self.given, 0 if earlier is None else len(earlier.parts)
        if earlier is not None and done >= given.n_estimators:
            if done == given.n_estimators:
                return earlier
            raise ValueError(
                f"n_estimators={given.n_estimators} is less than the {done} members already fitted "
                "(warm_start=True); raise it or set warm_start=False"
            )
        self._check_base()
        threads = n_threads(given.n_jobs)
        before = None if earlier is None else bagged(earlier)
        seed = seed_of(given.random_state) if before is None else before.seed
        source = table_for(self.base, X)
        column = self.goal.as_column(y, source.n_rows)
        weight = targets.training_weights(sample_weight, source.n_rows)
        kept = np.arange(source.n_rows) if weight is None else np.flatnonzero(weight)
        goal, codes = (self.goal if before is None else before.goal).read(column[kept])
        source.prepare(column[kept], None if weight is None else weight[kept], kept, threads)
        draws = self._row_draws(source, codes, weight, kept)
        columns = [self._draw_columns(source, seed, member) for member in range(done, int(given.n_estimators))]
        if earlier is not None:
            self._require_like(earlier, source.schema)
        models = self._fitted(goal, source, draws, columns, seed, done, threads)
        everything = np.arange(source.n_columns or 0)
        chosen = tuple(everything if one is None else one for one in columns[: len(models)])
        joint = Bagged(goal, chosen, seed, (draws,) * len(models))
        if earlier is not None and before is not None:
            models = [*earlier.models, *models]
            joint = replace(joint, columns=before.columns + joint.columns, draws=before.draws + joint.draws)
        parts = {f"member {member}": model for member, model in enumerate(models)}
        members = Members(parts, joint, [("estimator", self.base)], source.schema, source.n_columns, self.name)
        if given.oob_score is False:
            return members
        found = self._out_of_bag(members, source, kept, threads)
        score = self._score(members, found, column, weight)
        return replace(members, joint=replace(joint, out_of_bag=OutOfBag(found, score)))

    def _check_base(self) -> None:
        require_estimator(self.base)
        if is_classifier(self.base) != self.goal.classifies:
            other = "BaggingClassifier" if is_classifier(self.base) else "BaggingRegressor"
            raise ValueError(f"estimator={shown(self.base)} cannot be bagged by {self.name}: use {other}")

    def _require_like(self, earlier: Members, schema: Schema | None) -> None:
        """Reject members that cannot be combined with the existing ones."""
        ((_, known),) = earlier.bases
        if type(self.base) is not type(known):
            was, now = type(known).__name__, type(self.base).__name__
            raise ValueError(f"estimator is a {now}, the members so far are of {was}: set warm_start=False")
        if schema != earlier.schema:
            raise ValueError(
                "the columns of X, or their categories, are not those of the members so far: give the same table "
                "or set warm_start=False"
            )

    def _fitted(
        self,
        goal: Goal,
        source: MemberTable,
        draws: RowDraws,
        columns: list[Positions | None],
        seed: int,
        done: int,
        threads: int,
    ) -> list[Any]:
        """Return the members; after Ctrl-C those fitted so far, if any."""

        def fit(number: int, threads: int) -> Any:
            bag = replace(draws.bag(seed, done + number), columns=columns[number])
            if isinstance(source, GivenTable) and goal.has_one_class(source.y[bag.rows]):
                return source.fit(OneClass(), bag, threads)
            return source.fit(new_member(self.base, seed, done + number), bag, threads)

        models: list[Any] = []
        try:
            models.extend(self._beside(fit, len(columns), threads))
        except KeyboardInterrupt:
            if not keeps_part(len(models)):
                raise
            warn_interrupted(len(models), "members")
        return models

    def _beside(self, fit: Callable[[int, int], Any], n_members: int, threads: int) -> Iterator[Any]:
        """Fit members in parallel; each uses a share of the remaining threads."""
        sharing = shares(self.base)
        beside = min(threads, n_members) if sharing or not is_ours(self.base) else 1
        within, started = max(1, threads // beside), time.monotonic()
        with ProgressBar(n_members, "member") if self.given.verbose else nullcontext() as bar:
            fitted = run_beside(lambda number: fit(number, within), range(n_members), beside, ours=sharing)
            for number, model in enumerate(fitted, 1):
                if bar is not None:
                    bar(RoundReport(number, n_members, time.monotonic() - started, None, None))
                yield model

    # ---- draws ---------------------------------------------------------------------------------------------------

    def _row_draws(
        self, source: MemberTable, target: FloatArray, weight: FloatArray | None, kept: Positions
    ) -> RowDraws:
        given, keys = self.given, np.zeros(source.n_rows, dtype=np.uint64)
        keys[kept] = source.keys(target, kept)
        counted = isinstance(given.max_samples, numbers.Integral)
        size = int(given.max_samples) if counted else float(given.max_samples)
        draws = RowDraws.of(keys, weight, size, replace=bool(given.bootstrap))
        if given.oob_score is not False and draws.takes_all:
            raise ValueError(
                f"oob_score={shown(given.oob_score)}, but every member sees every row, so none is out of bag: "
                "set bootstrap=True, max_samples below 1 or oob_score=False"
            )
        if draws.weight is not None and not draws.replace and not source.takes_weights:
            raise ValueError(
                "bootstrap=False with a sample_weight that is not whole numbers needs members whose fit takes "
                "sample_weight: set bootstrap=True, then rows are drawn by weight"
            )
        return draws

    def _draw_columns(self, source: MemberTable, seed: int, member: int) -> Positions | None:
        given, total = self.given, source.n_columns
        wanted, replaces = given.max_features, bool(given.bootstrap_features)
        counted = isinstance(wanted, numbers.Integral)
        if wanted == 1 and not counted and not replaces:
            return None
        if total is None:
            raise ValueError(f"max_features={wanted!r} needs a table of rows and columns: use 1.0")
        if counted and wanted > total:
            raise ValueError(f"max_features={wanted!r}, but X has {total} columns: use fewer or a share")
        size = int(wanted) if counted else max(1, int(wanted * total))
        places = draw_columns(total, size, replace=replaces, seed=seed, member=member)
        if source.schema is not None and source.schema.named:  # draws are the same for any order of the columns
            by_name = sorted(range(total), key=source.schema.names.__getitem__)
            places = np.sort(np.array(by_name, dtype=np.intp)[places])
        return places

    # ---- out of the bag ------------------------------------------------------------------------------------------

    def _out_of_bag(self, members: Members, source: MemberTable, kept: Positions, threads: int) -> FloatArray:
        """Return the mean of the members that never saw each row; NaN if there is none, or if the row has no weight."""
        joint = bagged(members)
        pool = cast(RowDraws, joint.draws[-1]).pool
        sums: Any = 0.0
        counts = np.zeros(source.n_rows, dtype=np.int64)
        for member, (model, draws) in enumerate(zip(members.models, joint.draws, strict=True)):
            if draws is None or not np.array_equal(draws.pool, pool):
                raise ValueError(
                    "oob_score needs members that were all fitted to the same rows: "
                    "give these, or set warm_start=False or oob_score=False"
                )
            out = np.setdiff1d(kept, draws.bag(joint.seed, member).rows)
            if len(out):
                found = joint.goal.outcome(model, source.part(out, joint.chosen(members, member)), threads)
                if not np.ndim(sums):
                    sums = np.zeros((source.n_rows, *found.shape[1:]))
                sums[out] += found
                counts[out] += 1
        if not counts[kept].all():
            n = int((counts[kept] == 0).sum())
            if n == len(kept):
                raise ValueError("oob_score: every row is in the bag of every member; raise n_estimators")
            warn_user(
                f"{n} of {len(kept)} rows are in the bag of every member and have no out-of-bag prediction (NaN): "
                f"raise n_estimators={self.given.n_estimators}"
            )
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / counts.reshape(-1, *[1] * (sums.ndim - 1)))

    def _score(self, members: Members, means: FloatArray, column: NDArray[Any], weight: FloatArray | None) -> float:
        goal, known = bagged(members).goal, ~np.isnan(means.reshape(len(means), -1)[:, 0])
        return score_out_of_bag(
            self.estimator(members),
            self.given.oob_score,
            column[known],
            goal.answers(means[known]),
            goal.probabilities(means[known]),
            None if weight is None else weight[known],
        )
