"""Checkpoints: a fit that is killed goes on where its file says, to the model that it would have become.

All state of a run can be derived from the data and the trees so far, so that a checkpoint is a model file with a note::

    round 1 … k        file: all k rounds, their losses, and what the fit was given (parameters, sums over its rows)
    killed
    same fit again     reads the rows, checks that they and the parameters are the same, predicts them by the k rounds,
                       and grows round k + 1 as if nothing had happened

A fit that holds rows out and then fits all of them (``refit``) has two phases, "search" and "again"; the file of the
second also tells what the first found. The last file, "done", is the fitted model.
"""

from __future__ import annotations

import numbers
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import arboretum
from arboretum import places
from arboretum.arguments import shown
from arboretum.ensembles.boosting.history import History
from arboretum.ensembles.boosting.known_again import sum_of
from arboretum.ensembles.boosting.model_notes import BoostingNotes
from arboretum.ensembles.boosting.problem import HeldRows, Problem
from arboretum.ensembles.boosting.racing import RaceResult
from arboretum.ensembles.boosting.recipe import Found, Phase, Resumed, notes_of
from arboretum.ensembles.boosting.rounds import Keep, Progress
from arboretum.ensembles.boosting.rows import Rows
from arboretum.estimators.classes import own_class
from arboretum.estimators.files import load, plain
from arboretum.estimators.standing_in import with_model
from arboretum.model.forest import Forest
from arboretum.model.model import Model
from arboretum.running.progress import RoundReport

if TYPE_CHECKING:
    from arboretum.estimators.boosted_trees import BoostedTrees

FREE = ("callbacks", "n_jobs", "time_limit", "verbose")  # may differ between a fit and its continuation


@dataclass(frozen=True)
class Checkpoint:
    """Where, and how often, a fit writes down how far it is.

    Parameters
    ----------
    path : path
        File that is replaced, whole or not at all; ``arboretum.load`` reads it as the model so far.
    rounds : int, optional
        Write every ``rounds`` rounds.
    seconds : float, optional
        Write when ``seconds`` seconds have passed; 60 if neither is given.

    Examples
    --------
    >>> import arboretum as arb, pathlib, tempfile
    >>> X, y = [[float(i)] for i in range(40)], [float(i % 7) for i in range(40)]
    >>> model = arb.BoostedTreesRegressor(n_estimators=20, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = arb.Checkpoint(pathlib.Path(folder) / "run.arb", rounds=5)
    ...     mark = model.fit(X, y, checkpoint=kept).fingerprint()
    ...     arb.load(kept.path).fingerprint() == mark
    True
    """

    path: str | os.PathLike[str]
    rounds: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike):
            raise TypeError(f"checkpoint={shown(self.path)}: give the path of a file, or a Checkpoint")
        if self.rounds is not None and (type(self.rounds) is not int or self.rounds < 1):
            raise ValueError(f"rounds={shown(self.rounds)} of a checkpoint: give an integer of at least 1, or None")
        if self.seconds is not None and (not isinstance(self.seconds, numbers.Real) or not self.seconds >= 0):
            raise ValueError(f"seconds={shown(self.seconds)} of a checkpoint: give a number of at least 0, or None")
        if self.rounds is None and self.seconds is None:
            object.__setattr__(self, "seconds", 60.0)


