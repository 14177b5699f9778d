"""Gradient boosting: trees fitted, one after the other, to the gradients of a loss (Friedman 2001).

    raw = start
    each round:   g, h = gradients of the loss at raw
                  tree = grown from (g, h) on a sample of the rows
                  raw += learning rate · leaf value of each row

All state of a run can be derived from the data and the trees so far: raw is their prediction.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.binning import BinnedData
from arboretum.forest import Forest
from arboretum.growing import TreeParams, WeightedTree, to_forest
from arboretum.losses import LeafRows, Loss, Multinomial
from arboretum.sampling import Subsample

FloatArray: TypeAlias = NDArray[np.float64]

# Rows of one call to a loss written in Python: temporaries of this size stay in the second-level cache.
LOSS_BLOCK = 16_384
# Up to so many rows gradients are kept in double precision; beyond, moving them would cost more than it is worth.
EXACT_ROWS = 65_536
TREE_PURPOSE = 0x7472656573  # "trees"


@dataclass(frozen=True)
class BoostingParams:
    """How to boost."""

    n_rounds: int
    learning_rate: float
    tree: TreeParams
    sampler: Subsample
    seed: int
    threads: int
    patience: int | None = None  # rounds without improvement of the validation loss; None: no early stopping
    time_limit: float | None = None
    track_training: bool = False


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with their targets, weights and the raw predictions (outputs × rows) that boosting updates."""

    data: BinnedData
    y: FloatArray
    weight: FloatArray | None
    raw: FloatArray


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


