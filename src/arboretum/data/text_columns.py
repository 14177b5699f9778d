"""What a column of text holds: numbers, booleans, dates, times or plain text. One rule for every source.

::

    values ──survey──► Facts: how often each class of values occurs ──decide──► TextColumn: a kind, and SQL to read it

Counts add up, so neither the order of the rows, nor the parts of a file, nor a sample of first rows can change what a
column is. docs/odd-input.md states the rule.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from arboretum.data.sources import quoted
from arboretum.data.text_values import (
    BLANKS,
    CODES,
    DATES,
    ISO_DATE,
    MARKS,
    MISSING,
    NUMBERS,
    OFFSET,
    ORDERED_DATES,
    class_of,
    classes,
    form_of,
)

Kind: TypeAlias = Literal["number", "category", "date", "bool"]
Ask: TypeAlias = Callable[[str], list[tuple[Any, ...]]]  # answers a query of the table "rows" of columns c0, c1, …

SINGLE = ("missing", "mark", "impossible")  # classes of values that may mean missing
READABLE: Mapping[str, Sequence[set[str]]] = {  # classes that a column of a kind may hold, one of these sets
    "number": (CODES, {"time"}, {"bool"}),
    "bool": ({"bool"}, CODES),
    "date": (DATES, *ORDERED_DATES.values()),
}
TRUE, FALSE = ("true", "yes", "y", "t", "1"), ("false", "no", "n", "f", "0")
CLOCK_FORMATS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")  # after dates that are not ISO
DIRECTIVES = frozenset("aAbBdfHIjmMpSyYz%")
NEARLY = 0.9  # of the values are numbers: the others are probably mistakes
SHOWN = 5  # values, and twice as many columns, in a message


# ------------------------------------------------------------------------------------------------ what the user says


@dataclass(frozen=True)
class Cures:
    """How messages name the cures for a column: as Python arguments, or as options of the command."""

    missing: Callable[[str], str]  # makes a value missing
    as_kind: Callable[[str, Kind], str]  # has a column read as a kind
    date_format: Callable[[str, str], str]  # gives the format of a column of dates
    decimal: Callable[[str], str]
    encoding: Callable[[str], str]
    delimiter: str
    plain_numbers: Callable[[str], str]  # makes numbers of the amounts in a column


_TYPES: Mapping[str, str] = {"number": "DOUBLE", "category": "VARCHAR", "date": "TIMESTAMP", "bool": "BOOLEAN"}


def _typed(name: str, kind: Kind) -> str:
    return f"types={{{name!r}: {_TYPES[kind]!r}}}"


ARGUMENTS = Cures(  # without lambdas: datasets can be pickled, with their rules
    missing="add it to missing=".format,
    as_kind=_typed,
    date_format="date_formats={{{!r}: {!r}}}".format,
    decimal="decimal={!r}".format,
    encoding="encoding={!r}".format,
    delimiter="delimiter=",
    plain_numbers="remove separators and signs in the file".format,
)


@dataclass(frozen=True)
class TextRules:
    """What is known about columns of text before they are read.

    Parameters
    ----------
    missing : tuple of str
        Values that are missing in any column.
    decimal : {".", ","}
        Decimal separator.
    kinds : dict
        Kinds of columns that are known, from a model or by the user.
    asked : collection of str
        Columns whose kind the user asked for: a value that does not fit becomes missing. In others it is an error.
    date_formats : dict
        Formats of columns of dates, as of ``strptime``.
    types : dict
        SQL types of columns.
    believed : bool
        Whether the columns were given as text: then whole numbers and booleans stay text.
    cures : Cures
        How messages name what a user can do.
    """

    missing: tuple[str, ...] = MISSING
    decimal: str = "."
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    asked: frozenset[str] = frozenset()
    date_formats: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    believed: bool = False
    cures: Cures = ARGUMENTS

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise ValueError(f"decimal={self.decimal!r}: use '.' or ','")
        for name, form in self.date_formats.items():
            parts = re.findall("%(.?)", form)
            if not parts or not DIRECTIVES.issuperset(parts):
                raise ValueError(
                    f"the date format {form!r} of column {name!r} is not understood: write it as %d/%m/%Y or "
                    "%Y-%m-%d %H:%M:%S"
                )


class WrongValueError(ValueError):
    """A value that does not fit the known kind of its column."""

    def __init__(self, name: str, value: str, message: str) -> None:
        super().__init__(message)
        self.name, self.value = name, value


# ----------------------------------------------------------------------------------------------------------- survey


@dataclass
class Facts:
    """How often each class occurs in a column, its least value, and the values that may mean missing."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    taken: Counter[str] = field(default_factory=Counter)  # marks, and dates that are not in the calendar
    missing: set[str] = field(default_factory=set)  # what is missing in any column

    def add(self, name: str, count: int, value: str) -> None:
        """Count values of a class by their least; values of classes that may mean missing come one by one."""
        if name == "missing":
            self.missing.add(value)
            return
        self.counts[name] += count
        self.examples[name] = min(value, self.examples.get(name, value))
        if name in SINGLE:
            self.taken[value] += count

    @property
    def present(self) -> set[str]:
        """Classes of the values that are not missing."""
        return set(self.counts) - {"mark"}

    @property
    def has_nan(self) -> bool:
        """Whether there are values that are read as NaN."""
        return any(value.lower().lstrip("+-") == "nan" for value in {*self.taken, *self.missing})

    def number_of(self, names: Iterable[str]) -> int:
        """Count the values of some classes."""
        return sum(self.counts[name] for name in names)


