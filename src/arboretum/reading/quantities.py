"""Numbers, dates, durations, names and categories as a reader writes them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from arboretum.data.schema import Category, Source

_MICROSECONDS = {"d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000}
_MAX_MICROSECONDS = 2.0**63  # beyond it numpy has no date


ALL_DIGITS = 17  # tell every float64 apart


def number_text(value: float, digits: int | None = None) -> str:
    """Write a number by its shortest decimal that reads back as the same float64.

    Parameters
    ----------
    value : float
        The number.
    digits : int, optional
        Significant digits to round to; whole numbers below 10**15 stay whole.

    Examples
    --------
    >>> [number_text(value) for value in (37.0, 0.1 + 0.2, -0.0, 1e300)]
    ['37', '0.30000000000000004', '0', '1e+300']
    >>> number_text(0.1 + 0.2, digits=4)
    '0.3'
    """
    if digits is not None and not (value.is_integer() and abs(value) < 1e15):
        rounded = float(f"{value:.{min(digits, ALL_DIGITS)}g}")
        value = rounded if math.isfinite(rounded) else value  # the largest would round to infinity
    return repr(value + 0.0).removesuffix(".0")  # −0.0 + 0.0 is 0.0


def _date_text(microseconds: float) -> str:
    whole = math.floor(microseconds)
    date, time = np.datetime_as_string(np.datetime64(whole, "us"), unit="us").split("T")
    clock, micros = time.split(".")
    fraction = (micros + repr(microseconds - whole).removeprefix("0.")).rstrip("0")
    if fraction:
        return f"{date}T{clock}.{fraction}"
    return date if clock == "00:00:00" else f"{date}T{clock.removesuffix(':00')}"


def _duration_text(microseconds: float) -> str:
    rest, parts = abs(microseconds), []
    for unit, length in _MICROSECONDS.items():
        count, below = divmod(rest, length) if unit != "s" else (rest / length, 0.0)
        if count:
            parts.append(f"{number_text(count)}{unit}")
        rest = below
    return ("-" if microseconds < 0 else "") + (" ".join(parts) or "0s")


def threshold_text(value: float, source: Source, digits: int | None = None) -> str:
    """Write a threshold in the terms of its column: a number, an ISO date or a duration.

    Dates and durations count microseconds in a table; dates since 1970.

    Examples
    --------
    >>> threshold_text(1_704_067_200e6, "datetime"), threshold_text(129_600e6, "duration")
    ('2024-01-01', '1d 12h')
    """
    if abs(value) < _MAX_MICROSECONDS:
        if source == "datetime":
            return _date_text(value)
        if source == "duration":
            return _duration_text(value)
    return number_text(value, digits)


def name_text(name: str) -> str:
    r"""Write the name of a column: as it is, or quoted if it would break the line or vanish.

    Examples
    --------
    >>> name_text("petal length"), name_text("two\nlines"), name_text("")
    ('petal length', "'two\\nlines'", "''")
    """
    return name if name.isprintable() and name.strip() else repr(name)


def category_text(category: Category) -> str:
    """Write a category: as it is, or quoted where it could be misread inside of a set.

    Examples
    --------
    >>> [category_text(category) for category in ("Basel", "a, b", "missing", 7, True)]
    ['Basel', "'a, b'", "'missing'", '7', 'True']
    """
    if not isinstance(category, str):
        return number_text(category) if isinstance(category, float) else str(category)
    is_plain = category.isprintable() and category.strip() == category and not set(category) & set(",{}'\"")
    return category if is_plain and category not in ("", "missing") and category[0] != "…" else repr(category)


def listing(items: Sequence[str], limit: int | None) -> list[str]:
    """Write the first ``limit`` items, then how many more there are; a single one more is written out.

    Examples
    --------
    >>> listing(["Basel", "Bern", "Chur"], limit=1)
    ['Basel', '… 2 more']
    """
    if limit is None or len(items) <= limit + 1:
        return list(items)
    return [*items[:limit], f"… {len(items) - limit} more"]


def rows_text(n_rows: int) -> str:
    """Write a number of rows.

    Examples
    --------
    >>> rows_text(1), rows_text(12345)
    ('1 row', '12,345 rows')
    """
    return f"{n_rows:,} row" if n_rows == 1 else f"{n_rows:,} rows"
