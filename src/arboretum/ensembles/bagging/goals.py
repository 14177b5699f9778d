"""Goals of forests and impurity trees: how a target is read, and what the mean of trees stands for.

::

    y ──as_columns──► columns ──read──► BaggedTarget, Head without trees
                                            │
               draws · least rows of a leaf · order of the rows                  before growing
               hazards, honest leaves (finished) · out-of-bag score              after growing

A goal knows parameters, never an estimator.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import places
from arboretum.data import targets
from arboretum.data.labels import typed_column
from arboretum.data.weights import by_inverse_chance
from arboretum.ensembles.bagging import criteria
from arboretum.ensembles.bagging.adjusting import adjusted
from arboretum.ensembles.bagging.effect_leaves import fill_leaves
from arboretum.ensembles.bagging.leaf_hazards import HazardHead, LeafHazards, TimedRows
from arboretum.ensembles.bagging.out_of_bag import score_out_of_bag
from arboretum.ensembles.bagging.settings import Choice, Settings, rows_of_share
from arboretum.ensembles.bagging.trees import BaggedTarget, Draws, Treatment
from arboretum.losses.base import LARGEST_TARGET
from arboretum.losses.survival_targets import event_times
from arboretum.metrics.survival import concordance_index
from arboretum.model.forest import LEAF
from arboretum.model.heads import ClassMeanHead, MeanHead, UpliftHead
from arboretum.model.model import Model
from arboretum.running.warning import warn_user
from arboretum.tasks.uplift_target import UpliftTarget, read_chances, read_uplift

if TYPE_CHECKING:
    from arboretum.ensembles.bagging.preparation import GivenRows, TrainingSet

FloatArray: TypeAlias = NDArray[np.float64]
Positions: TypeAlias = NDArray[np.intp]

HONEST_SHARE = 0.5  # draws of a tree with honest leaves, as a share of the rows
LEAST_ROWS_OF_LEAF, LEAST_ROWS_OF_ARM = 20, 5  # of two outcomes, as many rows of the rarer one
SMALL_PART = 5  # in a small experiment, a leaf has at least a fifth of the rows


@dataclass(frozen=True)
class Goal(ABC):
    """What trees are grown for."""

    def as_columns(self, y: Any, n_rows: int, name: str = "y", table: str = "X") -> Any:
        """Return a target of any container as an array, (rows, outputs)."""
        return targets.as_columns(y, n_rows, name, table)

    def of_all_places(self, y: Any, n_rows: int) -> Any:
        """Return the target of the rows of all places, from that of the rows of this one."""
        return y if places.here() is None else places.whole(targets.as_outputs(y, n_rows))

    @abstractmethod
    def read(self, columns: Any, weight: FloatArray | None) -> tuple[BaggedTarget, MeanHead]:
        """Check a target; return it in the form that trees read, and the head for their mean."""

    # ---- before growing ------------------------------------------------------------------------------------------

    def usual(self, settings: Settings) -> Choice | None:
        """Return what "auto" stands for where nothing is tried; None if no setting can be "auto"."""
        return None

    def order(self, target: BaggedTarget) -> Positions | None:
        """Return the order of the rows that the kernel requires; None if it requires none."""
        return None

    def draws(self, settings: Settings) -> Draws:
        """Return how a tree draws its rows."""
        if settings.bootstrap is False:
            return Draws()
        share = 1.0 if settings.max_samples is None else settings.max_samples
        return Draws(share, balanced=settings.bootstrap == "balanced")

    def least_rows_of_leaf(self, settings: Settings, n_rows: int, n_draws: int) -> int:
        """Return the minimum number of rows in a leaf; 0 draws mean that every row is used once."""
        return rows_of_share(settings.min_samples_leaf or 1, n_rows)  # type: ignore[arg-type]  # "auto" is of effects

    def prepared(self, training: TrainingSet, seed: int, threads: int) -> TrainingSet:
        """Return the rows with the target that trees grow on, where it is not the one that was read."""
        return training

    # ---- after growing -------------------------------------------------------------------------------------------

    def finished(
        self, model: Model, training: TrainingSet, settings: Settings, seed: int, threads: int, earlier: Model | None
    ) -> Model:
        """Return the model with what new leaves learn from the rows after growing; earlier leaves have it already."""
        return model

    def truth(self, y: Any, n_rows: int) -> NDArray[Any]:
        """Return the target in the form that scores read."""
        columns = self.as_columns(y, n_rows)
        return np.asarray(columns[:, 0] if columns.shape[1] == 1 else columns)

    def score(self, rule: Any, truth: Any, mean: FloatArray, weight: FloatArray | None, estimator: Any) -> float:
        """Score out-of-bag means by the rule that users give as ``oob_score``."""
        return score_out_of_bag(estimator, rule, truth, estimator.model_.head.of_mean(mean), None, weight)


class SingleTreeGoal(Goal):
    """A goal that a single tree can have: validation rows can prune the tree."""

    @abstractmethod
    def read_more(
        self, columns: NDArray[Any], weight: FloatArray | None, given: GivenRows, name: str = "y"
    ) -> BaggedTarget:
        """Check the target of other rows against that of the training rows."""

    def strata(self, target: BaggedTarget) -> NDArray[Any] | None:
        """Return the labels by which held-out rows are stratified."""
        return None


def _require_outputs(columns: NDArray[Any], n_outputs: int, name: str) -> None:
    if columns.shape[1] != n_outputs:
        raise ValueError(
            f"{name} has {columns.shape[1]} outputs, but the training rows have {n_outputs}: give the same"
        )


@dataclass(frozen=True)
class Numbers(SingleTreeGoal):
    """Numbers, of one output or several."""

    criterion: str

    def usual(self, settings: Settings) -> Choice:
        """Return half of the columns."""
        return Choice(0.5, 2)

    def read(self, columns: NDArray[Any], weight: FloatArray | None) -> tuple[BaggedTarget, MeanHead]:
        """Read numbers that the criterion can be computed from."""
        numbers = self._numbers(columns, "y")
        if (beyond := np.abs(numbers).max(axis=1) > LARGEST_TARGET).any():
            row = int(np.argmax(beyond))
            raise ValueError(
                f"y[{row}] = {numbers[row].max():g}: beyond ±{LARGEST_TARGET:g}: divide the target by a constant"
            )
        criterion = criteria.OF_NUMBERS[self.criterion]
        if criterion.counts and (numbers.min() < 0 or not numbers.sum() > 0):
            row = int(np.argmin(numbers.min(axis=1)))
            raise ValueError(
                f"criterion={self.criterion!r} needs counts of at least 0 that are not all 0: y has "
                f"{numbers[row].min():g} in row {row}; use criterion='squared_error'"
            )
        if not criterion.several_outputs and numbers.shape[1] > 1:
            raise ValueError(f"criterion={self.criterion!r} needs one output: fit one model per output")
        return BaggedTarget(self.criterion, weight, numbers=numbers), MeanHead()

    def _numbers(self, columns: NDArray[Any], name: str) -> FloatArray:
        numbers = np.column_stack([targets.regression_target(column, name) for column in columns.T])
        return np.ascontiguousarray(numbers)

    def read_more(
        self, columns: NDArray[Any], weight: FloatArray | None, given: GivenRows, name: str = "y"
    ) -> BaggedTarget:
        """Read the target; it must have as many outputs as the training rows."""
        _require_outputs(columns, given.target.width, name)
        return BaggedTarget(self.criterion, weight, numbers=self._numbers(columns, name))


@dataclass(frozen=True)
class Classes(SingleTreeGoal):
    """Labels of classes, of one output or several.

    Parameters
    ----------
    criterion, class_weight, voting
        As users give them.
    bootstrap : bool or str, optional
        How bags are drawn, as users give it; None for single trees, which have no bags.
    """

    criterion: str
    class_weight: Any = None
    bootstrap: bool | str | None = None
    voting: str = "soft"
    prior_trees: float = 0.0

    @property
    def _balances_bags(self) -> bool:
        """Whether all classes have equal weight in every bag."""
        wanted = isinstance(self.class_weight, str) and self.class_weight == "balanced_subsample"
        return wanted and self.bootstrap is not None

    def read(self, columns: NDArray[Any], weight: FloatArray | None) -> tuple[BaggedTarget, ClassMeanHead]:
        """Encode labels; class weights become weights of rows."""
        several, factors = columns.shape[1] > 1, None
        found = [targets.find_classes(typed_column(column) if several else column) for column in columns.T]
        classes, codes = [labels for labels, _ in found], np.column_stack([codes for _, codes in found])
        if not several:
            factors = targets.class_factors(weight, self._weight_of_rows, classes[0], codes[:, 0])
            weight = targets.times_factors(weight, factors, codes[:, 0])
            targets.require_two_weighted(weight, classes[0], codes[:, 0])
        elif self.class_weight is not None or self.bootstrap == "balanced":
            raise ValueError("class_weight and bootstrap='balanced' need one output: fit one model per output")
        prior = self.prior_trees if self.voting == "soft" else 0.0
        head = ClassMeanHead(classes=classes, voting=self.voting, prior_trees=prior)
        return self._target(codes, weight, classes, factors), head

    @property
    def _weight_of_rows(self) -> Any:
        """Return class weights of rows; balanced bags that draw equally from each class need none."""
        if not self._balances_bags:
            return self.class_weight
        return None if self.bootstrap else "balanced"

    def _target(
        self, codes: FloatArray, weight: FloatArray | None, classes: list[NDArray[Any]], factors: FloatArray | None
    ) -> BaggedTarget:
        return BaggedTarget(
            criteria.OF_CLASSES[self.criterion],
            weight,
            classes=np.ascontiguousarray(codes, dtype=np.int32),
            n_classes=tuple(map(len, classes)),
            factors=factors,
        )

    def read_more(
        self, columns: NDArray[Any], weight: FloatArray | None, given: GivenRows, name: str = "y"
    ) -> BaggedTarget:
        """Encode labels by the codes of the training rows."""
        head = given.head
        assert isinstance(head, ClassMeanHead)
        several = len(head.classes) > 1
        _require_outputs(columns, len(head.classes), name)
        pairs = zip(columns.T, head.classes, strict=True)
        codes = [targets.encode_classes(typed_column(one) if several else one, labels, name) for one, labels in pairs]
        weight = targets.times_factors(weight, given.target.factors, codes[0])
        return self._target(np.column_stack(codes), weight, list(head.classes), given.target.factors)

    def strata(self, target: BaggedTarget) -> NDArray[Any] | None:
        """Return the classes of one output."""
        codes = np.asarray(target.classes)
        return codes[:, 0] if codes.shape[1] == 1 else None

    def usual(self, settings: Settings) -> Choice:
        """Return the square root of the columns."""
        return Choice("sqrt", 2)

    def draws(self, settings: Settings) -> Draws:
        """Draw equally often from each class, if bags are to be balanced."""
        draws = super().draws(settings)
        return replace(draws, balanced=draws.balanced or self._balances_bags)

    def score(self, rule: Any, truth: Any, mean: FloatArray, weight: FloatArray | None, estimator: Any) -> float:
        """Score labels, or the probabilities of one output."""
        head = estimator.model_.head
        probas = head.probabilities(mean)
        return score_out_of_bag(
            estimator, rule, truth, head.of_mean(mean), probas[0] if len(probas) == 1 else None, weight
        )


@dataclass(frozen=True)
class Times(Goal):
    """Times to an event, some of them censored."""

    def as_columns(self, y: Any, n_rows: int, name: str = "y", table: str = "X") -> NDArray[Any]:
        """Return times and events."""
        return np.column_stack(event_times(y, n_rows))

    def read(self, columns: NDArray[Any], weight: FloatArray | None) -> tuple[BaggedTarget, HazardHead]:
        """Return ranks of times, starting at 1, negative for rows without event; and the times of events."""
        time, event = columns[:, 0], columns[:, 1] == 1
        counts = np.ones(len(time), dtype=bool) if weight is None else weight > 0
        if not event.any():
            raise ValueError(
                f"y has no event in {len(time)} rows, all are censored, so there is nothing to learn; check the "
                "event column (1 or True where the event was seen)"
            )
        rank = 1.0 + np.searchsorted(np.unique(time[counts]), time)
        ranks = np.where(event, rank, -rank)[:, None]
        head = HazardHead(event_times=np.unique(time[event & counts]))
        return BaggedTarget(criteria.OF_TIMES, weight, numbers=ranks), head

    def order(self, target: BaggedTarget) -> Positions:
        """Return the order of times (kernel/grow/impurity/log_rank.hpp)."""
        ranks = np.asarray(target.numbers)[:, 0]
        if not (ranks > 0).any():
            raise ValueError("no row of positive sample_weight has an event: there is nothing to learn from the rest")
        return np.argsort(np.abs(ranks), kind="stable")

    def finished(
        self, model: Model, training: TrainingSet, settings: Settings, seed: int, threads: int, earlier: Model | None
    ) -> Model:
        """Compute the hazards of the leaves."""
        forest, head, target = model.forest, model.head, training.target
        assert isinstance(head, HazardHead)
        parts = []
        if earlier is not None:
            assert isinstance(earlier.head, HazardHead)
            parts = [earlier.head.hazards]
        timed = TimedRows(np.ascontiguousarray(np.asarray(target.numbers)[:, 0]), target.weight)
        done = 0 if earlier is None else earlier.forest.n_trees
        rows = training.bagged(forest, seed, threads)
        hazards = LeafHazards.concat([*parts, LeafHazards.of(forest, rows, timed, done)])
        value = hazards.mortality(forest, len(head.event_times))[:, None]
        return replace(model, forest=replace(forest, value=value), head=replace(head, hazards=hazards))

    def truth(self, y: Any, n_rows: int) -> NDArray[Any]:
        """Return times and events."""
        return self.as_columns(y, n_rows)

    def score(self, rule: Any, truth: Any, mean: FloatArray, weight: FloatArray | None, estimator: Any) -> float:
        """Return the concordance index, the only score for times."""
        return concordance_index(truth, mean[:, 0], sample_weight=weight)


@dataclass(frozen=True)
class Effects(Goal):
    """Effects of treatments on outcomes; the target is a pair of outcomes and treatments.

    Parameters
    ----------
    criterion, control, normalise, min_samples_treatment, parent_weight
        As users give them.
    honest : bool
        Whether rows that a tree has not drawn fill its leaves.
    adjust : bool
        Whether trees grow on outcomes less the expected ones.
    """

    criterion: str
    control: Any = None
    normalise: bool = True
    min_samples_treatment: int | str = "auto"
    parent_weight: float = 0.0
    honest: bool = False
    adjust: bool = False

    def as_columns(self, y: Any, n_rows: int, name: str = "y", table: str = "X") -> tuple[Any, Any, Any, int]:
        """Return outcomes, treatments, their probabilities if known, and the number of rows."""
        outcome, treatment, propensity = y
        return outcome, treatment, propensity, n_rows

    def of_all_places(self, y: Any, n_rows: int) -> Any:
        """Return outcomes and treatments of the rows of all places."""
        if places.here() is None:
            return y
        return tuple(None if part is None else places.whole(targets.to_numpy(part, "y")) for part in y)

    def read(self, columns: tuple[Any, Any, Any, int], weight: FloatArray | None) -> tuple[BaggedTarget, UpliftHead]:
        """Read outcomes and arms that the divergence can be computed from."""
        outcome, treatment, propensity, n_rows = columns
        target = read_uplift(outcome, treatment, n_rows, self.control, weight)
        criterion = self._criterion(target)
        if criteria.OF_EFFECTS[criterion] and not target.is_binary:
            row = int(np.argmin(np.isin(target.y, (0.0, 1.0))))
            raise ValueError(
                f"criterion={criterion!r} needs outcomes 0 and 1: y has {target.y[row]:g} in row {row}; "
                "use criterion='euclidean'"
            )
        n_arms, inverse = len(target.arms.labels), None
        if propensity is not None:
            chance = read_chances(propensity, n_rows, n_arms)[np.arange(n_rows), target.arm]
            inverse = by_inverse_chance(None, chance, target.arm, n_arms)
        arms = Treatment(
            np.ascontiguousarray(target.arm),
            n_arms=n_arms,
            min_rows_arm=self._least_rows_of_arm(target, weight),
            parent_weight=float(self.parent_weight),
            balanced_gain=bool(self.normalise),
            inverse=inverse,
        )
        head = UpliftHead(treatments=target.arms, outcomes=target.outcomes)
        return BaggedTarget(criterion, weight, numbers=target.y[:, None], treatment=arms), head

    def _criterion(self, target: UpliftTarget) -> str:
        """Return the divergence: by default that of numbers, unless outcomes are two and stay what they are."""
        if self.criterion != "auto":
            return self.criterion
        return "kl" if target.is_binary and not self.adjust else "euclidean"

    def _least_rows_of_arm(self, target: UpliftTarget, weight: FloatArray | None) -> int:
        if not isinstance(self.min_samples_treatment, str):
            return int(self.min_samples_treatment)
        counts = slice(None) if weight is None else weight > 0
        most = LEAST_ROWS_OF_ARM
        if target.is_binary:
            ones = float(target.y[counts].mean())
            most = math.ceil(LEAST_ROWS_OF_ARM / min(ones, 1 - ones))
        drawn = HONEST_SHARE if self.honest else 1.0
        return part_of(int(drawn * np.bincount(target.arm[counts]).min()), most)

    def least_rows_of_leaf(self, settings: Settings, n_rows: int, n_draws: int) -> int:
        """Return a fifth of the rows of a tree by default."""
        if not isinstance(settings.min_samples_leaf, str):
            return super().least_rows_of_leaf(settings, n_rows, n_draws)
        return part_of(n_draws or n_rows, LEAST_ROWS_OF_LEAF)

    def draws(self, settings: Settings) -> Draws:
        """Leave half of the rows to fill honest leaves by default."""
        if self.honest and settings.max_samples is None:
            return Draws(HONEST_SHARE)
        return super().draws(settings)

    def prepared(self, training: TrainingSet, seed: int, threads: int) -> TrainingSet:
        """Take expected outcomes off, if asked to."""
        return adjusted(training, seed, threads) if self.adjust else training

    def finished(
        self, model: Model, training: TrainingSet, settings: Settings, seed: int, threads: int, earlier: Model | None
    ) -> Model:
        """Warn if no tree has a split; fill the leaves that the kernel has not filled."""
        forest, target = model.forest, training.target
        assert target.treatment is not None
        if not (forest.kind != LEAF).any():
            least = self.least_rows_of_leaf(settings, target.n_rows, training.bootstrap.n_draws)
            warn_user(
                f"no tree of this {model.name} has a split, so that all rows have the same uplift: a leaf needs "
                f"{least} rows (min_samples_leaf={settings.min_samples_leaf!r}), {target.treatment.min_rows_arm} of "
                f"each treatment (min_samples_treatment={self.min_samples_treatment!r}); lower them, or give more rows "
                "or columns that vary"
            )
        if not (self.honest or self.adjust or target.treatment.inverse is not None):
            return model
        done = 0 if earlier is None else earlier.forest.n_trees
        rows = training.bagged(forest, seed, threads)
        return replace(model, forest=fill_leaves(forest, rows, target, done, honest=self.honest))


def part_of(n_rows: int, most: int) -> int:
    """Return a fifth of the rows, at least 1 and at most ``most``.

    Examples
    --------
    >>> part_of(150, 100), part_of(8, 10), part_of(2_000, 100)
    (30, 1, 100)
    """
    return max(1, min(most, int(n_rows) // SMALL_PART))
