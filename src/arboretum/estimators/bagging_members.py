"""Members of a bagged ensemble: how they are made, and the tables that they are fitted to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.data import selection
from arboretum.data.dataset import Dataset
from arboretum.data.schema import ColumnSchema, Schema
from arboretum.data.table import Table, check_matrix, read_table
from arboretum.ensembles.bagging.resampling import Bag, Keys, Positions, columns_of_table, content_keys
from arboretum.estimators.protocol import Classifier, Estimator
from arboretum.parameters.declaring import declares_parameters
from arboretum.running.interruption import inner_fits

FloatArray: TypeAlias = NDArray[np.float64]
Item = TypeVar("Item")


def default_estimator(classifies: bool) -> Any:
    """Return what is bagged if nothing is said: an unpruned tree."""
    from arboretum.estimators.decision_trees import DecisionTreeClassifier, DecisionTreeRegressor

    return DecisionTreeClassifier() if classifies else DecisionTreeRegressor()


def unfitted(base: Any) -> Any:
    """Return a copy without what was fitted."""
    if isinstance(base, Estimator):
        return type(base)(**base.get_params(deep=False))
    from sklearn.base import clone

    return clone(base)


def seeded(model: Any, seed: int) -> Any:
    """Give every ``random_state`` of a model, and of the estimators inside it, a seed of its own."""
    names = [name for name in sorted(model.get_params()) if name.rpartition("__")[2] == "random_state"]
    seeds = {name: _kernel.draw(seed, place, 0) & 0x7FFFFFFF for place, name in enumerate(names)}
    return model.set_params(**seeds) if seeds else model


def is_classifier(model: Any) -> bool:
    """Whether a model predicts classes."""
    if isinstance(model, Estimator):
        return isinstance(model, Classifier)
    import sklearn.base

    return bool(sklearn.base.is_classifier(model))


def run_beside(function: Callable[[int], Item], items: Iterable[int], beside: int, ours: bool) -> Iterator[Item]:
    """Call a function for items, in ``beside`` threads; results come in order."""
    if beside == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(beside) as pool:
        yield from pool.map(function if ours else _configured(function), items)


def _configured(function: Callable[[int], Item]) -> Callable[[int], Item]:
    """Hand scikit-learn's configuration, which each thread has for itself, on to the thread of the call."""
    from sklearn import config_context, get_config

    config = get_config()

    def call(item: int) -> Item:
        with config_context(**config):
            return function(item)

    return call


# ---- what members are fitted to --------------------------------------------------------------------------------------


class SharedTable:
    """A table that is read, and cut into bins, once for all members."""

    def __init__(self, base: Any, X: Any) -> None:
        self.base, self.takes_weights = base, True
        self.table = read_table(X, categorical_features=base.categorical_features)
        self.n_rows, self.n_columns = self.table.n_rows, self.table.schema.n_features

    def prepare(self, y: NDArray[Any], weight: FloatArray | None, kept: Positions, threads: int) -> None:
        """Take the rows that have weight, with their targets."""
        table = self.table if len(kept) == self.n_rows else self.table.take(kept).relearn()
        self.place = np.zeros(self.n_rows, dtype=np.intp)
        self.place[kept] = np.arange(len(kept))
        self.shared = self.base.share_table(table, y, weight, threads)
        self.table = self.shared.problem.table

    @property
    def schema(self) -> Schema:
        """Names, kinds and categories of the columns."""
        return self.table.schema

    def keys(self, target: FloatArray, kept: Positions) -> Keys:
        """Hash the content of each row that has weight."""
        return content_keys(self.table, target)

    def fit(self, model: Any, bag: Bag, threads: int) -> Any:
        """Fit a member to its bag."""
        with inner_fits():
            return model.fit_shared(self.shared, replace(bag, rows=self.place[bag.rows]), threads)

    def part(self, rows: Positions, columns: Positions | None) -> Table:
        """Return rows for a member to predict."""
        return some_columns(self.table, columns).take(self.place[rows])