def survey(ask: Ask, names: Sequence[str], positions: Sequence[int], rules: TextRules) -> dict[str, Facts]:
    """Count the classes of the text columns at these positions of the table "rows"."""
    found = {name: Facts() for name in names}
    if not positions:
        return found
    columns = ", ".join(f"c{position}" for position in positions)
    by_place = {f"c{position}": name for name, position in zip(names, positions, strict=True)}
    missing = f"{is_missing('v', rules.missing)} AND (v <> '' OR cell = '')"  # cells of blanks are reported
    for place, name, _, count, value in ask(f"""
        SELECT place, class, CASE WHEN class IN ({", ".join(map(quoted, SINGLE))}) THEN v END, count(*), min(v)
        FROM (SELECT place, v, CASE WHEN {missing} THEN 'missing' ELSE {class_in_sql("v", rules.decimal)} END AS class
              FROM (SELECT place, cell, {trimmed("cell")} AS v
                    FROM (UNPIVOT (SELECT {columns} FROM rows) ON COLUMNS(*) INTO NAME place VALUE cell)))
        GROUP BY ALL"""):
        found[by_place[place]].add(name, count, value)
    return found


def class_in_sql(value: str, decimal: str) -> str:
    """Return SQL for ``class_of`` of a value without blanks around it."""
    cases = []
    for one in classes(decimal):
        name = quoted(one.name)
        if one.format:
            day = f"regexp_extract({value}, '^[^ T]+')"
            parsed = f"TRY_CAST({day} AS DATE)" if one.format == "iso" else f"try_strptime({day}, {quoted(one.format)})"
            name = f"CASE WHEN {parsed} IS NULL THEN 'impossible' ELSE {name} END"
        cases.append(f"WHEN regexp_full_match({value}, {quoted(one.pattern)}) THEN {name}")
    return f"CASE {' '.join(cases)} ELSE 'text' END"


def trimmed(value: str) -> str:
    """Return SQL for a value without blanks around it."""
    return f"trim({value}, {quoted(BLANKS)})"


def is_missing(value: str, marks: Sequence[str]) -> str:
    """Return SQL that says whether a value without blanks around it is one of these marks."""
    # Not IN: DuckDB makes a join of each long one, which takes minutes for a thousand columns.
    return f"list_contains([{', '.join(map(quoted, marks))}], {value})" if marks else "false"


