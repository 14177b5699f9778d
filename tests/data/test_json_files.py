"""JSON files: arrays and lines of objects give the same rows."""

from __future__ import annotations

import datetime
import gzip
import json

import pytest

from arboretum import Dataset

pytest.importorskip("duckdb")

ROWS = [
    {"i": 1, "x": 0.5, "t": "a", "day": "2020-01-31", "when": "2020-01-31T10:00:00Z", "eu": "03-04-2020", "n": "1.5"},
    {"i": 2, "x": None, "t": "\u00e9", "day": None, "when": "2020-01-31 12:00", "eu": "05-06-2020", "n": "2"},
    {"i": 3, "x": 2, "day": "2020-02-01", "when": None, "eu": "1-2-2020", "n": "3"},
]


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(ROWS).encode(),
        json.dumps(ROWS, indent=2, ensure_ascii=False).encode("utf-16"),
        "\n".join(map(json.dumps, ROWS)).encode(),
        ("\ufeff" + "\n".join(map(json.dumps, ROWS)) + "\n").encode(),
        "\n".join(json.dumps(row, indent=1) for row in ROWS).encode(),
        gzip.compress(json.dumps(ROWS).encode(), mtime=0),
    ],
    ids=["array", "indented UTF-16", "lines", "mark", "indented lines", "gzip"],
)
def test_arrays_and_lines_are_the_same_rows(tmp_path, content):
    (tmp_path / "[1].json").write_bytes(content)
    found = Dataset.from_json(tmp_path / "[1].json").to_frame().to_pydict()
    assert found["i"] == [1, 2, 3]
    assert found["x"] == [0.5, None, 2.0]
    assert found["t"] == ["a", "\u00e9", None]
    assert found["day"] == [datetime.date(2020, 1, 31), None, datetime.date(2020, 2, 1)]
    assert found["when"] == [datetime.datetime(2020, 1, 31, 10), datetime.datetime(2020, 1, 31, 12), None]
    assert found["eu"] == ["03-04-2020", "05-06-2020", "1-2-2020"]  # no guess whether days or months come first
    assert found["n"] == ["1.5", "2", "3"]  # JSON has numbers of its own


def test_the_last_rows_tell_types_too(tmp_path):
    lines = ['{"a": 1}'] * 30_000 + ['{"a": "x", "b": 1}']
    for order in (lines, lines[::-1]):
        (tmp_path / "a.jsonl").write_text("\n".join(order), encoding="utf-8")
        table = Dataset.from_json(tmp_path / "a.jsonl").to_frame()
        assert str(table.schema.field("a").type) == "string"
        assert sorted(set(table["a"].to_pylist())) == ["1", "x"]
        assert table["b"].null_count == 30_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"a": 1},\n{"a": 2]', r"a\.json, line 2: Expecting ',' delimiter"),
        (b'{"a": 1}\n[2]\n', r"a\.json, line 2: '\[2\]' is not a JSON object; each line must be one"),
        (b'[{"a": 1}, 2]', r"a\.json: element 1 is 2, not a JSON object; each element must be one"),
        (b"[]", r"a\.json has no rows"),
        (b"[1, 2]", r"a\.json begins with '\[1, 2\]': JSON must be an array of objects, \[\{…\}, \{…\}\], or one"),
        (b"a,b\n1,2\n", r"a\.json begins with 'a,b"),
        (b'{"a": "\xfc"}', r"a\.json, line 1: the byte 0xfc is not UTF-8 text"),
        (b"", r"a\.json is empty"),
    ],
)
def test_files_that_cannot_be_read_say_why(tmp_path, content, message):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        Dataset.from_json(tmp_path / "a.json").to_frame()


@pytest.mark.parametrize(("good", "bad"), [('[{"a": 1}]', '[{"a": }]'), ('{"a": 1}\n', '{"a": }\n')])
def test_of_several_files_the_broken_one_is_named(tmp_path, good, bad):
    for name, content in {"a.json": good, "b.json": bad, "c.json": good}.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=r"b\.json, line 1: "):
        Dataset.from_json(tmp_path / "*.json").to_frame()
