"""A search over folds: runs side by side, one for each fold, compared by what they make of the rows left out.

::

    fold 1 │ held out │ trained on …        ──► loss after each round ┐
    fold 2 │ trained  │ held out │ …        ──► loss after each round ├ mean ──► History
    …                                                                 ┘
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import fsum
from typing import TypeAlias

import numpy as np

from arboretum import places
from arboretum.ensembles.boosting.history import History, Patience
from arboretum.ensembles.boosting.rounds import BoostingRun
from arboretum.running.interruption import keeps_part
from arboretum.running.progress import Callback, RoundReport

Reports: TypeAlias = "list[RoundReport | None]"

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

    def _reports(self, mapped: Callable[..., Iterable[Reports]]) -> Iterator[RoundReport]:
        """Yield the mean of all runs after each round, until a rule says stop."""
        while True:
            for reports in zip(*mapped(grown, self.runs), strict=False):
                if self.patience is not None and self.patience.is_over(self.history.curve):
                    self.history.stopped_by = "early stopping"
                    return
                if None in reports:  # the rounds or the time of a run are over
                    self.history.stopped_by = self.runs[reports.index(None)].history.stopped_by
                    return
                yield self._joined([report for report in reports if report is not None])

    def _joined(self, reports: Sequence[RoundReport]) -> RoundReport:
        """Return the mean of a round, and remember it."""
        last = reports[-1]
        training, loss, score = (
            self._mean([getattr(report, part) for report in reports])
            for part in ("training_loss", "validation_loss", "validation_score")
        )
        self.history.training_loss += [] if training is None else [training]
        self.history.add(loss, score)
        return RoundReport(last.number, last.n_rounds, last.seconds, training, loss, score)

    def _mean(self, parts: Sequence[float | None]) -> float | None:
        known = [part for part in parts if part is not None]
        return fsum(self.shares * known) if len(known) == len(parts) else None


def grown(run: BoostingRun) -> Reports:
    """Grow a few rounds and report them; None comes last if a rule says stop."""
    reports: Reports = []
    while len(reports) < AHEAD and (not reports or reports[-1] is not None):
        reports.append(run.advance())
    return reports
