"""A loss that breaks one law of ``check_loss`` is caught by that law."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

from arboretum.losses import Gamma, Loss, Poisson, SquaredError
from arboretum.losses.base import weighted_mean
from arboretum.testing import check_loss


def broken(**methods):
    return type("Broken", (SquaredError,), methods)()


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (
            broken(gradients=lambda self, y, raw: (y - raw, np.ones_like(raw))),
            r"derivative of values .*sign right",
        ),
        (
            broken(constant_hessian=False, gradients=lambda self, y, raw: (raw - y, 2 * np.ones_like(raw))),
            r"hessian is not the derivative .*exact_hessian = False",
        ),
        (broken(gradients=lambda self, y, raw: (raw - y, 2 * np.ones_like(raw))), "hessians of exactly 1"),
        (broken(gradients=lambda self, y, raw: (raw - y, -np.ones_like(raw))), "negative hessian at"),
        (
            broken(gradients=lambda self, y, raw: (raw - y, np.ones(1))),
            r"gradients\(\)\[1\] has shape \(1,\)",
        ),
        (broken(values=lambda self, y, raw: np.log(raw - 99)), r"values\(\) is not finite at"),
        (broken(values=lambda self, y, raw: ((y - raw) ** 2 / 2).mean()), r"values\(\) has shape \(\)"),
        (
            broken(start=lambda self, y, weight: np.array([y.mean()])),
            "start: a weight of k differs from k rows",
        ),
        (broken(value=lambda self, y, raw, weight=None: self.values(y, raw).sum()), "value: a weight of k"),
        (broken(start=lambda self, y, weight: np.array([9.0])), "is not the best constant"),
        (
            broken(
                self_concordant=True,
                constant_hessian=False,
                values=lambda self, y, raw: (y - raw) ** 4,
                gradients=lambda self, y, raw: (4 * (raw - y) ** 3, 12 * (raw - y) ** 2),
            ),
            r"a step of -?\d.* multiplies the hessian by more than e\^\d.*: set self_concordant = False",
        ),
        (broken(predict=lambda self, raw: -raw), "predict does not rise with raw"),
        (broken(predict=lambda self, raw: raw * 0), "predict is constant"),
        (broken(predict=lambda self, raw: np.exp(raw)), "predict is not finite"),
        (
            broken(check_target=lambda self, y: Poisson().check_target(-np.abs(y) - 1)),
            "accepts no usual target",
        ),
        (broken(to_json=lambda self: {"name": np.ones(2)}), "to_json is not JSON"),
        (broken(leaf_values=lambda self, leaves, y, raw, weight: np.zeros(2)), "leaf_values has shape"),
        (
            broken(leaf_values=lambda self, leaves, y, raw, weight: leaves.weighted_mean(y, None)),
            "leaf_values: a weight of k",
        ),
        (
            broken(
                values=lambda self, y, raw: (raw - y.mean()) ** 2 / 2,
                gradients=lambda self, y, raw: (raw - y.mean(), np.ones_like(raw)),
            ),
            "depends on other rows: set row_wise = False",
        ),
    ],
)
def test_check_loss_catches(loss, message):
    with pytest.raises(AssertionError, match=message):
        check_loss(loss)


def test_check_loss_catches_changed_inputs():
    def values(self, y, raw):
        raw -= y
        return raw**2 / 2

    with pytest.raises(AssertionError, match="changes y or raw in place: work on a copy"):
        check_loss(broken(values=values))


def test_check_loss_catches_overflow():
    class Unbounded(Poisson):
        def gradients(self, y, raw):
            return np.exp(raw) - y, np.exp(raw)

    with pytest.raises(AssertionError, match=r"raw = 10000 is not finite: use bounded_exp"):
        check_loss(Unbounded())


class Unpicklable(Poisson):
    def __reduce__(self):
        raise TypeError("no")


def test_check_loss_catches_what_cannot_be_pickled(monkeypatch):
    # Under importlib mode a test module need not be importable; pickle looks classes up in sys.modules.
    module = types.ModuleType("module_of_a_user")
    module.Unpicklable = Unpicklable
    monkeypatch.setitem(sys.modules, "module_of_a_user", module)
    monkeypatch.setattr(Unpicklable, "__module__", "module_of_a_user")
    with pytest.raises(AssertionError, match="Unpicklable cannot be pickled: no"):
        check_loss(Unpicklable())


class Spread(Loss):
    """A loss over all rows: ½ (error − mean error)² + ½ error², whose gradients mix the rows."""

    row_wise = False

    def values(self, y, raw):
        error = raw - y
        return 0.5 * (error - error.mean()) ** 2 + 0.5 * error**2

    def gradients(self, y, raw):
        error = raw - y
        return error - error.mean() + error, np.full_like(raw, 2.0)

    def start(self, y, weight):
        return np.atleast_1d(weighted_mean(y, weight))


def test_check_loss_differentiates_losses_over_all_rows():
    class Wrong(Spread):
        def gradients(self, y, raw):
            return raw - y, np.ones_like(raw)

    with pytest.raises(AssertionError, match="the gradient is not the derivative of values"):
        check_loss(Wrong())
    # The right gradients pass that law; the next one fails, since mean() knows no weights.
    with pytest.raises(AssertionError, match=r"Spread\.value: a weight of k differs from k rows"):
        check_loss(Spread())


def test_check_loss_takes_a_target():
    class Positive(Gamma):
        def check_target(self, y):
            if not (y > 100).all():
                raise ValueError

    with pytest.raises(AssertionError, match="give one as y="):
        check_loss(Positive())
    check_loss(Positive(), y=np.linspace(101, 110, 20))
