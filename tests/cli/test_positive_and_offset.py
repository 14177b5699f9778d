"""The class that two classes are judged by, and columns that predictions start from."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.metrics import average_precision_score
from tests.cli.conftest import run_command
from tests.cli.shop import Run, shop_table

import arboretum as arb
from arboretum.metrics.own_loss import own_loss

BOOSTED = ("--set", "n_estimators=6", "--set", "learning_rate=0.3", "--set", "early_stopping=false")


def facts_of(path: Path | str) -> dict[str, Any]:
    page = Path(path).read_text(encoding="utf-8")
    found = re.search(r'id="facts">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    sections: dict[str, Any] = json.loads(found[1])["sections"]
    return sections


def claims_table() -> pa.Table:
    """Return claims of insured ones within different shares of a year."""
    random = np.random.default_rng(1)
    age, exposure = random.integers(18, 80, 400), random.uniform(0.05, 1.0, 400)
    return pa.table(
        {
            "age": age,
            "region": random.choice(["north", "south"], 400),
            "log_exposure": np.log(exposure),
            "claims": random.poisson(exposure * np.exp(2 - age / 30)),
            "late": np.where(random.random(400) < exposure, "yes", "no"),
            "size": random.choice(["S", "M", "L"], 400),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of data and models that the tests do not change."""
    folder = tmp_path_factory.mktemp("options")
    pa.parquet.write_table(claims_table(), folder / "claims.parquet")
    pa.parquet.write_table(shop_table(), folder / "shop.parquet")
    turned = ["-t", "sold", "--ignore", "price", "--positive", "no", "--holdout", 0.3]
    counts = ["-t", "claims", "--task", "regression", "--ignore", "late", "--ignore", "size", "--holdout", 0.3]
    counts += ["--set", "loss=poisson", "--offset", "log_exposure"]
    for words in (
        ["shop.parquet", *turned, *BOOSTED, "-o", folder / "turned.arb"],
        ["shop.parquet", *turned, "-m", "tree", "-o", folder / "tree.arb"],
        ["claims.parquet", *counts, *BOOSTED, "-o", folder / "counts.arb"],
    ):
        ran = run_command("train", folder / str(words[0]), *words[1:])
        assert ran.code == 0, ran.err
    return folder


# ------------------------------------------------------------------------------------------------- --positive


def precision_of(path: Path, label: str) -> float:
    fitted, table = arb.load(path), shop_table()
    proba = fitted.predict_proba(table.select(fitted.feature_names_in_.tolist()))
    truth = table["sold"].to_numpy() == label
    return float(average_precision_score(truth, proba[:, fitted.classes_.tolist().index(label)]))


@pytest.mark.parametrize("model", ["turned.arb", "tree.arb"])
def test_a_model_keeps_its_positive_class_until_another_is_given(run: Run, folder: Path, model: str) -> None:
    kept = run("evaluate", folder / model, folder / "shop.parquet", "--json").json
    other = run("evaluate", folder / model, folder / "shop.parquet", "--json", "--positive", "yes").json
    assert (kept["positive"], other["positive"]) == ("no", "yes")
    for ran, label in ((kept, "no"), (other, "yes")):
        assert ran["scores"]["average precision"] == pytest.approx(precision_of(folder / model, label))
        share = (shop_table()["sold"].to_numpy() == label).mean()
        assert ran["baseline"]["average precision"] == pytest.approx(share)
    for name in ("log loss", "accuracy", "roc auc"):
        assert kept["scores"][name] == pytest.approx(other["scores"][name])


def test_tables_name_the_positive_class(run: Run, folder: Path) -> None:
    assert run("show", folder / "turned.arb", "--json").json["positive"] == "no"
    assert "(positive: 'no')" in run("evaluate", folder / "turned.arb", folder / "shop.parquet").out
    words = ["-t", "sold", "-m", "tree", "--cv", 2]
    ran = run("compare", folder / "shop.parquet", *words, "--positive", "no", "-o", "best.arb")
    assert (ran.code, "binary of 'sold' (positive: 'no')" in ran.out) == (0, True)
    assert run("show", "best.arb", "--json").json["positive"] == "no"
    assert run("train", folder / "shop.parquet", *words, "--json").json["positive"] == "yes"


