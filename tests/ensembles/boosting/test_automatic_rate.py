"""The learning rate that is chosen from rows and rounds, and what becomes of it."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from tests.reference.files import content, loaded, reloaded

import arboretum as arb
from arboretum.ensembles.boosting.automatic_rate import automatic_rate
from arboretum.losses import AbsoluteError, Logistic, Multinomial, SquaredError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = X[:, 0] + 0.5 * RNG.normal(size=400)
LOSSES = [SquaredError(), Logistic(), Multinomial(3), AbsoluteError()]


# ---- the rate ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_more_rows_bear_larger_steps(loss):
    rates = [automatic_rate(loss, 10**k, 1000, keeps_best=False) for k in range(3, 7)]
    assert rates == sorted(set(rates))


def test_small_tables_share_a_rate():
    """So that a row of weight 2 equals two rows."""
    assert len({automatic_rate(Logistic(), n, 1000, keeps_best=False) for n in (1, 30, 500)}) == 1


@pytest.mark.parametrize("keeps_best", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_more_rounds_ask_for_smaller_steps(loss, keeps_best):
    rates = [automatic_rate(loss, 10_000, 10**k, keeps_best=keeps_best) for k in range(3, 7)]
    assert rates == sorted(set(rates), reverse=True)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_where_the_best_round_is_kept_the_rate_follows_from_the_rounds_alone(loss):
    exponent = 0.3 if isinstance(loss, Multinomial) else 0.15
    assert automatic_rate(loss, 10**6, 100, keeps_best=True) == 0.1
    assert automatic_rate(loss, 10, 1000, keeps_best=True) == round(0.1 * 0.1**exponent, 6)
    assert automatic_rate(loss, 10, 1, keeps_best=True) == 0.3


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_rates_are_positive_and_at_most_three_tenths(loss):
    for n_rows in (1, 10**10):
        for n_rounds in (1, 10_000):
            rate = automatic_rate(loss, n_rows, n_rounds, keeps_best=False)
            assert 0 < rate <= 0.3
            assert rate == round(rate, 6)


def test_a_rate_is_never_rounded_to_nothing():
    """Even where the equation says less than a millionth."""
    assert automatic_rate(Logistic(), 1, 2**31 - 1, keeps_best=False) == 1e-6
    assert automatic_rate(SquaredError(), 1, 10**60, keeps_best=True) == 1e-6


def test_other_losses_have_the_rate_of_regression():
    rates = {automatic_rate(loss, 5_000, 700, keeps_best=False) for loss in (SquaredError(), AbsoluteError())}
    assert rates == {round(math.exp(0.158 * math.log(5_000) - 4.287 - 0.813 * math.log(0.7)), 6)}


# ---- the estimators ------------------------------------------------------------------------------------------------


def test_the_rate_in_use_is_an_attribute():
    assert arb.BoostedTreesRegressor(n_estimators=2, learning_rate=0.25).fit(X, Y).learning_rate_ == 0.25
    model = arb.BoostedTreesRegressor(n_estimators=300, learning_rate="auto").fit(X, Y)
    assert model.learning_rate_ == automatic_rate(SquaredError(), 400, 300, keeps_best=False)
    assert model.learning_rate == "auto"
    same = arb.BoostedTreesRegressor(n_estimators=300, learning_rate=model.learning_rate_).fit(X, Y)
    assert model.fingerprint() == same.fingerprint()


@pytest.mark.parametrize(("n_classes", "loss"), [(2, Logistic()), (3, Multinomial(3))])
def test_classifiers_have_rates_of_their_own(n_classes, loss):
    y = np.digitize(Y, np.quantile(Y, np.arange(1, n_classes) / n_classes))
    model = arb.BoostedTreesClassifier(n_estimators=40, learning_rate="auto").fit(X, y)
    assert model.learning_rate_ == automatic_rate(loss, 400, 40, keeps_best=False)


def test_rounds_that_may_stop_early_have_a_rate_of_their_own():
    model = arb.BoostedTreesRegressor(n_estimators=80, learning_rate="auto", early_stopping=True).fit(X, Y)
    assert model.learning_rate_ == automatic_rate(SquaredError(), 400, 80, keeps_best=True)
    watched = arb.BoostedTreesRegressor(n_estimators=80, learning_rate="auto", early_stopping=False)
    watched.fit(X, Y, X_val=X[:9], y_val=Y[:9])
    assert watched.learning_rate_ == automatic_rate(SquaredError(), 400, 80, keeps_best=False)


def test_added_rounds_keep_the_rate():
    model = arb.BoostedTreesRegressor(n_estimators=100, learning_rate="auto", warm_start=True).fit(X, Y)
    rate = model.learning_rate_
    model.set_params(n_estimators=150).fit(X[:200], Y[:200])
    assert model.learning_rate_ == rate
    model.fit_more(X, Y, n_estimators=3)
    assert model.learning_rate_ == rate
    assert model.set_params(learning_rate=0.05).fit_more(X, Y, n_estimators=1).learning_rate_ == 0.05
    assert clone(model.set_params(learning_rate="auto")).fit(X, Y).learning_rate_ != rate


def test_a_refused_fit_changes_no_rate():
    model = arb.BoostedTreesRegressor(n_estimators=100, learning_rate="auto").fit(X, Y)
    rate = model.learning_rate_
    with pytest.raises(ValueError, match=r"learning_rate='fast': use a number above 0 .* or 'auto'"):
        model.set_params(learning_rate="fast").fit(X, Y)
    assert model.learning_rate_ == rate


def test_a_fit_that_diverges_names_the_rate_in_use():
    class Runaway(arb.Loss):
        """A step of Newton that leads far away from the minimum."""

        name, task, link = "custom", "regression", "identity"

        def values(self, y, raw):
            return np.abs(raw - y)

        def gradients(self, y, raw):
            return 1e80 * (raw - y), np.full(len(y), 1e-10)

        def start(self, y, weight):
            return np.zeros(1)

    model = arb.BoostedTreesRegressor(n_estimators=1000, learning_rate="auto", loss=Runaway())
    rate = automatic_rate(SquaredError(), 400, 1000, keeps_best=False)
    with pytest.raises(ValueError, match=rf"diverged in round \d: .* lower learning_rate={rate:g} or"):
        model.fit(X, Y)


# ---- files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.25, 1, np.float32(0.3), "auto"])
def test_files_and_pickles_keep_the_rate(rate):
    model = arb.BoostedTreesRegressor(n_estimators=50, learning_rate=rate).fit(X, Y)
    for copy in (reloaded(model), pickle.loads(pickle.dumps(model))):
        assert type(copy.learning_rate_) is float
        assert copy.learning_rate_ == model.learning_rate_
        more = [each.fit_more(X, Y, n_estimators=2).fingerprint() for each in (copy, pickle.loads(pickle.dumps(model)))]
        assert more[0] == more[1]
    assert ("learning_rate" in content(model)[0]) == (rate == "auto")


def test_a_rate_changed_after_the_fit_is_not_the_one_in_use():
    model = arb.BoostedTreesRegressor(n_estimators=5, learning_rate=0.25).fit(X, Y).set_params(learning_rate=0.5)
    copy = reloaded(model)
    assert (copy.learning_rate, copy.learning_rate_) == (0.5, 0.25)


@pytest.mark.parametrize("damage", [0, -0.5, True, "fast", None, [0.1], float("nan"), float("inf"), "absent"])
def test_damaged_rates_are_refused(damage):
    header, arrays = content(arb.BoostedTreesRegressor(n_estimators=5, learning_rate="auto").fit(X, Y))
    if damage == "absent":
        del header["learning_rate"]
    else:
        header["learning_rate"] = damage
    with pytest.raises(arb.ModelFileError, match=r"damaged model file"):
        loaded(header, arrays)
