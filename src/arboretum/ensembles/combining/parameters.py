"""Parameters of combined models."""

from __future__ import annotations

import numbers
from typing import Any

from arboretum.parameters.declaring import (
    COUNT,
    FLAG,
    Allowed,
    Anything,
    Choice,
    Number,
    like,
    parameter,
    parameter_group,
)
from arboretum.parameters.shared import Progress, Seed, Threads


class NumberOrSplits(Allowed):
    """A number in a range, a splitter of scikit-learn, or pairs (training rows, held-out rows)."""

    def __init__(self, number: Number) -> None:
        self.number = number

    @property
    def text(self) -> str:
        """Type of the number, and the others."""
        return f"{self.number.text}, splitter or pairs of rows"

    def check(self, owner: Any, name: str) -> None:
        """Reject other numbers and words; splits are checked with the rows."""
        value = getattr(owner, name)
        if value is None or isinstance(value, str | bool | numbers.Number):
            self.number.check(owner, name)

    def read(self, text: str) -> Any:
        """Return a number."""
        return self.number.read(text)


@parameter_group("Members")
class MemberList:
    """What is combined."""

    estimators: Any = parameter(
        None,
        Anything("list of (name, estimator)"),
        "Members, of arboretum, of scikit-learn or of any library that follows its protocol; by default boosted trees, "
        'a random forest and extra trees. ``"drop"`` leaves one out. Members of arboretum read the table as it is; '
        "others need a pipeline that encodes text and fills missing values.",
    )
    on_error: str = parameter(
        "raise",
        Choice("raise", "skip"),
        "A member that fails is an error that names it, or is left out with a warning.",
    )


@parameter_group("Members")
class PrefitMembers:
    """Members that are fitted already."""

    prefit: bool = parameter(
        False, FLAG, "Members are fitted already and stay as they are; none may have seen the rows of ``fit``."
    )


@parameter_group("Running")
class CombiningRun(Seed, Threads, Progress):
    """How fits run."""

    random_state: Any = like(Seed, doc="Seed of folds and shares, and of members whose own ``random_state`` is None.")


@parameter_group("Combining")
class Combining:
    """How answers of members are combined."""

    final_estimator: Any = parameter(
        None,
        Anything("estimator"),
        "What combines the answers of the members<default>. A stack here makes several layers.",
    )
    stack_method: str = parameter(
        "auto",
        Choice("auto", "predict_proba", "decision_function", "predict"),
        'What classifiers are asked: probabilities, raw scores or labels; "auto" takes the first that a member has.',
    )
    passthrough: bool = parameter(False, FLAG, "Let ``final_estimator`` see the columns of X too.")


@parameter_group("Rows that members have not seen")
class Folds:
    """How rows are parted."""

    cv: Any = parameter(
        "auto",
        NumberOrSplits(Number(2, 10_000, integer=True, words=("auto",))),
        "Folds. A number deals rows out by a hash of their content<strata>, or whole groups if ``groups`` is given; "
        '"auto" is 5<fewer>. Or a splitter of scikit-learn, or pairs (training rows, held-out rows).',
    )
    n_repeats: int = parameter(1, COUNT, "How often rows are dealt out anew; answers are averaged over the repeats.")
    time_ordered: bool = parameter(
        False,
        FLAG,
        "Rows are in the order of time: each of ``cv`` blocks is predicted by a model of the rows before it.",
    )
    refit: bool = parameter(
        True, FLAG, "Fit members to all rows in the end; False keeps the models of the folds and averages them."
    )


@parameter_group("Rows that members have not seen")
class OutOfFold(Folds):
    """How rows are parted, or out-of-bag predictions in the place of parts."""

    out_of_bag: Any = parameter(
        "auto",
        Choice("auto", False),
        "Take the out-of-bag predictions of forests of arboretum with at least 50 trees in the place of folds, which "
        'is faster. "auto" does so unless rows have groups, an order or splits that are given.',
        before="refit",
    )


@parameter_group("Rows that members have not seen")
class Holdout:
    """Rows held out of one fit."""

    cv: Any = parameter(
        0.2,
        NumberOrSplits(Number(0.0, 0.9, open_low=True)),
        "Rows on which answers are combined: their share<strata>, whole groups if ``groups`` is given; or a splitter "
        "of scikit-learn, or pairs (training rows, held-out rows), whose models are averaged if there are several.",
    )
    time_ordered: bool = parameter(False, FLAG, "Rows are in the order of time: the last ones are held out.")
    refit: bool = parameter(False, FLAG, "Fit members to all rows in the end, with the combination as it was learned.")
