"""The benchmark of combined models: small runs of each workload, and runs in which goals are missed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import goals  # noqa: E402
from benchmarks.__main__ import main  # noqa: E402
from benchmarks.combining import COMBINING  # noqa: E402
from benchmarks.measuring import Bench  # noqa: E402
from benchmarks.task import Settings, Task  # noqa: E402
from benchmarks.workloads.combining import averages, equal, leakage, members, speed, tables, threads  # noqa: E402
from tests.reference.benchmarking import write_german  # noqa: E402

TINY = ["--rows", "500", "--rounds", "5", "--threads", "1"]


def combining(folder: Path, workloads: str, *options: str) -> dict[str, dict[str, Any]]:
    file = folder / "run.json"
    chosen = ["--workloads", workloads, "--json", str(file), "--data", str(folder)]
    assert main(["combining", *TINY, *chosen, *options]) == 0
    return {table["name"]: table for table in json.loads(file.read_text())["tables"]}


def tiny_bench() -> Bench:
    return Bench(COMBINING, list(COMBINING.rivals), rows=500, rounds=5, repeat=1, threads=1)


def verdicts(table: dict[str, Any]) -> list[bool | None]:
    return [goal["reached"] for goal in table["goals"]]


def test_every_goal_is_that_of_a_table() -> None:
    assert {goal.table for goal in goals.COMBINING_GOALS} == {
        "tables-summary" if name == "tables" else name for name in COMBINING.workloads
    }


# ---- equal, threads ------------------------------------------------------------------------------------------------


def test_predictions_are_those_of_scikit_learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equal, "KINDS", ("multiclass", "regression"))
    few = {way: equal.WAYS[way] for way in ("weighted voting", "votes", "stacking with X")}
    monkeypatch.setattr(equal, "WAYS", few)
    table = combining(tmp_path, "equal")["equal"]
    assert list(table["rows"]) == list(few)
    assert "regression" not in table["rows"]["votes"]
    assert verdicts(table) == [True]


def test_other_predictions_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told = equal.answers

    def shifted(model: Any, task: Task, way: str) -> NDArray[Any]:
        return told(model, task, way) + 1e-6 * type(model).__module__.startswith("arboretum")

    monkeypatch.setattr(equal, "answers", shifted)
    monkeypatch.setattr(equal, "KINDS", ("regression",))
    monkeypatch.setattr(equal, "WAYS", {"voting": equal.WAYS["voting"]})
    (table,) = equal.run(tiny_bench())
    assert table.value("voting", "largest") == pytest.approx(1e-6)
    assert [verdict.reached for verdict in goals.judge(table)] == [False]


def test_models_are_the_same_for_any_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "JOBS", (1, 2))
    monkeypatch.setattr(equal, "KINDS", ("binary",))
    table = combining(tmp_path, "threads")["threads"]
    assert list(table["rows"]) == list(threads.MODELS)
    assert verdicts(table) == [True]


def test_models_that_depend_on_threads_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Restless:
        def set_params(self, n_jobs: int) -> Restless:
            self.n_jobs = n_jobs
            return self

        def fit(self, X: Any, y: Any) -> Restless:
            return self

        def fingerprint(self) -> int:
            return self.n_jobs

    assert threads.count(lambda task: Restless(), equal.draw(tiny_bench(), "binary")) == len(threads.JOBS)


# ---- speed ---------------------------------------------------------------------------------------------------------


def test_stacks_take_turns_on_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_german(tmp_path)
    monkeypatch.setattr(speed, "CHOSEN", ("german", "wine"))
    table = combining(tmp_path, "speed", "--repeat", "1")["speed"]
    row = table["rows"]["german"]
    assert row["own"] == row["theirs_s"] / row["ours_s"]
    assert row["around"] == row["around_s"] / row["ours_s"]
    assert row["theirs_loss"] < 0.69
    assert table["rows"]["wine"] == "not under --data"
    assert verdicts(table) == [None, None]


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_members_of_both_libraries_have_the_same_sizes(kind: Any) -> None:
    X = pd.DataFrame({"town": ["Oslo", "Rome"] * 20, "size": np.arange(40.0)})
    task = Task(kind, X, np.arange(40) % 2, X, np.zeros(40), Settings(rounds=7), categorical=("town",))
    ours, theirs = (dict(members.three_kinds(library, task)) for library in ("arboretum", "sklearn"))
    their = {name: pipeline[-1].get_params() for name, pipeline in theirs.items()}
    assert ours["boosted"].n_estimators == their["boosted"]["max_iter"] == 7
    assert ours["boosted"].max_leaf_nodes == their["boosted"]["max_leaf_nodes"] == 31
    for name in ("forest", "extra"):
        for parameter in ("n_estimators", "bootstrap", "max_features", "min_samples_leaf"):
            assert getattr(ours[name], parameter) == their[name][parameter]
    for name, pipeline in theirs.items():
        assert len(pipeline.fit(X, task.y).predict(X)) == 40, name


# ---- leakage -------------------------------------------------------------------------------------------------------


def test_targets_of_noise_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leakage, "SEEDS", 1)
    table = combining(tmp_path, "leakage")["leakage"]
    assert len(table["rows"]) == len(leakage.TRAPS) * len(leakage.KINDS)
    assert verdicts(table)[0] is not None
    for kind in leakage.KINDS:
        row = table["rows"][f"groups, {kind}"]
        assert row["untold"] > row["mean"] + 10, "a stack that is not told of groups learns from rows it has seen"


def test_traps_hold_what_they_say() -> None:
    rng = np.random.default_rng(0)
    drawn = {name: make(rng, 400) for name, make in leakage.TRAPS.items()}
    assert not set(drawn["identifiers"].X["id"]) & set(drawn["identifiers"].X_fresh["id"])
    assert len(set(drawn["text identifiers"].X["id"])) > 100
    grouped = drawn["groups"]
    assert len(np.unique(grouped.y)) == len(np.unique(grouped.groups)) == 40
    assert not set(grouped.X["name"]) & set(grouped.X_fresh["name"])
    walk = drawn["time"].y
    assert (np.abs(walk) <= 0.5).all()
    assert np.corrcoef(walk[1:], walk[:-1])[0, 1] > 0.5
    assert abs(np.corrcoef(walk[50:], walk[:-50])[0, 1]) < 0.3


# ---- tables --------------------------------------------------------------------------------------------------------


def test_real_tables_are_resumed_and_summed_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_german(tmp_path)
    monkeypatch.setattr(tables, "CHOSEN", ("german", "wine"))
    options = ["--repeat", "2", "--notes", str(tmp_path / "notes.json")]
    found = combining(tmp_path, "tables", *options)
    row, summary = found["tables"]["rows"]["german"], found["tables-summary"]["rows"]
    assert row["stacking"] == pytest.approx(100 * (1 - row["loss"] / row["member"]))
    assert row["hindsight"] >= 0
    assert found["tables"]["notes"] == ["not under --data: wine"]
    assert list(summary) == list(tables.WAYS)
    assert summary["stacking"]["share"] == 100.0 * (row["stacking"] > 0)
    assert verdicts(found["tables-summary"]) == [row["stacking"] > 0]
    monkeypatch.setattr(tables, "fold_of", lambda *_: pytest.fail("fitted again"))
    assert combining(tmp_path, "tables", *options) == found


def test_without_data_nothing_is_judged(tmp_path: Path) -> None:
    found = combining(tmp_path, "tables")
    assert not found["tables"]["rows"]
    assert verdicts(found["tables-summary"]) == [None]


# ---- averages --------------------------------------------------------------------------------------------------------


def test_averages_are_compared_with_their_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, few in {"TABLES": 1, "PREDICTED": 1_000, "ROUNDS": 40, "TURNS": 2, "SEEDS": 2}.items():
        monkeypatch.setattr(averages, name, few)
    tables = combining(tmp_path, "averages")
    assert verdicts(tables["averages"])[0] is True
    assert len(tables["averages-errors"]["rows"]) == 5


def test_an_average_that_is_no_mean_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import arboretum as arb

    monkeypatch.setattr(arb.BoostedTreesRegressor, "averaged_rounds", lambda model, rounds: model)
    for name, few in {"PREDICTED": 1_000, "ROUNDS": 40, "TURNS": 2}.items():
        monkeypatch.setattr(averages, name, few)
    verdict, _ = goals.judge(averages.cost(tiny_bench()))
    assert verdict.reached is False
