"""The docstrings of the decision trees: what they share is written once."""

from __future__ import annotations

_CART = """\
    max_bins : int, optional
        Most bins of a numeric column; by default every distinct value is tried, with thresholds half-way between.
    max_depth, max_leaf_nodes : int, optional
        Limits of the tree; by default it grows until leaves are pure or small. With ``max_leaf_nodes`` the node of
        largest gain is split first.
    min_samples_split : int or float, default=2
        Least rows of a node that is split; a float is a share of the rows.
"""

_RULES = """\
    min_weight_fraction_leaf : float, default=0
        The same as a share of the weight.
    min_impurity_decrease : float, default=0
        Least fall of impurity by a split, weighted by the node's share of the weight.
    max_features : {"sqrt", "log2"}, float, int or None
        Columns that each node looks at, drawn anew; all by default.
    oblique : bool, default=False
        Let nodes also look at sums of a few numeric columns, ``±x/s ± y/t <= threshold`` with each column's standard
        deviation; a missing value counts as the mean.
    n_projections : int, optional
        Sums that each node looks at, besides its columns; by default as many as columns.
    projection_density : float, optional
        Probability that a numeric column takes part in a sum, given that at least two do; by default 2 / columns.

"""

_PRUNING = """\
    ccp_alpha : float, default=0
        Price of a leaf in cost-complexity pruning; 0 prunes nothing.
"""

_HELD_OUT = """\
    validation_fraction : float, default=0.2
        Share of the rows that reduced-error pruning holds out, if ``fit`` is not given ``X_val``.

"""

_COLUMNS = """\
    monotonic_cst : mapping of names or sequence, optional
        1 where the prediction must not fall as the column rises, -1 where it must not rise, 0 where it is free.
    categorical_features : names, positions or mask, optional
        Numeric columns that hold categories. Text, categories and the like are found by themselves.
    unknown : {"average", "missing", "error"}, default="average"
        A category not seen at fit takes all branches, weighted by their rows; or counts as missing; or is an error.
    missing : {"warn", "error"}, default="warn"
        Missing values in a column that had none at fit.
    random_state : int, Generator, RandomState or None, default=0
        Seed of ``max_features``, of oblique sums and of the rows that are held out.
    n_jobs : int, optional
        Threads; by default as many as the container allows. The tree does not depend on it.

"""

_ATTRIBUTES = """\
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    n_outputs_ : int
        Columns of y.
    feature_importances_ : ndarray
        Fall of impurity by each feature, normalised.

"""

