"""Heads: the meaning of sums of trees, and how they become answers.

::

    Head          the sum is the prediction
    ├─ ArmHead    what treatments change
    │  └─ EffectHead    sums that are effects                                      uplift by boosting
    ├─ LossHead   link of a loss of numbers                                        boosting
    │  ├─ ClassLossHead labels and probabilities, of ordered classes too
    │  ├─ RiskHead      higher for earlier events; hazards
    │  └─ RankHead      scores within a query
    ├─ MeanHead   mean of the trees: numbers                                       trees, forests
    │  ├─ ClassMeanHead shares of classes, or votes
    │  │  └─ MultiwayHead  of one tree with many branches, which is not a Forest     ID3, C4.5
    │  ├─ HazardHead    mortality, and the hazards of leaves (ensembles/bagging/leaf_hazards.py)
    │  ├─ UpliftHead    outcome under treatment less that without (an ArmHead, too)
    │  └─ PathHead      path lengths, whose cuts gain by setting few rows apart    isolation
    ├─ VoteHead   weighted votes for classes                                       AdaBoost
    ├─ MedianHead the median by weight
    └─ OtherHead  no sum of trees: medians, members of others
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, losses
from arboretum.data.labels import ArmLabels, classes_from_json, classes_to_json, side_by_side
from arboretum.elementary import EXP_LIMIT, bounded_exp, exp2
from arboretum.losses import Cox, EachOutput, Logistic, Loss, Ordinal, Quantiles
from arboretum.losses.survival import AcceleratedFailure
from arboretum.model.arrays import Arrays
from arboretum.model.forest import LEAF, Forest, majorities
from arboretum.model.notes import read_n_outputs

if TYPE_CHECKING:
    from typing_extensions import Self

FloatArray: TypeAlias = NDArray[np.float64]


class ValueMeaning(TypedDict):
    """What the values of leaves mean: arguments of texts and drawings of trees (``reading/text.py``)."""

    class_names: list[str] | None
    probabilities: bool | None  # whether they are shares of classes; None if the values themselves show it


class Head:
    """Sums of trees that are the prediction itself.

    A head is part of a model file: ``facts`` and ``arrays`` determine predictions and enter the fingerprint; ``notes``
    do not. ``from_file`` reads a head, and rejects a forest that does not fit with a ValueError.
    """

    classes: Any = None  # labels of a head of classes
    determines = True  # whether sums determine everything that is predicted

    # ---- in files ------------------------------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """Return the entries of the head in the header of a file."""
        return {}

    def arrays(self, forest: Forest) -> Arrays:
        """Return the arrays of the trees and of the head."""
        return forest.to_arrays()

    def notes(self) -> dict[str, Any]:
        """Return further entries of the header."""
        return {}

    @property
    def objects(self) -> dict[str, Any]:
        """Fields of the head, by name, that a file may be unable to store, so that a pickle keeps them as well."""
        return {}

    @classmethod
    def from_file(cls, header: dict[str, Any], arrays: Arrays, forest: Forest) -> Head:
        """Make the head that a file describes."""
        return cls()

    # ---- answers -------------------------------------------------------------------------------------------------

    @property
    def is_affine(self) -> bool:
        """Whether the mean of predictions or probabilities is the prediction of the mean sum."""
        return True

    def summed(self, forest: Forest) -> Forest:
        """Return the forest whose sums are predictions: the forest of votes, if trees vote."""
        return forest

    def explained(self, forest: Forest) -> tuple[Forest, float]:
        """Return the forest, and the divisor of its sums, that SHAP values decompose."""
        return self.summed(forest), 1.0

    def gain(self, forest: Forest) -> FloatArray:
        """Return the gain of each node, 0 at leaves."""
        return forest.gain

    def answers(self, raw: FloatArray) -> NDArray[Any]:
        """Return predictions as users see them, labels or numbers, from sums (rows, outputs)."""
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def judged(self, raw: FloatArray) -> Any:
        """Return what metrics read: probabilities of classes, otherwise answers."""
        return self.answers(raw)

    def of_first_rounds(self) -> Head:
        """Return the head for the first rounds, without what was learned from all of them."""
        return self

    @property
    def output_names(self) -> list[str] | None:
        """Names of the outputs, if several have names."""
        return None

    @property
    def value_meaning(self) -> ValueMeaning:
        """What the values of leaves mean, for texts and drawings of trees."""
        return ValueMeaning(class_names=None, probabilities=None)


def label_names(classes: NDArray[Any]) -> list[str]:
    """Return labels as text."""
    return [str(label) for label in classes.tolist()]


# ---- boosting --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LossHead(Head):
    """Sums of trees before the link of a loss of numbers."""

    loss: Loss

    def facts(self) -> dict[str, Any]:
        """Return the loss."""
        return {"loss": self.loss.to_json()}

    @property
    def objects(self) -> dict[str, Any]:
        """The loss, which users may have written."""
        return {"loss": self.loss}

    @classmethod
    def from_file(cls, header: dict[str, Any], arrays: Arrays, forest: Forest) -> LossHead:
        """Read the loss."""
        return cls.read(header, forest.n_outputs)

    @classmethod
    def read(cls, header: dict[str, Any], n_outputs: int) -> LossHead:
        """Read the loss, for sums with this number of outputs."""
        return cls(cls.read_loss(header, n_outputs))

    @staticmethod
    def read_loss(header: dict[str, Any], n_outputs: int) -> Loss:
        """Return the loss of a file; reject one with another number of outputs than the sums."""
        loss = losses.from_json(header["loss"])
        if n_outputs != loss.n_outputs:
            raise ValueError(f"{n_outputs} outputs, but the loss has {loss.n_outputs}")
        return loss

    @property
    def is_affine(self) -> bool:
        """Whether there is no link."""
        inner = self.loss.loss if isinstance(self.loss, EachOutput) else self.loss
        return inner.link == "identity" and not isinstance(inner, Quantiles)

    def answers(self, raw: FloatArray) -> NDArray[Any]:
        """Return predictions after the link."""
        return self.loss.predict(raw[:, 0] if raw.shape[1] == 1 else raw)

    @property
    def value_meaning(self) -> ValueMeaning:
        """Scores, which are not probabilities."""
        return ValueMeaning(class_names=self.output_names, probabilities=False)


@dataclass(frozen=True, eq=False)
class ClassLossHead(LossHead):
    """Sums of trees before the link of a loss of classes."""

    classes: Any = None  # labels, or a list of them for several outputs

    is_affine = False

    def facts(self) -> dict[str, Any]:
        """Return the loss and the classes."""
        several = isinstance(self.classes, list)
        classes = [classes_to_json(labels) for labels in self.classes] if several else classes_to_json(self.classes)
        return {**super().facts(), "classes": classes}

    @classmethod
    def read(cls, header: dict[str, Any], n_outputs: int) -> ClassLossHead:
        """Read the loss and its classes."""
        loss, entry = cls.read_loss(header, n_outputs), header["classes"]
        if isinstance(loss, EachOutput):
            if not isinstance(entry, list) or len(entry) != loss.n_outputs:
                raise ValueError(f"classes: expected a list for each of {loss.n_outputs} outputs, found {entry!r:.80}")
            return cls(loss, [classes_from_json(labels, 2) for labels in entry])
        if isinstance(loss, Ordinal):
            if loss.thresholds is None:
                raise ValueError("loss: ordered classes need thresholds, found none")
            return cls(loss, classes_from_json(entry, loss.n_classes, in_own_order=True))
        return cls(loss, classes_from_json(entry, max(2, n_outputs)))

    def answers(self, raw: FloatArray) -> NDArray[Any]:
        """Return the most probable classes."""
        if isinstance(self.classes, list):
            return side_by_side([labels[(raw[:, k] > 0).astype(np.intp)] for k, labels in enumerate(self.classes)])
        if isinstance(self.loss, Ordinal):
            raw = self.loss.probabilities(raw[:, 0])
        codes = (raw[:, 0] > 0).astype(np.intp) if raw.shape[1] == 1 else raw.argmax(axis=1)
        return np.asarray(self.classes[codes])

    def scores(self, raw: FloatArray) -> FloatArray:
        """Return the decision function: log-odds of the second class, or one score per class or output."""
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def probabilities(self, raw: FloatArray) -> Any:
        """Return probabilities (rows, classes), or a list of them for several outputs."""
        loss = self.loss
        if type(loss) is Logistic:
            proba = np.empty((len(raw), 2))
            _kernel.sigmoid_pairs(raw, proba)
            return proba
        if isinstance(loss, Ordinal):
            return loss.probabilities(raw[:, 0])
        if isinstance(self.classes, list):
            return [np.column_stack([1.0 - p, p]) for p in loss.predict(raw).T]
        if raw.shape[1] > 1:
            return loss.predict(raw)
        proba = np.empty((len(raw), 2))
        proba[:, 1] = loss.predict(raw[:, 0])
        np.subtract(1.0, proba[:, 1], out=proba[:, 0])
        return proba

    def judged(self, raw: FloatArray) -> Any:
        """Return probabilities."""
        return self.probabilities(raw)

    @property
    def output_names(self) -> list[str] | None:
        """Classes, if each has a score."""
        has_names = not isinstance(self.classes, list) and self.loss.n_outputs > 1
        return label_names(self.classes) if has_names else None


class RankHead(LossHead):
    """Sums of trees as scores of rows within their query."""

    is_affine = True

    def answers(self, raw: FloatArray) -> FloatArray:
        """Return the sums."""
        return raw[:, 0]


@dataclass(frozen=True, eq=False)
class RiskHead(LossHead):
    """Sums of trees as risks: logarithms of hazard ratios, or negative logarithms of times.

    For the loss of Cox, ``log_baseline`` is the logarithm of the cumulative hazard of a sum of 0 at the event times.
    """

    event_times: FloatArray | None = None  # of the training rows, rising
    log_baseline: FloatArray | None = None

    is_affine = False

    def arrays(self, forest: Forest) -> Arrays:
        """Add the times and the baseline."""
        assert self.event_times is not None
        baseline = {} if self.log_baseline is None else {"log_baseline": self.log_baseline}
        return {**super().arrays(forest), "event_times": self.event_times, **baseline}

    def notes(self) -> dict[str, Any]:
        """Note that the baseline is missing because some rounds are."""
        return {"first_rounds": True} if isinstance(self.loss, Cox) and self.log_baseline is None else {}

    @classmethod
    def from_file(cls, header: dict[str, Any], arrays: Arrays, forest: Forest) -> RiskHead:
        """Read the loss, and the baseline that belongs to it."""
        loss, times = cls.read_loss(header, forest.n_outputs), read_event_times(arrays)
        baseline = arrays.get("log_baseline")
        has_baseline = isinstance(loss, Cox) and header.get("first_rounds") is not True
        if has_baseline != (baseline is not None):
            found = "none" if baseline is None else "one"
            raise ValueError(f"log_baseline: found {found}, which does not belong to the loss {loss.name!r}")
        if baseline is not None and (
            baseline.shape != times.shape
            or baseline.dtype != np.float64
            or not np.isfinite(baseline).all()
            or (np.diff(baseline) < 0).any()
        ):
            raise ValueError("log_baseline: expected a finite number per time of an event, never falling")
        return cls(loss, times, baseline)

    def of_first_rounds(self) -> RiskHead:
        """Drop the baseline, which belongs to all rounds."""
        return replace(self, log_baseline=None)

    def answers(self, raw: FloatArray) -> FloatArray:
        """Return the risk of each row, higher for earlier events."""
        return -raw[:, 0] if isinstance(self.loss, AcceleratedFailure) else raw[:, 0]

    def cumulative_hazard(self, raw: FloatArray, times: FloatArray) -> FloatArray:
        """Return the cumulative hazard of each row at some times, (rows, times)."""
        if isinstance(self.loss, AcceleratedFailure):
            return -self.loss.log_survival(times, raw[:, 0])
        event_times, baseline = self._baseline()
        place = last_events(event_times, times)
        exponent = baseline[np.maximum(place, 0)] + raw
        return np.where(place >= 0, np.exp(np.minimum(exponent, EXP_LIMIT)), 0.0)

    def quantiles(self, raw: FloatArray, level: float) -> FloatArray:
        """Return the first time by which the event of each row has come with this probability; inf if it never has."""
        if isinstance(self.loss, AcceleratedFailure):
            return self.loss.quantiles(level, raw[:, 0])
        event_times, baseline = self._baseline()
        needed = math.log(-math.log1p(-level)) - raw[:, 0]
        return np.append(event_times, np.inf)[np.searchsorted(baseline, needed)]

    def _baseline(self) -> tuple[FloatArray, FloatArray]:
        """Return the times of events and the logarithm of the baseline hazard at each."""
        loss = self.loss
        if isinstance(loss, Cox) and self.log_baseline is None:
            raise ValueError(
                "the baseline hazard belongs to all rounds of a fit, which first_rounds or an average has changed: "
                "give the average training rows, or fit a model with n_estimators set to the rounds that you keep"
            )
        if self.log_baseline is None or self.event_times is None:
            raise ValueError(f"the loss {loss!r} has no hazards: use loss='cox' or loss='aft'")
        return self.event_times, self.log_baseline


def last_events(event_times: FloatArray, times: FloatArray) -> NDArray[np.intp]:
    """Return the index of the last time of an event up to each time; −1 before the first.

    Examples
    --------
    >>> last_events(np.array([1.0, 2.0]), np.array([0.5, 1.0, 9.0]))
    array([-1,  0,  1])
    """
    return np.searchsorted(event_times, times, side="right") - 1


def finite_numbers(arrays: Arrays, name: str) -> FloatArray:
    """Return a column of finite numbers from a file."""
    array = arrays[name]
    if array.dtype != np.float64 or array.ndim != 1 or not len(array) or not np.isfinite(array).all():
        raise ValueError(f"{name}: expected finite numbers, found {array!r:.80}")
    return array


def read_event_times(arrays: Arrays) -> FloatArray:
    """Return the times of events from a file."""
    times = finite_numbers(arrays, "event_times")
    if times[0] < 0 or (np.diff(times) <= 0).any():
        raise ValueError("event_times: expected ascending times of at least 0")
    return times


# ---- means of trees --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MeanHead(Head):
    """The mean of trees that are grown independently: numbers."""

    n_trees: int = 0  # before they are grown

    @classmethod
    def from_file(cls, header: dict[str, Any], arrays: Arrays, forest: Forest) -> MeanHead:
        """Check that leaves have a value per output."""
        n_outputs = read_n_outputs(header.get("n_outputs", forest.n_outputs))  # a note of forests
        if forest.n_outputs != n_outputs:
            raise ValueError(f"{forest.n_outputs} values per leaf for {n_outputs} outputs")
        return cls().of(forest)

    def of(self, forest: Forest) -> Self:
        """Return the same head for these trees."""
        if not forest.n_trees:
            raise ValueError("the forest has no trees")
        return replace(self, n_trees=forest.n_trees)

    def is_like(self, other: Head) -> bool:
        """Return whether trees of another head predict the same quantities."""
        return type(self) is type(other)

    def explained(self, forest: Forest) -> tuple[Forest, float]:
        """Return the forest whose mean is predicted."""
        return self.summed(forest), float(self.weight_of(self.n_trees))

    def with_prior(self, forest: Forest) -> Forest:
        """Return the forest with what is averaged besides trees."""
        return forest

    def weight_of(self, n_trees: Any) -> Any:
        """Return what the sum of so many trees, with what is averaged besides them, is divided by."""
        return n_trees

    def mean(self, raw: FloatArray) -> FloatArray:
        """Return the mean of the trees, (rows, values per leaf)."""
        return np.asarray(raw / self.weight_of(self.n_trees))

    def answers(self, raw: FloatArray) -> NDArray[Any]:
        """Return labels, or means."""
        return self.of_mean(self.mean(raw))

    def of_mean(self, mean: FloatArray) -> NDArray[Any]:
        """Return the mean, (rows,) if there is one output."""
        return mean[:, 0] if mean.shape[1] == 1 else mean


@dataclass(frozen=True, eq=False)
class ClassMeanHead(MeanHead):
    """The mean of trees whose leaves hold shares of classes, or vote.

    Parameters
    ----------
    classes : list of ndarray
        Labels of the classes of each output.
    voting : str
        "soft" averages shares, "hard" counts votes.
    prior_trees : float
        Trees without a split that are averaged with the others; their sum is the base of the forest.
    votes : Forest, optional
        The forest whose leaves vote for one class, if trees vote.
    """

    classes: Sequence[NDArray[Any]] = ()
    voting: str = "soft"
    prior_trees: float = 0.0
    votes: Forest | None = None

    def facts(self) -> dict[str, Any]:
        """Return the classes of each output, and how trees agree on one."""
        prior = {"prior_trees": self.prior_trees} if self.prior_trees else {}
        return {"classes": [classes_to_json(labels) for labels in self.classes], "voting": self.voting, **prior}

    @classmethod
    def from_file(cls, header: dict[str, Any], arrays: Arrays, forest: Forest) -> ClassMeanHead:
        """Read the classes; leaves must have a share for each."""
        head = cls.read_classes(header)
        width = 1 if [len(labels) for labels in head.classes] == [2] else sum(map(len, head.classes))
        if forest.n_outputs != width:
            raise ValueError(f"{forest.n_outputs} values per leaf for {width} classes")
        return head.of(forest)

    @classmethod
    def read_classes(cls, header: dict[str, Any]) -> Self:
        """Read labels of each output and the way of voting."""
        entries, n_outputs, voting = header["classes"], read_n_outputs(header["n_outputs"]), header["voting"]
        if not isinstance(entries, list) or len(entries) != n_outputs:
            raise ValueError(f"classes: expected labels of {n_outputs} outputs, found {len(entries)}")
        if voting not in ("soft", "hard"):
            raise ValueError(f"voting is {voting!r:.80}: expected 'soft' or 'hard'")
        prior = header.get("prior_trees", 0.0)
        if type(prior) is not float or not 0.0 <= prior < math.inf:
            raise ValueError(f"prior_trees is {prior!r:.80}: expected a number of at least 0")
        labels = [classes_from_json(entry, len(entry["values"])) for entry in entries]
        return cls(classes=labels, voting=voting, prior_trees=prior)

    def of(self, forest: Forest) -> Self:
        """Return the same head for these trees, which may have to vote."""
        votes = voting_forest(forest, self.classes) if self.voting == "hard" else None
        return replace(super().of(forest), votes=votes)

    def with_prior(self, forest: Forest) -> Forest:
        """Return the forest with the mean of its roots, times ``prior_trees``, as base."""
        roots = forest.value[forest.tree_start[:-1]].T
        # Shares of equal counts may differ in the last bit, which would rank classes that no tree tells apart.
        prior = [round(self.prior_trees * math.fsum(shares) / forest.n_trees, 15) for shares in roots.tolist()]
        return replace(forest, base=np.array(prior))

    def weight_of(self, n_trees: Any) -> Any:
        """Return the number of trees, and of those without a split."""
        return n_trees + self.prior_trees

    def is_like(self, other: Head) -> bool:
        """Return whether the classes are the same."""
        labels = [one.tolist() for one in self.classes]
        return isinstance(other, ClassMeanHead) and labels == [one.tolist() for one in other.classes]

    def summed(self, forest: Forest) -> Forest:
        """Return the forest of votes, if trees vote."""
        return forest if self.votes is None else self.votes

    def of_mean(self, mean: FloatArray) -> NDArray[Any]:
        """Return the most probable class of each output, (rows,) or (rows, outputs)."""
        shares = zip(self.classes, self.probabilities(mean), strict=True)
        found = [labels[proba.argmax(axis=1)] for labels, proba in shares]
        return found[0] if len(found) == 1 else side_by_side(found)

    def probabilities(self, mean: FloatArray) -> list[FloatArray]:
        """Return the probabilities of each output."""
        if mean.shape[1] == 1:
            return [np.column_stack([1.0 - mean[:, 0], mean[:, 0]])]
        return np.split(mean, np.cumsum([len(labels) for labels in self.classes])[:-1], axis=1)

    @property
    def output_names(self) -> list[str] | None:
        """Classes; with several outputs, those of each."""
        if len(self.classes) > 1:
            return [f"output {i}: {label}" for i, labels in enumerate(self.classes) for label in labels.tolist()]
        return label_names(self.classes[0]) if len(self.classes[0]) > 2 else None

    @property
    def value_meaning(self) -> ValueMeaning:
        """Shares of the classes of one output."""
        if len(self.classes) > 1:
            return super().value_meaning
        return ValueMeaning(class_names=label_names(self.classes[0]), probabilities=True)


def voting_forest(forest: Forest, classes: Sequence[NDArray[Any]]) -> Forest:
    """Return the forest whose leaves vote for the most frequent class of each output."""
    if forest.width == 1:
        return replace(forest, value=(forest.value > 0.5).astype(np.float64))
    votes = np.zeros_like(forest.value)
    named = majorities(forest, tuple(map(len, classes)))
    starts = np.cumsum([0, *(len(labels) for labels in classes)])[:-1]
    votes[np.arange(len(votes))[:, np.newaxis], starts + named] = 1.0
    return replace(forest, value=votes)


class MultiwayHead(ClassMeanHead):
    """Shares of classes in the leaves of one tree with many branches per node."""

    determines = False

    def explained(self, forest: Forest) -> tuple[Forest, float]:
        """Raise an error with the reason."""
        raise TypeError("SHAP values need trees with two branches per node: use method='cart'")


@dataclass(frozen=True, eq=False)
class ArmHead(Head):
    """What treatments change."""

    treatments: ArmLabels  # and control
    outcomes: NDArray[Any] | None  # labels of two; None for numbers

    def facts(self) -> dict[str, Any]:
        """Return the labels of arms and outcomes."""
        outcomes = None if self.outcomes is None else classes_to_json(self.outcomes)
        return {**self.treatments.to_json(), "outcomes": outcomes}

    @property
    def arms(self) -> NDArray[Any]:
        """Labels: the control, then the treatments."""
        return self.treatments.in_order

    @property
    def output_names(self) -> list[str] | None:
        """Treatments, if there are several."""
        return label_names(self.arms[1:]) if len(self.arms) > 2 else None


@dataclass(frozen=True, eq=False)
class UpliftHead(MeanHead, ArmHead):
    """Mean outcomes of all arms, the control first; predictions are differences to the control."""

    @classmethod
    def from_file(cls, header: dict[str, Any], arrays: Arrays, forest: Forest) -> UpliftHead:
        """Read the labels of the arms; leaves must have a value for each."""
        treatments, outcomes = read_arms(header, forest.n_outputs)
        return cls(treatments=treatments, outcomes=outcomes).of(forest)

    def is_like(self, other: Head) -> bool:
        """Return whether arms and outcomes are equal, regardless of the types of their labels."""

        def plain(head: UpliftHead) -> tuple[Any, Any]:
            return head.arms.tolist(), None if head.outcomes is None else head.outcomes.tolist()

        return isinstance(other, UpliftHead) and plain(self) == plain(other)

    def explained(self, forest: Forest) -> tuple[Forest, float]:
        """Return the forest of differences."""
        value = np.ascontiguousarray(forest.value[:, 1:] - forest.value[:, :1])
        return replace(forest, value=value, base=forest.base[1:] - forest.base[0]), float(self.n_trees)

    def outcome(self, raw: FloatArray) -> FloatArray:
        """Return the mean outcome of each arm; adjusted leaves may lie slightly beyond 0 and 1."""
        mean = self.mean(raw)
        return mean if self.outcomes is None else np.clip(mean, 0.0, 1.0)

    def uplift(self, raw: FloatArray) -> FloatArray:
        """Return the uplift of each treatment, (rows, treatments)."""
        mean = self.mean(raw)
        return mean[:, 1:] - mean[:, :1]

    def of_mean(self, mean: FloatArray) -> NDArray[Any]:
        """Return the uplift of each treatment, (rows,) if there is one."""
        uplift = mean[:, 1:] - mean[:, :1]
        return uplift[:, 0] if uplift.shape[1] == 1 else uplift

    @property
    def value_meaning(self) -> ValueMeaning:
        """Outcomes by arm."""
        return ValueMeaning(class_names=label_names(self.arms), probabilities=False)


@dataclass(frozen=True, eq=False)
class EffectHead(ArmHead):
    """Sums of trees that are the effects of treatments."""

    @classmethod
    def from_file(cls, header: dict[str, Any], arrays: Arrays, forest: Forest) -> EffectHead:
        """Read the labels of the control and of one treatment per output."""
        return cls(*read_arms(header, forest.n_outputs + 1))

    def uplift(self, raw: FloatArray) -> FloatArray:
        """Return the effect of each treatment, (rows, treatments)."""
        return raw


def read_arms(header: dict[str, Any], n_arms: int) -> tuple[ArmLabels, NDArray[Any] | None]:
    """Undo ``ArmHead.facts``, for a file of unknown origin."""
    outcomes = header["outcomes"]
    return ArmLabels.from_json(header, n_arms), None if outcomes is None else classes_from_json(outcomes, 2)


@dataclass(frozen=True, eq=False)
class PathHead(MeanHead):
    """Mean path lengths of isolation trees; anomalies have short ones."""

    offset: float = -0.5  # a row of a lower score is an anomaly

    is_affine = False

    def facts(self) -> dict[str, Any]:
        """Return the offset."""
        return {"offset": self.offset}

    @classmethod
    def from_file(cls, header: dict[str, Any], arrays: Arrays, forest: Forest) -> PathHead:
        """Read the offset, for a forest of path lengths."""
        if not forest.n_trees or forest.n_outputs != 1 or forest.width != 1 or forest.has_slopes:
            raise ValueError(
                f"expected trees of path lengths, found {forest.n_trees} of {forest.width} values per leaf"
            )
        offset = header["offset"]
        if type(offset) is not float or not np.isfinite(offset):
            raise ValueError(f"offset is {offset!r:.80}: expected a finite number")
        return cls(offset=offset).of(forest)

    def scores(self, forest: Forest, raw: FloatArray) -> FloatArray:
        """Return −2^(−h / c), h the mean path length and c that of a random tree; −0.5 if trees drew a single row."""
        longest = forest.value[0, 0] * forest.n_trees
        share = raw[:, 0] / longest if longest > 0 else np.ones(len(raw))
        return -exp2(-share)

    def gain(self, forest: Forest) -> FloatArray:
        """Return the imbalance of each cut, |left rows − right rows|: anomalies are cut off (Carletti et al. 2019)."""
        start = np.repeat(forest.tree_start[:-1], np.diff(forest.tree_start))
        left, right = (forest.n_rows[start + np.maximum(child, 0)] for child in (forest.left, forest.right))
        return np.where(forest.kind == LEAF, 0.0, np.abs(left - right))


# ---- AdaBoost --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WeightedHead(Head):
    """Learners that count by weight."""

    weights: FloatArray
    unknown: str | None = None  # what learners that users gave do about unknown categories

    is_affine = False

    @property
    def weight(self) -> float:
        """Sum of the absolute weights."""
        return float(np.abs(self.weights).sum())

    def facts(self) -> dict[str, Any]:
        """Return how trees given by users treat unknown categories."""
        return {} if self.unknown is None else {"unknown_of_estimator": self.unknown}

    def arrays(self, forest: Forest) -> Arrays:
        """Add the weights."""
        return {**super().arrays(forest), "estimator_weights": self.weights}

    @classmethod
    def from_file(cls, header: dict[str, Any], arrays: Arrays, forest: Forest) -> WeightedHead:
        """Read one weight per tree."""
        head = cls.read(header, arrays, forest.n_outputs)
        if forest.n_trees != len(head.weights):
            raise ValueError(f"{len(head.weights)} weights: expected one for each of the {forest.n_trees} trees")
        if forest.base.any():
            raise ValueError("base: expected zeros")
        return head

    @classmethod
    def read(cls, header: dict[str, Any], arrays: Arrays, n_outputs: int) -> WeightedHead:
        """Read the weights, for learners of so many outputs."""
        return cls(finite_numbers(arrays, "estimator_weights"), header.get("unknown_of_estimator"))


@dataclass(frozen=True, eq=False)
class VoteHead(WeightedHead):
    """Weighted votes for classes."""

    classes: Any = None

    def facts(self) -> dict[str, Any]:
        """Return the classes."""
        return {**super().facts(), "classes": classes_to_json(self.classes)}

    @classmethod
    def read(cls, header: dict[str, Any], arrays: Arrays, n_outputs: int) -> VoteHead:
        """Read the weights, and one class per output, or two for a single output."""
        found, classes = (
            super().read(header, arrays, n_outputs),
            classes_from_json(header["classes"], max(2, n_outputs)),
        )
        return cls(found.weights, found.unknown, classes)

    def explained(self, forest: Forest) -> tuple[Forest, float]:
        """Return the forest whose sums are the decision function."""
        total = self.weight or 1.0
        return forest, total / 2 if len(self.classes) == 2 else total

    def decision(self, scores: FloatArray, total: float | None = None) -> FloatArray:
        """Return the decision function from sums of votes with this total weight."""
        decision = scores / ((self.weight if total is None else total) or 1.0)
        return 2 * decision[:, 0] if len(self.classes) == 2 else decision

    def probabilities(self, decision: FloatArray) -> FloatArray:
        """Return the softmax of decision / (K − 1)."""
        if len(self.classes) == 2:
            decision = np.column_stack([-decision, decision]) / 2
        powers = bounded_exp((decision - decision.max(axis=1, keepdims=True)) / (len(self.classes) - 1))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def answers(self, raw: FloatArray) -> NDArray[Any]:
        """Return the class of the largest score."""
        codes = (raw[:, 0] > 0).astype(np.intp) if raw.shape[1] == 1 else raw.argmax(axis=1)
        return np.asarray(self.classes[codes])

    @property
    def output_names(self) -> list[str] | None:
        """Classes, if each has a score."""
        return label_names(self.classes) if len(self.classes) > 2 else None


@dataclass(frozen=True, eq=False)
class MedianHead(WeightedHead):
    """The median of learners by weight."""

    determines = False

    @classmethod
    def read(cls, header: dict[str, Any], arrays: Arrays, n_outputs: int) -> MedianHead:
        """Read the weights of learners of one output."""
        if n_outputs != 1:
            raise ValueError(f"expected one output, found {n_outputs}")
        found = super().read(header, arrays, n_outputs)
        return cls(found.weights, found.unknown)

    def explained(self, forest: Forest) -> tuple[Forest, float]:
        """Raise an error with the reason."""
        raise TypeError(
            "AdaBoostRegressor predicts a median of its trees, not a sum that SHAP values could split: explain one of "
            "estimators_, or use BoostedTreesRegressor"
        )


# ---- what is not a sum of trees --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OtherHead(Head):
    """Predictions that are not sums of trees."""

    why_not: str  # why SHAP values cannot split them, and what to do instead

    determines = False
    is_affine = False

    def explained(self, forest: Forest) -> tuple[Forest, float]:
        """Raise an error with the reason."""
        raise TypeError(self.why_not)
