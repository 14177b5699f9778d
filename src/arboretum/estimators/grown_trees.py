"""What every fitted estimator that is one forest of trees can do: predict sums, route rows, show its trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.data.schema import Schema
from arboretum.encoding.category_encoding import CategoryEncoding
from arboretum.estimators.protocol import not_fitted
from arboretum.model.arrays import Arrays
from arboretum.model.forest import Forest
from arboretum.model.heads import Head
from arboretum.model.model import Model
from arboretum.model.model_file import as_damage
from arboretum.model.notes import Notes
from arboretum.parameters.shared import Missing, Unknown
from arboretum.running.threads import n_threads

if TYPE_CHECKING:
    from arboretum.reading.frame import Backend

FloatArray: TypeAlias = NDArray[np.float64]


class GrownTrees:
    """Methods of an estimator whose fit sets ``model_``, a forest; stands left of ``Estimator`` among the bases.

    Attributes
    ----------
    forest_ : Forest
        The trees, plain frozen arrays.
    schema_ : Schema
        Names, kinds and categories of the columns.
    model_ : Model
        Trees, columns and what sums of trees mean, for those who look inside.
    task_ : Task
        What is predicted.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    n_jobs: int | None
    unknown: Unknown
    missing: Missing

    check_parameters: Callable[[], None]  # of Estimator

    head_kind: ClassVar[type[Head]] = Head  # what a file of the estimator holds
    notes_kind: ClassVar[type[Notes]] = Notes
    reads: ClassVar[tuple[str, ...]] = ("allow_nan", "sparse", "categorical", "string")
    reads_tables: ClassVar[bool] = True  # whether a Table, read already, may stand for X
    _model: Model

    @property
    def model_(self) -> Model:
        """The trees, the columns that they read, and what their sums mean."""
        model: Model | None = vars(self).get("_model")
        if model is None:
            raise self._no_trees()
        unknown, missing = self._policy()
        if model.unknown == unknown and model.missing == missing:
            return model
        return replace(model, unknown=unknown, missing=missing)

    @model_.setter
    def model_(self, model: Model) -> None:
        self._model = model

    def _no_trees(self) -> Exception:
        """Return the error of a method that needs trees, which are not fitted."""
        return not_fitted(self)

    def _policy(self) -> tuple[Unknown, Missing]:
        """Return what is done about unknown categories and new missing values."""
        return self.unknown, self.missing

    @property
    def forest_(self) -> Forest:
        """The trees, plain frozen arrays."""
        return self.model_.forest

    @property
    def schema_(self) -> Schema:
        """Names, kinds and categories of the columns."""
        return self.model_.schema

    @property
    def encoding_(self) -> CategoryEncoding | None:
        """Statistics of categories, if trees read some."""
        return self.model_.encoding

    @property
    def n_features_in_(self) -> int:
        """Number of columns at fit."""
        return self.model_.schema.n_features

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns at fit, if they had names."""
        schema = self.model_.schema
        if not schema.named:
            raise AttributeError(f"this {type(self).__name__} was fitted to columns without names")
        return np.array(schema.names, dtype=object)

    def expect_missing(self, has_missing: list[bool]) -> None:
        """Take columns for such that may have missing values, though the training rows had none.

        Parameters
        ----------
        has_missing : list of bool
            Which columns they are, besides those that are known.
        """
        self._model = replace(self._model, schema=self._model.schema.with_missing(has_missing))

    # ---- prediction ----------------------------------------------------------------------------------------------

    def predict_raw(self, X: Any) -> FloatArray:
        """Sum the trees, before any link, mean or vote.

        Returns
        -------
        ndarray of float64, (n_rows, n_outputs)
        """
        model = self.model_
        if model.known is not None or model.summed is model.forest:
            return model.sums(X, self.n_jobs)
        return model.raw(model.conform(X), n_threads(self.n_jobs), model.forest)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Leaf of every row in every tree.

        Returns
        -------
        ndarray of int32, (n_rows, n_trees)
            Node numbers, counted from the root of each tree.
        """
        model = self.model_
        return model.leaves(model.conform(X), n_threads(self.n_jobs))

    # ---- reading the trees ---------------------------------------------------------------------------------------

    def decision_path(self, X: Any) -> tuple[Any, NDArray[np.int64]]:
        """Nodes that rows pass on their way to the leaves.

        Returns
        -------
        indicator : scipy.sparse.csr_matrix, (n_rows, n_nodes of all trees)
            1 where a row passes a node.
        start : ndarray of int64, (n_trees + 1)
            Columns ``start[t] : start[t + 1]`` are the nodes of tree ``t``.
        """
        from arboretum.reading import decision_path

        return decision_path(self.forest_, self.apply(X))

    def to_text(self, tree: int | None = None, *, max_depth: int | None = None, digits: int = 4) -> str:
        """Write a tree as indented text, or what is known of the model and its first trees.

        Parameters
        ----------
        tree : int, optional
            Its number; without one, the facts of the model and its first two trees, four levels deep unless
            ``max_depth`` says otherwise.
        max_depth : int, optional
            Deeper nodes are left out.
        digits : int
            Significant digits of values; conditions are always exact.
        """
        from arboretum.reading import model_to_text, tree_to_text

        model = self.model_
        if tree is None:
            return model_to_text(self, 2, max_depth=4 if max_depth is None else max_depth, digits=digits)
        return tree_to_text(
            model.forest, model.read_schema, tree, max_depth=max_depth, digits=digits, **model.head.value_meaning
        )

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """Return all trees as a data frame, one row per node.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
            Library of the frame.

        Returns
        -------
        data frame
            ``tree`` and ``node``, counted from 0 at the root; ``parent``, −1 at the root; ``depth``; ``condition`` that
            leads to the node; ``feature`` and ``threshold`` of its own condition, and which side ``missing`` values
            take; ``left`` and ``right``, −1 at a leaf; ``gain``, training ``rows`` and ``value``, or one
            ``value of …`` per class or output. Inner nodes have the value they would have as a leaf. ``output`` is the
            class that the tree scores.

        Examples
        --------
        >>> import arboretum as arb
        >>> model = arb.DecisionTreeRegressor().fit([[20.0], [30.0], [40.0]], [1.0, 1.0, 4.0])
        >>> model.to_frame()[["node", "parent", "condition", "rows", "value"]]
           node  parent condition  rows  value
        0     0      -1       NaN     3    2.0
        1     1       0  x0 <= 35     2    1.0
        2     2       0   x0 > 35     1    4.0
        """
        from arboretum.reading import as_frame

        return as_frame(self._node_columns(), backend)

    def _node_columns(self) -> dict[str, Any]:
        from arboretum.reading import forest_columns

        model = self.model_
        return forest_columns(model.forest, model.read_schema, **model.head.value_meaning)

    def __len__(self) -> int:
        """Return the number of trees."""
        return self.forest_.n_trees

    def __bool__(self) -> bool:
        """Return True, fitted or not: code that asks ``if model:`` does not count trees."""
        return True

    def plot_tree(self, tree: int = 0, *, ax: Any = None, max_depth: int = 4) -> Any:
        """Draw a tree with Matplotlib.

        Parameters
        ----------
        tree : int
            Its number.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        max_depth : int
            Deeper nodes are left out.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from arboretum.plotting import plot_tree

        model = self.model_
        meaning = model.head.value_meaning
        return plot_tree(model.forest, model.read_schema, tree, ax=ax, max_depth=max_depth, **meaning)

    # ---- files ---------------------------------------------------------------------------------------------------

    def restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Take up the model that a file holds; ``arboretum.load`` calls it.

        Parameters
        ----------
        header, arrays
            Content of the file.
        """
        with as_damage():
            self.check_parameters()
            self.model_ = self._read_model(header, arrays)

    def _read_model(self, header: dict[str, Any], arrays: Arrays) -> Model:
        unknown, missing = self._policy()
        policy = {"unknown": unknown, "missing": missing, "name": type(self).__name__}
        return Model.from_file(header, arrays, self.head_kind, self.notes_kind, **policy)
