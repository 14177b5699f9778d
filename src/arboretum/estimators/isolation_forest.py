"""IsolationForest."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.isolation import Isolation, IsolationNotes, IsolationParameters
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.estimators.protocol import Estimator, OutlierDetector
from arboretum.model.heads import PathHead
from arboretum.parameters.declaring import declares_parameters
from arboretum.reading import path_contributions
from arboretum.running.threads import n_threads

FloatArray: TypeAlias = NDArray[np.float64]


@declares_parameters
class IsolationForest(OutlierDetector, IsolationParameters, GrownTrees, Estimator):
    """Isolation forest: anomalies are rows that a few random cuts set apart from the rest.

    Every tree draws some rows and cuts them at random: a random column that varies in the node, a threshold uniform
    between its least and its largest value there. The score of a row is ``−2^(−h / c)`` with the mean path length h of
    the row and that of a random tree, c: near −1 for anomalies, above −0.5 for the midst of the data.

    A category cut sends a random half of the categories of its node to each side; categories that the node has not seen
    go to the side of fewer rows. Missing values take a random side, one for all rows, where the node has seen some.

    Attributes
    ----------
    offset_ : float
        ``decision_function`` is ``score_samples − offset_``.
    forest_ : Forest
        The trees; the value of a leaf is a path length: its depth, and what it would take to isolate its rows.

    References
    ----------
    Liu, F. T., Ting, K. M. & Zhou, Z.-H. (2008). Isolation forest. ICDM.
    Liu, F. T., Ting, K. M. & Zhou, Z.-H. (2012). Isolation-based anomaly detection. ACM TKDD 6.
    Hariri, S., Carrasco Kind, M. & Brunner, R. J. (2019). Extended isolation forest. IEEE TKDE 33.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = arb.IsolationForest(contamination=0.01).fit(X)
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    >>> model.explain_scores([[6.0, 0.0]]).argmax()
    np.int64(0)
    """

    head_kind = PathHead
    notes_kind = IsolationNotes
    fits_on_cluster = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> IsolationForest:
        """Fit the model; an error leaves it as it was.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Training rows: numbers, text, categories, dates, with holes. Of a sparse matrix the rows of one tree at a
            time are made dense.
        y : object
            Ignored.
        sample_weight : array-like, optional
            Weight of each row: rows are drawn by it, and a row of weight 3 is the same as three equal rows.

        Returns
        -------
        self
        """
        self.check_parameters()
        earlier = self.model_ if self.warm_start and "_model" in vars(self) else None
        self.model_ = Isolation(self, None, type(self).__name__).fit(X, sample_weight, earlier)
        return self

    # ---- prediction ----------------------------------------------------------------------------------------------

    @property
    def offset_(self) -> float:
        """What ``decision_function`` takes off the scores."""
        return self.model_.head_as(PathHead).offset

    @property
    def max_samples_(self) -> int:
        """Rows that each tree has drawn."""
        return int(self.forest_.n_rows[0])

    def path_lengths(self, X: Any) -> FloatArray:
        """Mean path length of each row: the depth of its leaf, and what it would take to isolate the leaf's rows.

        Returns
        -------
        ndarray of float64, (n_rows,)
            Short for anomalies.
        """
        return self.model_.sums(X, self.n_jobs)[:, 0] / len(self)

    def score_samples(self, X: Any) -> FloatArray:
        """Score rows: ``−2^(−h / c)`` with the mean path length h of the row and that of a random tree, c.

        Returns
        -------
        ndarray of float64, (n_rows,)
            Between −1 and 0; the lower, the more anomalous.
        """
        return self.model_.head_as(PathHead).scores(self.forest_, self.model_.sums(X, self.n_jobs))

    def decision_function(self, X: Any) -> FloatArray:
        """Scores less ``offset_``: negative for anomalies.

        Returns
        -------
        ndarray of float64, (n_rows,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Tell anomalies.

        Returns
        -------
        ndarray of int64, (n_rows,)
            −1 for anomalies, +1 for the others.
        """
        return np.where(self.decision_function(X) < 0, np.int64(-1), np.int64(1))

    def explain_scores(self, X: Any) -> FloatArray:
        """Tell which columns make a row an anomaly: by how much each shortens its mean path.

        A split on the path of a row counts for its column: the mean path length of the training rows in the node, less
        that of those in the child. The columns of a row sum to ``expected_path_length_ − path_lengths``. Columns of a
        hyperplane share by their distance from the mean of the node, in units of the hyperplane.

        Returns
        -------
        ndarray of float64, (n_rows, n_columns)
            Positive where a column makes the row look anomalous.
        """
        threads, model = n_threads(self.n_jobs), self.model_
        parts = [
            path_contributions(model.forest, part.columns, part.n_rows, threads=threads, unknown=model.routing)[0]
            for _, part in model.conform(X).row_batches()
        ]
        return np.concatenate(parts) / -len(self)

    @property
    def expected_path_length_(self) -> float:
        """Mean path length of the rows that the trees were grown from."""
        empty = [
            np.empty(0, np.int32 if column.kind == "categorical" else np.float64) for column in self.schema_.columns
        ]
        return path_contributions(self.forest_, empty, 0)[1] / len(self)
