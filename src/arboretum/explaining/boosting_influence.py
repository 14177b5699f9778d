"""Influence of training rows on boosted trees: the rounds in reverse.

With every tree's shape kept, the value of a leaf is a function of the gradients of its rows, these of their raw
predictions before the round, and these of the leaves before::

    raw₀ ──► g, h ──► leaf values ──► raw₁ ──► g, h ──► leaf values ──► raw₂ … prediction of a new row

Derivatives of one prediction by all of that come from one walk from right to left (kernel/explain/influence.hpp). The
start is a tree of one leaf. Two things make estimates better than derivatives: a row that is left out leaves the sums
of its leaf at once, not by an infinitesimal weight::

    removal = rate · (g + h · v) / (H − h + l2)        v the leaf's value before the learning rate, H its Σ hessians

and how the step of a leaf hangs on raw predictions, h + h′ · v, is read off as the hessian at raw + v.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.ensembles.boosting.parameters import leaf_penalty
from arboretum.ensembles.boosting.recipe import notes_of
from arboretum.ensembles.boosting.rounds import renews_leaves
from arboretum.ensembles.boosting.rows import user_shape
from arboretum.growing.grower import ALL_OUTPUTS
from arboretum.losses import FunctionLoss, Loss, Multinomial
from arboretum.model.forest import Forest
from arboretum.running.threads import n_threads

if TYPE_CHECKING:
    from arboretum.estimators.boosted_trees import BoostedTrees

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int32]

STILL = 1e-6  # Σ gradients, as a share of Σ |gradients|, at a constant that is the best


def boosting_influence(
    model: BoostedTrees, X: Any, y: Any, X_train: Any, y_train: Any, sample_weight: Any
) -> tuple[Callable[[slice, int], FloatArray], int, int, int]:
    """Return influence as a function of rows and an output, and the numbers of rows, training rows and outputs."""
    inner, threads = model.model_, n_threads(model.n_jobs)
    forest = inner.forest
    _reject_what_has_no_derivative(model, forest)
    recipe = model.recipe().behind(inner)
    problem, target = recipe.read(X_train, y_train, sample_weight, earlier=inner)
    table = inner.as_read(problem.table, threads)
    training = _Training(
        forest=forest,
        loss=model.loss_,
        rule=_LeafStep(
            rate=model.learning_rate_ / model.trees_per_round_,
            l1=float(model.l1),
            l2=leaf_penalty(recipe.given, problem.weight, problem.table.n_rows),
            limit=float(model.max_delta_step) or np.inf,
            counts_rows=not model.second_order and model.leaf_steps == 0,
        ),
        trees_of_round=forest.n_trees // max(model.n_iter_, 1),
        leaves=np.ascontiguousarray(inner.leaves_of_read(table, threads).T),
        y=problem.y,
        weight=problem.weight,
        raw=np.ascontiguousarray(inner.raw_of_read(table, threads).T),
        threads=threads,
    )
    new = inner.conform(X)
    leaves = inner.leaves(new, threads)
    if y is None:
        seeds = np.broadcast_to(np.eye(forest.n_outputs)[:, None], (forest.n_outputs, new.n_rows, forest.n_outputs))
    else:
        goal = model.goal()
        codes, _ = goal.read_validation(goal.as_column(y, new.n_rows), None, target)
        raw = inner.raw(new, threads)
        gradients, _ = model.loss_.gradients(codes, raw[:, 0] if raw.shape[1] == 1 else raw)
        seeds = gradients.reshape(1, new.n_rows, forest.n_outputs)

    def part(rows: slice, output: int) -> FloatArray:
        return training.influence(np.ascontiguousarray(seeds[output, rows]), leaves[rows])

    return part, new.n_rows, problem.table.n_rows, len(seeds)


def _reject_what_has_no_derivative(model: BoostedTrees, forest: Forest) -> None:
    loss, reason = model.loss_, None
    if isinstance(loss, FunctionLoss):
        reason = f"{loss!r} is a function that is asked about all rows at once: derive a class from Loss"
    elif model.has_offset_:
        reason = "it was fitted with an offset: fit without one"
    elif not loss.row_wise:
        reason = f"loss {loss.name!r} compares rows with one another: use a loss of single rows"
    elif renews_leaves(loss):
        reason = f"loss {loss.name!r} has leaves that are not a smooth function of weights: use 'squared_error'"
    elif forest.has_slopes:
        reason = "leaves are linear: use leaf_model='constant' and race=False"
    elif model.dart_rate:
        reason = f"dart_rate={model.dart_rate!r} grows trees from gradients of parts of the model: use dart_rate=0"
    elif notes_of(model.model_).is_averaged:
        reason = "its trees have the weights of an average: ask the model that it was made from"
    if reason is not None:
        raise ValueError(f"influence of training rows is not known for this model: {reason}")


@dataclass(frozen=True)
class _LeafStep:
    """How a leaf's value follows from sums of gradients and hessians."""

    rate: float  # of each tree of a round
    l1: float
    l2: float
    limit: float
    counts_rows: bool  # least squares: a row's hessian is its weight

    def is_held(self, value: FloatArray) -> NDArray[np.bool_]:
        """Whether a leaf stays where it is when its gradients change a little."""
        return np.asarray(((self.l1 > 0) & (value == 0)) | (np.abs(value) >= self.limit))


