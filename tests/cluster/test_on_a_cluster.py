"""Fits on a cluster of processes: the model of one machine, and clear errors; nothing hangs."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import arboretum as arb
from arboretum.cluster import fitting

dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")
delayed = pytest.importorskip("dask.delayed").delayed

N_ROWS = 9_000
LONGEST = 60.0  # seconds, after which a test that waits has failed


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let several workers fit tables that tests can afford."""
    monkeypatch.setattr(fitting, "SMALL_ROWS", 100)
    monkeypatch.setattr(fitting, "LEAST_ROWS", 10)


@pytest.fixture(autouse=True)
def watchdog() -> Iterator[None]:
    """End a test that hangs."""
    main = threading.get_ident()
    timer = threading.Timer(LONGEST, lambda: signal.pthread_kill(main, signal.SIGABRT))
    timer.daemon = True
    timer.start()
    yield
    timer.cancel()


def frame(n_rows: int = N_ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=["a", "b", "c"])
    X["colour"] = rng.choice(["red", "green", "blue", None], n_rows)
    X["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, n_rows), "D")
    X.loc[rng.random(n_rows) < 0.1, "b"] = np.nan
    X["y"] = X["a"] + X["b"].fillna(1) * X["c"] + (X["colour"] == "red") + rng.normal(size=n_rows)
    return X


def regressor(**parameters: Any) -> arb.BoostedTreesRegressor:
    return arb.BoostedTreesRegressor(n_estimators=8, race=False, **parameters)  # one machine alone would race


def parts_of(rows: pd.DataFrame, sizes: list[int]) -> list[pd.DataFrame]:
    return [rows[end - size : end] for size, end in zip(sizes, np.cumsum(sizes).tolist(), strict=True)]


@pytest.fixture(scope="module")
def mark() -> str:
    rows = frame()
    return str(regressor().fit(rows.drop(columns="y"), rows["y"]).fingerprint())


@pytest.mark.parametrize("sizes", [[9000], [5000, 100, 3900], [0, 3000, 1, 2999, 3000], [450] * 20], ids=str)
def test_the_model_is_that_of_one_machine(client: Any, mark: str, sizes: list[int]) -> None:
    parts = parts_of(frame(), sizes)
    assert regressor().fit([delayed(part) for part in parts], target="y").fingerprint() == mark


def test_kinds_of_collections(client: Any, mark: str) -> None:
    rows = frame()
    ddf = dd.from_pandas(rows, npartitions=4, sort=False)
    model = regressor().fit(ddf.drop(columns="y"), ddf["y"])
    assert model.fingerprint() == mark
    lazy = model.predict(ddf.drop(columns="y"))
    assert isinstance(lazy, type(ddf["y"]))
    np.testing.assert_array_equal(lazy.compute().to_numpy(), model.predict(rows.drop(columns="y")))
    numbers = rows[["a", "b", "c"]].to_numpy()
    alone = regressor().fit(numbers, rows["y"].to_numpy())
    X, y = da.from_array(numbers, chunks=(2500, 2)), da.from_array(rows["y"].to_numpy(), chunks=2500)
    chunked = regressor().fit(X, y)
    assert chunked.fingerprint() == alone.fingerprint()
    np.testing.assert_array_equal(chunked.predict(X).compute(), alone.predict(numbers))


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (arb.BoostedTreesRanker, {"target": "ties", "group": "query"}),
        (arb.BoostedTreesSurvival, {"target": ["time", "died"]}),
    ],
)
def test_rows_that_are_compared_with_others(client: Any, kind: type[Any], arguments: dict[str, Any]) -> None:
    rng, rows = np.random.default_rng(5), frame().drop(columns="y")
    rows["query"] = rng.integers(0, 300, len(rows))
    rows["ties"] = np.round(rows["a"].clip(0, 3))
    rows["time"], rows["died"] = rng.exponential(size=len(rows)).round(2) + 0.01, rows["b"] > 0
    named = [name for value in arguments.values() for name in np.atleast_1d(value)]
    rows = rows[["a", "b", "c", "colour", *named]]
    alone = kind(n_estimators=5).fit(rows, **arguments)
    model = kind(n_estimators=5).fit(dd.from_pandas(rows, npartitions=5, sort=False), **arguments)
    assert model.fingerprint() == alone.fingerprint()


def test_probabilities_have_a_column_per_class(client: Any) -> None:
    rows = frame(600).assign(y=lambda rows: np.where(rows["y"] > 0, "yes", "no"))
    ddf = dd.from_pandas(rows, npartitions=3, sort=False)
    model = arb.BoostedTreesClassifier(n_estimators=3).fit(ddf, target="y")
    lazy = model.predict_proba(ddf)
    assert list(lazy.columns) == ["no", "yes"]
    np.testing.assert_array_equal(lazy.compute().to_numpy(), model.predict_proba(rows))
    np.testing.assert_array_equal(model.predict(ddf).compute().to_numpy(), model.predict(rows))


