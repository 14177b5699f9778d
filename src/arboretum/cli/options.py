"""Options of commands, each declared once; commands take them one by one or in groups.

::

    Output       --json --quiet --traceback          every command
    Reading      DATA --table --sql, and of text     train, compare, predict, evaluate, explain, report
    Consent      --foreign --trusted                 predict, evaluate, explain, report, show, convert
    Columns      --target --weight … --positive      evaluate, explain, report
    └─ Learning  --time --id --ignore --kind         train, compare
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from arboretum.cli.columns import Roles
    from arboretum.cli.sources import Rows
    from arboretum.cli.text import TextOptions
    from arboretum.data.dataset import Dataset
    from arboretum.data.memory_budget import MemoryBudget

METHODS_HELP = (
    "auto, boosted, forest, extra, adaboost, additive, bagging, tree, isolation; boosted:gbm, boosted:xgboost, "
    "boosted:lightgbm or boosted:catboost for boosted trees with the switches of that library; stack, blend or vote "
    "for a combination of several."
)

Name: TypeAlias = str | None
Names: TypeAlias = list[str] | None


def named(flag: str, metavar: str, help: str, **rules: Any) -> Any:
    """Declare an option with a value."""
    return typer.Option(flag, metavar=metavar, help=help, **rules)


Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by train or compare.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")]
Folds = Annotated[int | None, named("--cv", "NUMBER", "Judge by this many folds.", min=2)]
Holdout = Annotated[float | None, named("--holdout", "SHARE", "Judge by this share of the rows.", min=0.01, max=0.9)]
Task = Annotated[
    str, named("--task", "TASK", "auto, binary, multiclass, regression, ranking, survival, uplift, anomaly.")
]
TimeLimit = Annotated[
    float | None, named("--time-limit", "SECONDS", "Start no new round, or method, after this time.", min=0.001)
]
MemoryLimit = Annotated[
    Name,
    named(
        "--memory-limit",
        "SIZE",
        "Leave rows in their files; hold at most this much memory, such as 500MB, above the bare start of the command.",
    ),
]
Cluster = Annotated[
    Name,
    named(
        "--cluster",
        "ADDRESS",
        "Fit on the workers of a Dask cluster, whose scheduler has an address such as tcp://host:8786; local:4 starts "
        "four worker processes here, local one per core.",
    ),
]
Offset = Annotated[
    Names,
    named(
        "--offset",
        "COLUMN",
        "Start of the raw predictions of boosted trees, such as the logarithm of an exposure; not used as a "
        "feature. Repeat it, once per class, if there are several.",
    ),
]
Positive = Annotated[
    Name,
    named(
        "--positive",
        "CLASS",
        "Of two classes, the one whose probability, precision and recall are shown; by default the second.",
    ),
]


@dataclass(frozen=True)
class Output:
    """How a command speaks."""

    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object to standard output, nothing else.")] = (
        False
    )
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the result: no remarks, no progress.")] = (
        False
    )
    traceback: Annotated[bool, typer.Option("--traceback", help="Show where an error came from.")] = False


@dataclass(frozen=True)
class Consent:
    """Whether estimators of other libraries in a model file are read."""

    foreign: Annotated[
        Name,
        named(
            "--foreign",
            "FORM",
            "Read estimators of other libraries in MODEL: skops, or pickle, which can run any code in the file.",
        ),
    ] = None
    trusted: Annotated[
        Names, named("--trusted", "TYPE", "Type that --foreign skops may make besides those it trusts; repeatable.")
    ] = None

    @contextmanager
    def given(self) -> Iterator[None]:
        """Check the options, and let models be read in the body; errors name the options that are needed."""
        from arboretum.cli.errors import ModelError, UsageError
        from arboretum.model.foreign import FORMS, ConsentError, consent

        if self.foreign not in (None, *FORMS):
            raise UsageError(f"--foreign {self.foreign}: expected {' or '.join(FORMS)}")
        if self.trusted and self.foreign != "skops":
            raise UsageError(f"--trusted {self.trusted[0]}: give --foreign skops, too")
        try:
            with consent(self.foreign, self.trusted or ()):
                yield
        except ConsentError as error:
            needed = [f"--foreign {error.allowed.form}", *(f"--trusted {name}" for name in error.allowed.trusted)]
            raise ModelError(f"{error.found}. Give {' '.join(needed)}: {error.caution}") from None


@dataclass(frozen=True)
class Reading:
    """Where rows come from, and how text in them is read."""

    data: Annotated[
        Name,
        typer.Argument(
            metavar="DATA",
            help="CSV, TSV, JSON, Parquet or Arrow; a pattern or folder of them; SQLite or DuckDB (file.db::table); "
            "- for standard input.",
        ),
    ] = None
    table: Annotated[Name, named("--table", "NAME", "Table of a database file.")] = None
    sql: Annotated[
        Name, named("--sql", "QUERY", "Query whose rows to use; DATA is its table 'data'. It may also read files.")
    ] = None
    missing: Annotated[
        Names, named("--missing", "MARK", "Another mark of missing values, such as -999 or 'not known'; repeatable.")
    ] = None
    date_format: Annotated[
        Names, named("--date-format", "COLUMN=FORMAT", "Format of dates, such as day=%d/%m/%Y; repeatable.")
    ] = None
    delimiter: Annotated[
        Name, named("--delimiter", "MARK", "Mark between fields of CSV; found in the header by default.")
    ] = None
    encoding: Annotated[
        Name, named("--encoding", "NAME", "Encoding of text files, such as latin-1; UTF-8 by default.")
    ] = None
    decimal: Annotated[Name, named("--decimal", "MARK", "Mark before the fraction of numbers in text.")] = None

    def text(self) -> TextOptions:
        """Check and gather what the options say about text."""
        import codecs

        from arboretum.cli.errors import UsageError
        from arboretum.cli.text import TextOptions, parse_date_formats

        delimiter = {"tab": "\t", "\\t": "\t"}.get(self.delimiter or "", self.delimiter)
        if delimiter is not None and len(delimiter) != 1:
            raise UsageError(f"--delimiter {delimiter}: expected one character, or tab")
        if self.decimal not in (None, ".", ","):
            raise UsageError(f"--decimal {self.decimal}: expected . or ,")
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError:
            raise UsageError(f"--encoding {self.encoding}: unknown encoding; try latin-1, cp1252 or utf-16") from None
        formats = parse_date_formats(self.date_format or [])
        missing = tuple(self.missing or ())
        return TextOptions(delimiter, self.encoding, self.decimal, missing, formats, asked=tuple(formats))

    def open(
        self,
        text: TextOptions | None = None,
        budget: MemoryBudget | None = None,
        needed_bytes: Callable[[Dataset], int] | None = None,
    ) -> Rows:
        """Open the rows, as ``sources.open_rows`` does; ``text`` is what a model knows besides the options."""
        from arboretum.cli.sources import open_rows

        known = self.text() if text is None else text
        return open_rows(
            self.data, table=self.table, sql=self.sql, text=known, budget=budget, needed_bytes=needed_bytes
        )


@dataclass(frozen=True)
class Columns:
    """What columns are for; the fields are those of ``Roles``."""

    target: Annotated[Name, typer.Option("--target", "-t", metavar="COLUMN", help="Column to predict.")] = None
    weight: Annotated[Name, named("--weight", "COLUMN", "Weights of rows.")] = None
    group: Annotated[Name, named("--group", "COLUMN", "Queries of ranking; else rows that stay together.")] = None
    event: Annotated[
        Name, named("--event", "COLUMN", "For survival: 1 if the event happened at the time --target, else 0.")
    ] = None
    treatment: Annotated[Name, named("--treatment", "COLUMN", "For uplift: 0 or 'control', and the treatments.")] = None
    offset: Offset = None
    positive: Positive = None

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given, as ``Roles`` takes them."""
        found = {name: value for name, value in vars(self).items() if value is not None}
        return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