@dataclass(frozen=True, eq=False)
class _Tree:
    """One tree, or the start, of one output: leaf of each training row, values of nodes before the learning rate."""

    leaf: IntArray
    value: FloatArray
    output: int
    rule: _LeafStep


@dataclass(frozen=True, eq=False)
class _Training:
    """Training rows in a fitted forest; arrays of rows are (outputs or trees, rows)."""

    forest: Forest
    loss: Loss
    rule: _LeafStep
    trees_of_round: int
    leaves: IntArray
    y: FloatArray
    weight: FloatArray | None
    raw: FloatArray
    threads: int

    def influence(self, seed: FloatArray, leaves: IntArray) -> FloatArray:
        """Influence (new rows, training rows) on what has the derivatives ``seed`` by raw predictions of new rows."""
        n_outputs, n = self.raw.shape
        adjoint, total = np.zeros((len(seed), n_outputs, n)), np.zeros((len(seed), n))
        raw = self.raw.copy()
        for first in reversed(range(0, self.forest.n_trees, self.trees_of_round)):
            trees = self._trees(first)
            for tree in trees:
                raw[tree.output] -= tree.rule.rate * tree.value[tree.leaf]
            places = [t for t in range(first, first + self.trees_of_round) for _ in self._outputs(t)]
            self._walk_back(trees, raw, seed, leaves[:, places], adjoint, total)
        start = [
            _Tree(np.zeros(n, np.int32), np.zeros(1), output, _LeafStep(1.0, 0.0, 0.0, np.inf, False))
            for output in range(n_outputs)
        ]
        if self._starts_best(raw):
            self._walk_back(start, raw, seed, np.zeros((len(seed), n_outputs), np.int32), adjoint, total)
        return total

    def _outputs(self, tree: int) -> list[int]:
        own = int(self.forest.tree_output[tree])
        return list(range(self.forest.n_outputs)) if own == ALL_OUTPUTS else [own]

    def _trees(self, first: int) -> list[_Tree]:
        forest, found = self.forest, []
        for t in range(first, first + self.trees_of_round):
            values = forest.value[forest.tree_start[t] : forest.tree_start[t + 1]] / self.rule.rate
            for column, output in enumerate(self._outputs(t)):
                found.append(_Tree(self.leaves[t], np.ascontiguousarray(values[:, column]), output, self.rule))
        return found

    def _starts_best(self, raw: FloatArray) -> bool:
        """Whether the start is the best constant, so that its gradients tell how it moves."""
        gradients, _ = self._gradients(raw)
        return bool((np.abs(gradients.sum(axis=1)) <= STILL * np.abs(gradients).sum(axis=1)).all())

    def _gradients(self, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weighted gradients and hessians, (outputs, rows)."""
        loss = self.loss.for_round(self.y, user_shape(raw), self.weight)
        found = loss.weighted_gradients(self.y, user_shape(raw), self.weight)
        gradients, hessians = (np.ascontiguousarray(part.T.reshape(raw.shape)) for part in found)
        return gradients, hessians

    def _walk_back(
        self,
        trees: list[_Tree],
        raw: FloatArray,
        seed: FloatArray,
        leaves: IntArray,
        adjoint: FloatArray,
        total: FloatArray,
    ) -> None:
        gradients, hessians = self._gradients(raw)
        weights = np.ones(raw.shape[1]) if self.weight is None else self.weight
        n_nodes = max(len(tree.value) for tree in trees)
        removal, step = np.empty((len(trees), raw.shape[1])), np.zeros((len(trees), n_nodes))
        moved = raw.copy()
        for place, tree in enumerate(trees):
            h = weights if tree.rule.counts_rows else hessians[tree.output]
            removal[place], step[place, : len(tree.value)] = _responses(tree, gradients[tree.output], h)
            moved[tree.output] += tree.value[tree.leaf] * len(raw) / len(trees)  # the mean over trees of an output
        probability = None
        if isinstance(self.loss, Multinomial):
            probability = np.ascontiguousarray(self.loss.predict(user_shape(moved)).T)
            slope = weights * probability
        else:
            slope = self._gradients(moved)[1]
        _kernel.influence_of_round(
            leaf=np.stack([tree.leaf for tree in trees]),
            output=np.array([tree.output for tree in trees], np.int32),
            removal=removal,
            step=step,
            hessian=slope,
            probability=probability,
            seed=seed,
            leaf_of_new=np.ascontiguousarray(leaves),
            adjoint=adjoint,
            influence=total,
            threads=self.threads,
        )


def _responses(tree: _Tree, g: FloatArray, h: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what leaving out each row adds to its leaf, and what a unit of gradient takes from each leaf."""
    rule = tree.rule
    curvature = np.bincount(tree.leaf, h, len(tree.value)) + rule.l2
    value, rest = tree.value[tree.leaf], curvature[tree.leaf] - h
    # A row alone in its leaf, without l2: an empty leaf says nothing.
    alone = rest <= 1e-12 * curvature[tree.leaf]
    removal = np.where(alone, -value, (g + h * value) / np.where(alone, 1.0, rest))
    step = np.divide(1.0, curvature, out=np.zeros_like(curvature), where=curvature > 0)
    held = rule.is_held(tree.value)
    removal[held[tree.leaf]] = 0.0
    step[held] = 0.0
    return rule.rate * removal, rule.rate * step
