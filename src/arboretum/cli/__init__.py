"""The command ``arboretum``: train, compare, predict and explain from a shell.

::

    app.py  ── one file per command: train, compare, predict, evaluate, explain, report, show, convert, demo
       │           each: options.py ─► command.py (a session) ─► plain functions below ─► terminal.py
       ├─ opening.py    data and models that options name
       ├─ sources.py    path, glob, folder, database, SQL ─► Dataset; text.py reads its text
       ├─ columns.py    roles and kinds of columns, and casts to what a model knows
       ├─ tasks.py      what is asked: a guess, and its reason
       ├─ methods.py    which estimators answer it
       ├─ problem.py    rows, a task, and the rows that judge
       ├─ cluster.py    workers of Dask that read and fit the rows
       ├─ scores.py     how good the answers are, beside a baseline; leaderboard.py: methods side by side
       └─ files.py      model files with the roles of columns; files that appear whole or not at all

Modules of commands import what computes inside their functions, so that help and completion are quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib.abc import MetaPathFinder
from typing import Any


class WithoutPandas(MetaPathFinder):
    """Hides pandas: pyarrow imports it with its first array, half a second and 50 MB that no command needs."""

    def find_spec(self, name: str, *_: Any) -> None:
        """Do not find pandas."""
        if name == "pandas":
            raise ModuleNotFoundError("commands do not use pandas", name=name)


def main() -> None:
    """Run the command; without its extra, say how to get it."""
    _occupy_closed_streams()
    sys.meta_path.insert(0, WithoutPandas())
    raise SystemExit(run(sys.argv[1:]))


def _occupy_closed_streams() -> None:
    """Keep the numbers of closed standard streams: a file opened later would get what is written to them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # noqa: PERF203
            os.open(os.devnull, os.O_RDWR)


def run(words: Sequence[str]) -> int:
    """Run the command with the words of a command line; return its exit code."""
    from arboretum.cli.errors import INTERRUPTED, CommandError, UsageError
    from arboretum.cli.terminal import interruption, standard_output, tell_failure

    try:
        from typer.main import get_command

        from arboretum.cli.app import app

        with nullcontext() if sys.stdout is None else standard_output():  # for help and version
            ended = get_command(app)(list(words) or ["--help"], prog_name="arboretum", standalone_mode=False)
        if ended != INTERRUPTED:  # what typer makes of Ctrl-C
            return 0
        code, message = INTERRUPTED, interruption()
    except SystemExit as end:  # of a command, which has told its result or failure
        return int(end.code or 0)
    except KeyboardInterrupt:  # before a command had begun
        code, message = INTERRUPTED, interruption()
    except CommandError as error:
        code, message = error.exit_code, str(error)
    except ImportError as error:
        if error.name != "typer":
            raise
        code, message = UsageError.exit_code, "the command needs its extra: pip install 'arboretum[cli]'"
    except Exception as error:
        # Words that the parser rejects. Where its exceptions live depends on the release of typer.
        if not hasattr(error, "format_message"):
            raise
        code, message = UsageError.exit_code, error.format_message()
    tell_failure(message, code, as_json="--json" in words)
    return code
