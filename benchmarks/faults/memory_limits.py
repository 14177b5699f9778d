"""``python -m benchmarks memory-limits``: fits of every estimator in processes that run out of memory.

Every run is a fork of this process, so that imports are behind it::

    fork ─► limit ─► fit, predict, save ─► MemoryError or success ─► no limit ─► fit: the fingerprint of a free process

Anything else is a failure: another exception, a signal, a hang, another model. Bisection finds the least memory that an
estimator can do with; further limits lie below it, where allocations of every size fail.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import signal
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.faults.children import in_child

if TYPE_CHECKING:
    from benchmarks.faults.every_estimator import Problem

MEGABYTE = 2**20
LIMITS = 10  # runs per estimator: half of them bisect, half are spread below what is enough
PLENTY = 256.0  # megabytes that are enough for every estimator

MEMORY_ERROR, SUCCESS, FAILURE = "MemoryError", "success", "failure"


@dataclass(frozen=True)
class Run:
    """How one run ended, and what it left on standard error if that was a failure."""

    case: str
    limit: float  # megabytes beyond what the process had
    outcome: str
    detail: str = ""


def address_space() -> int:
    """Bytes of address space that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


@contextlib.contextmanager
def limited(extra: float) -> Iterator[None]:
    """Give the process no more than so many megabytes beyond what it has."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (address_space() + int(extra * MEGABYTE), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def estimators() -> Any:
    """Return the module of all estimators: the command imports no library before it needs one."""
    from benchmarks.faults import every_estimator

    return every_estimator


def use(model: Any, problem: Problem) -> str:
    """Predict and save; return the fingerprint."""
    model.predict(problem.X)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.arb")
    return str(model.fingerprint())


def expected_fingerprint(name: str, problem: Problem) -> str:
    """Fingerprint of the model of a process without a limit."""
    status, answer, errors = in_child(lambda: use(estimators().CASES[name].fit(problem), problem))
    if status != 0:
        raise RuntimeError(f"{name} fails without a limit:\n{errors}")
    return str(answer)


def run(name: str, problem: Problem, limit: float, fingerprint: str) -> Run:
    """Use an estimator within the limit, then fit it without one."""

    def work() -> str:
        try:
            with limited(limit):
                found = use(estimators().CASES[name].fit(problem), problem)
            outcome = SUCCESS
        except MemoryError:
            found, outcome = fingerprint, MEMORY_ERROR
        again = use(estimators().CASES[name].fit(problem), problem)
        if not found == again == fingerprint:
            raise AssertionError(
                f"another model: {found[:8]} within the limit, {again[:8]} after, not {fingerprint[:8]}"
            )
        return outcome

    status, answer, errors = in_child(work)
    if status == 0:
        return Run(name, limit, answer)
    how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
    return Run(name, limit, FAILURE, f"{how}\n{errors}")


def sweep(problem: Problem, names: list[str], limits: int = LIMITS) -> Iterator[Run]:
    """Run every estimator under so many limits."""
    for name in names:
        fingerprint = expected_fingerprint(name, problem)
        too_little, enough = 0.0, PLENTY
        for step in range(limits):
            halving = step < limits // 2
            limit = (too_little * enough) ** 0.5 if halving and too_little else enough / 4
            if not halving:
                limit = enough * (step + 0.5 - limits // 2) / (limits - limits // 2)
            one = run(name, problem, limit, fingerprint)
            if one.outcome == SUCCESS:
                enough = min(enough, limit)
            else:
                too_little = max(too_little, limit)
            yield one


def add_options(command: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """Describe the options of the command."""
    command.set_defaults(run=main)
    add = command.add_argument
    add("--rows", type=positive, default=20_000, help="rows of the table")
    add("--limits", type=positive, default=LIMITS, help="limits per estimator")
    add("--estimators", default="", help="comma-separated beginnings of names; default: all")


def main(options: argparse.Namespace) -> int:
    """Sweep, and say how the runs ended; 1 if any failed."""
    warnings.simplefilter("ignore")
    wanted = tuple(options.estimators.split(","))
    names = [name for name in estimators().CASES if name.startswith(wanted)]
    problem = estimators().draw_problem(options.rows, 20)
    with in_one_thread():
        use_once(names)
        runs = []
        for one in sweep(problem, names, options.limits):
            runs.append(one)
            print(f"{one.case:45}  {one.limit:8.1f} MB  {one.outcome}", flush=True)
            if one.outcome == FAILURE:
                print(one.detail, flush=True)
    ends = Counter(one.outcome for one in runs)
    print(f"{len(runs)} runs: {ends[MEMORY_ERROR]} MemoryError, {ends[SUCCESS]} success, {ends[FAILURE]} failures")
    return 1 if ends[FAILURE] else 0


@contextlib.contextmanager
def in_one_thread() -> Iterator[None]:
    """Keep BLAS from starting threads: it does not survive that they cannot be started."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def use_once(names: list[str]) -> None:
    """Import what fits and files import when they are called.

    In one thread: each thread has a heap of its own, and forks would find room in the heaps that it leaves behind.
    """
    small = estimators().draw_problem(300, 4)
    for case in (estimators().CASES[name] for name in names):
        model = case.make()
        model.set_params(**{name: 1 for name in model.get_params() if name.endswith("n_jobs")})
        use(model.fit(small.X, **small.arguments(case.task)), small)
