"""What "auto" means for parameters of boosted trees: simple functions of the rows (docs/boosting-defaults.md).

::

    release ──RELEASES──► Automatic: constants, and the functions that they enter ──► parameters of the engine

Tables of fewer than ``large_table`` rows are too small to hold rows out of, and each of their trees sees all rows; so
there a weight of 2 is the same as a row given twice.

A release that changes a constant gets a line of its own in ``RELEASES``, which leaves the lines of earlier releases as
they are: ``defaults="0.1"`` makes the choices of that release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.boosting.automatic_rate import COEFFICIENTS, Coefficients, automatic_rate
from arboretum.exact_sums import exact_mean
from arboretum.losses import Logistic, Loss, Quantile, Quantiles

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Automatic:
    """The automatic choices of a release.

    Parameters
    ----------
    large_table : int
        Rows from which some are held out to stop early, and trees see samples of rows.
    refit_rows : int
        Rows from which those held out are too few of all to be worth a second fit.
    mean_penalty : float
        Penalty on leaf values in large tables, in mean weights.
    sampled_share : float
        Share of the rows of a large table that a tree sees.
    leaves, ranking_leaves : int
        Leaves of trees that grow leaf by leaf.
    fewest_held_queries, fewest_held_events : int
        NDCG of fewer queries, and the likelihood of fewer events, are too noisy to compare rounds by: all are held
        out, fold by fold.
    folds : int
        Number of these folds.
    fewest_events : int
        From which rounds are sought on events held out.
    rates : mapping
        Coefficients of learning rates.

    Examples
    --------
    >>> of_release("0.1").holds_out(500), of_release(None).holds_out(5_000)
    (False, True)
    """

    large_table: int = 1_000
    refit_rows: int = 50_000
    mean_penalty: float = 10.0
    sampled_share: float = 0.7
    leaves: int = 31
    ranking_leaves: int = 8
    fewest_held_queries: int = 100
    fewest_held_events: int = 100
    folds: int = 5
    fewest_events: int = 20
    rates: Mapping[str, Coefficients] = field(default_factory=lambda: COEFFICIENTS)

    def least_rows_of_leaf(self, loss: Loss, n_rows: int) -> int:
        """Return 3, at most a fiftieth of the rows; 20 for quantiles and times, which few rows tell little of."""
        most, part = 3, 50
        if isinstance(loss, Quantile | Quantiles):
            most, part = 20, 15
        elif loss.task == "survival":
            most, part = 20, 5
        return max(1, min(most, n_rows // part))

    def leaf_penalty(self, weight: FloatArray | None, n_rows: int) -> float:
        """Return 10 times the mean weight of a row, or a hundredth of the total weight of a small table.

        So the unit of the weights does not matter, and in a small table they equal repetitions.
        """
        mean = 1.0 if weight is None else exact_mean(weight)
        return mean * self.mean_penalty * min(1.0, n_rows / self.large_table)

    def leaves_of_tree(self, loss: Loss) -> int:
        """Return the leaves of a tree that grows leaf by leaf: few for orders, since queries are fewer than rows."""
        return self.ranking_leaves if loss.task == "ranking" else self.leaves

    def learning_rate(
        self, loss: Loss, n_rows: int, n_rounds: int, *, keeps_best: bool, vector_leaves: bool = False
    ) -> float:
        """Return the learning rate for this many rows and rounds (automatic_rate.py)."""
        return automatic_rate(
            loss, n_rows, n_rounds, keeps_best=keeps_best, vector_leaves=vector_leaves, coefficients=self.rates
        )

    def leaf_steps(self, loss: Loss) -> int:
        """Return CatBoost's number of Newton steps per leaf: 10 for the log loss of two classes, otherwise 1."""
        return 10 if isinstance(loss, Logistic) else 1

    def share_of_rows(self, sampling: str, n_rows: int) -> float:
        """Return the share of the rows that a tree sees: 1 for a small table, or if the sampling has its own shares."""
        samples = sampling in ("subsample", "stratified", "mvs") and n_rows >= self.large_table
        return self.sampled_share if samples else 1.0

    def holds_out(self, n_rows: int) -> bool:
        """Return whether rows are held out to stop early on."""
        return n_rows >= self.large_table

    def fits_again(self, n_rows: int) -> bool:
        """Return whether all rows are fitted again after some were held out."""
        return n_rows < self.refit_rows

    def races(self, n_rows: int) -> bool:
        """Return whether settings race on rows held out: fewer are too noisy a judge, with more it takes too long."""
        return self.large_table <= n_rows < self.refit_rows


RELEASES: Mapping[str, Automatic] = {"0.1": Automatic()}
NEWEST = "0.1"


def of_release(name: str | None) -> Automatic:
    """Return the automatic choices of a release, by default those of the newest."""
    return RELEASES[NEWEST if name is None else name]
