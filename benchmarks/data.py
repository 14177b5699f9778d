"""``python -m benchmarks data``: much data and long runs.

``file``: from a Parquet file larger than the memory that training may take, to a model. Every library reads the same
file in a process of its own, by the best way to train without holding all values that its documentation names, with the
common settings of ``dense-leaves31``. Memory is the peak of the whole process, imports included; time is that from the
file to the model, and CPU time, of all threads, tells the same on a busy machine. "arboretum train" is the command,
with its start and its judging.

``killed``: a run with a checkpoint that is killed again and again (workloads/killed.py).

``limits``: the peak memory of commands under ``--memory-limit`` (workloads/limits.py).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.goals import judge
from benchmarks.measuring import FIT, MEGABYTE, RATIO, SCORES, Row, better, brief, score
from benchmarks.rivals import BOOSTING
from benchmarks.table import Column, Table
from benchmarks.task import Settings, Task
from benchmarks.workloads import dense, killed, limits

ROWS, TEST_ROWS, GROUP_ROWS, FEATURES = 10_000_000, 200_000, 100_000, 28
JUDGING_ROWS = 1_000  # of the command, which always judges its model
WORKLOADS = ("file", "killed", "limits")
IN_FOLDER = ("file", "limits")  # which write files that the next run finds
MEMORY_LIMIT = "400MB"
COLUMNS = (FIT, RATIO, Column("cpu_s", "CPU s"), Column("peak_mb", "peak MB"), *SCORES["binary"])
NAMES = [f"x{j}" for j in range(FEATURES)]
NOTES = (
    f"arboretum: Dataset.from_parquet, memory_limit={MEMORY_LIMIT!r}, beyond which codes lie in a mapped file",
    "lightgbm: lightgbm.Sequence over the row groups of the file, the last one kept for single rows",
    "xgboost: ExtMemQuantileDMatrix of a DataIter over the row groups of the file, its cache on disk",
)


def rows_of(seed: int, rows: int) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Draw rows of the dense workload that no other seed has."""
    X, y = dense.generate.__wrapped__(rows, seed=seed)
    return X, y.astype(np.int8)


def write(path: Path, rows: int) -> None:
    """Write the training rows, a row group at a time."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([*((name, pa.float32()) for name in NAMES), ("y", pa.int8())])
    with parquet.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for seed, first in enumerate(range(0, rows, GROUP_ROWS)):
            X, y = rows_of(seed, min(GROUP_ROWS, rows - first))
            writer.write_table(pa.table([*(pa.array(column) for column in X.T), pa.array(y)], schema=schema))


def file_in(folder: Path, rows: int) -> Path:
    """Return the file of a folder with so many rows, written first if there is none."""
    path = folder.resolve() / f"dense-{rows}.parquet"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        write(unfinished, rows)
        unfinished.rename(path)
    return path


def groups(path: Path) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int8]]]:
    """Read the file a row group at a time, as libraries without a reader of their own have to."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        for number in range(file.num_row_groups):
            yield group(file, number)


