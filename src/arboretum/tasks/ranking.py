"""Ranking: the order of rows within queries."""

from __future__ import annotations

from dataclasses import dataclass

from arboretum.tasks.task import Task


@dataclass(frozen=True)
class Ranking(Task):
    """Grades of rows, and scores that order them within their query."""

    orders_rows = True


RANKING = Ranking(
    "ranking",
    "ranking",
    "ranking",
    {"ndcg@10": True, "map": True},
    "ranking",
    answer="score",
    role="group",
    figure="NDCG@10",
)
