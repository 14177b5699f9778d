"""Symmetric systems of a few equations, solved to the same bits everywhere: without BLAS and LAPACK.

Their results depend on the library, the processor and, for large systems, on the number of threads.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]

LEAST_PIVOT = 1e-13


def solved(products: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return x with products · x = slopes, by Cholesky's method; 0 for a column that is a combination of earlier ones.

    Examples
    --------
    >>> solved(np.array([[4.0, 2.0], [2.0, 5.0]]), np.array([8.0, 8.0]))
    array([1.5, 1. ])
    >>> solved(np.array([[4.0, 2.0], [2.0, 1.0]]), np.array([8.0, 4.0]))
    array([2., 0.])
    """
    lengths = np.sqrt(np.maximum(np.diagonal(products), 0.0))
    lengths = np.where(lengths > 0, lengths, 1.0)
    scaled, target = products / lengths[:, np.newaxis] / lengths, slopes / lengths
    n_columns = len(slopes)
    lower, half, found = np.zeros_like(products), np.zeros(n_columns), np.zeros(n_columns)
    kept = []
    for j in range(n_columns):
        rest = scaled[j:, j] - (lower[j:, :j] * lower[j, :j]).sum(axis=1)
        if rest[0] > LEAST_PIVOT:
            kept.append(j)
            lower[j:, j] = rest / np.sqrt(rest[0])
            half[j] = (target[j] - (lower[j, :j] * half[:j]).sum()) / lower[j, j]
    for j in reversed(kept):
        found[j] = (half[j] - (lower[j + 1 :, j] * found[j + 1 :]).sum()) / lower[j, j]
    return np.asarray(found / lengths)
