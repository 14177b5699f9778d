"""Nothing turns back: a file is read once, a model is encoded once, a row is predicted once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.cli.shop import N_ROWS, Run

import arboretum as arb
from arboretum.data import sources
from arboretum.data.selection import n_rows_of
from arboretum.model import encodings
from arboretum.tasks import ANOMALY, BINARY, MULTICLASS

PREDICTING = ("predict", "predict_proba", "decision_function", "score_samples")


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the scans of CSV files in plans of DuckDB, which are run or copied out."""
    found: list[str] = []

    class Watched(sources.Interruptible):
        def execute(self, query: str) -> Any:
            if not query.startswith(("SET", "DESCRIBE", "CREATE VIEW", "EXPLAIN")):
                plan = self.connection.execute(f"EXPLAIN {query}").fetchall()[0][1]
                found.extend(["READ_CSV"] * plan.count("READ_CSV"))
            return super().execute(query)

    monkeypatch.setattr(sources, "Interruptible", Watched)
    return found


@pytest.mark.parametrize("limit", [(), ("--memory-limit", "400MB")], ids=["in memory", "limited"])
@pytest.mark.parametrize(
    "words",
    [
        ["train", "shop.csv", "-t", "sold", "--kind", "size=category", "-m", "forest", "--date-format", "day=%Y-%m-%d"],
        ["predict", "kept.arb", "shop.csv", "-o", "p.csv"],
        ["evaluate", "kept.arb", "shop.csv"],
        ["report", "kept.arb", "shop.csv"],
        ["explain", "kept.arb", "shop.csv"],
        ["compare", "shop.csv", "-t", "sold", "-m", "tree"],
    ],
    ids=lambda words: words[0],
)
def test_a_csv_file_is_read_once(
    run: Run, shop: Path, model: Path, scans: list[str], words: list[str], limit: tuple[str, ...]
) -> None:
    if limit and words[0] in ("explain", "compare"):
        pytest.skip("the command has no limit to memory")
    ran = run(*words, *limit)
    assert ran.code == 0, ran.err
    assert scans == ["READ_CSV"]


def test_a_model_is_encoded_once(run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: Counter[str] = Counter()
    for name, of in (("encode", encodings.encode), ("decode", encodings.decode)):

        def counted(*given: Any, name: str = name, of: Any = of) -> Any:
            counts[name] += 1
            return of(*given)

        monkeypatch.setattr(encodings, name, counted)
    assert run("train", shop, "-t", "sold", "-m", "forest", "--set", "n_estimators=3").code == 0
    assert counts == {"encode": 1}
    assert arb.load("model.arb").classes_.tolist() == ["no", "yes"]


@pytest.fixture
def predicted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collect how many rows each call that predicts is given, but for calls that come from another of them."""
    rows: list[int] = []
    depth = 0
    for cls in (arb.BoostedTreesClassifier, arb.RandomForestClassifier, arb.IsolationForest):
        for name in PREDICTING:
            of = getattr(cls, name, None)
            if of is None:
                continue

            def counted(self: Any, X: Any, *given: Any, of: Any = of, **named: Any) -> Any:
                nonlocal depth
                rows.extend([n_rows_of(X)] if not depth else [])
                depth += 1
                try:
                    return of(self, X, *given, **named)
                finally:
                    depth -= 1

            monkeypatch.setattr(cls, name, counted)
    return rows


@pytest.mark.parametrize(
    "words",
    [["-t", "sold"], ["-t", "zip", "-m", "forest"], ["-m", "isolation"]],
    ids=["boosted", "forest", "isolation"],
)
def test_a_row_is_predicted_once(run: Run, shop: Path, predicted: list[int], words: list[str]) -> None:
    assert run("train", shop, *words, "--holdout", 0.25, "--set", "n_estimators=7").code == 0
    assert sum(predicted) == (0 if "isolation" in words else N_ROWS // 4)
    predicted.clear()
    assert run("predict", "model.arb", shop, "-o", "p.parquet").code == 0
    found = pa.parquet.read_table("p.parquet")
    chances = np.sort([found[name].to_numpy() for name in found.column_names if name.startswith("prob")], axis=0)
    n_ties = (chances[-1] == chances[-2]).sum() if len(chances) else 0
    assert n_ties < N_ROWS // 10
    assert predicted == [N_ROWS, n_ties][: 1 + (n_ties > 0)]
    if "isolation" not in words:
        predicted.clear()
        assert run("evaluate", "model.arb", shop).code == 0
        assert predicted == [N_ROWS]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "cls", [arb.BoostedTreesClassifier, arb.RandomForestClassifier, arb.AdaBoostClassifier, arb.BaggingClassifier]
)
def test_labels_of_files_are_those_of_predict(cls: Any, n_classes: int) -> None:
    random = np.random.default_rng(n_classes)
    X = pa.table({"a": random.integers(0, 4, 300), "b": random.integers(0, 4, 300)})
    model = cls(n_estimators=2).fit(X, random.integers(0, n_classes, 300))
    found = (BINARY if n_classes == 2 else MULTICLASS).columns(model, X)
    assert found["prediction"].tolist() == model.predict(X).tolist()
    assert found["prediction"].dtype == model.predict(X).dtype


def test_scores_that_differ_less_than_their_probabilities_can_tell() -> None:
    X = pa.table({"a": [0.0, 1.0] * 20})
    offset = np.where(np.arange(40) < 20, 1e-17, -1e-17)
    model = arb.BoostedTreesClassifier(n_estimators=1, learning_rate=1e-30).fit(X, [0, 1, 1, 0] * 10)
    assert np.unique(model.predict_proba(X, offset=offset)).tolist() == [0.5]
    assert BINARY.columns(model, X, offset=offset)["prediction"].tolist() == [1] * 20 + [0] * 20


def test_anomalies_of_files_are_those_of_predict() -> None:
    X = pa.table({"a": np.random.default_rng(0).normal(size=200)})
    model = arb.IsolationForest(n_estimators=20, contamination=0.1).fit(X)
    found = ANOMALY.columns(model, X)
    assert found["prediction"].tolist() == model.predict(X).tolist()
    assert found["prediction"].dtype == model.predict(X).dtype
    assert (found["prediction"] < 0).sum() == 20
