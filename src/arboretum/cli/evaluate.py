"""``arboretum evaluate``."""

from __future__ import annotations

from arboretum.cli import options
from arboretum.cli.terminal import session


def evaluate(
    model: options.Model,
    data: options.Data = None,
    target: options.Target = None,
    weight: options.Weight = None,
    group: options.Group = None,
    event: options.Event = None,
    treatment: options.Treatment = None,
    table: options.Table = None,
    sql: options.Sql = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    traceback: options.Traceback = False,
) -> None:
    """Judge a model by the rows of DATA, beside a baseline that knows their targets.

    Columns have the roles that they had in training, unless an option names others.
    """
    with session(as_json=as_json, quiet=quiet, traceback=traceback) as terminal:
        from arboretum.cli.scores import METRICS, baseline, judge, score

        named = {"target": target, "weight": weight, "group": group, "event": event, "treatment": treatment}
        fitted, task, rows = options.read_for_model(terminal, model, data, table, sql, named)
        found = judge(fitted, rows, task)
        base = score(baseline(rows, rows, task), rows, task)
        title = f"{task} by {type(fitted).__name__}, judged by {len(rows)} rows"
        lines = [
            [name, found[name], base.get(name), "higher" if higher else "lower"]
            for name, higher in METRICS[task].items()
            if name in found
        ]
        terminal.table(title, ["metric", "model", "baseline", "better is"], lines)
        terminal.result |= {"task": task, "rows": len(rows), "scores": found, "baseline": base}
