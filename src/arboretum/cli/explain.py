"""``arboretum explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from arboretum.cli import options
from arboretum.cli.command import command
from arboretum.cli.terminal import Terminal

if TYPE_CHECKING:
    from arboretum.cli.columns import Examples
    from arboretum.cli.files import ModelFile

SHOWN_KINDS = ("gain", "permutation", "shap", "nodes")


@command
def explain(
    terminal: Terminal,
    model: options.Model,
    columns: options.Columns,
    data: options.Reading,
    consent: options.Consent,
    rows: Annotated[int, options.named("--rows", "NUMBER", "How many rows to show.", min=1)] = 3,
    features: Annotated[int, options.named("--features", "NUMBER", "How many columns to show.", min=1)] = 15,
) -> None:
    """Say which columns matter to a model, and what each adds to the predictions of the first rows of DATA (SHAP).

    A model of models, such as one of --model bagging, has no contributions by row: its columns are compared by
    permutation, if DATA has the target.
    """
    from arboretum.cli import opening
    from arboretum.explaining.importances import sums_trees

    file, read = opening.open_model(terminal, model, data, columns, consent, needs_target=False)
    show_importances(terminal, file, read, features)
    if sums_trees(file.model):
        show_rows(terminal, file, read, rows, features)
        return
    permutation = (
        "give --target COLUMN to compare columns by permutation"
        if read.y is None
        else "permutation tells how much worse the model is without each column"
    )
    terminal.result |= {"contributions": []}
    terminal.text(
        f"no contributions by row: predictions of {file.name} are not sums of trees, which SHAP values split; "
        f"{permutation}, or explain a model of train --model boosted, forest, extra or tree"
    )


def show_importances(terminal: Terminal, file: ModelFile, rows: Examples, limit: int) -> None:
    """Print the importances of a model, the columns that matter most first."""
    from arboretum.metrics.own_loss import negative_own_loss

    # Accuracy does not see most effects: the loss that the model was trained for does.
    scoring = {"scoring": negative_own_loss} if file.task.has_row_losses else {}
    asked = () if rows.y is None else (rows.X, rows.target)
    found = file.model.importances(*asked, **({**scoring, **rows.fit_arguments(file.model)} if asked else {}))
    kinds = [kind for kind in SHOWN_KINDS if kind in found.kinds] or list(found.kinds)[:4]
    order = sorted(range(len(found.feature_names)), key=lambda j: -found.kinds[kinds[0]][j])[:limit]
    lines = [[found.feature_names[j], *(float(found.kinds[kind][j]) for kind in kinds)] for j in order]
    terminal.table("importances", ["column", *kinds], lines)
    for feature, reason in found.suspects:
        terminal.text(f"beware of {feature}: {reason}")
    terminal.result |= {"importances": found.to_dict()}


def show_rows(terminal: Terminal, file: ModelFile, rows: Examples, n_rows: int, limit: int) -> None:
    """Print what each column adds to the raw predictions of the first rows; of two classes, of the positive one."""
    import numpy as np

    from arboretum.cli.tasks import positive_class

    model, classes = file.model, file.classes
    explanation = model.explain(rows.X.slice(0, n_rows))
    values, bases = np.asarray(explanation.values), np.asarray(explanation.base_values)
    outputs = list(explanation.output_names or [""]) if values.ndim == 3 else [""]
    if values.ndim == 2 and len(classes) == 2:
        outputs = [str(positive_class(file.task, classes, rows.positive))]
        if outputs[0] != str(classes[1]):  # probabilities of two classes sum to 1, log-odds and votes to 0
            whole = float(bool(model.model_.head.value_meaning["probabilities"]))
            values, bases = -values, whole - bases
    beside = " (the offset comes on top)" if getattr(model, "has_offset_", False) else ""
    names, given = explanation.feature_names, np.asarray(explanation.data)
    values, bases = values.reshape(len(values), len(names), -1), bases.reshape(len(values), -1)
    terminal.result |= {"contributions": []}
    for row, place in np.ndindex(len(values), len(outputs)):
        adds, base, output = values[row, :, place], bases[row, place], outputs[place]
        order = np.argsort(-np.abs(adds), kind="stable")[:limit].tolist()
        of = f" for {output}" if output else ""
        title = (
            f"{rows.name_of(row)}: raw prediction{of} {base + adds.sum():.4g} = {base:.4g} + what columns add{beside}"
        )
        terminal.table(
            title, ["column", "value", "adds"], [[names[j], str(given[row, j]), float(adds[j])] for j in order]
        )
        by_column = {name: float(value) for name, value in zip(names, adds, strict=True)}
        terminal.result["contributions"].append(
            {"row": row, "output": output or None, "base": float(base), "adds": by_column}
        )
