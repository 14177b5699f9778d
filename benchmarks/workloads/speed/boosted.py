"""Races of boosted trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measuring import timed
from benchmarks.real_sets import SETS
from benchmarks.rivals import BOOSTING, UNTOUCHED, Rival
from benchmarks.rivals.arboretum import ArboretumDefaults, preset
from benchmarks.rivals.base import Model
from benchmarks.rivals.untouched import UntouchedCatBoost
from benchmarks.table import HOME
from benchmarks.task import Task, split
from benchmarks.workloads import dense, ranking
from benchmarks.workloads.sampling import SampledArboretum
from benchmarks.workloads.speed.racing import Options, Race, calls, fits, fitting

OURS, LIGHTGBM = BOOSTING["arboretum"], BOOSTING["lightgbm"]
TEST_SHARE = 0.1
SMALL = ("german", "ames", "wine", "phoneme", "satimage", "abalone", "cpu_act", "adult", "bank", "california")
FEW_ROWS, UNTOUCHED_ROWS = 20_000, 10_000
MANY_CLASSES = {"letter": (15_000, 16, 26), "1,000 classes": (20_000, 20, 1_000)}

Races = Iterator[tuple[str, Callable[[], Race]]]


def races(options: Options) -> Races:
    """Yield names, and what prepares each race."""
    for leaves, goal in ((31, 2.8), (255, 2.5)):
        yield f"dense: {leaves} leaves", partial(_dense, options, goal, leaves)
    yield "dense: 5,000,000 × 100", lambda: fits(2.5, _floats(options, 5_000_000, 100), OURS, LIGHTGBM)
    yield "dense: 10 categorical columns", lambda: fits(2.5, _mixed(options), OURS, LIGHTGBM)
    yield "dense: 50,000 × 2,000", lambda: fits(2.5, _floats(options, 50_000, 2_000), OURS, LIGHTGBM)
    yield "GOSS against all rows", lambda: _goss(options)
    if options.data is not None:
        yield "classes: covertype", lambda: _classes(options, _real(options, "covertype", 20_000))
    for name, shape in MANY_CLASSES.items():
        yield f"classes: {name}", partial(_many_classes, options, *shape)
    for name in SMALL if options.data is not None else ():
        yield f"small: {name}", partial(_preset, options, name)
    for name in SMALL if options.data is not None else ():
        yield f"untouched: {name}", partial(_untouched, options, name)
    if options.data is not None:
        yield "ranking: MQ2008", partial(_mq2008, options)
    yield "ranking: 1,000,000 rows", lambda: _ranking(_queries(options))
    for name in _SPARSE if options.data is not None else ("one-hot", "random"):
        yield f"sparse fit: {name}", partial(_sparse_fit, options, name)
        yield f"sparse predictions: {name}", partial(_sparse_predict, options, name)
    for name in ("amazon", "black_friday") if options.data is not None else ():
        yield f"target statistics: {name}", partial(_statistics, options, name)


def _dense(options: Options, goal: float, leaves: int) -> Race:
    return fits(goal, dense.task(options, leaves=leaves), OURS, LIGHTGBM)


def _floats(options: Options, rows: int, columns: int) -> Task:
    rng = np.random.default_rng(5)
    n_rows = options.scaled(rows)
    X = rng.standard_normal((round(n_rows * (1 + TEST_SHARE)), columns), dtype=np.float32)
    signal = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3:9].sum(axis=1) * 0.5
    y = (signal + rng.logistic(size=len(X)) > 0).astype(np.int64)
    return split("binary", X, y, n_rows, options.settings())


def _mixed(options: Options) -> Task:
    """Replace ten columns by words, 5 to 200 levels each, whose order tells nothing."""
    import pandas as pd

    rng, rows = np.random.default_rng(10), options.scaled(dense.ROWS)
    X, y = dense.generate(rows + options.scaled(dense.TEST_ROWS))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    names = tuple(frame.columns[:10])
    for name, levels in zip(names, (5, 8, 10, 15, 20, 30, 50, 80, 120, 200), strict=True):
        words = np.array([f"w{word}" for word in rng.permutation(levels)], dtype=object)
        ranks = np.searchsorted(np.quantile(frame[name][:10_000], np.linspace(0, 1, levels + 1)[1:-1]), frame[name])
        frame[name] = words[ranks]
    settings = options.settings()
    return Task("binary", frame[:rows], y[:rows], frame[rows:], y[rows:], settings, categorical=names)


def _goss(options: Options) -> Race:
    task = split("binary", *dense.generate(options.scaled(1_200_000)), options.scaled(1_000_000), options.settings())
    return Race(3.0, {HOME: fitting(SampledArboretum(), task), "all rows": fitting(OURS, task)})


def _real(options: Options, name: str, rows: int) -> Task:
    assert options.data is not None
    return next(SETS[name].folds(options.data, rows, 4, options.settings()))


def _classes(options: Options, task: Task) -> Race:
    return fits(2.5, task, OURS, *(BOOSTING[name] for name in ("lightgbm", "xgboost", "catboost")))


def _many_classes(options: Options, rows: int, columns: int, classes: int) -> Race:
    rng = np.random.default_rng(26)
    centres = rng.standard_normal((classes, columns)) * 2
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, round(rows * (1 + TEST_SHARE)) - classes)])
    X = (centres[y] + rng.standard_normal((len(y), columns))).astype(np.float32)
    rounds = 100 if classes < 100 else 10
    task = split("multiclass", X, y, rows, options.settings(rounds=rounds))
    return fits(2.5, task, OURS, *(BOOSTING[name] for name in ("lightgbm", "xgboost")))


def _preset(options: Options, name: str) -> Race:
    return fits(1.5, _real(options, name, FEW_ROWS), preset("lightgbm"), UNTOUCHED["lightgbm"])


def _untouched(options: Options, name: str) -> Race:
    return fits(1 / 3, _real(options, name, UNTOUCHED_ROWS), ArboretumDefaults(), UNTOUCHED["lightgbm"])


def _statistics(options: Options, name: str) -> Race:
    task = _real(options, name, FEW_ROWS)
    return fits(6.0, task, preset("catboost", n_estimators=200), _FewRounds(200))


class _FewRounds(UntouchedCatBoost):
    """CatBoost as it comes, with fewer rounds."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds

    def settings(self, task: Task) -> dict[str, Any]:
        return {**super().settings(task), "iterations": self.rounds}


