"""Datasets of Dask's collections: the rows of the computed frame, one partition at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import arboretum as arb

dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")


def frame(n_rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"a": rng.normal(size=n_rows), "n": rng.integers(0, 9, n_rows)})
    rows["town"] = pd.Categorical(rng.choice(["Oslo", "Rome", None], n_rows))
    rows["text"] = rng.choice(["x", "y"], n_rows)
    rows.loc[:199, "text"] = None  # in the first half, nothing tells the type
    rows["target"] = rows["a"] + rows["n"] * (rows["text"] == "x") + rng.normal(size=n_rows)
    return rows


def fitted(X: Any, y: Any = None) -> str:
    given = {"target": "target"} if y is None else {"y": y}
    return str(arb.BoostedTreesRegressor(n_estimators=4).fit(X, **given).fingerprint())


def test_the_model_is_that_of_the_computed_frame() -> None:
    rows = frame()
    expected = fitted(rows.drop(columns="target"), rows["target"])
    parts = [dask.delayed(part) for part in (rows[:0], rows[:100], rows[100:200], rows[200:])]
    for collection in (dd.from_pandas(rows, npartitions=3, sort=False), parts):
        dataset = arb.Dataset.from_dask(collection)
        assert (dataset.names, dataset.n_rows) == (list(rows), 400)
        assert fitted(dataset) == expected
    numbers = rows[["a", "n"]].to_numpy()
    chunks = da.from_array(numbers, chunks=(150, 1))
    assert fitted(arb.Dataset.from_dask(chunks), rows["target"]) == fitted(numbers, rows["target"])


@pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler")  # beside the client of other tests
def test_partitions_are_computed_one_at_a_time_in_every_pass() -> None:
    computed: list[int] = []

    def part(number: int) -> pd.DataFrame:
        computed.append(number)
        return frame()[number * 100 : number * 100 + 100]

    dataset = arb.Dataset.from_dask([dask.delayed(part)(number) for number in range(4)])
    with dask.config.set(scheduler="synchronous"):
        assert dataset.n_rows == 400
        first = next(dataset.batches())
        assert (first.num_rows, computed) == (100, [0, 1, 2, 3, 0])


def test_what_is_wrong_is_named() -> None:
    with pytest.raises(TypeError, match="collection is a DataFrame: give a Dask frame, a Dask array"):
        arb.Dataset.from_dask(frame())
    parts = [dask.delayed({"a": [1.0]}), dask.delayed({"b": [1.0]})]
    with pytest.raises(ValueError, match="partition 1 has other columns than the first part: missing 'a'; unexpected"):
        arb.Dataset.from_dask(parts).schema