def boost(
    rows: Rows,
    loss: Loss,
    params: BoostingParams,
    *,
    base: FloatArray,
    first_round: int = 0,
    validation: Rows | None = None,
    callbacks: Sequence[Callback] = (),
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
        Rounds that came before: continuing gives the same trees as never having stopped.
    validation : Rows, optional
        Rows whose loss is followed; with ``params.patience`` the best round is kept.
    callbacks : sequence of callables
        Called with a RoundReport after each round; one that returns True ends the run.
    """
    state = _Run(rows, loss, params, first_round, validation)
    started = time.monotonic()
    try:
        for number in range(1, params.n_rounds + 1):
            state.grow_round()
            report = state.report(number, time.monotonic() - started)
            # A list, not a generator: every callback hears of every round.
            if any([callback(report) is True for callback in callbacks]):
                state.history.stopped_by = "callback"
                break
            if reason := state.reason_to_stop(report):
                state.history.stopped_by = reason
                break
    except KeyboardInterrupt:
        if not state.rounds:
            raise
        state.history.stopped_by = "interrupt"
    return to_forest(state.kept_trees(), base, rows.data.bin_map), state.history


class _Run:
    """The state of one call of boost."""

    def __init__(
        self, rows: Rows, loss: Loss, params: BoostingParams, first_round: int, validation: Rows | None
    ) -> None:
        self.rows, self.loss, self.params, self.validation = rows, loss, params, validation
        self.first_round = first_round
        self.history = History()
        self.rounds: list[list[WeightedTree]] = []
        self.kernel_params = params.tree.to_kernel()
        self.grower = _kernel.Grower(rows.data.codes, params.threads)
        real = np.float32 if rows.data.n_rows > EXACT_ROWS and fits_float32(rows) else np.float64
        self.gradients, self.hessians = np.empty(rows.raw.shape, real), np.empty(rows.raw.shape, real)
        # Losses of different rounds must be comparable, also where a loss adapts to each round.
        self.scoring_loss = loss.for_round(rows.y, user_shape(rows.raw), rows.weight)
        # A continued model competes with what it was before.
        self.first_loss = self.validation_value() if first_round and validation is not None else np.inf

    def grow_round(self) -> None:
        number = self.first_round + len(self.rounds)
        rows, params = self.rows, self.params
        loss = self.loss.for_round(rows.y, user_shape(rows.raw), rows.weight)
        fill_gradients(loss, rows, self.gradients, self.hessians, params.threads)
        sample = params.sampler.rows(rows.data.n_rows, seed=params.seed, number=number, threads=params.threads)
        n_outputs = len(rows.raw)
        grown = [self.grow_tree(loss, output, number * n_outputs + output, sample) for output in range(n_outputs)]
        self.rounds.append(grown)

    def grow_tree(self, loss: Loss, output: int, number: int, sample: NDArray[np.uint32] | None) -> WeightedTree:
        rows, params = self.rows, self.params
        seed = _kernel.draw(params.seed, TREE_PURPOSE, number)
        try:
            tree = self.grower.grow(self.gradients[output], self.hessians[output], sample, self.kernel_params, seed)
        except OverflowError:
            raise self.divergence() from None
        renewed = renewed_values(loss, tree, self.grower, rows, sample, params) if renews_leaves(loss) else None
        with np.errstate(over="ignore"):
            values = tree.values(self.kernel_params, renewed) * params.learning_rate
        if not np.isfinite(values).all():
            raise self.divergence()
        self.grower.add_values(values, rows.raw[output])
        if self.validation is not None:
            leaves = np.empty(self.validation.data.n_rows, np.uint32)
            tree.leaves(self.validation.data.codes, params.threads, leaves)
            self.validation.raw[output] += values[leaves]
        return WeightedTree(tree, values, output)

    def divergence(self) -> ValueError:
        return ValueError(
            f"the fit diverged in round {self.first_round + len(self.rounds) + 1}: gradients or leaf values are no "
            f"longer finite; lower learning_rate={self.params.learning_rate:g} or scale the target"
        )

    def report(self, number: int, seconds: float) -> RoundReport:
        training = validation = None
        if self.params.track_training:
            training = self.scoring_loss.value(self.rows.y, user_shape(self.rows.raw), self.rows.weight)
            self.history.training_loss.append(training)
        if self.validation is not None:
            validation = self.validation_value()
            self.history.validation_loss.append(validation)
        return RoundReport(number, self.params.n_rounds, seconds, training, validation)

    def validation_value(self) -> float:
        held = self.validation
        assert held is not None
        return self.scoring_loss.value(held.y, user_shape(held.raw), held.weight)

    def reason_to_stop(self, report: RoundReport) -> str | None:
        limit = self.params.time_limit
        # The next round will take about as long as the mean so far.
        if limit is not None and report.seconds * (report.number + 1) / report.number > limit:
            return "time limit"
        if self.params.patience is not None and self._is_stale():
            return "early stopping"
        return None

    def _is_stale(self) -> bool:
        losses, patience = self.history.validation_loss, self.params.patience or 0
        if len(losses) <= patience:
            return False
        return min(losses[-patience:]) >= min(losses[:-patience])

    def kept_trees(self) -> list[WeightedTree]:
        best = self.history.best_round if self.params.patience is not None else None
        if best is not None and min(self.history.validation_loss) >= self.first_loss:
            best = 0
        return [tree for grown in self.rounds[:best] for tree in grown]


def fits_float32(rows: Rows) -> bool:
    """Whether gradients in the units of the target, times weights, stay well inside the range of float32."""
    largest = float(np.max(np.abs(rows.y))) * (1.0 if rows.weight is None else float(np.max(rows.weight)))
    return largest == 0 or 2.0**-60 < largest < 2.0**60


def start_raw(loss: Loss, y: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Return the constant that boosting starts from, (outputs,)."""
    return np.asarray(loss.start(y, weight), dtype=np.float64)


def filled_raw(base: FloatArray, n_rows: int) -> FloatArray:
    """Raw predictions (outputs × rows) that are the constant everywhere."""
    return np.repeat(base[:, None], n_rows, axis=1)


def user_shape(raw: FloatArray) -> FloatArray:
    """View outputs × rows, as the engine keeps them, as (rows,) or (rows, outputs), as losses see them."""
    return raw[0] if len(raw) == 1 else raw.T


# ---- gradients ---------------------------------------------------------------------------------------------------


def fill_gradients(loss: Loss, rows: Rows, gradients: NDArray[Any], hessians: NDArray[Any], threads: int) -> None:
    """Write weighted gradients and hessians (outputs × rows): fused in the kernel, or by the loss itself."""
    kind = getattr(_kernel.LossKind, loss.name, None)
    if isinstance(loss, Multinomial) and type(loss) is Multinomial:
        _kernel.softmax_gradients(rows.y, rows.raw, rows.weight, gradients, hessians, threads)
    elif kind is not None and is_built_in(loss):
        _kernel.gradients(
            kind, loss_parameter(loss), rows.y, rows.raw[0], rows.weight, gradients[0], hessians[0], threads
        )
    else:
        _fill_from_python(loss, rows, gradients, hessians)


def is_built_in(loss: Loss) -> bool:
    """Whether the class is the registered one: a subclass may have overridden anything."""
    return type(loss).__module__.startswith("arboretum.losses.")


def loss_parameter(loss: Loss) -> float:
    """Return the one number that some fused losses need."""
    for name in ("delta", "power", "quantile"):
        if (value := getattr(loss, name, None)) is not None:
            return float(value)
    return 0.0


def _fill_from_python(loss: Loss, rows: Rows, gradients: NDArray[Any], hessians: NDArray[Any]) -> None:
    n_rows = len(rows.y)
    block = LOSS_BLOCK if loss.row_wise else max(n_rows, 1)
    raw, g_out, h_out = user_shape(rows.raw), user_shape(gradients), user_shape(hessians)
    for begin in range(0, n_rows, block):
        part = slice(begin, begin + block)
        g, h = loss.gradients(rows.y[part], raw[part])
        if rows.weight is not None:
            weight = rows.weight[part] if len(rows.raw) == 1 else rows.weight[part, None]
            g, h = g * weight, h * weight
        _check_gradients(loss, g, h, raw[part], begin)
        g_out[part], h_out[part] = g, h


def _check_gradients(loss: Loss, g: FloatArray, h: FloatArray, raw: FloatArray, begin: int) -> None:
    for name, part in (("gradients", g), ("hessians", h)):
        if np.shape(part) != raw.shape:
            raise ValueError(f"{loss!r} returned {name} of shape {np.shape(part)}: expected {raw.shape}")
        if not np.isfinite(part).all():
            row = begin + int(np.argwhere(~np.isfinite(part))[0][0])
            raise ValueError(f"{loss!r} returned {name} that are not finite, first in row {row}")
    if np.min(h, initial=0.0) < 0:
        row = begin + int(np.argwhere(h < 0)[0][0])
        raise ValueError(f"{loss!r} returned a negative hessian, first in row {row}: return an upper bound instead")


# ---- leaf renewal ------------------------------------------------------------------------------------------------


def renews_leaves(loss: Loss) -> bool:
    """Whether the loss has leaf values of its own in place of Newton's step."""
    return type(loss).leaf_values is not Loss.leaf_values


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
    return values if params.tree.monotone else _with_means(tree, values)


def _with_inner_nodes(
    tree: _kernel.GrownTree, grouped: NDArray[np.uint32], start: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    left, right = tree.left, tree.right
    parts = [grouped[a:b] for a, b in pairwise(start)]
    for node in range(tree.n_nodes - 1, -1, -1):
        if left[node] >= 0:
            parts[node] = np.concatenate([parts[left[node]], parts[right[node]]])
    return np.concatenate(parts), np.concatenate([[0], np.cumsum([len(part) for part in parts])])


def _with_means(tree: _kernel.GrownTree, values: FloatArray) -> FloatArray:
    left, right, n_rows = tree.left, tree.right, tree.n_rows
    for node in range(tree.n_nodes - 1, -1, -1):
        if left[node] >= 0:
            a, b = left[node], right[node]
            share = n_rows[a] / max(n_rows[node], 1)
            values[node] = share * values[a] + (1 - share) * values[b]
    return values
