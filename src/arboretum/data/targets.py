"""Targets and weights: checked once, with errors that name the row, the value and the cure."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import places
from arboretum.arguments import first_true, shown
from arboretum.data.labels import side_by_side, typed_column
from arboretum.data.weights import are_copies, in_rows
from arboretum.exact_sums import weight_by_group
from arboretum.running.warning import warn_user

FloatArray: TypeAlias = NDArray[np.float64]

LARGEST_FLOAT = int(np.finfo(np.float64).max)

# Weights beyond it would overflow when summed over rows and multiplied by gradients.
LARGEST_WEIGHT = 1e30
LARGEST_OFFSET = 1e100  # as for targets


def as_column(y: Any, n_rows: int, name: str = "y", table: str = "X") -> NDArray[Any]:
    """Return a target of any container as a 1-D array with a value for each row of X."""
    if y is None:
        raise ValueError(
            f"this estimator requires {name} to be passed, but the target {name} is None: give one value per row"
        )
    column = _real(to_numpy(y, name), name)
    if column.ndim == 2 and column.shape[1] == 1:
        column = _flattened(column, name)
    if column.ndim != 1:
        raise ValueError(
            f"{name} should be a 1d array, got an array of shape {column.shape} instead: give one value per row"
        )
    if len(column) != n_rows:
        raise ValueError(f"{name} has {len(column)} values, but {table} has {n_rows} rows: give one value per row")
    return column


def as_columns(y: Any, n_rows: int, name: str = "y", table: str = "X") -> NDArray[Any]:
    """Return a target of one or several outputs as a 2-D array, (rows, outputs)."""
    given = None if y is None else to_numpy(y, name)
    if given is None or given.ndim != 2 or given.shape[1] == 1:
        return as_column(y, n_rows, name, table)[:, None]
    if len(given) != n_rows or not given.shape[1]:
        raise ValueError(f"{name} has shape {given.shape}, but {table} has {n_rows} rows: give one row of outputs each")
    return _real(given, name)


def _real(array: NDArray[Any], name: str) -> NDArray[Any]:
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has dtype {array.dtype}")
    return array


def as_outputs(y: Any, n_rows: int, name: str = "y", table: str = "X") -> NDArray[Any]:
    """Return a target as (rows,), or (rows, outputs) if it has several."""
    columns = as_columns(y, n_rows, name, table)
    return columns[:, 0] if columns.shape[1] == 1 else columns


def _flattened(y: NDArray[Any], name: str) -> NDArray[Any]:
    from sklearn.exceptions import DataConversionWarning

    warn_user(
        f"A column-vector {name} was passed when a 1d array was expected. "
        f"Please change the shape of {name} to (n_samples, ), for example using ravel().",
        DataConversionWarning,
    )
    return y.ravel()


def to_numpy(y: Any, name: str) -> NDArray[Any]:
    """Return a NumPy array of a list, array, series, data frame, Arrow array or Arrow table."""
    if hasattr(y, "toarray"):
        raise ValueError(f"{name} is sparse ({type(y).__name__}): it must be dense; use {name}.toarray().ravel()")
    if type(y).__module__.partition(".")[0] == "pyarrow":
        if hasattr(y, "column_names"):
            return side_by_side([to_numpy(column, name) for column in y.columns])
        return np.asarray(y.to_numpy(zero_copy_only=False) if hasattr(y, "buffers") else y.to_numpy())
    return np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)


def as_numbers(values: NDArray[Any], name: str, cure: str) -> FloatArray:
    """Return finite numbers as contiguous float64; anything else is an error that names its row."""
    if values.dtype.kind not in "biufO":
        raise ValueError(f"Unknown label type: {name} has dtype {values.dtype}, which is not numeric; {cure}")
    if values.dtype == object:
        for row, value in enumerate(values):
            if is_missing(value):
                raise ValueError(f"Input {name} contains NaN: {value!r} in row {row}; remove or fill such rows")
            if isinstance(value, str | bytes) or not _is_number(value):
                raise ValueError(
                    f"Unknown label type: {name} has the value {shown(value)} in row {row}, "
                    f"which is not a number; {cure}"
                )
            if isinstance(value, int) and abs(value) > LARGEST_FLOAT:
                raise ValueError(f"{name} has the value {shown(value)} in row {row}, too large for float64: scale it")
    numbers = np.require(values, np.float64, ["C", "A"])
    _refuse_where(~np.isfinite(numbers), numbers, name)
    return numbers


def is_missing(value: Any) -> bool:
    """Whether a label is None, NaN, NaT or pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA refuses to be a truth value
        return type(value).__name__ == "NAType"


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except OverflowError:  # an integer beyond float64
        return True
    except (TypeError, ValueError):
        return False
    return True


