"""The benchmark package at tiny sizes, with whatever is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import cluster, findings, forest_defaults, goals, real_sets, untouched_forests  # noqa: E402
from benchmarks.__main__ import main  # noqa: E402
from benchmarks.categories import CategoryCodes, MissingAsText, OrdinalCodes  # noqa: E402
from benchmarks.combining import COMBINING  # noqa: E402
from benchmarks.explaining import EXPLAINING  # noqa: E402
from benchmarks.measuring import better, file_mb, score  # noqa: E402
from benchmarks.rivals import BOOSTING, FORESTS, Rival  # noqa: E402
from benchmarks.table import Column, Table  # noqa: E402
from benchmarks.task import Settings, Task, split  # noqa: E402
from benchmarks.tasks import TASKS  # noqa: E402
from benchmarks.workloads import FAMILIES, categorical, custom_loss, dense, forests, mixed, sampling, small  # noqa: E402
from tests.reference.benchmarking import bench_of, write_german  # noqa: E402

INSTALLED = [rival for rival in BOOSTING.values() if rival.available()]
INSTALLED_FORESTS = [rival for rival in FORESTS.values() if rival.available()]
TINY = ["--rows", "500", "--rounds", "2", "--repeat", "1", "--threads", "1"]

# Rivals warn about their own dependencies: they are not under test here.
pytestmark = pytest.mark.filterwarnings("default")


def tiny_task(kind: str, growth: str = "leaf") -> Task:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 5)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2]
    labels = {"binary": signal > 0, "multiclass": np.digitize(signal, [-1, 1]), "regression": signal}[kind]
    y = labels if kind == "regression" else labels.astype(np.int64)
    return split(kind, X, y, 400, Settings(rounds=5, leaves=7, depth=3, growth=growth, threads=1))


@pytest.mark.parametrize("rival", INSTALLED, ids=lambda rival: rival.name)
@pytest.mark.parametrize(
    ("kind", "growth"),
    [("binary", "leaf"), ("binary", "symmetric"), ("multiclass", "leaf"), ("regression", "leaf")],
)
def test_one_row_gets_the_answer_it_gets_among_many(rival: Rival, kind: str, growth: str) -> None:
    task = tiny_task(kind, growth)
    model = rival.fit(task)
    many = rival.predict(model, task.X_test)
    one = np.asarray(rival.row_predictor(model)(task.X_test[3:4]), dtype=np.float64).ravel()
    expected = np.atleast_1d(many[3])
    np.testing.assert_allclose(one[-len(expected) :], expected, rtol=1e-5)
    assert many.shape == ((200, 3) if kind == "multiclass" else (200,))
    chance = {"binary": 0.5, "multiclass": np.mean(task.y_test == 1), "regression": task.y_test.std()}[kind]
    reached = next(iter(score(task, many).values()))
    assert reached < chance if kind == "regression" else reached > chance


def run(file: Path, libraries: str, workloads: str) -> dict[str, dict[str, Any]]:
    chosen = ["--libraries", libraries, "--workloads", workloads, "--json", str(file)]
    assert main(["boosting", *TINY, *chosen]) == 0
    return {table["name"]: table for table in json.loads(file.read_text())["tables"]}


def test_a_run_compares_every_library_installed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = run(tmp_path / "run.json", ",".join(BOOSTING), "dense-leaves31")["dense-leaves31"]
    printed = capsys.readouterr().out
    for rival in INSTALLED:
        numbers = table["rows"][rival.name]
        assert {"fit_s", "ratio", "predict_ms", "row_us", "auc", "log_loss", "accuracy"} == numbers.keys()
        assert Column("auc", "AUC", 5).render(numbers["auc"]) in printed
    assert table["rows"]["arboretum"]["ratio"] == 1.0
    reached = {goal["goal"]: goal["reached"] for goal in table["goals"]}
    assert isinstance(reached["fit ≥ 3 × HistGradientBoosting"], bool)


def test_every_workload_runs(tmp_path: Path) -> None:
    tables = run(tmp_path / "run.json", "arboretum", ",".join(FAMILIES["boosting"].workloads))
    workloads = [name for name in FAMILIES["boosting"].workloads if name != "categorical"]
    assert [name for name in tables if not name.startswith("categorical")] == workloads
    for name in workloads:
        numbers = tables[name]["rows"]["arboretum"]
        assert all(number >= 0 for key, number in numbers.items() if key not in ("r2", "auc_lost", "memory_mb"))
    assert tables["contention"]["goals"][0]["reached"] is not None
    assert [goal["reached"] is not None for goal in tables["custom-loss"]["goals"]] == [True, True]
    assert [goal["reached"] is not None for goal in tables["sampling"]["goals"]] == [True, True]
    assert tables["small"]["goals"][0]["reached"] is None


def test_a_loss_of_ones_own_is_told_from_the_built_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_of("boosting", ["arboretum"], rows=70_000, rounds=3, repeat=1, threads=1)
    (table,) = custom_loss.run(bench)
    assert table.value("arboretum", "same") == 1.0
    assert "fingerprints of the trees: identical" in table.text()
    restated = custom_loss.own_loss()
    steeper = type("Steeper", (type(restated),), {"gradients": lambda self, y, raw: (raw - y, np.ones_like(raw))})
    monkeypatch.setattr(custom_loss, "own_loss", steeper)
    (table,) = custom_loss.run(bench)
    assert table.value("arboretum", "same") == 0.0
    assert "fingerprints of the trees: different" in table.text()
    assert not bench.failures


@pytest.mark.parametrize("name", sampling.SAMPLED)
def test_sampled_models_see_three_tenths_of_the_rows(name: str) -> None:
    """Both libraries are given the same rates, which cost little and are told from all rows."""
    rival = sampling.SAMPLED[name]
    if not rival.available():
        pytest.skip(f"{name} is not installed")
    settings, plain = rival.settings(tiny_task("binary")), BOOSTING[name].settings(tiny_task("binary"))
    assert {key: settings[key] for key in ("top_rate", "other_rate")} == {"top_rate": 0.2, "other_rate": 0.1}
    assert "goss" in settings.values()
    assert plain == {key: settings[key] for key in plain}
    (table,) = sampling.run(bench_of("boosting", [name], rows=4000, rounds=30, repeat=1, threads=1))
    row = table.rows[name]
    assert isinstance(row, dict)
    assert row["speedup"] == row["all_s"] / row["goss_s"]
    assert row["auc_lost"] == row["all_auc"] - row["goss_auc"] != 0
    assert row["goss_auc"] > 0.6


def test_a_library_that_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(type(BOOSTING["ydf"]), "module", "no_such_module")
    chosen = ["--libraries", "arboretum,ydf", "--workloads", "small"]
    assert main(["boosting", *TINY, *chosen]) == 0
    assert "ydf        not installed" in capsys.readouterr().out


def test_the_command_imports_no_library_before_it_is_needed() -> None:
    program = f"import sys, benchmarks.__main__; print({set(BOOSTING)} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "set()"


def test_libraries_take_turns_and_a_failure_is_reported_once() -> None:
    turns = []

    def turn(rival: Rival) -> dict[str, float]:
        turns.append(rival.name)
        if rival.name == "ydf":
            raise ValueError("out of luck")
        return {"fit_s": float(len(turns)), "auc": 0.5}

    bench = bench_of("boosting")
    rivals = [BOOSTING["lightgbm"], BOOSTING["ydf"], BOOSTING["xgboost"]]
    rows = bench.measure("test", rivals, 2, turn, threads=1)
    assert turns == ["lightgbm", "ydf", "xgboost", "lightgbm", "xgboost"]
    assert rows["lightgbm"] == {"fit_s": 1.0, "auc": 0.5}
    assert rows["ydf"] == "failed: ValueError: out of luck"
    assert bench.failures == ["test ydf: out of luck"]


def test_a_slow_library_takes_one_turn() -> None:
    turns = []
    bench = bench_of("boosting", patience=0.02)

    def turn(rival: Rival) -> dict[str, float]:
        turns.append(rival.name)
        sleep(0.03 if rival.name == "ydf" else 0)
        return {"fit_s": 1.0}

    bench.measure("test", [BOOSTING["ydf"], BOOSTING["lightgbm"]], 3, turn, threads=1)
    assert turns == ["ydf", "lightgbm", "lightgbm", "lightgbm"]


def test_the_best_turn_counts_for_costs_only() -> None:
    old, new = {"fit_s": 1.0, "row_us": 9.0, "auc": 0.9}, {"fit_s": 2.0, "row_us": 8.0, "auc": 0.8}
    assert better(old, new) == {"fit_s": 1.0, "row_us": 8.0, "auc": 0.8}


def dense_table(arboretum_s: float, auc: float) -> Table:
    columns = (Column("fit_s", "fit s"), Column("ratio", "× arboretum"), Column("auc", "AUC", 5))
    table = Table("dense-leaves31", "made up", columns, notes=["a note"])
    table.rows = {
        "arboretum": {"fit_s": arboretum_s, "auc": auc},
        "lightgbm": {"fit_s": 10.0, "auc": 0.81},
        "xgboost": "not installed",
        "sklearn": "failed: why",
    }
    table.add_ratio("fit_s")
    return table


@pytest.mark.parametrize(("seconds", "auc", "expected"), [(4.0, 0.8095, True), (4.1, 0.8085, False)])
def test_goals_are_judged_by_the_numbers(seconds: float, auc: float, expected: bool) -> None:
    verdicts = {v.goal.text: v for v in goals.judge(dense_table(seconds, auc))}
    assert verdicts["fit ≥ 2.5 × LightGBM"].reached is expected
    assert verdicts["AUC within 0.001 of the best"].reached is expected
    assert verdicts["fit ≥ 3 × XGBoost"].reached is None
    word = "reached" if expected else "NOT reached"
    assert verdicts["fit ≥ 2.5 × LightGBM"].text().endswith(f": {10 / seconds:.4g} — {word}")
    assert verdicts["fit ≥ 3 × XGBoost"].text().endswith("fit ≥ 3 × XGBoost — not measured")


def test_every_goal_belongs_to_a_workload() -> None:
    families = (*FAMILIES.values(), TASKS, EXPLAINING, COMBINING)
    tables = {"data", "limits", "killed", "tables-summary", *(name for family in families for name in family.workloads)}
    on_clusters = {f"cluster-{name}" for name in (*cluster.WORKLOADS, "limited")}  # the last is a table of "equal"
    assert {goal.table for goal in goals.GOALS} <= tables | on_clusters


def test_tables_align_and_explain() -> None:
    lines = dense_table(4.0, 0.8095).text().splitlines()
    assert lines[1] == "library            fit s  × arboretum      AUC"
    assert lines[3] == "arboretum           4.00         1.00  0.80950"
    assert lines[5] == "xgboost    not installed                      "
    assert lines[7:] == ["sklearn failed: why", "a note"]
    assert "| lightgbm | 10.0 | 2.50 | 0.81000 |" in dense_table(4.0, 0.8).markdown()


@pytest.mark.parametrize(("value", "text"), [(0.012345, "0.0123"), (59.0, "59.0"), (1234.5, "1234"), (None, "–")])
def test_numbers_keep_their_significant_digits(value: float | None, text: str) -> None:
    assert Column("k", "k", 4 if value == 1234.5 else 3).render(value) == text


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--workloads", "huge"], "no workload is called 'huge'; there are: dense-leaves31, "),
        (["--libraries", "gbm"], "no library is called 'gbm'; there are: arboretum, lightgbm, "),
    ],
)
def test_unknown_names_list_the_known_ones(option: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["boosting", *option]) == 2
    assert message in capsys.readouterr().err


def test_a_count_below_one_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["boosting", "--repeat", "0"])
    assert "0 is not a count: give 1 or more" in capsys.readouterr().err


def test_data_are_the_same_in_every_run() -> None:
    first = dense.generate(500)[0].copy()
    dense.generate.cache_clear()
    np.testing.assert_array_equal(dense.generate(500)[0], first)
    np.testing.assert_array_equal(small.task(Settings()).X, small.task(Settings()).X)


def test_real_sets_are_skipped_without_their_folder(tmp_path: Path) -> None:
    tables = list(categorical.run(bench_of("boosting", data=tmp_path)))
    assert [table.name for table in tables] == [f"categorical-{name}" for name in categorical.BOOSTED]
    tables += [table for workload in mixed.WORKLOADS.values() for table in workload(bench_of("forests", data=tmp_path))]
    assert len(tables) == 7
    assert all("skipped" in table.text() and not table.rows for table in tables)


def test_string_columns_reach_every_library() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    n = 500
    letters = rng.choice(list("abcdef"), n)
    table = pd.DataFrame({"letter": letters, "code": rng.integers(0, 300, n), "number": rng.normal(size=n)})
    table["target"] = np.where(np.isin(letters, list("ace")) ^ (rng.random(n) < 0.1), "yes", "no")
    table.loc[::7, "letter"] = None
    settings = Settings(rounds=5, leaves=7, threads=1)
    task = categorical.build(table[:400], table[400:], "target", "yes", ("code",), settings)
    assert task.categorical == ("letter", "code")
    for rival in INSTALLED:
        answer = rival.predict(rival.fit(task), task.X_test)
        assert score(task, answer)["auc"] > 0.7, rival.name
    unlimited = replace(task, settings=replace(forests.SETTINGS, rounds=10, threads=1))
    for rival in INSTALLED_FORESTS:
        answer = rival.predict(rival.fit(unlimited), task.X_test)
        assert score(task, answer)["auc"] > 0.7, rival.name


def test_encodings_treat_unseen_and_missing_as_documented() -> None:
    pd = pytest.importorskip("pandas")
    train = pd.DataFrame({"c": ["a", "b", np.nan]}, dtype=object)
    test = pd.DataFrame({"c": ["b", "z", np.nan]}, dtype=object)
    category, ordinal = CategoryCodes(["c"]), OrdinalCodes(["c"])
    assert category.fit(train)["c"].cat.codes.tolist() == [0, 1, -1]
    assert category(test)["c"].cat.codes.tolist() == [1, -1, -1]
    np.testing.assert_array_equal(ordinal.fit(train)["c"], [0.0, 1.0, np.nan])
    np.testing.assert_array_equal(ordinal(test)["c"], [1.0, np.nan, np.nan])
    assert MissingAsText(["c"])(test)["c"].tolist() == ["b", "z", ""]


def forest_task(kind: str, **changes: Any) -> Task:
    return replace(tiny_task(kind), settings=replace(forests.SETTINGS, rounds=10, threads=1, **changes))


@pytest.mark.parametrize("rival", INSTALLED_FORESTS, ids=lambda rival: rival.name)
@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_forests_learn_answer_single_rows_and_are_saved(rival: Rival, kind: str) -> None:
    task = forest_task(kind)
    model = rival.fit(task)
    many = rival.predict(model, task.X_test)
    one = np.asarray(rival.row_predictor(model)(task.X_test[3:4]), dtype=np.float64).ravel()
    np.testing.assert_allclose(one[-len(np.atleast_1d(many[3])) :], np.atleast_1d(many[3]), rtol=1e-5)
    scores = score(task, many)
    assert scores["r2"] > 0.3 if kind == "regression" else scores["accuracy"] > np.mean(task.y_test == 1) + 0.05
    assert file_mb(rival, model) > 0.001


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "RandomForestClassifier"),
        ({"bootstrap": False, "random_thresholds": True}, "ExtraTreesClassifier"),
        ({"rounds": 1, "bootstrap": False, "columns": 1.0, "bins": None}, "DecisionTreeClassifier"),
    ],
)
def test_equal_settings_name_the_same_estimator(changes: dict[str, Any], name: str) -> None:
    task = forest_task("binary").with_settings(**changes)
    for library in ("arboretum", "sklearn"):
        assert type(FORESTS[library].fit(task).fitted).__name__ == name


def test_the_columns_of_a_node_are_rounded_down() -> None:
    settings = forests.SETTINGS
    assert settings.columns_a_node(28) == 5
    assert replace(settings, columns=1 / 3).columns_a_node(20) == 6
    assert replace(settings, columns=1 / 3).columns_a_node(2) == 1
    assert replace(settings, columns=1.0).columns_a_node(28) == 28


def test_every_forest_workload_runs(tmp_path: Path) -> None:
    options = ["--rows", "500", "--trees", "4", "--repeat", "1", "--threads", "1", "--json", str(tmp_path / "run.json")]
    workloads = "forest,extra-trees,exact-tree,forest-regression"
    assert main(["forests", *options, "--workloads", workloads, "--libraries", "arboretum,sklearn"]) == 0
    tables = {table["name"]: table for table in json.loads((tmp_path / "run.json").read_text())["tables"]}
    assert list(tables) == workloads.split(",")
    judged = {name: [goal["reached"] for goal in table["goals"]] for name, table in tables.items()}
    assert all(isinstance(verdict, bool) for name in tables if name != "forest" for verdict in judged[name])
    by_goal = {goal["goal"]: goal["reached"] for goal in tables["forest"]["goals"]}
    assert by_goal["file at most a third of scikit-learn's pickle (×)"] is True
    assert by_goal["fit ≥ 8 × the fastest of the others"] is None
    assert all(tables["forest"]["rows"][library]["file_mb"] > 0 for library in ("arboretum", "sklearn"))
    assert main(["forests", *options, "--workloads", "forest-memory", "--libraries", "arboretum"]) == 0
    (table,) = json.loads((tmp_path / "run.json").read_text())["tables"]
    assert table["rows"]["arboretum"]["memory_mb"] >= 0


def test_an_exact_name_is_not_a_group() -> None:
    family = FAMILIES["forests"]
    assert family.select(["forest"]) == ["forest"]
    assert family.select(["forest-mixed"]) == [f"forest-mixed-{name}" for name in mixed.WORKLOADS]


def test_the_study_of_defaults_prints_ranks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_german(tmp_path)
    file = tmp_path / "study.json"
    options = ["--trees", "3", "--folds", "2", "--threads", "1", "--json", str(file), "--markdown"]
    assert main(["forest-defaults", "--data", str(tmp_path), "--sets", "german,wine", *options]) == 0
    printed = capsys.readouterr().out
    assert "wine skipped" in printed
    scores = json.loads(file.read_text())
    assert list(scores["german"]) == list(forest_defaults.GRID)
    assert all(row["auc"] > 0.6 for row in scores["german"].values())
    for heading in ("log-loss", "AUC", "accuracy", "fit s"):
        assert f"{heading}, mean over folds" in printed
    assert "RMSE" not in printed
    assert "| 5 a leaf |" in printed
    assert "| one for all other tables |" in printed
    assert main(["forest-defaults", "--data", str(tmp_path), "--sets", "germany"]) == 2
    assert "no set is called 'germany'; there are: adult, " in capsys.readouterr().err


def test_untouched_forests_are_ranked_with_standard_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_german(tmp_path)
    file = tmp_path / "untouched.json"
    given = ["forest-defaults", "--rivals", "--data", str(tmp_path), "--folds", "2", "--threads", "1"]
    asked = ["--sets", "german,wine", "--libraries", "arboretum,arboretum-extra,sklearn", "--json", str(file)]
    assert main([*given, *asked, "--markdown"]) == 0
    printed = capsys.readouterr().out
    assert "wine skipped" in printed
    assert "| log-loss, 1 sets | ± | ÷ arboretum's |" in printed
    assert "RMSE" not in printed
    folds = json.loads(file.read_text())["rows"]["german"]["arboretum-extra"]
    assert all(0.6 < row["auc"] < 1 for row in folds.values())
    assert main([*given, "--sets", "german", "--libraries", "forest"]) == 2
    assert "no library is called 'forest'; there are: arboretum, " in capsys.readouterr().err


def test_mean_ranks_of_untouched_forests_and_their_errors() -> None:
    losses = {"one": (0.1, 0.2), "two": (0.1, 0.2), "three": (0.3, 0.2)}
    by_set = {name: {"ours": {"rmse": ours}, "its": {"rmse": its}} for name, (ours, its) in losses.items()}
    by_set["fit failed"] = {"ours": {"rmse": 0.1}, "its": {}}
    rows = untouched_forests.rank_table(by_set).rows
    assert rows["ours"]["rmse"] == 1.25
    assert rows["its"]["rmse"] == 1.75
    assert rows["its"]["rmse ±"] == pytest.approx(np.std([2, 2, 1, 2], ddof=1) / 2)
    assert rows["ours"]["rmse ÷"] == 1.0


def write_veteran(folder: Path) -> None:
    rng = np.random.default_rng(0)
    age, group = rng.normal(60, 10, 80), rng.choice(["a", "b"], 80)
    time, status = rng.exponential(np.exp(-(age - 60) / 10)).round(3) + 0.01, rng.integers(0, 2, 80)
    columns = {"rownames": range(80), "time": time, "status": status, "age": age, "celltype": group}
    (folder / "survival").mkdir()
    pd.DataFrame(columns).to_csv(folder / "survival" / "R_veteran.csv", index=False)


def test_the_study_of_survival_defaults_compares_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_veteran(tmp_path)
    file = tmp_path / "study.json"
    options = ["--data", str(tmp_path), "--folds", "2", "--threads", "1", "--json", str(file), "--markdown"]
    study = ["survival-defaults", *options, "--sets", "veteran,pbc"]
    assert main([*study, "--settings", "arboretum forest"]) == 0
    printed = capsys.readouterr().out
    assert "pbc skipped" in printed
    assert "integrated Brier score − best" in printed
    kept = json.loads(file.read_text())["rows"]["veteran"]
    assert all(0 < row["brier"] < 0.5 < row["concordance"] for rows in kept.values() for row in rows.values())
    assert main([*study, "--libraries", "arboretum cox"]) == 0
    assert list(json.loads(file.read_text())["rows"]["veteran"]) == [*kept, "arboretum cox"]
    assert main([*study, "--libraries", "glm"]) == 2
    assert "no library is called 'glm'; there are: arboretum cox, " in capsys.readouterr().err


def test_the_study_of_survival_forests_compares_what_they_average(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_veteran(tmp_path)
    file = tmp_path / "study.json"
    options = ["--trees", "3", "--folds", "2", "--splits", "1", "--threads", "1", "--json", str(file), "--markdown"]
    assert main(["survival-averaging", "--data", str(tmp_path), "--sets", "veteran,pbc", *options]) == 0
    printed = capsys.readouterr().out
    assert "pbc skipped" in printed
    assert "integrated Brier score" in printed
    scores = json.loads(file.read_text())["veteran"]
    assert all(0 < row["brier"] < 0.5 < row["concordance"] for row in scores.values())
    assert main(["survival-averaging", "--data", str(tmp_path), "--sets", "veterans"]) == 2
    assert "no set is called 'veterans'; there are: actg175, " in capsys.readouterr().err


def test_ranks_share_ties_and_know_what_is_better() -> None:
    settings = list(forest_defaults.GRID)
    accuracy = {name: {"accuracy": 0.9 if name == settings[0] else 0.8} for name in settings}
    error = {name: {"rmse": 0.1 if name == settings[1] else 0.2} for name in settings}
    ranks = forest_defaults.mean_ranks({"a": accuracy, "b": error}, "accuracy")
    assert ranks[settings[0]] == 1.0
    assert {ranks[name] for name in settings[1:]} == {(2 + len(settings)) / 2}
    assert forest_defaults.mean_ranks({"a": accuracy, "b": error}, "rmse")[settings[1]] == 1.0


def test_one_setting_for_all_tables_is_judged_on_the_table_that_it_was_chosen_without() -> None:
    losses = {name: 1.0 for name in forest_defaults.GRID}
    first, second, *_ = (name for name in forest_defaults.GRID if name != forest_defaults.AUTO)
    by_table = {"a": {first: 0.5, second: 0.9}, "b": {second: 0.9}, "c": {second: 0.9}}
    scores = {
        table: {name: {"rmse": loss} for name, loss in (losses | changed).items()}
        for table, changed in by_table.items()
    }
    rows = forest_defaults.left_out_table(scores, ["rmse"]).rows
    assert rows["auto"]["rmse"] == 1.0
    assert rows["one for all other tables"]["rmse"] == pytest.approx(np.exp(np.log([0.9, 1.0, 1.0]).mean()))
    assert rows["the best of each table"]["rmse"] == pytest.approx(np.exp(np.log([0.5, 0.9, 0.9]).mean()))


def test_real_columns_are_text_or_numbers(tmp_path: Path) -> None:
    write_german(tmp_path)
    X, y = real_sets.SETS["german"].read(tmp_path, most_rows=100)
    assert len(X) == len(y) == 100
    assert set(X["purpose"].dropna()) == {"car", "house"}
    assert X["purpose"].isna().any()
    assert X["months"].dtype == np.float32
    assert set(y) == {0, 1}


def test_alarms_are_confirmed_by_rows_that_nobody_saw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_german(tmp_path)
    command = ["findings", "--data", str(tmp_path), "--threads", "1", "--seeds", "1", "--rows", "200"]
    assert main([*command, "--studies", "nothing"]) == 2
    assert main([*command, "--studies", "chosen", "--json", str(tmp_path / "found.json")]) == 0
    shown = capsys.readouterr().out
    assert "adult skipped" in shown
    assert "2 reports" in shown
    found = json.loads((tmp_path / "found.json").read_text())["chosen"]["reports"]
    assert list(found) == ["german, boosted, seed 0", "german, forest, seed 0"]

    counts = findings.Counts()
    counts.add([findings.Alarm("serious", "overfitted", None, confirmed=True)])
    counts.add([findings.Alarm("serious", "overfitted", None), findings.Alarm("note", "few rows", None)])
    table = findings.clean_table("chosen", "alarms", counts)
    assert table.value("overfitted", "serious") == 2
    assert table.value("any", "false serious") == 1
    assert table.value("any", "note") == 1
