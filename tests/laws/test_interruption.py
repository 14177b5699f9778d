"""Ctrl-C ends every fit: with what was fitted and a warning, or with KeyboardInterrupt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.reference.every_estimator import CASES, answers

import arboretum as arb
from arboretum.ensembles.adaboost import rounds as adaboost
from arboretum.ensembles.additive import stages as additive
from arboretum.ensembles.bagging import trees as bagging
from arboretum.ensembles.boosting.rounds import BoostingRun

COMBINED = tuple(case.name for case in CASES if "estimators" in case.params)
WHOLE = {"CalibratedClassifier", "CheckpointAverage", "ConformalRegressor", "UpliftBoostedTrees", *COMBINED}
# Half of one is none.
BOOSTED = {"BaggingClassifier": arb.BoostedTreesClassifier, "BaggingRegressor": arb.BoostedTreesRegressor}
OF_TREES = ("RandomForest", "ExtraTrees", "RandomSurvival", "UpliftForest", "IsolationForest")


def interrupted_once(function: Callable[..., Any], call: int) -> Callable[..., Any]:
    """Return the function, whose call of this number is interrupted; the others, before and after, are not."""
    calls = []

    def wrapped(*given: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return function(*given, **named)

    return wrapped


def first_batch_alone(first_tree: int, n_trees: int, threads: int) -> Any:
    yield first_tree, 1
    raise KeyboardInterrupt


def no_batch(first_tree: int, n_trees: int, threads: int) -> Any:
    raise KeyboardInterrupt
    yield


LOOPS = [
    (BoostingRun, "advance", 8),
    (additive.AdditiveRun, "best_step", 3),
    *((trees, "fit", 3) for trees in (adaboost.BinaryTrees, adaboost.ImpurityTrees, adaboost.NumberTrees)),
]
ITERATIVE = pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.name.startswith(("AdaBoost", "Boosted", "Bagging", "Additive", *OF_TREES, *WHOLE))],
    ids=lambda case: case.name,
)


def settings_of(case: Any) -> dict[str, Any]:
    """Return parameters of a fit that is long enough to be interrupted."""
    if case.name in BOOSTED:
        return {"estimator": lambda: BOOSTED[case.name](n_estimators=5), "n_estimators": 6, "n_jobs": 1}
    if case.name in COMBINED:
        kind = {"classes": "Classifier", "grades": "Ranker", "numbers": "Regressor", "times": "Survival"}
        boosted = getattr(arb, f"BoostedTrees{kind[case.problem.__name__]}")
        return {"estimators": lambda: [("boosted", boosted(n_estimators=20))]}
    params = {"n_estimators": 20, "n_steps": 20, "early_stopping": False, "adjust": False}
    if case.name.startswith(("RandomForest", "ExtraTrees")):
        params |= {"max_features": 0.5, "min_samples_leaf": 1}  # trials of "auto" end with KeyboardInterrupt
    return {name: value for name, value in params.items() if name in case.make().get_params(deep=False)}


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt boosting in its eighth round, stages in their third, forests after their first tree."""
    for cls, step, call in LOOPS:
        monkeypatch.setattr(cls, step, interrupted_once(getattr(cls, step), call))
    monkeypatch.setattr(bagging, "batches", first_batch_alone)


@pytest.mark.usefixtures("interrupt")
@ITERATIVE
def test_every_fit_ends_at_once(case):
    """An inner fit kept its rounds, and the fit around it went on; isolation forests heard nothing before their end."""
    rows, params = case.problem(60), settings_of(case)
    if case.name in WHOLE:
        with pytest.raises(KeyboardInterrupt):
            case.fitted(rows, **params)
        return
    with pytest.warns(arb.InterruptedFit, match=r"fit was interrupted: the model keeps the \d+ "):
        model = case.fitted(rows, **params)
    assert len(answers(model, rows["X"])) == 60
    if case.name in BOOSTED:
        assert [member.n_iter_ for member in model.estimators_] == [5]  # the second was in its third round


@ITERATIVE
def test_a_fit_that_has_nothing_to_keep_is_interrupted(case, monkeypatch):
    for cls, step, _ in LOOPS:
        monkeypatch.setattr(cls, step, interrupted_once(getattr(cls, step), 1))
    monkeypatch.setattr(bagging, "batches", no_batch)
    with pytest.raises(KeyboardInterrupt):
        case.fitted(case.problem(60), **settings_of(case))
