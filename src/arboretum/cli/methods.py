"""Which estimators answer which task, by the names that a person types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from typing import Any

from arboretum.cli.errors import UsageError, nearest
from arboretum.estimators.classes import arguments
from arboretum.estimators.files import model_class
from arboretum.parameters.declaring import parameters_of
from arboretum.tasks import BINARY, REGRESSION, Task

# method:   of classes             of numbers              of other tasks
CLASSES: dict[str, dict[str, str]] = {
    "boosted": {
        "class": "BoostedTreesClassifier",
        "regression": "BoostedTreesRegressor",
        "ranking": "BoostedTreesRanker",
        "survival": "BoostedTreesSurvival",
        "uplift": "UpliftBoostedTrees",
    },
    "forest": {
        "class": "RandomForestClassifier",
        "regression": "RandomForestRegressor",
        "survival": "RandomSurvivalForest",
        "uplift": "UpliftForest",
    },
    "extra": {"class": "ExtraTreesClassifier", "regression": "ExtraTreesRegressor"},
    "adaboost": {"class": "AdaBoostClassifier", "regression": "AdaBoostRegressor"},
    "additive": {"class": "AdditiveBoostingClassifier", "regression": "AdditiveBoostingRegressor"},
    "bagging": {"class": "BaggingClassifier", "regression": "BaggingRegressor"},
    "tree": {"class": "DecisionTreeClassifier", "regression": "DecisionTreeRegressor"},
    "isolation": {"anomaly": "IsolationForest"},
}

# Combinations of --members, which are methods of the same task.
KINDS = {"class": "Classifier", "regression": "Regressor", "ranking": "Ranker", "survival": "Survival"}
COMBINED: dict[str, dict[str, str]] = {
    "stack": {family: f"Stacking{kind}" for family, kind in KINDS.items()},
    "blend": {family: f"Blending{KINDS[family]}" for family in ("class", "regression")},
    "vote": {family: f"Voting{KINDS[family]}" for family in ("class", "regression")},
}
LINEAR = "linear"  # a member: boosted trees with linear leaves

PRESETS = ("lightgbm", "xgboost", "catboost", "gbm")
SHORT_NAMES = {"lgbm": "lightgbm", "lgb": "lightgbm", "xgb": "xgboost", "cat": "catboost", "sklearn": "gbm"}

# Fits that read codes of values, never all values at once, so that rows may stay in their files.
STREAMED = {
    "boosted": ("class", "regression"),
    "forest": ("class", "regression", "uplift"),
    "extra": ("class", "regression"),
}
ON_CLUSTERS = ("class", "regression", "anomaly")  # whose targets are columns of their own


def methods(task: Task) -> list[str]:
    """Return the methods that suit a task.

    Examples
    --------
    >>> from arboretum.tasks import SURVIVAL
    >>> methods(SURVIVAL)
    ['boosted', 'forest']
    """
    return [name for name, classes in CLASSES.items() if task.family in classes]


def preset_methods(task: Task) -> list[str]:
    """Return boosting with the presets of other libraries, if the task has them; the libraries do not run.

    Examples
    --------
    >>> from arboretum.tasks import RANKING
    >>> preset_methods(RANKING)
    ['boosted:lightgbm', 'boosted:xgboost', 'boosted:catboost', 'boosted:gbm']
    """
    has_presets = task.has_row_losses or task.role == "group"
    return [f"boosted:{name}" for name in PRESETS] if has_presets else []


def make(method: str, task: Task, *, settings: dict[str, Any] | None = None, members: str | None = None) -> Any:
    """Make an estimator; "auto" is boosting where the task has it, "boosted:NAME" boosting with a preset.

    ``members`` names what a combination combines, separated by commas.

    Examples
    --------
    >>> make("vote", REGRESSION, members="tree,linear").estimators
    [('tree', DecisionTreeRegressor()), ('linear', BoostedTreesRegressor(leaf_model='linear'))]
    >>> make("auto", REGRESSION, settings={"n_estimators": 50})
    BoostedTreesRegressor(n_estimators=50)
    >>> make("boosted:lightgbm", REGRESSION).max_leaf_nodes
    31
    """
    method, preset = _suitable(method, task)
    cls = model_class({**CLASSES, **COMBINED}[method][task.family])
    if members is not None and method not in COMBINED:
        raise UsageError(f"--members: --model {method} has none; use --model {' or '.join(COMBINED)}")
    if preset and not hasattr(cls, "preset"):
        raise UsageError(f"--model {method}:{preset}: presets belong to boosted trees; write --model {method}")
    inner = {name: text for name, text in (settings or {}).items() if method in COMBINED and "__" in name}
    values = read_settings(cls, {name: text for name, text in (settings or {}).items() if name not in inner})
    if members is not None:
        values["estimators"] = make_members(members, task)
    try:
        model = cls.preset(preset, **values) if preset else cls(**values)
        for name, text in inner.items():
            own, _, parameter = name.partition("__")
            kind = type(model.named_members().get(own))
            model.set_params(**{name: read_settings(kind, {parameter: text})[parameter]})
        model.check_parameters()
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from None
    return model


def make_members(names: str, task: Task) -> list[tuple[str, Any]]:
    """Make the members that a text names: methods of the task, or "linear"."""
    given = [name.strip() for name in names.split(",") if name.strip()]
    if not given:
        raise UsageError(f"--members {names}: name at least one of {', '.join([*methods(task), LINEAR])}")
    for name in given:
        if given.count(name) > 1:
            raise UsageError(f"--members {names}: {name} is named {given.count(name)} times")
        if name.partition(":")[0] in COMBINED:
            raise UsageError(f"--members {names}: {name} is a combination itself; name methods such as boosted,forest")
        if name.partition(":")[0] not in (able := [*methods(task), LINEAR]):
            raise UsageError(f"--members {names}: {name}: {nearest(name, able)}")
    made = [make("boosted", task, settings={"leaf_model": "linear"}) if n == LINEAR else make(n, task) for n in given]
    return [(name.replace(":", " "), model) for name, model in zip(given, made, strict=True)]


def _suitable(method: str, task: Task) -> tuple[str, str]:
    """Return a method that suits a task, and the name of a preset, if there is one."""
    name, colon, preset = method.partition(":")
    suitable = methods(task)
    name = suitable[0] if name == "auto" else name
    every = {**CLASSES, **COMBINED}
    if name not in every:
        raise UsageError(f"--model {method}: {_preset_hint(name, likeness=0.8) or nearest(name, every)}")
    if colon and preset not in PRESETS:
        known = ", ".join(f"boosted:{known}" for known in PRESETS)
        raise UsageError(f"--model {method}: {_preset_hint(preset, likeness=0.6) or f'there are {known}'}")
    if name not in suitable and task.family not in COMBINED.get(name, {}):
        raise UsageError(f"--model {name} cannot do {task.name}: {', '.join(suitable)} can")
    return name, preset


def _preset_hint(text: str, *, likeness: float) -> str | None:
    near = get_close_matches(SHORT_NAMES.get(text.lower(), text.lower()), PRESETS, n=1, cutoff=likeness)
    return f"did you mean 'boosted:{near[0]}'?" if near else None


def check_streams(method: str, task: Task) -> None:
    """Reject a method that would read all rows into memory.

    Examples
    --------
    >>> check_streams("auto", REGRESSION)
    >>> check_streams("boosted:lightgbm", BINARY)
    """
    method, _ = _suitable(method, task)
    able = [name for name, families in STREAMED.items() if task.family in families]
    cure = f"choose {', '.join(able)}, or leave the option out" if able else "leave the option out"
    if method not in able:
        raise UsageError(f"--memory-limit: --model {method} of {task.name} needs all rows in memory; {cure}")


def check_on_cluster(method: str, task: Task | None = None) -> None:
    """Reject a method that is fitted on one machine; one that no task has on a cluster before the task is known.

    Examples
    --------
    >>> check_on_cluster("auto")
    >>> check_on_cluster("boosted:lightgbm", BINARY)
    """
    able = []
    for name, classes in CLASSES.items():
        families = [family for family in ON_CLUSTERS if family in classes and (task is None or family == task.family)]
        suited = [classes[family] for family in families]
        able += [name] if any(model_class(one).fits_on_cluster for one in suited) else []
    if task is not None:
        method, _ = _suitable(method, task)
    if method.partition(":")[0] not in (*able, "auto"):
        of_task = "" if task is None else f" of {task.name}"
        cure = f"choose {', '.join(able)}, or leave the option out" if able else "leave the option out"
        raise UsageError(f"--cluster: --model {method}{of_task} is fitted on one machine; {cure}")


def takes_offset(method: str, task: Task) -> bool:
    """Whether a method starts its predictions from offsets.

    Examples
    --------
    >>> takes_offset("boosted:lightgbm", REGRESSION), takes_offset("forest", REGRESSION)
    (True, False)
    """
    cls = model_class({**CLASSES, **COMBINED}[_suitable(method, task)[0]][task.family])
    return "offset" in arguments(cls.fit)


def check_offset(method: str, task: Task) -> None:
    """Reject a method that takes no offsets."""
    others = [name for name in methods(task) if takes_offset(name, task)]
    if not others:
        raise UsageError(f"--offset: no method of {task.name} takes one; leave the option out")
    if not takes_offset(method, task):
        raise UsageError(f"--offset: --model {method} takes none; use --model {' or '.join(others)}")


def training_bytes(method: str, n_rows: int, n_columns: int, *, settings: dict[str, Any]) -> int:
    """Return the least memory that a method needs to learn from this many rows, before their target is known."""
    for task in (REGRESSION, BINARY):  # settings may suit only one of them
        with suppress(UsageError):
            return int(make(method, task, settings=settings).training_bytes(n_rows, n_columns))
    return 0


@contextmanager
def setting_errors(settings: Mapping[str, Any]) -> Iterator[None]:
    """Turn errors of a fit that name a setting into usage errors: some settings can only be checked with the rows.

    Examples
    --------
    >>> with setting_errors({"n_jobs": 0}):
    ...     raise ValueError("n_jobs=0: use None or a number of threads")
    Traceback (most recent call last):
        ...
    arboretum.cli.errors.UsageError: n_jobs=0: use None or a number of threads
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        if any(re.search(rf"\b{name}\b", str(error)) for name in settings):
            raise UsageError(str(error)) from error
        raise


def parse_settings(given: Iterable[str]) -> dict[str, Any]:
    """Split options of the form ``name=value``.

    Examples
    --------
    >>> parse_settings(["max_depth=3", "growth=level"])
    {'max_depth': '3', 'growth': 'level'}
    """
    found = {item: item.partition("=") for item in given}
    for item, (name, equals, _) in found.items():
        if not equals or not name.isidentifier():
            raise UsageError(f"--set {item}: expected name=value, as in --set max_depth=3")
    return {name: text for name, _, text in found.values()}


def read_settings(cls: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Read texts as values of the parameters of a class; other values, and unknown names, stay as they are.

    Examples
    --------
    >>> import arboretum as arb
    >>> given = {"n_estimators": "1e3", "growth": "level", "monotonic_cst": "{'size': 1}", "refit": "true", "l2": 2.0}
    >>> read_settings(arb.BoostedTreesRegressor, given)
    {'n_estimators': 1000, 'growth': 'level', 'monotonic_cst': {'size': 1}, 'refit': True, 'l2': 2.0}
    """
    known = parameters_of(cls)
    return {
        name: known[name].allowed.read(value) if name in known and isinstance(value, str) else value
        for name, value in settings.items()
    }
