"""IsolationForest."""

from __future__ import annotations

import math
import numbers
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data import targets
from arboretum.data.schema import Schema
from arboretum.data.table import Table, read_table
from arboretum.elementary import exp2
from arboretum.ensembles.bagging.trees import is_whole
from arboretum.ensembles.isolation import IsolationParams, RowPool, isolate
from arboretum.estimators.base import FloatArray, ForestModel
from arboretum.estimators.forest_parameters import Trees
from arboretum.estimators.parameters import (
    FLAG,
    MOST,
    CountOrShare,
    Number,
    Share,
    declares_parameters,
    fitted,
    parameter,
)
from arboretum.estimators.protocol import OutlierDetector
from arboretum.estimators.shared_parameters import Categories, Seed, Threads, WarmStart
from arboretum.estimators.validation import check_columns, read_seed, seed_of, share
from arboretum.model.forest import Forest
from arboretum.model.heads import PathHead
from arboretum.model.model import Model
from arboretum.reading import path_contributions
from arboretum.running.interruption import warn_interrupted
from arboretum.running.threads import n_threads
from arboretum.running.warning import warn_user

AUTO_SAMPLES = 256  # Liu, Ting & Zhou 2008, §5
AUTO_OFFSET = -0.5  # the score of a row whose path is as long as that of a random tree