class CheckpointFile:
    """The checkpoint file of one fit.

    Parameters
    ----------
    checkpoint : Checkpoint
        Where it lies and how often it is written.
    model : BoostedTrees
        The estimator that is being fitted.
    """

    def __init__(self, checkpoint: Checkpoint, model: BoostedTrees) -> None:
        self.checkpoint, self.model = checkpoint, model
        self.path = Path(checkpoint.path)
        self.target_sum = 0
        self.found: Found | None = None
        self.saved: BoostedTrees | None = None
        self.note: dict[str, Any] = {}
        self.write: Callable[[BoostedTrees], object] = self.save  # places other than the driver's have no such file
        if self.path.exists():
            self._read()

    # ---- what an earlier process left ------------------------------------------------------------------------------

    def _read(self) -> None:
        saved: Any = load(self.path)
        notes = saved.learned().notes
        note = notes.checkpoint if isinstance(notes, BoostingNotes) else None
        if note is None:
            raise ValueError(
                f"checkpoint {str(self.path)!r} is a model that save() wrote, not a checkpoint, and would be "
                "overwritten: give another path"
            )
        found_class, wanted = type(saved).__name__, own_class(type(self.model)).__name__
        if found_class != wanted:
            raise self._other(f"it holds a {found_class}, not a {wanted}")
        self.saved, self.note = saved, note
        self._check_parameters()
        found = note["found"]
        if found is not None:
            race, shift = found.get("race"), found.get("shift")
            self.found = Found(
                found["n_rounds"],
                found["learning_rate"],
                History.from_json(found["history"]),
                None if race is None else RaceResult.from_json(race),
                None if shift is None else np.array(shift, dtype=np.float64),
            )

    def _check_parameters(self) -> None:
        there, here = self.note["params"], _shared_parameters(self.model)
        for name in sorted({*there, *here}):
            if there.get(name) != here.get(name):
                raise self._other(f"it was begun with {name}={there.get(name)!r}, this fit has {here.get(name)!r}")
        if self.note["library"] != arboretum.__version__:
            raise self._other(f"arboretum {self.note['library']} began it, this is {arboretum.__version__}")

    def check_target(self, problem: Problem, held: HeldRows) -> None:
        """Reject a file of other targets, weights or offsets."""
        of_held = [_as_array(part) for part in (held.y, held.weight, held.offset)]
        self.target_sum = sum_of([problem.y, problem.weight, problem.query, problem.offset, problem.group, *of_held])
        if self.saved is not None and self.note["target"] != self.target_sum:
            raise self._other("it was begun with other targets, weights, offsets or validation rows")

    def _other(self, difference: str) -> ValueError:
        return ValueError(
            f"checkpoint {str(self.path)!r} is that of another fit: {difference}; "
            "delete the file to begin anew, or give another path"
        )

    def resumed(self, again: bool) -> Resumed | None:
        """Trees of this phase, if the file has some."""
        if self.saved is None or self.note["phase"] != _phase(again):
            return None
        history = replace(self.saved.history_, stopped_by="rounds")
        progress = Progress(self.note["rounds"], history, self.note["seconds"])
        return Resumed(self.saved.forest_, self.note["seed"], progress)

    @property
    def finished(self) -> Model | None:
        """The fitted model, if the file holds it."""
        if self.saved is None or self.note["phase"] != "done":
            return None
        model = self.saved.model_
        return replace(model, notes=replace(notes_of(model), checkpoint=None))

    # ---- what this process leaves ----------------------------------------------------------------------------------

    def keeper(self, phase: Phase, freeze: Callable[[Forest, History], Model]) -> Keep:
        """Return what is called after each round of a phase; ``freeze`` makes a model of its trees."""
        resumed, parts = phase.resumed, phase.parts
        written = [0 if resumed is None else resumed.progress.rounds, time.monotonic()]
        is_of_file = resumed is not None and self.note.get("rounds") == resumed.progress.rounds
        if is_of_file and self.note["raw"] != _sum_of_raw(parts):
            raise self._other("it was begun with other rows")

        def keep(report: RoundReport, forest: Callable[[], Forest], history: History) -> None:
            passed = report.number - written[0], time.monotonic() - written[1]
            if not places.told(lambda: self._is_due(*passed)):
                return
            trees = forest() if resumed is None else Forest.concat([resumed.forest, forest()])
            sums = {"seconds": report.seconds, "raw": _sum_of_raw(parts)}
            note = {"phase": _phase(phase.again), "seed": phase.seed, **sums}
            model = freeze(trees, replace(history, stopped_by="checkpoint"))
            self._write(model, note | {"rounds": report.number})
            written[:] = [report.number, time.monotonic()]

        return keep

    def _is_due(self, rounds: float, seconds: float) -> bool:
        every = self.checkpoint
        return (every.rounds is not None and rounds >= every.rounds) or (
            every.seconds is not None and seconds >= every.seconds
        )

    def write_end(self, model: Model) -> None:
        """Write the fitted model."""
        self._write(model, {"phase": "done"})

    def save(self, model: BoostedTrees) -> None:
        """Replace the file."""
        model.save(self.path)

    def _write(self, model: Model, note: dict[str, Any]) -> None:
        found = None
        if self.found is not None:
            race, shift = self.found.race, self.found.shift
            about_race = {} if race is None else {"race": race.to_json()}
            about_shift = {} if shift is None else {"shift": shift.tolist()}
            rounds = {"n_rounds": self.found.n_rounds, "learning_rate": self.found.learning_rate}
            found = {**rounds, "history": self.found.history.to_json(), **about_race, **about_shift}
        params = _shared_parameters(self.model)
        about = {"library": arboretum.__version__, "params": params, "target": self.target_sum, "found": found}
        noted = replace(notes_of(model), checkpoint={**about, **note})
        self.write(with_model(self.model, replace(model, notes=noted)))


def _phase(again: bool) -> str:
    return "again" if again else "search"


def _shared_parameters(model: BoostedTrees) -> dict[str, Any]:
    """Parameters that a continuation must have too, as a file holds them."""
    return {name: plain(value) for name, value in model.get_params(deep=False).items() if name not in FREE}


def _as_array(values: Any) -> NDArray[Any] | None:
    return None if values is None else np.asarray(values)


def _sum_of_raw(parts: Sequence[Rows | None]) -> int:
    return sum_of([None if part is None else part.raw.T for part in parts])
