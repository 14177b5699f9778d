"""Tasks: what a model is for, and what follows from that for targets, answers, metrics and reports.

A task is known by its name wherever a name is enough: in model files, in ``--task`` and in reports. ``register`` adds a
task to those that the command knows.
"""

from __future__ import annotations

from arboretum.tasks.anomaly import ANOMALY, Anomaly
from arboretum.tasks.classes import BINARY, MULTICLASS, Classes, of_classes
from arboretum.tasks.numbers import REGRESSION, Numbers
from arboretum.tasks.ranking import RANKING, Ranking
from arboretum.tasks.survival import SURVIVAL, Survival
from arboretum.tasks.task import Task
from arboretum.tasks.uplift import UPLIFT, Uplift

__all__ = [
    "ANOMALY",
    "BINARY",
    "MULTICLASS",
    "RANKING",
    "REGRESSION",
    "SURVIVAL",
    "TASKS",
    "UPLIFT",
    "Anomaly",
    "Classes",
    "Numbers",
    "Ranking",
    "Survival",
    "Task",
    "Uplift",
    "of_classes",
    "register",
]

TASKS: dict[str, Task] = {}


def register(task: Task) -> Task:
    """Register a task under its name, for the command and the report.

    Parameters
    ----------
    task : Task
        The task.

    Returns
    -------
    Task
        The same task.
    """
    TASKS[task.name] = task
    return task


for _task in (BINARY, MULTICLASS, REGRESSION, RANKING, SURVIVAL, UPLIFT, ANOMALY):
    register(_task)
