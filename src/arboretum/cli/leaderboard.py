"""Methods side by side on the same rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from arboretum import Checkpoint
from arboretum.cli import cluster
from arboretum.cli.columns import Examples
from arboretum.cli.methods import check_offset, make, methods, preset_methods, takes_offset
from arboretum.cli.problem import Judging, Problem
from arboretum.cli.scores import baseline, judge, score
from arboretum.cli.terminal import Terminal
from arboretum.data.schema import NEWLY_MISSING
from arboretum.running.interruption import InterruptedFit
from arboretum.tasks import Task

BASELINE = "baseline"


@dataclass(frozen=True)
class Line:
    """How a method did: mean and deviation of metrics over the parts, seconds of all fits, the last model.

    ``constant`` is the loss that the model was trained for, if the best constant were the answer for all rows.
    """

    method: str
    mean: Mapping[str, float]
    deviation: Mapping[str, float]
    seconds: float
    failure: str | None = None
    constant: Mapping[str, float] = field(default_factory=dict)
    model: Any = field(default=None, repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {name: getattr(self, name) for name in ("method", "mean", "deviation", "seconds", "failure")}


def fit(
    model: Any,
    rows: Examples,
    *,
    time_limit: float | None = None,
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
    client: Any = None,
) -> Any:
    """Fit a model to rows, with a time limit and a progress bar if the method has them.

    With the ``client`` of a Dask cluster, its workers read the rows and fit.
    """
    known = model.get_params(deep=False)
    wanted = {"time_limit": time_limit, "verbose": int(progress)}
    model.set_params(**{name: value for name, value in wanted.items() if name in known and value})
    given = {} if checkpoint is None else {"checkpoint": checkpoint}
    keeps_groups = "groups" in rows.fit_arguments(model)  # not queries, which have a time
    if rows.time is not None and not keeps_groups and "time_ordered" in known:  # folds must not look ahead
        rows = rows.by_time()
        model.set_params(time_ordered=True)
    placed = {"X": rows.X, "y": rows.target, **rows.fit_arguments(model)}
    model.fit(**(placed if client is None else cluster.fit_arguments(client, rows, model)), **given)
    return model.set_params(verbose=known["verbose"]) if "verbose" in known else model


@contextmanager
def whole_fits() -> Iterator[None]:
    """Make Ctrl-C an error of the fits in the body, where half a model is not wanted."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", InterruptedFit)
        yield


def measure(method: str, make_model: Callable[[], Any], problem: Problem, judging: Judging, **fit_options: Any) -> Line:
    """Fit and judge one method on every part."""
    found: list[tuple[dict[str, float], dict[str, float]]] = []
    seconds, model = 0.0, None
    for learnt, judged in judging.parts(problem):
        started = time.perf_counter()
        model = fit(make_model(), learnt, **fit_options)
        seconds += time.perf_counter() - started
        with warnings.catch_warnings():
            if judging.test is None:  # parts of one table: by chance, all missing values of a column are in one
                warnings.filterwarnings("ignore", NEWLY_MISSING)
            found.append(judge(model, learnt, judged, problem.task))
    of_model, constant = zip(*found, strict=True)
    return Line(method, *_summary(of_model), seconds, constant=_summary(constant)[0], model=model)


def measure_baseline(problem: Problem, judging: Judging) -> Line:
    """Judge the baseline on the same parts."""
    found = [
        score(baseline(learnt, judged, problem.task), judged, problem.task) for learnt, judged in judging.parts(problem)
    ]
    return Line(BASELINE, *_summary(found), 0.0)


def _summary(found: Sequence[dict[str, float]]) -> tuple[dict[str, float], dict[str, float]]:
    names = [name for name in found[0] if all(name in scores for scores in found)]
    values = {name: [scores[name] for scores in found] for name in names}
    return {name: float(np.mean(values[name])) for name in names}, {name: float(np.std(values[name])) for name in names}


def candidates(
    task: Task, chosen: list[str] | None = None, *, with_offset: bool = False
) -> Mapping[str, Callable[[], Any]]:
    """Return what to compare: every method that suits the task, and boosting with the presets of other libraries.

    With offsets, only methods that take them; choosing another one is an error.

    Examples
    --------
    >>> from arboretum.tasks import REGRESSION, SURVIVAL
    >>> list(candidates(SURVIVAL))
    ['boosted', 'forest']
    >>> list(candidates(REGRESSION, ["tree", "boosted:lightgbm"]))
    ['tree', 'boosted:lightgbm']
    >>> list(candidates(SURVIVAL, with_offset=True))
    ['boosted']
    """
    every = [*methods(task), *preset_methods(task)]
    if with_offset:
        able = [name for name in every if takes_offset(name, task)]
        for name in chosen or able or every[:1]:
            check_offset(name, task)
        every = able
    entries = {name: partial(make, name, task) for name in chosen or every}
    for make_model in entries.values():
        make_model()  # a wrong name fails before the first fit
    return entries


def leader_board(
    terminal: Terminal,
    problem: Problem,
    judging: Judging,
    entries: Mapping[str, Callable[[], Any]],
    *,
    time_limit: float | None = None,
) -> list[Line]:
    """Judge each method on the same parts, and return the best first; lines of failed methods say why.

    After Ctrl-C the methods that are not done are "interrupted", and so is the terminal.
    """
    started = time.perf_counter()
    lines: list[Line] = []
    for name, make_model in entries.items():
        left = None if time_limit is None else time_limit - (time.perf_counter() - started)
        line = _line(terminal, name, make_model, problem, judging, left)
        terminal.remark(f"{name}: {line.failure or f'{line.seconds:.1f} s'}")
        lines.append(line)
    return ranked([*lines, measure_baseline(problem, judging)], problem.task)


def _line(
    terminal: Terminal,
    name: str,
    make_model: Callable[[], Any],
    problem: Problem,
    judging: Judging,
    time_left: float | None,
) -> Line:
    """Judge one method, or say why not."""
    reason = "interrupted"
    if not terminal.interrupted:
        try:
            if time_left is not None and time_left <= 0:
                raise ValueError("no time was left")
            limit = None if time_left is None else time_left / (judging.n_folds or 1)
            with whole_fits():
                return measure(name, make_model, problem, judging, time_limit=limit)
        except (KeyboardInterrupt, InterruptedFit):
            terminal.interrupted = True
        except (ValueError, TypeError) as error:
            reason = str(error).splitlines()[0]
    return Line(name, {}, {}, 0.0, reason)


def ranked(lines: list[Line], task: Task) -> list[Line]:
    """Sort by the first metric of the task; failures come last.

    Examples
    --------
    >>> from arboretum.tasks import REGRESSION
    >>> lines = [Line("a", {"rmse": 2.0}, {"rmse": 0.0}, 1.0), Line("b", {"rmse": 1.0}, {"rmse": 0.0}, 1.0)]
    >>> [line.method for line in ranked(lines, REGRESSION)]
    ['b', 'a']
    """
    metric, higher = next(iter(task.metrics.items()))
    sign = -1 if higher else 1
    return sorted(lines, key=lambda line: sign * line.mean[metric] if metric in line.mean else np.inf)
