"""What a forest can tell about rows from the bags of its trees: proximity, outliers, quantiles, errors, importances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import check_flag, check_integer
from arboretum.data import targets
from arboretum.ensembles.bagging.goals import Goal
from arboretum.ensembles.bagging.leaf_statistics import infinitesimal_jackknife
from arboretum.ensembles.bagging.model_notes import Bags, notes_of
from arboretum.ensembles.bagging.proximity import dense_proximity, outlier_scores, top_k_proximity
from arboretum.model.heads import ClassMeanHead, MeanHead
from arboretum.model.model import Model
from arboretum.running.threads import n_threads

FloatArray: TypeAlias = NDArray[np.float64]


class KeptBags:
    """A forest that can keep the bags of its trees.

    Attributes
    ----------
    bags_ : Bags
        The bags of the trees, with ``keep_bags=True``.
    """

    bootstrap: Any
    n_jobs: int | None
    model_: Model
    goal: Callable[[], Goal]
    apply: Callable[[Any], NDArray[np.int32]]

    @property
    def bags_(self) -> Bags:
        """The bags of the trees, with ``keep_bags=True``."""
        bags = notes_of(self.model_).bags
        if bags is None:
            raise AttributeError(f"this {type(self).__name__} has not kept its bags: fit with keep_bags=True")
        return bags

    def _bags(self, what: str) -> Bags:
        bags = notes_of(self.model_).bags
        if bags is None:
            raise ValueError(f"{what} needs the bags of the trees: fit with keep_bags=True")
        return bags

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
        if bags is not None and isinstance(self.model_.head, ClassMeanHead) and notes_of(self.model_).n_outputs == 1:
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
            The rows that the forest was fitted on; others are rejected.
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
        model, goal, threads = self.model_, self.goal(), n_threads(self.n_jobs)
        table, head = model.conform(X).dense(), model.head_as(MeanHead)
        if not bags.hold(model, table, threads):
            raise ValueError("X is not the table that the forest was fitted on: out-of-bag rows are not known for it")
        known = np.flatnonzero(bags.out_of_bag.any(axis=1))
        truth = goal.truth(y, table.n_rows)[known]
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]

        def score(stand_in: Any) -> float:
            return goal.score(scoring, truth, head.mean(stand_in.predict_raw(None)), weight, self)

        falls = permutation_falls(
            by_bags(self, table.take(known), known, threads),
            score,
            [[column] for column in range(model.schema.n_features)],
            len(known),
            n_repeats=n_repeats,
            seed=notes_of(model).seed,
        )
        return np.asarray(falls.mean(axis=0))
