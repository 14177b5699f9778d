"""A family of workloads: what ``python -m benchmarks FAMILY`` compares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.rivals import Rival
from benchmarks.table import Table
from benchmarks.task import Settings

Workload = Callable[[Any], Iterable[Table]]


@dataclass(frozen=True)
class Family:
    """Libraries and workloads that belong together.

    ``rows`` is the size that ``--rows`` scales, ``count`` the name of the option for the number of trees, ``settings``
    what all workloads start from and ``equal`` the same in words.
    """

    title: str
    rivals: Mapping[str, Rival]
    workloads: Mapping[str, Workload]
    rows: int
    count: str
    settings: Settings
    equal: str

    def select(self, names: Iterable[str]) -> list[str]:
        """Return the workloads meant by ``names``: exact names, or a group such as ``dense``."""
        chosen = []
        for name in names:
            matches = [name] if name in self.workloads else self._group(name)
            if not matches:
                raise ValueError(f"no workload is called {name!r}; there are: {', '.join(self.workloads)}")
            chosen += matches
        return chosen

    def _group(self, name: str) -> list[str]:
        return [known for known in self.workloads if known.startswith(f"{name}-")]
