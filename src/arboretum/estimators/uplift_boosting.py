"""UpliftBoostedTrees: boosted trees that learn effects and not outcomes.

An R-learner (Nie & Wager 2021). With outcome y, t = 1 for treated and 0 for control rows, m(x) the expected outcome and
e(x) the probability of treatment, both from models that have not seen the row, the uplift minimises::

    Σ w [(y − m(x)) − (t − e(x)) · uplift(x)]²  =  Σ w (t − e(x))² [(y − m(x)) / (t − e(x)) − uplift(x)]²

so that it is boosted by squared error, to another target with other weights. Several treatments are compared with the
control one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum import losses
from arboretum.data import targets
from arboretum.data.splits import deal_out
from arboretum.data.table import Table, read_table
from arboretum.data.weights import in_rows
from arboretum.elementary import log
from arboretum.ensembles.bagging.resampling import with_schema
from arboretum.ensembles.boosting import goals
from arboretum.ensembles.boosting.judging import JudgedRows
from arboretum.ensembles.boosting.parameters import BoostedShape, BoostedSplits, ColumnSamples, Rounds, RowSamples
from arboretum.ensembles.boosting.problem import Problem, Target
from arboretum.ensembles.boosting.recipe import Boosting
from arboretum.ensembles.boosting.rows import Rows
from arboretum.estimators.boosted_trees import BoostedTreesRegressor
from arboretum.estimators.forests import RandomForestRegressor
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.estimators.protocol import Estimator
from arboretum.estimators.standing_in import with_model
from arboretum.estimators.uplift_model import UpliftModel
from arboretum.exact_sums import exact_mean, exact_sum
from arboretum.growing.grower import Growth
from arboretum.metrics.scoring import find_scoring
from arboretum.model.forest import LEAF, Forest
from arboretum.model.heads import EffectHead
from arboretum.model.model import Model
from arboretum.parameters.checking import check_columns, check_rounds, seed_of
from arboretum.parameters.declaring import Choice, Number, declares_parameters, like, parameter, parameters_of
from arboretum.parameters.shared import Bins, Categories, EarlyStopping, Seed, Threads, Treatments
from arboretum.running.interruption import inner_fits
from arboretum.running.threads import n_threads
from arboretum.running.warning import warn_user
from arboretum.tasks import UPLIFT, Task
from arboretum.tasks.uplift_target import UpliftTarget, read_chances, read_uplift

Uplift = TypeVar("Uplift", bound="UpliftBoostedTrees")
FloatArray: TypeAlias = NDArray[np.float64]

LEAST_PROPENSITY = 0.01  # rows that hardly ever have their treatment would outweigh all others
ROWS_OF_LEAF, PARTS = 50, 5  # of a small table, a leaf has at least a fifth of the rows
CLEARLY = 2.0  # standard errors by which a model of the treatment must be better than its share
OF_OUTCOMES: dict[str, Any] = {"n_estimators": 50, "max_features": 1 / 3, "min_samples_leaf": 5}
"""Settings of the forests that expect outcomes; no default of forests, which would grow trials in each fold."""
OF_TREATMENTS: dict[str, Any] = {**OF_OUTCOMES, "min_samples_leaf": 20}
"""Settings of those that expect treatments: probabilities near 0 and 1, as of small leaves, weigh too much."""


@dataclass(frozen=True, eq=False)
class _Pair:
    """Rows of the control and of one treatment; ``treated`` is 0 or 1, strata tell arms and outcomes apart."""

    table: Table
    y: FloatArray
    treated: FloatArray
    weight: FloatArray
    strata: NDArray[np.intp]
    chance: FloatArray | None  # of treatment, where it is known

    @classmethod
    def of(
        cls, table: Table, target: UpliftTarget, weight: FloatArray | None, arm: int, chances: FloatArray | None
    ) -> _Pair:
        rows = np.flatnonzero((target.arm == 0) | (target.arm == arm))
        return cls(
            table.take(rows),
            target.y[rows],
            (target.arm[rows] == arm).astype(np.float64),
            np.ones(len(rows)) if weight is None else weight[rows],
            target.strata[rows],
            None if chances is None else chances[rows, arm] / (chances[rows, 0] + chances[rows, arm]),
        )


@dataclass(frozen=True)
class _InStrata(goals.Numbers):
    """Numbers of rows that are held out in equal shares of each stratum."""

    given: Any = None

    def strata(self, y: FloatArray) -> NDArray[Any] | None:
        return np.asarray(self.given)


class _Effects(_InStrata):
    """Effects of treatments, judged by the order that they put rows in."""

    def task(self, target: Target) -> Task:
        return UPLIFT

    def judged(self, validation: Problem, rows: Rows, target: Target) -> JudgedRows:
        outcome, treatment, weight = (validation.columns[name] for name in ("outcome", "treatment", "weight"))
        given = None if (weight == 1).all() else weight  # not those of the R-learner
        return JudgedRows(validation.table, outcome, outcome, given, columns={"treatment": treatment})


@declares_parameters
class UpliftBoostedTrees(UpliftModel, Categories, EarlyStopping, Seed, Threads, GrownTrees, Estimator):
    """Gradient-boosted trees for uplift: boosting towards effects, with outcomes predicted by rows' own complements.

    Attributes
    ----------
    forest_ : Forest
        The trees, plain frozen arrays; one output a treatment.
    n_iter_ : ndarray of int
        Rounds kept, for each treatment.

    References
    ----------
    Nie, X. and Wager, S. (2021). Quasi-oracle estimation of heterogeneous treatment effects. Biometrika 108.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> rng = np.random.default_rng(0)
    >>> X, mail = rng.random((4000, 2)), rng.integers(0, 2, 4000)
    >>> spend = X[:, 1] + 2.0 * mail * (X[:, 0] > 0.5) + rng.normal(size=4000)
    >>> model = arb.UpliftBoostedTrees(n_estimators=50, learning_rate=0.1).fit(X, spend, treatment=mail)
    >>> model.predict([[0.1, 0.5], [0.9, 0.5]]).round()
    array([0., 2.])
    """

    n_estimators: int = like(
        Rounds,
        default=100,
        doc="Maximum number of boosting rounds; large tables need more, and stop early.",
        before="categorical_features",
    )
    learning_rate: float | str = like(
        Rounds, default=0.02, doc="Factor of each tree's step.", before="categorical_features"
    )
    control: Any = like(Treatments, before="categorical_features")
    propensity: str = parameter(
        "auto",
        Choice("auto", "share", "model"),
        "Probability of a treatment: its share of the rows, as in a randomised experiment; or that of a model of X, if "
        'treatment depends on X (and on nothing else that affects the outcome). "auto" takes the model where it '
        "predicts treatments of rows that it has not seen better than the share, by more than two standard errors of "
        "the log loss. ``fit`` takes known probabilities.",
        before="categorical_features",
    )
    n_folds: int = parameter(
        5,
        Number(2, 1000, integer=True),
        "Number of folds; forests for the outcome, and for the treatment, predict each fold from the others.",
        before="categorical_features",
    )
    growth: Growth = like(BoostedShape, before="categorical_features")
    max_leaf_nodes: int | None = like(
        BoostedShape,
        default=4,
        doc="Maximum number of leaves of a tree, few by default: effects are small compared with outcomes.",
        before="categorical_features",
    )
    max_depth: int | None = like(
        BoostedShape, doc="Maximum number of conditions on a path; by default unlimited.", before="categorical_features"
    )
    min_samples_leaf: int | str = like(
        BoostedShape,
        default="auto",
        doc='Minimum number of rows in a leaf. "auto" is 50, or a fifth of the rows of control and treatment if that '
        "is less: effects are differences of means.",
        before="categorical_features",
    )
    l2: float | str = like(BoostedSplits, default=0.0, before="categorical_features")
    max_bins: int | None = like(Bins, before="categorical_features")
    subsample: float | str = like(
        RowSamples, default=0.5, doc="Share of the rows that each tree uses.", before="categorical_features"
    )
    max_features: float | int = like(ColumnSamples, default=0.5, before="categorical_features")
    scoring: Any = like(
        EarlyStopping,
        doc='How early stopping compares rounds of effects: "loss", the squared error of the R-learner; "qini" or '
        '"auuc"; a function of (model, X, y, treatment) whose greater values are better, ``treatment`` being 0 or 1; '
        'or None for "qini".',
    )
    validation_fraction: float = like(EarlyStopping, filled={"stratified": ", the same share of each arm and outcome"})
    n_iter_no_change: int = like(EarlyStopping, default=10)

    head_kind: ClassVar = EffectHead

    @property
    def n_iter_(self) -> NDArray[np.intp]:
        """Rounds kept, for each treatment."""
        forest = self.forest_
        return np.bincount(forest.tree_output, minlength=forest.n_outputs)

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(
        self: Uplift, X: Any, y: Any, treatment: Any, sample_weight: Any = None, *, propensity: Any = None
    ) -> Uplift:
        """Fit the model; an error leaves it as it was.

        Outcomes are 0 and 1, booleans, or two texts, of which the second in order is the one to raise; or numbers.
        ``propensity`` is the probability of treatment of each row where it is known, (rows, treatments) if there are
        several; it replaces what the parameter of that name would find.

        Returns
        -------
        self
        """
        self.check_parameters()
        threads, seed = n_threads(self.n_jobs), seed_of(self.random_state)
        check_columns(self.categorical_features)
        table = read_table(X, categorical_features=self.categorical_features)
        weight = targets.training_weights(sample_weight, table.n_rows)
        target = read_uplift(y, treatment, table.n_rows, self.control, weight)
        chances = None if propensity is None else read_chances(propensity, table.n_rows, len(target.arms.labels))
        if weight is not None and not weight.all():
            rows = np.flatnonzero(weight)
            table, weight = table.take(rows).relearn(), weight[rows]
            chances = None if chances is None else chances[rows]
            target = replace(target, y=target.y[rows], arm=target.arm[rows])
        missing = [bool(np.isnan(values).any()) for _, batch in table.column_batches() for values in batch]
        table = with_schema(table, table.schema.with_missing(missing))
        forests = [
            self._learn_effect(_Pair.of(table, target, weight, arm, chances), seed, threads)
            for arm in range(1, len(target.arms.labels))
        ]
        for arm, (label, forest) in enumerate(zip(target.arms.in_order[1:].tolist(), forests, strict=True), 1):
            if not (forest.kind != LEAF).any():
                least = self._least_rows(int(np.isin(target.arm, (0, arm)).sum()))
                warn_user(
                    f"no tree of treatment {label!r} has a split, so that all rows have the same uplift: a leaf needs "
                    f"{least} rows (min_samples_leaf={self.min_samples_leaf!r}); lower it, or give more rows or "
                    "columns that vary"
                )
        policy = (self.unknown, self.missing, type(self).__name__)
        head = EffectHead(target.arms, target.outcomes)
        self.model_ = Model(_side_by_side(forests), table.schema, None, *policy, head=head)
        return self

    def _learn_effect(self, pair: _Pair, seed: int, threads: int) -> Forest:
        expected, chance = self._expect(pair, seed, threads)
        apart = pair.treated - chance
        effect = (pair.y - expected) / apart
        columns = {"outcome": pair.y, "treatment": pair.treated, "weight": pair.weight}
        shared = {name: getattr(self, name) for name in SHARED}
        scoring = "qini" if self.scoring is None else self.scoring
        shared |= {"random_state": seed, "scoring": scoring, "category_levels": None}  # trees read the user's columns
        shared["min_samples_leaf"] = self._least_rows(len(pair.y))
        settings, in_units = BoostedTreesRegressor(**shared), in_rows(pair.weight * apart**2)
        goal = _Effects(losses.resolve("squared_error"), given=pair.strata)
        recipe = Boosting(settings, goal, type(self).__name__, lambda model: with_model(settings, model))
        problem, target = Problem(pair.table, effect, in_units, columns=columns), Target(effect, in_units, goal.loss)
        with inner_fits():
            return recipe.learn(int(self.n_estimators), problem, target, threads).forest

    def _expect(self, pair: _Pair, seed: int, threads: int) -> tuple[FloatArray, FloatArray]:
        """Outcome and probability of treatment of each row, from forests of the other parts of the rows."""
        part = deal_out(pair.strata, int(self.n_folds), seed)

        def expected(values: FloatArray, settings: dict[str, Any]) -> FloatArray:
            answer = np.empty(len(values))
            forest = RandomForestRegressor(**settings, random_state=seed, n_jobs=threads)
            for number_of_part in np.unique(part):
                inside, outside = np.flatnonzero(part == number_of_part), np.flatnonzero(part != number_of_part)
                with inner_fits():
                    forest.fit(pair.table.take(outside), values[outside], pair.weight[outside])
                answer[inside] = forest.predict(pair.table.take(inside))
            return answer

        if (chance := pair.chance) is not None:
            return expected(pair.y, OF_OUTCOMES), chance
        chance = np.full(len(pair.y), exact_mean(pair.treated, pair.weight))
        if self.propensity != "share":
            told = np.clip(expected(pair.treated, OF_TREATMENTS), LEAST_PROPENSITY, 1 - LEAST_PROPENSITY)
            if self.propensity == "model" or predicts_treatment(told, chance, pair.treated, pair.weight):
                chance = told
        return expected(pair.y, OF_OUTCOMES), np.clip(chance, LEAST_PROPENSITY, 1 - LEAST_PROPENSITY)

    def _least_rows(self, n_rows: int) -> int:
        if not isinstance(self.min_samples_leaf, str):
            return int(self.min_samples_leaf)
        return max(1, min(ROWS_OF_LEAF, n_rows // PARTS))

    def check_parameters(self) -> None:
        """Check the parameters, and what rounds are compared by."""
        super().check_parameters()
        find_scoring(self.scoring, "uplift")

    def first_rounds(self: Uplift, n_rounds: int) -> Uplift:
        """Return the model of the first rounds of each treatment alone: it predicts, explains and saves as any does.

        Parameters
        ----------
        n_rounds : int
            How many rounds to keep, from 1 to the largest of ``n_iter_``; a treatment of fewer keeps all of its own.

        Returns
        -------
        UpliftBoostedTrees
        """
        forest, counts = self.forest_, self.n_iter_
        check_rounds(n_rounds, int(counts.max()))
        first = np.concatenate([[0], np.cumsum(counts)[:-1]])
        kept = [
            forest[int(begin) : int(begin + min(n_rounds, count))] for begin, count in zip(first, counts, strict=True)
        ]
        return with_model(self, replace(self.model_, forest=Forest.concat(kept)))

    # ---- prediction ----------------------------------------------------------------------------------------------

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """Yield the uplift after each round, of a treatment of fewer rounds that after its last."""
        model, counts, threads = self.model_, self.n_iter_, n_threads(self.n_jobs)
        forest = model.forest
        table = model.as_read(model.conform(X), threads)
        first = np.concatenate([[0], np.cumsum(counts)[:-1]])
        total, nothing = np.repeat(forest.base[None, :], table.n_rows, axis=0), np.zeros(forest.n_outputs)
        for number_of_round in range(int(counts.max())):
            for tree in (first + number_of_round)[counts > number_of_round].tolist():
                total += model.raw_of_read(table, threads, replace(forest[tree : tree + 1], base=nothing))
            yield total[:, 0].copy() if forest.n_outputs == 1 else total.copy()


def predicts_treatment(told: FloatArray, share: FloatArray, treated: FloatArray, weight: FloatArray) -> bool:
    """Whether probabilities of unseen rows have a log loss that is clearly below that of the share.

    Examples
    --------
    >>> treated, share = np.tile([0.0, 1.0], 50), np.full(100, 0.5)
    >>> [predicts_treatment(told, share, treated, np.ones(100)) for told in (0.3 + 0.4 * treated, share)]
    [True, False]
    """
    loss_of_share, loss = (-log(np.where(treated == 1, chance, 1 - chance)) for chance in (share, told))
    better = loss_of_share - loss
    mean = exact_mean(better, weight)
    error = np.sqrt(exact_sum(weight**2 * (better - mean) ** 2)) / exact_sum(weight)
    return bool(mean > CLEARLY * error)


# What members take from the model; they follow the loss, and are told their threads.
SHARED = tuple(
    name
    for name in parameters_of(UpliftBoostedTrees)
    if name in parameters_of(BoostedTreesRegressor) and name not in ("scoring", "n_jobs")
)


def _side_by_side(forests: list[Forest]) -> Forest:
    """Join forests of one output as the outputs of one forest."""
    base = np.concatenate([forest.base for forest in forests])
    return Forest.concat(
        [
            replace(forest, base=base, tree_output=np.full(forest.n_trees, output, np.int32))
            for output, forest in enumerate(forests)
        ]
    )
