"""Laws of fits in several places: the model is that of one place, to the bit, for any parting of the rows."""

from __future__ import annotations

import copy
import functools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.reference.in_places import in_places, parted

import arboretum as arb
from arboretum import places
from arboretum.cluster.program import MemoryJournal, Remembered, arranged, sorted_by_group
from arboretum.places import Answers
from arboretum.running.progress import RoundReport

N_ROWS = 1_500


@functools.cache
def frame(n_rows: int = N_ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=["a", "b", "c", "d"])
    X["ties"] = rng.integers(0, 7, n_rows)
    X["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, n_rows), "D")
    X["colour"] = rng.choice(["red", "green", "blue", None], n_rows, p=[0.5, 0.3, 0.15, 0.05])
    X["rare"] = np.where(np.arange(n_rows) == n_rows - 1, "once", rng.choice(list("pqr"), n_rows))
    town, street = rng.integers(0, 60, n_rows), (300 * rng.random(n_rows) ** 2).astype(int)  # rare ones too
    X["town"] = np.where(rng.random(n_rows) < 0.04, None, np.char.add("t", town.astype(str)))
    X["street"] = np.char.add("s", street.astype(str))
    X.loc[rng.random(n_rows) < 0.1, "b"] = np.nan
    X.loc[n_rows // 2 :, "d"] = np.where(rng.random(n_rows - n_rows // 2) < 0.2, np.nan, X["d"][n_rows // 2 :])
    raw = X["a"] + X["b"].fillna(0.5) * X["c"] + (X["colour"] == "red") + 0.3 * X["ties"] + np.sin(town)
    X["number"] = raw + rng.normal(size=n_rows)
    X["count"] = rng.poisson(np.exp(raw.clip(-2, 2) / 2))
    X["two"] = np.where(X["number"] > 1, "yes", "no")
    X["three"] = pd.cut(X["number"], [-np.inf, 0, 2, np.inf], labels=["low", "middle", "high"]).astype(str)
    X["weight"] = rng.choice([0.0, 0.5, 1.0, 3.0], n_rows)
    X["copies"] = rng.integers(0, 3, n_rows).astype(float)
    return X


TARGETS = ["number", "count", "two", "three", "weight", "copies"]


def of(target: str, extra: tuple[str, ...] = ()) -> pd.DataFrame:
    return frame().drop(columns=[name for name in TARGETS if name not in (target, *extra)])


R, C = arb.BoostedTreesRegressor, arb.BoostedTreesClassifier
FITS: dict[str, tuple[type[Any], str, dict[str, Any], dict[str, Any]]] = {
    "defaults": (R, "number", {}, {}),
    "two classes": (C, "two", {}, {}),
    "three classes": (C, "three", {"subsample": 0.6}, {}),
    "vector leaves": (C, "three", {"vector_leaves": True}, {}),
    "balanced": (C, "two", {"class_weight": "balanced"}, {}),
    "ordinal": (C, "ties", {"loss": "ordinal"}, {}),
    "weights": (R, "number", {}, {"sample_weight": "weight"}),
    "copies": (C, "two", {}, {"sample_weight": "copies"}),
    "absolute error": (R, "number", {"loss": "absolute_error"}, {}),
    "quantile": (R, "number", {"loss": "quantile", "quantile": 0.8}, {"sample_weight": "weight"}),
    "huber": (R, "number", {"loss": "huber"}, {}),
    "poisson": (R, "count", {"loss": "poisson"}, {}),
    "goss": (R, "number", {"sampling": "goss"}, {}),
    "bootstrap": (R, "number", {"sampling": "bootstrap"}, {}),
    "stratified": (C, "two", {"sampling": "stratified", "subsample": 0.5}, {}),
    "stratified numbers": (R, "number", {"sampling": "stratified", "subsample": 0.5}, {}),
    "bayesian": (R, "number", {"sampling": "bayesian"}, {}),
    "level": (R, "number", {"growth": "level", "max_depth": 4}, {}),
    "symmetric": (C, "two", {"growth": "symmetric", "max_depth": 4}, {}),
    "catboost": (C, "two", {"growth": "symmetric", "split_score": "cosine", "score_noise": 1.0}, {}),
    "columns": (R, "number", {"colsample_tree": 0.5, "max_features": 0.7}, {}),
    "constraints": (R, "number", {"monotonic_cst": {"a": 1}, "interaction_cst": [["a", "b"], ["c", "ties"]]}, {}),
    "pruned": (R, "number", {"prune": True, "min_gain": 0.5}, {}),
    "several trees": (R, "number", {"trees_per_round": 3, "subsample": 0.5}, {}),
    "first order": (C, "two", {"second_order": False}, {}),
    "all rows": (R, "number", {"early_stopping": False, "subsample": 1.0}, {}),
    "by a metric": (C, "two", {"scoring": "roc_auc"}, {}),
    "exact bins": (R, "number", {"max_bins": None}, {}),
    "averaged": (R, "number", {"average_rounds": 5}, {}),
    "offset": (R, "count", {"loss": "poisson"}, {"offset": "weight"}),
}


def fitted(rows: pd.DataFrame, fit: str, held: pd.DataFrame | None = None) -> str:
    kind, target, parameters, arguments = FITS[fit]
    model = kind(n_estimators=12, race=False, **parameters)  # one place alone would race
    places.begin("read")
    if held is not None:
        arguments = {**arguments, "X_val": arb.Dataset.from_frame(held)}
    model.fit(arb.Dataset.from_frame(rows), target=target, **arguments)
    assert "mean of" in " ".join(model.encoding_.schema.names)
    return str(model.fingerprint())


@pytest.mark.parametrize("fit", FITS)
def test_the_model_is_that_of_one_place(fit: str) -> None:
    _, target, _, arguments = FITS[fit]
    rows = of(target, tuple(arguments.values()))
    alone = fitted(rows, fit)
    for n_places in (2, 5):
        parts = [rows[part] for part in parted(len(rows), n_places, seed=n_places)]
        assert set(in_places(lambda part: fitted(part, fit), parts)) == {alone}, n_places


@pytest.mark.parametrize("fit", ["defaults", "weights"])
def test_validation_rows_lie_in_places_too(fit: str) -> None:
    rows = of("number", tuple(FITS[fit][3].values()))
    held, rows = rows[:400], rows[400:]
    alone = fitted(rows, fit, held)
    parts = [(rows[a], held[b]) for a, b in zip(parted(len(rows), 3), parted(400, 3, seed=4), strict=True)]
    assert set(in_places(lambda part: fitted(part[0], fit, part[1]), parts)) == {alone}


@pytest.mark.parametrize("lost", [0, 2])
def test_a_fit_that_begins_anew_gives_the_same_model(lost: int) -> None:
    rows = of("two")
    parts, known = [rows[part] for part in parted(len(rows), 3)], [Answers() for _ in range(3)]
    (alone,) = set(in_places(lambda part: fitted(part, "two classes"), parts, answers=known))
    known[lost] = Answers(told=known[1].told)
    assert set(in_places(lambda part: fitted(part, "two classes"), parts, attempt=1, answers=known)) == {alone}


def test_a_fit_that_lost_a_place_goes_on_from_its_last_round() -> None:
    rows = of("number")
    parts, known = list(enumerate(rows[part] for part in parted(len(rows), 3))), [Answers() for _ in range(3)]
    memories = [Remembered() for _ in range(3)]

    def program(part: tuple[int, pd.DataFrame], last: int = 99) -> str:
        def leave(report: RoundReport) -> None:
            if part[0] == 1 and report.number == last:
                raise ConnectionError("the worker is gone")

        model = R(n_estimators=12, refit=False, race=False, callbacks=[leave])
        places.begin("read")
        model.fit(arb.Dataset.from_frame(part[1]), target="number", checkpoint=MemoryJournal(memories[part[0]], None))
        return str(model.fingerprint())

    (expected,) = set(in_places(program, parts))
    memories = [Remembered() for _ in range(3)]
    with pytest.raises(ConnectionError):
        in_places(lambda part: program(part, last=5), parts, answers=known)
    best = max((0, 2), key=lambda own: memories[own].n_rounds)
    assert 4 <= memories[best].n_rounds < 12
    told = known[best].told
    known = [Answers(copy.deepcopy(told), {} if own == 1 else one.made) for own, one in enumerate(known)]
    memories = [copy.deepcopy(memories[best]) for _ in range(3)]
    assert set(in_places(program, parts, attempt=1, answers=known)) == {expected}


@pytest.mark.parametrize("parameters", [{}, {"metric": "map", "subsample": 0.5}, {"loss": "listwise"}], ids=str)
@pytest.mark.parametrize("arguments", [{}, {"sample_weight": "copies"}], ids=str)
def test_queries_are_not_parted(parameters: dict[str, Any], arguments: dict[str, str]) -> None:
    rows = of("count", tuple(arguments.values())).assign(query=lambda rows: rows["ties"] * 40 + rows["when"].dt.month)
    rows["query"] = "q" + (rows["query"] % 97).astype(str)

    def ranked(part: pd.DataFrame) -> str:
        model = arb.BoostedTreesRanker(n_estimators=8, **parameters)
        places.begin("read")
        dataset = sorted_by_group(arb.Dataset.from_frame(part), "query")
        return str(model.fit(dataset, target="count", group="query", **arguments).fingerprint())

    alone = ranked(rows)
    for n_places in (2, 5):
        parts = [rows[part] for part in parted(len(rows), n_places, seed=n_places)]
        assert set(in_places(ranked, parts)) == {alone}, n_places


@pytest.mark.parametrize(
    "parameters", [{"loss": "cox"}, {"loss": "aft"}, {"loss": "cox", "early_stopping": False}], ids=str
)
@pytest.mark.parametrize("arguments", [{}, {"sample_weight": "weight"}], ids=str)
def test_times_are_compared_with_those_of_all_places(parameters: dict[str, Any], arguments: dict[str, str]) -> None:
    rows = (
        of("count", tuple(arguments.values())).rename(columns={"count": "time"}).assign(died=lambda rows: rows["a"] > 0)
    )
    rows["time"] += 1.0

    def followed(part: pd.DataFrame) -> str:
        model = arb.BoostedTreesSurvival(n_estimators=8, **parameters)
        given = {"target": ["time", "died"], **arguments}
        places.begin("read")
        return str(model.fit(arranged(arb.Dataset.from_frame(part), model, given), **given).fingerprint())

    alone = followed(rows)
    for n_places in (2, 5):
        parts = [rows[part] for part in parted(len(rows), n_places, seed=n_places)]
        assert set(in_places(followed, parts)) == {alone}, n_places
