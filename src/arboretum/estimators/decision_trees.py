"""DecisionTreeClassifier (CART, ID3, C4.5) and DecisionTreeRegressor (CART)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum.data.schema import Schema
from arboretum.ensembles.bagging import goals
from arboretum.ensembles.bagging.model_notes import ForestNotes, notes_of
from arboretum.ensembles.bagging.parameters import is_auto
from arboretum.ensembles.bagging.settings import Settings
from arboretum.estimators.averaged_trees import AveragedTrees, ClassTrees, NumberTrees
from arboretum.estimators.classes import defaults, parameters
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.estimators.protocol import Classifier, Estimator, Regressor
from arboretum.estimators.standing_in import with_model
from arboretum.model.arrays import Arrays
from arboretum.model.forest import LEAF, Forest
from arboretum.model.heads import MeanHead
from arboretum.model.model import Model
from arboretum.parameters.declaring import declares_parameters
from arboretum.trees.multiway import MultiwayTree
from arboretum.trees.multiway_model import MultiwayModel
from arboretum.trees.parameters import ClassTree, NumberTree, SingleTree, check_together
from arboretum.trees.single_tree import HeldRows, PrunedTree, PruningPath

Tree = TypeVar("Tree", bound="DecisionTree")
FloatArray: TypeAlias = NDArray[np.float64]


class DecisionTree(SingleTree, AveragedTrees, GrownTrees, Estimator):
    """One tree of impurity, for any target."""

    goal: Callable[[], goals.SingleTreeGoal]  # how the target is read, and what leaves mean

    def check_parameters(self) -> None:
        """Check the parameters by themselves and together, as ``fit`` does."""
        super().check_parameters()
        check_together(self, defaults(type(self)))

    def recipe(self) -> PrunedTree:
        """Return what makes a Model of rows: one tree that is grown and pruned, with these parameters."""
        return PrunedTree(self, self.goal(), type(self).__name__)

    def training_bytes(self, n_rows: int, n_features: int) -> int:
        """Return the memory that growing takes besides codes and the tree."""
        return Settings.of(self).training_bytes(n_rows, n_features)

    def fit(
        self: Tree,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Tree:
        """Grow the tree and prune it; an error leaves the model as it was.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Training rows: numbers, text, categories, dates, with holes.
        y : array-like, (n_rows,) or (n_rows, n_outputs)
            Target.
        sample_weight : array-like, optional
            Weight of each row: a row of weight 3 is the same as three equal rows.
        X_val, y_val, sample_weight_val : optional
            Rows to prune by (``pruning="reduced_error"``), in place of a held-out share of the training rows.

        Returns
        -------
        self
        """
        self.check_parameters()
        self.model_ = self.recipe().fit(X, y, sample_weight, HeldRows(X_val, y_val, sample_weight_val))
        return self

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> PruningPath:
        """Find the subtrees that cost-complexity pruning chooses from, by growing a tree of these rows.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``; the fitted tree is left as it is.

        Returns
        -------
        path
            ``path.ccp_alphas``, rising from 0, the least alpha of each step; ``path.impurities``, the impurity of its
            leaves, by their shares of the weight. As in scikit-learn, but entropies are natural, not in bits.
        """
        self.check_parameters()
        return self.recipe().path(X, y, sample_weight)

    # ---- reading the tree ----------------------------------------------------------------------------------------

    @property
    def forest_(self) -> Forest:
        """The tree of CART, plain frozen arrays."""
        model = self.model_
        if isinstance(model, MultiwayModel):
            raise AttributeError(f"this {type(self).__name__} has a tree of many branches per node: look at tree_")
        return model.forest

    def __len__(self) -> int:
        """Return 1, the number of trees."""
        return max(1, self.model_.forest.n_trees)

    def get_depth(self) -> int:
        """Depth of the deepest leaf; 0 if the root is a leaf."""
        model = self.model_
        return model.tree.depth if isinstance(model, MultiwayModel) else int(model.forest.tree_depths()[0])

    def get_n_leaves(self) -> int:
        """Count the leaves."""
        model = self.model_
        kind = model.tree.kind if isinstance(model, MultiwayModel) else model.forest.kind
        return int(np.count_nonzero(kind == LEAF))

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Leaf of every row.

        A row of an ID3 or C4.5 tree can end at an inner node, which has no branch for its category; of one that is
        spread over several leaves, since a value is missing, the leaf of the largest share counts.

        Returns
        -------
        ndarray of int32, (n_rows,)
            Node numbers; 0 is the root.
        """
        return super().apply(X)[:, 0]

    def decision_path(self, X: Any) -> Any:
        """Nodes that rows pass on their way to the leaves; of a row that is spread over branches, all of them.

        Returns
        -------
        scipy.sparse.csr_matrix, (n_rows, n_nodes)
            1 where a row passes a node.
        """
        model = self.model_
        if isinstance(model, MultiwayModel):
            return model.passed(model.conform(X))
        from arboretum.reading import decision_path

        return decision_path(model.forest, self.apply(X)[:, None])[0]

    def to_text(self, *, max_depth: int | None = None, digits: int = 4) -> str:  # type: ignore[override]
        """Write the tree as indented text; ID3 and C4.5 in their own style, a leaf with its rows and its errors.

        Parameters
        ----------
        max_depth : int, optional
            Deeper nodes are left out.
        digits : int
            Significant digits of values; conditions are always exact.
        """
        model = self.model_
        if not isinstance(model, MultiwayModel):
            return super().to_text(0, max_depth=max_depth, digits=digits)
        from arboretum.reading import multiway_to_text

        reading: dict[str, Any] = {"class_names": model.class_names, "max_depth": max_depth, "digits": digits}
        return multiway_to_text(model.tree, model.schema, **reading)

    def plot_tree(self, *, ax: Any = None, max_depth: int = 4) -> Any:  # type: ignore[override]
        """Draw the tree with Matplotlib.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        max_depth : int
            Deeper nodes are left out.

        Returns
        -------
        matplotlib.axes.Axes
        """
        model = self.model_
        if not isinstance(model, MultiwayModel):
            return super().plot_tree(ax=ax, max_depth=max_depth)
        from arboretum.plotting import plot_multiway

        names = model.class_names
        return plot_multiway(model.tree, model.schema, class_names=names, ax=ax, max_depth=max_depth)

    def _node_columns(self) -> dict[str, Any]:
        model = self.model_
        if not isinstance(model, MultiwayModel):
            return super()._node_columns()
        from arboretum.reading import multiway_columns

        return multiway_columns(model.tree, model.schema, class_names=model.class_names)

    def _read_model(self, header: dict[str, Any], arrays: Arrays) -> Model:
        if "parent" in arrays:
            unknown, missing = self._policy()
            policy = {"unknown": unknown, "missing": missing, "name": type(self).__name__}
            return MultiwayModel.from_file(header, arrays, self.head_kind, self.notes_kind, **policy)
        model = super()._read_model(header, arrays)
        if model.forest.n_trees != 1:
            raise ValueError(f"a decision tree of {model.forest.n_trees} trees")
        return model


