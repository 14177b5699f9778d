"""Which rows a tree sees, and what multiplies their gradients.

Every choice is a hash of (seed, number of the sample, row): the same for any number of threads, and for any places that
the rows lie in. A sample names the rows of its place.

============  ======================================================================  ==============================
sampler       rows                                                                    factor
============  ======================================================================  ==============================
Subsample     a share, without replacement                                            –
Bootstrap     share · n draws with replacement                                        copies of the row
Stratified    a share of each class, or of each tenth of the target                   –
Goss          the largest gradients, and some of the rest (Ke et al. 2017)            (1 - a) / b on some of the rest
Mvs           row i with probability p = min(1, √(g² + λh²) / μ) (Ibragimov 2019)     1 / p
Bayesian      all                                                                     (-ln u) ^ temperature
============  ======================================================================  ==============================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel, places, selecting

ROWS_PURPOSE = 0x726F7773  # "rows": keeps these draws apart from all others of the same seed
N_TARGET_STRATA = 10


class Sample(NamedTuple):
    """Rising row numbers, and what multiplies gradient and hessian of each; None is all rows, or 1."""

    rows: NDArray[np.uint32] | None
    factor: NDArray[np.float64] | None


ALL_ROWS = Sample(None, None)


class Sampler(Protocol):
    """A way to choose rows."""

    def sample(self, gradients: NDArray[Any], hessians: NDArray[Any], *, key: int, threads: int) -> Sample:
        """Choose from rows with these gradients and hessians (outputs × rows)."""


def sample_key(seed: int, number: int) -> int:
    """Return the key of the draws of sample ``number``."""
    return _kernel.draw(seed, ROWS_PURPOSE, number)


def _numbers(chosen: NDArray[np.bool_]) -> NDArray[np.uint32]:
    return np.flatnonzero(chosen).astype(np.uint32)


@dataclass(frozen=True)
class Subsample:
    """A share of the rows, without replacement; 1 is all of them.

    Examples
    --------
    >>> zeros = np.zeros((1, 10))
    >>> Subsample(0.5).sample(zeros, zeros, key=sample_key(seed=0, number=0), threads=1).rows
    array([0, 1, 6, 7], dtype=uint32)
    """

    share: float = 1.0

    def sample(self, gradients: NDArray[Any], hessians: NDArray[Any], *, key: int, threads: int) -> Sample:
        """Choose each row by its own draw."""
        if self.share >= 1:
            return ALL_ROWS
        n_rows = gradients.shape[1]
        if places.here() is None:
            return Sample(_kernel.subsample_rows(n_rows, self.share, key, threads), None)
        draws = selecting.row_draws(n_rows, key, threads)
        chosen = draws < np.uint64(2 * int(self.share * 2.0**63))
        if not places.anywhere(bool(chosen.any())):
            chosen = selecting.smallest(draws, lambda n: np.minimum(n, 1.0))
        return Sample(_numbers(chosen), None)


@dataclass(frozen=True)
class Bootstrap:
    """As many draws with replacement as a share of the rows.

    Examples
    --------
    >>> zeros = np.zeros((1, 6))
    >>> rows, factor = Bootstrap().sample(zeros, zeros, key=1, threads=1)
    >>> rows, factor
    (array([0, 4, 5], dtype=uint32), array([1., 1., 4.]))
    """

    share: float = 1.0

    def sample(self, gradients: NDArray[Any], hessians: NDArray[Any], *, key: int, threads: int) -> Sample:
        """Draw rows; copies become factors."""
        n_rows = gradients.shape[1]
        first, total = places.numbered(n_rows)
        n_draws = max(1, round(self.share * total))
        return Sample(*_kernel.bootstrap_rows(n_rows, n_draws, key, threads, first, total))


@dataclass(frozen=True, eq=False)
class Stratified:
    """A share of each stratum, without replacement, and at least one row of it.

    ``rows`` are grouped by stratum, ``start`` says where each begins (see ``LeafRows``).

    Examples
    --------
    >>> sampler = Stratified.of_classes(0.5, np.array([0.0, 0.0, 1.0, 0.0, 1.0, 0.0]))
    >>> zeros = np.zeros((1, 6))
    >>> sampler.sample(zeros, zeros, key=1, threads=1).rows
    array([0, 4, 5], dtype=uint32)
    """

    share: float
    rows: NDArray[np.uint32]
    start: NDArray[np.int64]

    @classmethod
    def of_classes(cls, share: float, codes: NDArray[np.float64]) -> Stratified:
        """Make every class a stratum."""
        values = places.joined(lambda: np.unique(codes), np.union1d)
        strata = np.searchsorted(values, codes).astype(np.uint32)
        return cls(share, *_kernel.group_by_leaf(strata, None, len(values)))

    @classmethod
    def of_numbers(cls, share: float, y: NDArray[np.float64]) -> Stratified:
        """Make every tenth of the target, in the order of its values, a stratum; equal values stay together."""
        levels = np.arange(1, N_TARGET_STRATA) / N_TARGET_STRATA
        if places.here() is None:
            cuts = np.quantile(y, levels, method="inverted_cdf")
        else:
            one = np.zeros(len(y), np.uint32)
            cuts = np.concatenate([selecting.quantiles(y, None, one, 1, float(level)) for level in levels])
        return cls.of_classes(share, np.searchsorted(cuts, y).astype(np.float64))

    def sample(self, gradients: NDArray[Any], hessians: NDArray[Any], *, key: int, threads: int) -> Sample:
        """Choose from each stratum."""
        if self.share >= 1:
            return ALL_ROWS
        sizes = np.diff(self.start)

        def wanted(sizes: NDArray[Any]) -> NDArray[np.float64]:
            return np.maximum(np.rint(self.share * sizes), 1)

        if places.here() is None:
            chosen = _kernel.stratified_rows(self.rows, self.start, wanted(sizes).astype(np.int64), key, threads)
            return Sample(chosen, None)
        draws = selecting.row_draws(len(self.rows), key, threads)
        ranks = (draws >> np.uint64(32)).astype(np.uint32)[self.rows]
        taken = selecting.smallest(ranks, wanted, np.repeat(np.arange(len(sizes)), sizes), len(sizes))
        return Sample(np.sort(self.rows[taken]), None)


@dataclass(frozen=True)
class Goss:
    """Gradient-based one-side sampling (Ke et al. 2017).

    The share ``top`` of the rows with the largest Σ|gradient| over the outputs is kept; from the rest, as many rows
    as the share ``other`` of all are drawn and amplified, so that they stand for the whole rest.

    Examples
    --------
    >>> gradients = np.array([[0.1, -3.0, 0.2, 2.0, 0.0, 0.3]])
    >>> rows, factor = Goss(top=1 / 3, other=1 / 3).sample(gradients, np.ones((1, 6)), key=0, threads=1)
    >>> rows, factor
    (array([1, 2, 3, 5], dtype=uint32), array([1., 2., 1., 2.]))
    """

    top: float = 0.2
    other: float = 0.1

    def sample(self, gradients: NDArray[Any], hessians: NDArray[Any], *, key: int, threads: int) -> Sample:
        """Choose by the size of gradients."""
        first, total = places.numbered(gradients.shape[1])
        n_top = min(round(self.top * total), total - 1)
        n_other = min(max(1, round(self.other * total)), total - n_top)
        if n_top + n_other == total:
            return ALL_ROWS
        if places.here() is None:
            return Sample(*_kernel.goss_rows(gradients, n_top, n_other, key, threads))
        ranks, others = np.empty(gradients.shape[1], np.uint64), np.empty(gradients.shape[1], np.uint32)
        _kernel.goss_ranks(gradients, key, threads, first, ranks, others)
        top = selecting.smallest(ranks, lambda n: np.full_like(n, n_top))
        rest = np.flatnonzero(~top)
        chosen = top.copy()
        chosen[rest[selecting.smallest(others[rest], lambda n: np.full_like(n, n_other))]] = True
        return Sample(_numbers(chosen), np.where(top[chosen], 1.0, (total - n_top) / n_other))


@dataclass(frozen=True)
class Mvs:
    """Minimal variance sampling (Ibragimov & Gusev 2019): a share of the rows on average.

    √λ is Σ|g| / Σh, which makes the choice independent of the units of the target and no factor·g or factor·h large.

    Examples
    --------
    >>> gradients = np.array([[9.0, -1.0, 1.0, -9.0, 0.0, 1.0]])
    >>> rows, factor = Mvs(0.5).sample(gradients, np.ones((1, 6)), key=3, threads=1)
    >>> rows, factor.round(2)
    (array([0, 3], dtype=uint32), array([1.16, 1.16]))
    """

    share: float = 1.0

    def sample(self, gradients: NDArray[Any], hessians: NDArray[Any], *, key: int, threads: int) -> Sample:
        """Choose each row with a probability that grows with its gradient and hessian."""
        if self.share >= 1:
            return ALL_ROWS
        if places.here() is not None:
            raise ValueError(
                "sampling='mvs' is not available on a cluster, because its threshold follows from floating sums in the "
                "order of the rows: use sampling='subsample' or 'goss'"
            )
        return Sample(*_kernel.mvs_rows(gradients, hessians, self.share, key, threads))


@dataclass(frozen=True)
class Bayesian:
    """All rows with random factors (Rubin 1981): exponential draws to the power of a temperature.

    Examples
    --------
    >>> zeros = np.zeros((1, 3))
    >>> Bayesian().sample(zeros, zeros, key=1, threads=1).factor.round(2)
    array([0.03, 2.45, 2.09])
    """

    temperature: float = 1.0

    def sample(self, gradients: NDArray[Any], hessians: NDArray[Any], *, key: int, threads: int) -> Sample:
        """Draw a factor for each row."""
        if self.temperature == 0:
            return ALL_ROWS
        factor = np.empty(gradients.shape[1])
        _kernel.bayesian_factors(self.temperature, key, threads, factor, places.numbered(len(factor)).first)
        return Sample(None, factor)
