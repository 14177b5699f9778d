"""Forests, isolation forests and AdaBoost on a cluster of Dask: the model and the answers of one machine."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np
import pytest
from tests.cluster.test_fits_in_places import of

import arboretum as arb
from arboretum.cluster import fitting
from arboretum.running.progress import ProgressBar, RoundReport

dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let several workers fit tables that tests can afford."""
    monkeypatch.setattr(fitting, "SMALL_ROWS", 100)
    monkeypatch.setattr(fitting, "LEAST_ROWS", 10)


def check(client: Any, model: Any, target: Any, *methods: str, **arguments: str) -> None:
    """Compare a fit to a Dask frame, and the lazy answers of the model, with those of one machine."""
    rows = of("", (*([target] if isinstance(target, str) else target or []), *arguments.values()))
    if target is not None:
        arguments["target"] = target
    alone = type(model)(**model.get_params(deep=False)).fit(rows, **arguments)
    frame = dd.from_pandas(rows, npartitions=4)
    assert model.fit(frame, **arguments).fingerprint() == alone.fingerprint()
    for method in methods:
        lazy = getattr(model, method)(frame)
        found, expected = lazy.compute(), np.asarray(getattr(alone, method)(rows))
        assert np.array_equal(found.to_numpy(), expected), method
        dtypes = [lazy.dtype] if lazy.ndim == 1 else list(lazy.dtypes)
        assert {dtype.kind for dtype in dtypes} <= {found.to_numpy().dtype.kind, "O"}, method


def test_forests(client: Any) -> None:
    check(client, arb.RandomForestClassifier(n_estimators=10), "three", "predict", "predict_proba")
    check(client, arb.ExtraTreesRegressor(n_estimators=5), ["number", "count"], "predict")


def test_a_lost_worker_costs_time_and_nothing_else(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client.wait_for_workers(3, timeout=30)
    doomed = list(client.run(os.getpid).values())[:1]
    heard = []

    class Killing(ProgressBar):
        def __call__(self, report: RoundReport) -> None:
            heard.append(report.number)
            while doomed:
                os.kill(doomed.pop(), signal.SIGKILL)

    monkeypatch.setattr(fitting, "ProgressBar", Killing)
    check(client, arb.RandomForestRegressor(n_estimators=60, verbose=1), "number")
    assert heard[0] == 3
    assert heard[-1] == 60
    client.wait_for_workers(3, timeout=30)


def test_several_outputs_have_probabilities_of_their_own(client: Any) -> None:
    model = arb.RandomForestClassifier(n_estimators=3)
    check(client, model, ["two", "three"], "predict")
    with pytest.raises(TypeError, match="each of the 2 outputs has a table of its own"):
        model.predict_proba(dd.from_pandas(of(""), npartitions=2))


def test_uplift(client: Any) -> None:
    check(client, arb.UpliftForest(n_estimators=5), "two", "predict", treatment="copies")


def test_isolation_forests(client: Any) -> None:
    model = arb.IsolationForest(contamination=0.1)
    check(client, model, None, "predict", "score_samples", "decision_function", "path_lengths", sample_weight="weight")
    rows = np.random.default_rng(0).normal(size=(500, 3))
    chunked = da.from_array(rows, chunks=(200, 2))
    alone = arb.IsolationForest(random_state=3).fit(rows)
    model = arb.IsolationForest(random_state=3).fit(chunked)
    assert model.fingerprint() == alone.fingerprint()
    assert np.array_equal(model.score_samples(chunked).compute(), alone.score_samples(rows))
    arb.IsolationForest(random_state=None).fit(chunked)  # the seed is drawn at one place


def test_adaboost(client: Any) -> None:
    check(client, arb.AdaBoostClassifier(n_estimators=10), "two", "predict", "predict_proba", "decision_function")
    check(client, arb.AdaBoostRegressor(n_estimators=5), "number", "predict", sample_weight="weight")


def test_trees_take_the_place_of_earlier_members(client: Any) -> None:
    rows = of("two").drop(columns=["when", "colour", "rare"]).dropna()
    model = arb.AdaBoostClassifier(n_estimators=2, estimator=arb.BoostedTreesClassifier(n_estimators=2))
    model.fit(rows, target="two").set_params(estimator=None).fit(dd.from_pandas(rows, npartitions=2), target="two")
    assert model.forest_.n_trees == 2


def test_what_needs_one_machine_says_why() -> None:
    rows = dd.from_pandas(of("two"), npartitions=2)
    for model, reason in (
        (arb.RandomSurvivalForest(), "log-rank splits need the rows of all workers in the order of their times"),
        (arb.DecisionTreeClassifier(), "its fit needs the table of all rows"),
        (arb.AdaBoostClassifier(estimator=arb.BoostedTreesClassifier()), "needs the table of all rows; boost decision"),
    ):
        with pytest.raises(TypeError, match=f"cannot be fitted on a cluster: .*{reason}"):
            model.fit(rows, target="two")


def test_a_fitted_forest_is_not_grown_further(client: Any) -> None:
    rows = of("two")
    model = arb.RandomForestClassifier(n_estimators=2, warm_start=True).fit(rows, target="two")
    with pytest.raises(TypeError, match="warm_start=True adds to a fitted model"):
        model.set_params(n_estimators=4).fit(dd.from_pandas(rows, npartitions=2), target="two")
