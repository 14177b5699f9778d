"""Ranking: the five folds of MQ2008 and LightGBM's example, every library with each of its losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import FIT, RATIO, Bench, Row, timed
from benchmarks.ranking_sets import Graded, lightgbm_parts, mq2008_parts
from benchmarks.rivals.base import Model, Rival
from benchmarks.table import HOME, Column, Table
from benchmarks.task import Settings, Task

PARTS_OF_TRAINING = 3
NDCG = Column("ndcg", "NDCG@10", 5)


@dataclass(frozen=True)
class QueryTask(Task):
    """A task whose rows belong to queries, sorted by them, as other libraries want it."""

    query: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    query_test: NDArray[Any] = field(default_factory=lambda: np.empty(0))


class Ranker(Rival):
    """A library with one of its losses."""

    growths = frozenset({"leaf"})

    def __init__(self, loss: str, label: str) -> None:
        self.loss, self.name = loss, label

    def predict(self, model: Model, X: Any) -> NDArray[Any]:
        return np.asarray(model.fitted.predict(X))


class Arboretum(Ranker):
    """BoostedTreesRanker."""

    module = "arboretum"

    def settings(self, task: Task) -> dict[str, Any]:
        wanted = task.settings
        return {
            "loss": self.loss,
            "n_estimators": wanted.rounds,
            "learning_rate": wanted.learning_rate,
            "max_leaf_nodes": wanted.leaves,
            "min_samples_leaf": wanted.min_rows,
            "l2": 0.0,
            "subsample": 1.0,
            "max_features": 1.0,
            "early_stopping": False,
            "n_jobs": wanted.threads,
        }

    def fit(self, task: Task) -> Model:
        model = import_module(self.module).BoostedTreesRanker(**self.settings(task))
        return Model(model.fit(task.X, task.y, group=queries_of(task)), task)


class Symmetric(Arboretum):
    """BoostedTreesRanker by the switches of CatBoost: trees, L2 and noise of its kind."""

    growths = frozenset({"symmetric"})

    def settings(self, task: Task) -> dict[str, Any]:
        from arboretum import BoostedTreesRanker

        wanted = task.settings
        model = BoostedTreesRanker.preset(
            "catboost",
            loss=self.loss,
            n_estimators=wanted.rounds,
            learning_rate=wanted.learning_rate,
            max_depth=wanted.depth,
            n_jobs=wanted.threads,
            random_state=wanted.seed,
        )
        return dict(model.get_params())


class LightGBM(Ranker):
    """LGBMRanker, told the sizes of queries."""

    module = "lightgbm"

    def settings(self, task: Task) -> dict[str, Any]:
        wanted = task.settings
        return {
            "objective": self.loss,
            "n_estimators": wanted.rounds,
            "learning_rate": wanted.learning_rate,
            "num_leaves": wanted.leaves,
            "min_child_samples": wanted.min_rows,
            "n_jobs": wanted.threads,
            "verbosity": -1,
        }

    def fit(self, task: Task) -> Model:
        sizes = np.unique(queries_of(task), return_counts=True)[1]
        return Model(
            import_module(self.module).LGBMRanker(**self.settings(task)).fit(task.X, task.y, group=sizes), task
        )


class XGBoost(Ranker):
    """XGBRanker, growing leaf by leaf."""

    module = "xgboost"

    def settings(self, task: Task) -> dict[str, Any]:
        wanted = task.settings
        return {
            "objective": self.loss,
            "n_estimators": wanted.rounds,
            "learning_rate": wanted.learning_rate,
            "grow_policy": "lossguide",
            "max_leaves": wanted.leaves,
            "max_depth": 0,
            "n_jobs": wanted.threads,
        }

    def fit(self, task: Task) -> Model:
        model = import_module(self.module).XGBRanker(**self.settings(task))
        return Model(model.fit(task.X, task.y, qid=queries_of(task)), task)


class CatBoost(Ranker):
    """CatBoost with its symmetric trees of depth 6."""

    module = "catboost"
    growths = frozenset({"symmetric"})

    def settings(self, task: Task) -> dict[str, Any]:
        wanted = task.settings
        return {
            "loss_function": self.loss,
            "iterations": wanted.rounds,
            "learning_rate": wanted.learning_rate,
            "depth": wanted.depth,
            "thread_count": wanted.threads,
            "verbose": False,
            "allow_writing_files": False,
        }

    def fit(self, task: Task) -> Model:
        library = import_module(self.module)
        pool = library.Pool(task.X, task.y, group_id=queries_of(task))
        return Model(library.CatBoost(self.settings(task)).fit(pool), task)


RANKERS: tuple[Ranker, ...] = (
    Arboretum("lambdamart", HOME),
    Arboretum("pairwise", f"{HOME} pairwise"),
    Arboretum("listwise", f"{HOME} listwise"),
    Arboretum("yetirank", f"{HOME} yetirank"),
    *(Symmetric(loss, f"{HOME} {loss}, symmetric") for loss in ("lambdamart", "pairwise", "listwise", "yetirank")),
    LightGBM("lambdarank", "lightgbm lambdarank"),
    LightGBM("rank_xendcg", "lightgbm xendcg"),
    XGBoost("rank:ndcg", "xgboost ndcg"),
    XGBoost("rank:pairwise", "xgboost pairwise"),
    CatBoost("YetiRank", "catboost YetiRank"),
    CatBoost("QuerySoftMax", "catboost QuerySoftMax"),
)


def queries_of(task: Task) -> NDArray[Any]:
    """Return the query of each training row."""
    assert isinstance(task, QueryTask)
    return task.query


def task_of(train: Graded, test: Graded, settings: Settings) -> QueryTask:
    """Return the task to learn from some queries and be tested on others."""
    return QueryTask("regression", train.X, train.y, test.X, test.y, settings, query=train.query, query_test=test.query)


def mq2008(folder: Path, settings: Settings) -> list[QueryTask]:
    """LETOR 4.0: fold i trains on three parts from the i-th on, and is tested on the fifth."""
    parts = mq2008_parts(folder)

    def of(fold: int, places: Sequence[int]) -> Graded:
        return Graded.joined([parts[(fold + place) % len(parts)] for place in places])

    return [task_of(of(fold, range(PARTS_OF_TRAINING)), of(fold, [-1]), settings) for fold in range(len(parts))]


def lightgbm_example(folder: Path, settings: Settings) -> list[QueryTask]:
    """LightGBM's own example of lambdarank."""
    train, test = lightgbm_parts(folder)
    return [task_of(train, test, settings)]


