"""A fitted model: its trees, the columns that they read, the meaning of their sums, and notes of the fit.

::

    X ──conform──► Table ──as_read──► Table that trees read ──► leaves ──► sums of trees ──Head──► answers
       schema              encoding                              forest

    to_file, from_file:  schema · encoding · forest · head · notes  ◄──►  header and named arrays
    fingerprint:         all of them but the notes
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum.cached import cached_property
from arboretum.data.schema import Schema
from arboretum.data.single_row import SingleRow
from arboretum.data.streamed_table import StreamedTable
from arboretum.data.table import SparseTable, Table, conform, lies_ready
from arboretum.encoding.category_encoding import CategoryEncoding
from arboretum.encoding.encoded_stream import TransformedStream
from arboretum.model import model_file
from arboretum.model.arrays import Arrays
from arboretum.model.forest import ON_CATEGORIES, Forest
from arboretum.model.heads import Head
from arboretum.model.notes import Notes
from arboretum.running.threads import n_threads

FloatArray: TypeAlias = NDArray[np.float64]
HeadKind = TypeVar("HeadKind", bound=Head)

# Predicting this many rows takes less time than finding the number of threads.
FEW_ROWS = 64


@dataclass(frozen=True, eq=False)
class Model:
    """Everything that predicts, frozen.

    Parameters
    ----------
    forest : Forest
        The trees.
    schema : Schema
        Columns of the user's table.
    encoding : CategoryEncoding, optional
        Statistics of categories, if trees read any.
    unknown, missing : str
        How categories and missing values that training rows did not have are treated.
    name : str
        Name of the model in messages.
    head : Head
        Meaning of the sums of the trees.
    notes : Notes
        Further facts about the fit.
    table : Table, optional
        Rows that are read already: ``conform`` returns them for any argument.
    known : callable, optional
        Function from rows to sums of trees that are known already; trees then do not predict.

    Examples
    --------
    >>> import arboretum as arb
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = arb.RandomForestRegressor(n_estimators=5).fit(X, X[:, 0]).model_
    >>> table = model.conform(X)
    >>> bool(np.allclose(model.raw(table, threads=1)[:, 0] / 5, model.answers(table, threads=1)))
    True
    """

    forest: Forest
    schema: Schema
    encoding: CategoryEncoding | None = None
    unknown: Literal["average", "missing", "error"] = "average"
    missing: Literal["warn", "error"] = "warn"
    name: str = "model"
    head: Head = field(default_factory=Head)
    notes: Notes = field(default_factory=Notes)
    table: Table | None = None
    known: Callable[[Any], FloatArray] | None = None

    # ---- tables --------------------------------------------------------------------------------------------------

    def conform(self, X: Any) -> Table:
        """Return rows as a table with the columns of the schema."""
        if self.table is not None:
            return self.table
        return conform(X, self.schema, unknown=self.unknown, missing=self.missing, estimator_name=self.name)

    def as_read(self, table: Table, threads: int) -> Table:
        """Return the table that the conditions of the trees read."""
        return encoded(self.encoding, table, threads, unknown_is_missing=self.unknown == "missing")

    @property
    def n_columns(self) -> int:
        """Number of columns of the user's table."""
        return self.schema.n_features

    @property
    def read_schema(self) -> Schema:
        """Columns of the table that the trees read."""
        return self.schema if self.encoding is None else self.encoding.schema

    @property
    def routing(self) -> str:
        """How the forest treats unknown categories; if they are an error, ``conform`` has rejected them."""
        return "missing" if self.unknown == "missing" else "average"

    # ---- sums and leaves -----------------------------------------------------------------------------------------

    def sums(self, X: Any, n_jobs: int | None) -> FloatArray:
        """Return the sums of the trees for rows in any container, (rows, outputs)."""
        if self.known is not None:
            return self.known(X)
        if type(X) is np.ndarray and self._is_ready(X):
            raw = self.summed.raw_of_numbers(X, threads=1 if len(X) <= FEW_ROWS else n_threads(n_jobs))
            if raw is not None:
                return raw
        elif self.table is None and (row := self._single_row.read(X)) is not None:
            return self.summed.raw_matrix(*row) if self.encoding is None else self.raw(self._row_table(*row), threads=1)
        return self.raw(self.conform(X), n_threads(n_jobs))

    @cached_property
    def _single_row(self) -> SingleRow:
        """What reads single rows."""
        return SingleRow(self.schema)

    def _row_table(self, numbers: FloatArray, codes: NDArray[np.int32]) -> Table:
        """Return a row that was read at once as a table."""
        kinds = enumerate(column.kind for column in self.schema.columns)
        return Table(self.schema, [(numbers if kind == "numeric" else codes)[:, j] for j, kind in kinds])

    def _is_ready(self, X: NDArray[Any]) -> bool:
        """Return whether the table layer would accept the matrix as it is if no value is missing."""
        return X.ndim == 2 and X.shape[1] == self._numeric_width and len(X) > 0 and lies_ready(X)

    @cached_property
    def _numeric_width(self) -> int:
        """Number of columns if all are plain numbers that trees read as they are, else −1."""
        return self.schema.n_features if self.schema.all_numbers and self.table is None else -1

    @property
    def summed(self) -> Forest:
        """The forest whose sums are predictions."""
        return self.head.summed(self.forest)

    @property
    def gain(self) -> FloatArray:
        """Gain of each node, 0 at leaves."""
        return self.head.gain(self.forest)

    def raw(self, table: Table, threads: int, forest: Forest | None = None) -> FloatArray:
        """Return the sums of the trees of a forest, by default the summed one, (rows, outputs)."""
        return self.raw_of_read(self.as_read(table, threads), threads, forest)

    def raw_of_read(self, table: Table, threads: int, forest: Forest | None = None) -> FloatArray:
        """Return the sums for a table as trees read it."""
        (table, trees), unknown = narrowed(table, forest or self.summed), self.routing
        return by_rows(table, lambda part: trees.raw(part.columns, part.n_rows, threads=threads, unknown=unknown))

    def leaves(self, table: Table, threads: int) -> NDArray[np.int32]:
        """Return the leaf of every row in every tree, (rows, trees)."""
        return self.leaves_of_read(self.as_read(table, threads), threads)

    def leaves_of_read(self, table: Table, threads: int) -> NDArray[np.int32]:
        """Return the leaves for a table as trees read it."""
        (table, forest), unknown = narrowed(table, self.forest), self.routing
        return by_rows(table, lambda part: forest.apply(part.columns, part.n_rows, threads=threads, unknown=unknown))

    def answers(self, table: Table, threads: int) -> NDArray[Any]:
        """Return predictions as users see them: labels or numbers."""
        return self.head.answers(self.raw(table, threads))

    def head_as(self, kind: type[HeadKind]) -> HeadKind:
        """Return the head, which is of this kind."""
        assert isinstance(self.head, kind)
        return self.head

    def explained(self) -> tuple[Forest, float]:
        """Return the forest, and the divisor of its sums, that SHAP values decompose; TypeError if there is none."""
        return self.head.explained(self.forest)

    # ---- files ---------------------------------------------------------------------------------------------------

    def fingerprint(self) -> str:
        """Hash everything that determines predictions; the order of named columns does not matter."""
        arrays = self._arrays()
        place = np.append(_places_by_name(self.read_schema), np.int32(-1))  # a leaf's feature
        for name in ("feature", "projection_feature", "slope_feature"):
            if name in arrays:
                arrays[name] = place[arrays[name]]
        schema = replace(self.schema, set_aside=()).to_json()
        schema["columns"] = [schema["columns"][column] for column in np.argsort(_places_by_name(self.schema))]
        return model_file.fingerprint({"schema": schema, "unknown": self.unknown, **self._facts()}, arrays)

    def _facts(self) -> dict[str, Any]:
        statistics = {} if self.encoding is None else {"statistics": self.encoding.to_json()}
        return {**self.head.facts(), **statistics}

    def _arrays(self) -> Arrays:
        return {**self.head.arrays(self.forest), **({} if self.encoding is None else self.encoding.to_arrays())}

    def to_file(self, params: Mapping[str, Any]) -> tuple[dict[str, Any], Arrays]:
        """Return header and arrays of a model file, besides class and parameters of the estimator."""
        notes = {**self.head.notes(), **self.notes.to_json(params)}
        header = {"schema": self.schema.to_json(), **self._facts(), **notes}
        return header, {**self._arrays(), **self.notes.to_arrays()}

    @classmethod
    def from_file(
        cls, header: dict[str, Any], arrays: Arrays, head: type[Head], notes: type[Notes], **policy: Any
    ) -> Model:
        """Make the model that a file describes; damage is a ValueError, KeyError or TypeError.

        Parameters
        ----------
        header, arrays
            Content of the file.
        head, notes : type
            Classes of the head and the notes in it.
        **policy
            ``unknown``, ``missing`` and ``name`` of the model.
        """
        schema = Schema.from_json(header["schema"])
        encoding = None
        if "statistics" in header:
            encoding = CategoryEncoding.from_arrays(header["statistics"], arrays, schema)
        forest = Forest.from_arrays(arrays)
        read_schema = schema if encoding is None else encoding.schema
        forest.validate(read_schema.n_features)
        forest.trusted()
        _check_kinds(forest, read_schema)
        found, noted = head.from_file(header, arrays, forest), notes.from_file(header, arrays, forest)
        return cls(forest, schema, encoding, head=found, notes=noted, **policy)


