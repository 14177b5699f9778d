"""Forms of text: Python and DuckDB put every value into the same class."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from arboretum.data.text_columns import Facts, TextRules, class_in_sql, decide, trimmed
from arboretum.data.text_values import BLANKS, class_of, hidden_values

duckdb = pytest.importorskip("duckdb")

CLASSES = {
    "decimal": ["1.5", "-.5", "+5.", "1e5", "-1E-400", "1e999", "inf", "-Infinity", "00.5"],
    "whole": ["0", "-7", "+12", "999999999999999999"],
    "code": ["007", "-01", "1000000000000000000", "12345678901234567890123"],
    "mark": [
        "",
        " ",
        "?",
        "??",
        "-",
        "--",
        "\u2014",
        ".",
        "..",
        "*",
        "NA",
        "n/a",
        "N.A.",
        "<NA>",
        "#N/A",
        "#NA",
        "nan",
        "-NaN",
    ],
    "bool": ["true", "FALSE"],
    "date": ["2020-02-29", "2020-1-2", "2020/01/31"],
    "moment": ["2020-01-31 10:00", "2020-01-31T23:59:59.123456"],
    "zoned": ["2020-01-31T10:00Z", "2020-01-31 10:00:00 +0200", "2020-01-31T10:00:00-05"],
    "impossible": ["2020-02-30", "2021-02-29 10:00", "31/02/2020", "31.4.2020"],
    "day/": ["13/1/2020", "31/12/2020 23:59", "31/12/2020 11:59:59 pm"],
    "month-": ["12-31-2020"],
    "either.": ["1.12.2020", "12.12.2020 1:00"],
    "time": ["0:00", "23:59:59.5"],
    "grouped": ["1,234", "-1,234,567.89", "1 234", "1'234"],
    "comma": ["1,5", "1234,56", "-0,125"],
    "other date": ["31/12/20", "1-Jan-2020", "1. January 2020", "Jan 31, 2024", "december 1 2020"],
    "amount": ["$5", "7%", "(1.50)", "5 \u20ac", "-$1,234.50"],
    "text": [
        "Oslo",
        "yes",
        "12a",
        "1_000",
        "0x1F",
        "1e",
        "e5",
        "+",
        "$",
        "2020-13-01",
        "25:00",
        "12:30 PM",
        "a\nb",
        "1\n2",
    ],
}
MORE_MARKS = ["-NaN", "null", "None", "\\N", "nil", "missing", "Unknown", "0000-00-00", "1.#IND", "-1.#QNAN"]
EXCEL_ERRORS = ["#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"]
MORE_TEXTS = ["12:30 PM", "31/12/2020 24:00", "\u0663", "1..2", "1.2.3", "1,2345.6", "n", "N A"]
EXAMPLES = [
    *((value, name) for name, values in CLASSES.items() for value in values),
    *((value, "mark") for value in MORE_MARKS + EXCEL_ERRORS),
    *((value, "text") for value in MORE_TEXTS),
]


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as opened:
        yield opened


def in_duckdb(connection, values: list[str], decimal: str = ".") -> list[str]:
    query = f"SELECT {class_in_sql(trimmed('cell'), decimal)} FROM (SELECT unnest(?::VARCHAR[]) AS cell)"
    return [name for (name,) in connection.execute(query, [values]).fetchall()]


def test_classes(connection):
    values, expected = [value for value, _ in EXAMPLES], [name for _, name in EXAMPLES]
    assert {value: class_of(value) for value in values} == dict(EXAMPLES)
    assert in_duckdb(connection, values) == expected
    padded = [f" \t{value}\u00a0" for value in values]
    assert [class_of(value) for value in padded] == in_duckdb(connection, padded) == expected


@settings(max_examples=60)
@example(["1.234,5", "1,5", "1.5", ",5", "1.234"], ",")
@given(
    st.lists(
        st.one_of(
            st.text("0123456789+-.,eE:/ TZ?#naNAinf$%()'x\u20ac", max_size=12).filter(lambda text: "\0" not in text),
            st.dates().map(str),
            st.builds(
                "{}{}{}{}{}".format,
                *[st.integers(0, 40), st.sampled_from("/.-"), st.integers(0, 40)] * 1,
                st.sampled_from("/.-"),
                st.integers(0, 3000),
            ),
            st.floats().map(repr),
        ),
        min_size=1,
        max_size=60,
    ),
    st.sampled_from(".,"),
)
def test_python_and_duckdb_agree(connection, values, decimal):
    assert in_duckdb(connection, values, decimal) == [class_of(value, decimal) for value in values]


@given(st.floats(allow_nan=False), st.sampled_from(["", *BLANKS]))
def test_every_float_is_a_number(value, blank):
    assert class_of(f"{blank}{value!r}{blank}") in ("decimal", "whole")


@given(st.integers(-(10**18) + 1, 10**18 - 1))
def test_every_whole_number_of_18_digits_is_one(value):
    assert class_of(str(value)) == "whole"


@pytest.mark.parametrize(
    ("categories", "found"),
    [
        (["29.85", "?", "108.15"], ("numbers", "108.15")),
        (["1", "2", "NA"], ("numbers", "1")),
        (["2020-01-31", "2020-02-30"], ("dates", "2020-01-31")),
        (["31/12/2020", "01/02/2020", "-"], ("dates", "01/02/2020")),
        (["31/12/2020", "31.12.2020"], None),
        (["94110", "10001"], None),
        (["94110", "10001.5", "007"], None),
        (["1.5", "2.5", "about 3"], None),
        (["?", "-"], None),
        (["2020-02-30"], None),
        (["true", "false"], None),
        ([], None),
    ],
)
def test_what_categories_really_are(categories, found):
    assert hidden_values(categories) == found
    assert hidden_values(reversed(categories)) == found


@pytest.mark.parametrize("believed", [False, True])
@pytest.mark.parametrize(
    ("values", "remark"),
    [
        (
            [*["2024-01-31"] * 30, "foo"],
            "1 of 31 values are not dates, such as 'foo' (add it to missing=",
        ),
        (
            [*["31/01/2024"] * 30, "31-01-2024"],
            "1 of 31 values are not dates, such as '31-01-2024'",
        ),
        ([*["2024-01-31"] * 30, "0001-01-01"], "1 of 31 values are not dates, such as '0001-01-01'"),
        ([*["1.5"] * 30, "007"], "stays a category, because it has codes such as '007'"),
        ([*["1.5"] * 30, "x"], "1 of 31 values are not numbers, such as 'x'"),
        (
            ["Jan 31, 2024", "Feb 1, 2024"],
            "dates such as 'Feb 1, 2024' (give their form, as date_formats=",
        ),
        (["01-Apr-23"], "such as '01-Apr-23' (give their form, as date_formats={'c': '%d-%b-%y'})"),
    ],
)
def test_what_makes_text_of_a_column_is_said(values, remark, believed):
    """One bad value of thousands made a category of a column without a word."""
    facts = Facts()
    for value in values:
        facts.add(class_of(value), 1, value)
    column = decide("c", facts, TextRules(believed=believed))
    assert (column.kind, column.is_guess) == ("category", True)
    assert remark in column.remark
