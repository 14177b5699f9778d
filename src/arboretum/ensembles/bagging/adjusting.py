"""Outcomes minus those that columns predict, so that effects do not drown in them (Athey, Tibshirani & Wager 2019).

Let m(x) be the expected outcome of a row, whatever its treatment, by the trees of a forest that have not drawn it.
Uplift trees grow on y − m(x); for an arm, a leaf then predicts

    mean of m(x) over its rows + mean of y − m(x) over its rows of the arm

so that arms of one leaf differ by their effects alone, not by which rows each of them happens to hold.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from arboretum import _kernel, places
from arboretum.ensembles.bagging.trees import (
    BaggedRows,
    BaggedTarget,
    BaggingParams,
    Draws,
    FloatArray,
    bag,
    out_of_bag_sums,
)
from arboretum.exact_sums import exact_mean
from arboretum.growing.grower import SplitRules
from arboretum.running.interruption import inner_fits

if TYPE_CHECKING:
    from arboretum.ensembles.bagging.preparation import TrainingSet

N_TREES, ROWS_OF_LEAF, SHARE_OF_COLUMNS = 100, 5, 1 / 3
PURPOSE = 0x65787065637465  # "expecte": keeps these draws apart from those of the uplift trees


def expected_outcomes(training: TrainingSet, seed: int, threads: int) -> FloatArray:
    """Return m(x) of each row, the mean of all rows where every tree has drawn the row."""
    target = training.target
    outcomes = BaggedTarget("squared_error", target.weight, numbers=target.numbers)
    bootstrap = Draws(1.0).pool(training.data, target, threads, edges=training.edges).bootstrap
    n_columns = max(1, math.ceil(SHARE_OF_COLUMNS * training.schema.n_features))
    rules = SplitRules(min_samples_leaf=ROWS_OF_LEAF, max_features=n_columns)
    params = BaggingParams(N_TREES, rules, _kernel.draw(seed, PURPOSE, 0), threads)
    with inner_fits():
        forest, _ = bag(training.data, training.edges, outcomes, bootstrap, params)
    leaves = partial(training.leaves_here, forest, threads)
    rows = BaggedRows(leaves, bootstrap, params.seed, target.n_rows, training.given.placed.own)
    sums, counts = map(places.whole, out_of_bag_sums(forest, rows))
    assert target.numbers is not None
    weight = np.ones(target.n_rows) if target.weight is None else target.weight
    with places.among(None):  # every place has the outcomes of all rows
        everywhere = exact_mean(target.numbers[:, 0], weight)
    return np.where(counts > 0, sums[:, 0] / np.maximum(counts, 1), everywhere)


def adjusted(training: TrainingSet, seed: int, threads: int) -> TrainingSet:
    """Return the rows with outcomes less the expected ones, which their treatment then tells."""
    target, expected = training.target, expected_outcomes(training, seed, threads)
    assert target.numbers is not None
    assert target.treatment is not None
    rest = replace(
        target,
        numbers=np.ascontiguousarray(target.numbers - expected[:, None]),
        treatment=replace(target.treatment, expected=expected),
    )
    return replace(training, given=replace(training.given, target=rest))
