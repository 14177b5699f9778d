"""Goals of members whose answers order rows: scores of rows within queries, risks of an event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.members.goals import Numbers
from arboretum.ensembles.members.named import kind_of
from arboretum.losses.ranking import check_grades
from arboretum.losses.survival import check_events, is_event
from arboretum.losses.survival_targets import event_times, survival_bounds
from arboretum.tasks import RANKING, SURVIVAL, Task

FloatArray: TypeAlias = NDArray[np.float64]


class Order(Numbers):
    """Numbers that order rows."""

    def check(self, model: Any) -> None:
        """Reject a member of a file that orders nothing, or by something else."""
        if kind_of(model) != self.kind:
            raise ValueError(f"a member of class {type(model).__name__}")


@dataclass(frozen=True, eq=False)
class Grades(Order):
    """Grades of rows within queries, joined by ``judged`` (ensembles/boosting/goals.py)."""

    kind = "ranker"
    metric = "ndcg"
    by_query = True
    task: ClassVar[Task] = RANKING

    def read(self, column: NDArray[Any]) -> tuple[Grades, FloatArray]:
        """Take the grades; reject those of one query, and queries without an order."""
        grade, query = np.ascontiguousarray(column["grade"]), column["query"]
        check_grades(grade)
        if (query == query[0]).all():
            raise ValueError(
                f"group has one query (n_samples={len(query)}), but folds are whole queries: give rows of at least 2"
            )
        order = np.argsort(query, kind="stable")
        together = query[order[1:]] == query[order[:-1]]
        if not (together & (grade[order[1:]] != grade[order[:-1]])).any():
            raise ValueError(
                f"no query has rows of different grades (n_samples={len(grade)}): there is no order to learn; check y "
                "and group"
            )
        return self, grade

    def arguments(self, column: NDArray[Any]) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Return grades, and queries as the argument ``group``."""
        return np.ascontiguousarray(column["grade"]), {"group": np.ascontiguousarray(column["query"])}


@dataclass(frozen=True, eq=False)
class Times(Order):
    """Times to an event, some of them censored."""

    kind = "survival model"
    metric = "concordance"
    task: ClassVar[Task] = SURVIVAL

    def as_column(self, y: Any, n_rows: int) -> NDArray[Any]:
        """Return times and events, (rows, 2)."""
        return np.column_stack(event_times(y, n_rows))

    def read(self, column: NDArray[Any]) -> tuple[Times, FloatArray]:
        """Return bounds of times; reject rows without any event."""
        bounds = survival_bounds(column)
        check_events(bounds)
        return self, bounds

    @property
    def labels(self) -> list[Any]:
        """Events: a model needs some."""
        return ["event"]

    def strata(self, numbers: FloatArray) -> NDArray[Any]:
        """Return 0 for events, 1 for censored rows."""
        return np.where(is_event(numbers), 0.0, 1.0)
