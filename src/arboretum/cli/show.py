"""``arboretum show``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from arboretum.cli import options
from arboretum.cli.command import command
from arboretum.cli.terminal import Terminal

if TYPE_CHECKING:
    from arboretum.cli.files import ModelFile


@command
def show(
    terminal: Terminal,
    model: options.Model,
    tree: Annotated[int | None, typer.Option("--tree", metavar="NUMBER", min=0, help="Show this tree as text.")] = None,
    depth: Annotated[
        int, typer.Option("--depth", metavar="NUMBER", min=0, help="Leave deeper nodes of the tree out.")
    ] = 4,
) -> None:
    """Show what a model file holds: facts, columns, and a tree as text."""
    from arboretum.cli.files import ModelFile

    file = ModelFile.load(model)
    found = facts(file)
    terminal.table(str(model), ["", "value"], [[name, str(value)] for name, value in found.items()])
    terminal.table("columns", ["column", "kind"], list(file.kinds.items()))
    terminal.result |= {**found, "columns": file.kinds}
    if tree is not None:
        terminal.result["tree"] = tree_text(file.model, tree, depth)
        terminal.text(terminal.result["tree"])


def facts(file: ModelFile) -> dict[str, Any]:
    """Gather what there is to say about a model."""
    forest = forest_of(file.model)
    found = {
        "model": repr(file.model),
        "task": file.task.name,
        "target": file.roles.target,
        "positive": file.roles.positive,
        "offset": ", ".join(file.roles.offset) or None,
        "classes": file.classes or None,
        "trees": None if forest is None else forest.n_trees,
        "nodes": None if forest is None else len(forest.kind),
        "fingerprint": file.model.fingerprint(),
    }
    return {name: value for name, value in found.items() if value is not None}


def forest_of(model: Any) -> Any:
    """Return the trees of a model; None of one that is not a forest, or has many branches per node."""
    from arboretum.explaining.by_predictions import has_own_trees

    return model.model_.forest if has_own_trees(model) else None


def tree_text(model: Any, tree: int, depth: int | None) -> str:
    """Return a tree as text; reject a number that no tree has."""
    from arboretum.cli.errors import ModelError, UsageError
    from arboretum.estimators.classes import arguments

    forest = forest_of(model)
    if forest is None:
        raise ModelError(f"{type(model).__name__} is not a forest of its own: its trees cannot be shown one by one")
    if tree >= forest.n_trees:
        raise UsageError(f"--tree {tree}: the model has trees 0 to {forest.n_trees - 1}")
    which = {"tree": tree} if "tree" in arguments(type(model).to_text) else {}
    return str(model.to_text(**which, max_depth=depth))
