"""Try an installed package from outside of pytest, and print a fingerprint of each kind of model.

    python .ci/smoke.py                   models and their files
    python .ci/smoke.py cli plot frames   and what these extras add; "frames" needs pandas, polars and pyarrow
    python .ci/smoke.py alone             and what the command says without its extra

Equal lines mean equal models: compare Pythons, versions of dependencies, compilers and processors by diff.
The data come from integer arithmetic, so that they are the same everywhere too.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import numpy as np

import arboretum as arb

N_ROWS = 1200


def draw(seed: int, n: int, n_values: int) -> np.ndarray:
    """Return whole numbers below ``n_values``: 32-bit multiplication and mixing of a counter."""
    x = (np.arange(n, dtype=np.uint64) + np.uint64(seed << 20)) * np.uint64(2654435761) % np.uint64(1 << 32)
    x = (x ^ (x >> np.uint64(15))) * np.uint64(2246822519) % np.uint64(1 << 32)
    return ((x ^ (x >> np.uint64(13))) % np.uint64(n_values)).astype(np.int64)


def columns() -> dict[str, np.ndarray]:
    """Return two numbers with holes, a whole number and a category with holes."""
    price = draw(1, N_ROWS, 10_000) / 64
    size = draw(2, N_ROWS, 500) / 8 - 20
    size[draw(3, N_ROWS, 10) == 0] = np.nan
    town = np.array(["Bern", "Chur", "Genf", "Oslo", None], dtype=object)[draw(4, N_ROWS, 5)]
    return {"price": price, "size": size, "rooms": draw(5, N_ROWS, 7).astype(np.float64), "town": town}


COLUMNS = columns()
TABLE = np.column_stack([column.astype(object) for column in COLUMNS.values()])
NUMBERS = np.column_stack([COLUMNS["price"], COLUMNS["size"], COLUMNS["rooms"]])
SCORE = (
    COLUMNS["price"] * 0.25
    + np.nan_to_num(COLUMNS["size"], nan=8.0)
    - 3 * COLUMNS["rooms"]
    + 10 * (COLUMNS["town"] == "Genf")
    + draw(6, N_ROWS, 100) / 8
)
BINARY = SCORE > 20
CLASSES = np.array(["low", "mid", "high"])[(SCORE > 10).astype(int) + (SCORE > 30)]
TIMES = np.column_stack([1 + SCORE - SCORE.min(), draw(7, N_ROWS, 4) > 0])


def models() -> dict[str, Any]:
    """Fit one model of each kind."""
    few: dict[str, Any] = {"n_estimators": 25, "random_state": 7}
    return {
        "boosting, categories and missing values": arb.BoostedTreesClassifier(**few).fit(TABLE, BINARY),
        "boosting, numbers": arb.BoostedTreesRegressor(**few).fit(NUMBERS, SCORE),
        "boosting, classes": arb.BoostedTreesClassifier(**few).fit(TABLE, CLASSES),
        "boosting, symmetric, samples": arb.BoostedTreesRegressor(growth="symmetric", sampling="goss", **few).fit(
            TABLE, SCORE
        ),
        "ranking": arb.BoostedTreesRanker(**few).fit(NUMBERS, draw(8, N_ROWS, 4), group=np.arange(N_ROWS) // 12),
        "forest": arb.RandomForestClassifier(**few).fit(TABLE, CLASSES),
        "extra trees": arb.ExtraTreesRegressor(**few).fit(TABLE, SCORE),
        "tree": arb.DecisionTreeClassifier(max_depth=5).fit(TABLE, CLASSES),
        "AdaBoost": arb.AdaBoostClassifier(**few).fit(TABLE, BINARY),
        "isolation": arb.IsolationForest(**few).fit(TABLE),
        "survival, boosting": arb.BoostedTreesSurvival(**few).fit(TABLE, TIMES),
        "survival, forest": arb.RandomSurvivalForest(**few).fit(TABLE, TIMES),
        "uplift": arb.UpliftForest(**few).fit(TABLE, BINARY, draw(9, N_ROWS, 2)),
    }


def answers(model: Any, table: Any) -> np.ndarray:
    """Return what the model says of rows."""
    return np.asarray(model.predict_proba(table) if hasattr(model, "predict_proba") else model.predict(table))


def check_files(name: str, model: Any) -> None:
    """Save, load and pickle; all say the same."""
    table = NUMBERS if model.n_features_in_ == NUMBERS.shape[1] else TABLE
    told = answers(model, table)
    assert len(told) == N_ROWS, name
    model.save("model.arb")
    for again in (arb.load("model.arb"), pickle.loads(pickle.dumps(model))):
        assert again.fingerprint() == model.fingerprint(), name
        assert np.array_equal(answers(again, table), told), name


def command(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command that is installed beside this Python."""
    program = Path(sys.executable).with_name("arboretum.exe" if os.name == "nt" else "arboretum")
    return subprocess.run([str(program), *words], capture_output=True, text=True, encoding="utf-8", check=False)


