"""What a report is about: a fitted model, rows to judge it by, and perhaps the rows it was trained on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.cached import cached_property
from arboretum.data import targets
from arboretum.data.schema import MISSING, ColumnSchema, Schema, listed
from arboretum.data.selection import Positions, as_container, n_rows_of, take_rows
from arboretum.data.table import Table, conform
from arboretum.estimators.classes import arguments
from arboretum.estimators.protocol import Estimator, not_fitted
from arboretum.explaining import structure
from arboretum.explaining.by_predictions import has_own_trees
from arboretum.explaining.importances import mean_shap, sums_trees
from arboretum.explaining.reading import class_lists
from arboretum.losses.survival_targets import survival_bounds
from arboretum.metrics.own_loss import negative_own_loss
from arboretum.model.heads import MultiwayHead
from arboretum.reading.quantities import category_text, threshold_text
from arboretum.report.facts import LeftOut
from arboretum.tasks import BINARY, Task
from arboretum.trees.multiway import MultiwayTree

if TYPE_CHECKING:
    from arboretum.report.drift import Drift
    from arboretum.report.stages import Stages

FloatArray: TypeAlias = NDArray[np.float64]

TEXT_DIGITS = 6
BY_ROW = ("sample_weight", "group", "treatment", "offset", "ids")  # arguments of a report with one value per row
INTERVAL = 0.9  # share of rows that intervals are asked to cover


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with what is known of them; ``y`` is (rows, outputs), (rows, bounds of the time) for survival, or None."""

    X: Any
    table: Table
    y: NDArray[Any] | None
    weight: FloatArray | None = None
    group: NDArray[Any] | None = None
    treatment: NDArray[Any] | None = None
    offset: FloatArray | None = None  # (rows,), or (rows, raw predictions)
    ids: NDArray[Any] | None = None  # what users call each row

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    @property
    def weights(self) -> FloatArray:
        """Weight of each row, 1 if none is given."""
        return np.ones(self.n_rows) if self.weight is None else self.weight

    def take(self, rows: Positions) -> Rows:
        """Return the rows at these positions."""
        by_row = {name: values for name, values in vars(self).items() if name not in ("X", "table")}
        taken = {name: None if values is None else values[rows] for name, values in by_row.items()}
        return Rows(take_rows(self.X, rows), self.table.take(rows), **taken)

    @property
    def predict_arguments(self) -> dict[str, Any]:
        """Arguments of ``predict`` and similar methods besides X."""
        return {} if self.offset is None else {"offset": self.offset}

    @property
    def target(self) -> Any:
        """The target as ``fit`` and scorers take it."""
        if self.y is None or self.y.shape[1] > 1:
            return self.y
        return self.y[:, 0]


def read_rows(model: Any, X: Any, y: Any, *, of: str = "", **given: Any) -> Rows:
    """Check rows of any container against a model.

    Parameters
    ----------
    model : fitted model
        What the rows are for.
    X, y
        Rows and their targets.
    of : str
        Ends the names in errors: "_train".
    **given
        ``sample_weight``, ``group``, ``treatment``, ``offset`` and ``ids``, one per row.
    """
    if unknown := set(given) - set(BY_ROW):
        raise TypeError(
            f"read_rows() got an unexpected argument {min(unknown)!r}: expected some of {', '.join(BY_ROW)}"
        )
    table, n_rows, task = table_of(model, X), n_rows_of(as_container(X)), model.task_
    target: NDArray[Any] | None = None
    if task.role == "event":
        target = survival_bounds(y, n_rows, f"y{of}", f"X{of}")
    elif y is not None or task.needs_target:
        target = targets.as_columns(y, n_rows, f"y{of}", f"X{of}")
    extra = {}
    for word in ("group", "treatment"):
        values = given.get(word)
        if (task.role == word) != (values is not None):
            cure = f"give {word}{of}=, one label per row" if task.role == word else f"leave {word}{of} out"
            raise ValueError(f"{type(model).__name__} is a model of {task.name}: {cure}")
        extra[word] = None if values is None else targets.as_column(values, n_rows, f"{word}{of}", f"X{of}")
    offset = given.get("offset")
    if offset is not None:  # one number stands for all rows
        if "offset" not in arguments(type(model).predict):
            raise TypeError(f"{type(model).__name__} takes no offset: leave offset{of} out")
        offset = targets.row_offsets(offset, n_rows, model.model_.forest.n_outputs, f"offset{of}", f"X{of}")
    weight = targets.row_weights(given.get("sample_weight"), n_rows, f"sample_weight{of}", f"X{of}")
    ids = read_ids(X, given.get("ids"), n_rows, of)
    return Rows(as_container(X), table, target, weight, **extra, offset=offset, ids=ids)


