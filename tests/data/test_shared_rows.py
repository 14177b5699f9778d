"""Laws of rows that every place has: they are those of one place."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.reference.in_places import in_places, parted

from arboretum.data import shared_rows
from arboretum.data.binning import assign_bins, bin_values, learn_bins
from arboretum.data.dataset import Dataset
from arboretum.data.shared_rows import PlacedTable, shared_codes
from arboretum.data.table import read_table

N_ROWS = 700


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"many": rng.normal(size=N_ROWS), "few": rng.integers(0, 5, N_ROWS) - 2.0})
    X["zeros"] = np.where(rng.random(N_ROWS) < 0.5, -0.0, rng.integers(0, 3, N_ROWS) * 1.0)
    X["late"] = np.where(np.arange(N_ROWS) > 600, rng.normal(size=N_ROWS), np.nan)
    X["nothing"] = np.nan
    X["level"] = rng.integers(0, 300, N_ROWS).astype(str)
    return X


@pytest.mark.parametrize("max_bins", [None, 20, 1000])
@pytest.mark.parametrize("n_places", [2, 6])
def test_codes_are_those_of_one_place(n_places: int, max_bins: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_rows, "BYTES_AT_ONCE", 2 * N_ROWS)

    def program(rows: pd.DataFrame) -> list[object]:
        table = read_table(Dataset.from_frame(rows))
        own = bin_values(table) if max_bins is None else assign_bins(table, learn_bins(table, max_bins=max_bins))
        data = shared_codes(own, 0, 1)
        codes = [data.codes.codes(feature).tobytes() for feature in range(6)]
        cuts = [cuts.tobytes() for cuts in data.bin_map.values or data.bin_map.cuts]
        return [codes, cuts, data.has_missing, [data.codes.has_missing(feature) for feature in range(6)]]

    parts = [frame()[part] for part in parted(N_ROWS, n_places)]
    assert in_places(program, parts) == [program(frame())] * n_places


def test_rows_are_taken_where_they_lie() -> None:
    rows = np.flatnonzero(np.random.default_rng(2).random(N_ROWS) < 0.3)

    def program(part: pd.DataFrame) -> tuple[slice, list[float]]:
        placed = PlacedTable.of(read_table(Dataset.from_frame(part))).take(rows)
        return placed.own, placed.table.columns[0].tolist()

    wanted = frame()["many"].to_numpy()[rows]
    for own, found in in_places(program, [frame()[part] for part in parted(N_ROWS, 5)]):
        assert found == wanted[own].tolist()
