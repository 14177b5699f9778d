"""The same data, parameters and seed give the same bits: any number of threads, rows and named columns in any order."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.every_estimator import CASES, VARIANTS, answers, framed, taken

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of few rows

MANY = 2500  # rows that several threads share
BY_PLACE = (
    "subsample",
    "early_stopping",
    "learning_rate",
    "category_levels",
)  # options that draw rows by their place in the table


def threads_of(case, n_jobs):
    """Parameters that give this number of threads to the model, or to the models within."""
    if case.takes("n_jobs"):
        return {"n_jobs": n_jobs}
    if case.takes("estimator"):
        return {"estimator": lambda: case.params["estimator"]().set_params(n_jobs=n_jobs)}
    return pytest.skip("its learners have threads of their own")


def ordered(rows, order):
    return {**taken({name: values for name, values in rows.items() if name != "X"}, order), "X": rows["X"].iloc[order]}


@pytest.mark.parametrize("case", [*CASES, *VARIANTS], ids=str)
def test_threads_do_not_matter(case):
    rows = framed(case.problem(MANY if "absolute_error" not in case.params.values() else 400))
    models = [case.fitted(rows, **threads_of(case, n_jobs)) for n_jobs in (1, 2, 5)]
    assert len({model.fingerprint() for model in models}) == 1
    assert len({answers(model, rows["X"]).tobytes() for model in models}) == 1


@pytest.mark.parametrize("case", [*CASES, *VARIANTS], ids=str)
def test_named_columns_come_in_any_order(case):
    rows = framed(case.problem(60))
    turned = rows["X"][["town", "a", "d"]]
    model, other = case.fitted(rows), case.fitted({**rows, "X": turned})
    assert other.fingerprint() == model.fingerprint()
    expected = answers(model, rows["X"])
    for one in (model, other):
        np.testing.assert_array_equal(answers(one, turned), expected)
        np.testing.assert_array_equal(answers(one, rows["X"]), expected)
    assert model.feature_names_in_.tolist() == ["d", "a", "town"]
    assert other.feature_names_in_.tolist() == ["town", "a", "d"]


@pytest.mark.parametrize("case", [*CASES, *VARIANTS], ids=str)
def test_rows_come_in_any_order(case):
    if case.name == "UpliftBoostedTrees" or set(BY_PLACE) & set(case.params):
        pytest.skip("rows are drawn by their place")
    rows = framed(case.problem(60))
    model = case.fitted(rows)
    other = case.fitted(ordered(rows, np.random.default_rng(1).permutation(60)))
    np.testing.assert_allclose(answers(other, rows["X"]), answers(model, rows["X"]), rtol=1e-9, atol=1e-12)
