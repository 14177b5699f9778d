"""Trials with known effects: columns of real tables, treatments and outcomes that are drawn.

With u(x) what a row has without treatment and v(x) what treatment adds, from ``SURFACES``, in units of the noise::

    numbers    y = u(x) + t · v(x) + noise               effect v(x)
    yes or no  P(y = 1) = σ(u(x) + t · v(x) − 1/2)       effect σ(u + v − 1/2) − σ(u − 1/2)

    half, fifth   P(t = 1) = 1/2 or 1/5
    confounded    P(t = 1) = σ(u(x) + another surface), kept between 0.05 and 0.95
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.real_sets import SETS

FloatArray = NDArray[np.float64]

OUTCOMES = ("number", "yes or no")
ASSIGNMENTS = ("half", "fifth", "confounded")
N_TEST = 5_000
LEAST, MOST = 0.05, 0.95  # probabilities of treatment
MOST_LEVELS = 10  # of text that becomes columns of 0 and 1
TUNED_ON = ("adult", "german", "california", "abalone", "cpu_act")
JUDGED_ON = ("bank", "census", "house_8L", "wine", "ames", "puma8NH")


@dataclass(frozen=True)
class Trial:
    """Rows with outcomes and treatments; ``effect`` and ``chance`` of treatment are known where they were drawn."""

    X: FloatArray
    y: FloatArray
    treated: NDArray[np.int64]
    effect: FloatArray | None = None
    chance: FloatArray | None = None

    def take(self, rows: NDArray[np.intp]) -> Trial:
        """Return some of the rows."""
        effect, chance = (None if part is None else part[rows] for part in (self.effect, self.chance))
        return Trial(self.X[rows], self.y[rows], self.treated[rows], effect, chance)

    @property
    def is_binary(self) -> bool:
        """Whether outcomes are 0 and 1."""
        return bool(np.isin(self.y, (0.0, 1.0)).all())


@dataclass(frozen=True)
class Design:
    """What a trial is drawn by; the seed chooses rows, columns, coefficients and noise."""

    table: str
    n_rows: int
    surface: str
    assignment: str
    outcome: str
    seed: int

    def draw(self, folder: Path) -> tuple[Trial, Trial]:
        """Return rows to fit and rows to judge by."""
        rng = np.random.default_rng([self.seed, self.n_rows, *map(ord, f"{self.surface}{self.assignment}")])
        X = columns_of(folder, self.table)
        X = X[rng.choice(len(X), min(len(X), self.n_rows + N_TEST), replace=False)]
        Z = normal_scores(X)
        without, added = SURFACES[self.surface](Z, rng)
        chance = assigned(self.assignment, Z, without, rng)
        treated = (rng.random(len(X)) < chance).astype(np.int64)
        if self.outcome == "number":
            y, effect = without + treated * added + rng.normal(size=len(X)), added
        else:
            low, high = (1 / (1 + np.exp(0.5 - raw)) for raw in (without, without + added))
            y, effect = (rng.random(len(X)) < np.where(treated, high, low)).astype(np.float64), high - low
        trial = Trial(X, y, treated, effect, chance)
        n_fit = min(self.n_rows, len(X) * 2 // 3)
        return trial.take(np.arange(n_fit)), trial.take(np.arange(n_fit, len(X)))


def designs(tables: tuple[str, ...], sizes: tuple[int, ...], seeds: int) -> Iterator[Design]:
    """Yield the designs of every size, assignment and kind of outcome; tables and surfaces take turns."""
    kinds = product(sizes, ASSIGNMENTS, OUTCOMES)
    for place, (n_rows, assignment, outcome) in enumerate(kinds):
        for seed in range(seeds):
            turn = place + seed
            table, surface = tables[turn % len(tables)], list(SURFACES)[turn % len(SURFACES)]
            yield Design(table, n_rows, surface, assignment, outcome, seed)


def columns_of(folder: Path, table: str) -> FloatArray:
    """Return the columns of a real table as numbers; frequent levels of text are columns of 0 and 1."""
    import pandas as pd

    frame, _ = SETS[table].read(folder, 60_000)
    text = [name for name in frame if frame[name].dtype == object]
    for name in text:
        kept = frame[name].value_counts().index[:MOST_LEVELS]
        frame[name] = frame[name].where(frame[name].isin(kept))
    found = pd.get_dummies(frame, columns=text).to_numpy(np.float64)
    return np.ascontiguousarray(found[:, np.nanstd(found, axis=0) > 0])


def normal_scores(X: FloatArray) -> FloatArray:
    """Return columns of mean 0 and variance 1, numbers by their ranks; a missing value is 0."""
    from scipy.stats import norm, rankdata

    Z = norm.ppf(rankdata(X, axis=0, nan_policy="omit") / (len(X) + 1))
    Z = (Z - np.nanmean(Z, axis=0)) / np.maximum(np.nanstd(Z, axis=0), 1e-9)
    return np.asarray(np.nan_to_num(Z))


def scaled(values: FloatArray, deviation: float, mean: float = 0.0) -> FloatArray:
    """Return values of some mean and standard deviation."""
    return mean + deviation * (values - values.mean()) / max(float(values.std()), 1e-9)


def some(Z: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Return some columns."""
    return Z[:, rng.choice(Z.shape[1], min(n, Z.shape[1]), replace=False)]


def linear(Z: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Return a weighted sum of some columns."""
    chosen = some(Z, n, rng)
    return np.asarray(chosen @ rng.normal(size=chosen.shape[1]))


def curved(Z: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Return waves, squares and products of some columns."""
    chosen = some(Z, n, rng)
    total = np.sin(2 * chosen).sum(axis=1) + 0.5 * (chosen[:, 0] ** 2)
    return np.asarray(total + chosen[:, 0] * chosen[:, -1] + np.maximum(chosen[:, 1], 0))


def steps(Z: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Return a sum of boxes, each of two columns."""
    total = np.zeros(len(Z))
    for _ in range(n):
        pair = some(Z, 2, rng)
        total += rng.normal() * (pair > rng.normal(size=pair.shape[1]) / 2).all(axis=1)
    return total


Surface = Callable[[FloatArray, np.random.Generator], tuple[FloatArray, FloatArray]]
SURFACES: dict[str, Surface] = {
    "linear": lambda Z, rng: (scaled(linear(Z, 6, rng), 1.0), scaled(linear(Z, 3, rng), 0.7, 0.5)),
    "curved": lambda Z, rng: (scaled(curved(Z, 5, rng), 1.0), scaled(curved(Z, 2, rng), 0.7, 0.5)),
    "boxes": lambda Z, rng: (scaled(steps(Z, 6, rng), 1.0), scaled(steps(Z, 3, rng), 0.7, 0.5)),
    "small": lambda Z, rng: (scaled(curved(Z, 5, rng), 2.0), scaled(linear(Z, 3, rng), 0.3, 0.3)),
}
"""Name → what rows have without treatment, and what treatment adds."""


def assigned(assignment: str, Z: FloatArray, without: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the probability of treatment of each row."""
    if assignment != "confounded":
        return np.full(len(Z), 0.5 if assignment == "half" else 0.2)
    raw = scaled(scaled(without, 1.0) + scaled(linear(Z, 3, rng), 1.0), 1.0)
    return np.clip(1 / (1 + np.exp(-raw)), LEAST, MOST)
