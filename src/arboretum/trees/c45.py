"""C4.5: gain ratio, multiway categories, numeric thresholds, missing values in fractions, pessimistic pruning.

J. R. Quinlan, "C4.5: Programs for Machine Learning", Morgan Kaufmann 1993. The penalty on thresholds is that of release
8: "Improved use of continuous attributes in C4.5", Journal of Artificial Intelligence Research 4 (1996) 77–90.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arboretum import _kernel
from arboretum.data.binning import midpoint
from arboretum.data.table import Table
from arboretum.elementary import log2
from arboretum.growing.criteria import total_entropy
from arboretum.trees.multiway import ABOVE, AT_MOST, CATEGORY, NUMERIC, MultiwayTree
from arboretum.trees.partitioning import TIE, Cases, FloatArray, Problem, Split, by_category, check_at_least
from arboretum.trees.pruning import pessimistic, prune_multiway

_LARGE = 25.0  # cases on either side of a threshold that are always enough


def grow_c45(
    table: Table,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    n_classes: int | None = None,
    max_depth: int | None = None,
    min_samples_leaf: float = 2,
    threshold_penalty: bool = True,
    confidence: float | None = 0.25,
    threads: int = 1,
) -> MultiwayTree:
    """Grow a tree by C4.5 and prune it.

    With T the cases of a node, T₀ those whose value is missing, and T₁ … T_b the others by branch::

        gain        |T∖T₀| / |T| · (H(T∖T₀) − Σ_i |T_i| / |T∖T₀| H(T_i))
        gain ratio  gain / −Σ_{i = 0 … b} |T_i| / |T| log₂(|T_i| / |T|)

    The node takes the test with the largest gain ratio among those whose gain is at least average. A case with
    a missing value goes to every branch i with |T_i| / |T∖T₀| of its weight.

    Parameters
    ----------
    table : Table
        Training table.
    y : int array (n_rows,)
        Class numbers.
    sample_weight : array (n_rows,), optional
        Weights of the rows; a weight of 2 is the row twice, for `min_samples_leaf` and for pruning as well.
    n_classes : int, optional
        The largest class number plus 1 by default.
    max_depth : int, optional
        Maximum depth; no limit by default.
    min_samples_leaf : float
        Minimum number of cases, by weight, in at least two branches of a split. Both sides of a threshold need a tenth
        of the cases per class, if that is more, up to 25.
    threshold_penalty : bool
        Subtract log₂(thresholds that were tried) / |T| from the gain of a numeric test, as release 8 does.
    confidence : float, optional
        Confidence factor of pessimistic pruning, between 0 and 1: smaller prunes more; None does not prune.
    threads : int
        Most threads to use; the tree does not depend on it.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> from arboretum.trees.c45 import grow_c45
    >>> rows = [(70, "dry"), (90, "wet"), (85, "dry"), (95, "wet"), (65, "wet"), (75, "dry"), (60, "dry"), (99, "dry")]
    >>> table = read_table([list(row) for row in rows])
    >>> tree = grow_c45(table, [1, 0, 0, 0, 1, 1, 1, 0])
    >>> print(tree.to_text(["humidity", "ground"], class_names=["no", "yes"]))
    humidity <= 80: yes (4)
    humidity > 80: no (4)
    """
    check_at_least("max_depth", max_depth, 0)
    check_at_least("min_samples_leaf", min_samples_leaf, 0)
    problem = Problem.read(table, y, n_classes, sample_weight)
    is_numeric = [column.kind == "numeric" for column in table.schema.columns]
    numeric = [j for j in problem.order if is_numeric[j]]
    finder = _Finder(
        problem,
        place={feature: place for place, feature in enumerate(problem.order)},
        numeric=numeric,
        search=_kernel.ThresholdSearch([problem.columns[j] for j in numeric], problem.y, problem.n_classes, threads),
        rules=_kernel.ThresholdRules(float(min_samples_leaf), max(_LARGE, float(min_samples_leaf)), TIE),
        categories=[j for j in problem.order if not is_numeric[j]],
        min_samples_leaf=float(min_samples_leaf),
        threshold_penalty=threshold_penalty,
        threads=threads,
    )
    tree = problem.grow(finder.find_split, max_depth)
    if confidence is None:
        return tree
    return prune_multiway(tree, pessimistic(tree.parent, tree.errors, tree.weight, confidence))


class _Candidate(NamedTuple):
    feature: int
    gain: float  # less the penalty on thresholds
    split_information: float
    threshold: float | None  # of a numeric column


@dataclass(frozen=True)
class _Finder:
    problem: Problem
    place: dict[int, int]  # rank of each feature when ties are broken
    numeric: Sequence[int]
    search: _kernel.ThresholdSearch  # of the numeric features
    rules: _kernel.ThresholdRules
    categories: Sequence[int]
    min_samples_leaf: float
    threshold_penalty: bool
    threads: int

    def find_split(self, cases: Cases, counts: FloatArray) -> Split | None:
        if counts.sum() < 2 * self.min_samples_leaf * (1 - TIE):
            return None
        candidates = self._numeric_candidates(cases) + self._category_candidates(cases)
        chosen = self._choose(candidates)
        return None if chosen is None else self._divide(cases, chosen)

    def _choose(self, candidates: list[_Candidate]) -> _Candidate | None:
        useful = [candidate for candidate in candidates if candidate.gain > TIE]
        if not useful:
            return None
        average = sum(candidate.gain for candidate in candidates) / len(candidates)
        best, best_ratio = None, 0.0
        for candidate in sorted(useful, key=lambda candidate: self.place[candidate.feature]):
            ratio = candidate.gain / candidate.split_information
            if candidate.gain >= average - TIE and ratio > best_ratio + TIE:
                best, best_ratio = candidate, ratio
        return best

    def _category_candidates(self, cases: Cases) -> list[_Candidate]:
        found, total = [], cases.weight.sum()
        for feature in self.categories:
            branches, counts = self.problem.tabulate(feature, cases)
            known, sizes = counts[branches >= 0], counts.sum(axis=1)
            n_large = np.count_nonzero(known.sum(axis=1) >= self.min_samples_leaf * (1 - TIE))
            if len(known) < 2 or n_large < 2:
                continue
            gain = float(total_entropy(known.sum(axis=0)) - total_entropy(known).sum()) / total
            found.append(_Candidate(feature, max(gain, 0.0), float(total_entropy(sizes)) / total, None))
        return found

    def _numeric_candidates(self, cases: Cases) -> list[_Candidate]:
        if not self.numeric:
            return []
        found, total = np.empty((len(self.numeric), 6)), cases.weight.sum()
        self.search.find(cases.rows, cases.weight, total, self.rules, self.threads, found)
        gain, low, high, at_most, known, n_tries = found.T
        if self.threshold_penalty:
            gain = gain - log2(np.maximum(n_tries, 1)) / total
        sizes = np.stack([at_most, known - at_most, np.maximum(total - known, 0.0)], axis=1)
        cuts = (gain, total_entropy(sizes) / total, midpoint(low, high))
        tried = zip(self.numeric, *(values.tolist() for values in cuts), strict=True)
        return [_Candidate(*candidate) for candidate in tried if candidate[1] > 0]

    def _divide(self, cases: Cases, chosen: _Candidate) -> Split:
        if chosen.threshold is None:
            codes = self.problem.columns[chosen.feature][cases.rows]
            branches = np.unique(codes[codes >= 0])
            kind, threshold = CATEGORY, 0.0
        else:
            values = self.problem.columns[chosen.feature][cases.rows].astype(np.float64)
            codes = np.where(values <= chosen.threshold, AT_MOST, ABOVE).astype(np.int8)  # which NumPy sorts by digits
            codes[np.isnan(values)] = -1
            branches = np.array([AT_MOST, ABOVE])
            kind, threshold = NUMERIC, chosen.threshold
        parts = _share_out(by_category(cases, codes, branches), cases, codes < 0)
        return Split(kind, chosen.feature, threshold, chosen.gain, branches.tolist(), parts)


def _share_out(parts: list[Cases], cases: Cases, is_missing: NDArray[np.bool_]) -> list[Cases]:
    """Add the cases with missing values to every part, by the part's share of the known weight."""
    if not is_missing.any():
        return parts
    rows, weight = cases.rows[is_missing], cases.weight[is_missing]
    sizes = [part.weight.sum() for part in parts]
    known, enlarged = math.fsum(sizes), []
    for part, size in zip(parts, sizes, strict=True):
        share = weight * (size / known)
        exists = share > 0  # it may underflow
        enlarged.append(Cases(np.concatenate([part.rows, rows[exists]]), np.concatenate([part.weight, share[exists]])))
    return enlarged
