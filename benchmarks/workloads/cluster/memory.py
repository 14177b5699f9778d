"""The peak of a worker's memory above what it takes when idle, against what a fit may hold of its rows.

That is 2 bytes per cell, 48 bytes per row and output, and the histograms of a tree. Rows come from files, a partition
at a time, so that nothing but the fit holds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measuring import MEGABYTE
from benchmarks.table import Column, Table
from benchmarks.workloads.cluster.running import (
    Options,
    cluster,
    dense_files,
    idle_bytes,
    many_places,
    partitions,
    peak_bytes,
    say,
    warm_up,
    within,
)

ROWS, WORKERS, PART_ROWS = 2_000_000, 2, 25_000
ROUNDS, BINS, FEATURES, LANE_BYTES = 10, 255, 28, 8
CELL_BYTES, ROW_BYTES = 2, 48
CASES = {
    "squared, 31 leaves": ("BoostedTreesRegressor", 31, 1),
    "logistic, 31 leaves": ("BoostedTreesClassifier", 31, 1),
    "logistic, 255 leaves": ("BoostedTreesClassifier", 255, 1),
    "three classes, 31 leaves": ("BoostedTreesClassifier", 31, 3),
}
COLUMNS = (
    Column("idle_mb", "idle MB"),
    Column("peak_mb", "peak above idle MB"),
    Column("allowed_mb", "allowed MB"),
    Column("ratio", "peak / allowed"),
    Column("after_mb", "left after the fit MB"),
)


def run(options: Options) -> Iterator[Table]:
    """Measure each fit on new workers."""
    rows, workers = options.part(ROWS), min(WORKERS, options.workers)
    files = dense_files(options.folder, rows, min(PART_ROWS, max(100, rows // (4 * workers))))
    title = f"{rows:,} × {FEATURES} float32 from Parquet, {ROUNDS} rounds, {workers} workers × 1 thread"
    table = Table("cluster-memory", title, COLUMNS, rows_are="fit")
    table.notes.append("allowed: 2 bytes per cell, 48 per row and output, features × bins × 8 bytes × leaves")
    for name, case in CASES.items():
        try:
            table.rows[name] = measured(*case, rows, workers, files, options)
        except Exception as error:
            table.rows[name] = f"failed: {type(error).__name__}: {error}"
        say("memory", name, table.rows[name])
    yield table


def measured(
    estimator: str, leaves: int, outputs: int, rows: int, workers: int, files: list[Path], options: Options
) -> dict[str, float]:
    """Fit on a new cluster, and return the worker with the highest peak."""
    import arboretum as arb

    settings = {"max_leaf_nodes": leaves, "max_bins": BINS, "early_stopping": False, "subsample": 1.0}
    model = getattr(arb, estimator)(n_estimators=ROUNDS, **settings)
    parts = [_three_classes(part) for part in partitions(files)] if outputs == 3 else partitions(files)
    with cluster(workers) as client, many_places():
        warm_up(workers, options.folder)
        idle = client.run(idle_bytes)
        within(options.patience, lambda: model.fit(parts, target="y"), "a fit")
        peaks = {worker: peak - idle[worker] for worker, peak in client.run(peak_bytes).items()}
        left = client.run(idle_bytes)
    worker = max(peaks, key=lambda one: peaks[one])
    own = rows / workers
    histograms = FEATURES * BINS * LANE_BYTES * leaves
    allowed = own * (CELL_BYTES * FEATURES + ROW_BYTES * outputs) + histograms
    return {
        "idle_mb": idle[worker] / MEGABYTE,
        "peak_mb": peaks[worker] / MEGABYTE,
        "allowed_mb": allowed / MEGABYTE,
        "ratio": peaks[worker] / allowed,
        "after_mb": (left[worker] - idle[worker]) / MEGABYTE,
    }


def _three_classes(part: Any) -> Any:
    from dask.delayed import delayed

    return delayed(three_classes)(part)


def three_classes(frame: Any) -> Any:
    """Add a class."""
    return frame.assign(y=frame["y"] + (frame["x0"] > 0.5))
