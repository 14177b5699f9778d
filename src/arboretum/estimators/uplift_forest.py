"""UpliftForest."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from arboretum.ensembles.bagging.honest_leaves import fill_leaves
from arboretum.ensembles.bagging.parameters import EffectsForest
from arboretum.ensembles.bagging.trees import BaggedTarget, Draws, Treatment
from arboretum.estimators.bagged_trees import BaggedTrees, TrainingSet
from arboretum.estimators.base import FloatArray
from arboretum.estimators.uplift_model import Treatments, UpliftModel
from arboretum.model.forest import LEAF, Forest
from arboretum.model.heads import UpliftHead
from arboretum.parameters.declaring import (
    FLAG,
    MOST,
    Choice,
    CountOrShare,
    Number,
    declares_parameters,
    like,
    parameter,
)
from arboretum.running.warning import warn_user
from arboretum.tasks.uplift_target import UpliftTarget, read_uplift

Uplift = TypeVar("Uplift", bound="UpliftForest")

HONEST_SHARE = 0.5  # draws of a tree with honest leaves, as a share of the rows
LEAST_ROWS_OF_LEAF, LEAST_ROWS_OF_ARM = 100, 10  # of large tables
SMALL_PART = 5  # a leaf of a small table has a fifth of the rows, or more


@declares_parameters
class UpliftForest(EffectsForest, UpliftModel, BaggedTrees):
    """Random forest for uplift: trees split where treated and control rows come to differ most.

    Attributes
    ----------
    forest_ : Forest
        The trees, plain frozen arrays; leaves hold the mean outcome of each arm.
    feature_importances_ : ndarray
        Gain of divergence by each feature, normalised.

    References
    ----------
    Rzepakowski, P. and Jaroszewicz, S. (2012). Decision trees for uplift modeling with single and multiple treatments.
    Knowledge and Information Systems 32.
    Athey, S. and Imbens, G. (2016). Recursive partitioning for heterogeneous causal effects. PNAS 113.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> rng = np.random.default_rng(0)
    >>> X, mail = rng.random((4000, 2)), rng.integers(0, 2, 4000)
    >>> visit = rng.random(4000) < 0.2 + 0.4 * mail * (X[:, 0] > 0.5)
    >>> model = arb.UpliftForest(n_estimators=20, max_depth=2, max_features=None).fit(X, visit, treatment=mail)
    >>> model.predict([[0.1, 0.5], [0.9, 0.5]]).round(1)
    array([0. , 0.4])
    """

    criterion: str = parameter(
        "kl",
        Choice("kl", "euclidean", "chi2"),
        "Divergence of the outcomes of treated and control rows that splits raise: Kullback-Leibler, squared "
        'difference, or chi-squared. Outcomes that are numbers need "euclidean".',
        before="max_depth",
    )
    normalise: bool = parameter(
        True,
        FLAG,
        "Divide gains by a measure of how unevenly a split deals out treated and control rows.",
        before="max_depth",
    )
    control: Any = like(Treatments, before="max_depth")
    min_samples_leaf: int | float | str = like(
        EffectsForest,
        default="auto",
        allowed=CountOrShare(words=("auto",)),
        doc='Least rows of a leaf, counted exactly; a float is a share of the rows. "auto" is 100, or a fifth of the '
        "rows that a tree draws if that is less: effects are differences of means, and small leaves mostly tell noise.",
    )
    min_samples_treatment: int | str = parameter(
        "auto",
        Number(1, MOST, integer=True, words=("auto",)),
        'Least rows of the control, and of each treatment, in a leaf. "auto" is 10, or a fifth of the smallest of '
        "these groups if that is less.",
        before="max_features",
    )
    parent_weight: float = parameter(
        10.0,
        Number(0.0, 1e15),
        "Rows that the outcome of a node's parent counts for in the outcome of the node.",
        before="max_features",
    )
    max_samples: float | int | None = like(
        EffectsForest,
        doc="Number of rows that each tree draws, or their share; by default as many as there are rows, or half of "
        "that with ``honest``.",
    )
    honest: bool = parameter(
        False,
        FLAG,
        "Let rows that a tree has not drawn say what its leaves predict: effects are not exaggerated by the search for "
        "splits.",
        before="categorical_features",
    )

    min_samples_split = 2
    min_weight_fraction_leaf = 0.0
    min_impurity_decrease = 0.0
    monotonic_cst = None
    oob_score = False

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(  # type: ignore[override]  # treatments come third: they must not pass for weights
        self: Uplift, X: Any, y: Any, treatment: Any, sample_weight: Any = None
    ) -> Uplift:
        """Fit the model; nothing of it changes before all has gone well.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Training rows: numbers, text, categories, dates, with holes.
        y : array-like
            Outcomes: 0 and 1, booleans, two texts, the second in order is the one to raise; or numbers.
        treatment : array-like
            Label of each row: which treatment it had, or that of the control. It must not depend on what X says of
            the row, as in a randomised experiment.
        sample_weight : array-like, optional
            Weight of each row: a row of weight 3 is the same as three equal rows.

        Returns
        -------
        self
        """
        return self._fit(X, (y, treatment), sample_weight)

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.honest and self.bootstrap is False:
            raise ValueError(
                "honest=True without bootstrap: every tree sees every row, none is left to fill its leaves; "
                "set bootstrap=True or honest=False"
            )

    def _as_columns(self, y: Any, n_rows: int) -> Any:
        return *y, n_rows

    def _read_target(self, columns: Any, weight: FloatArray | None) -> tuple[BaggedTarget, Any]:
        y, treatment, n_rows = columns
        target = read_uplift(y, treatment, n_rows, self.control, weight)
        if not target.is_binary and self.criterion != "euclidean":
            row = int(np.argmin(np.isin(target.y, (0.0, 1.0))))
            raise ValueError(
                f"criterion={self.criterion!r} needs outcomes 0 and 1: y has {target.y[row]:g} in row {row}; "
                "use criterion='euclidean'"
            )
        arms = Treatment(
            np.ascontiguousarray(target.arm),
            n_arms=len(target.arms.labels),
            min_rows_arm=self._least_rows_of_arm(target, weight),
            parent_weight=float(self.parent_weight),
            balanced_gain=bool(self.normalise),
        )
        return BaggedTarget(self.criterion, weight, numbers=target.y[:, None], treatment=arms), target

    def _least_rows_of_arm(self, target: UpliftTarget, weight: FloatArray | None) -> int:
        if not isinstance(self.min_samples_treatment, str):
            return int(self.min_samples_treatment)
        counted = target.arm if weight is None else target.arm[weight > 0]
        return _part_of(np.bincount(counted).min(), LEAST_ROWS_OF_ARM)

    def _least_rows_of_leaf(self, training: TrainingSet) -> int:
        if not isinstance(self.min_samples_leaf, str):
            return super()._least_rows_of_leaf(training)
        return _part_of(training.bootstrap.n_draws or training.target.n_rows, LEAST_ROWS_OF_LEAF)

    def _take_facts(self, facts: UpliftTarget) -> None:
        self._set_arms(facts.arms, facts.outcomes)
        self.n_outputs_ = 1

    def _has_facts(self, facts: UpliftTarget) -> bool:
        def plain(labels: Any) -> Any:
            return None if labels is None else labels.tolist()

        same_outcomes = plain(facts.outcomes) == plain(self.outcomes_)
        return bool(same_outcomes and facts.arms.in_order.tolist() == self.arms_.tolist())

    def _draws(self) -> Draws:
        if self.honest and self.max_samples is None:
            return Draws(HONEST_SHARE)
        return super()._draws()

    def _grow(self, training: TrainingSet, n_trees: int, earlier: Forest | None, seed: int, threads: int) -> Forest:
        forest = super()._grow(training, n_trees, earlier, seed, threads)
        if not (forest.kind != LEAF).any():
            arms = training.target.treatment
            assert arms is not None
            warn_user(
                f"no tree of this {type(self).__name__} has a split, so that all rows have the same uplift: a leaf "
                f"needs {self._least_rows_of_leaf(training)} rows (min_samples_leaf={self.min_samples_leaf!r}), "
                f"{arms.min_rows_arm} of each treatment (min_samples_treatment={self.min_samples_treatment!r}); lower "
                "them, or give more rows or columns that vary"
            )
        if not self.honest:
            return forest

        def leaves(first: int, last: int) -> Any:
            parts = [
                forest.apply(part.columns, part.n_rows, threads=threads, first=first, last=last)
                for _, part in training.table.row_batches()
            ]
            return np.concatenate(parts)

        first = 0 if earlier is None else earlier.n_trees
        return fill_leaves(forest, leaves, training.target, training.bootstrap, seed, first)

    # ---- prediction ----------------------------------------------------------------------------------------------

    def predict_outcome(self, X: Any) -> FloatArray:
        """Predict the outcome without treatment and under each of them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.

        Returns
        -------
        ndarray of float64, (n_rows, n_arms)
            In the order of ``arms_``; of two outcomes, the probability of the second.
        """
        return self._mean(X)

    def _uplift(self, X: Any) -> FloatArray:
        outcomes = self._mean(X)
        return outcomes[:, 1:] - outcomes[:, :1]

    def _head(self) -> UpliftHead:
        return UpliftHead(self._fitted().n_trees, arms=self.arms_)

    # ---- files ---------------------------------------------------------------------------------------------------

    def _read_facts(self, header: dict[str, Any], forest: Forest) -> None:
        super()._read_facts(header, forest)
        self._read_arms(header, forest.n_outputs)


def _part_of(n_rows: int, most: int) -> int:
    """Return a fifth of the rows, at least 1 and at most so many.

    Examples
    --------
    >>> _part_of(150, 100), _part_of(8, 10), _part_of(2_000, 100)
    (30, 1, 100)
    """
    return max(1, min(most, int(n_rows) // SMALL_PART))
