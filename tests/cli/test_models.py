"""Commands that read a model file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.cli.shop import Run, shop_table

import arboretum as arb
from arboretum.cli.reference import reference


@pytest.mark.parametrize("out", ["p.csv", "p.parquet"])
def test_predictions_stream_in_batches_with_the_columns_to_keep(run: Run, shop: Path, model: Path, out: str) -> None:
    ran = run("predict", model, shop, "-o", out, "--keep", "order_id", "--batch", 100)
    assert ran.code == 0, ran.err
    written = pyarrow.csv.read_csv(out) if out.endswith("csv") else pyarrow.parquet.read_table(out)
    assert written.column_names == ["order_id", "prediction", "probability of no", "probability of yes"]
    fitted = arb.load(model)
    table = shop_table().select(fitted.feature_names_in_.tolist())
    assert written["order_id"].to_pylist() == shop_table()["order_id"].to_pylist()
    assert np.array_equal(written["probability of yes"].to_numpy(), fitted.predict_proba(table)[:, 1])
    assert written["prediction"].to_pylist() == fitted.predict(table).tolist()


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


def test_a_report_is_one_page(run: Run, shop: Path, model: Path) -> None:
    ran = run("report", model, shop, "-o", "r.html")
    assert ran.code == 0, ran.err
    assert Path("r.html").read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")
    assert "file://" in ran.out


def test_the_reference_is_that_of_the_program() -> None:
    page = Path(__file__).parents[2] / "docs" / "command.md"
    assert page.read_text(encoding="utf-8") == reference(), "python -m arboretum.cli.reference > docs/command.md"
