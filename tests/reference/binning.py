"""Binning as one would explain it on a blackboard: sort, count, cut, compare."""

from __future__ import annotations

import math
from itertools import pairwise


def distinct(values, weights=None):
    """Rising [value, weight]; NaN and rows of no weight are left out, −0.0 is 0.0."""
    total = {}
    for value, weight in zip(map(float, values), [1.0] * len(values) if weights is None else weights, strict=True):
        if not math.isnan(value) and weight > 0:
            total[value + 0.0] = total.get(value + 0.0, 0.0) + weight
    return sorted(total.items())


def between(a, b):
    """Give the middle of a < b if float arithmetic finds one, else a."""
    middle = a / 2 + b / 2
    return middle if a <= middle < b else a


def cuts(values, weights=None, max_bins=None):
    """Bins of about equal weight.

    A heavy value has at least the fair share of one bin. Light values fill bins up to an equal share of what light
    weight and bins are left; a bin is closed early in front of a heavy value, if each later run of light values can
    still have a bin. If there are bins enough, every value has its own; but if one value has nine tenths of the weight
    and there are more than 16, the others join until they weigh 3.
    """
    found = distinct(values, weights)
    pairs = list(pairwise(found))
    if max_bins is None or len(found) <= max_bins:
        total = sum(weight for _, weight in found)
        mostly_one = len(found) > 16 and max(weight for _, weight in found) >= 0.9 * total
        least = 3 if mostly_one and max_bins is not None else 0
        chosen, filled = [], 0.0
        for (value, weight), (following, next_weight) in pairs:
            filled += weight
            if filled >= least or next_weight >= least:
                chosen.append(between(value, following))
                filled = 0.0
        return chosen
    fair = sum(weight for _, weight in found) / max_bins
    light_left = sum(weight for _, weight in found if weight < fair)
    bins_left = max_bins - sum(weight >= fair for _, weight in found)
    share = light_left / max(bins_left, 1)
    chosen, filled = [], 0.0
    light = [weight < fair for _, weight in found]
    for i, ((value, weight), (following, next_weight)) in enumerate(pairs):
        heavy = weight >= fair
        if not heavy:
            filled += weight
            light_left -= weight
        runs_after = sum(light[k] and not light[k - 1] for k in range(i + 1, len(found)))
        early = next_weight >= fair and filled > 0 and (bins_left > runs_after or filled >= share / 2)
        full = filled >= share or early
        if not (heavy or full) or len(chosen) == max_bins - 1:
            continue
        chosen.append(between(value, following))
        filled = 0.0
        if not heavy:
            bins_left -= 1
            share = light_left / max(bins_left, 1)
    return chosen


def codes(values, cuts):
    """Count the cuts below each value; one more than the last code for NaN."""
    return [len(cuts) + 1 if math.isnan(x) else sum(cut < x for cut in cuts) for x in map(float, values)]
