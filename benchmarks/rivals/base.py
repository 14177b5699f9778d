"""What the harness needs from a library."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.categories import Unchanged
from benchmarks.task import Growth, Task

RowPredictor = Callable[[NDArray[Any]], Any]
DISTINCT_DRAWN = 0.632
"""Share of the rows that a bootstrap holds, 1 − 1/e, for libraries that draw without replacement."""


@dataclass(frozen=True)
class Model:
    """What ``fit`` hands to ``predict``: the library's own object and how it wants its tables."""

    fitted: Any
    task: Task
    encode: Callable[[Any], Any] = field(default_factory=Unchanged)


def class_name(task: Task) -> str:
    """Return the name that scikit-learn and arboretum give to an ensemble of unlimited trees."""
    wanted = task.settings
    ensemble = "ExtraTrees" if wanted.random_thresholds else "RandomForest"
    single = wanted.rounds == 1 and not wanted.bootstrap and wanted.columns == 1.0
    return by_target("DecisionTree" if single else ensemble, task)


def scikit_parameters(task: Task) -> dict[str, Any]:
    """Translate the settings of unlimited trees into scikit-learn's parameters, which arboretum shares."""
    wanted = task.settings
    ensemble = {"n_estimators": wanted.rounds, "bootstrap": wanted.bootstrap, "n_jobs": wanted.threads}
    return {
        **({} if class_name(task).startswith("DecisionTree") else ensemble),
        "max_features": None if wanted.columns == 1.0 else wanted.columns_a_node(task.X.shape[1]),
        "min_samples_leaf": wanted.min_rows,
        "random_state": wanted.seed,
    }


class Rival(ABC):
    """One library: import it late, translate the settings, fit, predict."""

    name: str
    module: ClassVar[str]
    growths: ClassVar[frozenset[Growth]]
    """The shapes of tree it can grow; another shape is replaced by the nearest one."""
    unequal: ClassVar[str] = ""
    """What cannot be made equal, for the footnote."""

    @classmethod
    def available(cls) -> bool:
        """Whether the library is installed; does not import it."""
        return find_spec(cls.module) is not None

    @classmethod
    def version(cls) -> str:
        return str(getattr(import_module(cls.module), "__version__", "unknown"))

    def limited(self, threads: int) -> AbstractContextManager[Any]:
        """Limit threads where the library has no parameter for it; entered outside the clock."""
        return nullcontext()

    @abstractmethod
    def settings(self, task: Task) -> dict[str, Any]:
        """Translate the task's settings into the library's parameters."""

    @abstractmethod
    def fit(self, task: Task) -> Model:
        """Train from the task's raw table: binning and encoding are part of the time."""

    @abstractmethod
    def predict(self, model: Model, X: Any) -> NDArray[Any]:
        """Return the probability of class 1, the matrix of class probabilities, or the values."""

    def save(self, model: Model, path: Path) -> None:
        """Write the fitted model in the library's own form; pickle where it has none."""
        with path.open("wb") as file:
            pickle.dump(model.fitted, file, protocol=pickle.HIGHEST_PROTOCOL)

    def row_predictor(self, model: Model) -> RowPredictor:
        """Return the quickest documented call that answers for one ``(1, n)`` row, prepared beforehand."""
        return lambda row: self.predict(model, row)


class EstimatorRival(Rival):
    """A library met through an estimator that follows scikit-learn."""

    @abstractmethod
    def class_name(self, task: Task) -> str:
        """Return the name of the estimator."""

    def home(self, task: Task) -> str:
        """Return the module that holds the estimator."""
        return self.module

    def encoder(self, task: Task) -> Any:
        """Return one of ``benchmarks.categories``."""
        return Unchanged()

    def fit(self, task: Task) -> Model:
        estimator = getattr(import_module(self.home(task)), self.class_name(task))(**self.settings(task))
        encoder = self.encoder(task)
        return Model(estimator.fit(encoder.fit(task.X), task.y, sample_weight=task.weight), task, encoder)

    def predict(self, model: Model, X: Any) -> NDArray[Any]:
        if model.task.kind == "regression":
            return np.asarray(model.fitted.predict(model.encode(X)))
        probability = np.asarray(model.fitted.predict_proba(model.encode(X)))
        return probability[:, 1] if model.task.kind == "binary" else probability

    def row_predictor(self, model: Model) -> RowPredictor:
        regression = model.task.kind == "regression"
        predict: RowPredictor = model.fitted.predict if regression else model.fitted.predict_proba
        return predict


def by_target(name: str, task: Task) -> str:
    """Return an estimator's full name: ``name`` with Classifier or Regressor."""
    return name + ("Regressor" if task.kind == "regression" else "Classifier")
