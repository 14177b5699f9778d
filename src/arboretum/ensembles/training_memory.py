"""Memory that training needs besides the codes of its rows, in bytes, to reject a memory limit before any work.

Bytes per row are those of the arrays that the kernel and the loops around it allocate; tests compare the sums with what
processes actually use (benchmarks/workloads/limits.py prints both).
"""

from __future__ import annotations

from arboretum.arguments import check_integer, shown

FIXED = 36_000_000  # threads, the model and its file as it is checked, small arrays, a reader with small batches
HISTOGRAMS = 2 << 30  # maximum bytes that the kernel keeps (kernel/grow/gradient/tree_builder.hpp)
EXACT_ROWS = 65_536  # up to which gradients are doubles (ensembles/boosting/rounds.py)

MOST = 2**48  # rows, columns, predictions: sums of their bytes are exact in double


def check_counts(**counts: int) -> None:
    """Reject numbers of rows, columns and the like that are out of range.

    Examples
    --------
    >>> check_counts(n_rows=0)
    Traceback (most recent call last):
        ...
    ValueError: n_rows=0: use an integer at least 1
    """
    for name, count in counts.items():
        check_integer(name, count)
        if count > MOST:
            raise ValueError(f"{name}={shown(count)}: use an integer at most {MOST}")


def boosting_bytes(
    n_rows: int,
    n_outputs: int,
    n_features: int,
    *,
    n_bins: int = 256,
    leaves: int = 31,
    share: float = 1.0,
    versions: int = 1,
    threads: int = 1,
) -> int:
    """Return the bytes that boosting needs besides codes.

    Parameters
    ----------
    n_rows, n_outputs, n_features : int
        Training rows, raw predictions of a row, and columns that trees read.
    n_bins : int
        Maximum number of bins per column.
    leaves : int
        Leaves per tree.
    share : float
        Share of the rows that a tree sees.
    versions : int
        Tables that rounds read in turn; each has predictions and a grower of its own.
    threads : int
        Threads to use.

    Examples
    --------
    >>> boosting_bytes(1_000_000, 1, 10) / 1e6 > 50
    True
    """
    real, entry = (4, 8) if n_rows > EXACT_ROWS else (8, 16)
    of_target = 8 + 4  # the target, and the place of the row in its dataset
    of_gradients = 2 * real * n_outputs
    sampled = share * (2 * real + 4) if share < 1 else 0.0
    # Raw predictions; rows in the order of leaves, before and after a split, with a flag; the leaf of each row.
    of_version = 8 * n_outputs + share * (2 * entry + 1) + sampled + (1 if leaves <= 128 else 4)
    histogram = 8 * n_bins * n_features
    histograms = min(HISTOGRAMS, histogram * (leaves + 2 * threads)) + threads * histogram
    return FIXED + int(n_rows * (of_target + of_gradients + versions * of_version)) + versions * histograms


def bagging_bytes(n_rows: int, *, bootstrap: bool, threads: int) -> int:
    """Return the bytes that growing impurity trees needs besides codes and trees.

    Parameters
    ----------
    n_rows : int
        Training rows.
    bootstrap : bool
        Whether a tree draws its rows: then it has about two thirds of them.
    threads : int
        Threads to use; each grows a tree.

    Examples
    --------
    >>> bagging_bytes(1_000_000, bootstrap=True, threads=2) / 1e6 > 100
    True
    """
    of_target = 24  # the target as given and as trees read it, and the number of the row
    of_trees = 50 + 36 * threads if bootstrap else 20 + 72 * threads  # measured
    return FIXED + n_rows * (of_target + of_trees)


def forest_bytes(n_nodes: int, width: int) -> int:
    """Return the bytes of trees with this many nodes when they become a forest, with ``width`` values per leaf."""
    return n_nodes * (112 + 16 * width)
