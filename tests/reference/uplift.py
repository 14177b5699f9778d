"""Uplift trees by brute force: what a node says, what a cut gains, which cuts there are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

LEAST = 1e-6


def inner(share):
    return min(max(share, LEAST), 1 - LEAST)


def divergence(criterion, p, q):
    if criterion == "euclidean":
        return (p - q) ** 2
    if criterion == "chi2":
        return (p - q) ** 2 / (inner(q) * (1 - inner(q)))
    p, q = inner(p), inner(q)
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def impurity(criterion, p):
    if criterion != "kl":
        return 2 * p * (1 - p)
    return -sum(x * math.log(x) for x in (p, 1 - p) if x > 0)


@dataclass(frozen=True)
class Problem:
    """Columns with an outcome, an arm (0 is the control) and a weight for each row."""

    X: np.ndarray  # NaN is missing
    categorical: tuple
    y: np.ndarray
    arm: np.ndarray
    weight: np.ndarray
    criterion: str
    normalise: bool
    parent_weight: float
    least_arm: int
    least_rows: int

    @property
    def n_arms(self):
        return int(self.arm.max()) + 1

    def outcomes(self, rows, parent=None):
        """Outcome of each arm, drawn towards that of the parent."""
        found = []
        for k in range(self.n_arms):
            mine = rows[self.arm[rows] == k]
            total, weight = (self.weight[mine] * self.y[mine]).sum(), self.weight[mine].sum()
            drawn = 0 if parent is None else self.parent_weight
            found.append((total + drawn * (0 if parent is None else parent[k])) / (weight + drawn))
        return np.array(found)

    def apart(self, outcomes):
        return sum(divergence(self.criterion, p, outcomes[0]) for p in outcomes[1:])

    def balance(self, rows, left):
        """Rzepakowski & Jaroszewicz 2012, eq. 10 and 11; treatments pooled in the first term."""

        def share(of):
            return self.weight[left][of[left]].sum() / self.weight[rows][of[rows]].sum()

        treated = self.arm > 0
        total = self.weight[rows].sum()
        value = impurity(self.criterion, self.weight[rows][treated[rows]].sum() / total)
        value *= divergence(self.criterion, share(treated), share(~treated))
        for k in range(self.n_arms):
            of = self.arm == k
            value += self.weight[rows][of[rows]].sum() / total * impurity(self.criterion, share(of))
        return value + 0.5

    def gain(self, rows, left, node):
        """Gain of a cut, -inf if it is not allowed or gains nothing."""
        right = np.setdiff1d(rows, left)
        for side in (left, right):
            counts = np.bincount(self.arm[side], minlength=self.n_arms)
            if len(side) < self.least_rows or counts.min() < self.least_arm:
                return -math.inf
        sides = sum(self.weight[side].sum() * self.apart(self.outcomes(side, node)) for side in (left, right))
        gain = sides - self.weight[rows].sum() * self.apart(node)
        if not gain > 0:
            return -math.inf
        return gain / self.balance(rows, left) if self.normalise else gain

    def cuts(self, rows):
        """Rows that go left, of every cut that is tried."""
        for feature in range(self.X.shape[1]):
            values = self.X[rows, feature]
            yield from self.category_cuts(rows, values) if self.categorical[feature] else self.number_cuts(rows, values)

    def number_cuts(self, rows, values):
        missing = np.isnan(values)
        for t in np.unique(values[~missing])[:-1]:
            yield rows[values <= t]
            if missing.any():
                yield rows[(values <= t) | missing]
        if missing.any() and not missing.all():
            yield rows[missing]

    def category_cuts(self, rows, values):
        """Prefixes of the order by the effect of each treatment, drawn towards that in all rows; NaN is a level."""
        everywhere = self.outcomes(np.arange(len(self.y)))
        drawn = max(self.parent_weight, 1.0)
        keys = np.where(np.isnan(values), math.inf, values)
        levels = np.unique(keys)

        def outcome(level, k):
            mine = rows[(keys == level) & (self.arm[rows] == k)]
            total, weight = (self.weight[mine] * self.y[mine]).sum(), self.weight[mine].sum()
            return (total + drawn * everywhere[k]) / (weight + drawn)

        for k in range(1, min(self.n_arms, 9)):
            order = sorted(levels, key=lambda level, k=k: outcome(level, k) - outcome(level, 0))
            for n in range(1, len(order)):
                yield rows[np.isin(keys, order[:n])]

    def best_gain(self, rows, node):
        return max((self.gain(rows, left, node) for left in self.cuts(rows)), default=-math.inf)
