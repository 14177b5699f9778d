"""Gradient boosting: trees fitted, one after the other, to the gradients of a loss (Friedman 2001).

    raw = start
    each round:   g, h = gradients of the loss at raw
                  tree = grown from (g, h) on a sample of the rows
                  raw += learning rate · leaf value of each row

With several outputs a round grows one tree per output, or one tree with vector leaves (vector_leaves.py).
A round may grow several trees from the same gradients and take their mean (boosted forests), and leave out earlier
rounds while it does (dart.py).

All state of a run can be derived from the data and the trees so far: raw is their prediction.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, places
from arboretum.ensembles.boosting.dart import Dart, contribution, rescaled
from arboretum.ensembles.boosting.gradients import fill_gradients, is_built_in, leaf_gradients
from arboretum.ensembles.boosting.history import History, Judge, Patience
from arboretum.ensembles.boosting.leaf_steps import LeafRule, newton_values
from arboretum.ensembles.boosting.linear_leaves import LinearLeaves, fit_slopes
from arboretum.ensembles.boosting.ordered import OrderedModels
from arboretum.ensembles.boosting.rows import Rows, fits_float32, of_output, start_of_rows, user_shape
from arboretum.ensembles.boosting.score_noise import noise_deviation
from arboretum.ensembles.boosting.vector_leaves import (
    Gradients,
    OutputSketch,
    OutputSums,
    each_column,
)
from arboretum.exact_sums import Units
from arboretum.growing.grower import ALL_OUTPUTS, StepBound, TreeParams, WeightedTree, to_forest
from arboretum.growing.growers import Grower, grower_of, team_of
from arboretum.growing.sampling import Sample, Sampler, sample_key
from arboretum.losses import EachOutput, LeafRows, Loss
from arboretum.model.forest import Forest
from arboretum.running.interruption import keeps_part
from arboretum.running.progress import Callback, RoundReport

FloatArray: TypeAlias = NDArray[np.float64]

# Up to this many rows gradients are kept in double precision; for more rows the memory traffic is not worth it.
EXACT_ROWS = 65_536
TREE_PURPOSE = 0x7472656573  # "trees"
LOSS_PURPOSE = 0x6C6F7373  # "loss"
ALL = slice(None)


@dataclass(frozen=True)
class BoostingParams:
    """How to boost."""

    n_rounds: int
    learning_rate: float
    tree: TreeParams
    sampler: Sampler
    seed: int
    threads: int
    patience: Patience | None = None  # None: no early stopping
    time_limit: float | None = None
    track_training: bool = False
    trees_per_round: int = 1  # and output
    dart: Dart | None = None
    prune_gain: float | None = None  # grown trees lose splits that gain no more than this; None: no pruning
    second_order: bool = True  # False: trees are fitted to gradients alone, by least squares
    leaf_steps: int = 1  # Newton steps to a leaf's value; 0: its least-squares value
    n_orders: int = 0  # random orders of ordered boosting; 0: plain boosting
    score_noise: float = 0.0  # noise of the scores that compare features, in units of the gain by chance
    linear: LinearLeaves | None = None  # None: constant leaves
    vector_leaves: bool = False  # one tree per round for all outputs

    @property
    def refits_leaves(self) -> bool:
        """Whether leaf values come from gradients other than those that shaped the tree."""
        return self.leaf_steps > (1 if self.second_order else 0) or self.n_orders > 0


@dataclass(frozen=True)
class Progress:
    """Progress of a run: its rounds, their history and the time they took."""

    rounds: int = 0
    history: History = field(default_factory=History)
    seconds: float = 0.0


class DivergedError(ValueError):
    """Gradients or leaf values of a fit are no longer finite."""


Keep: TypeAlias = Callable[[RoundReport, Callable[[], Forest], History], object]


class BoostingRun:
    """Rounds of boosting, grown one at a time by ``advance``.

    Parameters
    ----------
    rows : Rows
        Training rows; their raw predictions start from ``base`` and offsets, or from an earlier forest.
    loss : Loss
        What to minimise.
    params : BoostingParams
        How.
    base : ndarray
        Constant of the returned forest.
    first_round : int
        Number of earlier rounds: continuing gives the same trees as never having stopped. 0 with ``params.dart``, whose
        later rounds change the earlier ones.
    reordered : sequence of Rows
        The same rows with the statistics of their categories in other random orders. Rounds grow from each of these
        versions in turn; every version has its own raw predictions.
    validation : Rows, optional
        Rows whose loss is followed; with ``params.patience`` the best round is kept.
    judge : Judge, optional
        Score of the validation rows by which rounds are compared; without one, their loss.
    done : Progress, optional
        Progress of an earlier process: the raw predictions include its rounds, which count as rounds of this run. Only
        the trees of later rounds are returned.
    """

    def __init__(
        self,
        rows: Rows,
        loss: Loss,
        params: BoostingParams,
        *,
        base: FloatArray,
        first_round: int = 0,
        reordered: Sequence[Rows] = (),
        validation: Rows | None = None,
        judge: Judge | None = None,
        done: Progress | None = None,
    ) -> None:
        done = done or Progress()
        loss = loss.of_queries(rows.queries)
        if isinstance(loss, EachOutput):
            rows, *reordered = (replace(one, y=np.asfortranarray(one.y)) for one in (rows, *reordered))
        self.versions, self.loss, self.params, self.validation = (rows, *reordered), loss, params, validation
        self.base, self.first_round, self.judge = base, first_round + done.rounds, judge
        self.history = done.history.copy()
        if judge is not None:
            self.history.scoring, self.history.greater_is_better = judge.name, judge.greater_is_better
        self.rounds: list[list[WeightedTree]] = []
        self.kernel_params = params.tree.to_kernel()
        self.growers = [grower_of(one.data, params.threads) for one in self.versions]
        apart = not (params.vector_leaves or params.score_noise or params.n_orders)
        self.teams = [team_of(one.data, len(rows.raw) if apart else 1, params.threads) for one in self.versions]
        self.n_rows = places.total(rows.data.n_rows)
        real = np.float32 if self.n_rows > EXACT_ROWS and fits_float32(rows) else np.float64
        self.gradients, self.hessians = np.empty(rows.raw.shape, real), np.empty(rows.raw.shape, real)
        # Losses of different rounds must be comparable, even if a loss adapts to each round.
        first_raw = user_shape(start_of_rows(base, rows) if done.rounds else rows.raw)
        self.scoring_loss = loss.for_round(rows.y, first_raw, rows.weight)
        # A continued model competes with its state before.
        before = History(scoring=self.history.scoring, greater_is_better=self.history.greater_is_better)
        if first_round:
            before.add(*self.validate())
        self.best = min([np.inf, *before.curve, *self.history.curve])
        self.best_rounds: list[list[WeightedTree]] = []
        self.bound_steps(self.scoring_loss)
        self.round_loss = self.scoring_loss
        self.units: dict[int, Units] = {}  # of the gradients of each output in leaves
        n_orders = params.n_orders
        self.ordered = OrderedModels(rows.raw, n_orders, params.seed, self.gradients_of) if n_orders else None
        if params.vector_leaves:
            at_start = user_shape(start_of_rows(base, rows))
            self.sketch = OutputSketch(loss, rows.y, at_start, rows.weight, params.seed)
            self.output_sums = OutputSums(len(rows.raw))
            # Monotone directions hold for each output, not for a mixture: they bound values, not the search.
            self.shape_params = replace(params.tree, monotone=()).to_kernel()
        self.number, self.started = done.rounds, time.monotonic() - done.seconds

    def complete(self, callbacks: Sequence[Callback] = (), keep: Keep | None = None) -> tuple[Forest, History]:
        """Boost until a rule says stop, and return the trees of these rounds.

        Parameters
        ----------
        callbacks : sequence of callables
            Called with a RoundReport after each round; one that returns True ends the run.
        keep : callable, optional
            Called after each round with the report, a function that makes the forest of all rounds since ``done``, and
            the history.
        """
        try:
            while (report := self.advance()) is not None:
                if keep is not None:
                    keep(report, self.forest, self.history)
                # A list, not a generator: every callback hears of every round.
                if any([callback(report) is True for callback in callbacks]):
                    self.history.stopped_by = "callback"
                    break
        except KeyboardInterrupt:
            if not keeps_part(len(self.rounds)):
                raise
            self.history.stopped_by = "interrupt"
        return self.forest_of(self.kept_rounds()), self.history

    def advance(self) -> RoundReport | None:
        """Grow a round and report it; None if a rule says stop."""
        if self.is_over(self.number, time.monotonic() - self.started):
            return None
        self.grow_round()
        self.number += 1
        return self.report(self.number, time.monotonic() - self.started)

    @property
    def turn(self) -> int:
        """Version of the rows that this round grows from."""
        return (self.first_round + len(self.rounds)) % len(self.versions)

    @property
    def rows(self) -> Rows:
        """Version of the rows that this round grows from."""
        return self.versions[self.turn]

    @property
    def grower(self) -> Grower:
        """Grower of that version."""
        return self.growers[self.turn]

    def bound_steps(self, loss: Loss) -> None:
        """Set how far leaves may step: a single step is bounded as it is taken, otherwise each of several steps is."""
        several, tree = self.params.leaf_steps > 1, self.params.tree
        bound = StepBound(float(loss.self_concordant), 1.0 if several else 1 / self.params.trees_per_round)
        self.bound = StepBound() if several else bound
        self.leaf_rule = LeafRule(tree.l1, tree.l2, tree.max_delta_step, bound if several and bound.growth else None)

    def grow_round(self) -> None:
        """Grow the trees of a round and add them to all raw predictions."""
        rows, params = self.rows, self.params
        number = self.first_round + len(self.rounds)
        dropped = params.dart.dropped(number, params.seed) if params.dart is not None else []
        lifted = self.lift(dropped)
        loss = self.loss.for_round(rows.y, user_shape(rows.raw), rows.weight)
        loss = loss.with_draws(_kernel.draw(params.seed, LOSS_PURPOSE, number))
        self.round_loss = loss
        self.bound_steps(loss)
        at = rows if self.ordered is None else replace(rows, raw=self.ordered.unseen_raw(number % params.n_orders))
        fill_gradients(loss, at, self.gradients, self.hessians, params.threads)
        # One look at all rows in each round is one too many for losses that are known to have hessians.
        if not is_built_in(loss) and self.is_without_steps():
            raise ValueError(f"{loss!r} returned hessians that are all 0: return 1 for each row, to step by gradients")
        if not params.second_order:
            self.hessians[:] = 1.0 if rows.weight is None else rows.weight
            if isinstance(loss, EachOutput):
                self.hessians[np.isnan(rows.y.T)] = 0.0  # a missing target has weight 0
        new_weight, kept_weight = Dart.weights(len(dropped), params.learning_rate)
        try:
            grown = self.grow_trees(loss, number, new_weight / params.trees_per_round)
        except OverflowError as error:
            raise self.divergence() from error
        for raw, part in lifted:
            raw += kept_weight * part
        rounds = [*self.rounds, grown]
        for i in dropped:
            rounds[i] = rescaled(rounds[i], kept_weight)
        self.rounds = rounds  # one statement, so that an interrupt comes before or after it

    def is_without_steps(self) -> bool:
        """Return whether there are gradients, but no hessian anywhere to divide them by."""
        found = np.array([self.hessians.any(), self.gradients.any()])
        has_hessians, has_gradients = places.joined(lambda: found, np.logical_or)
        return bool(has_gradients and not has_hessians)

    def lift(self, dropped: list[int]) -> list[tuple[FloatArray, FloatArray]]:
        """Take rounds out of all raw predictions; return the raw predictions and what was taken out of them."""
        trees = [tree for number in dropped for tree in self.rounds[number]]
        lifted = []
        for held in (*self.versions, self.validation) if trees else ():
            if held is not None:
                part = contribution(trees, held.data, len(held.raw), self.params.threads, held.numbers)
                np.subtract(held.raw, part, out=held.raw)
                lifted.append((held.raw, part))
        return lifted

    def grow_trees(self, loss: Loss, number: int, weight: float) -> list[WeightedTree]:
        """Grow the trees of a round, all from the same gradients, each on its own sample."""
        params, rows = self.params, self.rows
        n_outputs, n_trees = len(rows.raw), params.trees_per_round
        if (renews_leaves(loss) or params.refits_leaves) and n_trees * n_outputs > 1:
            rows = replace(rows, raw=rows.raw.copy())  # leaf values also start from where the round began
        numbers = range(number * n_trees, (number + 1) * n_trees)
        if params.vector_leaves:
            return [self.grow_vector_tree(sample_number, weight) for sample_number in numbers]
        grown = []
        for sample_number in numbers:
            sample = self.draw_sample(sample_number, (self.gradients, self.hessians))
            for output, tree, grower in self.grow_outputs(sample_number, sample):
                renewed = self.renewed(loss, tree, grower, rows, sample, output)
                if renewed is None and params.refits_leaves:
                    renewed = self.stepped_values(tree, grower, rows, output)
                grown.append(self.add_tree(tree, grower, renewed, output, weight, sample))
                if self.ordered is not None:
                    leaf, rule, bound = grower.leaf_of_row, self.leaf_rule, self.bound
                    self.ordered.add_tree(leaf, tree.n_nodes, output, rule, weight, bound)
        return grown

    def grow_outputs(self, number: int, sample: Sample) -> Iterator[tuple[int, _kernel.GrownTree, Grower]]:
        """Yield a tree for each output, and the grower that knows the leaves of its rows until the next one."""
        params, n_outputs = self.params, len(self.rows.raw)
        seeds = [_kernel.draw(params.seed, TREE_PURPOSE, number * n_outputs + output) for output in range(n_outputs)]
        team = self.teams[self.turn]
        for first in range(0, n_outputs, max(1, len(team))):
            part = slice(first, first + max(1, len(team)))
            if not team:
                gradients = self.gradients[first], self.hessians[first]
                yield first, self.grow_tree(gradients, sample, seeds[first], self.kernel_params), self.grower
                continue
            gradients, chosen = (self.gradients[part], self.hessians[part]), seeds[part]
            trees = _kernel.grow_each(team, *gradients, sample.rows, self.kernel_params, chosen, sample.factor)
            for place, (tree, grower) in enumerate(zip(trees, team, strict=False)):
                if params.prune_gain is not None:
                    grower.prune(tree, params.prune_gain)
                yield first + place, tree, grower

    def grow_vector_tree(self, number: int, weight: float) -> WeightedTree:
        """Grow a tree for all outputs: its shape from a mixture of them, its values from each."""
        params, kept = self.params, (self.gradients, self.hessians)
        mixed = self.sketch.of(kept, number, params.threads)
        sample = self.draw_sample(number, (mixed[0][None], mixed[1][None]))
        tree = self.grow_tree(mixed, sample, _kernel.draw(params.seed, TREE_PURPOSE, number), self.shape_params)
        leaf, rule = self.grower.leaf_of_row, self.leaf_rule
        if params.refits_leaves:
            gradients_at = partial(self.gradients_of, ALL)
            steps = self.output_sums.stepped_vectors(tree, leaf, self.rows.raw, gradients_at, rule, params.leaf_steps)
        else:
            steps = self.output_sums.newton_step(tree, leaf, sample, kept, rule, params.threads)
        values = each_column(lambda column: tree.values(self.kernel_params, column), steps)
        return self.add_weighted(WeightedTree(tree, values, ALL_OUTPUTS), self.grower, weight)

    def draw_sample(self, number: int, gradients: Gradients) -> Sample:
        """Return the rows that tree ``number`` sees."""
        key = sample_key(self.params.seed, number)
        return self.params.sampler.sample(*gradients, key=key, threads=self.params.threads)

    def grow_tree(
        self, gradients: Gradients, sample: Sample, seed: int, kernel_params: _kernel.TreeParams
    ) -> _kernel.GrownTree:
        """Grow a tree from a sample, and prune it if that is asked for."""
        g, h = gradients
        if self.params.score_noise:
            length = self.params.learning_rate * (self.first_round + len(self.rounds))
            cosine, threads = self.params.tree.cosine, self.params.threads
            noise = noise_deviation(
                self.params.score_noise, g, h, length, n_rows=self.n_rows, cosine=cosine, threads=threads
            )
            kernel_params.score_noise = noise
        tree = self.grower.grow(g, h, sample.rows, kernel_params, seed, sample.factor)
        if self.params.prune_gain is not None:
            self.grower.prune(tree, self.params.prune_gain)
        return tree

    def renewed(
        self, loss: Loss, tree: _kernel.GrownTree, grower: Grower, rows: Rows, sample: Sample, output: int
    ) -> FloatArray | None:
        """Return node values that the loss computes itself; None if it leaves them to Newton steps."""
        if not renews_leaves(loss):
            return None
        if loss.parts:
            loss, rows = loss.parts[output], of_output(rows, output)
        if sample.factor is not None:
            rows = replace(rows, weight=weight_with_factors(rows, sample))
        return renewed_values(loss, tree, grower, rows, sample.rows, self.params)

    def gradients_of(self, members: NDArray[np.intp] | slice, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gradients and hessians of some rows at some raw predictions (outputs × rows)."""
        rows = self.rows
        weight = None if rows.weight is None else rows.weight[members]
        g, h = np.empty(raw.shape), np.empty(raw.shape)
        part = Rows(rows.data, rows.y[members], weight, np.ascontiguousarray(raw))
        fill_gradients(self.round_loss, part, g, h, self.params.threads)
        return g, h

    def stepped_values(self, tree: _kernel.GrownTree, grower: Grower, rows: Rows, output: int) -> FloatArray:
        """Return leaf values by Newton steps from the raw predictions of the model (leaf_steps.py)."""
        leaf, units = grower.leaf_of_row, self.units.setdefault(output, Units(2))

        def sums_at(values: FloatArray) -> FloatArray:
            return leaf_gradients(self.round_loss, rows, leaf, values, output, self.params.threads, units)

        return tree.with_means(newton_values(self.leaf_rule, sums_at, tree.n_nodes, self.params.leaf_steps))

    def add_tree(
        self,
        tree: _kernel.GrownTree,
        grower: Grower,
        renewed: FloatArray | None,
        output: int,
        weight: float,
        sample: Sample,
    ) -> WeightedTree:
        """Give a tree its values and slopes, and add it to the raw predictions of its output."""
        values = tree.values(self.kernel_params, renewed)
        slopes = self.fit_slopes(tree, grower, values, output, sample)
        return self.add_weighted(WeightedTree(tree, values, output, slopes), grower, weight)

    def add_weighted(self, tree: WeightedTree, grower: Grower, weight: float) -> WeightedTree:
        """Shorten the step of a tree and add it to the raw predictions of all rows."""
        weighted = tree.scaled(weight, self.bound)
        self.add_to_training(weighted, grower)
        if self.validation is not None:
            held = self.validation
            weighted.add_to(held.raw, held.data, held.numbers, self.params.threads)
        return weighted

    def fit_slopes(
        self, tree: _kernel.GrownTree, grower: Grower, values: FloatArray, output: int, sample: Sample
    ) -> _kernel.LeafSlopes | None:
        """Return the slopes of linear leaves; None if leaves are constant."""
        if self.params.linear is None:
            return None
        assert self.rows.numbers is not None
        gradients, leaves = (self.gradients[output], self.hessians[output]), grower.leaf_of_row
        rules, threads = self.params.linear.rules(self.params.tree, self.bound), self.params.threads
        return fit_slopes(tree, values, leaves, sample, gradients, self.rows.numbers, rules, threads)

    def add_to_training(self, item: WeightedTree, grower: Grower) -> None:
        """Add the values of the tree that a grower has grown last: the leaves of its rows are known."""
        if item.is_plain:
            grower.add_values(item.values, self.rows.raw[item.output])
        else:
            item.add_at(grower.leaf_of_row, self.rows.raw, self.rows.numbers, self.params.threads)
        for turn, other in enumerate(self.versions):
            if turn != self.turn:
                item.add_to(other.raw, other.data, other.numbers, self.params.threads)

    def divergence(self) -> DivergedError:
        """Return the error of a fit whose numbers are no longer finite."""
        return DivergedError(
            f"the fit diverged in round {self.first_round + len(self.rounds) + 1}: gradients or leaf values are no "
            f"longer finite; lower learning_rate={self.params.learning_rate:g} or scale the target"
        )

    def report(self, number: int, seconds: float) -> RoundReport:
        """Measure the model after a round, and remember it if it is the best so far."""
        training, history = None, self.history
        if self.params.track_training and self.loss.has_values:
            training = self.fitted_loss().value(self.rows.y, user_shape(self.rows.raw), self.rows.weight)
            history.training_loss.append(training)
        loss, score = self.validate()
        history.add(loss, score)
        if history.curve and history.curve[-1] < self.best:
            self.best, self.best_rounds = history.curve[-1], self.rounds
        return RoundReport(number, self.params.n_rounds, seconds, training, loss, score)

    def fitted_loss(self) -> Loss:
        """Return the loss that scores rows now, with the parameters that it learns from the training rows."""
        return self.scoring_loss.fitted(self.rows.y, user_shape(self.rows.raw), self.rows.weight)

    def validate(self) -> tuple[float | None, float | None]:
        """Return the current loss and score of the validation rows, if there are any."""
        held = self.validation
        if held is None:
            return None, None
        loss, raw = self.fitted_loss(), user_shape(held.raw)
        value = loss.of_queries(held.queries).value(held.y, raw, held.weight) if loss.has_values else None
        return value, None if self.judge is None else self.judge.score(raw, loss)

    def is_over(self, number: int, seconds: float) -> bool:
        """Return whether a rule says stop after ``number`` rounds."""
        limit = self.params.time_limit
        if number == self.params.n_rounds:
            return True
        # The next round will take about as long as the mean so far.
        if limit is not None and number and places.told(lambda: seconds * (number + 1) / number > limit):
            self.history.stopped_by = "time limit"
        elif self.params.patience is not None and self.params.patience.is_over(self.history.curve):
            self.history.stopped_by = "early stopping"
        return self.history.stopped_by != "rounds"

    def kept_rounds(self) -> list[list[WeightedTree]]:
        """Return the rounds up to the best one with early stopping, else all of them."""
        stops_early = self.params.patience is not None and self.history.curve
        return self.best_rounds if stops_early else self.rounds

    def forest(self) -> Forest:
        """Return all rounds so far."""
        return self.forest_of(self.rounds)

    def forest_of(self, rounds: list[list[WeightedTree]]) -> Forest:
        """Freeze rounds."""
        trees = [tree for grown in rounds for tree in grown]
        return to_forest(trees, self.base, self.versions[0].data.bin_map, self.params.vector_leaves)


