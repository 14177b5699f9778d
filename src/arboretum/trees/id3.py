"""ID3: multiway splits of categorical columns by information gain.

J. R. Quinlan, "Induction of decision trees", Machine Learning 1 (1986) 81–106.
"""

from __future__ import annotations

from functools import partial

from numpy.typing import ArrayLike

from arboretum.data.table import Table
from arboretum.growing.criteria import total_entropy
from arboretum.trees.multiway import CATEGORY, MultiwayTree
from arboretum.trees.partitioning import TIE, Cases, FloatArray, Problem, Split, by_category, check_at_least


def grow_id3(
    table: Table,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    n_classes: int | None = None,
    max_depth: int | None = None,
    min_samples_split: int = 2,
) -> MultiwayTree:
    """Grow a tree by ID3.

    A node takes the column of the largest information gain and gets a child for each category that occurs in it; a
    missing value is a category of its own. It stays a leaf if its rows are of one class, or if no column distinguishes
    them. Columns that gain nothing are taken too, as a last resort: their children may gain (exclusive or). Ties go to
    the first column, by name if columns have names.

    Parameters
    ----------
    table : Table
        Training table, of categorical columns only.
    y : int array (n_rows,)
        Class numbers.
    sample_weight : array (n_rows,), optional
        Weights of the rows; a weight of 2 is the row twice.
    n_classes : int, optional
        The largest class number plus 1 by default.
    max_depth : int, optional
        Maximum depth; no limit by default.
    min_samples_split : int
        Minimum number of rows in a node that is split.

    Examples
    --------
    The weather of 14 Saturdays, and whether one would play tennis (Quinlan 1986, table 1):

    >>> from arboretum.data.table import read_table
    >>> from arboretum.trees.id3 import grow_id3
    >>> weather = [
    ...     ("sunny", "hot", "high", "weak", "no"),        ("sunny", "hot", "high", "strong", "no"),
    ...     ("overcast", "hot", "high", "weak", "yes"),    ("rain", "mild", "high", "weak", "yes"),
    ...     ("rain", "cool", "normal", "weak", "yes"),     ("rain", "cool", "normal", "strong", "no"),
    ...     ("overcast", "cool", "normal", "strong", "yes"), ("sunny", "mild", "high", "weak", "no"),
    ...     ("sunny", "cool", "normal", "weak", "yes"),    ("rain", "mild", "normal", "weak", "yes"),
    ...     ("sunny", "mild", "normal", "strong", "yes"),  ("overcast", "mild", "high", "strong", "yes"),
    ...     ("overcast", "hot", "normal", "weak", "yes"),  ("rain", "mild", "high", "strong", "no"),
    ... ]
    >>> table = read_table([day[:4] for day in weather])
    >>> tree = grow_id3(table, [int(day[4] == "yes") for day in weather])
    >>> tree.n_leaves, tree.depth, round(float(tree.gain[0]), 3)
    (5, 2, 0.247)
    """
    check_at_least("max_depth", max_depth, 0)
    check_at_least("min_samples_split", min_samples_split, 2)
    for column in table.schema.columns:
        if column.kind == "numeric":
            raise ValueError(
                f'method="id3" splits categories only, but column {column.name!r} is numeric; use method="c45", '
                "name it in categorical_features, or cut it into intervals"
            )
    problem = Problem.read(table, y, n_classes, sample_weight)
    return problem.grow(partial(_find_split, problem, min_samples_split), max_depth)


def _find_split(problem: Problem, min_samples_split: int, cases: Cases, counts: FloatArray) -> Split | None:
    if len(cases.rows) < min_samples_split:
        return None
    total, before = counts.sum(), total_entropy(counts)
    best_gain, best, branches = 0.0, -1, None
    for feature in problem.order:
        # A column used above has a single category here: no column is used twice on a path.
        present, split_counts = problem.tabulate(feature, cases)
        gain = max(float(before - total_entropy(split_counts).sum()) / total, 0.0)
        if len(present) > 1 and (branches is None or gain > best_gain + TIE):
            best_gain, best, branches = gain, feature, present
    if branches is None:
        return None
    codes = problem.columns[best][cases.rows]
    return Split(CATEGORY, best, 0.0, best_gain, branches.tolist(), by_category(cases, codes, branches))
