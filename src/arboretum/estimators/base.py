"""What all fitted models share: reading tables, leaves, files, fingerprints, pickles."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.data.schema import Schema
from arboretum.data.table import lies_ready
from arboretum.encoding.category_encoding import CategoryEncoding
from arboretum.estimators import files
from arboretum.estimators.classes import defaults, is_own
from arboretum.estimators.files import call_to_json
from arboretum.estimators.protocol import Estimator, not_fitted
from arboretum.model import model_file
from arboretum.model.forest import ON_CATEGORIES, Forest
from arboretum.model.heads import Head
from arboretum.model.model import Model
from arboretum.parameters.shared import Missing, Unknown
from arboretum.running.threads import n_threads

if TYPE_CHECKING:
    from arboretum.reading.frame import Backend

FloatArray: TypeAlias = NDArray[np.float64]

# Rows that are predicted sooner than it takes to ask how many threads there may be.
FEW_ROWS = 64


class ForestModel(Estimator):
    """An estimator whose fitted state is a Forest, a Schema and a few facts of its own.

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

    forest_: Forest
    schema_: Schema
    encoding_: CategoryEncoding | None = None  # of models whose trees read statistics of categories
    _numeric_width: int  # columns if all are plain numbers, else -1
    _model: Model

    def expect_missing(self, has_missing: list[bool]) -> None:
        """Take columns for such that may have missing values, though the training rows had none."""
        self.schema_ = self.schema_.with_missing(has_missing)

    # ---- prediction ----------------------------------------------------------------------------------------------

    def _fitted(self) -> Forest:
        try:
            return self.forest_
        except AttributeError:
            raise not_fitted(self) from None

    @property
    def model_(self) -> Model:
        """The trees, the columns that they read, and what their sums mean."""
        if "_model" in self.__dict__:  # what another model of the same kind is asked instead (standing_in.py)
            return self._model
        forest, policy, name = self._trees(), self._policy, type(self).__name__
        if not hasattr(self, "schema_"):
            raise not_fitted(self)
        return Model(forest, self.schema_, self.encoding_, policy.unknown, policy.missing, name, self._head())

    def _trees(self) -> Forest:
        return self._fitted()

    @property
    def _policy(self) -> Any:
        """Who says what unknown categories and new missing values do."""
        return self

    def _head(self) -> Head:
        """Return what the sums of trees mean."""
        return Head()

    def predict_raw(self, X: Any) -> FloatArray:
        """Sum the trees, before any link, mean or vote.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.

        Returns
        -------
        ndarray of float64, (n_rows, n_outputs)
        """
        return self._raw_from(self._fitted(), X)

    def _raw_from(self, forest: Forest, X: Any) -> FloatArray:
        if type(X) is np.ndarray and self._is_ready(X):
            return forest.raw_matrix(X, threads=1 if len(X) <= FEW_ROWS else n_threads(self.n_jobs))
        model = self.model_
        return model.raw(model.conform(X), n_threads(self.n_jobs), forest)

    def _is_ready(self, X: NDArray[Any]) -> bool:
        """Whether the table layer would take the matrix as it is and have nothing to say about it."""
        if "_model" in self.__dict__:
            return False
        if X.ndim != 2 or not lies_ready(X) or X.shape[1] != self._numeric_width or not len(X):
            return False
        least = np.minimum.reduce(X, axis=None)  # NaN if any value is
        return bool(least == least)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Leaf of every row in every tree.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to route.

        Returns
        -------
        ndarray of int32, (n_rows, n_trees)
            Node numbers, counted from the root of each tree.
        """
        self._fitted()
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

        return decision_path(self._fitted(), self.apply(X))

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

        if tree is None:
            self._fitted()
            return model_to_text(self, 2, max_depth=4 if max_depth is None else max_depth, digits=digits)

        model = self.model_
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
        return self._fitted().n_trees

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

    def _repr_html_(self) -> str | None:
        """Return what notebooks show: facts of a fitted model, scikit-learn's diagram of another."""
        shown = super()._repr_html_()
        if shown is None or not hasattr(self, "forest_"):
            return shown
        from arboretum.reading import model_to_html

        return model_to_html(self)

    # ---- files ---------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str] | BinaryIO, *, compact: bool = True) -> None:
        """Write the model to a file that ``arboretum.load`` reads.

        A file is replaced whole or not at all, and holds no code: a subclass of your own is written as the class of
        arboretum that it derives from, and loaded as such. Pickle keeps the subclass.

        Parameters
        ----------
        path : path or binary file object
            Where to write.
        compact : bool, default=True
            Store arrays in as few bytes as hold them exactly. False stores them as they are, several times larger, and
            processes that load the file share its memory.
        """
        files.write(self, path, *self.to_file(), compact=compact)

    def fingerprint(self) -> str:
        """Hash of everything that determines predictions.

        Equal for any number of threads, for any order of named columns, before and after saving.
        """
        arrays = self._all_arrays()
        place = np.append(_places_by_name(self._read_schema), np.int32(-1))  # a leaf's feature
        for name in ("feature", "projection_feature", "slope_feature"):
            if name in arrays:
                arrays[name] = place[arrays[name]]
        schema = self.schema_.to_json()
        schema["columns"] = [schema["columns"][column] for column in np.argsort(_places_by_name(self.schema_))]
        facts = {"schema": schema, **self._all_facts(), "unknown": self.unknown}
        return model_file.fingerprint(facts, arrays)

    @property
    def _read_schema(self) -> Schema:
        return self.schema_ if self.encoding_ is None else self.encoding_.schema

    def _facts(self) -> dict[str, Any]:
        """Return what else determines predictions: the loss, the classes."""
        return {}

    def _all_facts(self) -> dict[str, Any]:
        return self._facts() if self.encoding_ is None else {**self._facts(), "statistics": self.encoding_.to_json()}

    def _all_arrays(self) -> dict[str, NDArray[Any]]:
        return self._arrays() if self.encoding_ is None else {**self._arrays(), **self.encoding_.to_arrays()}

    def _notes(self) -> dict[str, Any]:
        """Return what a file keeps besides, such as a history."""
        return {}

    def _read_facts(self, header: dict[str, Any], forest: Forest) -> None:
        """Take facts and notes back from a header, and refuse a forest that does not fit them."""

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the trees, by name."""
        return self._fitted().to_arrays()

    def to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays = self._all_arrays()
        header = {
            "format": "arboretum",
            **call_to_json(self),
            "schema": self.schema_.to_json(),
            **self._all_facts(),
            **self._notes(),
        }
        return header, arrays

    def restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        with model_file.as_damage():
            self.schema_ = Schema.from_json(header["schema"])
            self.check_parameters()
            if "statistics" in header:
                self.encoding_ = CategoryEncoding.from_arrays(header["statistics"], arrays, self.schema_)
            self._read_trees(header, arrays)
        self._set_input_names()

    def _read_trees(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take the trees and what belongs to them from a file; the schema is known."""
        forest = Forest.from_arrays(arrays)
        forest.validate(self._read_schema.n_features)
        _check_kinds(forest, self._read_schema)
        self._read_facts(header, forest)
        self.forest_ = forest

    def _set_input_names(self) -> None:
        self.n_features_in_ = self.schema_.n_features
        self._numeric_width = self.schema_.n_features if self.schema_.all_numbers else -1
        if self.schema_.named:
            self.feature_names_in_ = np.array(self.schema_.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    # ---- pickles wrap the same bytes -----------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Parameters and, once fitted, the bytes of the model file."""
        params = {name: getattr(self, name) for name in defaults(type(self))}
        state: dict[str, Any] = {"params": params}
        if "_metadata_request" in self.__dict__:  # what set_fit_request stored
            state["_metadata_request"] = self._metadata_request
        if hasattr(self, "schema_"):
            state["file"] = model_file.to_bytes(*self.to_file())
        if not is_own(type(self)):
            state["others"] = self._others(state)
        return state

    def _others(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return attributes that a user's subclass has added: those that the state would not bring back."""
        twin = object.__new__(type(self))
        twin.__setstate__(state)
        return {name: value for name, value in vars(self).items() if name not in vars(twin)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state["params"].items():
            setattr(self, name, value)
        if "_metadata_request" in state:
            self._metadata_request = state["_metadata_request"]
        if "file" in state:
            self.restore(*model_file.from_bytes(state["file"]))
        vars(self).update(state.get("others", {}))


def _places_by_name(schema: Schema) -> NDArray[np.int32]:
    """Place of each column in the order of names, numbered or not."""
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
