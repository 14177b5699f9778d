"""Columns by themselves: constants, identifiers, missing values and categories that training rows did not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data.schema import MISSING, UNKNOWN, ColumnSchema
from arboretum.report.chance import LEVEL, normal_limit
from arboretum.report.columns import each_column
from arboretum.report.findings.finding import LEAST_ROWS, Finding, Grade, counted_rows
from arboretum.report.subject import Subject

ALONE = 0.8  # share of rows whose category no other row has
NOTED_SHARE, WORRYING_SHARE = 0.01, 0.05  # of rows with missing or unseen values


def find(subject: Subject) -> Iterator[Finding]:
    """Look at every column in the training rows, if they are known, and in the rows of the report."""
    nodes = subject.use_by_trees("nodes")
    shares = [None] * subject.schema.n_features if nodes is None else (nodes / max(nodes.sum(), 1.0)).tolist()
    train: list[Any] = [None] * subject.schema.n_features
    if subject.train is not None:
        train = [values for _, values in each_column(subject.train.table)]
    tested = each_column(subject.test.table)
    for at_fit, (column, after), before, share in zip(subject.schema.columns, tested, train, shares, strict=True):
        known = after if before is None else before
        yield from _constant(column, known, "training row" if before is not None else "row of this report")
        yield from _identifier(column, known, before is not None and after, share)
        yield from _new_missing(column, before, after, at_fit.has_missing)
        if column.kind == "categorical":
            yield from _new_categories(column, before, after)


def _is_missing(column: ColumnSchema, values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(values == MISSING if column.kind == "categorical" else np.isnan(values))


def _constant(column: ColumnSchema, values: NDArray[Any], rows: str) -> Iterator[Finding]:
    missing = _is_missing(column, values)
    known = values[~missing]
    if len(values) < 2 or (len(known) and (missing.any() or (known != known[0]).any())):
        return
    what = "is missing" if missing.all() else "has the same value"
    text = f"{column.name} {what} in every {rows}."
    yield Finding("note", "constant column", text, "Remove it; no split can use it.", column.name)


def _identifier(column: ColumnSchema, known: NDArray[Any], after: Any, share: float | None) -> Iterator[Finding]:
    """Name columns whose values tell rows apart: texts of which most occur once, whole numbers that all differ."""
    values = known[~_is_missing(column, known)]
    if len(values) < LEAST_ROWS:
        return
    if column.kind == "categorical":
        counts = np.bincount(values[values >= 0])  # without training rows, some may be unknown
        if (counts == 1).sum() > ALONE * len(values):
            found = int((counts > 0).sum())
            text = f"{column.name} has {found:,} different values in {len(values):,} rows: it names rows."
            cure = "Remove it: what the model learns from it holds for no other row."
            yield Finding("note" if share == 0 else "serious", "identifier", text, cure, column.name)
        return
    if column.source != "number" or not (values == np.floor(values)).all() or not _all_differ(values, after):
        return
    text = f"{column.name} holds {len(values):,} whole numbers that are all different, as numbers of rows are."
    cure = "Remove it if it only numbers rows: what the model learns from it is the order in which they were written."
    yield Finding("note" if share == 0 else "caution", "identifier", text, cure, column.name)


def _all_differ(values: NDArray[Any], after: Any) -> bool:
    both = np.concatenate([values, after[~np.isnan(after)]]) if isinstance(after, np.ndarray) else values
    rising = np.sort(both)
    return bool(np.isfinite(rising).all() and (np.diff(rising) > 0).all())


def _new_missing(column: ColumnSchema, before: Any, after: NDArray[Any], had: bool) -> Iterator[Finding]:
    missing = int(_is_missing(column, after).sum())
    if had or not missing:
        return
    share = missing / len(after)
    chance = 1.0 if before is None else (len(after) / (len(after) + len(before))) ** missing
    grade: Grade = "caution" if share > WORRYING_SHARE or (share > NOTED_SHARE and chance < LEVEL) else "note"
    yield Finding(
        grade,
        "missing values that are new",
        f"{column.name} is missing in {counted_rows(missing)} ({share:.1%}), but had no missing value while training.",
        "No split has learned where they belong: fill them, or train on rows that have some.",
        column.name,
    )


def _new_categories(column: ColumnSchema, before: Any, after: NDArray[Any]) -> Iterator[Finding]:
    unseen = int((after == UNKNOWN).sum())
    if not unseen:
        return
    share, certain = unseen / len(after), False
    if before is not None:
        expected, error = unseen_by_chance(before[before >= 0], len(after))
        certain = unseen > expected + normal_limit(1) * error
    grade: Grade = "caution" if certain and share > NOTED_SHARE else "note"
    if grade == "note" and share <= NOTED_SHARE:
        return
    many = "more than rare categories explain" if certain else "as rare categories do by chance"
    yield Finding(
        grade,
        "categories that are new",
        f"{column.name} has values that training rows did not have in {counted_rows(unseen)} ({share:.1%}), {many}.",
        "Predictions average over both sides of splits that ask for it; train on rows that have these values.",
        column.name,
    )


def unseen_by_chance(codes: NDArray[Any], n_rows: int) -> tuple[float, float]:
    """Return how many of ``n_rows`` further rows have categories that these do not have, and its standard deviation.

    If f of n rows are the only ones of their category, m further rows of the same kind have f · m / n values of other
    categories on average (Good 1953). The deviation is that of categories that occur once or twice.

    Examples
    --------
    >>> unseen_by_chance(np.arange(100), 50)
    (50.0, 8.660254037844387)
    """
    counts = np.bincount(codes)
    single, double, ratio = int((counts == 1).sum()), int((counts == 2).sum()), n_rows / max(len(codes), 1)
    variance = single * ratio * (1 + ratio) + 4 * double * ratio**2
    return single * ratio, float(np.sqrt(max(variance, ratio)))
