"""Fits of every estimator whose fingerprints are pinned: what is rearranged must not change a bit of a model.

    python -m tests.compat.pinned > tests/compat/pinned.json      where a model changes on purpose

The data come from integer arithmetic, so that they are the same with every version of NumPy.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np

import arboretum as arb

N_ROWS = 240


def draw(seed: int, n_values: int, n: int = N_ROWS) -> np.ndarray:
    """Return whole numbers below ``n_values``: multiplication and mixing of a counter."""
    x = (np.arange(n, dtype=np.uint64) + np.uint64(seed << 20)) * np.uint64(2654435761) % np.uint64(1 << 32)
    x = (x ^ (x >> np.uint64(15))) * np.uint64(2246822519) % np.uint64(1 << 32)
    return ((x ^ (x >> np.uint64(13))) % np.uint64(n_values)).astype(np.int64)


def _table() -> np.ndarray:
    price, size = draw(1, 4096) / 64, draw(2, 512) / 8 - 20
    size[draw(3, 10) == 0] = np.nan
    town = np.array(["Bern", "Chur", "Genf", "Oslo", "Rome", "Wien", None], dtype=object)[draw(4, 7)]
    columns = [price.astype(object), size.astype(object), draw(5, 7).astype(object), town, draw(6, 2).astype(bool)]
    return np.column_stack(columns)


TABLE = _table()
NUMBERS = np.column_stack([draw(1, 4096) / 64, draw(2, 512) / 8 - 20, draw(5, 7), draw(7, 1024) / 32])
SCORE = NUMBERS[:, 0] / 8 + NUMBERS[:, 1] / 4 - NUMBERS[:, 2] + 4 * (TABLE[:, 3] == "Genf") + draw(8, 64) / 16
BINARY, LEVEL = SCORE > 2, np.digitize(SCORE, [-1.0, 4.0])
LABELS = np.array(["low", "mid", "top"])[LEVEL]
COPIES, SHARES = draw(9, 4), (1 + draw(10, 63)) / 64
OFFSET = draw(11, 32) / 32
ARM = draw(12, 2)
TIMES = np.column_stack([1 + SCORE - SCORE.min(), draw(13, 4) > 0])

CLASSES: dict[str, Any] = {"X": TABLE, "y": LABELS}
TWO: dict[str, Any] = {"X": TABLE, "y": BINARY}
NUMBER: dict[str, Any] = {"X": TABLE, "y": SCORE}
COUNT: dict[str, Any] = {"X": TABLE, "y": np.maximum(np.rint(SCORE), 0)}
OUTPUTS: dict[str, Any] = {"X": NUMBERS, "y": np.column_stack([SCORE, -SCORE / 2])}
RANKED: dict[str, Any] = {"X": TABLE, "y": LEVEL, "group": np.arange(N_ROWS) // 8}
SURVIVAL: dict[str, Any] = {"X": TABLE, "y": TIMES}
EFFECT: dict[str, Any] = {"X": TABLE, "y": BINARY, "treatment": ARM}
ARMS: dict[str, Any] = {"X": TABLE, "y": BINARY, "treatment": draw(14, 3)}
ROWS: dict[str, Any] = {"X": TABLE}


def weighted(rows: dict[str, Any], weight: np.ndarray) -> dict[str, Any]:
    """Return the rows with weights."""
    return {**rows, "sample_weight": weight}


QUERY_SHARES = np.repeat(SHARES[::8], 8)
BOOSTED: list[dict[str, Any]] = [
    {"growth": "symmetric", "max_depth": 4},
    {"growth": "level", "max_bins": None, "l1": 0.1, "min_gain": 0.01},
    {"sampling": "goss", "category_levels": 2, "category_combinations": 2},
    {"leaf_steps": 3, "trees_per_round": 2, "subsample": 0.7, "max_features": 0.5},
    {"dart_rate": 0.3, "prune": True, "random_state": 3},
    {"early_stopping": True, "refit": True, "n_iter_no_change": 2, "unknown": "missing"},
]
FORESTS: list[dict[str, Any]] = [
    {"max_depth": 4, "min_samples_leaf": 4},
    {"max_features": 1.0, "max_bins": 16},
    {"oblique": True},
    {"random_state": 5, "max_leaf_nodes": 9},
]

Fit = tuple[str, dict[str, Any], dict[str, Any]]
"""Name of an estimator, its parameters, arguments of ``fit``."""


def _takes(name: str, params: dict[str, Any]) -> bool:
    return set(params) <= set(getattr(arb, name)().get_params(deep=False))


def _boosted(name: str, rows: dict[str, Any], *more: Fit) -> list[Fit]:
    weight = QUERY_SHARES if "group" in rows else SHARES
    few = {"n_estimators": 5, "early_stopping": False}
    return [
        (name, few, rows),
        (name, few, weighted(rows, weight)),
        *((name, {**few, **params}, rows) for params in BOOSTED),
        *((name, {**few, **params}, given) for name, params, given in more),
    ]


def _forest(name: str, rows: dict[str, Any], *more: Fit) -> list[Fit]:
    few = {"n_estimators": 4}
    return [
        (name, few, rows),
        (name, few, weighted(rows, COPIES)),
        (name, few, weighted(rows, SHARES)),
        *((name, {**few, **params}, rows) for params in FORESTS if _takes(name, params)),
        *((name, {**few, **params}, given) for name, params, given in more),
    ]


def _around(name: str, rows: dict[str, Any], many: str, *options: dict[str, Any]) -> list[Fit]:
    """Members of ours by default, weighted rows, and other options."""
    few: dict[str, Any] = {many: 3}
    return [
        (name, few, rows),
        (name, few, weighted(rows, COPIES)),
        (name, few, weighted(rows, SHARES)),
        *((name, {**few, **params}, rows) for params in options),
    ]


def _members(kind: str) -> list[tuple[str, Any]]:
    return [
        ("tree", getattr(arb, f"DecisionTree{kind}")(max_depth=3)),
        ("boosted", getattr(arb, f"BoostedTrees{kind}")(n_estimators=3)),
        ("forest", getattr(arb, f"RandomForest{kind}")(n_estimators=3)),
    ]


def _combined(name: str, *options: dict[str, Any]) -> list[Fit]:
    """Members of three kinds, weighted rows, and other options."""
    kinds = (("Classifier", CLASSES), ("Regressor", NUMBER))
    return [
        (f"{name}{kind}", {"estimators": _members(kind), **params}, given)
        for kind, rows in kinds
        for params, given in (
            *((params, rows) for params in options),
            (options[0], weighted(rows, COPIES)),
            (options[0], weighted(rows, SHARES)),
        )
    ]


def fits() -> list[Fit]:
    """Return all of them."""
    small, forest = arb.BoostedTreesRegressor(n_estimators=3), arb.RandomForestRegressor(n_estimators=3)
    chooser, grove = arb.BoostedTreesClassifier(n_estimators=3), arb.RandomForestClassifier(n_estimators=3)
    tree = {"max_depth": 2}
    rankers = [(loss, arb.BoostedTreesRanker(n_estimators=3, loss=loss)) for loss in ("yetirank", "listwise")]
    hazards, leaves = arb.BoostedTreesSurvival(n_estimators=3), arb.RandomSurvivalForest(n_estimators=3)
    survivals = [("boosted", hazards), ("forest", leaves)]
    return [
        *_boosted(
            "BoostedTreesClassifier",
            TWO,
            ("BoostedTreesClassifier", {}, CLASSES),
            ("BoostedTreesClassifier", {"vector_leaves": True}, CLASSES),
            ("BoostedTreesClassifier", {"loss": "ordinal"}, {"X": TABLE, "y": LEVEL}),
            ("BoostedTreesClassifier", {"class_weight": "balanced"}, TWO),
            ("BoostedTreesClassifier", {"monotonic_cst": [1, 0, 0, 0]}, {"X": NUMBERS, "y": BINARY}),
            ("BoostedTreesClassifier", {"max_delta_step": 0.5}, {**TWO, "offset": OFFSET}),
        ),
        *_boosted(
            "BoostedTreesRegressor",
            NUMBER,
            *(
                ("BoostedTreesRegressor", {"loss": loss}, COUNT)
                for loss in ("absolute_error", "huber", "poisson", "tweedie", "quantile")
            ),
            ("BoostedTreesRegressor", {"loss": "quantile", "quantile": [0.1, 0.5, 0.9]}, NUMBER),
            ("BoostedTreesRegressor", {"leaf_model": "linear"}, {"X": NUMBERS, "y": SCORE}),
            ("BoostedTreesRegressor", {"ordered_boosting": 2}, NUMBER),
            ("BoostedTreesRegressor", {"second_order": False}, NUMBER),
            ("BoostedTreesRegressor", {}, OUTPUTS),
            ("BoostedTreesRegressor", {"interaction_cst": [[0, 1], [2, 3]]}, {"X": NUMBERS, "y": SCORE}),
        ),
        *_boosted(
            "BoostedTreesRanker",
            RANKED,
            ("BoostedTreesRanker", {"loss": "pairwise"}, RANKED),
            ("BoostedTreesRanker", {"loss": "listwise"}, RANKED),
        ),
        *_boosted(
            "BoostedTreesSurvival",
            SURVIVAL,
            ("BoostedTreesSurvival", {"loss": "aft"}, SURVIVAL),
            ("BoostedTreesSurvival", {"loss": "aft", "aft_distribution": "logistic"}, SURVIVAL),
        ),
        *_forest("RandomForestClassifier", CLASSES, ("RandomForestClassifier", {"criterion": "entropy"}, CLASSES)),
        *_forest(
            "RandomForestRegressor",
            NUMBER,
            ("RandomForestRegressor", {"criterion": "absolute_error"}, NUMBER),
            ("RandomForestRegressor", {"criterion": "poisson"}, COUNT),
            ("RandomForestRegressor", {}, OUTPUTS),
        ),
        *_forest("ExtraTreesClassifier", CLASSES, ("ExtraTreesClassifier", {"bootstrap": True}, CLASSES)),
        *_forest("ExtraTreesRegressor", NUMBER),
        *_forest("RandomSurvivalForest", SURVIVAL),
        *_forest("UpliftForest", EFFECT, ("UpliftForest", {"honest": True}, EFFECT), ("UpliftForest", {}, ARMS)),
        *(
            ("UpliftBoostedTrees", {"n_estimators": 4, "min_samples_leaf": 5, **params}, rows)
            for params, rows in (
                ({}, EFFECT),
                ({}, ARMS),
                ({"propensity": "model"}, EFFECT),
                ({"growth": "symmetric", "max_depth": 3}, EFFECT),
                ({"early_stopping": True}, EFFECT),
                ({}, weighted(EFFECT, SHARES)),
            )
        ),
        *(
            ("IsolationForest", {"n_estimators": 5, **params}, rows)
            for params, rows in (
                ({}, ROWS),
                ({"extension": "full"}, ROWS),
                ({"max_samples": 0.5, "contamination": 0.1}, ROWS),
                ({"bootstrap": True, "max_features": 0.5}, ROWS),
                ({}, weighted(ROWS, COPIES)),
                ({}, weighted(ROWS, SHARES)),
            )
        ),
        *(
            (f"DecisionTree{kind}", params, rows)
            for kind, rows in (("Classifier", CLASSES), ("Regressor", NUMBER))
            for params in ({}, tree, {"ccp_alpha": 0.02}, {"max_leaf_nodes": 6}, {"pruning": "reduced_error"})
        ),
        (
            "DecisionTreeClassifier",
            {"method": "id3", "categorical_features": [0, 1, 2]},
            {"X": TABLE[:, 2:], "y": LABELS},
        ),
        ("DecisionTreeClassifier", {"method": "c45"}, CLASSES),
        ("DecisionTreeClassifier", {}, weighted(CLASSES, SHARES)),
        ("DecisionTreeRegressor", {}, weighted(NUMBER, COPIES)),
        *_around(
            "AdaBoostClassifier",
            CLASSES,
            "n_estimators",
            {"learning_rate": 0.5},
            {"max_bins": None},
            {"estimator": arb.DecisionTreeClassifier(max_depth=2)},
        ),
        *_around(
            "AdaBoostRegressor",
            NUMBER,
            "n_estimators",
            {"loss": "square"},
            {"loss": "exponential"},
            {"estimator": arb.DecisionTreeRegressor(max_depth=2)},
        ),
        *_around(
            "BaggingClassifier",
            CLASSES,
            "n_estimators",
            {"estimator": chooser},
            {"bootstrap": False, "max_samples": 0.5},
            {"max_features": 0.5},
        ),
        *_around(
            "BaggingRegressor",
            NUMBER,
            "n_estimators",
            {"estimator": small},
            {"bootstrap": False, "max_samples": 0.5},
            {"max_features": 0.5},
        ),
        *_around(
            "AdditiveBoostingClassifier",
            TWO,
            "n_estimators",
            {"subsample": 0.7},
            {"selection": "cycle"},
            {"early_stopping": True},
        ),
        *_around(
            "AdditiveBoostingRegressor",
            NUMBER,
            "n_estimators",
            {"subsample": 0.7},
            {"loss": "huber"},
            {"early_stopping": True},
        ),
        *_around(
            "CalibratedClassifier",
            CLASSES,
            "n_folds",
            {"estimator": chooser},
            {"estimator": chooser, "method": "platt"},
            {"estimator": grove, "calibration": "oob"},
        ),
        *_around(
            "ConformalRegressor",
            NUMBER,
            "n_folds",
            {"estimator": small},
            {"estimator": forest, "calibration": "oob"},
            {"estimator": small, "calibration": "split"},
        ),
        *_around(
            "CheckpointAverage",
            NUMBER,
            "n_snapshots",
            {"estimator": small, "every": 2},
            {"estimator": forest, "random_state": 3},
        ),
        ("CheckpointAverage", {"estimator": chooser}, CLASSES),
        ("BoostedTreesRegressor", {"n_estimators": 8, "average_rounds": 3}, NUMBER),
        (
            "BoostedTreesClassifier",
            {"n_estimators": 8, "average_rounds": arb.AverageRounds(every=2, decay=0.5)},
            CLASSES,
        ),
        ("BoostedTreesSurvival", {"n_estimators": 8, "average_rounds": 5}, SURVIVAL),
        *_combined("Voting", {}, {"weights": [1, 2, 4]}, {"weights": [0, 1, 1]}, {"random_state": 3}),
        *_combined("Stacking", {"cv": 3}, {"cv": 2, "refit": False}, {"cv": 3, "time_ordered": True}, {"n_repeats": 2}),
        *_combined("Blending", {}, {"cv": 0.4}, {"refit": True}, {"time_ordered": True}),
        *(
            ("EnsembleSelection", {"estimators": members, "prefit": False, "n_steps": 5, **params}, rows)
            for members, rows, params in (
                (_members("Classifier"), CLASSES, {}),
                (_members("Classifier"), TWO, {"scoring": "roc_auc"}),
                (_members("Regressor"), NUMBER, {}),
                (_members("Regressor"), NUMBER, {"n_bags": 1, "n_best": 2}),
                (_members("Regressor"), weighted(NUMBER, SHARES), {"scoring": "mae"}),
                (_members("Regressor"), OUTPUTS, {"cv": 3}),
            )
        ),
        *(
            ("StackingRanker", {"estimators": rankers, **params}, rows)
            for params, rows in (
                ({"cv": 3}, RANKED),
                ({"cv": 2, "refit": False, "scoring": "map"}, RANKED),
                ({"cv": 3, "time_ordered": True}, RANKED),
                ({"n_repeats": 2}, RANKED),
                ({"scoring": "mrr", "random_state": 3}, RANKED),
                ({"scoring": "ndcg@3"}, weighted(RANKED, np.repeat(COPIES[::8], 8))),
            )
        ),
        *(
            ("StackingSurvival", {"estimators": survivals, **params}, rows)
            for params, rows in (
                ({"cv": 3}, SURVIVAL),
                ({"cv": 2, "refit": False}, SURVIVAL),
                ({"cv": 3, "time_ordered": True}, SURVIVAL),
                ({"n_repeats": 2}, weighted(SURVIVAL, SHARES)),
                ({"random_state": 3}, weighted(SURVIVAL, COPIES)),
                ({}, {**SURVIVAL, "groups": np.arange(N_ROWS) // 8}),
            )
        ),
    ]


def name_of(fit: Fit, place: int) -> str:
    """Return what a fit is called: the estimator, its options, and which of the same name it is."""
    name, params, rows = fit
    told = ", ".join(f"{key}={value}" for key, value in params.items())
    extra = ", ".join(sorted({"sample_weight", "offset"} & set(rows)))
    return f"{name}({told}){f' with {extra}' if extra else ''} #{place}"


def fingerprint(fit: Fit) -> str:
    """Fit, and return the fingerprint of the model."""
    name, params, rows = fit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return str(getattr(arb, name)(**params).fit(**rows).fingerprint())


if __name__ == "__main__":
    found = {name_of(fit, place): fingerprint(fit) for place, fit in enumerate(fits())}
    print(json.dumps(found, indent=1, ensure_ascii=False))