def regression_target(y: NDArray[Any], name: str = "y") -> FloatArray:
    """Return numbers as float64; anything but a finite number is an error."""
    return as_numbers(y, name, "use a classifier or convert it")


def grades(y: NDArray[Any], name: str = "y") -> FloatArray:
    """Return grades of relevance as float64; anything but a finite number is an error."""
    return as_numbers(y, name, "give grades, such as 0 to 4")


def query_numbers(group: Any, n_rows: int, name: str = "group", table: str = "X") -> NDArray[np.int64]:
    """Return the number of each row's query, in the order of their ids."""
    if group is None:
        raise ValueError(f"{name} is None: give the id of each row's query; rows are ranked within their query")
    ids = to_numpy(group, name)
    if ids.ndim != 1:
        raise ValueError(f"{name} has shape {ids.shape}: give one query id per row")
    if len(ids) != n_rows:
        sizes = ids.dtype.kind in "iu" and ids.sum() == n_rows
        hint = "; these look like sizes: use np.repeat(np.arange(len(sizes)), sizes)" if sizes else ""
        raise ValueError(f"{name} has {len(ids)} ids, but {table} has {n_rows} rows: give one query id per row{hint}")
    if (row := first_true(_missing(ids))) is not None:
        raise ValueError(f"{name} has a missing id ({ids[row]!r}) in row {row}: remove such rows or give them an id")
    try:
        return np.unique(ids, return_inverse=True)[1].astype(np.int64)
    except TypeError:
        raise ValueError(f"{name} has ids that cannot be compared: convert all of them to one type") from None


def regression_outputs(columns: NDArray[Any], name: str = "y", n_outputs: int | None = None) -> FloatArray:
    """Return numbers of several outputs, (rows, outputs); a missing one is NaN."""
    if columns.ndim != 2 or columns.shape[1] != (n_outputs or columns.shape[1]):
        raise ValueError(f"{name} has shape {columns.shape}: give {n_outputs} outputs per row, as y has")
    return np.column_stack([_numbers_or_nan(column, f"{name}[:, {k}]") for k, column in enumerate(columns.T)])


def _missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype == object:
        return np.array([is_missing(value) for value in column], dtype=bool)
    return np.asarray(column != column)


def _numbers_or_nan(column: NDArray[Any], name: str) -> FloatArray:
    missing = _missing(column)
    numbers = regression_target(np.where(missing, 0, column) if missing.any() else column, name)
    numbers = numbers.copy() if numbers is column else numbers
    numbers[missing] = np.nan
    return numbers


def without_unknown(weight: FloatArray | None, y: FloatArray) -> FloatArray | None:
    """Return row weights, 0 where no output of a row is known."""
    known = np.asarray(~np.isnan(y).all(axis=1))
    if places.everywhere(bool(known.all())):
        return weight
    return known.astype(np.float64) if weight is None else np.where(known, weight, 0.0)


class OrderedLabels(np.ndarray[Any, Any]):
    """Labels of a column that knows the order of its categories."""

    order: list[Any]


def ordered_labels(y: Any, column: NDArray[Any]) -> NDArray[Any]:
    """Return a column of labels; an ordered categorical of pandas or Arrow, or a polars Enum, knows its order."""
    order = _order_of(y)
    if order is None:
        return column
    labels = column.view(OrderedLabels)
    labels.order = order
    return labels


def _order_of(y: Any) -> list[Any] | None:
    dtype: Any = getattr(y, "dtype", None)
    if getattr(getattr(y, "type", None), "ordered", False):  # Arrow, in one piece or several
        return list((y.combine_chunks() if hasattr(y, "combine_chunks") else y).dictionary.to_pylist())
    if getattr(dtype, "ordered", False) or (type(dtype).__name__ == "Enum" and hasattr(dtype, "categories")):
        return list(dtype.categories)
    return None


