"""Laws of forests, isolation forests and AdaBoost in several places: the model is that of one place, to the bit."""

from __future__ import annotations

import copy
import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cluster.test_fits_in_places import of
from tests.reference.in_places import in_places, parted

import arboretum as arb
from arboretum import places
from arboretum.data import shared_rows
from arboretum.ensembles.bagging import trees
from arboretum.growing.grower import grown_to_forest
from arboretum.places import Answers
from arboretum.running.progress import RoundReport, followed_by

RC, RR, EC, ER = (
    arb.RandomForestClassifier,
    arb.RandomForestRegressor,
    arb.ExtraTreesClassifier,
    arb.ExtraTreesRegressor,
)
IF, AC, AR = arb.IsolationForest, arb.AdaBoostClassifier, arb.AdaBoostRegressor
SMALL_BAGS = {"max_samples": 0.3, "n_estimators": 25}  # every row is out of some bag
FITS: dict[str, tuple[type[Any], Any, dict[str, Any], dict[str, Any]]] = {
    "numbers": (RR, "number", {}, {}),
    "two classes": (RC, "two", {}, {}),
    "three classes": (RC, "three", {"voting": "hard"}, {}),
    "several outputs": (RR, ["number", "count"], {}, {}),
    "several outputs of classes": (RC, ["two", "three"], {}, {}),
    "weights": (RR, "number", {}, {"sample_weight": "weight"}),
    "copies": (RC, "two", {}, {"sample_weight": "copies"}),
    "balanced": (RC, "three", {"class_weight": "balanced"}, {"sample_weight": "weight"}),
    "balanced bags": (RC, "two", {"class_weight": "balanced_subsample"}, {}),
    "all rows": (RC, "three", {"bootstrap": False}, {"sample_weight": "weight"}),
    "extra trees": (EC, "three", {}, {}),
    "extra trees of numbers": (ER, "number", {}, {"sample_weight": "copies"}),
    "out of bag": (RC, "two", {"oob_score": True, **SMALL_BAGS}, {"sample_weight": "weight"}),
    "out of bag by a scorer": (RR, "number", {"oob_score": "neg_mean_absolute_error", **SMALL_BAGS}, {}),
    "kept bags": (RR, "number", {"keep_bags": True}, {"sample_weight": "copies"}),
    "few leaves": (RC, "two", {"max_leaf_nodes": 9, "min_samples_leaf": 0.01}, {}),
    "monotone": (RR, "number", {"monotonic_cst": {"a": 1}}, {}),
    "absolute error": (RR, "number", {"criterion": "absolute_error", "max_depth": 5}, {}),
    "poisson": (RR, "count", {"criterion": "poisson"}, {}),
    "exact": (RR, "number", {"max_bins": None}, {}),
    "exact extra trees": (EC, "two", {"max_bins": None}, {}),
    "isolation": (IF, None, {}, {}),
    "isolation of weighted rows": (IF, None, {"contamination": 0.1}, {"sample_weight": "weight"}),
    "isolation of copies": (IF, None, {"contamination": 0.1, "max_samples": 0.5}, {"sample_weight": "copies"}),
    "isolation by hyperplanes": (IF, None, {"extension": 2, "bootstrap": True, "contamination": 0.05}, {}),
    "AdaBoost": (AC, "two", {}, {}),
    "AdaBoost of weighted rows": (AC, "two", {"learning_rate": 0.5}, {"sample_weight": "weight"}),
    "AdaBoost of three classes": (AC, "three", {}, {"sample_weight": "copies"}),
    "AdaBoost of drawn rows": (AC, "three", {"bootstrap": True}, {}),
    "AdaBoost of trees": (AC, "two", {"estimator": arb.DecisionTreeClassifier(max_depth=2, oblique=True)}, {}),
    "AdaBoost of numbers": (AR, "number", {}, {"sample_weight": "weight"}),
    "AdaBoost of numbers by weight": (AR, "number", {"bootstrap": False, "loss": "exponential"}, {}),
    "AdaBoost of trees of numbers": (AR, "number", {"estimator": arb.DecisionTreeRegressor(max_depth=3)}, {}),
    "uplift": (arb.UpliftForest, "two", {}, {"treatment": "copies"}),
    "honest uplift": (arb.UpliftForest, "count", {"honest": True, "criterion": "euclidean"}, {"treatment": "copies"}),
    "oblique": (RC, "two", {"oblique": True}, {"sample_weight": "weight"}),
}


