"""CalibratedClassifier: probabilities as often right as they say, whatever the class weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from tests.reference.files import reloaded
from tests.reference.sklearn_checks import checks_of

import arboretum as arb

PLAIN = {"l2": 0.0, "subsample": 1.0, "max_features": 1.0, "early_stopping": False}
RNG = np.random.default_rng(0)
N = 1500


def draw(n):
    X = RNG.uniform(-2, 2, (n, 3))
    chance = 1 / (1 + np.exp(2.5 - 1.5 * X[:, 0] - X[:, 1]))
    return X, np.where(RNG.uniform(size=n) < chance, "yes", "no"), chance


X, Y, _ = draw(N)
X_NEW, Y_NEW, CHANCE = draw(5000)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(town=np.where(X[:, 2] > 0, "Oslo", "Rome"))
FRAME.loc[::9, "c"] = np.nan
THREE = np.where(X[:, 1] > 1, "maybe", Y)


def boosted(**params):
    return arb.BoostedTreesClassifier(
        **{"n_estimators": 25, "max_leaf_nodes": 8, "learning_rate": 0.2, **PLAIN, **params}
    )


def calibrated(**params):
    return arb.CalibratedClassifier(**{"estimator": boosted(), "n_folds": 3, **params})


WAYS = {
    "isotonic": calibrated(),
    "platt": calibrated(method="platt"),
    "split": calibrated(calibration="split", calibration_fraction=0.4, method="platt"),
    "balanced": calibrated(estimator=boosted(class_weight="balanced")),
    "weighted": calibrated(estimator=boosted(class_weight={"yes": 30.0}), method="platt"),
    "oob": calibrated(estimator=arb.RandomForestClassifier(n_estimators=60), calibration="oob"),
    "strange": calibrated(estimator=GaussianNB()),
    "cross": calibrated(calibration="cross"),
    "temperature": calibrated(method="temperature"),
    "temperature of folds": calibrated(method="temperature", calibration="ensemble"),
}


@pytest.mark.parametrize("way", WAYS)
def test_probabilities_are_those_of_the_population(way):
    model = clone(WAYS[way]).fit(X, Y)
    proba = model.predict_proba(X_NEW)[:, 1]
    assert proba.mean() == pytest.approx(CHANCE.mean(), abs=0.03)
    for low, high in ((0.0, 0.1), (0.1, 0.3), (0.3, 0.6), (0.6, 1.0)):
        said = (proba >= low) & (proba < high)
        if said.sum() > 150:
            assert proba[said].mean() == pytest.approx((Y_NEW[said] == "yes").mean(), abs=0.13)
    np.testing.assert_array_equal(model.predict(X_NEW), np.where(proba > 0.5, "yes", "no"))


@pytest.mark.parametrize("method", ["isotonic", "platt"])
@pytest.mark.parametrize(
    "estimator", [boosted(n_estimators=200), boosted(class_weight="balanced")], ids=["sure", "bal"]
)
def test_calibration_mends_what_is_dishonest(method, estimator):
    plain = log_loss(Y_NEW, clone(estimator).fit(X, Y).predict_proba(X_NEW))
    honest = log_loss(Y_NEW, calibrated(estimator=estimator, method=method).fit(X, Y).predict_proba(X_NEW))
    assert honest < 0.9 * plain


def test_several_classes_and_one_too_rare_for_all_folds():
    labels = THREE.copy()
    labels[:2] = "rare"
    for params in ({}, {"method": "platt"}, {"calibration": "split"}):
        model = calibrated(**params).fit(FRAME, labels)
        proba = model.predict_proba(FRAME)
        assert model.classes_.tolist() == ["maybe", "no", "rare", "yes"]
        assert proba.shape == (N, 4)
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        np.testing.assert_allclose(proba.mean(axis=0), [(labels == c).mean() for c in model.classes_], atol=0.05)


# ---- the mean of the folds -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["isotonic", "platt", "temperature"])
@pytest.mark.parametrize("labels", [Y, THREE], ids=["two", "three"])
def test_an_ensemble_is_the_mean_of_its_folds(method, labels):
    model = calibrated(method=method, calibration="ensemble").fit(FRAME, labels)
    assert len(model.estimators_) == len(model.calibrations_) == 3
    told = [
        calibration.apply(member.predict_proba(FRAME))
        for member, calibration in zip(model.estimators_, model.calibrations_, strict=True)
    ]
    np.testing.assert_array_equal(model.predict_proba(FRAME), np.mean(told, axis=0))
    crossed = calibrated(method=method, calibration="cross").fit(FRAME, labels)
    assert len(crossed.estimators_) == 1


@pytest.mark.parametrize("method", ["isotonic", "platt", "temperature"])
@pytest.mark.parametrize("labels", [Y, THREE], ids=["two", "three"])
def test_ensembles_are_saved_explained_and_reported(method, labels, tmp_path):
    model = calibrated(method=method, calibration="ensemble").fit(FRAME, labels)
    model.save(tmp_path / "model.arb")
    again = arb.load(tmp_path / "model.arb")
    assert again.fingerprint() == model.fingerprint()
    np.testing.assert_array_equal(again.predict_proba(FRAME), model.predict_proba(FRAME))
    assert model.fingerprint() == calibrated(method=method, calibration="ensemble").fit(FRAME, labels).fingerprint()
    assert list(model.importances().feature_names) == FRAME.columns.tolist()
    with pytest.raises(TypeError, match="explain its members"):
        model.explain(FRAME[:5])
    page = model.report(FRAME[:200], labels[:200], tmp_path / "report.html").read_text(encoding="utf-8")
    assert '["modelsaveraged",3]' in page.replace(" ", "")


def test_maps_of_other_folds_are_read_as_well():
    def damage(header, arrays):
        arrays["calibration 0 of 1"] = np.array([[0.1, 0.1], [0.2, 0.3]])

    with pytest.raises(arb.ModelFileError, match=r"knots\[1\] = 0.1 must be greater than the one before"):
        reloaded(calibrated(calibration="ensemble").fit(X, Y), damage)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, a: h["classes"].update(values=["no", "zzz"]), "a member has classes that the ensemble lacks"),
        (lambda h, a: h["classes"].update(values=["no"]), "1 classes: expected two or more"),
        (lambda h, a: h.update(calibration="guesses"), "calibration is 'guesses': expected one of "),
    ],
)
def test_damaged_file(change, message):
    with pytest.raises(arb.ModelFileError, match=f"damaged model file: {message}"):
        reloaded(calibrated().fit(X, Y), change)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"method": "isotnic"}, r"method='isotnic' \(did you mean 'isotonic'\?\)"),
        ({"estimator": arb.BoostedTreesRegressor()}, "is not a classifier, which CalibratedClassifier needs"),
        ({"estimator": RidgeClassifier()}, "has no predict_proba: use a classifier that has"),
        ({"calibration": "oob"}, "needs an estimator with out-of-bag predictions"),
    ],
)
def test_refused_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        calibrated(**params).fit(X, Y)


def test_refused_targets_and_questions():
    with pytest.raises(
        ValueError, match=r"only one class, 'no', is left of \['no', 'yes'\]: give more rows of the oth"
    ):
        calibrated().fit(X[:50], np.where(np.arange(50) == 3, "yes", "no"))
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        calibrated().predict_proba(X)


@pytest.mark.parametrize(
    ("estimator", "check"),
    checks_of(calibrated(estimator=boosted(n_estimators=4), n_folds=2)),
    ids=lambda case: getattr(getattr(case, "func", case), "__name__", ""),
)
def test_every_check_of_sklearn(estimator, check):
    check(estimator)
