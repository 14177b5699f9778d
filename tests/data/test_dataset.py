"""Reading: the rows of a file, a query or batches are those that were written, and errors say where and what to do."""

from __future__ import annotations

import pickle
import sqlite3
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from sklearn.base import clone

import arboretum as arb
from arboretum import Dataset
from arboretum.data.memory_budget import MemoryBudget
from arboretum.data.streamed_table import read_dataset

duckdb = pytest.importorskip("duckdb")

ROWS = {"i": [3, 1, 2, 5], "x": [0.5, None, -1.0, 2.0], "t": ["a", "b'c", None, ""], "b": [True, False, None, True]}


@pytest.fixture
def table():
    return pa.table(ROWS)


def of_sqlite(folder, table):
    with sqlite3.connect(folder / "rows.sqlite") as connection:
        connection.execute("CREATE TABLE rows (i INTEGER, x REAL, t TEXT, b INTEGER)")
        connection.executemany(
            "INSERT INTO rows VALUES (?, ?, ?, ?)", list(zip(*table.to_pydict().values(), strict=True))
        )
    connection.close()
    return folder / "rows.sqlite"


def of_duckdb(folder, table):
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    return folder / "rows.duckdb"


@pytest.mark.parametrize("size", [1, 3, 100])
def test_every_source_gives_the_rows_in_their_order(tmp_path, table, size):
    parquet.write_table(table.slice(0, 3), tmp_path / "part-1.parquet")
    parquet.write_table(table.slice(3), tmp_path / "part-2.parquet")
    (tmp_path / "rows.jsonl").write_text(table.to_pandas().to_json(orient="records", lines=True))
    sources = {
        "parquet": Dataset.from_parquet(tmp_path / "part-*.parquet"),
        "parquet list": Dataset.from_parquet([tmp_path / "part-1.parquet", tmp_path / "part-2.parquet"]),
        "json": Dataset.from_json(tmp_path / "rows.jsonl"),
        "query": Dataset.from_sql(f"SELECT * FROM '{tmp_path}/part-*.parquet'"),
        "duckdb": Dataset.from_sql("SELECT * FROM rows", of_duckdb(tmp_path, table)),
        "frame": Dataset.from_frame(table),
        "polars": Dataset.from_frame(pl.from_arrow(table)),
        "batches": Dataset.from_batches(lambda: iter(table.to_batches(max_chunksize=2))),
        "dictionaries": Dataset.from_batches([{name: values[:2] for name, values in ROWS.items()}, table.slice(2)]),
    }
    for name, dataset in sources.items():
        for _ in range(2):  # every pass gives all rows
            batches = list(dataset.batches(size))
            assert max(batch.num_rows for batch in batches) <= size
            rows = {
                column: [v for batch in batches for v in batch[column].to_pylist()] for column in table.column_names
            }
            assert rows == ROWS, name
        assert dataset.n_rows == 4
        assert dataset.names == dataset.schema.names == list(ROWS)
        assert dataset.to_frame().num_rows == 4


def test_sqlite_is_read_from_a_file_and_a_connection(tmp_path, table):
    path = of_sqlite(tmp_path, table)
    expected = ROWS | {"b": [1, 0, None, 1]}
    assert Dataset.from_sql("SELECT * FROM rows;", path).to_frame().to_pydict() == expected
    connection = sqlite3.connect(path)
    assert Dataset.from_sql("SELECT * FROM rows", connection).to_frame().to_pydict() == expected
    connection.execute("INSERT INTO rows VALUES (1.5, 'text', 1, 1)")  # SQLite takes any value in any column
    mixed = Dataset.from_sql("SELECT * FROM rows", connection)
    with pytest.raises(TypeError, match=r"column 'x' mixes types: float, str; cast it in the query, as CAST\(x AS"):
        mixed.to_frame()
    connection.close()


