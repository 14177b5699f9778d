"""Statistics of a new row from the training rows in its leaves: quantiles, and the error of the mean.

Both read the leaves of a fitted forest and nothing else.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arboretum.ensembles.bagging.shared_leaves import IntArray, membership, multiply_in_blocks, number_leaves

__all__ = ["forest_quantiles", "infinitesimal_jackknife"]

FloatArray: TypeAlias = NDArray[np.float64]

ROUNDING = 1e-9  # a share of the weight that counts as 0: sums of 1/3 and 1/7 do not reach 1/2 to the last digit
CELLS_AT_ONCE = 1 << 22


# ---- quantiles -----------------------------------------------------------------------------------------------------


def forest_quantiles(
    train_leaves: IntArray,
    y: ArrayLike,
    leaves: IntArray,
    q: float | ArrayLike,
    *,
    weight: ArrayLike | None = None,
    copies: NDArray[Any] | None = None,
    threads: int = 1,
) -> FloatArray:
    """Return quantiles of the target for new rows.

    N. Meinshausen, *Quantile regression forests*, JMLR 7 (2006) 983–999. The weight of a training row for a new row
    grows with the trees that put them into one leaf::

        w_i(x) = 1/T Σ_t [leaf_t(i) = leaf_t(x)] c_it / Σ_j [leaf_t(j) = leaf_t(x)] c_jt
        Q_q(x) = the least y_i for which Σ {w_j(x) : y_j ≤ y_i} ≥ q

    Quantiles are observed targets; nothing is interpolated between them. They never cross.

    Parameters
    ----------
    train_leaves : int array (n, trees)
        Leaf of each training row in each tree.
    y : array (n)
        Targets of the training rows.
    leaves : int array (rows, trees)
        Leaf of each new row in each tree.
    q : float or sequence of floats
        From 0 (the least target that has any weight) to 1 (the largest).
    weight : array (n), optional
        Weight of each training row, unless the copies include it.
    copies : array (n, trees), optional
        How often each tree drew each training row; by default every row counts once in each tree.
    threads : int
        The result is the same for any number.

    Returns
    -------
    float64 array (rows) for a single q, else (rows, len(q))
        Trees without a training row in the leaf do not count; NaN if that is all of them.

    Examples
    --------
    >>> import numpy as np
    >>> train_leaves = np.array([[1, 1], [1, 2], [2, 2], [2, 2]])
    >>> forest_quantiles(train_leaves, [1.0, 2.0, 3.0, 4.0], np.array([[1, 1], [2, 2]]), [0.1, 0.5, 0.9])
    array([[1., 1., 2.],
           [2., 3., 4.]])
    """
    target, shares, amount = _checked(train_leaves, y, leaves, q, weight, copies)
    order = np.argsort(target, kind="stable")
    target = target[order]
    (train, new), n_leaves = number_leaves(train_leaves[order], leaves)
    left = membership(new, n_leaves, np.int64(1))
    right = _leaf_contents(train, None if amount is None else amount[order], new, n_leaves)

    def quantiles(rows: slice, block: Any) -> FloatArray:
        block.sort_indices()
        place = _first_to_reach(shares, block.data, block.indptr)
        empty = np.diff(block.indptr) == 0
        place[empty] = 0
        found = target[block.indices[place]] if block.nnz else np.zeros(place.shape)
        found[empty] = np.nan
        return found

    parts = multiply_in_blocks(left, right, quantiles, threads=threads)
    found = np.concatenate(parts) if parts else np.zeros((0, len(shares)))
    return found if np.ndim(q) else found[:, 0]


def _checked(
    train_leaves: IntArray,
    y: ArrayLike,
    leaves: IntArray,
    q: float | ArrayLike,
    weight: ArrayLike | None,
    copies: NDArray[Any] | None,
) -> tuple[FloatArray, FloatArray, NDArray[Any] | None]:
    """Return targets, shares and the amount of each training row in each tree; None if that is 1 for all."""
    n, n_trees = train_leaves.shape
    if leaves.shape[1] != n_trees:
        raise ValueError(f"leaves has {leaves.shape[1]} trees, but train_leaves has {n_trees}: use one forest for both")
    target, shares = np.asarray(y, dtype=np.float64), np.atleast_1d(np.asarray(q, dtype=np.float64))
    if target.shape != (n,):
        raise ValueError(f"y has the shape {target.shape}: give one target for each of the {n} training rows")
    if np.isnan(target).any():
        raise ValueError(f"y is missing in row {int(np.argmax(np.isnan(target)))}: quantiles need every target")
    if shares.ndim != 1 or not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"q={q!r}: use a number from 0 to 1, or a sequence of them")
    if copies is not None and copies.shape != (n, n_trees):
        raise ValueError(f"copies has the shape {copies.shape}: give one number for each row and tree, {(n, n_trees)}")
    if weight is None:
        return target, shares, copies
    weights = np.asarray(weight, dtype=np.float64)
    if weights.shape != (n,) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(f"weight: expected a finite number of at least 0 for each of the {n} training rows")
    per_row = weights[:, np.newaxis]
    return target, shares, np.broadcast_to(per_row, (n, n_trees)) if copies is None else copies * per_row


def _leaf_contents(train: IntArray, amount: NDArray[Any] | None, new: IntArray, n_leaves: int) -> Any:
    """Return the share of each training row in each leaf that a new row reaches, as a csr_matrix (leaves, rows).

    Shares are integers, in multiples of 1 / ``unit``, so that their sums are exact in any order. All trees together
    stay below 2⁶².
    """
    unit = 2.0 ** min(52, 62 - train.shape[1].bit_length())
    reached = np.zeros(n_leaves, dtype=bool)
    reached[new] = True
    keep = reached[train]
    if amount is not None:
        keep &= amount > 0
    number = train[keep]
    kept = np.ones(len(number)) if amount is None else amount[keep].astype(np.float64)
    total = np.bincount(number, weights=kept, minlength=n_leaves)
    parts = np.rint(kept / total[number] * unit).astype(np.int64)
    return membership(train, n_leaves, parts, keep).T.tocsr()


def _first_to_reach(shares: FloatArray, weights: NDArray[np.int64], start: IntArray) -> NDArray[np.int64]:
    """Return the first entry of each row at which the running weight reaches each share of its total, (rows, shares).

    The running sum continues over all rows and may wrap around; differences within a row are still exact.
    """
    running = np.concatenate([[0], np.cumsum(weights)])
    before = running[start[:-1], np.newaxis]
    need = (shares - ROUNDING) * (running[start[1:], np.newaxis] - before)
    low = np.repeat(start[:-1, np.newaxis].astype(np.int64), len(shares), axis=1)
    high = np.repeat(start[1:, np.newaxis].astype(np.int64) - 1, len(shares), axis=1)
    while (low < high).any():
        middle = (low + high) // 2
        reaches = running[middle + 1] - before >= need
        low, high = np.where(reaches, low, middle + 1), np.where(reaches, middle, high)
    return low


# ---- standard error ------------------------------------------------------------------------------------------------


def infinitesimal_jackknife(tree_predictions: ArrayLike, copies: NDArray[Any]) -> FloatArray:
    """Estimate the standard error of a bagged mean.

    S. Wager, T. Hastie & B. Efron, *Confidence intervals for random forests: the jackknife and the infinitesimal
    jackknife*, JMLR 15 (2014) 1625–1651. With N_bi the copies of training row i that tree b has drawn, t_b its
    prediction, and B trees::

        V   = Σ_i Cov_b(N_bi, t_b)²                            IJ
        V_U = V − (Σ_i Var_b(N_bi)) Var_b(t_b) / B             IJ-U: less the noise that few trees add to the squares

    For n draws from n rows Var_b(N_bi) is 1, which the paper writes for it. The sum over rows is a quadratic form: with
    N and t centred over trees, Σ_i (Σ_b N_bi t_b)² = tᵀ (NᵀN) t, so that a new row costs B² where n B would be more.

    Parameters
    ----------
    tree_predictions : array (rows, trees) or (rows, trees, outputs)
        What each tree predicts.
    copies : array (n, trees)
        How often each tree drew each training row, with replacement.

    Returns
    -------
    float64 array (rows) or (rows, outputs)
        √max(V_U, 0). It is noisy itself until there are about as many trees as training rows: with few, 0 is frequent.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y, draws = np.arange(20.0), rng.integers(20, size=(5000, 20))
    >>> copies = np.stack([np.bincount(draw, minlength=20) for draw in draws], axis=1)
    >>> se = infinitesimal_jackknife(y[draws].mean(axis=1)[np.newaxis], copies)  # a forest of means of y
    >>> float(se[0].round(1)), float((y.std() / np.sqrt(20)).round(1))
    (1.3, 1.3)
    """
    predictions = np.asarray(tree_predictions, dtype=np.float64)
    if predictions.ndim not in (2, 3) or copies.ndim != 2 or predictions.shape[1] != copies.shape[1]:
        raise ValueError(
            f"tree_predictions has the shape {predictions.shape} and copies {copies.shape}: give (rows, trees) and "
            "(training rows, trees) of the same trees"
        )
    by_output = predictions if predictions.ndim == 2 else np.moveaxis(predictions, 1, 2)
    t = by_output - by_output.mean(axis=-1, keepdims=True)
    n, n_trees = copies.shape
    if n < n_trees:
        drawn = _centred(copies)
        variation, squares = np.sum(drawn * drawn), np.sum(np.square(t @ drawn.T), axis=-1)
    else:
        form = _products_of_trees(copies)
        variation, squares = np.trace(form), np.sum((t @ form) * t, axis=-1)
    if not variation > 0:
        raise ValueError("every tree has seen the same rows, so their spread is unknown: use bootstrap=True")
    noise = variation / n_trees * np.sum(t * t, axis=-1)
    return np.asarray(np.sqrt(np.maximum(squares - noise, 0.0)) / n_trees)


def _centred(copies: NDArray[Any]) -> FloatArray:
    """N_bi − mean_b N_bi."""
    return np.asarray(copies - copies.mean(axis=1, keepdims=True), dtype=np.float64)


def _products_of_trees(copies: NDArray[Any]) -> FloatArray:
    """NᵀN of the centred copies, (trees, trees)."""
    n, n_trees = copies.shape
    form = np.zeros((n_trees, n_trees))
    step = max(1, CELLS_AT_ONCE // max(1, n_trees))
    for first in range(0, n, step):
        part = _centred(copies[first : first + step])
        form += part.T @ part
    return form
