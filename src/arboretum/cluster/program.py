"""The fit that every place runs: that of one machine, on a Dataset of its own partitions."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import arboretum
from arboretum import places
from arboretum.cluster.place import Place
from arboretum.cluster.sorting import in_ranges
from arboretum.cluster.spooling import Spooled, SpooledRows
from arboretum.data.dataset import Dataset
from arboretum.data.targets import query_numbers
from arboretum.elementary import bounded_exp, log
from arboretum.ensembles.boosting.goals import Survival
from arboretum.ensembles.boosting.history import History
from arboretum.ensembles.boosting.model_notes import trees_of_round
from arboretum.ensembles.boosting.problem import HeldRows, Problem
from arboretum.ensembles.boosting.recipe import Found, Journal, Phase, Resumed
from arboretum.ensembles.boosting.rounds import Keep, Progress
from arboretum.losses.survival_targets import survival_bounds
from arboretum.model.forest import Forest
from arboretum.model.model import Model
from arboretum.running.progress import RoundReport, followed_by
from arboretum.running.warning import heard_by

GO, STOP, INTERRUPT = "go", "stop", "interrupt"  # what the driver says after a round


@dataclass(frozen=True)
class PlacedRows:
    """Partitions of one place.

    ``named`` is whether columns go by name, or by position as those of arrays do.
    """

    partitions: Sequence[Spooled]
    named: bool

    def dataset(self) -> Dataset:
        """Return the rows."""
        return Dataset(SpooledRows(self.partitions), named=self.named)


@dataclass(frozen=True)
class Task:
    """What a place is to do.

    Parameters
    ----------
    estimator : Estimator
        With the parameters of the fit.
    rows : PlacedRows
        Training rows.
    held : PlacedRows, optional
        Validation rows.
    arguments : dict
        Other arguments of ``fit``: names of columns, and numbers.
    listens : bool
        Whether the driver answers after each round.
    tracks : bool
        Whether the training loss is followed, for callbacks or a progress bar of the driver.
    journal : CheckpointFile, optional
        The checkpoint that the user asked for; the driver writes it.
    """

    estimator: Any
    rows: PlacedRows
    held: PlacedRows | None
    arguments: dict[str, Any]
    listens: bool
    tracks: bool
    journal: Any = None


def fit_in_place(place: Place) -> Any:
    """Fit, together with all other places; return the fitted Model."""
    task: Task = place.given
    places.begin("read")
    check_alike()
    arguments = dict(task.arguments)
    rows = arranged(task.rows.dataset(), task.estimator, arguments)
    if task.held is not None:
        group = arguments.get("group_val", arguments.get("group"))
        arguments["X_val"] = sorted_by_group(task.held.dataset(), group)
    listening = places.bound(Listening(place, task.listens))
    own = {"callbacks": [_followed] if task.tracks else None, "n_jobs": place.worker.state.nthreads}
    model = task.estimator.set_params(**known_of(task.estimator, own))
    if hasattr(model, "journal"):  # a fit whose rounds follow each other goes on from the last one
        arguments["checkpoint"] = _journal(place, task.journal)
    told = heard_by(lambda message, category: place.news.add("warning", (message, category)))
    with told, followed_by(listening):
        model.fit(rows, **arguments)
    check_equal(model.fingerprint())
    return model.model_


def arranged(rows: Dataset, estimator: Any, arguments: Mapping[str, Any]) -> Dataset:
    """Return training rows in the order of places that the goal sorts rows by: of queries, or of times."""
    if isinstance(getattr(estimator, "goal", lambda: None)(), Survival):
        chosen = rows.select(arguments["target"])
        return in_ranges(rows, survival_bounds(places.kept(chosen.to_frame))[:, 0])
    return sorted_by_group(rows, arguments.get("group"))


def sorted_by_group(rows: Dataset, group: str | None) -> Dataset:
    """Return rows of which no query is parted, if they have queries."""
    if group is None:
        return rows
    ids = places.kept(rows.select([group]).whole_column)
    query_numbers(ids, len(ids))  # rejects ids that are missing or cannot be compared
    return in_ranges(rows, ids)


def known_of(estimator: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return those of some parameters that an estimator has."""
    return {name: value for name, value in params.items() if name in estimator.get_params(deep=False)}


def _journal(place: Place, asked_for: Any) -> MemoryJournal:
    """Return what records the rounds of a fit at a place, and in the checkpoint that the user asked for."""
    place.memory = place.memory or Remembered()
    if asked_for is not None:
        asked_for.write = (lambda saved: place.news.add("checkpoint", saved)) if places.index() == 0 else _ignored
    return MemoryJournal(place.memory, asked_for)


def _followed(report: RoundReport) -> None:
    """Stand for callbacks of the driver."""


def _ignored(saved: Any) -> None:
    """Leave writing to place 0."""


def environment() -> dict[str, str]:
    """Return what must be alike at all places."""
    points = np.linspace(0.01, 30.0, 999)
    found = np.concatenate([function(points) for function in (bounded_exp, log, np.exp, np.log)])
    return {
        "the version of arboretum": arboretum.__version__,
        "the bits of exponentials and logarithms": hashlib.blake2b(found.tobytes(), digest_size=8).hexdigest(),
        "the order of bytes": sys.byteorder,
    }


