"""Leaving training rows out, for real: leaf values fitted again in trees of the same shape, or the whole model."""

from __future__ import annotations

from typing import Any

import numpy as np


def refitted_raw(model: Any, X_new: Any, X: Any, y: np.ndarray, left_out: int) -> np.ndarray:
    """Raw predictions (rows, outputs) of boosted trees that keep their shape while their leaves lose a training row."""
    forest, loss = model.forest_, model.loss_
    kept = np.arange(len(y)) != left_out
    y_kept, leaves, leaves_new = y[kept], model.apply(X)[kept], model.apply(X_new)
    several = forest.n_outputs > 1
    base = np.atleast_1d(loss.start(y_kept, None))
    raw, raw_new = np.tile(base, (len(y_kept), 1)), np.tile(base, (len(leaves_new), 1))
    rate, step = model.learning_rate_ / model.trees_per_round_, forest.n_trees // model.n_iter_
    for first in range(0, forest.n_trees, step):
        gradients, hessians = loss.gradients(y_kept, raw if several else raw[:, 0])
        gradients, hessians = gradients.reshape(raw.shape), hessians.reshape(raw.shape)
        for t in range(first, first + step):
            own = int(forest.tree_output[t])
            for output in range(forest.n_outputs) if own < 0 else [own]:
                n_nodes = int(np.diff(forest.tree_start)[t])
                G = np.bincount(leaves[:, t], gradients[:, output], n_nodes)
                H = np.bincount(leaves[:, t], hessians[:, output], n_nodes) + model.l2
                value = np.divide(-rate * G, H, out=np.zeros(n_nodes), where=H > 0)
                raw[:, output] += value[leaves[:, t]]
                raw_new[:, output] += value[leaves_new[:, t]]
    return raw_new


def refitted_changes(model: Any, X_new: Any, X: Any, y: np.ndarray) -> np.ndarray:
    """Change of raw predictions (rows, training rows, outputs) by leaving out each row in turn."""
    now = model.predict_raw(X_new)
    return np.stack([refitted_raw(model, X_new, X, y, i) - now for i in range(len(y))], axis=1)


def retrained_changes(model: Any, X_new: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Fit a new model to the other rows, for each row in turn."""
    mean = 1 / model.forest_.n_trees if hasattr(model, "_averaged") else 1.0
    now, changes = model.predict_raw(X_new), []
    for i in range(len(y)):
        kept = np.arange(len(y)) != i
        changes.append(type(model)(**model.get_params()).fit(X[kept], y[kept]).predict_raw(X_new) - now)
    return mean * np.stack(changes, axis=1)