def read_ids(X: Any, ids: Any, n_rows: int, of: str = "") -> NDArray[Any] | None:
    """Return what users call each row: the ids given, or the index of a pandas frame unless it only counts rows.

    Examples
    --------
    >>> read_ids([[1.0], [2.0]], {"shop": ["a", "b"], "day": [3, 4]}, 2).tolist()
    ['a · 3', 'b · 4']
    """
    if ids is None:
        index = getattr(X, "index", None)
        if index is None or not hasattr(X, "iloc") or (index == np.arange(n_rows)).all():
            return None
        ids = np.array([" · ".join(map(str, part)) if isinstance(part, tuple) else str(part) for part in index], object)
    elif (names := id_columns(ids)) is not None:
        columns = [targets.as_column(ids[name], n_rows, f"ids{of}", f"X{of}") for name in names]
        ids = np.array([" · ".join(map(str, row)) for row in zip(*columns, strict=True)], object)
    return np.array([str(one) for one in targets.as_column(ids, n_rows, f"ids{of}", f"X{of}")], object)


def id_columns(ids: Any) -> list[Any] | None:
    """Return the names of several columns of ids, given as a mapping or a data frame; None for one column."""
    if isinstance(ids, Mapping):
        return list(ids)
    names = getattr(ids, "column_names", getattr(ids, "columns", None))  # of Arrow; of pandas and polars
    return None if names is None else list(names)


def schema_of(model: Any) -> Schema:
    """Columns of a fitted model; a model of models may know names alone, and its members the rest."""
    schema = structure.schema_of(model)
    if schema is None:
        raise not_fitted(model)
    return schema if has_own_trees(model) else _filled_in(schema, model)


def _filled_in(schema: Schema, model: Any) -> Schema:
    """Return a schema whose columns hold what the members of the model say; it may know their names alone."""
    columns = list(schema.columns)
    for member, seen in structure.members_of(model):
        places = np.arange(len(columns))[seen].tolist()
        own = schema_of(member).columns if isinstance(member, Estimator) else ()
        if len(own) == len(places):
            for place, column in zip(places, own, strict=True):
                columns[place] = replace(column, name=schema.columns[place].name)
    return Schema(tuple(columns), schema.named)


def table_of(model: Any, X: Any) -> Table:
    """Read rows as the model does; missing values that are new are a finding of the report, not a warning here."""
    schema = schema_of(model)
    unknown: Any = model.unknown if has_own_trees(model) else "average"
    return conform(X, schema.with_missing([True] * schema.n_features), unknown=unknown)