@pytest.mark.parametrize(("given", "first"), [((), "no"), (("--positive", "yes"), "yes")])
def test_predictions_begin_with_the_positive_class(run: Run, folder: Path, given: tuple[str, ...], first: str) -> None:
    assert run("predict", folder / "tree.arb", folder / "shop.parquet", "-o", "p.parquet", *given).code == 0
    written, fitted = pa.parquet.read_table("p.parquet"), arb.load(folder / "tree.arb")
    assert written.column_names[2] == f"probability of {first}"
    proba = fitted.predict_proba(shop_table().select(fitted.feature_names_in_.tolist()))
    assert np.array_equal(written["probability of no"].to_numpy(), proba[:, 0])


def test_the_report_shows_the_positive_class(run: Run, folder: Path) -> None:
    sections = {}
    for label in ("no", "yes"):
        words = ["-o", f"{label}.html", *(["--positive", label] if label == "yes" else [])]
        ran = run("report", folder / "turned.arb", folder / "shop.parquet", *words)
        assert ran.code == 0, ran.err
        sections[label] = facts_of(f"{label}.html")
        (output,) = sections[label]["evaluation"]["outputs"]
        figures = {metric["name"]: metric["model"] for metric in output["metrics"]}
        assert figures["average precision"] == pytest.approx(precision_of(folder / "turned.arb", label), rel=1e-4)
        charts = {chart["title"]: chart for chart in output["charts"]}
        assert charts["Confusion matrix by threshold"]["labels"][1] == label
        rows = (shop_table()["sold"].to_numpy() == label).sum()
        assert charts["Confusion matrix by threshold"]["positives"] == rows
        assert charts["Scores by class"]["x"] == f"probability of {label}"
        assert sections[label]["dependence"]["of"] == label
    no, yes = (np.array(sections[label]["dependence"]["columns"][0]["lines"]) for label in ("no", "yes"))
    np.testing.assert_allclose(no, 1 - yes, atol=1e-4)
    falls = [sections[label]["examples"]["waterfalls"][0] for label in ("no", "yes")]
    assert [fall["output"] for fall in falls] == ["no", "yes"]
    assert falls[0]["base"] == pytest.approx(-falls[1]["base"])


NEITHER = "the classes of 'sold' are 'no', 'yes'"
SEVERAL = "--positive S: 'size' has 3 classes, but only one of two can be the positive one"
NUMBERS = "--positive 1: the task is regression, but only a target of two classes has a positive one"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "shop.parquet", "-t", "sold", "--positive", "Yes"], NEITHER),
        (["compare", "shop.parquet", "-t", "sold", "--positive", "Yes"], NEITHER),
        (["evaluate", "tree.arb", "shop.parquet", "--positive", "maybe"], NEITHER),
        (["predict", "tree.arb", "shop.parquet", "-o", "-", "--positive", "maybe"], NEITHER),
        (["report", "tree.arb", "shop.parquet", "--positive", "maybe"], NEITHER),
        (["train", "claims.parquet", "-t", "size", "--positive", "S"], SEVERAL),
        (["train", "shop.parquet", "-t", "price", "--positive", "1"], NUMBERS),
        (["predict", "counts.arb", "claims.parquet", "-o", "-", "--positive", "1"], NUMBERS),
    ],
)
def test_a_positive_class_is_one_of_two(run: Run, folder: Path, words: list[str], message: str) -> None:
    ran = run(words[0], *(folder / word if word.endswith(("arb", "parquet")) else word for word in words[1:]))
    assert (ran.code, message in ran.err) == (2, True), ran.err


