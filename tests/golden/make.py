"""Write the golden files of the present format: small models, inputs, and what the models answer.

    python tests/golden/make.py                  all cases
    python tests/golden/make.py model-survival   some

A file is made once, when its format (``format2-name.arb``) or its kind of model (``model-name.arb``) is new, and kept
for ever: one that exists is never overwritten. Beside each stands a ``.json``::

    {"fingerprint": …,
     "named": true | false,                               a frame or an array
     "columns": {name: {"type": …, "values": […]}, …},    null = missing
     "exact": {method: answer, …},                        the same bits on every platform
     "close": {method: answer, …}}                        the last digits are those of the platform's exp
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

FOLDER = Path(__file__).parent
READ_COLUMN = {
    "number": lambda values: np.array(values, dtype=np.float64),
    "bool": lambda values: np.array(values, dtype=np.bool_),
    "text": lambda values: np.array(values, dtype=object),
    "datetime": lambda values: np.array(values, dtype="datetime64[us]"),
}


def read_input(case):
    """Build the table of a case."""
    columns = {name: READ_COLUMN[column["type"]](column["values"]) for name, column in case["columns"].items()}
    return pd.DataFrame(columns) if case["named"] else np.column_stack(list(columns.values()))


def holey(values, rng, share=0.1):
    """Write null over some of the values."""
    return [None if hole else value for value, hole in zip(values, rng.random(len(values)) < share, strict=True)]


def draw_columns(rng, n_rows):
    days = np.datetime64("2024-01-01", "us") + rng.integers(0, 366 * 86_400, n_rows) * np.timedelta64(1_000_000, "us")
    return {
        "town": {"type": "text", "values": holey(rng.choice(["Oslo", "Köln", "東京", ""], n_rows).tolist(), rng)},
        "size": {"type": "number", "values": holey(rng.normal(size=n_rows).tolist(), rng)},
        "day": {"type": "datetime", "values": holey(np.datetime_as_string(days, "us").tolist(), rng)},
        "code": {"type": "number", "values": holey((100.0 + rng.integers(0, 40, n_rows)).tolist(), rng)},
        "flag": {"type": "bool", "values": (rng.random(n_rows) < 0.5).tolist()},
    }


def target_of(frame, rng):
    size, code, month = frame["size"].fillna(0.3), frame["code"].fillna(0.0), frame["day"].dt.month.fillna(6)
    noise = 0.1 * rng.normal(size=len(frame))
    return size * frame["flag"] + (code % 3) + month / 6 + (frame["town"] == "Köln") + noise


def training_frame(rng):
    frame = read_input({"named": True, "columns": draw_columns(rng, 400)})
    return frame, target_of(frame, rng).to_numpy()


def at_thresholds(model, feature):
    """Values at which the model turns from left to right, and their neighbours."""
    forest = model.forest_
    thresholds = np.unique(forest.threshold[(forest.kind == 1) & (forest.feature == feature)])
    thresholds = thresholds[np.isfinite(thresholds)][:5]  # an infinite one parts missing values from all others
    return [*thresholds.tolist(), *np.nextafter(thresholds, np.inf).tolist(), 1e308, -1e308]


def input_frame(model, rng):
    """Rows as in training, and rows with unknown categories and with values at the thresholds."""
    columns = draw_columns(rng, 40)
    columns["town"]["values"][:3] = ["nowhere", "nowhere", None]
    columns["code"]["values"][1:5] = [7.5, 7.5, None, 1e6]
    edges = at_thresholds(model, list(columns).index("size"))
    columns["size"]["values"][-len(edges) :] = edges
    return {"named": True, "columns": columns}


def regressor(arb):
    rng = np.random.default_rng(1)
    X, y = training_frame(rng)
    params = {"n_estimators": 8, "learning_rate": 0.3, "max_leaf_nodes": 8, "categorical_features": ["code"]}
    model = arb.BoostedTreesRegressor(**params).fit(X, y)
    return model, input_frame(model, rng), ["predict", "apply"], []


def binary(arb):
    rng = np.random.default_rng(2)
    X, y = training_frame(rng)
    labels = np.where(y > np.median(y), "größer", "kleiner")
    params = {"n_estimators": 8, "max_leaf_nodes": 8, "unknown": "missing", "monotonic_cst": {"size": -1}}
    model = arb.BoostedTreesClassifier(**params).fit(X, labels, np.where(X["flag"], 2.0, 0.5))
    return model, input_frame(model, rng), ["predict", "predict_proba", "decision_function", "apply"], []


def multiclass(arb):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X[:, 0] * X[:, 1], nan=0.7) + 0.5 * np.nan_to_num(X[:, 2], nan=1.0)
    labels = np.array([-10, 20, 70])[np.digitize(signal, [-0.3, 0.3])]
    params = {"n_estimators": 5, "learning_rate": 0.3, "growth": "symmetric", "max_depth": 3, "early_stopping": True}
    model = arb.BoostedTreesClassifier(**params).fit(X, labels)
    values = rng.normal(size=(3, 40)).tolist()
    edges = at_thresholds(model, 0)
    values[0][-len(edges) :] = edges
    columns = {f"x{j}": {"type": "number", "values": holey(column, rng)} for j, column in enumerate(values)}
    return model, {"named": False, "columns": columns}, ["predict", "decision_function", "apply"], ["predict_proba"]


def of_frame(build, exact, close=(), seed=4):
    """Return a case: a model of the frame; ``build`` gets the library, the frame, the target and the generator."""

    def case(arb):
        rng = np.random.default_rng(seed)
        X, y = training_frame(rng)
        return build(arb, X, y, rng), {"named": True, "columns": draw_columns(rng, 40)}, list(exact), list(close)

    return case


def linear(arb):
    """Slopes in the leaves."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] * X[:, 1]
    X[rng.random(X.shape) < 0.1] = np.nan
    model = arb.BoostedTreesRegressor(n_estimators=4, leaf_model="linear", max_leaf_nodes=4).fit(X, y)
    values = rng.normal(size=(3, 40)).tolist()
    columns = {f"x{j}": {"type": "number", "values": holey(column, rng)} for j, column in enumerate(values)}
    return model, {"named": False, "columns": columns}, ["predict", "apply"], []


