"""CSV files: all rows decide what a column holds, in any order and any number of parts, at fit and at predict."""

from __future__ import annotations

import bz2
import codecs
import datetime
import gzip
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import arboretum as arb
from arboretum import Dataset

pytest.importorskip("duckdb")

MARKS = [" ", "?", "-", ".", "na", "None", "#N/A", "nan", "NULL", "", "\u2013"]


def read(path, **options):
    """Return types and values of a CSV file; warnings are not of interest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = Dataset.from_csv(path, **options).to_frame()
    return {column.name: str(column.type) for column in table.schema}, table.to_pydict()


def written(path, **columns):
    lines = [",".join(columns), *(",".join(cells) for cells in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


# ------------------------------------------------------------------------------------------------------- marks


NUMBERS = st.one_of(st.floats(allow_nan=False), st.integers(-(10**15), 10**15))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cells=st.lists(st.one_of(NUMBERS, st.sampled_from(MARKS)), min_size=2, max_size=30),
    order=st.randoms(use_true_random=False),
    cut=st.integers(1, 29),
)
def test_numbers_with_marks_are_numbers_in_any_order_and_parts(tmp_path, cells, order, cut):
    numbers = [None if isinstance(cell, str) else cell for cell in cells]
    if all(number is None for number in numbers):
        return
    texts = [cell if isinstance(cell, str) else repr(cell) for cell in cells]
    rows = [f"{place},{text}" for place, text in enumerate(texts)]
    order.shuffle(rows)
    cut = min(cut, len(rows) - 1)
    for name, part in (("1.csv", rows[:cut]), ("2.csv", rows[cut:])):
        (tmp_path / name).write_text("\n".join(["i,x", *part]), encoding="utf-8")
    types, found = read(tmp_path / "*.csv")
    all_whole = all(number is None or isinstance(number, int) for number in numbers)
    assert types == {"i": "int64", "x": "int64" if all_whole else "double"}
    assert dict(zip(found["i"], found["x"], strict=True)) == dict(enumerate(numbers))


def churn(n=400):
    """Numbers with marks as text, and the same with NaN; a text column that has a mark for a level."""
    rng = np.random.default_rng(0)
    charges = rng.gamma(2.0, 30.0, n).round(2)
    frame = pd.DataFrame(
        {"charges": charges, "plan": rng.choice(["a", "b", "?"], n), "y": charges + rng.normal(size=n)}
    )
    texts = frame.astype({"charges": str}).astype(object)
    for mark, rows in zip(MARKS, rng.permutation(n)[: 11 * 5].reshape(11, 5), strict=True):
        texts.loc[rows, "charges"] = mark
        frame.loc[rows, "charges"] = np.nan
    return texts, frame


def test_the_model_is_that_of_the_frame_with_holes_for_marks(tmp_path):
    texts, frame = churn()
    model = arb.BoostedTreesRegressor(n_estimators=5)
    expected = model.fit(frame[["charges", "plan"]], frame["y"]).fingerprint()
    texts.to_csv(tmp_path / "churn.csv", index=False)
    said = (
        "taken as missing: 'charges': ' ' 5 times, '#N/A' 5 times, '-' 5 times, '.' 5 times, '?' 5 times and 15 others"
    )
    with pytest.warns(UserWarning, match="taken as missing") as caught:
        model.fit(Dataset.from_csv(tmp_path / "churn.csv"), target="y")
    assert [str(one.message) for one in caught] == [said]
    assert model.fingerprint() == expected
    assert model.schema_.columns[0].kind == "numeric"
    # A file of the rows with marks alone has no number in it, and is read as the model knows the column.
    texts[texts["charges"].isin(MARKS)].to_csv(tmp_path / "marks.csv", index=False)
    holes = frame[frame["charges"].isna()]
    with pytest.warns(UserWarning, match="taken as missing: 'charges'"):
        found = model.predict(Dataset.from_csv(tmp_path / "marks.csv"))
    np.testing.assert_array_equal(found, model.predict(holes[["charges", "plan"]]))


def test_late_words_make_text_as_early_ones_do(tmp_path):
    numbers = ["1.5"] * 30_000
    for cells in (["x", *numbers], [*numbers, "x"]):
        path = written(tmp_path / "a.csv", a=cells)
        with pytest.warns(
            UserWarning,
            match=r"column 'a' stays a category: 1 of 30001 values are not numbers, such as 'x' \(add it to missing=\)",
        ):
            assert str(Dataset.from_csv(path).schema.field("a").type) == "string"
        assert read(path, missing=["x"])[0] == {"a": "double"}


def test_missing_values_are_what_the_user_says(tmp_path):
    path = written(tmp_path / "a.csv", n=["1", " -999 ", "-999", "NA"], t=["x", "", "NA", "-999"])
    assert read(path)[1] == {"n": [1, -999, -999, None], "t": ["x", None, None, "-999"]}
    assert read(path, missing=["-999"])[1] == {"n": [1, None, None, None], "t": ["x", "", "NA", None]}
    assert read(path, missing=[])[1] == {"n": [1, -999, -999, None], "t": ["x", "", "NA", "-999"]}
    blanks = written(tmp_path / "b.csv", t=["x", "  ", "y"])
    with pytest.warns(UserWarning, match="taken as missing: 't': ' ' once"):
        assert Dataset.from_csv(blanks).to_frame().to_pydict() == {"t": ["x", None, "y"]}


# ------------------------------------------------------------------------------------------ what columns hold


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1", "2", "-"], "int64", [1, 2, None]),
        (["1e3", "-Infinity", "+.5"], "double", [1000.0, -np.inf, 0.5]),
        (["True", "false", "?"], "bool", [True, False, None]),
        (["yes", "no", "?"], "string", ["yes", "no", "?"]),
        (["01234", "4321", "1.5"], "string", ["01234", "4321", "1.5"]),
        (["12345678901234567890", "1", "2"], "string", ["12345678901234567890", "1", "2"]),
        (["?", "-", "?"], "string", ["?", "-", "?"]),
        (["", "", ""], "string", [None] * 3),
        (["12:30", "0:00:01.5", "-"], "int64", [45_000_000_000, 1_500_000, None]),
        (["1,5", "2", "3"], "string", None),
        (["2020-01-31", "2020-2-1", "0000-00-00"], "date32[day]", None),
        (
            ["2020-01-31T12:00:00+02:00", "2020-01-31 12:00", "2020-01-31"],
            "timestamp[us]",
            [datetime.datetime(2020, 1, 31, hour) for hour in (10, 12, 0)],
        ),
        (
            ["31/12/2020", "1/2/2020 17:30", "3/4/2020 5:06:07 PM"],
            "timestamp[us]",
            [
                datetime.datetime(2020, 12, 31),
                datetime.datetime(2020, 2, 1, 17, 30),
                datetime.datetime(2020, 4, 3, 17, 6, 7),
            ],
        ),
        (["12-31-2020", "1-2-2020", "30-1-2020"], "string", None),
        (["12-31-2020", "1-2-2020", "2-30-2020"], "timestamp[us]", None),
        (["31/12/2020", "12/31/2020", "1/1/2020"], "string", None),
        (["1/2/2020", "3/4/2020", "5/6/2020"], "string", None),
        (["1_000", "0x1F", "1d5"], "string", None),
    ],
)
def test_what_a_column_holds(tmp_path, cells, kind, values):
    quoted = [f'"{cell}"' for cell in cells]
    for order in ([0, 1, 2], [2, 1, 0]):
        types, found = read(written(tmp_path / "a.csv", a=[quoted[place] for place in order]))
        assert types == {"a": kind}
        if values is not None:
            assert found["a"] == [values[place] for place in order]


@pytest.mark.parametrize(
    ("cells", "options", "message"),
    [
        (["1,5", "2", "1,234"], {}, r"it has numbers such as '1,5' \(decimal=',' reads them\)"),
        (["1.5", "2"], {"decimal": ","}, r"it has numbers such as '1.5' \(decimal='.' reads them\)"),
        (["1,234", "2", "$5"], {}, r"amounts such as '\$5', not plain numbers \(remove separators and signs"),
        (["31/12/20", "1/1/20"], {}, r"it has dates such as '1/1/20' \(give their form, as date_formats=\{'a': '%d"),
        (["31/12/2020"], {}, "column 'a' is read as day/month/year, because of values such as '31/12/2020'"),
        (["12.31.2020"], {}, "column 'a' is read as month.day.year, because of values such as '12.31.2020'"),
        (["31/12/2020", "12/31/2020"], {}, "days and months in two orders, such as '31/12/2020' and '12/31/2020'"),
        (
            ["1/2/2020"],
            {},
            r"holds dates that begin with the day or the month, such as '1/2/2020': say which by "
            r"date_formats=\{'a': '%d/%m/%Y'\} or date_formats=\{'a': '%m/%d/%Y'\}",
        ),
        (["2020-02-30", "2020-02-29"], {}, "taken as missing: 'a': '2020-02-30' once"),
    ],
)
def test_guesses_are_said(tmp_path, cells, options, message):
    path = written(tmp_path / "a.csv", a=[f'"{cell}"' for cell in cells])
    with pytest.warns(UserWarning, match=message):
        Dataset.from_csv(path, **options).to_frame()


def test_options_say_what_text_is(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("n;d;c;e\n1,5;1/2/2020;01;31/12/20\n-;?;2;1/1/20\n", encoding="utf-8")
    formats = {"d": "%m/%d/%Y", "e": "%d/%m/%y"}
    types, found = read(path, decimal=",", date_formats=formats, types={"c": "DOUBLE"})
    assert types == {"n": "double", "d": "timestamp[us]", "c": "double", "e": "timestamp[us]"}
    assert found["n"] == [1.5, None]
    assert found["d"] == [datetime.datetime(2020, 1, 2), None]
    assert found["c"] == [1.0, 2.0]
    assert found["e"] == [datetime.datetime(2020, 12, 31), datetime.datetime(2020, 1, 1)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decimal": "x"}, r"decimal='x': use '.' or ','"),
        ({"encoding": "klingon"}, "encoding='klingon' is unknown: use one such as 'latin-1'"),
        ({"date_formats": {"a": "day first"}}, "the date format 'day first' of column 'a' is not understood"),
        ({"date_formats": {"a": "%Q"}}, "the date format '%Q' of column 'a' is not understood"),
        ({"date_formats": {"b": "%Y"}}, r"a\.csv has no column 'b': its columns are \['a'\]"),
        ({"types": {"b": "DOUBLE"}}, r"a\.csv has no column 'b'"),
        (
            {"types": {"a": "DOUBLE"}},
            r"a\.csv, line 3, column 'a' holds 'x', which is not DOUBLE: correct it, or add it",
        ),
        (
            {"date_formats": {"a": "%Y"}},
            r"line 3, column 'a' holds 'x', which is not a date of the form %Y: correct it",
        ),
    ],
)
def test_options_that_cannot_be_followed(tmp_path, options, message):
    path = written(tmp_path / "a.csv", a=["1999", "x"])
    with pytest.raises(ValueError, match=message):
        Dataset.from_csv(path, **options).to_frame()


def test_a_model_reads_columns_as_it_knows_them(tmp_path):
    """Codes without a zero in sight, dates of either order, numbers that are all whole: kinds are those of the fit."""
    rng = np.random.default_rng(0)
    codes = rng.choice(["01", "2", "3"], 80)
    train = written(
        tmp_path / "train.csv",
        code=codes,
        when=[f"2020-01-{1 + i % 28:02d}" for i in range(80)],
        flag=rng.choice(["true", "false"], 80),
        size=rng.normal(size=80).astype(str),
        y=((codes == "2") + rng.normal(size=80) / 9).astype(str),
    )
    model = arb.BoostedTreesRegressor(n_estimators=3, min_samples_leaf=5).fit(Dataset.from_csv(train), target="y")
    assert [column.source for column in model.schema_.columns] == ["string", "datetime", "bool", "number"]
    new = written(tmp_path / "new.csv", code=["2", "3"], when=["", ""], flag=["1", "0"], size=["7", "-"])
    dataset = Dataset.from_csv(new)
    with pytest.warns(UserWarning, match="taken as missing: 'size': '-' once|missing values in columns that had none"):
        found = model.predict(dataset)
    with pytest.warns(UserWarning, match="taken as missing: 'size'|missing values in columns that had none at fit"):
        np.testing.assert_array_equal(model.predict(dataset.filter(np.array([True, False]))), found[:1])
    frame = pd.DataFrame({"code": ["2", "3"], "when": pd.NaT, "flag": [1.0, 0.0], "size": [7.0, None]})
    with pytest.warns(UserWarning, match="missing values in columns that had none"):
        np.testing.assert_array_equal(found, model.predict(frame))
    wrong = written(tmp_path / "wrong.csv", code=["2", "3"], when=["", ""], flag=["true", "true"], size=["7", "large"])
    with pytest.raises(
        ValueError, match=r"wrong\.csv, line 3, column 'size' holds 'large', which is not a number: corr"
    ):
        model.predict(Dataset.from_csv(wrong))
    unclear = written(tmp_path / "unclear.csv", code=["2"], when=["1/2/2020"], flag=["true"], size=["7"])
    with pytest.raises(
        ValueError, match="column 'when' holds dates that begin with the day or the month, such as '1/2/20"
    ):
        model.predict(Dataset.from_csv(unclear))


# --------------------------------------------------------------------------------------------------------- files


CONTENT = 'a,b\r\n1,"x\r\ny"\r\n2,\u00e9'
ROWS = {"a": [1, 2], "b": ["x\r\ny", "\u00e9"]}


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (CONTENT.encode(), {}),
        (codecs.BOM_UTF8 + CONTENT.encode(), {}),
        (CONTENT.encode("utf-16"), {}),
        (CONTENT.encode("utf-32"), {}),
        (CONTENT.encode("utf-16-le"), {"encoding": "utf-16-le"}),
        (CONTENT.encode("latin-1"), {"encoding": "latin-1"}),
        (gzip.compress(CONTENT.encode(), mtime=0), {}),
        (bz2.compress(CONTENT.encode("cp1252")), {"encoding": "cp1252"}),
        (CONTENT.replace("\r\n", "\n").replace("x\n", "x\r\n").encode(), {}),
        ((CONTENT + "\r\n").encode(), {}),
        (CONTENT.replace(",", "\t").encode(), {}),
        (CONTENT.replace(",", "|").encode(), {}),
    ],
)
def test_encodings_ends_of_lines_and_compressions(tmp_path, content, options):
    name = "odd [1]* 'quoted'.csv"  # the bytes tell the compression, not the name
    (tmp_path / name).write_bytes(content)
    assert read(tmp_path / name, **options)[1] == ROWS


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            b"a,b\n1,Z\xfcrich\n",
            {},
            "line 2: the byte 0xfc is not UTF-8 text; encoding='cp1252' or encoding='latin-1' re",
        ),
        (b"a,\xfc\n1,2\n", {}, "line 1: the byte 0xfc is not UTF-8 text"),
        ("a,b\n1,2\n".encode("utf-16-le") * 20, {}, "looks like UTF-16 text: encoding='utf-16-le' reads it"),
        (b"a,b\n1,\xfc\n", {"encoding": "ascii"}, "is not ascii text: try encoding='latin-1'"),
        (b"a,b\n1,2\r\n3,4\n", {}, r"line 2: lines end in two ways, '\\n' and '\\r\\n'; convert them to one"),
        (b'a,b\n1,"2\n3,4\n', {}, "a quote is not closed"),
        (b'a,"b\n1,2\n3,4\n', {}, "line 1: unexpected end of data; check for a quote that is not closed"),
        (b'"a"b,c\n1,2\n3,4\n', {}, "line 1: ',' expected after '\"'; check for a quote that is not closed"),
        (b"a,b,a\n1,2,3\n", {}, "line 1: the column name 'a' occurs twice"),
    ],
)
def test_files_that_cannot_be_read_say_why(tmp_path, content, options, message):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        Dataset.from_csv(tmp_path / "a.csv", **options).to_frame()


def test_columns_of_parts_are_matched_by_name(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1,x\n", encoding="utf-8")
    (tmp_path / "2.csv").write_text("b;a\n07;2.5\n", encoding="utf-8")
    (tmp_path / "3.csv").write_text("a,b\n3,z\n", encoding="utf-8")
    assert read(tmp_path / "*.csv")[1] == {"a": [1.0, 2.5, 3.0], "b": ["x", "07", "z"]}
    (tmp_path / "4.csv").write_text("a,c\n3,z\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"4\.csv has other columns than .*1\.csv: missing \['b'\], unexpected \['c'\]"
    ):
        Dataset.from_csv(tmp_path / "*.csv").to_frame()


def test_any_names_of_columns(tmp_path):
    (tmp_path / "a.csv").write_text(',a,A,"b,c",--x,place\n0,1,2,3,4,5\n', encoding="utf-8")
    assert read(tmp_path / "a.csv")[1] == {"Unnamed: 0": [0], "a": [1], "A": [2], "b,c": [3], "--x": [4], "place": [5]}
    assert next(iter(pd.read_csv(tmp_path / "a.csv"))) == "Unnamed: 0"


def test_many_columns(tmp_path):
    """Text too: an expression for each column must not take time of their square."""
    names = [f"x{place}" for place in range(1_500)]
    lines = [",".join(names), ",".join(["1"] * 750 + ["t"] * 750), ",".join([" "] * 750 + ["u"] * 750)]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    with pytest.warns(UserWarning, match=r"taken as missing: 'x0': ' ' once; .* and 740 more columns"):
        schema = Dataset.from_csv(tmp_path / "a.csv").schema
    assert [str(schema.field(name).type) for name in ("x0", "x749", "x750")] == ["int64", "int64", "string"]
