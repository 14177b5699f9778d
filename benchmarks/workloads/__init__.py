"""One file a workload, a function from a Bench to its tables; ``FAMILIES`` is the one registry."""

from __future__ import annotations

from benchmarks import rivals
from benchmarks.family import Family, Workload
from benchmarks.workloads import (
    adaboost,
    bundles,
    categorical,
    contention,
    custom_loss,
    dense,
    determinism,
    forests,
    fresh,
    gbm,
    heavy,
    memory,
    mixed,
    monotone,
    multiclass,
    predict,
    presets,
    sampling,
    scaling,
    small,
    wide,
)

BOOSTING: dict[str, Workload] = {
    "dense-leaves31": dense.leaves31,
    "dense-leaves255": dense.leaves255,
    "dense-symmetric6": dense.symmetric6,
    "wide": wide.run,
    "multiclass": multiclass.run,
    "small": small.run,
    "fresh": fresh.run,
    "heavy-tail": heavy.tail,
    "heavy-weight": heavy.weight,
    "predict-leaves31": predict.leaves31,
    "predict-symmetric6": predict.symmetric6,
    "memory": memory.run,
    "scaling": scaling.run,
    "contention": contention.run,
    "custom-loss": custom_loss.run,
    "sampling": sampling.run,
    "bundles": bundles.compressed,
    "bundles-dense": bundles.dense,
    "categorical": categorical.run,
}
FORESTS: dict[str, Workload] = {
    "forest": forests.forest,
    "forest-memory": forests.peak,
    "extra-trees": forests.extra_trees,
    "exact-tree": forests.exact_tree,
    "forest-regression": forests.regression,
    **{f"forest-mixed-{name}": workload for name, workload in mixed.WORKLOADS.items()},
}
MEMBERS: dict[str, Workload] = {
    "adaboost": adaboost.run,
    "gbm": gbm.run,
    **presets.WORKLOADS,
    "cardinality": presets.cardinality,
    "custom-loss": custom_loss.run,
    "sampling": sampling.run,
    "bundles": bundles.compressed,
    "monotone": monotone.run,
    "determinism": determinism.run,
}
FAMILIES = {
    "boosting": Family(
        "boosted trees",
        rivals.BOOSTING,
        BOOSTING,
        rows=dense.ROWS,
        count="rounds",
        settings=dense.SETTINGS,
        equal="learning rate 0.1, 255 bins, 20 rows a leaf, no L2",
    ),
    "forests": Family(
        "random forests, extra trees and single trees",
        rivals.FORESTS,
        FORESTS,
        rows=forests.ROWS,
        count="trees",
        settings=forests.SETTINGS,
        equal="unlimited trees on bootstraps, √p of p columns a node (p/3 for numbers), 1 row a leaf, 255 bins",
    ),
    "family": Family(
        "the boosting family: AdaBoost, presets of known systems, constraints, determinism",
        rivals.BOOSTING,
        MEMBERS,
        rows=adaboost.ROWS,
        count="rounds",
        settings=dense.SETTINGS,
        equal="settings as each table says",
    ),
}
