"""Train on real data that comes with scikit-learn, and print a scored table."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import cross_val_score

import arboretum as arb

SETS = [
    ("breast cancer", load_breast_cancer, "roc_auc"),
    ("digits", load_digits, "accuracy"),
    ("wine", load_wine, "accuracy"),
    ("diabetes", load_diabetes, "r2"),
]


def models(scoring: str) -> dict[str, object]:
    """Give the models to compare for a task."""
    if scoring == "r2":
        return {
            "baseline": DummyRegressor(),
            "scikit-learn": HistGradientBoostingRegressor(),
            "arboretum": arb.BoostedTreesRegressor(),
        }
    return {
        "baseline": DummyClassifier(),
        "scikit-learn": HistGradientBoostingClassifier(),
        "arboretum": arb.BoostedTreesClassifier(),
    }


def main() -> None:
    """Score every model on every set, then save and load one."""
    print(f"{'data':14} {'rows':>5} {'columns':>7}  {'score':9} {'model':13} {'mean':>7} {'± std':>7} {'seconds':>8}")
    for name, load, scoring in SETS:
        X, y = load(return_X_y=True)
        for label, model in models(scoring).items():
            started = time.perf_counter()
            scores = cross_val_score(model, X, y, cv=5, scoring=scoring)
            seconds = time.perf_counter() - started
            facts = f"{name:14} {X.shape[0]:5} {X.shape[1]:7}  {scoring:9}"
            print(f"{facts} {label:13} {np.mean(scores):7.4f} {np.std(scores):7.4f} {seconds:8.2f}")

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = arb.BoostedTreesClassifier().fit(X, y)
    path = Path("breast_cancer.arb")
    model.save(path)
    same = arb.load(path).fingerprint() == model.fingerprint()
    print(f"\nwrote {path} ({path.stat().st_size / 1024:.0f} KB); loaded again, same fingerprint: {same}")
    print(f"fingerprint {model.fingerprint()[:16]}…  {model.forest_!r}")


if __name__ == "__main__":
    main()
