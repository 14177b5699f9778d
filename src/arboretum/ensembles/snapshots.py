"""Averages of snapshots of any iterative learner as a recipe (Huang et al. 2017).

::

    estimator ──► step 1 ──► … ──► step n−2k ──► … ──► step n−k ──► … ──► step n
                                       │                   │                 │        copies, k = every
                                       └───────────────────┴─────────────────┴──► Members: the mean of their answers

Three kinds of learners have steps::

    rounds        boosted models of arboretum: one fit, snapshots are its first rounds
    partial_fit   a step is a pass over all rows
    warm_start    a step raises the parameter that counts them, and fits again
"""

from __future__ import annotations

import copy
import inspect
import numbers
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.arguments import shown
from arboretum.data import selection, targets
from arboretum.data.weights import are_copies
from arboretum.ensembles.members.estimators import (
    is_classifier,
    is_regressor,
    new_member,
    seeded,
    shares,
)
from arboretum.ensembles.members.goals import Classes, Goal, Outputs
from arboretum.ensembles.members.tables import GivenTable
from arboretum.ensembles.recipe import Recipe
from arboretum.model.arrays import Arrays
from arboretum.model.members import Header, Joint, Members, is_ours
from arboretum.parameters.checking import seed_of
from arboretum.parameters.declaring import COUNT, MOST, Anything, Number, like, parameter, parameter_group
from arboretum.parameters.shared import Seed
from arboretum.running.interruption import inner_fits
from arboretum.running.threads import n_threads

FloatArray: TypeAlias = NDArray[np.float64]

STEP_PURPOSE = 0x73746570  # "step": keeps the seeds of steps apart from all other draws
COUNTERS = ("n_estimators", "max_iter")  # parameters that count steps


@parameter_group("Snapshots")
class SnapshotParameters(Seed):
    """Parameters of averages of snapshots."""

    estimator: Any = parameter(
        None,
        Anything("estimator"),
        "A classifier or regressor that is fitted in steps: a boosted model of arboretum, or one of any library that "
        "has ``partial_fit`` or ``warm_start``; by default ``BoostedTreesRegressor()``.",
        before="random_state",
    )
    n_snapshots: int = parameter(
        5, COUNT, "Number of snapshots, the last ones; all if there are fewer.", before="random_state"
    )
    every: int = parameter(1, COUNT, "Number of steps from one snapshot to the next.", before="random_state")
    n_steps: int | None = parameter(
        None,
        Number(1, MOST, integer=True, optional=True),
        "Number of steps: rounds, passes of ``partial_fit`` over the rows, or values of ``steps_parameter``. By "
        "default what the estimator's own ``n_estimators`` or ``max_iter`` says; without one, as many as the snapshots "
        "need.",
        before="random_state",
    )
    steps_parameter: str | None = parameter(
        None,
        Anything("str"),
        "Parameter that counts all steps of an estimator with ``warm_start``, such as ``step__max_iter`` of a "
        "pipeline; by default ``n_estimators`` or ``max_iter``. If it is given, ``partial_fit`` is not used.",
        before="random_state",
    )
    random_state: Any = like(
        Seed,
        doc="Seed of the estimator, if it has a ``random_state``; each pass of ``partial_fit`` gets one of its own, so "
        "that the order of the rows differs.",
    )


# ---- the model -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Margins(Classes):
    """Labels of classes, by decision functions of members that have no probabilities."""

    def outcome(self, model: Any, rows: Any, threads: int = 1) -> FloatArray:
        """Return the decision function."""
        return np.asarray(model.decision_function(rows), dtype=np.float64)

    def answers(self, outcome: FloatArray) -> NDArray[Any]:
        """Return the class on whose side of the decision a row is, or of the largest score."""
        codes = (outcome > 0).astype(np.intp) if outcome.ndim == 1 else outcome.argmax(axis=1)
        return np.asarray(self.classes[codes])


def goal_for(base: Any) -> Goal:
    """Return what snapshots of an estimator are asked: probabilities, decision functions or numbers."""
    if not is_classifier(base):
        return Outputs()
    return Classes() if hasattr(base, "predict_proba") else Margins()


