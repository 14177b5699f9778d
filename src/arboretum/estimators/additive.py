"""AdditiveBoostingRegressor and AdditiveBoostingClassifier: stage-wise additive models of any base learners."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum import losses
from arboretum.data import selection, targets
from arboretum.data.labels import classes_from_json, classes_to_json
from arboretum.data.schema import Schema
from arboretum.data.splits import split_rows
from arboretum.ensembles.additive import AdditiveParams, Part, Stage, add_stages
from arboretum.ensembles.bagging.resampling import RowDraws
from arboretum.ensembles.boosting.history import History, Judge, Patience
from arboretum.ensembles.boosting.judging import JudgedRows, judge_of
from arboretum.estimators.additive_learners import BaseLearner, TrainingRows, named_learners, predicted
from arboretum.estimators.bagging_members import FloatArray, GivenTable, in_fit_order, set_input_names
from arboretum.estimators.bagging_model import base_from_json, read_member
from arboretum.estimators.base import ForestModel
from arboretum.estimators.classes import own_class
from arboretum.estimators.files import call_to_json, write_file
from arboretum.estimators.protocol import Classifier, Estimator, Regressor, not_fitted
from arboretum.estimators.standing_in import after_round, in_columns, twin
from arboretum.losses import Loss
from arboretum.metrics.named import Metric
from arboretum.metrics.scoring import Scorer, find_scoring
from arboretum.model import model_file
from arboretum.model.heads import LossHead
from arboretum.parameters.checking import check_rounds, seed_of
from arboretum.parameters.declaring import (
    COUNT,
    FLAG,
    Anything,
    Choice,
    Number,
    declares_parameters,
    like,
    parameter,
    parameter_group,
)
from arboretum.parameters.shared import (
    LOSSES_OF_NUMBERS,
    OF_CLASSES,
    OF_NUMBERS,
    EarlyStopping,
    Progress,
    Seed,
)
from arboretum.running.interruption import warn_interrupted
from arboretum.running.progress import ProgressBar

Additive = TypeVar("Additive", bound="AdditiveModel")


@parameter_group("Ensemble")
class Stages:
    """What stages choose from, and how they go on."""

    estimators: Any = parameter(
        None,
        Anything("list of estimators or of (name, estimator)"),
        "Regressors to choose from, of arboretum, scikit-learn or any other that follows its protocol; by default a "
        "tree of eight leaves.",
    )
    loss: str | Loss = parameter(
        "squared_error",
        Anything("str or Loss"),
        "What to minimise: <losses>, or an object of a class of ``arboretum.losses`` or of your own.",
    )
    n_estimators: int = parameter(
        100,
        COUNT,
        "Stages. One in which no learner lowers the training loss is left out; if none can, the fit ends.",
    )
    learning_rate: float = parameter(
        0.1, Number(0.0, 1.0, open_low=True), "Share of the best step that is taken, at most 1."
    )
    selection: str = parameter(
        "best",
        Choice("best", "cycle"),
        "Fit all learners and take the best, or fit one in each stage, in turn.",
    )
    subsample: float = parameter(
        1.0,
        Number(0.0, 1.0, open_low=True),
        "Share of the rows that learners are fitted to, drawn anew each stage; the line search sees all.",
    )


@parameter_group()
class AdditiveParameters(Stages, EarlyStopping, Seed, Progress):
    """Parameters of additive models."""

    early_stopping: bool = like(
        EarlyStopping,
        default=False,
        allowed=FLAG,
        doc="Hold out rows, and keep the stages up to the one that predicts them best.",
    )
    n_iter_no_change: int = like(EarlyStopping, default=10, doc="Stages without improvement after which to stop.")
    random_state: Any = like(Seed, doc="Seed of all draws, and of the learners that have a ``random_state``.")


class AdditiveModel(AdditiveParameters, Estimator):
    """A constant plus fitted learners times coefficients, whatever the target.

    Attributes
    ----------
    estimators_ : list
        The fitted learner of each stage; of more than two classes, a list with one for each class.
    coefficients_ : ndarray, (n_stages,)
        What each is multiplied by: learning rate times the step of the line search.
    chosen_ : list
        Name of each in ``estimators``, or its position if it has none.
    init_ : ndarray
        Constant that raw predictions start from.
    history_ : History
        Losses and scores after each stage, and why the fit ended.
    loss_ : Loss
        What was minimised.
    n_iter_ : int
        Stages of the model.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    estimators_: list[Any]
    coefficients_: FloatArray
    chosen_: list[str | int]
    init_: FloatArray
    history_: History
    loss_: Loss
    n_iter_: int
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _bases: list[BaseLearner]
    _schema: Schema | None  # None if the rows are no table

    # ---- parameters: those of named learners are parameters of the model --------------------------------------------

    def _named(self) -> dict[str, Any]:
        """Learners by name; those that have none are left out, and so is what fit would refuse."""
        given = self.estimators if isinstance(self.estimators, list | tuple) else []
        pairs = [pair for pair in given if isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)]
        return {name: learner for name, learner in pairs if hasattr(learner, "get_params")}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Add named learners, and their parameters as ``learner__parameter``.
        """
        params = super().get_params(deep)
        for name, learner in self._named().items() if deep else ():
            if not isinstance(learner, type):
                inner = {f"{name}__{key}": value for key, value in learner.get_params().items()}
                params = {name: learner, **inner, **params}
        return params

    def set_params(self: Additive, **params: Any) -> Additive:
        """Set parameters, named learners, and ``learner__parameter``; an unknown name is refused."""
        if "estimators" in params:
            super().set_params(estimators=params.pop("estimators"))
        replaced = {name: params.pop(name) for name in self._named() if name in params}
        if replaced:
            pairs = [given if isinstance(given, tuple) else (None, given) for given in self.estimators]
            self.estimators = [
                (name, replaced.get(name, learner)) if name is not None else learner for name, learner in pairs
            ]
        return super().set_params(**params)

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(self: Additive, X: Any, y: Any, sample_weight: Any = None) -> Additive:
        """Fit the model; nothing of it changes before all has gone well.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Training rows, of any kind that the learners take.
        y : array-like
            Target, one value a row.
        sample_weight : array-like, optional
            Weight of each row; rows of weight 0 take no part.

        Returns
        -------
        self
        """
        self.check_parameters()
        bases, seed = named_learners(self.estimators, self._get_param_names()), seed_of(self.random_state)
        source = GivenTable(bases[0].estimator, X)
        column = targets.as_column(y, source.n_rows)
        weight = targets.training_weights(sample_weight, source.n_rows)
        kept = np.arange(source.n_rows) if weight is None else np.flatnonzero(weight)
        numbers, loss, facts = self._read_target(column[kept])
        if not loss.has_values:
            raise ValueError(
                f"{loss!r} is a function of gradients, but the line search compares values: derive a class with values "
                "from arboretum.losses.Loss"
            )
        loss.check_target(numbers)
        scoring = find_scoring(self.scoring, self._task_of(facts))
        inner, held = self._hold_out(numbers, seed)

        def part(rows: NDArray[np.intp]) -> Part:
            given = kept[rows]
            X_part = source.X if len(given) == source.n_rows else selection.take_rows(source.X, given)
            return Part(X_part, numbers[rows], None if weight is None else weight[given])

        training, validation = part(inner), None if held is None else part(held)
        draws = self._row_draws(source, training, kept[inner])
        start = np.asarray(loss.start(training.y, training.weight), dtype=np.float64)
        with ProgressBar(self.n_estimators, "stage") if self.verbose else nullcontext() as bar:
            stages, history = add_stages(
                TrainingRows(bases, training, source.table, draws, seed),
                training,
                loss,
                self._stage_params(draws, held is not None),
                start=start,
                validation=validation,
                judge=None if validation is None else self._judge(scoring, validation, facts),
                callbacks=[] if bar is None else [bar],
            )
        if history.stopped_by == "interrupt":
            warn_interrupted(len(stages), "stages")
        self._schema, self.init_, self.loss_, self.history_ = source.schema, start, loss, history
        self._take_facts(facts)
        self._take_stages(bases, stages)
        set_input_names(self, source.n_columns, self._schema)
        return self

    def _take_stages(self, bases: list[BaseLearner], stages: list[Stage]) -> None:
        single = self.loss_.n_outputs == 1
        self.estimators_ = [stage.models[0] if single else stage.models for stage in stages]
        self.coefficients_ = np.array([stage.coefficient for stage in stages], dtype=np.float64)
        self.chosen_ = [bases[stage.learner].name for stage in stages]
        self.n_iter_, self._bases = len(stages), bases

    def _hold_out(self, y: FloatArray, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp] | None]:
        """Rows to train on, and those to stop early on, if any."""
        if not self.early_stopping:
            return np.arange(len(y)), None
        kept, held = split_rows(len(y), float(self.validation_fraction), seed, self._strata(y))
        if not len(kept) or not len(held):
            raise ValueError(
                f"early_stopping=True, but validation_fraction={self.validation_fraction} of {len(y)} rows leaves "
                "no row to train or to validate on: raise validation_fraction or set early_stopping=False"
            )
        return kept, held

    def _strata(self, y: FloatArray) -> NDArray[Any] | None:
        return None

    def _row_draws(self, source: GivenTable, training: Part, given: NDArray[np.intp]) -> RowDraws:
        """Draws of the rows that learners see, by position in the training part."""
        share = float(self.subsample)
        n_rows = len(given)
        keys = source.keys(training.y, given) if share < 1 else np.arange(n_rows, dtype=np.uint64)
        return RowDraws.of(keys, training.weight, share, replace=False)

    def _stage_params(self, draws: RowDraws, held: bool) -> AdditiveParams:
        return AdditiveParams(
            n_stages=int(self.n_estimators),
            learning_rate=float(self.learning_rate),
            cycles=self.selection == "cycle",
            redraws=not draws.takes_all,
            patience=Patience(int(self.n_iter_no_change), float(self.tol)) if held else None,
        )

    def _read_target(self, column: NDArray[Any]) -> tuple[FloatArray, Loss, Any]:
        """Check the target; return its numbers, the loss they call for, and what the model keeps of it."""
        raise NotImplementedError

    def _take_facts(self, facts: Any) -> None:
        """Keep what was found in the target."""

    def _judge(self, scoring: Metric | Scorer | None, held: Part, facts: Any) -> Judge | None:
        def model_at(raw: FloatArray, loss: Loss) -> Any:
            return after_round(self, held.X, raw, loss_=loss, classes_=facts)

        return judge_of(scoring, JudgedRows(held.X, held.y, self._truth(held.y, facts), held.weight), model_at)

    def _task_of(self, facts: Any) -> str:
        """Return which metrics there are to compare stages by."""
        return "regression"

    def _truth(self, y: FloatArray, facts: Any) -> NDArray[Any]:
        """Return the target as users write it."""
        return y

    def first_rounds(self: Additive, n_rounds: int) -> Additive:
        """Return the model of the first stages alone: it predicts and saves as any model does.

        Parameters
        ----------
        n_rounds : int
            How many stages to keep, from 1 to ``n_iter_``.

        Returns
        -------
        estimator
            A fitted model of the same class and parameters.
        """
        if not hasattr(self, "estimators_"):
            raise not_fitted(self)
        check_rounds(n_rounds, self.n_iter_)
        n = int(n_rounds)
        return twin(
            self,
            estimators_=self.estimators_[:n],
            coefficients_=self.coefficients_[:n],
            chosen_=self.chosen_[:n],
            history_=self.history_.first(n),
            n_iter_=n,
        )

    # ---- prediction ----------------------------------------------------------------------------------------------

    def predict_raw(self, X: Any) -> FloatArray:
        """Sum the stages, before the link.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.

        Returns
        -------
        ndarray of float64, (n_rows, n_outputs)
        """
        *_, raw = self._staged_raw(X)
        return raw

    def _head(self) -> LossHead:
        if not hasattr(self, "loss_"):
            raise not_fitted(self)
        return LossHead(self.loss_, self.__dict__.get("classes_"))

    def _staged_raw(self, X: Any) -> Iterator[FloatArray]:
        """Yield the raw predictions, (rows, outputs), of the constant alone, then after each stage."""
        if not hasattr(self, "estimators_"):
            raise not_fitted(self)
        rows = in_fit_order(X, self._schema, type(self).__name__)
        raw = losses.base.constant_raw(self.init_, selection.n_rows_of(rows))
        yield in_columns(raw)
        for stage, (models, coefficient) in enumerate(zip(self.estimators_, self.coefficients_, strict=True)):
            each = models if isinstance(models, list) else [models]
            raw = raw + coefficient * predicted(each, rows, self.chosen_[stage], stage)
            yield in_columns(raw)

    def _after_each_stage(self, X: Any) -> Iterator[FloatArray]:
        stages = self._staged_raw(X)
        next(stages)
        return stages

    # ---- files: the learners' own, one after the other -------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, compact: bool = True) -> None:
        """Write the model, if its learners are arboretum's, to a file that ``arboretum.load`` reads.

        Parameters
        ----------
        path : path
            Where to write.
        compact : bool, default=True
            Store arrays in as few bytes as hold them exactly.
        """
        models = self._own_models("save", "pickle or skops keep other estimators")
        files = [model_file.to_bytes(*model.to_file(), compact=compact) for model in models]
        assert self._schema is not None
        header = {
            **call_to_json(self),
            "learners": [[base.name, call_to_json(base.estimator)] for base in self._bases],
            "schema": self._schema.to_json(),
            "history": self.history_.to_json(),
            "chosen": self.chosen_,
            **self._facts(),
        }
        arrays: dict[str, NDArray[Any]] = {"init": self.init_, "coefficients": self.coefficients_}
        arrays |= {f"model {place}": np.frombuffer(file, np.uint8) for place, file in enumerate(files)}
        write_file(self, path, header, arrays, compact=False)

    def fingerprint(self) -> str:
        """Hash of everything that determines predictions; learners must be arboretum's."""
        models = self._own_models("fingerprint", "other estimators have none")
        facts = {
            "model": own_class(type(self)).__name__,
            "models": [model.fingerprint() for model in models],
            **self._facts(),
        }
        return model_file.fingerprint(facts, {"init": self.init_, "coefficients": self.coefficients_})

    def _own_models(self, method: str, cure: str) -> list[ForestModel]:
        """Return the fitted models, stage by stage; refuse those, and candidates, of another origin."""
        if not hasattr(self, "estimators_"):
            raise not_fitted(self)
        models = [model for stage in self.estimators_ for model in (stage if isinstance(stage, list) else [stage])]
        for model in [*(base.estimator for base in self._bases), *models]:
            if not isinstance(model, ForestModel):
                raise TypeError(f"{method} needs learners of arboretum, not {type(model).__name__}: {cure}")
        return models

    def _facts(self) -> dict[str, Any]:
        """Return what determines predictions besides learners and coefficients."""
        return {"loss": self.loss_.to_json()}

    def restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        with model_file.as_damage():
            bases = [(name, base_from_json(entry)) for name, entry in header["learners"]]
            if self.estimators is not None:
                self.estimators = [base if isinstance(name, int) else (name, base) for name, base in bases]
            self.check_parameters()
            self._schema, self.chosen_ = Schema.from_json(header["schema"]), header["chosen"]
            self.loss_, self.history_ = losses.from_json(header["loss"]), History.from_json(header["history"])
            self._read_facts(header)
            self._bases = named_learners(self.estimators)
            self._read_stages(arrays)
        set_input_names(self, self._schema.n_features, self._schema)

    def _read_stages(self, arrays: dict[str, NDArray[Any]]) -> None:
        assert self._schema is not None
        width, n_stages = self.loss_.n_outputs, len(self.chosen_)
        self.init_, self.coefficients_, self.n_iter_ = arrays["init"], arrays["coefficients"], n_stages
        for array, size in ((self.init_, width), (self.coefficients_, n_stages)):
            if array.dtype != np.float64 or array.shape != (size,) or not np.isfinite(array).all():
                raise ValueError("coefficients that are no finite numbers, or too few")
        known = [(type(base.name), base.name) for base in self._bases]  # for JSON has True and 1.0, which equal 1
        if not isinstance(self.chosen_, list) or any((type(name), name) not in known for name in self.chosen_):
            raise ValueError("a learner that is not in the list")
        models = [read_member(arrays[f"model {place}"]) for place in range(n_stages * width)]
        for model in models:
            if isinstance(model, Classifier) or model.schema_.n_features != self._schema.n_features:
                raise ValueError(f"a learner of class {type(model).__name__} that does not fit in")
        stages = [models[place : place + width] for place in range(0, len(models), width)]
        self.estimators_ = [stage[0] for stage in stages] if width == 1 else stages

    def _read_facts(self, header: dict[str, Any]) -> None:
        """Take facts of the target back from a header."""

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        of_learners = [get_tags(base.estimator).input_tags for base in named_learners(self.estimators)]
        for name in ("sparse", "allow_nan", "categorical", "string"):
            setattr(tags.input_tags, name, all(getattr(each, name) for each in of_learners))
        tags.input_tags.positive_only = any(each.positive_only for each in of_learners)
        return tags


