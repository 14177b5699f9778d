"""Means of sums of trees, which are sums of weighted trees.

::

    Σₘ wₘ · (baseₘ + Σₜ treeₘₜ)  =  Σₘ wₘ · baseₘ  +  Σₘ Σₜ wₘ · treeₘₜ            Σₘ wₘ = 1

The mean of models is one forest again, and costs no more than its trees. Snapshots of one boosted model share their
trees, so that a tree counts by the weights of all snapshots that have it (ensembles/boosting/average_rounds.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from arboretum.data.schema import Schema
from arboretum.losses import AcceleratedFailure, Loss, Ordinal
from arboretum.model.forest import CATEGORY, LISTED, Forest
from arboretum.model.heads import (
    ClassLossHead,
    ClassMeanHead,
    Head,
    LossHead,
    MeanHead,
    RankHead,
    RiskHead,
    UpliftHead,
)
from arboretum.model.model import Model

FloatArray: TypeAlias = NDArray[np.float64]

# Heads whose predictions follow from sums or means of leaf values alone.
AVERAGED = (LossHead, ClassLossHead, RankHead, RiskHead, MeanHead, ClassMeanHead, UpliftHead)


def weighted(forest: Forest, weights: FloatArray) -> Forest:
    """Multiply what each tree adds by its weight: values of all nodes, slopes of leaves, and gains.

    Parameters
    ----------
    forest : Forest
        The trees; their base stays as it is.
    weights : float64 array (trees)
        One weight per tree.

    Examples
    --------
    >>> import arboretum as arb
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 3.0]
    >>> trees = arb.BoostedTreesRegressor(n_estimators=2).fit(X, y).forest_
    >>> half = weighted(trees, np.array([1.0, 0.5]))
    >>> bool((half[1:].value == trees[1:].value / 2).all()), bool((half.base == trees.base).all())
    (True, True)
    """
    of_nodes = np.repeat(weights, np.diff(forest.tree_start))
    of_slopes = np.repeat(of_nodes, np.diff(forest.slope_start) if forest.has_slopes else 0)
    return replace(
        forest,
        value=forest.value * of_nodes[:, np.newaxis],
        gain=forest.gain * of_nodes,
        slope_weight=forest.slope_weight * of_slopes,
    )


def weighted_sum(forests: Sequence[Forest], weights: Sequence[float]) -> Forest:
    """Return one forest whose sums are the weighted sums of several forests with equal outputs.

    Examples
    --------
    >>> import arboretum as arb
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 3.0]
    >>> one, two = (arb.BoostedTreesRegressor(n_estimators=n).fit(X, y) for n in (2, 3))
    >>> both = weighted_sum([one.forest_, two.forest_], [0.25, 0.75])
    >>> both.n_trees, bool(np.allclose(both.base, 1.0))
    (5, True)
    """
    base = np.sum([forest.base * weight for forest, weight in zip(forests, weights, strict=True)], axis=0)
    parts = [
        replace(weighted(forest, np.full(forest.n_trees, weight)), base=np.zeros_like(base))
        for forest, weight in zip(forests, weights, strict=True)
    ]
    return replace(Forest.concat(parts), base=base)


# ---- models ----------------------------------------------------------------------------------------------------------


def mean_model(models: Sequence[Model], weights: Sequence[float]) -> Model:
    """Return the model whose raw predictions, or means of trees, are the weighted means of those of several models.

    Parameters
    ----------
    models : sequence of Model
        Models between which ``difference`` finds none; the result has the policy, name and notes of the first.
    weights : sequence of float
        One weight above 0 per model.
    """
    first, total = models[0], float(np.sum(weights))
    shares = [weight / total for weight in weights]
    if isinstance(first.head, MeanHead):  # which divides sums by the weight of all trees
        counts = [model.forest.n_trees for model in models]
        whole, parts = first.head.weight_of(sum(counts)), [float(model.explained()[1]) for model in models]
        shares = [weight * whole / (total * part) for weight, part in zip(weights, parts, strict=True)]
    forest = weighted_sum([recoded(model.forest, model.schema, first.schema) for model in models], shares)
    head = _mean_head([model.head for model in models], shares, forest)
    return replace(first, forest=forest, schema=_common_schema([model.schema for model in models]), head=head)


def _mean_head(heads: Sequence[Head], shares: Sequence[float], forest: Forest) -> Head:
    head = heads[0]
    if isinstance(head, MeanHead):
        if isinstance(head, ClassMeanHead) and head.voting == "hard" and set(shares) != {1.0}:
            raise ValueError(
                "voting='hard' counts the votes of trees, which have no weights: give equal weights and forests with "
                "the same number of trees, or fit with voting='soft'"
            )
        return head.of(forest)
    if isinstance(head, RiskHead) and len(heads) > 1:
        of_risks = [one for one in heads if isinstance(one, RiskHead)]
        times = np.unique(np.concatenate([one.event_times for one in of_risks if one.event_times is not None]))
        return replace(head.of_first_rounds(), loss=_mean_of_scales(of_risks, shares), event_times=times)
    if isinstance(head, LossHead) and isinstance(head.loss, Ordinal):
        # The log-odds of y ≤ k are threshold − raw: their means are those of thresholds, less those of raw.
        known = [one.loss.thresholds for one in heads if isinstance(one, LossHead) and isinstance(one.loss, Ordinal)]
        thresholds = np.average(np.array(known, dtype=np.float64), axis=0, weights=shares)
        return replace(head, loss=replace(head.loss, thresholds=tuple(thresholds.tolist())))
    return head


def _mean_of_scales(heads: Sequence[RiskHead], shares: Sequence[float]) -> Loss:
    """Return the loss of the heads, with the mean of the scales that they have learnt."""
    losses = [head.loss for head in heads]
    scales = [loss.scale for loss in losses if isinstance(loss, AcceleratedFailure) and loss.learns_scale]
    if not scales:
        return losses[0]
    scale = float(np.average(np.array(scales), weights=shares))
    return replace(cast(AcceleratedFailure, losses[0]), scale=scale)


def _common_schema(schemas: Sequence[Schema]) -> Schema:
    """Return the columns; missing values are expected where all models have seen some."""
    columns = [
        replace(column, has_missing=all(schema.columns[place].has_missing for schema in schemas))
        for place, column in enumerate(schemas[0].columns)
    ]
    return replace(schemas[0], columns=tuple(columns))


def difference(one: Model, other: Model) -> str | None:
    """Return what the other model has, unlike the first, so that their mean is not one forest; None if nothing."""
    found = _difference_of_columns(one.schema, other.schema)
    if found is None and not _can_be_recoded(other, one.schema):
        found = "categories in another order of frequency, by which its trees or statistics tell rare ones apart"
    if found is None and not _same_encoding(one, other):
        found = "other statistics of categories: fit all models to the same rows"
    if found is None and one.unknown != other.unknown:
        found = f"unknown={other.unknown!r}, not {one.unknown!r}"
    found = found or _difference_of_heads(one.head, other.head)
    if found is None and one.forest.width != other.forest.width:
        found = f"leaves of {other.forest.width} values, not {one.forest.width}: fit all with the same vector_leaves"
    return found


def _difference_of_columns(one: Schema, other: Schema) -> str | None:
    if one.names != other.names:
        lost, extra = sorted(set(one.names) - set(other.names)), sorted(set(other.names) - set(one.names))
        if not lost and not extra:
            return f"its columns in another order: {', '.join(map(repr, other.names[:10]))}"
        return f"other columns; missing: {lost[:10]}, unexpected: {extra[:10]}"
    for mine, its in zip(one.columns, other.columns, strict=True):
        if (mine.kind, mine.source) != (its.kind, its.source):
            return f"a column {its.name!r} of {its.kind} {its.source}, not of {mine.kind} {mine.source}"
        if set(mine.categories) != set(its.categories):
            different = sorted(set(mine.categories) ^ set(its.categories), key=str)
            return f"other categories of column {its.name!r}, such as {different[0]!r}"
    return None


def _same_encoding(one: Model, other: Model) -> bool:
    if one.encoding is None or other.encoding is None:
        return one.encoding is other.encoding
    mine, its = one.encoding.to_arrays(), other.encoding.to_arrays()
    same = one.encoding.to_json() == other.encoding.to_json() and mine.keys() == its.keys()
    return same and all(np.array_equal(mine[name], its[name]) for name in mine)


# ---- categories ------------------------------------------------------------------------------------------------------


def recoded(forest: Forest, known: Schema, wanted: Schema) -> Forest:
    """Return a forest that reads codes of categories as another schema has them: the same ones in another order."""
    for column, places in _moved(known, wanted).items():
        words = forest.set_words.copy()
        for node in np.flatnonzero(forest.feature == column):
            part = slice(*forest.set_start[node : node + 2].tolist())
            if forest.kind[node] == LISTED:
                words[part] = np.sort(places[words[part]])
            elif forest.kind[node] == CATEGORY:
                bits = np.unpackbits(words[part].view(np.uint8), bitorder="little")
                moved = np.zeros_like(bits)
                moved[places] = bits[: len(places)]
                words[part] = np.packbits(moved, bitorder="little").view(np.uint32)
        forest = replace(forest, set_words=words)
    return forest


def _moved(known: Schema, wanted: Schema) -> dict[int, NDArray[np.uint32]]:
    """Return, for each column whose categories have other codes, the new code of each."""
    pairs = enumerate(zip(known.columns, wanted.columns, strict=True))
    return {
        place: np.array([its.code[category] for category in mine.categories], np.uint32)
        for place, (mine, its) in pairs
        if mine.categories != its.categories
    }


def _can_be_recoded(model: Model, wanted: Schema) -> bool:
    """Return whether sets of trees hold all categories that have other codes; those beyond a set are unknown to it."""
    moved, forest = _moved(model.schema, wanted), model.forest
    if moved and model.encoding is not None:
        return False
    n_bits = np.where(forest.kind == CATEGORY, 32 * np.diff(forest.set_start), np.iinfo(np.int64).max)
    return all((n_bits[forest.feature == column] >= len(places)).all() for column, places in moved.items())


# ---- heads -----------------------------------------------------------------------------------------------------------


def _difference_of_heads(one: Head, other: Head) -> str | None:
    if type(one) is not type(other):
        return "predictions of another kind"
    if isinstance(one, LossHead) and isinstance(other, LossHead) and not one.loss.continues(other.loss):
        return f"loss {other.loss!r}, not {one.loss!r}"
    mine, its = _labels(one), _labels(other)
    if mine != its:
        return f"classes {its}, not {mine}"
    if isinstance(one, ClassMeanHead) and isinstance(other, ClassMeanHead):
        if one.voting != other.voting:
            return f"voting={other.voting!r}, not {one.voting!r}"
        if (one.prior_trees > 0) != (other.prior_trees > 0):
            return f"prior_trees={other.prior_trees!r}, not {one.prior_trees!r}"
    if isinstance(one, MeanHead) and not one.is_like(other):
        return "other arms or outcomes"
    return None


def _labels(head: Head) -> list[Any]:
    """Return the labels of all outputs."""
    outputs = [] if head.classes is None else head.classes if isinstance(head.classes, list | tuple) else [head.classes]
    return [labels.tolist() for labels in outputs]