@pytest.mark.parametrize(("values", "text"), [([0, 1], "0"), ([0.0, 2.0], "0"), ([False, True], "false")])
def test_classes_are_named_as_they_are_written(run: Run, values: list[Any], text: str) -> None:
    draw = np.random.default_rng(0)
    x = draw.normal(size=100)
    pa.parquet.write_table(
        pa.table({"x": x, "y": np.array(values)[(x + draw.normal(size=100) > 0).astype(int)]}), "t.parquet"
    )
    words = ["-t", "y", "--task", "binary", "-m", "tree", "--holdout", 0.3, "--positive", text, "--json"]
    ran = run("train", "t.parquet", *words)
    assert (ran.code, ran.json["positive"]) == (0, values[0]), ran.err


# --------------------------------------------------------------------------------------------------- --offset


def test_an_offset_is_no_feature_and_starts_predictions(run: Run, folder: Path) -> None:
    fitted, table = arb.load(folder / "counts.arb"), claims_table()
    assert fitted.feature_names_in_.tolist() == ["age", "region"]
    assert fitted.has_offset_
    told = fitted.predict(table.select(["age", "region"]), offset=table["log_exposure"].to_numpy())
    ran = run("predict", folder / "counts.arb", folder / "claims.parquet", "-o", "p.parquet", "--batch", 150)
    assert (ran.code, "offset" in ran.err) == (0, False), ran.err
    np.testing.assert_array_equal(pa.parquet.read_table("p.parquet")["prediction"].to_numpy(), told)
    judged = run("evaluate", folder / "counts.arb", folder / "claims.parquet", "--json")
    truth = table["claims"].to_numpy().astype(float)
    wanted = own_loss(fitted, truth, told).mean(truth, told)
    assert judged.json["scores"]["Poisson deviance"] == pytest.approx(wanted, rel=1e-12)


def test_another_column_may_hold_the_offset_later(run: Run, folder: Path) -> None:
    table = claims_table()
    table = table.rename_columns(["years" if name == "log_exposure" else name for name in table.column_names])
    pa.parquet.write_table(table, "renamed.parquet")
    for command in ("predict", "evaluate", "report"):
        out = ["-o", f"{command}.csv"] if command != "evaluate" else []
        ran = run(command, folder / "counts.arb", "renamed.parquet", *out)
        assert (ran.code, ran.err.count("\n")) == (3, 1)
        assert "renamed.parquet has no column 'log_exposure', the offset that predictions start from" in ran.err
    given = run("evaluate", folder / "counts.arb", "renamed.parquet", "--offset", "years", "--json").json
    assert given["scores"] == run("evaluate", folder / "counts.arb", folder / "claims.parquet", "--json").json["scores"]


def test_the_report_predicts_with_offsets(run: Run, folder: Path) -> None:
    data = folder / "claims.parquet"
    ran = run("report", folder / "counts.arb", data, "-o", "r.html", "--train", data)
    assert (ran.code, "offset" in ran.err) == (0, False), ran.err
    sections = facts_of("r.html")
    assert not [name for name, section in sections.items() if "left_out" in section]
    fitted, table = arb.load(folder / "counts.arb"), claims_table()
    offset = table["log_exposure"].to_numpy()
    told = fitted.predict(table.select(["age", "region"]), offset=offset)
    for row, fall in zip(sections["examples"]["rows"], sections["examples"]["waterfalls"], strict=True):
        assert float(row["told"]) == pytest.approx(told[row["row"]], rel=1e-5)
        raw = fall["base"] + sum(fall["values"]) + fall["rest"]
        assert np.exp(raw) == pytest.approx(told[row["row"]], rel=1e-3)
        assert fall["offset"] == pytest.approx(offset[row["row"]], rel=1e-3)
    (output,) = sections["evaluation"]["outputs"]
    losses = sections["training"]["curves"]
    assert "left_out" not in losses
    own = own_loss(fitted, table["claims"].to_numpy().astype(float), told)
    truth = table["claims"].to_numpy().astype(float)
    assert output["metrics"][0]["model"] == pytest.approx(own.mean(truth, told), rel=1e-4)
    assert sections["dependence"]["at_offset_zero"]