def test_csv_knows_missing_values_and_delimiters(tmp_path):
    (tmp_path / "a.csv").write_text('i;t\n1;"x;y"\nNA;z\n2;\n')
    dataset = Dataset.from_csv(tmp_path / "a.csv")
    assert dataset.to_frame().to_pydict() == {"i": [1, None, 2], "t": ["x;y", "z", None]}
    kept = Dataset.from_csv(tmp_path / "a.csv", missing=["-"], types={"i": "VARCHAR"})
    assert kept.to_frame()["i"].to_pylist() == ["1", "NA", "2"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty: a table needs a header"),
        ("a,b\n1,2\n3,4,5\n", r"bad\.csv, line 3: 3 fields, but the header has 2; quote fields that hold ','"),
        ("a,b\n1,2\n\n3\n", r"bad\.csv, line 4: 1 fields, but the header has 2"),
        ("a,b,a\n1,2,3\n", r"bad\.csv, line 1: the column name 'a' occurs twice"),
    ],
)
def test_a_broken_csv_line_is_named(tmp_path, content, message):
    (tmp_path / "bad.csv").write_text(content)
    with pytest.raises(ValueError, match=message):
        Dataset.from_csv(tmp_path / "bad.csv").to_frame()


def test_other_sources_name_what_is_wrong(tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"a": 1}\n{"a": 2\n')
    with pytest.raises(ValueError, match=r"bad\.jsonl, line 2: '\{\"a\": 2' is not a JSON object"):
        Dataset.from_json(tmp_path / "bad.jsonl").to_frame()
    (tmp_path / "bad.parquet").write_text("no Parquet")
    with pytest.raises(ValueError, match=r"bad\.parquet is not a Parquet file, or its end is missing: write"):
        Dataset.from_parquet(tmp_path / "bad.parquet").to_frame()
    with pytest.raises(FileNotFoundError, match=r"no file is named '.*none\*'; the working folder is"):
        Dataset.from_parquet(tmp_path / "none*")
    for read in (Dataset.from_parquet, Dataset.from_csv, Dataset.from_json):
        with pytest.raises(ValueError, match="the list of files is empty: give at least one"):
            read([])
    with pytest.raises(ValueError, match=r"is a folder: name its files, as '.*\*\.parquet'"):
        Dataset.from_parquet(tmp_path)
    with pytest.raises(ValueError, match=r"the query failed: .*nowhere does not exist(.|\n)*SELECT \* FROM nowhere"):
        Dataset.from_sql("SELECT * FROM nowhere").to_frame()
    with pytest.raises(FileNotFoundError, match="there is no database"):
        Dataset.from_sql("SELECT 1", tmp_path / "none.db").to_frame()
    with pytest.raises(ValueError, match="is neither a DuckDB nor an SQLite database"):
        Dataset.from_sql("SELECT 1", tmp_path / "bad.jsonl").to_frame()
    with pytest.raises(
        TypeError, match=r"connection=3: give None, the path of a DuckDB or SQLite file, or a connection"
    ):
        Dataset.from_sql("SELECT 1", 3).to_frame()


@pytest.mark.parametrize("missing", ["duckdb", "pyarrow"])
def test_a_library_that_is_not_installed_is_named(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(
        ImportError, match=f"queries needs duckdb and pyarrow, but {missing} is not installed: pip inst"
    ):
        Dataset.from_sql("SELECT 1 AS a").n_rows
    if missing == "pyarrow":
        with pytest.raises(
            ImportError, match=r"a dictionary of columns needs pyarrow, which is not installed: pip install 'arboretum"
        ):
            Dataset.from_frame({"a": [1]}).n_rows


def test_a_query_without_enough_memory_says_how_much_it_needs():
    query = "SELECT list(i) AS a FROM range(3_000_000) t(i)"
    with pytest.raises(ValueError, match=r"memory_limit=150MB is too small: the query needs at least [2-4]\d\dMB"):
        Dataset.from_sql(query, memory_limit="150MB").n_rows
    with (
        duckdb.connect(config={"memory_limit": "20MB", "threads": 1}) as own,
        pytest.raises(MemoryError, match="the query needs more memory than its connection may take"),
    ):
        Dataset.from_sql(query, own).n_rows


def test_batches_that_do_not_agree_are_named():
    with pytest.raises(TypeError, match="can be read only once, but are needed several times: give the function"):
        Dataset.from_batches(iter([{"i": [1]}]))
    with pytest.raises(ValueError, match="batch 1 has other columns than the first part: missing 'i'; unexpected 'j'"):
        Dataset.from_batches([{"i": [1]}, {"j": [1]}]).to_frame()
    with pytest.raises(TypeError, match="column 'i' is int64 in the first part, but string in batch 1: convert it"):
        Dataset.from_batches([{"i": [1]}, {"i": ["a"]}]).to_frame()
    with pytest.raises(TypeError, match="a batch is a int: give an Arrow record batch"):
        Dataset.from_batches([1]).to_frame()
    with pytest.raises(ValueError, match="there is no batch"):
        Dataset.from_batches([]).to_frame()
    joined = Dataset.from_batches([{"i": [None], "x": [1]}, {"x": [0.5], "i": ["a"]}])
    assert joined.to_frame().to_pydict() == {"i": [None, "a"], "x": [1.0, 0.5]}


def test_text_is_read_into_a_temporary_file_that_goes_with_the_dataset(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    (tmp_path / "a.csv").write_text("i\n1\n")
    dataset = Dataset.from_csv(tmp_path / "a.csv")
    assert dataset.n_rows == 1
    (tmp_path / "a.csv").write_text("i\n1\n2\n")
    assert dataset.to_frame().to_pydict() == {"i": [1]}  # every pass sees the rows of the first
    assert len(list((tmp_path / "temporary").iterdir())) == 1
    del dataset
    assert not list((tmp_path / "temporary").iterdir())


def test_columns_are_chosen_by_name(table):
    dataset = Dataset.from_frame(table)
    assert dataset.select(["t", "i"]).to_frame().to_pydict() == {"t": ROWS["t"], "i": ROWS["i"]}
    assert dataset.drop(["t", "i"]).names == ["x", "b"]
    with pytest.raises(ValueError, match=r"the dataset has no column 'T': did you mean 't'\?"):
        dataset.select(["T"])
    with pytest.raises(ValueError, match="the dataset has no column 'price': its columns are 'i', 'x', 't', 'b'"):
        dataset.drop(["price"])
    assert repr(dataset) == "Dataset('i', 'x', 't', 'b')"


@pytest.mark.parametrize("limit", ["12", 12, "12B", " 12 b "])
def test_memory_limits_are_sizes(limit):
    assert Dataset.from_frame({"i": [1]}, memory_limit=limit).memory_limit == 12


@pytest.mark.parametrize("limit", ["many", "12 XB", -1, 0, True, 1.5, "-3MB"])
def test_other_memory_limits_are_refused(limit):
    with pytest.raises(ValueError, match=r"memory_limit=.*: use a number of bytes, or text such as '500MB'"):
        Dataset.from_frame({"i": [1]}).with_memory_limit(limit)


@pytest.mark.parametrize("size", [0, 1.5, True])
def test_sizes_of_batches_are_counts(size):
    with pytest.raises(ValueError, match=r"size=.*: use an integer at least 1"):
        Dataset.from_frame({"i": [1]}).batches(size)


# -------------------------------------------------------------------------------------------------- training from it


def mixed_frame(n, seed=0):
    """Every kind of column, holes, ties, infinities, a constant, and three targets."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "single": rng.normal(size=n).astype(np.float32),
            "whole": rng.integers(-4, 9, n),
            "flag": rng.random(n) < 0.3,
            "city": rng.choice(["oslo", "rome", "bern", "o'hare", ""], n),
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 10**7, n), unit="s"),
            "constant": 1.0,
        }
    )
    y = np.nan_to_num(frame["number"]) + 2 * frame["flag"] + (frame["city"] == "rome") + 0.1 * rng.normal(size=n)
    frame.loc[rng.random(n) < 0.1, ["number", "single"]] = np.nan
    frame.loc[rng.random(n) < 0.1, "city"] = None
    frame.loc[rng.random(n) < 0.1, "when"] = pd.NaT
    frame.loc[:1, "number"] = [np.inf, -np.inf]
    return frame.assign(y=y, label=np.where(y > 1, "high", "low"), weight=rng.integers(0, 3, n).astype(float))


FEATURES = ["number", "single", "whole", "flag", "city", "when", "constant"]
MODELS = [
    (arb.BoostedTreesRegressor(n_estimators=8), "y", "weight"),
    (arb.BoostedTreesRegressor(n_estimators=4, category_levels=2), "y", None),
    (arb.BoostedTreesRegressor(n_estimators=4, category_levels=2, max_bins=None), "y", None),
    (
        arb.BoostedTreesClassifier(n_estimators=8, categorical_features=["whole"], early_stopping=True),
        "label",
        "weight",
    ),
    (arb.RandomForestClassifier(n_estimators=3, max_bins=32), "label", "weight"),
    (arb.RandomForestRegressor(n_estimators=2, max_bins=None), "y", None),
    (arb.IsolationForest(n_estimators=3), None, None),
    (arb.BaggingRegressor(n_estimators=2), "y", None),
]


@pytest.fixture
def tight(monkeypatch):
    """Leave next to no memory to datasets with a limit: columns are read one by one, and codes lie in a file."""
    monkeypatch.setattr(MemoryBudget, "free", lambda budget: 100_000)
    monkeypatch.setattr(MemoryBudget, "require", lambda budget, more, what: None)


@pytest.fixture(scope="module")
def frame():
    return mixed_frame(1_500)


@pytest.fixture(scope="module")
def file(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=311)
    return path


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize(("model", "target", "weight"), MODELS, ids=lambda value: type(value).__name__)
def test_the_model_is_that_of_the_rows_in_memory(frame, file, model, target, weight):
    named = {} if weight is None else {"sample_weight": weight}
    X = frame[FEATURES]
    values = {} if weight is None else {"sample_weight": frame[weight]}
    model = clone(model)
    expected = model.fit(X, None if target is None else frame[target], **values)
    fingerprint, predicted = expected.fingerprint() if hasattr(model, "fingerprint") else None, expected.predict(X)
    columns = [*FEATURES, *(name for name in (target, weight) if name)]
    sources = {
        "parquet": Dataset.from_parquet(file),
        "query": Dataset.from_sql(f"SELECT * FROM '{file}'"),
        "batches": Dataset.from_batches(lambda: (frame[n : n + 400] for n in range(0, len(frame), 400))),
        "in little memory": Dataset.from_parquet(file, memory_limit="1GB"),
    }
    for jobs, (name, dataset) in zip((1, 2, 1, 2), sources.items(), strict=True):
        model.set_params(n_jobs=jobs).fit(dataset.select(columns), **({"target": target} if target else {}), **named)
        assert fingerprint is None or model.fingerprint() == fingerprint, name
        np.testing.assert_array_equal(model.predict(dataset), predicted, err_msg=name)


@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("columns", [["city"], ["number", "single"]], ids=" and ".join)
def test_columns_of_one_kind_and_batches_without_weight(frame, columns, max_bins):
    rows = frame.assign(weight=frame["weight"].where((frame.index < 400) | (frame.index >= 800), 0.0))
    model = arb.BoostedTreesRegressor(n_estimators=3, category_levels=2, max_bins=max_bins)
    expected = model.fit(rows[columns], rows["y"], sample_weight=rows["weight"]).fingerprint()
    parts = [rows.loc[n : n + 399, [*columns, "y", "weight"]] for n in range(0, len(rows), 400)]
    assert model.fit(Dataset.from_batches(parts), target="y", sample_weight="weight").fingerprint() == expected


@pytest.mark.parametrize("levels", [None, 2])
@pytest.mark.parametrize("unknown", ["average", "missing"])
def test_unknown_categories_are_predicted_as_those_of_a_frame(frame, unknown, levels):
    model = arb.BoostedTreesRegressor(n_estimators=4, unknown=unknown, category_levels=levels)
    model.fit(frame[FEATURES], frame["y"])
    other = frame[FEATURES].assign(city=np.where(frame["flag"], "paris", frame["city"]))
    np.testing.assert_array_equal(model.predict(Dataset.from_frame(other)), model.predict(other))


@pytest.mark.parametrize("categories", [["oslo", "rome"], [7, 3], [0.5, -1.5]], ids=str)
def test_categories_of_a_frame_are_read_from_text_files(tmp_path, categories):
    X = pd.DataFrame({"town": pd.Categorical(np.array(categories)[np.arange(60) % 2])})
    model = arb.DecisionTreeRegressor().fit(X, np.arange(60) % 2)
    X.to_csv(tmp_path / "rows.csv", index=False)
    assert model.predict(Dataset.from_csv(tmp_path / "rows.csv")).tolist() == (np.arange(60) % 2).tolist()


def test_rows_to_predict_have_the_width_of_the_fit_and_are_some():
    model = arb.DecisionTreeRegressor().fit([[0.0, 1.0], [1.0, 0.0]], [0.0, 1.0])
    assert model.predict(Dataset.from_frame({"a": [0.0, 1.0], "b": [1.0, 0.0]})).tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match="X has 1 features, but DecisionTreeRegressor is expecting 2 features"):
        model.predict(Dataset.from_frame({"a": [1.0]}))
    with pytest.raises(ValueError, match=r"Found a dataset with 0 sample\(s\) while a minimum of 1 is required"):
        model.predict(Dataset.from_frame({"a": np.zeros(0), "b": np.zeros(0)}))


def test_long_texts_count_by_their_letters(monkeypatch):
    monkeypatch.setattr(MemoryBudget, "keep", lambda budget: False)
    parts = [{"t": [f"{i:010000}" for i in range(first, first + 1_000)]} for first in range(0, 4_000, 1_000)]
    # A quarter of the rows has 10 MB of letters; 2 % and 2 MB are added for safety.
    with pytest.raises(ValueError, match=r"column 't', 1000 in the first 1000 rows, needs at least 1\.055GB"):
        read_dataset(Dataset.from_batches(parts, memory_limit="1GB"))


def test_a_limit_counts_batches_that_are_made_and_not_those_in_memory():
    n_rows = 12_000_000  # 96 MB
    made = Dataset.from_batches(lambda: ({"a": np.ones(n_rows)} for _ in range(2)), memory_limit="60MB")
    with pytest.raises(ValueError, match=r"60MB is too small: holding a batch .* needs at least 1[3-9].MB"):
        list(made.batches())
    kept = {"a": np.ones(n_rows)}
    assert sum(len(batch) for batch in Dataset.from_batches([kept], memory_limit="60MB").batches()) == n_rows


def test_a_limit_that_does_not_hold_all_rows_is_rejected_where_they_are_needed():
    part = {"a": np.arange(100_000.0)}
    many = Dataset.from_batches(lambda: (part for _ in range(100)), memory_limit="60MB")
    message = "memory_limit=60MB is too small: a fit that needs all 10000000 rows of 1 columns in memory needs at least"
    with pytest.raises(ValueError, match=message):
        arb.IsolationForest(n_estimators=2).fit(many)


@pytest.mark.parametrize("size", [1, 7, 100])
@given(chosen=st.lists(st.booleans(), min_size=1, max_size=40))
def test_chosen_rows_are_those_of_the_frame(size, chosen):
    rows = pa.table({"i": range(len(chosen)), "t": [str(i) for i in range(len(chosen))]})
    dataset = Dataset.from_frame(rows).filter(np.array(chosen))
    expected = rows.filter(pa.array(chosen))
    assert dataset.n_rows == expected.num_rows
    batches = list(dataset.select(["t", "i"]).batches(size))
    assert pa.Table.from_batches(batches, pa.schema([rows.schema.field(name) for name in "ti"])) == expected.select(
        ["t", "i"]
    )


def test_rows_are_chosen_by_a_boolean_each():
    dataset = Dataset.from_frame({"i": [1, 2, 3]})
    for wrong in (np.array([0, 2]), np.array([True, False])):
        with pytest.raises(ValueError, match=r"chosen has type .* and shape .*: give an array of 3 booleans"):
            dataset.filter(wrong)


@pytest.mark.parametrize("later", [2, 4])
def test_chosen_rows_of_a_source_that_changed(later):
    rows = [{"i": [1, 2, 3]}]
    dataset = Dataset.from_batches(lambda: iter(rows)).filter(np.array([True, False, True]))
    rows[0] = {"i": list(range(later))}
    with pytest.raises(ValueError, match="3 rows were chosen from, but the source has others now: read it again"):
        dataset.to_frame()


def test_the_sample_of_rows_for_cuts_is_the_same(monkeypatch, frame, file):
    monkeypatch.setattr("arboretum.data.binning.SAMPLE_ROWS", 300)
    model = arb.BoostedTreesRegressor(n_estimators=3, max_bins=16, early_stopping=True)
    expected = model.fit(frame[FEATURES], frame["y"], sample_weight=frame["weight"]).fingerprint()
    dataset = Dataset.from_parquet(file).drop(["label"])
    assert model.fit(dataset, target="y", sample_weight="weight").fingerprint() == expected


@pytest.mark.parametrize("size", [1, 7, 1_000, 1_000_000])
def test_sizes_of_batches_say_nothing(monkeypatch, frame, size):
    frame = frame.head(60)
    model = arb.BoostedTreesRegressor(n_estimators=3, min_samples_leaf=5)
    expected = model.fit(frame[FEATURES], frame["y"]).fingerprint()
    monkeypatch.setattr("arboretum.data.streamed_table.StreamedTable.row_batches.__defaults__", (size,))
    dataset = Dataset.from_batches(lambda: (frame[n : n + size] for n in range(0, len(frame), size)))
    assert model.fit(dataset.select([*FEATURES, "y"]), target="y").fingerprint() == expected


@pytest.mark.usefixtures("tight")
def test_codes_in_a_mapped_file_grow_the_same_trees():
    """Many rows: windows of the file are let go of while others are read."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300_000, 3)).astype(np.float32)
    y = X[:, 0] * X[:, 1] > rng.normal(size=len(X))
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
    for subsample in (1.0, 0.5):
        model = arb.BoostedTreesClassifier(
            n_estimators=3, early_stopping=False, subsample=subsample, max_leaf_nodes=200
        )
        expected = model.fit(table.drop_columns("y"), y).fingerprint()
        assert model.fit(Dataset.from_frame(table, memory_limit="1MB"), target="y").fingerprint() == expected


def test_validation_rows_may_be_a_dataset(frame):
    train, held = frame[:1_000], frame[1_000:]
    model = arb.BoostedTreesRegressor(n_estimators=30, n_iter_no_change=3)
    values = {"sample_weight": train["weight"], "sample_weight_val": held["weight"]}
    expected = model.fit(train[FEATURES], train["y"], X_val=held[FEATURES], y_val=held["y"], **values)
    history, fingerprint = expected.history_, expected.fingerprint()
    one, other = (Dataset.from_frame(part).drop(["label"]) for part in (train, held))
    model.fit(one, target="y", sample_weight="weight", X_val=other)
    assert (model.history_, model.fingerprint()) == (history, fingerprint)


def test_other_arguments_are_columns_too(frame):
    frame = frame.head(400).assign(query=np.arange(400) // 10, grade=np.arange(400) % 3, treated=np.arange(400) % 2)
    dataset = Dataset.from_frame(frame)
    X = frame[["number", "whole"]]
    ranker = arb.BoostedTreesRanker(n_estimators=3).fit(X, frame["grade"], frame["query"])
    expected = ranker.fingerprint()
    ranker.fit(dataset.select([*X, "grade", "query"]), target="grade", group="query")
    assert ranker.fingerprint() == expected
    uplift = arb.UpliftForest(n_estimators=2).fit(X, frame["flag"], frame["treated"])
    expected = uplift.fingerprint()
    uplift.fit(dataset.select([*X, "flag", "treated"]), target="flag", treatment="treated")
    assert uplift.fingerprint() == expected
    times = frame.assign(time=1.0 + frame["whole"].abs())[["time", "flag"]]
    survival = arb.BoostedTreesSurvival(n_estimators=3).fit(X, times)
    expected = survival.fingerprint()
    survival.fit(Dataset.from_frame(X.assign(**times)), target=["time", "flag"])
    assert survival.fingerprint() == expected


def test_models_go_on_and_are_scored_from_a_dataset(frame):
    dataset = Dataset.from_frame(frame).drop(["label", "weight"])
    X, y = frame[FEATURES], frame["y"]
    expected = arb.BoostedTreesRegressor(n_estimators=3).fit(X, y).fit_more(X, y, n_estimators=2)
    model = arb.BoostedTreesRegressor(n_estimators=3).fit(dataset, target="y")
    model.fit_more(dataset, target="y", n_estimators=2)
    assert model.fingerprint() == expected.fingerprint()
    assert model.score(dataset, target="y") == expected.score(X, y)


def test_what_a_dataset_lacks_is_named(frame):
    dataset = Dataset.from_frame(frame)
    model = arb.BoostedTreesRegressor(n_estimators=2)
    with pytest.raises(
        ValueError, match=r"a Dataset needs target=, the name of the column to predict; its columns are"
    ):
        model.fit(dataset)
    with pytest.raises(ValueError, match=r"the dataset has no column 'numbr': did you mean 'number'\?"):
        model.fit(dataset, target="numbr")
    with pytest.raises(TypeError, match="both y and target are given"):
        model.fit(dataset, frame["y"], target="y")
    with pytest.raises(
        TypeError, match="target='y' names a column, but X, a ndarray, has no column names: give y, or a"
    ):
        model.fit(frame[["number"]].to_numpy(), target="y")
    with pytest.raises(ValueError, match="no column besides the target"):
        model.fit(dataset.select(["y"]), target="y")
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.fit(Dataset.from_frame(frame.head(0)), target="y")
    model.fit(dataset, target="y")
    with pytest.raises(ValueError, match=r"the columns of X are not those of the fit\.\nmissing: 'when'"):
        model.predict(dataset.drop(["when"]))


def test_rows_that_change_between_passes_are_noticed(frame):
    passes = iter([frame, frame, frame.head(10)])
    dataset = Dataset.from_batches(lambda: [next(passes)])
    with pytest.raises(ValueError, match="the dataset had 1500 rows and now has 10: it changed while it was read"):
        arb.RandomForestRegressor(n_estimators=1).fit(dataset.drop(["label"]), target="y")


def test_missing_values_that_are_new_are_warned_of_once(frame):
    whole = frame.dropna()
    model = arb.BoostedTreesRegressor(n_estimators=2).fit(whole[FEATURES], whole["y"])
    batches = Dataset.from_batches([frame[:700], frame[700:]])
    with pytest.warns(UserWarning, match="missing values in columns that had none at fit: 'number'") as caught:
        model.predict(batches)
    assert len(caught) == 1
    model.set_params(missing="error")
    with pytest.raises(ValueError, match="missing values in columns that had none at fit"):
        model.predict(batches)


@pytest.mark.parametrize("params", [{"max_bins": "many"}, {"max_depth": "deep"}, {"subsample": None}])
def test_parameters_are_checked_before_memory_is_planned(params):
    rows = Dataset.from_frame({"a": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]}).with_memory_limit("1GB")
    with pytest.raises(ValueError, match=f"{next(iter(params))}="):
        arb.BoostedTreesRegressor(**params).fit(rows, target="y")


@pytest.mark.parametrize("n_rows", [1, 7, 40, 1000])
def test_parts_follow_each_other_in_any_process(tmp_path, monkeypatch, n_rows):
    table = pa.table({"i": np.arange(60), "t": np.arange(60).astype(str)})
    for number, rows in enumerate((table.slice(0, 30), table.slice(30, 1), table.slice(31))):
        (tmp_path / f"n={number}").mkdir()
        parquet.write_table(rows, tmp_path / f"n={number}" / "part.parquet", row_group_size=9)
    monkeypatch.chdir(tmp_path)
    whole = Dataset.from_parquet("*/part.parquet")
    chosen = np.random.default_rng(0).random(whole.n_rows) < 0.6
    for dataset in (whole, whole.select(["n"]), whole.filter(chosen), whole.filter(chosen).filter(chosen[chosen])):
        expected, parts = dataset.to_frame(), pickle.loads(pickle.dumps(dataset.parted(n_rows)))
        monkeypatch.chdir("/")
        assert [part.n_rows for part in parts] == [part.to_frame().num_rows for part in parts]
        assert pa.concat_tables([part.to_frame() for part in parts]).equals(expected)
        monkeypatch.chdir(tmp_path)
    assert len(whole.parted(n_rows)) >= min(whole.n_rows / n_rows / 2, whole.n_rows)


def test_batches_have_no_parts():
    with pytest.raises(ValueError, match="can only be read one after the other: write them as Parquet files first"):
        Dataset.from_frame({"i": [1]}).parted(1)
