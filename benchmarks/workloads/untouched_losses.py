"""Quantiles, ordered classes and counts by every library as it comes: nothing set but the loss, threads and silence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.family import Workload
from benchmarks.measuring import Bench, Row
from benchmarks.public_sets import PUBLIC_SETS, from_r, pmlb
from benchmarks.real_sets import RealSet
from benchmarks.table import Column, Table
from benchmarks.task import Settings, Task
from benchmarks.workloads.uncertainty import BIKE, LEVELS, in_codes

MOST_ROWS, FOLDS = 6_000, 4

Floats = NDArray[np.float64]
Answer = Callable[[Task], Floats]
"""Fits a library to a task; returns its predictions for the test rows."""


@dataclass(frozen=True)
class Graded:
    """A set of ordered classes; ``order`` of those that are text."""

    real: RealSet
    order: tuple[str, ...] = ()

    def task_of(self, task: Task) -> Task:
        """Return the task with classes in their order, where they were sorted."""
        if not self.order:
            return task
        rank = np.array([self.order.index(name) for name in sorted(self.order)])
        return replace(task, y=rank[task.y], y_test=rank[task.y_test])


QUANTILE_SETS: dict[str, Graded] = {
    "bike": Graded(BIKE),
    **{
        name: Graded(PUBLIC_SETS[name])
        for name in (
            *("california", "ames", "abalone", "cpu_act", "house_8L", "puma8NH"),
            *("black_friday", "diamonds", "wage", "computers", "wind"),
        )
    },
}
GRADED_SETS: dict[str, Graded] = {
    "wine": Graded(RealSet("multiclass", "wine_quality/wine.csv", "quality")),
    "SWD": Graded(pmlb("multiclass", "1028_SWD")),
    "LEV": Graded(pmlb("multiclass", "1029_LEV")),
    "ERA": Graded(pmlb("multiclass", "1030_ERA")),
    "evaluation": Graded(from_r("multiclass", "lme4-InstEval", "y", codes=("s", "d", "dept"))),
    "poverty": Graded(from_r("multiclass", "carData-WVS", "poverty"), ("Too Little", "About Right", "Too Much")),
    "diamond_cut": Graded(
        from_r("multiclass", "ggplot2-diamonds", "cut"), ("Fair", "Good", "Very Good", "Premium", "Ideal")
    ),
}
COUNT_SETS: dict[str, Graded] = {
    "bike": Graded(BIKE),
    "nmes_visits": Graded(PUBLIC_SETS["nmes_visits"]),
    "doctor_visits": Graded(from_r("regression", "AER-DoctorVisits", "visits")),
    "doctor_contacts": Graded(from_r("regression", "Ecdat-DoctorContacts", "mdu")),
    "rwm5yr": Graded(from_r("regression", "COUNT-rwm5yr", "docvis", drop=("id", "hospvis"))),
    "azpro": Graded(from_r("regression", "COUNT-azpro", "los")),
    "claims": Graded(RealSet("regression", "insurance/ClaimsLong.csv.gz", "numclaims", drop=("policyID", "claim"))),
}


# ---- libraries -------------------------------------------------------------------------------------------------------


def arboretum(task: Task, **params: Any) -> Any:
    """Return a fitted model of ours."""
    import arboretum as arb

    cls = arb.BoostedTreesRegressor if task.kind == "regression" else arb.BoostedTreesClassifier
    return cls(n_jobs=task.settings.threads, **params).fit(task.X, task.y)


def lightgbm(task: Task, **params: Any) -> Any:
    """Return a fitted model of LightGBM."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    cls = LGBMRegressor if task.kind == "regression" else LGBMClassifier
    return cls(n_jobs=task.settings.threads, verbose=-1, **params).fit(task.X, task.y)


def xgboost(task: Task, **params: Any) -> Any:
    """Return a fitted model of XGBoost."""
    from xgboost import XGBClassifier, XGBRegressor

    cls = XGBRegressor if task.kind == "regression" else XGBClassifier
    return cls(n_jobs=task.settings.threads, **params).fit(task.X, task.y)


def catboost(task: Task, **params: Any) -> Any:
    """Return a fitted model of CatBoost."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    cls = CatBoostRegressor if task.kind == "regression" else CatBoostClassifier
    quiet = {"logging_level": "Silent", "allow_writing_files": False}
    return cls(thread_count=task.settings.threads, **quiet, **params).fit(task.X, task.y)


def sklearn(task: Task, **params: Any) -> Any:
    """Return a fitted model of scikit-learn."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    cls = HistGradientBoostingRegressor if task.kind == "regression" else HistGradientBoostingClassifier
    return cls(random_state=0, **params).fit(task.X, task.y)


def each_level(fit: Callable[..., Any], loss: Mapping[str, Any], name: str) -> Answer:
    """Return the answer of a model for each level."""
    return lambda task: np.stack([fit(task, **loss, **{name: level}).predict(task.X_test) for level in LEVELS], axis=1)


def numbers(fit: Callable[..., Any], **params: Any) -> Answer:
    """Return the predictions of a model."""
    return lambda task: np.asarray(fit(task, **params).predict(task.X_test))


def probabilities(fit: Callable[..., Any], **params: Any) -> Answer:
    """Return the probabilities of a classifier."""
    return lambda task: np.asarray(fit(task, **params).predict_proba(task.X_test))


