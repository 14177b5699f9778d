"""The parameters of oblique splits, as forests and single trees share them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.data.binning import BinMap
from arboretum.data.table import Table
from arboretum.growing.projections import Sparsity, projections


def check_oblique(model: Any) -> None:
    """Reject ``n_projections`` and ``projection_density`` where nothing is projected."""
    for name in ("n_projections", "projection_density"):
        if not model.oblique and getattr(model, name) is not None:
            raise ValueError(f"{name}={getattr(model, name)!r} without oblique: set oblique=True or leave it None")


def refuse_monotone() -> None:
    """Tell that a sum of columns cannot be monotone in one of them."""
    raise ValueError(
        "monotonic_cst is not supported with oblique=True, whose conditions mix columns: set oblique=False or "
        "monotonic_cst=None"
    )


def projections_of(
    model: Any, table: Table, bin_map: BinMap, weight: NDArray[np.float64] | None, features_a_node: int
) -> _kernel.Projections | None:
    """Return what nodes project, None without oblique splits; by default as many projections as features a node."""
    if not model.oblique:
        return None
    n_projections = model.n_projections or features_a_node or table.schema.n_features
    return projections(table, bin_map, Sparsity(n_projections, model.projection_density), weight=weight)
