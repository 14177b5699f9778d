"""Which rows the trees of a forest drew, made again from the rows that it was fitted on."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.reference.files import seed_of

from arboretum.data.binning import assign_bins, code_edges, learn_bins
from arboretum.data.table import read_table
from arboretum.ensembles.bagging.trees import BaggedTarget, Draws


def copies(model: Any, X: Any, target: BaggedTarget, draws: Draws) -> np.ndarray[Any, Any]:
    """How often each tree drew each row, (rows, trees)."""
    table = read_table(X)
    data = assign_bins(table, learn_bins(table, max_bins=model.max_bins, weight=target.weight))
    bootstrap = draws.pool(data, target, 1, None, code_edges(table, data.bin_map)).bootstrap
    seed = seed_of(model)
    return np.column_stack([bootstrap.copies(seed, tree, table.n_rows) for tree in range(len(model))])
