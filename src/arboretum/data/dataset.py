"""Datasets: rows in files, databases and batches, read in passes and never held whole."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data import dask_rows, sources
from arboretum.data.arrow_types import as_numpy, width_of
from arboretum.data.csv_files import CsvFiles, warn
from arboretum.data.json_files import json_files
from arboretum.data.memory_budget import (
    BATCH_SHARE,
    MOST_READING,
    PAGES_SHARE,
    READING_SHARE,
    MemoryBudget,
    ReaderMemoryError,
    as_bytes,
    grouped,
)
from arboretum.data.parquet_files import ParquetFiles
from arboretum.data.schema import require_names
from arboretum.data.sources import BATCH_ROWS, Source
from arboretum.data.text_columns import ARGUMENTS, Kind, TextRules
from arboretum.data.text_values import MISSING

UNLIMITED = 4_000_000_000  # bytes that passes are planned for where there is no limit
LEAST_BATCH_ROWS, TEXT_BYTES = 8_192, 24  # rows that make a batch worthwhile, and a guess at the bytes of a text


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows of a file, a database or a stream of batches, to fit and predict on without holding them in memory.

    Make one with ``from_parquet``, ``from_csv``, ``from_json``, ``from_sql``, ``from_batches``, ``from_frame`` or
    ``from_dask``; every estimator takes it in the place of ``X``: ``model.fit(dataset, target="price")``,
    ``model.predict(dataset)``. The model is, to the last bit, that of the same rows in a frame.

    Parameters
    ----------
    source : Source
        Where the rows come from.
    columns : tuple of str, optional
        The columns to read; all by default.
    budget : MemoryBudget, optional
        What is left of its memory limit; see ``with_memory_limit``.
    named : bool
        Whether models go by the names of the columns; if not, by their positions, as in an array.

    Examples
    --------
    >>> import arboretum as arb
    >>> dataset = arb.Dataset.from_frame({"size": [1.0, 2.0, 3.0, 4.0], "price": [1.0, 2.0, 3.0, 4.0]})
    >>> dataset.names, dataset.n_rows
    (['size', 'price'], 4)
    >>> model = arb.BoostedTreesRegressor(n_estimators=3).fit(dataset, target="price")
    >>> model.predict(dataset).shape
    (4,)
    """

    source: Source
    columns: tuple[str, ...] | None = None
    budget: MemoryBudget | None = None
    named: bool = True

    # ---- where rows come from ----------------------------------------------------------------------------------------

    @classmethod
    def from_parquet(cls, path: Any, *, memory_limit: int | str | None = None) -> Dataset:
        """Read Parquet files.

        Parameters
        ----------
        path : path, pattern or list of them
            As ``"sales.parquet"`` or ``"sales/*.parquet"``; files of a pattern come in the order of their names, with
            numbers in them compared as numbers: ``part.2.parquet`` comes before ``part.10.parquet``.
        memory_limit : int or str, optional
            As for ``with_memory_limit``.
        """
        files = sources.found_files(path)
        sources.refuse_empty(files)
        return cls(ParquetFiles(files)).with_memory_limit(memory_limit)

    @classmethod
    def from_csv(
        cls,
        path: Any,
        *,
        delimiter: str | None = None,
        encoding: str | None = None,
        decimal: str = ".",
        missing: Sequence[str] = MISSING,
        types: Mapping[str, str] | None = None,
        date_formats: Mapping[str, str] | None = None,
        memory_limit: int | str | None = None,
    ) -> Dataset:
        r"""Read CSV files whose first line names the columns.

        All rows decide what a column holds: numbers, booleans, dates or times, if all its values are, except for marks
        of missing values such as ``?``; otherwise text. Warnings tell which marks were found, and what else was
        guessed; docs/odd-input.md states the rule. A model that predicts reads each column as it was at fit.

        Parameters
        ----------
        path : path, pattern or list of them
            The files, in any of the compressions gzip, bzip2 and Zstandard; columns are matched by name. Files of a
            pattern come in the order of ``from_parquet``.
        delimiter : str, optional
            Separator of fields; by default the most frequent of comma, semicolon, tab and bar in the first line.
        encoding : str, optional
            A codec of Python, such as ``"latin-1"``; by default UTF-8, or what a byte order mark says.
        decimal : {".", ","}
            Decimal separator.
        missing : sequence of str
            Marks of a missing value in any column; blanks around them do not count.
        types : dict, optional
            SQL types of columns, as ``{"postcode": "VARCHAR"}``; a value that does not fit is an error that names it.
        date_formats : dict, optional
            Formats of columns of dates, as ``{"day": "%d/%m/%Y"}``.
        memory_limit : int or str, optional
            As for ``with_memory_limit``.

        Examples
        --------
        >>> from pathlib import Path
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "rooms.csv")
        ...     _ = file.write_text("size;price\n12,5;100\n;80\n")
        ...     Dataset.from_csv(file, decimal=",").to_frame().to_pydict()
        {'size': [12.5, None], 'price': [100, 80]}
        """
        rules = TextRules(
            missing=tuple(missing), decimal=decimal, types=dict(types or {}), date_formats=dict(date_formats or {})
        )
        files = CsvFiles(sources.found_files(path), delimiter, encoding, rules, warn)
        return cls(files).with_memory_limit(memory_limit)

    @classmethod
    def from_json(cls, path: Any, *, encoding: str | None = None, memory_limit: int | str | None = None) -> Dataset:
        """Read JSON files: an array of objects, or one object per line.

        Parameters
        ----------
        path : path, pattern or list of them
            The files, in any of the compressions gzip, bzip2 and Zstandard. Files of a pattern come in the order of
            ``from_parquet``.
        encoding : str, optional
            A codec of Python, such as ``"latin-1"``; by default UTF-8, or what a byte order mark says.
        memory_limit : int or str, optional
            As for ``with_memory_limit``.
        """
        return cls(json_files(sources.found_files(path), encoding, ARGUMENTS)).with_memory_limit(memory_limit)

    @classmethod
    def from_sql(cls, query: str, connection: Any = None, *, memory_limit: int | str | None = None) -> Dataset:
        """Read the rows of a query, which is run once.

        Without ORDER BY a database may give rows in any order, and models depend on it where they draw rows.

        Parameters
        ----------
        query : str
            A SELECT.
        connection : None, path, duckdb or sqlite3 connection
            None is DuckDB in memory, which reads files: ``SELECT * FROM 'sales/*.parquet' WHERE year > 2020``.
        memory_limit : int or str, optional
            As for ``with_memory_limit``.

        Examples
        --------
        >>> Dataset.from_sql("SELECT i, i % 2 = 0 AS even FROM range(3) AS r(i)").to_frame().to_pydict()
        {'i': [0, 1, 2], 'even': [True, False, True]}
        """
        return cls(sources.query_rows(query, connection)).with_memory_limit(memory_limit)

    @classmethod
    def from_batches(
        cls, batches: Iterable[Any] | Callable[[], Iterable[Any]], *, memory_limit: int | str | None = None
    ) -> Dataset:
        """Read batches of your own.

        Parameters
        ----------
        batches : iterable, or callable that returns a new iterator each time
            Arrow record batches or tables, pandas or polars frames, or dictionaries of arrays. They are read several
            times, so a generator must be given by the function that makes it.
        memory_limit : int or str, optional
            As for ``with_memory_limit``.

        Examples
        --------
        >>> Dataset.from_batches(lambda: ({"i": [n, n + 1]} for n in (0, 2))).to_frame().to_pydict()
        {'i': [0, 1, 2, 3]}
        """
        if callable(batches):
            return cls(sources.Batches(batches)).with_memory_limit(memory_limit)
        if iter(batches) is batches:
            raise TypeError(
                "batches can be read only once, but are needed several times: give the function that makes them, as "
                "Dataset.from_batches(lambda: make_batches())"
            )
        return cls(sources.Batches(lambda: batches)).with_memory_limit(memory_limit)

    @classmethod
    def from_frame(cls, frame: Any, *, memory_limit: int | str | None = None) -> Dataset:
        """Read a pandas or polars frame, an Arrow table or a dictionary of arrays that is in memory already.

        Parameters
        ----------
        frame : frame
            All rows.
        memory_limit : int or str, optional
            As for ``with_memory_limit``.
        """
        return cls.from_batches([sources.as_arrow(frame)], memory_limit=memory_limit)

    @classmethod
    def from_dask(cls, collection: Any, *, memory_limit: int | str | None = None) -> Dataset:
        """Read a Dask frame or array one partition at a time, on a machine that need not hold all of it.

        A fit makes several passes, and each computes every partition again: on the cluster of the current client, or
        by Dask's own scheduler on this machine. ``collection.persist()`` keeps what was computed, in the memory of the
        workers. To fit on the workers themselves, give the collection to ``fit`` as it is.

        Parameters
        ----------
        collection : Dask frame, Dask array, or list of delayed frames
            All rows; a pass must give the same ones as the pass before.
        memory_limit : int or str, optional
            As for ``with_memory_limit``; it must hold a partition.

        Examples
        --------
        >>> from dask import delayed
        >>> Dataset.from_dask([delayed({"i": [0, 1]}), delayed({"i": [2]})]).n_rows
        3
        """
        rows = dask_rows.computed_rows(collection)
        return cls(rows, named=dask_rows.has_names(collection)).with_memory_limit(memory_limit)

    # ---- what it is --------------------------------------------------------------------------------------------------

    @property
    def prepared(self) -> Source:
        """The source, ready to be read: what must be counted or copied first has been."""
        self.source.prepare(self.budget)
        return self.source

    @property
    def schema(self) -> Any:
        """Names and types, a pyarrow.Schema."""
        import pyarrow

        schema = self.prepared.schema()
        return schema if self.columns is None else pyarrow.schema([schema.field(name) for name in self.columns])

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return sources.names_of(self.source, self.budget) if self.columns is None else list(self.columns)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.prepared.n_rows()

    @property
    def memory_limit(self) -> int | None:
        """Bytes of memory that reading and training may take; see ``with_memory_limit``."""
        return None if self.budget is None else self.budget.limit

    def __repr__(self) -> str:
        return f"Dataset({', '.join(map(repr, self.names))})"

    # ---- parts of it -------------------------------------------------------------------------------------------------

    def select(self, names: Sequence[str]) -> Dataset:
        """Return the dataset of these columns."""
        self.require(names)
        return replace(self, columns=tuple(names))

    def drop(self, names: Sequence[str]) -> Dataset:
        """Return the dataset without these columns."""
        self.require(names)
        return replace(self, columns=tuple(name for name in self.names if name not in set(names)))

    def filter(self, chosen: NDArray[np.bool_]) -> Dataset:
        """Return the dataset of some of the rows.

        Parameters
        ----------
        chosen : ndarray of bool
            One for each row.

        Examples
        --------
        >>> Dataset.from_frame({"i": range(3)}).filter(np.array([True, False, True])).to_frame().to_pydict()
        {'i': [0, 2]}
        """
        chosen = np.asarray(chosen)
        if chosen.dtype != np.bool_ or chosen.shape != (self.n_rows,):
            raise ValueError(
                f"chosen has type {chosen.dtype} and shape {chosen.shape}: give an array of {self.n_rows} booleans, "
                "one per row"
            )
        return replace(self, source=sources.ChosenRows(self.source, chosen))

    def parted(self, n_rows: int) -> list[Dataset]:
        """Return datasets of about this many rows each, one below the other, which other processes can read.

        Rows of Parquet files are read where they lie; what is read from text files and queries is in temporary files
        of this machine. Batches of your own cannot be parted.
        """
        return [replace(self, source=part) for part in sources.parted(self.prepared, n_rows)]

    def read_as(self, kinds: Mapping[str, Kind]) -> Dataset:
        """Return the dataset with columns of CSV files read as these kinds; other sources have types of their own.

        Parameters
        ----------
        kinds : dict
            "number", "category", "date" or "bool" by column. A value that does not fit is an error that names it.
        """
        return replace(self, source=sources.read_as(self.source, kinds))

    def require(self, names: Sequence[str]) -> None:
        """Reject a name that is not a column, and suggest the nearest one."""
        require_names(names, self.names, "the dataset")

    def with_memory_limit(self, memory_limit: int | str | None) -> Dataset:
        """Return the dataset with a limit on the memory that reading it and training from it may take.

        Parameters
        ----------
        memory_limit : int or str, optional
            Bytes, or text such as ``"500MB"``: what the process may hold above what it held when a method that reads
            the dataset (``fit``, ``predict``, ``batches``) was called. A limit that cannot be kept is rejected with
            the least one that can.

        Examples
        --------
        >>> Dataset.from_frame({"i": [1]}).with_memory_limit("1.5GB").memory_limit
        1500000000
        """
        return replace(self, budget=None if memory_limit is None else MemoryBudget(as_bytes(memory_limit)))

    def begun(self) -> Dataset:
        """Return the dataset with its memory limit counting from now on, if it does not count already."""
        return self if self.budget is None else replace(self, budget=self.budget.begun())

    # ---- rows --------------------------------------------------------------------------------------------------------

    def batches(self, size: int = BATCH_ROWS) -> Iterator[Any]:
        """Yield the rows in their order as pyarrow.RecordBatch of at most ``size`` rows.

        Examples
        --------
        >>> [batch.num_rows for batch in Dataset.from_frame({"i": range(5)}).batches(size=2)]
        [2, 2, 1]
        """
        if isinstance(size, bool) or not isinstance(size, numbers.Integral) or size < 1:
            raise ValueError(f"size={size!r}: use an integer at least 1")
        return self.batches_beside(0, int(size))

    def batches_beside(self, beside: int, size: int = BATCH_ROWS) -> Iterator[Any]:
        """Yield the rows while the caller holds ``beside`` more bytes."""
        budget = None if self.budget is None else self.budget.begun()
        source = self.begun().prepared  # before memory is planned: the libraries that it loads count
        memory = None if budget is None else budget.reading(beside=beside)
        try:
            for batch in source.batches(self.names, size, memory):
                if batch.num_rows:
                    yield batch
                del batch
                if budget is not None:
                    budget.keep()
        except ReaderMemoryError as error:
            assert budget is not None
            raise budget.too_small(budget.least_for(error.needed, beside=beside), error.what) from None

    def column_groups(self, held: int = 0, *, beside: int = 0) -> list[range]:
        """Divide the columns, by position, into groups that a pass can read within the memory limit.

        Parameters
        ----------
        held : int
            Bytes that the caller keeps for every column of a group.
        beside : int
            Further bytes that are held during all passes.
        """
        memory = UNLIMITED if self.budget is None else max(1, self.budget.begun().free() - beside)
        reading = min(READING_SHARE * (memory / 2 if held else memory), MOST_READING)
        of_batch = [int(LEAST_BATCH_ROWS * (width_of(field.type) or TEXT_BYTES)) for field in self.schema]
        # A column takes its share of each of these: what the caller keeps, pages, and a batch.
        shares = [
            max(2 * held / memory, pages / (PAGES_SHARE * reading), batch / (BATCH_SHARE * reading))
            for pages, batch in zip(self.prepared.buffers(self.names), of_batch, strict=True)
        ]
        return grouped(shares, 1.0)

    def reader_bytes(self) -> int:
        """Return the least memory that reading takes: the pages of the widest column, and a batch."""
        widest = max(self.prepared.buffers(self.names), default=0)
        return int(widest / PAGES_SHARE / READING_SHARE)

    def whole_column(self) -> NDArray[Any]:
        """Read a dataset of one column into an array.

        Examples
        --------
        >>> Dataset.from_frame({"i": [1, 2], "t": ["a", None]}).select(["t"]).whole_column()
        array(['a', None], dtype=object)
        """
        parts = [as_numpy(batch.column(0)) for batch in self.batches()]
        return np.concatenate(parts) if parts else as_numpy(self.schema.empty_table().column(0).combine_chunks())

    def to_frame(self) -> Any:
        """Read all rows into memory, as a pyarrow.Table."""
        import pyarrow

        batches = [pyarrow.Table.from_batches([batch]) for batch in self.batches()]
        if not batches:
            return self.schema.empty_table()
        return pyarrow.concat_tables(batches, promote_options="permissive")
