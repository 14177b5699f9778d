"""Ranking, plainly: pairs one by one, and metrics as means over all orders of tied rows."""

from __future__ import annotations

import math
import struct
from itertools import chain, groupby, pairwise, permutations, product

from tests.reference.oblique import draw, mix, unit


def gain(y):
    return 2.0**y - 1


def discount(place):
    return 1 / math.log2(place + 2)


def dcg(grades, k):
    return sum(gain(y) * discount(place) for place, y in enumerate(grades[:k]))


def ndcg(grades, k):
    return dcg(grades, k) / dcg(sorted(grades, reverse=True), k)


def average_precision(grades, k):
    places = [place for place, y in enumerate(grades[:k], start=1) if y > 0]
    found = sum(count / place for count, place in enumerate(places, start=1))
    return found / min(sum(y > 0 for y in grades), k)


def reciprocal_rank(grades, k):
    return next((1 / place for place, y in enumerate(grades[:k], start=1) if y > 0), 0.0)


METRICS = {"ndcg": ndcg, "map": average_precision, "mrr": reciprocal_rank}


def mean_over_ties(metric, y, scores, k):
    """Mean of a metric over every order of the rows that the scores allow; NaN without a relevant row."""
    if not any(grade > 0 for grade in y):
        return math.nan
    rows = sorted(zip(scores, y, strict=True), key=lambda row: -row[0])
    ties = [[grade for _, grade in tie] for _, tie in groupby(rows, key=lambda row: row[0])]
    orders = [list(chain(*parts)) for parts in product(*map(permutations, ties))]
    return sum(METRICS[metric](order, k) for order in orders) / len(orders)


def swap_change(metric, grades, i, j, truncation, k):
    """Absolute change of the metric of the first k places when places i and j are swapped."""
    swapped = list(grades)
    swapped[i], swapped[j] = swapped[j], swapped[i]
    if metric == "ndcg":
        return abs(dcg(grades, k) - dcg(swapped, k)) / dcg(sorted(grades, reverse=True), min(truncation, k))
    return abs(METRICS[metric](grades, k) - METRICS[metric](swapped, k))


def better(metric, a, b):
    return (a > 0) > (b > 0) if metric in ("map", "mrr") else a > b


def pair_gradients(metric, y, raw, truncation, k=None):
    """Gradients and hessians of the rows of one query; ``metric`` None counts all pairs alike."""
    n, k = len(y), k or len(y)
    order = sorted(range(n), key=lambda row: (-raw[row], row))
    grades = [y[row] for row in order]
    gradient, hessian, size = [0.0] * n, [0.0] * n, 0.0
    for i in range(n):
        for j in range(n):
            if min(i, j) >= truncation or not better(metric, grades[i], grades[j]):
                continue
            a, b = order[i], order[j]
            x = raw[a] - raw[b]
            weight = 1.0
            if metric is not None:
                weight = swap_change(metric, grades, i, j, truncation, k)
                if max(raw) != min(raw):
                    weight /= 0.01 + abs(x)
            p = 1 / (1 + math.exp(x)) if x < 700 else 0.0
            gradient[a] -= p * weight
            gradient[b] += p * weight
            hessian[a] += p * (1 - p) * weight
            hessian[b] += p * (1 - p) * weight
            size += 2 * p * weight
    factor = math.log2(1 + size) / size if size > 0 else 1.0
    return [factor * g for g in gradient], [factor * h for h in hessian]


def list_gradients(y, raw):
    """Gradients and hessians of cross entropy between gains and softmax, in one query."""
    total, gains = sum(math.exp(one - max(raw)) for one in raw), sum(map(gain, y))
    if gains == 0:
        return [0.0] * len(y), [0.0] * len(y)
    p = [math.exp(one - max(raw)) / total for one in raw]
    return [q - gain(one) / gains for q, one in zip(p, y, strict=True)], [q * (1 - q) for q in p]


def neighbour_gradients(y, raw, key, draws):
    """Gradients and hessians of YetiRank in one query; orders are drawn by the key and the grades."""
    n = len(y)
    gradient, hessian = [0.0] * n, [0.0] * n
    for grade in y:
        key = mix(key ^ struct.unpack("<Q", struct.pack("<d", grade))[0])
    for number in range(draws):
        uniform = [unit(draw(key, number, row)) for row in range(n)]
        score = [one + math.log(u / (1 - u)) for one, u in zip(raw, uniform, strict=True)]
        order = sorted(range(n), key=lambda row: (-score[row], row))
        for place, pair in enumerate(pairwise(order)):
            b, a = sorted(pair, key=lambda row: y[row])
            x, weight = raw[a] - raw[b], 0.85**place * abs(y[a] - y[b]) / draws
            p = 1 / (1 + math.exp(x)) if x < 700 else 0.0
            for row, sign in ((a, -1), (b, 1)):
                gradient[row] += sign * weight * p
                hessian[row] += weight * p * (1 - p)
    return gradient, hessian
