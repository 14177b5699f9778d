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
    offset: options.Offset = None,
    positive: options.Positive = None,
    memory_limit: options.MemoryLimit = None,
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
    """Judge a model by the rows of DATA, beside a baseline that knows their targets.

    Columns have the roles that they had in training, unless an option names others.
    """
    with session(as_json=as_json, quiet=quiet, traceback=traceback) as terminal:
        budget = options.memory_budget(memory_limit)
        from arboretum.cli.scores import baseline, judge, judge_constant, lines, score
        from arboretum.cli.tasks import positive_class
        from arboretum.tasks import BINARY

        named = {
            "target": target,
            "weight": weight,
            "group": group,
            "event": event,
            "treatment": treatment,
            "positive": positive,
        }
        text = options.text_of(missing, date_format, delimiter, encoding, decimal)
        fitted, task, rows = options.read_for_model(
            terminal, model, data, table, sql, text, named, offset, budget=budget
        )
        found = judge(fitted, rows, task)
        base = score(baseline(rows, rows, task), rows, task) | judge_constant(fitted, rows, rows, task)
        shown = positive_class(fitted.classes_, rows.positive) if task is BINARY else None
        words = "" if shown is None else f" (positive: {shown!r})"
        title = f"{task.name} by {type(fitted).__name__}, judged by {len(rows)} rows{words}"
        terminal.table(title, ["metric", "model", "baseline", "better is"], lines(found, base, task))
        terminal.result |= {} if shown is None else {"positive": shown}
        terminal.result |= {"task": task.name, "rows": len(rows), "scores": found, "baseline": base}
