"""Rows of a long study, kept in a file as they come, so that a run that was ended can be resumed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measuring import Row

Rows = dict[str, dict[str, dict[str, "Row | str"]]]
"""set → contender → fold → numbers, or a sentence that says why there are none."""


@dataclass
class Notebook:
    """Rows by set, contender and fold; ``about`` is what all of them were measured with."""

    about: dict[str, Any]
    file: Path | None = None
    rows: Rows = field(default_factory=dict)

    @classmethod
    def open(cls, about: dict[str, Any], file: Path | None) -> Notebook:
        """Return the notebook of a file, a new one if there is none; one about something else is refused."""
        if file is None or not file.exists():
            return cls(about, file)
        kept = json.loads(file.read_text())
        if kept["about"] != about:
            raise ValueError(f"{file} is about {kept['about']}, not {about}: name another file or use its options")
        return cls(about, file, kept["rows"])

    def has(self, problem: str, contender: str, fold: int) -> bool:
        """Whether there are numbers; failures are tried again."""
        return isinstance(self.rows.get(problem, {}).get(contender, {}).get(str(fold)), dict)

    def add(self, problem: str, contender: str, fold: int, row: Row | str) -> None:
        """Note a row; the file is replaced as a whole, so that it is never half written."""
        self.rows.setdefault(problem, {}).setdefault(contender, {})[str(fold)] = row
        if self.file:
            unfinished = self.file.with_name(self.file.name + ".part")
            unfinished.write_text(json.dumps({"about": self.about, "rows": self.rows}, indent=1, ensure_ascii=False))
            unfinished.replace(self.file)

    def of(self, problem: str, contender: str, n_folds: int) -> list[Row | str]:
        """Return the rows of all folds; what is missing was not measured."""
        kept = self.rows.get(problem, {}).get(contender, {})
        return [kept.get(str(fold), "not measured") for fold in range(n_folds)]
