"""What the parameters of boosted trees mean for the engine, given a loss and rows."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.encoding.category_encoding import CategoryEncoding
from arboretum.ensembles.boosting import automatic
from arboretum.ensembles.boosting.automatic_rate import automatic_rate
from arboretum.ensembles.boosting.dart import Dart
from arboretum.ensembles.boosting.goals import Goal
from arboretum.ensembles.boosting.history import Patience
from arboretum.ensembles.boosting.linear_leaves import LinearLeaves
from arboretum.ensembles.boosting.parameters import BoostingParameters
from arboretum.ensembles.boosting.problem import Problem, Target
from arboretum.ensembles.boosting.rounds import BoostingParams, renews_leaves
from arboretum.ensembles.boosting.row_sampling import sampler_of
from arboretum.growing.constraints import in_binned_order, interaction_sets, monotone_directions
from arboretum.growing.grower import NO_LIMIT, TreeParams, category_ranks
from arboretum.losses import EachOutput, Loss
from arboretum.parameters.checking import share

FloatArray: TypeAlias = NDArray[np.float64]


def has_vector_leaves(given: BoostingParameters, loss: Loss) -> bool:
    """Return whether a round grows one tree for all outputs; reject parameters that such trees do not support."""
    wanted = isinstance(loss, EachOutput) if isinstance(given.vector_leaves, str) else bool(given.vector_leaves)
    if not wanted or loss.n_outputs == 1:
        return False
    reason = ""
    if given.leaf_model == "linear":
        reason = "leaf_model='linear': slopes have one output"
    elif given.ordered_boosting:
        reason = f"ordered_boosting={given.ordered_boosting!r}: supporting models have one output per leaf"
    elif renews_leaves(loss):
        reason = f"loss {loss.name!r}: it computes leaf values itself"
    if reason:
        raise ValueError(
            f"trees with vector leaves ({loss.n_outputs} outputs) cannot be combined with {reason}; "
            "use vector_leaves=False, which grows one tree per output"
        )
    return True


def check_linear_loss(given: BoostingParameters, loss: Loss) -> None:
    """Reject linear leaves with a loss that has no Newton steps."""
    if given.leaf_model == "linear" and renews_leaves(loss):
        raise ValueError(
            f"leaf_model='linear' needs a loss with Newton steps, but {loss.name!r} computes leaf values itself: "
            "use another loss, such as 'squared_error', or leaf_model='constant'"
        )


def check_continuing(given: BoostingParameters, trees_per_round: int) -> None:
    """Reject parameters that do not allow adding rounds to a fitted model."""
    if given.ordered_boosting:
        raise ValueError(
            f"ordered_boosting={given.ordered_boosting!r}: the fitted model has seen the rows, and its supporting "
            "models are gone; fit anew with warm_start=False, or add rounds with ordered_boosting=0"
        )
    if given.dart_rate:
        raise ValueError(
            f"dart_rate={given.dart_rate!r}: later rounds of DART change the weights of earlier ones: none can be "
            "added to a fitted model; fit anew with warm_start=False, or add rounds with dart_rate=0"
        )
    if given.refit is True:
        raise ValueError(
            "refit=True: a model that is fitted again on all rows has no rounds to add to; fit anew with "
            "warm_start=False, or add rounds with refit=False"
        )
    if given.trees_per_round != trees_per_round:
        raise ValueError(
            f"trees_per_round={given.trees_per_round!r}, but the fitted model has {trees_per_round}: "
            "use the same number, or fit anew with warm_start=False"
        )


def boosting_params(
    given: BoostingParameters,
    goal: Goal,
    loss: Loss,
    problem: Problem,
    tree: TreeParams,
    *,
    n_rounds: int,
    n_rows: int,
    rate: float | None,
    seed: int,
    threads: int,
    validates: bool,
) -> BoostingParams:
    """Return how to boost a problem.

    Parameters
    ----------
    given, goal, loss, problem, tree
        Parameters, and the goal, loss, problem and trees that they are for.
    n_rounds : int
        Rounds to grow.
    n_rows : int
        Rows of the table, those held out included.
    rate : float, optional
        The learning rate that "auto" stands for, if it is known already.
    seed, threads : int
        Seed and threads.
    validates : bool
        Whether there are validation rows.
    """
    keeps_best = validates and given.early_stopping is not False
    vector_leaves = has_vector_leaves(given, loss)
    if not isinstance(given.learning_rate, str):
        rate = float(given.learning_rate)
    elif rate is None:
        rate = automatic_rate(loss, n_rows, n_rounds, keeps_best=keeps_best, vector_leaves=vector_leaves)
    return BoostingParams(
        n_rounds=n_rounds,
        learning_rate=rate,
        tree=tree,
        sampler=sampler_of(given, goal, problem.y, n_rows),
        seed=seed,
        threads=threads,
        patience=Patience(int(given.n_iter_no_change), float(given.tol)) if keeps_best else None,
        time_limit=given.time_limit,
        track_training=bool(given.verbose or given.callbacks),
        trees_per_round=int(given.trees_per_round),
        dart=Dart(float(given.dart_rate), float(given.dart_skip), int(given.dart_max)) if given.dart_rate else None,
        prune_gain=float(given.min_gain) if given.prune else None,
        second_order=bool(given.second_order),
        leaf_steps=automatic.leaf_steps(loss) if isinstance(given.leaf_steps, str) else int(given.leaf_steps),
        n_orders=int(given.ordered_boosting),
        score_noise=float(given.score_noise),
        linear=LinearLeaves(float(given.linear_l2)) if given.leaf_model == "linear" else None,
        vector_leaves=vector_leaves,
    )


def tree_params(
    given: BoostingParameters,
    goal: Goal,
    target: Target,
    problem: Problem,
    order: tuple[int, ...],
    encoding: CategoryEncoding | None,
    n_rows: int,
) -> TreeParams:
    """Return how to grow each tree, for features in the ``order`` of binned columns."""
    schema, n_features = problem.table.schema, len(order)
    leaf_wise, least = given.growth == "leaf", given.min_samples_leaf
    directions = goal.directions(monotone_directions(given.monotonic_cst, schema), target)
    place = {column: feature for feature, column in enumerate(order)}
    sets = interaction_sets(given.interaction_cst, schema)
    if encoding is not None:
        directions = tuple(encoding.per_column(directions, 0)) if directions else ()
        sets = encoding.column_sets(sets)
    return TreeParams(
        growth=given.growth,
        max_leaf_nodes=given.max_leaf_nodes or (31 if leaf_wise else NO_LIMIT),
        max_depth=given.max_depth or (NO_LIMIT if leaf_wise or given.max_leaf_nodes else 6),
        min_samples_leaf=automatic.least_rows_of_leaf(n_rows) if isinstance(least, str) else int(least),
        min_child_weight=float(given.min_child_weight),
        l1=float(given.l1),
        l2=leaf_penalty(given, problem.weight, n_rows),
        min_gain=0.0 if given.prune else float(given.min_gain),
        cosine=given.split_score == "cosine",
        max_delta_step=float(given.max_delta_step),
        max_features=share(given, "max_features", n_features),
        colsample_level=share(given, "colsample_level", n_features),
        colsample_tree=share(given, "colsample_tree", n_features),
        monotone=in_binned_order(directions, order),
        interaction_sets=tuple(tuple(sorted(place[column] for column in columns)) for columns in sets),
        category_ranks=category_ranks(schema if encoding is None else encoding.schema, order),
    )


def leaf_penalty(given: BoostingParameters, weight: FloatArray | None, n_rows: int) -> float:
    """Return the penalty on squares of leaf values, for rows with these weights."""
    return automatic.leaf_penalty(weight, n_rows) if isinstance(given.l2, str) else float(given.l2)


def share_of_rows(given: BoostingParameters, n_rows: int) -> float:
    """Return the share of the rows that a tree holds in memory."""
    if given.sampling == "goss" or not isinstance(given.subsample, str):
        return 1.0 if given.sampling in ("goss", "bayesian", "bootstrap") else float(given.subsample)
    return automatic.share_of_rows(given.sampling, n_rows)
