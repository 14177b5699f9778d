"""The parameters of boosted trees: their declarations, the rules between them, and what they mean for the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import NDArray

from arboretum import places
from arboretum.data.table import mostly_zero
from arboretum.encoding.category_encoding import CategoryEncoding
from arboretum.ensembles.boosting.automatic import RELEASES, of_release
from arboretum.ensembles.boosting.average_rounds import AverageRounds, RoundsToAverage
from arboretum.ensembles.boosting.dart import Dart
from arboretum.ensembles.boosting.goals import Goal
from arboretum.ensembles.boosting.history import Patience
from arboretum.ensembles.boosting.linear_leaves import LinearLeaves
from arboretum.ensembles.boosting.model_notes import BoostingNotes
from arboretum.ensembles.boosting.problem import HeldRows, Problem, Target
from arboretum.ensembles.boosting.racing import CONTESTANTS
from arboretum.ensembles.boosting.rounds import BoostingParams, renews_leaves
from arboretum.ensembles.boosting.row_sampling import SAMPLINGS, check_sampling, sampler_of
from arboretum.growing.constraints import in_binned_order, interaction_sets, monotone_directions
from arboretum.growing.grower import NO_LIMIT, Growth, TreeParams, category_ranks
from arboretum.losses import EachOutput, FunctionLoss, GradientFunction, Loss
from arboretum.parameters.checking import share
from arboretum.parameters.declaring import (
    COUNT,
    FLAG,
    MOST,
    Anything,
    Choice,
    Functions,
    Number,
    Share,
    like,
    parameter,
    parameter_group,
    parameters_of,
)
from arboretum.parameters.shared import (
    Bins,
    Categories,
    EarlyStopping,
    Monotone,
    Progress,
    Seed,
    Threads,
    WarmStart,
)

FloatArray: TypeAlias = NDArray[np.float64]


@parameter_group("Rounds")
class Rounds:
    """Number and length of the steps."""

    n_estimators: int = parameter(1000, COUNT, "Number of boosting rounds; with early stopping, the maximum.")
    trees_per_round: int = parameter(
        1,
        COUNT,
        "Number of trees that each round grows from the same gradients, on separate samples; their mean is the "
        "step. With ``n_estimators=1``, ``learning_rate=1`` and samples of rows and columns it is a random forest "
        "of gradients.",
    )
    learning_rate: float | str = parameter(
        "auto",
        Number(0.0, 1e300, open_low=True, words=("auto",)),
        'Factor of each tree\'s step. "auto" chooses it from the number of rounds and rows: see '
        "docs/learning-rate.md. Where raw predictions are logarithms (log loss, counts), a step v is never longer than "
        "log(1 + abs(v)) or 2, which keeps leaves of rows that are almost certain, hence with hessians near 0, from "
        "diverging without ``l2``.",
    )
    average_rounds: int | AverageRounds | None = parameter(
        None,
        RoundsToAverage(),
        "Predict the mean of the raw predictions after this many last rounds, or after all if fewer were kept; an "
        "``AverageRounds`` takes every k-th or weights them. It is one forest, and predicts as quickly. See "
        "docs/averaging.md.",
    )


@parameter_group("Shape of trees")
class BoostedShape:
    """How far a tree grows."""

    growth: Growth = parameter(
        "leaf",
        Choice(*get_args(Growth)),
        "Which node is split next: the one with the largest gain, level by level, or one condition for a whole level.",
    )
    max_leaf_nodes: int | None = parameter(
        None,
        Number(2, MOST, integer=True, optional=True),
        "Maximum number of leaves of a tree; by default 31 for leaf-wise growth, 8 for rankings, otherwise unlimited.",
    )
    max_depth: int | None = parameter(
        None,
        Number(1, 10_000, integer=True, optional=True),
        "Maximum number of conditions on a path; by default unlimited for leaf-wise growth, otherwise 6.",
    )
    min_samples_leaf: int | str = parameter(
        "auto",
        Number(1, MOST, integer=True, words=("auto",)),
        'Minimum number of rows in a leaf, counted exactly. "auto" is 3, or a fiftieth of the rows if that is less; 20 '
        'for ``loss="quantile"``, or a fifteenth; 20 for times to an event, or a fifth.',
    )
    min_child_weight: float = parameter(1e-3, Number(0.0, 1e300), "Minimum sum of hessians in a leaf.")


@parameter_group("Splits")
class BoostedSplits:
    """Which split is the best, and which are worth it."""

    l1: float = parameter(0.0, Number(0.0, 1e300), "Penalty on the size of leaf values.")
    l2: float | str = parameter(
        "auto",
        Number(0.0, 1e300, words=("auto",)),
        'Penalty on the squares of leaf values. "auto" is 10 times the mean weight of a row, or a hundredth of the sum '
        "of all weights if there are fewer than 1,000 rows.",
    )
    min_gain: float = parameter(0.0, Number(0.0, 1e300), "Gain that a split must exceed.")
    split_score: str = parameter(
        "gain",
        Choice("gain", "cosine"),
        "How the conditions of a symmetric tree are compared: by how much they lower the loss, or by how well leaf "
        "values point along the gradients, as in CatBoost. Other growth compares gains. See docs/split-score.md.",
    )
    score_noise: float = parameter(
        0.0,
        Number(0.0, 1e9),
        "Noise added to the scores by which features compete for a split, in units of the gain expected by chance; it "
        "decreases as the model grows. 1 is a good first value. See docs/score-noise.md.",
    )
    prune: bool = parameter(
        False,
        FLAG,
        "Grow as if ``min_gain`` were 0, then remove splits that gain no more than it, unless one below gains more.",
    )


@parameter_group("Leaf values")
class BoostedLeaves:
    """Values of leaves."""

    second_order: bool = parameter(
        True,
        FLAG,
        "Fit trees to gradients and hessians. False fits them to gradients only, by least squares, as Friedman did.",
    )
    leaf_steps: int | str = parameter(
        1,
        Number(0, 1000, integer=True, words=("auto",)),
        "Number of Newton steps to the value of a leaf, each restrained by ``l2``; more steps come closer to a "
        'line search, and stop when no leaf value changes. "auto" is CatBoost\'s rule: 10 for the log loss of two '
        "classes, otherwise 1. 0, with ``second_order=False``, takes the mean gradient as it is: cautious steps "
        "for losses of small hessians.",
    )
    ordered_boosting: int = parameter(
        0,
        Number(0, 1000, integer=True),
        "Random orders of ordered boosting, where the gradient of a row comes from a model that has not seen the row; "
        "0 is plain boosting. For small tables: see docs/ordered-boosting.md.",
    )
    leaf_model: str = parameter(
        "constant",
        Choice("constant", "linear"),
        "Content of a leaf: one value, or a value plus slopes of the numeric columns that its path splits on. Linear "
        "leaves suit smooth functions, and never extrapolate: see docs/linear-leaves.md.",
    )
    linear_l2: float = parameter(10.0, Number(0.0, 1e300), "Penalty on the size of slopes, in the units of ``l2``.")
    max_delta_step: float = parameter(
        0.0, Number(0.0, 1e300), "Bound of leaf values before the learning rate is applied; 0 means no bound."
    )


@parameter_group("Categories and missing values")
class CategoryStatistics:
    """Statistics that replace columns of many categories."""

    category_levels: int | None = parameter(
        20,
        Number(0, MOST, integer=True, optional=True),
        "Categorical columns with more levels are read as statistics: means of the target, each row's from the rows "
        "before it in a random order, and frequencies. Others, and all of them if it is None or y has several outputs, "
        "are split by sets of categories. See docs/target-statistics.md.",
    )
    category_combinations: int = parameter(
        2,
        Number(1, 16, integer=True),
        "Maximum number of columns, among those that are read as statistics, in a combination that gets its own "
        "statistics; 1 combines none.",
    )
    category_orders: int = parameter(
        4,
        Number(1, 1000, integer=True),
        "Number of random orders of these statistics; rounds use them in turn. Ordered boosting uses one.",
    )


@parameter_group("Rows of each tree")
class RowSamples:
    """Which rows a tree sees."""

    subsample: float | str = parameter(
        "auto",
        Number(0.0, 1.0, open_low=True, words=("auto",)),
        'Share of the rows that each tree uses. "auto" is 0.7; it is 1 with fewer than 1,000 rows, a bootstrap, or a '
        "sampling that has its own rates.",
    )
    sampling: str = parameter(
        "subsample",
        Choice(*SAMPLINGS),
        "How rows are chosen: without replacement; with replacement, copies as weights; the same share of each class "
        "or tenth of the target; the largest gradients and some of the rest; with probabilities of minimal variance; "
        "all, with random weights. See docs/sampling.md.",
    )
    top_rate: float | None = parameter(
        None, Number(0.0, 1.0, optional=True), 'For "goss": share of the rows with the largest gradients (0.2).'
    )
    other_rate: float | None = parameter(
        None, Number(0.0, 1.0, open_low=True, optional=True), 'For "goss": share drawn from the other rows (0.1).'
    )
    bagging_temperature: float | None = parameter(
        None,
        Number(0.0, 100.0, optional=True),
        'For "bayesian": power of the exponential weights (1); 0 makes all of them 1.',
    )


@parameter_group("Columns")
class ColumnSamples:
    """Which columns a tree may split on."""

    max_features: float | int = parameter(0.3, Share(), "Share or number of columns that each node may split on.")
    colsample_tree: float | int = parameter(1.0, Share(), "Share or number of columns that each tree may split on.")
    colsample_level: float | int = parameter(
        1.0, Share(), "Share or number of columns that each level of a tree may split on."
    )


@parameter_group("DART")
class DartRounds:
    """Dropout of earlier rounds."""

    dart_rate: float = parameter(
        0.0,
        Number(0.0, 1.0),
        "Probability that a round leaves an earlier one out while it grows (DART); 0 is gradient boosting.",
    )
    dart_skip: float = parameter(0.5, Number(0.0, 1.0), "Probability that a round of DART leaves no earlier round out.")
    dart_max: int = parameter(50, COUNT, "Maximum number of rounds that a round of DART leaves out.")


@parameter_group("Loss")
class Objective:
    """The loss that rounds lower."""

    loss: str | Loss | GradientFunction = parameter(
        "squared_error",
        Anything("str, Loss or callable"),
        "What to minimise: <losses>. Or an object derived from ``arboretum.losses.Loss``, or a function of (y, raw) "
        "that returns gradients and hessians.",
    )


@parameter_group("Leaf values")
class Outputs:
    """How trees of several outputs are grown; only for models that can have several."""

    vector_leaves: bool | str = parameter(
        "auto",
        Choice(True, False, "auto"),
        "Grow one tree per round for all outputs or classes, whose leaves hold a value for each, in place of one tree "
        'for each output. "auto": for several outputs, not for the classes of one. See docs/many-outputs.md.',
    )


@parameter_group("Constraints")
class Interactions:
    """Columns that may occur together."""

    interaction_cst: Any = parameter(
        None,
        Anything('sequence of sets, "pairwise" or "no_interactions"'),
        "Sets of columns that may occur together on a path from the root.",
    )


@parameter_group("Early stopping")
class BoostedStopping(EarlyStopping):
    """When to stop, and what to do then."""

    early_stopping: bool | str = like(
        EarlyStopping,
        doc="Stop when validation rows are no longer predicted better, and keep the best round. "
        '"auto": when ``X_val`` is given or there are at least 1,000 rows, or 20 events of times to an event; a model '
        "that is trained further, or will be (``warm_start``), holds no rows out by itself.",
    )
    validation_fraction: float = like(
        EarlyStopping, doc="Share of the rows held out<stratified> if early stopping has no ``X_val``."
    )
    refit: bool | str = parameter(
        "auto",
        Choice("auto", True, False),
        "After rows were held out to stop early, fit all rows again for the number of rounds that was best. "
        '"auto": on fewer than 50,000 rows, unless ``warm_start`` is on.',
    )
    race: bool = parameter(
        True,
        FLAG,
        "Before a fit of 1,000 to 50,000 rows that stops early, let a few settings race on held-out rows, and fit with "
        "the best: in place of defaults it may set ``growth``, ``leaf_model``, ``vector_leaves``, ``max_features``, "
        "``l2``, ``subsample``, ``max_leaf_nodes`` and ``min_samples_leaf``, but none that differs from its default. "
        "``race_`` tells what was tried, ``chosen_params_`` what was chosen. No race with another ``scoring`` than the "
        "loss, ``time_limit`` or ``dart_rate``, for several outputs, rankings and survival. See "
        "docs/boosting-defaults.md.",
    )
    time_limit: float | None = parameter(
        None, Number(0.0, open_low=True, optional=True), "Seconds after which no new round begins."
    )


@parameter_group("Running")
class Callbacks:
    """What users hear of each round."""

    callbacks: Any = parameter(
        None,
        Functions(),
        "Functions that are called with a ``RoundReport`` after every round; one that returns True ends the fit.",
    )


@parameter_group("Defaults")
class Release:
    """Whose automatic choices a fit makes."""

    defaults: str | None = parameter(
        None,
        Choice(None, *RELEASES),
        'Release whose automatic choices to make, such as what "auto" stands for: name it to repeat fits with later '
        "releases. None takes the newest. See docs/boosting-defaults.md.",
    )


@parameter_group()
class BoostingParameters(
    Rounds,
    BoostedShape,
    BoostedSplits,
    BoostedLeaves,
    Bins,
    CategoryStatistics,
    RowSamples,
    ColumnSamples,
    DartRounds,
    Objective,
    Monotone,
    Interactions,
    Categories,
    BoostedStopping,
    WarmStart,
    Callbacks,
    Release,
    Seed,
    Threads,
    Progress,
):
    """Parameters of every estimator that boosts trees."""

    vector_leaves = cast("bool | str", "auto")  # a parameter only where there may be several outputs


def check_together(given: BoostingParameters) -> None:
    """Reject parameters that contradict each other."""
    if given.leaf_steps == 0 and (given.second_order or given.ordered_boosting):
        raise ValueError(
            "leaf_steps=0 keeps the mean gradient of a leaf, which only first-order trees have: use "
            "second_order=False and ordered_boosting=0, or leaf_steps=1"
        )
    if given.leaf_model == "linear" and given.ordered_boosting:
        raise ValueError(
            f"leaf_model='linear' with ordered_boosting={given.ordered_boosting!r}: supporting models have constant "
            "leaves; use ordered_boosting=0 or leaf_model='constant'"
        )
    if given.ordered_boosting and given.dart_rate:
        raise ValueError(
            f"ordered_boosting={given.ordered_boosting!r} with dart_rate={given.dart_rate!r}: supporting models "
            "cannot leave rounds out; use one of them"
        )
    if given.average_rounds is not None and given.dart_rate:
        raise ValueError(
            f"average_rounds={given.average_rounds!r} with dart_rate={given.dart_rate!r}: later rounds of DART change "
            "the weights of earlier ones, so that its trees do not hold earlier snapshots; use one of them"
        )
    if given.average_rounds is not None and given.warm_start:
        raise ValueError(
            f"average_rounds={given.average_rounds!r} with warm_start=True: rounds are grown after the last round, not "
            "after an average; fit without average_rounds, then call averaged_rounds"
        )
    check_sampling(given)
    if given.prune and given.growth == "symmetric":
        raise ValueError(
            "prune=True with growth='symmetric': nodes of a level share their condition, none is pruned alone; "
            "use growth='leaf' or 'level', or prune=False"
        )
    if given.split_score == "cosine" and given.growth != "symmetric":
        raise ValueError(
            f"split_score='cosine' with growth={given.growth!r}: cosines compare conditions of a whole level; "
            "use growth='symmetric', or split_score='gain'"
        )


def check_parted(given: BoostingParameters, loss: Loss) -> None:
    """Reject what rows in several places do not allow."""
    reasons = {
        "dart_rate": "rounds that are left out are summed row by row in an order of their own; use dart_rate=0",
        "ordered_boosting": "its supporting models follow one order of all rows; use ordered_boosting=0",
    }
    for name, reason in reasons.items():
        if value := getattr(given, name):
            raise ValueError(f"{name}={value!r} on a cluster: {reason}, or fit on one machine")
    if given.leaf_model == "linear":
        raise ValueError(
            "leaf_model='linear' on a cluster: the equations of a leaf are floating sums in the order of its rows; use "
            "leaf_model='constant', or fit on one machine"
        )
    if isinstance(loss, FunctionLoss) or (not loss.row_wise and loss.task not in ("ranking", "survival")):
        raise ValueError(
            f"loss {loss.name!r} on a cluster: gradients of a row depend on the rows of other workers; fit on one "
            "machine"
        )


def check_groups(group: NDArray[np.intp]) -> None:
    """Reject groups that cannot be held out whole."""
    if places.are_several():
        raise ValueError("groups on a cluster: rows of a group may lie on several workers; give X_val in their place")
    if len(group) and group.min() == group.max():
        raise ValueError(
            "groups: all rows are in one group, so that none can be held out: give at least two groups, or X_val"
        )


LIMITS = {"max_leaf_nodes", "max_depth", "min_samples_leaf", "min_child_weight", "min_gain"}  # chosen for one growth


def is_set(given: BoostingParameters, name: str) -> bool:
    """Return whether a parameter differs from its default."""
    declared = parameters_of(type(given))
    return name in declared and bool(getattr(given, name) != declared[name].default)


def racing_parameters_set(given: BoostingParameters) -> set[str]:
    """Return the parameters that contestants of a race may change, but users have changed already."""
    racing = {name for changes in CONTESTANTS.values() for name in changes}
    changed = {name for name in racing | LIMITS if is_set(given, name)}
    return changed | {"growth"} if changed & LIMITS else changed


def suited(
    given: BoostingParameters,
    problem: Problem,
    held: HeldRows,
    loss: Loss,
    settings: Mapping[str, Mapping[str, Any]],
) -> dict[str, Mapping[str, Any]]:
    """Return the settings that suit the other parameters, the rows and the loss, without what has no effect."""
    excluded = set()
    if renews_leaves(loss) or given.ordered_boosting:
        excluded |= {"leaf_model", "vector_leaves"}
    if has_vector_leaves(given, loss) or mostly_zero(problem.table) or hasattr(held.X, "tocsr"):
        excluded |= {"leaf_model"}
    if given.sampling == "stratified" or given.leaf_model == "linear":
        excluded |= {"vector_leaves"}
    if given.prune:
        excluded |= {"growth"}
    samples_itself = given.sampling != "subsample"
    return {
        name: {key: value for key, value in changes.items() if not (key == "subsample" and samples_itself)}
        for name, changes in settings.items()
        if not excluded & set(changes)
    }


def suits_several_outputs(given: BoostingParameters) -> bool:
    """Return whether the parameters suit several outputs; losses without a vector form are rejected later."""
    is_free = given.vector_leaves is False or (given.leaf_model == "constant" and not given.ordered_boosting)
    return is_free and given.sampling != "stratified"


# ---- what they mean for the engine, given a loss and rows ------------------------------------------------------------


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


def check_continuing(given: BoostingParameters, earlier: BoostingNotes) -> None:
    """Reject parameters, or a fitted model, that do not allow adding rounds to it."""
    if earlier.is_averaged:
        raise ValueError(
            "the fitted model is an average, after which no round can be grown: train further the model that it was "
            "made from, fitted without average_rounds, and average that again"
        )
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
    if given.trees_per_round != earlier.trees_per_round:
        raise ValueError(
            f"trees_per_round={given.trees_per_round!r}, but the fitted model has {earlier.trees_per_round}: "
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
    vector_leaves, automatic = has_vector_leaves(given, loss), of_release(given.defaults)
    if not isinstance(given.learning_rate, str):
        rate = float(given.learning_rate)
    elif rate is None:
        rate = automatic.learning_rate(loss, n_rows, n_rounds, keeps_best=keeps_best, vector_leaves=vector_leaves)
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
    automatic = of_release(given.defaults)
    directions = goal.directions(monotone_directions(given.monotonic_cst, schema), target)
    place = {column: feature for feature, column in enumerate(order)}
    sets = interaction_sets(given.interaction_cst, schema)
    if encoding is not None:
        directions = tuple(encoding.per_column(directions, 0)) if directions else ()
        sets = encoding.column_sets(sets)
    return TreeParams(
        growth=given.growth,
        max_leaf_nodes=given.max_leaf_nodes or (automatic.leaves_of_tree(target.loss) if leaf_wise else NO_LIMIT),
        max_depth=given.max_depth or (NO_LIMIT if leaf_wise or given.max_leaf_nodes else 6),
        min_samples_leaf=automatic.least_rows_of_leaf(target.loss, n_rows) if isinstance(least, str) else int(least),
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
    return of_release(given.defaults).leaf_penalty(weight, n_rows) if isinstance(given.l2, str) else float(given.l2)


def share_of_rows(given: BoostingParameters, n_rows: int) -> float:
    """Return the share of the rows that a tree holds in memory."""
    if given.sampling == "goss" or not isinstance(given.subsample, str):
        return 1.0 if given.sampling in ("goss", "bayesian", "bootstrap") else float(given.subsample)
    return of_release(given.defaults).share_of_rows(given.sampling, n_rows)