# --------------------------------------------------------------------------------------------------------- decision


@dataclass(frozen=True)
class TextColumn:
    """What a column of text is read as.

    Parameters
    ----------
    name : str
        Its name.
    kind : str
        What it holds.
    sql : str
        SQL that reads a value ``{v}`` without blanks around it, NULL if it is not of the kind; "" leaves text as it is.
    taken : Counter
        Values that become missing: marks, dates that are not in the calendar, what the user asked to drop.
    format : str
        Of dates that are not ISO.
    question : str
        What only the user can know about it.
    remark : str
        What the user should know about it.
    is_guess : bool
        Whether the remark is about something that may be wrong.
    marks : tuple of str
        Marks of missing values that occur in the column.
    is_checked : bool
        Whether values must be tried to tell if they can be read.
    """

    name: str
    kind: Kind
    sql: str = ""
    taken: Counter[str] = field(default_factory=Counter)
    format: str = ""
    question: str = ""
    remark: str = ""
    is_guess: bool = False
    marks: tuple[str, ...] = ()
    is_checked: bool = False

    def expression(self, column: str) -> str:
        """Return SQL that reads the column."""
        value = trimmed(column)
        present = value if self.sql else column
        if self.marks:
            present = f"CASE WHEN {is_missing(value, self.marks)} THEN NULL ELSE {present} END"
        return self.sql.replace("{v}", f"({present})") if self.sql else present


def read_columns(ask: Ask, names: Sequence[str], positions: Sequence[int], rules: TextRules) -> list[TextColumn]:
    """Decide what the text columns at these positions of the table "rows" are read as."""
    found = survey(ask, names, positions, rules)
    return [decided(ask, name, f"c{place}", found[name], rules) for name, place in zip(names, positions, strict=True)]


def decided(ask: Ask, name: str, place: str, facts: Facts, rules: TextRules) -> TextColumn:
    """Decide what a column is; where its classes do not tell, try its values."""
    column = decide(name, facts, rules)
    blank = {""} & {*facts.taken} & {*rules.missing}
    column = replace(column, marks=tuple(sorted(facts.missing | blank)))
    return _checked(ask, place, column, rules) if column.is_checked else column


def decide(name: str, facts: Facts, rules: TextRules) -> TextColumn:
    """Decide what a column is.

    Examples
    --------
    >>> from arboretum.data.text_values import class_of
    >>> facts = Facts()
    >>> for value in ("29.85", "1889.5", "?", "108.15"):
    ...     facts.add(class_of(value), 1, value)
    >>> column = decide("charges", facts, TextRules())
    >>> column.kind, column.taken
    ('number', Counter({'?': 1}))
    """
    kind = rules.kinds.get(name)
    if name in rules.types:
        return _as_type(name, rules.types[name], facts)
    if kind == "category":
        return _as_category(name, facts, rules)
    if name in rules.date_formats and kind in (None, "date"):
        form = rules.date_formats[name]
        return TextColumn(name, "date", _of_format(form), facts.taken, form, is_checked=True)
    return _as_found(name, facts, rules) if kind is None else _as_known(name, kind, facts, rules)