def test_validation_rows_weights_and_callbacks(client: Any) -> None:
    rows = frame().assign(w=lambda rows: (rows["a"] > 0) + 0.5)
    held, heard = rows[:900], []
    plain = rows.drop(columns=["y", "w"])
    arguments = {"X_val": held.drop(columns=["y", "w"]), "y_val": held["y"], "sample_weight_val": held["w"]}
    alone = regressor().fit(plain, rows["y"], rows["w"], **arguments)
    model = regressor(callbacks=[heard.append])
    model.fit(
        dd.from_pandas(rows, npartitions=5, sort=False),
        target="y",
        sample_weight="w",
        X_val=dd.from_pandas(held, npartitions=2, sort=False),
    )
    assert model.fingerprint() == alone.fingerprint()
    assert [report.number for report in heard] == list(range(1, 9))
    moved = [report.moved_bytes for report in heard]
    assert (np.diff(moved) > 8 * 100).all()  # a histogram of two columns, at least
    assert model.history_.validation_loss == alone.history_.validation_loss


def test_workers_forget_the_rows_of_a_fit(client: Any) -> None:
    def n_kept() -> int:
        import gc

        from arboretum.cluster.place import Place

        found = [one for one in gc.get_objects() if isinstance(one, Place)]
        return sum(len(one.answers.made) + len(one.answers.told) + (one.memory is not None) for one in found)

    regressor().fit(dd.from_pandas(frame(), npartitions=3, sort=False), target="y")
    deadline = time.monotonic() + 10  # the last word of a fit is not waited for
    while any(client.run(n_kept).values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert sum(client.run(n_kept).values()) == 0


def test_a_callback_ends_the_fit(client: Any) -> None:
    ddf = dd.from_pandas(frame(), npartitions=3, sort=False)
    model = regressor(callbacks=[lambda report: report.number == 3], early_stopping=False).fit(ddf, target="y")
    assert (model.n_iter_, model.history_.stopped_by) == (3, "callback")


def test_a_checkpoint_is_gone_on_from(client: Any, mark: str, tmp_path: Any) -> None:
    ddf = dd.from_pandas(frame(), npartitions=3, sort=False)
    kept = arb.Checkpoint(tmp_path / "run.arb", rounds=2)

    def fail(report: Any) -> None:
        if report.number == 5:
            raise ZeroDivisionError("in round 5")

    with pytest.raises(ZeroDivisionError, match="in round 5"):
        regressor(callbacks=[fail]).fit(ddf, target="y", checkpoint=kept)
    assert arb.load(kept.path).n_iter_ == 4
    rows = frame()
    assert regressor().fit(rows, target="y", checkpoint=kept.path).fingerprint() == mark  # on one machine
    assert regressor().fit(ddf, target="y", checkpoint=kept.path).fingerprint() == mark  # finished already
    with pytest.raises(ValueError, match="other targets"):
        regressor().fit(ddf.assign(y=1.0 - ddf["y"]), target="y", checkpoint=kept.path)


# ---- lost workers ----------------------------------------------------------------------------------------------------


def pids(client: Any) -> list[int]:
    return list(client.run(os.getpid).values())


@pytest.mark.parametrize("victims", [1, 2])
def test_lost_workers_cost_time_and_nothing_else(client: Any, mark: str, victims: int) -> None:
    client.wait_for_workers(3, timeout=30)
    ddf = dd.from_pandas(frame(), npartitions=6, sort=False)
    doomed = pids(client)[:victims]

    def kill(report: Any) -> None:
        if report.number == 4:
            while doomed:
                os.kill(doomed.pop(), signal.SIGKILL)

    heard: list[int] = []
    model = regressor(callbacks=[kill, lambda report: heard.append(report.number)])
    assert model.fit(ddf, target="y").fingerprint() == mark
    assert heard[:4] == [1, 2, 3, 4]
    assert heard[-1] == 8


def test_places_move_to_new_workers(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client.wait_for_workers(3, timeout=30)
    monkeypatch.setattr(fitting, "WORTH_MOVING", -float("inf"))  # whatever their pace
    ddf = dd.from_pandas(frame(), npartitions=3, sort=False)
    doomed, shared = pids(client)[:1], []

    def kill(report: Any) -> None:
        while doomed:
            os.kill(doomed.pop(), signal.SIGKILL)
        if report.number == 5:  # the lost place is somewhere else by now
            shared.append(len(fitting_workers(client)))
            client.wait_for_workers(3, timeout=30)
        if report.number == 25:
            shared.append(len(fitting_workers(client)))

    long = regressor(early_stopping=False).set_params(n_estimators=25)
    alone = long.fit(frame(), target="y").fingerprint()
    model = long.set_params(callbacks=[kill]).fit(ddf, target="y")
    assert model.fingerprint() == alone
    assert shared[0] in (2, 3)  # 3 where a new worker was there before the loss was noticed
    assert shared[1] == 3


def fitting_workers(client: Any) -> list[str]:
    """Return the workers on which places are fitting."""

    def is_fitting(dask_worker: Any) -> bool:
        threads = [getattr(actor, "thread", None) for actor in dask_worker.state.actors.values()]
        return any(thread is not None and thread.is_alive() for thread in threads)

    return [worker for worker, holds in client.run(is_fitting).items() if holds]


def test_a_place_that_is_lost_again_and_again_ends_the_fit(client: Any) -> None:
    client.wait_for_workers(3, timeout=30)
    rows = frame(3000)

    def die(part: pd.DataFrame) -> pd.DataFrame:
        from distributed import get_worker

        if get_worker().name is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        return part

    parts = [delayed(rows[:1500]), delayed(die)(rows[1500:])]
    with pytest.raises(RuntimeError, match=r"partitions 1 to 1 was lost 3 times"):
        regressor().fit(parts, target="y")
    client.wait_for_workers(3, timeout=30)


# ---- errors ----------------------------------------------------------------------------------------------------------


def failing() -> Callable[[Any], Any]:
    def fail(part: Any) -> Any:  # an inner function travels by value: workers cannot import this module
        raise OSError("no such object")

    return fail


CASES: dict[str, tuple[Callable[[list[Any]], Any], dict[str, Any], type[Exception], str]] = {
    "a partition that cannot be read": (
        lambda parts: [delayed(part) for part in parts[:2]] + [delayed(failing())(parts[2])],
        {"target": "y"},
        RuntimeError,
        "partition 2 could not be read: OSError: no such object",
    ),
    "a column of another type": (
        lambda parts: [delayed(parts[0]), delayed(parts[1].assign(a="text")), delayed(parts[2])],
        {"target": "y"},
        Exception,
        "'a'.*partition 1",
    ),
    "a column that is not there": (
        lambda parts: [delayed(parts[0]), delayed(parts[1].drop(columns="c")), delayed(parts[2])],
        {"target": "y"},
        Exception,
        "partition 1.*'c'|'c'.*partition 1",
    ),
    "a wrong name": (
        lambda parts: dd.from_pandas(parts[0], npartitions=2),
        {"target": "Y"},
        ValueError,
        "did you mean 'y'",
    ),
    "rows beside a collection": (
        lambda parts: dd.from_pandas(parts[0].drop(columns="y"), npartitions=2),
        {"y": np.zeros(3000)},
        TypeError,
        "X is a Dask collection, but y is a ndarray: name a column of X, as target=",
    ),
    "other partitions": (
        lambda parts: dd.from_pandas(parts[0].drop(columns="y"), npartitions=2),
        {"y": dd.from_pandas(frame(3000)["y"], npartitions=3)},
        ValueError,
        "X has 2 partitions, but y has 3",
    ),
    "a target that is not finite": (
        lambda parts: [delayed(part.assign(y=np.inf if i == 1 else part["y"])) for i, part in enumerate(parts)],
        {"target": "y"},
        ValueError,
        "y contains infinity",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_errors_name_what_is_wrong(client: Any, case: str) -> None:
    make, arguments, kind, message = CASES[case]
    begun = time.monotonic()
    with pytest.raises(kind, match=message):
        regressor().fit(make(parts_of(frame(), [3000, 3000, 3000])), **arguments)
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"dart_rate": 0.1}, "dart_rate=0.1 on a cluster"),
        ({"ordered_boosting": 2}, "ordered_boosting=2 on a cluster"),
        ({"leaf_model": "linear"}, "leaf_model='linear' on a cluster"),
        ({"sampling": "mvs"}, "sampling='mvs'"),
    ],
)
def test_what_cannot_be_distributed_says_so(client: Any, parameters: dict[str, Any], message: str) -> None:
    ddf = dd.from_pandas(frame(), npartitions=3, sort=False)
    with pytest.raises(ValueError, match=message):
        regressor(**parameters).fit(ddf, target="y")


def test_an_estimator_that_needs_all_rows_says_so(client: Any) -> None:
    with pytest.raises(TypeError, match="BaggingRegressor cannot be fitted on a cluster"):
        arb.BaggingRegressor().fit(dd.from_pandas(frame(300), npartitions=2), target="y")


def test_few_rows_are_fitted_by_one_worker(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "SMALL_ROWS", 50_000)
    rows = frame(600)
    with pytest.warns(UserWarning, match="one worker fits these 600 rows"):
        model = regressor().fit(dd.from_pandas(rows, npartitions=5, sort=False), target="y")
    assert model.fingerprint() == regressor().fit(rows, target="y").fingerprint()
