"""What fitted models tell about themselves; the work is done in ``arboretum.explaining``, imported when asked for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from arboretum.explaining import Dependence, Explanation, Importances
    from arboretum.model.model import Model


class Explained:
    """Methods that look inside a fitted model; each imports what it needs when it is called."""

    @property
    def model_(self) -> Model:
        """The trees of a model; a model of models has none of its own."""
        asked: Model | None = vars(self).get("_model")  # a model that is known by its predictions has one
        if asked is None:
            raise AttributeError(
                f"{type(self).__name__} has no trees of its own: look at its members, estimator_ or estimators_"
            )
        return asked

    def explain(self, X: Any, *, background: Any = None, interactions: bool = False) -> Explanation:
        """Split predictions into what each column did: SHAP values.

        ::

            base_values + Σ_columns values = prediction before the link (log-odds, logarithm, …)

        For averaging forests this is the mean of the trees: the probability of each class, of the second if there are
        two. For an isolation forest it is the mean path length: negative values make a row look anomalous.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to explain; named columns in any order.
        background : array-like, sparse matrix or data frame, optional
            Rows that stand for columns whose value is not known ("interventional"); a hundred are usually enough, and
            time grows with their number. By default what trees know of their training rows does ("path-dependent").
        interactions : bool, default=False
            Whether to split further, into what pairs of columns did together.

        Returns
        -------
        arboretum.explaining.Explanation
            Of the columns of X, whatever the trees read.

        References
        ----------
        Lundberg, S. et al. (2020). From local explanations to global understanding with explainable AI for trees.
        Nature Machine Intelligence 2.
        """
        from arboretum.explaining import explain

        return explain(self, X, background=background, interactions=interactions)

    # ---- importances and dependence -------------------------------------------------------------------------------

    @property
    def feature_importances_(self: Any) -> NDArray[np.float64]:
        """Sum of the gains of each column's splits, normalised to sum 1."""
        from arboretum.explaining import gain_shares

        return gain_shares(self)

    def importances(self: Any, X: Any = None, y: Any = None, **options: Any) -> Importances:
        """Tell which columns matter, by every measure there is: ``arboretum.explaining.importances``."""
        from arboretum import explaining

        return explaining.importances(self, X, y, **options)

    def partial_dependence(self: Any, X: Any, features: Any, **options: Any) -> Dependence:
        """Mean prediction if all rows had the same value in a column: ``arboretum.explaining.partial_dependence``."""
        from arboretum import explaining

        return explaining.partial_dependence(self, X, features, **options)

    def ice(self: Any, X: Any, features: Any, **options: Any) -> Dependence:
        """Prediction of each row over all values of a column: ``arboretum.explaining.ice``."""
        from arboretum import explaining

        return explaining.ice(self, X, features, **options)

    def accumulated_effects(self: Any, X: Any, features: Any, **options: Any) -> Dependence:
        """Accumulate effects of small steps in a column: ``arboretum.explaining.accumulated_effects``."""
        from arboretum import explaining

        return explaining.accumulated_effects(self, X, features, **options)

    def interaction_strength(self: Any, X: Any, features: Any = None, **options: Any) -> Dependence:
        """Tell how strongly columns interact, by Friedman's H²: ``arboretum.explaining.interaction_strength``."""
        from arboretum import explaining

        return explaining.interaction_strength(self, X, features, **options)

    # ---- influence of training rows ------------------------------------------------------------------------------

    def influence(
        self,
        X: Any,
        y: Any = None,
        *,
        X_train: Any,
        y_train: Any,
        sample_weight: Any = None,
        top: int | None = None,
    ) -> Any:
        """Estimate how predictions of rows would change if a training row were left out.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows whose predictions are asked about.
        y : array-like, optional
            Their targets: tell the change of the loss in place of that of the raw prediction.
        X_train, y_train, sample_weight
            What the model was fitted on.
        top : int, optional
            Tell only the training rows of the largest influence on each row.

        Returns
        -------
        ndarray of float64, (rows, training rows), or indices and values, (rows, top), with ``top``
            See :func:`arboretum.explaining.influence`.
        """
        from arboretum.explaining import influence

        return influence(self, X, y, X_train=X_train, y_train=y_train, sample_weight=sample_weight, top=top)

    # ---- report --------------------------------------------------------------------------------------------------

    def report(
        self,
        X: Any,
        y: Any,
        path: str | os.PathLike[str],
        *,
        X_train: Any = None,
        y_train: Any = None,
        sample_weight: Any = None,
        sample_weight_train: Any = None,
        group: Any = None,
        treatment: Any = None,
        group_train: Any = None,
        treatment_train: Any = None,
        offset: Any = None,
        offset_train: Any = None,
        positive: Any = None,
        ids: Any = None,
        ids_train: Any = None,
        title: str | None = None,
        target: str | None = None,
        source: str | None = None,
        source_train: str | None = None,
        date: str | None = None,
        max_rows: int = 2_000,
    ) -> Path:
        """Write a report as one HTML file: data, training, evaluation, importances, dependence, trees, examples.

        The file needs no network and no other file. The same model, rows and date give the same bytes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to judge the model by, best those that it has not seen.
        y : array-like
            Their targets, as for ``fit``; None for an outlier detector whose anomalies are not known.
        path : path
            Where to write; a file there is replaced.
        X_train, y_train : like X and y, optional
            The rows of ``fit``: they add drift, figures on training rows and influential training rows.
        sample_weight, sample_weight_train : array-like, optional
            Weight of each row of X in the evaluation, and of each training row in ``fit``.
        group, group_train : array-like, optional
            Query of each row, for a ranker.
        treatment, treatment_train : array-like, optional
            Treatment of each row, for an uplift model.
        offset, offset_train : array-like, optional
            Offset of each row, as for ``predict``, of boosted trees that were fitted with offsets.
        positive : label, optional
            The class of two whose probability, precision and recall are shown; by default the second.
        ids, ids_train : array-like or mapping of columns, optional
            What each row is called among the examples; by default the index of a pandas frame, unless it only counts
            rows.
        title : str, optional
            Heading; by default ``target``.
        target : str, optional
            What is predicted; by default the name of ``y``, if it has one, else the name of the class.
        source, source_train : str, optional
            Where the rows and the training rows come from, such as the names of their files.
        date : str, optional
            By default today, in UTC, or the moment ``SOURCE_DATE_EPOCH`` if that is set.
        max_rows : int, default=2000
            Rows that are drawn for what takes long: permutations, SHAP values, dependence.

        Returns
        -------
        pathlib.Path
            The file.
        """
        from arboretum.report import write_report

        return write_report(
            self,
            X,
            y,
            path,
            X_train=X_train,
            y_train=y_train,
            sample_weight=sample_weight,
            sample_weight_train=sample_weight_train,
            group=group,
            treatment=treatment,
            group_train=group_train,
            treatment_train=treatment_train,
            offset=offset,
            offset_train=offset_train,
            positive=positive,
            ids=ids,
            ids_train=ids_train,
            title=title,
            target=target,
            source=source,
            source_train=source_train,
            date=date,
            max_rows=max_rows,
        )
