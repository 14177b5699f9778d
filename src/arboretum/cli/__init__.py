"""The command ``arboretum``: train, compare, predict and explain from a shell.

::

    app.py  ── one file a command: train, compare, predict, evaluate, explain, report, show, convert, demo
       │           each: read options ─► plain functions below ─► terminal.py (tables, remarks, JSON, exit codes)
       ├─ sources.py    path, glob, folder, data base, SQL ─► Dataset
       ├─ columns.py    roles and kinds of columns, and casts to what a model knows
       ├─ tasks.py      what is asked: a guess, and its reason
       ├─ methods.py    which estimators answer it
       ├─ splits.py     which rows judge
       ├─ scores.py     how good the answers are, beside a baseline
       └─ files.py      model files with the roles of columns; files that appear whole or not at all

Modules of commands import what computes inside of their functions: help and completion are quick.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command; without its extra, say how to get it."""
    try:
        import typer  # noqa: F401
    except ImportError:
        print("The command needs its extra: pip install 'arboretum[cli]'", file=sys.stderr)
        raise SystemExit(2) from None
    from arboretum.cli.app import app

    app()
