"""``python -m benchmarks calibration``: ways to calibrate probabilities, ours and scikit-learn's, over real tables."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import Row
from benchmarks.notebook import Notebook
from benchmarks.public_sets import chosen_sets
from benchmarks.ranking import ranks
from benchmarks.table import Column, Table

SETS = (
    *("adult", "bank", "german", "census", "phoneme", "covertype", "satimage", "optdigits", "dna"),
    *("pendigits", "ring", "twonorm"),
)
OURS, THEIRS = ("isotonic", "platt", "temperature"), ("isotonic", "sigmoid", "temperature")
MEASURES = {"brier": "Brier score", "log_loss": "log loss"}
Maker = Callable[[], Any]


def bases(threads: int) -> dict[str, Maker]:
    """Return what is calibrated."""
    import arboretum as arb

    classic: dict[str, Any] = {"n_estimators": 100, "max_features": "sqrt", "min_samples_leaf": 1, "prior_trees": 0.0}
    return {
        "boosted trees": lambda: arb.BoostedTreesClassifier(
            n_estimators=100, learning_rate=0.1, early_stopping=False, race=False, n_jobs=threads
        ),
        "forest": lambda: arb.RandomForestClassifier(**classic, n_jobs=threads),
        "AdaBoost": lambda: arb.AdaBoostClassifier(),
    }


def ways(base: Maker) -> dict[str, Any]:
    """Return the base by itself, and each way to calibrate it."""
    from sklearn.calibration import CalibratedClassifierCV

    import arboretum as arb

    found = {"as it comes": base()}
    for method in OURS:
        for calibration in ("cross", "ensemble"):
            found[f"{method}, {calibration}"] = arb.CalibratedClassifier(
                estimator=base(), method=method, calibration=calibration
            )
    for method in THEIRS:
        for ensemble in (False, True):
            name = f"scikit-learn, {method}, ensemble={ensemble}"
            found[name] = CalibratedClassifierCV(base(), method=method, ensemble=ensemble)
    return found


def scores(model: Any, X: Any, y: Any) -> Row:
    """Return the Brier score, summed over classes, and the log loss."""
    proba = np.clip(model.predict_proba(X), 1e-6, 1)
    proba /= proba.sum(axis=1, keepdims=True)
    hit = np.asarray(model.classes_)[None, :] == np.asarray(y)[:, None]
    return {"brier": float(((proba - hit) ** 2).sum(axis=1).mean()), "log_loss": float(-np.log(proba[hit]).mean())}


def add_options(command: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """Describe the options."""
    command.set_defaults(run=run)
    add = command.add_argument
    add("--data", type=Path, required=True, help="folder with real data sets")
    add("--sets", default=",".join(SETS), help="comma-separated; default: %(default)s")
    add("--rows", type=positive, default=3_000, help="most rows of a set")
    add("--folds", type=positive, default=2)


def measure(notebook: Notebook, name: str, real: Any, options: argparse.Namespace) -> None:
    """Note what is not yet noted about one set: text becomes codes, which all bases read."""
    from sklearn.model_selection import StratifiedKFold

    X, y = real.read(options.data, options.rows)
    for column in [column for column in X if X[column].dtype == object]:
        X[column] = X[column].astype("category").cat.codes
    X = np.nan_to_num(X.to_numpy(np.float64))
    folds = StratifiedKFold(options.folds, shuffle=True, random_state=0).split(X, y)
    for fold, (train, test) in enumerate(folds):
        for base, make in bases(options.threads).items():
            for way, model in ways(make).items():
                if not notebook.has(name, f"{base}: {way}", fold):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        row = scores(model.fit(X[train], y[train]), X[test], y[test])
                    notebook.add(name, f"{base}: {way}", fold, row)
        print(f"  {name}, fold {fold + 1}", file=sys.stderr, flush=True)


def table_of(notebook: Notebook, names: list[str], base: str, options: argparse.Namespace) -> Table:
    """Lay out the mean of each measure over sets, beside the uncalibrated base, and the mean rank of each way."""
    columns = [
        column
        for key, title in MEASURES.items()
        for column in (Column(key, f"{title} / base's"), Column(f"{key} rank", "mean rank"))
    ]
    table = Table(f"calibration-{base}", f"{base}, geometric mean over {len(names)} sets", columns, rows_are="")
    known = list(ways(bases(options.threads)[base]))
    for way in known:
        table.rows[way] = {}
    for key in MEASURES:
        by_set = []
        for name in names:
            rows = [notebook.of(name, f"{base}: {way}", options.folds) for way in known]
            by_set.append([np.mean([row[key] for row in of_way if isinstance(row, dict)]) for of_way in rows])
        losses = np.array(by_set)
        beside = np.exp(np.log(losses / losses[:, :1]).mean(axis=0))
        placed = np.mean([ranks(row.tolist(), 0.001) for row in losses], axis=0)
        for way, ratio, place in zip(known, beside.tolist(), placed.tolist(), strict=True):
            row = table.rows[way]
            assert isinstance(row, dict)
            row |= {key: ratio, f"{key} rank": place}
    return table


def run(options: argparse.Namespace) -> int:
    """Calibrate every base on every set that is found, and print what came out."""
    try:
        chosen = chosen_sets(options.sets.split(","))
        notebook = Notebook.open({"rows": options.rows, "folds": options.folds}, options.json)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    found = [name for name, real in chosen.items() if real.found(options.data) and real.kind != "regression"]
    for name in found:
        measure(notebook, name, chosen[name], options)
    for base in bases(options.threads) if found else ():
        table = table_of(notebook, found, base, options)
        print(table.markdown() if options.markdown else table.text(), end="\n\n")
    return 0
