"""The benchmarks of the boosting family and the study of boosting defaults, at tiny sizes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import boosting_defaults, goals  # noqa: E402
from benchmarks.__main__ import main  # noqa: E402
from benchmarks.categories import FewAsCategories  # noqa: E402
from benchmarks.duel import duel  # noqa: E402
from benchmarks.measuring import score  # noqa: E402
from benchmarks.notebook import Notebook  # noqa: E402
from benchmarks.ranking import ranks  # noqa: E402
from benchmarks.rivals import UNTOUCHED, Model, Rival  # noqa: E402
from benchmarks.rivals.arboretum import ArboretumDefaults, preset  # noqa: E402
from benchmarks.table import NOT_SUPPORTED, Column, Table  # noqa: E402
from benchmarks.task import Settings, Task  # noqa: E402
from benchmarks.workloads import FAMILIES, adaboost, categorical, determinism, gbm, monotone, presets  # noqa: E402
from tests.reference.benchmarking import bench_of, write_black_friday, write_german  # noqa: E402

# Rivals warn about their own dependencies: they are not under test here.
pytestmark = pytest.mark.filterwarnings("default")

TINY = ["--rows", "500", "--rounds", "2", "--repeat", "1", "--threads", "1"]
RUN_OPTIONS = {
    *("n_jobs", "num_threads", "thread_count", "random_state", "random_seed"),
    *("verbose", "verbosity", "logging_level", "allow_writing_files"),
    *("enable_categorical", "cat_features", "label", "task", "weights"),
}


def family(folder: Path, workloads: str, libraries: str = "arboretum,sklearn") -> dict[str, dict[str, Any]]:
    file = folder / "run.json"
    chosen = ["--workloads", workloads, "--libraries", libraries, "--json", str(file), "--data", str(folder)]
    assert main(["family", *TINY, *chosen]) == 0
    return {table["name"]: table for table in json.loads(file.read_text())["tables"]}


def test_every_workload_of_the_family_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_black_friday(tmp_path, 500)
    monkeypatch.setattr(monotone, "TABLES", 1)
    monkeypatch.setattr(determinism, "THREADS", (1, 2))
    tables = family(tmp_path, ",".join(FAMILIES["family"].workloads))
    assert list(tables) == list(FAMILIES["family"].workloads)
    reached = {name: [goal["reached"] for goal in table["goals"]] for name, table in tables.items()}
    for name in ("adaboost", "gbm"):
        assert all(isinstance(verdict, bool) for verdict in reached[name])
    assert tables["adaboost"]["rows"]["arboretum"]["staged_exact"] <= 0.005
    assert list(tables["gbm"]["rows"]) == [f"fold {fold}" for fold in range(1, 6)]
    assert reached["monotone"] == reached["determinism"] == [True]
    assert all("needs arboretum and" in tables[f"presets-{system}"]["title"] for system in presets.SYSTEMS)


def test_every_goal_of_the_family_is_that_of_a_workload() -> None:
    with_goals = {goal.table for goal in goals.MEMBER_GOALS}
    assert with_goals <= set(FAMILIES["family"].workloads)
    assert {"adaboost", "gbm", "cardinality", "monotone", "determinism", *presets.WORKLOADS} == with_goals


# ---- rivals as they come -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rival", [rival for rival in UNTOUCHED.values() if rival.available()], ids=lambda r: r.name)
@pytest.mark.parametrize("positive", ["yes", None], ids=["classes", "numbers"])
def test_untouched_libraries_learn_from_strings(rival: Rival, positive: str | None) -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    letters, codes = rng.choice(list("abcdef"), 500), rng.integers(0, 300, 500)
    frame = pd.DataFrame({"letter": letters, "code": codes, "number": rng.normal(size=500)})
    wins = np.isin(letters, list("ace")) ^ (rng.random(500) < 0.1)
    frame["target"] = np.where(wins, "yes", "no") if positive else 3.0 * wins
    frame.loc[::7, ["letter", "number"]] = None
    task = categorical.build(frame[:400], frame[400:], "target", positive, ("code",), Settings(threads=1))
    scores = score(task, rival.predict(rival.fit(task), task.X_test))
    assert scores["auc"] > 0.7 if positive else scores["r2"] > 0.2
    assert rival.settings(task).keys() <= RUN_OPTIONS


def test_columns_of_many_levels_become_numbers() -> None:
    pd = pytest.importorskip("pandas")
    train = pd.DataFrame({"few": ["a", "b", np.nan], "many": ["x", "y", "z"]}, dtype=object)
    encoder = FewAsCategories(["few", "many"], most=2)
    encoded = encoder.fit(train)
    assert encoded["few"].cat.codes.tolist() == [0, 1, -1]
    assert encoded["many"].tolist() == [0.0, 1.0, 2.0]
    other = encoder(pd.DataFrame({"few": ["b", "q", "a"], "many": ["z", "q", np.nan]}, dtype=object))
    assert other["few"].cat.codes.tolist() == [1, -1, 0]
    np.testing.assert_array_equal(other["many"], [2.0, np.nan, np.nan])


def test_a_preset_is_the_estimator_of_that_name() -> None:
    import arboretum as arb

    task = Task("binary", np.empty((0, 1)), np.empty(0), np.empty((0, 1)), np.empty(0), Settings(threads=1))
    mine = arb.BoostedTreesClassifier(**preset("catboost", l2=5.0).settings(task))
    same = arb.BoostedTreesClassifier.preset("catboost", l2=5.0, n_jobs=1)
    assert mine.get_params() == same.get_params()


# ---- duels ---------------------------------------------------------------------------------------------------------


class Oracle(Rival):
    """Predicts the same error everywhere."""

    module = "numpy"

    def __init__(self, name: str, error: float) -> None:
        self.name = name
        self.error = error

    def settings(self, task: Task) -> dict[str, Any]:
        return {}

    def fit(self, task: Task) -> Model:
        if task.settings.depth == 1:
            raise ValueError("too shallow")
        return Model(None, task)

    def predict(self, model: Model, X: Any) -> NDArray[Any]:
        return model.task.y_test + self.error


def numbers_task(**settings: Any) -> Task:
    X = np.arange(20, dtype=np.float32)[:, None]
    return Task("regression", X, X[:, 0], X, X[:, 0], Settings(**settings))


def test_a_duel_sets_losses_and_times_side_by_side() -> None:
    bench = bench_of("family", ["arboretum", "sklearn"], repeat=2)
    problems = [("first", numbers_task()), ("second", "not under --data"), ("third", numbers_task(depth=1))]
    table = duel(bench, "gbm", "made up", Oracle("arboretum", 3.0), Oracle("sklearn", 2.0), problems)
    row = table.rows["first"]
    assert isinstance(row, dict)
    assert (row["our_loss"], row["its_loss"], row["loss_ratio"]) == (3.0, 2.0, 1.5)
    assert row["speed"] == pytest.approx(row["its_s"] / row["our_s"])
    assert table.rows["second"] == "not under --data"
    assert table.rows["third"] == "arboretum failed: ValueError: too shallow"
    assert len(bench.failures) == 2
    assert [verdict.reached for verdict in goals.judge(table)] == [None, None]
    del table.rows["second"], table.rows["third"]
    assert [verdict.value for verdict in goals.judge(table)] == [1.5, row["speed"]]


def test_a_duel_needs_both_sides() -> None:
    table = duel(bench_of("family", ["arboretum"]), "gbm", "", Oracle("arboretum", 1), Oracle("sklearn", 1), [])
    assert table.title == "skipped: needs arboretum and sklearn, installed and among --libraries"
    assert not table.rows


def test_goals_over_rows_take_what_is_supported() -> None:
    rows: dict[str, Any] = {"a": {"violations": 2.0}, "b": NOT_SUPPORTED, "c": {"violations": 3.0}}
    table = Table("monotone", "made up", [Column("violations", "violations")], rows)
    assert [verdict.value for verdict in goals.judge(table)] == [5.0]
    table.rows["d"] = "failed: why"
    assert [verdict.value for verdict in goals.judge(table)] == [None]
    assert goals.judge(Table("monotone", "skipped", ()))[0].reached is None


def test_presets_meet_their_systems_on_real_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lightgbm")
    write_german(tmp_path)
    monkeypatch.setattr(presets, "SETS", ("german", "wine"))
    table = family(tmp_path, "presets-lightgbm", "arboretum,lightgbm")["presets-lightgbm"]
    assert table["rows"]["german"]["our_loss"] < 0.69
    assert table["rows"]["wine"] == "not under --data"


def test_folds_of_the_gbm_follow_the_file(tmp_path: Path) -> None:
    write_black_friday(tmp_path, 60)
    tasks = [task for _, task in gbm.folds(tmp_path, 50, Settings())]
    assert [len(task.y_test) for task in tasks if isinstance(task, Task)] == [10] * 5
    pd = pytest.importorskip("pandas")
    frame = pd.read_parquet(tmp_path / "black_friday" / "train.parquet").head(50)
    whole = np.concatenate([task.X_test for task in tasks if isinstance(task, Task)])
    np.testing.assert_array_equal(np.concatenate([t.y_test for t in tasks if isinstance(t, Task)]), frame["Purchase"])
    gaps = frame["Product_Category_2"].isna().to_numpy()
    place = list(frame.columns).index("Product_Category_2")
    assert (whole[gaps, place] == -1).all()
    assert (whole[~gaps, place] >= 0).all()
    for column, values in zip(whole.T, frame.drop(columns="Purchase").items(), strict=True):
        seen = values[1].notna().to_numpy()
        known = values[1].to_numpy()[seen]
        np.testing.assert_array_equal(column[seen], np.unique(known, return_inverse=True)[1])


# ---- AdaBoost, constraints, threads --------------------------------------------------------------------------------


def test_differences_of_staged_errors_are_relative() -> None:
    reference = np.array([0.4, 0.2, 0.1])
    assert adaboost.largest_difference(np.array([0.4, 0.22, 0.105]), reference) == pytest.approx(0.1)
    assert adaboost.largest_difference(reference[:2], reference) == np.inf


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_steps_against_a_constraint_are_counted(kind: Any) -> None:
    task = monotone.draw(kind, 500, 0, Settings(threads=1))
    free, bound = ({"n_estimators": 30}, {"n_estimators": 30, "monotonic_cst": list(monotone.DIRECTIONS)})
    counts = [
        monotone.violations(rival, rival.fit(task)) for rival in (ArboretumDefaults(**free), ArboretumDefaults(**bound))
    ]
    assert counts[0]["steps"] == counts[1]["steps"] == 200 * 59 * 4
    assert counts[0]["violations"] > 1000
    assert counts[1]["violations"] == 0


def test_grids_rise_beyond_what_was_seen() -> None:
    column = np.array([np.nan, 3.0, 1.0, 2.0, 2.0])
    values = monotone.grid(column)
    assert len(values) == 60
    assert (np.diff(values) >= 0).all()
    assert (values < 1.0).sum() == (values > 3.0).sum() == 10


def test_only_linear_leaves_may_refuse() -> None:
    refusals: set[str] = set()
    turn = monotone.turn_over([monotone.draw("regression", 400, 0, Settings(threads=1))], refusals)
    assert turn(ArboretumDefaults(leaf_model="linear", loss="absolute_error", n_estimators=1)) == {}
    assert len(refusals) == 1
    with pytest.raises(ValueError, match="n_estimators"):
        turn(ArboretumDefaults(n_estimators=0))


class Restless(ArboretumDefaults):
    """A model that depends on the number of threads."""

    def settings(self, task: Task) -> dict[str, Any]:
        return super().settings(task) | {"random_state": task.settings.threads}


def test_models_that_depend_on_threads_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(determinism, "ArboretumDefaults", Restless)
    monkeypatch.setattr(determinism, "variants", lambda rounds: {"half": {"subsample": 0.5, "n_estimators": rounds}})
    bench = bench_of("family", ["arboretum"], rows=500, rounds=1, repeat=1, threads=1)
    (table,) = determinism.run(bench)
    assert table.value("half", "most") == len(determinism.THREADS)
    assert [verdict.reached for verdict in goals.judge(table)] == [False]
    assert not bench.failures


def test_workloads_of_arboretum_alone_need_it() -> None:
    for workload in (monotone, determinism):
        (table,) = workload.run(bench_of("family", ["sklearn"]))
        assert table.title == "skipped: arboretum is not among --libraries"


# ---- ranks, notebooks, defaults ------------------------------------------------------------------------------------


@given(st.lists(st.floats(allow_nan=False), max_size=12))
def test_ranks_without_ties_are_those_of_scipy(losses: list[float]) -> None:
    from scipy.stats import rankdata

    np.testing.assert_array_equal(ranks(losses), rankdata(losses))


def test_near_losses_share_a_rank_with_the_best_of_their_group() -> None:
    assert ranks([1.0, 1.0009, 1.0018, 2.0], tie=0.001).tolist() == [1.5, 1.5, 3.0, 4.0]
    assert ranks([np.inf, 0.5, np.inf], tie=0.001).tolist() == [2.5, 1.0, 2.5]


def test_a_notebook_is_resumed(tmp_path: Path) -> None:
    file = tmp_path / "notes.json"
    notebook = Notebook.open({"rows": 5}, file)
    notebook.add("german", "ydf", 0, {"loss": 0.5, "fit_s": 1.0})
    notebook.add("german", "ydf", 1, "failed: why")
    again = Notebook.open({"rows": 5}, file)
    assert [again.has("german", "ydf", fold) for fold in range(3)] == [True, False, False]
    assert again.of("german", "ydf", 3) == [{"loss": 0.5, "fit_s": 1.0}, "failed: why", "not measured"]
    assert [path.name for path in tmp_path.iterdir()] == ["notes.json"]
    with pytest.raises(ValueError, match=r"about {'rows': 5}, not {'rows': 6}: name another file or use its options"):
        Notebook.open({"rows": 6}, file)


def defaults(folder: Path, *options: str) -> int:
    common = ["--data", str(folder), "--sets", "german,wine", "--folds", "2", "--threads", "1"]
    return main(["boosting-defaults", *common, "--json", str(folder / "notes.json"), *options])


def test_libraries_are_ranked_and_nothing_is_fitted_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_german(tmp_path)
    assert defaults(tmp_path, "--libraries", "arboretum,sklearn,sklearn-forest") == 0
    printed = capsys.readouterr().out
    assert "wine skipped" in printed
    for heading in ("mean rank", "log-loss or RMSE", "seconds of a fit"):
        assert heading in printed
    rows = json.loads((tmp_path / "notes.json").read_text())["rows"]["german"]
    assert list(rows) == ["arboretum", "sklearn", "sklearn-forest"]
    assert all(row["loss"] < 0.69 for row in rows["sklearn"].values())
    monkeypatch.setattr(boosting_defaults.RealSet, "folds", lambda *_: pytest.fail("read again"))
    assert defaults(tmp_path, "--libraries", "arboretum,sklearn,sklearn-forest") == 0
    assert capsys.readouterr().out == printed


def test_settings_are_compared_and_a_failure_ranks_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_german(tmp_path)
    monkeypatch.setitem(boosting_defaults.CANDIDATES, "wrong", {"l2": -1.0})
    assert defaults(tmp_path, "--settings", "wrong,default,15 leaves") == 1
    printed = capsys.readouterr().out
    assert "german, wrong, fold 1 failed: ValueError" in printed
    ranked = [line.split("  ")[0] for line in printed.splitlines() if line.startswith(("wrong ", "default ", "15 "))]
    assert ranked[2] == "wrong"
    monkeypatch.setitem(boosting_defaults.CANDIDATES, "wrong", {"l2": 1.0})
    assert defaults(tmp_path, "--settings", "wrong,default,15 leaves") == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--libraries", "gbm"], "no library is called 'gbm'; there are: arboretum, lightgbm, "),
        (["--settings", "best"], "no settings is called 'best'; there are: default, "),
        (["--sets", "germany"], "no set is called 'germany'; there are: adult, "),
    ],
)
def test_unknown_names_list_the_known_ones(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert defaults(tmp_path, *options) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", boosting_defaults.CANDIDATES)
@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_every_candidate_can_be_fitted(name: str, kind: Any) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = X[:, 0] if kind == "regression" else (X[:, 0] > 0).astype(np.int64)
    short = ArboretumDefaults(**boosting_defaults.CANDIDATES[name] | {"n_estimators": 2})
    assert np.isfinite(short.predict(short.fit(Task(kind, X, y, X, y, Settings(threads=1))), X)).all()
