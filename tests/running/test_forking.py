"""Forks at a bad moment: a child must never wait for a thread that it does not have."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

# A thread does something slow; the process forks in the middle of it; the child does the same.
FORKED = """
import importlib.abc, os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forks of threaded processes
import arboretum as arb

slow, started = sys.argv[1], threading.Event()

def pause():
    if not started.is_set():
        started.set()
        time.sleep(0.3)

class SlowFinder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == slow:
            pause()

sys.meta_path.insert(0, SlowFinder())
PREPARE
thread = threading.Thread(target=lambda: work())
thread.start()
assert started.wait(20)
child = os.fork()
if child == 0:
    signal.alarm(20)
    work()
    os._exit(7)
thread.join()
work()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

PUBLIC_NAME = "work = lambda: arb.BoostedTreesRegressor(n_estimators=1).fit([[0.0], [1.0]], [0.0, 1.0])"
DATA_FRAME = """
import pyarrow
table = pyarrow.table({"a": [0.0, 1.0]})
model = arb.BoostedTreesRegressor(n_estimators=1)
work = lambda: model.fit(table, [0.0, 1.0])
"""
PREDICTOR = """
import arboretum.model.forest as forest
make = forest._kernel.Predictor
class Kernel:
    def __getattr__(self, name):
        return getattr(original, name)
    def Predictor(self, arrays, threads):
        pause()
        return make(arrays, threads)
original, forest._kernel = forest._kernel, Kernel()
X = [[0.0], [1.0]]
model = arb.BoostedTreesRegressor(n_estimators=1).fit(X, [0.0, 1.0])
work = lambda: arb.Forest.from_arrays(model.forest_.to_arrays()).predictor()
"""


@pytest.mark.parametrize(
    ("slow", "prepare"),
    [
        ("arboretum.estimators.boosted_trees", PUBLIC_NAME),  # the module that was asked for
        ("arboretum.encoding.target_statistics", PUBLIC_NAME),  # one that it imports
        ("narwhals", DATA_FRAME),  # a library, by a function
        ("", PREDICTOR),  # what is compiled once
    ],
    ids=["public name", "inner module", "library", "compiled forest"],
)
def test_a_fork_while_another_thread_imports_or_computes(slow, prepare):
    code = FORKED.replace("PREPARE", prepare)
    done = subprocess.run([sys.executable, "-c", code, slow], capture_output=True, text=True, timeout=60)
    assert done.returncode == 7, done.stderr
