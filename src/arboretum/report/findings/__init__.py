"""Findings: what looks wrong with the data or the model, the gravest first, each with a cure.

A finding must be right nearly always. Each rests on a test, whose level all columns share (``chance.LEVEL``), and on a
size that matters; docs/report.md tells how often clean tables raise it and how many planted faults it finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from arboretum.data import targets
from arboretum.data.schema import listed
from arboretum.explaining.reading import class_lists
from arboretum.report.findings import columns, fitting, leaks, moving
from arboretum.report.findings.finding import KINDS, LEAST_ROWS, NEED_TRAINING, Finding, merged
from arboretum.report.probe import probes_of
from arboretum.report.subject import Subject

__all__ = ["Finding", "gather", "look"]

RARE_CLASS = 0.05


def gather(subject: Subject) -> dict[str, Any]:
    """Return the findings as a page shows them, and how far each column has moved."""
    drifts = sorted(subject.drifts, key=lambda drift: -drift.index)
    found = merged(look(subject))
    looked_for = [kind for kind in KINDS if subject.train is not None or kind not in NEED_TRAINING]
    return {
        "findings": [asdict(finding) for finding in found],
        "drift": [drift.facts() for drift in drifts],
        "looked_for": [[kind, KINDS[kind]] for kind in looked_for],
    }


def look(subject: Subject) -> list[Finding]:
    """Look for everything that may be wrong, one finding for each column."""
    probes = list(probes_of(subject))
    return [
        *(finding for one in probes for finding in leaks.leaks(one)),
        *(finding for one in probes for finding in leaks.telling_holes(one)),
        *moving.copies(subject),
        *moving.of_columns(subject),
        *moving.of_target(subject),
        *(finding for one in probes for finding in moving.relations(subject, one)),
        *fitting.find(subject),
        *columns.find(subject),
        *leaks.idle_columns(subject),
        *_rare_classes(subject),
        *_few_rows(subject),
    ]


def _rare_classes(subject: Subject) -> Iterator[Finding]:
    rows = subject.train or subject.test
    if not subject.task.has_classes or rows.y is None:
        return
    for column, labels in zip(rows.y.T, class_lists(subject.model), strict=True):
        code = targets.encode_classes(column, labels, "y").astype(np.intp)
        shares = np.bincount(code, minlength=len(labels)) / len(code)
        rare = [str(label) for label, share in zip(labels.tolist(), shares, strict=True) if share < RARE_CLASS]
        if rare and len(labels) * RARE_CLASS < 1:
            yield Finding(
                "note",
                "rare classes",
                f"{listed(rare)}: less than {RARE_CLASS:.0%} of the rows, the rarest {shares.min():.2%}.",
                "Judge by precision and recall rather than accuracy, and choose the threshold by what errors cost.",
            )


def _few_rows(subject: Subject) -> Iterator[Finding]:
    if subject.test.n_rows < LEAST_ROWS:
        yield Finding(
            "note",
            "few rows",
            f"The report rests on {subject.test.n_rows} rows: its figures are rough, and most tests are left out.",
            "Give more rows that the model has not seen.",
        )
