"""The table of exit codes of docs/command.md, line by line: what ends with which code, in words and as JSON."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.shop import Run, files, shop_table

import arboretum as arb
from arboretum.cli.errors import EXIT_CODES
from arboretum.running.interruption import warn_interrupted

TRAIN = ("train", "shop.csv", "-t", "sold", "-m", "tree", "--holdout", "0.3")
COMMAND = [sys.executable, "-c", "from arboretum.cli import main; main()"]
UPLIFT = ("train", "shop.csv", "-t", "sold", "--treatment", "zip")
EARLY = "SELECT size - 9 AS t, 1 AS e, price FROM data"
HALVES = "SELECT *, order_id % 2 + 0.5 AS h FROM data"
WEIGHTS = "SELECT *, {} AS w FROM data"
NEGATIVE = "SELECT * REPLACE (-1 AS size) FROM data"

# exit code, words, part of the message
ENDS: list[tuple[int, tuple[Any, ...], str]] = [
    (0, TRAIN, ""),
    (0, ("predict", "kept.arb", "shop.csv", "-o", "p.csv"), ""),
    (0, ("evaluate", "kept.arb", "shop.csv"), ""),
    (0, ("show", "kept.arb"), ""),
    (
        1,
        ("train", "shop.csv", "-t", "t", "--event", "e", "--sql", EARLY),
        "the time -",
    ),
    (2, (*TRAIN, "--colour", "red"), "No such option: --colour"),
    (2, (*TRAIN, "--out"), "requires an argument"),
    (2, (*TRAIN[:-2], "--holdout", "7"), "--holdout"),
    (2, (*TRAIN, "--set", "max_depth=abc"), "max_depth='abc'"),
    (2, (*TRAIN, "--set", "monotonic_cst={'nothing': 1}"), "monotonic_cst names column 'nothing'"),
    (2, (*TRAIN, "--set", "class_weight=foo"), "class_weight='foo': use"),
    (2, (*TRAIN, "--set", "random_state=abc"), "random_state='abc': use"),
    (2, ("train", "shop.csv", "-t", "price", "--set", "loss=mse"), "unknown loss 'mse'"),
    (2, ("train", "shop.csv", "-t", "price", "--set", "scoring=auc"), "scoring='auc' is neither"),
    (2, ("train", "shop.csv", "-t", "price", "--set", "quantile=2"), "has no parameter 'quantile'"),
    (2, ("train", "shop.csv", "-t", "price", "--set", "n_jobs=0", "--cv", "2"), "n_jobs=0: use"),
    (2, ("train", "shop.csv", "-t", "sold", "-m", "bagging", "--set", "estimator=foo"), "estimator='foo': use"),
    (2, ("train", "shop.csv", "-m", "isolation", "--set", "extension=99"), "extension=99 needs"),
    (2, (*UPLIFT, "--set", "control=zz"), "control='zz' is not a label"),
    (3, UPLIFT, "holds '01234', '04321', '09876', but not 'control', which would be the control: name the control, as"),
    (3, ("compare", *UPLIFT[1:]), "'control', which would be the control: rename one of them by --sql"),
    (3, ("train", "shop.csv", "-t", "sold", "--weight", "size", "--sql", NEGATIVE), "the weight 'size' is -1 in a row"),
    (2, ("train", "shop.csv", "-t", "sold", "-m", "catboost"), "--model catboost: did you mean 'boosted:catboost'?"),
    (2, ("compare", "shop.csv", "-t", "sold", "-m", "xgb"), "--model xgb: did you mean 'boosted:xgboost'?"),
    (2, ("train", "shop.csv", "-t", "sold", "-m", "boosted:lgbm"), "did you mean 'boosted:lightgbm'?"),
    (2, ("train", "shop.csv", "-t", "sold", "-m", "boosted:"), "--model boosted:: there are boosted:lightgbm, "),
    (2, (*TRAIN, "--id", "sold"), "--target and --id both name 'sold': a column is one or the other"),
    (2, (*TRAIN, "--ignore", "sold"), "--target and --ignore both name 'sold'"),
    (2, (*TRAIN, "--ignore", "size", "--weight", "size"), "--weight and --ignore both name 'size'"),
    (
        2,
        ("evaluate", "kept.arb", "shop.csv", "--event", "size"),
        "--event: the model is for binary, not for",
    ),
    (2, ("evaluate", "kept.arb", "shop.csv", "--treatment", "zip"), "--treatment: the model is for binary, not for"),
    (
        3,
        ("train", "shop.csv", "-t", "h", "--task", "binary", "--sql", HALVES),
        "'h' holds 0.5, which is not a class",
    ),
    (
        3,
        ("train", "shop.csv", "-t", "sold", "--sql", "SELECT * FROM data WHERE 0"),
        "no rows: check the query",
    ),
    (2, (*TRAIN, "--cv", "3"), "contradict each other"),
    (2, ("train", "shop.csv", "-t", "sold", "--cv", "500"), "--cv 500: there are only 240 rows"),
    (3, ("train", "shop.csv", "-t", "sold", "--cv", "5", "--time", "w", "--sql", WEIGHTS.format(1)), "too few"),
    (3, ("train", "shop.csv", "-t", "sold", "--weight", "w", "--sql", WEIGHTS.format(0)), "'w' is 0 in every row"),
    (
        3,
        ("train", "shop.csv", "-t", "sold", "--weight", "w", "--sql", WEIGHTS.format("nullif(order_id, 7)")),
        "the weight 'w' has 1 missing values: leave those rows out by --sql",
    ),
    (2, ("train", "shop.csv", "-t", "sold", "--task", "sorting"), "--task sorting: choose auto, binary, multiclass"),
    (3, ("train", "shop.csv", "-t", "zip", "--task", "binary"), "has 3 values, '01234', '04321', '09876': --task"),
    (3, ("train", "shop.csv", "-t", "day"), "the target 'day' holds dates: predict a number, such as the days until"),
    (2, ("train", "shop.csv::one", "-t", "sold"), "shop.csv is a csv file and has no tables: leave out the name"),
    (2, ("sing",), "No such command"),
    (2, ("predict",), "Missing argument"),
    (3, ("train", "absent.csv", "-t", "y"), "there is no file absent.csv"),
    (3, ("train", "shop.csv", "-t", "prise"), "did you mean 'price'?"),
    (4, ("predict", "absent.arb", "shop.csv", "-o", "p.csv"), "there is no such file"),
    (4, ("show", "shop.csv"), "shop.csv"),
    (5, (*TRAIN, "-o", "kept.arb"), "kept.arb exists already"),
    (5, (*TRAIN, "-o", "no/m.arb"), "there is no folder no"),
]


@pytest.mark.parametrize(("code", "words", "message"), ENDS, ids=lambda value: str(value)[:60])
def test_every_end_has_its_code(run: Run, shop: Path, model: Path, code: int, words: Any, message: str) -> None:
    before = files(shop.parent)
    ran = run(*words)
    assert ran.code == code, ran.err
    assert message in ran.err
    if code:
        assert ran.out == ""
        assert "error: " in ran.err
        assert files(shop.parent) == before


@pytest.mark.parametrize(("code", "words", "message"), ENDS, ids=lambda value: str(value)[:60])
def test_every_end_has_its_json(run: Run, shop: Path, model: Path, code: int, words: Any, message: str) -> None:
    ran = run(words[0], "--json", *words[1:])
    if words == ("sing",):  # an option of a command that does not exist
        return
    assert ran.code == code, ran.err
    if code:
        assert set(ran.json) == {"error", "exit_code"}
        assert ran.json["exit_code"] == code
        assert message in ran.json["error"]
    else:
        assert "error" not in ran.json


def test_every_code_is_seen_here() -> None:
    assert {code for code, _, _ in ENDS} | {130} == set(EXIT_CODES)


def test_nothing_asked_is_help(run: Run) -> None:
    ran = run()
    assert ran.code == 0
    assert "train" in ran.out


def test_the_version_is_told(run: Run) -> None:
    assert run("--version") == (0, f"arboretum {arb.__version__}\n".encode(), "")


# ---- Ctrl-C --------------------------------------------------------------------------------------------------------

# A child of a background job would ignore Ctrl-C.
HEARING = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {COMMAND[-1]}"
LONG = ("--set", "n_estimators=1000000", "--set", "learning_rate=1e-9", "--set", "early_stopping=False")


def interrupted(folder: Path, *words: str, when: Callable[[], object]) -> tuple[int, dict[str, Any]]:
    """Run the command, press Ctrl-C at a time, and return exit code and JSON."""
    program = [sys.executable, "-c", HEARING, *words, "--json"]
    with subprocess.Popen(program, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            deadline = time.monotonic() + 60
            while not when() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert out, err.decode()
    return process.returncode, json.loads(out)


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal")
def test_an_interrupted_training_keeps_the_model_and_says_so(shop: Path, tmp_path: Path) -> None:
    steps = ("--checkpoint", "c.arb", "--checkpoint-every", "0")
    words = ("train", "shop.csv", "-t", "price", "--holdout", "0.3", *LONG)
    code, told = interrupted(tmp_path, *words, *steps, when=(tmp_path / "c.arb").exists)
    assert (code, told["exit_code"], told["interrupted"]) == (130, 130, True)
    assert arb.load(tmp_path / "model.arb").fingerprint() == told["fingerprint"]
    assert "rmse" in told["scores"]
    assert (tmp_path / "c.arb").exists()  # the same command goes on from it
    (tmp_path / "model.arb").unlink()
    (tmp_path / "c.arb").unlink()
    code, told = interrupted(tmp_path, *words[:4], "--cv", "3", *LONG, *steps, when=(tmp_path / "c.arb").exists)
    assert (code, told["interrupted"], "scores" in told) == (130, True, False)
    assert arb.load(tmp_path / "model.arb").n_iter_ >= 1


def test_an_interrupted_fold_judges_nothing(run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit, rows = arb.BoostedTreesRegressor.fit, []

    def pressed(model: Any, X: Any, *rest: Any, **given: Any) -> Any:
        rows.append(len(X))
        if len(rows) == 3:
            warn_interrupted(3, "rounds")
        return fit(model, X, *rest, **given)

    monkeypatch.setattr(arb.BoostedTreesRegressor, "fit", pressed)
    ran = run("train", shop, "-t", "price", "--cv", 4, "--set", "n_estimators=5", "--json")
    assert (ran.code, ran.json["interrupted"], "scores" in ran.json) == (130, True, False)
    assert rows == [240, 180, 180]
    assert arb.load("model.arb").n_iter_ == 5


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal")
def test_an_interruption_before_there_is_a_model_writes_nothing(
    run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    before = files(shop.parent)
    monkeypatch.setattr(arb.DecisionTreeClassifier, "fit", pressed)
    ran = run(*TRAIN, "--json")
    assert ran.code == 130
    assert ran.json == {"error": "interrupted; nothing was written", "exit_code": 130}
    assert files(shop.parent) == before


def test_an_interrupted_comparison_shows_what_is_done(run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(arb.ExtraTreesClassifier, "fit", pressed)
    ran = run("compare", shop, "-t", "sold", "-m", "tree", "-m", "extra", "-m", "forest", "--json")
    assert ran.code == 130
    board = {line["method"]: line["failure"] for line in ran.json["leader_board"]}
    assert board == {"tree": None, "baseline": None, "extra": "interrupted", "forest": "interrupted"}
    assert not Path("model.arb").exists()
    ran = run("compare", shop, "-t", "sold", "-m", "tree", "-m", "extra")
    assert (ran.code, "interrupted: no model was written" in ran.out) == (130, True)


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal")
@pytest.mark.parametrize("command", [("train", "-t", "a"), ("compare", "-t", "a"), ("predict", "-o", "p.csv")], ids=str)
def test_an_interrupted_query_is_an_interruption(model: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    """DuckDB has errors of its own for Ctrl-C, as while it reads a CSV file."""
    endless = "SELECT sum(random()) AS a FROM range(1000000000000)"
    kept = ("kept.arb",) if command[0] == "predict" else ()
    start = time.monotonic()
    words = (command[0], *kept, *command[1:], "--sql", endless)
    code, told = interrupted(tmp_path, *words, when=lambda: time.monotonic() > start + 2.5)
    assert (code, told) == (130, {"error": "interrupted; nothing was written", "exit_code": 130})


def test_an_error_of_a_query_that_was_interrupted_is_an_interruption(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import duckdb

    def pressed(*_: Any, **__: Any) -> None:
        raise duckdb.InterruptException("INTERRUPT Error: Interrupted!")

    monkeypatch.setattr("arboretum.data.sources.copy_out", pressed)
    with pytest.raises(KeyboardInterrupt):
        arb.Dataset.from_sql("SELECT 1 AS a").to_frame()
    assert run("train", "--sql", "SELECT 1 AS a", "-t", "a").code == 130


def test_an_interrupted_demo_says_what_it_left(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("arboretum.cli.report.write_report", pressed)
        ran = run("demo", "--rows", 1000, "--json")
    left = f"interrupted; {Path('demo/flights.arb')} was written, nothing else"
    assert (ran.code, ran.json) == (130, {"error": left, "exit_code": 130})
    for method in (arb.ExtraTreesClassifier, arb.BoostedTreesClassifier):
        monkeypatch.setattr(method, "fit", pressed)
        ran = run("demo", "--rows", 1000, "-o", "other", "--json")
        assert (ran.code, ran.json["exit_code"], ran.json["interrupted"]) == (130, 130, True)
        assert not Path("other").exists()


def test_the_best_of_a_comparison_is_written_whole_or_not_at_all(
    run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = arb.BoostedTreesClassifier.fit

    def pressed(model: Any, X: Any, *rest: Any, **given: Any) -> Any:
        if len(X) == len(shop_table()):
            warn_interrupted(3, "rounds")
        return fit(model, X, *rest, **given)

    monkeypatch.setattr(arb.BoostedTreesClassifier, "fit", pressed)
    ran = run("compare", shop, "-t", "sold", "-m", "boosted", "--cv", "2", "--json")
    assert (ran.code, ran.json["error"]) == (130, "interrupted; nothing was written")
    assert not Path("model.arb").exists()


# ---- standard streams ----------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize(
    ("streams", "code"),
    [(">&-", 5), (">/dev/full", 5), ("2>&-", 0), ("2>/dev/full", 0), ("<&-", 0), ("<&- 2>&- >&-", 5), ("| true", 0)],
)
@pytest.mark.parametrize("as_json", [(), ("--json",)], ids=["words", "json"])
def test_no_stream_costs_the_model(shop: Path, tmp_path: Path, streams: str, code: int, as_json: tuple[str]) -> None:
    words = shlex.join([*COMMAND, *TRAIN, *as_json])
    ran = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {words} {streams}"], cwd=tmp_path, capture_output=True, check=False
    )
    assert ran.returncode == code, ran.stderr
    assert b"Traceback" not in ran.stderr
    assert arb.load(tmp_path / "model.arb").classes_.tolist() == ["no", "yes"]
    if code and "2>" not in streams:
        assert b"error: cannot write to standard output: " in ran.stderr
        assert b"; model.arb was written all the same" in ran.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize(
    ("words", "streams", "code", "message"),
    [
        ("--version", ">/dev/full", 5, "error: cannot write to standard output: No space left on device\n"),
        ("--help", ">/dev/full", 5, "error: cannot write to standard output: No space left on device\n"),
        ("predict kept.arb shop.csv -o -", ">/dev/full", 5, "error: cannot write to standard output: No space"),
        ("predict kept.arb shop.csv -o -", ">&-", 5, "error: cannot write to standard output: it is closed\n"),
        ("predict kept.arb - -o p.csv", "<&-", 3, "error: standard input is closed: "),
    ],
)
def test_a_stream_that_is_needed_is_named(
    shop: Path, model: Path, tmp_path: Path, words: str, streams: str, code: int, message: str
) -> None:
    command = f"{shlex.join(COMMAND)} {words} {streams}"
    ran = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == code
    assert message in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_traceback_changes_neither_code_nor_json(run: Run, shop: Path) -> None:
    words = ("train", shop, "-t", "prise", "--json")
    plain, traced = run(*words), run(*words, "--traceback")
    assert (traced.code, traced.json) == (plain.code, plain.json)
    assert ("Traceback" in plain.err, "Traceback" in traced.err) == (False, True)
    assert traced.err.endswith(plain.err)


def test_help_has_a_short_name_and_the_command_another(run: Run, tmp_path: Path) -> None:
    assert run("train", "-h") == run("train", "--help")
    words = [sys.executable, "-m", "arboretum", "--version"]
    assert subprocess.run(words, capture_output=True, check=True).stdout.decode() == f"arboretum {arb.__version__}\n"


# ---- presets -------------------------------------------------------------------------------------------------------


def test_presets_have_one_name_in_all_commands(run: Run, shop: Path) -> None:
    settings = ("-m", "boosted:lightgbm", "--holdout", "0.3")
    compared = run("compare", shop, "-t", "price", *settings, "-o", "a.arb", "--json")
    assert [line["method"] for line in compared.json["leader_board"]] == ["boosted:lightgbm", "baseline"]
    run("train", shop, "-t", "price", "-m", "boosted:lightgbm", "--cv", "2", "-o", "b.arb")
    assert arb.load("a.arb").fingerprint() == arb.load("b.arb").fingerprint()
    table = shop_table().drop_columns(["order_id", "price"])
    own = arb.BoostedTreesRegressor.preset("lightgbm").fit(table, shop_table()["price"].to_numpy())
    assert own.fingerprint() == arb.load("a.arb").fingerprint()
