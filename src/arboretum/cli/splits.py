"""Which rows judge a model: the last in time, whole groups, or an equal share of each class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.cli.columns import Examples
from arboretum.cli.errors import DataError
from arboretum.data.targets import unique_labels
from arboretum.tasks import Task

Chosen = NDArray[np.bool_]
SEED = 0
DEALT_ROWS = 100_000  # at a time


def holdout(rows: Examples, task: Task, share: float) -> tuple[Chosen, Chosen]:
    """Return rows to learn from and rows to judge by.

    Of a time column the last share is held out, rows of equal time together; of groups, whole groups.
    """
    if rows.time is not None:
        order = np.argsort(rows.time, kind="stable")
        cut = rows.time[order[max(1, round(len(rows) * (1 - share)))]]
        judged = rows.time >= cut
    else:
        judged = _folds(rows, task, share=share) == 0
    return _parts(judged)


def folds(rows: Examples, task: Task, n: int) -> Iterator[tuple[Chosen, Chosen]]:
    """Yield rows to learn from and rows to judge by; of a time column, each part is judged by what came before it."""
    if rows.time is not None:
        order = np.argsort(rows.time, kind="stable")
        cuts = rows.time[order[np.linspace(0, len(rows), n + 2)[1:-1].astype(np.intp)]]
        for start, end in zip(cuts, [*cuts[1:], None], strict=True):
            judged = (rows.time >= start) & (True if end is None else rows.time < end)
            learnt = rows.time < start
            if not learnt.any() or not judged.any():
                raise DataError(f"the time column has too few different values for {n} folds: use fewer with --cv")
            yield learnt, judged
        return
    fold = _folds(rows, task, n=n)
    for number in range(n):
        yield _parts(fold == number)


def _parts(judged: Chosen) -> tuple[Chosen, Chosen]:
    if judged.all() or not judged.any():
        raise DataError(f"{len(judged)} rows are too few to hold some out: give others with --test")
    return ~judged, judged


def _folds(rows: Examples, task: Task, *, n: int | None = None, share: float = 0.0) -> NDArray[Any]:
    """Deal rows, or groups, into folds: n of equal size, or fold 0 of a share."""
    if rows.group is not None:
        _, unit = np.unique(rows.group, return_inverse=True)
        return _dealt(np.zeros(unit.max() + 1, dtype=np.uint8), n, share)[unit]
    return _dealt(_strata(rows, task), n, share)


def _strata(rows: Examples, task: Task) -> NDArray[Any]:
    labels = task.strata(rows.y, rows.event, rows.treatment)
    if labels is None:
        return np.zeros(len(rows), dtype=np.uint8)
    known, stratum = unique_labels(labels)
    return stratum.astype(np.min_scalar_type(len(known)))


def _dealt(stratum: NDArray[Any], n: int | None, share: float) -> NDArray[Any]:
    """Deal in turn through all strata, so that each fold has its share of each; small types, for rows may be many."""
    rows = np.arange(len(stratum), dtype=np.min_scalar_type(len(stratum)))
    shuffled = np.random.default_rng(SEED).permutation(rows)
    by_stratum = shuffled[np.argsort(stratum[shuffled], kind="stable")]
    fold = np.empty(len(stratum), dtype=np.min_scalar_type(n or 1))
    for first in range(0, len(stratum), DEALT_ROWS):
        place = np.arange(first, min(first + DEALT_ROWS, len(stratum)))
        dealt = place % n if n else np.floor((place + 1) * share) == np.floor(place * share)
        fold[by_stratum[first : first + DEALT_ROWS]] = dealt
    return fold