@dataclass(frozen=True)
class Learning(Columns):
    """What columns are for when a model is trained."""

    time: Annotated[Name, named("--time", "COLUMN", "Order in time: later rows judge.")] = None
    ids: Annotated[Names, named("--id", "COLUMN", "Column that names rows, not used as a feature; repeatable.")] = None
    ignored: Annotated[Names, named("--ignore", "COLUMN", "Column to leave out; repeatable.")] = None
    kinds: Annotated[Names, named("--kind", "COLUMN=KIND", "number, category, date, bool or ignore; repeatable.")] = (
        None
    )

    def roles(self) -> Roles:
        """Check and gather the roles."""
        from arboretum.cli.columns import Roles, parse_kinds

        roles = Roles(**{**self.given, "kinds": parse_kinds(self.kinds or [])})
        roles.check()
        return roles


def memory_budget(limit: str | None) -> MemoryBudget | None:
    """Begin to count memory."""
    from arboretum.cli.errors import UsageError
    from arboretum.data.memory_budget import MemoryBudget, as_bytes, resident

    start = resident()
    # pyarrow looks when it is imported; its other allocators keep twice what they are asked for.
    if sys.platform == "linux":
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")
    try:
        return None if limit is None else MemoryBudget(as_bytes(limit), start)
    except ValueError:
        raise UsageError(
            f"--memory-limit {limit}: expected a number of bytes, or a size such as 500MB or 2GB"
        ) from None
