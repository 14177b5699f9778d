"""Text in data: what options say about it, and columns of text in tables with types.

::

    CSV ────────────────────────────────► data/csv_files.py ──┐
                                                              ├─ one rule: data/text_columns.py
    Parquet, Arrow, JSON, databases ───► read_text ───────────┘
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, get_args

from arboretum.cli.changed import Changed
from arboretum.cli.errors import UsageError
from arboretum.data.dataset import Dataset
from arboretum.data.sources import connect, identifier
from arboretum.data.text_columns import NEARLY, Cures, Facts, Kind, TextColumn, TextRules, decided
from arboretum.data.text_values import BLANKS, CODES, MISSING, class_of


def _option(name: str, value: str) -> str:
    return f"--{name} {shlex.quote(value)}"


def _missing(value: str) -> str:
    return f"{_option('missing', value)} makes it missing"


def _of_column(option: str, column: str, value: str) -> str:
    return _option(option, f"{column}={value}")


def _plain_numbers(name: str) -> str:
    column = identifier(name)
    number = f"TRY_CAST(regexp_replace({column}, '[^0-9.eE+-]', '', 'g') AS DOUBLE)"
    return f"{_option('sql', f'SELECT * REPLACE ({number} AS {column}) FROM data')} makes numbers of them"


CURES = Cures(
    missing=_missing,
    as_kind=partial(_of_column, "kind"),
    date_format=partial(_of_column, "date-format"),
    decimal="--decimal {}".format,
    encoding="--encoding {}".format,
    delimiter="--delimiter",
    plain_numbers=_plain_numbers,
)


@dataclass(frozen=True)
class TextOptions:
    """What options and a model tell about text.

    Parameters
    ----------
    delimiter, encoding, decimal : str
        Of CSV files, as for ``Dataset.from_csv``.
    missing : tuple of str
        Marks of missing values, besides the usual ones.
    date_formats : dict
        Formats of columns of dates.
    kinds : dict
        Kinds of columns, from ``--kind`` or a model.
    asked : tuple of str
        Columns whose kind the user asked for.
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None  # None: "."
    missing: tuple[str, ...] = ()
    date_formats: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    asked: tuple[str, ...] = ()

    def rules(self, *, believed: bool) -> TextRules:
        """Return the rules to read by; ``believed`` takes text for text, as in tables with types."""
        kinds: dict[str, Any] = {name: kind for name, kind in self.kinds.items() if kind in get_args(Kind)}
        kinds |= {name: "category" for name, kind in self.kinds.items() if kind == "ignore"}
        return TextRules(
            missing=self.missing if believed else (*MISSING, *self.missing),
            decimal=self.decimal or ".",
            kinds=kinds,
            asked=frozenset(self.asked),
            date_formats=self.date_formats,
            believed=believed,
            cures=CURES,
        )

    def knowing(
        self,
        kinds: Mapping[str, str],
        asked: Iterable[str] = (),
        missing: Iterable[str] = (),
        date_formats: Mapping[str, str] | None = None,
        decimal: str | None = None,
    ) -> TextOptions:
        """Return the options with what a model knows; the options overrule it."""
        return replace(
            self,
            kinds={**kinds, **self.kinds},
            asked=tuple(dict.fromkeys([*asked, *self.asked])),
            missing=tuple(dict.fromkeys([*missing, *self.missing])),
            date_formats={**(date_formats or {}), **self.date_formats},
            decimal=self.decimal or decimal,
        )


def parse_date_formats(given: Iterable[str]) -> dict[str, str]:
    """Read options of the form ``column=format``.

    Examples
    --------
    >>> parse_date_formats(["day=%d/%m/%Y"])
    {'day': '%d/%m/%Y'}
    """
    found = {item: item.partition("=") for item in given}
    for item, (column, _, form) in found.items():
        try:
            TextRules(date_formats={column: form})
        except ValueError:  # noqa: PERF203
            raise UsageError(f"--date-format {item}: expected column=format, as in 'day=%d/%m/%Y %H:%M'") from None
    return {column: form for column, _, form in found.values()}


# ------------------------------------------------------------------------------------------------ tables with types


def without_numbers(dataset: Dataset, missing: Iterable[str]) -> Dataset:
    """Return a dataset in which these numbers, such as -999, are missing values."""
    numbers = tuple(float(text) for text in missing if class_of(text) in CODES)
    return replace(dataset, source=WithoutNumbers(dataset.source, numbers)) if numbers else dataset


