"""Forms of text: which strings are numbers, marks of missing values, booleans, dates and times.

A value belongs to the first class of ``classes`` whose pattern it matches. The same patterns are read by DuckDB (RE2),
for millions of values (text_columns.py), and by Python, for the categories of a data frame; they use only what both
understand.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")  # in every column of a file without types
BLANKS = " \t\r\n\u00a0"
MARKS = (  # of missing values, in columns of numbers, booleans, dates and times; letters of any case
    "|[?]+|[-\u2013\u2014]+|[.]+|[*]+|n[./]?a[.]?|<na>|#n/?a( n/a)?|[+-]?nan|-?1[.]#(ind|qnan|snan)|null|\\\\n|none|nil"
    "|missing|unknown|#(div/0|value|ref|name|num|null)[!?]|0000-00-00( 00:00:00)?"
)
MONEY = "$\u20ac\u00a3\u00a5"
AMOUNT = "[0-9]+([.,' ][0-9]{3})*([.,][0-9]+)?"
YEAR, MONTH, DAY, LATE_DAY = "[1-9][0-9]{3}", "(0?[1-9]|1[0-2])", "(0?[1-9]|[12][0-9]|3[01])", "(1[3-9]|2[0-9]|3[01])"
ISO_DATE = f"({YEAR}-{MONTH}-{DAY}|{YEAR}/{MONTH}/{DAY})"
CLOCK = "([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?"
CLOCK_OF_12 = "(0?[1-9]|1[0-2]):[0-5][0-9](:[0-5][0-9])? [AaPp][Mm]"
FRACTION = "([.][0-9]{1,9})?"
OFFSET = " ?(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
SEPARATORS = "/.-"
MONTHS = "(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
# Of dates whose order cannot be told, or that name months: what a message proposes.
OTHER_FORMS = (
    *(
        separator.join(parts)
        for parts in (
            ("%d", "%m", "%y"),
            ("%m", "%d", "%y"),
            ("%d", "%b", "%y"),
            ("%d", "%b", "%Y"),
            ("%d", "%B", "%Y"),
        )
        for separator in "/.- "
    ),
    *("%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%d. %b %Y", "%d. %B %Y"),
)

NUMBERS, CODES, DATES = {"decimal", "whole"}, {"decimal", "whole", "code"}, {"date", "moment", "zoned", "impossible"}
ORDERED_DATES = {s: {f"day{s}", f"month{s}", f"either{s}", "impossible"} for s in SEPARATORS}


@dataclass(frozen=True)
class ValueClass:
    """Values of one form: a pattern, and, of dates, the format by which they must be days of the calendar."""

    name: str
    pattern: str
    format: str = ""


@lru_cache
def classes(decimal: str = ".") -> tuple[ValueClass, ...]:
    """Return the classes in the order in which they are tried; ``decimal`` stands before the fraction of a number."""
    point, group = ("[.]", ",") if decimal == "." else (",", "[.]")
    dates = [
        ValueClass("date", ISO_DATE, "iso"),
        ValueClass("moment", f"{ISO_DATE}[ T]{CLOCK}{FRACTION}", "iso"),
        ValueClass("zoned", f"{ISO_DATE}[ T]{CLOCK}{FRACTION}{OFFSET}", "iso"),
    ]
    for s in SEPARATORS:
        end = f"[{s}]{YEAR}( {CLOCK}| {CLOCK_OF_12})?"
        dates += [
            ValueClass(f"day{s}", f"{LATE_DAY}[{s}]{MONTH}{end}", f"%d{s}%m{s}%Y"),
            ValueClass(f"month{s}", f"{MONTH}[{s}]{LATE_DAY}{end}", f"%m{s}%d{s}%Y"),
            ValueClass(f"either{s}", f"{MONTH}[{s}]{MONTH}{end}"),
        ]
    return (
        ValueClass(
            "decimal",
            f"[+-]?([0-9]+{point}[0-9]*|{point}[0-9]+)([eE][+-]?[0-9]+)?|[+-]?[0-9]+[eE][+-]?[0-9]+"
            "|(?i:[+-]?inf(inity)?)",
        ),
        ValueClass("whole", "[+-]?(0|[1-9][0-9]{0,17})"),
        ValueClass("code", "[+-]?[0-9]+"),  # leading zeros, or more digits than 64 bits hold
        ValueClass("mark", f"(?i:{MARKS})"),
        ValueClass("bool", "(?i:true|false)"),
        ValueClass("other date", f"{MONTHS}[a-z]* {DAY},? [0-9]{{4}}"),
        ValueClass("text", f"(?s:[^-+0-9.,({MONEY}].*)"),  # what is left begins as numbers and dates do
        *dates,
        ValueClass("time", f"{CLOCK}{FRACTION}"),
        ValueClass("grouped", f"[+-]?[1-9][0-9]{{0,2}}(({group}[0-9]{{3}})+|([' \u00a0][0-9]{{3}})+)({point}[0-9]+)?"),
        ValueClass("comma", f"[+-]?[0-9]+{group}[0-9]+"),
        ValueClass(
            "other date", f"{DAY}[/.-]{DAY}[/.-][0-9]{{2}}|[0-9]{{1,2}}[- .]*[A-Za-z]{{3,9}}[-., ]+[0-9]{{2,4}}"
        ),
        ValueClass("amount", f"[(]?[+-]?([{MONEY}] ?[+-]?{AMOUNT}|{AMOUNT} ?[{MONEY}%])[)]?|[(]{AMOUNT}[)]"),
    )


def class_of(value: str, decimal: str = ".") -> str:
    """Return the class of a value; blanks around it do not count.

    Examples
    --------
    >>> [class_of(value) for value in ("1.5", "-7", "007", " ", "#N/A", "31/12/2020", "2020-02-30", "1,234", "Oslo")]
    ['decimal', 'whole', 'code', 'mark', 'mark', 'day/', 'impossible', 'grouped', 'text']
    """
    value = value.strip(BLANKS)
    for one, pattern in _compiled(decimal):
        if pattern.fullmatch(value):
            return one.name if not one.format or _is_day(value, one.format) else "impossible"
    return "text"


@lru_cache
def _compiled(decimal: str) -> list[tuple[ValueClass, re.Pattern[str]]]:
    return [(one, re.compile(one.pattern)) for one in classes(decimal)]


def _is_day(value: str, form: str) -> bool:
    day = re.split("[ T]", value, maxsplit=1)[0]
    if form == "iso":
        day, form = day.replace("/", "-"), "%Y-%m-%d"
    try:
        datetime.datetime.strptime(day, form)
    except ValueError:
        return False
    return True


def form_of(value: str) -> str | None:
    """Return the form of a date that is not read by itself, if it is one of the usual ones.

    Examples
    --------
    >>> form_of("01-Apr-23"), form_of("Jan 31, 2024"), form_of("31/12/20"), form_of("1 of May")
    ('%d-%b-%y', '%b %d, %Y', '%d/%m/%y', None)
    """
    for form in OTHER_FORMS:
        try:
            datetime.datetime.strptime(value, form)
        except ValueError:
            continue
        return form
    return None


def hidden_values(categories: Iterable[str]) -> tuple[str, str] | None:
    """Return what categories of text really are, numbers or dates, with an example; None if they may be labels.

    Whole numbers without a mark of a missing value are labels: somebody made text of them.

    Examples
    --------
    >>> hidden_values(["29.85", "?", "108.15"]), hidden_values(["2024-01-31"]), hidden_values(["94110", "10001"])
    (('numbers', '108.15'), ('dates', '2024-01-31'), None)
    """
    found: dict[str, str] = {}
    for category in categories:
        one = class_of(category)
        if one in ("text", "code"):  # most text ends here, at its first category
            return None
        found[one] = min(category, found.get(one, category))
    present = found.keys() - {"mark"}
    if present and present <= NUMBERS and found.keys() != {"whole"}:
        return "numbers", min(found[one] for one in present)
    if present - {"impossible"} and any(present <= dates for dates in (DATES, *ORDERED_DATES.values())):
        return "dates", min(found[one] for one in present)
    return None