def rows_of(fit: str) -> pd.DataFrame:
    """Return the columns of a fit, and one of many levels, some of which few places have."""
    _, target, _, arguments = FITS[fit]
    rows = of("", (*([target] if isinstance(target, str) else target or []), *arguments.values()))
    cities = np.random.default_rng(8).integers(0, 400, len(rows)) * np.arange(len(rows)) // len(rows)
    return rows.assign(city=np.char.add("city ", cities.astype(str)))


def fitted(rows: pd.DataFrame, fit: str) -> bytes:
    """Return the whole file of a model: out-of-bag predictions and bags are not in its fingerprint."""
    kind, target, parameters, arguments = FITS[fit]
    model = kind(**{"n_estimators": 7, **parameters})
    places.begin("read")
    if target is not None:
        arguments = {**arguments, "target": target}
    file = io.BytesIO()
    model.fit(arb.Dataset.from_frame(rows), **arguments).save(file)
    return file.getvalue()


@pytest.mark.parametrize("fit", FITS)
def test_the_model_is_that_of_one_place(fit: str) -> None:
    rows = rows_of(fit)
    alone = fitted(rows, fit)
    for n_places in (2, 5):
        parts = [rows[part] for part in parted(len(rows), n_places, seed=n_places)]
        assert set(in_places(lambda part: fitted(part, fit), parts)) == {alone}, n_places


@pytest.fixture
def trees_grown(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let batches be as small as they can be; return a list to which each call of the kernel adds its trees."""
    found: list[int] = []

    def freeze(grown: Any, *args: Any) -> Any:
        found.append(len(grown.sizes))
        return grown_to_forest(grown, *args)

    monkeypatch.setattr(trees, "SECONDS_A_BATCH", 0.0)
    monkeypatch.setattr(trees, "grown_to_forest", freeze)
    return found


def test_trees_are_dealt_out(trees_grown: list[int]) -> None:
    rows = rows_of("numbers")
    parts = [arb.Dataset.from_frame(rows[part]) for part in parted(len(rows), 3)]
    given = {"n_estimators": 8, "n_jobs": 2, "max_features": 0.5, "min_samples_leaf": 1}
    in_places(lambda part: arb.RandomForestRegressor(**given).fit(part, target="number"), parts)
    assert sorted(trees_grown) == [1, 1, 2, 2, 2]  # six at once, then the last two


@pytest.mark.parametrize("fit", ["numbers", "out of bag", "isolation of weighted rows", "AdaBoost of trees"])
def test_a_place_that_takes_the_place_of_a_lost_one_makes_the_same_model(fit: str) -> None:
    rows = rows_of(fit)
    parts = [rows[part] for part in parted(len(rows), 3)]
    known = [Answers() for _ in parts]
    once = in_places(lambda part: fitted(part, fit), parts, answers=known)
    known[1] = Answers(told=known[0].told)
    assert in_places(lambda part: fitted(part, fit), parts, attempt=1, answers=known) == once


def test_a_fit_goes_on_from_the_last_batch(trees_grown: list[int]) -> None:
    rows = rows_of("numbers")
    alone = fitted(rows, "numbers")
    parts = [rows[part] for part in parted(len(rows), 3)]

    def lost(part: pd.DataFrame) -> bytes:
        def lose(report: RoundReport) -> None:
            if report.number > 3:
                raise ValueError("a place is lost")

        with followed_by(lose):
            return fitted(part, "numbers")

    known = [Answers() for _ in parts]
    with pytest.raises(ValueError, match="a place is lost"):
        in_places(lost, parts, answers=known)
    told = max((answers.told for answers in known), key=lambda told: len(told["read"]))
    trees_grown.clear()
    known = [Answers(told=copy.deepcopy(told)) for _ in parts]
    assert set(in_places(lambda part: fitted(part, "numbers"), parts, attempt=1, answers=known)) == {alone}
    assert sum(trees_grown) < 7


def test_workers_without_room_for_all_codes_are_told_how_much_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_rows, "available_bytes", lambda: 30 * 10**6)
    rows = rows_of("numbers")
    parts = [rows[part] for part in parted(len(rows), 2)]
    message = (
        r"growing trees from the codes of all 1500 rows of \d+ columns takes 37MB at every worker, .* has 15MB: use"
    )
    with pytest.raises(MemoryError, match=message):
        in_places(lambda part: fitted(part, "numbers"), parts)
