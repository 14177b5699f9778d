"""Models with estimators of other libraries: commands read them by --foreign alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from tests.cli.shop import Run

import arboretum as arb
from arboretum.model import model_file

pytest.importorskip("skops")

RNG = np.random.default_rng(0)
ROWS = {name: RNG.normal(size=40) for name in "ab"}
TARGET = ROWS["a"] + RNG.normal(size=40) / 4
LINE = "sklearn.linear_model._base.LinearRegression"

COMMANDS: dict[str, tuple[str, ...]] = {
    "predict": ("lines.arb", "rows.csv", "-o", "predictions.csv"),
    "evaluate": ("lines.arb", "rows.csv", "-t", "y"),
    "explain": ("lines.arb", "rows.csv", "-t", "y"),
    "report": ("lines.arb", "rows.csv", "-t", "y"),
    "show": ("lines.arb",),
    "convert": ("lines.arb", "lines.json"),
}


def save(form: str, estimator: Any) -> None:
    X = pa.table(ROWS).to_pandas()
    arb.BaggingRegressor(estimator=estimator, n_estimators=2).fit(X, TARGET).save("lines.arb", foreign=form)
    pa.csv.write_csv(pa.table({**ROWS, "y": TARGET}), "rows.csv")


@pytest.mark.parametrize("form", ["skops", "pickle"])
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_read_other_estimators_with_the_option(run: Run, name: str, form: str) -> None:
    save(form, LinearRegression())
    ran = run(name, *COMMANDS[name], "--foreign", form)
    assert ran.code == 0, ran.err


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "show"])
def test_commands_say_which_option_is_needed(run: Run, name: str) -> None:
    save("skops", LinearRegression())
    before = set(Path().iterdir())
    for given, form in (((), "skops"), (("--foreign", "pickle"), "skops, not with pickle")):
        ran = run(name, *COMMANDS[name], *given)
        assert ran.code == 4
        assert f"written with {form}: {LINE} in 'base 0', 'member 0', 'member 1'. Give --foreign skops: " in ran.err
    assert set(Path().iterdir()) == before


def test_show_lists_what_it_does_not_read(run: Run) -> None:
    save("pickle", LinearRegression())
    told = run("show", "lines.arb", "--json").json
    assert told["model"] == "BaggingRegressor"
    assert told["foreign"] == "pickle"
    assert told["classes"] == {name: LINE for name in ("base 0", "member 0", "member 1")}
    shown = run("show", "lines.arb")
    assert LINE in shown.out
    assert "--foreign pickle reads them" in shown.err
    assert "fingerprint" not in run("show", "lines.arb", "--foreign", "pickle", "--json").json
    assert run("show", "lines.arb", "--tree", "0").code == 4


def test_show_names_damage(run: Run) -> None:
    save("skops", LinearRegression())
    assert run("convert", "lines.arb", "lines.json", "--foreign", "skops").code == 0
    stored = json.loads(Path("lines.json").read_text(encoding="utf-8"))
    stored["header"]["foreign"]["form"] = "dill"
    arrays = {
        name: np.array(entry["values"], dtype=entry["dtype"]).reshape(entry["shape"])
        for name, entry in stored["arrays"].items()
    }
    model_file.save("lines.arb", stored["header"], arrays)
    ran = run("show", "lines.arb")
    assert ran.code == 4
    assert "form is 'dill', expected one of skops, pickle" in ran.err


def test_types_are_trusted_by_name(run: Run) -> None:
    save("skops", KNeighborsRegressor())
    words = ("evaluate", *COMMANDS["evaluate"], "--foreign", "skops")
    types = ["sklearn.metrics._dist_metrics.EuclideanDistance64", "sklearn.neighbors._kd_tree.KDTree"]
    needed = [word for name in types for word in ("--trusted", name)]
    ran = run(*words)
    assert ran.code == 4
    assert f"skops does not trust: {', '.join(types)}. Give --foreign skops {' '.join(needed)}: do this only" in ran.err
    assert run(*words, *needed).code == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--foreign", "joblib"], "--foreign joblib: expected skops or pickle"),
        (["--trusted", "a.B"], "--trusted a.B: give --foreign skops, too"),
        (["--trusted", "a.B", "--foreign", "pickle"], "--trusted a.B: give --foreign skops, too"),
    ],
)
@pytest.mark.parametrize("name", ["show", "predict"])
def test_odd_options_are_errors_of_usage(run: Run, model: Path, name: str, given: list[str], words: str) -> None:
    Path("rows.csv").write_text("a\n1\n", encoding="utf-8")
    more = () if name == "show" else ("rows.csv", "-o", "p.csv")
    ran = run(name, model, *more, *given)
    assert ran.code == 2
    assert words in ran.err
