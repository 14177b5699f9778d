"""Members that are combined: boosted trees, a forest and extra trees, of arboretum or of scikit-learn."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.rivals import BOOSTING, FORESTS
from benchmarks.rivals.base import EstimatorRival
from benchmarks.task import Task
from benchmarks.workloads import forests

Member = tuple[str, Any]


def three_kinds(library: str, task: Task) -> list[Member]:
    """Return unfitted members of one library, of the same rounds, trees, leaves and columns per node."""
    columns = 1 / 3 if task.kind == "regression" else forests.SETTINGS.columns
    forest = task.with_settings(growth="unlimited", min_rows=1, columns=columns, bootstrap=True)
    extra = forest.with_settings(bootstrap=False, random_thresholds=True)
    kinds = {"boosted": (BOOSTING, task), "forest": (FORESTS, forest), "extra": (FORESTS, extra)}
    return [(name, unfitted(registry[library], sized)) for name, (registry, sized) in kinds.items()]


def unfitted(rival: Any, task: Task) -> Any:
    """Return the estimator of a library; scikit-learn's gets numbers in place of text."""
    assert isinstance(rival, EstimatorRival)
    model = getattr(import_module(rival.home(task)), rival.class_name(task))(**rival.settings(task))
    return with_codes(model, task, rival.most_categories) if rival.name == "sklearn" and task.categorical else model


def with_codes(model: Any, task: Task, most: int | None) -> Any:
    """Return a pipeline that encodes text as numbers, the rarest categories beyond ``most`` as one."""
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    encoder = OrdinalEncoder(
        max_categories=most, handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan
    )
    text = make_column_transformer(
        (encoder, list(task.categorical)), remainder="passthrough", verbose_feature_names_out=False
    )
    return make_pipeline(text.set_output(transform="pandas"), model)
