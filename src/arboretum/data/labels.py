"""Labels of classes, outcomes and treatments: side by side, and in a model file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data.validity import Rules

# The most bytes of a label: a forged type must not claim gigabytes.
MAX_LABEL_BYTES = 65_536

RULES = Rules("classes")


def typed_column(column: NDArray[Any]) -> NDArray[Any]:
    """Labels of one output; a table of mixed outputs holds objects."""
    return np.array(column.tolist()) if column.dtype == object and len({type(v) for v in column}) == 1 else column


def side_by_side(labels: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Labels of several outputs as (rows, outputs), each as it was given."""
    if len({part.dtype.kind for part in labels}) > 1:
        labels = [part.astype(object) for part in labels]  # else 1 would become '1'
    return np.column_stack(labels)


def classes_to_json(classes: NDArray[Any]) -> dict[str, Any]:
    """Return sorted labels as a header holds them."""
    return {"dtype": classes.dtype.str, "values": classes.tolist()}


def classes_from_json(entry: dict[str, Any], n_classes: int, *, in_own_order: bool = False) -> NDArray[Any]:
    """Read labels of a file of unknown origin; there must be ``n_classes`` of them, distinct and sorted.

    ``in_own_order``: they need not be sorted.
    """
    dtype, values = np.dtype(entry["dtype"]), entry["values"]
    is_plain = dtype.kind in "biufUO" and dtype.itemsize <= MAX_LABEL_BYTES
    RULES.require(is_plain, "dtype", dtype.str[:20], f"booleans, numbers, or text of at most {MAX_LABEL_BYTES} bytes")
    are_labels = isinstance(values, list) and all(isinstance(v, bool | int | float | str) for v in values)
    RULES.require(are_labels, "values", values, "a list of text, numbers or booleans")
    classes = np.array(values, dtype=dtype)
    RULES.require(len(classes) == n_classes, "number of classes", len(classes), f"{n_classes}, as the model has")
    is_sorted = classes.tolist() == values and sorted(set(values)) == (sorted(values) if in_own_order else values)
    RULES.require(is_sorted, "values", values, f"distinct{'' if in_own_order else ' and sorted'} labels of the dtype")
    return classes


@dataclass(frozen=True, eq=False)
class ArmLabels:
    """The labels of the arms of an experiment, sorted, and which of them is the control.

    Examples
    --------
    >>> ArmLabels(np.array(["a", "b", "none"]), 2).in_order
    array(['none', 'a', 'b'], dtype='<U4')
    """

    labels: NDArray[Any]
    control: int

    @property
    def in_order(self) -> NDArray[Any]:
        """The control, then the treatments."""
        return np.concatenate([self.labels[[self.control]], np.delete(self.labels, self.control)])

    @property
    def codes(self) -> NDArray[np.int32]:
        """Code of each label: 0 for the control, treatments from 1."""
        codes = np.arange(len(self.labels), dtype=np.int32)
        codes[: self.control] += 1
        codes[self.control] = 0
        return codes

    def to_json(self) -> dict[str, Any]:
        """Return the labels as a header holds them."""
        return {"arms": classes_to_json(self.labels), "control": self.control}

    @classmethod
    def from_json(cls, header: dict[str, Any], n_arms: int) -> ArmLabels:
        """Read the labels of a file of unknown origin."""
        control = header["control"]
        if type(control) is not int or not 0 <= control < n_arms:
            raise ValueError(f"control is {control!r}: expected the position of one of the {n_arms} arms")
        return cls(classes_from_json(header["arms"], n_arms), control)
