"""The end of the interpreter: quiet, with exit code 0, whatever threads and models are still there."""

from __future__ import annotations

import subprocess
import sys

import pytest

SETUP = """
import ctypes, threading, time
import numpy as np
import arboretum as arb

X = np.arange(4000.0).reshape(1000, 4)
model = arb.RandomForestRegressor(n_estimators=20, n_jobs=2).fit(X, X[:, 0])
"""
ENDINGS = {
    "a daemon thread predicts": """
started = threading.Event()
def work():
    while True:
        model.predict(X)
        started.set()
threading.Thread(target=work, daemon=True).start()
started.wait()
""",
    "several daemon threads fit": """
started = threading.Barrier(4)
def work():
    started.wait()
    while True:
        arb.RandomForestRegressor(n_estimators=200, n_jobs=2).fit(X, X[:, 0])
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
started.wait()
time.sleep(0.05)
""",
    "a reference to a model is never given back": """
model.predict(X)
ctypes.pythonapi.Py_IncRef(ctypes.py_object(model))
""",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_is_said_when_the_interpreter_ends_while(ending):
    program = SETUP + ENDINGS[ending]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
