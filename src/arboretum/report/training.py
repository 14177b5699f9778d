"""How the model came about: parameters, size, and the loss round by round."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from arboretum.ensembles.combining.joint import combined
from arboretum.estimators.bagging import BaggingModel
from arboretum.estimators.classes import defaults
from arboretum.estimators.combined import CombinedModel
from arboretum.estimators.held_out import HeldOutModel
from arboretum.explaining.by_predictions import has_own_trees
from arboretum.model.forest import LEAF
from arboretum.model.heads import MultiwayHead
from arboretum.report.evaluation.charts import curves, series
from arboretum.report.stages import Stages, by_round
from arboretum.report.subject import Subject, is_independent, or_reason

_TEXT = reprlib.Repr()
_TEXT.maxstring = _TEXT.maxother = 200


def gather(subject: Subject) -> dict[str, Any]:
    """Describe parameters and training of a model."""
    return {"parameters": parameters(subject.model), "facts": _facts(subject.model), "curves": _curves(subject)}


def parameters(model: Any) -> list[dict[str, Any]]:
    """Return the parameters of an estimator, and which of them differ from their defaults.

    Examples
    --------
    >>> import arboretum as arb
    >>> [p for p in parameters(arb.DecisionTreeClassifier(max_depth=3)) if p["changed"]]
    [{'name': 'max_depth', 'value': '3', 'default': 'None', 'changed': True}]
    """
    usual = defaults(type(model))
    pairs = {
        name: (value, usual.get(name, inspect.Parameter.empty)) for name, value in model.get_params(deep=False).items()
    }
    return [
        {
            "name": name,
            "value": _TEXT.repr(value),
            "default": _TEXT.repr(default),
            "changed": repr(value) != repr(default),
        }
        for name, (value, default) in pairs.items()
    ]


def _facts(model: Any) -> list[list[Any]]:
    """Names and values of what was learned about the ensemble as a whole."""
    if isinstance(model, HeldOutModel):
        n_averaged = len(getattr(model, "estimators_", ()))
        averaged = [["models averaged", n_averaged]] if n_averaged > 1 else []
        return [["corrects", type(model.estimator_).__name__], *averaged, *_facts(model.estimator_)]
    facts: dict[str, Any] = {}
    if isinstance(model, BaggingModel):
        facts |= {"members": len(model.estimators_), "each": type(model.estimators_[0]).__name__}
    if isinstance(model, CombinedModel):
        facts |= _members(model)
    if has_own_trees(model):
        facts |= _trees(model)
    facts |= {words: _plain(getattr(model, name)) for name, words in _LEARNED.items() if hasattr(model, name)}
    if hasattr(model, "n_iter_"):
        rounds = model.n_iter_
        facts["rounds kept"] = ", ".join(map(str, rounds)) if np.ndim(rounds) else int(rounds)
    if getattr(model, "race_", None) is not None:
        facts["won the race of settings"] = str(model.race_)
    if hasattr(model, "history_"):
        facts["training ended by"] = model.history_.stopped_by
    return [[name, value] for name, value in facts.items()]


def _members(model: CombinedModel) -> dict[str, Any]:
    """Members of a combined model: class, weight, score on rows that they have not seen."""
    joint = combined(model.learned())
    shares, facts = joint.shares, {}
    for place, one in enumerate(joint.asked):
        weight = "" if shares is None else f", weight {shares[place]:.3g}"
        score = f", {joint.scoring} {joint.scores[one.name]:.4g} unseen" if one.name in joint.scores else ""
        facts[f"member {one.name}"] = f"{type(model.learned().parts[one.parts[0]]).__name__}{weight}{score}"
    return facts


def _trees(model: Any) -> dict[str, Any]:
    if isinstance(model.model_.head, MultiwayHead):
        return {"trees": 1, "nodes": model.tree_.n_nodes, "depth of the tree": model.tree_.depth}
    forest = model.model_.forest
    return {
        "trees": forest.n_trees,
        "nodes": forest.n_nodes,
        "leaves of a tree, on average": int((forest.kind == LEAF).sum()) / max(forest.n_trees, 1),
        "depth of the deepest tree": int(forest.tree_depths().max(initial=0)),
    }


_LEARNED = {
    "learning_rate_": "learning rate",
    "oob_score_": "out-of-bag score",
    "loss_": "loss",
    "criterion": "criterion",
    "max_samples_": "rows of a tree",
    "offset_": "score from which rows are told anomalous",
}


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, int | float | str) else repr(value)


# ---- curves ----------------------------------------------------------------------------------------------------------


def _curves(subject: Subject) -> list[dict[str, Any]]:
    """Losses while the model grew: as recorded, on rows of the report, and of every learner; or why there are none."""
    ways: list[Callable[[], Stages]] = [lambda: subject.stages]
    if is_independent(subject.model) and subject.n_trees > 1:  # besides the depth of trees, by their number
        ways.append(lambda: by_round(subject))
    followed = [or_reason(partial(_followed, stages)) for stages in ways]
    charts = [
        *_recorded(getattr(subject.model, "history_", None)),
        *(chart for chart in followed if "left_out" not in chart),
        *_learners(subject.model),
    ]
    return charts or [{"kind": "text", "title": "Training curve", "note": followed[0]["left_out"]}]


def _followed(stages: Callable[[], Stages]) -> dict[str, Any]:
    found = stages()
    lines = [series("rows of the report", found.at, found.means(found.test))]
    if found.train is not None:
        lines.insert(0, series("training rows", found.at, found.means(found.train), "baseline"))
    words = {
        "depth": ("by depth", "largest depth of a tree"),
        "trees": ("by number of trees", "trees"),
        "members": ("by number of members", "members"),
        "rounds": ("after each round", "round"),
    }
    which, x = words[found.axis]
    title = f"{'Score' if found.higher_is_better else 'Loss'} {which}"
    note = f"on {found.rows:,} rows; {'higher' if found.higher_is_better else 'lower'} is better"
    return curves(title, x, found.figure, lines, note)


def _recorded(history: Any) -> Iterator[dict[str, Any]]:
    """Draw the losses that were recorded while training, and the scores if rounds were compared by them."""
    if history is None:
        return
    best = history.best_round
    rule = {} if best is None else {"rule": best, "rule_name": f"best round: {best}"}
    losses = [
        ("training loss", history.training_loss, "baseline"),
        ("validation loss", history.validation_loss, "model"),
    ]
    scores = [(f"validation {history.scoring}", history.validation_score, "model")]
    for title, name, recorded, marks in (
        ("Losses recorded while training", "loss", losses, {} if history.validation_score else rule),
        ("Scores recorded while training", history.scoring, scores, rule),
    ):
        lines = [series(words, history.rounds(seen), seen, role) for words, seen, role in recorded if seen]
        if lines:
            yield curves(title, "round", name, lines, names_line=True, **marks)


def _learners(model: Any) -> Iterator[dict[str, Any]]:
    """Draw the error and the vote of each learner of AdaBoost."""
    if not hasattr(model, "estimator_weights_"):
        return
    number = np.arange(1, len(model.estimator_weights_) + 1)
    lines = [series("vote", number, model.estimator_weights_), series("error", number, model.estimator_errors_)]
    yield curves(
        "Each learner", "round", "", lines, "weighted error on training rows, and the vote that follows from it"
    )