def durations(y, rng):
    kinds = [("event", bool), ("time", float)]
    return np.array(list(zip(rng.random(len(y)) < 0.7, np.exp(-y / 2), strict=True)), dtype=kinds)


SMALL = {"n_estimators": 4, "max_leaf_nodes": 8, "random_state": 0}
FORMATS = {"regressor": regressor, "binary": binary, "multiclass": multiclass}
MODELS = {
    "linear": linear,
    "forest": of_frame(
        lambda arb, X, y, rng: arb.RandomForestClassifier(
            n_estimators=2, max_depth=5, categorical_features=["code"], random_state=0
        ).fit(X, np.digitize(y, [2, 3])),
        ["predict", "predict_proba", "apply"],
    ),
    "statistics": of_frame(
        lambda arb, X, y, rng: arb.BoostedTreesClassifier(**SMALL, category_levels=2).fit(X, y > 2),
        ["predict", "apply"],
    ),
    "vector": of_frame(
        lambda arb, X, y, rng: arb.BoostedTreesClassifier(**SMALL, vector_leaves=True).fit(X, np.digitize(y, [2, 3])),
        ["predict", "decision_function", "apply"],
    ),
    "oblique": of_frame(
        lambda arb, X, y, rng: arb.RandomForestRegressor(**SMALL, oblique=True).fit(X, y), ["predict", "apply"]
    ),
    "adaboost": of_frame(
        lambda arb, X, y, rng: arb.AdaBoostClassifier(n_estimators=4, random_state=0).fit(X, y > 2), ["predict"]
    ),
    "isolation": of_frame(
        lambda arb, X, y, rng: arb.IsolationForest(n_estimators=4, max_samples=32, random_state=0).fit(X),
        ["predict", "apply"],
        ["score_samples"],
    ),
    "ranker": of_frame(
        lambda arb, X, y, rng: arb.BoostedTreesRanker(**SMALL).fit(
            X, np.digitize(y, [2, 3]), group=np.repeat(np.arange(40), 10)
        ),
        ["predict", "apply"],
    ),
    "survival": of_frame(
        lambda arb, X, y, rng: arb.BoostedTreesSurvival(**SMALL).fit(X, durations(y, rng)),
        ["apply"],
        ["predict"],
    ),
    "hazards": of_frame(
        lambda arb, X, y, rng: arb.RandomSurvivalForest(n_estimators=2, max_depth=3, random_state=0).fit(
            X, durations(y, rng)
        ),
        ["apply"],
        ["predict"],
    ),
    "uplift": of_frame(
        lambda arb, X, y, rng: arb.UpliftForest(n_estimators=3, max_depth=3, random_state=0).fit(
            X, y > 2, treatment=rng.integers(0, 2, len(y))
        ),
        ["predict", "apply"],
    ),
    "effects": of_frame(
        lambda arb, X, y, rng: arb.UpliftBoostedTrees(n_estimators=4, random_state=0).fit(
            X, y > 2, treatment=rng.integers(0, 2, len(y))
        ),
        ["predict"],
    ),
}


def main(folder=FOLDER, names=()):
    import arboretum as arb
    from arboretum.model import FORMAT_VERSION

    cases = {f"format{FORMAT_VERSION}-{name}": build for name, build in FORMATS.items()}
    cases |= {f"model-{name}": build for name, build in MODELS.items()}
    files = {folder / f"{name}.arb": cases[name] for name in names or cases}
    for file in files:
        if file.exists():
            raise FileExistsError(f"{file} is there already: golden files are never remade")
    for file, build in files.items():
        model, inputs, exact, close = build(arb)
        X = read_input(inputs)
        answers = {
            kind: {method: getattr(model, method)(X).tolist() for method in methods}
            for kind, methods in (("exact", exact), ("close", close))
        }
        case = {"fingerprint": model.fingerprint(), **inputs, **answers}
        text = json.dumps(case, ensure_ascii=False, allow_nan=False)
        model.save(file)
        file.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(names=sys.argv[1:])
