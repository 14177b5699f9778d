"""What a model is asked for: probabilities, predictions or raw predictions, always (rows, outputs)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import shown
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.estimators.standing_in import with_raw
from arboretum.explaining.reading import class_lists
from arboretum.tasks import ANOMALY, UPLIFT

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Response:
    """A way to ask a model.

    Parameters
    ----------
    ask : callable
        (model, X) → (rows, outputs).
    output_names : list of str or None
        What the outputs are called, if they have names.
    is_affine : bool
        Whether the mean of responses is the response to the mean of raw predictions.
    """

    ask: Callable[[Any, Any], FloatArray]
    output_names: list[str] | None
    is_affine: bool

    def from_raw(self, model: GrownTrees, raw: FloatArray) -> FloatArray:
        """Return the response to raw predictions, (rows, outputs)."""
        return self.ask(with_raw(model, raw), None)


def response_of(model: Any, response: str) -> Response:
    """Return what ``response`` means for this model.

    Parameters
    ----------
    model : GrownTrees
        A fitted model.
    response : {"auto", "raw"}
        "auto": probabilities of a classifier (of the second class, if there are two), scores of an outlier detector, or
        predictions. "raw": sums of the trees, before the link.

    Examples
    --------
    >>> import arboretum as arb
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = arb.BoostedTreesClassifier(n_estimators=3).fit(X, ["a", "a", "b", "b"])
    >>> response_of(model, "auto").output_names
    ['b']
    >>> response_of(model, "auto").ask(model, X).shape
    (4, 1)
    """
    head, names = model.model_.head, _output_names(model)
    if response == "raw":
        if not head.determines:
            raise ValueError(f"predictions of this {type(model).__name__} are not sums of trees: use response='auto'")
        fits = model.task_.has_classes and len(names or ()) == len(model.model_.forest.base)
        return Response(lambda one, X: one.predict_raw(X), names if fits else None, True)
    if response != "auto":
        raise ValueError(f"response={shown(response)}: use 'auto' or 'raw'")
    if model.task_ is ANOMALY:
        return Response(lambda one, X: one.decision_function(X)[:, None], None, False)
    return Response(_probabilities if model.task_.has_classes else _predictions, names, head.is_affine)


def _probabilities(model: Any, X: Any) -> FloatArray:
    proba = model.predict_proba(X)
    outputs = proba if isinstance(proba, list) else [proba]
    return np.concatenate([part[:, 1:] if part.shape[1] == 2 else part for part in outputs], axis=1)


def _predictions(model: Any, X: Any) -> FloatArray:
    predicted = np.asarray(model.predict(X), dtype=np.float64)
    return predicted[:, None] if predicted.ndim == 1 else predicted


def _output_names(model: Any) -> list[str] | None:
    """Return classes, of two the second, or treatments."""
    if model.task_ is UPLIFT:
        return [str(arm) for arm in model.arms_[1:].tolist()]
    lists = class_lists(model)
    shown = [labels[1:] if len(labels) == 2 else labels for labels in lists]
    if len(lists) > 1:
        return [f"{output}: {label}" for output, labels in enumerate(shown) for label in labels.tolist()]
    return [str(label) for label in shown[0].tolist()] if lists else None