def in_order(column: NDArray[Any], classes: NDArray[Any], codes: FloatArray) -> tuple[NDArray[Any], FloatArray]:
    """Return classes and codes in the order of the labels' categories; categories without rows are left out.

    Numbers have an order of their own. Text is put in alphabetical order, with a warning, because that is rarely meant.
    """
    if not isinstance(column, OrderedLabels):
        if len(classes) > 2 and isinstance(classes.tolist()[0], str):
            first = " < ".join(map(repr, classes.tolist()[:5])) + (" < …" if len(classes) > 5 else "")
            warn_user(
                f"loss='ordinal' takes text in alphabetical order, {first}: if that is not the order of the classes, "
                "give y as pandas.Categorical(y, categories=[…], ordered=True), a polars Enum, or numbers"
            )
        return classes, codes
    place = {label: i for i, label in enumerate(column.order)}
    order = np.array(sorted(range(len(classes)), key=lambda i: place[classes.tolist()[i]]), dtype=np.intp)
    rank = np.empty(len(order))
    rank[order] = np.arange(len(order))
    return np.asarray(classes[order]), rank[codes.astype(np.intp)]


def find_label_sets(columns: NDArray[Any]) -> tuple[list[NDArray[Any]], FloatArray]:
    """Two sorted classes of each output, and codes 0 and 1 as float64, (rows, outputs)."""
    found = [find_classes(typed_column(column), f"y[:, {output}]") for output, column in enumerate(columns.T)]
    for output, (classes, _) in enumerate(found):
        if len(classes) > 2:
            raise ValueError(
                f"y[:, {output}] has {len(classes)} classes, {classes.tolist()[:5]}: several outputs must have two "
                "each (multi-label); fit one model per output"
            )
    return [classes for classes, _ in found], np.column_stack([codes for _, codes in found])


def find_classes(y: NDArray[Any], name: str = "y") -> tuple[NDArray[Any], FloatArray]:
    """Sorted classes and the code of each row, as float64."""
    check_labels(y, name)
    own, codes = unique_labels(np.asarray(y))
    found = places.gathered(lambda: own)
    classes = own if len(found) == 1 else unique_labels(np.concatenate(found))[0]
    if len(found) > 1:
        code_of = {label: code for code, label in enumerate(classes.tolist())}
        codes = np.array([code_of[label] for label in own.tolist()], dtype=np.intp)[codes]
    if len(classes) < 2:
        raise ValueError(
            f"{name} has only one class, {classes.tolist()[0]!r}: a classifier needs at least 2 classes; "
            f"check how {name} was made"
        )
    n_rows = places.total(len(y))
    if y.dtype.kind == "f" and n_rows > 20 and len(classes) > max(2, n_rows / 2):
        warn_user(
            f"{name} has {len(classes)} classes in {n_rows} rows, and they are floats: it could be a regression "
            "target; use a regressor, or convert y to integers or text"
        )
    return classes, codes.astype(np.float64)


