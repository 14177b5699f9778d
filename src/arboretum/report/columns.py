"""The data: what each column holds, and how far two tables of it lie apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.report.subject import Rows, Subject, value_text
from arboretum.schema import MISSING, UNKNOWN, ColumnSchema
from arboretum.table import Table

BINS = 20
SHOWN_CATEGORIES = 8
PSI_BINS = 10
ONE_IN_A_THOUSAND = 3.09  # quantile of the normal distribution
LEAST_SHARE = 1e-4  # of a bin, so that the logarithm of the index stays finite


def gather(subject: Subject) -> dict[str, Any]:
    """Describe every column of the rows of the report."""
    seen = [column.has_missing for column in subject.schema.columns]
    facts = [
        {**describe(column, values), "missing_at_fit": known}
        for (column, values), known in zip(each_column(subject.test.table), seen, strict=True)
    ]
    return {"columns": facts}


def each_column(table: Table) -> Iterator[tuple[ColumnSchema, NDArray[Any]]]:
    """Yield every column with its values; of a sparse table, a few are dense at a time."""
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


# ---- drift -----------------------------------------------------------------------------------------------------------


def drift(train: Rows, test: Rows) -> list[dict[str, Any]]:
    """Compare training rows and the rows of the report, column by column.

    The population stability index is Σ (p − q) ln(p / q) over bins: ten of equal numbers of training rows, or the
    categories; missing is a bin of its own. Kolmogorov and Smirnov's distance is the largest between the two
    distribution functions, for numbers alone.
    """
    found = []
    pairs = zip(each_column(train.table), each_column(test.table), strict=True)
    for (column, before), (_, after) in pairs:
        if column.kind == "categorical":
            counts, distance = _category_counts(len(column.categories), before, after), None
        else:
            counts, distance = _number_counts(before, after), kolmogorov_smirnov(before, after)
        index, chance = stability_index(*counts), index_by_chance(*counts)
        found.append({"name": column.name, "psi": index, "chance": chance, "ks": distance})
    return found


def stability_index(before: NDArray[Any], after: NDArray[Any]) -> float:
    """Return the population stability index of two histograms over the same bins.

    Examples
    --------
    >>> stability_index(np.array([5, 5]), np.array([10, 10]))
    0.0
    >>> round(stability_index(np.array([9, 1]), np.array([1, 9])), 3)
    3.516
    """
    p, q = (np.maximum(counts / max(counts.sum(), 1), LEAST_SHARE) for counts in (before, after))
    return float(((p - q) * np.log(p / q)).sum())


def index_by_chance(before: NDArray[Any], after: NDArray[Any]) -> float:
    """Return the index that rows of one distribution exceed once in a thousand times.

    The index is then distributed as (1/n + 1/m) χ² with a degree of freedom less than bins (Yurdakul 2018, Statistical
    properties of population stability index); its quantile is that of Wilson and Hilferty (1931).
    """
    freedom = max(int(((before + after) > 0).sum()) - 1, 1)
    spread = 2 / (9 * freedom)
    chi_square = freedom * (1 - spread + ONE_IN_A_THOUSAND * spread**0.5) ** 3
    return float((1 / max(before.sum(), 1) + 1 / max(after.sum(), 1)) * chi_square)


Counts: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64]]"


def _category_counts(n_categories: int, before: NDArray[Any], after: NDArray[Any]) -> Counts:
    size = n_categories - UNKNOWN  # missing and unknown come first
    first, second = (np.bincount(codes - UNKNOWN, minlength=size) for codes in (before, after))
    return first, second


def _number_counts(before: NDArray[Any], after: NDArray[Any]) -> Counts:
    known = np.sort(before[~np.isnan(before)])
    shares = np.arange(1, PSI_BINS) / PSI_BINS
    edges = np.unique([quantile(known, share) for share in shares]) if len(known) else np.empty(0)

    def counts(values: NDArray[Any]) -> NDArray[np.int64]:
        missing = np.isnan(values)
        inside = np.bincount(np.searchsorted(edges, values[~missing], side="left"), minlength=len(edges) + 1)
        return np.append(inside, missing.sum())

    return counts(before), counts(after)


def kolmogorov_smirnov(before: NDArray[Any], after: NDArray[Any]) -> float | None:
    """Largest distance of two distribution functions, of the values that are known; None if there are none.

    Examples
    --------
    >>> kolmogorov_smirnov(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.5
    """
    first, second = (np.sort(values[~np.isnan(values)]) for values in (before, after))
    if not len(first) or not len(second):
        return None
    both = np.concatenate([first, second])
    shares = [np.searchsorted(values, both, side="right") / len(values) for values in (first, second)]
    return float(np.abs(shares[0] - shares[1]).max())
