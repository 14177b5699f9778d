"""What the parameters of forests and single trees mean for growing."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.data.binning import BinMap
from arboretum.data.schema import Schema
from arboretum.data.table import Table
from arboretum.ensembles.bagging.parameters import AUTO, features_a_node
from arboretum.ensembles.training_memory import bagging_bytes, check_counts
from arboretum.growing.constraints import monotone_directions
from arboretum.growing.projections import Sparsity, projections
from arboretum.parameters.declaring import parameters_of
from arboretum.parameters.shared import Missing, Unknown
from arboretum.running.threads import n_threads

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """Settings of growing; a parameter that a model lacks keeps the default given here, which has no effect.

    Two are not parameters: ``random_thresholds`` distinguishes extra trees from other forests; ``least_weight`` is
    that of a leaf, which stands for ``min_samples_leaf="auto"``.
    """

    max_bins: int | None = None
    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float | str | None = 1
    min_weight_fraction_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    max_features: Any = None
    oblique: bool = False
    n_projections: int | None = None
    projection_density: float | None = None
    monotonic_cst: Any = None
    bootstrap: bool | str = False
    max_samples: float | int | None = None
    oob_score: Any = False
    keep_bags: bool = False
    categorical_features: Any = None
    unknown: Unknown = "average"
    missing: Missing = "warn"
    n_jobs: int | None = None
    random_thresholds: bool = False
    least_weight: float = 0.0

    @classmethod
    def of(cls, given: Any, *, random_thresholds: bool = False) -> Settings:
        """Read the parameters that an object declares."""
        declared = parameters_of(type(given))
        found = {field.name: getattr(given, field.name) for field in fields(cls) if field.name in declared}
        return cls(**found, random_thresholds=random_thresholds)

    @property
    def policy(self) -> dict[str, Any]:
        """How a model treats unknown categories and new missing values."""
        return {"unknown": self.unknown, "missing": self.missing}

    def features_a_node(self, schema: Schema) -> int:
        """Return how many features a node considers."""
        return features_a_node(self.max_features, schema.n_features)

    def training_bytes(self, n_rows: int, n_features: int) -> int:
        """Return the memory that growing needs besides codes and trees."""
        check_counts(n_rows=n_rows, n_features=n_features)
        return bagging_bytes(n_rows, bootstrap=self.bootstrap is not False, threads=n_threads(self.n_jobs))

    def projections(self, table: Table, bin_map: BinMap, weight: FloatArray | None) -> _kernel.Projections | None:
        """Return how nodes project columns, None without oblique splits; by default one sum per feature considered."""
        if not self.oblique:
            return None
        n_sums = self.n_projections or self.features_a_node(table.schema) or table.schema.n_features
        return projections(table, bin_map, Sparsity(n_sums, self.projection_density), weight=weight)

    def directions(self, schema: Schema, width: int) -> tuple[int, ...]:
        """Return the monotone direction of each column, None if all are free, for leaves of ``width`` values."""
        directions = monotone_directions(self.monotonic_cst, schema)
        if directions and self.oblique:
            raise ValueError(
                "monotonic_cst is not supported with oblique=True, whose conditions mix columns: set oblique=False or "
                "monotonic_cst=None"
            )
        if directions and width > 1:
            raise ValueError(
                f"monotonic_cst is not supported for leaves of {width} values (several outputs, or multiclass): fit "
                "one model per output, or one class against the rest"
            )
        return directions


@dataclass(frozen=True)
class Choice:
    """What "auto" stands for.

    Parameters
    ----------
    max_features : str or float
        Columns of a node.
    least_draws : int
        Minimum number of draws in a leaf, or of rows where trees use every row; a row counts as often as it was drawn,
        so that a row of weight 2 is the same as two rows.

    Examples
    --------
    >>> settled = Choice("sqrt", 2).settle(Settings(max_features="auto", min_samples_leaf=5))
    >>> settled.max_features, settled.min_samples_leaf, settled.least_weight
    ('sqrt', 5, 0.0)
    """

    max_features: str | float
    least_draws: int

    @property
    def least_weight(self) -> float:
        """Minimum weight of a leaf: half a draw less, so that rounding does not matter; 0 if no draw is too few."""
        return self.least_draws - 0.5 if self.least_draws > 1 else 0.0

    def settle(self, settings: Settings) -> Settings:
        """Return settings without "auto"."""
        if settings.max_features == AUTO:
            settings = replace(settings, max_features=self.max_features)
        if settings.min_samples_leaf == AUTO:
            settings = replace(settings, min_samples_leaf=1, least_weight=self.least_weight)
        return settings


def rows_of_share(value: int | float, n_rows: int) -> int:
    """Return a number of rows from a parameter that is a number or a share of the rows.

    Examples
    --------
    >>> rows_of_share(3, 100), rows_of_share(0.025, 100)
    (3, 3)
    """
    return math.ceil(value * n_rows) if isinstance(value, float) else int(value)
