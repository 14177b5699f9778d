"""Own losses: the formulas of scikit-learn, the best constant, and which model is judged by which."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

import arboretum as arb
from arboretum.losses import Loss
from arboretum.metrics.own_loss import mean_distance, negative_own_loss, own_loss, pinball

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(200, 3))
COUNTS = DRAW.poisson(np.exp(X[:, 0] / 2)).astype(float)
AMOUNTS = np.exp(X[:, 0] + 0.3 * DRAW.normal(size=200))
GRADES = np.digitize(X[:, 0] + 0.3 * DRAW.normal(size=200), [-1, 0, 1])
SMALL = {"n_estimators": 8, "early_stopping": False}


class LogCosh(Loss):
    def values(self, y, raw):
        return np.logaddexp(raw - y, y - raw) - np.log(2)

    def gradients(self, y, raw):
        slope = np.tanh(raw - y)
        return slope, 1 - slope**2


def boosted(loss, **more):
    return arb.BoostedTreesRegressor(loss=loss, **SMALL, **more)


NUMBERS = {
    "RMSE": (lambda: boosted("squared_error"), AMOUNTS, metrics.root_mean_squared_error, metrics.r2_score),
    "MAE": (lambda: boosted("absolute_error"), AMOUNTS, metrics.mean_absolute_error, metrics.d2_absolute_error_score),
    "pinball loss (0.1)": (
        lambda: boosted("quantile", quantile=0.1),
        AMOUNTS,
        lambda y, p: metrics.mean_pinball_loss(y, p, alpha=0.1),
        lambda y, p: metrics.d2_pinball_score(y, p, alpha=0.1),
    ),
    "Poisson deviance": (
        lambda: boosted("poisson"),
        COUNTS,
        metrics.mean_poisson_deviance,
        lambda y, p: metrics.d2_tweedie_score(y, p, power=1),
    ),
    "gamma deviance": (
        lambda: boosted("gamma"),
        AMOUNTS,
        metrics.mean_gamma_deviance,
        lambda y, p: metrics.d2_tweedie_score(y, p, power=2),
    ),
    "Tweedie deviance": (
        lambda: boosted("tweedie", power=1.3),
        COUNTS,
        lambda y, p: metrics.mean_tweedie_deviance(y, p, power=1.3),
        lambda y, p: metrics.d2_tweedie_score(y, p, power=1.3),
    ),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_losses_and_shares_of_numbers_are_those_of_scikit_learn(name):
    make, y, loss, share = NUMBERS[name]
    model = make().fit(X, y)
    told = model.predict(X)
    judge = own_loss(model, y, told)
    assert judge.name == name
    assert judge.mean(y, told) == pytest.approx(loss(y, told))
    assert judge.explained(y, told) == pytest.approx(share(y, told), abs=0.01)  # other quantiles of even numbers
    assert negative_own_loss(model, X, y) == pytest.approx(-loss(y, told))


@pytest.mark.parametrize("name", [*NUMBERS, "Huber loss", "LogCosh"])
def test_no_other_constant_is_better(name):
    others = {"Huber loss": lambda: boosted("huber"), "LogCosh": lambda: boosted(LogCosh())}
    make, y = (others[name], AMOUNTS) if name in others else NUMBERS[name][:2]
    model = make().fit(X, y)
    judge = own_loss(model, y, model.predict(X))
    assert judge.name == name
    weight = DRAW.integers(1, 4, len(y)).astype(float)
    (best,) = judge.constant(y, weight)
    least = judge.mean(y, np.full(len(y), best), weight)
    around = [judge.mean(y, np.full(len(y), best + step * y.std()), weight) for step in (-0.3, -0.05, 0.05, 0.3)]
    slack = 0.02 if name == "Huber loss" else 1e-9  # its start is the median
    assert least <= min(around) * (1 + slack)


def test_classes_are_judged_by_what_their_models_were_trained_for():
    two = GRADES > 1
    names = {
        "log loss": (arb.BoostedTreesClassifier(**SMALL), two),
        "Brier score": (arb.RandomForestClassifier(n_estimators=5), two),
        "ranked probability score": (arb.BoostedTreesClassifier(loss="ordinal", **SMALL), GRADES),
        "error rate": (arb.AdaBoostClassifier(n_estimators=5), two),
    }
    for name, (model, y) in names.items():
        proba = model.fit(X, y).predict_proba(X)
        code = np.searchsorted(model.classes_, y)
        judge = own_loss(model, code, proba)
        assert judge.name == name
        shares = judge.constant(code, None)
        np.testing.assert_allclose(shares, np.bincount(code) / len(code))
        assert judge.explained(code, proba) > 0.2
        if name == "log loss":
            assert judge.mean(code, proba) == pytest.approx(metrics.log_loss(y, proba))
        if name == "Brier score":
            assert judge.mean(code, proba) == pytest.approx(metrics.brier_score_loss(y, proba[:, 1]))
        if name == "error rate":
            assert judge.mean(code, proba) == pytest.approx(1 - model.score(X, y))
        if name == "ranked probability score":
            below = np.cumsum(proba, axis=1)[:, :-1]
            twin = np.mean([(below[:, k] - (code <= k)) ** 2 for k in range(3)])
            assert judge.mean(code, proba) == pytest.approx(twin)
            assert mean_distance(code, np.eye(4)[code]) == 0
            assert mean_distance(code, np.eye(4)[np.zeros(200, int)]) == pytest.approx(code.mean())


def test_a_model_inside_another_lends_its_loss():
    inner = boosted("absolute_error")
    bag = arb.BaggingRegressor(estimator=inner, n_estimators=2).fit(X, AMOUNTS)
    around = arb.ConformalRegressor(estimator=inner, adaptive=False).fit(X, AMOUNTS)
    for model in (bag, around, arb.AdaBoostRegressor(n_estimators=2).fit(X, AMOUNTS)):
        assert own_loss(model, AMOUNTS, model.predict(X)).name == "MAE"
    counting = arb.RandomForestRegressor(n_estimators=2, criterion="poisson").fit(X, COUNTS)
    assert own_loss(counting, COUNTS, counting.predict(X)).name == "Poisson deviance"
    calibrated = arb.CalibratedClassifier(estimator=arb.RandomForestClassifier(n_estimators=2), method="platt")
    two = GRADES > 1
    assert own_loss(calibrated.fit(X, two), two, calibrated.predict_proba(X)).name == "log loss"


def test_quantiles_are_judged_one_by_one(tmp_path):
    model = boosted("quantile", quantile=[0.2, 0.8]).fit(X, AMOUNTS)
    told = model.predict(X)
    assert [own_loss(model, AMOUNTS, told[:, k], output=k).name for k in range(2)] == [
        "pinball loss (0.2)",
        "pinball loss (0.8)",
    ]
    both = sum(pinball(q).mean(AMOUNTS, told[:, k]) for k, q in enumerate((0.2, 0.8)))
    assert negative_own_loss(model, X, AMOUNTS) == pytest.approx(-both)


def test_targets_and_losses_that_cannot_judge_leave_it_to_the_squared_error(tmp_path):
    model = boosted("gamma").fit(X, AMOUNTS)
    assert own_loss(model, np.zeros(200), model.predict(X)).name == "RMSE"
    boosted(LogCosh()).fit(X, AMOUNTS).save(tmp_path / "m.arb")
    loaded = arb.load(tmp_path / "m.arb")  # its file cannot carry the formula
    assert own_loss(loaded, AMOUNTS, loaded.predict(X)).name == "RMSE"
