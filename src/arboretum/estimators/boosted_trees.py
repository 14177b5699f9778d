"""BoostedTreesClassifier, BoostedTreesRegressor, BoostedTreesRanker and BoostedTreesSurvival."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import check_integer, holds_others, shown
from arboretum.data import targets
from arboretum.data.table import Table
from arboretum.ensembles.bagging.resampling import Bag
from arboretum.ensembles.boosting import goals
from arboretum.ensembles.boosting.average_rounds import AverageRounds, average_of
from arboretum.ensembles.boosting.history import History
from arboretum.ensembles.boosting.model_notes import BoostingNotes, trees_of_round
from arboretum.ensembles.boosting.parameters import (
    BoostedStopping,
    BoostingParameters,
    Objective,
    Outputs,
    check_together,
    suits_several_outputs,
)
from arboretum.ensembles.boosting.presets import presets
from arboretum.ensembles.boosting.problem import HeldRows, Shared
from arboretum.ensembles.boosting.racing import RaceResult
from arboretum.ensembles.boosting.recipe import (
    Boosting,
    Journal,
    averaged_rounds,
    first_rounds,
    learns_from_raw,
    loss_of,
    notes_of,
    training_bytes,
    without_base,
)
from arboretum.ensembles.boosting.training_rows import beside_offset
from arboretum.estimators.checkpoints import Checkpoint, CheckpointFile
from arboretum.estimators.column_arguments import values_of
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.estimators.protocol import Classifier, Estimator, Regressor
from arboretum.estimators.standing_in import with_model
from arboretum.estimators.survival_model import SurvivalModel, read_level, read_times
from arboretum.growing.constraints import interaction_sets, monotone_directions
from arboretum.losses import GradientFunction, Loss, Ordinal, Quantiles
from arboretum.losses.base import constant_raw
from arboretum.losses.ranking import read_metric
from arboretum.losses.survival import DISTRIBUTIONS
from arboretum.metrics import ndcg_score
from arboretum.model.heads import ClassLossHead, LossHead, RankHead, RiskHead
from arboretum.model.model import Model
from arboretum.parameters.checking import check_rounds
from arboretum.parameters.declaring import (
    MOST,
    Allowed,
    Anything,
    Choice,
    Levels,
    Number,
    declares_parameters,
    like,
    parameter,
)
from arboretum.parameters.shared import LOSSES_OF_NUMBERS, OF_CLASSES, OF_NUMBERS, OF_TIMES, ClassWeights, EarlyStopping
from arboretum.running.threads import n_threads
from arboretum.running.warning import warn_user
from arboretum.tasks import RANKING, Task

Boosted = TypeVar("Boosted", bound="BoostedTrees")
FloatArray: TypeAlias = NDArray[np.float64]


class BoostedTrees(BoostingParameters, GrownTrees, Estimator):
    """Gradient-boosted trees, for any target.

    Attributes
    ----------
    n_iter_ : int
        Rounds kept.
    learning_rate_ : float
        The learning rate in use; rounds added under "auto" keep it.
    trees_per_round_ : int
        Trees of a round and output.
    history_ : History
        Losses and scores after each round, and why the fit ended.
    has_offset_ : bool
        Whether the model was fitted with an ``offset``, which ``predict`` then expects too.
    race_ : RaceResult or None
        Settings that raced, their losses, and the winner; None without a race.
    chosen_params_ : dict
        What the fit has chosen: with these parameters, the same rows give the same trees without a search or a race.
    loss_ : Loss
        The loss in use.
    """

    head_kind = LossHead
    notes_kind = BoostingNotes
    fits_on_cluster = True

    goal: Callable[[], goals.Goal]  # how the target is read, and which loss is minimised

    @property
    def loss_(self) -> Loss:
        """The loss in use."""
        return loss_of(self.model_)

    @property
    def n_iter_(self) -> int:
        """Rounds kept."""
        return notes_of(self.model_).n_rounds

    @property
    def history_(self) -> History:
        """Losses and scores after each round, and why the fit ended."""
        return notes_of(self.model_).history

    @property
    def learning_rate_(self) -> float:
        """The learning rate in use."""
        return notes_of(self.model_).learning_rate

    @property
    def race_(self) -> RaceResult | None:
        """Settings that raced, their losses, and the winner; None without a race."""
        return notes_of(self.model_).race

    @property
    def chosen_params_(self) -> dict[str, Any]:
        """What the fit has chosen, for a fit that neither searches nor races."""
        changes = {} if self.race_ is None else self.race_.changes
        rounds = {"n_estimators": self.n_iter_, "learning_rate": self.learning_rate_}
        return {**changes, **rounds, "early_stopping": False, "race": False}

    @property
    def trees_per_round_(self) -> int:
        """Trees of a round and output."""
        return notes_of(self.model_).trees_per_round

    @property
    def has_offset_(self) -> bool:
        """Whether the model was fitted with an ``offset``."""
        return notes_of(self.model_).has_offset

    @property
    def checkpoint_(self) -> dict[str, Any] | None:
        """In a model from a checkpoint, what fit it is part of; None in any other."""
        return notes_of(self.model_).checkpoint

    # ---- parameters ----------------------------------------------------------------------------------------------

    @classmethod
    def preset(cls: type[Boosted], name: str, **overrides: Any) -> Boosted:
        """Return an estimator with the switches of a known system.

        Parameters
        ----------
        name : {"gbm", "xgboost", "lightgbm", "catboost"}
            The system; ``arboretum.presets()`` shows its switches.
        **overrides
            Parameters that differ from it.

        Examples
        --------
        >>> import arboretum as arb
        >>> arb.BoostedTreesClassifier.preset("lightgbm", n_estimators=20).max_leaf_nodes
        31
        """
        known = cls._get_param_names()  # models of one output know no vector leaves
        switches = {switch: value for switch, value in presets()[name].items() if switch in known}
        return cls(**{**switches, **overrides})

    def check_parameters(self) -> None:
        """Check the parameters by themselves and together, as ``fit`` does."""
        super().check_parameters()
        check_together(self)

    def recipe(self) -> Boosting:
        """Return what makes a Model of rows: boosting, with these parameters."""
        return Boosting(self, self.goal(), type(self).__name__, lambda model: with_model(self, model))

    def training_bytes(self, n_rows: int, n_features: int, n_outputs: int = 1, versions: int = 1) -> int:
        """Return the memory that boosting takes besides codes; trees read ``versions`` tables in turn."""
        return training_bytes(self, n_rows, n_features, n_outputs, versions)

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(
        self: Boosted,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        *,
        offset: Any = None,
        offset_val: Any = None,
        groups: Any = None,
        checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    ) -> Boosted:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Training rows: numbers, text, categories, dates, with holes.
        y : array-like
            Target, one value per row; for several outputs, one column each.
        sample_weight : array-like, optional
            Weight of each row.
        X_val, y_val, sample_weight_val, offset_val : optional
            Rows to stop early on, in place of a held-out share of the training rows.
        offset : array-like, optional
            What the raw prediction of each row starts from, to which constant and trees are added: the logarithm of its
            exposure for losses of counts and amounts, or the raw prediction of another model. For several outputs or
            more than two classes, one column each.
        groups : array-like, optional
            Group of each row, such as a patient or a shop of which there are several rows: where rows are held out to
            stop early or to race, all rows of a group are, so that the number of rounds suits groups not seen.
        checkpoint : path or Checkpoint, optional
            File that keeps how far the fit is, written every minute: after a crash, the same call continues from it, to
            the same model. It stays when the fit ends.

        Returns
        -------
        self
        """
        held = HeldRows(X_val, y_val, sample_weight_val, offset_val)
        return self._fit(X, y, sample_weight, offset, held, checkpoint, groups)

    def _fit(
        self: Boosted,
        X: Any,
        y: Any,
        sample_weight: Any,
        offset: Any,
        held: HeldRows,
        checkpoint: Any,
        groups: Any = None,
    ) -> Boosted:
        self.check_parameters()
        n_rounds = int(self.n_estimators)
        earlier = self.model_ if self.warm_start and "_model" in vars(self) else None
        if earlier is not None:
            n_rounds -= self.n_iter_
            if n_rounds < 0:
                raise ValueError(
                    f"n_estimators={self.n_estimators} is less than the {self.n_iter_} rounds already fitted "
                    "(warm_start=True); raise it or set warm_start=False"
                )
            if n_rounds == 0:
                return self
        journal = self.journal(checkpoint, earlier)
        self.model_ = self.recipe().fit(n_rounds, X, y, sample_weight, offset, held, earlier, journal, groups)
        return self

    def journal(self, checkpoint: Any = None, earlier: Model | None = None) -> Journal | None:
        """Return what records the progress of a fit, for a checkpoint that was asked for."""
        if checkpoint is None or isinstance(checkpoint, Journal):
            return checkpoint
        if earlier is not None:
            raise ValueError("checkpoint: not supported when warm_start=True continues a fit; fit anew or leave it out")
        for name in ("dart_rate", "ordered_boosting"):
            if value := getattr(self, name):
                raise ValueError(
                    f"checkpoint with {name}={value!r}: such a run has more state than its rounds; use {name}=0 "
                    "or no checkpoint"
                )
        return CheckpointFile(checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint), self)

    def fit_more(
        self: Boosted,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        n_estimators: int,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        offset: Any = None,
        offset_val: Any = None,
    ) -> Boosted:
        """Add rounds to a fitted model, on the same rows or on others with the same columns.

        Parameters
        ----------
        X, y, sample_weight, X_val, y_val, sample_weight_val, offset, offset_val
            As for ``fit``.
        n_estimators : int
            Rounds to add.

        Returns
        -------
        self
        """
        held = HeldRows(X_val, y_val, sample_weight_val, offset_val)
        return self._fit_more(n_estimators, X, y, sample_weight, offset, held)

    def _fit_more(
        self: Boosted, n_rounds: int, X: Any, y: Any, sample_weight: Any, offset: Any, held: HeldRows
    ) -> Boosted:
        earlier = self.model_
        check_integer("n_estimators", n_rounds)
        self.check_parameters()
        self.model_ = self.recipe().fit(n_rounds, X, y, sample_weight, offset, held, earlier)
        return self

    # ---- as a member of an ensemble that reads and cuts the table once -------------------------------------------

    def share_table(self, table: Table, y: NDArray[Any], weight: FloatArray | None, threads: int) -> Shared:
        """Prepare what all members of an ensemble are fitted to; weights move the cuts and class weights alone."""
        self.check_parameters()
        return self.recipe().share(table, y, weight, threads)

    def fit_shared(self: Boosted, shared: Shared, bag: Bag, threads: int) -> Boosted:
        """Fit a member to its bag; its constraints become those of the columns that it sees."""
        if bag.columns is not None:
            schema, place = shared.problem.table.schema, {column: i for i, column in enumerate(bag.columns.tolist())}
            directions = monotone_directions(self.monotonic_cst, schema)
            sets = interaction_sets(self.interaction_cst, schema)
            self.monotonic_cst = [directions[column] for column in place] if directions else None
            kept = [[place[column] for column in one if column in place] for one in sets]
            self.interaction_cst = [one for one in kept if one] or None
        self.model_ = self.recipe().fit_shared(shared, bag, threads)
        return self

    def predict_table(self, table: Table, threads: int) -> FloatArray:
        """Return probabilities (rows, classes), or predictions, for a table that is read already."""
        return np.asarray(self.model_.head.judged(self.model_.raw(table, threads)))

    # ---- prediction ----------------------------------------------------------------------------------------------

    def _raw(self, X: Any, offset: Any) -> FloatArray:
        """Raw predictions (rows, outputs), offsets included."""
        return self._raw_by(self.model_, X, offset)

    def _raw_by(self, model: Model, X: Any, offset: Any) -> FloatArray:
        raw = model.sums(X, self.n_jobs)
        return raw if offset is None and not notes_of(model).has_offset else self._with_offset(raw, X, offset)

    def _with_offset(self, raw: FloatArray, X: Any, offset: Any) -> FloatArray:
        if offset is None:
            warn_user(
                f"this {type(self).__name__} was fitted with an offset, and none is given: predictions are those of "
                "offset 0, such as an exposure of 1; give the offset of each row, or offset=0"
            )
        return beside_offset(raw, targets.row_offsets(values_of(X, offset, "offset"), *raw.shape))

    def _asked(self: Boosted, X: Any, offset: Any) -> Boosted:
        """Return a model that predicts these rows with these offsets, and is asked about no others."""
        if offset is None:
            return self
        raw, plain = self._raw(X, offset), self.without_offset()
        return with_model(self, replace(plain.model_, known=lambda asked: raw))

    def without_offset(self: Boosted) -> Boosted:
        """Return the model as if it had been fitted without offsets: predictions start from 0, without a warning.

        Returns
        -------
        estimator
            A fitted model that shares its trees with this one.
        """
        model = self.model_
        return with_model(self, replace(model, notes=replace(notes_of(model), has_offset=False)))

    def _staged(self, X: Any, offset: Any = None) -> Iterator[FloatArray]:
        """Yield the raw predictions after each round."""
        threads, model = n_threads(self.n_jobs), self.model_
        forest, table = model.forest, model.as_read(model.conform(X), threads)
        total = np.repeat(forest.base[None, :], table.n_rows, axis=0)
        start = np.zeros_like(total)
        if offset is not None or self.has_offset_:
            start = self._with_offset(start, X, offset)
        step = trees_of_round(forest, self.trees_per_round_)
        for begin in range(0, forest.n_trees, step):
            total += model.raw_of_read(table, threads, without_base(forest[begin : begin + step]))
            yield total + start

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[NDArray[Any]]:
        """Yield what ``predict`` returns, after each round."""
        for raw in self._staged(X, offset):
            yield self.model_.head.answers(raw)

    def first_rounds(self: Boosted, n_rounds: int) -> Boosted:
        """Return the model of the first rounds alone: it predicts, explains and saves as any model does.

        Thresholds of ``loss="ordinal"``, the learnt scale of ``loss="aft"``, and weights of DART rounds or averaged
        rounds are those of all rounds. With ``loss="cox"`` it ranks rows by risk; it has no survival functions, whose
        baseline is that of all rounds.

        Parameters
        ----------
        n_rounds : int
            How many rounds to keep, from 1 to ``n_iter_``.

        Returns
        -------
        estimator
            A fitted model of the same class and parameters, which shares nothing that a further fit would change.

        Examples
        --------
        >>> import numpy as np, arboretum as arb
        >>> X = np.linspace(0, 1, 200)[:, None]
        >>> model = arb.BoostedTreesRegressor(n_estimators=50, learning_rate=0.1).fit(X, X[:, 0] ** 2)
        >>> early = model.first_rounds(10)
        >>> early.n_iter_, early.forest_.n_trees
        (10, 10)
        """
        check_rounds(n_rounds, self.n_iter_)
        return with_model(self, first_rounds(self.model_, int(n_rounds)))

    def snapshots(self: Boosted, rounds: Iterable[int]) -> list[Boosted]:
        """Return the model after each of some numbers of rounds, as ``first_rounds`` does.

        A vote of snapshots averages probabilities or predictions; ``averaged_rounds`` averages raw predictions, before
        the link, and is one forest.

        Parameters
        ----------
        rounds : iterable of int
            Numbers of rounds, from 1 to ``n_iter_``.

        Returns
        -------
        list of estimators
            Fitted models, one per number.

        Examples
        --------
        >>> import numpy as np, arboretum as arb
        >>> X = np.linspace(0, 1, 200)[:, None]
        >>> model = arb.BoostedTreesClassifier(n_estimators=30).fit(X, X[:, 0] > 0.4)
        >>> voted = np.mean([one.predict_proba([[0.1], [0.9]]) for one in model.snapshots([10, 20, 30])], axis=0)
        >>> voted.argmax(axis=1)
        array([0, 1])
        """
        self._require_snapshots("snapshots")
        if not holds_others(rounds):
            raise ValueError(f"rounds={shown(rounds)}: give a list of numbers of rounds, such as [{self.n_iter_}]")
        return [self.first_rounds(n_rounds) for n_rounds in rounds]

    def averaged_rounds(
        self: Boosted,
        average_rounds: int | AverageRounds,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        offset: Any = None,
    ) -> Boosted:
        """Return the mean of the raw predictions after several rounds, which is one forest of weighted trees.

        It is the model that the parameter ``average_rounds`` gives, made after the fit, and cannot be trained further.
        Thresholds of ``loss="ordinal"``, the learnt scale of ``loss="aft"`` and the baseline of ``loss="cox"`` follow
        from raw predictions: they are learned from the rows that are given. Without rows, "ordinal" is an error, the
        scale is that of the last round, and a Cox model ranks rows by risk but has no survival functions.

        Parameters
        ----------
        average_rounds : int or AverageRounds
            The last rounds to average, all if there are fewer; or which ones, and by which weights.
        X, y, sample_weight, offset : optional
            Training rows, as for ``fit``; other losses need none.

        Returns
        -------
        estimator
            A fitted model of the same class and parameters, which shares nothing that a further fit would change.

        Examples
        --------
        >>> import numpy as np, arboretum as arb
        >>> X = np.linspace(0, 1, 200)[:, None]
        >>> model = arb.BoostedTreesRegressor(n_estimators=50).fit(X, X[:, 0] ** 2)
        >>> last = list(model.staged_predict(X))[-10:]
        >>> bool(np.allclose(model.averaged_rounds(10).predict(X), np.mean(last, axis=0)))
        True
        """
        average = average_of(average_rounds)
        self._require_snapshots("averaged_rounds")
        model = averaged_rounds(self.model_, average)
        if learns_from_raw(model) and notes_of(model).is_averaged:
            if X is not None:
                model = self.recipe().relearned(model, X, y, sample_weight, offset)
            elif isinstance(self.loss_, Ordinal):
                raise ValueError(
                    "loss='ordinal' has thresholds that follow from raw predictions: give X and y of the training rows"
                )
        return with_model(self, model)

    def _require_snapshots(self, method: str) -> None:
        """Reject a model whose trees do not hold its earlier snapshots."""
        if self.dart_rate:
            raise ValueError(
                f"{method} with dart_rate={self.dart_rate!r}: later rounds of DART change the weights of earlier ones, "
                "so that the trees do not hold earlier snapshots; fit with dart_rate=0"
            )
        if notes_of(self.model_).is_averaged:
            raise ValueError(f"{method}: this {type(self).__name__} is an average; ask the model that it was made from")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.leaf_model == "constant"
        return tags


