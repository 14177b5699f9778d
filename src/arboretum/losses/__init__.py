"""Losses: one NumPy class each. ``base.py`` tells the life of a loss; ``LOSSES`` is the one registry."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any

from arboretum.arguments import shown
from arboretum.losses.base import LeafRows, Loss, PredictOnly, Task
from arboretum.losses.classification import Logistic, Multinomial, log_loss
from arboretum.losses.each_output import EachOutput
from arboretum.losses.function import FunctionLoss, GradientFunction, UnsavedFunction, qualified_name
from arboretum.losses.ordinal import Ordinal
from arboretum.losses.quantiles import Quantile, Quantiles, quantile_loss
from arboretum.losses.ranking import LambdaMart, Listwise, Pairwise, YetiRank
from arboretum.losses.regression import AbsoluteError, Gamma, Huber, Poisson, SquaredError, Tweedie
from arboretum.losses.survival import AcceleratedFailure, Cox
from arboretum.other_libraries import VALUES, advice

__all__ = [
    "LOSSES",
    "SURVIVAL_LOSSES",
    "AbsoluteError",
    "AcceleratedFailure",
    "Cox",
    "EachOutput",
    "FunctionLoss",
    "Gamma",
    "GradientFunction",
    "Huber",
    "LambdaMart",
    "LeafRows",
    "Listwise",
    "Logistic",
    "Loss",
    "Multinomial",
    "Ordinal",
    "Pairwise",
    "Poisson",
    "PredictOnly",
    "Quantile",
    "Quantiles",
    "SquaredError",
    "Tweedie",
    "UnsavedFunction",
    "YetiRank",
    "from_json",
    "qualified_name",
    "resolve",
]

LOSSES: dict[str, Callable[..., Loss]] = {
    "squared_error": SquaredError,
    "absolute_error": AbsoluteError,
    "quantile": quantile_loss,
    "huber": Huber,
    "poisson": Poisson,
    "gamma": Gamma,
    "tweedie": Tweedie,
    "log_loss": log_loss,
    "lambdamart": LambdaMart,
    "pairwise": Pairwise,
    "listwise": Listwise,
    "yetirank": YetiRank,
    "ordinal": Ordinal,
}
# Apart, because their targets are bounds of times.
SURVIVAL_LOSSES: dict[str, Callable[..., Loss]] = {"cox": Cox, "aft": AcceleratedFailure}
_CLASS_OF: dict[Task, str] = {
    "regression": "BoostedTreesRegressor",
    "classification": "BoostedTreesClassifier",
    "ranking": "BoostedTreesRanker",
    "survival": "BoostedTreesSurvival",
}


def resolve(
    loss: str | Loss | GradientFunction,
    *,
    n_classes: int | None = None,
    task: Task = "regression",
    **parameters: Any,
) -> Loss:
    """Turn what a user gave as ``loss`` into a Loss that fits the task.

    Parameters
    ----------
    loss : str, Loss or callable
        A name in ``LOSSES`` or ``SURVIVAL_LOSSES``, an object, or a function of (y, raw) that returns gradients and
        hessians.
    n_classes : int, optional
        Number of classes of a classifier.
    task : {"regression", "ranking", "survival"}
        What is done without classes.
    **parameters : float or str, optional
        Parameters of a named loss, such as ``quantile`` or ``power``; None means its default.

    Examples
    --------
    >>> resolve("quantile", quantile=0.9)
    Quantile(quantile=0.9)
    >>> resolve("log_loss", n_classes=3)
    Multinomial(n_outputs=3)
    >>> resolve("poison")
    Traceback (most recent call last):
        ...
    ValueError: unknown loss 'poison': did you mean 'poisson'? Known: squared_error, absolute_error, ...
    """
    if n_classes is not None and n_classes < 2:
        raise ValueError(f"y has {n_classes} class: a classifier needs at least 2")
    given = {name: value for name, value in parameters.items() if value is not None}
    if isinstance(loss, Loss):
        if given:
            raise ValueError(f"{', '.join(given)} given beside the loss object {loss!r}: set it on the object")
        resolved = loss
    elif isinstance(loss, str):
        _refuse_unknown(loss, _names_of(task if n_classes is None else "classification"))
        resolved = _from_name(loss, n_classes, given)
    elif callable(loss) and not isinstance(loss, type):
        resolved = _from_function(loss, n_classes, task, given)
    else:
        hint = f"; write {loss.__name__}()" if isinstance(loss, type) and issubclass(loss, Loss) else ""
        raise TypeError(f"loss={shown(loss)} must be a name, a Loss object or a function of (y, raw){hint}")
    _check_task(resolved, n_classes, task)
    return resolved


def from_json(entry: dict[str, Any]) -> Loss:
    """Build the loss that ``Loss.to_json`` described.

    Examples
    --------
    >>> from_json({"name": "tweedie", "power": 1.2})
    Tweedie(power=1.2)
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise ValueError(f"loss={shown(entry)} in a model file is invalid: expected an object with a string 'name'")
    parameters = {**entry}
    name = parameters.pop("name")
    try:
        if name == "custom":
            return PredictOnly(class_name=parameters.pop("class"), **parameters)
        if name == EachOutput.name:
            return EachOutput.of(from_json(parameters.pop("loss")), **parameters)
        return _build(name, parameters)
    except (AttributeError, KeyError, TypeError) as error:
        reason = f"there is no {error}" if isinstance(error, KeyError) else error
        raise ValueError(f"loss={shown(entry)} in a model file is invalid: {reason}") from error