SETS: dict[str, Callable[[Path, Settings], list[QueryTask]]] = {
    "mq2008": mq2008,
    "lightgbm-example": lightgbm_example,
}


def turn_over(tasks: Sequence[QueryTask]) -> Callable[[Rival], Row]:
    """Return a turn that adds up the time and takes the mean score of several tasks."""

    def turn(rival: Rival) -> Row:
        from arboretum.metrics import ndcg_score

        seconds, scores = 0.0, []
        for task in tasks:
            fit_s, model = timed(lambda task=task: rival.fit(task))
            seconds += fit_s
            scores.append(ndcg_score(task.y_test, rival.predict(model, task.X_test), task.query_test))
        return {"fit_s": seconds, "ndcg": float(np.mean(scores))}

    return turn


def run(bench: Bench) -> Iterator[Table]:
    """Fit every loss of every library; a query without a relevant row counts in no mean."""
    if bench.data is None:
        yield Table("ranking", "skipped: needs --data", ())
        return
    for name, read in SETS.items():
        tasks = read(bench.data, bench.settings())
        title = f"{name}: {len(tasks)} × {len(tasks[0].y):,} rows, {tasks[0].settings.size}; time of all fits"
        table = Table(f"ranking-{name}", title, (FIT, RATIO, NDCG), rows_are="library, loss")
        chosen = [ranker for ranker in RANKERS if ranker.module in bench.libraries]
        able = [ranker for ranker in chosen if ranker.available()]
        measured = bench.measure(table.name, able, bench.repeat, turn_over(tasks), bench.threads)
        for ranker in chosen:
            table.rows[ranker.name] = measured.get(ranker.name, "not installed")
        table.add_ratio("fit_s")
        table.notes.append("catboost has no trees of 31 leaves: symmetric ones of depth 6, with its own L2 and noise")
        yield table