def _as_found(name: str, facts: Facts, rules: TextRules) -> TextColumn:
    """Follow the classes of the values."""
    present = facts.present
    cure = f"({rules.cures.as_kind(name, 'number')} reads numbers)"
    if present and present <= NUMBERS:
        if rules.believed and present == {"whole"} and not facts.taken:
            remark = f"column {name!r} is text and stays a category, though its values are whole numbers {cure}"
            return _as_category(name, facts, rules, remark)
        return TextColumn(name, "number", _number(facts, rules), facts.taken)
    if "code" in present and present <= CODES:
        remark = f"column {name!r} stays a category, because it has codes such as {facts.examples['code']!r} {cure}"
        labels = rules.believed and "decimal" not in present
        return _as_category(name, facts, rules, "" if labels else remark, is_guess="decimal" in present)
    if present == {"bool"} and not rules.believed:
        return TextColumn(name, "bool", _truth(("true",), ("false",)), facts.taken)
    if present == {"time"}:
        return TextColumn(name, "number", _time(), facts.taken)
    if present <= DATES and present - {"impossible"}:
        return TextColumn(name, "date", _iso(present), facts.taken)
    for separator, ordered in ORDERED_DATES.items():
        if present <= ordered and present - {"impossible"}:
            return _in_order(name, separator, facts, rules)
    return _as_category(name, facts, rules, _nearly(name, facts, rules), is_guess=True)


def _as_category(name: str, facts: Facts, rules: TextRules, remark: str = "", is_guess: bool = False) -> TextColumn:
    """Leave a column as text; blank cells are missing if empty ones are."""
    blank = Counter({"": facts.taken[""]} if "" in rules.missing and facts.taken[""] else {})
    return TextColumn(name, "category", taken=blank, remark=remark, is_guess=is_guess)


def _as_known(name: str, kind: Kind, facts: Facts, rules: TextRules) -> TextColumn:
    """Read a column as a kind known from a model or the user; a value that does not fit is an error, or missing."""
    fitting = max(READABLE[kind], key=lambda one: facts.number_of(one - {"impossible"}))
    others, asked = facts.present - fitting, name in rules.asked
    if others and not asked:
        value = min(facts.examples[one] for one in others)
        raise WrongValueError(name, value, _wrong_value(name, value, kind, rules))
    column = TextColumn(name, kind, taken=facts.taken, is_checked=asked)
    if kind == "bool" and asked:
        return replace(column, sql=_truth(TRUE, FALSE))
    if fitting == {"bool"}:
        return replace(column, sql=_truth(("true",), ("false",)))
    if fitting == {"time"}:
        return replace(column, sql=_time())
    if fitting == CODES:
        return replace(column, sql=_number(facts, rules, guarded=asked))
    if fitting == DATES:
        return replace(column, sql=_iso(DATES))
    separator = next(s for s, ordered in ORDERED_DATES.items() if ordered == fitting)
    found = _in_order(name, separator, facts, rules)
    if found.kind == "category":
        raise WrongValueError(
            name, min(facts.examples[one] for one in fitting & facts.present), found.question or found.remark
        )
    return replace(found, is_checked=asked)


def _as_type(name: str, sql_type: str, facts: Facts) -> TextColumn:
    """Read a column as a type of SQL."""
    if sql_type.upper() in ("VARCHAR", "TEXT", "STRING"):
        return TextColumn(name, "category")
    return TextColumn(name, "number", f"TRY_CAST({{v}} AS {sql_type})", facts.taken, is_checked=True)


def _in_order(name: str, s: str, facts: Facts, rules: TextRules) -> TextColumn:
    """Determine whether the day or the month comes first: one of them exceeds 12, or only the user knows."""
    forms = {"day": f"%d{s}%m{s}%Y", "month": f"%m{s}%d{s}%Y"}
    found = [first for first in forms if facts.counts[first + s]]
    if len(found) == 1:
        form = forms[found[0]]
        words = form.replace("%d", "day").replace("%m", "month").replace("%Y", "year")
        remark = f"column {name!r} is read as {words}, because of values such as {facts.examples[found[0] + s]!r}"
        return TextColumn(name, "date", _of_format(form), facts.taken, form, remark=remark, is_guess=True)
    if found:
        both = " and ".join(repr(facts.examples[first + s]) for first in forms)
        remark = f"column {name!r} stays a category: its dates have days and months in two orders, such as {both}"
        return _as_category(name, facts, rules, remark, is_guess=True)
    cures = " or ".join(rules.cures.date_format(name, form) for form in forms.values())
    value = facts.examples[f"either{s}"]
    question = (
        f"column {name!r} holds dates that begin with the day or the month, such as {value!r}: say which by {cures}"
    )
    return TextColumn(name, "category", question=question)


