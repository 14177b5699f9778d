"""Commands that read a model file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.cli.shop import Run, shop_table

import arboretum as arb
from arboretum.cli.reference import reference


@pytest.mark.parametrize("out", ["p.csv", "p.parquet"])
def test_predictions_stream_in_batches_with_the_columns_to_keep(run: Run, shop: Path, model: Path, out: str) -> None:
    ran = run("predict", model, shop, "-o", out, "--keep", "day", "--batch", 100)
    assert ran.code == 0, ran.err
    written = pyarrow.csv.read_csv(out) if out.endswith("csv") else pyarrow.parquet.read_table(out)
    assert written.column_names == ["order_id", "day", "prediction", "probability of no", "probability of yes"]
    fitted = arb.load(model)
    table = shop_table().select(fitted.feature_names_in_.tolist())
    assert written["order_id"].to_pylist() == shop_table()["order_id"].to_pylist()
    assert np.array_equal(written["probability of yes"].to_numpy(), fitted.predict_proba(table)[:, 1])
    assert written["prediction"].to_pylist() == fitted.predict(table).tolist()


def test_ids_go_with_predictions_and_examples_by_themselves(run: Run, shop: Path, model: Path) -> None:
    assert run("predict", model, shop, "-o", "p.parquet").code == 0  # training took order_id for the name of rows
    assert pyarrow.parquet.read_table("p.parquet").column_names[:2] == ["order_id", "prediction"]
    ran = run("explain", model, shop, "--rows", 2)
    assert "row 1 (order_id 1): raw prediction" in ran.out
    pyarrow.parquet.write_table(shop_table().drop_columns("order_id"), "nameless.parquet")
    ran = run("predict", model, "nameless.parquet", "-o", "n.parquet")
    assert (ran.code, "has no column 'order_id' to name rows by" in ran.err) == (0, True)
    assert "row 1: raw prediction" in run("explain", model, "nameless.parquet", "--rows", 2).out


def test_evaluate_knows_the_target(run: Run, shop: Path, model: Path) -> None:
    ran = run("evaluate", model, shop, "--json")
    frame = shop_table()
    fitted = arb.load(model)
    right = fitted.predict(frame.select(fitted.feature_names_in_.tolist())) == frame["sold"].to_numpy()
    assert ran.json["scores"]["accuracy"] == right.mean()


def test_show_tells_facts_and_draws_a_tree(run: Run, model: Path) -> None:
    ran = run("show", model, "--tree", 0, "--depth", 1)
    assert "DecisionTreeClassifier" in ran.out
    assert arb.load(model).fingerprint() in ran.out
    assert arb.load(model).to_text(max_depth=1) in ran.out
    assert run("show", model, "--json").json["target"] == "sold"


def test_conversions_come_back_to_the_same_model(run: Run, model: Path) -> None:
    wanted = arb.load(model).fingerprint()
    assert run("convert", model, "m.json").code == 0
    assert run("convert", "m.json", "mapped.arb", "--to", "mapped").code == 0
    assert arb.load("mapped.arb").fingerprint() == wanted
    assert run("show", "mapped.arb", "--json").json["target"] == "sold"
    assert run("convert", model, "m.txt").code == 0
    assert arb.load(model).to_text() in Path("m.txt").read_text(encoding="utf-8")


def test_contributions_add_up_to_the_raw_prediction(run: Run, shop: Path) -> None:
    run("train", shop, "-t", "price", "--ignore", "sold", "--set", "n_estimators=5", "--holdout", 0.3)
    ran = run("explain", "model.arb", shop, "--rows", 2, "--json")
    assert ran.code == 0, ran.err
    fitted = arb.load("model.arb")
    table = shop_table().select(fitted.feature_names_in_.tolist()).slice(0, 2)
    sums = [row["base"] + sum(row["adds"].values()) for row in ran.json["contributions"]]
    np.testing.assert_allclose(sums, fitted.predict(table), rtol=1e-9)
    assert set(ran.json["importances"]["size"]) >= {"gain", "permutation", "shap"}


def facts_of(page: str) -> Any:
    """Return what a report knows."""
    return json.loads(re.search(r'id="facts">(.*?)</script>', page, re.DOTALL)[1])


def test_a_report_is_one_page(run: Run, shop: Path, model: Path) -> None:
    ran = run("report", model, shop, "-o", "r.html")
    assert ran.code == 0, ran.err
    assert Path("r.html").read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")
    assert "file://" in ran.out


def test_a_report_names_target_file_date_and_rows(run: Run, shop: Path, model: Path) -> None:
    assert run("report", model, shop, "-o", "r.html", "--train", shop).code == 0
    page = Path("r.html").read_text(encoding="utf-8")
    assert re.search(rf"<title>sold · {re.escape(str(shop))} · \d{{4}}-\d\d-\d\d</title>", page)
    facts = facts_of(page)
    assert facts["about"]["source_train"] == str(shop)
    assert facts["about"]["id_name"] == "order_id"
    names = shop_table()["order_id"].to_pylist()
    for row in facts["sections"]["examples"]["rows"]:
        assert row["id"] == str(names[row["row"]])


@pytest.mark.parametrize("limit", [(), ("--memory-limit", "1GB")], ids=["in memory", "from files"])
def test_a_report_of_training_names_rows_by_the_ids_that_were_found(
    run: Run, shop: Path, limit: tuple[str, ...]
) -> None:
    few = ("--set", "n_estimators=10", "--set", "learning_rate=0.3")
    ran = run("train", shop, "-t", "sold", "--holdout", 0.3, "--report", "r.html", *few, *limit)
    assert ran.code == 0, ran.err
    page = Path("r.html").read_text(encoding="utf-8")
    facts = facts_of(page)
    assert facts["about"]["source"] == f"{shop} (30% of the rows, held out)"
    assert facts["about"]["source_train"] == str(shop)
    assert facts["about"]["id_name"] == "order_id"
    shown = {row["id"]: row["cells"] for row in facts["sections"]["examples"]["rows"]}
    price = {str(row["order_id"]): row["price"] for row in shop_table().to_pylist()}
    column = [entry["name"] for entry in facts["sections"]["data"]["columns"]].index("price")
    assert all(float(cells[column]) == pytest.approx(price[name], rel=1e-4) for name, cells in shown.items())


@pytest.mark.parametrize("words", [(), ("--cv", 3), ("--cv", 3, "--time", "day"), ("--holdout", 0.3)], ids=str)
def test_a_report_of_training_shows_rows_that_its_model_has_not_seen(
    run: Run, tmp_path: Path, words: tuple[object, ...]
) -> None:
    random = np.random.default_rng(0)
    names = {name: random.normal(size=300) for name in ("a", "b")}
    noise = pa.table({**names, "day": np.arange(300), "y": random.choice(["no", "yes"], 300)})
    pa.csv.write_csv(noise, tmp_path / "noise.csv")
    ran = run("train", "noise.csv", "-t", "y", "-m", "tree", "--report", "r.html", *words, "--json")
    assert ran.code == 0, ran.err
    facts = facts_of(Path("r.html").read_text(encoding="utf-8"))
    figures = {entry["name"]: entry for entry in facts["sections"]["evaluation"]["outputs"][0]["metrics"]}
    assert figures["accuracy"]["model"] < 0.65
    assert figures["accuracy"]["train"] == 1
    if "--holdout" not in words:
        last = {(): "fold 5 of 5", ("--cv", 3): "fold 3 of 3"}.get(words, "part 3 of 3")
        learnt = "rows before it" if "--time" in words else "other folds"
        assert ran.json["report_about"] == f"{last}, predicted by the model of the {learnt}"
        assert facts["about"]["source"] == f"noise.csv ({ran.json['report_about']})"


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        (["loss=quantile", "quantile=0.1"], ["pinball loss (0.1)", "rows below (0.1)"]),
        (["loss=quantile", "quantile=[0.1,0.9]"], ["pinball loss (0.1)", "pinball loss (0.9)"]),
        (["loss=huber"], ["Huber loss", "rmse"]),
        (["loss=gamma"], ["gamma deviance", "rmse"]),
        (["loss=absolute_error"], ["mae", "rmse"]),
    ],
)
def test_numbers_are_judged_by_the_loss_of_their_model(
    run: Run, shop: Path, settings: list[str], names: list[str]
) -> None:
    words = [part for setting in settings for part in ("--set", setting)]
    few = ["--set", "n_estimators=20", "--set", "learning_rate=0.3", "--set", "early_stopping=False"]
    ran = run("train", shop, "-t", "price", "--ignore", "sold", "--holdout", 0.3, *few, *words, "--json")
    assert ran.code == 0, ran.err
    assert list(ran.json["scores"])[: len(names)] == names
    assert ran.json["scores"][names[0]] < ran.json["baseline"][names[0]]
    again = run("evaluate", "model.arb", shop, "--json").json
    assert again["scores"][names[0]] < again["baseline"][names[0]]
    assert ("r2" in again["scores"]) == ("rmse" in names)
    assert names[0] in run("evaluate", "model.arb", shop).out


@pytest.mark.parametrize(
    ("method", "target", "first", "in_report"),
    [
        ("boosted", "sold", "log loss", "log loss"),
        ("forest", "sold", "Brier score", "Brier score"),
        ("tree", "zip", "Brier score", "Brier score"),
        ("adaboost", "sold", "error rate", "error rate"),
        ("adaboost", "price", "mae", "MAE"),
        ("forest", "price", "rmse", "RMSE"),
    ],
)
def test_training_and_its_report_are_judged_by_the_same_loss(
    run: Run, shop: Path, method: str, target: str, first: str, in_report: str
) -> None:
    few = [] if method == "tree" else ["--set", "n_estimators=5"]
    words = ("-m", method, "--holdout", 0.3, "--report", "r.html", *few)
    ran = run("train", shop, "-t", target, *words, "--json")
    assert ran.code == 0, ran.err
    assert next(iter(ran.json["scores"])) == first
    figure = facts_of(Path("r.html").read_text(encoding="utf-8"))["sections"]["evaluation"]["outputs"][0]["metrics"][0]
    assert (figure["name"], figure["own"]) == (in_report, True)
    assert ran.json["scores"][first] == pytest.approx(figure["model"], rel=1e-3)
    assert run("train", shop, "-t", target, *words, "--overwrite").out.splitlines()[2].startswith(first)


def test_the_reference_is_that_of_the_program() -> None:
    page = Path(__file__).parents[2] / "docs" / "command.md"
    assert page.read_text(encoding="utf-8") == reference(), "python -m arboretum.cli.reference > docs/command.md"


@pytest.mark.parametrize(
    ("role", "model", "target"), [("--treatment", "forest", "sold"), ("--group", "boosted", "grade")], ids=str
)
def test_explain_knows_treatments_and_groups(run: Run, shop: Path, role: str, model: str, target: str) -> None:
    query = "SELECT *, order_id % 2 AS arm, round(price)::INT % 3 AS grade FROM data"
    few = ("-m", model, "--set", "n_estimators=5", "--cv", 2)
    assert run("train", shop, "--sql", query, "-t", target, role, "arm", *few).code == 0
    ran = run("explain", "model.arb", shop, "--sql", query, "--rows", 1, "--json")
    assert ran.code == 0, ran.err
    assert "permutation" in ran.json["importances"]["size"]
    ran = run("explain", "model.arb", shop, "--sql", f"SELECT * EXCLUDE (arm) FROM ({query})", "--rows", 1, "--json")
    assert (ran.code, "permutation" in ran.json["importances"]["size"]) == (0, False)


@pytest.mark.parametrize("method", ["forest", "tree", "boosted", "adaboost"])
def test_explain_tells_of_which_class_its_predictions_are(run: Run, shop: Path, method: str) -> None:
    few = [] if method == "tree" else ["--set", "n_estimators=5"]
    told = {}
    for positive in ("no", "yes"):
        words = ("-m", method, "--positive", positive, "--cv", 2, "-o", f"{positive}.arb", *few)
        assert run("train", shop, "-t", "sold", *words).code == 0
        assert f"raw prediction for {positive} " in run("explain", f"{positive}.arb", shop, "--rows", 1).out
        (told[positive],) = run("explain", f"{positive}.arb", shop, "--rows", 1, "--json").json["contributions"]
        assert told[positive]["output"] == positive
    whole = 1 if method in ("forest", "tree") else 0
    assert told["no"]["base"] == pytest.approx(whole - told["yes"]["base"])
    assert told["no"]["adds"] == pytest.approx({name: -value for name, value in told["yes"]["adds"].items()})


@pytest.mark.parametrize("method", ["bagging", "additive", "adaboost"])
def test_explain_compares_columns_of_models_that_are_not_sums_of_trees(run: Run, shop: Path, method: str) -> None:
    few = ["--set", "n_estimators=3"] if method != "additive" else []
    assert run("train", shop, "-t", "price", "-m", method, *few, "--ignore", "sold").code == 0
    ran = run("explain", "model.arb", shop)
    assert ran.code == 0, ran.err
    assert re.search(r"^size +\d", ran.out, re.M)
    assert "permutation tells how much worse the model is without each column" in ran.out
    assert "explain a model of train --model boosted, forest, extra or tree" in ran.out
    told = run("explain", "model.arb", shop, "--json").json
    assert told["contributions"] == []
    assert max(column["permutation"] for column in told["importances"].values()) > 0
    Path("rows.csv").write_text("\n".join(line.rsplit(",", 2)[0] for line in shop.read_text().splitlines()))
    without = run("explain", "model.arb", "rows.csv")
    assert (without.code, "give --target COLUMN to compare columns by permutation" in without.out) == (0, True)
