"""Members and what combines their answers, as one model.

::

    X ──► members ──asked──► answers ──┬── Combiner ──────────────────► answer        voting, linear stacking
                                       └── features ──► final estimator ──► answer    any other stacking
                                             + X with passthrough
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from arboretum.data import selection
from arboretum.elementary import log
from arboretum.ensembles.combining.asking import METHODS, Asked, answer, rows_to_ask
from arboretum.ensembles.combining.combiners import COMBINERS, Combiner, LogPool
from arboretum.ensembles.members.goals import Classes, Goal
from arboretum.model.arrays import Arrays
from arboretum.model.members import Header, Joint, Members

FloatArray: TypeAlias = NDArray[np.float64]

FINAL = "final"  # the part that combines answers, if that is an estimator


@dataclass(frozen=True, eq=False)
class Combined(Joint):
    """Members that are asked, and what combines their answers.

    Parameters
    ----------
    goal : Goal
        What is predicted, with its classes.
    asked : tuple of Asked
        The members.
    combiner : Combiner or None
        What combines their answers; None if an estimator does, the part "final".
    passthrough : bool
        Whether that estimator sees the columns of X too.
    scores : dict of str to float
        Score of each member on rows that it has not seen.
    scoring : str
        Name of these scores.
    skipped : dict of str to str
        Members that failed, and why.
    unseen : dict of str to ndarray
        Answers to training rows that members have not seen; neither in files nor in pickles.
    known : callable, optional
        Function from rows to an answer that is known already; members are then not asked.
    """

    goal: Goal
    asked: tuple[Asked, ...] = ()
    combiner: Combiner | None = None
    passthrough: bool = False
    scores: Mapping[str, float] = field(default_factory=dict)
    scoring: str = ""
    skipped: Mapping[str, str] = field(default_factory=dict)
    unseen: Mapping[str, FloatArray] = field(default_factory=dict)
    known: Callable[[Any], FloatArray] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave answers to training rows out of pickles, as files do: they are as long as the table."""
        return {**vars(self), "unseen": {}}

    # ---- answers -------------------------------------------------------------------------------------------------

    def answers(self, members: Members, X: Any) -> list[FloatArray]:
        """Return the answer of each member, (rows, width), to rows in the order of the columns of the fit."""
        read, found = rows_to_ask(X, members.models), []
        for one in self.asked:
            ask = partial(answer, self.goal, method=one.method)
            found.append(one.mean([members.parts[part] for part in one.parts], X, read, ask))
        return found

    def mixture(self, members: Members, X: Any, ask: Callable[[Any, Any], FloatArray]) -> FloatArray:
        """Return the mean of what members are asked about rows, weighted by their shares."""
        rows, shares = members.rows(X), self.shares
        assert shares is not None
        read, total = rows_to_ask(rows, members.models), cast(Any, 0.0)
        for one, share in zip(self.asked, shares / shares.sum(), strict=True):
            total = total + share * one.mean([members.parts[part] for part in one.parts], rows, read, ask)
        return np.asarray(total)

    def outcome(self, members: Members, X: Any) -> FloatArray:
        """Return probabilities (rows, classes), or numbers (rows,) or (rows, outputs)."""
        if self.known is not None:
            return self.known(X)
        rows = members.rows(X)
        answers = self.answers(members, rows)
        if self.combiner is not None:
            found = self.combiner.combine(answers)
        else:
            final = members.parts[FINAL]
            method = "predict_proba" if self.goal.classifies and hasattr(final, "predict_proba") else "predict"
            found = answer(self.goal, final, self.features(answers, rows), method)
        return found if self.goal.classifies or found.shape[1] > 1 else found[:, 0]

    def scored(self, members: Members, X: Any) -> FloatArray:
        """Return scores of classes (rows, classes): logarithms of the probabilities, up to a constant of the row."""
        if isinstance(self.combiner, LogPool) and self.known is None:
            return self.combiner.scores(self.answers(members, members.rows(X)))
        final = members.parts.get(FINAL)
        if hasattr(final, "decision_function") and not hasattr(final, "predict_proba"):
            rows = members.rows(X)
            scores = answer(self.goal, final, self.features(self.answers(members, rows), rows), "decision_function")
            return np.concatenate([-scores, scores], axis=1) / 2 if scores.shape[1] == 1 else scores
        return log(np.maximum(self.outcome(members, X), np.finfo(float).tiny))

    @property
    def shares(self) -> FloatArray | None:
        """Weight of each member in one scale, a mean over outputs; None if an estimator combines them."""
        return None if self.combiner is None else self.combiner.shares

    def features(self, answers: Sequence[FloatArray], rows: Any) -> Any:
        """Return what the final estimator reads: answers of the members, then the columns of X if it sees them."""
        return with_columns(
            _columns(self.asked, answers), self.feature_names(answers), rows if self.passthrough else None
        )

    def feature_names(self, answers: Sequence[FloatArray]) -> list[str]:
        """Return the names of the answers: those of the members, with the class if there are several."""
        names = []
        for one, found in zip(self.asked, answers, strict=True):
            if _is_pair(one, found) or found.shape[1] == 1:
                names.append(one.name)
            else:
                outputs = self.goal.classes.tolist() if isinstance(self.goal, Classes) else range(found.shape[1])
                names += [f"{one.name} {output}" for output in outputs]
        return names

    # ---- files ---------------------------------------------------------------------------------------------------

    def facts(self) -> Header:
        """Return the target, what members are asked by, and what combines them."""
        return {
            **self.goal.facts(),
            "asked": [[one.method, len(one.parts)] for one in self.asked],
            "combiner": None if self.combiner is None else self.combiner.kind,
            "passthrough": self.passthrough,
        }

    def arrays(self) -> Arrays:
        """Return what the combiner has learned."""
        return {} if self.combiner is None else self.combiner.arrays()

    def notes(self) -> Header:
        """Return names and scores of the members."""
        return {
            "names": [one.name for one in self.asked],
            "scores": dict(self.scores),
            "scoring": self.scoring,
            "skipped": dict(self.skipped),
        }

    @staticmethod
    def bases_to_json(calls: Sequence[tuple[str | int, Header]]) -> Header:
        """Return the members' estimators, and the final one."""
        return {"estimators": [[name, call] for name, call in calls]}

    @staticmethod
    def bases_from_json(header: Header) -> list[tuple[str | int, Header]]:
        """Undo ``bases_to_json``."""
        return [(name, call) for name, call in header["estimators"]]

    @classmethod
    def part_names(cls, header: Header, arrays: Arrays) -> list[str]:
        """Return one name per fitted copy, and that of the final estimator."""
        asked = _asked(header)
        return [*(part for one in asked for part in one.parts), *([FINAL] if header["combiner"] is None else [])]

    @classmethod
    def from_file(cls, header: Header, arrays: Arrays, read: Members, goal: Goal) -> Combined:
        """Read the members, which must predict the target, and what combines them."""
        goal, asked = goal.from_file(header), _asked(header)
        for part in read.models:
            goal.check(part)
        combiner: Combiner | None = None
        if (kind := header["combiner"]) is not None:
            if kind not in COMBINERS:
                raise ValueError(f"combiner is {kind!r:.80}: expected one of {', '.join(COMBINERS)}")
            width = len(goal.classes) if isinstance(goal, Classes) else 1
            combiner = COMBINERS[kind].from_arrays(arrays, len(asked), width)
        if type(header["passthrough"]) is not bool:
            raise ValueError(f"passthrough is {header['passthrough']!r:.80}: expected true or false")
        scores, skipped = header["scores"], header["skipped"]
        if any(type(score) is not float for score in scores.values()):
            raise ValueError(f"scores are {scores!r:.80}: expected numbers")
        if any(type(why) is not str for why in skipped.values()):
            raise ValueError(f"skipped is {skipped!r:.80}: expected texts")
        return cls(goal, asked, combiner, header["passthrough"], scores, str(header["scoring"]), skipped)


