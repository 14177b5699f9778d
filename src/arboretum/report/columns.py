"""The data: what each column holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data.schema import MISSING, UNKNOWN, ColumnSchema
from arboretum.data.table import Table
from arboretum.report.subject import Subject, value_text

BINS = 20
SHOWN_CATEGORIES = 8


def gather(subject: Subject) -> dict[str, Any]:
    """Describe every column of the rows of the report."""
    seen = [column.has_missing for column in subject.schema.columns]
    facts = [
        {**describe(column, values), "missing_at_fit": known}
        for (column, values), known in zip(each_column(subject.test.table), seen, strict=True)
    ]
    return {"columns": facts}


def each_column(table: Table) -> Iterator[tuple[ColumnSchema, NDArray[Any]]]:
    """Yield every column with its values; a sparse table makes a few columns dense at a time."""
    for first, batch in table.column_batches():
        yield from zip(table.schema.columns[first : first + len(batch)], batch, strict=True)


def describe(column: ColumnSchema, values: NDArray[Any]) -> dict[str, Any]:
    """Count, summarise and draw one column.

    Examples
    --------
    >>> facts = describe(ColumnSchema("age", "numeric", "number"), np.array([1.0, 2.0, np.nan]))
    >>> facts["missing"], facts["distinct"], facts["summary"]
    (1, 2, [['least', '1'], ['median', '1'], ['largest', '2']])
    """
    facts = _categories(column, values) if column.kind == "categorical" else _numbers(column, values)
    return {"name": column.name, "kind": column.kind, "source": column.source, **facts}


def _numbers(column: ColumnSchema, values: NDArray[Any]) -> dict[str, Any]:
    known = np.sort(values[~np.isnan(values)].astype(np.float64))
    facts: dict[str, Any] = {"missing": len(values) - len(known), "distinct": len(np.unique(known)), "unseen": 0}
    if not len(known):
        return {**facts, "summary": [], "bars": []}
    marks = {"least": 0.0, "median": 0.5, "largest": 1.0}
    summary = [[name, value_text(column, quantile(known, share))] for name, share in marks.items()]
    return {**facts, "summary": summary, "bars": _histogram(known).tolist()}


def quantile(rising: NDArray[np.float64], share: float) -> float:
    """Return the value below which a share of sorted values lies: one of them, so that infinities cannot mix."""
    return float(rising[int(share * (len(rising) - 1))])


def _histogram(known: NDArray[np.float64]) -> NDArray[np.int64]:
    """Count between the 1st and the 99th percentile; what lies outside goes to the ends."""
    finite = known[np.isfinite(known)]
    if not len(finite):
        return np.array([len(known)])
    low, high = quantile(finite, 0.01), quantile(finite, 0.99)
    if not high > low:
        low, high = quantile(finite, 0.0), quantile(finite, 1.0)
    if not 0 < high - low < np.inf:
        return np.array([len(known)])
    place = ((np.clip(known, low, high) - low) / (high - low) * BINS).astype(np.intp)
    return np.bincount(np.minimum(place, BINS - 1), minlength=BINS)


def _categories(column: ColumnSchema, codes: NDArray[Any]) -> dict[str, Any]:
    counts = np.bincount(codes[codes >= 0], minlength=len(column.categories))
    order = np.argsort(-counts, kind="stable")[:SHOWN_CATEGORIES]
    return {
        "missing": int((codes == MISSING).sum()),
        "unseen": int((codes == UNKNOWN).sum()),
        "distinct": int((counts > 0).sum()),
        "summary": [[value_text(column, code), f"{counts[code]:,}"] for code in order if counts[code]],
        "bars": np.sort(counts)[::-1][:BINS].tolist(),
    }