def unique_labels(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return sorted labels and the code of each row: np.unique, but texts are looked up, which is faster.

    Examples
    --------
    >>> unique_labels(np.array(["yes", "no", "yes"], dtype=object))
    (array(['no', 'yes'], dtype=object), array([1, 0, 1], dtype=int32))
    """
    if y.dtype != object or not all(type(label) is str for label in y):
        return np.unique(y, return_inverse=True)
    classes = sorted(set(y))
    code_of = {label: code for code, label in enumerate(classes)}
    return np.array(classes, dtype=object), np.fromiter(map(code_of.__getitem__, y), np.int32, len(y))


def check_labels(y: NDArray[Any], name: str = "y") -> None:
    """Reject labels that are missing, of several types, or of a type that a model file cannot keep."""
    refuse_missing(y, name)
    if y.dtype == object:
        kinds = {type(value) for value in y}
        if not all(issubclass(kind, str | bool | int | float | np.generic) for kind in kinds):
            bad = next(v for v in y if not isinstance(v, str | bool | int | float | np.generic))
            raise ValueError(
                f"{name} has the label {bad!r} of type {type(bad).__name__}: use text, numbers or booleans"
            )
        if len({issubclass(kind, str) for kind in kinds}) == 2:
            other = next(v for v in y if not isinstance(v, str))
            raise ValueError(f"{name} mixes text and other labels ({other!r}): convert all labels to one type")
    elif y.dtype.kind not in "biufU":
        raise ValueError(f"{name} has labels of dtype {y.dtype}: use text, numbers or booleans")
    elif y.dtype.kind == "f" and (row := first_true(y != np.trunc(y))) is not None:
        raise ValueError(
            f"Unknown label type: continuous. {name} has the value {y[row]} in row {row}, and a classifier expects "
            "discrete classes: use a regressor, or convert it to integers or text"
        )


def refuse_missing(y: NDArray[Any], name: str) -> None:
    """Reject labels that are None, NaN or infinite."""
    if y.dtype.kind == "f":
        _refuse_where(~np.isfinite(y), y, name)
    elif y.dtype == object and (row := first_true(_missing(y))) is not None:
        raise ValueError(f"{name} has a missing label ({y[row]!r}) in row {row}: remove such rows")


def read_groups(groups: Any, n_rows: int) -> NDArray[np.intp] | None:
    """Return the groups as numbers, in the order of their labels.

    Examples
    --------
    >>> read_groups(["b", "a", "b"], 3)
    array([1, 0, 1])
    """
    if groups is None:
        return None
    column = as_column(groups, n_rows, "groups")
    refuse_missing(column, "groups")
    try:
        return np.unique(column, return_inverse=True)[1].reshape(-1).astype(np.intp)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in column.tolist()})
        raise ValueError(f"groups has labels of types {', '.join(kinds)}: convert them to one type") from None


def encode_classes(y: NDArray[Any], classes: NDArray[Any], name: str = "y_val") -> FloatArray:
    """Codes of labels under known classes; an unknown label is an error."""
    refuse_missing(y, name)
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    found = [code_of.get(label, -1) for label in y.tolist()]
    if -1 in found:
        row = found.index(-1)
        raise ValueError(
            f"{name} has the label {y.tolist()[row]!r} in row {row}, which the training labels do not have; "
            f"they are {classes.tolist()[:10]}"
        )
    return np.array(found, dtype=np.float64)


def _refuse_where(bad: NDArray[np.bool_], values: NDArray[Any], name: str) -> None:
    if (row := first_true(bad)) is not None:
        word, count = "NaN" if np.isnan(values[row]) else "infinity", int(bad.sum())
        raise ValueError(
            f"Input {name} contains {word}: {values[row]} in row {row} ({count} such rows); remove or fill them"
        )


def row_weights(sample_weight: Any, n_rows: int, name: str = "sample_weight", table: str = "X") -> FloatArray | None:
    """Return weights as float64, None if all are equal to 1."""
    if sample_weight is None:
        return None
    if np.isscalar(sample_weight):
        sample_weight = np.full(n_rows, sample_weight)
    given = to_numpy(sample_weight, name)
    if given.ndim != 1:
        raise ValueError(f"{name} has shape {given.shape}: Sample weights must be 1D array or scalar")
    if len(given) != n_rows:
        raise ValueError(
            f"sample_weight.shape == {given.shape}, expected {(n_rows,)}: "
            f"{name} has {len(given)} values, but {table} has {n_rows} rows"
        )
    if given.dtype.kind == "c":
        raise ValueError(f"{name} has dtype {given.dtype}: weights must be real")
    if given.dtype.kind == "U":
        given = given.astype(object)
    weight = as_numbers(given, name, "give numbers")
    if (row := first_true(weight < 0)) is not None:
        raise ValueError(f"{name} is negative in row {row} ({weight[row]}): weights must be 0 or more")
    if (row := first_true(weight > LARGEST_WEIGHT)) is not None:
        raise ValueError(f"{name} is {weight[row]} in row {row}: divide all weights by a constant")
    if not places.anywhere(bool(weight.any())):
        raise ValueError(f"{name} is zero in all rows: give at least one row some weight")
    return None if places.everywhere(bool((weight == 1).all())) else weight


def whole_weights(sample_weight: Any) -> Any:
    """Return the weights of the rows of all places, from those of the rows of this one."""
    if places.here() is None or sample_weight is None or np.isscalar(sample_weight):
        return sample_weight
    return places.whole(to_numpy(sample_weight, "sample_weight"))


def row_offsets(offset: Any, n_rows: int, n_outputs: int, name: str = "offset", table: str = "X") -> FloatArray | None:
    """Return finite offsets, (rows,) or (rows, outputs) if there are several; one number stands for all rows."""
    if offset is None:
        return None
    given = to_numpy(offset, name)
    shape = (n_rows,) if n_outputs == 1 else (n_rows, n_outputs)
    if given.ndim == 0:
        given = np.full(shape, given)
    if given.shape == (n_rows, 1) and n_outputs == 1:
        given = given[:, 0]
    if given.shape != shape:
        wanted = "one number per row" if n_outputs == 1 else f"{n_outputs} numbers per row, one for each raw prediction"
        raise ValueError(f"{name} has shape {given.shape}, but {table} has {n_rows} rows: give {wanted}")
    names = [name] if n_outputs == 1 else [f"{name}[:, {output}]" for output in range(n_outputs)]
    columns = [_offset_column(*pair) for pair in zip(given.reshape(n_rows, n_outputs).T, names, strict=True)]
    return columns[0] if n_outputs == 1 else np.column_stack(columns)


def _offset_column(given: NDArray[Any], name: str) -> FloatArray:
    if given.dtype.kind == "f" and (row := first_true(np.isneginf(given))) is not None:
        raise ValueError(f"{name} is -inf in row {row}, the logarithm of an exposure of 0: leave such rows out")
    numbers = as_numbers(given, name, "give numbers, such as logarithms of exposures")
    if (row := first_true(np.abs(numbers) > LARGEST_OFFSET)) is not None:
        raise ValueError(f"{name} is {numbers[row]:g} in row {row}, beyond ±{LARGEST_OFFSET:g}: use a smaller unit")
    return numbers


def training_weights(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """Return weights of training rows in units of rows (weights.py), None if all are 1."""
    return in_rows(row_weights(sample_weight, n_rows))


def times_factors(weight: FloatArray | None, factors: FloatArray | None, codes: FloatArray) -> FloatArray | None:
    """Multiply row weights by the factor of each row's class."""
    if factors is None:
        return weight
    of_rows = factors[codes.astype(np.intp)]
    return of_rows if weight is None else weight * of_rows


def require_two_weighted(weight: FloatArray | None, classes: NDArray[Any], codes: FloatArray) -> None:
    """Reject weights that leave fewer than two classes."""
    if weight is None:
        return
    weighted = np.bincount(codes[weight > 0].astype(np.intp), minlength=len(classes))
    kept = classes[places.added(weighted) > 0].tolist()
    if len(kept) < 2:
        what = f"only one class, {kept[0]!r}, has" if kept else "no class has"
        raise ValueError(
            f"{what} rows of positive sample_weight (times class_weight): a classifier needs at least 2 classes"
        )


def class_factors(
    weight: FloatArray | None, class_weight: Any, classes: NDArray[Any], codes: FloatArray
) -> FloatArray | None:
    """Weight of each class in units of rows (weights.py); None if there are none."""
    if class_weight is None:
        return None
    labels = classes.tolist()
    totals = weight_by_group(weight, codes, len(classes))
    if isinstance(class_weight, dict):
        for label, factor in class_weight.items():
            if label not in labels:
                raise ValueError(f"class_weight names {label!r}, which y does not have; classes are {labels[:10]}")
            if isinstance(factor, str | bool) or not _is_number(factor) or not 0 <= factor <= LARGEST_WEIGHT:
                raise ValueError(f"class_weight of {label!r} is {shown(factor)}: use a finite number of at least 0")
        factors = np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)
        if are_copies(factors) or not (factors * totals).any():
            return factors
        return np.asarray(factors / (factors * totals).sum() * totals.sum())
    if not (isinstance(class_weight, str) and class_weight == "balanced"):
        raise ValueError(f"class_weight={shown(class_weight)}: use 'balanced', a dict or None")
    return np.asarray(totals.sum() / (len(classes) * np.maximum(totals, np.finfo(float).tiny)))
