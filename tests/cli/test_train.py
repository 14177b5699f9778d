from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from tests.cli.shop import Run, shop_table

import arboretum as arb
from arboretum.data.sources import COLUMN_MEMORY, QUERY_MEMORY

QUICK = ("--set", "n_estimators=5", "--holdout", 0.3)


def test_guesses_are_said_and_scores_stand_beside_a_baseline(run: Run, shop: Path) -> None:
    ran = run("train", shop, "--target", "sold", "--set", "n_estimators=20", "--cv", 3)
    assert ran.code == 0, ran.err
    assert "task: binary, because 'sold' has two values, 'no' and 'yes'" in ran.err
    assert "column 'order_id' names rows: its values are all different" in ran.err
    assert "judged by 3 folds" in ran.out
    assert "wrote model.arb" in ran.out
    assert arb.load("model.arb").feature_names_in_.tolist() == ["size", "zip", "day", "price"]


def test_json_is_all_of_standard_output(run: Run, shop: Path) -> None:
    ran = run("train", shop, "-t", "sold", *QUICK, "--json")
    assert ran.err == ""
    assert ran.json["task"] == "binary"
    assert ran.json["scores"]["roc auc"] > 0.7 > ran.json["baseline"]["roc auc"] == 0.5
    assert ran.json["fingerprint"] == arb.load("model.arb").fingerprint()


def test_the_model_is_that_of_the_library_on_the_rows_before_the_held_out_part(run: Run, shop: Path) -> None:
    ran = run("train", shop, "-t", "price", "--time", "day", "--ignore", "sold", "--id", "order_id", *QUICK, "--json")
    table = shop_table()
    day = table["day"].to_numpy()
    learnt = np.flatnonzero(day < np.sort(day)[round(len(day) * 0.7)])
    frame = table.select(["size", "zip"]).take(learnt)
    own = arb.BoostedTreesRegressor(n_estimators=5).fit(frame, table["price"].to_numpy()[learnt])
    assert ran.json["fingerprint"] == own.fingerprint()
    assert ran.json["judged_by"] == "the last 30% of the rows"


def test_kinds_overrule(run: Run, shop: Path) -> None:
    ran = run("train", shop, "-t", "sold", *QUICK, "--kind", "zip=category", "--kind", "price=ignore", "--json")
    assert ran.json["columns"] == {"size": "number", "zip": "category", "day": "date"}
    schema = arb.load("model.arb").schema_
    assert set(schema.columns[schema.names.index("zip")].categories) == {"01234", "04321", "09876"}


@pytest.mark.parametrize(
    ("options", "task", "metric", "kind"),
    [
        (["-t", "price"], "regression", "rmse", "BoostedTreesRegressor"),
        (["-t", "grade", "--group", "zip"], "ranking", "ndcg@10", "BoostedTreesRanker"),
        (["-t", "grade", "--group", "zip", "--set", "metric=map@3"], "ranking", "map@3", "BoostedTreesRanker"),
        (["-t", "days", "--event", "died"], "survival", "concordance", "BoostedTreesSurvival"),
        (["-t", "sold", "--treatment", "mailed", "-m", "forest"], "uplift", "qini", "UpliftForest"),
        (["-t", "grade"], "multiclass", "log loss", "BoostedTreesClassifier"),
        (["-t", "sold", "--task", "binary", "--group", "zip"], "binary", "roc auc", "BoostedTreesClassifier"),
        (["--task", "anomaly", "-t", "died"], "anomaly", "roc auc", "IsolationForest"),
    ],
)
def test_every_task(run: Run, tmp_path: Path, options: list[str], task: str, metric: str, kind: str) -> None:
    random = np.random.default_rng(1)
    table = shop_table().drop_columns(["order_id", "day"])
    size = table["size"].to_numpy()
    table = table.append_column("grade", pa.array(np.digitize(np.nan_to_num(size), [-0.5, 0.5])))
    table = table.append_column("days", pa.array(np.round(np.exp(np.nan_to_num(size)), 2)))
    table = table.append_column("died", pa.array(random.random(len(size)) < 0.7))
    table = table.append_column("mailed", pa.array(random.integers(0, 2, len(size))))
    path = tmp_path / "rows.parquet"
    pa.parquet.write_table(table, path)
    ran = run("train", path, *options, "--set", "n_estimators=10", "--holdout", 0.4, "--json")
    assert ran.code == 0, ran.err
    assert (ran.json["task"], ran.json["class"]) == (task, kind)
    assert metric in ran.json["scores"]
    again = run("evaluate", "model.arb", path, "--json")
    assert again.code == 0, again.err
    assert again.json["task"] == task
    assert run("predict", "model.arb", path, "-o", "p.csv").code == 0


