"""The laws of a loss as a function, for your own losses as for ours."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arboretum.losses import FunctionLoss, GradientFunction
from arboretum.losses.base import LeafRows, Loss, constant_raw
from arboretum.losses.links import INVERSE_LINKS, FloatArray

__all__ = ["check_loss"]

N_ROWS = 60
N_LEAVES = 4
DIFFERENCE_STEP = 1e-5
HUGE = 1e4


def check_loss(
    loss: Loss | GradientFunction, *, y: FloatArray | None = None, n_outputs: int = 1, random_state: int = 0
) -> None:
    """Check that a loss keeps the laws the engine relies on.

    - Shapes: gradients and hessians like ``raw``, values (n,); inputs stay as they were.
    - Gradients are the derivatives of ``values``; hessians are the derivatives of gradients unless
      ``exact_hessian`` is False; they are not negative, and 1 if ``constant_hessian``.
    - A weight of 2 acts as two rows in ``value``, ``start``, ``for_round`` and ``leaf_values``.
    - ``start`` is the best constant, and ``start_from`` the best beside an offset, unless ``for_round`` changes the
      loss, which then has no one best.
    - ``row_wise``: the gradients of a block of rows are that block of the gradients.
    - ``predict`` rises with raw and is finite for raw within ±1e4, where values and gradients are finite too.
    - The loss can be pickled (if its class can be imported), and its ``to_json`` is JSON.

    For a function of (y, raw) these are checked: shapes, finite values, hessians that are not negative, and gradients
    that rise with raw.

    Parameters
    ----------
    loss : Loss or callable
    y : ndarray, optional
        Target to check with. By default several random ones: those that ``check_target`` accepts.
    n_outputs : int, default=1
        Columns of ``raw`` that a function expects: one per class, if there are more than two.
    random_state : int, default=0

    Raises
    ------
    AssertionError
        If a law is broken; the message says which, where, and what to do.

    Examples
    --------
    >>> from arboretum.losses import Poisson
    >>> check_loss(Poisson())
    >>> class Wrong(Poisson):
    ...     def gradients(self, y, raw):
    ...         return y - np.exp(raw), np.exp(raw)
    >>> check_loss(Wrong())
    Traceback (most recent call last):
        ...
    AssertionError: Wrong.gradients: the gradient is not the derivative of values ... (is the sign right?)
    """
    random = np.random.default_rng(random_state)
    if not isinstance(loss, Loss):
        loss = FunctionLoss(loss, "regression" if n_outputs == 1 else "classification", n_outputs)
    targets = list(_targets(loss, random)) if y is None else [np.asarray(y, dtype=np.float64)]
    assert targets, f"{_of(loss)}.check_target accepts no usual target: give one as y="
    with np.errstate(all="ignore"):
        for target in targets:
            shape = (len(target),) if loss.n_outputs == 1 else (len(target), loss.n_outputs)
            raw = random.normal(size=shape)
            weight = random.integers(0, 4, size=len(target)).astype(np.float64)
            weight[0] = 1.0
            if isinstance(loss, FunctionLoss):
                _check_function(loss, target, raw)
                continue
            this_round = loss.for_round(target, raw, None)
            _check_shapes(this_round, target, raw)
            _check_derivatives(this_round, target, raw)
            _check_growth_of_hessians(this_round, target, raw)
            _check_blocks(this_round, target, raw)
            _check_weights(loss, target, raw, weight)
            _check_start(loss, target, raw, weight)
            _check_huge_raw(this_round, target)
            _check_pickle(this_round, target, raw)
        _check_link(loss)
    _check_json(loss)


def _targets(loss: Loss, random: np.random.Generator) -> Iterator[FloatArray]:
    """Random targets of the usual kinds that the loss accepts."""
    if loss.task == "classification":
        kinds: list[ArrayLike] = [np.arange(N_ROWS) % max(2, loss.n_outputs)]
    else:
        kinds = [random.normal(size=N_ROWS), random.poisson(1.0, N_ROWS), random.exponential(size=N_ROWS)]
    for kind in kinds:
        y = np.asarray(kind, dtype=np.float64)
        try:
            loss.check_target(y)
        except ValueError:
            continue
        yield y


def _check_shapes(loss: Loss, y: FloatArray, raw: FloatArray) -> None:
    y_before, raw_before = y.copy(), raw.copy()
    gradient, hessian = loss.gradients(y, raw)
    values, start = loss.values(y, raw), loss.start(y, None)
    for what, array, shape in [
        ("gradients()[0]", gradient, raw.shape),
        ("gradients()[1]", hessian, raw.shape),
        ("values()", values, (len(y),)),
        ("start()", start, (loss.n_outputs,)),
    ]:
        assert np.shape(array) == shape, f"{_of(loss)}.{what} has shape {np.shape(array)}, expected {shape}"
        assert np.isfinite(array).all(), f"{_of(loss)}.{what} is not finite at {_first(~np.isfinite(array))}"
    assert np.all(hessian >= 0), f"{_of(loss)}.gradients: negative hessian at {_first(hessian < 0)}"
    if loss.constant_hessian:
        assert np.all(hessian == 1), f"{_of(loss)}: constant_hessian needs hessians of exactly 1"
    untouched = np.array_equal(y, y_before) and np.array_equal(raw, raw_before)
    assert untouched, f"{_of(loss)} changes y or raw in place: work on a copy"


def _check_function(loss: FunctionLoss, y: FloatArray, raw: FloatArray) -> None:
    for at in (raw, np.full_like(raw, -HUGE), np.full_like(raw, HUGE)):
        try:
            gradient, hessian = loss.gradients(y, at)
        except ValueError as error:
            raise AssertionError(str(error)) from error
        for name, part in (("gradient", gradient), ("hessian", hessian)):
            where = "" if at is raw else f" of raw = {at.flat[0]:g}"
            assert np.isfinite(part).all(), f"{loss!r}: the {name}{where} is not finite at {_first(~np.isfinite(part))}"
        assert np.all(hessian >= 0), f"{loss!r}: negative hessian at {_first(hessian < 0)}"
    rise = loss.gradients(y, raw + 1)[0].sum() - loss.gradients(y, raw - 1)[0].sum()
    assert rise > 0, f"{loss!r}: the gradients fall as raw rises, so that no raw is best (is the sign right?)"


def _check_derivatives(loss: Loss, y: FloatArray, raw: FloatArray) -> None:
    gradient, hessian = loss.gradients(y, raw)
    slope = _slope(lambda at: loss.values(y, at), raw, loss.row_wise)
    law = "the gradient is not the derivative of values"
    _assert_close(loss, law, gradient, slope, hint="is the sign right?")
    if not (loss.exact_hessian and loss.row_wise):
        return
    law = "the hessian is not the derivative of the gradient"
    for own in _columns(raw):

        def own_gradient(at: FloatArray, own: Any = own) -> FloatArray:
            return np.asarray(loss.gradients(y, at)[0][own])

        curvature = _slope(own_gradient, raw, row_wise=True)[own]
        _assert_close(loss, law, hessian[own], curvature, hint="if it is a surrogate, set exact_hessian = False")


def _check_growth_of_hessians(loss: Loss, y: FloatArray, raw: FloatArray) -> None:
    if not loss.self_concordant:
        return
    hessian, growth = loss.gradients(y, raw)[1], float(loss.self_concordant)
    for step in (-5.0, -0.5, 0.5, 5.0):
        for own in _columns(raw):
            moved = raw.copy()
            moved[own] += step
            most = growth * abs(step)
            grown = loss.gradients(y, moved)[1][own] > (1 + 1e-9) * np.exp(most) * hessian[own]
            assert not grown.any(), (
                f"{_of(loss)}.gradients: a step of {step} multiplies the hessian by more than e^{most:g} "
                f"at {_first(grown)}: set self_concordant = False"
            )


def _slope(function: Callable[[FloatArray], FloatArray], raw: FloatArray, row_wise: bool) -> FloatArray:
    """Central differences of the rows (n,) of ``function``, or of their sum, by each entry of raw."""
    slope = np.empty_like(raw)
    blocks = [slice(None)] if row_wise else [slice(row, row + 1) for row in range(len(raw))]
    for block in blocks:
        for where in _columns(raw, block):
            shift = np.zeros_like(raw)
            shift[where] = DIFFERENCE_STEP
            difference = (function(raw + shift) - function(raw - shift)) / (2 * DIFFERENCE_STEP)
            slope[where] = difference if row_wise else difference.sum()
    return slope


def _assert_close(loss: Loss, law: str, found: FloatArray, expected: FloatArray, hint: str) -> None:
    wrong = ~np.isclose(found, expected, rtol=1e-4, atol=1e-6)
    if wrong.any():
        at = _first(wrong)
        figures = f"{found[at]:.6g}, by differences {expected[at]:.6g}"
        raise AssertionError(f"{_of(loss)}.gradients: {law} at {at}: {figures} ({hint})")


def _check_blocks(loss: Loss, y: FloatArray, raw: FloatArray) -> None:
    if not loss.row_wise:
        return
    cuts = [0, 1, len(y) // 2, len(y)]
    blocks = [loss.gradients(y[a:b], raw[a:b]) for a, b in pairwise(cuts)]
    for whole, parts in zip(loss.gradients(y, raw), zip(*blocks, strict=True), strict=True):
        same = np.array_equal(whole, np.concatenate(parts))
        assert same, f"{_of(loss)}.gradients depends on other rows: set row_wise = False"


def _check_weights(loss: Loss, y: FloatArray, raw: FloatArray, weight: FloatArray) -> None:
    times = weight.astype(np.int64)
    many_y, many_raw = np.repeat(y, times, axis=0), np.repeat(raw, times, axis=0)
    weighted, repeated = loss.for_round(y, raw, weight), loss.for_round(many_y, many_raw, None)
    leaf_start = np.linspace(0, len(y), N_LEAVES + 1).astype(np.int64)
    many_start = np.concatenate(([0], np.cumsum(times)))[leaf_start]
    leaf_values = weighted.leaf_values(LeafRows.contiguous(leaf_start), y, raw, weight)
    many_leaf_values = repeated.leaf_values(LeafRows.contiguous(many_start), many_y, many_raw, None)
    pairs: dict[str, tuple[FloatArray | float, FloatArray | float]] = {
        "value": (weighted.value(y, raw, weight), repeated.value(many_y, many_raw)),
        "start": (loss.start(y, weight), loss.start(many_y, None)),
        "for_round": (weighted.gradients(y, raw)[0], repeated.gradients(y, raw)[0]),
    }
    if leaf_values is not None and many_leaf_values is not None:
        expected = (N_LEAVES, *raw.shape[1:])
        assert leaf_values.shape == expected, (
            f"{_of(loss)}.leaf_values has shape {leaf_values.shape}, expected {expected}"
        )
        pairs["leaf_values"] = (leaf_values, many_leaf_values)
    for method, (found, expected_value) in pairs.items():
        same = np.allclose(found, expected_value, rtol=1e-7, atol=1e-9)
        assert same, f"{_of(loss)}.{method}: a weight of k differs from k rows: {found} against {expected_value}"


def _check_start(loss: Loss, y: FloatArray, raw: FloatArray, weight: FloatArray) -> None:
    starts: dict[str, tuple[FloatArray, FloatArray]] = {
        "start": (loss.start(y, weight), np.zeros_like(raw)),
        "start_from": (loss.start_from(y, raw, weight), raw),
    }
    for method, (start, offset) in starts.items():
        at_start = constant_raw(start, len(y)) + offset
        if loss.for_round(y, at_start, weight) is not loss:
            return
        best = loss.value(y, at_start, weight)
        for output in range(loss.n_outputs):
            for distance in (-1.0, -0.1, -1e-3, 1e-3, 0.1, 1.0):
                other = start.copy()
                other[output] += distance
                value = loss.value(y, constant_raw(other, len(y)) + offset, weight)
                assert value >= best - 1e-9 * (1 + abs(best)), (
                    f"{_of(loss)}.{method} = {start} is not the best constant: {other} has the lower value "
                    f"{value:.9g} < {best:.9g}"
                )


def _check_huge_raw(loss: Loss, y: FloatArray) -> None:
    for huge in (-HUGE, HUGE):
        for output in range(loss.n_outputs):
            constant = np.zeros(loss.n_outputs)
            constant[output] = huge
            raw = constant_raw(constant, len(y))
            gradient, hessian = loss.gradients(y, raw)
            for what, array in [("gradient", gradient), ("hessian", hessian), ("value", loss.values(y, raw))]:
                assert np.isfinite(array).all(), (
                    f"{_of(loss)}: the {what} of raw = {huge:g} is not finite: "
                    "use bounded_exp of arboretum.losses.links"
                )
            assert np.all(hessian >= 0), f"{_of(loss)}: negative hessian at raw = {huge:g}"


def _check_link(loss: Loss) -> None:
    assert loss.link in INVERSE_LINKS, f"{_of(loss)}.link = {loss.link!r}: use one of {list(INVERSE_LINKS)}"
    rising = np.concatenate((np.linspace(-HUGE, HUGE, 101), np.linspace(-3, 3, 7)))
    rising.sort()
    for output in range(loss.n_outputs):
        raw = np.zeros((len(rising), loss.n_outputs))
        raw[:, output] = rising
        prediction = loss.predict(raw[:, 0] if loss.n_outputs == 1 else raw)
        assert np.isfinite(prediction).all(), f"{_of(loss)}.predict is not finite for raw within ±{HUGE:g}"
        own = prediction if loss.n_outputs == 1 else prediction[:, output]
        assert np.all(np.diff(own) >= 0), f"{_of(loss)}.predict does not rise with raw"
        assert np.any(prediction[0] != prediction[-1]), f"{_of(loss)}.predict is constant"


def _check_pickle(loss: Loss, y: FloatArray, raw: FloatArray) -> None:
    cls = type(loss)
    if getattr(sys.modules.get(cls.__module__), cls.__qualname__, None) is not cls:
        return  # defined inside a function: pickle could not find the class again, whatever it holds
    try:
        again = pickle.loads(pickle.dumps(loss))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise AssertionError(f"{_of(loss)} cannot be pickled: {error}") from error
    same = np.array_equal(again.gradients(y, raw), loss.gradients(y, raw))
    assert same, f"{_of(loss)} gives other gradients after pickling"


def _check_json(loss: Loss) -> None:
    try:
        json.dumps(loss.to_json(), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{_of(loss)}.to_json is not JSON: {error}") from error


def _columns(raw: FloatArray, rows: slice = slice(None)) -> list[Any]:
    """Index of some rows of each output of raw predictions."""
    return [rows] if raw.ndim == 1 else [(rows, output) for output in range(raw.shape[1])]


def _of(loss: Loss) -> str:
    return type(loss).__name__


def _first(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """Index of the first True."""
    return tuple(int(i) for i in np.unravel_index(np.argmax(mask), mask.shape))
