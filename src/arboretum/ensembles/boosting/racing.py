"""A race of settings on rows held out: which one suits the table (docs/boosting-defaults.md).

::

    fold by fold, each contestant that is left ──► a BoostingRun with steps several times as long
                     │ after every leg, its losses of the rows held out, by row, at its best round
                     ▼
    contestants that are worse than the best by more than some standard errors are out
                     │ after the last fold, or when one is left
                     ▼
    the default, unless another is better by more than two standard errors

Contestants run beside each other, with a share of the threads each; what is chosen does not depend on the threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.boosting.history import Patience
from arboretum.ensembles.boosting.problem import Training
from arboretum.ensembles.boosting.rounds import BoostingParams, BoostingRun, DivergedError
from arboretum.ensembles.boosting.rows import user_shape
from arboretum.ensembles.members.estimators import run_beside
from arboretum.exact_sums import exact_mean, exact_sum

FloatArray: TypeAlias = NDArray[np.float64]
Changes: TypeAlias = Mapping[str, Any]

RATE = 0.2  # a race takes steps about this long: with fewer rounds, the optimum is about as far away
MOST_ROUNDS, PATIENCE = 500, 25  # of a race, whatever is wanted of the fit
FOLDS, HELD_FOLDS = 5, 2  # rows are dealt out to folds, and some of them are held out in turn
# Standard errors by which a contestant must be worse than the best to be out, after so many rounds: some settings are
# slow to begin with. After the last leg, all that are left have finished the fold.
LEGS = {25: 12.0, 50: 4.0, math.inf: 1.5}
CLEARLY = 2.0  # standard errors by which another contestant must be better than the default: one outlier makes one
DEFAULT = "default"
# What contestants change; l2 in mean weights. A contestant takes part if all that it changes is left at its default.
OF_ALL: Mapping[str, Changes] = {
    DEFAULT: {},
    "few brakes": {"max_features": 0.6, "l2": 0.1, "subsample": 1.0},
}
OF_ONE_OUTPUT: Mapping[str, Changes] = {
    "small trees": {"max_leaf_nodes": 8, "max_features": 0.5, "l2": 3.0},
    "symmetric": {"growth": "symmetric", "max_features": 1.0, "l2": 1.0, "subsample": 1.0},
    "linear": {"growth": "symmetric", "leaf_model": "linear", "max_features": 1.0, "l2": 1.0, "subsample": 1.0},
}
OF_CLASSES: Mapping[str, Changes] = {  # one tree per round for all classes is quick, and often better
    "vector": {"vector_leaves": True, "max_features": 1.0, "l2": 0.1, "subsample": 1.0},
    "vector, some columns": {"vector_leaves": True, "max_features": 0.6, "l2": 1.0, "subsample": 1.0},
    "vector, symmetric": {
        "vector_leaves": True,
        "growth": "symmetric",
        "max_features": 1.0,
        "l2": 1.0,
        "subsample": 1.0,
    },
}
CONTESTANTS: Mapping[str, Changes] = {**OF_ALL, **OF_ONE_OUTPUT, **OF_CLASSES}


@dataclass(frozen=True)
class RaceResult:
    """What a race has tried and chosen.

    Parameters
    ----------
    chosen : str
        Name of the winner.
    changes : dict
        Parameters of the winner that differ from the given ones.
    losses : dict
        By contestant, the mean loss of the rows held out of each fold that it took part in, at its best round until
        it ended or was left behind.

    Examples
    --------
    >>> import numpy as np
    >>> import arboretum as arb
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> model = arb.BoostedTreesRegressor(n_estimators=20).fit(X, X[:, 0])
    >>> model.race_.chosen in model.race_.losses
    True
    """

    chosen: str
    changes: dict[str, Any]
    losses: dict[str, list[float]]

    def __str__(self) -> str:
        """Return the winner and its parameters.

        Examples
        --------
        >>> str(RaceResult("symmetric", {"growth": "symmetric", "l2": 0.1}, {}))
        "symmetric: growth='symmetric', l2=0.1"
        """
        changes = ", ".join(f"{name}={value!r}" for name, value in self.changes.items())
        return f"{self.chosen}: {changes}" if changes else self.chosen

    def to_json(self) -> dict[str, Any]:
        """Return what a model file stores."""
        return {"chosen": self.chosen, "changes": dict(self.changes), "losses": dict(self.losses)}

    @classmethod
    def from_json(cls, entry: Any) -> RaceResult:
        """Check and return the race of a file."""
        if not isinstance(entry, dict) or set(entry) != {"chosen", "changes", "losses"}:
            raise ValueError(f"race: expected chosen, changes and losses, found {entry!r:.80}")
        chosen, changes, losses = entry["chosen"], entry["changes"], entry["losses"]
        if not isinstance(chosen, str) or not isinstance(changes, dict) or not isinstance(losses, dict):
            raise ValueError(f"race: expected a name and two objects, found {entry!r:.80}")
        if not all(type(value) in (bool, int, float, str) for value in changes.values()):
            raise ValueError(f"race: expected changes that are numbers or words, found {changes!r:.80}")
        for found in losses.values():
            if not isinstance(found, list) or not all(type(loss) is float for loss in found):
                raise ValueError(f"race: expected lists of losses, found {found!r:.80}")
        return cls(chosen, changes, losses)


def contestants(changed: set[str], n_outputs: int, unit: float) -> dict[str, Changes]:
    """Return the contestants that change nothing of what users have ``changed``.

    Parameters
    ----------
    changed : set of str
        Parameters that are not at their defaults.
    n_outputs : int
        Raw predictions of a row: one, or one per class.
    unit : float
        Mean weight of a row, which penalties are multiples of.

    Examples
    --------
    >>> list(contestants(set(), n_outputs=1, unit=1.0))
    ['default', 'few brakes', 'small trees', 'symmetric', 'linear']
    >>> list(contestants({"growth"}, n_outputs=3, unit=1.0))
    ['default', 'few brakes', 'vector', 'vector, some columns']
    """
    return {
        name: {key: unit * value if key == "l2" else value for key, value in changes.items()}
        for name, changes in {**OF_ALL, **(OF_ONE_OUTPUT if n_outputs == 1 else OF_CLASSES)}.items()
        if not changed & set(changes)
    }


@dataclass(frozen=True, eq=False)
class Losses:
    """Losses of the same rows by different settings can be compared row by row.

    Parameters
    ----------
    values : ndarray
        Loss of each row.
    weight : ndarray, optional
        Weight of each row.
    """

    values: FloatArray
    weight: FloatArray | None

    @property
    def mean(self) -> float:
        """Weighted mean, rounded once."""
        return exact_mean(self.values, self.weight)

    def after(self, earlier: Losses | None) -> Losses:
        """Return the losses of earlier rows and of these."""
        if earlier is None:
            return self
        values = np.concatenate([earlier.values, self.values])
        if self.weight is None or earlier.weight is None:
            return Losses(values, None)
        return Losses(values, np.concatenate([earlier.weight, self.weight]))

    def error_beside(self, other: Losses) -> float:
        """Return the standard error of the difference of two means: √Σ w² (d − d̄)² / Σ w."""
        difference = self.values - other.values
        centred = difference - exact_mean(difference, self.weight)
        if self.weight is None:
            return math.sqrt(exact_sum(centred**2)) / len(centred)
        return math.sqrt(exact_sum((self.weight * centred) ** 2)) / exact_sum(self.weight)


class Lap:
    """A contestant on one fold.

    Parameters
    ----------
    training : Training
        Rows, with the parameters of the contestant and raw predictions of its own.
    """

    def __init__(self, training: Training) -> None:
        assert training.validation is not None
        self.held, self.is_over = training.validation, False
        self.pace = pace_of(training.run.params.learning_rate)
        params = quickened(training.run.params, self.pace)
        self.run = BoostingRun(**{**training.arguments(), "params": params, "judge": None})
        self.loss, self.at_best = self.run.fitted_loss(), self.held.raw.copy()
        self.has_diverged = False

    def run_until(self, n_rounds: float) -> None:
        """Boost until a number of rounds, or until the losses improve no more."""
        try:
            while not self.is_over and self.run.number < n_rounds:
                self.is_over = self.run.advance() is None
                if self.run.best_rounds is self.run.rounds:
                    self.loss, self.at_best[:] = self.run.fitted_loss(), self.held.raw
        except DivergedError:
            self.has_diverged = True
        self.has_diverged |= not np.isfinite(self.losses.values).all()

    @property
    def losses(self) -> Losses:
        """Losses of the rows held out at the best round so far."""
        return Losses(self.loss.values(self.held.y, user_shape(self.at_best)), self.held.weight)


def pace_of(rate: float) -> int:
    """Return how many steps of a fit a step of the race stands for.

    Examples
    --------
    >>> pace_of(0.05), pace_of(0.1), pace_of(0.3), pace_of(1e-320)
    (4, 2, 1, 1000000)
    """
    return max(1, round(min(RATE / rate, 1e6)))


def quickened(params: BoostingParams, pace: int) -> BoostingParams:
    """Return how a contestant is boosted: fewer, longer steps."""
    patience = params.patience
    assert patience is not None
    return replace(
        params,
        n_rounds=min(math.ceil(params.n_rounds / pace), MOST_ROUNDS),
        learning_rate=pace * params.learning_rate,
        patience=Patience(min(math.ceil(patience.rounds / pace), PATIENCE), patience.tolerance),
        track_training=False,
    )


def race(
    field: Mapping[str, Changes],
    folds: Iterable[Training],
    entered: Callable[[Training, str, int], Training],
    threads: int,
) -> RaceResult:
    """Let contestants race.

    Parameters
    ----------
    field : mapping of str to dict
        What each contestant changes.
    folds : iterable of Training
        Rows, some of them held out.
    entered : callable
        Makes the training of a contestant of a fold's training, the contestant's name, and its number of threads.
    threads : int
        Threads of all contestants together.
    """
    left, losses = list(field), dict[str, Losses]()
    told = {name: list[float]() for name in field}
    for fold in folds:
        laps = {name: Lap(entered(fold, name, max(1, threads // len(left)))) for name in left}
        for n_rounds, most in LEGS.items():
            advance_beside([laps[name] for name in left], n_rounds, threads)
            left = [name for name in left if not laps[name].has_diverged]
            if not left:  # the fit with the default will say so
                return RaceResult(DEFAULT, {}, told)
            so_far = {name: laps[name].losses.after(losses.get(name)) for name in left}
            left = unbeaten(so_far, most)
        for name, lap in laps.items():
            told[name] += [] if lap.has_diverged else [lap.losses.mean]
        losses = {name: so_far[name] for name in left}
        if len(left) == 1:
            break
    chosen = winner(losses)
    return RaceResult(chosen, dict(field[chosen]), told)


def advance_beside(laps: Sequence[Lap], n_rounds: float, threads: int) -> None:
    """Boost until a number of rounds, one contestant per thread."""
    beside = min(threads, len(laps))
    try:
        for _ in run_beside(lambda place: laps[place].run_until(n_rounds), range(len(laps)), beside, ours=True):
            pass
    except BaseException:  # Ctrl-C is heard by one thread; the others end after their round
        for lap in laps:
            lap.is_over = True
        raise


def best_of(field: Mapping[str, Losses]) -> str:
    """Return the name of the least loss, the first of equal ones."""
    return min(field, key=lambda name: field[name].mean)


def unbeaten(field: Mapping[str, Losses], most: float) -> list[str]:
    """Return the contestants that are not worse than the best by more than ``most`` standard errors."""
    best = field[best_of(field)]
    return [name for name, one in field.items() if one is best or one.mean - best.mean <= most * one.error_beside(best)]


def winner(field: Mapping[str, Losses]) -> str:
    """Return the name of the best among the default, if it is left, and those that clearly beat it."""
    if DEFAULT not in field:
        return best_of(field)
    base = field[DEFAULT]
    better = {
        name: one
        for name, one in field.items()
        if one is base or base.mean - one.mean > CLEARLY * base.error_beside(one)
    }
    return best_of(better)
