"""A finding, and how many of them become a list that a person reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from arboretum.data.schema import listed

Grade: TypeAlias = Literal["serious", "caution", "note"]
GRADES: tuple[Grade, ...] = ("serious", "caution", "note")

MOST_ALIKE = 4  # findings of one kind that stand by themselves
LEAST_ROWS = 100  # below it, shares say little


@dataclass(frozen=True)
class Finding:
    """One thing that deserves a look.

    ``serious``: figures or predictions cannot be trusted before it is understood. ``caution``: look at it. ``note``: a
    fact about rows or model, nothing wrong by itself.
    """

    grade: Grade
    kind: str
    text: str
    cure: str
    column: str | None = None


# Every kind of finding: when it is raised. The page and docs/report.md show this table.
KINDS: dict[str, str] = {
    "possible leakage": "a column alone explains most of the target, and leaves half as much unexplained as all others",
    "missing values that tell the target": "whether a column is missing explains much of the target",
    "identifier": "texts of which most occur once, or whole numbers that all differ",
    "often asked, of no effect": "values that nearly all differ are read by many nodes, and shuffled at no loss",
    "copied rows": "training rows occur again, more often than they have twins among themselves",
    "drift": "a column is distributed differently than in training: χ² test, and stability index",
    "drift of the target": "the target is distributed differently than in training",
    "changed relation": "a column tells much less about the target than it did in training",
    "exchanged labels": "more rows would be right if labels were exchanged",
    "worse than the baseline": "the loss that the model was trained for is above that of one answer for all rows",
    "no better than the baseline": "the loss is not clearly below that of one answer for all rows",
    "overfitted": "an earlier round, or a smaller depth, is better on rows that it was not chosen by",
    "not calibrated": "probabilities, means or quantiles do not hold as often as they say",
    "missing values that are new": "a column had no missing values while training",
    "categories that are new": "values that training rows did not have",
    "constant column": "one value in every row",
    "rare classes": "classes of less than 5 % of the rows",
    "few rows": "less than 100 rows",
}
NEED_TRAINING = ("copied rows", "drift", "drift of the target", "changed relation")


def counted_rows(n_rows: int) -> str:
    """Return a number of rows in words.

    Examples
    --------
    >>> counted_rows(1), counted_rows(2_500)
    ('1 row', '2,500 rows')
    """
    return f"{n_rows:,} row{'' if n_rows == 1 else 's'}"


def merged(found: Sequence[Finding]) -> list[Finding]:
    """Sort by grade, and let one finding speak for many columns of the same kind and grade."""
    alike: dict[tuple[str, str], list[Finding]] = {}
    for finding in found:
        alike.setdefault((finding.kind, finding.grade), []).append(finding)
    kept = []
    for group in alike.values():
        names = [finding.column for finding in group if finding.column is not None]
        if len(names) > MOST_ALIKE:
            text = f"{len(names)} columns: {listed(names)}. {group[0].text}"
            group = [replace(group[0], text=text, column=None)]
        kept += group
    return sorted(kept, key=lambda finding: GRADES.index(finding.grade))
