"""A fitted model in a few lines: how many trees of which size, on which columns, how well they did."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from arboretum.ensembles.boosting.history import History
from arboretum.model.heads import LossHead
from arboretum.reading.quantities import listing, number_text

_DIGITS = 4
_MOST_CLASSES = 8

# Greys of half strength and the colour of the surrounding text are read on white and on black.
_STYLE = """
.arboretum-model{display:inline-block;font-size:.9em;color:inherit;border:1px solid rgba(128,128,128,.4);
border-radius:6px;padding:.6em .9em;max-width:48em}
.arboretum-model pre{margin:0 0 .5em;padding:0;background:none;color:inherit;white-space:pre-wrap;font-weight:600}
.arboretum-model table{border-collapse:collapse;margin:0;background:none}
.arboretum-model tr,.arboretum-model td{background:none!important;color:inherit;border:0;padding:.1em 1.2em .1em 0;
text-align:left;vertical-align:top}
.arboretum-model td:first-child{opacity:.65;white-space:nowrap}
""".strip()


def model_facts(model: Any) -> dict[str, str]:
    """Return what is known about a fitted model, by the name of the fact.

    Parameters
    ----------
    model : estimator
        A fitted model with a ``forest_``.

    Examples
    --------
    >>> import arboretum as arb
    >>> model = arb.RandomForestClassifier(n_estimators=3, max_depth=1).fit([[1.0], [2.0], [3.0], [4.0]], list("aabb"))
    >>> model_facts(model)
    {'trees': '3', 'nodes': '9', 'depth': '1', 'features': '1', 'classes': '2: a, b'}
    """
    forest, schema, head = model.forest_, model.schema_, model.model_.head
    depths, n_categories = forest.tree_depths(), len(schema.categorical)
    facts = {"trees": f"{forest.n_trees:,}"}
    if hasattr(model, "n_iter_"):
        # One number, or one per treatment.
        facts["rounds"] = ", ".join(f"{rounds:,}" for rounds in np.atleast_1d(model.n_iter_).tolist())
    facts["nodes"] = f"{forest.n_nodes:,}"
    if len(depths):
        most, mean = int(depths.max()), float(depths.mean())
        facts["depth"] = f"{most}" if mean == most else f"{number_text(mean, 3)} on average, {most} at most"
    facts["features"] = f"{schema.n_features:,}" + (f", {n_categories:,} of them categories" if n_categories else "")
    if model.task_.has_classes:
        facts["classes"] = _classes_text(model.classes_)
    if isinstance(head, LossHead):
        facts["loss"] = str(head.loss.name)
    facts |= _history(getattr(model, "history_", None))
    if getattr(model, "race_", None) is not None:
        facts["won the race"] = str(model.race_)
    if hasattr(model, "oob_score_"):
        facts["out-of-bag score"] = number_text(float(model.oob_score_), _DIGITS)
    return facts


def _classes_text(classes: Any) -> str:
    if isinstance(classes, list):
        return f"of {len(classes)} outputs: {', '.join(str(len(labels)) for labels in classes)}"
    labels = [str(label) for label in classes.tolist()]
    return f"{len(labels)}: {', '.join(listing(labels, _MOST_CLASSES))}"


def _history(history: History | None) -> dict[str, str]:
    facts: dict[str, str] = {}
    if history is None:
        return facts
    if history.best_round is not None and history.best_value is not None:
        best = number_text(float(history.best_value), _DIGITS)
        facts[f"validation {history.scoring}"] = f"{best} in round {history.best_round:,}"
    if history.training_loss:
        facts["training loss"] = number_text(float(history.training_loss[-1]), _DIGITS)
    if history.stopped_by != "rounds":
        facts["ended by"] = str(history.stopped_by)
    return facts


def model_to_text(model: Any, n_trees: int, **reading: Any) -> str:
    """Write the facts of a fitted model, then its first trees.

    Parameters
    ----------
    model : estimator
        A fitted model with a ``forest_``.
    n_trees : int
        Trees to write out.
    **reading
        What ``model.to_text`` takes besides the number of a tree.
    """
    facts = model_facts(model)
    width = max(map(len, facts))
    parts = ["\n".join([repr(model), *(f"  {name:<{width}}  {told}" for name, told in facts.items())])]
    parts += [model.to_text(tree, **reading) for tree in range(min(n_trees, model.forest_.n_trees))]
    rest = model.forest_.n_trees - n_trees
    if rest > 0:
        parts.append(f"… {rest:,} more " + ("tree" if rest == 1 else "trees"))
    return "\n\n".join(parts)


def model_to_html(model: Any) -> str:
    """Write a fitted model as a small table for notebooks that suits light and dark pages and needs no other file."""
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{html.escape(told)}</td></tr>"
        for name, told in model_facts(model).items()
    )
    title = html.escape(repr(model))
    return f'<div class="arboretum-model"><style>{_STYLE}</style><pre>{title}</pre><table>{rows}</table></div>'
