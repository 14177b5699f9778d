"""The learning rate that suits a number of rounds and rows: ``learning_rate="auto"``.

Where early stopping keeps the best round, the rate follows from the most rounds that are allowed::

    rate = 0.1 · (100 / rounds)^0.6        up to 100 rounds
    rate = 0.1 · (100 / rounds)^0.15       beyond

Several classes need shorter steps: their d is 0.3, otherwise 0.15, so that 1,000 rounds have a rate of 0.05 or 0.07.

Where all rounds are kept, more rows allow larger steps::

    rate = exp(a · ln max(rows, 500) + b) · (rounds / 1000)^c        to six decimal places

These coefficients are CatBoost's, which fitted them to the best rates of many tables, for ``boost_from_average=True``:
a two-class model starts at the log odds, a regression at its best constant. A round of CatBoost grows one tree whose
leaves hold all classes; where it grows one tree per class, the rate is divided among them; outputs that are not classes
of one target do not share a rate. No rate is above 0.3.

Those of rankings are ours: all steps together are 7 long, whatever the number of rounds. Few queries tell little, and
longer fits learn their noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from arboretum.losses import EachOutput, Logistic, Loss, Multinomial, Ordinal

SMALLEST_RATE, LARGEST_RATE = 1e-6, 0.3
ROUNDS_OF_FIT = 1000  # for which a and b were fitted
FEWEST_ROWS = 500  # smaller tables share a rate, so that weights equal repetitions there


class Coefficients(NamedTuple):
    """Coefficients of the logarithm of the rate."""

    per_log_rows: float  # a
    constant: float  # b
    per_log_rounds: float  # c
    per_log_best: float  # d, where the best round is kept


COEFFICIENTS = {
    "regression": Coefficients(0.158, -4.287, -0.813, 0.15),
    "two classes": Coefficients(0.408, -7.299, -0.928, 0.15),
    "several classes": Coefficients(0.051, -2.889, -0.845, 0.3),
    "ranking": Coefficients(0.0, -4.962, -1.0, 0.15),
}


def automatic_rate(
    loss: Loss,
    n_rows: int,
    n_rounds: int,
    *,
    keeps_best: bool,
    vector_leaves: bool = False,
    coefficients: Mapping[str, Coefficients] = COEFFICIENTS,
) -> float:
    """Return the learning rate for this many rows and rounds.

    Parameters
    ----------
    loss : Loss
        The log losses and rankings have coefficients of their own, all others those of regression.
    n_rows : int
        Training rows.
    n_rounds : int
        Number of rounds requested.
    keeps_best : bool
        Whether early stopping keeps the best round.
    vector_leaves : bool
        Whether each round grows one tree for all outputs.
    coefficients : mapping
        Coefficients of each kind of loss.

    Examples
    --------
    >>> from arboretum.losses import SquaredError
    >>> automatic_rate(SquaredError(), 2_000, 1_000, keeps_best=False)
    0.045682
    >>> automatic_rate(SquaredError(), 2_000, 200, keeps_best=False)
    0.169046
    >>> automatic_rate(SquaredError(), 2_000, 1_000, keeps_best=True)
    0.070795
    """
    own = loss.loss if isinstance(loss, EachOutput) else loss
    usual = "ranking" if own.task == "ranking" else "regression"
    kinds = {Logistic: "two classes", Ordinal: "two classes", Multinomial: "several classes"}
    a, b, c, d = coefficients[kinds.get(type(own), usual)]
    if keeps_best:
        rate = 0.1 * math.pow(100 / n_rounds, 0.6 if n_rounds <= 100 else d)
        return max(round(min(rate, LARGEST_RATE), 6), SMALLEST_RATE)
    rate = math.exp(a * math.log(max(n_rows, FEWEST_ROWS)) + b + c * math.log(n_rounds / ROUNDS_OF_FIT))
    n_shares = 1 if vector_leaves else own.n_outputs
    return max(round(min(rate, LARGEST_RATE) / n_shares, 6), SMALLEST_RATE)
