"""``python -m benchmarks mutated-files``: load damaged files of every kind of model.

::

    model ─► file ─► mutation ─┬─ of bytes                                ─► load ─► ModelFileError
                               └─ of header, arrays, files inside; signed ─► load ─► ModelFileError or a model ─► use

A model that was loaded is used: it answers, or refuses in words of this package; and it can be saved and loaded again.
Anything else is a failure: another exception, a binding's message, a signal, a hang. Every file has a number, which
draws its mutation: ``--first 4711 --files 1`` tries one file again.
"""

from __future__ import annotations

import argparse
import io
import linecache
import mmap
import random
import signal
import struct
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.faults.children import in_child

if TYPE_CHECKING:
    from benchmarks.faults.every_estimator import Case

FILES = 60_000
BATCH = 250  # files per child
REFUSED, WORKS, DECLINES, FAILURE = "refused by load", "works", "declines to answer", "failure"
OF_MODEL = ("to_text", "importances", "fingerprint")  # the other methods take rows
METHODS = (
    *("predict", "predict_proba", "decision_function", "score_samples", "predict_survival_function", "apply"),
    *("predict_interval", "explain", *OF_MODEL),
)
BINDING = ("incompatible function arguments", "nanobind", "_kernel")


@dataclass(frozen=True)
class Outcome:
    """What became of one file."""

    number: int
    kind: str
    outcome: str
    detail: str = ""


@dataclass(frozen=True)
class Valid:
    """A file of a kind of model, and rows of its table."""

    kind: str
    data: bytes
    rows: Any


def kinds() -> dict[str, Callable[[], Valid]]:
    """Return how to make a valid file of each kind of model: of numbers, and of a table with text and holes."""
    from benchmarks.faults import every_estimator

    made: dict[str, Callable[[], Valid]] = {}
    for name, case in every_estimator.CASES.items():
        made[name] = lambda name=name, case=case: _valid(name, case, with_text=False)
        if "category statistics" not in name:  # whose categories are numbers
            made[f"{name}; text"] = lambda name=name, case=case: _valid(f"{name}; text", case, with_text=True)
    return made


def _valid(kind: str, case: Case, *, with_text: bool) -> Valid:
    import numpy as np
    import pandas as pd

    from benchmarks.faults import every_estimator

    problem = every_estimator.draw_problem(40, 3)
    X: Any = problem.X
    if with_text:
        X = pd.DataFrame(X, columns=["a", "b", "c"])
        X["b"] = X["b"].map(lambda value: f"level {value:.0f}")
        X.loc[3, "a"] = None
    model = case.make()
    known = model.get_params()
    small = {"n_estimators": 2, "min_samples_leaf": 2, "n_jobs": 1, "keep_bags": True}
    model.set_params(**{name: value for name, value in small.items() if name in known})
    buffer = io.BytesIO()
    model.fit(X, **problem.arguments(case.task)).save(buffer)
    return Valid(kind, buffer.getvalue(), X if with_text else np.tile(X, (2, 1)))  # more than FEW_ROWS


@cache
def valid(kind: str) -> Valid:
    """Return the file of a kind, fitted once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kinds()[kind]()


def mutated(kind: str, number: int) -> bytes:
    """Return the file of a number: bytes are changed in one of four, what they say in the others."""
    from benchmarks.faults.mutations import mutate, mutate_content

    rng = random.Random(f"{kind}, {number}")
    data = valid(kind).data
    return mutate(rng, data) if rng.random() < 0.25 else mutate_content(rng, data)


def outcome_of(kind: str, number: int) -> tuple[str, str]:
    """Load one file and use its model; say how that ended, and the traceback of a failure."""
    import arboretum as arb

    data = mutated(kind, number)
    try:
        model = arb.load(io.BytesIO(data))
    except arb.ModelFileError as error:
        return (FAILURE, _told(error)) if any(word in str(error) for word in BINDING) else (REFUSED, "")
    except Exception as error:
        return FAILURE, _told(error)
    return _use(model, valid(kind).rows)


def _use(model: Any, rows: Any) -> tuple[str, str]:
    import arboretum as arb

    outcome = WORKS
    for name in METHODS:
        error = _error_of(model, name, rows)
        if error is not None and not in_own_words(error):
            return FAILURE, f"{name}\n{_told(error)}"
        if error is not None and name == "predict":
            outcome = DECLINES
    try:
        buffer = io.BytesIO()
        model.save(buffer)
        again = arb.load(io.BytesIO(buffer.getvalue()))
    except Exception as error:
        return FAILURE, f"save\n{_told(error)}"
    if again.fingerprint() != model.fingerprint():
        return FAILURE, "another model after save and load"
    return outcome, ""


def _error_of(model: Any, name: str, rows: Any) -> Exception | None:
    try:
        method = getattr(model, name, None)
        if method is not None:
            method() if name in OF_MODEL else method(rows)
    except Exception as error:
        return error
    return None


def in_own_words(error: BaseException) -> bool:
    """Whether an error was raised on purpose: by a statement of this package."""
    import arboretum

    steps = traceback.extract_tb(error.__traceback__)
    at = Path(steps[-1].filename)
    own = Path(arboretum.__file__).parent in at.parents and isinstance(error, AttributeError | TypeError | ValueError)
    return own and linecache.getline(str(at), steps[-1].lineno or 0).strip().startswith("raise")


def _told(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def sweep(names: list[str], first: int, n_files: int) -> Iterator[Outcome]:
    """Try files from a number on, which take turns among the kinds; a crash costs its child and one file."""
    for name in names:
        valid(name)
    end = first + n_files
    with mmap.mmap(-1, 8) as position:
        while first < end:
            until = min(first + BATCH, end)
            status, answer, errors = in_child(lambda a=first, b=until: _batch(names, a, b, position))
            if status == 0:
                yield from (Outcome(*one) for one in answer)
                first = until
                continue
            (crashed,) = struct.unpack("<q", position[:8])
            yield from (Outcome(*one) for one in _batch(names, first, crashed, position))
            how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
            yield Outcome(crashed, names[crashed % len(names)], FAILURE, f"{how}\n{errors}")
            first = crashed + 1


def _batch(names: list[str], first: int, until: int, position: mmap.mmap) -> list[tuple[int, str, str, str]]:
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(first, until):
            position[:8] = struct.pack("<q", number)
            kind = names[number % len(names)]
            found.append((number, kind, *outcome_of(kind, number)))
    return found


def add_options(command: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """Describe the options of the command."""
    command.set_defaults(run=main)
    add = command.add_argument
    add("--files", type=positive, default=FILES, help="files to try; default: %(default)s")
    add("--first", type=int, default=0, help="number of the first file; default: %(default)s")
    add("--estimators", default="", help="comma-separated beginnings of names; default: all")


def main(options: argparse.Namespace) -> int:
    """Try the files, and say how they ended; 1 if any failed."""
    wanted = tuple(options.estimators.split(","))
    names = [name for name in kinds() if name.startswith(wanted)]
    ends: Counter[str] = Counter()
    for one in sweep(names, options.first, options.files):
        ends[one.outcome] += 1
        if one.outcome == FAILURE:
            print(f"file {one.number}, {one.kind}: {one.detail}", flush=True)
    counts = ", ".join(f"{ends[outcome]:,} {outcome}" for outcome in (REFUSED, WORKS, DECLINES, FAILURE))
    print(f"{ends.total():,} files of {len(names)} kinds of models: {counts}")
    return 1 if ends[FAILURE] else 0
