"""Split criteria on plain class counts: what a node costs, and what a split of it gains.

With p_k the share of class k in a node (Shannon 1948; Breiman et al. 1984, ch. 4; Quinlan 1986, 1993)::

    entropy            −Σ p_k log p_k              gini               1 − Σ p_k²
    misclassification  1 − max p_k
    information gain   H(parent) − Σ_c n_c/n H(child c)
    gain ratio         information gain / −Σ_c n_c/n log(n_c/n)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arboretum.elementary import log2

FloatArray: TypeAlias = NDArray[np.float64]


def entropy(counts: ArrayLike, base: float | None = None) -> float:
    """Entropy of the classes in a node.

    Parameters
    ----------
    counts : array-like (n_classes,)
        Rows, or their weights, of each class.
    base : float, optional
        Base of the logarithm: 2 for bits; natural by default.

    Returns
    -------
    float

    Examples
    --------
    >>> [round(entropy(counts), 7) for counts in ([10, 6], [8, 2], [2, 4])]
    [0.6615632, 0.5004024, 0.6365142]
    >>> entropy([5, 5], base=2)
    1.0
    """
    return _entropy_of_shares(_shares(_class_counts(counts, "counts"), "counts")) / _log_of_base(base)


def gini(counts: ArrayLike) -> float:
    """Gini impurity of a node: the chance that two rows drawn from it differ in class.

    Examples
    --------
    >>> gini([10, 6])
    0.46875
    """
    shares = _shares(_class_counts(counts, "counts"), "counts")
    return max(1.0 - float(shares @ shares), 0.0)


def misclassification(counts: ArrayLike) -> float:
    """Share of the rows that are not of the most frequent class.

    Examples
    --------
    >>> misclassification([10, 6])
    0.375
    """
    return float(1.0 - _shares(_class_counts(counts, "counts"), "counts").max())


def information_gain(parent: ArrayLike, children: Sequence[ArrayLike], base: float | None = None) -> float:
    """Entropy that a split takes away.

    Parameters
    ----------
    parent : array-like (n_classes,)
        Class counts of the node.
    children : sequence of array-like (n_classes,)
        Class counts of each child; they add up to the parent's. A child may be empty.
    base : float, optional
        Base of the logarithm; natural by default.

    Returns
    -------
    float

    Examples
    --------
    Ten positive and six negative rows, split into 8+/2− and 2+/4−:

    >>> round(10 / 16 * entropy([8, 2]) + 6 / 16 * entropy([2, 4]), 7)
    0.5514443
    >>> round(information_gain([10, 6], [[8, 2], [2, 4]]), 7)
    0.1101189
    """
    whole, parts = _split_counts(parent, children)
    sizes = _shares(parts.sum(axis=1), "children")
    after = sum(
        size * _entropy_of_shares(_shares(part, "a child")) for size, part in zip(sizes, parts, strict=True) if size
    )
    return float(max(_entropy_of_shares(_shares(whole, "parent")) - after, 0.0)) / _log_of_base(base)


def gain_ratio(parent: ArrayLike, children: Sequence[ArrayLike]) -> float:
    """Information gain divided by the entropy of the sizes of the children (Quinlan 1993).

    It makes up for the favour that information gain shows to splits of many children. It is 0 if only one child
    has rows. No base is needed: it cancels.

    Parameters
    ----------
    parent : array-like (n_classes,)
        Class counts of the node.
    children : sequence of array-like (n_classes,)
        Class counts of each child; they add up to the parent's.

    Returns
    -------
    float

    Examples
    --------
    >>> round(gain_ratio([10, 6], [[8, 2], [2, 4]]), 7)
    0.1664526
    """
    gain = information_gain(parent, children)
    _, parts = _split_counts(parent, children)
    split_information = _entropy_of_shares(_shares(parts.sum(axis=1), "children"))
    return gain / split_information if split_information else 0.0


def variance_reduction(parent_values: ArrayLike, children_values: Sequence[ArrayLike]) -> float:
    """Variance of the targets that a split takes away (Breiman et al. 1984, ch. 8).

    Parameters
    ----------
    parent_values : array-like (n_rows,)
        Targets of the rows in the node.
    children_values : sequence of array-like
        The same targets, dealt out to the children.

    Returns
    -------
    float
        Population variance of the parent less the mean of the children's, weighted by their rows.

    Examples
    --------
    >>> variance_reduction([1.0, 2.0, 9.0, 10.0], [[1.0, 2.0], [9.0, 10.0]])
    16.0
    """
    whole = _numbers(parent_values, "parent_values")
    if not len(whole):
        raise ValueError("parent_values is empty: a node needs at least one row")
    parts = [_numbers(values, f"children_values[{i}]") for i, values in enumerate(children_values)]
    if not np.array_equal(np.sort(whole), np.sort(np.concatenate([[], *parts]))):
        raise ValueError("children_values must hold the values of parent_values, each in one child")
    scale = math.ldexp(0.5, math.frexp(np.abs(whole).max())[1])  # squares of huge values would overflow
    mean = (whole / scale).mean()
    # Var(parent) − Σ n_c/n Var(child c) = Σ n_c/n (mean of child c − mean)²
    between = sum(len(part) * ((part / scale).mean() - mean) ** 2 for part in parts if len(part))
    return float(between) / len(whole) * scale * scale


# ---------------------------------------------------------------------------------------- arrays of counts


def xlog2x(x: NDArray[Any]) -> FloatArray:
    """Give x log₂ x, elementwise, with 0 at 0."""
    return np.asarray(x * log2(np.where(x > 0, x, 1.0)))


def total_entropy(counts: NDArray[Any]) -> Any:
    """Give n H(counts) in bits over the last axis, unchecked: n log₂ n − Σ n_k log₂ n_k."""
    return xlog2x(counts.sum(axis=-1)) - xlog2x(counts).sum(axis=-1)


# --------------------------------------------------------------------------------------------------- checks


def _numbers(values: ArrayLike, name: str) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must be a list of numbers, not {array.ndim}-dimensional")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, but holds {array[~np.isfinite(array)][0]}")
    return array


def _class_counts(counts: ArrayLike, name: str) -> FloatArray:
    array = _numbers(counts, name)
    if not len(array):
        raise ValueError(f"{name} is empty: give the count of each class")
    if array.min() < 0:
        raise ValueError(f"{name} must not be negative, but holds {array.min():g}")
    return array


def _split_counts(parent: ArrayLike, children: Sequence[ArrayLike]) -> tuple[FloatArray, FloatArray]:
    whole = _class_counts(parent, "parent")
    parts = [_class_counts(child, f"children[{i}]") for i, child in enumerate(children)]
    if not parts:
        raise ValueError("children is empty: a split has at least one child")
    for i, part in enumerate(parts):
        if len(part) != len(whole):
            raise ValueError(f"children[{i}] has {len(part)} classes, but parent has {len(whole)}")
    scale = whole.max()
    if not scale:
        raise ValueError("parent counts no rows: at least one class must be positive")
    scaled = np.stack(parts) / scale
    if not np.allclose(scaled.sum(axis=0), whole / scale, rtol=1e-9, atol=1e-12):
        sums = ", ".join(f"{total:g}" for total in np.stack(parts).sum(axis=0))
        raise ValueError(f"children add up to [{sums}], but parent is [{', '.join(f'{n:g}' for n in whole)}]")
    return whole, scaled


def _shares(counts: FloatArray, name: str) -> FloatArray:
    largest = counts.max()
    if not largest:
        raise ValueError(f"{name} counts no rows: at least one class must be positive")
    scaled: FloatArray = counts / largest  # a sum of huge counts would overflow
    return scaled / float(scaled.sum())


def _entropy_of_shares(shares: FloatArray) -> float:
    positive = shares[shares > 0]
    return max(-float(positive @ np.log(positive)), 0.0)


def _log_of_base(base: float | None) -> float:
    if base is None:
        return 1.0
    if not base > 1 or math.isinf(base):
        raise ValueError(f"base must be a number above 1 (2 for bits), not {base!r}")
    return math.log(base)