@dataclass(frozen=True, eq=False)
class Snapshots(Joint):
    """The mean of snapshots.

    Parameters
    ----------
    goal : Goal
        What snapshots predict, with the classes if there are some.
    steps : tuple of int
        Steps after which they were taken, rising.
    """

    goal: Goal
    steps: tuple[int, ...]

    def mean(self, members: Members, X: Any) -> FloatArray:
        """Return the mean of the snapshots' outcomes."""
        rows, first, threads = members.rows(X), members.models[0], 1
        if shares(first):  # snapshots of one model read the same table
            rows, threads = first.model_.conform(rows), n_threads(first.n_jobs)
        total: Any = None
        for model in members.models:
            found = self.goal.outcome(model, rows, threads)
            total = found if total is None else total + found
        return np.asarray(total / len(members.parts))

    def facts(self) -> Header:
        """Return the classes."""
        return self.goal.facts()

    def notes(self) -> Header:
        """Return the steps."""
        return {"steps": list(self.steps)}

    @classmethod
    def from_file(cls, header: Header, arrays: Arrays, read: Members, goal: Goal) -> Snapshots:
        """Read the steps of the snapshots, all of one class."""
        goal, steps = goal.from_file(header), header["steps"]
        if not isinstance(steps, list) or not steps or len(steps) != len(read.parts):
            raise ValueError(f"steps: expected one for each of the {len(read.parts)} members, found {steps!r:.80}")
        if any(type(step) is not int for step in steps) or (np.diff(steps, prepend=0) < 1).any():
            raise ValueError(f"steps: expected ascending integers of at least 1, found {steps!r:.80}")
        for model in read.models:
            goal.check(model)
            if model.n_features_in_ != read.n_columns:
                raise ValueError(f"a member of {model.n_features_in_} columns, not {read.n_columns}")
        return cls(goal, tuple(steps))


def snapshots_of(members: Members) -> Snapshots:
    """Return the joint of snapshots."""
    assert isinstance(members.joint, Snapshots)
    return members.joint


# ---- the recipe ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FitRows:
    """Rows that all steps are fitted to."""

    X: Any
    y: NDArray[Any]
    weight: dict[str, FloatArray]  # the argument sample_weight, if there are weights
    classes: dict[str, NDArray[Any]]  # the argument classes, for ``partial_fit``


Way: TypeAlias = Callable[[FitRows, int, str], Iterator[tuple[int, Any]]]
"""From rows, a seed and the parameter that counts steps to snapshots by their steps, rising."""