@declares_parameters
class IsolationForest(OutlierDetector, Trees, Categories, WarmStart, Seed, Threads, ForestModel):
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

    max_samples: Any = parameter(
        "auto",
        CountOrShare(words=("auto",), by_integer=True),
        'Number of rows that each tree draws, or their share; "auto" is 256, or all rows if there are fewer.',
        before="categorical_features",
    )
    contamination: Any = parameter(
        "auto",
        Number(0.0, 0.5, open_low=True, words=("auto",)),
        "Share of anomalies among the training rows, at most 0.5, that ``offset_`` is chosen for; "
        '"auto" sets it to −0.5.',
        before="categorical_features",
    )
    max_features: int | float = parameter(
        1.0, Share(), "Number of columns that each tree uses, or their share.", before="categorical_features"
    )
    bootstrap: bool = parameter(False, FLAG, "Draw rows with replacement.", before="categorical_features")
    extension: Any = parameter(
        0,
        Number(0, MOST - 1, integer=True, words=("full",)),
        'Cut by hyperplanes over ``extension + 1`` numeric columns, "full" for all of them: random normals in units of '
        "the ranges of the columns in the node, a missing value counts as their mean there. 0 cuts single columns.",
        before="categorical_features",
    )
    offset_: float = fitted()
    _seed: int | None = fitted()  # of the trees; None if a file does not tell

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> IsolationForest:
        """Fit the model; nothing of it changes before all has gone well.

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
        self._check_parameters()
        earlier = self.forest_ if self.warm_start and hasattr(self, "forest_") else None
        threads = n_threads(self.n_jobs)
        seed = seed_of(self.random_state) if earlier is None or self._seed is None else self._seed
        table, weight = self._read_rows(X, sample_weight)
        pool, has_missing = RowPool.of(table, weight, threads=threads)
        schema = table.schema.with_missing(has_missing)
        params = self._params(schema, len(pool.rows), seed, threads)
        forest = self._with_more(earlier, table, pool, params)
        offset = AUTO_OFFSET
        if self.contamination != "auto":
            scores = _scores(forest, Model(forest, schema, unknown=self.unknown).raw(table, threads))
            offset = _quantile(scores, float(self.contamination), weight)
        self.schema_, self.forest_, self.offset_, self._seed = schema, forest, offset, seed
        self._set_input_names()
        return self

    def _with_more(self, earlier: Forest | None, table: Table, pool: RowPool, params: IsolationParams) -> Forest:
        """Add the trees that are missing; path lengths are comparable if all trees draw as many rows."""
        if earlier is None:
            return self._isolate(table, pool, params)
        if params.n_trees < earlier.n_trees:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {earlier.n_trees} trees already fitted "
                "(warm_start=True); raise it or set warm_start=False"
            )
        if not table.schema.describes_like(self.schema_) or params.n_draws != self.max_samples_:
            raise ValueError(
                "warm_start=True, but columns, categories or the rows per tree are not those of the fitted trees: "
                "give the same rows or set warm_start=False"
            )
        if params.n_trees == earlier.n_trees:
            return earlier
        n_trees, first = params.n_trees - earlier.n_trees, earlier.n_trees
        return Forest.concat([earlier, self._isolate(table, pool, replace(params, n_trees=n_trees, first_tree=first))])

    def _isolate(self, table: Table, pool: RowPool, params: IsolationParams) -> Forest:
        forest, interrupted = isolate(table, pool, params)
        if interrupted:
            warn_interrupted(forest.n_trees, "trees")
        return forest

    def _read_rows(self, X: Any, sample_weight: Any) -> tuple[Table, FloatArray | None]:
        """Rows that have weight."""
        check_columns(self.categorical_features)
        table = read_table(X, categorical_features=self.categorical_features)
        weight = targets.training_weights(sample_weight, table.n_rows)
        if weight is not None and not weight.all():
            rows = np.flatnonzero(weight)
            table, weight = table.take(rows).relearn(), weight[rows]
        return table, weight

    def _params(self, schema: Schema, n_rows: int, seed: int, threads: int) -> IsolationParams:
        n_numeric = schema.n_features - len(schema.categorical)
        if self.extension != "full" and self.extension > max(n_numeric - 1, 0):
            raise ValueError(
                f"extension={self.extension!r} needs {self.extension + 1} numeric columns, but X has {n_numeric}: "
                f"use at most {max(n_numeric - 1, 0)}, or 'full' for all"
            )
        return IsolationParams(
            n_trees=int(self.n_estimators),
            n_draws=self._rows_a_tree(n_rows),
            with_replacement=bool(self.bootstrap),
            max_features=max(1, int(share(self, "max_features", schema.n_features) * schema.n_features + 1e-9)),
            max_terms=max(n_numeric, 1) if self.extension == "full" else int(self.extension) + 1,
            seed=seed,
            threads=threads,
        )

    def _rows_a_tree(self, n_rows: int) -> int:
        if self.max_samples == "auto":
            return min(AUTO_SAMPLES, n_rows)
        if not isinstance(self.max_samples, numbers.Integral):
            return max(1, int(self.max_samples * n_rows))
        wanted = int(self.max_samples)
        if wanted > n_rows:
            warn_user(f"max_samples={wanted} is more than the {n_rows} rows: every tree draws {n_rows}")
        return min(wanted, n_rows)

    def _head(self) -> PathHead:
        return PathHead(self._fitted().n_trees)

    # ---- prediction ----------------------------------------------------------------------------------------------

    @property
    def max_samples_(self) -> int:
        """Rows that each tree has drawn."""
        return int(self._fitted().n_rows[0])

    def path_lengths(self, X: Any) -> FloatArray:
        """Mean path length of each row: the depth of its leaf, and what it would take to isolate the leaf's rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.

        Returns
        -------
        ndarray of float64, (n_rows,)
            Short for anomalies.
        """
        return self.predict_raw(X)[:, 0] / self._fitted().n_trees

    def score_samples(self, X: Any) -> FloatArray:
        """Score rows: ``−2^(−h / c)`` with the mean path length h of the row and that of a random tree, c.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.

        Returns
        -------
        ndarray of float64, (n_rows,)
            Between −1 and 0; the lower, the more anomalous.
        """
        return _scores(self._fitted(), self.predict_raw(X))

    def decision_function(self, X: Any) -> FloatArray:
        """Scores less ``offset_``: negative for anomalies.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.

        Returns
        -------
        ndarray of float64, (n_rows,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Tell anomalies.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.

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

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.

        Returns
        -------
        ndarray of float64, (n_rows, n_columns)
            Positive where a column makes the row look anomalous.
        """
        forest, threads, model = self._fitted(), n_threads(self.n_jobs), self.model_
        parts = [
            path_contributions(forest, part.columns, part.n_rows, threads=threads, unknown=model.routing)[0]
            for _, part in model.conform(X).row_batches()
        ]
        return np.concatenate(parts) / -forest.n_trees

    @property
    def expected_path_length_(self) -> float:
        """Mean path length of the rows that the trees were grown from."""
        forest = self._fitted()
        empty = [
            np.empty(0, np.int32 if column.kind == "categorical" else np.float64) for column in self.schema_.columns
        ]
        return path_contributions(forest, empty, 0)[1] / forest.n_trees

    # ---- files ---------------------------------------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        return {"offset": self.offset_}

    def _notes(self) -> dict[str, Any]:
        return {} if self._seed is None else {"seed": self._seed}

    def _read_facts(self, header: dict[str, Any], forest: Forest) -> None:
        if not forest.n_trees or forest.n_outputs != 1 or forest.width != 1 or forest.has_slopes:
            raise ValueError("a forest whose leaves are no path lengths")
        offset = header["offset"]
        if type(offset) is not float or not math.isfinite(offset):
            raise ValueError("an offset that is no number")
        self.offset_ = offset
        self._seed = read_seed(header["seed"]) if "seed" in header else None  # early files have none

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _scores(forest: Forest, raw: FloatArray) -> FloatArray:
    """Scores from the sum of all trees; −0.5 if a single row was drawn, which needs no cut."""
    longest = forest.value[0, 0] * forest.n_trees
    share = raw[:, 0] / longest if longest > 0 else np.ones(len(raw))
    return -exp2(-share)


def _quantile(scores: FloatArray, level: float, weight: FloatArray | None) -> float:
    """Quantile of weighted scores; a whole weight is a repetition."""
    if weight is None or is_whole(weight):
        repeats = 1 if weight is None else weight.astype(np.int64)
        return float(np.quantile(np.repeat(scores, repeats), level))
    order = np.argsort(scores)
    cumulative = np.cumsum(weight[order])
    return float(scores[order][np.searchsorted(cumulative, level * cumulative[-1])])
