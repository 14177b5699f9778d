"""Columns that know too much, and columns that the model asks in vain."""

from __future__ import annotations

from collections.abc import Iterator

from arboretum.report.facts import LeftOut
from arboretum.report.findings.finding import Finding, Grade
from arboretum.report.probe import Probes
from arboretum.report.subject import Subject

MOST, NEARLY_ALL, ALL = 0.75, 0.95, 0.99  # of the target that one column explains
TIMES_LESS = 2.0  # that a column must leave unexplained, beside all others together
TELLING_HOLES, HOLES_ERRORS = 0.4, 5.0  # share that missing values alone explain, and its size in standard errors


def leaks(probes: Probes) -> Iterator[Finding]:
    """Name columns that alone explain nearly all of the target, where all others together do not.

    A strong column is not a leak if the others know the same. The smell alone tells which mushrooms are poisonous, but
    so do the other columns together; the distance of a flight tells its time in the air, but so does its destination.
    Copies of the target hide each other that way: columns that explain all of it are also compared with those that do
    not.
    """
    strong = {place: probe for place, probe in probes.columns.items() if probe.skill.share > MOST}
    if len(probes.columns) < 2:
        return
    without_all = None
    for place, probe in strong.items():
        share = probe.skill.share
        others, grade = probes.share_of_others([place]), "serious" if share > NEARLY_ALL else "caution"
        if share > ALL and not _stands_out(share, others):
            without_all = probes.share_of_others(list(strong)) if without_all is None else without_all
            others, grade = without_all, "caution"
        if _stands_out(share, others):
            yield Finding(
                "serious" if grade == "serious" else "caution",
                "possible leakage",
                f"{probe.name} alone explains {_percent(share)} of the target, all "
                f"{'weaker' if others == without_all else 'other'} columns together {max(others, 0.0):.0%}.",
                "Make sure that it is known before the target is, and does not follow from it.",
                probe.name,
            )


def _stands_out(share: float, others: float) -> bool:
    return (1 - share) * TIMES_LESS < 1 - max(others, 0.0)


def _percent(share: float) -> str:
    return f"{share:.0%}" if share < 0.995 else f"{min(share, 0.9999):.2%}"


def telling_holes(probes: Probes) -> Iterator[Finding]:
    """Name columns whose missing values alone tell much of the target."""
    for probe in probes.columns.values():
        skill = probe.holes.skill
        if skill.share > TELLING_HOLES and skill.gain > HOLES_ERRORS * skill.error:
            grade: Grade = "serious" if skill.share > MOST else "caution"
            yield Finding(
                grade,
                "missing values that tell the target",
                f"Whether {probe.name} is missing explains {skill.share:.0%} of the target.",
                "See whether the column is filled in after the target is known, or for some outcomes alone.",
                probe.name,
            )


def idle_columns(subject: Subject) -> Iterator[Finding]:
    """Name columns whose values nearly all differ and that trees ask often, without effect on these rows."""
    try:
        found = subject.permuted
    except LeftOut:
        return
    for column, reason in found.suspects:
        cure = "See what it is. If its values only tell rows apart, remove it."
        yield Finding("note", "often asked, of no effect", f"{column}: {reason}.", cure, column)
