"""How the model came about: parameters, size, and the loss round by round."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from arboretum.estimators.bagging import BaggingModel
from arboretum.estimators.classes import defaults
from arboretum.estimators.held_out import HeldOutModel
from arboretum.model.forest import LEAF
from arboretum.report.evaluation.charts import curves, series
from arboretum.report.facts import LeftOut
from arboretum.report.stages import Stages, by_round
from arboretum.report.subject import Subject, is_independent

_TEXT = reprlib.Repr()
_TEXT.maxstring = _TEXT.maxother = 200


def gather(subject: Subject) -> dict[str, Any]:
    """Describe parameters and training of a model."""
    return {"parameters": parameters(subject.model), "facts": _facts(subject.model), "curves": _curves(subject)}


def parameters(model: Any) -> list[dict[str, Any]]:
    """Tell the parameters of an estimator, and which of them differ from their defaults.

    Examples
    --------
    >>> import arboretum as arb
    >>> [p for p in parameters(arb.DecisionTreeClassifier(max_depth=3)) if p["changed"]]
    [{'name': 'max_depth', 'value': '3', 'default': 'None', 'changed': True}]
    """
    default = defaults(type(model))
    found = []
    for name, value in model.get_params(deep=False).items():
        usual = default.get(name, inspect.Parameter.empty)
        changed = repr(value) != repr(usual)
        found.append({"name": name, "value": _TEXT.repr(value), "default": _TEXT.repr(usual), "changed": changed})
    return found


def _facts(model: Any) -> list[list[Any]]:
    """Names and values of what was learned about the ensemble as a whole."""
    if isinstance(model, HeldOutModel):
        return [["corrects", type(model.estimator_).__name__], *_facts(model.estimator_)]
    facts: list[list[Any]] = []
    if isinstance(model, BaggingModel):
        members = model.estimators_
        facts += [["members", len(members)], ["each", type(members[0]).__name__]]
    forest = getattr(model, "forest_", None)
    if forest is not None:
        depth = forest.tree_depths()
        leaves = int((forest.kind == LEAF).sum())
        facts += [
            ["trees", forest.n_trees],
            ["nodes", forest.n_nodes],
            ["leaves of a tree, on average", leaves / max(forest.n_trees, 1)],
            ["depth of the deepest tree", int(depth.max(initial=0))],
        ]
    elif hasattr(model, "tree_"):
        facts += [["trees", 1], ["nodes", model.tree_.n_nodes], ["depth of the tree", model.tree_.depth]]
    facts += [[words, _plain(getattr(model, name))] for name, words in _LEARNED.items() if hasattr(model, name)]
    rounds = getattr(model, "n_iter_", None)
    if rounds is not None:
        facts.append(["rounds kept", ", ".join(map(str, rounds)) if np.ndim(rounds) else int(rounds)])
    history = getattr(model, "history_", None)
    if history is not None:
        facts.append(["training ended by", history.stopped_by])
    return facts


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
    drawn = [
        *_recorded(getattr(subject.model, "history_", None)),
        *(_followed(subject, stages) for stages in (lambda: subject.stages, _trees_of(subject)) if stages is not None),
        *_learners(subject.model),
    ]
    charts = [chart for chart in drawn if chart is not None]
    return charts or [{"kind": "text", "title": "Training curve", "note": _reason(subject)}]


def _trees_of(subject: Subject) -> Callable[[], Stages] | None:
    """Follow a forest by the number of its trees, besides their depth."""
    is_forest = is_independent(subject.model) and getattr(subject.model, "forest_", None) is not None
    return (lambda: by_round(subject)) if is_forest and subject.n_trees > 1 else None


def _followed(subject: Subject, stages: Callable[[], Stages]) -> dict[str, Any] | None:
    try:
        found = stages()
    except LeftOut:
        return None
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
        lines = [series(words, np.arange(1, len(seen) + 1), seen, role) for words, seen, role in recorded if seen]
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


def _reason(subject: Subject) -> str:
    try:
        _ = subject.stages
    except LeftOut as reason:
        return str(reason)
    return "The model has no stages."
