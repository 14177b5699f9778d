"""UpliftForest."""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.bagging import criteria, goals
from arboretum.ensembles.bagging.parameters import EffectsForest
from arboretum.estimators.forests import BaggedTrees
from arboretum.estimators.uplift_model import UpliftModel
from arboretum.model.heads import Head, UpliftHead
from arboretum.parameters.declaring import declares_parameters

Uplift = TypeVar("Uplift", bound="UpliftForest")
FloatArray: TypeAlias = NDArray[np.float64]


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

    head_kind: ClassVar[type[Head]] = UpliftHead

    def goal(self) -> goals.Effects:
        """Return how outcomes and treatments are read, and what leaves say of them."""
        return goals.Effects(
            self.criterion,
            self.control,
            self.normalise,
            self.min_samples_treatment,
            self.parent_weight,
            honest=bool(self.bootstrap) if self.honest == "auto" else bool(self.honest),
            adjust=not criteria.OF_EFFECTS.get(self.criterion, False) if self.adjust == "auto" else bool(self.adjust),
        )

    def fit(  # type: ignore[override]  # treatments come third: they must not pass for weights
        self: Uplift, X: Any, y: Any, treatment: Any, sample_weight: Any = None, *, propensity: Any = None
    ) -> Uplift:
        """Fit the model; an error leaves it as it was.

        Outcomes are 0 and 1, booleans, or two texts, of which the second in order is the one to raise; or numbers.
        ``propensity`` is the probability of treatment of each row, (rows, treatments) if there are several: leaves
        weight rows by the inverse for the arm that they got. Without it, treatments should not depend on what X says of
        a row, as in a randomised experiment; adjusted outcomes make up for most of it if they do.

        Returns
        -------
        self
        """
        return self._fit(X, (y, treatment, propensity), sample_weight)

    def predict_outcome(self, X: Any) -> FloatArray:
        """Predict the outcome without treatment and under each of them.

        Returns
        -------
        ndarray of float64, (n_rows, n_arms)
            In the order of ``arms_``; of two outcomes, the probability of the second.
        """
        model = self.model_
        assert isinstance(model.head, UpliftHead)
        return model.head.outcome(model.sums(X, self.n_jobs))