@declares_parameters
class DecisionTreeClassifier(ClassTree, ClassTrees, DecisionTree, Classifier):
    """Decision tree for classes: CART, ID3 or C4.5.

    Attributes
    ----------
    forest_ : Forest
        The CART tree, plain frozen arrays.
    tree_ : MultiwayTree
        The tree of ID3 or C4.5, in place of ``forest_``.

    References
    ----------
    Breiman, L., Friedman, J., Olshen, R., Stone, C. (1984). Classification and regression trees. Wadsworth.
    Quinlan, J. R. (1986). Induction of decision trees. Machine Learning 1.
    Quinlan, J. R. (1993). C4.5: Programs for machine learning. Morgan Kaufmann.

    Examples
    --------
    The weather of 14 Saturdays, and whether one would play tennis (Quinlan 1986, table 1):

    >>> import pandas as pd, arboretum as arb
    >>> weather = {
    ...     "outlook": "sunny sunny overcast rain rain rain overcast sunny sunny rain sunny overcast overcast rain",
    ...     "temperature": "hot hot hot mild cool cool cool mild cool mild mild mild hot mild",
    ...     "humidity": "high high high high normal normal normal high normal normal normal high normal high",
    ...     "wind": "weak strong weak weak weak strong strong weak weak weak strong strong weak strong",
    ...     "play": "no no yes yes yes no yes no yes yes yes yes yes no",
    ... }
    >>> days = pd.DataFrame({name: values.split() for name, values in weather.items()})
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

    def goal(self) -> goals.Classes:
        """Return how labels are read, and what leaves mean."""
        return goals.Classes(self.criterion, self.class_weight)

    @property
    def tree_(self) -> MultiwayTree:
        """The tree of ID3 or C4.5."""
        model = self.model_
        if not isinstance(model, MultiwayModel):
            raise AttributeError(f"this {type(self).__name__} has a tree with two branches per node: look at forest_")
        return model.tree

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        several = self.method == "cart" and self.pruning != "pessimistic"
        tags.target_tags.multi_output = tags.classifier_tags.multi_label = several
        return tags


@declares_parameters
class DecisionTreeRegressor(NumberTree, NumberTrees, DecisionTree, Regressor):
    """Decision tree for numbers: CART.

    Attributes
    ----------
    forest_ : Forest
        The tree, plain frozen arrays.

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

    def goal(self) -> goals.Numbers:
        """Return how numbers are read."""
        return goals.Numbers(self.criterion)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def fitted_tree(
    tree: Tree, forest: Forest, schema: Schema, head: MeanHead, *, seed: int = 0, n_outputs: int = 1
) -> Tree:
    """Return an unfitted decision tree as if it had learned this forest of one tree."""
    policy, notes = (tree.unknown, tree.missing, type(tree).__name__), ForestNotes(seed, n_outputs)
    return with_model(tree, Model(forest, schema, None, *policy, head=head.of(forest), notes=notes))


def trees_of(forest: Any, cls: type[Tree], head: MeanHead) -> list[Tree]:
    """Return the trees of a forest as decision trees that share its arrays."""
    shared = set(parameters(cls)) & set(parameters(type(forest))) - {"class_weight"}
    asked = {name: getattr(forest, name) for name in parameters(type(forest))} | forest.chosen_params_
    given = {name: value for name, value in asked.items() if name in shared and not is_auto(value)}
    model = forest.model_
    notes, trees = notes_of(model), replace(model.forest, base=np.zeros_like(model.forest.base))
    if notes.is_averaged:
        raise AttributeError(
            f"this {type(forest).__name__} is an average, whose trees have weights: look at the models that it was "
            "made from"
        )
    known: dict[str, Any] = {"seed": notes.seed, "n_outputs": notes.n_outputs}
    return [
        fitted_tree(cls(**given, pruning=None), trees[place : place + 1], model.schema, head, **known)
        for place in range(trees.n_trees)
    ]
