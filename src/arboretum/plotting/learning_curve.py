"""Learning curves: how the error falls as trees are added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arboretum.plotting.style import FAINT, GRID, HIGH, LOW, SMALL_FONT, legend, open_axes
from arboretum.reading.quantities import number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arboretum.estimators.cross_validation import CrossValidation


def plot_learning_curve(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the loss of a boosted model after each round, or the out-of-bag error of a forest after each tree.

    Parameters
    ----------
    model : estimator
        A boosted model whose history has losses: training ones with ``verbose`` or ``callbacks``, validation ones with
        early stopping or ``X_val``. Or a forest that was fitted with ``keep_bags=True``: its error is the mean squared
        error, or the share of wrong classes, of rows by trees that never saw them.
    ax : matplotlib Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib Axes
        The best round has a vertical line.

    Examples
    --------
    >>> import arboretum as arb
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = arb.BoostedTreesRegressor(n_estimators=20).fit(X, X[:, 0] ** 2, X_val=X[::5], y_val=X[::5, 0] ** 2)
    >>> ax = plot_learning_curve(model)
    >>> len(ax.lines[0].get_ydata()) == len(model.history_.validation_loss)
    True
    """
    history, best = getattr(model, "history_", None), None
    if history is not None:
        best, what = history.best_round, history.scoring
        if history.validation_score:  # which training losses cannot be compared with
            curves = {"validation": history.validation_score}
        else:
            curves = {"training": history.training_loss, "validation": history.validation_loss}
        cure = "fit with early_stopping=True, with X_val, or with verbose=1, which follows the training loss"
    else:
        curves, what = _out_of_bag_curve(model)
        cure = "fit with keep_bags=True and the bootstrap"
    curves = {name: losses for name, losses in curves.items() if len(losses)}
    if not curves:
        raise ValueError(f"{type(model).__name__} has no losses of its rounds: {cure}")
    ax = open_axes(ax, "plot_learning_curve")
    for name, losses in curves.items():
        colour = FAINT if name == "training" else LOW
        ax.plot(np.arange(1, len(losses) + 1), losses, color=colour, label=name, linewidth=1.8)
    if best is not None:
        _mark_best(ax, best, curves["validation"][best - 1])
    rising = history is not None and bool(history.validation_score) and history.greater_is_better
    _finish(ax, "trees" if history is None else "rounds", what, rising=rising)
    return ax


def plot_cross_validation(found: CrossValidation, *, ax: Axes | None = None) -> Axes:
    """Draw the mean score of all folds after each round, within a band of one standard deviation.

    Parameters
    ----------
    found : CrossValidation
        What ``arboretum.cross_validate`` returned.
    ax : matplotlib Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib Axes
        The best round has a vertical line.

    Examples
    --------
    >>> import arboretum as arb
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> found = arb.cross_validate(arb.BoostedTreesRegressor(n_estimators=20), X, X[:, 0] ** 2, cv=3)
    >>> ax = plot_cross_validation(found)
    >>> ax.lines[0].get_ydata().tolist() == found.mean.tolist()
    True
    """
    ax = open_axes(ax, "plot_cross_validation")
    rounds, mean, deviation = np.arange(1, len(found.mean) + 1), found.mean, found.deviation
    ax.plot(rounds, mean, color=LOW, label=f"mean of {len(found.scores)} folds", linewidth=1.8)
    ax.fill_between(rounds, mean - deviation, mean + deviation, color=LOW, alpha=0.15, linewidth=0.0)
    _mark_best(ax, found.best_round, found.best_score)
    _finish(ax, "rounds", found.scoring, rising=found.greater_is_better)
    return ax


def _mark_best(ax: Axes, best: int, value: float) -> None:
    ax.axvline(best, color=HIGH, linewidth=1.0, linestyle="--", zorder=1)
    ax.plot([best], [value], "o", color=HIGH, markersize=5, label=f"round {best}: {number_text(value, 4)}")


def _finish(ax: Axes, across: str, upwards: str, *, rising: bool) -> None:
    ax.set(xlabel=across, ylabel=upwards)
    ax.grid(color=GRID)
    legend(ax, "lower right" if rising else "upper right")
    ax.tick_params(labelsize=SMALL_FONT + 1)


def _out_of_bag_curve(model: Any) -> tuple[dict[str, list[float]], str]:
    bags = getattr(model, "bags_", None)
    if bags is None or not bags.out_of_bag.any():
        return {}, ""
    forest, out = model.model_.summed, bags.out_of_bag
    total, count = np.zeros((len(bags.leaves), forest.width)), np.zeros(len(bags.leaves))
    errors: list[float] = []
    for tree in range(forest.n_trees):
        total += np.where(out[:, tree, None], forest.value[forest.tree_start[tree] + bags.leaves[:, tree]], 0.0)
        count += out[:, tree]
        known = count > 0
        errors.append(_error(model, total[known] / count[known, None], bags.target[known]))
    return {"out of bag": errors}, "share of wrong classes" if hasattr(model, "classes_") else "mean squared error"


def _error(model: Any, mean: NDArray[np.float64], target: NDArray[np.float64]) -> float:
    if not len(mean):
        return float("nan")
    predicted = np.asarray(model.model_.head.of_mean(mean)).reshape(len(mean), -1)
    if not hasattr(model, "classes_"):
        return float(np.mean(np.square(predicted - target)))
    labels = model.classes_ if isinstance(model.classes_, list) else [model.classes_]
    truth = np.column_stack([np.asarray(of)[codes.astype(np.intp)] for of, codes in zip(labels, target.T, strict=True)])
    return float(np.mean((predicted != truth).any(axis=1)))
