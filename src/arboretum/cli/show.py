"""``arboretum show``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from arboretum.cli import options
from arboretum.cli.terminal import session

if TYPE_CHECKING:
    from arboretum.cli.columns import Roles


def show(
    model: options.Model,
    tree: Annotated[int | None, typer.Option("--tree", metavar="NUMBER", min=0, help="Show this tree as text.")] = None,
    depth: Annotated[
        int, typer.Option("--depth", metavar="NUMBER", min=0, help="Leave deeper nodes of the tree out.")
    ] = 4,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    traceback: options.Traceback = False,
) -> None:
    """Show what a model file holds: facts, columns, and a tree as text."""
    with session(as_json=as_json, quiet=quiet, traceback=traceback) as terminal:
        from arboretum.cli.columns import kinds_of_model
        from arboretum.cli.files import load_model

        fitted, roles = load_model(model)
        found = facts(fitted, roles)
        terminal.table(str(model), ["", "value"], [[name, str(value)] for name, value in found.items()])
        kinds = {**kinds_of_model(fitted), **roles.kinds}
        terminal.table("columns", ["column", "kind"], [[name, kind] for name, kind in kinds.items()])
        terminal.result |= {**found, "columns": kinds}
        if tree is not None:
            text = tree_text(fitted, tree, depth)
            terminal.text(text)
            terminal.result["tree"] = text


def facts(model: Any, roles: Roles) -> dict[str, Any]:
    """Gather what there is to say about a model."""
    from arboretum.cli.files import task_of

    forest = getattr(model, "forest_", None)
    found = {
        "model": repr(model),
        "task": task_of(model, roles).name,
        "target": roles.target,
        "positive": roles.positive,
        "offset": ", ".join(roles.offset) or None,
        "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
        "trees": None if forest is None else len(forest.tree_start) - 1,
        "nodes": None if forest is None else len(forest.kind),
        "fingerprint": model.fingerprint(),
    }
    return {name: value for name, value in found.items() if value is not None}


def tree_text(model: Any, tree: int, depth: int | None) -> str:
    """Return a tree as text, or a failure if there is none of that number."""
    from arboretum.cli.errors import ModelError, UsageError
    from arboretum.estimators.decision_trees import DecisionTree

    if not hasattr(model, "to_text") or not hasattr(model, "forest_"):
        raise ModelError(f"{type(model).__name__} is made of several models: its trees cannot be shown one by one")
    n_trees = len(model.forest_.tree_start) - 1
    if tree >= n_trees:
        raise UsageError(f"--tree {tree}: the model has trees 0 to {n_trees - 1}")
    which = () if isinstance(model, DecisionTree) else (tree,)
    return str(model.to_text(*which, max_depth=depth))
