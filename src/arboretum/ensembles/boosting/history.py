"""The history of boosting rounds, how rounds are judged, and when they have stopped improving.

::

    validation rows ──► raw predictions ──► loss                     History.validation_loss
                                       └──► Judge: a metric, a scorer   History.validation_score, if there is one
                                                     │
                        the round of least loss or best score is the best: History.best_round
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.losses import Loss

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Judge:
    """A score of the validation rows that compares rounds in place of the loss.

    ``function`` computes it from raw predictions of these rows, as losses see them, and the loss with what it has
    learned of its own.

    Examples
    --------
    >>> from arboretum.losses import SquaredError
    >>> judge = Judge("mean", True, lambda raw, loss: raw.mean())
    >>> judge.score(np.array([1.0, 3.0]), SquaredError())
    2.0
    """

    name: str
    greater_is_better: bool
    function: Callable[[FloatArray, Loss], float]

    def score(self, raw: FloatArray, loss: Loss) -> float:
        """Score raw predictions; raise an error if the score is not a finite number."""
        found = self.function(raw, loss)
        try:
            value = float(found)
        except (TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            raise ValueError(
                f"scoring={self.name!r} gives {found!r} for the validation rows, but rounds are compared by finite "
                "numbers: choose another scoring, or hold out more rows"
            )
        return value


@dataclass(frozen=True)
class Patience:
    """When to stop: after a number of rounds without an improvement by more than the tolerance.

    Examples
    --------
    >>> Patience(2).is_over([3.0, 1.0, 1.0, 1.5]), Patience(2).is_over([3.0, 1.0, 1.0, 0.9])
    (True, False)
    >>> Patience(2, tolerance=0.2).is_over([3.0, 1.0, 1.0, 0.9])
    True
    """

    rounds: int
    tolerance: float = 0.0

    def is_over(self, curve: Sequence[float]) -> bool:
        """Whether the last rounds of a curve, where lower is better, brought no improvement."""
        if len(curve) <= self.rounds:
            return False
        return min(curve[-self.rounds :]) >= min(curve[: -self.rounds]) - self.tolerance


@dataclass
class History:
    """Losses and scores after each round, and why boosting ended.

    ``scoring`` names what rounds were compared by: "loss", or what ``validation_score`` holds. A round that was added
    without validation rows has NaN. ``stride`` is how many rounds each entry stands for: rounds that folds have found
    with longer steps are measured at every second one.
    """

    training_loss: list[float] = field(default_factory=list)
    validation_loss: list[float] = field(default_factory=list)
    stopped_by: str = "rounds"
    validation_score: list[float] = field(default_factory=list)
    scoring: str = "loss"
    greater_is_better: bool = False
    stride: int = 1

    @property
    def curve(self) -> list[float]:
        """What rounds are compared by, lower is better: losses, or scores, negated if greater is better."""
        if not self.validation_score:
            return self.validation_loss
        return [-score for score in self.validation_score] if self.greater_is_better else self.validation_score

    @property
    def best_round(self) -> int | None:
        """Number of rounds with the least validation loss, or with the best score; None without validation."""
        best = self._best
        return None if best is None else self.stride * (best + 1)

    @property
    def best_value(self) -> float | None:
        """What the best round was chosen by; None without validation."""
        best = self._best
        return None if best is None else (self.validation_score or self.validation_loss)[best]

    @property
    def _best(self) -> int | None:
        curve = np.array(self.curve)
        return None if np.isnan(curve).all() else int(np.nanargmin(curve))

    def rounds(self, values: Sequence[float]) -> list[int]:
        """Return the numbers of the rounds that values of this history belong to.

        Examples
        --------
        >>> History(validation_loss=[3.0, 2.0], stride=2).rounds([3.0, 2.0])
        [2, 4]
        """
        return [self.stride * number for number in range(1, len(values) + 1)]

    def add(self, validation_loss: float | None, validation_score: float | None) -> None:
        """Add the loss and the score of a round."""
        self.validation_loss += [] if validation_loss is None else [validation_loss]
        self.validation_score += [] if validation_score is None else [validation_score]

    def copy(self) -> History:
        """Return a history to which rounds can be added."""
        return self.first(None)

    def first(self, n_rounds: int | None) -> History:
        """Return the history of the first rounds; None is all of them."""
        kept = None if n_rounds is None else n_rounds // self.stride
        return replace(
            self,
            training_loss=self.training_loss[:kept],
            validation_loss=self.validation_loss[:kept],
            validation_score=self.validation_score[:kept],
        )

    def by_round(self) -> History:
        """Return a history with an entry per round, NaN where none was measured."""

        def spread(values: list[float]) -> list[float]:
            return [value for one in values for value in (*[math.nan] * (self.stride - 1), one)]

        return replace(
            self,
            training_loss=spread(self.training_loss),
            validation_loss=spread(self.validation_loss),
            validation_score=spread(self.validation_score),
            stride=1,
        )

    def followed_by(self, later: History, n_rounds: int) -> History:
        """Join the history of the first ``n_rounds`` rounds and that of the rounds added to them."""

        def joined(known: list[float], added: list[float]) -> list[float]:
            unknown = [math.nan] * (n_rounds - len(known[:n_rounds])) if added else []
            return known[:n_rounds] + unknown + added

        if self.stride > 1:
            return self.by_round().followed_by(later, n_rounds)
        judged = later if later.validation_score else self
        comparable = self.scoring == judged.scoring
        return History(
            joined(self.training_loss, later.training_loss),
            joined(self.validation_loss, later.validation_loss),
            later.stopped_by,
            joined(self.validation_score if comparable else [], later.validation_score),
            judged.scoring,
            judged.greater_is_better,
        )

    def to_json(self) -> dict[str, object]:
        """Return what a model file stores; scores only if there are any."""
        found: dict[str, object] = {
            "training_loss": [float(value) for value in self.training_loss],
            "validation_loss": [float(value) for value in self.validation_loss],
            "stopped_by": self.stopped_by,
        }
        if self.validation_score:
            found["validation_score"] = [float(value) for value in self.validation_score]
            found |= {"scoring": self.scoring, "greater_is_better": self.greater_is_better}
        return found if self.stride == 1 else found | {"stride": self.stride}

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> History:
        """Check and return the history of a file."""
        history = cls(**entry)
        for values in (history.training_loss, history.validation_loss, history.validation_score):
            if not isinstance(values, list) or not all(type(value) is float for value in values):
                raise ValueError(f"history: expected lists of numbers, found {values!r:.80}")
        for text in (history.stopped_by, history.scoring):
            if not isinstance(text, str):
                raise ValueError(f"history: expected a text, found {text!r:.80}")
        if not isinstance(history.greater_is_better, bool):
            raise ValueError(f"history: greater_is_better is {history.greater_is_better!r:.80}, not true or false")
        if type(history.stride) is not int or history.stride < 1:
            raise ValueError(f"history: expected a stride of 1 round or more, found {history.stride!r:.80}")
        return history
