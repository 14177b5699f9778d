"""Weights of rows of many kinds."""

from __future__ import annotations

import numpy as np

KINDS_OF_WEIGHTS = ["none", "whole", "real", "few", "huge"]


def weights_of(kind: str, n: int, seed: int = 0) -> np.ndarray | None:
    """Return weights, some of them 0: whole, real, of few different values, of very different sizes; or none at all."""
    rng = np.random.default_rng(seed)
    drawn = {
        "none": lambda: None,
        "whole": lambda: rng.integers(0, 5, n).astype(float),
        "real": lambda: rng.random(n) * (rng.random(n) > 0.1),
        "few": lambda: rng.choice([0.0, 0.1, 0.7], n),
        "huge": lambda: rng.random(n) * 10.0 ** np.where(np.arange(n) < n // 10, -250, rng.integers(-150, 150, n)),
    }
    return drawn[kind]()


def taken(array: np.ndarray | None, part: slice) -> np.ndarray | None:
    """Return the rows of a part, if there are any numbers of rows."""
    return None if array is None else array[part]
