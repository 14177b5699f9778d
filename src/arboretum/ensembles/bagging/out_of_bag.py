"""Scores of out-of-bag predictions by any scorer."""

from __future__ import annotations

import difflib
import numbers
from typing import Any

import numpy as np

from arboretum.arguments import shown
from arboretum.metrics.own_scores import accuracy, r_squared


class _KnownPredictions:
    """What a scorer gets: a fitted model that returns known predictions for any X."""

    def __init__(self, model: Any, prediction: Any, proba: Any) -> None:
        self._model, self._prediction, self._proba = model, prediction, proba
        if proba is not None:
            self.classes_ = model.classes_

    def fit(self, X: Any, y: Any) -> _KnownPredictions:
        return self

    def predict(self, X: Any) -> Any:
        return self._prediction

    def predict_proba(self, X: Any) -> Any:
        return self._proba

    def __sklearn_tags__(self) -> Any:
        return self._model.__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return True


def check_rule(rule: Any) -> None:
    """Reject an invalid ``oob_score``."""
    if not isinstance(rule, bool | str) and not callable(rule):
        raise ValueError(f"oob_score={shown(rule)}: use True, False, a scorer's name or a function of (y, prediction)")
    if isinstance(rule, str):
        check_scorer("oob_score", rule)


def check_scorer(parameter: str, name: str) -> None:
    """Reject a name that is not a scorer of scikit-learn."""
    from sklearn.metrics import get_scorer, get_scorer_names

    try:
        get_scorer(name)
    except (KeyError, ValueError):
        near = difflib.get_close_matches(name, get_scorer_names(), n=1)
        hint = f": did you mean {near[0]!r}?" if near else ": use one of sklearn.metrics.get_scorer_names()"
        raise ValueError(f"{parameter}={name!r} is not a scorer{hint}") from None


def score_out_of_bag(model: Any, rule: Any, y: Any, prediction: Any, proba: Any, weight: Any) -> float:
    """Score out-of-bag predictions.

    Parameters
    ----------
    model : estimator
        The ensemble: a classifier or a regressor.
    rule : True, str or callable
        The model's own score, a scorer's name, or a function of (y, prediction).
    y, prediction : array
        Truth and prediction of each row.
    proba : array, optional
        Probabilities of each row, for a classifier.
    weight : array, optional
        Weight of each row.

    Examples
    --------
    >>> import arboretum as arb
    >>> score_out_of_bag(arb.RandomForestRegressor(), True, [1.0, 2.0], np.array([1.0, 2.0]), None, None)
    1.0
    """
    if callable(rule):
        score = rule(y, prediction)
        if not isinstance(score, numbers.Real):
            raise ValueError(f"oob_score={shown(rule)} returned {shown(score)}: give a function that returns a number")
        return float(score)
    if isinstance(rule, str):
        known = _KnownPredictions(model, prediction, proba)
        from sklearn.metrics import get_scorer

        keywords = {} if weight is None else {"sample_weight": weight}
        return float(get_scorer(rule)(known, np.zeros((len(y), 1)), y, **keywords))
    measure = accuracy if model.__sklearn_tags__().estimator_type == "classifier" else r_squared
    return float(measure(y, prediction, weight))
