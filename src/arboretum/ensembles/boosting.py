"""Gradient boosting: trees fitted, one after the other, to the gradients of a loss (Friedman 2001).

    raw = start
    each round:   g, h = gradients of the loss at raw
                  tree = grown from (g, h) on a sample of the rows
                  raw += learning rate · leaf value of each row

With several outputs a round grows a tree each, or one tree with vector leaves (vector_leaves.py).
A round may grow several trees from the same gradients and take their mean (boosted forests), and leave out earlier
rounds while it does (dart.py).

All state of a run can be derived from the data and the trees so far: raw is their prediction.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.ensembles.dart import Dart, contribution, rescaled
from arboretum.ensembles.gradients import fill_gradients, leaf_gradients
from arboretum.ensembles.leaf_steps import LeafRule, newton_values
from arboretum.ensembles.linear_leaves import LinearLeaves, fit_slopes
from arboretum.ensembles.ordered import OrderedModels
from arboretum.ensembles.rows import Rows, filled_raw, fits_float32, of_output, user_shape
from arboretum.ensembles.score_noise import noise_deviation
from arboretum.ensembles.vector_leaves import Gradients, OutputSketch, each_column, newton_step, stepped_vectors
from arboretum.forest import Forest
from arboretum.growing import ALL_OUTPUTS, TreeParams, WeightedTree, to_forest
from arboretum.losses import EachOutput, LeafRows, Loss
from arboretum.sampling import Sample, Sampler, sample_key

FloatArray: TypeAlias = NDArray[np.float64]

# Up to so many rows gradients are kept in double precision; beyond, moving them would cost more than it is worth.
EXACT_ROWS = 65_536
TREE_PURPOSE = 0x7472656573  # "trees"
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
    patience: int | None = None  # rounds without improvement of the validation loss; None: no early stopping
    time_limit: float | None = None
    track_training: bool = False
    trees_per_round: int = 1  # and output
    dart: Dart | None = None
    prune_gain: float | None = None  # grown trees lose splits that gain no more than this; None: no pruning
    second_order: bool = True  # False: trees are fitted to gradients alone, by least squares
    leaf_steps: int = 1  # Newton steps to a leaf's value; 0: its least-squares value
    n_orders: int = 0  # random orders of ordered boosting; 0: plain boosting
    score_noise: float = 0.0  # of the scores that features are compared by, in units of chance
    linear: LinearLeaves | None = None  # None: constant leaves
    vector_leaves: bool = False  # one tree a round for all outputs

    @property
    def refits_leaves(self) -> bool:
        """Whether leaf values come from other gradients than those that shaped the tree."""
        return self.leaf_steps > (1 if self.second_order else 0) or self.n_orders > 0


@dataclass(frozen=True)
class RoundReport:
    """What callbacks are told after a round.

    ``number`` counts from 1; losses are None where they are not tracked.
    """

    number: int
    n_rounds: int
    seconds: float
    training_loss: float | None
    validation_loss: float | None


Callback: TypeAlias = Callable[[RoundReport], object]


@dataclass
class History:
    """Losses after each round, and why boosting ended."""

    training_loss: list[float] = field(default_factory=list)
    validation_loss: list[float] = field(default_factory=list)
    stopped_by: str = "rounds"

    @property
    def best_round(self) -> int | None:
        """Number of rounds with the least validation loss; None without validation."""
        return int(np.argmin(self.validation_loss)) + 1 if self.validation_loss else None

    def followed_by(self, later: History, n_rounds: int) -> History:
        """Join the history of the first ``n_rounds`` rounds and that of the rounds added to them."""
        return History(
            self.training_loss[:n_rounds] + later.training_loss,
            self.validation_loss[:n_rounds] + later.validation_loss,
            later.stopped_by,
        )


@dataclass(frozen=True)
class Progress:
    """How far a run is: its rounds, their losses and the time they took."""

    rounds: int = 0
    history: History = field(default_factory=History)
    seconds: float = 0.0


Keep: TypeAlias = Callable[[RoundReport, Callable[[], Forest], History], object]


def boost(
    rows: Rows,
    loss: Loss,
    params: BoostingParams,
    *,
    base: FloatArray,
    first_round: int = 0,
    reordered: Sequence[Rows] = (),
    validation: Rows | None = None,
    callbacks: Sequence[Callback] = (),
    done: Progress | None = None,
    keep: Keep | None = None,
) -> tuple[Forest, History]:
    """Boost until a rule says stop, and return the trees of these rounds.

    Parameters
    ----------
    rows : Rows
        Training rows; their raw predictions hold what came before (``base``, or an earlier forest).
    loss : Loss
        What to minimise.
    params : BoostingParams
        How.
    base : ndarray
        Constant of the forest that is returned.
    first_round : int
        Rounds that came before: continuing gives the same trees as never having stopped. 0 with ``params.dart``, whose
        later rounds change the earlier ones.
    reordered : sequence of Rows
        The same rows with the statistics of their categories in other random orders. Rounds grow from each of these
        versions in turn; every version has raw predictions of its own.
    validation : Rows, optional
        Rows whose loss is followed; with ``params.patience`` the best round is kept.
    callbacks : sequence of callables
        Called with a RoundReport after each round; one that returns True ends the run.
    done : Progress, optional
        Of an earlier process: the raw predictions hold its rounds, which count among those of this run. The trees that
        are returned are those of the rounds after them.
    keep : callable, optional
        Called after each round with the report, a function that makes the forest of all rounds since ``done``, and the
        history.
    """
    done = done or Progress()
    state = _Run(rows, reordered, loss, params, base, first_round, validation, done)
    started, number = time.monotonic() - done.seconds, done.rounds
    try:
        while not state.is_over(number, time.monotonic() - started):
            state.grow_round()
            number += 1
            report = state.report(number, time.monotonic() - started)
            if keep is not None:
                keep(report, state.forest, state.history)
            # A list, not a generator: every callback hears of every round.
            if any([callback(report) is True for callback in callbacks]):
                state.history.stopped_by = "callback"
                break
    except KeyboardInterrupt:
        if not state.rounds:
            raise
        state.history.stopped_by = "interrupt"
    return state.forest_of(state.kept_rounds()), state.history


class _Run:
    """The state of one call of boost."""

    def __init__(
        self,
        rows: Rows,
        reordered: Sequence[Rows],
        loss: Loss,
        params: BoostingParams,
        base: FloatArray,
        first_round: int,
        validation: Rows | None,
        done: Progress,
    ) -> None:
        loss = loss.of_queries(rows.queries)
        if isinstance(loss, EachOutput):
            rows, *reordered = (replace(one, y=np.asfortranarray(one.y)) for one in (rows, *reordered))
        self.versions, self.loss, self.params, self.validation = (rows, *reordered), loss, params, validation
        self.base, self.first_round = base, first_round + done.rounds
        self.history = replace(
            done.history,
            training_loss=list(done.history.training_loss),
            validation_loss=list(done.history.validation_loss),
        )
        self.rounds: list[list[WeightedTree]] = []
        self.kernel_params = params.tree.to_kernel()
        self.growers = [_kernel.Grower(one.data.codes, params.threads) for one in self.versions]
        real = np.float32 if rows.data.n_rows > EXACT_ROWS and fits_float32(rows) else np.float64
        self.gradients, self.hessians = np.empty(rows.raw.shape, real), np.empty(rows.raw.shape, real)
        # Losses of different rounds must be comparable, also where a loss adapts to each round.
        first_raw = filled_raw(base, rows.data.n_rows) if done.rounds else rows.raw
        self.scoring_loss = loss.for_round(rows.y, user_shape(first_raw), rows.weight)
        # A continued model competes with what it was before.
        self.best_loss = self.validation_value() if first_round and validation is not None else np.inf
        self.best_loss = min([self.best_loss, *self.history.validation_loss])
        self.best_rounds: list[list[WeightedTree]] = []
        # One step is bounded as it is taken, learning rate included; of several, each.
        several = params.leaf_steps > 1
        tree, bounded = params.tree, loss.self_concordant
        self.leaf_rule = LeafRule(tree.l1, tree.l2, tree.max_delta_step, short_steps=bounded and several)
        self.step_limit = 1 / params.trees_per_round if bounded and not several else np.inf
        self.round_loss = self.scoring_loss
        n_orders = params.n_orders
        self.ordered = OrderedModels(rows.raw, n_orders, params.seed, self.gradients_of) if n_orders else None
        if params.vector_leaves:
            self.sketch = OutputSketch(loss, rows.y, base, rows.weight, params.seed)
            # Directions are those of each output, not of a mixture: they bound values, not the search.
            self.shape_params = replace(params.tree, monotone=()).to_kernel()

    @property
    def turn(self) -> int:
        """Version of the rows that this round grows from."""
        return (self.first_round + len(self.rounds)) % len(self.versions)

    @property
    def rows(self) -> Rows:
        return self.versions[self.turn]

    @property
    def grower(self) -> _kernel.Grower:
        return self.growers[self.turn]

    def grow_round(self) -> None:
        rows, params = self.rows, self.params
        number = self.first_round + len(self.rounds)
        dropped = params.dart.dropped(number, params.seed) if params.dart is not None else []
        lifted = self.lift(dropped)
        loss = self.loss.for_round(rows.y, user_shape(rows.raw), rows.weight)
        self.round_loss = loss
        at = rows if self.ordered is None else replace(rows, raw=self.ordered.unseen_raw(number % params.n_orders))
        fill_gradients(loss, at, self.gradients, self.hessians, params.threads)
        if not params.second_order:
            self.hessians[:] = 1.0 if rows.weight is None else rows.weight
            if isinstance(loss, EachOutput):
                self.hessians[np.isnan(rows.y.T)] = 0.0  # a missing target has no say
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
        self.rounds = rounds  # one statement: an interrupt comes before or after it

    def lift(self, dropped: list[int]) -> list[tuple[FloatArray, FloatArray]]:
        """Take rounds out of all raw predictions; return these with what was taken."""
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
        if renews_leaves(loss) and n_trees > 1:
            rows = replace(rows, raw=rows.raw.copy())  # leaf values too start from where the round began
        numbers = range(number * n_trees, (number + 1) * n_trees)
        if params.vector_leaves:
            return [self.grow_vector_tree(sample_number, weight) for sample_number in numbers]
        grown = []
        for sample_number in numbers:
            sample = self.draw_sample(sample_number, (self.gradients, self.hessians))
            for output in range(n_outputs):
                seed = _kernel.draw(params.seed, TREE_PURPOSE, sample_number * n_outputs + output)
                tree = self.grow_tree((self.gradients[output], self.hessians[output]), sample, seed, self.kernel_params)
                renewed = self.renewed(loss, tree, rows, sample, output)
                if renewed is None and params.refits_leaves:
                    renewed = self.stepped_values(tree, rows, output)
                grown.append(self.add_tree(tree, renewed, output, weight, sample))
                if self.ordered is not None:
                    leaf, rule, limit = self.grower.leaf_of_row, self.leaf_rule, self.step_limit
                    self.ordered.add_tree(leaf, tree.n_nodes, output, rule, weight, limit)
        return grown

    def grow_vector_tree(self, number: int, weight: float) -> WeightedTree:
        """Grow a tree for all outputs: its shape from a mixture of them, its values from each."""
        params, kept = self.params, (self.gradients, self.hessians)
        mixed = self.sketch.of(kept, number, params.threads)
        sample = self.draw_sample(number, (mixed[0][None], mixed[1][None]))
        tree = self.grow_tree(mixed, sample, _kernel.draw(params.seed, TREE_PURPOSE, number), self.shape_params)
        leaf, rule = self.grower.leaf_of_row, self.leaf_rule
        if params.refits_leaves:
            steps = stepped_vectors(tree, leaf, self.rows.raw, partial(self.gradients_of, ALL), rule, params.leaf_steps)
        else:
            steps = newton_step(tree, leaf, sample, kept, rule, params.threads)
        values = each_column(lambda column: tree.values(self.kernel_params, column), steps)
        return self.add_weighted(WeightedTree(tree, values, ALL_OUTPUTS), weight)

    def draw_sample(self, number: int, gradients: Gradients) -> Sample:
        key = sample_key(self.params.seed, number)
        return self.params.sampler.sample(*gradients, key=key, threads=self.params.threads)

    def grow_tree(
        self, gradients: Gradients, sample: Sample, seed: int, kernel_params: _kernel.TreeParams
    ) -> _kernel.GrownTree:
        g, h = gradients
        if self.params.score_noise:
            length = self.params.learning_rate * (self.first_round + len(self.rounds))
            cosine = self.params.tree.cosine
            kernel_params.score_noise = noise_deviation(self.params.score_noise, g, h, length, cosine=cosine)
        tree = self.grower.grow(g, h, sample.rows, kernel_params, seed, sample.factor)
        if self.params.prune_gain is not None:
            self.grower.prune(tree, self.params.prune_gain)
        return tree

    def renewed(
        self, loss: Loss, tree: _kernel.GrownTree, rows: Rows, sample: Sample, output: int
    ) -> FloatArray | None:
        if not renews_leaves(loss):
            return None
        if loss.parts:
            loss, rows = loss.parts[output], of_output(rows, output)
        if sample.factor is not None:
            rows = replace(rows, weight=weight_with_factors(rows, sample))
        return renewed_values(loss, tree, self.grower, rows, sample.rows, self.params)

    def gradients_of(self, members: NDArray[np.intp] | slice, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients and hessians of some rows at some raw predictions (outputs × rows)."""
        rows = self.rows
        weight = None if rows.weight is None else rows.weight[members]
        g, h = np.empty(raw.shape), np.empty(raw.shape)
        part = Rows(rows.data, rows.y[members], weight, np.ascontiguousarray(raw))
        fill_gradients(self.round_loss, part, g, h, self.params.threads)
        return g, h

    def stepped_values(self, tree: _kernel.GrownTree, rows: Rows, output: int) -> FloatArray:
        """Leaf values by Newton steps from the raw predictions of the model (leaf_steps.py)."""
        leaf = self.grower.leaf_of_row

        def sums_at(values: FloatArray) -> FloatArray:
            return leaf_gradients(self.round_loss, rows, leaf, values, output, self.params.threads)

        return tree.with_means(newton_values(self.leaf_rule, sums_at, tree.n_nodes, self.params.leaf_steps))

    def add_tree(
        self, tree: _kernel.GrownTree, renewed: FloatArray | None, output: int, weight: float, sample: Sample
    ) -> WeightedTree:
        values = tree.values(self.kernel_params, renewed)
        slopes = self.fit_slopes(tree, values, output, sample)
        return self.add_weighted(WeightedTree(tree, values, output, slopes), weight)

    def add_weighted(self, tree: WeightedTree, weight: float) -> WeightedTree:
        weighted = tree.scaled(weight, self.step_limit)
        self.add_to_training(weighted)
        if self.validation is not None:
            held = self.validation
            weighted.add_to(held.raw, held.data, held.numbers, self.params.threads)
        return weighted

    def fit_slopes(
        self, tree: _kernel.GrownTree, values: FloatArray, output: int, sample: Sample
    ) -> _kernel.LeafSlopes | None:
        if self.params.linear is None:
            return None
        assert self.rows.numbers is not None
        gradients, leaves = (self.gradients[output], self.hessians[output]), self.grower.leaf_of_row
        rules, threads = self.params.linear.rules(self.params.tree), self.params.threads
        return fit_slopes(tree, values, leaves, sample, gradients, self.rows.numbers, rules, threads)

    def add_to_training(self, item: WeightedTree) -> None:
        """Add what the tree of the last growth says: the leaves of its rows are known."""
        if item.is_plain:
            self.grower.add_values(item.values, self.rows.raw[item.output])
        else:
            item.add_at(self.grower.leaf_of_row, self.rows.raw, self.rows.numbers, self.params.threads)
        for turn, other in enumerate(self.versions):
            if turn != self.turn:
                item.add_to(other.raw, other.data, other.numbers, self.params.threads)

    def divergence(self) -> ValueError:
        return ValueError(
            f"the fit diverged in round {self.first_round + len(self.rounds) + 1}: gradients or leaf values are no "
            f"longer finite; lower learning_rate={self.params.learning_rate:g} or scale the target"
        )

    def report(self, number: int, seconds: float) -> RoundReport:
        training = validation = None
        if self.params.track_training:
            training = self.scoring().value(self.rows.y, user_shape(self.rows.raw), self.rows.weight)
            self.history.training_loss.append(training)
        if self.validation is not None:
            validation = self.validation_value()
            self.history.validation_loss.append(validation)
            if validation < self.best_loss:
                self.best_loss, self.best_rounds = validation, self.rounds
        return RoundReport(number, self.params.n_rounds, seconds, training, validation)

    def scoring(self) -> Loss:
        """Return the loss that scores rows now, with what it learns of its own from the training rows."""
        return self.scoring_loss.fitted(self.rows.y, user_shape(self.rows.raw), self.rows.weight)

    def validation_value(self) -> float:
        held = self.validation
        assert held is not None
        return self.scoring().of_queries(held.queries).value(held.y, user_shape(held.raw), held.weight)

    def is_over(self, number: int, seconds: float) -> bool:
        """Whether a rule says stop after so many rounds."""
        limit = self.params.time_limit
        if number == self.params.n_rounds:
            return True
        # The next round will take about as long as the mean so far.
        if limit is not None and number and seconds * (number + 1) / number > limit:
            self.history.stopped_by = "time limit"
        elif self.params.patience is not None and self._is_stale():
            self.history.stopped_by = "early stopping"
        return self.history.stopped_by != "rounds"

    def _is_stale(self) -> bool:
        losses, patience = self.history.validation_loss, self.params.patience or 0
        if len(losses) <= patience:
            return False
        return min(losses[-patience:]) >= min(losses[:-patience])

    def kept_rounds(self) -> list[list[WeightedTree]]:
        stops_early = self.params.patience is not None and self.history.validation_loss
        return self.best_rounds if stops_early else self.rounds

    def forest(self) -> Forest:
        """Return all rounds so far."""
        return self.forest_of(self.rounds)

    def forest_of(self, rounds: list[list[WeightedTree]]) -> Forest:
        trees = [tree for grown in rounds for tree in grown]
        return to_forest(trees, self.base, self.versions[0].data.bin_map, self.params.vector_leaves)


# ---- leaf renewal ------------------------------------------------------------------------------------------------


def renews_leaves(loss: Loss) -> bool:
    """Whether the loss has leaf values of its own in place of Newton's step."""
    return type(loss).leaf_values is not Loss.leaf_values


def weight_with_factors(rows: Rows, sample: Sample) -> FloatArray:
    """Weights of all rows times the factors of a sample; 0 outside it."""
    assert sample.factor is not None
    members = slice(None) if sample.rows is None else sample.rows
    weight = np.zeros(rows.data.n_rows)
    weight[members] = sample.factor if rows.weight is None else sample.factor * rows.weight[members]
    return weight


def renewed_values(
    loss: Loss,
    tree: _kernel.GrownTree,
    grower: _kernel.Grower,
    rows: Rows,
    sample: NDArray[np.uint32] | None,
    params: BoostingParams,
) -> FloatArray | None:
    """Ask the loss for the values of the leaves; inner nodes get the mean of theirs.

    Monotone bounds are set by the values of inner nodes, so there the loss is asked for these as well.
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
