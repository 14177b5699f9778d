"""Sources whose batches are changed as they are read; Datasets take them as any other source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from arboretum.data.memory_budget import MemoryBudget
from arboretum.data.sources import LEAST_QUERY_MEMORY, Source, parted


@dataclass(frozen=True)
class Changed(ABC):
    """A source whose columns hold something else: the same names and rows."""

    source: Source

    parts: ClassVar[int] = 1  # into which memory is divided, one of them for reading

    @abstractmethod
    def changer(self, memory: int | None) -> Callable[[Any], Any]:
        """Return what makes a table of a batch, within a part of the memory."""

    def prepare(self, budget: MemoryBudget | None) -> None:
        """Prepare the source."""
        self.source.prepare(budget)

    def schema(self) -> Any:
        """Return names and types."""
        return self.changer(LEAST_QUERY_MEMORY)(self.source.schema().empty_table()).schema

    def n_rows(self) -> int:
        """Count the rows."""
        return self.source.n_rows()

    def batches(self, names: Sequence[str], size: int, memory: int | None = None) -> Iterator[Any]:
        """Change batch by batch."""
        memory = None if memory is None else memory // self.parts
        changed = self.changer(memory)
        for batch in self.source.batches(names, size, memory):
            yield from changed(batch).to_batches()

    def buffers(self, names: Sequence[str]) -> list[int]:
        """Return the bytes that a reader holds of each column."""
        return self.source.buffers(names)

    def parted(self, n_rows: int) -> Sequence[Source]:
        """Part the source, and change each part."""
        return [replace(self, source=part) for part in parted(self.source, n_rows)]
