"""Goals: how boosting reads the target of a task, and which loss it minimises.

::

    y ──as_column──► column ──read──► Target: numbers or codes, weights, loss, classes
                                         │
                 rows in the order that the loss needs (arranged), some held out (split), compared by truth

A goal knows parameters, never an estimator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import losses, places
from arboretum.arguments import shown
from arboretum.data import targets
from arboretum.data.labels import side_by_side
from arboretum.data.splits import fold_of_rows, split_groups, split_rows
from arboretum.data.weights import in_rows
from arboretum.ensembles.bagging.resampling import content_keys, fold_by_content
from arboretum.ensembles.boosting.automatic import Automatic
from arboretum.ensembles.boosting.judging import JudgedRows
from arboretum.ensembles.boosting.problem import Problem, Target
from arboretum.ensembles.boosting.rows import Rows
from arboretum.ensembles.boosting.training_rows import beside_offset, downhill
from arboretum.exact_sums import exact_sum
from arboretum.losses import AcceleratedFailure, Cox, EachOutput, Loss, Ordinal
from arboretum.losses.ranking import LambdaMart, RankingLoss
from arboretum.losses.survival import by_time, check_events, is_event
from arboretum.losses.survival_targets import survival_bounds
from arboretum.model.heads import ClassLossHead, LossHead, RankHead, RiskHead
from arboretum.model.model import Model
from arboretum.tasks import BINARY, RANKING, REGRESSION, SURVIVAL, Task, of_classes

FloatArray: TypeAlias = NDArray[np.float64]
Positions: TypeAlias = NDArray[np.intp]

JUDGED = np.dtype([("grade", np.float64), ("query", np.int64)])


@dataclass(frozen=True)
class Goal(ABC):
    """What boosting is fitted to."""

    loss: Any

    head_kind: ClassVar[type[LossHead]] = LossHead  # what raw predictions mean

    @abstractmethod
    def as_column(self, y: Any, n_rows: int, name: str = "y", table: str = "X") -> NDArray[Any]:
        """Return a target of any container as an array, with one row per row of X."""

    @abstractmethod
    def read(self, column: NDArray[Any], weight: FloatArray | None, known: Any = None) -> Target:
        """Check a target; ``known`` are the classes of a model that is trained further."""

    @abstractmethod
    def read_validation(
        self, column: NDArray[Any], weight: FloatArray | None, target: Target
    ) -> tuple[FloatArray, FloatArray | None]:
        """Check the target of validation rows against that of the training rows."""

    @abstractmethod
    def task(self, target: Target) -> Task:
        """Return the task; its metrics may compare rounds."""

    def joined(self, y: Any, group: Any) -> Any:
        """Return a target in the form read here; only for rankers does it include queries."""
        return y

    def queries(self, column: NDArray[Any]) -> NDArray[np.int64] | None:
        """Return the query of each row, if the target includes it."""
        return None

    def strata(self, y: FloatArray) -> NDArray[Any] | None:
        """Return the labels by which held-out rows are stratified."""
        return None

    def split(self, problem: Problem, share: float, seed: int) -> tuple[Positions, Positions]:
        """Split the rows into training rows and validation rows."""
        if problem.group is not None:
            return split_groups(problem.group, share, seed, self.strata(problem.y))
        return split_rows(problem.table.n_rows, share, seed, self.strata(problem.y))

    def folds(
        self, problem: Problem, share: float, seed: int, automatic: Automatic
    ) -> list[tuple[Positions, Positions]]:
        """Return folds to hold out in turn, where one share of the rows would be too few; none: one share will do."""
        return []

    def seeks_rounds(self, problem: Problem, automatic: Automatic) -> bool:
        """Return whether folds of a table that is too small to hold a share out of tell how many rounds are best."""
        return False

    def arranged(self, problem: Problem) -> Problem:
        """Return the rows in the order that the loss needs, after checks that need all of them."""
        return problem

    def arranged_validation(self, problem: Problem) -> Problem:
        """Return validation rows in the order that the loss needs."""
        return problem

    def responses(self, problem: Problem, loss: Loss) -> FloatArray:
        """Return the values that statistics of categories average: the target, less what offsets explain of it."""
        return problem.y if problem.offset is None else downhill(loss, problem)

    def directions(self, directions: tuple[int, ...], target: Target) -> tuple[int, ...]:
        """Return monotone directions for raw predictions; users give them for answers."""
        return directions

    def truth(self, y: FloatArray, target: Target) -> Any:
        """Return the target in the form that users give it."""
        return y

    def judged(self, validation: Problem, rows: Rows, target: Target) -> JudgedRows:
        """Return validation rows in the form that metrics and scorers read."""
        columns: dict[str, Any] = {} if validation.query is None else {"group": validation.query}
        truth = self.truth(validation.y, target)
        return JudgedRows(validation.table, validation.y, truth, rows.weight, rows.queries, columns)

    def head(self, loss: Loss, classes: Any) -> LossHead:
        """Return what raw predictions mean; ``classes`` are labels, None for other targets."""
        return LossHead(loss)

    def finished(self, model: Model, problem: Problem, threads: int) -> Model:
        """Return the model with what it learns after the rounds, from all rows, those held out included."""
        return model


@dataclass(frozen=True)
class Numbers(Goal):
    """Numbers, of one output or several."""

    quantile: Any = None
    power: float | None = None

    def as_column(self, y: Any, n_rows: int, name: str = "y", table: str = "X") -> NDArray[Any]:
        """Return one column per output."""
        return targets.as_outputs(y, n_rows, name, table)

    def read(self, column: NDArray[Any], weight: FloatArray | None, known: Any = None) -> Target:
        """Read numbers, and choose a loss for each output."""
        loss = losses.resolve(self.loss, quantile=self.quantile, power=self.power)
        if column.ndim == 1:
            return Target(targets.regression_target(column), weight, loss)
        y = targets.regression_outputs(column)
        several = EachOutput.of(loss, y.shape[1])
        several.check_target(y)
        weight = in_rows(targets.without_unknown(weight, y))
        return Target(y, weight, several.in_units_of(y, weight))

    def read_validation(
        self, column: NDArray[Any], weight: FloatArray | None, target: Target
    ) -> tuple[FloatArray, FloatArray | None]:
        """Read the target; it must have as many outputs as the training rows."""
        if column.ndim == target.y.ndim == 1:
            return targets.regression_target(column, "y_val"), weight
        if target.y.ndim == 1:
            raise ValueError(f"y_val has {column.shape[1]} outputs, but y has one")
        y = targets.regression_outputs(column, "y_val", target.loss.n_outputs)
        return y, targets.without_unknown(weight, y)

    def task(self, target: Target) -> Task:
        """Return the task of regression."""
        return REGRESSION


@dataclass(frozen=True)
class Classes(Goal):
    """Labels of classes; several outputs have two classes each."""

    class_weight: Any = None

    head_kind = ClassLossHead

    def as_column(self, y: Any, n_rows: int, name: str = "y", table: str = "X") -> NDArray[Any]:
        """Return labels, with their order if they have one."""
        return targets.ordered_labels(y, targets.as_outputs(y, n_rows, name, table))

    def read(self, column: NDArray[Any], weight: FloatArray | None, known: Any = None) -> Target:
        """Encode labels; a model that is trained further keeps its codes."""
        if column.ndim > 1:
            return self._read_labels(column, weight, known)
        if known is not None:
            _require_outputs(1, known)
            classes, codes = known, targets.encode_classes(column, known, "y")
        else:
            classes, codes = targets.find_classes(column)
            if (isinstance(self.loss, str) and self.loss == "ordinal") or isinstance(self.loss, Ordinal):
                classes, codes = targets.in_order(column, classes, codes)
        loss = losses.resolve(self.loss, n_classes=len(classes))
        factors = targets.class_factors(weight, self.class_weight, classes, codes)
        weight = targets.times_factors(weight, factors, codes)
        targets.require_two_weighted(weight, classes, codes)
        return Target(codes, weight, loss, classes, factors)

    def _read_labels(self, columns: NDArray[Any], weight: FloatArray | None, known: Any) -> Target:
        """Read several outputs of two classes each: multi-label."""
        if self.class_weight is not None:
            raise ValueError("class_weight needs one output: give sample_weight, or fit one model per output")
        if known is not None:
            _require_outputs(columns.shape[1], known)
            classes, codes = known, _encode_labels(columns, known, "y")
        else:
            classes, codes = targets.find_label_sets(columns)
        for labels, column in zip(classes, codes.T, strict=True):
            targets.require_two_weighted(weight, labels, column)
        loss = losses.resolve(self.loss, n_classes=2)
        return Target(codes, weight, EachOutput.of(loss, codes.shape[1]).in_units_of(codes, weight), classes)

    def read_validation(
        self, column: NDArray[Any], weight: FloatArray | None, target: Target
    ) -> tuple[FloatArray, FloatArray | None]:
        """Encode labels by the codes of the training rows."""
        if isinstance(target.classes, list):
            return _encode_labels(column, target.classes, "y_val"), weight
        if column.ndim > 1:
            raise ValueError(f"y_val has {column.shape[1]} outputs, but y has one")
        codes = targets.encode_classes(column, target.classes)
        return codes, targets.times_factors(weight, target.factors, codes)

    def strata(self, y: FloatArray) -> NDArray[Any] | None:
        """Return the classes of one output."""
        return y if y.ndim == 1 else None

    def responses(self, problem: Problem, loss: Loss) -> FloatArray:
        """Return the classes."""
        return problem.y

    def directions(self, directions: tuple[int, ...], target: Target) -> tuple[int, ...]:
        """Reject monotone directions for more than two classes."""
        if directions and target.loss.n_outputs > 1 and not isinstance(target.loss, EachOutput):
            raise ValueError(
                f"monotonic_cst is not supported for multiclass classification ({len(target.classes)} classes): "
                "raw scores that rise do not make a probability rise"
            )
        return directions

    def task(self, target: Target) -> Task:
        """Return the task of two classes, or of several."""
        return BINARY if isinstance(target.classes, list) else of_classes(len(target.classes))

    def head(self, loss: Loss, classes: Any) -> ClassLossHead:
        """Return probabilities and labels."""
        return ClassLossHead(loss, classes)

    def truth(self, y: FloatArray, target: Target) -> Any:
        """Return labels."""
        codes = y.astype(np.intp)
        if not isinstance(target.classes, list):
            return target.classes[codes]
        return side_by_side([labels[column] for labels, column in zip(target.classes, codes.T, strict=True)])


def _require_outputs(n_outputs: int, known: Any) -> None:
    fitted = len(known) if isinstance(known, list) else 1
    if n_outputs != fitted:
        raise ValueError(f"y has {n_outputs} outputs, but the fitted model has {fitted}")


def _encode_labels(columns: NDArray[Any], classes: list[NDArray[Any]], name: str) -> FloatArray:
    if columns.ndim != 2 or columns.shape[1] != len(classes):
        raise ValueError(f"{name} has shape {columns.shape}: give {len(classes)} outputs per row, as y has")
    pairs = enumerate(zip(columns.T, classes, strict=True))
    return np.column_stack([targets.encode_classes(column, labels, f"{name}[:, {k}]") for k, (column, labels) in pairs])


# ---- ranking ---------------------------------------------------------------------------------------------------------


def judged(y: Any, group: Any, suffix: str = "") -> NDArray[Any] | None:
    """Join grades and queries to one column; None without grades, which is rejected later."""
    if y is None:
        return None
    given = targets.to_numpy(y, f"y{suffix}")
    grade = targets.grades(targets.as_column(given, given.size, f"y{suffix}"), f"y{suffix}")
    column = np.empty(len(grade), dtype=JUDGED)
    column["grade"] = grade
    column["query"] = targets.query_numbers(group, len(grade), f"group{suffix}", f"y{suffix}")
    return column


@dataclass(frozen=True)
class Ranking(Goal):
    """Grades of rows within queries, joined by ``judged``."""

    metric: str = "ndcg"
    truncation: int | None = 30

    def as_column(self, y: Any, n_rows: int, name: str = "y", table: str = "X") -> NDArray[Any]:
        """Return grades and queries."""
        return targets.as_column(y, n_rows, name, table)

    def read(self, column: NDArray[Any], weight: FloatArray | None, known: Any = None) -> Target:
        """Take the grades."""
        return Target(np.ascontiguousarray(column["grade"]), weight, self._resolved())

    def _resolved(self) -> Loss:
        loss, usual = losses.resolve(self.loss, task="ranking"), LambdaMart().parameters()
        changed = {name: getattr(self, name) for name in usual if getattr(self, name) != usual[name]}
        if isinstance(self.loss, Loss) and changed:
            raise ValueError(f"{', '.join(changed)} given beside the loss object {loss!r}: set it on the object")
        for name, value in changed.items():
            if name not in loss.parameters():
                raise ValueError(
                    f"{name}={value!r} has no effect with loss={shown(self.loss)}: leave it at {usual[name]!r}"
                )
        return replace(loss, **changed) if isinstance(loss, RankingLoss) else loss

    def read_validation(
        self, column: NDArray[Any], weight: FloatArray | None, target: Target
    ) -> tuple[FloatArray, FloatArray | None]:
        """Take the grades."""
        return np.ascontiguousarray(column["grade"]), weight

    def joined(self, y: Any, group: Any) -> Any:
        """Join grades and queries."""
        return judged(y, group)

    def queries(self, column: NDArray[Any]) -> NDArray[np.int64] | None:
        """Take the queries."""
        return np.ascontiguousarray(column["query"])

    def split(self, problem: Problem, share: float, seed: int) -> tuple[Positions, Positions]:
        """Return rows of whole queries to train and to validate on."""
        assert problem.query is not None
        queries = with_order(problem)
        held = np.isin(problem.query, queries[split_rows(len(queries), share, seed, None)[1]])
        return np.flatnonzero(~held), np.flatnonzero(held)

    def folds(
        self, problem: Problem, share: float, seed: int, automatic: Automatic
    ) -> list[tuple[Positions, Positions]]:
        """Return folds of whole queries if the share holds out too few of them to compare rounds by."""
        assert problem.query is not None
        queries = with_order(problem)
        n_queries = places.total(len(queries))
        if n_queries * share >= automatic.fewest_held_queries or n_queries < automatic.folds:
            return []
        fold = fold_of_rows(len(queries), automatic.folds, seed)
        held = [np.isin(problem.query, queries[fold == one]) for one in range(automatic.folds)]
        return [(np.flatnonzero(~out), np.flatnonzero(out)) for out in held]

    def arranged(self, problem: Problem) -> Problem:
        """Sort rows by query; raise an error if no query has an order to learn."""
        problem = in_content_order(problem)
        assert problem.query is not None
        together = problem.query[1:] == problem.query[:-1]
        if not places.anywhere(bool(np.any(together & (problem.y[1:] != problem.y[:-1])))):
            raise ValueError(
                f"no query has rows of different grades (n_samples={problem.count_rows()}): there is no order to "
                "learn; check y and group"
            )
        return problem

    def arranged_validation(self, problem: Problem) -> Problem:
        """Sort rows by query and leave out those without weight."""
        if problem.weight is not None:
            problem = problem.take(np.flatnonzero(problem.weight))
        return in_content_order(problem)

    def task(self, target: Target) -> Task:
        """Return the task of ranking."""
        return RANKING

    def head(self, loss: Loss, classes: Any) -> RankHead:
        """Return scores of rows within their query."""
        return RankHead(loss)


def with_order(problem: Problem) -> NDArray[np.int64]:
    """Return the queries that rounds can be compared by, those with rows of different grades."""
    assert problem.query is not None
    queries, query = np.unique(problem.query, return_inverse=True)
    least, most = np.full(len(queries), np.inf), np.full(len(queries), -np.inf)
    np.minimum.at(least, query, problem.y)
    np.maximum.at(most, query, problem.y)
    return np.asarray(queries[least < most], np.int64)


def in_content_order(problem: Problem) -> Problem:
    """Sort rows by query, and within a query by content, so that the order of the table does not matter."""
    assert problem.query is not None
    keys = content_keys(problem.table, problem.y)
    by_weight = () if problem.weight is None else (problem.weight,)
    return problem.take(np.lexsort((*by_weight, keys, problem.query)))


# ---- survival --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Survival(Goal):
    """Bounds of times, some of them censored."""

    aft_distribution: str | None = None
    aft_scale: float | str | None = "auto"

    def as_column(self, y: Any, n_rows: int, name: str = "y", table: str = "X") -> NDArray[Any]:
        """Return bounds of times, (rows, 2)."""
        return survival_bounds(y, n_rows, name, table)

    def read(self, column: NDArray[Any], weight: FloatArray | None, known: Any = None) -> Target:
        """Take the bounds."""
        return Target(column, weight, losses.resolve(self.loss, task="survival", **self._loss_parameters()))

    def _loss_parameters(self) -> dict[str, Any]:
        if isinstance(self.loss, str) and self.loss == "aft":
            learns = self.aft_scale == "auto"
            scale = {"learns_scale": True} if learns else {"scale": self.aft_scale}
            return {"distribution": self.aft_distribution, **scale}
        for name in ("aft_distribution", "aft_scale"):
            if getattr(self, name) not in (None, "auto"):
                raise ValueError(
                    f"{name}={getattr(self, name)!r} with loss={shown(self.loss)}: only loss='aft' has this parameter"
                )
        return {}

    def read_validation(
        self, column: NDArray[Any], weight: FloatArray | None, target: Target
    ) -> tuple[FloatArray, FloatArray | None]:
        """Check the events."""
        check_events(column, "y_val")
        return column, weight

    def strata(self, y: FloatArray) -> NDArray[Any] | None:
        """Return whether the event came."""
        return is_event(y).astype(np.float64)

    def folds(
        self, problem: Problem, share: float, seed: int, automatic: Automatic
    ) -> list[tuple[Positions, Positions]]:
        """Return folds if the share holds out too few events; copies of a row are in one fold, in whatever order."""
        if problem.group is not None or _count_events(problem) * share >= automatic.fewest_held_events:
            return []
        fold = fold_by_content(content_keys(problem.table, problem.y), automatic.folds, seed)
        events = places.added(np.bincount(fold[is_event(problem.y)], minlength=automatic.folds))
        return [(np.flatnonzero(fold != one), np.flatnonzero(fold == one)) for one in np.flatnonzero(events)]

    def seeks_rounds(self, problem: Problem, automatic: Automatic) -> bool:
        """Return whether there are enough events: the likelihood has no more to go by, and all rounds overfit."""
        return problem.group is None and _count_events(problem) >= automatic.fewest_events

    def arranged(self, problem: Problem) -> Problem:
        """Sort rows by time, so that sorting them again in each round costs almost nothing."""
        return problem.take(by_time(problem.y))

    def responses(self, problem: Problem, loss: Loss) -> FloatArray:
        """Return negative gradients of the constant model: high where events come early (Cox) or late (AFT)."""
        return downhill(loss, problem)

    def directions(self, directions: tuple[int, ...], target: Target) -> tuple[int, ...]:
        """Return monotone directions for raw predictions; users give them for risks."""
        return tuple(-sign for sign in directions) if isinstance(target.loss, AcceleratedFailure) else directions

    def task(self, target: Target) -> Task:
        """Return the task of survival."""
        return SURVIVAL

    def head(self, loss: Loss, classes: Any) -> RiskHead:
        """Return risks."""
        return RiskHead(loss)

    def finished(self, model: Model, problem: Problem, threads: int) -> Model:
        """Add the times of events and, for the loss of Cox, the baseline hazard."""
        head = model.head
        assert isinstance(head, RiskHead)
        if not isinstance(head.loss, Cox):
            own = np.unique(problem.y[is_event(problem.y), 0])
            times = np.unique(np.concatenate(places.gathered(lambda: own)))
            return replace(model, head=replace(head, event_times=times))
        raw = beside_offset(model.raw(problem.table, threads), problem.offset)[:, 0]
        times, baseline = head.loss.baseline(problem.y, raw, problem.weight)
        return replace(model, head=replace(head, event_times=times, log_baseline=baseline))

    def truth(self, y: FloatArray, target: Target) -> Any:
        """Return times and events, or bounds if some rows are interval-censored."""
        lower, upper = y.T
        event = is_event(y)
        columns: dict[str, NDArray[Any]] = {"event": event, "time": lower}
        if not (event | np.isinf(upper)).all():
            columns = {"lower": lower, "upper": upper}
        truth = np.empty(len(lower), dtype=[(name, column.dtype) for name, column in columns.items()])
        for name, column in columns.items():
            truth[name] = column
        return truth


def _count_events(problem: Problem) -> float:
    """Return the events of all places, each as often as it weighs."""
    return exact_sum(is_event(problem.y).astype(np.float64), problem.weight)
