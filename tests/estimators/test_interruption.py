"""Ctrl-C ends every fit soon: with what was fitted and a warning, or with KeyboardInterrupt."""

from __future__ import annotations

import signal
import time

import pytest
from tests.reference.every_estimator import CASES, answers

import arboretum as arb

MANY = 1_000_000
WHOLE = {"CalibratedClassifier", "ConformalRegressor", "UpliftBoostedTrees"}  # half of one is none
LONG = {
    "BaggingClassifier": {"estimator": lambda: arb.BoostedTreesClassifier(n_estimators=200), "n_estimators": 2000},
    "BaggingRegressor": {"estimator": lambda: arb.BoostedTreesRegressor(n_estimators=200), "n_estimators": 2000},
    "CalibratedClassifier": {"estimator": lambda: arb.BoostedTreesClassifier(n_estimators=MANY)},
    "ConformalRegressor": {"estimator": lambda: arb.BoostedTreesRegressor(n_estimators=MANY)},
}
AT_ONCE = ("DecisionTreeClassifier", "DecisionTreeRegressor", "AdaBoostRegressor")  # the last ends by itself, soon


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that interrupts")
@pytest.mark.parametrize("case", [case for case in CASES if case.name not in AT_ONCE], ids=lambda case: case.name)
def test_every_fit_ends_soon(case):
    """An inner fit kept its rounds and the outer one went on; isolation forests heard nothing before the last tree."""
    rows, params = case.problem(60), {"n_estimators": MANY, "early_stopping": False, **LONG.get(case.name, {})}
    known = case.make().get_params(deep=False)
    params = {name: value for name, value in params.items() if name in known}
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    started = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.4)
    try:
        if case.name in WHOLE:
            with pytest.raises(KeyboardInterrupt):
                case.fitted(rows, **params)
        else:
            with pytest.warns(arb.InterruptedFit, match=r"fit was interrupted: the model keeps the \d+ "):
                model = case.fitted(rows, **params)
            assert len(answers(model, rows["X"])) == 60
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - started < 20  # of the hours that it would take
