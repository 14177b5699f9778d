"""``arboretum evaluate``."""

from __future__ import annotations

from arboretum.cli import options
from arboretum.cli.command import command
from arboretum.cli.terminal import Terminal


@command
def evaluate(
    terminal: Terminal,
    model: options.Model,
    columns: options.Columns,
    data: options.Reading,
    consent: options.Consent,
    memory_limit: options.MemoryLimit = None,
) -> None:
    """Judge a model by the rows of DATA, beside a baseline that knows their targets.

    Columns have the roles that they had in training, unless an option names others.
    """
    budget = options.memory_budget(memory_limit)
    from arboretum.cli import opening, scores, tasks

    file, rows = opening.open_model(terminal, model, data, columns, consent, budget=budget)
    task = file.task
    positive = tasks.positive_class(task, file.classes, rows.positive)
    found, constant = scores.judge(file.model, rows, rows, task)
    base = scores.score(scores.baseline(rows, rows, task), rows, task) | constant
    words = "" if positive is None else f" (positive: {positive!r})"
    title = f"{task.name} by {file.name}, judged by {len(rows)} rows{words}"
    terminal.table(title, ["metric", "model", "baseline", "better is"], scores.lines(found, base, task))
    terminal.result |= {} if positive is None else {"positive": positive}
    terminal.result |= {"task": task.name, "rows": len(rows), "scores": found, "baseline": base}
