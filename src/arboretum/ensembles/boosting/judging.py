"""From ``scoring`` to the judge that compares the rounds of a fit.

::

    raw predictions of the validation rows, which boosting keeps up to date
         ├──Head──► probabilities or numbers ──► Metric
         └──► an estimator that knows these predictions ──► Scorer(model, X, y), labels as the user gave them
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import places
from arboretum.data.queries import Queries
from arboretum.ensembles.boosting.history import Judge
from arboretum.losses import Loss
from arboretum.metrics.named import Answered, Metric
from arboretum.metrics.scoring import Scorer
from arboretum.model.heads import Head

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Validation rows as metrics and scorers read them."""

    X: Any  # what scorers are given as rows, and hand to the methods of the model
    y: NDArray[Any]  # numbers, codes of classes, bounds of times
    truth: Any  # the same as users write it: labels, times and events
    weight: FloatArray | None = None
    queries: Queries | None = None  # of a ranking
    columns: dict[str, Any] = field(default_factory=dict)  # what else scorers may ask for: "group", "treatment"


class JudgedPart(NamedTuple):
    """What metrics read of the validation rows of a place."""

    y: NDArray[Any]
    raw: FloatArray
    weight: FloatArray | None
    queries: Queries | None
    treatment: NDArray[Any] | None

    @classmethod
    def joined(cls, parts: Sequence[JudgedPart]) -> JudgedPart:
        """Join the rows of all places, in their order."""
        y, raw, weight, queries, treatment = zip(*parts, strict=True)
        return cls(
            np.concatenate(y),
            np.concatenate(raw),
            None if weight[0] is None else np.concatenate(weight),
            None if queries[0] is None else Queries.joined(queries),
            None if treatment[0] is None else np.concatenate(treatment),
        )


def judge_of(
    scoring: Metric | Scorer | None,
    rows: JudgedRows,
    head_of: Callable[[Loss], Head],
    model_at: Callable[[FloatArray, Head], Any],
) -> Judge | None:
    """Return the judge that compares rounds; None if they are compared by the loss.

    Parameters
    ----------
    scoring : Metric, Scorer or None
        Result of ``find_scoring``.
    rows : JudgedRows
        The validation rows.
    head_of : callable
        From the loss to what raw predictions mean.
    model_at : callable
        From raw predictions and their head to an estimator with these predictions.
    """
    if scoring is None:
        return None
    if isinstance(scoring, Scorer):
        if places.here() is not None:
            raise ValueError(
                f"scoring={scoring.name!r} asks a model about rows, which lie on several workers: name a metric, such "
                "as 'roc_auc', or leave it out to go by the loss"
            )

        def asked(raw: FloatArray, loss: Loss) -> float:
            columns = {"sample_weight": rows.weight, **rows.columns}
            return scoring.score(model_at(in_columns(raw), head_of(loss)), rows.X, rows.truth, **columns)

        return Judge(scoring.name, True, asked)

    def measured(raw: FloatArray, loss: Loss) -> float:
        own = places.index()
        part = JudgedPart(rows.y, in_columns(raw), rows.weight, rows.queries, rows.columns.get("treatment"))
        return places.decided(lambda: {own: part}, dict.__or__, lambda parts: value(places.in_order(parts), loss))

    def value(parts: list[JudgedPart], loss: Loss) -> float:
        whole = parts[0] if len(parts) == 1 else JudgedPart.joined(parts)
        answer = head_of(loss).judged(whole.raw)
        return scoring.value(Answered(whole.y, answer, whole.weight, whole.queries, whole.treatment))

    return Judge(scoring.name, scoring.greater_is_better, measured)


class TreesInTraining:
    """The forest of a model in training, which scorers cannot read.

    Examples
    --------
    >>> TreesInTraining().n_trees
    Traceback (most recent call last):
        ...
    AttributeError: scoring asks a model in training for its trees: ask for predictions of the X that it was given
    """

    def __getattr__(self, name: str) -> Any:
        """Say what can be asked instead."""
        raise AttributeError(
            "scoring asks a model in training for its trees: ask for predictions of the X that it was given"
        )


def knowing(X: Any, raw: FloatArray) -> Callable[[Any], FloatArray]:
    """Return a function from rows to raw predictions, for a model in training; it only accepts X itself."""

    def known(asked: Any) -> FloatArray:
        if asked is not X:
            raise ValueError(
                "scoring made a model in training predict rows other than its validation rows: score X as it is given"
            )
        return raw

    return known


def in_columns(raw: FloatArray) -> FloatArray:
    """Return raw predictions as (rows, outputs)."""
    return raw[:, np.newaxis] if raw.ndim == 1 else raw
