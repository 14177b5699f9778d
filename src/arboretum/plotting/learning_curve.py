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

    A vertical line marks the best round.

    Parameters
    ----------
    model : estimator
        A boosted model whose history has losses: training ones with ``verbose`` or ``callbacks``, validation ones with
        early stopping or ``X_val``. Or a forest that was fitted with ``keep_bags=True``: its error is the mean squared
        error, or the share of wrong classes, of rows by trees that never saw them.
    ax : matplotlib Axes, optional
        Where to draw; by default on a new figure.

    Examples
    --------
    >>> import arboretum as arb
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = arb.BoostedTreesRegressor(n_estimators=20).fit(X, X[:, 0] ** 2, X_val=X[::5], y_val=X[::5, 0] ** 2)
    >>> ax = plot_learning_curve(model)
    >>> len(ax.lines[0].get_ydata()) == len(model.history_.validation_loss)
    True
    """
    history = getattr(model, "history_", None)
    if history is None:
        curves, what = _out_of_bag_curve(model)
        best, value, rising, cure = None, None, False, "fit with keep_bags=True and the bootstrap"
    else:
        best, value, what = history.best_round, history.best_value, history.scoring
        rising = bool(history.validation_score) and history.greater_is_better
        curves = {"training": history.training_loss, "validation": history.validation_loss}
        if history.validation_score:  # training losses cannot be compared with it
            curves = {"validation": history.validation_score}
        cure = "fit with early_stopping=True, with X_val, or with verbose=1, which follows the training loss"
    curves = {name: losses for name, losses in curves.items() if len(losses)}
    if not curves:
        raise ValueError(f"{type(model).__name__} has no losses of its rounds: {cure}")
    ax = open_axes(ax, "plot_learning_curve")
    for name, losses in curves.items():
        _draw(ax, losses, name, FAINT if name == "training" else LOW, 1 if history is None else history.stride)
    if best is not None and value is not None:
        _mark_best(ax, best, value)
    return _finished(ax, "trees" if history is None else "rounds", what, rising=rising)


def plot_cross_validation(found: CrossValidation, *, ax: Axes | None = None) -> Axes:
    """Draw the mean score of all folds after each round, within a band of one standard deviation.

    Parameters
    ----------
    found : CrossValidation
        What ``arboretum.cross_validate`` returned.
    ax : matplotlib Axes, optional
        As for :func:`plot_learning_curve`.

    Examples
    --------
    >>> import arboretum as arb
    >>> X = np.arange(200.0)[:, None] / 199
    >>> found = arb.cross_validate(arb.BoostedTreesRegressor(n_estimators=20), X, X[:, 0] ** 2, cv=3)
    >>> ax = plot_cross_validation(found)
    >>> ax.lines[0].get_ydata().tolist() == found.mean.tolist()
    True
    """
    ax = open_axes(ax, "plot_cross_validation")
    rounds = _draw(ax, found.mean, f"mean of {len(found.scores)} folds", LOW)
    low, high = found.mean - found.deviation, found.mean + found.deviation
    ax.fill_between(rounds, low, high, color=LOW, alpha=0.15, linewidth=0.0)
    _mark_best(ax, found.best_round, found.best_score)
    return _finished(ax, "rounds", found.scoring, rising=found.greater_is_better)


def _draw(ax: Axes, losses: Any, name: str, colour: str, stride: int = 1) -> NDArray[np.intp]:
    rounds = stride * np.arange(1, len(losses) + 1)
    ax.plot(rounds, losses, color=colour, label=name, linewidth=1.8)
    return rounds


def _mark_best(ax: Axes, best: int, value: float) -> None:
    ax.axvline(best, color=HIGH, linewidth=1.0, linestyle="--", zorder=1)
    ax.plot([best], [value], "o", color=HIGH, markersize=5, label=f"round {best}: {number_text(value, 4)}")


def _finished(ax: Axes, across: str, upwards: str, *, rising: bool) -> Axes:
    ax.set(xlabel=across, ylabel=upwards)
    ax.grid(color=GRID)
    legend(ax, "lower right" if rising else "upper right")
    ax.tick_params(labelsize=SMALL_FONT + 1)
    return ax


def _out_of_bag_curve(model: Any) -> tuple[dict[str, list[float]], str]:
    """Return the error of rows after each tree, by the trees that never saw them, and what it is called."""
    bags = getattr(model, "bags_", None)
    if bags is None or not bags.out_of_bag.any():
        return {}, ""
    forest, head, out = model.model_.summed, model.model_.head, bags.out_of_bag
    truth = bags.target
    if head.classes is not None:
        truth = np.column_stack([of[codes.astype(np.intp)] for of, codes in zip(head.classes, truth.T, strict=True)])
    total, count = np.zeros((len(bags.leaves), forest.width)), np.zeros(len(bags.leaves))
    errors: list[float] = []
    for tree in range(forest.n_trees):
        total += np.where(out[:, tree, None], forest.value[forest.tree_start[tree] + bags.leaves[:, tree]], 0.0)
        count += out[:, tree]
        known = count > 0
        mean = (forest.base + total[known]) / head.weight_of(count[known, None])
        predicted = np.asarray(head.of_mean(mean)).reshape(int(known.sum()), -1)
        wrong = np.square(predicted - truth[known]) if head.classes is None else (predicted != truth[known]).any(axis=1)
        errors.append(float(np.mean(wrong)) if known.any() else float("nan"))
    return {"out of bag": errors}, "mean squared error" if head.classes is None else "share of wrong classes"
