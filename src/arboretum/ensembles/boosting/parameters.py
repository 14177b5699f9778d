"""The parameters of boosted trees, and the rules between them; ``settings.py`` says what they mean for the engine."""

from __future__ import annotations

from typing import Any, cast, get_args

from arboretum.ensembles.boosting.row_sampling import SAMPLINGS, check_sampling
from arboretum.growing.grower import Growth
from arboretum.losses import GradientFunction, Loss
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
        "Maximum number of leaves of a tree; by default 31 for leaf-wise growth, otherwise unlimited.",
    )
    max_depth: int | None = parameter(
        None,
        Number(1, 10_000, integer=True, optional=True),
        "Maximum number of conditions on a path; by default unlimited for leaf-wise growth, otherwise 6.",
    )
    min_samples_leaf: int | str = parameter(
        "auto",
        Number(1, MOST, integer=True, words=("auto",)),
        'Minimum number of rows in a leaf, counted exactly. "auto" is 3, or a fiftieth of the rows if there are '
        "fewer than 150.",
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
        '"auto": when ``X_val`` is given or there are at least 1,000 rows; a model that is trained further, or will be '
        "(``warm_start``), holds no rows out by itself.",
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


def suits_several_outputs(given: BoostingParameters) -> bool:
    """Return whether the parameters suit several outputs; losses without a vector form are rejected later."""
    is_free = given.vector_leaves is False or (given.leaf_model == "constant" and not given.ordered_boosting)
    return is_free and given.sampling != "stratified"
