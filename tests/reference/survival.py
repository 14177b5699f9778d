"""Survival analysis in plain words: slow twins of losses, splits, hazards and metrics."""

from __future__ import annotations

import math

import numpy as np


def cox_loss(time, event, raw):
    """Minus the logarithm of Cox's partial likelihood, ties after Efron, every row once."""
    total = 0.0
    for t in sorted(set(time[event])):
        dead = [i for i in range(len(time)) if time[i] == t and event[i]]
        at_risk = sum(math.exp(raw[i]) for i in range(len(time)) if time[i] >= t)
        dying = sum(math.exp(raw[i]) for i in dead)
        total -= sum(raw[i] for i in dead)
        total += sum(math.log(at_risk - place / len(dead) * dying) for place in range(len(dead)))
    return total


def breslow(time, event, raw):
    """Return times of events and the cumulative hazard of raw prediction 0."""
    times, hazard, total = sorted(set(time[event])), [], 0.0
    for t in times:
        total += ((time == t) & event).sum() / np.exp(raw[time >= t]).sum()
        hazard.append(total)
    return np.array(times), np.array(hazard)


def log_rank(time, event, weight, left):
    """U² / V of a split of weighted rows; None if it has no variance."""
    score = variance = 0.0
    for t in sorted(set(time[event & (weight > 0)])):
        at_risk, dying = time >= t, (time == t) & event
        y, d = weight[at_risk].sum(), weight[dying].sum()
        y_left, d_left = weight[at_risk & left].sum(), weight[dying & left].sum()
        score += d_left - y_left * d / y
        if y > 1:
            variance += d * (y_left / y) * (1 - y_left / y) * min((y - d) / (y - 1), 1.0)
    return score**2 / variance if variance > 1e-9 else None


def nelson_aalen(time, event, weight, at):
    """Cumulative hazard at some times."""
    total = np.zeros(len(at))
    for t in sorted(set(time[event & (weight > 0)])):
        step = weight[(time == t) & event].sum() / weight[time >= t].sum()
        total += np.where(np.asarray(at) >= t, step, 0.0)
    return total


def kaplan_meier(time, event, weight, at):
    """Probability to outlive some times."""
    alive = np.ones(len(at))
    for t in sorted(set(time[event & (weight > 0)])):
        step = weight[(time == t) & event].sum() / weight[time >= t].sum()
        alive *= np.where(np.asarray(at) >= t, 1 - step, 1.0)
    return alive


def first_times(survival, times, level):
    """Where each curve is first not above 1 − level; inf if nowhere."""
    return np.array(
        [
            min((t for t, s in zip(times, row, strict=True) if s <= 1 - level + 1e-12), default=np.inf)
            for row in survival
        ]
    )


def concordance(time, event, risk, weight):
    """Pairs by hand: an event is a time between equal bounds, a censored row has none above."""
    return concordance_of_bounds(time, np.where(event, time, np.inf), risk, weight, np.ones(len(time)))


def concordance_of_bounds(lower, upper, risk, weight, early):
    """Pairs by hand, of times known by bounds; ``early`` multiplies the weight of the row whose event comes first."""
    agreeing = pairs = 0.0
    for i in range(len(lower)):
        for j in range(len(lower)):
            is_exact = lower[j] == upper[j]
            if i == j or not (lower[j] > upper[i] or (lower[j] == upper[i] and not is_exact)):
                continue
            both = weight[i] * weight[j] * early[i]
            pairs += both
            agreeing += both * (0.5 if abs(risk[i] - risk[j]) <= 1e-8 else float(risk[i] > risk[j]))
    return agreeing / pairs if pairs else None


def auc(time, event, risk, t, weight):
    """Pairs of a row with its event by ``t`` and one at risk after it; the first weighs by its chance to be seen."""
    agreeing = pairs = 0.0
    for i in range(len(time)):
        for j in range(len(time)):
            if time[i] <= t and event[i] and time[j] > t:
                both = weight[i] * weight[j] / uncensored(time, event, time[i])
                pairs += both
                agreeing += both * (0.5 if abs(risk[i] - risk[j]) <= 1e-8 else float(risk[i] > risk[j]))
    return agreeing / pairs if pairs else None


def uncensored(time, event, t):
    """Kaplan–Meier probability not to be censored up to t; events come before censoring."""
    probability = 1.0
    for s in sorted(set(time[~event])):
        if s <= t:
            leaving = ((time == s) & ~event).sum()
            at_risk = (time > s).sum() + leaving
            probability *= 1 - leaving / at_risk
    return probability


def brier(time, event, survival, t):
    """Graf's score at one time."""
    costs = []
    for i in range(len(time)):
        if time[i] <= t and event[i]:
            costs.append(survival[i] ** 2 / uncensored(time, event, time[i]))
        elif time[i] > t:
            costs.append((1 - survival[i]) ** 2 / uncensored(time, event, t))
        else:
            costs.append(0.0)
    return sum(costs) / len(costs)
