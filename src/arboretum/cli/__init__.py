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
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from typing import Any


class WithoutPandas(MetaPathFinder):
    """Hides pandas: pyarrow imports it with its first array, half a second and 50 MB that no command needs."""

    def find_spec(self, name: str, *_: Any) -> None:
        """Refuse to find pandas."""
        if name == "pandas":
            raise ModuleNotFoundError("commands do not use pandas", name=name)


def main() -> None:
    """Run the command; without its extra, say how to get it."""
    try:
        import typer  # noqa: F401
    except ImportError:
        print("The command needs its extra: pip install 'arboretum[cli]'", file=sys.stderr)
        raise SystemExit(2) from None
    sys.meta_path.insert(0, WithoutPandas())
    raise SystemExit(run(sys.argv[1:]))


def run(words: Sequence[str]) -> int:
    """Run the command with the words of a command line; return its exit code."""
    try:
        from typer.main import get_command

        from arboretum.cli.app import app
        from arboretum.cli.terminal import tell_failure

        code = get_command(app)(list(words) or ["--help"], prog_name="arboretum", standalone_mode=False)
    except KeyboardInterrupt:  # before a command had begun
        print("error: interrupted; nothing was written", file=sys.stderr)
        return 130
    except Exception as error:
        # Words that the parser refuses. Where its exceptions live depends on the release of typer.
        if not hasattr(error, "format_message"):
            raise
        tell_failure(error.format_message(), 2, as_json="--json" in words)
        return 2
    return code if isinstance(code, int) else 0
