"""Threads: the same bits for any number, after a fork, and from many callers at once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tests.reference import growing as slow

import arboretum as arb
from arboretum import _kernel
from arboretum.growing.grower import TreeParams
from arboretum.losses import SquaredError


@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
@pytest.mark.parametrize("n_features", [4, 20])
def test_trees_do_not_depend_on_threads(growth, n_features):
    data, g, h = slow.large_problem(60_000, n_features)
    codes = data.to_kernel()
    params = TreeParams(growth=growth, max_leaf_nodes=64, max_depth=8, min_samples_leaf=50, max_features=0.7)
    rows = _kernel.subsample_rows(60_000, 0.9, 1, 1)
    for sample in (None, rows):
        grower, tree = slow.grow_tree(codes, g, h, params, sample)
        for threads in (2, 3, 8):
            other_grower, other = slow.grow_tree(codes, g, h, params, sample, threads)
            slow.assert_same_tree(tree, other)
            np.testing.assert_array_equal(grower.leaf_of_row, other_grower.leaf_of_row)


def test_many_blocks_of_features_do_not_depend_on_threads():
    rng = np.random.default_rng(13)
    n_bins = [int(n) for n in rng.choice([3, 100, 300, 1000], 150)]
    data = slow.Codes([rng.integers(0, n, 3000) for n in n_bins], n_bins, [False] * 150)
    g = np.round(data.columns[70] % 7 - 3 + data.columns[140] / n_bins[140] * 6)
    codes, h = data.to_kernel(), np.ones(3000)
    few_leaves = TreeParams(min_samples_leaf=1, max_leaf_nodes=10)
    _, tree = slow.grow_tree(codes, g, h, few_leaves)
    for threads in (2, 3):
        slow.assert_same_tree(tree, slow.grow_tree(codes, g, h, few_leaves, threads=threads)[1])
    best = slow.best_gain(
        data, np.arange(3000), g, h, slow.root_leaf(few_leaves), 0, [int(tree.feature[0])], few_leaves
    )
    assert tree.gain[0] == pytest.approx(best, rel=1e-4)


# ---- sleep ---------------------------------------------------------------------------------------------------------

LEFT_ASLEEP = """
import time
from pathlib import Path
from arboretum import _kernel

def switches():  # how often each thread of this process went to sleep
    found = {}
    for task in Path("/proc/self/task").iterdir():
        status = dict(line.split(":", 1) for line in (task / "status").read_text().splitlines())
        found[task.name] = int(status["voluntary_ctxt_switches"])
    return found

_kernel.for_each_chunk(12, 12, lambda chunk, worker: time.sleep(0.01))
time.sleep(0.05)
before = switches()
for _ in range(50):
    _kernel.for_each_chunk(2, 2, lambda chunk, worker: time.sleep(0.001))