def check_alike() -> None:
    """Reject workers that would compute something else."""
    found = places.gathered(lambda: (platform.node(), environment()))
    host, first = found[0]
    for other, theirs in found[1:]:
        for name, value in first.items():
            if theirs[name] != value:
                raise RuntimeError(
                    f"workers differ in {name}: {value} on {host}, {theirs[name]} on {other}; give all workers the "
                    "same environment"
                )


def check_equal(fingerprint: str) -> None:
    """Reject models that differ between places, which must never be."""
    found = places.gathered(lambda: fingerprint)
    if len(set(found)) > 1:
        raise RuntimeError(f"places have different models, {found}: please report this")


class Listening:
    """Tells the driver of each round at place 0, and all places what it says.

    Parameters
    ----------
    place : Place
        This place.
    waits : bool
        Whether the driver answers each time; if not, only its wish to stop is looked for.
    """

    def __init__(self, place: Place, waits: bool) -> None:
        self.place, self.waits = place, waits

    def __call__(self, report: RoundReport) -> bool:
        """Return whether to stop after this round."""
        said = places.told(lambda: self._hear(report))
        if said == INTERRUPT:
            raise KeyboardInterrupt
        return said == STOP

    def _hear(self, report: RoundReport) -> str:
        moved = None if len(self.place.actors) == 1 else self.place.moved_bytes
        self.place.news.add("round", replace(report, moved_bytes=moved))
        if self.waits:
            said: str = self.place.mailbox.take(("said", report.number))
            return said
        return INTERRUPT if self.place.mailbox.holds(("interrupt",)) else GO


@dataclass
class Remembered:
    """How far a fit is: what a place keeps in memory for an attempt after this one.

    Raw predictions are not kept: all places predict them from the trees so far, as the one that was lost must do.
    """

    found: Found | None = None
    again: bool = False
    seed: int = 0
    n_rounds: int = 0  # of this phase
    history: History = field(default_factory=History)
    seconds: float = 0.0
    forest: Forest | None = None
    later: Callable[[], Forest] | None = None  # makes the forest of the rounds since ``forest``
    trees_per_round: int = 1

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what belongs to a place."""
        return {**vars(self), "forest": self.whole(), "later": None}

    def whole(self) -> Forest | None:
        """Return the trees of all rounds that are complete."""
        if self.later is None or not self.n_rounds:
            return self.forest
        later = self.later()
        forest = later if self.forest is None else Forest.concat([self.forest, later])
        return forest[: self.n_rounds * trees_of_round(forest, self.trees_per_round)]


class MemoryJournal:
    """A checkpoint in memory: a fit that lost a place goes on from its last round.

    Parameters
    ----------
    memory : Remembered
        How far the fit is.
    inner : Journal, optional
        The checkpoint that the user asked for.
    """

    def __init__(self, memory: Remembered, inner: Journal | None) -> None:
        self.memory, self.inner = memory, inner

    @property
    def finished(self) -> Model | None:
        """The fitted model, if an earlier process has finished."""
        return None if self.inner is None else self.inner.finished

    @property
    def found(self) -> Found | None:
        """What a search on held-out rows has found."""
        return self.memory.found or (None if self.inner is None else self.inner.found)

    @found.setter
    def found(self, found: Found) -> None:
        if self.memory.found is None:
            vars(self.memory).update(vars(Remembered(found=found, again=True)))
        if self.inner is not None:
            self.inner.found = found

    def check_target(self, problem: Problem, held: HeldRows) -> None:
        """Reject a checkpoint of other targets; rows that are read again are known by their digest."""
        if self.inner is not None:
            self.inner.check_target(problem, held)

    def resumed(self, again: bool) -> Resumed | None:
        """Return where a phase goes on."""
        memory = self.memory
        if not memory.n_rounds or memory.again != again:
            return None if self.inner is None else self.inner.resumed(again)
        memory.forest, memory.later = memory.whole(), None
        assert memory.forest is not None
        progress = Progress(memory.n_rounds, replace(memory.history, stopped_by="rounds"), memory.seconds)
        return Resumed(memory.forest, memory.seed, progress)

    def keeper(self, phase: Phase, freeze: Callable[[Forest, History], Model]) -> Keep:
        """Return what is called after each round of a phase."""
        memory, of_inner = self.memory, None if self.inner is None else self.inner.keeper(phase, freeze)
        memory.again, memory.seed, memory.trees_per_round = phase.again, phase.seed, phase.trees_per_round
        memory.forest = None if phase.resumed is None else phase.resumed.forest

        def keep(report: RoundReport, forest: Callable[[], Forest], history: History) -> None:
            memory.later, memory.history = forest, history.copy()
            memory.n_rounds, memory.seconds = report.number, report.seconds
            if of_inner is not None:
                of_inner(report, forest, history)

        return keep

    def write_end(self, model: Model) -> None:
        """Write the fitted model to the checkpoint that the user asked for."""
        if self.inner is not None:
            self.inner.write_end(model)
