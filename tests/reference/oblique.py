"""Oblique trees as one would explain them on a blackboard: draw sums of columns, sort, try every cut, recurse."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, field

import numpy as np

WORD = 2**64 - 1


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return x ^ (x >> 31)


def draw(seed, *counters):
    for counter in counters:
        seed = mix(seed ^ mix(counter & WORD))
    return seed


def unit(bits):
    return (bits >> 11) * 2.0**-53


def root_path(seed, tree):
    return draw(seed, 0x74726565, tree, 0x726F6F74)


def size_weights(n, density):
    """Binomial weights of 2, 3, … n columns."""
    if density == 1:
        return [0.0] * (n - 2) + [1.0]
    return [math.comb(n, k) * density**k * (1 - density) ** (n - k) for k in range(2, n + 1)]


def draw_terms(path, number, scales, density):
    """Give {column: weight}, columns rising."""
    key, n = draw(path, 0x70726F6A, number), len(scales)
    cumulative = np.cumsum(size_weights(n, density)).tolist()
    size = 2 + min(bisect.bisect_right(cumulative, unit(draw(key, 0)) * cumulative[-1]), n - 2)
    chosen = {}
    for i, most in enumerate(range(n - size, n)):
        bits = draw(key, 1 + i)
        pick = int(unit(bits) * (most + 1))
        chosen[most if pick in chosen else pick] = -1 if bits & 1 else 1
    first = chosen[min(chosen)]
    return {column: first * chosen[column] / scales[column] for column in sorted(chosen)}


def project(terms, X):
    total = np.zeros(len(X))
    for column, weight in terms.items():
        total = total + weight * X[:, column]
    return total


def random_threshold(path, number, z):
    u = unit(draw(path, 0x70726F6A, number, WORD))
    return z.min() + u * (z.max() - z.min())


def gini(y):
    share = np.bincount(y) / len(y)
    return len(y) * (1 - (share**2).sum())


def squared_error(y):
    return ((y - y.mean()) ** 2).sum()


def absolute_error(y):
    return np.abs(y - np.median(y)).sum()


@dataclass
class Best:
    gain: float = -1.0
    cut: tuple = ()  # (terms, threshold)

    def offer(self, gain, cut):
        if gain > (self.gain * (1 + 1e-10) if self.cut else -1):
            self.gain, self.cut = gain, cut


def best_cut(z, y, impurity, min_samples_leaf, terms):
    found, order = Best(), np.argsort(z, kind="stable")
    for i in range(min_samples_leaf, len(z) - min_samples_leaf + 1):
        a, b = z[order[i - 1]], z[order[i]]
        if a < b:
            gain = impurity(y) - impurity(y[order[:i]]) - impurity(y[order[i:]])
            found.offer(gain, (terms, a / 2 + b / 2))
    return found


@dataclass
class Twin:
    """Nodes in preorder: (terms, threshold, gain, rows); a leaf has no terms."""

    X: np.ndarray
    y: np.ndarray
    impurity: object
    scales: list
    n_projections: int
    density: float
    min_samples_leaf: int = 1
    nodes: list = field(default_factory=list)

    def grow(self, path, rows=None):
        rows = np.arange(len(self.y)) if rows is None else rows
        X, y = self.X[rows], self.y[rows]
        best = Best()
        if len(rows) >= 2 * self.min_samples_leaf and len(set(y.tolist())) > 1:
            axes = [{column: 1.0} for column in range(X.shape[1])]
            sums = [draw_terms(path, number, self.scales, self.density) for number in range(self.n_projections)]
            for terms in (*axes, *sums):
                z = X[:, min(terms)] if len(terms) == 1 else project(terms, X)
                found = best_cut(z, y, self.impurity, self.min_samples_leaf, terms)
                if found.cut:
                    best.offer(found.gain, found.cut)
        if not best.cut:
            self.nodes.append(({}, 0.0, 0.0, len(rows)))
            return self
        terms, threshold = best.cut
        self.nodes.append((terms, threshold, best.gain, len(rows)))
        left = (X[:, min(terms)] if len(terms) == 1 else project(terms, X)) <= threshold
        self.grow(draw(path, 1), rows[left])
        return self.grow(draw(path, 2), rows[~left])
