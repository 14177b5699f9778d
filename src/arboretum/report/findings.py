"""Findings: what looks wrong with the data or the model, the gravest first, each with a cure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from arboretum.estimators import targets
from arboretum.report import columns
from arboretum.report.facts import LeftOut
from arboretum.report.subject import Rows, Subject, class_lists
from arboretum.schema import UNKNOWN, listed

Grade: TypeAlias = Literal["serious", "caution", "note"]
GRADES: tuple[Grade, ...] = ("serious", "caution", "note")

PSI_CAUTION, PSI_SERIOUS = 0.1, 0.25  # usual limits of the population stability index
LEAKING_SHARE = 0.8  # of all importance by one of several columns
NEAR_UNIQUE = 0.5  # categories by row
RARE_CLASS = 0.05
MOST_ALIKE = 4  # findings of one kind that stand by themselves
FAIR_SHARES = 2  # times its part of the nodes, from which an idle column is more than noise
LEAST_ROWS = 100  # below it, shares say little


@dataclass(frozen=True)
class Finding:
    """One thing that deserves a look."""

    grade: Grade
    kind: str
    text: str
    cure: str
    column: str | None = None


def gather(subject: Subject) -> dict[str, Any]:
    """Look for leakage, identifiers, drift, constants, new missing values and rare classes."""
    moved = [] if subject.train is None else columns.drift(subject.train, subject.test)
    found = [
        *_suspects(subject),
        *_of_columns(subject),
        *_of_drift(moved, subject),
        *_of_classes(subject),
        *_of_size(subject),
    ]
    found = merged(found)
    moved.sort(key=lambda row: -row["psi"])
    return {"findings": [asdict(finding) for finding in found], "drift": moved}


def merged(found: list[Finding]) -> list[Finding]:
    """Sort by grade, and let one finding speak for many columns of the same kind."""
    alike: dict[str, list[Finding]] = {}
    for finding in found:
        alike.setdefault(finding.kind, []).append(finding)
    kept = []
    for group in alike.values():
        group.sort(key=lambda finding: GRADES.index(finding.grade))
        names = [finding.column for finding in group if finding.column is not None]
        if len(names) > MOST_ALIKE:
            text = f"{len(names)} columns: {listed(names)}. {group[0].text}"
            group = [replace(group[0], text=text, column=None)]
        kept += group
    return sorted(kept, key=lambda finding: GRADES.index(finding.grade))


def _suspects(subject: Subject) -> Iterator[Finding]:
    """Columns that importances make suspect, and one that explains nearly everything."""
    try:
        found = subject.importances
    except LeftOut:
        return
    named, nodes = set(), dict(zip(found.feature_names, np.asarray(found.kinds["nodes"]), strict=True))
    for column, reason in found.suspects:
        named.add(column)
        is_busy = nodes[column] * len(nodes) > FAIR_SHARES * sum(nodes.values())
        text, cure = f"{column}: {reason}.", "Find out what it is; if it only tells rows apart, remove it."
        yield Finding("caution" if is_busy else "note", "often asked, of no effect", text, cure, column)
    for kind in ("shap", "gain"):
        values = found.kinds.get(kind)
        if values is None or len(values) < 3 or not np.nansum(values) > 0:
            continue
        most = int(np.nanargmax(values))
        share, name = float(values[most] / np.nansum(values)), found.feature_names[most]
        if share > LEAKING_SHARE and name not in named:
            yield Finding(
                "serious",
                "possible leakage",
                f"{name} alone has {share:.0%} of all importance ({kind}).",
                "Make sure that it is known before the target is, and does not follow from it.",
                name,
            )
            return


def _of_columns(subject: Subject) -> Iterator[Finding]:
    known = subject.train or subject.test
    for column, values in columns.each_column(known.table):
        yield from _of_column(column, values, known.n_rows)
    pairs = zip(subject.schema.columns, columns.each_column(subject.test.table), strict=True)
    for at_fit, (column, values) in pairs:
        is_category = column.kind == "categorical"
        missing = int((values == -1).sum() if is_category else np.isnan(values).sum())
        if missing and not at_fit.has_missing:
            yield Finding(
                "caution",
                "missing values that are new",
                f"{column.name} has {missing:,} missing values, but had none while training.",
                "No split has learnt where they belong: fill them, or train on rows that have some.",
                column.name,
            )
        unseen = int((values == UNKNOWN).sum()) if is_category else 0
        if unseen:
            yield Finding(
                "caution",
                "categories that are new",
                f"{column.name} has {unseen:,} values of categories that training rows did not have.",
                "Predictions average over both sides of such splits; train on newer rows.",
                column.name,
            )


def _of_column(column: Any, values: Any, n_rows: int) -> Iterator[Finding]:
    if column.kind == "categorical":
        found = len(np.unique(values[values >= 0]))
        constant = found + int((values < 0).any()) <= 1
        if found > NEAR_UNIQUE * n_rows and n_rows >= LEAST_ROWS:
            yield Finding(
                "serious",
                "identifier",
                f"{column.name} has {found:,} categories in {n_rows:,} rows: nearly every row has its own.",
                "Remove it: what it teaches holds for no other row.",
                column.name,
            )
    else:
        known = values[~np.isnan(values)]
        constant = not len(known) or (known.min() == known.max() and len(known) == len(values))
    if constant and n_rows > 1:
        yield Finding(
            "note",
            "constant column",
            f"{column.name} has the same value in every row.",
            "It can be removed; no split can use it.",
            column.name,
        )


def _of_drift(moved: list[dict[str, Any]], subject: Subject) -> Iterator[Finding]:
    if subject.train is None or min(subject.train.n_rows, subject.test.n_rows) < LEAST_ROWS:
        return
    for row in moved:
        if row["psi"] > max(PSI_CAUTION, row["chance"]):
            grade: Grade = "serious" if row["psi"] > PSI_SERIOUS else "caution"
            distance = "" if row["ks"] is None else f", Kolmogorov–Smirnov distance {row['ks']:.2f}"
            yield Finding(
                grade,
                "drift",
                f"{row['name']} is distributed otherwise than in training: stability index {row['psi']:.2f}{distance}.",
                "Ask why the rows differ; train on newer rows if they stay so.",
                row["name"],
            )


def _of_classes(subject: Subject) -> Iterator[Finding]:
    if subject.task not in ("binary", "multiclass"):
        return
    rows: Rows = subject.train or subject.test
    assert rows.y is not None
    for column, labels in zip(rows.y.T, class_lists(subject.model), strict=True):
        code = targets.encode_classes(column, labels, "y").astype(np.intp)
        shares = np.bincount(code, minlength=len(labels)) / len(code)
        rare = [str(label) for label, share in zip(labels.tolist(), shares, strict=True) if share < RARE_CLASS]
        if rare and len(labels) * RARE_CLASS < 1:
            least = float(shares.min())
            yield Finding(
                "caution" if least < RARE_CLASS / 5 else "note",
                "rare classes",
                f"{listed(rare)}: less than {RARE_CLASS:.0%} of the rows, at least {least:.2%}.",
                "Judge by precision and recall rather than accuracy, and choose the threshold by what errors cost.",
            )


def _of_size(subject: Subject) -> Iterator[Finding]:
    if subject.test.n_rows < LEAST_ROWS:
        yield Finding(
            "note",
            "few rows",
            f"The report rests on {subject.test.n_rows} rows: its figures are rough.",
            "Give more rows that the model has not seen.",
        )
