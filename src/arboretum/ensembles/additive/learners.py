"""Base learners of additive models: how they are named, checked, fitted to residuals and used to predict."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.arguments import shown
from arboretum.data import selection
from arboretum.data.table import Table
from arboretum.ensembles.additive.stages import Part
from arboretum.ensembles.bagging.resampling import RowDraws
from arboretum.ensembles.members.estimators import is_classifier, seeded, takes_outputs, unfitted, weight_argument
from arboretum.ensembles.members.named import check_names, check_object
from arboretum.model.members import Base
from arboretum.running.interruption import inner_fits

FloatArray: TypeAlias = NDArray[np.float64]

LEARNER_PURPOSE = 0x6C6561726E6572  # "learner": keeps the seeds of learners apart from all other draws


def named_learners(estimators: Any, default: Any, taken: Collection[str] = ()) -> list[Base]:
    """Check a list of estimators or of (name, estimator), with unique names; None means the default alone.

    The name of a learner without one is its position.

    Examples
    --------
    >>> named_learners(None, "a tree")
    [(0, 'a tree')]
    >>> named_learners([], "a tree")
    Traceback (most recent call last):
        ...
    ValueError: estimators=[]: give a list of at least one regressor, or None for a tree of eight leaves
    """
    if estimators is None:
        return [(0, default)]
    if not isinstance(estimators, list | tuple) or not estimators:
        raise ValueError(
            f"estimators={shown(estimators)}: give a list of at least one regressor, or None for a tree of eight leaves"
        )
    learners: list[Base] = []
    for place, given in enumerate(estimators):
        paired = isinstance(given, tuple) and len(given) == 2
        if paired and not isinstance(given[0], str):
            raise ValueError(f"estimators has a pair with the name {given[0]!r}: use text")
        learners.append(given if paired else (place, given))
        _check(*learners[-1])
    check_names([name for name, _ in learners], taken)
    return learners


def _check(name: str | int, estimator: Any) -> None:
    check_object(name, estimator)
    if is_classifier(estimator):
        raise ValueError(
            f"estimators: {name!r} is the classifier {type(estimator).__name__}: learners are fitted to residuals, "
            "which are numbers; use a regressor, also to classify"
        )


def predicted(models: list[Any], X: Any, name: str | int, stage: int, n_outputs: int) -> FloatArray:
    """Predict by the fitted models of one stage, one per output or one for all; return (rows,) or (rows, outputs)."""
    n_rows, width = selection.n_rows_of(X), n_outputs // len(models)
    outputs = []
    for model in models:
        found = np.asarray(model.predict(X), dtype=np.float64)
        who = f"learner {name!r} ({type(model).__name__}) of stage {stage + 1}"
        if found.shape not in ((n_rows, width), (n_rows,) if width == 1 else ()):
            expected = f"({n_rows},), one number" if width == 1 else f"({n_rows}, {width}), {width} numbers"
            raise ValueError(f"{who} predicts an array of shape {found.shape}: expected {expected} per row")
        found = found.reshape(n_rows, width)
        if not np.isfinite(found).all():
            row, output = np.argwhere(~np.isfinite(found))[0]
            raise ValueError(
                f"{who} predicts {found[row, output]} in row {row}, which is not finite: scale its input, regularise "
                "it, or take it off the list"
            )
        outputs.append(found)
    return outputs[0][:, 0] if n_outputs == 1 else np.concatenate(outputs, axis=1)


@dataclass(frozen=True, eq=False)
class _Sample:
    """Rows of a stage: a part of the table, their positions in it, how often each counts, and its weight."""

    X: Any
    rows: NDArray[np.intp]
    copies: NDArray[np.int64]
    weight: FloatArray


class TrainingRows:
    """Base learners and the rows that they are fitted to, as ``stages.py`` asks for them.

    Parameters
    ----------
    learners : list of (name, estimator)
        What may be fitted.
    training : Part
        Rows; each stage sees a draw of them.
    table : Table, optional
        All rows that were given, which determine the columns that may have missing values.
    draws : RowDraws
        Which rows each stage sees.
    seed : int
        Seed of the draws and of the learners.
    n_outputs : int
        Columns of the residuals.
    beside : bool
        Whether learners that can are fitted to all columns at once: these are outputs, not classes.
    """

    def __init__(
        self,
        learners: list[Base],
        training: Part,
        table: Table | None,
        draws: RowDraws,
        seed: int,
        *,
        n_outputs: int = 1,
        beside: bool = False,
    ) -> None:
        self.learners, self.training, self.draws, self.seed = learners, training, draws, seed
        self.n_outputs = n_outputs
        self.fits_all = [beside and takes_outputs(estimator) for _, estimator in learners]
        self.weight_arguments = [weight_argument(estimator) for _, estimator in learners]
        self.holes = None if table is None else _columns_with_holes(table)
        self.sampled: tuple[int, _Sample] | None = None

    def __len__(self) -> int:
        """Return the number of learners."""
        return len(self.learners)

    def fit(self, learner: int, stage: int, residual: FloatArray) -> list[Any]:
        """Fit one learner to residuals, (rows,) or (rows, outputs): one model for all outputs, or one per output."""
        columns = [residual] if residual.ndim == 1 or self.fits_all[learner] else list(residual.T)
        first = (stage * len(self.learners) + learner) * self.n_outputs
        sample = self._sample(stage)
        with inner_fits():
            return [
                self._fit_one(learner, _kernel.draw(self.seed, LEARNER_PURPOSE, first + output), sample, column)
                for output, column in enumerate(columns)
            ]

    def predict(self, learner: int, stage: int, models: list[Any], X: Any) -> FloatArray:
        """Return predictions of fitted models, shaped like the residuals."""
        return predicted(models, X, self.learners[learner][0], stage, self.n_outputs)

    def _fit_one(self, learner: int, seed: int, sample: _Sample, residual: FloatArray) -> Any:
        model = seeded(unfitted(self.learners[learner][1]), seed)
        argument, target = self.weight_arguments[learner], residual[sample.rows]
        if argument is not None:
            model = model.fit(sample.X, target, **({} if (sample.weight == 1).all() else {argument: sample.weight}))
        elif (sample.copies == 1).all():
            model = model.fit(sample.X, target)
        else:
            repeated = np.repeat(np.arange(len(sample.rows)), sample.copies)
            model = model.fit(selection.take_rows(sample.X, repeated), target[repeated])
        if self.holes is not None and hasattr(model, "expect_missing"):
            model.expect_missing(self.holes)  # categories that its draw happened to miss
        return model

    def _sample(self, stage: int) -> _Sample:
        """Draw the rows of a stage; without sampling, the rows are taken only once."""
        which = 0 if self.draws.takes_all else stage
        if self.sampled is None or self.sampled[0] != which:
            bag, X = self.draws.bag(self.seed, which), self.training.X
            order = np.argsort(bag.rows)  # as the rows were given
            rows = bag.rows[order]
            part = X if len(rows) == selection.n_rows_of(X) else selection.take_rows(X, rows)
            self.sampled = which, _Sample(part, rows, bag.copies[order], bag.weight[order])
        return self.sampled[1]


def _columns_with_holes(table: Table) -> list[bool]:
    found = [bool(np.isnan(values).any()) for _, batch in table.column_batches() for values in batch]
    return [column.has_missing or holes for column, holes in zip(table.schema.columns, found, strict=True)]
