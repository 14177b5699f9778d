"""A thousand workers and a thousand million rows: on paper, and by a simulation, from costs that are measured here.

Per tree, with n = rows / workers, p features, b bins, K leaves, a tree of places in which each has ``arity`` children
and h levels below place 0::

    rows        n · row                          gradients, values of leaves
    histograms  n · p · visits · histogram       a row is summed up ``visits`` times: once, and in each smaller child
    partition   n · parted · partition           a row is parted ``parted`` times, about the depth of its leaf
    search      p · b · (2 K - 1) · search       at place 0 alone, for all nodes
    messages    E · h · ((1 + arity) · call + 2 · latency)     E exchanges: an order down, child after child, sums up
    transfer    S · h · arity · (1 / bandwidth + copy)         S bytes of sums go up; children share the parent's link
    adding      S · h · arity · add
    waiting     spread · sqrt(2 ln workers) · work             for the slowest: the largest of so many normal numbers

E, S and depths are what ``exchange`` measures: depth = 1.7 log2 K, E = 1.45 depth, S = 0.76 p b 8 K. Workers have one
thread. The simulation draws how long each place works in each exchange, and passes messages one after the other, so
that waits arise as they do; the formulas above are its mean, except for waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from math import ceil, log, log2, sqrt
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.table import Column, Table
from benchmarks.workloads.cluster.running import Options, cluster, say, within

WORKERS = (1, 10, 100, 1_000, 10_000)
LANE_BYTES = 8
SIZES = (0, 10_000, 100_000, 1_000_000, 8_000_000)  # of messages that are timed
CALIBRATION_ROWS, SHAPES = 200_000, ((10, 31), (28, 8), (28, 31), (28, 127), (60, 31))  # features, leaves
FEW, MANY = 3, 13  # rounds


@dataclass(frozen=True)
class Costs:
    """Seconds: of a row, of a row and feature, of a row, of a bin; of a message; of a byte that is sent, or added."""

    row: float
    histogram: float
    partition: float
    search: float
    call: float
    copy: float
    add: float
    visits: float
    parted: float


@dataclass(frozen=True)
class Cluster:
    """What is asked for, and what is assumed of the network."""

    workers: int = 1_000
    rows: int = 1_000_000_000
    features: int = 100
    bins: int = 255
    leaves: int = 31
    bandwidth: float = 1.25e9  # 10 GbE, bytes a second
    latency: float = 1e-4
    arity: int = 2
    spread: float = 0.05  # of the time that places work between two messages
    scattered: bool = False  # each place sums and searches some of the features
    chunks: int = 1  # in which sums travel, so that levels overlap

    @property
    def exchanges(self) -> int:
        return round(1.45 * 1.7 * log2(self.leaves))

    @property
    def sum_bytes(self) -> float:
        return 0.76 * self.features * self.bins * LANE_BYTES * self.leaves

    @property
    def levels(self) -> int:
        """Levels of places below place 0."""
        levels, last = 0, 0
        while last < self.workers - 1:
            last, levels = last * self.arity + self.arity, levels + 1
        return levels


# ---- on paper --------------------------------------------------------------------------------------------------------


def on_paper(asked: Cluster, costs: Costs) -> dict[str, float]:
    """Return the seconds of a tree by what they are spent on."""
    n, p = asked.rows / asked.workers, asked.features
    found = {
        "rows": n * costs.row,
        "histograms": n * p * costs.visits * costs.histogram,
        "partition": n * costs.parted * costs.partition,
        "search": p * asked.bins * (2 * asked.leaves - 1) * costs.search,
        **network(asked, costs),
    }
    if asked.scattered:
        found["search"] /= min(asked.workers, p)
    work = found["rows"] + found["histograms"] + found["partition"]
    found["waiting"] = asked.spread * sqrt(2 * log(asked.workers)) * work
    return found


def network(asked: Cluster, costs: Costs) -> dict[str, float]:
    """Return the seconds of messages of a tree."""
    if asked.workers == 1:
        return {"messages": 0.0, "transfer": 0.0, "adding": 0.0}
    levels, arity, each = asked.levels, asked.arity, 1 / asked.bandwidth + costs.copy
    order = asked.exchanges * levels * (arity * costs.call + asked.latency)
    if asked.scattered:  # halves of the features are exchanged in log2(workers) steps; then decisions go up and down
        steps = ceil(log2(asked.workers))
        messages = 2 * order + asked.exchanges * steps * (costs.call + asked.latency)
        share = 1 - 1 / asked.workers
        return {
            "messages": messages,
            "transfer": asked.sum_bytes * share * each,
            "adding": asked.sum_bytes * share * costs.add,
        }
    chunks = asked.chunks
    hops = (levels + chunks - 1) / chunks  # of the whole sum, one after the other
    up = asked.exchanges * (levels + chunks - 1) * (costs.call + asked.latency)
    return {
        "messages": order + up,
        "transfer": asked.sum_bytes * hops * arity * each,
        "adding": asked.sum_bytes * hops * arity * costs.add,
    }


# ---- simulated -------------------------------------------------------------------------------------------------------


def simulated(asked: Cluster, costs: Costs, trees: int = 3, seed: int = 0) -> float:
    """Return the seconds of a tree: every place works for a drawn time, every message takes its turn."""
    rng = np.random.default_rng(seed)
    paper = on_paper(asked, costs)
    work = (paper["rows"] + paper["histograms"] + paper["partition"]) / asked.exchanges
    size = asked.sum_bytes / asked.exchanges
    clock = 0.0
    for _ in range(trees * asked.exchanges):
        works = work * np.maximum(0.0, 1 + asked.spread * rng.standard_normal(asked.workers))
        clock += exchange_seconds(asked, costs, works.tolist(), size) + paper["search"] / asked.exchanges
    return clock / trees


def exchange_seconds(asked: Cluster, costs: Costs, works: list[float], size: float) -> float:
    """Return how long one order and its answer take: down the tree of places, work, and up again."""
    arity, workers = asked.arity, asked.workers
    heard = [0.0] * workers
    for place in range(workers):  # parents come before their children
        for number, child in enumerate(range(arity * place + 1, min(workers, arity * place + arity + 1))):
            heard[child] = heard[place] + (number + 1) * costs.call + asked.latency
    done = [begin + own for begin, own in zip(heard, works, strict=True)]
    transfer, adding = size * (1 / asked.bandwidth + costs.copy), size * costs.add
    for place in range(workers - 1, -1, -1):
        link = 0.0
        for arrival in sorted(
            done[child] + costs.call + asked.latency
            for child in range(arity * place + 1, min(workers, arity * place + arity + 1))
        ):
            link = max(link, arrival) + transfer
            done[place] = max(done[place], link) + adding
    return done[0]


# ---- measured --------------------------------------------------------------------------------------------------------


def measured_costs(options: Options) -> Costs:
    """Measure what this machine needs."""
    work, visits, parted = work_costs(options.part(CALIBRATION_ROWS), options.repeats)
    with cluster(2) as client:
        call, copy = within(300, lambda: message_costs(client), "timing messages")
    return Costs(*work, call=call, copy=copy, add=adding_cost(), visits=visits, parted=parted)


def work_costs(rows: int, repeats: int) -> tuple[tuple[float, float, float, float], float, float]:
    """Fit trees of several shapes with one thread; the costs are those that explain the times, none below 0."""
    from scipy.optimize import nnls

    rng = np.random.default_rng(0)
    parts, times, shares = [], [], (0.0, 0.0)
    for n in (rows, rows // 4):
        for features, leaves in SHAPES:
            X = rng.standard_normal((n, features), dtype=np.float32)
            y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + X[:, 3] + rng.standard_normal(n)
            seconds, visited, parted, splits = tree_seconds(X, y, leaves, repeats)
            parts.append([n, visited * features, parted, features * 255 * (2 * splits + 1)])
            times.append(seconds)
            if (features, leaves, n) == (28, 31, rows):
                shares = visited / n, parted / n
    A, b = np.array(parts), np.array(times)
    row, histogram, partition, search = nnls(A / b[:, None], np.ones(len(b)))[0].tolist()
    return (row, histogram, partition, search), *shares


def tree_seconds(X: NDArray[Any], y: NDArray[Any], leaves: int, repeats: int) -> tuple[float, float, float, float]:
    """Return the seconds of a tree; rows that were summed up, rows that were parted, and splits of a tree."""
    import arboretum as arb

    times: dict[int, list[float]] = {FEW: [], MANY: []}
    for _ in range(repeats):
        for rounds, found in times.items():
            settings = {"max_leaf_nodes": leaves, "early_stopping": False, "subsample": 1.0, "n_jobs": 1}
            model = arb.BoostedTreesRegressor(n_estimators=rounds, **settings)
            start = perf_counter()
            model.fit(X, y)
            found.append(perf_counter() - start)
    forest = model.model_.forest
    first = int(forest.tree_start[FEW])
    node = np.flatnonzero(forest.left[first:] >= 0) + first
    of_tree = forest.tree_start[np.searchsorted(forest.tree_start, node, side="right") - 1]
    smaller = np.minimum(forest.n_rows[of_tree + forest.left[node]], forest.n_rows[of_tree + forest.right[node]])
    trees = MANY - FEW
    visited, parted = len(y) + smaller.sum() / trees, forest.n_rows[node].sum() / trees
    seconds = max(1e-9, (min(times[MANY]) - min(times[FEW])) / trees)
    return seconds, float(visited), float(parted), len(node) / trees


class Echo:
    """An actor that is sent messages, and sends some."""

    def take(self, message: Any) -> None:
        """Take a message."""

    def send(self, other: Any, n_bytes: int, times: int) -> list[float]:
        """Return the seconds until another actor has taken a message, several times."""
        message, found = np.zeros(n_bytes // 8, np.uint64), []
        for _ in range(times):
            start = perf_counter()
            other.take(message).result(timeout=60)
            found.append(perf_counter() - start)
        return found


def message_costs(client: Any) -> tuple[float, float]:
    """Return the seconds of a message between two workers, and of a byte in it: half of the way there and back."""
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    one, other = (client.submit(Echo, actor=True, workers=[w], pure=False).result(timeout=60) for w in workers[:2])
    times = [min(one.send(other, size, 20).result(timeout=120)) for size in SIZES]
    slope = np.polyfit(SIZES[1:], times[1:], 1)[0]
    return times[0] / 2, max(0.0, float(slope))


def adding_cost() -> float:
    """Return the seconds to add a byte of sums to another."""
    a, b = np.ones(1_000_000, np.uint64), np.ones(1_000_000, np.uint64)
    times = []
    for _ in range(20):
        start = perf_counter()
        np.add(a, b, out=a)
        times.append(perf_counter() - start)
    return min(times) / a.nbytes


# ---- tables ----------------------------------------------------------------------------------------------------------

SPENT = ("histograms", "partition", "rows", "search", "messages", "transfer", "adding", "waiting")
CHANGES: dict[str, Callable[[Cluster, Costs], tuple[Cluster, Costs]]] = {
    "as it is": lambda asked, costs: (asked, costs),
    "4 children a place": lambda asked, costs: (replace(asked, arity=4), costs),
    "16 children a place": lambda asked, costs: (replace(asked, arity=16), costs),
    "sums in 8 chunks": lambda asked, costs: (replace(asked, chunks=8), costs),
    "features scattered": lambda asked, costs: (replace(asked, scattered=True), costs),
    "messages of 20 µs": lambda asked, costs: (asked, replace(costs, call=2e-5)),
    "bytes at the speed of the network": lambda asked, costs: (asked, replace(costs, copy=0.0)),
    "100 GbE": lambda asked, costs: (replace(asked, bandwidth=1.25e10), costs),
    "scattered, 20 µs": lambda asked, costs: (replace(asked, scattered=True), replace(costs, call=2e-5)),
}


def run(options: Options) -> Iterator[Table]:
    """Measure costs, and print what they mean for many workers."""
    costs = measured_costs(options)
    say("simulate", costs)
    asked = Cluster()
    yield scaling(asked, costs)
    yield lifted(asked, costs)


def scaling(asked: Cluster, costs: Costs) -> Table:
    """Return where the time of a tree goes, for 1 to 10,000 workers."""
    columns = (
        Column("paper_s", "on paper s"),
        Column("simulated_s", "simulated s"),
        Column("speedup", "times faster than 1"),
        Column("efficiency", "efficiency %"),
        *(Column(name, f"{name} %") for name in SPENT),
    )
    title = f"{asked.rows:,} × {asked.features}, {asked.leaves} leaves, 10 GbE, 0.1 ms, a binary tree of sums; one tree"
    table = Table("cluster-simulate", title, columns, rows_are="workers")
    one = sum(on_paper(replace(asked, workers=1), costs).values())
    for workers in WORKERS:
        some = replace(asked, workers=workers)
        paper, found = on_paper(some, costs), simulated(some, costs)
        whole = sum(paper.values())
        row = {
            "paper_s": whole,
            "simulated_s": found,
            "speedup": one / found,
            "efficiency": 100 * one / found / workers,
        }
        table.rows[f"{workers:,}"] = row | {name: 100 * paper[name] / whole for name in SPENT}
    half, most = limits(asked, costs)
    table.notes += [
        "measured: " + ", ".join(f"{field.name} {getattr(costs, field.name):.3g}" for field in fields(costs)),
        f"half of the time is well spent up to {half:,} workers; more than {most:,} make a tree no faster",
    ]
    return table


def limits(asked: Cluster, costs: Costs) -> tuple[int, int]:
    """Return up to how many workers each saves half of what it could, and how many give the fastest tree."""
    one = sum(on_paper(replace(asked, workers=1), costs).values())
    counts = [2**i for i in range(24)]
    seconds = [sum(on_paper(replace(asked, workers=workers), costs).values()) for workers in counts]
    good = [workers for workers, s in zip(counts, seconds, strict=True) if one / s / workers >= 0.5]
    return good[-1], counts[seconds.index(min(seconds))]


def lifted(asked: Cluster, costs: Costs) -> Table:
    """Return what would make many workers faster."""
    columns = (
        Column("s_1000", "1,000 workers s"),
        Column("s_10000", "10,000 workers s"),
        Column("messages", "messages s"),
        Column("transfer", "transfer s"),
        Column("half", "half well spent up to", 1),
        Column("most", "fastest with", 1),
    )
    table = Table("cluster-lifted", "what would lift it, on paper; one tree", columns, rows_are="change")
    for name, change in CHANGES.items():
        changed, at = change(asked, costs)
        thousand, more = (on_paper(replace(changed, workers=workers), at) for workers in (1_000, 10_000))
        half, most = limits(changed, at)
        table.rows[name] = {
            "s_1000": sum(thousand.values()),
            "s_10000": sum(more.values()),
            "messages": more["messages"],
            "transfer": more["transfer"],
            "half": float(half),
            "most": float(most),
        }
    table.notes.append("messages and transfer are those of 10,000 workers")
    return table
