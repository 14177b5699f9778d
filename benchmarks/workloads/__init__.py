"""One file a workload; ``WORKLOADS`` is the one registry: name → function from a Bench to its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from benchmarks.measuring import Bench
from benchmarks.table import Table
from benchmarks.workloads import (
    categorical,
    contention,
    custom_loss,
    dense,
    fresh,
    heavy,
    memory,
    multiclass,
    predict,
    scaling,
    small,
    wide,
)

WORKLOADS: dict[str, Callable[[Bench], Iterable[Table]]] = {
    "dense-leaves31": dense.leaves31,
    "dense-leaves255": dense.leaves255,
    "dense-symmetric6": dense.symmetric6,
    "wide": wide.run,
    "multiclass": multiclass.run,
    "small": small.run,
    "fresh": fresh.run,
    "heavy-tail": heavy.tail,
    "heavy-weight": heavy.weight,
    "predict-leaves31": predict.leaves31,
    "predict-symmetric6": predict.symmetric6,
    "memory": memory.run,
    "scaling": scaling.run,
    "contention": contention.run,
    "custom-loss": custom_loss.run,
    "categorical": categorical.run,
}


def select(names: Iterable[str]) -> list[str]:
    """Return the workloads meant by ``names``: exact names, or a family such as ``dense``."""
    chosen = []
    for name in names:
        matches = [known for known in WORKLOADS if known == name or known.startswith(f"{name}-")]
        if not matches:
            raise ValueError(f"no workload is called {name!r}; there are: {', '.join(WORKLOADS)}")
        chosen += matches
    return chosen
