"""How the model came about: parameters, size, and the loss round by round."""

from __future__ import annotations

import inspect
import reprlib
from typing import Any

import numpy as np

from arboretum.estimators import targets
from arboretum.estimators.protocol import arguments
from arboretum.report.evaluation.charts import curves, series, thin
from arboretum.report.subject import LEAST_PROBABILITY, Rows, Subject, class_lists

_TEXT = reprlib.Repr()
_TEXT.maxstring = _TEXT.maxother = 200

CURVE_ROWS = 2_000  # that stages are predicted for


def gather(subject: Subject) -> dict[str, Any]:
    """Describe parameters and training of a model."""
    return {"parameters": parameters(subject.model), "facts": _facts(subject.model), "curve": _curve(subject)}


def parameters(model: Any) -> list[dict[str, Any]]:
    """Tell the parameters of an estimator, and which of them differ from their defaults.

    Examples
    --------
    >>> import arboretum as arb
    >>> [p for p in parameters(arb.DecisionTreeClassifier(max_depth=3)) if p["changed"]]
    [{'name': 'max_depth', 'value': '3', 'default': 'None', 'changed': True}]
    """
    default = arguments(type(model).__init__)
    found = []
    for name, value in model.get_params(deep=False).items():
        usual = default.get(name, inspect.Parameter.empty)
        changed = repr(value) != repr(usual)
        found.append({"name": name, "value": _TEXT.repr(value), "default": _TEXT.repr(usual), "changed": changed})
    return found


def _facts(model: Any) -> list[list[Any]]:
    """Names and values of what was learnt about the ensemble as a whole."""
    facts: list[list[Any]] = []
    forest = getattr(model, "forest_", None)
    if forest is not None:
        depth = forest.tree_depths()
        leaves = int((forest.kind == 0).sum())
        facts += [
            ["trees", forest.n_trees],
            ["nodes", forest.n_nodes],
            ["leaves of a tree, on average", leaves / max(forest.n_trees, 1)],
            ["depth of the deepest tree", int(depth.max(initial=0))],
        ]
    names = (("learning_rate_", "learning rate"), ("oob_score_", "out-of-bag score"), ("loss_", "loss"))
    facts += [[words, _plain(getattr(model, name))] for name, words in names if hasattr(model, name)]
    history = getattr(model, "history_", None)
    if history is not None:
        facts.append(["rounds kept", _plain(getattr(model, "n_iter_", None))])
        facts.append(["training ended by", history.stopped_by])
    return facts


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, int | float | str) else repr(value)


def _curve(subject: Subject) -> dict[str, Any] | str:
    """Losses by round, or why there are none."""
    history = getattr(subject.model, "history_", None)
    if history is None:
        return "Trees of this model are grown independently of each other: there is no round-by-round curve."
    lines = [
        series(name, np.arange(1, len(losses) + 1), losses, role)
        for name, losses, role in (
            ("training loss", history.training_loss, "baseline"),
            ("validation loss", history.validation_loss, "model"),
        )
        if losses
    ]
    name, label = "loss", ""
    if not lines:
        name, lines = _staged(subject)
        label = f"on {min(CURVE_ROWS, subject.test.n_rows):,} of the rows, predicted after each round"
    if not lines:
        return "No losses were recorded while training: fit with validation rows, or verbose=1."
    best = history.best_round
    return curves("Training curve", "round", name, lines, label, rule=best, rule_name=best and f"best round: {best}")


def _staged(subject: Subject) -> tuple[str, list[dict[str, Any]]]:
    """Loss of a sample of rows after each round, of boosted classifiers and regressors."""
    if subject.task not in ("binary", "multiclass", "regression"):
        return "", []
    name, lines = "", []
    for words, rows, role in (
        ("training rows", subject.train, "baseline"),
        ("rows of the report", subject.test, "model"),
    ):
        if rows is not None:
            some = rows.take(thin(rows.n_rows, CURVE_ROWS, seed=0))
            name, losses = _staged_losses(subject, some)
            if losses:
                lines.append(series(words, np.arange(1, len(losses) + 1), losses, role))
    return name, lines


def _staged_losses(subject: Subject, rows: Rows) -> tuple[str, list[float]]:
    model, y = subject.model, rows.target
    if y is None or np.ndim(y) > 1:
        return "", []
    if subject.task == "regression" and hasattr(model, "staged_predict"):
        truth = targets.regression_target(y)
        stages = [np.asarray(told) for told in model.staged_predict(rows.X)]
        if not stages or stages[0].ndim > 1:
            return "", []
        return "RMSE", [float(np.sqrt(np.average((truth - told) ** 2, weights=rows.weight))) for told in stages]
    if subject.task != "regression" and hasattr(model, "staged_predict_proba"):
        code = targets.encode_classes(y, class_lists(model)[0], "y").astype(np.intp)
        at = np.arange(len(code))
        losses = [
            -np.log(np.clip(proba[at, code], LEAST_PROBABILITY, 1)) for proba in model.staged_predict_proba(rows.X)
        ]
        return "log loss", [float(np.average(loss, weights=rows.weight)) for loss in losses]
    return "", []
