"""``python -m benchmarks findings``: false alarms of reports on clean tables, and how many planted faults they find."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import timed
from benchmarks.planted_faults import FAULTS, Fault, Planting, Split
from benchmarks.real_sets import SETS, RealSet, read_frame, text_and_numbers
from benchmarks.table import Column, Table

GRADES = ("serious", "caution", "note")
TEST_SHARE = 0.25
MAX_ROWS = 500  # of permutations

CHOSEN: dict[str, RealSet] = {
    **SETS,
    "flights": RealSet(
        "regression",
        "flights_nyc13/flights.parquet",
        "air_time",
        drop=("dep_time", "dep_delay", "arr_time", "arr_delay", "tailnum", "time_hour"),
    ),
}
# Tables that no limit was chosen by: what is found there is what users may expect.
CHECKED: dict[str, RealSet] = {
    "titanic": RealSet(
        "binary", "titanic/titanic_kaggle_train.csv", "Survived", drop=("PassengerId", "Name", "Ticket", "Cabin")
    ),
    "ring": RealSet("binary", "pmlb/ring.tsv.gz", "target"),
    "twonorm": RealSet("binary", "pmlb/twonorm.tsv.gz", "target"),
    "mushroom": RealSet("binary", "pmlb/mushroom.tsv.gz", "target"),
    "car": RealSet("multiclass", "pmlb/car.tsv.gz", "target"),
    "pendigits": RealSet("multiclass", "pmlb/pendigits.tsv.gz", "target"),
    "waveform": RealSet("multiclass", "pmlb/waveform_40.tsv.gz", "target"),
    "shuttle": RealSet("multiclass", "pmlb/shuttle.tsv.gz", "target"),
    "iris": RealSet("multiclass", "ydf_test_data/iris.csv.gz", "class"),
    "houses": RealSet("regression", "pmlb/537_houses.tsv.gz", "target"),
    "fried": RealSet("regression", "pmlb/564_fried.tsv.gz", "target"),
    "2dplanes": RealSet("regression", "pmlb/215_2dplanes.tsv.gz", "target"),
    "lowbwt": RealSet("regression", "pmlb/1193_BNG_lowbwt.tsv.gz", "target"),
    "echo_months": RealSet("regression", "pmlb/1199_BNG_echoMonths.tsv.gz", "target"),
    "claims": RealSet(
        "regression", "insurance/SingaporeAuto.csv.gz", "Clm_Count", drop=("rownames", "SexInsured", "LNWEIGHT")
    ),
}
OF_EXPLAIN = "beware of …"  # what ``arboretum explain`` says of columns
OF_MODELS = (
    "worse than the baseline",
    "no better than the baseline",
    "overfitted",
    "not calibrated",
    "often asked, of no effect",
    OF_EXPLAIN,
)
PLANTED_IN = ("adult", "bank", "phoneme", "satimage", "california", "abalone", "cpu_act", "house_8L")


@dataclass(frozen=True)
class Alarm:
    """A finding of one report.

    A clean table may be given to a model that is bad for it: what a second report, on rows of the same table that
    neither the model nor the first report has seen, finds again in the model is ``confirmed``. What is said about the
    columns of a random holdout is false however often it is said.
    """

    grade: str
    kind: str
    column: str | None
    confirmed: bool = False


@dataclass
class Counts:
    """Findings of many reports, by kind and grade."""

    reports: int = 0
    with_any: Counter[str] = field(default_factory=Counter)  # grade → reports
    found: Counter[tuple[str, str]] = field(default_factory=Counter)  # (kind, grade) → reports
    unconfirmed: Counter[tuple[str, str]] = field(default_factory=Counter)  # (kind or "any", grade) → reports

    def add(self, alarms: Sequence[Alarm]) -> None:
        self.reports += 1
        self.with_any.update({alarm.grade for alarm in alarms})
        self.found.update({(alarm.kind, alarm.grade) for alarm in alarms})
        doubtful = [alarm for alarm in alarms if not alarm.confirmed]
        self.unconfirmed.update({(kind, alarm.grade) for alarm in doubtful for kind in (alarm.kind, "any")})


# ---- models and tables ----------------------------------------------------------------------------------------------

Maker = Callable[[], Any]


def models_of(kind: str, y: NDArray[Any]) -> dict[str, Maker]:
    """Return what is fitted to a clean table: models as they come, and such as judge by other losses."""
    import arboretum as arb

    if kind == "survival":
        return {"boosted": arb.BoostedTreesSurvival, "forest": arb.RandomSurvivalForest}
    if kind == "ranking":
        return {"boosted": arb.BoostedTreesRanker}
    if kind == "uplift":
        return {"forest": arb.UpliftForest, "boosted": arb.UpliftBoostedTrees}
    if kind == "anomaly":
        return {"isolation": arb.IsolationForest}
    if kind != "regression":
        ordered = kind == "multiclass" and len(np.unique(y)) < 8
        return {
            "boosted": arb.BoostedTreesClassifier,
            "forest": arb.RandomForestClassifier,
            **({"ordinal": lambda: arb.BoostedTreesClassifier(loss="ordinal")} if ordered else {}),
        }
    counts = (y >= 0).all() and (y == np.floor(y)).all() and y.max() < 100
    return {
        "boosted": arb.BoostedTreesRegressor,
        "forest": arb.RandomForestRegressor,
        "0.1-quantile": lambda: arb.BoostedTreesRegressor(loss="quantile", quantile=0.1),
        "absolute error": lambda: arb.BoostedTreesRegressor(loss="absolute_error"),
        **({"poisson": lambda: arb.BoostedTreesRegressor(loss="poisson")} if counts else {}),
    }


def splits_of(real: RealSet, folder: Path, rows: int, seeds: int) -> Iterator[tuple[int, Split, Split | None]]:
    """Yield random holdouts of a table, each with the same training rows beside other ones, if the table has more."""
    X, y = real.read(folder, 2 * rows)
    if real.kind == "regression":
        X, y = X[np.isfinite(y)], y[np.isfinite(y)]
    n = min(rows, len(y))
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(y))
        train, *parts = np.split(order, [round(n * (1 - TEST_SHARE)), n])
        if real.kind != "regression":  # a class that no training row has cannot be judged
            parts = [part[np.isin(y[part], y[train])] for part in parts]
        made = [Split(real.kind, X.iloc[train], y[train], X.iloc[part], y[part], {}, {}) for part in parts]
        yield seed, made[0], made[1] if len(parts[1]) else None


def other_tasks(folder: Path, rows: int, seeds: int) -> Iterator[tuple[str, int, Split]]:
    """Yield random holdouts of tables of survival, queries, treatments and anomalies, as far as they are there."""
    for name, read in OTHER_TASKS.items():
        try:
            splits = [read(folder, rows, np.random.default_rng(seed)) for seed in range(seeds)]
        except FileNotFoundError:
            print(f"{name} skipped: {folder} does not hold it")
            continue
        yield from ((name, seed, split) for seed, split in enumerate(splits))


def parts(n: int, draw: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    order = draw.permutation(n)
    return order[: round(n * (1 - TEST_SHARE))], order[round(n * (1 - TEST_SHARE)) :]


def survival_split(
    file: str, time: str, event: str, drop: tuple[str, ...]
) -> Callable[[Path, int, np.random.Generator], Split]:
    def read(folder: Path, rows: int, draw: np.random.Generator) -> Split:
        frame = read_frame(folder / file)
        frame = frame.sample(min(rows, len(frame)), random_state=0)
        y = frame[[time, event]].to_numpy(np.float64)
        X = text_and_numbers(frame.drop(columns=[time, event, *drop]), ())
        train, test = parts(len(y), draw)
        return Split("survival", X.iloc[train], y[train], X.iloc[test], y[test], {}, {})

    return read


def ranking_split(folder: Path, rows: int, draw: np.random.Generator) -> Split:
    """Hold whole queries out."""
    frame = read_frame(folder / "mq2008/mq2008.parquet")
    query = frame["qid"].to_numpy()
    names = draw.permutation(np.unique(query))
    held = np.isin(query, names[: round(TEST_SHARE * len(names))])
    y = frame["label"].to_numpy(np.int64)
    X = text_and_numbers(frame[[name for name in frame.columns if name.startswith("f") and name[1:].isdigit()]], ())
    groups = ({"group": query[~held]}, {"group": query[held]})
    return Split("ranking", X[~held], y[~held], X[held], y[held], *groups)


def uplift_split(folder: Path, rows: int, draw: np.random.Generator) -> Split:
    frame = read_frame(folder / "hillstrom/hillstrom.csv.gz").rename(columns=str.lower)
    frame = frame[frame["segment"] != "Mens E-Mail"].sample(min(rows, 20_000), random_state=0)
    treated = (frame["segment"] != "No E-Mail").to_numpy(np.int64)
    y = frame["visit"].to_numpy(np.int64)
    X = text_and_numbers(frame.drop(columns=["segment", "visit", "conversion", "spend"]), ())
    train, test = parts(len(y), draw)
    arms = ({"treatment": treated[train]}, {"treatment": treated[test]})
    return Split("uplift", X.iloc[train], y[train], X.iloc[test], y[test], *arms)


def anomaly_split(folder: Path, rows: int, draw: np.random.Generator) -> Split:
    import pandas as pd

    stored = np.load(folder / "adbench_classical/38_thyroid.npz")
    X = pd.DataFrame(stored["X"]).rename(columns=str)
    train, test = parts(len(X), draw)
    return Split("anomaly", X.iloc[train], stored["y"][train], X.iloc[test], stored["y"][test], {}, {})


OTHER_TASKS: dict[str, Callable[[Path, int, np.random.Generator], Split]] = {
    "gbsg2": survival_split("survival/lifelines_gbsg2.csv", "time", "cens", ()),
    "flchain": survival_split("survival/R_flchain.csv", "futime", "death", ("rownames", "chapter")),
    "rotterdam": survival_split("survival/R_rotterdam.csv", "dtime", "death", ("rownames", "pid", "rtime", "recur")),
    "mq2008": ranking_split,
    "hillstrom": uplift_split,
    "thyroid": anomaly_split,
}


# ---- one report -----------------------------------------------------------------------------------------------------


def fit(model: Any, split: Split, threads: int) -> Any:
    """Fit a model to the training rows."""
    model.set_params(n_jobs=threads)
    if split.kind == "anomaly":
        return model.fit(split.X_train)
    return model.fit(split.X_train, split.y_train, **split.train_arguments)


def alarms_of(model: Any, split: Split) -> list[Alarm]:
    """Return the findings of a report on the held-out rows."""
    from arboretum.report import findings
    from arboretum.report.subject import Subject, read_rows

    is_anomaly = split.kind == "anomaly"
    y, y_train = (None, None) if is_anomaly else (split.y, split.y_train)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        test = read_rows(model, split.X, y, **split.test_arguments)
        train = read_rows(model, split.X_train, y_train, of="_train", **split.train_arguments)
        found = findings.look(Subject(model, model.task_, test, train, MAX_ROWS))
    return [Alarm(finding.grade, finding.kind, finding.column) for finding in found]


def suspects_of(model: Any, split: Split) -> list[Alarm]:
    """Return the columns that ``arboretum explain`` warns of."""
    from arboretum.metrics.own_loss import negative_own_loss

    scoring = negative_own_loss if split.kind in ("binary", "multiclass", "regression") else None
    given = {"scoring": scoring, "shap": False, "max_rows": MAX_ROWS, **split.test_arguments}
    try:
        if split.kind == "anomaly":
            return []
        found = model.importances(split.X, split.y, **given)
    except (TypeError, ValueError):
        return []
    return [Alarm("caution", OF_EXPLAIN, name) for name, _ in found.suspects]


def warnings_of(model: Any, split: Split) -> list[Alarm]:
    """Return what the report and ``arboretum explain`` say."""
    return alarms_of(model, split) + suspects_of(model, split)


# ---- both studies ---------------------------------------------------------------------------------------------------


def clean_reports(sets: dict[str, RealSet], options: argparse.Namespace) -> Iterator[tuple[str, list[Alarm]]]:
    """Yield the alarms of each report on a clean table, with a name that tells table, model and seed."""
    for name, real in sets.items():
        if not real.found(options.data):
            print(f"{name} skipped: {options.data} does not hold it")
            continue
        for seed, split, others in splits_of(real, options.data, options.rows, options.seeds):
            yield from reports_on(name, seed, split, others, options.threads)


def reports_on(
    name: str, seed: int, split: Split, others: Split | None, threads: int
) -> Iterator[tuple[str, list[Alarm]]]:
    for label, make in models_of(split.kind, split.y_train).items():
        model = fit(make(), split, threads)
        alarms = warnings_of(model, split)
        if others is not None and any(alarm.grade != "note" for alarm in alarms):
            again = {(one.kind, one.column) for one in warnings_of(model, others) if one.kind in OF_MODELS}
            alarms = [replace(alarm, confirmed=(alarm.kind, alarm.column) in again) for alarm in alarms]
        yield f"{name}, {label}, seed {seed}", alarms


def clean_table(name: str, title: str, counts: Counts) -> Table:
    """Lay out the alarms on clean tables by kind."""
    columns = [
        Column("serious", "serious", 1),
        Column("false serious", "of these, other rows say no", 1),
        Column("caution", "caution", 1),
        Column("false caution", "of these, other rows say no", 1),
        Column("note", "note", 1),
    ]
    table = Table(f"findings-{name}", f"{title}: {counts.reports} reports", columns, rows_are="warning")
    for kind in ("any", *sorted({kind for kind, _ in counts.found})):
        found = {grade: counts.with_any[grade] if kind == "any" else counts.found[kind, grade] for grade in GRADES}
        doubted = {f"false {grade}": counts.unconfirmed[kind, grade] for grade in GRADES[:2]}
        table.rows[kind] = {name: float(count) for name, count in {**found, **doubted}.items()}
    return table


def study_clean(name: str, title: str, reports: Iterator[tuple[str, list[Alarm]]]) -> tuple[Table, dict[str, Any]]:
    """Count alarms, and keep each of them for ``--json``."""
    counts, written = Counts(), {}
    for label, alarms in reports:
        counts.add(alarms)
        written[label] = [[alarm.grade, alarm.kind, alarm.column, alarm.confirmed] for alarm in alarms]
        grave = [
            f"{alarm.kind}: {alarm.column}{', confirmed' if alarm.confirmed else ''}"
            for alarm in alarms
            if alarm.grade == "serious"
        ]
        print(f"  {label}: {len(alarms)} findings{', SERIOUS ' + '; '.join(grave) if grave else ''}", file=sys.stderr)
    return clean_table(name, title, counts), written


def planted_reports(options: argparse.Namespace) -> Iterator[tuple[Fault, Any, str, bool, str, list[Alarm]]]:
    """Yield (fault, strength, label, found, grade, other serious alarms) of each planted fault."""
    import arboretum as arb

    for name in options.sets.split(","):
        real = {**CHOSEN, **CHECKED}[name]
        if not real.found(options.data):
            continue
        for seed, split, _ in splits_of(real, options.data, options.rows, options.seeds):
            is_number = split.kind == "regression"
            make: Maker = arb.BoostedTreesRegressor if is_number else arb.BoostedTreesClassifier
            clean = fit(make(), split, options.threads)
            gain = clean.importances().kinds["gain"]
            by_importance = [clean.schema_.names[place] for place in np.argsort(-gain)]
            for fault in FAULTS:
                for strength in fault.strengths if split.kind in fault.kinds else ():
                    planting = Planting(strength, np.random.default_rng([seed, 1]), by_importance)
                    changed, column = fault.plant(split, planting)
                    model = clean
                    if fault.model is not None or fault.refit:
                        fresh = make() if fault.model is None else fault.model(clean, strength)
                        model = fit(fresh, changed, options.threads)
                    alarms = alarms_of(model, changed)
                    yield fault, strength, f"{name}, seed {seed}", *matched(fault, column, alarms)


def matched(fault: Fault, column: str | None, alarms: list[Alarm]) -> tuple[bool, str, list[Alarm]]:
    """Return whether the fault was found, the gravest grade it got, and serious alarms that name another column.

    A fault of no single column may well show in several.
    """
    hits = [alarm for alarm in alarms if alarm.kind in fault.found_as and alarm.column in (column, None)]
    grade = min((alarm.grade for alarm in hits), key=GRADES.index, default="")
    others = [alarm for alarm in alarms if alarm.grade == "serious" and alarm.column not in (column, None)]
    return bool(hits), grade, [] if column is None else others


def planted_table(outcomes: dict[tuple[str, str], list[tuple[str, int]]]) -> Table:
    """Lay out the shares of faults that were found."""
    columns = [
        Column("planted", "planted", 1),
        Column("found", "found %"),
        Column("warned", "at least caution %"),
        Column("serious", "serious %"),
        Column("others", "serious alarms of other columns", 1),
    ]
    table = Table("findings-planted", "planted faults that a report finds", columns, rows_are="fault")
    for (name, strength), found in outcomes.items():
        grades = [grade for grade, _ in found]
        share = {
            "found": sum(grade != "" for grade in grades),
            "warned": sum(grade in GRADES[:2] for grade in grades),
            "serious": grades.count("serious"),
        }
        table.rows[f"{name}: {strength}"] = {
            "planted": float(len(found)),
            **{key: 100.0 * count / len(found) for key, count in share.items()},
            "others": float(sum(others for _, others in found)),
        }
    return table


def study_planted(options: argparse.Namespace) -> tuple[Table, dict[str, Any]]:
    """Plant every fault at every strength into some tables, and count those that are found."""
    outcomes: dict[tuple[str, str], list[tuple[str, int]]] = {}
    written: dict[str, Any] = {}
    for fault, strength, label, found, grade, others in planted_reports(options):
        outcomes.setdefault((fault.name, str(strength)), []).append((grade, len(others)))
        written[f"{fault.name}: {strength}, {label}"] = [grade, [[a.kind, a.column] for a in others]]
        print(f"  {fault.name}: {strength}, {label}: {grade if found else '-'}", file=sys.stderr, flush=True)
    order = {(fault.name, str(strength)): None for fault in FAULTS for strength in fault.strengths}
    return planted_table({key: outcomes[key] for key in order if key in outcomes}), written


def run(options: argparse.Namespace) -> int:
    """Run the chosen studies and print their tables."""
    titles = {
        "chosen": "alarms on the clean tables that limits were chosen by",
        "checked": "alarms on clean tables that no limit was chosen by",
        "tasks": "alarms on clean tables of other tasks",
    }

    def clean(name: str) -> Iterator[tuple[str, list[Alarm]]]:
        if name == "tasks":
            for label, seed, split in other_tasks(options.data, options.rows, options.seeds):
                yield from reports_on(label, seed, split, None, options.threads)
        else:
            yield from clean_reports(CHOSEN if name == "chosen" else CHECKED, options)

    written: dict[str, Any] = {}
    for name in options.studies.split(","):
        if name == "planted":
            seconds, (table, details) = timed(lambda: study_planted(options))
        elif name in titles:
            seconds, (table, details) = timed(lambda: study_clean(name, titles[name], clean(name)))  # noqa: B023
        else:
            print(f"no study is called {name!r}; there are: {', '.join(titles)}, planted", file=sys.stderr)
            return 2
        print(table.markdown() if options.markdown else table.text(), end="\n\n", flush=True)
        print(f"  {name} {seconds:.0f} s", file=sys.stderr)
        written[name] = {"table": table.as_json(), "reports": details}
        if options.json:
            options.json.write_text(json.dumps(written, indent=1, ensure_ascii=False))
    return 0


def add_options(command: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """Describe the command line."""
    command.set_defaults(run=run)
    add = command.add_argument
    add("--data", type=Path, required=True, help="folder with real data sets")
    add("--studies", default="chosen,checked,tasks,planted", help="comma-separated; default: %(default)s")
    add("--sets", default=",".join(PLANTED_IN), help="tables that faults are planted in; default: %(default)s")
    add("--rows", type=positive, default=4_000, help="most rows of a table")
    add("--seeds", type=positive, default=3, help="random holdouts of each table")
