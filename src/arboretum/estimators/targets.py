"""Targets and weights: checked once, with errors that name the row, the value and the cure."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

FloatArray: TypeAlias = NDArray[np.float64]


def as_column(y: Any, n_rows: int, name: str = "y") -> NDArray[Any]:
    """Return a target of any container as a 1-D array with a value for each row of X."""
    if y is None:
        raise ValueError(
            f"this estimator requires {name} to be passed, but the target {name} is None: give one value a row"
        )
    y = _to_numpy(y)
    if y.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has dtype {y.dtype}")
    column: NDArray[Any] = column_or_1d(y, warn=True)
    if len(column) != n_rows:
        raise ValueError(f"{name} has {len(column)} values, but X has {n_rows} rows: give one value a row")
    return column


def _to_numpy(y: Any) -> NDArray[Any]:
    if hasattr(y, "to_numpy"):
        return np.asarray(y.to_numpy())
    if hasattr(y, "toarray"):
        raise ValueError(f"y is sparse ({type(y).__name__}): a target must be dense; use y.toarray().ravel()")
    return np.asarray(y)


def regression_target(y: NDArray[Any], name: str = "y") -> FloatArray:
    """Return numbers as float64; anything that is no finite number is refused."""
    try:
        values = np.ascontiguousarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        bad = next((row for row, value in enumerate(y) if not _is_number(value)), 0)
        raise ValueError(
            f"Unknown label type: {name} has the value {y[bad]!r} in row {bad}, which is no number; "
            "use a classifier or convert it"
        ) from None
    _refuse_where(~np.isfinite(values), values, name)
    return values


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def find_classes(y: NDArray[Any]) -> tuple[NDArray[Any], FloatArray]:
    """Sorted classes and the code of each row, as float64."""
    refuse_missing_labels(y)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class, {classes[0]!r}: a classifier needs at least 2 classes; check how y was made"
        )
    return classes, codes.astype(np.float64)


def encode_classes(y: NDArray[Any], classes: NDArray[Any], name: str = "y_val") -> FloatArray:
    """Codes of labels under known classes; an unknown label is refused."""
    refuse_missing_labels(y, name)
    codes = np.searchsorted(classes, y)
    codes = np.minimum(codes, len(classes) - 1)
    unknown = np.asarray(classes[codes] != y)
    if unknown.any():
        row = int(np.argmax(unknown))
        raise ValueError(
            f"{name} has the label {y[row]!r} in row {row}, which the training labels do not have; "
            f"they are {list(classes[:10])}"
        )
    return codes.astype(np.float64)


def refuse_missing_labels(y: NDArray[Any], name: str = "y") -> None:
    """Refuse labels that are NaN, infinite or None."""
    if y.dtype.kind == "f":
        _refuse_where(~np.isfinite(y), y, name)
    elif y.dtype == object:
        missing = np.array([value is None or value != value for value in y], dtype=bool)
        if missing.any():
            row = int(np.argmax(missing))
            raise ValueError(f"{name} has a missing label ({y[row]!r}) in row {row}: remove such rows")


def _refuse_where(bad: NDArray[np.bool_], values: NDArray[Any], name: str) -> None:
    if not bad.any():
        return
    row, value = int(np.argmax(bad)), values[np.argmax(bad)]
    word = "NaN" if np.isnan(value) else "infinity"
    raise ValueError(
        f"Input {name} contains {word}: {value} in row {row} ({int(bad.sum())} such rows); remove or fill them"
    )


def row_weights(sample_weight: Any, n_rows: int, name: str = "sample_weight") -> FloatArray | None:
    """Return weights as float64, None if all are equal to 1."""
    if sample_weight is None:
        return None
    if np.isscalar(sample_weight):
        sample_weight = np.full(n_rows, sample_weight)
    weight = np.ascontiguousarray(_to_numpy(sample_weight), dtype=np.float64)
    if weight.ndim != 1:
        raise ValueError(f"{name} has shape {weight.shape}: Sample weights must be 1D array or scalar")
    if len(weight) != n_rows:
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}: "
            f"{name} has {len(weight)} values, but X has {n_rows} rows"
        )
    _refuse_where(~np.isfinite(weight), weight, name)
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise ValueError(f"{name} is negative in row {row} ({weight[row]}): weights must be 0 or more")
    if not weight.any():
        raise ValueError(f"{name} is zero in all rows: give at least one row some weight")
    return None if (weight == 1).all() else weight


def with_class_weight(
    weight: FloatArray | None, class_weight: Any, classes: NDArray[Any], codes: FloatArray
) -> FloatArray | None:
    """Multiply row weights by the weight of each row's class."""
    if class_weight is None:
        return weight
    positions = codes.astype(np.intp)
    if isinstance(class_weight, dict):
        unknown = [label for label in class_weight if label not in classes.tolist()]
        if unknown:
            raise ValueError(f"class_weight names {unknown[0]!r}, which y does not have; classes are {list(classes)}")
        per_class = np.array([class_weight.get(label, 1.0) for label in classes.tolist()], dtype=np.float64)
    elif class_weight == "balanced":
        if weight is None:
            per_class = compute_class_weight("balanced", classes=np.arange(len(classes)), y=positions)
        else:
            totals = np.bincount(positions, weight, len(classes))
            per_class = totals.sum() / (len(classes) * np.maximum(totals, np.finfo(float).tiny))
    else:
        raise ValueError(f"class_weight={class_weight!r}: use 'balanced', a dict or None")
    if (per_class < 0).any() or not np.isfinite(per_class).all():
        raise ValueError(f"class_weight={class_weight!r}: weights must be finite and 0 or more")
    result = per_class[positions] if weight is None else weight * per_class[positions]
    if not result.any():
        raise ValueError("class_weight leaves no row with weight")
    return np.ascontiguousarray(result)