@dataclass(frozen=True, eq=False)
class Subject:
    """A model and the rows that the report shows it by.

    ``max_rows`` rows are drawn for what takes long: permutations, SHAP values, dependence. ``positive`` is the place of
    the class, of two, whose probability is shown.
    """

    model: Any
    task: Task
    test: Rows
    train: Rows | None
    max_rows: int
    positive: int = 1

    @property
    def schema(self) -> Schema:
        """Columns as the user gave them."""
        return schema_of(self.model)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return self.schema.names

    @property
    def shown_class(self) -> str | None:
        """The class whose probability is shown, of one output of two classes."""
        lists = class_lists(self.model) if self.task is BINARY else []
        return str(lists[0].tolist()[self.positive]) if len(lists) == 1 else None

    @cached_property
    def sample(self) -> Rows:
        """Some of the rows, drawn once for all sections; whole queries of a ranker."""
        return self.test.take(draw_rows(self.test, self.max_rows))

    @cached_property
    def told(self) -> Any:
        """Answers of the model for the rows of the report."""
        return answers(self.model, self.test)

    @cached_property
    def told_of_training(self) -> Any:
        """Answers of the model for its training rows; None if these are not known."""
        return None if self.train is None else answers(self.model, self.train)

    @cached_property
    def intervals(self) -> FloatArray:
        """Intervals of the rows of the report, (rows, 2), of a model that has some."""
        return np.asarray(self.model.predict_interval(self.test.X, coverage=INTERVAL), np.float64)

    @cached_property
    def drifts(self) -> list[Drift]:
        """How far each column has moved since training."""
        from arboretum.report.drift import column_drifts

        return column_drifts(self)

    @cached_property
    def stages(self) -> Stages:
        """Losses of the model while it grew: by round, or by the depth of trees that do not follow each other."""
        from arboretum.report.stages import by_depths, by_round

        return by_depths(self) if is_independent(self.model) else by_round(self)

    def use_by_trees(self, kind: str) -> FloatArray | None:
        """How often the trees ask each column ("nodes"), or what they gain by it ("gain"); None if they do not tell."""
        try:
            return self.permuted.kinds.get(kind)  # type: ignore[no-any-return]
        except LeftOut:
            return None

    @cached_property
    def permuted(self) -> Any:
        """Importances of all kinds but SHAP, from the sample."""
        rows = self.sample
        if not self.task.needs_target:  # nothing to score by
            return ask(lambda: self.model.importances(rows.X, shap=False))
        named = {"sample_weight": rows.weight, "group": rows.group, "treatment": rows.treatment, "offset": rows.offset}
        known: dict[str, Any] = {name: values for name, values in named.items() if values is not None}
        known["scoring"] = negative_own_loss if _has_own_loss(self) else None
        return ask(lambda: self.model.importances(rows.X, survival_target(self, rows), shap=False, **known))

    @cached_property
    def importances(self) -> Any:
        """Importances of all kinds that this model has, from the sample."""
        found, rows = self.permuted, self.sample
        if not sums_trees(self.model):
            return found
        each = [[column] for column in range(self.schema.n_features)]
        shap = ask(lambda: mean_shap(self.model, rows.X, rows.n_rows, each))
        return replace(found, kinds={**found.kinds, "shap": shap})

    @property
    def multiway(self) -> MultiwayTree | None:
        """The tree of ID3 or C4.5, if the model is one."""
        is_one = has_own_trees(self.model) and isinstance(self.model.model_.head, MultiwayHead)
        return self.model.tree_ if is_one else None

    @property
    def n_trees(self) -> int:
        """Number of trees; those of ID3 and C4.5 stand alone."""
        return int(self.forest().n_trees) if self.multiway is None else 1

    def forest(self) -> Any:
        """Return the trees, if the model is a forest of them."""
        if not has_own_trees(self.model) or self.multiway is not None:
            raise LeftOut(f"{type(self.model).__name__} keeps no single forest of trees to look at.")
        return self.model.model_.forest


def positive_place(model: Any, positive: Any) -> int:
    """Return the place of the positive class of two; by default the second.

    Examples
    --------
    >>> import arboretum as arb
    >>> positive_place(arb.DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"]), "no")
    0
    """
    if positive is None:
        return 1
    if model.task_ is not BINARY or len(class_lists(model)) > 1:
        raise ValueError(f"positive={positive!r}: only a model of two classes has a positive one; leave it out")
    labels = class_lists(model)[0].tolist()
    if positive not in labels:
        raise ValueError(f"positive={positive!r}: the classes are {listed(labels, 2)}")
    return int(labels.index(positive))


def is_independent(model: Any) -> bool:
    """Return whether the trees of a model were grown independently of each other: a single tree, or a forest."""
    from arboretum.estimators.averaged_trees import AveragedTrees

    return isinstance(model, AveragedTrees)


def answers(model: Any, rows: Rows) -> Any:
    """Predict in the form that the task of a model is judged by: probabilities of classes, anomaly scores, numbers."""
    return model.task_.answers(model, rows.X, **rows.predict_arguments)


def _has_own_loss(subject: Subject) -> bool:
    """Return whether one loss of one output judges the model."""
    if subject.task.has_numbers:
        return subject.test.y is not None and subject.test.y.shape[1] == 1
    return subject.task.has_classes and len(class_lists(subject.model)) == 1


def survival_target(subject: Subject, rows: Rows) -> Any:
    """Return the target as the model's ``score`` takes it: bounds of times by name."""
    if subject.task.role != "event":
        return rows.target
    bounds = np.empty(rows.n_rows, [("lower", float), ("upper", float)])
    bounds["lower"], bounds["upper"] = rows.target.T
    return bounds


def ask(question: Callable[[], Any]) -> Any:
    """Return the answer, or leave the section out with the reason that the model gives."""
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
    """Draw rows without replacement, in their order; rankers get whole queries."""
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