def group(file: Any, number: int) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Read one row group."""
    table = file.read_row_group(number)
    X = np.empty((table.num_rows, FEATURES), np.float32)
    for j, name in enumerate(NAMES):
        X[:, j] = table[name].to_numpy()
    return X, table["y"].to_numpy()


# ------------------------------------------------------------------------------------------ the way of each library


def arboretum_model(path: Path, task: Task, folder: Path, memory_limit: str) -> Callable[[Any], Any]:
    import arboretum as arb

    model = arb.BoostedTreesClassifier(**BOOSTING["arboretum"].settings(task))
    model.fit(arb.Dataset.from_parquet(path, memory_limit=memory_limit), target="y")
    return lambda X: model.predict_proba(dict_frame(X))[:, 1]


def arboretum_command(path: Path, task: Task, folder: Path, memory_limit: str) -> Callable[[Any], Any]:
    import arboretum as arb

    write(folder / "judging.parquet", JUDGING_ROWS)
    settings = [
        word for item in BOOSTING["arboretum"].settings(task).items() for word in ("--set", "{}={}".format(*item))
    ]
    words = [str(path), "--target", "y", "--memory-limit", memory_limit, "--test", str(folder / "judging.parquet")]
    program = [sys.executable, "-c", "from arboretum.cli import main; main()", "train", *words, *settings]
    subprocess.run([*program, "--out", str(folder / "model.arb")], check=True, capture_output=True)
    model = arb.load(folder / "model.arb")
    return lambda X: model.predict_proba(dict_frame(X))[:, 1]


def dict_frame(X: NDArray[np.float32]) -> Any:
    import pyarrow as pa

    return pa.table(dict(zip(NAMES, X.T, strict=True)))


def lightgbm_model(path: Path, task: Task, folder: Path, memory_limit: str) -> Callable[[Any], Any]:
    import lightgbm as lgb
    from pyarrow import parquet

    file = parquet.ParquetFile(path)

    class Groups(lgb.Sequence):
        batch_size = GROUP_ROWS
        kept = (-1, np.zeros((0, FEATURES), np.float32))

        def __len__(self) -> int:
            return int(file.metadata.num_rows)

        def rows(self, number: int) -> NDArray[np.float32]:
            if self.kept[0] != number:
                self.kept = number, group(file, number)[0]
            return self.kept[1]

        def __getitem__(self, place: Any) -> NDArray[np.float64]:
            if isinstance(place, slice):  # whole groups, as batch_size is theirs
                return self.rows(place.start // GROUP_ROWS).astype(np.float64)
            return self.rows(place // GROUP_ROWS)[place % GROUP_ROWS].astype(np.float64)

    y = np.concatenate([labels for _, labels in groups(path)])
    settings = BOOSTING["lightgbm"].settings(task)
    data = lgb.Dataset(Groups(), y, params=settings)
    booster = lgb.train(settings, data, num_boost_round=task.settings.rounds)
    return booster.predict


def xgboost_model(path: Path, task: Task, folder: Path, memory_limit: str) -> Callable[[Any], Any]:
    import xgboost as xgb

    class Groups(xgb.DataIter):
        def __init__(self) -> None:
            self.parts = groups(path)
            super().__init__(cache_prefix=str(folder / "cache"))

        def next(self, input_data: Any) -> bool:
            part = next(self.parts, None)
            if part is not None:
                input_data(data=part[0], label=part[1])
            return part is not None

        def reset(self) -> None:
            self.parts = groups(path)

    wanted = task.settings
    data = xgb.ExtMemQuantileDMatrix(Groups(), max_bin=wanted.bins, nthread=wanted.threads)
    booster = xgb.train(BOOSTING["xgboost"].settings(task), data, num_boost_round=wanted.rounds)
    return booster.inplace_predict


LIBRARIES: dict[str, Callable[[Path, Task, Path, str], Callable[[Any], Any]]] = {
    "arboretum": arboretum_model,
    "arboretum train": arboretum_command,
    "lightgbm": lightgbm_model,
    "xgboost": xgboost_model,
}


def from_file(library: str, path: str, settings: dict[str, Any], memory_limit: str = MEMORY_LIMIT) -> Row:
    """Train one library from the file in this process; the test rows are drawn afterwards.

    Only arboretum can be given a limit of memory.
    """
    from benchmarks.child import resident

    empty = np.zeros((0, FEATURES), np.float32)
    task = Task("binary", empty, empty[:, 0], empty, empty[:, 0], Settings(**settings))
    with TemporaryDirectory(dir=Path(path).parent) as folder:
        start, worked = perf_counter(), _cpu_seconds()
        predict = LIBRARIES[library](Path(path), task, Path(folder), memory_limit)
        seconds, worked = perf_counter() - start, _cpu_seconds() - worked
        peak = max(resident("VmHWM"), _peak_of_children())
        X_test, y_test = rows_of(1_000_000, TEST_ROWS)
        test = Task("binary", X_test, y_test, X_test, y_test, task.settings)
        return {"fit_s": seconds, "cpu_s": worked, "peak_mb": peak / MEGABYTE, **score(test, predict(X_test))}


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def _peak_of_children() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


# --------------------------------------------------------------------------------------------------------- the command


def add_options(command: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """Describe the options."""
    command.set_defaults(run=run)
    add = command.add_argument
    add("--workloads", default=",".join(WORKLOADS), help="comma-separated; default: %(default)s")
    add("--folder", type=Path, help="where files are written (about 2 GB), and found the next time")
    add("--libraries", default=",".join(LIBRARIES), help="comma-separated; default: %(default)s")
    add(
        "--rows",
        type=positive,
        default=ROWS,
        help="of the file; a run that is killed has a fiftieth, files of limits have a fifth",
    )
    add("--rounds", type=positive, default=100)
    add("--repeat", type=positive, default=1, help="turns of each library; the best one counts")


def run(options: argparse.Namespace) -> int:
    """Run the chosen workloads; the exit code is 1 if a library failed."""
    chosen = options.workloads.split(",")
    for kind, names, known in (("workload", chosen, WORKLOADS), ("library", options.libraries.split(","), LIBRARIES)):
        if unknown := [name for name in names if name not in known]:
            print(f"no {kind} is called {unknown[0]!r}; there are: {', '.join(known)}", file=sys.stderr)
            return 2
    if options.folder is None and (writing := [name for name in chosen if name in IN_FOLDER]):
        print(f"--workloads {writing[0]}: say where files are written, with --folder FOLDER", file=sys.stderr)
        return 2
    tables = []
    if "file" in chosen:
        tables.append(compare(options))
    if "killed" in chosen:
        rows = max(400, round(killed.ROWS * options.rows / ROWS))
        tables.append(killed.run(rows, options.rounds, options.threads))
    if "limits" in chosen:
        options.folder.mkdir(parents=True, exist_ok=True)
        tables.append(limits.run(options.folder.resolve(), options.rows // 5, options.rounds))
    for table in tables:
        print(table.markdown() if options.markdown else table.text(), *(v.text() for v in judge(table)), sep="\n")
    if options.json:
        content = {"tables": [table.as_json() for table in tables]}
        options.json.write_text(json.dumps(content, indent=1, ensure_ascii=False))
    return int(any(str(row).startswith("failed") for table in tables for row in table.rows.values()))


def compare(options: argparse.Namespace) -> Table:
    """Train every library from one file."""
    from benchmarks.child import run_child

    path = file_in(options.folder, options.rows)
    settings = Settings(rounds=options.rounds, threads=options.threads)
    title = f"{options.rows:,} × {FEATURES} float32 from Parquet; {settings.size}"
    table = Table("data", title, COLUMNS, notes=list(NOTES))
    for library in options.repeat * options.libraries.split(","):
        if not BOOSTING[library.partition(" ")[0]].available():
            table.rows[library] = "not installed"
            continue
        old = table.rows.get(library, {})
        try:
            new = run_child("data", library=library, path=str(path), settings=asdict(settings))
            table.rows[library] = better({} if isinstance(old, str) else old, new)
        except RuntimeError as error:
            table.rows[library] = f"failed: {error}"
        print(f"  data {library} {brief(table.rows[library])}", file=sys.stderr, flush=True)
    table.add_ratio("fit_s")
    return table