def _places_by_name(schema: Schema) -> NDArray[np.int32]:
    """Return the place of each column in the order of names, given or numbered."""
    place = np.empty(schema.n_features, dtype=np.int32)
    place[sorted(range(schema.n_features), key=schema.names.__getitem__)] = np.arange(schema.n_features, dtype=np.int32)
    return place


def _check_kinds(forest: Forest, schema: Schema) -> None:
    categorical = np.zeros(schema.n_features, dtype=bool)
    categorical[schema.categorical] = True
    node, column, _ = forest.reads()
    wrong = node[categorical[column] != np.isin(forest.kind[node], ON_CATEGORIES)]
    if wrong.size:
        raise ValueError(f"node {wrong.min()} has a condition that its column cannot have")
    if categorical[forest.slope_feature].any():
        raise ValueError("a leaf has a slope for a column of categories")


def encoded(
    encoding: CategoryEncoding | None, table: Table, threads: int, *, unknown_is_missing: bool = False
) -> Table:
    """Return a table with its categories as statistics, or as it is if there is no encoding."""
    if encoding is None:
        return table
    if isinstance(table, StreamedTable):
        return TransformedStream(table, encoding, unknown_is_missing, threads)
    return encoding.transform(table, unknown_is_missing=unknown_is_missing, threads=threads)


def narrowed(table: Table, forest: Forest) -> tuple[Table, Forest]:
    """Return a table without the columns that a forest does not read, if that is worth it, and the forest on it.

    Sparse rows are made dense for prediction: of a thousand columns, trees may read some ten.
    """
    if not isinstance(table, SparseTable):
        return table, forest
    columns, narrow = forest.narrowed
    return table.of_columns(columns.tolist()), narrow


def by_rows(table: Table, answer: Callable[[Table], NDArray[Any]]) -> NDArray[Any]:
    """Return the answers for all rows, computed batch by batch, without holding any of them twice."""
    whole = np.zeros(0)
    for first, part in table.row_batches():
        answers = answer(part)
        if len(answers) == table.n_rows:
            whole = answers
            continue
        if first == 0:
            whole = np.empty((table.n_rows, *answers.shape[1:]), answers.dtype)
        whole[first : first + len(answers)] = answers
    return whole
