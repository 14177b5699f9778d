"""Scores of Dask collections: those of the computed frames, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.reference.every_estimator import CASES, Case

import arboretum as arb
from arboretum.cluster.scoring import KnownAnswers

dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")
delayed = pytest.importorskip("dask.delayed").delayed

SCORED = [case for case in CASES if hasattr(getattr(arb, case.name), "score")]


@pytest.mark.parametrize("case", SCORED, ids=str)
def test_every_score_follows_from_predictions(case: Case) -> None:
    rows = case.problem(60)
    model, given = case.fitted(rows), {name: values for name, values in rows.items() if name != "X"}
    assert model.score(KnownAnswers(model.predict(rows["X"])), **given) == model.score(rows["X"], **given)


def frame(n_rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    rows = pd.DataFrame({"a": rng.normal(size=n_rows), "colour": rng.choice(["red", "blue", None], n_rows)})
    rows["y"] = rows["a"] + (rows["colour"] == "red") + rng.normal(size=n_rows)
    rows["z"] = rows["a"] - rng.normal(size=n_rows)
    rows["w"] = rng.integers(1, 4, n_rows) / 3
    return rows


@pytest.fixture(scope="module")
def model() -> arb.BoostedTreesRegressor:
    return arb.BoostedTreesRegressor(n_estimators=5).fit(frame()[["a", "colour"]], frame()["y"])


def test_columns_are_named_or_given_beside(client: Any, model: arb.BoostedTreesRegressor) -> None:
    rows = frame()
    X = rows[["a", "colour"]]
    named = dd.from_pandas(rows[["a", "colour", "y", "w"]], npartitions=4, sort=False)
    beside = dd.from_pandas(rows, npartitions=4, sort=False)
    parts = [delayed(rows[:0]), delayed(rows[:100]), delayed(rows[100:])]
    weighted = model.score(X, rows["y"], rows["w"])
    assert model.score(named, target="y", sample_weight="w") == weighted
    assert model.score(beside[["a", "colour"]], beside["y"], beside["w"]) == weighted
    assert model.score([delayed(part.compute())[["a", "colour", "y"]] for part in parts], target="y") == model.score(
        X, rows["y"]
    )


def test_offsets_and_several_targets(client: Any) -> None:
    rows = frame()
    ddf = dd.from_pandas(rows, npartitions=3, sort=False)
    counted = arb.BoostedTreesRegressor(n_estimators=5).fit(rows[["a"]], rows["y"], offset=rows["z"])
    assert counted.score(ddf[["a", "y", "z"]], target="y", offset="z") == counted.score(
        rows[["a"]], rows["y"], offset=rows["z"]
    )
    both = arb.RandomForestRegressor(n_estimators=3).fit(rows[["a"]], rows[["y", "z"]])
    assert both.score(ddf[["a", "y", "z"]], target=["y", "z"]) == both.score(rows[["a"]], rows[["y", "z"]])


def test_classes_of_arrays(client: Any) -> None:
    rows = frame()
    X, y = rows[["a", "z"]].to_numpy(), np.where(rows["y"] > 0, "yes", "no")
    model = arb.RandomForestClassifier(n_estimators=3).fit(X, y)
    chunks = (250, 1)
    assert model.score(da.from_array(X, chunks=chunks), da.from_array(y, chunks=250)) == model.score(X, y)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({}, ValueError, "a Dask collection needs target=, the name of the column to predict"),
        ({"target": "Y"}, ValueError, "did you mean 'y'"),
        ({"y": np.zeros(600)}, TypeError, "X is a Dask collection, but y is a ndarray: name a column of X, as target="),
        ({"y": "y", "target": "y"}, TypeError, "both y and target are given"),
    ],
)
def test_errors_name_what_is_wrong(
    client: Any, model: arb.BoostedTreesRegressor, arguments: dict[str, Any], kind: type[Exception], message: str
) -> None:
    ddf = dd.from_pandas(frame()[["a", "colour", "y"]], npartitions=2, sort=False)
    with pytest.raises(kind, match=message):
        model.score(ddf, **arguments)


def test_rows_to_explain_are_computed_here(client: Any, model: arb.BoostedTreesRegressor) -> None:
    rows = frame(60)
    ddf = dd.from_pandas(rows[["a", "colour"]], npartitions=2, sort=False)
    np.testing.assert_array_equal(model.explain(ddf).values, model.explain(rows[["a", "colour"]]).values)
    assert model.importances(ddf, rows["y"]).feature_names == ["a", "colour"]
