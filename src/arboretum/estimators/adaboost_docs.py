"""The docstrings of AdaBoost: what classifier and regressor share is written once."""

from __future__ import annotations

_PARAMETERS = """
    The default learner is a <learner>. Its table is read and cut into bins once for all rounds; missing
    values and categories are split as they are. Trees of ``DecisionTree*`` (CART) that are given share one table, too.
    Weights of the rows always have the sum of ``sample_weight``, without it their number. An estimator whose ``fit``
    takes no weights is fitted to rows drawn by weight.

    Parameters
    ----------
    estimator : estimator, optional
        What to boost, of arboretum, scikit-learn or any other that follows its protocol; the default learner if None.
    n_estimators : int, default=50
        Most learners; <ends>
    learning_rate : float, default=1.0
        Factor of the learners' weights.
<loss>    max_bins : int, optional, default=255
        Most bins of a numeric column, up to 65,535; None tries every distinct value. This and the next three are of the
        default learner; with an ``estimator`` they are set there.
    categorical_features : names, positions or mask, optional
        Numeric columns that hold categories. Text, categories and the like are found by themselves.
    unknown : {"average", "missing", "error"}, default="average"
        A category not seen at fit takes both branches, weighted by their rows; or counts as missing; or is an error.
    missing : {"warn", "error"}, default="warn"
        Missing values in a column that had none at fit. Their branch is the one most training rows took.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the learners that have a ``random_state``, and of the draws of those that take no weights.
    n_jobs : int, optional
        Threads; by default as many as the container allows. The model does not depend on it.

    Attributes
    ----------
    estimator_weights_ : ndarray, (n_learners,)
        <weights>
    estimator_errors_ : ndarray, (n_learners,)
        <errors>
    estimators_ : list
        The learners; trees of ours are made from ``forest_`` when asked for.
    estimator_ : estimator
        What was boosted.
<classes>    forest_ : Forest
        The trees, if the learners are CART trees of ours: <forest>
    feature_importances_ : ndarray
        Gain of each feature, a mean over the learners by the size of their weights.
    schema_ : Schema
        Names, kinds and categories of the columns, if there is a ``forest_``.
    n_features_in_, feature_names_in_
        As in scikit-learn.
"""

_CLASSIFIER_PARTS = {
    "learner": "stump, a tree of two leaves, by Gini",
    "ends": """there are fewer if one gets every row right, or if one is no better than chance.""",
    "loss": "",
    "weights": """\
ω = learning_rate · (log((1 − ε) / ε) + log(K − 1)), ε the error, K the number of classes: that of SAMME and of
        scikit-learn, for two classes twice that of Freund and Schapire. Negative if a learner is worse than chance.""",
    "errors": "Share of the weight that each got wrong when it was fitted.",
    "classes": """\
    classes_ : ndarray
        Labels, sorted.
""",
    "forest": """its raw predictions are Σ ω · votes, a vote
        1 for a class and −1 / (K − 1) for the others.""",
}

_REGRESSOR_PARTS = {
    "learner": "tree of depth 3",
    "ends": "there are fewer if one is exact, or if the mean loss of one is ½ or more.",
    "loss": """\
    loss : {"linear", "square", "exponential"}, default="linear"
        How the error of a row, as a share of the largest, counts: itself, its square, or 1 − exp(−error).
    bootstrap : bool, default=True
        Fit each learner to rows drawn by weight with replacement, as in the paper; False: to all rows, weighted.
""",
    "weights": "ω = learning_rate · log((1 − ε) / ε), ε the error.",
    "errors": "Mean loss of each, weighted as it was fitted.",
    "classes": "",
    "forest": "the prediction is the median of the trees by weight, not their sum.",
}

_CLASSIFIER_EXAMPLES = """
    Examples
    --------
    >>> import arboretum as arb
    >>> rows = [["red", 1.0], ["blue", 2.0], ["red", None], ["green", 4.0]] * 25
    >>> model = arb.AdaBoostClassifier(n_estimators=10).fit(rows, ["yes", "no", "yes", "yes"] * 25)
    >>> model.predict([["red", 2.5], ["blue", 2.0]])
    array(['yes', 'no'], dtype='<U3')
    """

_REGRESSOR_EXAMPLES = """
    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = arb.AdaBoostRegressor(loss="square").fit(X, X[:, 0] ** 2)
    >>> model.predict([[0.5]]).round(1)
    array([0.2])
    """


def _describe(first: str, parts: dict[str, str], examples: str) -> str:
    text = _PARAMETERS
    for name, part in parts.items():
        text = text.replace(f"<{name}>", part)
    return f"{first}\n{text}{examples}"


CLASSIFIER_DOC = _describe(
    "AdaBoost for classes (Freund and Schapire 1997; SAMME: Zhu, Zou, Rosset and Hastie 2009).",
    _CLASSIFIER_PARTS,
    _CLASSIFIER_EXAMPLES,
)
REGRESSOR_DOC = _describe("AdaBoost for numbers (AdaBoost.R2: Drucker 1997).", _REGRESSOR_PARTS, _REGRESSOR_EXAMPLES)
