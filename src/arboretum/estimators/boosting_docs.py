"""The parameters of boosted trees, described once for all their estimators."""

from __future__ import annotations

OUTPUT_PARAMETERS = """\
    vector_leaves : bool or "auto", default="auto"
        Grow one tree a round for all outputs or classes, whose leaves hold a value for each, in place of one tree an
        output. "auto": for several outputs, not for the classes of one. See docs/many-outputs.md.
"""

_PARAMETERS = """
    Parameters
    ----------
    n_estimators : int, default=1000
        Rounds of boosting, at most if early stopping is on.
    trees_per_round : int, default=1
        Trees that each round grows from the same gradients, on samples of their own; their mean is the step. With
        ``n_estimators=1``, ``learning_rate=1`` and samples of rows and columns it is a random forest of gradients.
    learning_rate : float or "auto", default="auto"
        Share of each tree's step that is taken. "auto" chooses it from the number of rounds and rows: see
        docs/learning-rate.md. Where raw predictions are logarithms (log loss, counts), a step v is never longer than
        log(1 + abs(v)) or 2, which keeps leaves of rows that are almost certain, hence with hessians near 0, from
        diverging without ``l2``.

    growth : {"leaf", "level", "symmetric"}, default="leaf"
        Which node is split next: the one of largest gain, level by level, or one condition for a whole level.
    max_leaf_nodes : int, optional
        Most leaves of a tree. By default 31 for leaf-wise growth, otherwise no limit.
    max_depth : int, optional
        Most conditions on a path. By default no limit for leaf-wise growth, otherwise 6.
    min_samples_leaf : int or "auto", default="auto"
        Least rows of a leaf, counted exactly. "auto" is 3, on fewer than 150 rows a fiftieth of them.
    min_child_weight : float, default=1e-3
        Least sum of hessians of a leaf.
    l1 : float, default=0
        Penalty on the size of leaf values.
    l2 : float or "auto", default="auto"
        Penalty on the squares of leaf values. "auto" is 10 mean weights of a row, on fewer than 1,000
        rows a hundredth of the sum of all weights.
    min_gain : float, default=0
        Gain that a split must exceed.
    split_score : {"gain", "cosine"}, default="gain"
        What the conditions of a symmetric tree compete by: how much they lower the loss, or how well leaf values point
        along the gradients, as CatBoost's. Other growth goes by gain. See docs/split-score.md.
    score_noise : float, default=0
        Noise of the scores by which features compete for a split, in units of what chance gains; it falls as the model
        grows. 1 is a good first try. See docs/score-noise.md.
    prune : bool, default=False
        Grow as if ``min_gain`` were 0, then remove splits that gain no more than it, unless one below gains more.
    second_order : bool, default=True
        Fit trees to gradients and hessians. False fits them to gradients alone, by least squares, as Friedman did.
    leaf_steps : int or "auto", default=1
        Newton steps to the value of a leaf, each held back by ``l2``; more come closer to a line search, and end when
        no leaf moves any more. "auto" is CatBoost's rule: 10 for the log loss of two classes, otherwise 1. 0, with
        ``second_order=False``, takes the mean gradient as it is: cautious steps for losses of small hessians.
    ordered_boosting : int, default=0
        Random orders of ordered boosting, where the gradient of a row comes from a model that has not seen the row;
        0 is plain boosting. For small tables: see docs/ordered-boosting.md.
<output parameters>    leaf_model : {"constant", "linear"}, default="constant"
        What a leaf says: one value, or a value plus slopes of the numeric columns that its path splits on. Linear
        leaves suit smooth functions, and never extrapolate: see docs/linear-leaves.md.
    linear_l2 : float, default=10
        Penalty on the size of slopes, in the units of ``l2``.
    max_delta_step : float, default=0
        Bound of leaf values before the learning rate; 0 is none.
    max_bins : int, optional, default=255
        Most bins of a numeric column, up to 65,535; None tries every distinct value.
    category_levels : int, optional, default=20
        Categorical columns of more levels are read as statistics: means of the target, each row's from the rows before
        it in a random order, and frequencies. Others, and all of them if it is None or y has several outputs, are split
        by sets of categories. See docs/target-statistics.md.
    category_combinations : int, default=2
        Most columns, of those that are read as statistics, in a combination that gets statistics of its own; 1
        combines none.
    category_orders : int, default=4
        Random orders of these statistics; rounds read them in turn. Ordered boosting has one.

    subsample : float or "auto", default="auto"
        Share of the rows that each tree sees. "auto" is 0.7; of fewer than 1,000 rows, of a bootstrap and of samplings
        with rates of their own it is 1.
    sampling : {"subsample", "bootstrap", "stratified", "goss", "mvs", "bayesian"}, default="subsample"
        How rows are chosen: without replacement; with replacement, copies as weights; the same share of each class or
        tenth of the target; the largest gradients and some of the rest; with probabilities of minimal variance; all,
        with random weights. See docs/sampling.md.
    top_rate, other_rate : float, optional
        Of "goss": the share of rows of largest gradients (0.2), and the share drawn from the rest (0.1).
    bagging_temperature : float, optional
        Of "bayesian": the power of the exponential weights (1); 0 makes all of them 1.
    max_features : float or int, default=0.3
        Share or number of columns that each node may split on.
    colsample_tree, colsample_level : float or int, default=1.0
        Share or number of columns that each tree, and each level of it, may split on.

    dart_rate : float, default=0
        Probability that a round leaves an earlier one out while it grows (DART); 0 is gradient boosting.
    dart_skip : float, default=0.5
        Probability that a round of DART leaves out none.
    dart_max : int, default=50
        Most rounds that a round of DART leaves out.

    loss : <loss types>
        What to minimise: <losses>.
        Or an object derived from ``arboretum.losses.Loss``<or function>.
<loss parameters>    monotonic_cst : mapping of names or sequence, optional
        1 where the prediction must not fall as the column rises, -1 where it must not rise, 0 where it is free.
    interaction_cst : sequence of sets, "pairwise" or "no_interactions", optional
        Columns that may meet on a path from the root.
    categorical_features : names, positions or mask, optional
        Numeric columns that hold categories. Text, categories and the like are found by themselves.
    unknown : {"average", "missing", "error"}, default="average"
        A category not seen at fit takes both branches, weighted by their rows; or counts as missing; or is an error.
    missing : {"warn", "error"}, default="warn"
        Missing values in a column that had none at fit. Their branch is the one most training rows took.
<class parameters>
    early_stopping : bool or "auto", default="auto"
        Stop when validation rows are no longer predicted better, and keep the best round. "auto": when ``X_val`` is
        given or there are at least 1,000 rows; a model that is trained further, or will be (``warm_start``), holds no
        rows out by itself.
    scoring : str, callable or None, default="loss"
        What early stopping compares rounds by. "loss"; the name of a metric:
        <metrics>;
        the name of a scikit-learn scorer; a function of (model, X, y) whose greater values are better; or None for
        ``score``. See docs/how-to.md.
    validation_fraction : float, default=0.1
        Share of the rows held out<stratified> if early stopping has no ``X_val``.
    n_iter_no_change : int, default=50
        Rounds without improvement before stopping.
    tol : float, default=0
        By how much the loss or score must improve to count as improvement.
    refit : bool or "auto", default="auto"
        After rows were held out to stop early, fit all rows again for the number of rounds that was best. "auto": on
        fewer than 50,000 rows, unless ``warm_start`` is on.
    time_limit : float, optional
        Seconds after which no new round begins.
    warm_start : bool, default=False
        Let ``fit`` add rounds to the fitted model until it has ``n_estimators``.
    callbacks : sequence of callables, optional
        Each is called with a ``RoundReport`` after every round; one that returns True ends the fit.
    random_state : int, Generator, RandomState or None, default=0
        Seed of all sampling. The same seed gives the same model, byte for byte, for any number of threads.
    n_jobs : int, optional
        Threads; by default as many as the container allows.
    verbose : int, default=0
        1 shows a progress bar with loss and time left.

    Attributes
    ----------
    forest_ : Forest
        The trees, plain frozen arrays.
    n_iter_ : int
        Rounds kept.
    learning_rate_ : float
        The learning rate in use; rounds added under "auto" keep it.
    trees_per_round_ : int
        Trees of a round and output.
    history_ : History
        Losses and scores after each round, and why the fit ended.
    has_offset_ : bool
        Whether the model was fitted with an ``offset``, which ``predict`` then expects too.
    loss_ : Loss
        The loss in use.
    schema_ : Schema
        Names, kinds and categories of the columns.
<class attributes>    n_features_in_, feature_names_in_
        As in scikit-learn.
"""


FUNCTION = ", or a function of (y, raw) that returns gradients and\n        hessians"


def describe(first: str, examples: str, **parts: str) -> str:
    """Return a class docstring: the first line, all parameters with the parts of this class, and examples."""
    text = _PARAMETERS.replace("<loss types>", "str, Loss or callable" if parts["or_function"] else "str or Loss")
    for name, part in parts.items():
        text = text.replace(f"<{name.replace('_', ' ')}>", part)
    return f"{first}\n{text}\n{examples}"