def _nearly(name: str, facts: Facts, rules: TextRules) -> str:
    """Return what makes a column text, if that looks like a mistake."""
    total, cures, stays = facts.number_of(facts.present), rules.cures, f"column {name!r} stays a category"
    plain, others = facts.number_of(CODES), facts.present - CODES
    value = facts.examples["text"] if "text" in others else min((facts.examples[one] for one in others), default="")
    if "comma" in others and others <= {"comma", "grouped"}:
        cure = cures.decimal("." if rules.decimal == "," else ",")
        return f"{stays}: it has numbers such as {facts.examples['comma']!r} ({cure} reads them)"
    if others and others <= {"grouped", "comma", "amount"}:
        return f"{stays}: it has amounts such as {value!r}, not plain numbers ({cures.plain_numbers(name)})"
    if facts.present == {"other date"}:
        form = cures.date_format(name, form_of(facts.examples["other date"]) or "%d/%m/%y")
        return f"{stays}: it has dates such as {facts.examples['other date']!r} (give their form, as {form})"
    if total > plain >= NEARLY * total:
        return f"{stays}: {total - plain} of {total} values are not numbers, such as {value!r} ({cures.missing(value)})"
    days = max((DATES, *ORDERED_DATES.values()), key=facts.number_of)
    if total > facts.number_of(days) >= NEARLY * total:
        odd, left = min(facts.examples[one] for one in facts.present - days), total - facts.number_of(days)
        return f"{stays}: {left} of {total} values are not dates, such as {odd!r} ({cures.missing(odd)})"
    return ""


def _checked(ask: Ask, place: str, column: TextColumn, rules: TextRules) -> TextColumn:
    """Try the values of a column: an unreadable one is missing if the user asked for the kind, else an error."""
    rows = f"""(SELECT v, result IS NULL AS is_unread, regexp_full_match(v, {quoted(f"(?i:{MARKS})")}) AS is_mark
        FROM (SELECT {place} AS cell, {trimmed(place)} AS v, {column.expression(place)} AS result FROM rows)
        WHERE cell IS NOT NULL AND NOT {is_missing("v", rules.missing)})"""
    ((n_read, value),) = ask(
        f"SELECT count(*) FILTER (NOT is_unread), min(v) FILTER (is_unread AND NOT is_mark) FROM {rows}"
    )
    if value is not None and (not n_read or column.name not in rules.asked):
        raise WrongValueError(column.name, value, _wrong_value(column.name, value, column.kind, rules))
    taken = ask(f"SELECT v, count(*) AS n FROM {rows} WHERE is_unread GROUP BY v ORDER BY n DESC, v")
    return replace(column, taken=Counter(dict(taken)))


def _wrong_value(name: str, value: str, kind: Kind, rules: TextRules) -> str:
    form = f" of the form {rules.date_formats[name]}" if name in rules.date_formats and kind == "date" else ""
    what = rules.types.get(name, f"a {kind}{form}")
    other = "." if rules.decimal == "," else ","
    if kind == "number" and class_of(value, other) in NUMBERS:
        return f"column {name!r} holds {value!r}, which is not {what}: {rules.cures.decimal(other)} reads it"
    return f"column {name!r} holds {value!r}, which is not {what}: correct it, or {rules.cures.missing(value)}"


# -------------------------------------------------------------------------------------------------- SQL that reads


