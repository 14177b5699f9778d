"""Which rows judge a model: the last in time, whole groups, or an equal share of each class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.cli.columns import Examples
from arboretum.cli.errors import DataError

Chosen = NDArray[np.bool_]
SEED = 0


def holdout(rows: Examples, task: str, share: float) -> tuple[Chosen, Chosen]:
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


def folds(rows: Examples, task: str, n: int) -> Iterator[tuple[Chosen, Chosen]]:
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


def _folds(rows: Examples, task: str, *, n: int | None = None, share: float = 0.0) -> NDArray[np.intp]:
    """Deal rows, or groups, into folds: n of equal size, or fold 0 of a share."""
    if rows.group is not None:
        _, unit = np.unique(rows.group, return_inverse=True)
        return _dealt(np.zeros(unit.max() + 1, dtype=np.intp), n, share)[unit]
    return _dealt(_strata(rows, task), n, share)


def _strata(rows: Examples, task: str) -> Any:
    parts = {"binary": [rows.y], "multiclass": [rows.y], "survival": [rows.event], "anomaly": [rows.y]}
    labels = [values for values in parts.get(task, [rows.treatment]) if values is not None]
    return np.unique(labels[0], return_inverse=True)[1] if labels else np.zeros(len(rows), dtype=np.intp)


def _dealt(stratum: NDArray[np.intp], n: int | None, share: float) -> NDArray[np.intp]:
    shuffled = np.random.default_rng(SEED).permutation(len(stratum))
    by_stratum = shuffled[np.argsort(stratum[shuffled], kind="stable")]
    place = np.arange(len(stratum))
    fold = np.empty(len(stratum), dtype=np.intp)
    # Dealt in turn through all strata, so that each fold has its share of each.
    fold[by_stratum] = place % n if n else np.where(np.floor((place + 1) * share) > np.floor(place * share), 0, 1)
    return fold
