"""arboretum itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from benchmarks.rivals.base import EstimatorRival, Model, by_target, class_name, scikit_parameters
from benchmarks.task import Growth, Task


class Arboretum(EstimatorRival):
    """BoostedTreesClassifier and BoostedTreesRegressor; frames of strings are taken as they are."""

    name = "arboretum"
    module = "arboretum"
    growths: ClassVar[frozenset[Growth]] = frozenset({"leaf", "level", "symmetric"})

    def settings(self, task: Task) -> dict[str, Any]:
        wanted = task.settings
        leafwise = wanted.growth == "leaf"
        return {
            "n_estimators": wanted.rounds,
            "learning_rate": wanted.learning_rate,
            "growth": wanted.growth,
            "max_leaf_nodes": wanted.leaves if leafwise else None,
            "max_depth": None if leafwise else wanted.depth,
            "min_samples_leaf": wanted.min_rows,
            "l2": 0.0,
            "subsample": 1.0,
            "max_features": 1.0,
            "category_levels": None,
            "max_bins": wanted.bins,
            "early_stopping": False,
            "n_jobs": wanted.threads,
            "random_state": wanted.seed,
        }

    def class_name(self, task: Task) -> str:
        return by_target("BoostedTrees", task)

    def save(self, model: Model, path: Path) -> None:
        model.fitted.save(path)


class ArboretumForest(Arboretum):
    """RandomForest…, ExtraTrees… and DecisionTree…; frames of strings are taken as they are."""

    growths: ClassVar[frozenset[Growth]] = frozenset({"unlimited"})

    def class_name(self, task: Task) -> str:
        return class_name(task)

    def settings(self, task: Task) -> dict[str, Any]:
        return scikit_parameters(task) | {"max_bins": task.settings.bins, "n_jobs": task.settings.threads}


class ArboretumDefaults(Arboretum):
    """Boosted trees with nothing set but ``changes``, threads and seed."""

    def __init__(self, **changes: Any) -> None:
        self.changes = changes

    def settings(self, task: Task) -> dict[str, Any]:
        return {**self.changes, "n_jobs": task.settings.threads, "random_state": task.settings.seed}


def preset(system: str, **changes: Any) -> ArboretumDefaults:
    """Return the preset of a system, with changes."""
    import arboretum as arb

    return ArboretumDefaults(**{**arb.presets()[system], **changes})
