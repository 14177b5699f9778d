"""How strongly columns interact: Friedman's H (Friedman & Popescu 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import check_integer, holds_others, shown
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.estimators.standing_in import with_table
from arboretum.explaining.by_predictions import as_asked
from arboretum.explaining.dependence import Dependence
from arboretum.explaining.reading import column_position, draw_rows
from arboretum.explaining.response import response_of
from arboretum.explaining.substitution import Substitution
from arboretum.running.threads import n_threads

FloatArray = NDArray[np.float64]

NEGLIGIBLE = 1e-12  # part of the variance of predictions below which an effect is none


def interaction_strength(
    model: GrownTrees,
    X: Any,
    features: Any = None,
    *,
    response: str | None = None,
    max_rows: int | None = 300,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Dependence:
    """Share of the joint effect of two columns that is not the sum of their effects (Friedman & Popescu 2008).

    ::

        H²(j, k) = Σ_i [PD_jk(x_i) − PD_j(x_i) − PD_k(x_i)]² / Σ_i PD_jk(x_i)²
        H²(j, j) = Σ_i [f(x_i) − PD_j(x_i) − PD_−j(x_i)]² / Σ_i f(x_i)²            j and all others

    with partial dependences of mean 0 over the same rows.

    Parameters
    ----------
    model, X, n_jobs
        As for :func:`partial_dependence`.
    features : sequence of str or int, optional
        Columns to compare; all by default.
    response : {"raw", "auto"}, optional
        By default "raw", since a link, such as that of probabilities, would make all columns interact; "auto" for
        models whose predictions are not sums of trees.
    max_rows : int or None, default=300
        Most rows of X, drawn at random; None takes all.
    random_state : int, default=0
        Seed of that draw.

    Returns
    -------
    Dependence
        ``values[j, k]`` is H² of two columns, from 0 to about 1, ``values[j, j]`` that of a column and all others;
        ``grid`` holds the names along both axes. Small effects make a large H² easily: look at importances too.

    References
    ----------
    Friedman, J. H. and Popescu, B. E. (2008). Predictive learning via rule ensembles. Annals of Applied Statistics 2.

    Examples
    --------
    >>> import numpy as np, arboretum as arb, arboretum.explaining
    >>> X = np.random.default_rng(0).random((1000, 3)) - 0.5
    >>> model = arb.BoostedTreesRegressor(n_estimators=100).fit(X, X[:, 0] * X[:, 1] + 0.1 * X[:, 2])
    >>> arb.explaining.interaction_strength(model, X).values[:, :, 0].round(1)
    array([[0.9, 1. , 0. ],
           [1. , 0.9, 0. ],
           [0. , 0. , 0. ]])
    """
    model = as_asked(model, X)
    whole = model.model_.conform(X)
    names = model.schema_.names
    chosen = range(len(names)) if features is None else features
    if not isinstance(chosen, Sequence | np.ndarray) or not holds_others(chosen):
        raise ValueError(f"features={shown(features)}: give a list of columns, or None for all")
    columns = [column_position(column, model.schema_) for column in chosen]
    if len(columns) < 2 or len(set(columns)) < len(columns):
        raise ValueError(f"features={shown(features)}: give two different columns or more")
    check_integer("max_rows", max_rows, low=2, optional=True)
    asked = response_of(model, response or ("raw" if model.model_.head.determines else "auto"))
    table = whole.take(draw_rows(whole.n_rows, max_rows, random_state)).dense()
    threads = n_threads(model.n_jobs if n_jobs is None else n_jobs)

    def effect(*joint: int) -> FloatArray:
        """Partial dependence at the values of the rows themselves, of mean 0."""
        points = [table.columns[column] for column in joint]
        return _centred(Substitution(model, asked, joint, points, threads).mean([table]))

    prediction = _centred(asked.ask(with_table(model, table), None))
    alone = {column: effect(column) for column in columns}
    strength = np.zeros((len(columns), len(columns), prediction.shape[1]))
    for j, first in enumerate(columns):
        others = [column for column in range(len(names)) if column != first]
        strength[j, j] = _unexplained(prediction, alone[first] + effect(*others), prediction)
        for k, second in enumerate(columns[:j]):
            apart = alone[first] + alone[second]
            strength[j, k] = strength[k, j] = _unexplained(effect(first, second), apart, prediction)
    chosen_names = np.array([names[column] for column in columns], dtype=object)
    return Dependence(
        list(chosen_names), [chosen_names] * 2, strength, None, "interaction_strength", asked.output_names
    )


def _centred(values: FloatArray) -> FloatArray:
    return np.asarray(values - values.mean(axis=0))


def _unexplained(joint: FloatArray, apart: FloatArray, prediction: FloatArray) -> FloatArray:
    total = (joint**2).sum(axis=0)
    counts = total > NEGLIGIBLE * (prediction**2).sum(axis=0)
    rest = ((joint - apart) ** 2).sum(axis=0)
    return np.asarray(np.divide(rest, total, out=np.zeros_like(total), where=counts))
