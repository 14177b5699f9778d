"""Arguments that name columns mean those columns: for every estimator, and for tables of every library."""

from __future__ import annotations

import inspect
import io
import pickle

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from tests.reference.every_estimator import CASES, VARIANTS, answers, framed

import arboretum as arb

N_ROWS = 60
TABLES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "lazy polars": lambda frame: pl.from_pandas(frame).lazy(),
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "dictionary": lambda frame: pa.Table.from_pandas(frame, preserve_index=False).to_pydict(),
    "dataset": arb.Dataset.from_frame,
}


def named(rows, weight):
    """Return the frame of all arguments of ``fit``, and the names of columns by argument."""
    frame, names = rows["X"].copy(), {}
    for argument, values in {**{name: rows[name] for name in rows if name != "X"}, **weight}.items():
        columns = np.atleast_2d(np.asarray(values).T)
        own = [f"{argument} {place}" for place in range(len(columns))]
        frame = frame.assign(**dict(zip(own, columns, strict=True)))
        names["target" if argument == "y" else argument] = own[0] if np.ndim(values) == 1 else own
    return frame[[*frame.columns[::-1]]], names


def taken(method, arguments):
    """Return those of the arguments that a method takes."""
    known = inspect.signature(method).parameters
    return {name: value for name, value in arguments.items() if name in known}


@pytest.mark.parametrize("case", [*CASES, *VARIANTS], ids=str)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_model_is_that_of_the_columns(case):
    rows = framed(case.problem(N_ROWS))
    weight = taken(case.make().fit, {"sample_weight": np.arange(N_ROWS) % 3 + 1.0})
    frame, names = named(rows, weight)
    values = {"y" if name == "target" else name: frame[column] for name, column in names.items()}
    values["X"] = rows["X"]
    model = case.make().fit(**values)
    fingerprint, expected = model.fingerprint(), answers(model, rows["X"])
    with pytest.raises(ValueError, match=r"(?s)the columns of X are not those of the fit.*unexpected: '") as error:
        model.predict(frame if names else frame.assign(other=0.0))
    assert "missing: none" in str(error.value)
    for kind, made in TABLES.items():
        table = made(frame)
        fitted = case.make().fit(table, **names)
        assert fitted.fingerprint() == fingerprint, kind
        file = io.BytesIO()
        fitted.save(file)
        file.seek(0)
        for one in (fitted, pickle.loads(pickle.dumps(fitted)), arb.load(file)):
            assert one.fingerprint() == fingerprint
            for whole in (table, frame):
                np.testing.assert_array_equal(answers(one, whole), expected, err_msg=kind)
        if hasattr(model, "score"):
            score = model.score(**taken(model.score, values))
            assert fitted.score(table, **taken(model.score, names)) == score, kind