# ---- leaf renewal ------------------------------------------------------------------------------------------------


def renews_leaves(loss: Loss) -> bool:
    """Whether the loss computes leaf values itself, in place of Newton steps."""
    return type(loss).leaf_values is not Loss.leaf_values


def weight_with_factors(rows: Rows, sample: Sample) -> FloatArray:
    """Return the weights of all rows times the factors of a sample; 0 outside it."""
    assert sample.factor is not None
    members = slice(None) if sample.rows is None else sample.rows
    weight = np.zeros(rows.data.n_rows)
    weight[members] = sample.factor if rows.weight is None else sample.factor * rows.weight[members]
    return weight


def renewed_values(
    loss: Loss,
    tree: _kernel.GrownTree,
    grower: Grower,
    rows: Rows,
    sample: NDArray[np.uint32] | None,
    params: BoostingParams,
) -> FloatArray | None:
    """Ask the loss for the values of the leaves; inner nodes get the mean of their leaves.

    Values of inner nodes set monotone bounds, so with such bounds the loss is asked for them as well.
    """
    grouped, start = _kernel.group_by_leaf(grower.leaf_of_row, sample, tree.n_nodes)
    if params.tree.monotone:
        grouped, start = _with_inner_nodes(tree, grouped, start)
    members = LeafRows(grouped, start, params.threads)
    values = loss.leaf_values(members, rows.y, user_shape(rows.raw), rows.weight)
    if values is None:
        return None
    values = np.array(values, dtype=np.float64)
    return values if params.tree.monotone else tree.with_means(values)


def _with_inner_nodes(
    tree: _kernel.GrownTree, grouped: NDArray[np.uint32], start: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    left, right = tree.left, tree.right
    parts = [grouped[a:b] for a, b in pairwise(start)]
    for node in range(tree.n_nodes - 1, -1, -1):
        if left[node] >= 0:
            parts[node] = np.concatenate([parts[left[node]], parts[right[node]]])
    return np.concatenate(parts), np.concatenate([[0], np.cumsum([len(part) for part in parts])])
