"""Average effects and values of policies, from rows that a model has not seen, with standard errors.

With effect τ(x), expected outcome m(x) and probability of treatment e(x), an unbiased score of the effect on a row is

    ψ = τ + (t − e) / (e (1 − e)) · (y − m − (t − e) τ)

Its mean is right if e is, or if m and τ are: it is doubly robust (Robins, Rotnitzky & Zhao 1994). The value of a policy
is the mean outcome of the rows that got what it chooses, each weighted by 1 / the probability of that (Hájek 1971).
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import first_true
from arboretum.data import targets
from arboretum.metrics.uplift import checked_chances, read_experiment

FloatArray: TypeAlias = NDArray[np.float64]


class Estimate(NamedTuple):
    """A number and its standard error."""

    value: float
    error: float


def average_effect(
    y: Any, uplift: Any, treatment: Any, *, expected: Any = None, propensity: Any = None, sample_weight: Any = None
) -> Estimate:
    """Average effect of a treatment over rows that the model has not seen.

    Parameters
    ----------
    y, uplift, treatment, sample_weight
        As for ``qini_curve``; a model's predictions make the estimate more precise, but need not be right.
    expected : array-like, optional
        Expected outcome of each row, whatever its treatment, by a model that has not seen the row; by default the mean.
    propensity : array-like, optional
        Probability of treatment of each row; by default the share of treated rows, as in a randomised experiment.

    Returns
    -------
    Estimate
        ``value`` and standard ``error``; value ± 1.96 error holds the average effect in about 95 % of experiments.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, treated = rng.normal(size=4000), rng.random(4000) < 0.5
    >>> y = 3 * x + treated * (1 + x) + rng.normal(size=4000)
    >>> effect = average_effect(y, 1 + x, treated, expected=3.5 * x + 0.5)
    >>> round(effect.value, 2), round(effect.error, 2)
    (0.98, 0.03)
    """
    rows = read_experiment(y, uplift, treatment, sample_weight)
    total = rows.weight.sum()
    share = float(rows.weight[rows.treated].sum() / total)
    chance = np.full(len(rows.y), share) if propensity is None else checked_chances(propensity, len(rows.y))
    if expected is None:
        level = np.full(len(rows.y), np.average(rows.y, weights=rows.weight))
    else:
        given = targets.as_column(expected, len(rows.y), "expected", "y")
        level = targets.as_numbers(given, "expected", "give numbers")
    apart = rows.treated - chance
    score = rows.uplift + apart / (chance * (1 - chance)) * (rows.y - level - apart * rows.uplift)
    return _mean(score, rows.weight)


def policy_value(y: Any, policy: Any, treatment: Any, *, propensity: Any = None, sample_weight: Any = None) -> Estimate:
    """Mean outcome if every row got the arm that a policy chooses for it, by inverse probability.

    Parameters
    ----------
    y : array-like (n_rows,)
        Outcomes, as numbers.
    policy, treatment : array-like (n_rows,)
        The arm that the policy chooses for each row, and the arm that the row got; labels of any kind.
    propensity : array-like, optional
        Probability of the arm that each row got; by default the share of rows that got it.
    sample_weight : array-like, optional
        Weight of each row.

    Returns
    -------
    Estimate
        ``value`` and standard ``error``.

    Examples
    --------
    >>> arm = np.array(["mail", "none", "mail", "none"] * 50)
    >>> y = np.array([1.0, 0.0, 0.0, 1.0] * 50)  # mail helps the first two rows of four and harms the others
    >>> policy_value(y, np.array(["mail", "mail", "none", "none"] * 50), arm).value
    1.0
    """
    column = targets.to_numpy(y, "y")
    n_rows = len(targets.as_column(column, len(column) if column.ndim else 0))
    outcome = targets.as_numbers(column.ravel(), "y", "encode outcomes as 0 and 1")
    chosen, got = (
        targets.as_column(part, n_rows, name, "y") for part, name in ((policy, "policy"), (treatment, "treatment"))
    )
    weight = targets.row_weights(sample_weight, n_rows, table="y")
    weight = np.ones(n_rows) if weight is None else weight
    labels, arm = targets.unique_labels(got)
    if (row := first_true(~np.isin(chosen, labels))) is not None:
        (unknown,) = chosen[row : row + 1].tolist()
        raise ValueError(
            f"policy chooses {unknown!r} in row {row}, which no row got: its outcome cannot be estimated; "
            f"treatment has {labels.tolist()[:10]}"
        )
    shares = np.bincount(arm, weight) / weight.sum()
    chance = shares[arm] if propensity is None else checked_chances(propensity, n_rows)
    follows = weight * (chosen == got) / chance
    if not follows.any():
        raise ValueError("no row got the arm that policy chooses for it: its value cannot be estimated")
    value = float(np.average(outcome, weights=follows))
    spread = np.sqrt(np.sum((follows * (outcome - value)) ** 2))
    return Estimate(value, float(spread) / float(follows.sum()))


def _mean(score: FloatArray, weight: FloatArray) -> Estimate:
    """Return the weighted mean of independent scores."""
    value = float(np.average(score, weights=weight))
    n_rows = float(np.count_nonzero(weight))
    spread = float(np.sqrt(np.sum((weight * (score - value)) ** 2)) / weight.sum())
    return Estimate(value, spread * float(np.sqrt(n_rows / max(n_rows - 1.0, 1.0))))