def write_csv() -> None:
    """Write the table and the answers as shop.csv."""
    lines = [",".join([*COLUMNS, "sold"])]
    for row, sold in zip(zip(*COLUMNS.values(), strict=True), BINARY, strict=True):
        cells = ["" if value is None or value != value else str(value) for value in row]
        lines.append(",".join([*cells, "yes" if sold else "no"]))
    Path("shop.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def check_alone() -> None:
    """Check that the command without its extra says what to install."""
    ran = command("--help")
    assert ran.returncode == 2, ran
    assert ran.stderr == "error: the command needs its extra: pip install 'arboretum[cli]'\n", ran


def check_data() -> None:
    """Train on a file."""
    write_csv()
    features, sold = arb.Dataset.from_csv("shop.csv").to_frame().drop(["sold"]), BINARY
    told = answers(arb.BoostedTreesClassifier(n_estimators=5).fit(features, sold), features)
    streamed = arb.BoostedTreesClassifier(n_estimators=5).fit(arb.Dataset.from_csv("shop.csv"), "sold")
    assert np.array_equal(answers(streamed, features), told)


def check_cli() -> None:
    """Train, predict and report by the command."""
    write_csv()
    for words in (
        "train shop.csv -t sold -o shop.arb --set n_estimators=20 --report page.html --json",
        "predict shop.arb shop.csv -o sold.parquet",
        "evaluate shop.arb shop.csv --json",
        "demo --rows 1000 --json",
    ):
        ran = command(*words.split())
        assert ran.returncode == 0, (words, ran.stdout, ran.stderr)
        if words.startswith("train"):
            assert json.loads(ran.stdout)["fingerprint"] == arb.load("shop.arb").fingerprint()
    assert Path("sold.parquet").stat().st_size > 1000
    assert "</html>" in Path("page.html").read_text(encoding="utf-8")


def check_dask() -> None:
    """Fit on a cluster of two processes, and score there."""
    import dask.dataframe as dd
    import pandas as pd
    from distributed import Client

    frame = pd.DataFrame({**COLUMNS, "score": SCORE})
    rows = pd.concat([frame] * 50, ignore_index=True)  # enough for several workers
    told = arb.BoostedTreesRegressor(n_estimators=3).fit(rows, target="score")
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        parts = dd.from_pandas(rows, npartitions=4, sort=False)
        model = arb.BoostedTreesRegressor(n_estimators=3).fit(parts, target="score")
        assert model.fingerprint() == told.fingerprint()
        assert model.score(parts, target="score") == told.score(rows, target="score")
        assert len(client.scheduler_info()["workers"]) == 2
    streamed = arb.BoostedTreesRegressor(n_estimators=3).fit(arb.Dataset.from_dask(parts), target="score")
    assert streamed.fingerprint() == told.fingerprint()


def check_foreign() -> None:
    """Save members of scikit-learn with skops, and load them."""
    from sklearn.linear_model import LinearRegression

    table = np.nan_to_num(NUMBERS)
    model = arb.BaggingRegressor(estimator=LinearRegression(), n_estimators=3).fit(table, SCORE)
    model.save("lines.arb", foreign="skops")
    assert np.array_equal(arb.load("lines.arb", foreign="skops").predict(table), model.predict(table))


def check_plot() -> None:
    """Draw a tree."""
    import matplotlib as mpl

    mpl.use("Agg")
    axes = arb.DecisionTreeClassifier(max_depth=3).fit(NUMBERS, BINARY).plot_tree()
    axes.figure.savefig("tree.png")


def check_progress() -> None:
    """Show a bar."""
    with redirect_stderr(io.StringIO()) as shown:
        arb.BoostedTreesRegressor(n_estimators=3, verbose=1).fit(NUMBERS, SCORE)
    assert "round 3/3" in shown.getvalue(), shown.getvalue()


def check_frames() -> None:
    """Compare models of all kinds of data frames, and look into one of them."""
    import pandas as pd
    import polars as pl

    pandas = pd.DataFrame(COLUMNS)
    polars = pl.DataFrame({**COLUMNS, "town": COLUMNS["town"].tolist()}, nan_to_null=True)
    told = set()
    for frame in (pandas, polars, pandas.assign(town=pandas["town"].astype("category")), polars.to_arrow()):
        model = arb.RandomForestClassifier(n_estimators=5).fit(frame, CLASSES)
        told.add(answers(model, frame).tobytes())
    assert len(told) == 1
    assert model.explain(polars).values.shape[0] == N_ROWS
    assert model.importances().feature_names == list(COLUMNS)


CHECKS: dict[str, Callable[[], None]] = {
    "alone": check_alone,
    "data": check_data,
    "cli": check_cli,
    "dask": check_dask,
    "foreign": check_foreign,
    "plot": check_plot,
    "progress": check_progress,
    "frames": check_frames,
}


def main(checks: list[str]) -> None:
    """Run the checks in an empty folder, and print the fingerprints."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        fitted = models()
        for name, model in fitted.items():
            check_files(name, model)
        for check in checks:
            CHECKS[check]()
        os.chdir("/")
    for name, model in fitted.items():
        print(f"{model.fingerprint()}  {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
