"""Recipes: what makes a Model, or the Members of a model of models, from rows.

::

    rows × parameters × goal ──Recipe.fit──► Model or Members

A recipe knows parameters and a goal, never an estimator; estimators hand it what else it asks for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Given = TypeVar("Given")
Goal = TypeVar("Goal")


@dataclass(frozen=True, eq=False)
class Recipe(Generic[Given, Goal]):
    """What every recipe knows.

    Parameters
    ----------
    given : parameter group
        Parameters, checked.
    goal : goal
        How the target is read, and what is optimised.
    name : str
        What messages call the model.
    """

    given: Given
    goal: Goal
    name: str
