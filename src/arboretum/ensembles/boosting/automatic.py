"""What "auto" means for parameters of boosted trees: simple functions of the rows (docs/boosting-defaults.md).

Tables of fewer than ``LARGE_TABLE`` rows are too small to hold rows out of, and each of their trees sees all rows; so
there a weight of 2 is the same as a row given twice.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.exact_sums import exact_mean
from arboretum.losses import Logistic, Loss

FloatArray: TypeAlias = NDArray[np.float64]

LARGE_TABLE = 1_000  # rows from which some are held out to stop early, and trees see samples of rows
REFIT_ROWS = 50_000  # rows from which those held out are too few of all to be worth a second fit
LEAF_PENALTY = 10.0
SAMPLED_SHARE = 0.7
FEWEST_HELD_QUERIES = 100  # NDCG of fewer is too noisy to compare rounds by: all are held out, fold by fold
FEWEST_HELD_EVENTS = 100  # likelihoods of fewer are as noisy
FEWEST_EVENTS = 20  # from which rounds are sought on events held out
FOLDS = 5


def least_rows_of_leaf(loss: Loss, n_rows: int) -> int:
    """Return 3, or a fiftieth of the rows if there are fewer than 150; of times to an event 20, or a fifth."""
    most, part = (20, 5) if loss.task == "survival" else (3, 50)
    return max(1, min(most, n_rows // part))


def leaf_penalty(weight: FloatArray | None, n_rows: int) -> float:
    """Return 10 times the mean weight of a row, or a hundredth of the total weight of a small table.

    So the unit of the weights does not matter, and in a small table they equal repetitions.
    """
    mean = 1.0 if weight is None else exact_mean(weight)
    return mean * LEAF_PENALTY * min(1.0, n_rows / LARGE_TABLE)


def leaf_steps(loss: Loss) -> int:
    """Return CatBoost's number of Newton steps per leaf: 10 for the log loss of two classes, otherwise 1."""
    return 10 if isinstance(loss, Logistic) else 1


def share_of_rows(sampling: str, n_rows: int) -> float:
    """Return the share of the rows that a tree sees: 1 for a small table, or if the sampling has its own shares."""
    return SAMPLED_SHARE if sampling in ("subsample", "stratified", "mvs") and n_rows >= LARGE_TABLE else 1.0


def holds_out(n_rows: int) -> bool:
    """Return whether rows are held out to stop early on."""
    return n_rows >= LARGE_TABLE


def fits_again(n_rows: int) -> bool:
    """Return whether all rows are fitted again after some were held out."""
    return n_rows < REFIT_ROWS


def races(n_rows: int) -> bool:
    """Return whether settings race on rows held out: on fewer the losses are too noisy, on more it takes too long."""
    return LARGE_TABLE <= n_rows < REFIT_ROWS
