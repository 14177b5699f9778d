"""Survival: times to an event that may not have come yet."""

from __future__ import annotations

from dataclasses import dataclass

from arboretum.tasks.task import Task


@dataclass(frozen=True)
class Survival(Task):
    """Times, whether the event came, and risks that are higher for earlier events."""

    orders_rows = True
    stratified_by = "event"


SURVIVAL = Survival(
    "survival",
    "survival",
    "survival",
    {"concordance": True},
    "survival",
    answer="risk",
    role="event",
    figure="concordance",
)
