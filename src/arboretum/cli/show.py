"""``arboretum show``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arboretum.cli import options
from arboretum.cli.command import command
from arboretum.cli.terminal import Terminal

if TYPE_CHECKING:
    from arboretum.cli.files import ModelFile
    from arboretum.model.foreign import Incoming


@command
def show(
    terminal: Terminal,
    model: options.Model,
    consent: options.Consent,
    tree: Annotated[int | None, typer.Option("--tree", metavar="NUMBER", min=0, help="Show this tree as text.")] = None,
    depth: Annotated[
        int, typer.Option("--depth", metavar="NUMBER", min=0, help="Leave deeper nodes of the tree out.")
    ] = 4,
) -> None:
    """Show what a model file holds: facts, columns, and a tree as text.

    Estimators of other libraries are read only with --foreign; without it, the command lists their classes.
    """
    from arboretum.cli.files import ModelFile, read_content
    from arboretum.model.foreign import Incoming
    from arboretum.model.model_file import as_damage

    header, arrays = read_content(model)
    with as_damage():
        held = Incoming.of(header, arrays)
    if held.classes and consent.foreign is None and tree is None:
        show_unread(terminal, model, header, held)
        return
    file = ModelFile.of(model, header, arrays, consent)
    found = facts(file)
    terminal.table(str(model), ["", "value"], [[name, str(value)] for name, value in found.items()])
    terminal.table("columns", ["column", "kind"], list(file.kinds.items()))
    terminal.result |= {**found, "columns": file.kinds}
    if tree is not None:
        terminal.result["tree"] = tree_text(file.model, tree, depth)
        terminal.text(terminal.result["tree"])


def facts(file: ModelFile) -> dict[str, Any]:
    """Gather what there is to say about a model."""
    from arboretum.estimators.files import fingerprint_of

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
        "fingerprint": fingerprint_of(file.model),
    }
    return {name: value for name, value in found.items() if value is not None}


def show_unread(terminal: Terminal, path: Path, header: dict[str, Any], held: Incoming) -> None:
    """Show what the header tells of a model with estimators of other libraries."""
    from arboretum.cli.files import read_roles

    roles = read_roles(path, header)
    known = {"model": header["model"], "task": roles.task, "target": roles.target, "foreign": held.form}
    found = {name: value for name, value in known.items() if value is not None}
    terminal.table(str(path), ["", "value"], [[name, str(value)] for name, value in found.items()])
    terminal.table("estimators of other libraries", ["array", "class"], list(held.classes.items()))
    terminal.remark(f"these estimators were not read: --foreign {held.form} reads them, if you trust the file")
    terminal.result |= {**found, "classes": dict(held.classes)}


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