def combined(members: Members) -> Combined:
    """Return the joint of combined members."""
    assert isinstance(members.joint, Combined)
    return members.joint


def knowing(joint: Combined, outcome: FloatArray) -> Combined:
    """Return a joint whose answer is known, for scorers."""
    return replace(joint, known=lambda X: outcome)


def _asked(header: Header) -> tuple[Asked, ...]:
    names, asked, place = header["names"], header["asked"], 0
    if not isinstance(asked, list) or not asked or len(names) != len(asked):
        raise ValueError(f"asked is {asked!r:.80}: expected a method and a number of parts per member")
    found = []
    for name, (method, count) in zip(names, asked, strict=True):
        if type(name) is not str or method not in METHODS or type(count) is not int or not 1 <= count < 10**6:
            raise ValueError(f"asked: expected name, method and number of parts, found {[name, method, count]!r:.80}")
        found.append(Asked(name, method, tuple(f"member {place + copy}" for copy in range(count))))
        place += count
    return tuple(found)


def _is_pair(one: Asked, found: FloatArray) -> bool:
    """Whether an answer is the probabilities of two classes, of which the second tells all."""
    return one.method != "decision_function" and found.shape[1] == 2


def _columns(asked: Sequence[Asked], answers: Sequence[FloatArray]) -> FloatArray:
    parts = zip(asked, answers, strict=True)
    return np.concatenate([found[:, 1:] if _is_pair(one, found) else found for one, found in parts], axis=1)


def with_columns(columns: FloatArray, names: list[str], rows: Any) -> Any:
    """Return numbers, and the columns of rows after them if there are any, in the container of the rows.

    Examples
    --------
    >>> import pandas as pd
    >>> with_columns(np.array([[0.5]]), ["forest"], pd.DataFrame({"town": ["Oslo"]})).to_dict("list")
    {'forest': [0.5], 'town': ['Oslo']}
    """
    if rows is None:
        return columns
    return selection.beside(columns, names, rows)
