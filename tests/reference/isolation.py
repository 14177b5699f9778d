"""Isolation trees as plain recursion over rows, with the draws of the kernel; and contributions along paths."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from tests.reference.oblique import draw, mix, unit
from tests.reference.prediction import projected

from arboretum.model.forest import CATEGORY, LEAF, LISTED, NUMERIC, OBLIQUE

LEFT, RIGHT, CUT, MISSING, SIDE, NORMAL, FEATURE = range(7)
BOOTSTRAP, TREE = 0x626F6F74, 0x74726565


def average_path_length(n):
    """2 H(n − 1) − 2 (n − 1) / n, to the nearest multiple of 2⁻³²."""
    if n < 2:
        return 0.0
    return float(round((2 * sum(Fraction(1, i) for i in range(1, n)) - Fraction(2 * (n - 1), n)) * 2**32)) / 2**32


def standard_normal(bits):
    return math.sqrt(-2 * math.log(1 - unit(mix(bits)))) * math.cos(2 * math.pi * unit(bits))


def content_key(columns, ranks, row):
    """Sum of a hash of each value; ``ranks`` are those of categories by code, None for numbers."""
    key = 0
    for c, column in enumerate(columns):
        value = column[row]
        if ranks[c] is not None:
            bits = 2**64 - 1 if value < 0 else ranks[c][value]
        else:
            bits = 2**64 - 1 if math.isnan(value) else int(np.float64(value + 0.0).view(np.uint64))
        key += mix(mix(c) ^ bits)
    return key % 2**64


def drawn_rows(pool, n_draws, with_replacement, seed, tree):
    """Rows of a tree from a pool without weights."""
    key, taken = draw(seed, BOOTSTRAP, tree), []
    for i in range(n_draws):
        if with_replacement:
            taken.append(int(unit(draw(key, i)) * len(pool)))
            continue
        most = len(pool) - n_draws + i
        pick = int(unit(draw(key, i)) * (most + 1))
        taken.append(most if pick in taken else pick)
    return [pool[place] for place in taken]


class Isolation:
    """Nodes of one tree in preorder, as (kind, features, threshold or names, missing_left, n_rows, value)."""

    def __init__(self, columns, ranks, rows, key, *, max_depth, max_terms=1, max_features=None):
        self.columns, self.ranks, self.max_depth, self.max_terms = columns, ranks, max_depth, max_terms
        self.features = list(range(len(columns)))
        if max_features is not None and max_features < len(columns):
            for i in range(max_features):
                j = i + int(unit(draw(draw(key, 0), i)) * (len(columns) - i))
                self.features[i], self.features[j] = self.features[j], self.features[i]
            del self.features[max_features:]
        self.nodes = []
        self.grow(rows, 0, draw(key, 1), len(self.features))

    def value(self, feature, row):
        value = float(self.columns[feature][row])
        return math.nan if self.ranks[feature] is not None and value < 0 else value

    def varies(self, feature, rows):
        values = [self.value(feature, row) for row in rows]
        present = {value for value in values if not math.isnan(value)}
        return len(present) > 1 or (len(present) == 1 and any(map(math.isnan, values)))

    def grow(self, rows, depth, path, n_varying):
        leaf = (LEAF, [], None, False, len(rows), depth + average_path_length(len(rows)))
        if len(rows) < 2 or depth == self.max_depth:
            self.nodes.append(leaf)
            return
        chosen, n_varying = self.choose(rows, path, n_varying)
        if not chosen:
            self.nodes.append(leaf)
            return
        is_category = self.ranks[chosen[0]] is not None
        cut = self.cut_categories if is_category else self.cut_obliquely if len(chosen) > 1 else self.cut_numbers
        kind, what, missing_left, left = cut(chosen, rows, path)
        self.nodes.append((kind, chosen, what, missing_left, *leaf[4:]))
        self.grow([row for row, goes in zip(rows, left, strict=True) if goes], depth + 1, draw(path, LEFT), n_varying)
        others = [row for row, goes in zip(rows, left, strict=True) if not goes]
        self.grow(others, depth + 1, draw(path, RIGHT), n_varying)

    def choose(self, rows, path, n_varying):
        features, chosen, at, draws = self.features, [], 0, 0
        while at < n_varying:
            pick = at + int(unit(draw(path, FEATURE, draws)) * (n_varying - at))
            draws += 1
            features[pick], features[at] = features[at], features[pick]
            feature = features[at]
            if chosen and self.ranks[feature] is not None:
                at += 1
            elif not self.varies(feature, rows):
                n_varying -= 1
                features[at], features[n_varying] = features[n_varying], features[at]
            else:
                chosen.append(feature)
                at += 1
                if self.ranks[feature] is not None or len(chosen) == self.max_terms:
                    break
        return chosen, n_varying

    def missing_side(self, values, left, path):
        """Draw a side if some are missing; else that of most rows."""
        if any(map(math.isnan, values)):
            return bool(draw(path, MISSING) & 1)
        return 2 * sum(left) >= len(values)

    def cut_numbers(self, chosen, rows, path):
        values = [self.value(chosen[0], row) for row in rows]
        present = sorted({value for value in values if not math.isnan(value)})
        if len(present) == 1:
            return NUMERIC, math.inf, False, [not math.isnan(value) for value in values]
        low, high, u = present[0], present[-1], unit(draw(path, CUT))
        if low == -math.inf and (high < math.inf or u < 0.5):
            threshold = low
        elif high == math.inf:
            threshold = present[-2]
        else:
            threshold = between(low, high, u)
            threshold = threshold if low <= threshold < high else low
        side = self.missing_side(values, [value <= threshold for value in values], path)
        return NUMERIC, threshold, side, [side if math.isnan(value) else value <= threshold for value in values]

    def cut_categories(self, chosen, rows, path):
        codes = [self.value(chosen[0], row) for row in rows]
        present = {int(code) for code in codes if not math.isnan(code)}
        ranks, attempt = self.ranks[chosen[0]], 0
        while True:
            key = draw(path, SIDE, attempt)
            named = {code for code in present if draw(key, ranks[code]) & 1}
            if named and (named != present or len(present) == 1):
                break
            attempt += 1
        n_left, n_present = sum(code in named for code in codes), sum(not math.isnan(code) for code in codes)
        if 2 * n_left < n_present:
            named = present - named
        side = len(present) > 1 and self.missing_side(codes, [code in named for code in codes], path)
        left = [side if math.isnan(code) else code in named for code in codes]
        kind = LISTED if len(named) < (len(ranks) + 31) // 32 else CATEGORY
        return kind, sorted(named), side, left

    def cut_obliquely(self, chosen, rows, path):
        threshold, weights, fills = 0.0, [], []
        for i, feature in enumerate(chosen):
            finite = [v for v in (self.value(feature, row) for row in rows) if math.isfinite(v)]
            low, high, mean = (min(finite), max(finite), 0.0) if finite else (0.0, 0.0, 0.0)
            for value in finite:
                mean += value / len(finite)
            key, span = draw(path, NORMAL, i), high - low
            weights.append(standard_normal(key) / (span if span > 0 and 0 < 1 / span < math.inf else 1.0))
            fills.append(mean)
            threshold += weights[-1] * between(low, high, unit(draw(key, CUT)))
        threshold = 0.0 if math.isnan(threshold) else threshold
        left = []
        for row in rows:
            total = 0.0
            for feature, weight, fill in zip(chosen, weights, fills, strict=True):
                value = self.value(feature, row)
                total += weight * (fill if math.isnan(value) else value)
            left.append(total <= threshold)
        return OBLIQUE, (threshold, weights, fills), False, left


def between(low, high, u):
    return low + u * (high - low) if high - low < math.inf else low * (1 - u) + high * u


def contributions(forest, columns, n_rows, n_features, unknown):
    """Give what each column of a row changes on its paths, and the sum of what roots expect."""
    out = np.zeros((n_rows, n_features))
    expected = 0.0
    for tree in range(forest.n_trees):
        start = int(forest.tree_start[tree])

        def children(i, start=start):
            return start + int(forest.left[i]), start + int(forest.right[i])

        def share_of_left(i, children=children):
            left, right = (int(forest.n_rows[child]) for child in children(i))
            return left / (left + right) if left + right else 0.5

        means = {}
        for i in reversed(range(start, int(forest.tree_start[tree + 1]))):
            means[i] = float(forest.value[i, 0])
            if forest.kind[i] != LEAF:
                left, right = children(i)
                means[i] = share_of_left(i) * means[left] + (1 - share_of_left(i)) * means[right]

        def descend(i, row, weight, total, means=means, children=children):
            if forest.kind[i] == LEAF:
                return
            share = to_left(forest, i, row, unknown, share_of_left(i))
            for child, part in zip(children(i), (share, 1 - share), strict=True):
                if part:
                    for feature, credit in shares(forest, i, row):
                        total[feature] += weight * part * credit * (means[child] - means[i])
                    descend(child, row, weight * part, total)

        expected += means[start]
        for r in range(n_rows):
            descend(start, [column[r] for column in columns], 1.0, out[r])
    return out, expected


def to_left(forest, i, row, unknown, share):
    """Share of a row that goes left."""
    if forest.kind[i] == OBLIQUE:
        return float(projected(forest, i, row) <= forest.threshold[i])
    value = row[forest.feature[i]]
    missing = float(forest.missing_left[i])
    if forest.kind[i] == NUMERIC:
        return missing if math.isnan(value) else float(value <= forest.threshold[i])
    if value == -1 or (value == -2 and unknown == "missing"):
        return missing
    if value == -2:
        return share
    words = forest.set_words[forest.set_start[i] : forest.set_start[i + 1]].tolist()
    return float(value in words if forest.kind[i] == LISTED else words[value // 32] >> (value % 32) & 1)


def shares(forest, i, row):
    """Give (column, share) of a condition."""
    if forest.kind[i] != OBLIQUE:
        return [(int(forest.feature[i]), 1.0)]
    part = slice(forest.projection_start[i], forest.projection_start[i + 1])
    features, fills = forest.projection_feature[part].tolist(), forest.projection_fill[part]
    values = np.array([fill if math.isnan(row[f]) else row[f] for f, fill in zip(features, fills, strict=True)])
    with np.errstate(over="ignore"):
        away = np.abs(forest.projection_weight[part] * (values - fills))
    with np.errstate(over="ignore"):
        total = away.sum()
    if not total < math.inf:
        away = np.isinf(away).astype(float)
    return list(zip(features, away / away.sum() if away.sum() > 0 else np.full(len(away), 1 / len(away)), strict=True))
