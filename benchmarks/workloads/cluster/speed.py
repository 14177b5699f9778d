"""Two workers with a thread each against one process with two threads, and against LightGBM and XGBoost on Dask.

``fit s`` starts from rows that are in memory: persisted on the workers, or in a frame of the one process; nobody reads
files. ``files s`` starts from Parquet files, which everybody reads. Both include all that a library makes of the rows:
bins, its own copies, arboretum's files on the disks of the workers. Clusters and imports were started before. ``CPU s``
is that of a fit in memory, of all processes: it tells much the same on a busy machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext, redirect_stdout, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import NAMES, rows_of
from benchmarks.measuring import better, brief, timed
from benchmarks.table import HOME, Column, Table
from benchmarks.task import Settings, Task
from benchmarks.workloads.cluster.running import (
    ROWS,
    Options,
    cluster,
    dense_files,
    many_places,
    table_of,
    warm_up,
    within,
)

WORKERS, TEST_ROWS, PART_ROWS = 2, 200_000, 250_000
ONE = "one process"
COLUMNS = (
    Column("fit_s", "fit s"),
    Column("ratio", "× arboretum"),
    Column("cpu_s", "CPU s"),
    Column("cpu_ratio", "× arboretum"),
    Column("files_s", "files s"),
    Column("files_ratio", "× arboretum"),
    Column("auc", "AUC", 5),
)
Fitted = tuple[Callable[[Any], NDArray[Any]], str]  # predicts probabilities; a fingerprint, if there is one


@dataclass(frozen=True)
class Contender:
    """A library, by the module that it needs, and its fit to a frame of Dask, or of pandas if it is alone."""

    module: str
    fit: Callable[[Any, Settings, Any], Fitted]
    on_cluster: bool = True


def arboretum(rows: Any, settings: Settings, client: Any) -> Fitted:
    import arboretum as arb
    from benchmarks.rivals import BOOSTING

    model = arb.BoostedTreesClassifier(**BOOSTING[HOME].settings(_task(settings)))
    model.fit(rows, target="y")
    return lambda X: model.predict_proba(X)[:, 1], str(model.fingerprint())


def lightgbm(rows: Any, settings: Settings, client: Any) -> Fitted:
    from lightgbm.dask import DaskLGBMClassifier

    model = DaskLGBMClassifier(
        client=client,
        tree_learner="data",
        n_estimators=settings.rounds,
        learning_rate=settings.learning_rate,
        num_leaves=settings.leaves,
        max_bin=settings.bins,
        min_child_samples=settings.min_rows,
        min_child_weight=1e-3,
        reg_lambda=0.0,
        verbosity=-1,
    )
    with redirect_stdout(sys.stderr):
        model.fit(rows[NAMES], rows["y"])
    local = model.to_local()
    return lambda X: local.predict_proba(X)[:, 1], ""


def xgboost(rows: Any, settings: Settings, client: Any) -> Fitted:
    from xgboost import dask as on_dask

    from benchmarks.rivals import BOOSTING

    rows = client.persist(rows)
    data = on_dask.DaskQuantileDMatrix(client, rows[NAMES], rows["y"], max_bin=settings.bins)
    wanted = BOOSTING["xgboost"].settings(_task(settings)) | {"nthread": 1}
    booster = on_dask.train(client, wanted, data, num_boost_round=settings.rounds)["booster"]
    return lambda X: booster.inplace_predict(X), ""


CONTENDERS: dict[str, Contender] = {
    HOME: Contender("arboretum", arboretum),
    ONE: Contender("arboretum", arboretum, on_cluster=False),
    "lightgbm": Contender("lightgbm", lightgbm),
    "xgboost": Contender("xgboost", xgboost),
}


def _task(settings: Settings) -> Task:
    empty = np.zeros((0, len(NAMES)), np.float32)
    return Task("binary", empty, empty[:, 0], empty, empty[:, 0], settings)


def run(options: Options) -> Iterator[Table]:
    """Let the contenders take turns on one cluster."""
    import dask.dataframe as dd
    import pandas as pd
    from distributed import wait

    workers = min(WORKERS, options.workers)
    files = dense_files(options.folder, options.rows, min(PART_ROWS, max(1, options.rows // (2 * workers))))
    settings = Settings(rounds=options.rounds, threads=options.threads)
    title = (
        f"{options.rows:,} × 28 float32, {settings.size}, 255 bins; {workers} workers × 1 thread, one process × "
        f"{options.threads} threads"
    )
    table = Table("cluster-speed", title, COLUMNS)
    table.notes += ["fit: rows in the memory of the workers, or of the one process; files: from Parquet, for everybody"]
    marks: dict[str, set[str]] = {}
    small = many_places() if options.rows < ROWS // 10 else nullcontext()
    with cluster(workers) as client, small:
        warm_up(workers, options.folder)
        lazy = dd.from_map(pd.read_parquet, [str(file) for file in files])  # read_parquet joins files of few columns
        held = client.persist(lazy)
        within(600, lambda: wait(held), "reading all rows")
        here = table_of(files)
        _warm_up(client, options)
        for _ in range(options.repeats):
            for name, contender in CONTENDERS.items():
                _turn(name, contender, table, marks, settings, client, options, (held, lazy, here, files))
    table.add_ratio("fit_s")
    table.add_ratio("cpu_s", "cpu_ratio")
    table.add_ratio("files_s", "files_ratio")
    if ONE in marks and HOME in marks:
        same = len(marks[ONE] | marks[HOME]) == 1
        table.notes.append(f"the model of the workers {'is' if same else 'is NOT'} that of one process")
    yield table


def _warm_up(client: Any, options: Options) -> None:
    """Let every library import its parts, here and on the workers."""
    import dask.dataframe as dd

    few = dd.from_pandas(table_of(dense_files(options.folder, 2_000, 500)), npartitions=4, sort=False)
    for contender in CONTENDERS.values():
        if contender.on_cluster and find_spec(contender.module) is not None:
            with suppress(Exception):  # its turn will tell
                settings = Settings(rounds=2, threads=1)
                within(120, lambda fit=contender.fit, rows=settings: fit(few, rows, client), "a first fit")


def _turn(
    name: str,
    contender: Contender,
    table: Table,
    marks: dict[str, set[str]],
    settings: Settings,
    client: Any,
    options: Options,
    rows: tuple[Any, Any, Any, list[Path]],
) -> None:
    if find_spec(contender.module) is None:
        table.rows[name] = "not installed"
        return
    held, lazy, here, files = rows
    old = table.rows.get(name, {})
    if isinstance(old, str):
        return
    try:
        in_memory = held if contender.on_cluster else here
        worked = _cpu_seconds(client)
        fit_s, (predict, mark) = _timed(contender, lambda: in_memory, settings, client, options)
        worked = _cpu_seconds(client) - worked
        from_files: Callable[[], Any] = (lambda: lazy) if contender.on_cluster else (lambda: table_of(files))
        files_s, _ = _timed(contender, from_files, settings, client, options)
        row = {"fit_s": fit_s, "cpu_s": worked, "files_s": files_s, "auc": _auc(predict, options)}
        marks.setdefault(name, set()).add(mark)
        table.rows[name] = better(old, row)
    except Exception as error:
        table.rows[name] = f"failed: {type(error).__name__}: {error}"
    print(f"  speed {name} {brief(table.rows[name])}", file=sys.stderr, flush=True)


def _timed(
    contender: Contender, rows: Callable[[], Any], settings: Settings, client: Any, options: Options
) -> tuple[float, Fitted]:
    fit = contender.fit
    return timed(lambda: within(options.patience, lambda: fit(rows(), settings, client), "a fit"))


def _cpu_seconds(client: Any) -> float:
    return process_time() + sum(client.run(process_time).values())


def _auc(predict: Callable[[Any], NDArray[Any]], options: Options) -> float:
    import pandas as pd
    from sklearn.metrics import roc_auc_score

    X, y = rows_of(1_000_000, options.part(TEST_ROWS))
    return float(roc_auc_score(y, predict(pd.DataFrame(X, columns=NAMES))))