def _number(facts: Facts, rules: TextRules, guarded: bool = False) -> str:
    value = "{v}" if rules.decimal == "." else f"replace({{v}}, {quoted(rules.decimal)}, '.')"
    if guarded:  # DuckDB reads 1_000 too
        forms = "|".join(one.pattern for one in classes(rules.decimal) if one.name in CODES)
        value = f"CASE WHEN regexp_full_match({{v}}, {quoted(forms)}) THEN {value} END"
    if facts.present & CODES == {"whole"}:
        return f"TRY_CAST({value} AS BIGINT)"
    number = f"TRY_CAST({value} AS DOUBLE)"
    return f"NULLIF({number}, 'NaN'::DOUBLE)" if facts.has_nan else number  # NULLIF is slow to plan


def _truth(true: Sequence[str], false: Sequence[str]) -> str:
    yes, no = (", ".join(map(quoted, words)) for words in (true, false))
    return f"CASE WHEN lower({{v}}) IN ({yes}) THEN true WHEN lower({{v}}) IN ({no}) THEN false END"


def _time() -> str:
    """Microseconds since midnight."""
    clock = "CASE WHEN length({v}) <= 5 THEN {v} || ':00' ELSE {v} END"  # DuckDB 1.0 wants seconds
    return f"epoch_us(CAST('1970-01-01' AS DATE) + TRY_CAST({clock} AS TIME))"


def _iso(present: set[str]) -> str:
    """Dates, or times in UTC."""
    if present <= {"date", "impossible"}:
        return "TRY_CAST({v} AS DATE)"
    whole = r"regexp_replace({v}, '([ T][0-9]{1,2}:[0-9]{2})( ?(Z|[+-].*))?$', '\1:00\2')"  # DuckDB 1.0 wants seconds
    if "zoned" not in present:
        return f"TRY_CAST({whole} AS TIMESTAMP)"
    has_offset = f"regexp_full_match({{v}}, {quoted(f'.*[ T].*{OFFSET}')})"
    return f"""make_timestamp(epoch_us(TRY_CAST(
        CASE WHEN length({{v}}) <= 10 THEN {{v}} || ' 00:00:00Z' WHEN {has_offset} THEN {whole} ELSE {whole} || 'Z' END
        AS TIMESTAMPTZ)))"""


def _of_format(form: str) -> str:
    """Dates of a format, with or without a time; or ISO dates, which cannot be mistaken."""
    forms = [form] if re.search("%[HIfp]", form) else [form + clock for clock in CLOCK_FORMATS]
    parsed = ", ".join(f"try_strptime({{v}}, {quoted(one)})" for one in forms)
    iso = f"CASE WHEN regexp_full_match({{v}}, {quoted(ISO_DATE)}) THEN TRY_CAST({{v}} AS TIMESTAMP) END"
    return f"COALESCE({parsed}, {iso})"


# --------------------------------------------------------------------------------------------------------- messages


def lines_about(columns: Sequence[TextColumn], *, guesses_only: bool = False) -> list[str]:
    """Return what a user should know about columns of text; the values that became missing are in one line."""
    remarks = [column.remark for column in columns if column.is_guess or not guesses_only]
    return [line for line in (taken_in_words(columns), *remarks) if line]


def taken_in_words(columns: Iterable[TextColumn]) -> str:
    """Tell in one line which values became missing, and how often.

    Examples
    --------
    >>> taken_in_words([TextColumn("charges", "number", taken=Counter({"": 11, "?": 1}))])
    "taken as missing: 'charges': ' ' 11 times, '?' once"
    """
    words = []
    for column in columns:
        ranked = sorted(column.taken.items(), key=lambda item: (-item[1], item[0]))
        shown = [f"{value or ' '!r} {f'{count} times' if count > 1 else 'once'}" for value, count in ranked[:SHOWN]]
        more = sum(count for _, count in ranked[SHOWN:])
        if shown:
            words.append(f"{column.name!r}: {', '.join(shown)}{f' and {more} others' if more else ''}")
    hidden = f"; and {len(words) - 2 * SHOWN} more columns" if len(words) > 2 * SHOWN else ""
    return f"taken as missing: {'; '.join(words[: 2 * SHOWN])}{hidden}" if words else ""