def _from_name(name: str, n_classes: int | None, parameters: dict[str, Any]) -> Loss:
    loss = _build(name, parameters)
    if n_classes is None or loss.task != "classification":
        return loss
    size = {"n_classes": n_classes} if isinstance(loss, Ordinal) else {"n_outputs": _outputs(n_classes)}
    return _build(name, {**parameters, **size})


def _from_function(function: GradientFunction, n_classes: int | None, task: Task, given: dict[str, Any]) -> Loss:
    if given:
        raise ValueError(f"{', '.join(given)} given beside a function as loss: pass it to the function yourself")
    if task == "ranking":
        raise ValueError(
            f"loss={function!r}: a function of (y, raw) cannot tell queries apart; derive a class from "
            "arboretum.losses.Loss, whose of_queries receives them"
        )
    return (
        FunctionLoss(function, task)
        if n_classes is None
        else FunctionLoss(function, "classification", _outputs(n_classes))
    )


def _build(name: str, parameters: dict[str, Any]) -> Loss:
    known = {**LOSSES, **SURVIVAL_LOSSES}
    _refuse_unknown(name, list(known))
    accepted = inspect.signature(known[name]).parameters
    for parameter in parameters:
        if parameter not in accepted:
            raise ValueError(f"loss={name!r} has no parameter {parameter!r}")
    return known[name](**parameters)


def _names_of(task: Task) -> list[str]:
    return [name for name, build in {**LOSSES, **SURVIVAL_LOSSES}.items() if build().task == task]


def _refuse_unknown(name: str, fitting: list[str]) -> None:
    """Reject a name that no loss has, and say what fits instead."""
    known = {**LOSSES, **SURVIVAL_LOSSES}
    if name in known:
        return
    told = advice(VALUES, name, fitting, owner="loss")
    near = difflib.get_close_matches(name, fitting, n=1) or difflib.get_close_matches(name, known, n=1)
    hint = f"{told}. " if told else ""
    if near and not told:
        of_others = "" if near[0] in fitting else f" of {_CLASS_OF[known[near[0]]().task]}"
        hint = f"did you mean {near[0]!r}{of_others}? "
    raise ValueError(f"unknown loss {name!r}: {hint}Known: {', '.join(fitting)}")


def _outputs(n_classes: int) -> int:
    return 1 if n_classes == 2 else n_classes


def _check_task(loss: Loss, n_classes: int | None, task: Task) -> None:
    task = task if n_classes is None else "classification"
    if loss.task != task:
        raise ValueError(
            f"loss {loss.name!r} is for {loss.task}, not {task}: use one of {', '.join(_names_of(task))}, or "
            f"{_CLASS_OF[loss.task]}"
        )
    if isinstance(loss, Ordinal):
        if loss.n_classes != n_classes:
            raise ValueError(f"loss {loss!r} has n_classes={loss.n_classes}, but y has {n_classes} classes")
    elif n_classes is not None and loss.n_outputs != _outputs(n_classes):
        raise ValueError(
            f"loss {loss!r} has n_outputs={loss.n_outputs}, "
            f"but {n_classes} classes need n_outputs={_outputs(n_classes)}"
        )