def test_every_way_to_give_rows_gives_one_model(run: Run, shop: Path, tmp_path: Path) -> None:
    import sqlite3

    import duckdb

    table = shop_table().drop_columns(["day", "zip"])
    (tmp_path / "folder").mkdir()
    pa.csv.write_csv(table.slice(0, 100), tmp_path / "folder" / "1.csv")
    pa.csv.write_csv(table.slice(100), tmp_path / "folder" / "2.csv")
    pa.csv.write_csv(table, "plain.tsv", pa.csv.WriteOptions(delimiter="\t"))
    with pa.CompressedOutputStream("small.csv.gz", "gzip") as file:
        pa.csv.write_csv(table, file)
    pa.parquet.write_table(table, "rows.parquet")
    pa.feather.write_feather(table, "rows.feather")
    frame = table.to_pandas()
    frame.to_json("rows.jsonl", orient="records", lines=True)
    with sqlite3.connect("shop.db") as connection:
        frame.to_sql("orders", connection, index=False)
        connection.execute("CREATE TABLE other (a)")
    connection.close()
    with duckdb.connect("shop.duckdb") as stored:
        stored.register("frame", table)
        stored.execute("CREATE TABLE orders AS SELECT * FROM frame")
    ways = [
        ["folder"],
        ["folder/*.csv"],
        ["plain.tsv"],
        ["small.csv.gz"],
        ["rows.parquet"],
        ["rows.feather"],
        ["rows.jsonl"],
        ["shop.db::orders"],
        ["shop.db", "--table", "orders"],
        ["shop.duckdb"],
        ["rows.parquet", "--sql", "SELECT * FROM data"],
        ["--sql", "SELECT * FROM 'rows.parquet'"],
    ]
    prints = {
        " ".join(way): run("train", *way, "-t", "sold", "-m", "tree", *QUICK[2:], "--overwrite", "--json").json.get(
            "fingerprint"
        )
        for way in ways
    }
    assert len(set(prints.values())) == 1, prints
    assert None not in prints.values()


def test_compare_ranks_methods_and_writes_the_best(run: Run, shop: Path) -> None:
    ran = run("compare", shop, "-t", "sold", "-m", "tree", "-m", "forest", "-m", "adaboost", "--cv", 3, "--json")
    assert ran.code == 0, ran.err
    board = ran.json["leader_board"]
    assert [line["mean"]["roc auc"] for line in board] == sorted(
        (line["mean"]["roc auc"] for line in board), reverse=True
    )
    assert {line["method"] for line in board} == {"tree", "forest", "adaboost", "baseline"}
    assert board[0]["method"] == ran.json["best"] != "baseline"
    assert arb.load("model.arb").fingerprint() == ran.json["fingerprint"]


def test_a_wide_table_works(run: Run, tmp_path: Path) -> None:
    n_columns = QUERY_MEMORY // COLUMN_MEMORY + 200  # more than the buffers of a reader that counts no columns
    values = np.random.default_rng(0).normal(size=(60, n_columns)).round(1)
    names = [f"x{j}" for j in range(n_columns)]
    lines = [",".join([*names, "y"]), *(",".join(map(str, [*row, row[7] > 0])) for row in values)]
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    ran = run("train", "wide.csv", "-t", "y", "-m", "tree", "--holdout", 0.3, "--json")
    assert ran.code == 0, ran.err
    assert len(ran.json["columns"]) == n_columns


@pytest.mark.filterwarnings("always:missing values")
@pytest.mark.parametrize("judging", [["--cv", "3"], ["--test", "t.csv"]])
def test_missing_values_of_a_held_out_part_are_news_only_from_another_file(
    run: Run, tmp_path: Path, judging: list[str]
) -> None:
    rows = [f"{j % 7},{j},{j % 2}" for j in range(60)]
    (tmp_path / "full.csv").write_text("\n".join(["a,b,y", *rows]))
    rows[30] = "3,,0"
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *rows]))
    data = "t.csv" if "--cv" in judging else "full.csv"
    ran = run("train", data, "-t", "y", "-m", "tree", *judging)
    assert ran.code == 0, ran.err
    assert ("had none at fit: 'b'" in ran.err) == ("--test" in judging)


def test_members_are_named_and_set(run: Run, shop: Path) -> None:
    small = ("train", shop, "-t", "price", "--holdout", 0.2, "--overwrite", "--model")
    ran = run(*small, "vote", "--members", "tree,linear", "--set", "linear__n_estimators=3")
    assert ran.code == 0, ran.err
    model = arb.load("model.arb")
    assert [name for name, _ in model.estimators] == ["tree", "linear"]
    assert model.named_estimators_["linear"].n_iter_ == 3
    assert model.named_estimators_["linear"].leaf_model == "linear"
    for members, message in (
        ("tree,zzz", "--members tree,zzz: zzz: "),
        ("tree,tree", "tree is named 2 times"),
        ("stack", "stack is a combination itself"),
        (",", "--members ,: name at least one of"),
    ):
        assert message in run(*small, "vote", "--members", members).err
    assert "--members: --model forest has none" in run(*small, "forest", "--members", "tree").err


def test_rankers_and_survival_models_are_stacked(run: Run) -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=80)
    columns = {"a": a, "b": rng.normal(size=80), "grade": np.digitize(a, [-1, 1]), "query": np.arange(80) // 8}
    pyarrow.csv.write_csv(pa.table(columns), "queries.csv")
    small = ("--holdout", "0.2", "--set", "cv=2", "--model", "stack")
    ran = run(
        "train", "queries.csv", "-t", "grade", "--group", "query", *small, "--members", "boosted,linear", "-o", "r.arb"
    )
    assert ran.code == 0, ran.err
    assert [type(one).__name__ for one in arb.load("r.arb").estimators_] == ["BoostedTreesRanker"] * 2
    columns = {"a": a, "days": rng.exponential(np.exp(-a)), "seen": rng.random(80) < 0.7}
    pyarrow.csv.write_csv(pa.table(columns), "times.csv")
    ran = run(
        "train", "times.csv", "-t", "days", "--event", "seen", *small, "--members", "boosted,forest", "-o", "s.arb"
    )
    assert ran.code == 0, ran.err
    assert list(arb.load("s.arb").named_estimators_) == ["boosted", "forest"]
    ran = run("train", "times.csv", "-t", "days", "--event", "seen", "--model", "vote", "-o", "v.arb")
    assert "--model vote cannot do survival: boosted, forest can" in ran.err
