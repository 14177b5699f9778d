"""The same combined model for any number of threads, of arboretum and of BLAS."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from benchmarks.measuring import Bench
from benchmarks.rivals.base import by_target
from benchmarks.table import Column, Table
from benchmarks.task import Task
from benchmarks.workloads.combining import equal
from benchmarks.workloads.combining.members import three_kinds

JOBS, BLAS = (1, 2, 8), (1, 2)


def stacking(task: Task, **settings: Any) -> Any:
    """Return a stack of three kinds of our members, unfitted."""
    import arboretum as arb

    given = {"estimators": three_kinds("arboretum", task), **settings}
    return getattr(arb, by_target("Stacking", task))(**given)


def of_boosted(task: Task) -> Any:
    """Return a stack whose combination is boosted too."""
    import arboretum as arb

    return stacking(
        task, final_estimator=getattr(arb, by_target("BoostedTrees", task))(n_estimators=20), passthrough=True
    )


def blending(task: Task) -> Any:
    import arboretum as arb

    return getattr(arb, by_target("Blending", task))(estimators=three_kinds("arboretum", task))


def selection(task: Task) -> Any:
    import arboretum as arb

    return arb.EnsembleSelection(estimators=three_kinds("arboretum", task), prefit=False)


MODELS: dict[str, Callable[[Task], Any]] = {
    "stacking": stacking,
    "stacking, folds alone": lambda task: stacking(task, out_of_bag=False),
    "stacking, boosted": of_boosted,
    "stacking, also scikit-learn's": lambda task: stacking(task, estimators=equal.members(task)),
    "blending": blending,
    "selection": selection,
}


def mark(model: Any, task: Task) -> str:
    """Return the fingerprint; of a model with members of another library a hash of its predictions."""
    try:
        return str(model.fingerprint())
    except TypeError:
        found = model.predict(task.X_test) if task.kind == "regression" else model.predict_proba(task.X_test)
        return hashlib.sha256(np.ascontiguousarray(found).tobytes()).hexdigest()


def count(make: Callable[[Task], Any], task: Task) -> float:
    """Return the number of different models over all numbers of threads."""
    from threadpoolctl import threadpool_limits

    marks = set()
    for jobs, blas in product(JOBS, BLAS):
        with threadpool_limits(blas, user_api="blas"):
            marks.add(mark(make(task).set_params(n_jobs=jobs).fit(task.X, task.y), task))
    return float(len(marks))


def run(bench: Bench) -> Iterator[Table]:
    """Count different models."""
    title = f"different models over {', '.join(map(str, JOBS))} threads × {', '.join(map(str, BLAS))} of BLAS"
    table = Table("threads", title, [Column(kind, kind, 1) for kind in (*equal.KINDS, "most")], rows_are="model")
    for name, make in MODELS.items():
        row = {kind: count(make, equal.draw(bench, kind)) for kind in equal.KINDS}
        table.rows[name] = row | {"most": max(row.values())}
    yield table
