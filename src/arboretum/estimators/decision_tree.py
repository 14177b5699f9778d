"""DecisionTreeClassifier (CART, ID3, C4.5) and DecisionTreeRegressor (CART)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arboretum.data import targets
from arboretum.data.labels import classes_from_json
from arboretum.data.schema import Schema
from arboretum.data.table import Table
from arboretum.elementary import LN_2
from arboretum.ensembles.bagging.parameters import ClassCriterion, NumberCriterion, Pruning, TreeLimits
from arboretum.ensembles.bagging.trees import BaggedTarget
from arboretum.estimators.bagged_tasks import BaggedClassifier, BaggedRegressor
from arboretum.estimators.bagged_trees import BaggedTrees, GivenRows, rows_of_share
from arboretum.estimators.base import FloatArray
from arboretum.estimators.single_tree import GrownTree, SingleTreeModel
from arboretum.growing.criteria import total_entropy
from arboretum.model.forest import Forest
from arboretum.model.heads import MultiwayHead
from arboretum.parameters.declaring import (
    Choice,
    CountOrShare,
    Number,
    declares_parameters,
    fitted,
    like,
    parameter,
)
from arboretum.parameters.shared import ClassWeights
from arboretum.trees.c45 import grow_c45
from arboretum.trees.id3 import grow_id3
from arboretum.trees.multiway import MultiwayTree
from arboretum.trees.pruning import validation_errors

# Which method reads a parameter; with another it must keep its default.
READ_BY_METHOD = {
    **dict.fromkeys(
        (
            "criterion",
            "max_bins",
            "max_leaf_nodes",
            "min_impurity_decrease",
            "max_features",
            "oblique",
            "monotonic_cst",
        ),
        ("cart",),
    ),
    "min_samples_split": ("cart", "id3"),
    "min_samples_leaf": ("cart", "c45"),
    "min_weight_fraction_leaf": ("cart", "c45"),
}
C45_LEAST_CASES = 2  # of the branches of a split, as in the book


class ClassFacts(NamedTuple):
    """Classes of each output, and the factors of class_weight."""

    classes: list[NDArray[Any]]
    factors: FloatArray | None


@declares_parameters
class DecisionTreeClassifier(ClassCriterion, SingleTreeModel, BaggedClassifier):
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

    method: str = parameter(
        "cart",
        Choice("cart", "id3", "c45"),
        "How the tree is grown. CART: binary splits of least impurity. ID3: a branch for each category, by information "
        "gain; categorical columns only. C4.5: by gain ratio, a branch for each category, numbers by thresholds, "
        "missing values in fractions over all branches. A parameter that the method does not read must keep its "
        "default.",
        before="criterion",
    )
    min_samples_leaf: int | float | None = like(
        TreeLimits,
        default=None,
        allowed=CountOrShare(optional=True),
        doc="Least rows of a leaf, 1 by default (CART); or least cases of two branches of a split, 2 by default "
        "(C4.5). A float is a share of the rows.",
    )
    pruning: str | None = like(
        Pruning,
        allowed=Choice("auto", "cost_complexity", "reduced_error", "pessimistic", None),
        doc="How the grown tree is pruned. By default C4.5 prunes pessimistically, by its training errors; the other "
        'methods prune by cost complexity if ``ccp_alpha`` is above 0. "reduced_error" uses validation rows.',
    )
    confidence: float = parameter(
        0.25,
        Number(0.0, 1.0, open_low=True),
        "For pessimistic pruning, between 0 and 1: a smaller value prunes more.",
        before="validation_fraction",
    )
    class_weight: Any = like(ClassWeights, before="monotonic_cst")
    tree_: MultiwayTree = fitted()  # of id3 and c45, which have no forest_
    voting = "soft"

    # ---- fitting -------------------------------------------------------------------------------------------------

    @property
    def _pruning(self) -> str | None:
        return "pessimistic" if self.pruning == "auto" and self.method == "c45" else super()._pruning

    def check_parameters(self) -> None:
        super().check_parameters()
        self._refuse_unread("method", self.method, READ_BY_METHOD)

    def _read_target(self, columns: NDArray[Any], weight: FloatArray | None) -> tuple[BaggedTarget, ClassFacts]:
        target, classes = super()._read_target(columns, weight)
        if len(classes) == 1:
            codes = np.asarray(target.classes)[:, 0].astype(np.float64)
            return target, ClassFacts(classes, targets.class_factors(weight, self.class_weight, classes[0], codes))
        if self.method != "cart":
            raise ValueError(f"method={self.method!r} needs one output, but y has {len(classes)}: use method='cart'")
        if self._pruning == "pessimistic":
            raise ValueError(
                f"pruning='pessimistic' needs one output, but y has {len(classes)}: use pruning='reduced_error' or "
                "'cost_complexity'"
            )
        return target, ClassFacts(classes, None)

    def _take_facts(self, facts: ClassFacts) -> None:
        super()._take_facts(facts.classes)

    def _read_validation_target(
        self, columns: NDArray[Any], weight: FloatArray | None, facts: ClassFacts
    ) -> BaggedTarget:
        if columns.shape[1] != len(facts.classes):
            raise ValueError(f"y_val has {columns.shape[1]} outputs, but y has {len(facts.classes)}: give the same")
        pairs = zip(columns.T, facts.classes, strict=True)
        codes = np.column_stack([targets.encode_classes(column, classes) for column, classes in pairs])
        weight = targets.times_factors(weight, facts.factors, codes[:, 0])
        sizes = tuple(map(len, facts.classes))
        return BaggedTarget(self.criterion, weight, classes=codes.astype(np.int32), n_classes=sizes)

    def _strata(self, target: BaggedTarget) -> NDArray[Any] | None:
        codes = np.asarray(target.classes)
        return codes[:, 0] if codes.shape[1] == 1 else None

    def _grow_one(self, given: GivenRows, seed: int, threads: int) -> tuple[Schema, GrownTree]:
        if self.method == "cart":
            return super()._grow_one(given, seed, threads)
        tree = self._grow_multiway(given)
        missing = [bool((column != column).any()) for _, batch in given.table.column_batches() for column in batch]
        risk = total_entropy(tree.counts) * LN_2  # natural, as that of CART
        return given.table.schema.with_missing(missing), GrownTree(tree, tree.parent, risk, tree.weight)

    def _grow_multiway(self, given: GivenRows) -> MultiwayTree:
        table, target, n_rows = given.table, given.target, given.table.n_rows
        codes = np.asarray(target.classes)[:, 0]
        if self.method == "id3":
            return grow_id3(
                table,
                codes,
                target.weight,
                n_classes=target.n_classes[0],
                max_depth=self.max_depth,
                min_samples_split=max(2, rows_of_share(self.min_samples_split, n_rows)),
            )
        total = n_rows if target.weight is None else float(target.weight.sum())
        least = rows_of_share(self.min_samples_leaf or C45_LEAST_CASES, n_rows)
        return grow_c45(
            table,
            codes,
            target.weight,
            n_classes=target.n_classes[0],
            max_depth=self.max_depth,
            min_samples_leaf=max(least, float(self.min_weight_fraction_leaf) * total),
            confidence=None,  # pruned like any tree
        )

    def _errors_on(
        self, held: GivenRows, tree: Forest | MultiwayTree, threads: int
    ) -> tuple[FloatArray, FloatArray | None]:
        if isinstance(tree, Forest):
            return super()._errors_on(held, tree, threads)
        leaf_errors, stopped_errors = np.zeros((2, tree.n_nodes))
        codes, weight = np.asarray(held.target.classes)[:, 0], held.target.weight
        for first, part in held.table.row_batches():
            rows = slice(first, first + part.n_rows)
            found = validation_errors(tree, part.columns, codes[rows], None if weight is None else weight[rows])
            leaf_errors, stopped_errors = leaf_errors + found[0], stopped_errors + found[1]
        return leaf_errors, stopped_errors

    def _take_tree(self, tree: Forest | MultiwayTree) -> None:
        for name in ("forest_", "tree_"):
            self.__dict__.pop(name, None)
        if isinstance(tree, Forest):
            self.forest_ = tree
        else:
            self.tree_ = tree

    # ---- trees of id3 and c45 --------------------------------------------------------------------------------------

    @property
    def _multiway(self) -> MultiwayTree | None:
        return self.__dict__.get("tree_")

    def _head(self) -> Any:
        if self._multiway is None:
            return super()._head()
        return MultiwayHead(1, self._class_lists, method=self.method)

    def _trees(self) -> Any:
        return self.__dict__.get("forest_")

    def _mean(self, X: Any) -> FloatArray:
        tree = self._multiway
        if tree is None:
            return super()._mean(X)
        return np.concatenate(
            [tree.predict(part.columns, part.n_rows) for _, part in self.model_.conform(X).row_batches()]
        )

    def get_depth(self) -> int:
        """Depth of the deepest leaf; 0 if the root is a leaf."""
        return super().get_depth() if self._multiway is None else self._multiway.depth

    def get_n_leaves(self) -> int:
        """Count the leaves."""
        return super().get_n_leaves() if self._multiway is None else self._multiway.n_leaves

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Leaf of every row.

        A row of an ID3 or C4.5 tree can end at an inner node, which has no branch for its category; of one that is
        spread over several leaves, since a value is missing, the leaf of the largest share counts.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to route.

        Returns
        -------
        ndarray of int32, (n_rows,)
            Node numbers; 0 is the root.
        """
        tree = self._multiway
        if tree is None:
            return super().apply(X)
        return np.concatenate(
            [tree.apply(part.columns, part.n_rows) for _, part in self.model_.conform(X).row_batches()]
        )

    def decision_path(self, X: Any) -> Any:
        """Nodes that rows pass on their way to the leaves; of a row that is spread over branches, all of them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to route.

        Returns
        -------
        scipy.sparse.csr_matrix, (n_rows, n_nodes)
            1 where a row passes a node.
        """
        tree = self._multiway
        return super().decision_path(X) if tree is None else _nodes_passed(tree, self.model_.conform(X))

    def to_text(self, *, max_depth: int | None = None, digits: int = 4) -> str:  # type: ignore[override]
        """Write the tree as indented text; ID3 and C4.5 in their own style, a leaf with its rows and its errors.

        Parameters
        ----------
        max_depth : int, optional
            Deeper nodes are left out.
        digits : int
            Significant digits of values; conditions are always exact.
        """
        if self._multiway is None:
            return super().to_text(max_depth=max_depth, digits=digits)
        from arboretum.reading import multiway_to_text

        names = self._head().value_meaning["class_names"]
        return multiway_to_text(self._multiway, self.schema_, class_names=names, max_depth=max_depth, digits=digits)

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
        if self._multiway is None:
            return super().plot_tree(ax=ax, max_depth=max_depth)
        from arboretum.plotting import plot_multiway

        names = self._head().value_meaning["class_names"]
        return plot_multiway(self._multiway, self.schema_, class_names=names, ax=ax, max_depth=max_depth)

    def __len__(self) -> int:
        """Return 1, the number of trees."""
        return 1 if self._multiway is not None else super().__len__()

    def _node_columns(self) -> dict[str, Any]:
        if self._multiway is None:
            return super()._node_columns()
        from arboretum.reading import multiway_columns

        return multiway_columns(self._multiway, self.schema_, class_names=self._head().value_meaning["class_names"])

    # ---- files ---------------------------------------------------------------------------------------------------

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return super()._arrays() if self._multiway is None else self._multiway.to_arrays()

    def _read_trees(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        if "parent" not in arrays:
            super()._read_trees(header, arrays)
            return
        columns = self.schema_.columns
        sizes = [len(column.categories) if column.kind == "categorical" else -1 for column in columns]
        tree = MultiwayTree.from_arrays(arrays, sizes)
        self._read_notes(header)
        (entry,) = header["classes"]
        self.classes_ = classes_from_json(entry, tree.n_classes)
        if self.n_outputs_ != 1:
            raise ValueError(f"a tree of many branches for {self.n_outputs_} outputs")
        self.tree_ = tree

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        several = self.method == "cart" and self.pruning != "pessimistic"
        tags.target_tags.multi_output = tags.classifier_tags.multi_label = several
        return tags


@declares_parameters
class DecisionTreeRegressor(NumberCriterion, SingleTreeModel, BaggedRegressor):
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

    min_samples_leaf: int | float = like(TreeLimits)

    def _read_validation_target(self, columns: NDArray[Any], weight: FloatArray | None, facts: int) -> BaggedTarget:
        if columns.shape[1] != facts:
            raise ValueError(f"y_val has {columns.shape[1]} outputs, but y has {facts}: give the same")
        numbers = np.column_stack([targets.regression_target(column, "y_val") for column in columns.T])
        return BaggedTarget(self.criterion, weight, numbers=np.ascontiguousarray(numbers))


def _nodes_passed(tree: MultiwayTree, table: Table) -> Any:
    from scipy.sparse import csr_matrix

    rows, nodes = [], []
    for first, part in table.row_batches():
        for row, node, _ in tree.arrivals(part.columns, part.n_rows):
            while len(row):
                rows.append(row + first)
                nodes.append(node)
                climbs = node > 0
                row, node = row[climbs], tree.parent[node[climbs]].astype(np.int64)
    at = np.concatenate(rows), np.concatenate(nodes)
    passed = csr_matrix((np.ones(len(at[0]), np.int64), at), shape=(table.n_rows, tree.n_nodes))
    passed.sum_duplicates()
    passed.data[:] = 1
    return passed


def trees_of(model: BaggedTrees) -> list[SingleTreeModel]:
    """Return the trees of a random forest as decision trees that share its arrays."""
    cls = DecisionTreeClassifier if isinstance(model, BaggedClassifier) else DecisionTreeRegressor
    shared = set(cls._get_param_names()) & set(model._get_param_names()) - {"class_weight"}
    forest = model._fitted()
    trees: list[SingleTreeModel] = []
    for place in range(forest.n_trees):
        tree = cls(**{name: getattr(model, name) for name in shared}, pruning=None)
        tree._take_tree(forest[place : place + 1])
        tree.schema_, tree.n_outputs_, tree._seed = model.schema_, model.n_outputs_, model._seed
        if isinstance(tree, BaggedClassifier) and isinstance(model, BaggedClassifier):
            tree.classes_ = model.classes_
        tree._set_input_names()
        trees.append(tree)
    return trees
