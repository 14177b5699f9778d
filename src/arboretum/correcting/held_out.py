"""Models and their predictions for unseen rows, from which corrections are learned.

::

    "cross"   rows ──► folds ──► a model of all other folds predicts each fold;  one of all rows predicts for users
    "split"   rows ──► two shares ──► the model of the first predicts the second, and predicts for users
    "oob"     a forest of all rows predicts each row by the trees that have not drawn it, and predicts for users
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.arguments import shown
from arboretum.data import targets
from arboretum.data.schema import Schema
from arboretum.ensembles.bagging.resampling import Bag, Keys, Positions
from arboretum.ensembles.bagging.trees import is_whole
from arboretum.ensembles.members.estimators import is_classifier, require_estimator, unfitted
from arboretum.ensembles.members.goals import Goal
from arboretum.ensembles.members.tables import GivenTable
from arboretum.ensembles.recipe import Recipe
from arboretum.model.arrays import Arrays
from arboretum.model.members import Header, Joint, Members
from arboretum.parameters.checking import seed_of
from arboretum.parameters.declaring import MOST, Anything, Choice, Number, like, parameter, parameter_group
from arboretum.parameters.shared import Seed

FloatArray: TypeAlias = NDArray[np.float64]

FOLD_PURPOSE = 0x666F6C6473  # "folds": keeps these draws apart from all others of the same seed
ODD = 0x9E3779B97F4A7C15  # spreads changes of the seed into the upper bits of a key, which order the rows
ROUNDING = 1e-9
WAYS = ("cross", "split", "oob")


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings about missing values and categories that a fold has and the rest lacks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


@parameter_group("Calibration")
class Calibrating:
    """Source of rows that a model has not seen."""

    estimator: Any = parameter(None, Anything("estimator"), "The model to correct.")
    calibration: str = parameter(
        "cross",
        Choice(*WAYS),
        'Source of rows that the model has not seen. "cross" fits a model without each of ``n_folds`` folds, and '
        'one to all rows, which predicts. "split" fits one model and holds a share of the rows out. "oob" fits one '
        "forest and takes its out-of-bag predictions.",
    )
    n_folds: int = parameter(5, Number(2, MOST, integer=True), 'Folds of "cross"<spread>.')
    calibration_fraction: float = parameter(
        0.2, Number(0.0, 0.9, open_low=True), 'Share of the rows that "split" holds out<halves>.'
    )
    random_state: Any = like(Seed, doc="Seed of folds and shares.")


@dataclass(frozen=True, eq=False)
class Corrected(Joint):
    """A model and what corrects it.

    Parameters
    ----------
    calibration : {"cross", "split", "oob"}
        Where the correction was learned.
    """

    calibration: str

    def facts(self) -> Header:
        """Return where the correction was learned."""
        return {"calibration": self.calibration}

    def identity(self, prints: Mapping[str, str], schema: Schema | None) -> Header:
        """Return the fingerprints by name."""
        return {"models": dict(prints)}

    @staticmethod
    def bases_to_json(calls: Sequence[tuple[str | int, Header]]) -> Header:
        """Return what was corrected; an explicit None if it was the default."""
        return {"estimator": calls[0][1] if calls else None}

    @classmethod
    def part_names(cls, header: Header, arrays: Arrays) -> list[str]:
        """Return the name of the model that predicts for users."""
        return ["estimator"]


def read_way(header: Header, ways: Sequence[str] = WAYS) -> str:
    """Return where the correction of a file was learned."""
    if (found := header["calibration"]) not in ways:
        raise ValueError(f"calibration is {found!r:.80}: expected one of {', '.join(ways)}")
    return str(found)


@dataclass(frozen=True, eq=False)
class Unseen:
    """Rows that a model has not seen, as positions among rows of positive weight, with its predictions for them."""

    model: Any
    rows: Positions
    prediction: FloatArray
    weight: FloatArray


@dataclass(frozen=True, eq=False)
class Predicted:
    """The model that predicts for users, and predictions of models for rows that they have not seen.

    Parameters
    ----------
    model : estimator
        Predicts for users.
    goal : Goal
        The goal after reading the target.
    y : ndarray
        Codes or numbers of the rows that have weight.
    unseen : list of Unseen
        Each row at most once.
    source : GivenTable
        All rows.
    kept : ndarray
        Positions of those that have weight.
    """

    model: Any
    goal: Goal
    y: FloatArray
    unseen: list[Unseen]
    source: GivenTable
    kept: Positions

    def table(self, rows: Positions) -> Any:
        """Return rows as the user gave them."""
        return self.source.part(self.kept[rows], None)


@dataclass(frozen=True, eq=False)
class HeldOut(Recipe[Calibrating, Goal]):
    """Fits of any estimator that leave rows to be predicted.

    Parameters
    ----------
    base : estimator
        What is fitted.
    """

    base: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Predicted:
        """Fit the model that predicts for users, and predict each row by a model that has not seen it."""
        given, base = self.given, self._checked_base()
        source = GivenTable(base, X)
        column = self.goal.as_column(y, source.n_rows)
        weight = targets.training_weights(sample_weight, source.n_rows)
        if weight is not None and not source.takes_weights:
            raise ValueError(f"sample_weight is given, but fit of {type(base).__name__} does not take it: leave it out")
        kept = np.arange(source.n_rows) if weight is None else np.flatnonzero(weight)
        goal, numbers = self.goal.read(column[kept])
        source.prepare(column[kept], None, kept, 1)
        weight = np.ones(len(kept)) if weight is None else weight[kept]
        folds = self._folds(source.keys(numbers, kept), weight, goal.strata(numbers), seed_of(given.random_state))

        def fitted(of_rows: FloatArray) -> Any:
            some = np.flatnonzero(of_rows)
            return source.fit(unfitted(base), Bag(kept[some], np.ones(len(some), np.int64), of_rows[some]), 1)

        def fitted_without(held: FloatArray) -> Any:
            rest = weight - held
            goal.check_rest(source.y[kept[rest > 0]])
            return fitted(rest)

        def predicted(model: Any, held: FloatArray) -> Unseen:
            rows = np.flatnonzero(held)
            with quiet():
                return Unseen(model, rows, goal.outcome(model, source.part(kept[rows], None)), held[rows])

        if given.calibration == "oob":
            model = fitted(weight)
            known = goal.out_of_bag(model)
            parts = [(np.flatnonzero(~np.isnan(known[:, 0]) & (held > 0)), held) for held in folds]
            unseen = [Unseen(model, rows, known[rows], held[rows]) for rows, held in parts if len(rows)]
        elif given.calibration == "split":
            model = fitted_without(np.sum(folds, axis=0))
            unseen = [predicted(model, held) for held in folds]
        else:
            unseen = [predicted(fitted_without(held), held) for held in folds]
            model = fitted(weight)
        return Predicted(model, goal, numbers, unseen, source, kept)

    def members(self, found: Predicted, joint: Corrected, others: Mapping[str, Any] | None = None) -> Members:
        """Return the model that predicts for users, with its correction, and other models that this needs."""
        bases = [] if self.given.estimator is None else [("estimator", self.given.estimator)]
        return Members({"estimator": found.model, **(others or {})}, joint, bases, name=self.name)

    def _checked_base(self) -> Any:
        """Return the estimator to fit, with out-of-bag predictions switched on if they are needed."""
        base = self.base
        require_estimator(base)
        if is_classifier(base) != self.goal.classifies:
            wanted = "a classifier" if self.goal.classifies else "a regressor"
            raise ValueError(f"estimator={shown(base)} is not {wanted}, which {self.name} needs")
        self.goal.check_base(base)
        if self.given.calibration != "oob":
            return base
        if "oob_score" not in base.get_params():
            raise ValueError(
                f"calibration='oob' needs an estimator with out-of-bag predictions, such as a random forest, not "
                f"{type(base).__name__}: use calibration='cross'"
            )
        return unfitted(base).set_params(oob_score=True)

    def _folds(self, keys: Keys, weight: FloatArray, strata: NDArray[Any] | None, seed: int) -> list[FloatArray]:
        """Return the weight of each row in each fold; the two folds of "split" are halves of the held-out share.

        Rows are dealt by a hash of their content, so that their order does not matter; a row of weight 3 is dealt as
        three equal rows.
        """
        given = self.given
        salt = np.uint64(_kernel.draw(seed, FOLD_PURPOSE, 0))
        mixed = (keys ^ salt) * np.uint64(ODD)
        copies = weight.astype(np.int64) if is_whole(weight) else np.ones(len(keys), dtype=np.int64)
        order = np.lexsort((weight, mixed, np.zeros(len(keys)) if strata is None else strata))
        pool = np.repeat(order, copies[order])
        place = np.arange(len(pool))
        if given.calibration == "split":
            share = float(given.calibration_fraction)
            held = np.floor((place + 1) * share + ROUNDING) > np.floor(place * share + ROUNDING)
            if not held.any() or held.all():
                raise ValueError(
                    f"calibration_fraction={share:g} leaves no row to fit or none to calibrate on: X has n_samples="
                    f"{len(keys)}; give more rows"
                )
            dealt = [held & (np.cumsum(held) % 2 == half) for half in (1, 0)]
        else:
            if len(pool) < given.n_folds:
                raise ValueError(f"n_folds={given.n_folds}, but X has n_samples={len(keys)}: give more rows")
            dealt = [place % given.n_folds == fold for fold in range(int(given.n_folds))]
        return [np.bincount(pool[fold], minlength=len(keys)) * (weight / copies) for fold in dealt if fold.any()]
