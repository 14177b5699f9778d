"""Uplift: the effect of a treatment on each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from arboretum.tasks.task import Task


@dataclass(frozen=True)
class Uplift(Task):
    """Outcomes and treatments, and how much a treatment adds to the outcome."""

    def check_target(self, y: NDArray[Any]) -> str | None:
        """Accept two labels or numbers: the estimator checks them."""
        return None

    def output_labels(self, model: Any, values: NDArray[Any]) -> list[Any]:
        """Return the treatments."""
        labels: list[Any] = model.arms_[1:].tolist()
        return labels


UPLIFT = Uplift(
    "uplift",
    "uplift",
    "uplift",
    {"qini": True},
    "uplift",
    answer="uplift",
    role="treatment",
    figure="Qini score",
)