@declares_parameters
class AdditiveBoostingRegressor(Regressor, AdditiveModel):
    """Stage-wise additive model of any base learners, for numbers.

    Each stage fits every learner of the list to the negative gradient of the loss, finds by line search how far to go
    its way, and adds the one that lowers the training loss most (Friedman 2001). Earlier coefficients never change.

    Learners of arboretum read categories and missing values as they are; all learners receive the table that was given.
    Those whose ``fit`` takes ``sample_weight``, and pipelines that end with such, get weights; the others get rows as
    often as whole weights say, and once if weights are no whole numbers. The line search and the choice weigh all rows.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> y = 3 * X[:, 0] + (X[:, 0] > 0.5)
    >>> learners = [("line", LinearRegression()), ("step", arb.DecisionTreeRegressor(max_leaf_nodes=2))]
    >>> model = arb.AdditiveBoostingRegressor(estimators=learners, learning_rate=0.5).fit(X, y)
    >>> model.predict([[0.25], [0.75]]).round(2)
    array([0.75, 3.25])
    >>> model.chosen_[:2]
    ['line', 'step']
    """

    loss: str | Loss = like(Stages, default="squared_error", filled={"losses": LOSSES_OF_NUMBERS})
    scoring: Any = like(EarlyStopping, filled={"metrics": OF_NUMBERS})
    validation_fraction: float = like(EarlyStopping, filled={"stratified": ""})

    def _read_target(self, column: NDArray[Any]) -> tuple[FloatArray, Loss, Any]:
        return targets.regression_target(column), losses.resolve(self.loss), None

    def predict(self, X: Any) -> FloatArray:
        """Predict the target.

        Returns
        -------
        ndarray of float64, (n_rows,)
        """
        return self._head().numbers(self.predict_raw(X))

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """Yield the prediction after each stage."""
        for raw in self._after_each_stage(X):
            yield self._head().numbers(raw)


