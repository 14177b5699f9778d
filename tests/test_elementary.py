"""Exponentials and logarithms against wider numbers; and that models know nothing of NumPy's own."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arboretum import _kernel, elementary

ANY = st.floats(-290, 290)
POSITIVE = st.floats(2.3e-308, 1e300)
FUNCTIONS = {
    "bounded_exp": (elementary.bounded_exp, np.exp, ANY),
    "exp2": (elementary.exp2, np.exp2, ANY),
    "log": (elementary.log, np.log, POSITIVE),
    "log2": (elementary.log2, np.log2, st.floats(5e-324, 1e300)),
    "log1p": (elementary.log1p, np.log1p, st.floats(-0.999, 1e300)),
    "expm1": (elementary.expm1, np.expm1, ANY),
    "softplus": (elementary.softplus, lambda x: np.logaddexp(np.zeros_like(x), x), ANY),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@given(data=st.data())
def test_values_are_those_of_wider_numbers(name, data):
    function, twin, domain = FUNCTIONS[name]
    x = np.array(data.draw(st.lists(domain, min_size=1, max_size=20)))
    expected = twin(x.astype(np.longdouble)).astype(np.float64)
    np.testing.assert_allclose(function(x), expected, rtol=1e-15, atol=5e-131)
    np.testing.assert_array_equal(function(x[::-1])[::-1], function(x))  # any stride, and no row knows another


@pytest.mark.parametrize("name", ["log", "log2"])
@given(st.integers(-52, -1), st.booleans())
def test_logarithms_keep_their_digits_near_1(name, exponent, below):
    function, twin, _ = FUNCTIONS[name]
    x = np.array([1 + (-0.5 if below else 1) * 2.0**exponent])
    np.testing.assert_allclose(function(x), twin(x.astype(np.longdouble)).astype(np.float64), rtol=1e-15)


@given(st.lists(st.floats(-30, 26), min_size=1, max_size=20))
def test_complements_of_the_error_function_are_those_of_the_c_library(values):
    x = np.array([*values, *(end * step for end in (0.46875, 4.0) for step in (1, 1 + 1e-15, -1)), np.inf, -np.inf])
    found = np.empty_like(x)
    _kernel.error_complements(x, found)
    np.testing.assert_allclose(found, [math.erfc(value) for value in x], rtol=4e-15, atol=1e-300)


def test_shapes_are_kept_and_ends_are_finite():
    for function in (elementary.bounded_exp, elementary.log, elementary.log2):
        assert function(np.ones((2, 3)).T).shape == (3, 2)
        assert function(1.0).shape == ()
    ends = np.array([-np.inf, np.inf])
    assert np.isfinite(elementary.bounded_exp(ends)).all()
    assert elementary.expm1(ends)[0] == -1
    assert elementary.softplus(ends)[1] == np.inf
    assert elementary.softplus(ends)[0] == pytest.approx(0, abs=1e-100)
    powers = np.arange(-1000, 1000)
    np.testing.assert_array_equal(elementary.log2(np.ldexp(1.0, powers)), powers)
    np.testing.assert_array_equal(elementary.exp2(powers.astype(float)), np.ldexp(1.0, powers))


PROGRAM = """
import numpy as np
def refuse(*_, **__):
    raise AssertionError("a model asks NumPy for it")
for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "power"):
    setattr(np, name, refuse)
import arboretum as arb

X = np.arange(400.0).reshape(200, 2) % 17
y = X[:, 0] + np.arange(200) % 5
few = {"n_estimators": 3, "random_state": 0}
for loss in ("poisson", "gamma", "tweedie", "squared_error"):
    arb.BoostedTreesRegressor(loss=loss, early_stopping=True, **few).fit(X, y + 1)
arb.BoostedTreesClassifier(**few).fit(X, y > 9)
arb.BoostedTreesClassifier(early_stopping=True, **few).fit(X, y // 7)
arb.BoostedTreesClassifier(loss="ordinal", **few).fit(X, y // 7)
arb.BoostedTreesSurvival(loss="aft", **few).fit(X, np.column_stack([y + 1, y > 3]))
arb.BoostedTreesSurvival(loss="cox", **few).fit(X, np.column_stack([y + 1, y > 3]))
arb.RandomForestRegressor(criterion="poisson", **few).fit(X, y)
for loss in ("linear", "square", "exponential"):
    arb.AdaBoostRegressor(loss=loss, **few).fit(X, y)
arb.AdaBoostClassifier(**few).fit(X, y // 7)
arb.AdditiveBoostingClassifier(**few).fit(X, y > 9)
arb.IsolationForest(contamination=0.1, **few).fit(X)
arb.DecisionTreeClassifier(method="c45").fit(X, y // 7)
arb.DecisionTreeClassifier(method="id3", categorical_features=[0, 1]).fit(X, y // 7)
arb.CalibratedClassifier(estimator=arb.RandomForestClassifier(**few), method="platt", random_state=0).fit(X, y > 9)
arb.CalibratedClassifier(estimator=arb.RandomForestClassifier(**few), method="temperature").fit(X, y // 7)
arb.UpliftForest(**few).fit(X, y, np.arange(len(y)) % 2, np.arange(len(y)) % 3 + 0.5, propensity=np.full(len(y), 0.4))
arb.UpliftBoostedTrees(**few).fit(X, y, np.arange(len(y)) % 2)
"""


def test_no_fit_asks_numpy_for_an_exponential_or_a_logarithm():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, env=os.environ)
    assert (done.returncode, done.stderr) == (0, "")
