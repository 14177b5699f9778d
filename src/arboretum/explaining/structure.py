"""What the trees of a model tell about its columns: gains, nodes, rows, depths.

A use is a column that a node reads. The columns of an oblique condition share it equally, for its weights make them
spread alike, and so do the columns of a statistic of combined categories. A slope of a linear leaf is a use too,
without gain: it counts as a node at the depth of its leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from arboretum.data.schema import Schema
from arboretum.ensembles.combining.joint import combined
from arboretum.ensembles.members.goals import OneClass
from arboretum.estimators.combined import CombinedModel
from arboretum.estimators.models_of_models import ModelOfModels
from arboretum.explaining.by_predictions import has_own_trees, require_fitted
from arboretum.explaining.reading import sources
from arboretum.model.forest import Forest
from arboretum.trees.multiway_model import MultiwayModel

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Uses:
    """Every use of a column by a node.

    Parameters
    ----------
    tree, column, depth : int arrays (uses)
        Where it is, and which column of the user it reads.
    share, gain, rows : float64 arrays (uses)
        Part of the node that the column has; gain and training rows of the node.
    tree_depth : int array (trees)
        Depth of the deepest leaf of each tree.
    """

    tree: NDArray[np.intp]
    column: NDArray[np.intp]
    depth: NDArray[Any]
    share: FloatArray
    gain: FloatArray
    rows: FloatArray
    tree_depth: NDArray[Any]

    @classmethod
    def of(cls, model: Any) -> Uses:
        """Collect the uses of a fitted model.

        Examples
        --------
        >>> import arboretum as arb
        >>> model = arb.DecisionTreeRegressor().fit([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]], [0.0, 0.0, 6.0])
        >>> uses = Uses.of(model)
        >>> uses.column, uses.depth, uses.rows
        (array([0]), array([0], dtype=int32), array([3.]))
        """
        whole = model.model_
        if isinstance(whole, MultiwayModel):
            multiway = whole.tree
            inner = np.flatnonzero(multiway.kind > 0)
            return cls(
                np.zeros(len(inner), np.intp),
                multiway.feature[inner].astype(np.intp),
                multiway.depths[inner],
                np.ones(len(inner)),
                multiway.gain[inner] * multiway.weight[inner],
                multiway.weight[inner],
                np.array([multiway.depth]),
            )
        forest = whole.forest
        node, read, share = reads_with_slopes(forest)
        made_from = sources(model)
        sizes = np.array([len(columns) for columns in made_from])[read]
        use = np.repeat(np.arange(len(node)), sizes)
        column = np.array([column for place in read.tolist() for column in made_from[place]], dtype=np.intp)
        node, share = node[use], (share / sizes)[use]
        tree = np.searchsorted(forest.tree_start, node, side="right") - 1
        rows = forest.n_rows[node].astype(np.float64)
        return cls(tree, column, forest.depths[node], share, whole.gain[node], rows, forest.tree_depths())

    def gains_by_tree(self, n_columns: int) -> FloatArray:
        """Gain of each column in each tree, (trees, columns)."""
        gains = np.zeros((len(self.tree_depth), n_columns))
        np.add.at(gains, (self.tree, self.column), self.gain * self.share)
        return gains

    def kinds(self, group_of: NDArray[np.intp], n_groups: int) -> dict[str, FloatArray]:
        """Return the importances of groups of columns that trees alone can tell, by name.

        Parameters
        ----------
        group_of : int array (columns)
            Group of each column.
        n_groups : int
            Number of groups.
        """
        group = group_of[self.column]

        def summed(values: Any) -> FloatArray:
            return np.bincount(group, weights=self.share * values, minlength=n_groups).astype(np.float64)

        n_trees = len(self.tree_depth)
        least = np.repeat(self.tree_depth[:, None], n_groups, axis=1)  # of trees that never read it
        np.minimum.at(least, (self.tree, group), self.depth)
        depth = least.mean(axis=0) if n_trees else np.zeros(n_groups)
        return {
            "gain": summed(self.gain),
            "nodes": summed(1.0),
            "rows": summed(self.rows),
            "root": summed(self.depth == 0),
            "depth": depth,
            "inverse_depth": 1.0 / (1.0 + depth),
        }


def kinds_of(
    model: Any, names: Sequence[str], group_of: NDArray[np.intp], n_groups: int
) -> dict[str, FloatArray] | None:
    """Return what trees tell about groups of columns; for a model of models, the mean over its members.

    Parameters
    ----------
    model : fitted model
        With trees of its own, or with members.
    names : list of str
        Names of the columns.
    group_of, n_groups
        As for ``Uses.kinds``.

    Returns
    -------
    dict of str to float64 array, or None if a member has no trees of arboretum
    """
    if has_own_trees(model):
        return Uses.of(model).kinds(group_of, n_groups)
    found, shares = [], shares_of(model)
    if shares is None:
        return None
    for member, columns in members_of(model):
        schema = schema_of(member)
        if schema is None:
            return None
        places: Any = columns
        if schema.named:
            missing = [name for name in schema.names if name not in names]
            if missing:
                raise ValueError(f"X has no column {missing[0]!r}, which the model was fitted with")
            places = [names.index(name) for name in schema.names]
        kinds = kinds_of(member, schema.names, group_of[places], n_groups)
        if kinds is None:
            return None
        found.append(kinds)
    if not found:
        return None
    if not shares:
        return {kind: np.mean([kinds[kind] for kinds in found], axis=0) for kind in found[0]}
    # Gains of different methods have different units.
    return {
        kind: np.sum([share * normalised(kinds[kind]) for share, kinds in zip(shares, found, strict=True)], axis=0)
        for kind in found[0]
    }


def shares_of(model: Any) -> list[float] | None:
    """Return how much each member of a combined model counts; None if an estimator combines them, else nothing."""
    if not isinstance(model, CombinedModel):
        return []
    joint = combined(model.learned())
    if joint.shares is None:
        return None
    return [share / len(one.parts) for share, one in zip(joint.shares, joint.asked, strict=True) for _ in one.parts]


def members_of(model: Any) -> list[tuple[Any, Any]]:
    """Return the members of a model of models, each with the places of the columns that it sees."""
    require_fitted(model)
    if not hasattr(model, "estimators_"):
        return [(model.estimator_, slice(None))]
    features = getattr(model, "estimators_features_", None)
    stages = [stage if isinstance(stage, list) else [stage] for stage in model.estimators_]
    members = [
        (member, slice(None) if features is None else features[place])
        for place, stage in enumerate(stages)
        for member in stage
    ]
    return [(member, columns) for member, columns in members if not isinstance(member, OneClass)]


def schema_of(model: Any) -> Schema | None:
    """Return the columns of a fitted model; None if they are not known, as with estimators of other libraries."""
    if isinstance(schema := getattr(model, "schema_", None), Schema):
        return schema
    if isinstance(model, ModelOfModels) and model.learned().schema is not None:
        return cast(Schema, model.learned().schema)
    return schema_of(model.estimator_) if hasattr(model, "estimator_") else None


def gain_shares(model: Any) -> FloatArray:
    """Gains of the splits of each column, normalised to sum 1.

    Examples
    --------
    >>> import arboretum as arb
    >>> X = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    >>> gain_shares(arb.BaggingRegressor(n_estimators=3).fit(X, X[:, 0]))
    array([1., 0.])
    """
    if not has_own_trees(model):
        require_fitted(model)
    schema = schema_of(model)
    kinds = None
    if schema is not None:
        kinds = kinds_of(model, schema.names, np.arange(schema.n_features), schema.n_features)
    if schema is None or kinds is None:
        raise AttributeError(
            f"{type(model).__name__} has no feature_importances_: one of its learners is not a tree of arboretum and "
            "has no gains; importances(X, y) shuffles columns of any model"
        )
    return normalised(kinds["gain"])


def normalised(gains: FloatArray) -> FloatArray:
    """Return gains divided by their sum along the last axis; zeros where it is 0."""
    sums = gains.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(gains, sums, out=np.zeros_like(gains), where=sums > 0))


def reads_with_slopes(forest: Forest) -> tuple[NDArray[np.int64], NDArray[np.int32], FloatArray]:
    """Return (node, column, share) for every column that a condition or a slope reads."""
    node, column, share = forest.reads()
    leaves = np.repeat(np.arange(len(forest.slope_start) - 1 if forest.has_slopes else 0), np.diff(forest.slope_start))
    return (
        np.concatenate([node, leaves]),
        np.concatenate([column, forest.slope_feature]),
        np.concatenate([share, np.ones(len(leaves))]),
    )