@declares_parameters
class AdditiveBoostingClassifier(Classifier, AdditiveModel):
    """Stage-wise additive model of any base learners, for classes.

    Learners are regressors: they are fitted to residuals of probabilities. Of more than two classes, each stage has one
    for each class, and one coefficient for all of them.

    Each stage fits every learner of the list to the negative gradient of the loss, finds by line search how far to go
    its way, and adds the one that lowers the training loss most (Friedman 2001). Earlier coefficients never change.

    Learners of arboretum read categories and missing values as they are; all learners receive the table that was given.
    Those whose ``fit`` takes ``sample_weight``, and pipelines that end with such, get weights; the others get rows as
    often as whole weights say, and once if weights are no whole numbers. The line search and the choice weigh all rows.

    Attributes
    ----------
    classes_ : ndarray
        Labels, sorted.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> model = arb.AdditiveBoostingClassifier(n_estimators=20).fit(X, np.where(X[:, 0] > 0.4, "yes", "no"))
    >>> model.predict([[0.1], [0.9]])
    array(['no', 'yes'], dtype='<U3')
    """

    loss: str | Loss = like(Stages, default="log_loss", filled={"losses": '"log_loss"'})
    scoring: Any = like(EarlyStopping, filled={"metrics": OF_CLASSES})
    validation_fraction: float = like(EarlyStopping, filled={"stratified": ", the same share of each class"})

    def _read_target(self, column: NDArray[Any]) -> tuple[FloatArray, Loss, Any]:
        classes, codes = targets.find_classes(column)
        loss = losses.resolve(self.loss, n_classes=len(classes))
        if isinstance(loss, losses.Ordinal):
            raise ValueError("loss='ordinal' learns thresholds beside trees: use BoostedTreesClassifier, or 'log_loss'")
        return codes, loss, classes

    def _take_facts(self, facts: Any) -> None:
        self.classes_ = facts

    def _strata(self, y: FloatArray) -> NDArray[Any] | None:
        return y

    def _task_of(self, facts: Any) -> str:
        return "binary" if len(facts) == 2 else "multiclass"

    def _truth(self, y: FloatArray, facts: Any) -> NDArray[Any]:
        return np.asarray(facts[y.astype(np.intp)])

    def decision_function(self, X: Any) -> FloatArray:
        """Raw scores: log-odds of the second class, or one score a class.

        Returns
        -------
        ndarray of float64, (n_rows,) or (n_rows, n_classes)
        """
        return self._head().scores(self.predict_raw(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, in the order of ``classes_``.

        Returns
        -------
        ndarray of float64, (n_rows, n_classes)
        """
        return np.asarray(self._head().probabilities(self.predict_raw(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class.

        Returns
        -------
        ndarray, (n_rows,)
            Labels as they were given at fit.
        """
        return self._head().labels(self.predict_raw(X))

    def staged_decision_function(self, X: Any) -> Iterator[FloatArray]:
        """Yield the raw scores after each stage."""
        for raw in self._after_each_stage(X):
            yield self._head().scores(raw)

    def staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        """Yield the probabilities after each stage."""
        for raw in self._after_each_stage(X):
            yield np.asarray(self._head().probabilities(raw))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the predicted classes after each stage."""
        for raw in self._after_each_stage(X):
            yield self._head().labels(raw)

    # ---- files ---------------------------------------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "classes": classes_to_json(self.classes_)}

    def _read_facts(self, header: dict[str, Any]) -> None:
        self.classes_ = classes_from_json(header["classes"], max(2, self.loss_.n_outputs))
