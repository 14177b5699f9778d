"""A fitted model: its trees, the columns that they read, and what their sums mean.

::

    X ──conform──► Table ──as_read──► Table that trees read ──► leaves ──► sums of trees ──Head──► answers
       schema              encoding                              forest
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.data.schema import Schema
from arboretum.data.streamed_table import StreamedTable
from arboretum.data.table import Table, conform
from arboretum.encoding.category_encoding import CategoryEncoding
from arboretum.encoding.encoded_stream import TransformedStream
from arboretum.model.forest import Forest
from arboretum.model.heads import Head

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Model:
    """Everything that predicts, frozen.

    Parameters
    ----------
    forest : Forest
        The trees.
    schema : Schema
        Columns of the user.
    encoding : CategoryEncoding, optional
        Statistics of categories, if trees read some.
    unknown, missing : str
        What is done about categories and missing values that training rows did not have.
    name : str
        What messages call the model.
    head : Head
        What the sums of the trees mean.
    table : Table, optional
        Rows that are read already: ``conform`` returns them, whatever it is given.

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
    table: Table | None = None

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
    def read_schema(self) -> Schema:
        """Columns of the table that the trees read."""
        return self.schema if self.encoding is None else self.encoding.schema

    @property
    def routing(self) -> str:
        """What the forest does with unknown categories; ``conform`` has rejected them if they are an error."""
        return "missing" if self.unknown == "missing" else "average"

    # ---- sums and leaves -----------------------------------------------------------------------------------------

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
        trees, unknown = forest or self.summed, self.routing
        return by_rows(table, lambda part: trees.raw(part.columns, part.n_rows, threads=threads, unknown=unknown))

    def leaves(self, table: Table, threads: int) -> NDArray[np.int32]:
        """Return the leaf of every row in every tree, (rows, trees)."""
        return self.leaves_of_read(self.as_read(table, threads), threads)

    def leaves_of_read(self, table: Table, threads: int) -> NDArray[np.int32]:
        """Return the leaves for a table as trees read it."""
        forest, unknown = self.forest, self.routing
        return by_rows(table, lambda part: forest.apply(part.columns, part.n_rows, threads=threads, unknown=unknown))

    def answers(self, table: Table, threads: int) -> NDArray[Any]:
        """Return predictions as users see them: labels or numbers."""
        return self.head.answers(self.raw(table, threads))

    def explained(self) -> tuple[Forest, float]:
        """Return the forest whose sums, divided by the number, SHAP values split; TypeError if there is none."""
        return self.head.explained(self.forest)


def encoded(
    encoding: CategoryEncoding | None, table: Table, threads: int, *, unknown_is_missing: bool = False
) -> Table:
    """Return a table with its categories as statistics, or as it is if there is no encoding."""
    if encoding is None:
        return table
    if isinstance(table, StreamedTable):
        return TransformedStream(table, encoding, unknown_is_missing, threads)
    return encoding.transform(table, unknown_is_missing=unknown_is_missing, threads=threads)


def by_rows(table: Table, answer: Callable[[Table], NDArray[Any]]) -> NDArray[Any]:
    """Return the answers for all rows, found batch by batch; none is held twice."""
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
