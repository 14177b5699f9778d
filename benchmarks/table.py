"""A result table: numbers kept as numbers, rendered as plain text or Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import floor, isfinite, log10
from typing import Any

HOME = "arboretum"
NOT_SUPPORTED = "not supported"


@dataclass(frozen=True)
class Column:
    """A heading and how many significant digits its numbers deserve."""

    key: str
    heading: str
    digits: int = 3

    def render(self, value: float | None) -> str:
        if value is None or not isfinite(value):
            return "–"
        decimals = self.digits - 1 - floor(log10(abs(value))) if value else 0
        return f"{value:.{max(0, decimals)}f}"


@dataclass
class Table:
    """Rows by library, or by what ``rows_are`` names.

    A row is ``{column key: number}`` or a sentence that says why there are none.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: dict[str, dict[str, float] | str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    rows_are: str = "library"

    def value(self, library: str, key: str) -> float | None:
        """Return one number, None where it was not measured."""
        row = self.rows.get(library, "")
        return None if isinstance(row, str) else row.get(key)

    def measured(self, key: str) -> dict[str, float]:
        """Return the numbers of one column by library."""
        numbers = {library: self.value(library, key) for library in self.rows}
        return {library: number for library, number in numbers.items() if number is not None}

    def add_ratio(self, key: str, ratio_key: str = "ratio") -> None:
        """Fill ``ratio_key`` with each library's ``key`` divided by arboretum's."""
        home = self.value(HOME, key)
        for row in self.rows.values():
            if home and isinstance(row, dict) and key in row:
                row[ratio_key] = row[key] / home

    def text(self) -> str:
        """Render aligned plain text."""
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in cells
        ]
        lines.insert(1, "-" * len(lines[0]))
        return "\n".join([self._heading(), *(lines if self.rows else ()), *self._footnotes()])

    def markdown(self) -> str:
        """Render a Markdown table under a heading."""
        head, *body = ("| " + " | ".join(row) + " |" for row in self._cells())
        lines = [head, "|---|" + "---:|" * len(self.columns), *body, ""]
        footnotes = [f"- {note}" for note in self._footnotes()]
        return "\n".join([f"### {self._heading()}", "", *(lines if self.rows else ()), *footnotes])

    def as_json(self) -> dict[str, Any]:
        """Return everything, for ``--json``."""
        return {"name": self.name, "title": self.title, "rows": self.rows, "notes": self.notes}

    def _heading(self) -> str:
        return f"{self.name}: {self.title}"

    def _footnotes(self) -> list[str]:
        sentences = {library: row for library, row in self.rows.items() if isinstance(row, str)}
        details = [f"{library} {row}" for library, row in sentences.items() if ":" in row]
        return details + self.notes

    def _cells(self) -> list[list[str]]:
        body = [[library, *self._numbers(row)] for library, row in self.rows.items()]
        return [[self.rows_are, *(column.heading for column in self.columns)], *body]

    def _numbers(self, row: dict[str, float] | str) -> list[str]:
        if isinstance(row, str):
            return [row.partition(":")[0], *("" for _ in self.columns[1:])]
        return [column.render(row.get(column.key)) for column in self.columns]
