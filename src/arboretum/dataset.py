"""Datasets: rows in files, databases and batches, read in passes and never held whole."""

from __future__ import annotations

import difflib
import numbers
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum import dataset_sources as sources
from arboretum.dataset_sources import BATCH_ROWS, Source
from arboretum.schema import listed

__all__ = ["Dataset"]

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows of a file, a database or a stream of batches, to fit and predict on without holding them in memory.

    Make one with ``from_parquet``, ``from_csv``, ``from_json``, ``from_sql``, ``from_batches`` or ``from_frame``; every
    estimator takes it in the place of ``X``: ``model.fit(dataset, target="price")``, ``model.predict(dataset)``. The
    model is, to the last bit, that of the same rows in a frame.

    Parameters
    ----------
    source : Source
        Where the rows come from.
    columns : tuple of str, optional
        The columns to read; all by default.
    memory_limit : int, optional
        Bytes that training may keep in memory; see ``with_memory_limit``.

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
    memory_limit: int | None = None

    # ---- where rows come from ----------------------------------------------------------------------------------------

    @classmethod
    def from_parquet(cls, path: Any, *, memory_limit: int | str | None = None) -> Dataset:
        """Read Parquet files.

        Parameters
        ----------
        path : path, pattern or list of them
            As ``"sales.parquet"`` or ``"sales/*.parquet"``; files of a pattern come in the order of their names.
        memory_limit : int or str, optional
            As for ``with_memory_limit``.
        """
        files = sources.found_files(path)
        sources.refuse_empty(files)
        return cls(sources.ParquetFiles(files)).with_memory_limit(memory_limit)

    @classmethod
    def from_csv(
        cls,
        path: Any,
        *,
        delimiter: str | None = None,
        missing: Sequence[str] = ("", "NA", "N/A", "NaN", "nan", "null", "NULL"),
        types: Mapping[str, str] | None = None,
        memory_limit: int | str | None = None,
    ) -> Dataset:
        """Read CSV files whose first line names the columns.

        Types are found from the first lines; a later value that does not fit is an error that names its line.

        Parameters
        ----------
        path : path, pattern or list of them
            The files.
        delimiter : str, optional
            What stands between fields; by default comma, semicolon, tab or bar, whichever the first line has most of.
        missing : sequence of str
            What stands for a missing value.
        types : dict, optional
            SQL types of columns, as ``{"postcode": "VARCHAR"}``.
        memory_limit : int or str, optional
            As for ``with_memory_limit``.
        """
        files = sources.found_files(path)
        return cls(sources.csv_files(files, delimiter, missing, types)).with_memory_limit(memory_limit)

    @classmethod
    def from_json(cls, path: Any, *, memory_limit: int | str | None = None) -> Dataset:
        """Read JSON files of one object a line.

        Parameters
        ----------
        path : path, pattern or list of them
            The files.
        memory_limit : int or str, optional
            As for ``with_memory_limit``.
        """
        return cls(sources.json_files(sources.found_files(path))).with_memory_limit(memory_limit)

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

    # ---- what it is --------------------------------------------------------------------------------------------------

    @property
    def schema(self) -> Any:
        """Names and types, a pyarrow.Schema."""
        import pyarrow

        schema = self.source.schema()
        return schema if self.columns is None else pyarrow.schema([schema.field(name) for name in self.columns])

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.source.schema().names) if self.columns is None else list(self.columns)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.source.n_rows()

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
                f"rows are chosen by an array of {self.n_rows} booleans, one for each, not by one of type "
                f"{chosen.dtype} and shape {chosen.shape}"
            )
        return replace(self, source=sources.ChosenRows(self.source, chosen))

    def require(self, names: Sequence[str]) -> None:
        """Refuse a name that is no column, with the nearest that is one."""
        known = self.names
        for name in names:
            if name not in known:
                near = [one for one in known if one.lower() == str(name).lower()]
                near = near or difflib.get_close_matches(str(name), known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"its columns are {listed(known, 20)}"
                raise ValueError(f"the dataset has no column {name!r}: {hint}")

    def with_memory_limit(self, memory_limit: int | str | None) -> Dataset:
        """Return the dataset with a limit to what training keeps in memory.

        Parameters
        ----------
        memory_limit : int or str, optional
            Bytes, or text such as ``"500MB"``. If training would take more, with about two bytes a cell and 48 a row,
            the codes of the cells are kept in a temporary file and read from there.

        Examples
        --------
        >>> Dataset.from_frame({"i": [1]}).with_memory_limit("1.5GB").memory_limit
        1500000000
        """
        return replace(self, memory_limit=None if memory_limit is None else as_bytes(memory_limit))

    # ---- rows --------------------------------------------------------------------------------------------------------

    def batches(self, size: int = BATCH_ROWS) -> Iterator[Any]:
        """Yield the rows in their order as pyarrow.RecordBatch of at most ``size`` rows.

        Examples
        --------
        >>> [batch.num_rows for batch in Dataset.from_frame({"i": range(5)}).batches(size=2)]
        [2, 2, 1]
        """
        if isinstance(size, bool) or not isinstance(size, numbers.Integral) or size < 1:
            raise ValueError(f"size={size!r}: use a number of rows of at least 1")
        return (batch for batch in self.source.batches(self.names, int(size)) if batch.num_rows)

    def to_frame(self) -> Any:
        """Read all rows into memory: a pyarrow.Table, which has ``to_pandas``."""
        import pyarrow

        batches = [pyarrow.Table.from_batches([batch]) for batch in self.batches()]
        if not batches:
            return self.schema.empty_table()
        return pyarrow.concat_tables(batches, promote_options="permissive")


def as_bytes(limit: int | str) -> int:
    """Read a size in bytes.

    Examples
    --------
    >>> as_bytes("500MB"), as_bytes("1 GiB"), as_bytes(4096)
    (500000000, 1073741824, 4096)
    """
    if isinstance(limit, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", limit)
        if found and found[2].upper() in UNITS:
            return int(float(found[1]) * UNITS[found[2].upper()])
    elif isinstance(limit, numbers.Integral) and not isinstance(limit, bool) and limit > 0:
        return int(limit)
    raise ValueError(f"memory_limit={limit!r}: use a number of bytes, or text such as '500MB' or '2GB'")
