"""Laws of losses over places: constants, thresholds, leaves and scores are those of all rows in one place."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.in_places import check_in_places, in_places, parted
from tests.reference.odd_weights import KINDS_OF_WEIGHTS, taken, weights_of

from arboretum.losses import (
    AbsoluteError,
    AcceleratedFailure,
    Cox,
    EachOutput,
    FunctionLoss,
    Gamma,
    Huber,
    LeafRows,
    Logistic,
    Loss,
    Multinomial,
    Ordinal,
    Poisson,
    Quantile,
    Quantiles,
    SquaredError,
    Tweedie,
)
from arboretum.losses.base import weighted_mean, weighted_quantile
from arboretum.losses.each_output import newton_units

N_ROWS = 240
N_PLACES = [1, 2, 3, 7]


class LogCosh(Loss):
    """A loss without formulas of its own: its start is found by Newton's method."""

    def values(self, y, raw):
        return np.logaddexp(raw - y, y - raw)

    def gradients(self, y, raw):
        slope = np.tanh(raw - y)
        return slope, 1 - slope**2


LOSSES = [
    SquaredError(),
    AbsoluteError(),
    Huber(0.7),
    Quantile(0.3),
    Quantiles((0.1, 0.5, 0.9)),
    Poisson(),
    Gamma(),
    Tweedie(),
    Logistic(),
    Multinomial(3),
    Ordinal(4),
    AcceleratedFailure("logistic"),
    EachOutput(Poisson(), 2),
    LogCosh(),
    FunctionLoss(lambda y, raw: (np.tanh(raw - y), np.ones_like(raw))),
]


def target_of(loss: Loss) -> np.ndarray:
    """Return a target that the loss takes, with ties; in many places all rows are alike."""
    rng = np.random.default_rng(2)
    if isinstance(loss, EachOutput):
        y = rng.poisson(2.0, (N_ROWS, 2)).astype(float)
        y[:200, 1] = np.nan
        return y
    if isinstance(loss, AcceleratedFailure):
        time = rng.exponential(size=N_ROWS)
        return np.column_stack([time, np.where(np.arange(N_ROWS) < 150, np.inf, time)])
    if loss.task == "classification":
        n_classes = loss.n_classes if isinstance(loss, Ordinal) else max(loss.n_outputs, 2)
        return np.sort(rng.integers(0, n_classes, N_ROWS)).astype(float)
    y = np.round(rng.gamma(1.0, size=N_ROWS), 1)
    return y + 0.1 if isinstance(loss, Gamma) else np.where(np.arange(N_ROWS) < 120, 0.0, y)


def rows_of_leaves(part: slice, leaf: np.ndarray, n_leaves: int) -> LeafRows:
    own = leaf[part]
    rows = np.argsort(own, kind="stable").astype(np.uint32)
    return LeafRows(rows, np.append(0, np.cumsum(np.bincount(own, minlength=n_leaves))))


@pytest.mark.parametrize(("n_places", "kind"), [(1, "real"), (2, "none"), (3, "whole"), (7, "real")])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_a_loss_sees_all_rows(n_places: int, kind: str, loss: Loss) -> None:
    y, weight, rng = target_of(loss), weights_of(kind, N_ROWS), np.random.default_rng(3)
    shape = (N_ROWS,) if loss.n_outputs == 1 else (N_ROWS, loss.n_outputs)
    raw, leaf = rng.normal(size=shape), rng.integers(0, 4, N_ROWS)

    def program(part: slice) -> bytes:
        own, w, scores = y[part], taken(weight, part), np.ascontiguousarray(raw[part])
        loss.check_target(own)
        found = [loss.start(own, w), loss.start_from(own, scores, w)]
        now = loss.for_round(own, scores, w)
        found += [np.array(getattr(now, name, 0.0), float) for name in ("delta", "thresholds")]
        if loss.has_values:
            found.append(np.array(now.value(own, scores, w)))
        values = now.leaf_values(rows_of_leaves(part, leaf, 5), own, scores, w)
        found.append(np.zeros(0) if values is None else values)
        if isinstance(loss, EachOutput):
            found += [np.array(loss.in_units_of(own, w).units), *newton_units(loss, own, scores, w)]
        return b"".join(np.ascontiguousarray(one).tobytes() for one in found)

    assert set(in_places(program, parted(N_ROWS, n_places, seed=n_places))) == {program(slice(0, N_ROWS))}


@pytest.mark.parametrize("n_places", N_PLACES)
@pytest.mark.parametrize("kind", KINDS_OF_WEIGHTS)
@pytest.mark.parametrize(("ties", "dtype"), [(False, np.float64), (True, np.float32)])
def test_means_and_quantiles(n_places: int, kind: str, ties: bool, dtype: type) -> None:
    rng = np.random.default_rng(0)
    values = (rng.integers(-2, 3, N_ROWS) if ties else rng.normal(size=N_ROWS)).astype(dtype)
    weight, leaf = weights_of(kind, N_ROWS), rng.integers(0, 6, N_ROWS)
    leaf[leaf == 4] = 3

    def program(part: slice) -> np.ndarray:
        own, w, leaves = values[part], taken(weight, part), rows_of_leaves(part, leaf, 6)
        in_leaves = [leaves.weighted_quantile(own, w, q) for q in (0.1, 0.5)]
        overall = [weighted_quantile(own, w, q) for q in (0.1, 0.5, 0.99)]
        return np.concatenate([*in_leaves, leaves.weighted_mean(own, w), overall, [weighted_mean(own, w)]])

    check_in_places(program, N_ROWS, n_places)


@pytest.mark.parametrize("loss", [SquaredError(), Poisson(), Ordinal(3)], ids=lambda loss: type(loss).__name__)
def test_weights_that_are_all_zero_are_an_error_everywhere(loss: Loss) -> None:
    with pytest.raises(ValueError, match="the weights of all rows are 0"):
        in_places(lambda part: loss.start(np.ones(3), np.zeros(3)), [0, 1])
    # Of one place they are not.
    in_places(lambda part: loss.start(np.ones(3), np.full(3, float(part))), [0, 1])


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        (SquaredError(), np.ones(0), "at least one row"),
        (Poisson(), np.zeros(4), "y is 0 in every row"),
        (AcceleratedFailure(), np.array([[1.0, np.inf]]), "no event in 3 rows"),
        (Cox(), np.array([[1.0, np.inf]]), "no event in 3 rows"),
        (EachOutput(SquaredError(), 2), np.array([[1.0, np.nan]]), r"y\[:, 1\] has no known value"),
    ],
    ids=str,
)
def test_targets_are_judged_by_all_places(loss: Loss, y: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        in_places(lambda part: loss.check_target(y), [0, 1, 2])
