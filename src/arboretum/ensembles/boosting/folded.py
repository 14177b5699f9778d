"""A search over folds: runs side by side, one for each fold, compared by what they make of the rows left out.

::

    fold 1 │ held out │ trained on …        ──► loss after each round ┐
    fold 2 │ trained  │ held out │ …        ──► loss after each round ├ mean ──► History
    …                                                                 ┘

Runs may be under way, as those of a race are: their rounds so far count as if they had been grown here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import fsum
from time import monotonic

import numpy as np

from arboretum import places
from arboretum.ensembles.boosting.history import History, Patience
from arboretum.ensembles.boosting.rounds import BoostingRun
from arboretum.running.interruption import keeps_part
from arboretum.running.progress import Callback, RoundReport

AHEAD = 10  # rounds that a run grows before it waits for the others; those after the end are dropped


class FoldedRuns:
    """Rounds of several runs, until their mean loss or score improves no more.

    Parameters
    ----------
    runs : sequence of BoostingRun
        One for each fold, without patience of their own.
    shares : sequence of float
        How much each fold counts in the mean.
    patience : Patience, optional
        When to stop; None grows all rounds.
    beside : int
        Runs that grow at the same time, each in a thread.
    """

    def __init__(
        self, runs: Sequence[BoostingRun], shares: Sequence[float], patience: Patience | None, beside: int = 1
    ) -> None:
        self.runs, self.patience, self.beside = runs, patience, beside
        self.shares = np.asarray(shares) / np.sum(shares)
        first = runs[0].history
        self.history = History(scoring=first.scoring, greater_is_better=first.greater_is_better)

    def complete(self, callbacks: Sequence[Callback] = ()) -> History:
        """Boost until a rule says stop."""
        try:
            with ThreadPoolExecutor(self.beside) as pool:
                for report in self._reports(map if places.are_several() else pool.map):  # threads know no places
                    if any([callback(report) is True for callback in callbacks]):
                        self.history.stopped_by = "callback"
                        break
        except KeyboardInterrupt:
            if not keeps_part(len(self.runs[0].rounds)):
                raise
            self.history.stopped_by = "interrupt"
        return self.history

    def _reports(self, mapped: Callable[..., Iterable[bool]]) -> Iterator[RoundReport]:
        """Yield the mean of all runs after each round, until a rule says stop."""
        start, joined, ended = monotonic(), 0, [False]
        while not any(ended):
            ended = list(mapped(partial(grow_until, joined + AHEAD), self.runs))
            for number in range(joined, min(run.number for run in self.runs)):
                if self.is_over():
                    return
                yield self._joined(number, monotonic() - start)
                joined = number + 1
        if not self.is_over():  # the rounds or the time of a run are over
            self.history.stopped_by = self.runs[ended.index(True)].history.stopped_by

    def is_over(self) -> bool:
        """Return whether the mean improves no more, and remember it."""
        is_over = self.patience is not None and self.patience.is_over(self.history.curve)
        if is_over:
            self.history.stopped_by = "early stopping"
        return is_over

    def _joined(self, number: int, seconds: float) -> RoundReport:
        """Return the mean of a round, and remember it."""
        histories = [run.history for run in self.runs]
        training, loss, score = (
            self._mean([values[number] for values in parts if values])
            for parts in (
                [history.training_loss for history in histories],
                [history.validation_loss for history in histories],
                [history.validation_score for history in histories],
            )
        )
        self.history.training_loss += [] if training is None else [training]
        self.history.add(loss, score)
        return RoundReport(number + 1, self.runs[-1].params.n_rounds, seconds, training, loss, score)

    def _mean(self, parts: Sequence[float]) -> float | None:
        return fsum(self.shares * parts) if len(parts) == len(self.runs) else None


def grow_until(number: int, run: BoostingRun) -> bool:
    """Grow rounds up to a number of them; return whether a rule said stop before."""
    while run.number < number:
        if run.advance() is None:
            return True
    return False
