"""The learning rate that suits a number of rows and rounds: ``learning_rate="auto"``.

More rows bear larger steps, more rounds ask for smaller ones::

    rate = min(½, exp(a · ln rows + b) · (rounds / 1000)^c)        to six decimal places

The coefficients are those of CatBoost, which fitted them to the best rates of many tables; they differ by the kind of
the target and by whether the best round is kept (early stopping) or all of them. A two-class model starts at the log
odds, a regression at its best constant, so theirs are the coefficients of ``boost_from_average=True``. A round of
CatBoost grows one tree whose leaves hold all classes; here it grows one a class, and the rate is divided among them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from arboretum.losses import Logistic, Loss, Multinomial

SMALLEST_RATE, LARGEST_RATE = 1e-6, 0.5
ROUNDS_OF_FIT = 1000  # for which a and b were fitted


class Coefficients(NamedTuple):
    """What the logarithm of the rate is made of."""

    per_log_rows: float  # a
    constant: float  # b
    per_log_rounds: float  # c


ALL_ROUNDS = {
    "regression": Coefficients(0.158, -4.287, -0.813),
    "two classes": Coefficients(0.408, -7.299, -0.928),
    "several classes": Coefficients(0.051, -2.889, -0.845),
}
BEST_ROUND = {
    "regression": Coefficients(0.157, -4.062, -0.61),
    "two classes": Coefficients(0.246, -5.127, -0.451),
    "several classes": Coefficients(0.02, -2.364, -0.382),
}


def automatic_rate(loss: Loss, n_rows: int, n_rounds: int, *, keeps_best: bool) -> float:
    """Return the learning rate for this many rows and rounds.

    Parameters
    ----------
    loss : Loss
        The log losses have coefficients of their own, all others those of regression.
    n_rows : int
        Training rows, without those held out.
    n_rounds : int
        Rounds that are asked for.
    keeps_best : bool
        Whether early stopping keeps the best round.

    Examples
    --------
    >>> from arboretum.losses import SquaredError
    >>> automatic_rate(SquaredError(), 2_000, 1_000, keeps_best=False)
    0.045682
    >>> automatic_rate(SquaredError(), 2_000, 100, keeps_best=False)
    0.29699
    """
    kind = {Logistic: "two classes", Multinomial: "several classes"}.get(type(loss), "regression")
    a, b, c = (BEST_ROUND if keeps_best else ALL_ROUNDS)[kind]
    rate = math.exp(a * math.log(n_rows) + b + c * math.log(n_rounds / ROUNDS_OF_FIT))
    return max(round(min(rate, LARGEST_RATE) / loss.n_outputs, 6), SMALLEST_RATE)