@pytest.mark.parametrize("left_out", [[], ["claims", "log_exposure"]], ids=["with targets", "without"])
def test_explanations_leave_the_offset_aside(run: Run, folder: Path, left_out: list[str]) -> None:
    pa.parquet.write_table(claims_table().drop_columns(left_out), "data.parquet")
    ran = run("explain", folder / "counts.arb", "data.parquet", "--rows", 1)
    assert (ran.code, "none is given" in ran.err) == (0, False), ran.err
    assert "what columns add (the offset comes on top)" in ran.out


@pytest.mark.parametrize("limit", [(), ("--memory-limit", "1GB")], ids=["in memory", "from files"])
@pytest.mark.parametrize(("target", "columns"), [("late", 1), ("size", 3)])
def test_classes_take_an_offset_for_each_raw_prediction(
    run: Run, folder: Path, limit: tuple[str, ...], target: str, columns: int
) -> None:
    table = claims_table()
    for number in range(columns):
        table = table.append_column(f"start{number}", pa.array(np.linspace(-1, number, len(table))))
    pa.parquet.write_table(table, "data.parquet")
    starts = [f"start{number}" for number in range(columns)]
    words = [word for name in starts for word in ("--offset", name)]
    other = [word for name in {"late", "size", "claims", "log_exposure"} - {target} for word in ("--ignore", name)]
    ran = run("train", "data.parquet", "-t", target, *BOOSTED, *words, *other, *limit, "--holdout", 0.3)
    assert ran.code == 0, ran.err
    fitted = arb.load("model.arb")
    offset = np.column_stack([table[name].to_numpy() for name in starts])
    proba = fitted.predict_proba(table.select(fitted.feature_names_in_.tolist()), offset=offset)
    assert run("predict", "model.arb", "data.parquet", "-o", "p.parquet").code == 0
    written = pa.parquet.read_table("p.parquet")
    for place, label in enumerate(fitted.classes_.tolist()):
        np.testing.assert_array_equal(written[f"probability of {label}"].to_numpy(), proba[:, place])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "claims.parquet", "-t", "claims", "-m", "forest"], "--model forest takes none; use --model boosted"),
        (["compare", "claims.parquet", "-t", "claims", "-m", "tree"], "--model tree takes none; use --model boosted"),
        (["train", "claims.parquet"], "--offset: no method of anomaly takes one"),
        (["predict", "tree.arb", "shop.parquet", "-o", "-"], "DecisionTreeClassifier takes none; boosted trees do"),
        (["evaluate", "tree.arb", "shop.parquet"], "DecisionTreeClassifier takes none; boosted trees do"),
        (["report", "tree.arb", "shop.parquet"], "DecisionTreeClassifier takes none; boosted trees do"),
    ],
)
def test_methods_without_offsets_refuse_them(run: Run, folder: Path, words: list[str], message: str) -> None:
    named = [folder / word if word.endswith(("arb", "parquet")) else word for word in words[1:]]
    ran = run(words[0], *named, "--offset", "log_exposure")
    assert (ran.code, message in ran.err) == (2, True), ran.err


def test_only_methods_that_take_offsets_are_compared(run: Run, folder: Path) -> None:
    words = ["-t", "claims", "--task", "regression", "--offset", "log_exposure", "--holdout", 0.3]
    ran = run("compare", folder / "claims.parquet", *words, "--time-limit", 0.001, "--json")
    assert ran.code == 0, ran.err
    compared = {line["method"].partition(":")[0] for line in ran.json["leader_board"]}
    assert compared == {"boosted", "baseline"}


def test_an_offset_that_is_not_a_number_is_refused(run: Run, folder: Path) -> None:
    ran = run("train", folder / "claims.parquet", "-t", "claims", "--offset", "region")
    assert (ran.code, "column 'region' holds" in ran.err) == (3, True), ran.err
