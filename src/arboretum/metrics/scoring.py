"""What ``scoring`` may be: the loss, a metric's name, a scikit-learn scorer's name, or a function of (model, X, y)."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from arboretum.arguments import shown
from arboretum.metrics.named import METRICS, Metric, find_metric, named_metrics
from arboretum.other_libraries import VALUES, advice

LOSS = "loss"
ONLY_IF_NAMED = ("group", "treatment")  # a scorer that takes any keyword would hand them on to its metric


@dataclass(frozen=True)
class Scorer:
    """A function of (model, X, y) whose greater values are better, as scikit-learn's scorers are.

    Examples
    --------
    >>> scorer = Scorer("size", lambda model, X, y: len(X))
    >>> scorer.score(None, [1, 2], [3, 4])
    2
    """

    name: str
    function: Callable[..., float]

    def score(self, model: Any, X: Any, y: Any, **columns: Any) -> float:
        """Score a model.

        Parameters
        ----------
        model, X, y
            The model, rows and their truth.
        **columns
            What else is known of the rows, by name: ``sample_weight``, ``group``, ``treatment``; None is not known.
            The function gets those that it has arguments for.
        """
        known = {name: column for name, column in columns.items() if column is not None}
        parameters = inspect.signature(self.function).parameters
        takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
        given = {
            name: column
            for name, column in known.items()
            if name in parameters or (takes_any and name not in ONLY_IF_NAMED)
        }
        if "sample_weight" in known and "sample_weight" not in given:
            raise self._without_weights()
        try:
            return self.function(model, X, y, **given)
        except TypeError as error:
            if "sample_weight" in given and "sample_weight" in str(error):
                raise self._without_weights() from error
            raise

    def _without_weights(self) -> ValueError:
        return ValueError(
            f"scoring={self.name!r} takes no sample_weight, but rows or classes have weights: give it such an "
            "argument, or choose another scoring"
        )


def find_scoring(scoring: Any, task: str) -> Metric | Scorer | None:
    """Turn what a user gave as ``scoring`` into a metric or a scorer; None is the loss.

    Parameters
    ----------
    scoring : str, callable or None
        "loss"; a metric's name; the name of a scikit-learn scorer; a function of (model, X, y); or None for the score
        of the model itself.
    task : str
        As for ``find_metric``.

    Examples
    --------
    >>> find_scoring("roc_auc", "binary").greater_is_better
    True
    >>> find_scoring("roc", "binary")
    Traceback (most recent call last):
        ...
    ValueError: scoring='roc' is neither a metric nor a scikit-learn scorer: did you mean 'roc_auc'? Use 'loss', ...
    """
    if scoring is None:
        return OWN_SCORE
    if isinstance(scoring, str):
        return None if scoring == LOSS else find_metric(scoring, task) or _sklearn_scorer(scoring, task)
    if not callable(scoring) or isinstance(scoring, type):
        raise ValueError(
            f"scoring={shown(scoring)}: use 'loss', the name of a metric, a function of (model, X, y), or None"
        )
    name = getattr(scoring, "__name__", None) or str(scoring)
    if str(getattr(scoring, "__module__", "")).startswith("sklearn.metrics.") and not hasattr(scoring, "_score_func"):
        raise ValueError(
            f"scoring={name} is a function of truth and prediction: wrap it, as in sklearn.metrics.make_scorer({name})"
        )
    return Scorer(name, scoring)


def _own_score(
    model: Any, X: Any, y: Any, sample_weight: Any = None, group: Any = None, treatment: Any = None
) -> float:
    columns = {"sample_weight": sample_weight, "group": group, "treatment": treatment}
    return float(model.score(X, y, **{name: column for name, column in columns.items() if column is not None}))


OWN_SCORE = Scorer("score", _own_score)


def _sklearn_scorer(name: str, task: str) -> Scorer:
    from sklearn.metrics import get_scorer, get_scorer_names

    if name in get_scorer_names():
        return Scorer(name, get_scorer(name))
    own = named_metrics(task)
    known = [LOSS, *own, *(scorer for scorer in get_scorer_names() if scorer not in METRICS)]
    told = advice(VALUES, name, known, owner="scoring")
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"{told}. " if told else f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(
        f"scoring={name!r} is neither a metric nor a scikit-learn scorer: {hint}"
        f"Use 'loss', {', '.join(map(repr, own))} or one of sklearn.metrics.get_scorer_names()"
    )
