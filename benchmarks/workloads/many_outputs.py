"""Ten numbers to predict, 100,000 rows of 30 columns: one model of all outputs against ten models of LightGBM.

In ``shared`` all outputs are mixtures of four functions, so that one tree serves them all: twice as many rounds, a
fifth of the trees. In ``apart`` every output is a function of its own: arboretum grows a tree an output.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.family import Workload
from benchmarks.measuring import FIT, PREDICT, RATIO, Bench, Row, score, timed
from benchmarks.rivals import Rival
from benchmarks.rivals.arboretum import Arboretum
from benchmarks.rivals.base import Model
from benchmarks.rivals.lightgbm import LightGBM
from benchmarks.table import Column, Table
from benchmarks.task import Task, split

ROWS, TEST_ROWS, COLUMNS, OUTPUTS, FUNCTIONS = 100_000, 20_000, 30, 10, 4
NOISE = 0.3  # of an output of variance 1
MORE_ROUNDS = 2  # of trees that serve all outputs


@dataclass(frozen=True)
class OneModel(Arboretum):
    """BoostedTreesRegressor of all outputs."""

    vector_leaves: bool

    def settings(self, task: Task) -> dict[str, Any]:
        rounds = task.settings.rounds * (MORE_ROUNDS if self.vector_leaves else 1)
        return super().settings(task) | {"n_estimators": rounds, "vector_leaves": self.vector_leaves}


class TenModels(LightGBM):
    """A booster an output."""

    def fit(self, task: Task) -> Model:
        fit_one = super().fit
        columns = [Task(task.kind, task.X, y, task.X_test, y, task.settings) for y in task.y.T]
        return Model([fit_one(one) for one in columns], task)

    def predict(self, model: Model, X: Any) -> NDArray[Any]:
        predict_one = super().predict
        return np.column_stack([predict_one(one, X) for one in model.fitted])


def functions(rng: np.random.Generator, X: NDArray[np.float32], n: int) -> NDArray[np.float64]:
    """Return ``n`` functions of five random columns each, of variance 1."""
    found = []
    for _ in range(n):
        a, b, c, d, e = X[:, rng.choice(COLUMNS, 5, replace=False)].T
        found.append(np.sin(2 * a * b) + np.where(c > 0.3, d, 0.0) + 0.5 * np.abs(e) + 0.3 * a)
    values = np.column_stack(found).astype(np.float64)
    return values / values.std(axis=0)


def generate(rows: int, shared: bool) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return columns and outputs."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, COLUMNS), dtype=np.float32)
    Y = functions(rng, X, FUNCTIONS if shared else OUTPUTS)
    if shared:
        Y = Y @ rng.normal(size=(FUNCTIONS, OUTPUTS))
        Y /= Y.std(axis=0)
    return X, Y + NOISE * rng.normal(size=Y.shape)


def _compare(bench: Bench, name: str, shared: bool) -> Iterator[Table]:
    rows = bench.scaled(ROWS)
    task = split("regression", *generate(rows + bench.scaled(TEST_ROWS), shared), rows, bench.settings())
    contenders = {rival.name: rival for rival in (OneModel(vector_leaves=shared), TenModels())}

    def turn(rival: Rival) -> Row:
        contender = contenders[rival.name]
        fit_s, model = timed(lambda: contender.fit(task))
        predict_s, predicted = timed(lambda: contender.predict(model, task.X_test))
        return {"fit_s": fit_s, "predict_ms": 1000 * predict_s, "r2": score(task, predicted)["r2"]}

    size = task.settings.size
    title = f"{rows:,} × {COLUMNS}, {OUTPUTS} outputs; lightgbm {OUTPUTS} × {size}"
    note = f"arboretum: {MORE_ROUNDS} × as many rounds, one tree each" if shared else "arboretum: one tree an output"
    columns = (FIT, RATIO, PREDICT, Column("r2", "R²", 5))
    among = tuple(contenders)
    yield bench.table(name, title, columns, turn, ratio_of="fit_s", among=among, notes=[note])


def shared(bench: Bench) -> Iterator[Table]:
    """Compare on outputs that share their functions."""
    return _compare(bench, "many-outputs-shared", shared=True)


def apart(bench: Bench) -> Iterator[Table]:
    """Compare on outputs that share nothing."""
    return _compare(bench, "many-outputs-apart", shared=False)


WORKLOADS: dict[str, Workload] = {"many-outputs-shared": shared, "many-outputs-apart": apart}
