"""What goes over the network: exchanges and bytes of a tree.

Every message between places is counted where it is posted, in the workers. An exchange is one pass up the tree of
places: a question of place 0 and its answer. Two fits that differ in rounds alone give the counts of the rounds
between them, without what comes before the first round. Dask counts what its tasks transfer, not what actors say.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from benchmarks.measuring import MEGABYTE
from benchmarks.table import Column, Table
from benchmarks.workloads.cluster.running import (
    Options,
    cluster,
    dense_files,
    many_places,
    partitions,
    say,
    warm_up,
    within,
)

ROWS, BINS, FEATURES, LANE_BYTES = 500_000, 255, 28, 8
FEW, MANY = 5, 15  # rounds
CASES = {
    f"{loss}, {leaves} leaves": (estimator, leaves)
    for loss, estimator in (("squared", "BoostedTreesRegressor"), ("logistic", "BoostedTreesClassifier"))
    for leaves in (31, 255)
}
COLUMNS = (
    Column("depth", "depth of trees"),
    Column("exchanges", "exchanges a tree"),
    Column("of_depth", "/ (1.5 depth + 3)"),
    Column("downs", "orders a tree"),
    Column("mb", "MB a link and tree"),
    Column("of_histograms", "/ (1.6 histograms)"),
    Column("up_mb", "of them up"),
    Column("other_mb", "counted by Dask"),
)
POSTED: Counter[tuple[str, int, int, str]] = Counter()  # of a worker: count or bytes, from, to, direction


def watch() -> None:
    """Count what the places of this worker post."""
    from arboretum.cluster.place import Place

    POSTED.clear()
    if getattr(Place, "is_watched", False):
        return
    post = Place._post  # noqa: SLF001

    def counted(self: Any, place: int, key: tuple[Hashable, ...], value: Any) -> None:
        POSTED["count", self.index, place, str(key[2])] += 1
        POSTED["bytes", self.index, place, str(key[2])] += size_of(value)
        post(self, place, key, value)

    Place._post, Place.is_watched = counted, True  # type: ignore[method-assign,attr-defined]  # noqa: SLF001


def size_of(value: Any) -> int:
    """Return the bytes of a payload: pickled, with the memory of arrays beside."""
    buffers: list[pickle.PickleBuffer] = []
    return len(pickle.dumps(value, 5, buffer_callback=buffers.append)) + sum(one.raw().nbytes for one in buffers)


def posted() -> dict[tuple[str, int, int, str], int]:
    """Return what this worker has counted."""
    return dict(POSTED)


def by_dask(dask_worker: Any) -> int:
    """Return the bytes that Dask says this worker has sent to others."""
    return int(dask_worker.transfer_outgoing_bytes_total)


def run(options: Options) -> Iterator[Table]:
    """Count the messages of fits on all workers."""
    rows, workers = options.part(ROWS), max(2, options.workers)
    files = dense_files(options.folder, rows, max(100, rows // (4 * workers)))
    title = f"{rows:,} × {FEATURES}, {BINS} bins, {workers} workers; rounds {FEW + 1} to {MANY}"
    table = Table("cluster-exchange", title, COLUMNS, rows_are="fit")
    table.notes.append("a link: two places that send to each other, both ways; the one with most")
    with cluster(workers) as client, many_places():
        warm_up(workers, options.folder)
        for name, (estimator, leaves) in CASES.items():
            few, _, _ = counted_fit(client, estimator, leaves, FEW, files, options)
            many, forest, sent = counted_fit(client, estimator, leaves, MANY, files, options)
            many.subtract(few)
            table.rows[name] = row_of(many, depths(forest)[FEW:MANY], leaves, sent)
            say("exchange", name, table.rows[name])
    yield table


def counted_fit(
    client: Any, estimator: str, leaves: int, rounds: int, files: Any, options: Options
) -> tuple[Counter[tuple[str, int, int, str]], Any, int]:
    """Fit, and add up what all workers have posted."""
    import arboretum as arb

    client.run(watch)
    before = sum(client.run(by_dask).values())
    settings = {"max_leaf_nodes": leaves, "max_bins": BINS, "early_stopping": False, "subsample": 1.0}
    model = getattr(arb, estimator)(n_estimators=rounds, learning_rate=0.1, **settings)
    within(options.patience, lambda: model.fit(partitions(files), target="y"), "a fit")
    counts: Counter[tuple[str, int, int, str]] = Counter()
    for one in client.run(posted).values():
        counts.update(one)
    return counts, model.model_.forest, sum(client.run(by_dask).values()) - before


def depths(forest: Any) -> list[int]:
    """Return the depth of each tree."""
    found = []
    for first, end in zip(forest.tree_start[:-1], forest.tree_start[1:], strict=True):
        depth = np.zeros(end - first, int)
        for node in range(end - first):
            if forest.left[first + node] >= 0:
                depth[[forest.left[first + node], forest.right[first + node]]] = depth[node] + 1
        found.append(int(depth.max()))
    return found


def row_of(counts: Counter[tuple[str, int, int, str]], of_trees: list[int], leaves: int, sent: int) -> dict[str, float]:
    """Return what a tree costs."""
    trees, depth = len(of_trees), float(np.mean(of_trees))
    ups = counts["count", 1, 0, "up"] / trees
    links: Counter[tuple[int, int]] = Counter()
    for (what, one, other, _), n_bytes in counts.items():
        if what == "bytes":
            links[min(one, other), max(one, other)] += n_bytes
    link, most = links.most_common(1)[0]
    histograms = FEATURES * BINS * LANE_BYTES * leaves
    return {
        "depth": depth,
        "exchanges": ups,
        "of_depth": ups / (1.5 * depth + 3),
        "downs": counts["count", 0, 1, "down"] / trees,
        "mb": most / trees / MEGABYTE,
        "of_histograms": most / trees / (1.6 * histograms),
        "up_mb": counts["bytes", link[1], link[0], "up"] / trees / MEGABYTE,
        "other_mb": sent / MEGABYTE,
    }
