"""Additive modelling as a recipe: parameters, a goal, base learners and rows make Members.

::

    X, y, weight ──goal──► numbers and a loss ──► training rows, rows to stop early on
                                                      │ AdditiveRun       stages.py, learners.py
                                                      ▼
                                  Members: F(x) = init + Σ coefficient · learner(x), then the link of the loss

With ``coefficients="all"``, stages change the constant and earlier coefficients: the model keeps those of every stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.data import selection, targets
from arboretum.data.schema import Schema
from arboretum.data.splits import split_rows
from arboretum.ensembles.additive.coefficients import partial_sums
from arboretum.ensembles.additive.learners import TrainingRows, predicted
from arboretum.ensembles.additive.stages import AdditiveParams, AdditiveRun, Part, Stage
from arboretum.ensembles.bagging.resampling import RowDraws
from arboretum.ensembles.boosting.goals import Goal, Numbers
from arboretum.ensembles.boosting.history import History, Judge, Patience
from arboretum.ensembles.boosting.judging import JudgedRows, in_columns, judge_of, knowing
from arboretum.ensembles.boosting.problem import Target
from arboretum.ensembles.members.estimators import has_columns, is_classifier
from arboretum.ensembles.members.tables import GivenTable
from arboretum.ensembles.recipe import Recipe
from arboretum.losses import EachOutput, Loss, Ordinal
from arboretum.metrics.named import Metric
from arboretum.metrics.scoring import Scorer, find_scoring
from arboretum.model.arrays import Arrays
from arboretum.model.heads import Head, LossHead
from arboretum.model.members import Base, Header, Joint, Members
from arboretum.parameters.checking import seed_of
from arboretum.parameters.declaring import COUNT, FLAG, Anything, Choice, Number, like, parameter, parameter_group
from arboretum.parameters.shared import EarlyStopping, Progress, Seed
from arboretum.running.interruption import warn_interrupted
from arboretum.running.progress import ProgressBar

FloatArray: TypeAlias = NDArray[np.float64]


@parameter_group("Ensemble")
class Stages:
    """What stages choose from, and how they proceed."""

    estimators: Any = parameter(
        None,
        Anything("list of estimators or of (name, estimator)"),
        "Regressors to choose from, of arboretum, scikit-learn or any library that follows its protocol; by default a "
        "tree of eight leaves.",
    )
    loss: str | Loss = parameter(
        "squared_error",
        Anything("str or Loss"),
        "What to minimise: <losses>, or an instance of a class in ``arboretum.losses`` or of your own.",
    )
    n_estimators: int = parameter(
        100,
        COUNT,
        "Number of stages. One in which no learner lowers the training loss is left out; if none can, the fit ends.",
    )
    learning_rate: float = parameter(
        0.1, Number(0.0, 1.0, open_low=True), "Share of the best step that is taken, at most 1."
    )
    coefficients: str = parameter(
        "last",
        Choice("last", "all"),
        'What a stage fits: the coefficient of its own learner, or "all" of them and the constant anew, which then go '
        "``learning_rate`` of the way to the least training loss.",
    )
    init: str = parameter(
        "best",
        Choice("best", "zero"),
        "Constant that raw predictions start from: the one of least loss, or 0, with which the model has no constant.",
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


# ---- the model -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sum(Joint):
    """A constant plus learners times coefficients, and what the sum means.

    Parts are the learners, stage by stage: one per output of the loss, or one for all outputs.

    Parameters
    ----------
    head : LossHead
        What sums mean.
    init : ndarray, (outputs,)
        The constant.
    coefficients : ndarray, (stages,)
        Factor of the learners of each stage.
    chosen : list
        Name of the learner of each stage.
    history : History
        Losses and scores after each stage, and why the fit ended.
    path : ndarray, (stages, outputs + stages), optional
        If stages changed them: the constant and the coefficients before each stage, 0 for those to come.
    sizes : list of int, optional
        Number of learners of each stage, if some stages have one for all outputs.
    known : callable, optional
        Function from rows to sums that are known already; learners then do not predict.
    """

    head: LossHead
    init: FloatArray
    coefficients: FloatArray
    chosen: list[str | int]
    history: History = field(default_factory=History)
    path: FloatArray | None = None
    sizes: list[int] | None = None
    known: Callable[[Any], FloatArray] | None = None

    # ---- answers -------------------------------------------------------------------------------------------------

    def stages(self, members: Members) -> list[list[Any]]:
        """Return the learners of each stage."""
        models = iter(members.models)
        return [list(islice(models, count)) for count in self.counts]

    @property
    def counts(self) -> list[int]:
        """Number of learners of each stage."""
        return [len(self.init)] * len(self.chosen) if self.sizes is None else self.sizes

    def after(self, n_stages: int) -> tuple[FloatArray, FloatArray]:
        """Return the constant and the coefficients after some stages."""
        if self.path is None or n_stages == len(self.chosen):
            return self.init, self.coefficients[:n_stages]
        width = len(self.init)
        return self.path[n_stages, :width], self.path[n_stages, width : width + n_stages]

    def staged(self, members: Members, X: Any) -> Iterator[FloatArray]:
        """Yield the sums (rows, outputs) after each stage."""
        rows = members.rows(X)
        n_rows, predictions = selection.n_rows_of(rows), self._predictions(members, rows)
        if self.path is None:
            sums = partial_sums(self.init, self.coefficients, predictions, n_rows)
            yield from map(in_columns, islice(sums, 1, None))
            return
        known = list(predictions)
        for n_stages in range(1, len(known) + 1):
            *_, raw = partial_sums(*self.after(n_stages), known, n_rows)
            yield in_columns(raw)

    def raw(self, members: Members, X: Any) -> FloatArray:
        """Return the sums (rows, outputs) of all stages."""
        if self.known is not None:
            return self.known(X)
        rows = members.rows(X)
        predictions = self._predictions(members, rows)
        *_, raw = partial_sums(self.init, self.coefficients, predictions, selection.n_rows_of(rows))
        return in_columns(raw)

    def _predictions(self, members: Members, rows: Any) -> Iterator[FloatArray]:
        """Yield what the learners of each stage predict."""
        for stage, models in enumerate(self.stages(members)):
            yield predicted(models, rows, self.chosen[stage], stage, len(self.init))

    # ---- files ---------------------------------------------------------------------------------------------------

    def facts(self) -> Header:
        """Return the loss, the classes if there are some, and sizes of stages if they differ."""
        return {**self.head.facts(), **({} if self.sizes is None else {"sizes": self.sizes})}

    def arrays(self) -> Arrays:
        """Return the constant and the coefficients, and those of earlier stages if they differ."""
        path = {} if self.path is None else {"path": self.path}
        return {"init": self.init, "coefficients": self.coefficients, **path}

    def notes(self) -> Header:
        """Return the history, and which learners were chosen."""
        return {"history": self.history.to_json(), "chosen": self.chosen}

    def identity(self, prints: Mapping[str, str], schema: Schema | None) -> Header:
        """Return the fingerprints, stage by stage."""
        return {"models": list(prints.values())}

    @staticmethod
    def bases_to_json(calls: Sequence[tuple[str | int, Header]]) -> Header:
        """Return all learners that stages chose from."""
        return {"learners": [[name, call] for name, call in calls]}

    @staticmethod
    def bases_from_json(header: Header) -> list[tuple[str | int, Header]]:
        """Undo ``bases_to_json``."""
        return [(name, call) for name, call in header["learners"]]

    @classmethod
    def part_names(cls, header: Header, arrays: Arrays) -> list[str]:
        """Return one name per learner."""
        n_stages, n_outputs, sizes = len(header["chosen"]), len(arrays["init"]), header.get("sizes")
        if sizes is not None and (
            len(sizes) != n_stages or any(type(size) is not int or size not in (1, n_outputs) for size in sizes)
        ):
            raise ValueError(f"sizes: expected 1 or {n_outputs} for each of {n_stages} stages, found {sizes!r:.80}")
        return [f"model {place}" for place in range(n_stages * n_outputs if sizes is None else sum(sizes))]

    @classmethod
    def from_file(cls, header: Header, arrays: Arrays, read: Members, goal: Goal) -> Sum:
        """Read the coefficients; the learners must be regressors with the columns of the fit."""
        chosen, init, coefficients = header["chosen"], arrays["init"], arrays["coefficients"]
        head = goal.head_kind.read(header, len(init))
        path, n_stages, n_outputs = arrays.get("path"), len(chosen), head.loss.n_outputs
        shapes: list[tuple[Any, tuple[int, ...]]] = [(init, (n_outputs,)), (coefficients, (n_stages,))]
        shapes += [] if path is None else [(path, (n_stages, n_outputs + n_stages))]
        for array, shape in shapes:
            if array.dtype != np.float64 or array.shape != shape or not np.isfinite(array).all():
                raise ValueError(f"coefficients: expected {shape} finite numbers, found {array!r:.80}")
        known = [(type(name), name) for name, _ in read.bases]  # JSON has True and 1.0, which equal 1
        if not isinstance(chosen, list) or any((type(name), name) not in known for name in chosen):
            raise ValueError("chosen: a learner is not in the list")
        for model in read.models:
            if is_classifier(model) or not has_columns(model, read.n_columns):
                raise ValueError(f"a learner of class {type(model).__name__} does not fit the model")
        history = History.from_json(header["history"])
        return cls(head, init, coefficients, chosen, history, path, header.get("sizes"))


def summed(members: Members) -> Sum:
    """Return the joint of an additive model."""
    assert isinstance(members.joint, Sum)
    return members.joint


def first_stages(members: Members, n_stages: int) -> Members:
    """Return the model of the first stages."""
    joint = summed(members)
    init, coefficients = joint.after(n_stages)
    first = replace(
        joint,
        init=init,
        coefficients=coefficients,
        chosen=joint.chosen[:n_stages],
        history=joint.history.first(n_stages),
        path=None if joint.path is None else joint.path[:n_stages, : len(init) + n_stages].copy(),
        sizes=sizes_of(joint.counts[:n_stages], len(init)),
    )
    return replace(members, parts=dict(list(members.parts.items())[: sum(joint.counts[:n_stages])]), joint=first)


def sizes_of(counts: list[int], n_outputs: int) -> list[int] | None:
    """Return the numbers of learners of stages; None if each has one per output."""
    return None if counts == [n_outputs] * len(counts) else counts


def path_of(start: FloatArray, stages: Sequence[Stage]) -> FloatArray:
    """Return the constant and the coefficients before each stage, 0 for those to come."""
    width = len(start)
    path = np.zeros((len(stages), width + len(stages)))
    path[:, :width] = start
    for before, stage in enumerate(stages[:-1], 1):
        path[before, :width], path[before, width : width + before] = stage.constant, stage.coefficients
    return path


# ---- the recipe ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Additive(Recipe[AdditiveParameters, Goal]):
    """Additive modelling, stage by stage.

    Parameters
    ----------
    learners : list of (name, estimator)
        What stages choose from.
    estimator : callable
        Makes an estimator for scorers from a fitted model.
    """

    learners: list[Base]
    estimator: Callable[[Members], Any]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Members:
        """Add stages until a rule says stop."""
        given, seed = self.given, seed_of(self.given.random_state)
        source = GivenTable(self.learners[0][1], X)
        as_target = targets.as_outputs if isinstance(self.goal, Numbers) else targets.as_column
        column = as_target(y, source.n_rows)
        weight = targets.training_weights(sample_weight, source.n_rows)
        kept = np.arange(source.n_rows) if weight is None else np.flatnonzero(weight)
        target = self.goal.read(column[kept], None)
        loss = _checked_loss(target)
        scoring = find_scoring(given.scoring, self.goal.task(target).name)
        inner, held = self._hold_out(target.y, seed)

        def part(rows: NDArray[np.intp]) -> Part:
            taken = kept[rows]
            X_part = source.X if len(taken) == source.n_rows else selection.take_rows(source.X, taken)
            return Part(X_part, target.y[rows], None if weight is None else weight[taken])

        training, validation = part(inner), None if held is None else part(held)
        draws = self._row_draws(source, training, kept[inner])
        several = isinstance(loss, EachOutput)
        if isinstance(loss, EachOutput):
            loss = loss.in_units_of(training.y, training.weight)
        start = np.zeros(loss.n_outputs)
        if given.init == "best":
            start = np.asarray(loss.start(training.y, training.weight), dtype=np.float64)
        rows = TrainingRows(
            self.learners, training, source.table, draws, seed, n_outputs=loss.n_outputs, beside=several
        )
        with ProgressBar(given.n_estimators, "stage") if given.verbose else nullcontext() as bar:
            run = AdditiveRun(
                rows,
                training,
                loss,
                self._stage_params(draws, validation is not None),
                start=start,
                validation=validation,
                judge=None if validation is None else self._judge(scoring, validation, target),
            )
            stages, history = run.complete([] if bar is None else [bar])
        if history.stopped_by == "interrupt":
            warn_interrupted(len(stages), "stages")
        models = [model for stage in stages for model in stage.models]
        joint = Sum(
            self.goal.head(loss, target.classes),
            stages[-1].constant if stages else start,
            stages[-1].coefficients if stages else np.zeros(0),
            [self.learners[stage.learner][0] for stage in stages],
            history,
            path_of(start, stages) if given.coefficients == "all" else None,
            sizes_of([len(stage.models) for stage in stages], loss.n_outputs),
        )
        parts = {f"model {place}": model for place, model in enumerate(models)}
        return Members(parts, joint, self.learners, source.schema, source.n_columns, self.name)

    def _hold_out(self, y: FloatArray, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp] | None]:
        """Return training rows, and the rows held out for early stopping, if any."""
        given = self.given
        if not given.early_stopping:
            return np.arange(len(y)), None
        kept, held = split_rows(len(y), float(given.validation_fraction), seed, self.goal.strata(y))
        if not len(kept) or not len(held):
            raise ValueError(
                f"early_stopping=True, but validation_fraction={given.validation_fraction} of {len(y)} rows leaves "
                "no row to train or to validate on: raise validation_fraction or set early_stopping=False"
            )
        return kept, held

    def _row_draws(self, source: GivenTable, training: Part, given: NDArray[np.intp]) -> RowDraws:
        """Return the draws of the rows that learners see, by position in the training part."""
        share = float(self.given.subsample)
        keys = source.keys(training.y, given) if share < 1 else np.arange(len(given), dtype=np.uint64)
        return RowDraws.of(keys, training.weight, share, replace=False)

    def _stage_params(self, draws: RowDraws, held: bool) -> AdditiveParams:
        given = self.given
        return AdditiveParams(
            n_stages=int(given.n_estimators),
            learning_rate=float(given.learning_rate),
            cycles=given.selection == "cycle",
            redraws=not draws.takes_all,
            patience=Patience(int(given.n_iter_no_change), float(given.tol)) if held else None,
            corrects=given.coefficients == "all",
            has_constant=given.init == "best",
        )

    def _judge(self, scoring: Metric | Scorer | None, held: Part, target: Target) -> Judge | None:
        """Return the judge that compares stages on held-out rows; None if they are compared by the loss."""

        def model_at(raw: FloatArray, head: Head) -> Any:
            assert isinstance(head, LossHead)
            joint = Sum(head, np.zeros(head.loss.n_outputs), np.zeros(0), [], known=knowing(held.X, raw))
            return self.estimator(Members({}, joint, name=self.name))

        rows = JudgedRows(held.X, held.y, self.goal.truth(held.y, target), held.weight)
        return judge_of(scoring, rows, lambda loss: self.goal.head(loss, target.classes), model_at)


def _checked_loss(target: Target) -> Loss:
    """Return the loss, if it has values that a line search can compare."""
    loss = target.loss
    if isinstance(loss, Ordinal):
        raise ValueError("loss='ordinal' learns thresholds with its trees: use BoostedTreesClassifier, or 'log_loss'")
    if not loss.has_values:
        raise ValueError(
            f"{loss!r} gives gradients but no loss values, which the line search compares: derive a class with values "
            "from arboretum.losses.Loss"
        )
    loss.check_target(target.y)
    if isinstance(loss, EachOutput) and np.isnan(target.y).any():
        row, output = np.argwhere(np.isnan(target.y))[0]
        raise ValueError(
            f"y[{row}, {output}] is missing, but learners are fitted to all outputs of every row: remove such rows, or "
            "use BoostedTreesRegressor"
        )
    return loss