def read_text(dataset: Dataset, rules: TextRules) -> tuple[Dataset, list[TextColumn]]:
    """Read the columns of text of a table with types as what they hold, in one pass over them if there are any.

    Text that may be meant as labels stays text. Read as something else are numbers with fractions or with marks of
    missing values, dates, and what options or a model name.
    """
    names = [
        column.name
        for column in dataset.schema
        if is_text(column.type) and (rules.missing or rules.kinds.get(column.name) != "category")
    ]
    if not names:
        return dataset, []
    facts = _survey(dataset, names, rules)
    columns = [
        decided(lambda query: _answer(query, dataset, names), name, f"c{place}", facts[name], rules)
        for place, name in enumerate(names)
    ]
    changed = {column.name: column for column in columns if column.sql or column.marks}
    return replace(dataset, source=ReadText(dataset.source, changed)) if changed else dataset, columns


def is_text(kind: Any) -> bool:
    """Whether a column of an Arrow type holds text; categories made by someone are not text."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _survey(dataset: Dataset, names: Sequence[str], rules: TextRules) -> dict[str, Facts]:
    """Count the classes of values, until it is certain that every column left is text."""
    found = {name: Facts(missing=set(rules.missing)) for name in names}  # rows not looked at may hold them
    enough = (1 - NEARLY) * dataset.n_rows
    left = list(names)
    for batch in dataset.select(names).batches():
        for name in left:
            for item in batch[name].value_counts():
                _count(found[name], item["values"].as_py(), item["counts"].as_py(), rules)
        left = [name for name in left if name in rules.kinds or found[name].counts["text"] <= enough]
        if not left:
            break
    return found


def _count(facts: Facts, cell: str | None, count: int, rules: TextRules) -> None:
    if cell is not None:
        value = cell.strip(BLANKS)
        facts.add("missing" if value in rules.missing else class_of(value, rules.decimal), count, value)


def _answer(query: str, dataset: Dataset, names: Sequence[str]) -> list[tuple[Any, ...]]:
    import pyarrow as pa

    schema = pa.schema([(f"c{place}", dataset.schema.field(name).type) for place, name in enumerate(names)])
    batches = (batch.rename_columns(schema.names) for batch in dataset.select(names).batches())
    connection = connect(None if dataset.budget is None else dataset.budget.begun().working() // 2)
    try:
        connection.register("rows", pa.RecordBatchReader.from_batches(schema, batches))
        answer: list[tuple[Any, ...]] = connection.execute(query).fetchall()
        return answer
    finally:
        connection.close()


@dataclass(frozen=True)
class ReadText(Changed):
    """A source with some columns of text, by name, read as what they hold; DuckDB has half of the memory."""

    columns: Mapping[str, TextColumn]
    parts: ClassVar[int] = 2

    def changer(self, memory: int | None) -> Callable[[Any], Any]:
        """Read columns of text by a database of its own."""
        return partial(self._read, connect(memory))

    def _read(self, connection: Any, batch: Any) -> Any:
        import pyarrow as pa

        found = {name: batch[name] for name in batch.schema.names}
        texts = [name for name in found if name in self.columns]
        if texts:
            connection.register("cells", pa.table({f"c{place}": found[name] for place, name in enumerate(texts)}))
            chosen = (f"{self.columns[name].expression(f'c{place}')} AS c{place}" for place, name in enumerate(texts))
            relation = connection.sql(f"SELECT {', '.join(chosen)} FROM cells")
            table = (getattr(relation, "to_arrow_table", None) or relation.fetch_arrow_table)()
            found |= {name: table[f"c{place}"].combine_chunks() for place, name in enumerate(texts)}
            connection.unregister("cells")
        return pa.table(found)


@dataclass(frozen=True)
class WithoutNumbers(Changed):
    """A source whose numbers are missing where they are one of some numbers."""

    numbers: tuple[float, ...]

    def changer(self, memory: int | None) -> Callable[[Any], Any]:
        """Look through all columns."""
        return self._without

    def _without(self, batch: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as compute

        found = {name: batch[name] for name in batch.schema.names}
        for name, column in found.items():
            kind = column.type
            if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
                numbers = compute.cast(column, pa.float64(), safe=False)
                is_one = compute.is_in(numbers, pa.array(self.numbers, pa.float64()))
                found[name] = compute.if_else(is_one, pa.scalar(None, kind), column)
        return pa.table(found)