@declares_parameters
class BoostedTreesClassifier(Classifier, BoostedTrees):
    """Gradient-boosted trees for classes.

    Attributes
    ----------
    classes_ : ndarray, or a list of them for several outputs
        Labels, sorted; of an ordered categorical and the loss "ordinal", in its order.

    Examples
    --------
    >>> import arboretum as arb
    >>> rows = [["red", 1.0], ["blue", 2.0], ["red", 3.0], ["blue", None]] * 25
    >>> model = arb.BoostedTreesClassifier(n_estimators=20).fit(rows, ["yes", "no", "yes", "no"] * 25)
    >>> model.predict([["red", 2.5], ["blue", 0.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    vector_leaves: bool | str = like(Outputs, before="leaf_model")
    loss: str | Loss | GradientFunction = like(
        Objective,
        default="log_loss",
        filled={"losses": '"log_loss"; "ordinal" for ordered classes: see docs/many-outputs.md'},
    )
    class_weight: Any = like(ClassWeights, before="monotonic_cst")
    scoring: Any = like(EarlyStopping, filled={"metrics": OF_CLASSES})
    validation_fraction: float = like(BoostedStopping, filled={"stratified": ", the same share of each class,"})

    head_kind: ClassVar = ClassLossHead

    def goal(self) -> goals.Classes:
        """Return how labels are read, and which loss is minimised."""
        return goals.Classes(self.loss, class_weight=self.class_weight)

    @property
    def classes_(self) -> Any:
        """Labels, or a list of them for several outputs."""
        return self.model_.head_as(ClassLossHead).classes

    def decision_function(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Raw scores: log-odds of the second class, or one score per class or output; of ordered classes, one for all.

        Returns
        -------
        ndarray of float64, (n_rows,), (n_rows, n_classes) or (n_rows, n_outputs)
        """
        model = self.model_
        return model.head_as(ClassLossHead).scores(self._raw_by(model, X, offset))

    def predict_proba(self, X: Any, *, offset: Any = None) -> Any:
        """Probabilities of the classes, in the order of ``classes_``.

        Returns
        -------
        ndarray of float64, (n_rows, n_classes), or a list of them for several outputs
        """
        model = self.model_
        return model.head_as(ClassLossHead).probabilities(self._raw_by(model, X, offset))

    def predict(self, X: Any, *, offset: Any = None) -> NDArray[Any]:
        """Predict the most probable class.

        Returns
        -------
        ndarray, (n_rows,) or (n_rows, n_outputs)
            Labels as they were given at fit.
        """
        model = self.model_
        return model.head_as(ClassLossHead).answers(self._raw_by(model, X, offset))

    def staged_predict_proba(self, X: Any, *, offset: Any = None) -> Iterator[Any]:
        """Yield the probabilities after each round."""
        for raw in self._staged(X, offset):
            yield self.model_.head_as(ClassLossHead).probabilities(raw)

    def staged_decision_function(self, X: Any, *, offset: Any = None) -> Iterator[FloatArray]:
        """Yield the raw scores after each round."""
        for raw in self._staged(X, offset):
            yield self.model_.head_as(ClassLossHead).scores(raw)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return the accuracy: the share of rows whose class, or classes of all outputs, are predicted."""
        return Classifier.score(self._asked(X, offset), X, y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = suits_several_outputs(self)
        return tags


@declares_parameters
class BoostedTreesRegressor(Regressor, BoostedTrees):
    """Gradient-boosted trees for numbers.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = arb.BoostedTreesRegressor(n_estimators=50).fit(X, X[:, 0] ** 2)
    >>> model.predict([[0.5]]).round(2)
    array([0.25])
    """

    vector_leaves: bool | str = like(Outputs, before="leaf_model")
    loss: str | Loss | GradientFunction = like(Objective, default="squared_error", filled={"losses": LOSSES_OF_NUMBERS})
    quantile: float | Sequence[float] | None = parameter(
        None,
        Levels(),
        'Level of the "quantile" loss (0.5), or share of residuals that "huber" takes as small (0.9). Several rising '
        "levels make one model of quantiles that cannot cross: ``predict`` returns a column for each.",
        before="monotonic_cst",
    )
    power: float | None = parameter(
        None,
        Number(optional=True),
        'Variance power of the "tweedie" loss, between 1 and 2 (1.5).',
        before="monotonic_cst",
    )
    scoring: Any = like(EarlyStopping, filled={"metrics": OF_NUMBERS})
    validation_fraction: float = like(BoostedStopping, filled={"stratified": ""})

    def goal(self) -> goals.Numbers:
        """Return how the target is read, and which loss is minimised."""
        return goals.Numbers(self.loss, self.quantile, self.power)

    def predict(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Predict the target.

        Returns
        -------
        ndarray of float64, (n_rows,)
            (n_rows, n_outputs) with several outputs; with several quantiles a column for each, rising in each row.
        """
        model = self.model_
        return model.head.answers(self._raw_by(model, X, offset))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return R²: 1 − Σ (y − prediction)² / Σ (y − mean of y)².

        With several quantiles, the same of their pinball losses: 1 − Σ loss of the predictions / Σ loss of the
        quantiles of y (Koenker & Machado 1999).
        """
        asked, loss = self._asked(X, offset), self.loss_
        if not isinstance(loss, Quantiles):
            return Regressor.score(asked, X, y, sample_weight)
        predicted = asked.predict(X)
        target = targets.regression_target(targets.as_column(y, len(predicted)))
        weight = targets.row_weights(sample_weight, len(target))
        constant = constant_raw(loss.start(target, weight), len(target))
        found, least = (loss.value(target, raw, weight) for raw in (predicted, constant))
        return 1.0 - found / least if least else float(not found)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = suits_several_outputs(self)
        return tags


class RankingMetric(Allowed):
    """A metric of ranking, perhaps of the first places alone.

    Examples
    --------
    >>> RankingMetric().read("ndcg@5")
    'ndcg@5'
    """

    text = '"ndcg", "map", "mrr", or with places: "ndcg@5"'

    def check(self, owner: Any, name: str) -> None:
        """Reject other names."""
        value = getattr(owner, name)
        if not isinstance(value, str):
            raise TypeError(f"{name}={shown(value)}: give the name of a metric, such as 'ndcg@5'")
        read_metric(value)


@declares_parameters
class BoostedTreesRanker(BoostedTrees):
    """Gradient-boosted trees that put the rows of each query into order.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> random = np.random.default_rng(0)
    >>> X, query = random.normal(size=(600, 3)), random.integers(40, size=600)
    >>> grade = np.clip(np.round(X[:, 0] + 1), 0, 4)
    >>> model = arb.BoostedTreesRanker(n_estimators=20, learning_rate=0.2, l2=1.0).fit(X, grade, group=query)
    >>> model.score(X, grade, group=query) > 0.95
    True
    """

    loss: str | Loss | GradientFunction = like(
        Objective,
        default="yetirank",
        allowed=Anything("str or Loss"),
        doc='What to minimise: "yetirank", "lambdamart", "pairwise", "listwise". Or an object derived from '
        "``arboretum.losses.Loss``.",
    )
    metric: str = parameter(
        "ndcg",
        RankingMetric(),
        'The metric that weights the pairs of "lambdamart", and that early stopping follows: "ndcg" (of the first 10 '
        'places), "map" or "mrr", or of the first places alone, as "ndcg@5", "map@5". ``history_`` holds 1 - metric.',
        before="monotonic_cst",
    )
    truncation: int | None = parameter(
        30,
        Number(1, MOST, integer=True, optional=True),
        '"lambdamart" and "pairwise" compare pairs with a row among this many first places; None compares all.',
        before="monotonic_cst",
    )
    scoring: Any = like(EarlyStopping, filled={"metrics": '"ndcg", "map", "mrr", or at the first places: "ndcg@5"'})
    validation_fraction: float = like(BoostedStopping, filled={"stratified": ", by whole queries,"})

    head_kind: ClassVar = RankHead
    task_: ClassVar[Task] = RANKING

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(  # type: ignore[override]  # group comes third: ids given there must not pass for weights
        self,
        X: Any,
        y: Any,
        group: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        group_val: Any = None,
        sample_weight_val: Any = None,
        *,
        offset: Any = None,
        offset_val: Any = None,
        checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    ) -> BoostedTreesRanker:
        """Fit the model; arguments that are not described here are those of the other boosted trees.

        Parameters
        ----------
        X, X_val, y_val, sample_weight_val, offset_val, checkpoint
            As for ``BoostedTreesRegressor.fit``; a held-out share is one of queries.
        y : array-like
            Grade of each row, from 0 (not relevant) to 31; fractions are allowed.
        group, group_val : array-like
            Id of each row's query: numbers, text, dates. The order of the rows does not matter.
        sample_weight : array-like, optional
            Weight of each row's gradients; rows of weight 0 take no part. One weight for all rows of a query is the
            same as that many copies of the query.
        offset : array-like, optional
            What the score of each row starts from, such as the score of another model.

        Returns
        -------
        self
        """
        held = _judged_rows(X_val, y_val, group_val, sample_weight_val, offset_val)
        return self._fit(X, goals.judged(y, group), sample_weight, offset, held, checkpoint)

    def fit_more(  # type: ignore[override]  # as fit
        self,
        X: Any,
        y: Any,
        group: Any = None,
        sample_weight: Any = None,
        *,
        n_estimators: int,
        X_val: Any = None,
        y_val: Any = None,
        group_val: Any = None,
        sample_weight_val: Any = None,
        offset: Any = None,
        offset_val: Any = None,
    ) -> BoostedTreesRanker:
        """Add rounds to a fitted model, on the same rows or on others with the same columns.

        Parameters
        ----------
        X, y, group, sample_weight, X_val, y_val, group_val, sample_weight_val, offset, offset_val
            As for ``fit``.
        n_estimators : int
            Rounds to add.

        Returns
        -------
        self
        """
        held = _judged_rows(X_val, y_val, group_val, sample_weight_val, offset_val)
        return self._fit_more(n_estimators, X, goals.judged(y, group), sample_weight, offset, held)

    def check_parameters(self) -> None:
        """Check the parameters by themselves and together, as ``fit`` does."""
        super().check_parameters()
        if self.ordered_boosting:
            raise ValueError(
                f"ordered_boosting={self.ordered_boosting!r}: the gradient of a row depends on the other rows of its "
                "query, which a supporting model may not have seen; use ordered_boosting=0"
            )

    def goal(self) -> goals.Ranking:
        """Return how grades and queries are read, and which loss is minimised."""
        return goals.Ranking(self.loss, metric=self.metric, truncation=self.truncation)

    # ---- prediction ----------------------------------------------------------------------------------------------

    def predict(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Score rows; within a query, the highest comes first.

        Returns
        -------
        ndarray of float64, (n_rows,)
        """
        model = self.model_
        return model.head.answers(self._raw_by(model, X, offset))

    def score(self, X: Any, y: Any, group: Any = None, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return NDCG of the first 10 places: ``arboretum.metrics.ndcg_score``."""
        return ndcg_score(y, self.predict(X, offset=offset), group, sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _judged_rows(X: Any, y: Any, group: Any, weight: Any, offset: Any) -> HeldRows:
    """Return validation rows with grades and queries joined."""
    if X is None and group is not None:
        raise ValueError("group_val is given without X_val: give X_val as well")
    return HeldRows(X, None if X is None else goals.judged(y, group, "_val"), weight, offset)


@declares_parameters
class BoostedTreesSurvival(SurvivalModel, BoostedTrees):
    """Gradient-boosted trees for times to an event, some of them censored.

    ``loss="cox"`` models hazards: ``predict`` gives the logarithm of each row's hazard ratio. ``loss="aft"`` models
    times: ln T = raw prediction + aft_scale · Z; it takes bounds of times too. The risk of ``predict`` is higher for
    earlier events with either loss. See docs/survival.md.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> x = np.arange(200.0)
    >>> y = np.column_stack([300 - x, np.arange(200) % 3 > 0])  # time, event
    >>> model = arb.BoostedTreesSurvival(n_estimators=20, learning_rate=0.3, l2=0.0).fit(x[:, None], y)
    >>> risk = model.predict([[10.0], [190.0]])
    >>> bool(risk[0] < risk[1])
    True
    >>> model.predict_survival_function([[10.0], [190.0]], times=[200.0]).round(1)
    array([[1.],
           [0.]])
    """

    loss: str | Loss | GradientFunction = like(Objective, default="cox", filled={"losses": '"cox", "aft"'})
    aft_distribution: str | None = parameter(
        None,
        Choice(None, *DISTRIBUTIONS),
        'Distribution of Z in the "aft" loss: T is log-normal (the default), log-logistic or Weibull.',
        before="monotonic_cst",
    )
    aft_scale: float | str | None = parameter(
        "auto",
        Number(0.0, 1e100, open_low=True, optional=True, words=("auto",)),
        'Scale of Z in the "aft" loss. "auto" learns the likeliest one for the training rows in each round; None is 1.',
        before="monotonic_cst",
    )
    scoring: Any = like(EarlyStopping, filled={"metrics": OF_TIMES})
    validation_fraction: float = like(
        BoostedStopping, filled={"stratified": ", the same share of rows with and without event,"}
    )

    head_kind: ClassVar = RiskHead

    def goal(self) -> goals.Survival:
        """Return how times and events are read, and which loss is minimised."""
        return goals.Survival(self.loss, aft_distribution=self.aft_distribution, aft_scale=self.aft_scale)

    @property
    def event_times_(self) -> FloatArray:
        """Times of events of the training rows, rising."""
        times = self.model_.head_as(RiskHead).event_times
        if times is None:
            raise AttributeError(
                f"this {type(self).__name__} is in training: times of events and hazards are known after the fit; "
                "scoring can ask for the risks that predict gives"
            )
        return times

    # ---- prediction ----------------------------------------------------------------------------------------------

    def predict(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Risk of each row, higher for earlier events.

        Returns
        -------
        ndarray of float64, (n_rows,)
            Logarithm of the hazard ratio with ``loss="cox"``; minus the logarithm of the time at Z = 0 with
            ``loss="aft"``.
        """
        model = self.model_
        return model.head_as(RiskHead).answers(self._raw_by(model, X, offset))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return the concordance index of the risks."""
        return SurvivalModel.score(self._asked(X, offset), X, y, sample_weight)

    def predict_cumulative_hazard(self, X: Any, times: Any = None, *, offset: Any = None) -> FloatArray:
        """Cumulative hazard of each row at some times: −ln of the probability to outlive them.

        Returns
        -------
        ndarray of float64, (n_rows, n_times)
        """
        head, at = self.model_.head_as(RiskHead), read_times(times, self.event_times_)
        return head.cumulative_hazard(self._raw(X, offset), at)

    def predict_survival_function(self, X: Any, times: Any = None, *, offset: Any = None) -> FloatArray:
        """Probability of each row to outlive some times: exp(−cumulative hazard).

        Returns
        -------
        ndarray of float64, (n_rows, n_times)
        """
        return np.exp(-self.predict_cumulative_hazard(X, times, offset=offset))

    def predict_time(self, X: Any, quantile: float = 0.5, *, offset: Any = None) -> FloatArray:
        """Time by which the event of each row has come with this probability: by default the median.

        Parameters
        ----------
        X : array-like or data frame
        quantile : float, default=0.5
            Above 0, below 1.
        offset : array-like, optional
            As for ``predict``.

        Returns
        -------
        ndarray of float64, (n_rows,)
            With ``loss="aft"`` the quantile of the distribution. With ``loss="cox"`` the first time of an event at
            which the survival function is not above 1 − quantile; inf where it stays above, because too few training
            rows were followed for so long.
        """
        level = read_level(quantile)
        return self.model_.head_as(RiskHead).quantiles(self._raw(X, offset), level)
