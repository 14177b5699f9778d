"""What a report is about: a fitted model, rows to judge it by, and perhaps the rows it was trained on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.estimators import targets
from arboretum.estimators.explained import Explained
from arboretum.estimators.protocol import Classifier, OutlierDetector, Regressor
from arboretum.estimators.selection import Positions, as_container, n_rows_of, take_rows
from arboretum.estimators.survival_targets import survival_bounds
from arboretum.inspection.quantities import category_text, threshold_text
from arboretum.report.facts import LeftOut
from arboretum.schema import MISSING, ColumnSchema, Schema
from arboretum.table import Table, conform

Task: TypeAlias = Literal["binary", "multiclass", "regression", "ranking", "uplift", "survival", "anomaly"]
FloatArray: TypeAlias = NDArray[np.float64]

TEXT_DIGITS = 6
LEAST_PROBABILITY = 1e-15  # whose logarithm counts


def task_of(model: Any) -> Task:
    """Tell what a model predicts, by its class and its classes.

    Examples
    --------
    >>> import arboretum as arb
    >>> task_of(arb.DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"]))
    'multiclass'
    """
    from arboretum.estimators.boosted_ranker import BoostedTreesRanker
    from arboretum.estimators.survival_model import SurvivalModel
    from arboretum.estimators.uplift_model import UpliftModel

    kinds: tuple[tuple[type, Task], ...] = (
        (OutlierDetector, "anomaly"),
        (UpliftModel, "uplift"),
        (SurvivalModel, "survival"),
        (BoostedTreesRanker, "ranking"),
        (Regressor, "regression"),
    )
    for kind, task in kinds:
        if isinstance(model, kind):
            return task
    if isinstance(model, Classifier):
        return "binary" if max(len(classes) for classes in class_lists(model)) == 2 else "multiclass"
    raise TypeError(f"{type(model).__name__} is a model of no known task: a report cannot judge it")


def class_lists(model: Any) -> list[NDArray[Any]]:
    """Classes of each output of a classifier."""
    return list(model.classes_) if isinstance(model.classes_, list) else [model.classes_]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with what is known of them; ``y`` is (rows, outputs) or None, of survival (rows, bounds of the time)."""

    X: Any
    table: Table
    y: NDArray[Any] | None
    weight: FloatArray | None = None
    group: NDArray[Any] | None = None
    treatment: NDArray[Any] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    def take(self, rows: Positions) -> Rows:
        """Return the rows at these positions."""

        def some(values: Any) -> Any:
            return None if values is None else values[rows]

        return Rows(
            take_rows(self.X, rows),
            self.table.take(rows),
            some(self.y),
            some(self.weight),
            some(self.group),
            some(self.treatment),
        )

    @property
    def target(self) -> Any:
        """The target as ``fit`` and scorers take it."""
        if self.y is None or self.y.shape[1] > 1:
            return self.y
        return self.y[:, 0]


def read_rows(
    model: Any, X: Any, y: Any, *, sample_weight: Any = None, group: Any = None, treatment: Any = None, of: str = ""
) -> Rows:
    """Check rows and targets of any container against a model; ``of`` ends the names in errors ("_train")."""
    table, n_rows = table_of(model, X), n_rows_of(as_container(X))
    if not n_rows:
        raise ValueError(f"X{of} has no rows: give at least one")
    task, name = task_of(model), f"y{of}"
    target: NDArray[Any] | None = None
    if task == "survival":
        target = survival_bounds(y, n_rows, name, f"X{of}")
    elif y is not None or task != "anomaly":
        target = targets.as_columns(y, n_rows, name, f"X{of}")
    extra = {}
    for needed, word, values in (("ranking", "group", group), ("uplift", "treatment", treatment)):
        if (task == needed) != (values is not None):
            cure = f"give {word}{of}=, one label a row" if task == needed else f"leave {word}{of} out"
            raise ValueError(f"{type(model).__name__} is a model of {task}: {cure}")
        extra[word] = None if values is None else targets.as_column(values, n_rows, f"{word}{of}", f"X{of}")
    weight = targets.row_weights(sample_weight, n_rows, f"sample_weight{of}", f"X{of}")
    return Rows(as_container(X), table, target, weight, **extra)


def schema_of(model: Any) -> Schema:
    """Columns of a fitted model of any kind; one that corrects another reads its columns."""
    for name in ("schema_", "_schema"):
        if isinstance(schema := getattr(model, name, None), Schema):
            return schema
    if isinstance(inner := getattr(model, "estimator_", None), Explained):
        return schema_of(inner)
    raise model._not_fitted()


def table_of(model: Any, X: Any) -> Table:
    """Read rows as the model does; missing values that are new are a finding of the report, not a warning here."""
    schema = schema_of(model)
    unknown: Any = getattr(model, "unknown", "average")
    return conform(X, schema.with_missing([True] * schema.n_features), unknown=unknown)


@dataclass(frozen=True, eq=False)
class Subject:
    """A model and the rows that the report shows it by.

    ``max_rows`` are drawn for what takes long: permutations, SHAP values, dependence.
    """

    model: Any
    task: Task
    test: Rows
    train: Rows | None
    max_rows: int

    @property
    def schema(self) -> Schema:
        """Columns as the user gave them."""
        return schema_of(self.model)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return self.schema.names

    @cached_property
    def sample(self) -> Rows:
        """Some of the rows, drawn once for all sections; whole queries of a ranker."""
        return self.test.take(draw_rows(self.test, self.max_rows))

    @cached_property
    def importances(self) -> Any:
        """Importances of all kinds that this model has, from the sample."""
        if not hasattr(self.model, "importances"):
            raise LeftOut(f"{type(self.model).__name__} has no trees of one table: it has no importances.")
        rows = self.sample
        if self.task == "anomaly":  # nothing to score by
            return ask(lambda: self.model.importances(rows.X))
        named = {"sample_weight": rows.weight, "group": rows.group, "treatment": rows.treatment}
        known = {name: values for name, values in named.items() if values is not None}
        scoring = negative_log_loss if isinstance(getattr(self.model, "classes_", None), np.ndarray) else None
        target = rows.target
        if self.task == "survival":
            bounds = np.empty(rows.n_rows, [("lower", float), ("upper", float)])
            bounds["lower"], bounds["upper"] = target.T
            target = bounds
        return ask(lambda: self.model.importances(rows.X, target, scoring=scoring, **known))

    @property
    def n_trees(self) -> int:
        """Number of trees; those of ID3 and C4.5 stand alone."""
        return 1 if hasattr(self.model, "tree_") else int(self.forest().n_trees)

    def forest(self) -> Any:
        """Return the trees, if the model is a forest of them."""
        forest = getattr(self.model, "forest_", None)
        if forest is None:
            raise LeftOut(f"{type(self.model).__name__} keeps no single forest of trees to look at.")
        return forest


def negative_log_loss(model: Any, X: Any, y: NDArray[Any], sample_weight: Any = None) -> float:
    """Score a classifier by its probabilities: accuracy is blind to most changes of them."""
    proba = model.predict_proba(X)
    code = targets.encode_classes(np.asarray(y), model.classes_, "y").astype(np.intp)
    own = np.clip(proba[np.arange(len(code)), code], LEAST_PROBABILITY, 1)
    return float(np.average(np.log(own), weights=sample_weight))


def ask(question: Callable[[], Any]) -> Any:
    """Return the answer, or leave the section out for the reason that the model gives."""
    try:
        return question()
    except (NotImplementedError, TypeError, ValueError) as error:
        raise LeftOut(f"Not available for this model: {error}") from error


def or_reason(part: Callable[[], Any]) -> Any:
    """Return the facts of a part, or why there are none."""
    try:
        return part()
    except LeftOut as reason:
        return {"left_out": str(reason)}


def draw_rows(rows: Rows, count: int, seed: int = 0) -> Positions:
    """Draw rows without replacement, in their order; of queries, whole ones."""
    generator = np.random.default_rng(seed)
    if rows.n_rows <= count:
        return np.arange(rows.n_rows)
    if rows.group is None:
        return np.sort(generator.choice(rows.n_rows, count, replace=False))
    _, query = np.unique(rows.group, return_inverse=True)
    sizes = np.bincount(query)
    order = generator.permutation(len(sizes))
    taken = order[: max(1, int(np.searchsorted(np.cumsum(sizes[order]), count, side="right")))]
    return np.flatnonzero(np.isin(query, taken))


def value_text(column: ColumnSchema, value: Any) -> str:
    """Write a value of a table as the user knows it: a category by its label, a date as a date."""
    if column.kind == "categorical":
        code = int(value)
        return category_text(column.categories[code]) if code > MISSING else "missing" if code == MISSING else "unseen"
    if np.isnan(value):
        return "missing"
    if column.source == "bool" and value in (0, 1):
        return "true" if value else "false"
    return threshold_text(float(value), column.source, TEXT_DIGITS)


def cell_texts(table: Table, columns: list[int]) -> list[list[str]]:
    """Write the values of some columns, row by row."""
    texts: dict[int, list[str]] = {}
    for first, batch in table.column_batches():
        for place, values in enumerate(batch, first):
            if place in columns:
                texts[place] = [value_text(table.schema.columns[place], value) for value in values.tolist()]
    return [list(row) for row in zip(*(texts[place] for place in columns), strict=True)]
