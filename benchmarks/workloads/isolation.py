"""Isolation forests: time against scikit-learn's, ROC AUC over real sets, hyperplanes against single columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.family import Workload
from benchmarks.measuring import FIT, RATIO, Bench, Row, timed
from benchmarks.rivals import Rival
from benchmarks.table import HOME, Column, Table

ROWS, COLUMNS = 100_000, 28
SCIKIT = (HOME, "sklearn")
SETS = "adbench_classical"
"""Folder of .npz files with X and y, 1 for an anomaly (Han et al. 2022, ADBench)."""
MOST_ROWS = 10_000
BLOBS, GHOSTS = ((0.0, 10.0), (10.0, 0.0)), ((0.0, 0.0), (10.0, 10.0))

Rows = NDArray[np.float64]


def forest(library: str, bench: Bench, seed: int = 0, **params: Any) -> Any:
    """Return an isolation forest of 256 rows a tree."""
    common = {"n_estimators": bench.rounds, "n_jobs": bench.threads, "random_state": seed, **params}
    if library == HOME:
        import arboretum

        return arboretum.IsolationForest(**common)
    from sklearn.ensemble import IsolationForest

    return IsolationForest(**common)


def auc(model: Any, X: Rows, y: NDArray[Any]) -> float:
    """Judge the scores of rows, the anomalies of which are known."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(y, -model.score_samples(X)))


def run(bench: Bench) -> Iterator[Table]:
    """Fit, and score the rows of the fit."""
    X = np.random.default_rng(2008).normal(size=(bench.scaled(ROWS), COLUMNS))

    def turn(rival: Rival) -> Row:
        fit_s, model = timed(lambda: forest(rival.name, bench).fit(X))
        return {"fit_s": fit_s, "score_s": timed(lambda: model.score_samples(X))[0]}

    columns = (FIT, RATIO, Column("score_s", "score s"), Column("score_ratio", "× arboretum"))
    title = f"{len(X):,} × {COLUMNS}, {bench.rounds} trees of 256 rows"
    table = bench.table("isolation", title, columns, turn, ratio_of="fit_s", among=SCIKIT)
    table.add_ratio("score_s", "score_ratio")
    yield table


def real_sets(bench: Bench) -> Iterator[Table]:
    """Compare untouched libraries by AUC and average precision, set by set, over ``--repeat`` seeds."""
    files = sorted((bench.data / SETS).glob("*.npz")) if bench.data else []
    if not files or len(bench.installed(SCIKIT)) < 2:
        yield Table("isolation-sets", f"skipped: needs {SETS} under --data, and {' and '.join(SCIKIT)}", ())
        return
    known = [library for library in UNTOUCHED if find_spec(library)]
    titles = {"auc": "AUC", "ap": "average precision"}
    columns = [
        Column(f"{library} {key}{suffix}", f"{library}{heading}", digits)
        for key in titles
        for library in known
        for suffix, heading, digits in (("", f" {titles[key]}", 4), (" ±", " ±", 2))
    ]
    table = Table("isolation-sets", f"untouched, mean of {bench.repeat} seeds and its error", columns, rows_are="set")
    for file in files:
        table.rows[file.stem] = compare(bench, file, known)
    measured = {column.key: list(table.measured(column.key).values()) for column in columns}
    table.rows["mean"] = {key: float(np.mean(values)) for key, values in measured.items()}
    yield table