@dataclass(frozen=True, eq=False)
class SnapshotAverage(Recipe[SnapshotParameters, Goal]):
    """Fit an estimator step by step, and keep copies of it.

    Parameters
    ----------
    base : estimator
        What is fitted.
    """

    base: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Members:
        """Return the snapshots."""
        self._check_base()
        way, counter = self._way()
        seed = seed_of(self.given.random_state)
        source = GivenTable(self.base, X)
        column = self.goal.as_column(y, source.n_rows)
        weight = targets.training_weights(sample_weight, source.n_rows)
        kept = np.arange(source.n_rows) if weight is None else np.flatnonzero(weight)
        goal, _ = self.goal.read(column[kept])
        method = "partial_fit" if way == self._by_partial_fit else "fit"
        rows = self._rows(source, column, weight, kept, goal, method)
        with inner_fits():
            taken = dict(way(rows, seed, counter))
        parts = {f"member {place}": model for place, model in enumerate(taken.values())}
        joint, bases = Snapshots(goal, tuple(taken)), [("estimator", self.base)]
        return Members(parts, joint, bases, source.schema, source.n_columns, self.name)

    def _check_base(self) -> None:
        base = self.base
        if not is_classifier(base) and not is_regressor(base):
            raise ValueError(f"estimator={shown(base)}: use a classifier or a regressor")
        if is_classifier(base) and not hasattr(base, "predict_proba") and not hasattr(base, "decision_function"):
            raise ValueError(
                f"estimator={shown(base)} has neither predict_proba nor decision_function, of which there is a mean: "
                "use a classifier that has"
            )
        for name in ("dart_rate", "average_rounds"):
            if is_ours(base) and getattr(base, name, None):
                raise ValueError(
                    f"estimator={shown(base)} has {name}, so that its trees do not hold earlier snapshots: use the "
                    f"default of {name}"
                )

    def _way(self) -> tuple[Way, str]:
        """Return how the estimator makes steps, and the parameter that counts them, "" if it has none."""
        base, given = self.base, self.given.steps_parameter
        known = base.get_params()
        if given is not None and (not isinstance(given, str) or given not in known):
            raise ValueError(f"steps_parameter={shown(given)}: it is not a parameter of estimator={shown(base)}")
        counter = given or next((name for name in COUNTERS if name in known), "")
        if hasattr(type(base), "first_rounds") and given is None:
            return self._by_rounds, counter
        if hasattr(base, "partial_fit") and given is None:
            return self._by_partial_fit, counter
        if counter and _warm_start_beside(counter) in known:
            return self._by_warm_start, counter
        raise ValueError(
            f"estimator={shown(base)} is not fitted in steps: use one with partial_fit, or with warm_start and "
            "n_estimators or max_iter; steps_parameter= names another parameter that counts steps"
        )

    def _rows(
        self,
        source: GivenTable,
        column: NDArray[Any],
        weight: FloatArray | None,
        kept: NDArray[np.intp],
        goal: Goal,
        method: str,
    ) -> FitRows:
        known, given = inspect.signature(getattr(self.base, method)).parameters, {}
        own = None if weight is None else weight[kept]
        if own is not None and (own != 1).any():
            if "sample_weight" in known:
                given["sample_weight"] = own
            elif are_copies(own):
                kept = np.repeat(kept, own.astype(np.intp))
            else:
                raise ValueError(
                    f"sample_weight: {type(self.base).__name__}.{method} takes none; give whole numbers, which are "
                    "copies of rows, or use another estimator"
                )
        whole = weight is None and len(kept) == source.n_rows
        X = source.X if whole else selection.take_rows(source.X, kept)
        classes = {"classes": goal.classes} if isinstance(goal, Classes) and "classes" in known else {}
        return FitRows(X, column[kept], given, classes)

    def _n_steps(self, counter: str) -> int:
        """Return the number of steps."""
        given, own = self.given, self.base.get_params().get(counter)
        if given.n_steps is not None:
            return int(given.n_steps)
        if isinstance(own, numbers.Integral) and int(own) >= 1:
            return int(own)
        return int(given.n_snapshots) * int(given.every)

    def _taken(self, n_steps: int) -> list[int]:
        """Return the steps after which snapshots are taken, rising."""
        every, n_snapshots = int(self.given.every), int(self.given.n_snapshots)
        return list(range(n_steps, 0, -every)[:n_snapshots][::-1])

    # ---- the steps -----------------------------------------------------------------------------------------------

    def _by_rounds(self, rows: FitRows, seed: int, counter: str) -> Iterator[tuple[int, Any]]:
        """Fit once; the snapshots are the first rounds."""
        model = new_member(self.base, seed, 0)
        if self.given.n_steps is not None:
            model.set_params(**{counter: int(self.given.n_steps)})
        model.fit(rows.X, rows.y, **rows.weight)
        n_rounds = int(np.max(getattr(model, "n_iter_", len(getattr(model, "estimator_weights_", ())))))
        for step in self._taken(n_rounds):
            yield step, model.first_rounds(step)

    def _by_partial_fit(self, rows: FitRows, seed: int, counter: str) -> Iterator[tuple[int, Any]]:
        """Pass over all rows again and again."""
        model, n_steps = new_member(self.base, seed, 0), self._n_steps(counter)
        taken = set(self._taken(n_steps))
        for step in range(1, n_steps + 1):
            seeded(model, _kernel.draw(seed, STEP_PURPOSE, step))
            model.partial_fit(rows.X, rows.y, **rows.weight, **rows.classes)
            if step in taken:
                yield step, copy.deepcopy(model)

    def _by_warm_start(self, rows: FitRows, seed: int, counter: str) -> Iterator[tuple[int, Any]]:
        """Raise the parameter that counts steps."""
        model = new_member(self.base, seed, 0).set_params(**{_warm_start_beside(counter): True})
        for step in self._taken(self._n_steps(counter)):
            model.set_params(**{counter: step}).fit(rows.X, rows.y, **rows.weight)
            yield step, copy.deepcopy(model)


def _warm_start_beside(counter: str) -> str:
    """Return the name of the warm_start that belongs to a parameter, which may be one of a nested estimator."""
    return f"{counter.rpartition('__')[0]}__warm_start" if "__" in counter else "warm_start"