MULTI_QUANTILE = "MultiQuantile:alpha=" + ",".join(map(str, LEVELS))
OF_QUANTILES: dict[str, Answer] = {
    "arboretum": numbers(arboretum, loss="quantile", quantile=list(LEVELS)),
    "lightgbm": each_level(lightgbm, {"objective": "quantile"}, "alpha"),
    "xgboost": numbers(xgboost, objective="reg:quantileerror", quantile_alpha=np.array(LEVELS)),
    "catboost": numbers(catboost, loss_function=MULTI_QUANTILE),
    "sklearn": each_level(sklearn, {"loss": "quantile"}, "quantile"),
}
OF_GRADES: dict[str, Answer] = {
    "arboretum": probabilities(arboretum, loss="ordinal"),
    "log_loss": probabilities(arboretum),
    "lightgbm": probabilities(lightgbm),
    "xgboost": probabilities(xgboost),
    "catboost": probabilities(catboost),
    "sklearn": probabilities(sklearn),
}
OF_COUNTS: dict[str, Answer] = {
    "arboretum": numbers(arboretum, loss="poisson"),
    "lightgbm": numbers(lightgbm, objective="poisson"),
    "xgboost": numbers(xgboost, objective="count:poisson"),
    "catboost": numbers(catboost, loss_function="Poisson"),
    "sklearn": numbers(sklearn, loss="poisson"),
}


# ---- losses of rows --------------------------------------------------------------------------------------------------


def pinball(y: Floats, predicted: Floats) -> Floats:
    """Return the mean pinball loss of the levels; levels that cross are put in order, which costs nothing."""
    below = y[:, None] - np.sort(predicted, axis=1)
    return np.asarray(np.maximum(np.array(LEVELS) * below, (np.array(LEVELS) - 1) * below).mean(axis=1))


def log_loss(y: NDArray[Any], predicted: Floats) -> Floats:
    """Return −log of the probability of the class."""
    chosen = np.clip(predicted[np.arange(len(y)), y], 1e-15, 1.0)
    return np.asarray(-np.log(chosen))


def poisson_deviance(y: Floats, predicted: Floats) -> Floats:
    """Return 2 (y log(y / μ) − y + μ)."""
    mean = np.clip(predicted, 1e-12, None)
    logs = np.log(np.where(y > 0, y, 1.0) / mean)
    return np.asarray(2 * (y * logs - y + mean))


def coverage(y: Floats, predicted: Floats) -> float:
    """Return the share of rows between the first and the last level."""
    ends = np.sort(predicted, axis=1)
    return float(np.mean((ends[:, 0] <= y) & (y <= ends[:, -1])))


# ---- the comparison --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """What is asked of every library, and by which loss its answers are judged."""

    name: str
    title: str
    sets: Mapping[str, Graded]
    answers: Mapping[str, Answer]
    loss: Callable[[Any, Floats], Floats]
    covers: bool = False

    def __call__(self, bench: Bench) -> Iterator[Table]:
        """Yield losses by set, and how often ours is the least or within a standard error of it."""
        names = [name for name in self.answers if find_spec("arboretum" if name == "log_loss" else name)]
        columns = [Column(name, name, 4) for name in names]
        columns += [Column(f"{name} covers", f"{name} covers", 3) for name in names if self.covers]
        table = Table(self.name, self.title, columns, rows_are="set")
        close, measured = 0, list[Row]()
        for key, graded in self.sets.items():
            if bench.data is None or not graded.real.found(bench.data):
                table.rows[key] = "no data: give --data"
                continue
            losses, row = self.measured(bench, graded, names)
            table.rows[key] = row
            measured.append(row)
            best = min(losses.values(), key=np.mean)
            beside = losses["arboretum"] - best
            close += bool(beside.mean() <= beside.std() / np.sqrt(len(beside)))
        if measured:
            ours = [row["arboretum"] for row in measured]
            ratios = {name: np.log([row[name] for row in measured]) - np.log(ours) for name in names}
            table.rows["loss / arboretum's"] = {name: float(np.exp(part.mean())) for name, part in ratios.items()}
            covered = [column.key for column in columns if column.key.endswith("covers")]
            table.rows["loss / arboretum's"] |= {key: float(np.mean([row[key] for row in measured])) for key in covered}
            table.notes.append(f"arboretum best, or within a standard error of it, on {close} of {len(measured)} sets")
        yield table

    def measured(self, bench: Bench, graded: Graded, names: list[str]) -> tuple[dict[str, Floats], Row]:
        """Return the losses of all test rows, by library; their means, and shares of rows between the outer levels."""
        assert bench.data is not None
        rows = min(MOST_ROWS, bench.scaled(MOST_ROWS))
        tasks = graded.real.folds(bench.data, rows, FOLDS, Settings(threads=bench.threads))
        losses: dict[str, list[Floats]] = {name: [] for name in names}
        covers: dict[str, list[float]] = {name: [] for name in names}
        for _, task in zip(range(bench.repeat), tasks, strict=False):
            task = in_codes(graded.task_of(task))
            for name in names:
                predicted = self.answers[name](task)
                losses[name].append(self.loss(task.y_test, predicted))
                if self.covers:
                    covers[name].append(coverage(task.y_test, predicted))
        joined = {name: np.concatenate(parts) for name, parts in losses.items()}
        row = {name: float(part.mean()) for name, part in joined.items()}
        return joined, row | {f"{name} covers": float(np.mean(shares)) for name, shares in covers.items() if shares}


WORKLOADS: dict[str, Workload] = {
    question.name: question
    for question in (
        Question(
            "untouched-quantiles",
            f"pinball loss of the levels {', '.join(map(str, LEVELS))}",
            QUANTILE_SETS,
            OF_QUANTILES,
            pinball,
            covers=True,
        ),
        Question(
            "untouched-ordinal",
            "log loss of ordered classes: our ordinal loss, our log loss, classifiers of others",
            GRADED_SETS,
            OF_GRADES,
            log_loss,
        ),
        Question("untouched-counts", "Poisson deviance of counts", COUNT_SETS, OF_COUNTS, poisson_deviance),
    )
}
