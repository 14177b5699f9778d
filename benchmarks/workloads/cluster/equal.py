"""The model of one process without Dask, on any number of workers, for any partitions, and in little memory.

``FITS`` has a list per kind of model: a fit that is added there is tried in every combination. ``limited`` repeats
boosting on workers that are ended by their nannies once they hold more than 60 % of all codes above what an idle
worker takes, so that rows cannot be gathered in secret. The table is wide and the workers are twice as many: a place
holds 2 bytes per cell of its own rows, and some 100 MB whatever it fits, so that the limit says little of small tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.measuring import MEGABYTE
from benchmarks.table import Column, Table
from benchmarks.workloads.cluster.running import (
    Options,
    cluster,
    files_of,
    idle_bytes,
    many_places,
    partitions,
    peak_bytes,
    say,
    warm_up,
    within,
)

ROWS, ROUNDS = 50_000, 12
WIDE_ROWS, WIDE_COLUMNS, WIDE_PART_ROWS = 2_000_000, 400, 4_000
LEAST_CODES = 200_000_000  # bytes, below which a limit by codes says little beside what any fit takes
SHARE = 0.6  # of the codes of all rows, above what an idle worker takes
ENDED_AT_LIMIT = {"distributed.worker.memory.terminate": 1.0, "distributed.worker.memory.monitor-interval": "20ms"}
BESIDE = ("number", "two", "three", "grade", "time", "died", "query", "treated", "weight")  # no features


@dataclass(frozen=True)
class Fit:
    """An estimator by name, its target, and what else it is given; ``held`` are rows to judge rounds by."""

    estimator: str
    target: str | list[str] | None
    parameters: dict[str, Any] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)
    held: bool = False

    def frame(self, frame: Any) -> Any:
        """Leave out columns of other fits."""
        kept = {*self.columns, *self.arguments.values()}
        return frame.drop(columns=[name for name in BESIDE if name in frame and name not in kept])

    @property
    def columns(self) -> list[str]:
        """Names of the columns of the target."""
        return [self.target] if isinstance(self.target, str) else self.target or []

    def fingerprint(self, rows: Any, held: Any) -> str:
        """Fit, here or on a cluster."""
        import arboretum as arb

        target = {} if self.target is None else {"target": self.target}
        model = getattr(arb, self.estimator)(**self.parameters)
        return str(model.fit(rows, **target, **self.arguments, **({"X_val": held} if self.held else {})).fingerprint())


def boosting(
    kind: str,
    target: str | list[str],
    *,
    held: bool = False,
    weights: bool = False,
    group: str | None = None,
    **parameters: Any,
) -> Fit:
    """Return a fit of boosted trees with few rounds."""
    arguments = {"sample_weight": "weight"} if weights else {}
    arguments |= {"group": group} if group else {}
    whole = {"n_estimators": ROUNDS, "early_stopping": False, "race": False, **parameters}
    return Fit(f"BoostedTrees{kind}", target, whole, arguments, held)


R, C = "Regressor", "Classifier"
FITS: dict[str, dict[str, Fit]] = {
    "boosting": {  # all of them with categories, of which some have more than 20 levels, and missing values
        "squared": boosting(R, "number"),
        "logistic": boosting(C, "two"),
        "three classes": boosting(C, "three"),
        "quantile": boosting(R, "number", loss="quantile", quantile=0.8),
        "goss": boosting(R, "number", sampling="goss"),
        "level": boosting(R, "number", growth="level", max_depth=5),
        "symmetric": boosting(C, "two", growth="symmetric", max_depth=5),
        "native categories": boosting(R, "number", category_levels=None),
        "weights": boosting(R, "number", weights=True),
        "held-out rows": boosting(C, "two", early_stopping=True),
        "validation rows": boosting(R, "number", early_stopping=True, held=True),
        "monotone": boosting(R, "number", monotonic_cst={"a": 1, "b": -1}),
        "interactions": boosting(R, "number", interaction_cst=[["a", "b", "town"], ["c", "d", "ties"]]),
        "absolute error": boosting(R, "number", loss="absolute_error"),
        "samples of rows and columns": boosting(C, "two", subsample=0.6, colsample_tree=0.7, max_features=0.5),
        "queries": boosting("Ranker", "grade", group="query"),
        "Cox": boosting("Survival", ["time", "died"], loss="cox"),
        "failure times": boosting("Survival", ["time", "died"], loss="aft"),
    },
    "others": {
        "random forest": Fit("RandomForestClassifier", "three", {"n_estimators": 8}),
        "extra trees": Fit("ExtraTreesRegressor", "number", {"n_estimators": 8}, {"sample_weight": "weight"}),
        "uplift forest": Fit("UpliftForest", "two", {"n_estimators": 5}, {"treatment": "treated"}),
        "isolation forest": Fit("IsolationForest", None),
        "AdaBoost of stumps": Fit("AdaBoostClassifier", "two", {"n_estimators": 10}),
    },
}
FEW = {"n_estimators": 5, "max_leaf_nodes": 8}  # small histograms: codes are what counts
LIMITED = {
    "squared": boosting(R, "number", **FEW),
    "held-out rows": boosting(C, "two", early_stopping=True, **FEW),
}


def run(options: Options) -> Iterator[Table]:
    """Compare fingerprints."""
    yield equal(options)


def run_limited(options: Options) -> Iterator[Table]:
    """Compare those of fits in little memory."""
    yield limited(options)


def frame_of(rows: int, seed: int = 7) -> Any:
    """Draw numbers, dates, ties, and categories of 3, 60 and some 300 levels, with missing values."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 4)), columns=["a", "b", "c", "d"])
    frame["ties"] = rng.integers(0, 7, rows)
    frame["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, rows), "D")
    frame["colour"] = rng.choice(np.array(["red", "green", "blue", None], object), rows, p=[0.5, 0.3, 0.15, 0.05])
    town, street = rng.integers(0, 60, rows), (300 * rng.random(rows) ** 2).astype(int)  # rare ones too
    frame["town"] = np.where(rng.random(rows) < 0.04, None, np.char.add("t", town.astype(str)))
    frame["street"] = np.char.add("s", street.astype(str))
    frame.loc[rng.random(rows) < 0.1, "b"] = np.nan
    frame.loc[(np.arange(rows) > rows // 2) & (rng.random(rows) < 0.2), "d"] = np.nan
    raw = frame["a"] + frame["b"].fillna(0.5) * frame["c"] + (frame["colour"] == "red") + np.sin(town)
    frame["number"] = raw + 0.3 * frame["ties"] + rng.normal(size=rows)
    frame["two"] = np.where(frame["number"] > 1, "yes", "no")
    frame["three"] = np.array(["low", "middle", "high"])[np.digitize(frame["number"], [0, 2])]
    frame["weight"] = rng.choice([0.0, 0.5, 1.0, 3.0], rows)
    frame["grade"], frame["query"] = np.digitize(frame["number"], [0, 1, 2]), rng.integers(0, rows // 20, rows)
    frame["time"], frame["died"] = np.exp(-0.3 * frame["number"]) + rng.exponential(size=rows), frame["c"] > -0.5
    frame["treated"] = rng.integers(0, 2, rows)
    return frame


def partings(rows: int) -> dict[str, list[int]]:
    """Return sizes of partitions."""
    return {
        "1": [rows],
        "7": _even(rows, 7),
        "20": _even(rows, 20),
        "uneven": [rows // 100, rows - rows // 100 - rows // 50, rows // 50],
        "one empty": [*_even(rows // 2, 2), 0, *_even(rows - rows // 2, 3)],
    }


def _even(rows: int, parts: int) -> list[int]:
    return np.diff(np.linspace(0, rows, parts + 1).astype(int)).tolist()


# ---- any workers, any partitions -------------------------------------------------------------------------------------


def equal(options: Options) -> Table:
    """Fit in one process, then on 1 worker and more, for all partitions."""
    rows = options.part(ROWS)
    fits = {f"{kind}: {name}": fit for kind, some in FITS.items() for name, fit in some.items()}
    counts = range(1, options.workers + 1)
    title = (
        f"{rows:,} rows, {ROUNDS} rounds; workers {counts.start} to {counts[-1]} × partitions "
        f"{', '.join(partings(rows))}; each against one process without Dask"
    )
    columns = (Column("runs", "runs"), Column("other", "other models", 1), Column("seconds", "s a run"))
    table = Table("cluster-equal", title, columns, rows_are="fit")
    frame, held = frame_of(rows), frame_of(rows // 5, seed=8)
    alone = {name: fit.fingerprint(fit.frame(frame), fit.frame(held)) for name, fit in fits.items()}
    table.rows = {name: {"runs": 0, "other": 0, "seconds": 0.0} for name in fits}
    for workers in counts:
        with cluster(workers), many_places():
            for name, fit in fits.items():
                _on(workers, name, fit, frame, held, alone[name], table, options)
    for row in table.rows.values():
        assert isinstance(row, dict)
        row["seconds"] /= row["runs"]
    return table


def _on(workers: int, name: str, fit: Fit, frame: Any, held: Any, alone: str, table: Table, options: Options) -> None:
    from tempfile import TemporaryDirectory

    row = table.rows[name]
    assert isinstance(row, dict)
    with TemporaryDirectory(dir=options.folder) as folder:
        judging = partitions(files_of(Path(folder) / "held", fit.frame(held), _even(len(held), 3)))
        for parting, sizes in partings(len(frame)).items():
            parts = partitions(files_of(Path(folder) / parting, fit.frame(frame), sizes))
            start = perf_counter()
            what = f"{name}, {workers} workers, partitions {parting}"
            try:
                same = within(options.patience, lambda parts=parts: fit.fingerprint(parts, judging), what) == alone
                problem = "another model"
            except Exception as error:
                same, problem = False, f"{type(error).__name__}: {error}"
            row["runs"] += 1
            row["other"] += not same
            row["seconds"] += perf_counter() - start
            if not same:
                table.notes.append(f"{what}: {problem}")
    say(f"equal {name} on {workers}: {row['other']} of {row['runs']} other")


# ---- little memory ---------------------------------------------------------------------------------------------------


def limited(options: Options) -> Table:
    """Fit a wide table on workers that may not hold 60 % of its codes."""
    rows, workers = options.part(WIDE_ROWS), 2 * options.workers
    codes = rows * WIDE_COLUMNS
    columns = (
        Column("limit_mb", "limit above idle MB"),
        Column("peak_mb", "peak above idle MB"),
        Column("share", "peak / all codes"),
        Column("other", "other models", 1),
        Column("seconds", "s"),
    )
    title = f"{rows:,} × {WIDE_COLUMNS}, codes of {codes / MEGABYTE:.0f} MB, {workers} workers that end at their limit"
    table = Table("cluster-limited", title, columns, rows_are="fit")
    table.notes.append("nannies look every 20 ms; the peak is the kernel's own mark, of the worker that holds most")
    if codes < LEAST_CODES:
        table.rows["all"] = f"not run: codes of less than {LEAST_CODES / MEGABYTE:.0f} MB; use more --rows"
        return table
    frame = wide_frame(rows)
    folder = options.folder / f"wide-{rows}"
    files = sorted(folder.iterdir()) if folder.exists() else files_of(folder, frame, _sizes(rows))
    idle = idle_of_worker(options)
    limit = idle + round(SHARE * codes)
    for name, fit in LIMITED.items():
        alone = fit.fingerprint(fit.frame(frame), None)
        row = {"limit_mb": SHARE * codes / MEGABYTE}
        table.rows[name] = row
        with cluster(workers, memory_limit=limit, settings=ENDED_AT_LIMIT) as client, many_places():
            parts = [_without(fit, part) for part in partitions(files)]
            start = perf_counter()
            try:
                warm_up(workers, options.folder)
                client.run(idle_bytes)
                found = within(options.patience, lambda parts=parts, fit=fit: fit.fingerprint(parts, None), name)
                row |= {"other": float(found != alone)}
                peak = max(client.run(peak_bytes).values()) - idle
                row |= {"peak_mb": peak / MEGABYTE, "share": peak / codes}
            except Exception as error:
                row |= {"other": 1.0}
                table.notes.append(f"{name}: {type(error).__name__}: {error}")
            row["seconds"] = perf_counter() - start
        say(f"limited {name}", row)
    return table


def _sizes(rows: int) -> list[int]:
    return _even(rows, max(8, rows // WIDE_PART_ROWS))


def _without(fit: Fit, part: Any) -> Any:
    from dask.delayed import delayed

    return delayed(fit.frame)(part)


def wide_frame(rows: int) -> Any:
    """Draw many columns of numbers."""
    import pandas as pd

    rng = np.random.default_rng(5)
    X = rng.standard_normal((rows, WIDE_COLUMNS), dtype=np.float32)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(WIDE_COLUMNS)])
    frame["number"] = X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(rows)
    frame["two"] = np.where(frame["number"] > 0, "yes", "no")
    return frame


def idle_of_worker(options: Options) -> int:
    """Return the resident memory of a worker that has fitted something small."""
    with cluster(2) as client:
        warm_up(2, options.folder)
        return max(client.run(idle_bytes).values())
