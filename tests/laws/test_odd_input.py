"""Odd tables, targets and weights: read as their plain form, or refused with the row, the column and the cure.

Numbers such as LGB#5592 name the complaint about another library that a test answers
(LGB LightGBM, XGB XGBoost, CB CatBoost, SK scikit-learn).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from tests.reference.every_estimator import CASES, answers, classes, framed, numbers

N_ROWS = 60
WEIGHT = np.repeat(np.linspace(1, 2, N_ROWS // 5), 5)  # rows of a query share one

every_case = pytest.mark.parametrize("case", CASES, ids=str)
with_target = pytest.mark.parametrize("case", [case for case in CASES if case.problem in (classes, numbers)], ids=str)
of_numbers = pytest.mark.parametrize("case", [case for case in CASES if case.problem is numbers], ids=str)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of few rows


# ---- targets and weights ---------------------------------------------------------------------------------------------


@of_numbers
@pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_a_target_that_is_not_finite_is_refused_with_its_row(case, bad, word):  # LGB#5592, #6173, #4483
    rows = case.problem(N_ROWS)
    rows["y"][[7, 11]] = bad
    with pytest.raises(ValueError, match=rf"y contains {word}: {bad} in row 7 \(2 such rows\)"):
        case.fitted(rows)


@every_case
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.nan, "sample_weight contains NaN: nan in row 3"),  # LGB#5592, #2377
        (np.inf, "sample_weight contains infinity: inf in row 3"),
        (-1.0, r"sample_weight is negative in row 3 \(-1.0\): weights must be 0 or more"),
    ],
)
def test_a_bad_weight_is_refused_with_its_row(case, bad, message):
    weight = np.ones(N_ROWS)
    weight[3] = bad
    with pytest.raises(ValueError, match=message):
        case.fitted(case.problem(N_ROWS), weight)


@every_case
def test_weights_of_nothing_are_refused(case):
    with pytest.raises(ValueError, match="sample_weight is zero in all rows"):
        case.fitted(case.problem(N_ROWS), np.zeros(N_ROWS))
    with pytest.raises(ValueError, match="sample_weight has 3 values, but X has 60 rows"):
        case.fitted(case.problem(N_ROWS), np.ones(3))


@with_target
def test_target_and_rows_must_agree_in_number(case):
    rows = case.problem(N_ROWS)
    with pytest.raises(ValueError, match="y has 59 values, but X has 60 rows: give one value per row"):
        case.fitted({**rows, "y": rows["y"][:-1]})


@with_target
def test_target_and_weight_of_any_container_give_the_same_model(case):
    rows = case.problem(N_ROWS)
    expected = answers(case.fitted(rows, WEIGHT), rows["X"])
    for convert in (list, pd.Series, pl.Series, pa.array, lambda values: pa.chunked_array([values])):
        model = case.fitted({**rows, "y": convert(rows["y"].tolist())}, convert(WEIGHT.tolist()))
        np.testing.assert_array_equal(answers(model, rows["X"]), expected)


# ---- tables ----------------------------------------------------------------------------------------------------------


@every_case
def test_every_data_frame_gives_the_same_model(case):  # LGB#789, #6204, CB#2524
    rows = framed(case.problem(N_ROWS))
    model = case.fitted(rows)
    frame = rows["X"]
    polars = pl.from_pandas(frame)
    for table in (frame.astype(object), polars, polars.to_arrow()):
        again = case.fitted({**rows, "X": table})
        assert again.fingerprint() == model.fingerprint()
        np.testing.assert_array_equal(answers(again, frame), answers(model, table))
        assert again.feature_names_in_.tolist() == ["d", "a", "town"]


@every_case
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array])
def test_sparse_equals_dense_to_the_bit(case, form):  # XGB#5287, #5960, #2488, #1634, #6580, #4601
    rows = case.problem(N_ROWS)
    dense = np.where(np.abs(rows["X"]) < 0.7, 0.0, rows["X"])
    of_dense, of_sparse = case.fitted({**rows, "X": dense}), case.fitted({**rows, "X": form(dense)})
    assert of_sparse.fingerprint() == of_dense.fingerprint()
    for model in (of_sparse, of_dense):
        np.testing.assert_array_equal(answers(model, form(dense)), answers(of_dense, dense))


@every_case
def test_tables_without_rows_or_columns_are_refused(case):
    rows = case.problem(N_ROWS)
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        case.fitted({name: values[:0] for name, values in rows.items()})
    with pytest.raises(ValueError, match=r"Found array with 0 feature\(s\)"):
        case.fitted({**rows, "X": rows["X"][:, :0]})
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        case.fitted(rows).predict(rows["X"][:0])


@every_case
def test_other_columns_are_refused(case):
    rows = framed(case.problem(N_ROWS))
    model = case.fitted(rows)
    with pytest.raises(ValueError, match="missing: 'town'"):
        model.predict(rows["X"].drop(columns="town"))
    plain = case.fitted(case.problem(N_ROWS))
    with pytest.raises(ValueError, match=r"X has 2 features, but \w+ is expecting 3 features"):
        plain.predict(np.zeros((4, 2)))


@pytest.mark.parametrize("case", [case for case in CASES if case.takes("missing")], ids=str)
@pytest.mark.filterwarnings("error")
def test_new_missing_values_warn_or_are_refused(case):  # LGB#4040, #6139, #2921
    rows = case.problem(120)
    holes = rows["X"][:9].copy()
    holes[4, 0] = np.nan
    with pytest.warns(UserWarning, match="missing values in columns that had none at fit: 'x0'") as caught:
        assert np.isfinite(answers(case.fitted(rows), holes)).all()
    assert len([one for one in caught if "missing values" in str(one.message)]) == 1
    with pytest.raises(ValueError, match="missing values in columns that had none at fit: 'x0'; fill them"):
        answers(case.fitted(rows, missing="error"), holes)
    rows["X"][::7, 0] = np.nan
    answers(case.fitted(rows, missing="error"), holes)


@every_case
def test_input_is_not_changed(case):
    rows = {**case.problem(N_ROWS), "sample_weight": WEIGHT.copy()}
    copies = {name: values.copy() for name, values in rows.items()}
    for values in rows.values():
        values.flags.writeable = False
    answers(case.make().fit(**rows), rows["X"])
    for name, values in rows.items():
        np.testing.assert_array_equal(values, copies[name])
