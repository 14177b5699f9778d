"""CheckpointAverage: the mean of snapshots of any iterative learner, against copies made by hand."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM
from tests.reference.sklearn_checks import checks_of

import arboretum as arb

RNG = np.random.default_rng(0)
N = 120
X = RNG.normal(size=(N, 3))
NUMBERS = X[:, 0] - X[:, 1] ** 2 + RNG.normal(size=N) / 4
TWO = np.where(NUMBERS > -0.5, "yes", "no")
CLASSES = np.array(["low", "mid", "high"])[np.digitize(NUMBERS, [-1, 0])]


def average(estimator, **params):
    return arb.CheckpointAverage(estimator=estimator, **params)


def name_of(case):
    return getattr(getattr(case, "func", case), "__name__", None) or repr(case)


@pytest.mark.parametrize(
    ("estimator", "check"),
    checks_of(
        average(arb.BoostedTreesClassifier(n_estimators=6), n_snapshots=3),
        average(arb.RandomForestRegressor(n_estimators=4), n_snapshots=3),
        average(BernoulliNB(), n_snapshots=2),
    ),
    ids=name_of,
)
def test_every_check_of_sklearn(estimator, check):
    check(estimator)


# ---- against copies made by hand -------------------------------------------------------------------------------------


def seeds(model):
    """Seeds that the snapshots had, last ones first known."""
    return [one.get_params().get("random_state") for one in model.estimators_]


def test_partial_fit_passes_over_the_rows():
    line = SGDRegressor(learning_rate="constant", eta0=0.02)
    model = average(line, n_steps=8, n_snapshots=3, every=2).fit(X, NUMBERS)
    assert model.steps_ == [4, 6, 8]
    twin, copies = clone(line), {}
    all_seeds = average(line, n_steps=8, n_snapshots=8).fit(X, NUMBERS)
    for step, seed in enumerate(seeds(all_seeds), 1):
        copies[step] = copy.deepcopy(twin.set_params(random_state=seed).partial_fit(X, NUMBERS))
    expected = np.mean([copies[step].predict(X) for step in model.steps_], axis=0)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-12)
    assert len(set(seeds(all_seeds))) == 8  # rows come in another order in each pass
    assert line.random_state is None  # the user's object stays as it is
    assert not hasattr(line, "coef_")


@pytest.mark.parametrize("counted", [{}, {"n_steps": 9}])
def test_warm_starts_add_steps(counted):
    trees = GradientBoostingClassifier(n_estimators=9, max_depth=2)
    model = average(trees, n_snapshots=3, every=3, **counted).fit(X, CLASSES)
    assert model.steps_ == [3, 6, 9]
    assert [len(one.estimators_) for one in model.estimators_] == [3, 6, 9]
    whole = clone(trees).set_params(random_state=seeds(model)[0]).fit(X, CLASSES)
    stages = list(whole.staged_predict_proba(X))
    np.testing.assert_allclose(model.predict_proba(X), np.mean([stages[k] for k in (2, 5, 8)], axis=0), rtol=1e-9)
    assert set(model.predict(X)) <= set(CLASSES)


def test_a_counter_of_a_pipeline_can_be_named():
    pipeline = make_pipeline(StandardScaler(), HistGradientBoostingRegressor(max_iter=6, early_stopping=False))
    with pytest.raises(
        ValueError, match="is not fitted in steps: use one with partial_fit, or with warm_start and n_es"
    ):
        average(pipeline).fit(X, NUMBERS)
    model = average(pipeline, steps_parameter="histgradientboostingregressor__max_iter", n_snapshots=2).fit(X, NUMBERS)
    assert [one[-1].n_iter_ for one in model.estimators_] == model.steps_ == [5, 6]


@pytest.mark.parametrize(
    ("base", "y"),
    [
        (arb.BoostedTreesRegressor(n_estimators=9, learning_rate="auto"), NUMBERS),
        (arb.BoostedTreesRegressor(n_estimators=9), np.column_stack([NUMBERS, -NUMBERS])),
        (arb.BoostedTreesClassifier(n_estimators=9), CLASSES),
        (arb.AdaBoostClassifier(n_estimators=9), TWO),
        (arb.AdditiveBoostingRegressor(n_estimators=9), NUMBERS),
    ],
    ids=lambda value: type(value).__name__,
)
def test_rounds_of_ours_are_fitted_once(base, y):
    model = average(base, n_snapshots=3, every=2).fit(X, y)
    whole = clone(base).set_params(**({"random_state": model.estimators_[0].random_state})).fit(X, y)
    rounds = int(np.max(getattr(whole, "n_iter_", 9)))
    assert model.steps_ == [rounds - 4, rounds - 2, rounds]
    parts = [whole.first_rounds(k) for k in model.steps_]
    assert [one.fingerprint() for one in model.estimators_] == [one.fingerprint() for one in parts]
    method = "predict_proba" if hasattr(whole, "predict_proba") else "predict"
    expected = np.mean([getattr(one, method)(X) for one in parts], axis=0)
    np.testing.assert_allclose(getattr(model, method)(X), expected, rtol=1e-12, atol=1e-15)


def test_the_number_of_steps_of_ours_can_be_given():
    model = average(arb.BoostedTreesRegressor(), n_steps=4, n_snapshots=10).fit(X, NUMBERS)
    assert model.steps_ == [1, 2, 3, 4]


def test_a_network_is_averaged():
    net = MLPRegressor(hidden_layer_sizes=(8,), learning_rate_init=0.05)
    model = average(net, n_steps=40, n_snapshots=10).fit(X, NUMBERS)
    worst = min(one.score(X, NUMBERS) for one in model.estimators_)
    assert model.score(X, NUMBERS) > worst


# ---- its task is that of its estimator -------------------------------------------------------------------------------


def test_probabilities_margins_and_numbers():
    with_proba = average(SGDClassifier(loss="log_loss"), n_steps=9).fit(X, TWO)
    assert with_proba.predict_proba(X).shape == (N, 2)
    assert with_proba.decision_function(X).shape == (N,)
    np.testing.assert_array_equal(with_proba.decision_function(X) > 0, with_proba.predict(X) == "yes")
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(with_proba.predict_log_proba(X), np.log(with_proba.predict_proba(X)))
    for y, shape in ((TWO, (N,)), (CLASSES, (N, 3))):
        model = average(SGDClassifier(loss="hinge"), n_steps=9).fit(X, y)
        expected = np.mean([one.decision_function(X) for one in model.estimators_], axis=0)
        assert model.decision_function(X).shape == shape
        np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-12)
        codes = (expected > 0).astype(int) if len(shape) == 1 else expected.argmax(axis=1)
        np.testing.assert_array_equal(model.predict(X), model.classes_[codes])
        assert not hasattr(model, "predict_proba")
        assert not hasattr(model, "predict_log_proba")
    numbers = average(SGDRegressor(), n_steps=9).fit(X, NUMBERS)
    for name in ("predict_proba", "decision_function", "classes_", "n_classes_"):
        assert not hasattr(numbers, name)
    with pytest.raises(AttributeError, match="this CheckpointAverage has no predict_proba: its members have no such"):
        numbers.predict_proba(X)


def test_scikit_learn_sees_the_task():
    classifier, regressor = average(SGDClassifier(), n_steps=5), average(SGDRegressor(), n_steps=5)
    assert is_classifier(classifier)
    assert not is_regressor(classifier)
    assert is_regressor(regressor)
    assert classifier.fit(X, CLASSES).task_.name == "multiclass"
    assert classifier.n_classes_ == 3
    assert regressor.fit(X, NUMBERS).task_.name == "regression"
    assert cross_val_score(classifier, X, TWO, cv=3).shape == (3,)
    search = GridSearchCV(regressor, {"n_snapshots": [1, 4], "estimator__alpha": [1e-4, 1e-2]}, cv=2).fit(X, NUMBERS)
    assert search.best_estimator_.steps_[-1] == 5


def test_named_columns_come_in_any_order():
    frame = pd.DataFrame(X, columns=["b", "a", "c"])
    model = average(SGDRegressor(), n_steps=3).fit(frame, NUMBERS)
    assert model.feature_names_in_.tolist() == ["b", "a", "c"]
    np.testing.assert_array_equal(model.predict(frame[["c", "a", "b"]]), model.predict(frame))
    with pytest.raises(ValueError, match="missing: 'a'"):
        model.predict(frame[["b", "c"]])


# ---- weights and seeds -----------------------------------------------------------------------------------------------


class Unweighted(SGDRegressor):
    """Its partial_fit takes no weights."""

    def partial_fit(self, X, y):
        """Pass over the rows."""
        return super().partial_fit(X, y)


def test_weights_reach_the_estimator_or_are_copies():
    weight = RNG.integers(0, 3, N)
    copied = np.repeat(np.arange(N), weight)
    plain = average(Unweighted(shuffle=False), n_steps=4)
    expected = clone(plain).fit(X[copied], NUMBERS[copied]).predict(X)
    np.testing.assert_allclose(clone(plain).fit(X, NUMBERS, weight).predict(X), expected, rtol=1e-12)
    with pytest.raises(
        ValueError, match=r"sample_weight: Unweighted.partial_fit takes none; give whole numbers, which"
    ):
        clone(plain).fit(X, NUMBERS, RNG.random(N))
    weighted, unweighted = (
        average(SGDRegressor(shuffle=False), n_steps=4).fit(X, NUMBERS, given) for given in (RNG.random(N), None)
    )
    assert np.abs(weighted.predict(X) - unweighted.predict(X)).max() > 1e-3


def test_a_seed_repeats_the_fit():
    one, two, other = (average(SGDClassifier(), n_steps=4, random_state=k).fit(X, TWO) for k in (3, 3, 4))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    assert (one.decision_function(X) != other.decision_function(X)).any()


# ---- files -----------------------------------------------------------------------------------------------------------


def test_files_hold_members_of_ours(tmp_path):
    model = average(arb.BoostedTreesClassifier(n_estimators=6), n_snapshots=2, every=3).fit(X, CLASSES)
    model.save(tmp_path / "m.arb")
    for again in (arb.load(tmp_path / "m.arb"), pickle.loads(pickle.dumps(model))):
        assert again.steps_ == [3, 6]
        assert again.estimator_.n_estimators == 6
        assert again.fingerprint() == model.fingerprint()
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    foreign = average(SGDRegressor(), n_steps=3).fit(X, NUMBERS)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(foreign)).predict(X), foreign.predict(X))
    with pytest.raises(TypeError, match="save needs members of arboretum, not SGDRegressor"):
        foreign.save(tmp_path / "f.arb")


# ---- what is refused -------------------------------------------------------------------------------------------------


class Labels(LogisticRegression):
    """It tells labels alone."""

    decision_function = predict_proba = property(lambda self: self.nothing)


REFUSED = {
    "no steps": (
        LinearRegression(),
        {},
        r"estimator=LinearRegression\(\) is not fitted in steps: use one with partial",
    ),
    "no counter": (KNeighborsClassifier(), {}, "is not fitted in steps"),
    "no estimator": ("trees", {}, "estimator='trees': use an estimator object"),
    "a class": (SGDRegressor, {}, "use an estimator object, with fit, predict and get_params"),
    "another task": (OneClassSVM(), {}, "use a classifier or a regressor"),
    "a ranker": (arb.BoostedTreesRanker(), {}, "use a classifier or a regressor"),
    "labels alone": (Labels(), {}, "has neither predict_proba nor decision_function, of which there is a mean"),
    "odd counter": (
        GradientBoostingRegressor(),
        {"steps_parameter": "n_trees"},
        "steps_parameter='n_trees': it is not",
    ),
    "no text": (GradientBoostingRegressor(), {"steps_parameter": 3}, "steps_parameter=3: it is not a parameter"),
    "no warm start": (arb.DecisionTreeRegressor(), {"steps_parameter": "max_depth"}, "is not fitted in steps"),
    "dropped rounds": (arb.BoostedTreesRegressor(dart_rate=0.5), {}, "has dart_rate, so that its trees do not hold"),
    "averaged": (arb.BoostedTreesRegressor(average_rounds=3), {}, "has average_rounds, so that its trees do not hold"),
    "snapshots": (SGDRegressor(), {"n_snapshots": 0}, "n_snapshots=0: use an integer at least 1"),
    "every": (SGDRegressor(), {"every": 1.5}, "every=1.5: use an integer at least 1"),
    "steps": (SGDRegressor(), {"n_steps": 0}, "n_steps=0: use an integer at least 1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_parameters_are_refused_before_the_fit(case):
    estimator, params, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        average(estimator, **params).fit(None, None)


def test_an_error_leaves_the_model_as_it_was():
    model = average(SGDRegressor(), n_steps=3)
    with pytest.raises(NotFittedError, match="This CheckpointAverage instance is not fitted yet"):
        model.predict(X)
    before = model.fit(X, NUMBERS).predict(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((5, 3), np.nan), np.arange(5.0))
    np.testing.assert_array_equal(model.predict(X), before)