class GivenTable:
    """The user's table; members see rows and columns of it."""

    def __init__(self, base: Any, X: Any) -> None:
        self.X = selection.as_container(X)
        self.n_rows, self.n_columns = selection.n_rows_of(self.X), selection.n_columns_of(self.X)
        self.takes_weights = takes_weights(base)
        if not self.n_rows:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required: X has no rows")
        try:
            self.table: Table | None = read_table(X)
        except (TypeError, ValueError):  # documents, images: whether they will do is for the member to say
            self.table = None
        self.schema = None if self.table is None else _names_only(self.table.schema)

    def prepare(self, y: NDArray[Any], weight: FloatArray | None, kept: Positions, threads: int) -> None:
        """Take the targets of the rows that have weight."""
        self.y = np.zeros((self.n_rows, *y.shape[1:]), dtype=y.dtype)
        self.y[kept] = y

    def keys(self, target: FloatArray, kept: Positions) -> Keys:
        """Hash the content of each row that has weight."""
        if self.table is None:  # rows that cannot be read are drawn in the order they have
            return np.arange(len(kept), dtype=np.uint64)
        table = self.table if len(kept) == self.n_rows else self.table.take(kept).relearn()
        return content_keys(table, target)

    def fit(self, model: Any, bag: Bag, threads: int) -> Any:
        """Fit a member to its bag."""
        whole = selection.take_columns(self.X, bag.columns)
        with inner_fits():
            if not self.takes_weights:
                rows = np.repeat(bag.rows, bag.copies)
                return model.fit(selection.take_rows(whole, rows), self.y[rows])
            weight = {} if (bag.weight == 1).all() else {"sample_weight": bag.weight}
            return model.fit(selection.take_rows(whole, bag.rows), self.y[bag.rows], **weight)

    def part(self, rows: Positions, columns: Positions | None) -> Any:
        """Return rows for a member to predict."""
        return selection.take_columns(selection.take_rows(self.X, rows), columns)


def shares(base: Any) -> bool:
    """Whether members can be fitted to one table that is read and cut once."""
    return hasattr(type(base), "fit_shared")


def takes_weights(base: Any) -> bool:
    """Whether ``fit`` has an argument ``sample_weight``."""
    return "sample_weight" in inspect.signature(base.fit).parameters


def some_columns(table: Table, columns: Positions | None) -> Table:
    """Return the table of these columns; None is all of them."""
    return table if columns is None else columns_of_table(table, columns)


def in_fit_order(X: Any, schema: Schema | None, estimator_name: str) -> Any:
    """Return the user's table with its columns in the order of the fit; as it is if they were not known.

    Of a Dataset, columns that the fit did not have are left out: the target may be among them.
    """
    if isinstance(X, Dataset) and schema is not None and schema.named:
        X = X.select([name for name in X.names if name in set(schema.names)])
    X = selection.as_container(X)
    if schema is None:
        return X
    found, n_columns = selection.names_of(X), selection.n_columns_of(X)
    if schema.named and found is not None:
        places = schema.in_order(found, list(range(len(found))))
        return X if places == list(range(len(found))) else selection.take_columns(X, np.array(places))
    if n_columns is None:
        check_matrix(np.asarray(X))
        n_columns = int(np.shape(X)[1])
    schema.check_width(n_columns, estimator_name)
    return X


def _names_only(schema: Schema) -> Schema:
    """Names of columns; what they hold is for the members to know."""
    return Schema(tuple(ColumnSchema(name, "numeric", "number") for name in schema.names), schema.named)


@declares_parameters
class OneClass(Classifier):
    """The member of a bag that holds one class only, which many classifiers refuse.

    Examples
    --------
    >>> OneClass().fit([[1.0], [2.0]], ["no", "no"]).predict_proba([[3.0]])
    array([[1.]])
    """

    def fit(self, X: Any, y: NDArray[Any], sample_weight: Any = None) -> OneClass:
        """Remember the class."""
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class, for every row."""
        return np.repeat(self.classes_, selection.n_rows_of(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return certainty."""
        return np.ones((selection.n_rows_of(X), 1))


def set_input_names(model: Any, n_columns: int | None, schema: Schema | None) -> None:
    """Tell what was fitted to, as scikit-learn does; nothing of an earlier fit remains."""
    for name in ("n_features_in_", "feature_names_in_"):
        model.__dict__.pop(name, None)
    if n_columns is not None:
        model.n_features_in_ = n_columns
    if schema is not None and schema.named:
        model.feature_names_in_ = np.array(schema.names, dtype=object)
