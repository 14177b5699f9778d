"""Races of new processes against what is allowed: the import, and the command."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator

from benchmarks.measuring import Row, timed
from benchmarks.workloads.speed.racing import Options, Race, within

IMPORT_S, HELP_S = 0.1, 0.3
IMPORT = """
import numpy
from time import perf_counter
start = perf_counter()
import arboretum
print(perf_counter() - start)
"""
HELP = "from arboretum.cli import main; main()"

Races = Iterator[tuple[str, Callable[[], Race]]]


def races(options: Options) -> Races:
    """Yield names, and what prepares each race."""
    yield "start: import, after NumPy", lambda: within(IMPORT_S, _import)
    yield "start: arboretum --help", lambda: within(HELP_S, _help)


def _import() -> Row:
    return {"s": float(_python(IMPORT))}


def _help() -> Row:
    return {"s": timed(lambda: _python(HELP, "--help"))[0]}


def _python(program: str, *words: str) -> str:
    """Run a program in a new interpreter and return what it printed."""
    return subprocess.run([sys.executable, "-c", program, *words], check=True, capture_output=True, text=True).stdout
