"""Questions to an estimator of any library: a copy, seeds, what it predicts, whether it takes weights.

scikit-learn is imported only for estimators of other libraries, which have imported it already.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from arboretum import _kernel
from arboretum.arguments import shown
from arboretum.model.members import is_ours

Item = TypeVar("Item")

MEMBER_PURPOSE = 0x6D656D626572  # "member": keeps the seeds of members apart from all other draws


def require_estimator(base: Any) -> None:
    """Reject an object that cannot be fitted or cannot predict.

    Examples
    --------
    >>> require_estimator("tree")
    Traceback (most recent call last):
        ...
    ValueError: estimator='tree': use an estimator object, with fit, predict and get_params
    """
    for method in ("fit", "predict", "get_params"):
        if isinstance(base, type) or not hasattr(base, method):
            raise ValueError(f"estimator={shown(base)}: use an estimator object, with fit, predict and get_params")


def unfitted(base: Any) -> Any:
    """Return an unfitted copy; estimators among its parameters are copied too."""
    if is_ours(base):
        return type(base)(**{name: _unfitted_parts(value) for name, value in base.get_params(deep=False).items()})
    from sklearn.base import clone

    return clone(base)


def _unfitted_parts(value: Any) -> Any:
    """Return a parameter with copies of the estimators in it: members that shared one would share its seed."""
    if isinstance(value, list | tuple) and any(isinstance(item, tuple) or is_estimator(item) for item in value):
        return type(value)(_unfitted_parts(item) for item in value)
    return unfitted(value) if is_estimator(value) else value


def is_estimator(value: Any) -> bool:
    """Whether a value is an estimator of any library, and not a class."""
    return hasattr(value, "get_params") and not isinstance(value, type)


def has_columns(model: Any, n_columns: int | None) -> bool:
    """Whether a fitted model has this many columns, as far as it tells; others than ours need not.

    Examples
    --------
    >>> has_columns(object(), 3)
    True
    """
    found = getattr(model, "n_features_in_", None)
    return found is None or n_columns is None or bool(found == n_columns)


def seeded(model: Any, seed: int) -> Any:
    """Give every ``random_state`` of a model, and of the estimators inside it, a seed of its own."""
    names = [name for name in sorted(model.get_params()) if name.rpartition("__")[2] == "random_state"]
    seeds = {name: _kernel.draw(seed, place, 0) & 0x7FFFFFFF for place, name in enumerate(names)}
    return model.set_params(**seeds) if seeds else model


def new_member(base: Any, seed: int, member: int) -> Any:
    """Return an unfitted copy with seeds of its own."""
    return seeded(unfitted(base), _kernel.draw(seed, MEMBER_PURPOSE, member))


def is_classifier(model: Any) -> bool:
    """Whether a model predicts classes."""
    if is_ours(model):
        return bool(model.estimator_type == "classifier")
    import sklearn.base

    return bool(sklearn.base.is_classifier(model))


def is_regressor(model: Any) -> bool:
    """Whether a model predicts numbers."""
    if is_ours(model):
        return bool(model.estimator_type == "regressor")
    import sklearn.base

    return bool(sklearn.base.is_regressor(model))


def shares(base: Any) -> bool:
    """Whether members can share one table that is read and cut once."""
    return hasattr(type(base), "fit_shared")


def takes_weights(base: Any) -> bool:
    """Whether ``fit`` has an argument ``sample_weight``."""
    return "sample_weight" in inspect.signature(base.fit).parameters


def takes_outputs(base: Any) -> bool:
    """Whether ``fit`` takes targets of several outputs, by scikit-learn's tags; False if there are none."""
    if not hasattr(base, "__sklearn_tags__"):
        return False
    from sklearn.utils import get_tags

    return bool(get_tags(base).target_tags.multi_output)


def weight_argument(estimator: Any) -> str | None:
    """Return the name of the weights in ``fit``; a pipeline passes them to its last step under the name of that step.

    With scikit-learn's metadata routing, a pipeline rejects that name, and weights that no step has asked for.
    """
    if takes_weights(estimator):
        return "sample_weight"
    steps = getattr(estimator, "steps", None)
    if not steps or not hasattr(steps[-1][1], "fit") or not takes_weights(steps[-1][1]):
        return None
    from sklearn import get_config

    return "sample_weight" if get_config()["enable_metadata_routing"] else f"{steps[-1][0]}__sample_weight"


def run_beside(function: Callable[[int], Item], items: Iterable[int], beside: int, *, ours: bool) -> Iterator[Item]:
    """Call a function for each item, in ``beside`` threads; return the results in order."""
    if beside == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(beside) as pool:
        yield from pool.map(function if ours else _configured(function), items)


def _configured(function: Callable[[int], Item]) -> Callable[[int], Item]:
    """Pass scikit-learn's configuration, which is local to each thread, to the thread of the call."""
    from sklearn import config_context, get_config

    config = get_config()

    def call(item: int) -> Item:
        with config_context(**config):
            return function(item)

    return call