# ---- ranking ---------------------------------------------------------------------------------------------------------


def _queries(options: Options) -> ranking.QueryTask:
    """Draw queries of 20 to 200 rows, grades of 0 to 4."""
    rng, rows = np.random.default_rng(7), options.scaled(1_000_000)
    sizes = rng.integers(20, 201, rows // 100)
    query = np.repeat(np.arange(len(sizes)), sizes)[:rows]
    X = rng.standard_normal((len(query), 40), dtype=np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * np.sin(3 * X[:, 3]) + rng.standard_normal(len(query))
    y = np.digitize(signal, [0.5, 1.2, 2.0, 3.0]).astype(np.float64)
    cut = int(np.searchsorted(query, query[-1] * (1 - TEST_SHARE)))
    parts = (X[:cut], y[:cut], X[cut:], y[cut:])
    return ranking.QueryTask("regression", *parts, options.settings(), query=query[:cut], query_test=query[cut:])


def _mq2008(options: Options) -> Race:
    assert options.data is not None
    return _ranking(ranking.mq2008(options.data, options.settings())[0])


def _ranking(task: ranking.QueryTask) -> Race:
    def turn(rival: Rival) -> dict[str, float]:
        from arboretum.metrics import ndcg_score

        seconds, model = timed(lambda: rival.fit(task))
        return {"s": seconds, "loss": 1 - ndcg_score(task.y_test, rival.predict(model, task.X_test), task.query_test)}

    rivals = {HOME: ranking.Arboretum("lambdamart", HOME), "lightgbm": ranking.LightGBM("lambdarank", "lightgbm")}
    return Race(2.0, {name: partial(turn, rival) for name, rival in rivals.items()})


# ---- sparse tables ---------------------------------------------------------------------------------------------------


def _reuters(options: Options) -> Any:
    """Words of news, 44 of thousands in a row."""
    import bz2

    from scipy.sparse import vstack
    from sklearn.datasets import load_svmlight_file

    assert options.data is not None
    parts = [options.data / "reuters_sparse" / f"reuters.{part}.libsvm.bz2" for part in ("train", "test")]
    return vstack([load_svmlight_file(bz2.open(part), n_features=8_315)[0] for part in parts]).tocsr()


def _one_hot(options: Options) -> Any:
    from scipy.sparse import csr_matrix

    rng, n = np.random.default_rng(2), options.scaled(50_000)
    columns = rng.integers(0, 200, (n, 10)) + 200 * np.arange(10)
    return csr_matrix((np.ones(10 * n, np.float32), columns.ravel(), 10 * np.arange(n + 1)), shape=(n, 2_000))


def _random_cells(options: Options) -> Any:
    from scipy.sparse import random

    return random(options.scaled(20_000), 2_000, 0.01, "csr", np.float32, np.random.default_rng(3))


_SPARSE: dict[str, Callable[[Options], Any]] = {"reuters": _reuters, "one-hot": _one_hot, "random": _random_cells}


def _sparse_task(options: Options, name: str) -> Task:
    X = _SPARSE[name](options)
    rng = np.random.default_rng(4)
    order = rng.permutation(X.shape[0])
    X = X[order].astype(np.float64)
    common = np.argsort(-np.diff(X.tocsc().indptr))[:200]
    signal = (X[:, common] != 0) @ rng.standard_normal(200)
    y = (signal + rng.logistic(size=len(order)) > np.median(signal)).astype(np.int64)
    return split("binary", X, y, round(0.75 * len(order)), options.settings())


def _sparse_fit(options: Options, name: str) -> Race:
    return fits(2.0, _sparse_task(options, name), OURS, LIGHTGBM)


def _sparse_predict(options: Options, name: str) -> Race:
    task = _sparse_task(options, name)
    models = {rival.name: rival.fit(task) for rival in (OURS, LIGHTGBM)}

    def predicting(rival: Rival, model: Model) -> Callable[[], Any]:
        return lambda: rival.predict(model, task.X_test)

    return calls(3.0, **{name: predicting(BOOSTING[name], model) for name, model in models.items()})