woken = sum(now > before[task] for task, now in switches().items())
assert len(before) >= 12 and woken <= 2, (len(before), woken)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux")
def test_threads_of_an_earlier_job_are_left_asleep():
    finished = subprocess.run([sys.executable, "-c", LEFT_ASLEEP], timeout=60, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr


# ---- forks ---------------------------------------------------------------------------------------------------------

AFTER_FORK = """
import os, signal, sys, warnings
import numpy as np
import arboretum as arb

X = np.random.default_rng(0).normal(size=(20_000, 20))
model = arb.BoostedTreesRegressor(n_estimators=3, n_jobs=4)
before = model.fit(X, X[:, 0]).fingerprint()
warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forks of threaded processes
child = os.fork()
if child == 0:
    same = model.fit(X, X[:, 0]).fingerprint() == before
    os._exit(0 if same else 3)
_, status = os.waitpid(child, 0)
assert model.fit(X, X[:, 0]).fingerprint() == before
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_can_fit_with_threads():
    finished = subprocess.run([sys.executable, "-c", AFTER_FORK], timeout=60, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr


# ---- callers -------------------------------------------------------------------------------------------------------


def test_many_callers_at_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20))
    y = X[:, 0] + rng.normal(size=3000)

    def fit(seed):
        model = arb.BoostedTreesRegressor(n_estimators=5, subsample=0.5, random_state=seed, n_jobs=4).fit(X, y)
        return model.fingerprint(), model.predict(X)

    expected = [fit(seed) for seed in range(4)]
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(fit, [0, 1, 2, 3] * 8))
    for i, (fingerprint, predictions) in enumerate(found):
        assert fingerprint == expected[i % 4][0]
        np.testing.assert_array_equal(predictions, expected[i % 4][1])


def test_growers_of_one_table_at_once():
    data, g, h = slow.large_problem(20_000, 20)
    codes, params = data.to_kernel(), TreeParams(max_leaf_nodes=40)
    _, expected = slow.grow_tree(codes, g, h, params)
    with ThreadPoolExecutor(16) as pool:
        found = list(
            pool.map(lambda threads: slow.grow_tree(codes, g, h, params, threads=threads)[1], [1, 2, 3, 8] * 8)
        )
    for tree in found:
        slow.assert_same_tree(tree, expected)


def test_one_model_predicts_for_many_callers():
    X = np.random.default_rng(1).normal(size=(5000, 5))
    model = arb.BoostedTreesRegressor(n_estimators=20, n_jobs=4).fit(X, X[:, 0] * X[:, 1])
    expected = model.predict(X)
    with ThreadPoolExecutor(16) as pool:
        for found in pool.map(lambda _: model.predict(X), range(64)):
            np.testing.assert_array_equal(found, expected)


class FitsInside(SquaredError):  # noqa: N818
    """A loss that itself fits a model for its gradients."""

    def gradients(self, y, raw):
        inner = arb.BoostedTreesRegressor(n_estimators=2, n_jobs=4).fit(raw.reshape(-1, 1), y)
        inner.predict(raw.reshape(-1, 1))
        return super().gradients(y, raw)


def test_a_fit_inside_a_fit():
    X = np.random.default_rng(2).normal(size=(3000, 20))
    models = [
        arb.BoostedTreesRegressor(loss=loss, n_estimators=3, n_jobs=4).fit(X, X[:, 0])
        for loss in (SquaredError(), FitsInside())
    ]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))


def test_many_short_jobs():
    """Workers that wake late must not take part in the next job by mistake."""
    rng = np.random.default_rng(3)
    y, raw = rng.normal(size=20_000), rng.normal(size=20_000)
    g, h = np.empty(20_000), np.empty(20_000)
    for threads in [2, 8, 3, 64] * 500:
        g[:] = np.nan
        _kernel.gradients(_kernel.LossKind.squared_error, 0.0, y, raw, None, g, h, threads)
        np.testing.assert_array_equal(g, raw - y)


# ---- chunks that throw ---------------------------------------------------------------------------------------------


class Stop(Exception):  # noqa: N818
    """What a chunk throws."""


def run_chunks(n_chunks, threads, thrower=None):
    """Which chunks began; ``thrower(chunk, worker)`` says which throw."""
    begun = []

    def run(chunk, worker):
        begun.append(chunk)
        time.sleep(0)  # lets another thread in
        if thrower is not None and thrower(chunk, worker):
            raise Stop(chunk)

    _kernel.for_each_chunk(n_chunks, threads, run)
    return begun


def assert_pool_works():
    assert sorted(run_chunks(40, 4)) == list(range(40))


@pytest.mark.parametrize("threads", [1, 2, 4, 64])
@pytest.mark.parametrize("bad", [range(200), [0], [199], range(3, 200, 7)], ids=["all", "first", "last", "some"])
def test_a_chunk_that_throws_ends_the_job_and_nothing_else(bad, threads):
    for _ in range(20):
        with pytest.raises(Stop) as caught:
            run_chunks(200, threads, lambda chunk, worker: chunk in bad)
        assert caught.value.args[0] in bad
        assert_pool_works()


@pytest.mark.parametrize("in_caller", [True, False])
def test_a_thread_that_throws_ends_the_job_and_nothing_else(in_caller):
    ends = []
    for _ in range(40):
        try:
            run_chunks(200, 4, lambda chunk, worker: (worker == 0) is in_caller)
            ends.append("done")  # the other threads were quicker
        except Stop:
            ends.append("thrown")
        assert_pool_works()
    assert "thrown" in ends


def test_no_chunk_begins_after_one_has_thrown():
    for _ in range(20):
        begun = []

        def run(chunk, worker, begun=begun):
            begun.append(chunk)
            raise Stop

        with pytest.raises(Stop):
            _kernel.for_each_chunk(100_000, 4, run)
        assert len(begun) <= 4


def test_jobs_inside_a_job_throw_to_its_chunk():
    caught = []

    def outer(chunk, worker):
        with pytest.raises(Stop):
            run_chunks(50, 4, lambda inner, worker: inner == 25)
        caught.append(chunk)
        if chunk == 30:
            raise Stop("outer")

    with pytest.raises(Stop, match="outer"):
        _kernel.for_each_chunk(31, 1, outer)
    assert caught == list(range(31))
    for _ in range(20):
        with pytest.raises(Stop):
            _kernel.for_each_chunk(31, 4, outer)
        assert_pool_works()


def test_callers_whose_chunks_throw_at_once():
    def call(seed):
        if seed % 2:
            with pytest.raises(Stop):
                run_chunks(100, 3, lambda chunk, worker: chunk == seed)
            return True
        return sorted(run_chunks(100, 3)) == list(range(100))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(64)))
    assert_pool_works()


# AddressSanitizer reserves terabytes of addresses and ends the process where operator new would throw.
real_allocator = pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="needs the real allocator")


@real_allocator
def test_a_thread_that_cannot_be_started_is_done_without():
    code = """
import resource, sys
import numpy as np
import arboretum as arb
from arboretum import _kernel

X = np.random.default_rng(0).normal(size=(20_000, 20))
expected = arb.BoostedTreesRegressor(n_estimators=3, n_jobs=1).fit(X, X[:, 0]).fingerprint()
room = np.ones(8 * 2**20)  # 64 MB that threads cannot take: for the fit
pages = int(open("/proc/self/statm").read().split()[0])
soft, hard = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 48 * 2**20, hard))  # 64 threads need 512 MB
workers = set()
for _ in range(50):
    _kernel.for_each_chunk(100, 64, lambda chunk, worker: workers.add(worker))
assert len(workers) < 8, workers
del room
assert arb.BoostedTreesRegressor(n_estimators=3, n_jobs=64).fit(X, X[:, 0]).fingerprint() == expected
"""
    # One arena: that of a thread reserves 64 MB of addresses, and would take the room of the fit.
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    done = subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


@real_allocator
def test_memory_that_cannot_be_had_is_a_memory_error():
    """In a process of its own: libraries that are loaded beside may translate the exception before us."""
    program = """
from arboretum import _kernel
try:
    _kernel.subsample_rows(2**59, 1.0, 0, 2)
except MemoryError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("not enough memory: use fewer rows")
