"""What ConformalRegressor and CalibratedClassifier share: models, and their predictions of rows they have not seen.

::

    "cross"   rows ──► folds ──► a model of all other folds predicts each fold;  one of all rows is what users ask
    "split"   rows ──► two shares ──► the model of the first predicts the second, and is what users ask
    "oob"     a forest of all rows predicts each row by the trees that have not drawn it, and is what users ask
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.arguments import shown
from arboretum.data import targets
from arboretum.ensembles.bagging.resampling import Bag, Keys, Positions
from arboretum.ensembles.bagging.trees import is_whole
from arboretum.estimators.bagging_members import FloatArray, GivenTable, is_classifier, unfitted
from arboretum.estimators.bagging_model import base_from_json, read_member
from arboretum.estimators.base import ForestModel
from arboretum.estimators.classes import own_class
from arboretum.estimators.files import call_to_json, write_file
from arboretum.estimators.protocol import Estimator, not_fitted
from arboretum.model import model_file
from arboretum.parameters.checking import seed_of
from arboretum.parameters.declaring import MOST, Anything, Choice, Number, like, parameter, parameter_group
from arboretum.parameters.shared import Seed

HeldOut = TypeVar("HeldOut", bound="HeldOutModel")
Fit: TypeAlias = Callable[[FloatArray], Any]
"""Fits a new model to the rows, which have these weights."""

FOLD_PURPOSE = 0x666F6C6473  # "folds": keeps these draws apart from all others of the same seed
ODD = 0x9E3779B97F4A7C15  # carries what the seed changes in a key into its upper bits, by which rows are ordered
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Unseen:
    """Rows that a model has not seen, counted among those of positive weight, with what it predicts of them."""

    model: Any
    rows: Positions
    prediction: FloatArray
    weight: FloatArray


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings about what a fold has and the rest lacks: missing values, categories."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


@parameter_group("Calibration")
class Calibrating:
    """Where rows come from that a model has not seen."""

    estimator: Any = parameter(None, Anything("estimator"), "What to correct.")
    calibration: str = parameter(
        "cross",
        Choice("cross", "split", "oob"),
        'Where rows come from that the model has not seen. "cross" fits a model without each of ``n_folds`` folds, and '
        'one to all rows, which predicts. "split" fits one model and holds a share of the rows out. "oob" fits one '
        "forest and takes its out-of-bag predictions.",
    )
    n_folds: int = parameter(5, Number(2, MOST, integer=True), 'Folds of "cross"<spread>.')
    calibration_fraction: float = parameter(
        0.2, Number(0.0, 0.9, open_low=True), 'Share of the rows that "split" holds out<halves>.'
    )
    random_state: Any = like(Seed, doc="Seed of folds and shares.")


class HeldOutModel(Calibrating, Estimator):
    """An estimator around another, corrected by its errors on rows that it has not seen.

    Attributes
    ----------
    estimator_ : estimator
        What is asked for predictions.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    estimator_: Any
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _classifies: bool

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(self: HeldOut, X: Any, y: Any, sample_weight: Any = None) -> HeldOut:
        """Fit the estimator and what corrects it; nothing of the model changes before all has gone well.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Training rows, of any kind that the estimator takes.
        y : array-like
            Target, one value a row.
        sample_weight : array-like, optional
            Weight of each row, in the fit and in the correction.

        Returns
        -------
        self
        """
        self.check_parameters()
        base, seed = self._base(), seed_of(self.random_state)
        source = GivenTable(base, X)
        column = targets.as_column(y, source.n_rows)
        weight = targets.training_weights(sample_weight, source.n_rows)
        if weight is not None and not source.takes_weights:
            raise ValueError(f"sample_weight is given, but fit of {type(base).__name__} does not take it: leave it out")
        kept = np.arange(source.n_rows) if weight is None else np.flatnonzero(weight)
        facts, numbers = self._read_target(column[kept])
        source.prepare(column[kept], None, kept, 1)
        weight = np.ones(len(kept)) if weight is None else weight[kept]

        def fitted(of_rows: FloatArray) -> Any:
            members = np.flatnonzero(of_rows)
            copies = np.ones(len(members), dtype=np.int64)
            return source.fit(unfitted(base), Bag(kept[members], copies, of_rows[members]), 1)

        folds = self._folds(source.keys(numbers, kept), weight, self._strata(numbers), seed)
        model, unseen = self._fit_and_predict(source, fitted, kept, weight, folds, facts)
        self._correct(source, kept, facts, numbers, unseen)
        self.estimator_ = model
        self._set_input_names()
        return self

    def _fit_and_predict(
        self,
        source: GivenTable,
        fitted: Fit,
        kept: Positions,
        weight: FloatArray,
        folds: list[FloatArray],
        facts: Any,
    ) -> tuple[Any, list[Unseen]]:
        """Return the model that users ask, and predictions of each fold by a model that has not seen it."""

        def fitted_without(held: FloatArray) -> Any:
            rest = weight - held
            self._check_part(source.y[kept[rest > 0]], facts)
            return fitted(rest)

        def predicted(model: Any, held: FloatArray) -> Unseen:
            rows = np.flatnonzero(held)
            with quiet():
                return Unseen(model, rows, self._outcome(model, source.part(kept[rows], None), facts), held[rows])

        if self.calibration == "oob":
            model = fitted(weight)
            prediction = self._out_of_bag(model)
            known = ~np.isnan(prediction[:, 0])
            parts = [(np.flatnonzero(known & (held > 0)), held) for held in folds]
            return model, [Unseen(model, rows, prediction[rows], held[rows]) for rows, held in parts if len(rows)]
        if self.calibration == "split":
            model = fitted_without(np.sum(folds, axis=0))
            return model, [predicted(model, held) for held in folds]
        unseen = [predicted(fitted_without(held), held) for held in folds]
        return fitted(weight), unseen

    def _folds(self, keys: Keys, weight: FloatArray, strata: NDArray[Any] | None, seed: int) -> list[FloatArray]:
        """Weight of each row in each fold; the two of "split" are the halves of the share that is held out.

        Rows are dealt by a hash of their content, so that their order does not matter; a row of weight 3 is dealt as
        three equal rows.
        """
        salt = np.uint64(_kernel.draw(seed, FOLD_PURPOSE, 0))
        mixed = (keys ^ salt) * np.uint64(ODD)
        copies = weight.astype(np.int64) if is_whole(weight) else np.ones(len(keys), dtype=np.int64)
        order = np.lexsort((weight, mixed, np.zeros(len(keys)) if strata is None else strata))
        pool = np.repeat(order, copies[order])
        place = np.arange(len(pool))
        if self.calibration == "split":
            share = float(self.calibration_fraction)
            held = np.floor((place + 1) * share + ROUNDING) > np.floor(place * share + ROUNDING)
            if not held.any() or held.all():
                raise ValueError(
                    f"calibration_fraction={share:g} leaves no row to fit or none to calibrate on: X has n_samples="
                    f"{len(keys)}; give more rows"
                )
            dealt = [held & (np.cumsum(held) % 2 == half) for half in (1, 0)]
        else:
            if len(pool) < self.n_folds:
                raise ValueError(f"n_folds={self.n_folds}, but X has n_samples={len(keys)}: give more rows")
            dealt = [place % self.n_folds == fold for fold in range(int(self.n_folds))]
        return [np.bincount(pool[fold], minlength=len(keys)) * (weight / copies) for fold in dealt if fold.any()]

    def _base(self) -> Any:
        base = self._default_estimator() if self.estimator is None else self.estimator
        for method in ("fit", "predict", "get_params"):
            if isinstance(base, type) or not hasattr(base, method):
                raise ValueError(f"estimator={shown(base)}: use an estimator object, with fit, predict and get_params")
        if is_classifier(base) != self._classifies:
            wanted = "a classifier" if self._classifies else "a regressor"
            raise ValueError(f"estimator={shown(base)} is not {wanted}, which {type(self).__name__} needs")
        if self.calibration == "oob":
            if "oob_score" not in base.get_params():
                raise ValueError(
                    f"calibration='oob' needs an estimator with out-of-bag predictions, such as a random forest, not "
                    f"{type(base).__name__}: use calibration='cross'"
                )
            base = unfitted(base).set_params(oob_score=True)
        return base

    def _default_estimator(self) -> Any:
        raise NotImplementedError

    def _read_target(self, column: NDArray[Any]) -> tuple[Any, FloatArray]:
        """Check the target; return what the model keeps of it, and numbers that tell rows apart."""
        raise NotImplementedError

    def _strata(self, numbers: FloatArray) -> NDArray[Any] | None:
        return None

    def _check_part(self, labels: NDArray[Any], facts: Any) -> None:
        """Refuse rows that no model can be fitted to."""

    def _outcome(self, model: Any, part: Any, facts: Any) -> FloatArray:
        """Return what a model predicts that is to be corrected."""
        raise NotImplementedError

    def _out_of_bag(self, model: Any) -> FloatArray:
        """Return the same of each training row, by the trees that have not drawn it; NaN where there is none."""
        raise NotImplementedError

    def _correct(
        self, source: GivenTable, kept: Positions, facts: Any, numbers: FloatArray, unseen: list[Unseen]
    ) -> None:
        """Learn the correction."""
        raise NotImplementedError

    # ---- prediction ----------------------------------------------------------------------------------------------

    def _fitted(self) -> Any:
        try:
            return self.estimator_
        except AttributeError:
            raise not_fitted(self) from None

    def _set_input_names(self) -> None:
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))

    # ---- files: the models' own, one after the other --------------------------------------------------------------

    def _models(self) -> Iterator[tuple[str, Any]]:
        """Name and model of each file within the file."""
        yield "estimator", self._fitted()

    def _facts(self) -> dict[str, Any]:
        """Return what determines predictions besides models and arrays."""
        return {"calibration": self.calibration}

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the correction."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str], *, compact: bool = True) -> None:
        """Write the model, if its estimator is arboretum's, to a file that ``arboretum.load`` reads.

        Parameters
        ----------
        path : path
            Where to write.
        compact : bool, default=True
            Store arrays in as few bytes as hold them exactly.
        """
        self._require_own("save", "pickle or skops keep other estimators")
        files = {name: model_file.to_bytes(*model.to_file(), compact=compact) for name, model in self._models()}
        header = {
            **call_to_json(self),
            "estimator": None if self.estimator is None else call_to_json(self.estimator),
            **self._facts(),
        }
        arrays = {name: np.frombuffer(file, np.uint8) for name, file in files.items()}
        write_file(self, path, header, {**arrays, **self._arrays()}, compact=False)

    def fingerprint(self) -> str:
        """Hash of everything that determines predictions; the estimator must be arboretum's."""
        self._require_own("fingerprint", "other estimators have none")
        models = {name: model.fingerprint() for name, model in self._models()}
        facts = {"model": own_class(type(self)).__name__, "models": models, **self._facts()}
        return model_file.fingerprint(facts, self._arrays())

    def _require_own(self, method: str, cure: str) -> None:
        if not isinstance(self._fitted(), ForestModel):
            raise TypeError(f"{method} needs a model of trees, not {type(self.estimator_).__name__}: {cure}")

    def restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        with model_file.as_damage():
            self.estimator = None if header["estimator"] is None else base_from_json(header["estimator"])
            self.check_parameters()
            self.estimator_ = read_member(arrays["estimator"])
            if is_classifier(self.estimator_) != self._classifies:
                raise ValueError(f"an estimator of class {type(self.estimator_).__name__}")
            self._read_correction(header, arrays)
        self._set_input_names()

    def _read_correction(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take the correction back from a file."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._default_estimator() if self.estimator is None else self.estimator).input_tags
        return tags
