"""Regression: numbers."""

from __future__ import annotations

from dataclasses import dataclass

from arboretum.tasks.task import Task


@dataclass(frozen=True)
class Numbers(Task):
    """Numbers that a loss compares with predictions."""

    has_numbers = True


REGRESSION = Numbers("regression", "regression", "regression", {"rmse": False, "mae": False, "r2": True}, "numbers")
