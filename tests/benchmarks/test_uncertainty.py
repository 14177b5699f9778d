"""The workloads of quantiles and intervals: their measures, and what they say without data or rivals."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_pinball_loss

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.__main__ import main  # noqa: E402
from benchmarks.task import Settings, Task  # noqa: E402
from benchmarks.workloads import uncertainty  # noqa: E402


def test_without_data_each_set_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    tiny = ["--rounds", "2", "--repeat", "1", "--threads", "1", "--libraries", "arboretum"]
    assert main(["tasks", "--workloads", "quantiles", *tiny]) == 0
    printed = capsys.readouterr().out
    assert "no data: give --data" in printed or "lightgbm is not installed" in printed


def test_a_rival_that_is_absent_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uncertainty, "find_spec", lambda name: None)
    (table,) = uncertainty.intervals(None)  # type: ignore[arg-type]
    assert table.notes == ["mapie is not installed: nothing to compare with"]


def test_pinball_is_the_mean_over_levels_and_crossing_a_share_of_rows() -> None:
    rng = np.random.default_rng(0)
    y, predicted = rng.normal(size=50), rng.normal(size=(50, 5))
    each = [mean_pinball_loss(y, predicted[:, k], alpha=level) for k, level in enumerate(uncertainty.LEVELS)]
    assert uncertainty.pinball(y, predicted) == pytest.approx(np.mean(each))
    assert uncertainty.crossing(np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]])) == 0.5


def test_both_libraries_see_the_same_codes() -> None:
    X = pd.DataFrame({"town": np.array(["b", "a", "b"], dtype=object), "size": [1.0, 2.0, 3.0]})
    task = Task("regression", X, np.zeros(3), X.iloc[:2], np.zeros(2), Settings(), categorical=("town",))
    coded = uncertainty.in_codes(task)
    np.testing.assert_array_equal(coded.X, [[0, 1], [1, 2], [0, 3]])
    np.testing.assert_array_equal(coded.X_test, [[0, 1], [1, 2]])
    assert coded.categorical == ()
