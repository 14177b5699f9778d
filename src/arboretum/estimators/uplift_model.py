"""What uplift models share: outcomes and treatments, predictions, and what files say of them."""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import holds_others, shown
from arboretum.data import targets
from arboretum.data.weights import by_inverse_chance
from arboretum.estimators.protocol import Estimator
from arboretum.metrics.uplift import qini_score
from arboretum.model.heads import EffectHead, UpliftHead
from arboretum.model.model import Model
from arboretum.tasks import UPLIFT, Task
from arboretum.tasks.uplift_target import read_chances

FloatArray: TypeAlias = NDArray[np.float64]


class UpliftModel(Estimator):
    """An estimator of what treatments change, by row; stands left of what else a class derives from.

    Attributes
    ----------
    arms_ : ndarray
        Labels of the control and then of the treatments.
    outcomes_ : ndarray or None
        Labels of two outcomes, the second is the one predicted; None if outcomes are numbers.
    """

    task_: ClassVar[Task] = UPLIFT
    n_jobs: int | None
    model_: Model

    @property
    def _head(self) -> EffectHead | UpliftHead:
        head = self.model_.head
        assert isinstance(head, EffectHead | UpliftHead)
        return head

    @property
    def arms_(self) -> NDArray[Any]:
        """Labels of the control and then of the treatments."""
        return self._head.arms

    @property
    def outcomes_(self) -> NDArray[Any] | None:
        """Labels of two outcomes; None if outcomes are numbers."""
        return self._head.outcomes

    def predict(self, X: Any) -> FloatArray:
        """Predict the uplift: how much a treatment adds to the outcome, or to the probability of the second outcome.

        Returns
        -------
        ndarray of float64, (n_rows,), or (n_rows, n_treatments) in the order of ``arms_[1:]``
        """
        uplift = self._head.uplift(self.model_.sums(X, self.n_jobs))
        return uplift[:, 0] if uplift.shape[1] == 1 else uplift

    def best_arm(self, X: Any) -> NDArray[Any]:
        """Choose the arm of largest expected outcome for each row: the control where no treatment helps.

        Returns
        -------
        ndarray, (n_rows,)
            Labels from ``arms_``.
        """
        uplift = self._head.uplift(self.model_.sums(X, self.n_jobs))
        return np.asarray(self.arms_[np.argmax(np.column_stack([np.zeros(len(uplift)), uplift]), axis=1)])

    def score(self, X: Any, y: Any, treatment: Any, sample_weight: Any = None, *, propensity: Any = None) -> float:
        """Return the Qini score: the mean over treatments, each against the control."""
        scores = []
        for arm in self.arms_[1:].tolist():
            outcome, uplift, treated, weight = self.against_control(
                X, y, treatment, arm=arm, sample_weight=sample_weight, propensity=propensity
            )
            scores.append(qini_score(outcome, uplift, treated, sample_weight=weight))
        return float(np.mean(scores))

    def against_control(
        self,
        X: Any,
        y: Any,
        treatment: Any,
        *,
        arm: Any = None,
        sample_weight: Any = None,
        propensity: Any = None,
    ) -> tuple[FloatArray, FloatArray, NDArray[np.bool_], FloatArray | None]:
        """Give the rows of the control and of one treatment as metrics of uplift want them.

        Parameters
        ----------
        X, y, treatment, sample_weight, propensity
            As for ``score``; probabilities of treatments become weights.
        arm : label, optional
            The treatment; may be left out if there is one.

        Returns
        -------
        y, uplift, treated, sample_weight
            Outcomes as numbers, predicted uplift, whether rows were treated, weights if any were given.
        """
        uplift = self.predict(X).reshape(-1, len(self.arms_) - 1)
        place = self._place_of(arm)
        group = targets.as_column(treatment, len(uplift), "treatment")
        code = targets.encode_classes(group, self.arms_, "treatment")
        outcome = targets.as_column(y, len(uplift))
        if self.outcomes_ is not None:
            outcome = targets.encode_classes(outcome, self.outcomes_, "y")
        weight = targets.row_weights(sample_weight, len(uplift))
        if propensity is not None:
            chances, own = read_chances(propensity, len(uplift), len(self.arms_)), code.astype(np.intp)
            weight = by_inverse_chance(weight, chances[np.arange(len(own)), own], own, len(self.arms_))
        rows = (code == 0) | (code == place)
        numbers = targets.as_numbers(outcome[rows], "y", "give numbers")
        return numbers, uplift[rows, place - 1], code[rows] == place, None if weight is None else weight[rows]

    def _place_of(self, arm: Any) -> int:
        treatments = self.arms_[1:].tolist()
        if arm is None and len(treatments) == 1:
            return 1
        if holds_others(arm) or arm not in treatments:
            raise ValueError(f"arm={shown(arm)}: name one of the treatments {treatments}")
        return int(treatments.index(arm)) + 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = False
        return tags
