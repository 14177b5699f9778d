"""From a model and rows to a page: sections are gathered one by one, and put into the template."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import partial
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from arboretum.estimators.explained import Explained
from arboretum.report import columns, dependence, evaluation, examples, findings, importance, training, trees
from arboretum.report.facts import to_json
from arboretum.report.subject import Subject, or_reason, read_rows, schema_of, task_of

MAX_ROWS = 2_000
SCRIPTS = ("text.js", "charts.js", "sections.js", "trees.js", "examples.js", "page.js")
VENDORED = (("d3.min.js", "d3.LICENSE"), ("plot.umd.min.js", "plot.LICENSE"))

TASK_NAMES = {
    "binary": "classification, two classes",
    "multiclass": "classification",
    "regression": "regression",
    "ranking": "ranking",
    "uplift": "uplift",
    "survival": "survival",
    "anomaly": "anomaly detection",
}


def write_report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    X_train: Any = None,
    y_train: Any = None,
    sample_weight: Any = None,
    sample_weight_train: Any = None,
    group: Any = None,
    treatment: Any = None,
    group_train: Any = None,
    treatment_train: Any = None,
    title: str | None = None,
    max_rows: int = MAX_ROWS,
) -> Path:
    """Write a report of a fitted model; see ``model.report``.

    Examples
    --------
    >>> import arboretum as arb, tempfile
    >>> X = [[float(j), float(j % 3)] for j in range(60)]
    >>> y = [j % 3 == 0 for j in range(60)]
    >>> model = arb.BoostedTreesClassifier(n_estimators=5).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(model, X, y, f"{folder}/report.html").read_text(encoding="utf-8")
    >>> "<title>BoostedTreesClassifier</title>" in page
    True
    """
    if not isinstance(model, Explained):
        raise TypeError(f"a report needs a fitted model of arboretum, not {type(model).__name__}")
    schema_of(model)  # refuses a model that is not fitted
    if isinstance(max_rows, bool) or not isinstance(max_rows, int | np.integer) or max_rows < 1:
        raise ValueError(f"max_rows={max_rows!r}: give a number of rows of at least 1")
    if (X_train is None) != (y_train is None) and task_of(model) != "anomaly":
        raise ValueError("X_train and y_train belong together: give both or neither")
    test = read_rows(model, X, y, sample_weight=sample_weight, group=group, treatment=treatment)
    train = None
    if X_train is not None:
        known = {"sample_weight": sample_weight_train, "group": group_train, "treatment": treatment_train}
        train = read_rows(model, X_train, y_train, of="_train", **known)
    subject = Subject(model, task_of(model), test, train, int(max_rows))
    name = type(model).__name__ if title is None else str(title)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "missing values in columns that had none at fit")  # a finding says so
        page = to_page(name, gather(subject, name))
    target = Path(path)
    target.write_text(page, encoding="utf-8", newline="\n")
    return target


def gather(subject: Subject, title: str) -> dict[str, Any]:
    """Gather the facts of all sections; one that cannot be given says why."""
    sections = {name: or_reason(partial(part, subject)) for name, part in _SECTIONS.items()}
    sections["examples"] = or_reason(partial(examples.gather, subject, sections["trees"].get("trees", [])))
    return {"title": title, "about": _about(subject), "sections": sections}


_SECTIONS: dict[str, Callable[[Subject], dict[str, Any]]] = {
    "data": columns.gather,
    "training": training.gather,
    "evaluation": evaluation.gather,
    "importances": importance.gather,
    "dependence": dependence.gather,
    "trees": trees.gather,
    "findings": findings.gather,
}


def _about(subject: Subject) -> dict[str, Any]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        release = version("arboretum")
    except PackageNotFoundError:  # run from a source tree
        release = ""
    model, schema = subject.model, subject.schema
    return {
        "model": type(model).__name__,
        "task": TASK_NAMES[subject.task],
        "release": release,
        "fingerprint": model.fingerprint(),
        "rows": subject.test.n_rows,
        "train_rows": None if subject.train is None else subject.train.n_rows,
        "sampled_rows": subject.sample.n_rows,
        "columns": schema.n_features,
        "categorical": len(schema.categorical),
    }


# ---- the page --------------------------------------------------------------------------------------------------------


def to_page(title: str, facts: dict[str, Any]) -> str:
    """Put facts, style and scripts into the template.

    ``{{name}}`` are its only gaps. Each is filled once, in one pass, so that nothing a user wrote is taken for a gap.
    """
    vendored = [f"/*!\n{_file('vendor', licence)}*/\n{_file('vendor', script)}" for script, licence in VENDORED]
    own = "\n".join(_file("page", script) for script in SCRIPTS)
    filling = {
        "title": escape(title),
        "style": _file("page", "page.css"),
        "vendored": "</script>\n<script>".join(vendored),
        "facts": to_json(facts),
        "script": f'"use strict";\n(() => {{\n{own}}})();',
    }
    parts = _file("page", "page.html").split("{{")
    page = [parts[0]]
    for part in parts[1:]:
        gap, _, rest = part.partition("}}")
        page += [filling[gap], rest]
    return "".join(page)


def _file(folder: str, name: str) -> str:
    return (resources.files("arboretum.report") / folder / name).read_text(encoding="utf-8")