CLASSIFIER_DOC = f"""\
Decision tree for classes: CART, ID3 or C4.5.

    Parameters
    ----------
    method : {{"cart", "id3", "c45"}}, default="cart"
        How the tree is grown. CART: binary splits of least impurity. ID3: a branch for each category, by information
        gain; categorical columns only. C4.5: by gain ratio, a branch for each category, numbers by thresholds, missing
        values in fractions over all branches. A parameter that the method does not read must keep its default.
    criterion : {{"gini", "entropy", "log_loss"}}
        Impurity that splits lower (CART). ``"log_loss"`` is another name of entropy.
{_CART}\
    min_samples_leaf : int or float, optional
        Least rows of a leaf, 1 by default (CART); or least cases of two branches of a split, 2 by default (C4.5).
{_RULES}\
    pruning : {{"auto", "cost_complexity", "reduced_error", "pessimistic"}} or None, default="auto"
        How the grown tree is cut back. By default C4.5 prunes pessimistically, by its training errors; others prune by
        cost complexity if ``ccp_alpha`` is above 0. ``"reduced_error"`` looks at validation rows.
{_PRUNING}\
    confidence : float, default=0.25
        Of pessimistic pruning, between 0 and 1: smaller prunes more.
{_HELD_OUT}\
    class_weight : "balanced" or dict, optional
        Weight of each class.
{_COLUMNS}\
    Attributes
    ----------
    forest_ : Forest
        The CART tree, plain frozen arrays.
    tree_ : MultiwayTree
        The tree of ID3 or C4.5, in place of ``forest_``.
    classes_ : ndarray, or a list of them for several outputs
        Labels, sorted.
{_ATTRIBUTES}\
    References
    ----------
    Breiman, L., Friedman, J., Olshen, R., Stone, C. (1984). Classification and regression trees. Wadsworth.
    Quinlan, J. R. (1986). Induction of decision trees. Machine Learning 1.
    Quinlan, J. R. (1993). C4.5: Programs for machine learning. Morgan Kaufmann.

    Examples
    --------
    The weather of 14 Saturdays, and whether one would play tennis (Quinlan 1986, table 1):

    >>> import pandas as pd, arboretum as arb
    >>> weather = {{
    ...     "outlook": "sunny sunny overcast rain rain rain overcast sunny sunny rain sunny overcast overcast rain",
    ...     "temperature": "hot hot hot mild cool cool cool mild cool mild mild mild hot mild",
    ...     "humidity": "high high high high normal normal normal high normal normal normal high normal high",
    ...     "wind": "weak strong weak weak weak strong strong weak weak weak strong strong weak strong",
    ...     "play": "no no yes yes yes no yes no yes yes yes yes yes no",
    ... }}
    >>> days = pd.DataFrame({{name: values.split() for name, values in weather.items()}})
    >>> model = arb.DecisionTreeClassifier(method="id3").fit(days.drop(columns="play"), days["play"])
    >>> print(model.to_text())
    outlook = rain
    |   wind = weak: yes (3)
    |   wind = strong: no (2)
    outlook = sunny
    |   humidity = high: no (3)
    |   humidity = normal: yes (2)
    outlook = overcast: yes (4)

    A tree of binary splits:

    >>> iris = [[5.1, 1.4], [4.9, 1.4], [7.0, 4.7], [6.4, 4.5], [6.3, 6.0], [5.8, 5.1]]
    >>> kinds = ["setosa", "setosa", "versicolor", "versicolor", "virginica", "virginica"]
    >>> print(arb.DecisionTreeClassifier().fit(pd.DataFrame(iris, columns=["sepal", "petal"]), kinds).to_text())
    tree 0 of 1  (6 rows, gain 2)
    ├── petal <= 2.95 → setosa 1  (2 rows)
    └── petal > 2.95  (4 rows, gain 2)
        ├── petal <= 4.9 → versicolor 1  (2 rows)
        └── petal > 4.9 → virginica 1  (2 rows)
    """

REGRESSOR_DOC = f"""\
Decision tree for numbers: CART.

    Parameters
    ----------
    criterion : {{"squared_error", "absolute_error", "poisson"}}
        Impurity that splits lower; leaves are means, or medians of ``"absolute_error"``.
{_CART}\
    min_samples_leaf : int or float, default=1
        Least rows of a leaf.
{_RULES}\
    pruning : {{"auto", "cost_complexity", "reduced_error"}} or None, default="auto"
        How the grown tree is cut back: by default by cost complexity if ``ccp_alpha`` is above 0. ``"reduced_error"``
        looks at validation rows, by the loss of the criterion.
{_PRUNING}\
{_HELD_OUT}\
{_COLUMNS}\
    Attributes
    ----------
    forest_ : Forest
        The tree, plain frozen arrays.
{_ATTRIBUTES}\
    References
    ----------
    Breiman, L., Friedman, J., Olshen, R., Stone, C. (1984). Classification and regression trees. Wadsworth.

    Examples
    --------
    >>> import arboretum as arb
    >>> X, y = [[20.0], [30.0], [40.0], [50.0]], [1.0, 1.0, 4.0, 6.0]
    >>> model = arb.DecisionTreeRegressor().fit(X, y)
    >>> model.predict([[45.1]])
    array([6.])
    >>> path = model.cost_complexity_pruning_path(X, y)
    >>> path.ccp_alphas
    array([0. , 0.5, 4. ])
    >>> print(arb.DecisionTreeRegressor(ccp_alpha=1.0).fit(X, y).to_text())
    tree 0 of 1  (4 rows, gain 16)
    ├── x0 <= 35 → 1  (2 rows)
    └── x0 > 35 → 5  (2 rows)
    """
