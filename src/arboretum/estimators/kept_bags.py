"""What a forest can tell about rows from the bags of its trees: proximity, outliers, quantiles, errors, importances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import check_flag, check_integer
from arboretum.data import targets
from arboretum.data.table import Table
from arboretum.ensembles.bagging.leaf_statistics import forest_quantiles, infinitesimal_jackknife
from arboretum.ensembles.bagging.out_of_bag import score_out_of_bag
from arboretum.ensembles.bagging.proximity import dense_proximity, outlier_scores, top_k_proximity
from arboretum.estimators.bagged_trees import BaggedTrees, TrainingSet
from arboretum.estimators.base import FloatArray
from arboretum.estimators.protocol import Classifier
from arboretum.running.threads import n_threads

if TYPE_CHECKING:
    from arboretum.estimators.single_tree import SingleTreeModel


@dataclass(frozen=True, eq=False)
class Bags:
    """Of each training row and tree the leaf and how often the tree drew the row, and the targets."""

    leaves: NDArray[np.int32]
    copies: NDArray[Any]
    target: FloatArray

    @property
    def out_of_bag(self) -> NDArray[np.bool_]:
        """Where a tree never saw the row."""
        return np.asarray(self.copies == 0)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Give the arrays by the names they have in a file."""
        return {"bag_leaves": self.leaves, "bag_copies": self.copies, "bag_target": self.target}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], n_trees: int, n_nodes: NDArray[np.int64]) -> Bags:
        """Read arrays of unknown origin."""
        leaves, copies, target = (arrays[f"bag_{name}"] for name in ("leaves", "copies", "target"))
        if leaves.ndim != 2 or leaves.shape[1] != n_trees or leaves.shape != copies.shape or target.ndim != 2:
            raise ValueError("bags that do not fit the forest")
        if leaves.dtype != np.int32 or copies.dtype.kind != "u" or target.dtype != np.float64:
            raise ValueError("bags of another type")
        if len(target) != len(leaves) or (len(leaves) and ((leaves < 0) | (leaves >= n_nodes)).any()):
            raise ValueError("bags with nodes that the forest does not have")
        return cls(leaves, copies, target)


