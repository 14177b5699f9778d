"""How well predicted uplift ranks rows, from a control group and one treated group.

Rows are taken in the order of falling uplift. Of those down to some uplift let n_t, n_c be the treated and control
rows, and Y_t, Y_c the sums of their outcomes::

    Qini curve     Y_t − Y_c · n_t / n_c                     extra outcomes among the treated (Radcliffe 2007)
    uplift curve   (Y_t / n_t − Y_c / n_c) · (n_t + n_c)     the same, were all of these rows treated
    a score        (area of the curve − area of the straight line to its end) / the same for the best of orders

A ratio whose denominator has no rows counts as 0. Rows of equal uplift are taken together: a constant scores 0. The
best order takes treated rows by falling outcome, then control rows by rising outcome; of uplift curves, treated
responders and control non-responders first, control responders and treated non-responders last (Devriendt, Guns &
Verbeke 2020). With ``propensity``, a row counts 1 / the probability of the arm that it got, and the weight of each arm
stays the number of its rows. Curves, and normalised scores of outcomes 0 and 1, are those of scikit-uplift.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import first_true
from arboretum.data import targets
from arboretum.data.weights import by_inverse_chance

FloatArray: TypeAlias = NDArray[np.float64]


def qini_curve(
    y: Any, uplift: Any, treatment: Any, *, sample_weight: Any = None, propensity: Any = None
) -> tuple[FloatArray, FloatArray]:
    """Extra outcomes as a function of the number of rows taken.

    Parameters
    ----------
    y : array-like (n_rows,)
        Outcomes: 0 and 1, or numbers.
    uplift : array-like (n_rows,)
        Predicted uplift; the largest is taken first.
    treatment : array-like (n_rows,)
        Whether a row was treated: 0 and 1, or booleans.
    sample_weight : array-like, optional
        Weight of each row.
    propensity : array-like, optional
        Probability of treatment of each row, where it differs: rows are weighted by its inverse.

    Returns
    -------
    rows, gain : ndarray of float64
        Points of the curve, from (0, 0) on; rows are sums of weights.

    Examples
    --------
    >>> rows, gain = qini_curve([1, 0, 0, 1], [0.9, 0.8, 0.2, 0.1], [1, 0, 1, 0])
    >>> rows.tolist(), gain.tolist()
    ([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 1.0, 1.0, 0.0])
    """
    return read_experiment(y, uplift, treatment, sample_weight, propensity).qini()


def uplift_curve(
    y: Any, uplift: Any, treatment: Any, *, sample_weight: Any = None, propensity: Any = None
) -> tuple[FloatArray, FloatArray]:
    """Gain as a function of the number of rows taken, if all of them were treated.

    Parameters and returns are those of ``qini_curve``.

    Examples
    --------
    >>> rows, gain = uplift_curve([1, 0, 0, 1], [0.9, 0.8, 0.2, 0.1], [1, 0, 1, 0])
    >>> gain.tolist()
    [0.0, 1.0, 2.0, 1.5, 0.0]
    """
    return read_experiment(y, uplift, treatment, sample_weight, propensity).gain()


def qini_score(
    y: Any, uplift: Any, treatment: Any, *, normalise: bool = True, sample_weight: Any = None, propensity: Any = None
) -> float:
    """Qini coefficient: how far the Qini curve lies above that of a random order.

    Parameters
    ----------
    y, uplift, treatment, sample_weight, propensity
        As for ``qini_curve``.
    normalise : bool, default=True
        Divide by the area of the best order: 1 is perfect, 0 is random. False gives the area with both axes divided by
        the number of rows, so that it does not grow with them.

    Examples
    --------
    >>> qini_score([1, 0, 0, 1], [0.9, 0.8, 0.2, 0.1], [1, 0, 1, 0])
    1.0
    """
    experiment = read_experiment(y, uplift, treatment, sample_weight, propensity)
    return _score(experiment.qini(), experiment.ordered_by(experiment.effect).qini() if normalise else None)


def auuc_score(
    y: Any, uplift: Any, treatment: Any, *, normalise: bool = True, sample_weight: Any = None, propensity: Any = None
) -> float:
    """Area under the uplift curve, above that of a random order.

    Parameters
    ----------
    y, uplift, treatment, sample_weight, propensity, normalise
        As for ``qini_score``; the best order is known only for outcomes 0 and 1.

    Examples
    --------
    >>> y, treatment = [1, 0, 0, 1], [1, 0, 1, 0]
    >>> auuc_score(y, [0.9, 0.8, 0.2, 0.1], treatment), auuc_score(y, [0.5, 0.5, 0.5, 0.5], treatment)
    (1.0, 0.0)
    """
    experiment = read_experiment(y, uplift, treatment, sample_weight, propensity)
    return _score(experiment.gain(), experiment.ordered_by(experiment.best_gain).gain() if normalise else None)


def uplift_at_k(
    y: Any,
    uplift: Any,
    treatment: Any,
    *,
    k: float = 0.3,
    strategy: str = "overall",
    sample_weight: Any = None,
    propensity: Any = None,
) -> float:
    """Mean outcome of the treated less that of the control, among the rows of largest predicted uplift.

    Parameters
    ----------
    y, uplift, treatment, sample_weight, propensity
        As for ``qini_curve``.
    k : float or int, default=0.3
        Rows to take: a share between 0 and 1, or their number. Among rows of equal uplift, the last come first.
    strategy : {"overall", "by_group"}, default="overall"
        Take the first rows of all, or of each group.

    Examples
    --------
    >>> uplift_at_k([1, 0, 0, 1], [0.9, 0.8, 0.2, 0.1], [1, 0, 1, 0], k=2)
    1.0
    """
    experiment = read_experiment(y, uplift, treatment, sample_weight, propensity)
    if strategy not in ("overall", "by_group"):
        raise ValueError(f"strategy={strategy!r}: use 'overall' or 'by_group'")
    order = np.argsort(experiment.uplift, kind="stable")[::-1]
    if strategy == "overall":
        order = order[: _n_taken(k, len(order))]
    groups = [order[experiment.treated[order] == which] for which in (True, False)]
    if strategy == "by_group":
        groups = [group[: _n_taken(k, len(group))] for group in groups]
    if not all(len(rows) for rows in groups):
        raise ValueError(f"k={k!r} takes no row of one of the groups: take more, or use strategy='by_group'")
    after, before = (np.average(experiment.y[rows], weights=experiment.weight[rows]) for rows in groups)
    return float(after - before)


def _n_taken(k: Any, n_rows: int) -> int:
    if isinstance(k, Integral) and not isinstance(k, bool) and 0 < int(k) <= n_rows:
        return int(k)
    if isinstance(k, Real) and not isinstance(k, Integral) and 0 < float(k) <= 1:
        return int(n_rows * float(k))
    raise ValueError(f"k={k!r}: use a share above 0 and at most 1, or a number of rows of at most {n_rows}")


def checked_chances(propensity: Any, n_rows: int) -> FloatArray:
    """Return probabilities, above 0 and below 1.

    Examples
    --------
    >>> checked_chances([0.5, 0.25], 2)
    array([0.5 , 0.25])
    """
    given = targets.as_column(propensity, n_rows, "propensity", "y")
    chance = targets.as_numbers(given, "propensity", "give the probability of treatment")
    if (row := first_true(~((chance > 0) & (chance < 1)))) is not None:
        raise ValueError(
            f"propensity is {chance[row]:g} in row {row}: use probabilities above 0 and below 1; leave out rows that "
            "could get one arm alone"
        )
    return chance


def read_experiment(
    y: Any, uplift: Any, treatment: Any, sample_weight: Any = None, propensity: Any = None
) -> Experiment:
    """Check what was given; probabilities of treatment become weights."""
    given = targets.to_numpy(y, "y")
    n_rows = len(targets.as_column(given, len(given) if given.ndim else 0))
    if not n_rows:
        raise ValueError("y is empty: give at least one treated and one control row")
    outcome = targets.as_numbers(given.ravel(), "y", "encode outcomes as 0 and 1")
    score = targets.as_numbers(targets.as_column(uplift, n_rows, "uplift", "y"), "uplift", "give numbers")
    group = targets.as_numbers(
        targets.as_column(treatment, n_rows, "treatment", "y"), "treatment", "use 1 for treated rows, 0 for control"
    )
    if (row := first_true(~np.isin(group, (0.0, 1.0)))) is not None:
        raise ValueError(
            f"treatment is {group[row]:g} in row {row}: use 1 for treated rows, 0 for control; score one treatment "
            "at a time"
        )
    weight = targets.row_weights(sample_weight, n_rows, table="y")
    weight = np.ones(n_rows) if weight is None else weight
    for which, name in ((1.0, "treated"), (0.0, "control")):
        if not weight[group == which].sum() > 0:
            raise ValueError(f"no {name} row has weight: uplift compares treated rows with a control")
    if propensity is not None:
        chance = checked_chances(propensity, n_rows)
        weight = by_inverse_chance(weight, np.where(group == 1, chance, 1 - chance), group.astype(np.intp), 2)
    return Experiment(outcome, score, group == 1, weight)


class Experiment:
    """Outcomes of treated and control rows, and the uplift that is predicted for them."""

    def __init__(self, y: FloatArray, uplift: FloatArray, treated: NDArray[np.bool_], weight: FloatArray) -> None:
        self.y, self.uplift, self.treated, self.weight = y, uplift, treated, weight

    def ordered_by(self, key: FloatArray) -> Experiment:
        """Return the same rows in another order."""
        return Experiment(self.y, key, self.treated, self.weight)

    @property
    def effect(self) -> FloatArray:
        """What a row adds to the Qini curve, up to a factor."""
        return np.where(self.treated, self.y, -self.y)

    @property
    def best_gain(self) -> FloatArray:
        """The key of the best order of an uplift curve."""
        if (row := first_true(~np.isin(self.y, (0.0, 1.0)))) is not None:
            raise ValueError(
                f"y is {self.y[row]:g} in row {row}: the best order is known for outcomes 0 and 1; use normalise=False"
            )
        responded = self.y == 1
        control_responders = self.weight[responded & ~self.treated].sum()
        treated_others = self.weight[~responded & self.treated].sum()
        second = responded if control_responders > treated_others else self.treated
        return np.asarray(2.0 * (responded == self.treated) + second)

    def qini(self) -> tuple[FloatArray, FloatArray]:
        """Return the points of the Qini curve."""
        n_treated, n_control, treated, control = self._sums()
        return n_treated + n_control, treated - control * _quotient(n_treated, n_control)

    def gain(self) -> tuple[FloatArray, FloatArray]:
        """Return the points of the uplift curve."""
        n_treated, n_control, treated, control = self._sums()
        n_all = n_treated + n_control
        return n_all, (_quotient(treated, n_treated) - _quotient(control, n_control)) * n_all

    def _sums(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Treated and control rows, and sums of their outcomes, from none to all of them."""
        order = np.argsort(-self.uplift, kind="stable")
        falls = np.flatnonzero(np.diff(self.uplift[order]))
        ends = np.append(falls, len(order) - 1)
        treated, weight = self.treated[order], self.weight[order]
        outcome = weight * self.y[order]

        def sums(values: FloatArray) -> FloatArray:
            return np.concatenate([[0.0], np.cumsum(values)[ends]])

        return (
            sums(np.where(treated, weight, 0.0)),
            sums(np.where(treated, 0.0, weight)),
            sums(np.where(treated, outcome, 0.0)),
            sums(np.where(treated, 0.0, outcome)),
        )


def _quotient(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def _area(rows: FloatArray, gain: FloatArray) -> float:
    """Area between a curve and the straight line to its end, both axes divided by the number of rows."""
    middle = (gain[1:] + gain[:-1]) / 2
    return float((middle * np.diff(rows)).sum() - rows[-1] * gain[-1] / 2) / float(rows[-1]) ** 2


def _score(curve: tuple[FloatArray, FloatArray], best: tuple[FloatArray, FloatArray] | None) -> float:
    """Area of a curve; with the best curve, its share of the best area, 0 if there is nothing to gain."""
    area, most = _area(*curve), 1.0 if best is None else _area(*best)
    return area / most if most > 0 else 0.0
