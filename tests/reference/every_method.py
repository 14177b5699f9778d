"""Every public method of a fitted model, and the arguments that its users give it."""

from __future__ import annotations

import inspect
from typing import Any

# Methods of scikit-learn's protocol, and those that train.
APART = {"fit", "fit_more", "fit_predict", "preset", "get_params", "set_params", "get_metadata_routing"}
# What modules of the package ask of each other's estimators: how they are fitted, shared and restored.
INNER = {"base", "expect_missing", "fit_shared", "goal", "held_out", "learned", "predict_table", "recipe", "restore"}
INNER |= {"members", "named_members", "share_table", "to_file"}


def public_names(model: Any) -> list[str]:
    """Methods and properties of the class, but for parameters and those that the fit does not call for."""
    names = [name for name in dir(type(model)) if not name.startswith("_") and name not in APART | INNER]
    names = [name for name in names if name not in model.get_params() and not name.endswith("_request")]
    return [name for name in names if _is_member(model, name)]


def _is_member(model: Any, name: str) -> bool:
    member = inspect.getattr_static(type(model), name)
    if isinstance(member, property):
        return name not in ("encoding_", "feature_names_in_") or getattr(model, name, None) is not None
    return callable(getattr(type(model), name)) and not isinstance(member, type)


def arguments_of(method: Any, rows: dict[str, Any], path: Any) -> dict[str, Any]:
    """Return what a method needs to answer, by name."""
    given = dict(rows)
    X, y = given.pop("X"), given.pop("y", None)
    name, parameters = method.__name__, inspect.signature(method).parameters
    usual = {
        "against_control": {"X": X, "y": y, "treatment": given.get("treatment")},
        "averaged_rounds": {"average_rounds": 2},
        "cost_complexity_pruning_path": {"X": X, "y": y},
        "explain": {"X": X[:4]},
        "first_rounds": {"n_rounds": 1},
        "importances": {"X": X, "y": y, **given, "n_repeats": 2},
        "influence": {"X": X[:4], "X_train": X, "y_train": y},
        "interaction_strength": {"X": X, "features": [0, 1]},
        "oob_permutation_importance": {"X": X, "y": y},
        "predict_quantiles": {"X": X, "q": [0.5]},
        "report": {"X": X, "y": y, "path": f"{path}.html", **given, "max_rows": 20},
        "save": {"path": path},
        "score": {"X": X, "y": y, **given},
        "snapshots": {"rounds": [1]},
        "staged_score": {"X": X, "y": y},
        "training_bytes": {"n_rows": 1000, "n_features": 5},
    }
    if name in usual:
        return usual[name]
    if name in ("partial_dependence", "ice", "accumulated_effects"):
        return {"X": X, "features": 0}
    return {"X": X} if "X" in parameters else {}


def answer(method: Any, **arguments: Any) -> Any:
    """Call a method; a generator is run to its end."""
    found = method(**arguments)
    return list(found) if inspect.isgenerator(found) else found
