"""Any value of any argument of any public method works, or is refused in words of this package.

Words of this package: a ``raise`` statement of its own, so that no binding's signature, no traceback of NumPy and no
message of an operator is all that a user sees.
"""

from __future__ import annotations

import inspect

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from benchmarks.faults.mutated_files import BINDING, in_own_words
from tests.reference.every_estimator import CASES
from tests.reference.every_method import answer, arguments_of, public_names

mpl.use("Agg")

ODD = [2**31, 10**5000, -1, float("nan"), 1j, "3", np.array(3), np.array([1, 2]), print, None]
OF_FIT = [2**31, 1j, "3", np.array([1, 2]), np.full(20, 10**400, object), np.full(20, 1j)]
SLOW = {"plot_tree", "report"}  # tried on one estimator

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    """Odd values may be the names of files."""
    monkeypatch.chdir(tmp_path)


def named_parameters(method):
    """Parameters but for ``*args`` and ``**kwargs``."""
    collecting = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [name for name, one in inspect.signature(method).parameters.items() if one.kind not in collecting]


def error_of(method, arguments):
    """Return what a call raises, None if it answers."""
    try:
        answer(method, **arguments)
    except Exception as error:
        return error
    return None


def assert_answers_or_refuses(method, arguments, odd_values):
    """Try each odd value for each parameter."""
    for name in named_parameters(method):
        for odd in odd_values:
            error = error_of(method, {**arguments, name: odd})
            where = f"{method.__qualname__}({name}={type(odd).__name__}): {type(error).__name__}: {error}"
            assert error is None or in_own_words(error), where
            assert not any(word in str(error) for word in BINDING), where


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_methods_of_fitted_models(case, tmp_path):
    rows = case.problem(30)
    model = case.fitted(rows)
    for name in public_names(model):
        if isinstance(inspect.getattr_static(type(model), name), property) or name in SLOW:
            continue
        method = getattr(model, name)
        assert_answers_or_refuses(method, arguments_of(method, rows, tmp_path / "model.arb"), ODD)


def test_drawings(tmp_path):
    (case,) = (case for case in CASES if case.name == "BoostedTreesRegressor")
    rows = case.problem(30)
    model = case.fitted(rows)
    unlike_a_default = [2**31, 1j, "3", np.array([1, 2])]
    for name in sorted(SLOW):
        method = getattr(model, name)
        assert_answers_or_refuses(method, arguments_of(method, rows, tmp_path / "model"), unlike_a_default)
    plt.close("all")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fit(case):
    assert_answers_or_refuses(case.make().fit, case.problem(20), OF_FIT)
