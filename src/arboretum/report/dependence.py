"""How predictions change with each of the most important columns."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from arboretum.data.schema import ColumnSchema
from arboretum.explaining import ice
from arboretum.explaining.reading import class_lists
from arboretum.report.facts import LeftOut
from arboretum.report.importance import ranking
from arboretum.report.subject import Subject, ask, draw_rows

MOST_COLUMNS = 12
MOST_OUTPUTS = 8
ROWS = 1_000  # that are averaged
POINTS = 40  # of a line
LINES = 40  # of single rows
RUG_BINS = 30


def gather(subject: Subject) -> dict[str, Any]:
    """Draw predictions over the columns that matter most: their mean, and those of single rows."""
    nodes = subject.importances.kinds.get("nodes")  # learners that are not trees of arboretum may use all columns
    order = [column for column in ranking(subject.importances) if nodes is None or nodes[column] > 0][:MOST_COLUMNS]
    rows = subject.sample.take(draw_rows(subject.sample, ROWS))
    table, found = rows.table.dense(), []
    has_offset = getattr(subject.model, "has_offset_", False)
    model = subject.model.without_offset() if has_offset else subject.model
    for column in order:
        answer = ask(partial(ice, model, rows.X, column, grid_resolution=POINTS))
        if subject.positive == 0:  # the answer is the probability of the second class
            answer = replace(answer, values=1 - answer.values, individual=1 - answer.individual)
        found.append(_facts(subject.schema.columns[column], answer, table.columns[column]))
    return {
        "columns": found,
        "rows": rows.n_rows,
        "outputs": _output_names(subject, found),
        "of": subject.shown_class,
        "at_offset_zero": has_offset,
    }


def _facts(column: ColumnSchema, answer: Any, values: Any) -> dict[str, Any]:
    grid = list(answer.grid[0])
    lines = np.asarray(answer.values, np.float64)
    lines = lines.reshape(len(grid), -1)[:, :MOST_OUTPUTS]
    facts: dict[str, Any] = {"name": column.name, "kind": column.kind, "lines": lines.T}
    if column.kind == "categorical":
        labels = [str(label) for label in grid]
        code = {str(label): at for at, label in enumerate(column.categories)}
        counts = np.bincount(values[values >= 0], minlength=len(column.categories))
        facts |= {"grid": labels, "rug": [int(counts[code[label]]) if label in code else 0 for label in labels]}
    else:
        at = _as_numbers(answer.grid[0])
        known = values[np.isfinite(values)]
        facts |= {"grid": at, "source": column.source}
        if at.min() < at.max():
            facts["rug"], facts["edges"] = np.histogram(known, RUG_BINS, (at.min(), at.max()))
    if answer.individual is not None and lines.shape[1] == 1:
        single = np.asarray(answer.individual, np.float64).reshape(-1, len(grid))
        facts["individual"] = single[np.linspace(0, len(single) - 1, min(LINES, len(single))).astype(np.intp)]
    return facts


def _as_numbers(grid: Any) -> Any:
    """Return points as a table holds them: dates and durations in microseconds."""
    points = np.asarray(grid)
    if points.dtype.kind in "mM":
        points = points.astype(f"{points.dtype.kind}8[us]").astype(np.int64)
    return points.astype(np.float64)


def _output_names(subject: Subject, found: list[dict[str, Any]]) -> list[str]:
    if not found:
        raise LeftOut("The model reads no columns.")
    n = len(found[0]["lines"])
    lists = class_lists(subject.model)
    if len(lists) == 1 and len(lists[0]) >= n > 1:
        return [str(label) for label in lists[0].tolist()[:n]]
    return [""] if n == 1 else [f"output {k}" for k in range(n)]
