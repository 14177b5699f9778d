"""Heads: what the sums of trees mean, and how they become answers.

::

    Head          the sum is the prediction
    ├─ EffectHead effects of treatments                                            uplift by boosting
    ├─ LossHead   link of a loss: numbers, probabilities, ordered classes          boosting
    │  ├─ RiskHead      higher for earlier events
    │  └─ RankHead      scores within a query
    ├─ MeanHead   mean of the trees: numbers, shares of classes, votes             trees, forests
    │  ├─ UpliftHead    outcome under treatment less that without
    │  ├─ MultiwayHead  one tree of many branches, which is not a Forest           ID3, C4.5
    │  └─ PathHead      path lengths, whose cuts gain by setting few rows apart    isolation
    ├─ VoteHead   weighted votes for classes                                       AdaBoost
    └─ OtherHead  no sum of trees: medians, members of others
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.data.labels import side_by_side
from arboretum.elementary import bounded_exp
from arboretum.losses import EachOutput, Logistic, Loss, Ordinal, Quantiles
from arboretum.losses.survival import AcceleratedFailure
from arboretum.model.forest import LEAF, Forest, majorities

FloatArray: TypeAlias = NDArray[np.float64]


class ValueMeaning(TypedDict):
    """What the values of leaves mean: arguments of texts and drawings of trees (``reading/text.py``)."""

    class_names: list[str] | None
    probabilities: bool | None  # whether they are shares of classes; None if the values themselves tell


class Head:
    """Sums of trees that are the prediction itself."""

    determines = True  # whether sums determine everything that is predicted

    @property
    def is_affine(self) -> bool:
        """Whether the mean of predictions or probabilities is that of the mean sum."""
        return True

    def summed(self, forest: Forest) -> Forest:
        """Return the forest whose sums are predictions: that of votes, if trees vote."""
        return forest

    def explained(self, forest: Forest) -> tuple[Forest, float]:
        """Return a forest and the number that divides its sums, to be what SHAP values split."""
        return self.summed(forest), 1.0

    def gain(self, forest: Forest) -> FloatArray:
        """Return the gain of each node, 0 at leaves."""
        return forest.gain

    def answers(self, raw: FloatArray) -> NDArray[Any]:
        """Return predictions as users see them, labels or numbers, from sums (rows, outputs)."""
        return raw[:, 0] if raw.shape[1] == 1 else raw

    @property
    def output_names(self) -> list[str] | None:
        """Names of the outputs, if there are several that have names."""
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
    """Sums of trees before the link of a loss.

    Parameters
    ----------
    loss : Loss
        The loss.
    classes : ndarray, list of ndarray or None
        Labels of the classes; a list for several outputs; None for numbers.
    """

    loss: Loss
    classes: Any = None

    @property
    def is_affine(self) -> bool:
        """Whether there is no link."""
        inner = self.loss.loss if isinstance(self.loss, EachOutput) else self.loss
        return self.classes is None and inner.link == "identity" and not isinstance(inner, Quantiles)

    def answers(self, raw: FloatArray) -> NDArray[Any]:
        """Return labels, or numbers after the link."""
        return self.numbers(raw) if self.classes is None else self.labels(raw)

    def numbers(self, raw: FloatArray) -> FloatArray:
        """Return predictions after the link."""
        return self.loss.predict(raw[:, 0] if raw.shape[1] == 1 else raw)

    def scores(self, raw: FloatArray) -> FloatArray:
        """Return the decision function: log-odds of the second class, or one score per class or output."""
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def probabilities(self, raw: FloatArray) -> Any:
        """Return probabilities (rows, classes), or a list of them for several outputs."""
        loss = self.loss
        if isinstance(loss, Ordinal):
            return loss.probabilities(raw[:, 0])
        if isinstance(self.classes, list):
            return [np.column_stack([1.0 - p, p]) for p in loss.predict(raw).T]
        if raw.shape[1] > 1:
            return loss.predict(raw)
        proba = np.empty((len(raw), 2))
        if type(loss) is Logistic:
            _kernel.sigmoid_pairs(raw, proba)
            return proba
        proba[:, 1] = loss.predict(raw[:, 0])
        np.subtract(1.0, proba[:, 1], out=proba[:, 0])
        return proba

    def labels(self, raw: FloatArray) -> NDArray[Any]:
        """Return the most probable classes."""
        if isinstance(self.classes, list):
            return side_by_side([labels[(raw[:, k] > 0).astype(np.intp)] for k, labels in enumerate(self.classes)])
        if isinstance(self.loss, Ordinal):
            raw = self.loss.probabilities(raw[:, 0])
        codes = (raw[:, 0] > 0).astype(np.intp) if raw.shape[1] == 1 else raw.argmax(axis=1)
        return np.asarray(self.classes[codes])

    @property
    def output_names(self) -> list[str] | None:
        """Classes that have a score each."""
        has_names = self.classes is not None and not isinstance(self.classes, list) and self.loss.n_outputs > 1
        return label_names(self.classes) if has_names else None

    @property
    def value_meaning(self) -> ValueMeaning:
        """Scores, one per class if there are several."""
        return ValueMeaning(class_names=self.output_names, probabilities=False)


@dataclass(frozen=True, eq=False)
class RiskHead(LossHead):
    """Sums of trees as risks: logarithms of hazard ratios, or of times with the sign turned."""

    is_affine = False

    def numbers(self, raw: FloatArray) -> FloatArray:
        """Return the risk of each row, higher for earlier events."""
        return -raw[:, 0] if isinstance(self.loss, AcceleratedFailure) else raw[:, 0]


class RankHead(LossHead):
    """Sums of trees as scores of rows within their query."""

    is_affine = True

    def numbers(self, raw: FloatArray) -> FloatArray:
        """Return the sums."""
        return raw[:, 0]


# ---- means of trees --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MeanHead(Head):
    """The mean of trees: numbers, or shares of classes.

    Parameters
    ----------
    n_trees : int
        Trees of the forest.
    classes : list of ndarray or None
        Labels of the classes of each output; None for numbers.
    votes : Forest, optional
        The forest whose leaves vote for one class, if trees vote.
    """

    n_trees: int
    classes: Sequence[NDArray[Any]] | None = None
    votes: Forest | None = None

    def summed(self, forest: Forest) -> Forest:
        """Return the forest of votes, if trees vote."""
        return forest if self.votes is None else self.votes

    def explained(self, forest: Forest) -> tuple[Forest, float]:
        """Return the forest whose mean is predicted."""
        return self.summed(forest), float(self.n_trees)

    def answers(self, raw: FloatArray) -> NDArray[Any]:
        """Return labels, or means."""
        return self.of_mean(raw / self.n_trees)

    def of_mean(self, mean: FloatArray) -> NDArray[Any]:
        """Return labels, or the mean itself, (rows,) if there is one output."""
        if self.classes is not None:
            return self.labels(self.probabilities(mean))
        return mean[:, 0] if mean.shape[1] == 1 else mean

    def probabilities(self, mean: FloatArray) -> list[FloatArray]:
        """Return the probabilities of each output."""
        assert self.classes is not None
        if mean.shape[1] == 1:
            return [np.column_stack([1.0 - mean[:, 0], mean[:, 0]])]
        return np.split(mean, np.cumsum([len(labels) for labels in self.classes])[:-1], axis=1)

    def labels(self, probabilities: Sequence[FloatArray]) -> NDArray[Any]:
        """Return the most probable class of each output, (rows,) or (rows, outputs)."""
        assert self.classes is not None
        found = [labels[proba.argmax(axis=1)] for labels, proba in zip(self.classes, probabilities, strict=True)]
        return found[0] if len(found) == 1 else side_by_side(found)

    @property
    def output_names(self) -> list[str] | None:
        """Classes, of each output if there are several."""
        if self.classes is None:
            return None
        if len(self.classes) > 1:
            return [f"output {i}: {label}" for i, labels in enumerate(self.classes) for label in labels.tolist()]
        return label_names(self.classes[0]) if len(self.classes[0]) > 2 else None

    @property
    def value_meaning(self) -> ValueMeaning:
        """Shares of the classes of one output."""
        if self.classes is None or len(self.classes) > 1:
            return super().value_meaning
        return ValueMeaning(class_names=label_names(self.classes[0]), probabilities=True)


def voting(forest: Forest, classes: Sequence[NDArray[Any]]) -> Forest:
    """Return the forest whose leaves vote for the most frequent class of each output."""
    if forest.width == 1:
        return replace(forest, value=(forest.value > 0.5).astype(np.float64))
    votes = np.zeros_like(forest.value)
    named = majorities(forest, tuple(map(len, classes)))
    starts = np.cumsum([0, *(len(labels) for labels in classes)])[:-1]
    votes[np.arange(len(votes))[:, np.newaxis], starts + named] = 1.0
    return replace(forest, value=votes)


@dataclass(frozen=True, eq=False)
class UpliftHead(MeanHead):
    """Mean outcomes of all arms, the control first; predictions are differences to the control.

    Parameters
    ----------
    arms : ndarray
        Labels: the control, then the treatments.
    """

    arms: Any = None

    def explained(self, forest: Forest) -> tuple[Forest, float]:
        """Return the forest of differences."""
        value = np.ascontiguousarray(forest.value[:, 1:] - forest.value[:, :1])
        return replace(forest, value=value, base=forest.base[1:] - forest.base[0]), float(self.n_trees)

    def of_mean(self, mean: FloatArray) -> NDArray[Any]:
        """Return the uplift of each treatment, (rows,) if there is one."""
        uplift = mean[:, 1:] - mean[:, :1]
        return uplift[:, 0] if uplift.shape[1] == 1 else uplift

    @property
    def output_names(self) -> list[str] | None:
        """Treatments, if there are several."""
        return treatment_names(self.arms)

    @property
    def value_meaning(self) -> ValueMeaning:
        """Outcomes by arm."""
        return ValueMeaning(class_names=label_names(self.arms), probabilities=False)


def treatment_names(arms: NDArray[Any]) -> list[str] | None:
    """Return the names of several treatments."""
    return label_names(arms[1:]) if len(arms) > 2 else None


@dataclass(frozen=True, eq=False)
class EffectHead(Head):
    """Sums of trees that are the effects of treatments."""

    arms: NDArray[Any]

    @property
    def output_names(self) -> list[str] | None:
        """Treatments, if there are several."""
        return treatment_names(self.arms)


class PathHead(MeanHead):
    """Mean path lengths of isolation trees; anomalies have short ones."""

    is_affine = False

    def gain(self, forest: Forest) -> FloatArray:
        """Rows that a cut leaves together more than apart: as anomalies are cut off (Carletti et al. 2019)."""
        start = np.repeat(forest.tree_start[:-1], np.diff(forest.tree_start))
        left, right = (forest.n_rows[start + np.maximum(child, 0)] for child in (forest.left, forest.right))
        return np.where(forest.kind == LEAF, 0.0, np.abs(left - right))


# ---- AdaBoost --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class VoteHead(Head):
    """Weighted votes for classes.

    Parameters
    ----------
    classes : ndarray
        Their labels.
    weight : float
        Sum of the absolute weights of all learners.
    """

    classes: NDArray[Any]
    weight: float

    is_affine = False

    def explained(self, forest: Forest) -> tuple[Forest, float]:
        """Return the forest whose sums are the decision function."""
        total = self.weight or 1.0
        return forest, total / 2 if len(self.classes) == 2 else total

    def decision(self, scores: FloatArray, total: float | None = None) -> FloatArray:
        """Return the decision function of sums of votes, of as much weight in all."""
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
        """Classes that have a score each."""
        return label_names(self.classes) if len(self.classes) > 2 else None


# ---- what is not a sum of trees --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OtherHead(Head):
    """Predictions that are not sums of trees.

    Parameters
    ----------
    why_not : str
        Why SHAP values cannot split them, and what to do instead.
    """

    why_not: str

    determines = False
    is_affine = False

    def explained(self, forest: Forest) -> tuple[Forest, float]:
        """Refuse, with the reason."""
        raise TypeError(self.why_not)


@dataclass(frozen=True, eq=False)
class MultiwayHead(MeanHead):
    """Shares of classes in the leaves of one tree of many branches per node.

    Parameters
    ----------
    method : str
        How the tree was grown.
    """

    method: str = "c45"

    determines = False

    def explained(self, forest: Forest) -> tuple[Forest, float]:
        """Refuse, with the reason."""
        raise TypeError(f"SHAP values need trees of two branches a node, not method={self.method!r}: use 'cart'")