class KeptBags(BaggedTrees):
    """A forest that can keep the bags of its trees."""

    keep_bags: bool  # a parameter of forests for classes and for numbers
    bags_: Bags

    @property
    def estimators_(self) -> list[SingleTreeModel]:
        """The trees as estimators of their own, made when asked for; they share the arrays of the forest."""
        from arboretum.estimators.decision_tree import trees_of

        return trees_of(self)

    def _after_growing(self, training: TrainingSet, threads: int) -> None:
        self.__dict__.pop("bags_", None)
        if not self.keep_bags:
            return
        forest, n = self.forest_, training.table.n_rows
        leaves = self.model_.leaves(training.table, threads)
        copies = np.ones(leaves.shape, np.uint8)
        if training.bootstrap.n_draws:
            drawn = [training.bootstrap.copies(self._seed, tree, n) for tree in range(forest.n_trees)]
            copies = np.column_stack(drawn)
            copies = copies.astype(np.min_scalar_type(int(copies.max())))
        target = training.target
        values = target.numbers if target.numbers is not None else target.classes
        self.bags_ = Bags(leaves, copies, np.asarray(values, dtype=np.float64))

    def _bags(self, what: str) -> Bags:
        self._fitted()
        if not hasattr(self, "bags_"):
            raise ValueError(f"{what} needs the bags of the trees: fit with keep_bags=True")
        return self.bags_

    # ---- proximity -----------------------------------------------------------------------------------------------

    def proximity(self, X: Any = None, Y: Any = None, *, top_k: int | None = None, out_of_bag: bool = False) -> Any:
        """Share of the trees in which two rows end in the same leaf (Breiman & Cutler).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, optional
            Rows; the training rows if None (needs ``keep_bags=True``).
        Y : array-like, sparse matrix or data frame, optional
            Rows to compare with; X itself if None.
        top_k : int, optional
            Give only the k nearest of each row, as a sparse matrix: memory grows with the rows, not their square.
        out_of_bag : bool, default=False
            Of training rows, count only trees that saw neither of the two.

        Returns
        -------
        ndarray of float64, (rows of X, rows of Y), or scipy.sparse.csr_matrix with ``top_k``
        """
        threads = n_threads(self.n_jobs)
        check_flag("out_of_bag", out_of_bag)
        if out_of_bag and (X is not None or Y is not None):
            raise ValueError("out_of_bag=True is about training rows: leave X and Y out")
        left = self._bags("proximity of training rows").leaves if X is None else self.apply(X)
        right = None if Y is None else self.apply(Y)
        out = self._bags("out_of_bag").out_of_bag if out_of_bag else None
        if top_k is None:
            return dense_proximity(left, right, out_of_bag_x=out, threads=threads)
        check_integer("top_k", top_k)
        return top_k_proximity(left, right, top_k, out_of_bag_x=out, threads=threads)

    def outlier_scores(self, X: Any = None, y: Any = None, *, out_of_bag: bool = False) -> FloatArray:
        """Score how far a row is from the others of its class; above about 10 is suspect (Breiman & Cutler).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, optional
            Rows; the training rows if None (needs ``keep_bags=True``).
        y : array-like, optional
            Classes of the rows of X; without, all rows are of one class. Training rows have theirs.
        out_of_bag : bool, default=False
            Of training rows, count only trees that saw neither of the two.

        Returns
        -------
        ndarray of float64, (n_rows,)
        """
        check_flag("out_of_bag", out_of_bag)
        if out_of_bag and X is not None:
            raise ValueError("out_of_bag=True is about training rows: leave X out")
        bags = self._bags("outlier scores of training rows") if X is None else None
        classes = None if y is None else targets.to_numpy(y, "y")
        if bags is not None and isinstance(self, Classifier) and self.n_outputs_ == 1:
            classes = bags.target[:, 0]
        leaves = bags.leaves if bags is not None else self.apply(X)
        out = bags.out_of_bag if bags is not None and out_of_bag else None
        return outlier_scores(leaves, classes, out_of_bag=out, threads=n_threads(self.n_jobs))

    # ---- uncertainty ---------------------------------------------------------------------------------------------

    def prediction_error(self, X: Any) -> FloatArray:
        """Estimate the standard error of predictions by the infinitesimal jackknife (Wager, Hastie & Efron 2014).

        It tells how much predictions would change with another sample of training rows, not how much targets scatter
        around them. Needs ``keep_bags=True`` and the bootstrap; several hundred trees give a steady estimate.

        Returns
        -------
        ndarray of float64, (n_rows,) or (n_rows, values of a leaf)
            Of a classifier with two classes the error of the probability of the second.
        """
        bags = self._bags("prediction_error")
        if self.bootstrap is False:
            raise ValueError("prediction_error needs bags that differ: fit with bootstrap=True")
        forest, leaves = self.model_.summed, self.apply(X)
        nodes = forest.tree_start[:-1] + leaves
        errors = [infinitesimal_jackknife(column[nodes], bags.copies) for column in forest.value.T]
        return errors[0] if len(errors) == 1 else np.column_stack(errors)

    # ---- importance ----------------------------------------------------------------------------------------------

    def oob_permutation_importance(
        self, X: Any, y: Any, sample_weight: Any = None, *, n_repeats: int = 5, scoring: Any = True
    ) -> FloatArray:
        """Fall of the out-of-bag score when a column is shuffled (Breiman 2001).

        Every tree predicts only rows that it never saw, before and after the values of a column are exchanged between
        them. Needs ``keep_bags=True``.

        Parameters
        ----------
        X, y, sample_weight
            The rows that the forest was fitted on; others are refused.
        n_repeats : int, default=5
            Shuffles of each column; the mean is given.
        scoring : True, str or callable, default=True
            As ``oob_score``.

        Returns
        -------
        ndarray of float64, (n_columns,)
        """
        from arboretum.explaining import by_bags, permutation_falls

        bags = self._bags("oob_permutation_importance")
        check_integer("n_repeats", n_repeats)
        threads, table = n_threads(self.n_jobs), self.model_.conform(X).dense()
        if not is_training_table(self, table, threads):
            raise ValueError("X is not the table that the forest was fitted on: out-of-bag rows are not known for it")
        known = np.flatnonzero(bags.out_of_bag.any(axis=1))
        truth = targets.as_columns(y, table.n_rows)[known]
        truth = truth[:, 0] if truth.shape[1] == 1 else truth
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]

        head = self._head()

        def score(stand_in: Any) -> float:
            mean = stand_in.predict_raw(None) / len(self)
            probas = None if head.classes is None else head.probabilities(mean)
            proba = probas[0] if probas is not None and len(probas) == 1 else None
            return score_out_of_bag(self, scoring, truth, head.of_mean(mean), proba, weight)

        falls = permutation_falls(
            by_bags(self, table.take(known), known, threads),
            score,
            [[column] for column in range(self.schema_.n_features)],
            len(known),
            n_repeats=n_repeats,
            seed=self._seed,
        )
        return np.asarray(falls.mean(axis=0))

    # ---- files ---------------------------------------------------------------------------------------------------

    def to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header, arrays = super().to_file()
        return header, {**arrays, **(self.bags_.to_arrays() if hasattr(self, "bags_") else {})}

    def _read_trees(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._read_trees(header, arrays)
        if "bag_leaves" in arrays:
            sizes = np.diff(self.forest_.tree_start)
            self.bags_ = Bags.from_arrays(arrays, self.forest_.n_trees, sizes)


def is_training_table(model: KeptBags, table: Table, threads: int) -> bool:
    """Whether the rows of a table are those that a forest was fitted on, in their order."""
    leaves = model.bags_.leaves
    return table.n_rows == len(leaves) and np.array_equal(model.model_.leaves(table, threads), leaves)


def mean_of_bags(model: KeptBags, leaves: NDArray[np.int32], out_of_bag: NDArray[np.bool_]) -> FloatArray:
    """Mean of the out-of-bag trees of each row, (rows, values of a leaf); each row has some."""
    forest = model.model_.summed
    values = np.where(out_of_bag[:, :, None], forest.value[forest.tree_start[:-1] + leaves], 0.0)
    return np.asarray(values.sum(axis=1) / out_of_bag.sum(axis=1)[:, None])


class KeptRegressionBags(KeptBags):
    """A forest of numbers that can keep its bags."""

    def predict_quantiles(self, X: Any, q: Any) -> FloatArray:
        """Predict quantiles of the target from what the leaves hold (Meinshausen 2006).

        Needs ``keep_bags=True`` and one output.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.
        q : float or sequence of float
            Levels between 0 and 1.

        Returns
        -------
        ndarray of float64, (n_rows,), or (n_rows, levels) for a sequence
        """
        bags = self._bags("predict_quantiles")
        if self.n_outputs_ > 1:
            raise ValueError("predict_quantiles needs one output: fit one model an output")
        return forest_quantiles(
            bags.leaves, bags.target[:, 0], self.apply(X), q, copies=bags.copies, threads=n_threads(self.n_jobs)
        )
