"""Model files of estimators: which class wrote them, with which parameters, and what it has learned.

::

    estimator  ──to_file──►  header: class, parameters, facts, notes        ──► model/model_file.py ──► bytes
               ◄──restore──  arrays: of trees, of members (files in files; others' by consent, model/foreign.py)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

import arboretum
from arboretum import losses
from arboretum.ensembles.boosting.average_rounds import AverageRounds
from arboretum.ensembles.members.estimators import is_estimator, unfitted
from arboretum.estimators.classes import MODELS, own_class, parameters
from arboretum.losses import Loss
from arboretum.model import model_file
from arboretum.model.arrays import Arrays
from arboretum.model.foreign import KEY, Incoming, Outgoing, consent
from arboretum.model.members import is_ours
from arboretum.running.warning import warn_user

if TYPE_CHECKING:
    from arboretum.estimators.protocol import Estimator


def model_class(name: Any) -> type[Any]:
    """Return the class that a file names; those of the package are defined when they are first asked for."""
    if name in arboretum.__all__:
        getattr(arboretum, str(name))
    cls = MODELS[name]
    if "__init__" not in vars(cls):  # a base, without parameters
        raise KeyError(name)
    return cls


# Methods by which a subclass answers otherwise than the class that it derives from.
CHANGES_ANSWERS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples", "apply")


def call_to_json(model: Any, as_json: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    """Return what makes an unfitted model again: its class in this package, and the parameters of that.

    Estimators among the parameters are left out: a file holds them as the bases of its members.
    """
    cls, as_json = own_class(type(model)), plain if as_json is None else as_json
    return {"model": cls.__name__, "params": {name: as_json(getattr(model, name)) for name in sorted(parameters(cls))}}


def base_to_json(base: Any, foreign: Outgoing) -> dict[str, Any]:
    """Return what makes the base of members again, estimators among its own parameters too.

    Estimators of other libraries are handed over to ``foreign``, unfitted.
    """
    if not is_ours(base):
        return foreign.add_base(unfitted(base))

    def as_json(value: Any) -> Any:
        if is_estimator(value):
            return base_to_json(value, foreign)
        if isinstance(value, list | tuple) and any(is_estimator(item) or isinstance(item, tuple) for item in value):
            return [as_json(item) for item in value]
        return plain(value)

    return call_to_json(base, as_json)


def call_from_json(entry: dict[str, Any], foreign: Incoming | None = None) -> Any:
    """Undo ``base_to_json``; without ``foreign``, undo ``call_to_json``."""
    if foreign is not None and set(entry) == {KEY}:
        return foreign.read(entry[KEY])
    cls = model_class(entry["model"])
    return cls(**{name: from_plain(value, foreign) for name, value in entry["params"].items()})


def write(
    model: Any, path: str | os.PathLike[str] | BinaryIO, header: dict[str, Any], arrays: Arrays, *, compact: bool
) -> None:
    """Write a model file, with a warning if what it holds will answer otherwise than the model."""
    cls = own_class(type(model))
    foreign = type(model).__mro__[: type(model).__mro__.index(cls)]
    replaced = [name for base in foreign for name in vars(base) if name in CHANGES_ANSWERS and hasattr(cls, name)]
    if replaced:
        warn_user(
            f"{type(model).__name__} is written as {cls.__name__}, without its own {', '.join(replaced)}: the loaded "
            "model answers as that class does; pickle keeps the subclass"
        )
    model_file.save(path, header, arrays, compact=compact)


def plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it: a function by its name, None for callbacks and generators."""
    if isinstance(value, Loss):
        return value.to_json()
    if isinstance(value, AverageRounds):
        return {"average_rounds": dict(vars(value))}
    if callable(value) and not isinstance(value, type):
        return {"function": losses.qualified_name(value)}
    if value is None or isinstance(value, bool | str | int | float):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {"pairs": [[plain(key), plain(item)] for key, item in value.items()]}
    if isinstance(value, set | frozenset):
        return [plain(item) for item in sorted(value, key=repr)]
    if isinstance(value, list | tuple):
        return None if any(callable(item) for item in value) else [plain(item) for item in value]
    return None


def from_plain(value: Any, foreign: Incoming | None = None) -> Any:
    """Undo ``plain`` as far as it can be undone, and estimators of a base."""
    if isinstance(value, dict) and set(value) == {"pairs"}:
        return {key: from_plain(item) for key, item in value["pairs"]}
    if isinstance(value, dict) and set(value) == {"function"}:
        if not isinstance(value["function"], str):
            raise ValueError(f"the name of a function is {value['function']!r:.80}, not a text")
        return losses.UnsavedFunction(value["function"])
    if isinstance(value, dict) and set(value) == {"average_rounds"}:
        return AverageRounds(**value["average_rounds"])
    if isinstance(value, dict) and "name" in value:
        return losses.from_json(value)
    if isinstance(value, dict) and set(value) in ({"model", "params"}, {KEY}):
        return call_from_json(value, foreign)
    if isinstance(value, list):
        items = [from_plain(item, foreign) for item in value]
        is_named = len(items) == 2 and isinstance(items[0], str) and is_estimator(items[1])
        return (items[0], items[1]) if is_named else items
    return value


def load(
    path: str | os.PathLike[str] | BinaryIO, *, foreign: str | None = None, trusted: Sequence[str] = ()
) -> Estimator:
    """Read a model that ``save`` wrote.

    A model file holds no code, and nothing in it is run. Only the members of other libraries that
    ``save(path, foreign=...)`` has written are more than numbers: ``load`` rejects a file that holds some, and says
    which, unless ``foreign`` allows them.

    Parameters
    ----------
    path : path or binary file object
        The file; what was saved with ``compact=False`` is memory-mapped and shared between processes. A file object is
        read to its end.
    foreign : {"skops", "pickle"}, optional
        Read members of other libraries that were written in this form. ``"skops"`` makes objects of types that skops
        knows to be safe, such as estimators of scikit-learn, and of ``trusted`` types; it needs the extra
        ``arboretum[foreign]``. ``"pickle"`` can run any code that the file holds: use it only for files of people whom
        you trust. The value does not matter for a file without such members.
    trusted : sequence of str, default=()
        Names of further types that ``"skops"`` may make; the error of a load without them lists what a file needs.

    Returns
    -------
    estimator
        Of the class that was saved, fitted.

    Examples
    --------
    >>> import arboretum as arb, tempfile, pathlib
    >>> model = arb.BoostedTreesRegressor(n_estimators=3).fit([[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 3.0, 4.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "m.arb"
    ...     model.save(file)
    ...     arb.load(file).fingerprint() == model.fingerprint()
    True
    """
    with consent(foreign, trusted):
        return from_file(*model_file.load(path))


def fingerprint_of(model: Estimator) -> str | None:
    """Return the fingerprint of a model; None if a member is of another library, which has none."""
    try:
        return model.fingerprint()
    except TypeError:
        return None


def from_file(header: dict[str, Any], arrays: Arrays) -> Estimator:
    """Make the model that the content of a file describes."""
    name = header.get("model")
    try:
        cls = model_class(name)
    except (KeyError, TypeError):
        message = f"the file holds a model of kind {name!r}, which this arboretum does not know"
        raise model_file.ModelFileError(message) from None
    params = header.get("params")
    if not isinstance(params, dict) or not set(params) <= set(parameters(cls)):
        raise model_file.ModelFileError(f"damaged model file: parameters of {name} are not as expected")
    with model_file.as_damage():
        model: Estimator = call_from_json(header)
    model.restore(header, arrays)
    return model
