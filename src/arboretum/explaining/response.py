"""What is asked of a model: probabilities, predictions or raw predictions, always (rows, outputs)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import shown
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.estimators.protocol import Classifier, OutlierDetector
from arboretum.estimators.standing_in import with_raw

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


def response_of(model: GrownTrees, response: str) -> Response:
    """Return what ``response`` means for this model.

    Parameters
    ----------
    model : GrownTrees
        A fitted model.
    response : {"auto", "raw"}
        "auto": probabilities of a classifier, of two classes that of the second; scores of an outlier detector; else
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
    if response == "raw":
        if not model.model_.head.determines:
            raise ValueError(f"predictions of this {type(model).__name__} are no sums of trees: use response='auto'")
        names = _class_names(model)
        fits = names is not None and len(names) == len(model.model_.forest.base)
        return Response(lambda one, X: one.predict_raw(X), names if fits else None, True)
    if response != "auto":
        raise ValueError(f"response={shown(response)}: use 'auto' or 'raw'")
    if isinstance(model, Classifier):
        return Response(_probabilities, _class_names(model), model.model_.head.is_affine)
    if isinstance(model, OutlierDetector):
        return Response(lambda one, X: one.decision_function(X)[:, None], None, False)
    return Response(_predictions, _arm_names(model), model.model_.head.is_affine)


def _probabilities(model: Any, X: Any) -> FloatArray:
    proba = model.predict_proba(X)
    if isinstance(proba, list):
        return np.concatenate([_without_first_of_two(part) for part in proba], axis=1)
    return _without_first_of_two(proba)


def _without_first_of_two(proba: FloatArray) -> FloatArray:
    return proba[:, 1:] if proba.shape[1] == 2 else proba


def _class_names(model: Any) -> list[str] | None:
    classes = getattr(model, "classes_", None)
    if classes is None:
        return None
    several = isinstance(classes, list)
    names = []
    for output, labels in enumerate(classes if several else [classes]):
        shown = labels[1:] if len(labels) == 2 else labels
        names += [f"{output}: {label}" if several else str(label) for label in shown.tolist()]
    return names


def _predictions(model: Any, X: Any) -> FloatArray:
    predicted = np.asarray(model.predict(X), dtype=np.float64)
    return predicted[:, None] if predicted.ndim == 1 else predicted


def _arm_names(model: Any) -> list[str] | None:
    arms = getattr(model, "arms_", None)
    return None if arms is None else [str(arm) for arm in arms[1:].tolist()]
