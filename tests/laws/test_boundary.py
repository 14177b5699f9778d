"""What crosses to the kernel is checked or converted before: any array and any parameter works or is refused by name.

No user sees a binding's signature, and none of these crashes.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from benchmarks.faults.every_estimator import CASES, draw_problem
from scipy import sparse

import arboretum as arb
from arboretum.data.table import conform, read_table

PROBLEM = draw_problem(40, 3)
X, Y = PROBLEM.X, PROBLEM.number
BY_CLASS = {name: case for name, case in CASES.items() if "," not in name}
NAN, INF = float("nan"), float("inf")

pytestmark = pytest.mark.filterwarnings("ignore")  # of few rows, of classes that look like numbers


def fit(name, X=X, params=(), **given):
    """Fit a small model of a class."""
    case = BY_CLASS[name]
    model = case.make()
    small = {"n_estimators": 2, "n_jobs": 1} if "n_estimators" in model.get_params() else {}
    model.set_params(**{key: value for key, value in small.items() if key in model.get_params()} | dict(params))
    return model.fit(X, **{**PROBLEM.arguments(case.task), **given})


def assert_plain(error: Exception, *names: str) -> None:
    """Whether the message is of this library, and names what is wrong."""
    message = str(error)
    assert not any(word in message for word in ("nanobind", "_kernel", "incompatible function")), message
    assert not names or any(name in message for name in names), message


# ---- tables ----------------------------------------------------------------------------------------------------------


def unaligned(values):
    packed = np.zeros(len(values), dtype=[("pad", "i1"), ("values", "f8", values.shape[1:])])
    packed["values"] = values
    return packed["values"]


def read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


def spread(values):
    wide = np.zeros((2 * len(values), 3 * values.shape[1]))
    wide[1::2, ::3] = values
    return wide[1::2, ::3]


SAME_VALUES = {
    "big-endian": lambda v: v.astype(">f8"),
    "long double": lambda v: v.astype(np.longdouble),
    "object": lambda v: v.astype(object),
    "list": lambda v: v.tolist(),
    "read-only": read_only,
    "unaligned": unaligned,
    "negative strides": lambda v: v[::-1, ::-1].copy()[::-1, ::-1],
    "Fortran order": np.asfortranarray,
    "spread": spread,
    "matrix": lambda v: np.matrix(v),
    "masked": np.ma.array,
    "memory view": lambda v: memoryview(v),
}


@pytest.fixture(scope="module", params=BY_CLASS)
def model(request):
    """Fit each class once."""
    return request.param, fit(request.param)


def test_every_form_of_the_same_numbers_is_the_same_table(model):
    name, fitted = model
    expected = fitted.predict(X)
    for label, convert in SAME_VALUES.items():
        np.testing.assert_array_equal(fitted.predict(convert(X)), expected, err_msg=label)
    for label in ("big-endian", "unaligned", "negative strides"):
        assert fit(name, SAME_VALUES[label](X)).fingerprint() == fitted.fingerprint(), label


def test_arrays_of_fields_are_tables_with_names(model):
    name, _ = model
    fields = np.zeros(len(X), dtype=[("pad", "i1"), *((f"c{j}", ">f8") for j in range(X.shape[1]))])
    for j in range(X.shape[1]):
        fields[f"c{j}"] = X[:, j]
    fields = fields[[f"c{j}" for j in range(X.shape[1])]]
    by_name = fit(name, fields)
    assert by_name.fingerprint() == fit(name, pd.DataFrame(X, columns=list(fields.dtype.names))).fingerprint()
    np.testing.assert_array_equal(by_name.predict(fields[["c2", "c0", "c1"]]), by_name.predict(fields))


def with_value(value):
    values = X.astype(object)
    values[0, 0] = value
    return values


REFUSED_TABLES = {
    "complex": (X.astype(complex), "Complex data not supported"),
    "complex object": (with_value(1j), "Complex data not supported: column 'x0'"),
    "no dimension": (np.array(3.0), "Expected 2D array, got scalar array instead"),
    "one dimension": (X[:, 0], "Expected 2D array, got 1D array instead"),
    "three dimensions": (X[:, :, None], "Found array with dim 3"),
    "no rows": (X[:0], "0 sample"),
    "no columns": (X[:, :0], "0 feature"),
    "huge integer": (with_value(10**400), "column 'x0' holds an integer beyond the range of float64"),
    "list": (with_value([1]), "column 'x0' holds values of type list"),
    "bytes": (with_value(b"a"), "column 'x0' holds values of type bytes"),
    "text": (with_value("a"), "column 'x0' mixes types"),
    "void": (np.zeros(X.shape, "V8"), "column 'x0' holds values of type"),
    "fields of arrays": (np.zeros(len(X), [("x", "f8", (3,))]), "column 'x' holds values of type array"),
    "None": (None, "Expected 2D array"),
    "text alone": ("abc", "Expected 2D array"),
    "generator": ((row for row in X), "Expected 2D array"),
}


@pytest.mark.parametrize("odd", REFUSED_TABLES)
def test_what_is_no_table_is_refused_in_plain_words(odd):
    table, message = REFUSED_TABLES[odd]
    with pytest.raises((TypeError, ValueError), match=message):
        read_table(table)
    with pytest.raises((TypeError, ValueError), match=message):
        conform(table, read_table(X).schema)


def test_what_is_no_table_is_refused_by_every_model(model):
    name, fitted = model
    for odd in ("complex", "three dimensions", "no dimension", "huge integer"):
        table, message = REFUSED_TABLES[odd]
        for use in (fitted.predict, lambda table: fit(name, table)):
            with pytest.raises((TypeError, ValueError), match=message) as caught:
                use(table)
            assert_plain(caught.value)


# ---- sparse matrices -------------------------------------------------------------------------------------------------


def damaged(kind, damage):
    matrix = getattr(sparse, kind)(np.round(X) + 1)
    axis = "indices" if hasattr(matrix, "indices") else "col"
    places = getattr(matrix, axis)
    if damage == "beyond":
        places[3] = 10**6
    elif damage == "negative":
        places[3] = -5
    elif damage == "float":
        setattr(matrix, axis, places.astype(float))
    elif damage == "falling":
        matrix.indptr[1] = matrix.indptr[2] + 1
    elif damage == "end":
        matrix.indptr[-1] = 10**9
    elif damage == "far below":  # so far that a difference of int32 wraps around
        matrix.indptr[-1] = -(2**31)
    elif damage == "short":
        matrix.data = matrix.data[:3]
    return matrix


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_matrix", "bsr_matrix", "coo_matrix", "csr_array", "coo_array"])
@pytest.mark.parametrize("damage", ["beyond", "negative", "float", "falling", "end", "far below", "short"])
def test_damaged_sparse_matrices_are_refused(kind, damage):
    """Scipy trusts the indices: a fit crashed."""
    if kind.startswith("coo") and damage in ("falling", "end", "far below", "float"):
        pytest.skip("has no such array")
    try:
        matrix = damaged(kind, damage)
    except (TypeError, ValueError):
        pytest.skip("scipy refuses it by itself")
    schema = read_table(X).schema
    bagging = arb.BaggingRegressor(n_estimators=2)
    for read in (read_table, lambda matrix: conform(matrix, schema), lambda matrix: bagging.fit(matrix, Y)):
        with pytest.raises(ValueError, match=r"X is a damaged sparse matrix|same length"):
            read(matrix)


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_array", "bsr_matrix", "coo_matrix"])
def test_big_endian_sparse_matrices_are_read(kind):
    matrix = getattr(sparse, kind)(np.round(X))
    matrix.data = matrix.data.astype(">f8")
    model = arb.BoostedTreesRegressor(n_estimators=2).fit(matrix, Y)
    np.testing.assert_array_equal(model.predict(matrix), model.predict(np.round(X)))
    assert matrix.data.dtype == ">f8"


def test_a_list_of_lists_with_a_column_too_many_is_refused():
    matrix = sparse.lil_matrix(np.round(X))
    matrix.rows[2], matrix.data[2] = [999], [1.0]
    with pytest.raises(ValueError, match="damaged sparse matrix: an entry in column 999 of 3"):
        read_table(matrix)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_order_and_repetition_of_entries_do_not_matter(index):
    dense = np.round(X)
    row, column = np.nonzero(dense)
    order = np.random.default_rng(0).permutation(2 * len(row))
    twice = np.tile(dense[row, column] / 2, 2)[order]
    entries = (twice, (np.tile(row, 2)[order].astype(index), np.tile(column, 2)[order].astype(index)))
    expected = arb.BoostedTreesRegressor(n_estimators=2).fit(dense, Y).fingerprint()
    scattered = sparse.csr_matrix(dense)
    backwards = np.concatenate([np.arange(a, b)[::-1] for a, b in pairwise(scattered.indptr)])
    scattered.data, scattered.indices = scattered.data[backwards], scattered.indices[backwards]
    scattered.has_sorted_indices = scattered.has_canonical_format = True  # which is not so
    spare = sparse.csr_matrix(dense)
    spare.indices, spare.data = np.append(spare.indices, 10**6), np.append(spare.data, 1.0)  # room that is not used
    for matrix in (sparse.coo_matrix(entries, dense.shape), scattered, scattered.tocsc(), spare):
        assert arb.BoostedTreesRegressor(n_estimators=2).fit(matrix, Y).fingerprint() == expected


# ---- targets and weights ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["big-endian", "long double", "object", "unaligned", "read-only"])
def test_every_form_of_the_same_target_and_weight_is_the_same(label):
    convert, weight = SAME_VALUES[label], np.abs(Y) + 1
    for name in ("BoostedTreesRegressor", "RandomForestRegressor", "AdditiveBoostingRegressor"):
        expected = fit(name, sample_weight=weight).fingerprint()
        assert fit(name, y=convert(Y), sample_weight=convert(weight)).fingerprint() == expected


@pytest.mark.parametrize("argument", ["y", "sample_weight"])
@pytest.mark.parametrize("odd", [10**400, [1, 2], "a", None, 1j, b"1"], ids=str)
def test_a_number_that_is_none_is_refused_with_its_row(argument, odd):
    values = (np.abs(Y) + 1).astype(object)
    values[3] = odd
    for name in ("BoostedTreesRegressor", "RandomForestRegressor", "ConformalRegressor"):
        with pytest.raises(ValueError, match=f"{argument}.* row 3"):
            fit(name, **{argument: values})


def test_labels_that_are_objects_are_scored():
    labels = np.where(Y > 0, 2**40, -1).astype(object)
    model = arb.RandomForestClassifier(n_estimators=20, oob_score=True).fit(X, labels)
    assert 0 <= model.oob_score_ <= 1
    assert model.score(X, labels) == np.mean(model.predict(X) == labels)
    with pytest.raises(ValueError, match="y has labels such as"):
        arb.RandomForestClassifier(n_estimators=2).fit(X, Y > 0).score(X, np.where(Y > 0, "a", "b"))


# ---- parameters ------------------------------------------------------------------------------------------------------

ODD = [
    *(2**31, 2**64, 10**5000, -1, -(2**63) - 1, 2.5, 1e300, NAN, -INF, 1j, "3", None, True),
    *(np.uint64(2**63), [1], np.array(3), np.array([1, 2]), print),
]


def all_parameters():
    """One estimator for each parameter of each default, and ``n_jobs`` of all."""
    seen = set()
    for name, case in BY_CLASS.items():
        for parameter, default in case.make().get_params(deep=False).items():
            key = (parameter, repr(default), name if parameter == "n_jobs" else "")
            if key not in seen:
                seen.add(key)
                yield pytest.param(name, parameter, id=f"{name}-{parameter}")


@pytest.mark.parametrize(("name", "parameter"), list(all_parameters()))
def test_any_value_of_a_parameter_works_or_is_refused_by_name(name, parameter):
    def works(value):
        try:
            fit(name, params={parameter: value}).predict(X[:2])
        except (TypeError, ValueError) as error:
            assert_plain(error, parameter)
            return False
        return True

    assert not all([works(value) for value in ODD])


@pytest.mark.parametrize("n_jobs", [2**31, 10**40, -(10**40), np.uint64(2**63)])
def test_more_threads_than_there_can_be_are_as_many_as_there_can_be(n_jobs):
    model = fit("BoostedTreesRegressor", params={"n_jobs": n_jobs})
    assert model.fingerprint() == fit("BoostedTreesRegressor").fingerprint()
    np.testing.assert_array_equal(model.predict(X), fit("BoostedTreesRegressor").predict(X))
