"""Presets beside the systems that they are named after, both untouched: everyday tables, and identifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.duel import duel, held_out
from benchmarks.measuring import Bench
from benchmarks.rivals import UNTOUCHED
from benchmarks.rivals.arboretum import preset
from benchmarks.table import Table

ROWS = 20_000
SETS = ("adult", "bank", "covertype", "satimage", "california", "ames", "cpu_act", "wine")
IDENTIFIER_ROWS = 100_000
IDENTIFIER_SETS = ("amazon", "black_friday")
SYSTEMS = ("xgboost", "lightgbm", "catboost")


def compare(bench: Bench, name: str, system: str, sets: tuple[str, ...], most_rows: int) -> Table:
    """Compare a preset with its system on real sets."""
    title = (
        f'preset "{system}" beside {system}\'s defaults, at most {bench.scaled(most_rows):,} rows a set, '
        "a quarter held out; log-loss or RMSE"
    )
    return duel(bench, name, title, preset(system), UNTOUCHED[system], held_out(bench, sets, most_rows))


def workload(system: str) -> Callable[[Bench], Iterator[Table]]:
    """Return the workload of one system."""

    def run(bench: Bench) -> Iterator[Table]:
        yield compare(bench, f"presets-{system}", system, SETS, ROWS)

    return run


def cardinality(bench: Bench) -> Iterator[Table]:
    """Tables of customers, products and employees by their numbers: what ordered target statistics are for."""
    yield compare(bench, "cardinality", "catboost", IDENTIFIER_SETS, IDENTIFIER_ROWS)


WORKLOADS = {f"presets-{system}": workload(system) for system in SYSTEMS}
