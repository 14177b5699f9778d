"""``arboretum explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from arboretum.cli import options
from arboretum.cli.terminal import Terminal, session

if TYPE_CHECKING:
    from arboretum.cli.columns import Examples

SHOWN_KINDS = ("gain", "permutation", "shap", "nodes")


def explain(
    model: options.Model,
    data: options.Data = None,
    rows: options.Rows = 3,
    features: Annotated[
        int, typer.Option("--features", metavar="NUMBER", min=1, help="How many columns to show.")
    ] = 15,
    target: options.Target = None,
    offset: options.Offset = None,
    table: options.Table = None,
    sql: options.Sql = None,
    missing: options.Missing = None,
    date_format: options.DateFormats = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    decimal: options.Decimal = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    traceback: options.Traceback = False,
) -> None:
    """Say which columns matter to a model, and what each adds to the predictions of the first rows of DATA (SHAP)."""
    with session(as_json=as_json, quiet=quiet, traceback=traceback) as terminal:
        from arboretum.cli.errors import ModelError

        named = {"target": target}
        text = options.text_of(missing, date_format, delimiter, encoding, decimal)
        fitted, _, read = options.read_for_model(
            terminal, model, data, table, sql, text, named, offset, needs_target=False
        )
        if not hasattr(fitted, "importances"):
            raise ModelError(f"{type(fitted).__name__} has no trees of its own to explain: train another --model")
        show_importances(terminal, fitted, read, features)
        show_rows(terminal, fitted, read, rows, features)


def show_importances(terminal: Terminal, model: Any, rows: Examples, limit: int) -> None:
    """Print the importances of a model, the columns that matter most first."""
    given = {**_scoring(model), **rows.fit_arguments(model)}
    found = model.importances(rows.X, rows.target, **given) if rows.y is not None else model.importances()
    kinds = [kind for kind in SHOWN_KINDS if kind in found.kinds] or list(found.kinds)[:4]
    order = sorted(range(len(found.feature_names)), key=lambda j: -found.kinds[kinds[0]][j])[:limit]
    lines = [[found.feature_names[j], *(float(found.kinds[kind][j]) for kind in kinds)] for j in order]
    terminal.table("importances", ["column", *kinds], lines)
    for feature, reason in found.suspects:
        terminal.text(f"beware of {feature}: {reason}")
    terminal.result |= {"importances": found.to_dict()}


def _scoring(model: Any) -> dict[str, Any]:
    """Score classes and numbers by the loss that the model was trained for: accuracy does not see most effects."""
    from arboretum.estimators.protocol import Classifier, Regressor
    from arboretum.metrics.own_loss import negative_own_loss

    return {"scoring": negative_own_loss} if isinstance(model, Classifier | Regressor) else {}


def show_rows(terminal: Terminal, model: Any, rows: Examples, n_rows: int, limit: int) -> None:
    """Print what each column adds to the raw predictions of the first rows; of two classes, of the positive one."""
    import numpy as np

    from arboretum.cli.tasks import positive_class

    explanation = model.explain(rows.X.slice(0, n_rows))
    values, bases = np.asarray(explanation.values), np.asarray(explanation.base_values)
    outputs = list(explanation.output_names or [""]) if values.ndim == 3 else [""]
    if values.ndim == 2 and len(getattr(model, "classes_", ())) == 2:
        outputs = [str(positive_class(model.classes_, rows.positive))]
        if outputs[0] != str(model.classes_[1]):
            values, bases = -values, _whole(model) - bases
    beside = " (the offset comes on top)" if getattr(model, "has_offset_", False) else ""
    terminal.result |= {"contributions": []}
    for row in range(len(values)):
        for place, output in enumerate(outputs):
            adds = values[row, :, place] if values.ndim == 3 else values[row]
            base = np.ravel(bases[row])[place]
            order = np.argsort(-np.abs(adds), kind="stable")[:limit].tolist()
            names = explanation.feature_names
            of = f" for {output}" if output != "" else ""
            sum_of = f"{base + adds.sum():.4g} = {base:.4g} + what columns add"
            title = f"{rows.name_of(row)}: raw prediction{of} {sum_of}{beside}"
            lines = [[names[j], str(np.asarray(explanation.data)[row, j]), float(adds[j])] for j in order]
            terminal.table(title, ["column", "value", "adds"], lines)
            terminal.result["contributions"].append(
                {
                    "row": row,
                    "output": output or None,
                    "base": float(base),
                    "adds": {name: float(value) for name, value in zip(names, adds, strict=True)},
                }
            )


def _whole(model: Any) -> float:
    """Return the sum of the raw predictions of two classes: of forests, they are probabilities."""
    from arboretum.model.heads import ClassMeanHead

    return 1.0 if isinstance(model.model_.head, ClassMeanHead) else 0.0
