"""RandomSurvivalForest."""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.bagging import goals
from arboretum.ensembles.bagging.leaf_hazards import HazardHead
from arboretum.ensembles.bagging.parameters import TimesForest
from arboretum.estimators.forests import BaggedTrees, OutOfBagMeans
from arboretum.estimators.survival_model import SurvivalModel, read_times
from arboretum.model.heads import Head
from arboretum.parameters.declaring import declares_parameters
from arboretum.running.threads import n_threads

FloatArray: TypeAlias = NDArray[np.float64]


@declares_parameters
class RandomSurvivalForest(SurvivalModel, TimesForest, OutOfBagMeans, BaggedTrees):
    """Random forest for times to an event, some of them censored.

    Trees are grown on bootstrapped rows by log-rank splits, the statistic itself over all times of events. A leaf has
    the Nelson–Aalen estimate of its rows' cumulative hazard and the Kaplan–Meier estimate of their survival; those of
    the forest are the means over its trees (docs/survival.md).

    Attributes
    ----------
    forest_ : Forest
        The trees, plain frozen arrays; the value of a leaf is its mortality, see ``predict``.
    event_times_ : ndarray
        Times of events of the training rows, rising.
    oob_score_, oob_prediction_
        Concordance index and risks by trees that never saw the row; NaN where there is none.
    feature_importances_ : ndarray
        Log-rank statistics of the splits on each feature, normalised.

    References
    ----------
    Ishwaran, H., Kogalur, U. B., Blackstone, E. H., Lauer, M. S. (2008). Random survival forests. Annals of Applied
    Statistics 2.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> x = np.arange(100.0)
    >>> y = np.column_stack([100 - x / 2, np.arange(100) % 3 > 0])  # time, event
    >>> model = arb.RandomSurvivalForest(n_estimators=20).fit(x[:, None], y)
    >>> risk = model.predict([[10.0], [90.0]])
    >>> bool(risk[0] < risk[1])
    True
    >>> model.predict_survival_function([[10.0], [90.0]], times=[60.0]).round(1)
    array([[1.],
           [0.]])
    """

    head_kind: ClassVar[type[Head]] = HazardHead
    criterion = "log_rank"  # what splits are judged by, for reports; not a parameter
    fits_on_cluster = False

    def goal(self) -> goals.Times:
        """Return how times and events are read."""
        return goals.Times()

    def cluster_obstacle(self) -> str:
        """Return why the rows of a fit must lie on one machine."""
        return "log-rank splits need the rows of all workers in the order of their times; fit X.compute()"

    @property
    def event_times_(self) -> FloatArray:
        """Times of events of the training rows, rising."""
        return self.model_.head_as(HazardHead).event_times

    @property
    def oob_prediction_(self) -> FloatArray:
        """Risks of training rows by trees that never saw them; NaN where there is none."""
        return self._oob_mean()[:, 0]

    # ---- prediction ----------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> FloatArray:
        """Risk of each row, higher for earlier events: the mortality of its leaves, a mean over the trees.

        Mortality is the sum of the cumulative hazard over the times of events: the number of events that would be
        expected if all training rows were like this one.

        Returns
        -------
        ndarray of float64, (n_rows,)
        """
        model = self.model_
        return model.head.answers(model.sums(X, self.n_jobs))

    def predict_cumulative_hazard(self, X: Any, times: Any = None) -> FloatArray:
        """Cumulative hazard of each row at some times: the mean of the Nelson–Aalen estimates of its leaves.

        Returns
        -------
        ndarray of float64, (n_rows, n_times)
        """
        head = self.model_.head_as(HazardHead)
        return head.cumulative_hazard(self.model_, X, read_times(times, head.event_times), n_threads(self.n_jobs))

    def predict_survival_function(self, X: Any, times: Any = None) -> FloatArray:
        """Probability of each row to outlive some times: the mean of the Kaplan–Meier estimates of its leaves.

        Returns
        -------
        ndarray of float64, (n_rows, n_times)
        """
        head = self.model_.head_as(HazardHead)
        return head.survival(self.model_, X, read_times(times, head.event_times), n_threads(self.n_jobs))
