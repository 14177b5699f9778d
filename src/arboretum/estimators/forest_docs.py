"""The docstring that random forests and extra trees share."""

from __future__ import annotations

_TEXT = """\
<summary>

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
    criterion : {<criteria>}
        Impurity that splits lower.
    max_depth, max_leaf_nodes : int, optional
        Limits of a tree; by default it grows until leaves are pure or small. With ``max_leaf_nodes`` the node of
        largest gain is split first.
    min_samples_split : int or float, default=2
        Least rows of a node that is split; a float is a share of the rows.
    min_samples_leaf : int or float, default=1
        Least rows of a leaf, counted exactly.
    min_weight_fraction_leaf : float, default=0
        Least share of the weight in a leaf.
    min_impurity_decrease : float, default=0
        Least fall of impurity by a split, weighted by the node's share of the weight.
    max_features : {"sqrt", "log2"}, float, int or None, default=<max features>
        Columns that each node looks at; more if none of them can be split.
    max_bins : int, optional, default=255
        Most bins of a numeric column; None tries every distinct value (exact, slower).
    oblique : bool, default=False
        Let nodes also look at sums of a few numeric columns, ``±x/s ± y/t <= threshold`` with each column's standard
        deviation; a missing value counts as the mean. Takes 8 bytes a row and numeric column during ``fit``.
    n_projections : int, optional
        Sums that each node looks at, besides its columns; by default as many as columns (``max_features``).
    projection_density : float, optional
        Probability that a numeric column takes part in a sum, given that at least two do; by default 2 / columns, about
        three columns a sum.

    bootstrap : bool<balanced type>, default=<bootstrap>
        Draw the rows of each tree with replacement, by weight<balanced>. Else every tree sees every row.
    max_samples : float or int, optional
        Draws of a tree: a share of the rows, or their number; by default as many as there are rows.
    oob_score : bool, str or callable, default=False
        Score every row by the trees that never saw it: True takes <score>, a name one of scikit-learn's scorers, a
        function is called with (y, prediction).
    keep_bags : bool, default=False
        Keep the leaf and the draws of every training row in every tree, some 5 bytes each, for ``proximity`` of
        training rows, ``predict_quantiles``, ``prediction_error`` and ``oob_permutation_importance``.
<class parameters>    monotonic_cst : mapping of names or sequence, optional
        1 where the prediction must not fall as the column rises, -1 where it must not rise, 0 where it is free.
    categorical_features : names, positions or mask, optional
        Numeric columns that hold categories. Text, categories and the like are found by themselves.
    unknown : {"average", "missing", "error"}, default="average"
        A category not seen at fit takes both branches, weighted by their rows; or counts as missing; or is an error.
    missing : {"warn", "error"}, default="warn"
        Missing values in a column that had none at fit. Their branch is the one most training rows took.

    warm_start : bool, default=False
        Let ``fit`` add trees to the fitted model until it has ``n_estimators``.
    random_state : int, Generator, RandomState or None, default=0
        Seed of all sampling. The same seed gives the same model, byte for byte, for any number of threads.
    n_jobs : int, optional
        Threads; by default as many as the container allows.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    forest_ : Forest
        The trees, plain frozen arrays.
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    n_outputs_ : int
        Columns of y.
    feature_importances_ : ndarray
        Fall of impurity by each feature, normalised.
<class attributes>
    References
    ----------
    <papers>

"""


def describe(summary: str, examples: str, **parts: str) -> str:
    """Fill in what differs."""
    text = _TEXT.replace("<summary>", summary)
    for name, part in parts.items():
        text = text.replace(f"<{name.replace('_', ' ')}>", part)
    return text + examples


CLASSIFIER = {
    "criteria": '"gini", "entropy", "log_loss"',
    "max_features": '"sqrt"',
    "balanced_type": ' or "balanced"',
    "balanced": '; "balanced" draws as often from each class',
    "score": "accuracy",
    "class_parameters": """\
    class_weight : "balanced", "balanced_subsample" or dict, optional
        Weight of each class. "balanced": classes weigh the same in the whole table. "balanced_subsample": in the bag of
        every tree, which draws as often from each class.
    voting : {"soft", "hard"}, default="soft"
        Average the probabilities of the trees, or count their votes.
""",
    "class_attributes": """\
    classes_ : ndarray, or a list of them for several outputs
        Labels, sorted.
    n_classes_ : int, or a list of them for several outputs
        Their number.
    estimators_ : list of DecisionTreeClassifier
        The trees; ``len(model)`` is their number.
    oob_score_, oob_decision_function_
        Score and probabilities by trees that never saw the row; NaN where there is none.
""",
}

REGRESSOR = {
    "criteria": '"squared_error", "absolute_error", "poisson"',
    "max_features": "1/3",
    "balanced_type": "",
    "balanced": "",
    "score": "R²",
    "class_parameters": "",
    "class_attributes": """\
    estimators_ : list of DecisionTreeRegressor
        The trees; ``len(model)`` is their number.
    oob_score_, oob_prediction_
        Score and predictions by trees that never saw the row; NaN where there is none.
""",
}
