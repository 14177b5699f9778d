"""Models that are known by their predictions alone: models of models, whose learners may come from any library.

Rows are read into a Table, columns of it are shuffled or replaced, and the Table becomes a table of the user's kind
again, which the model is asked about::

    X ──read_table──► Table ──shuffled, replaced──► Table ──► like X ──► model.predict
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from arboretum.data.table import Table, read_table
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.estimators.protocol import not_fitted
from arboretum.estimators.standing_in import AskedModel, twin
from arboretum.explaining.grid import as_known
from arboretum.model.forest import Forest
from arboretum.model.heads import OtherHead
from arboretum.model.model import Model

METHODS = ("predict", "predict_proba", "decision_function", "score_samples", "score")


def has_own_trees(model: Any) -> bool:
    """Return whether a model is a tree or a forest of arboretum, not a model of models."""
    return isinstance(model, GrownTrees) and isinstance(cast(Any, model).learned(), Model)


def as_asked(model: Any, X: Any) -> Any:
    """Return the model if it has trees of its own, else a twin that can be asked about a Table of rows like X.

    Examples
    --------
    >>> import arboretum as arb
    >>> X = np.array([[0.0, 1.0], [1.0, 5.0], [2.0, 5.0], [3.0, 1.0]])
    >>> model = arb.BaggingRegressor(n_estimators=3).fit(X, X[:, 0])
    >>> twin = as_asked(model, X)
    >>> twin.schema_.names, bool((twin.predict(X) == model.predict(X)).all())
    (['x0', 'x1'], True)
    """
    if has_own_trees(model):
        return model
    require_fitted(model)
    container = model.learned().rows(X)
    table = read_table(container, categorical_features=_categorical_features(model))
    standing = AskedModel(
        cast(Forest, None),  # it is asked for predictions alone
        table.schema,
        name=type(model).__name__,
        head=OtherHead("predictions of a model of models are not sums of trees"),
        table=table,
        ask=lambda changed: _answering(model, lambda: like(container, changed)),
    )
    n_jobs = getattr(model, "n_jobs", None)
    return twin(model, schema_=table.schema, encoding_=None, _model=standing, n_jobs=n_jobs)


def require_fitted(model: Any) -> None:
    """Reject a model of models that is not fitted."""
    # Not hasattr of estimators_ first: forests make an estimator of each tree for it.
    if not any(hasattr(model, name) for name in ("schema_", "estimator_", "estimators_")):
        raise not_fitted(model)


def _answering(model: Any, rows: Callable[[], Any]) -> Any:
    """Return the model as if all that it is asked about were these rows."""

    def of_rows(method: Callable[..., Any]) -> Callable[..., Any]:
        return lambda given, *more, **named: method(rows(), *more, **named)

    return twin(model, **{name: of_rows(getattr(model, name)) for name in METHODS if hasattr(model, name)})


def _categorical_features(model: Any) -> Any:
    base = getattr(model, "estimator_", None)
    return getattr(base if base is not None else model, "categorical_features", None)


def like(container: Any, table: Table) -> Any:
    """Return a Table as a table of the kind of another: an array, or a data frame with the types of its columns.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1, 2], "kind": pd.Categorical(["a", "b"])})
    >>> like(frame, read_table(frame).take(np.array([1, 1]))).dtypes.astype(str).to_dict()
    {'size': 'float64', 'kind': 'category'}
    """
    values = [as_known(column, part) for column, part in zip(table.schema.columns, table.columns, strict=True)]
    if not hasattr(container, "columns") and not hasattr(container, "column_names"):
        if all(part.dtype.kind in "fb" for part in values):
            return np.column_stack([part.astype(np.float64) for part in values])
        rows = np.empty((table.n_rows, len(values)), dtype=object)
        for place, part in enumerate(values):
            rows[:, place] = part
        return rows
    import narwhals.stable.v1 as nw

    frame = nw.from_native(container, eager_only=True)
    backend = nw.get_native_namespace(frame)
    made = []
    for name, part in zip(frame.columns, values, strict=True):
        series, dtype = nw.new_series(name, part.tolist(), backend=backend), frame[name].dtype
        made.append(series if part.dtype.kind in "fb" or series.dtype == dtype else series.cast(dtype))
    return made[0].to_frame().with_columns(*made[1:]).to_native()
