"""``average``: several fitted models as one, whose raw predictions are the mean of theirs."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from arboretum.arguments import holds_others, shown
from arboretum.ensembles.bagging.model_notes import ForestNotes
from arboretum.ensembles.boosting.history import History
from arboretum.ensembles.boosting.model_notes import BoostingNotes, trees_of_round
from arboretum.ensembles.boosting.recipe import learns_from_raw
from arboretum.estimators.boosted_trees import BoostedTrees
from arboretum.estimators.classes import parameters
from arboretum.estimators.decision_trees import DecisionTree
from arboretum.estimators.forests import RandomForestClassifier, RandomForestRegressor
from arboretum.estimators.protocol import Estimator
from arboretum.estimators.standing_in import with_model
from arboretum.model.averaging import AVERAGED, difference, mean_model
from arboretum.model.model import Model
from arboretum.model.notes import Notes


def average(
    models: Sequence[Any],
    weights: Sequence[float] | None = None,
    *,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    offset: Any = None,
) -> Any:
    """Join fitted models of arboretum into one model with one forest, which predicts their weighted mean.

    Boosted models are averaged before the link: log-odds, logarithms, ranking scores. Forests and single trees of CART
    are averaged as they predict: probabilities or numbers. Thresholds of ``loss="ordinal"`` and learnt scales of
    ``loss="aft"`` are averaged as well. The baseline of ``loss="cox"`` needs rows: without them, the average ranks rows
    by risk but has no survival functions.

    Parameters
    ----------
    models : sequence of estimators
        Fitted models with the same columns, categories, classes and loss.
    weights : sequence of float, optional
        Weight of each model, at least 0; only their ratios count. By default all weigh alike.
    X, y, sample_weight, offset : optional
        Rows to learn thresholds, the scale or the baseline of boosted models from; others need none.

    Returns
    -------
    estimator
        A fitted model with the class and parameters of the first; single trees become a random forest. No rounds or
        trees can be added to it.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> seeds = [arb.BoostedTreesRegressor(n_estimators=30, random_state=k).fit(X, X[:, 0] ** 2) for k in range(3)]
    >>> joined = arb.average(seeds)
    >>> joined.forest_.n_trees
    90
    >>> bool(np.allclose(joined.predict(X), np.mean([model.predict(X) for model in seeds], axis=0)))
    True
    """
    if holds_others(models) and not isinstance(models, Estimator):
        models = list(models)
    learned = _read_models(models)
    counted = _read_weights(weights, len(learned))
    taken = [place for place, weight in enumerate(counted) if weight > 0]
    joined = mean_model([learned[place] for place in taken], [counted[place] for place in taken])
    estimator = _estimator_for(models[0], joined)
    joined = replace(joined, notes=_joined_notes([learned[place] for place in taken], joined))
    if isinstance(estimator, BoostedTrees) and X is not None and learns_from_raw(joined):
        joined = estimator.recipe().relearned(joined, X, y, sample_weight, offset)
    return with_model(estimator, replace(joined, name=type(estimator).__name__))


def _read_models(models: Any) -> list[Model]:
    """Return what the models have learned; reject such that have no common mean."""
    if isinstance(models, Estimator) or not holds_others(models) or not len(models):
        raise ValueError(f"models={shown(models)}: give a list of fitted models of arboretum")
    learned = [_read_model(model, place) for place, model in enumerate(models)]
    for place, model in enumerate(learned):
        found = difference(learned[0], model) or _difference_of_notes(learned[0].notes, model.notes)
        if found is not None:
            raise ValueError(f"models[{place}] cannot be averaged with models[0]: it has {found}")
    return learned


def _read_model(model: Any, place: int) -> Model:
    if not isinstance(model, Estimator):
        raise TypeError(f"models[{place}] is a {type(model).__name__}: average joins the trees of models of arboretum")
    learned = model.learned()
    if not isinstance(learned, Model) or type(learned.head) not in AVERAGED:
        raise TypeError(
            f"models[{place}] is a {type(model).__name__}, whose predictions are not sums or means of leaf values "
            "alone: average its predictions"
        )
    return cast(Model, model.model_)  # with the policy of the parameters


def _read_weights(weights: Any, n_models: int) -> list[float]:
    """Return one weight per model."""
    if weights is None:
        return [1.0] * n_models
    if not holds_others(weights) or len(weights) != n_models:
        raise ValueError(f"weights={shown(weights)}: give one weight for each of the {n_models} models")
    found = list(weights)
    for place, weight in enumerate(found):
        is_number = isinstance(weight, numbers.Real) and not isinstance(weight, bool | np.bool_)
        if not is_number or not 0 <= weight < math.inf:
            raise ValueError(f"weights[{place}]={shown(weight)}: use a finite number of at least 0")
    if not any(found):
        raise ValueError("weights are all 0: give at least one model a weight above 0")
    return [float(weight) / float(max(found)) for weight in found]


def _difference_of_notes(one: Notes, other: Notes) -> str | None:
    if isinstance(one, BoostingNotes) and isinstance(other, BoostingNotes) and one.has_offset != other.has_offset:
        return "an offset" if other.has_offset else "no offset"
    return None


def _joined_notes(models: Sequence[Model], joined: Model) -> Notes:
    """Return what is known of all models together."""
    notes = [model.notes for model in models]
    first = notes[0]
    if isinstance(first, ForestNotes):
        return ForestNotes(first.seed, first.n_outputs, is_averaged=True)
    assert isinstance(first, BoostingNotes)
    per_round = math.gcd(*(one.trees_per_round for one in notes if isinstance(one, BoostingNotes)))
    n_rounds = joined.forest.n_trees // trees_of_round(joined.forest, per_round)
    return replace(
        first, n_rounds=n_rounds, trees_per_round=per_round, history=History(), checkpoint=None, is_averaged=True
    )


def _estimator_for(first: Any, joined: Model) -> Any:
    """Return an estimator with the class and parameters of the first model; for a single tree, a forest of such."""
    if not isinstance(first, DecisionTree):
        return first
    cls = RandomForestClassifier if first.estimator_type == "classifier" else RandomForestRegressor
    shared = {name: getattr(first, name) for name in parameters(cls) if name in parameters(type(first))}
    given = {name: value for name, value in shared.items() if value is not None}  # None is the default of a method
    return cls(**given, n_estimators=joined.forest.n_trees)
