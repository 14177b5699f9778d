"""Memory that runs out: a MemoryError and a process that goes on, never a crash.

A few runs of ``python -m benchmarks memory-limits``, which does the same for every estimator.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RUNS = """
import warnings
from collections import Counter
from benchmarks.faults import memory_limits as limits

warnings.simplefilter("ignore")
names = [
    "BoostedTreesRegressor",
    "BoostedTreesRegressor, gradient sampling",
    "BoostedTreesClassifier, classes",
    "AdaBoostRegressor",
    "RandomForestRegressor",
    "DecisionTreeRegressor",
]
problem = limits.estimators().draw_problem(20_000, 20)
ends = Counter()
with limits.in_one_thread():
    limits.use_once(names)
    for name in names:
        fingerprint = limits.expected_fingerprint(name, problem)
        for megabytes in (0.2, 0.6, 1.0, 1.6):
            run = limits.run(name, problem, megabytes, fingerprint)
            ends[run.outcome] += 1
            assert run.outcome != limits.FAILURE, run
assert ends[limits.MEMORY_ERROR] >= 8, ends
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_fits_without_memory_raise_or_succeed_and_the_next_fit_is_right():
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", RUNS], cwd=root, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
