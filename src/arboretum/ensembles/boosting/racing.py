"""A race of settings on rows held out: which one suits the table (docs/boosting-defaults.md).

::

    fold by fold, each contestant that is left ──► a Lap: a BoostingRun with longer steps
                     │ after every leg, its losses of the rows held out, by row, at its best round
                     ▼
    contestants that are worse than the best by more than some standard errors are out
                     │ after the first fold also those that are hardly better than the default
                     ▼
    the default, unless another is better by more than two standard errors
                     │ laps of the winner go on until their mean loss improves no more (folded.py)
                     ▼
    the number of rounds for the fit of all rows

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

# Steps of a race are at least twice as long as those of the fit, but for fits with longer steps than RATE: with fewer
# rounds, the optimum is about as far away. Where rounds are sought, they are no longer: coarser ones find too few.
RATE, SEARCH_PACE = 0.1, 2
PATIENCE = 25  # of a contestant, whatever is wanted of the fit
FOLDS, HELD_FOLDS = 5, 2  # rows are dealt out to folds, and some of them are held out in turn
# Standard errors by which a contestant must be worse than the best to be out, after steps of so much in sum: some
# settings are slow to begin with. After the last leg, all that are left have finished the fold.
LEGS = {5.0: 12.0, 10.0: 4.0, 20.0: 2.5, 40.0: 2.0, 100.0: 1.5}
# Standard errors by which another contestant must be better than the default: to be heard again on the next fold, and
# to win. One outlier makes one.
HOPEFUL, CLEARLY = 0.5, 2.0
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
        Raw predictions of a row: one, or one per class. Those that do not depend on one another count as one.
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
    pace : int
        Rounds of a fit that one of its rounds stands for.
    """

    def __init__(self, training: Training, pace: int) -> None:
        assert training.validation is not None
        self.training, self.held, self.pace = training, training.validation, pace
        params = training.run.params
        self.patience = paced(params.patience, pace)
        self.run = BoostingRun(**{**training.arguments(), "params": quickened(params, pace)})
        self.loss, self.at_best = self.run.fitted_loss(), self.held.raw.copy()
        self.is_over = self.has_diverged = False

    def run_until(self, length: float) -> None:
        """Boost until the steps have a length in sum, or until the losses improve no more."""
        n_rounds = length / self.run.params.learning_rate
        patience = Patience(min(self.patience.rounds, PATIENCE), self.patience.tolerance)
        try:
            while not self.is_over and self.run.number < n_rounds:
                self.is_over = patience.is_over(self.run.history.curve) or self.run.advance() is None
                if self.run.best_rounds is self.run.rounds:
                    self.loss, self.at_best[:] = self.run.fitted_loss(), self.held.raw
        except DivergedError:
            self.has_diverged = True
        self.has_diverged |= not np.isfinite(self.losses.values).all()

    @property
    def losses(self) -> Losses:
        """Losses of the rows held out at the best round so far."""
        return Losses(self.loss.values(self.held.y, user_shape(self.at_best)), self.held.weight)


def pace_of(params: BoostingParams) -> int:
    """Return how many rounds of a fit a round of the race stands for."""
    rate = params.learning_rate
    pace = 1 if rate > RATE else max(SEARCH_PACE, int(min(RATE / rate, 1e6)))
    return min(pace, params.n_rounds)


def search_pace(params: BoostingParams) -> int:
    """Return how many rounds of a fit a round stands for where its number of rounds is sought."""
    return min(pace_of(params), SEARCH_PACE)


def paced(patience: Patience | None, pace: int) -> Patience:
    """Return the patience of a fit in rounds that stand for several.

    Examples
    --------
    >>> paced(Patience(50), 3).rounds
    17
    """
    assert patience is not None
    return Patience(math.ceil(patience.rounds / pace), patience.tolerance)


def quickened(params: BoostingParams, pace: int) -> BoostingParams:
    """Return how to boost with fewer, longer steps; when they end is decided elsewhere."""
    return replace(params, n_rounds=params.n_rounds // pace, learning_rate=pace * params.learning_rate, patience=None)


def race(
    field: Mapping[str, Changes],
    folds: Iterable[Training],
    entered: Callable[[Training, str, int], Training],
    threads: int,
) -> tuple[RaceResult, list[Lap]]:
    """Let contestants race; return the result, and the laps of the winner.

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
    left, losses, finished = list(field), dict[str, Losses](), dict[str, list[Lap]]()
    told = {name: list[float]() for name in field}
    for fold in folds:
        pace, each = pace_of(fold.run.params), max(1, threads // len(left))
        laps = {name: Lap(entered(fold, name, each), pace) for name in left}
        for length, most in LEGS.items():
            advance_beside([laps[name] for name in left], length, threads)
            left = [name for name in left if not laps[name].has_diverged]
            if not left:  # the fit with the default will say so
                return RaceResult(DEFAULT, {}, told), []
            so_far = {name: laps[name].losses.after(losses.get(name)) for name in left}
            left = unbeaten(so_far, most)
        so_far = {name: so_far[name] for name in left}
        for name, lap in laps.items():
            told[name] += [] if lap.has_diverged else [lap.losses.mean]
        losses = ahead(so_far, HOPEFUL)
        left = list(losses)
        finished = {name: [*finished.get(name, []), laps[name]] for name in left}
        if len(left) == 1:
            break
    chosen = best_of(ahead(losses, CLEARLY))
    return RaceResult(chosen, dict(field[chosen]), told), finished[chosen]


def advance_beside(laps: Sequence[Lap], length: float, threads: int) -> None:
    """Boost until the steps have a length in sum, one contestant per thread."""
    beside = min(threads, len(laps))
    try:
        for _ in run_beside(lambda place: laps[place].run_until(length), range(len(laps)), beside, ours=True):
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


def ahead(field: Mapping[str, Losses], errors: float) -> dict[str, Losses]:
    """Return the default, and who is better than it by more than some standard errors; all if the default is out."""
    if DEFAULT not in field:
        return dict(field)
    base = field[DEFAULT]
    return {
        name: one
        for name, one in field.items()
        if one is base or base.mean - one.mean > errors * base.error_beside(one)
    }