def compare(bench: Bench, file: Path, libraries: Sequence[str]) -> Row:
    """Judge the libraries on one set: means over the seeds, and their standard errors."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    with np.load(file) as content:
        X, y = content["X"].astype(np.float64), content["y"].ravel()
    if len(X) > MOST_ROWS:
        rows = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
        X, y = X[rows], y[rows]
    found: Row = {}
    for library in libraries:
        said = [UNTOUCHED[library](X, seed, bench.threads) for seed in range(bench.repeat)]
        for key, measure in (("auc", roc_auc_score), ("ap", average_precision_score)):
            values = [float(measure(y, anomaly)) for anomaly in said]
            found[f"{library} {key}"] = float(np.mean(values))
            found[f"{library} {key} ±"] = float(np.std(values, ddof=min(1, len(values) - 1)) / len(values) ** 0.5)
    return found


def of_ours(X: Rows, seed: int, threads: int) -> Rows:
    """Return how odd each row is, by arboretum."""
    import arboretum

    return np.asarray(-arboretum.IsolationForest(n_jobs=threads, random_state=seed).fit(X).score_samples(X))


def of_sklearn(X: Rows, seed: int, threads: int) -> Rows:
    """Return how odd each row is, by scikit-learn."""
    from sklearn.ensemble import IsolationForest

    return np.asarray(-IsolationForest(n_jobs=threads, random_state=seed).fit(X).score_samples(X))


def of_isotree(X: Rows, seed: int, threads: int) -> Rows:
    """Return how odd each row is, by isotree."""
    from isotree import IsolationForest

    return np.asarray(IsolationForest(nthreads=threads, random_seed=seed + 1).fit(X).predict(X))


UNTOUCHED: dict[str, Callable[[Rows, int, int], Rows]] = {
    HOME: of_ours,
    "sklearn": of_sklearn,
    "isotree": of_isotree,
}


def blobs(rng: np.random.Generator, n: int, centres: Any) -> Rows:
    """Draw rows around centres."""
    return np.concatenate([rng.normal(centre, 1.0, (n // len(centres), 2)) for centre in centres])


def sinusoid(rng: np.random.Generator, n: int) -> Rows:
    """Draw rows along a sine."""
    x = rng.uniform(0, 8 * np.pi, n)
    return np.column_stack([x, np.sin(x) + rng.normal(0, 0.1, n)])


def off_sinusoid(rng: np.random.Generator, n: int) -> Rows:
    """Draw rows around a sine, but not on it."""
    box = np.column_stack([rng.uniform(0, 8 * np.pi, 4 * n), rng.uniform(-1.5, 1.5, 4 * n)])
    return np.asarray(box[np.abs(box[:, 1] - np.sin(box[:, 0])) > 0.5][:n])


SHAPES: dict[str, tuple[Callable[..., Rows], Callable[..., Rows]]] = {
    "two blobs": (lambda rng, n: blobs(rng, n, BLOBS), lambda rng, n: blobs(rng, n, GHOSTS)),
    "sinusoid": (sinusoid, off_sinusoid),
}


def hyperplanes(bench: Bench) -> Iterator[Table]:
    """Compare single columns with hyperplanes on the shapes of Hariri et al. (2019), over ``--repeat`` seeds."""
    if not bench.installed((HOME,)):
        yield Table("isolation-hyperplanes", f"skipped: needs {HOME}", ())
        return
    columns = (Column("columns", "AUC, single columns", 4), Column("planes", "AUC, hyperplanes", 4))
    table = Table("isolation-hyperplanes", "2,000 rows, 500 + 500 to score", columns, rows_are="shape")
    y = np.repeat([0, 1], 500)
    for name, (normal, odd) in SHAPES.items():
        found: dict[str, list[float]] = {"columns": [], "planes": []}
        for seed in range(bench.repeat):
            rng = np.random.default_rng(seed)
            X, new = normal(rng, 2000), np.concatenate([normal(rng, 500), odd(rng, 500)])
            for extension, key in enumerate(found):
                found[key].append(auc(forest(HOME, bench, seed, extension=extension).fit(X), new, y))
        table.rows[name] = {key: float(np.mean(values)) for key, values in found.items()}
    yield table


WORKLOADS: dict[str, Workload] = {
    "isolation": run,
    "isolation-sets": real_sets,
    "isolation-hyperplanes": hyperplanes,
}
