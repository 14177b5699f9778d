"""AdaBoost estimators: what learners say together, any learner, any table, any number of threads, files."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn import ensemble
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.reference.files import reloaded

import arboretum as arb
from arboretum import AdaBoostClassifier, AdaBoostRegressor
from arboretum.ensembles.adaboost import rounds
from arboretum.estimators.protocol import Classifier, Regressor
from arboretum.model import model_file

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).astype(np.float32).astype(float)  # scikit-learn's trees see float32
Y = X[:, 0] * 2 + X[:, 1] ** 2 + 0.3 * RNG.normal(size=300)
BINARY = np.where(Y + 0.5 * RNG.normal(size=300) > 1, "yes", "no")
LABELS = np.array(["low", "mid", "top"])[np.digitize(Y, [0.0, 1.5])]
WEIGHT = RNG.random(300) + 0.1
FRAME = pd.DataFrame(X, columns=["d", "b", "c", "a"]).assign(town=np.where(X[:, 3] > 0, "Oslo", "Rome"))
FRAME.loc[::7, "b"] = np.nan
FRAME.loc[::11, "town"] = None


def tree_classifier(**params):
    return AdaBoostClassifier(estimator=arb.DecisionTreeClassifier(max_depth=2), **{"n_estimators": 8, **params})


def tree_regressor(**params):
    return AdaBoostRegressor(estimator=arb.DecisionTreeRegressor(max_depth=2), **{"n_estimators": 8, **params})


def members_of_ours(**params):
    boosted = arb.BoostedTreesClassifier(n_estimators=3, max_depth=2)
    return AdaBoostClassifier(estimator=boosted, **{"n_estimators": 4, **params})


OURS = [
    AdaBoostClassifier(n_estimators=8),
    AdaBoostRegressor(n_estimators=8),
    AdaBoostRegressor(n_estimators=8, bootstrap=False, loss="square"),
    tree_classifier(),
    tree_regressor(),
    members_of_ours(),
    AdaBoostRegressor(estimator=arb.RandomForestRegressor(n_estimators=2, max_depth=3), n_estimators=3),
    AdaBoostClassifier(estimator=arb.DecisionTreeClassifier(max_depth=2, class_weight="balanced"), n_estimators=4),
    AdaBoostClassifier(n_estimators=8, bootstrap=True),
    AdaBoostClassifier(estimator=arb.RandomForestClassifier(n_estimators=2), n_estimators=4, bootstrap=True),
]
FOREIGN = [
    AdaBoostClassifier(estimator=LogisticRegression(), n_estimators=4),
    AdaBoostClassifier(estimator=KNeighborsClassifier(), n_estimators=4),
    AdaBoostClassifier(estimator=LogisticRegression(), n_estimators=4, bootstrap=True),
    AdaBoostRegressor(estimator=KNeighborsRegressor(), n_estimators=4),
    AdaBoostRegressor(estimator=LinearRegression(), n_estimators=4, bootstrap=False),
]


def name_of(case):
    return getattr(getattr(case, "func", case), "__name__", None) or " ".join(repr(case).split())


each_of_ours = pytest.mark.parametrize("model", OURS, ids=name_of)
each_of_others = pytest.mark.parametrize("model", FOREIGN, ids=name_of)
each_model = pytest.mark.parametrize("model", OURS + FOREIGN, ids=name_of)


def target_of(model, binary=False):
    return (BINARY if binary else LABELS) if isinstance(model, AdaBoostClassifier) else Y


def outcome(model, rows):
    return model.predict_proba(rows) if isinstance(model, AdaBoostClassifier) else model.predict(rows)


# --------------------------------------------------------------------------------------------- what the model says


@each_model
def test_the_model_is_what_its_learners_say_together(model):
    model = clone(model).fit(X, y := target_of(model))
    weights, members = model.estimator_weights_, model.estimators_
    assert len(members) == len(weights) == len(model.estimator_errors_) > 1
    if isinstance(model, AdaBoostClassifier):
        scores = sum(
            w * (member.predict(X)[:, None] == model.classes_) for w, member in zip(weights, members, strict=True)
        )
        np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
        assert np.mean(model.predict(X) == y) > 0.6
    else:
        predictions = np.column_stack([member.predict(X) for member in members])
        np.testing.assert_array_equal(model.predict(X), rounds.weighted_median(predictions, weights))
    stages = list(model.staged_predict(X))
    assert len(stages) == len(weights)
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    np.testing.assert_allclose(list(model.staged_score(X, y))[-1], model.score(X, y))


@pytest.mark.parametrize("y", [BINARY, LABELS], ids=["two", "three"])
@pytest.mark.parametrize("make", [AdaBoostClassifier, tree_classifier, members_of_ours])
@pytest.mark.parametrize("bootstrap", [False, True])
def test_errors_and_weights_follow_from_the_learners(make, y, bootstrap):
    """The plain twin: weights of the rows are made again from what the learners predict for all rows, drawn or not."""
    model = make(n_estimators=6, bootstrap=bootstrap).fit(X, y, WEIGHT)
    w, n_classes = WEIGHT / WEIGHT.sum(), len(model.classes_)
    for member, weight, error in zip(model.estimators_, model.estimator_weights_, model.estimator_errors_, strict=True):
        wrong = member.predict(X) != y
        assert error == pytest.approx(w[wrong].sum())
        assert weight == pytest.approx(np.log((1 - error) / error) + np.log(n_classes - 1))
        w = w * np.exp(weight * wrong)
        w /= w.sum()


def test_errors_of_numbers_follow_from_the_learners():
    model = AdaBoostRegressor(n_estimators=6, bootstrap=False, learning_rate=0.7, loss="square", max_bins=None)
    model.fit(X, Y, WEIGHT)
    w = WEIGHT / WEIGHT.sum()
    for member, weight, error in zip(model.estimators_, model.estimator_weights_, model.estimator_errors_, strict=True):
        plain = arb.DecisionTreeRegressor(max_depth=3).fit(X, Y, w)
        np.testing.assert_allclose(member.predict(X), plain.predict(X), rtol=1e-6)
        losses = np.abs(member.predict(X) - Y)
        losses = (losses / losses.max()) ** 2
        assert error == pytest.approx(w @ losses)
        beta = error / (1 - error)
        assert weight == pytest.approx(-0.7 * np.log(beta))
        w = w * beta ** (0.7 * (1 - losses))
        w /= w.sum()


def test_learners_of_numbers_see_drawn_rows_unless_told_otherwise():
    drawn, whole = (AdaBoostRegressor(bootstrap=b, n_estimators=4).fit(X, Y) for b in (True, False))
    assert drawn.fingerprint() != whole.fingerprint()
    assert AdaBoostRegressor(random_state=1, n_estimators=4).fit(X, Y).fingerprint() != drawn.fingerprint()
    other = AdaBoostRegressor(random_state=1, bootstrap=False, n_estimators=4).fit(X, Y)
    assert other.fingerprint() == whole.fingerprint()


class Seen(LogisticRegression):
    """Keeps what it is fitted to."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        self.seen.append((X, np.ones(len(X)) if sample_weight is None else sample_weight))
        return super().fit(X, y, sample_weight)


def test_learners_of_classes_see_drawn_rows_if_asked():
    Seen.seen.clear()
    model = AdaBoostClassifier(estimator=Seen(), n_estimators=5, bootstrap=True).fit(X, BINARY)
    weight = np.ones(300)
    place = {row.tobytes(): number for number, row in enumerate(X)}
    for (rows, copies), member, omega in zip(Seen.seen, model.estimators_, model.estimator_weights_, strict=True):
        assert copies.sum() == 300
        assert (copies == np.rint(copies)).all()
        drawn = np.zeros(300)
        drawn[[place[row.tobytes()] for row in rows]] = copies
        heavy = weight > np.median(weight)
        if heavy.any():  # as often as the weights say, by chance
            assert drawn[heavy].sum() == pytest.approx(weight[heavy].sum(), abs=4 * np.sqrt(75))
        weight = weight * np.exp(omega * (member.predict(X) != BINARY))
        weight *= 300 / weight.sum()
    assert len({tuple(np.sort(copies)) for _, copies in Seen.seen}) > 1


@pytest.mark.parametrize("y", [BINARY, LABELS], ids=["two", "three"])
def test_draws_of_classes_are_those_of_the_seed(y):
    drawn, whole = (AdaBoostClassifier(bootstrap=b, n_estimators=6).fit(X, y) for b in (True, False))
    assert drawn.fingerprint() != whole.fingerprint()
    assert abs(drawn.score(X, y) - whole.score(X, y)) < 0.1
    other = AdaBoostClassifier(bootstrap=True, n_estimators=6, random_state=1).fit(X, y)
    assert other.fingerprint() != drawn.fingerprint()
    order = RNG.permutation(300)
    assert AdaBoostClassifier(bootstrap=True, n_estimators=6, n_jobs=2).fit(X, y).fingerprint() == drawn.fingerprint()
    again = AdaBoostClassifier(bootstrap=True, n_estimators=6).fit(X[order], y[order])
    np.testing.assert_allclose(again.predict_proba(X), drawn.predict_proba(X), rtol=1e-9)
    copies = np.arange(300) % 3 + 1
    weighted = AdaBoostClassifier(bootstrap=True, n_estimators=6).fit(X, y, copies)
    repeated = AdaBoostClassifier(bootstrap=True, n_estimators=6).fit(
        np.repeat(X, copies, axis=0), np.repeat(y, copies)
    )
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-9)


def test_learners_that_take_no_weights_are_drawn_for_anyway():
    drawn, asked = (
        AdaBoostClassifier(estimator=KNeighborsClassifier(3), n_estimators=4, bootstrap=b).fit(X, BINARY)
        for b in (False, True)
    )
    np.testing.assert_array_equal(drawn.predict_proba(X), asked.predict_proba(X))


def test_a_file_from_before_the_option_is_that_of_weights(tmp_path):
    model = AdaBoostClassifier(n_estimators=3).fit(X, BINARY)
    header, arrays = model.to_file()
    assert header["params"].pop("bootstrap") is False
    model_file.save(tmp_path / "old.arb", header, arrays)
    old = arb.load(tmp_path / "old.arb")
    assert (old.bootstrap, old.fingerprint()) == (False, model.fingerprint())


def test_several_outputs_have_no_median():
    message = (
        r"^y has 2 outputs, but AdaBoost.R2 predicts the median of its learners, and vectors have no order: use Addi"
    )
    for model in (AdaBoostRegressor(), AdaBoostRegressor(estimator=KNeighborsRegressor())):
        with pytest.raises(ValueError, match=message):
            model.fit(X, np.column_stack([Y, Y]))


class Contrary(Classifier):
    """A stump that says the opposite."""

    def __init__(self, *, learner=None):
        self.learner = learner

    def fit(self, X, y, sample_weight=None):
        self.inner_ = arb.DecisionTreeClassifier(max_depth=1).fit(X, y, sample_weight)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.classes_[::-1][np.searchsorted(self.classes_, self.inner_.predict(X))]


def test_learners_that_are_worse_than_chance_vote_against_their_class():
    contrary = AdaBoostClassifier(estimator=Contrary(), n_estimators=10).fit(X, BINARY)
    plain = AdaBoostClassifier(estimator=arb.DecisionTreeClassifier(max_depth=1), n_estimators=10).fit(X, BINARY)
    assert (contrary.estimator_weights_ < 0).all()
    np.testing.assert_allclose(contrary.estimator_weights_, -plain.estimator_weights_)
    np.testing.assert_allclose(contrary.predict_proba(X), plain.predict_proba(X))
    for stage, other in zip(contrary.staged_decision_function(X), plain.staged_decision_function(X), strict=True):
        np.testing.assert_allclose(stage, other)
    separable = AdaBoostClassifier(estimator=Contrary()).fit([[0.0], [1.0]], [0, 1])
    assert (separable.estimator_weights_.tolist(), separable.estimator_errors_.tolist()) == ([-1.0], [1.0])
    assert separable.predict([[0.0], [1.0]]).tolist() == [0, 1]


@pytest.mark.parametrize("y", [[0, 0, 1, 1], [0, 1, 2, 2]])
def test_a_perfect_learner_decides_alone(y):
    table = np.arange(4.0)[:, None]
    model = AdaBoostClassifier(estimator=arb.DecisionTreeClassifier()).fit(table, y)
    assert (model.estimator_weights_.tolist(), model.estimator_errors_.tolist()) == ([1.0], [0.0])
    assert model.predict(table).tolist() == y
    stages = list(model.staged_predict_proba(table))
    assert len(stages) == 1
    assert np.isfinite(stages[0]).all()
    exact = AdaBoostRegressor(estimator=arb.DecisionTreeRegressor(), bootstrap=False).fit(table, y)
    assert (exact.estimator_weights_.tolist(), exact.estimator_errors_.tolist()) == ([1.0], [0.0])


@pytest.mark.parametrize("y", [[0, 1], [0, 1, 2], [0, 0, 1]])
def test_nothing_to_learn_still_gives_a_model(y):
    model = AdaBoostClassifier().fit(np.ones((len(y), 1)), y)
    assert model.predict([[1.0]]).tolist() == [0]
    assert np.isfinite(model.predict_proba([[1.0], [5.0]])).all()
    assert len(model.estimators_) == 1
    assert AdaBoostRegressor().fit(np.ones((2, 1)), [3.0, 3.0]).predict([[1.0]]).tolist() == [3.0]


def test_importances_find_the_columns_that_matter():
    for model in (AdaBoostClassifier(), tree_classifier(), AdaBoostRegressor()):
        found = clone(model).fit(X, target_of(model)).feature_importances_
        assert found.sum() == pytest.approx(1)
        assert set(np.argsort(found)[-2:]) == {0, 1}
    theirs = ensemble.AdaBoostClassifier(n_estimators=20).fit(X, BINARY)
    ours = AdaBoostClassifier(n_estimators=20, max_bins=None).fit(X, BINARY)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-9)
    members = AdaBoostClassifier(estimator=DecisionTreeClassifier(max_depth=1), n_estimators=20).fit(X, BINARY)
    np.testing.assert_allclose(members.feature_importances_, theirs.feature_importances_, atol=1e-9)
    with pytest.raises(AttributeError, match="feature_importances_"):
        AdaBoostClassifier(estimator=GaussianNB()).fit(X, BINARY).feature_importances_


def test_trees_can_be_read():
    model = AdaBoostClassifier(n_estimators=3).fit(FRAME, BINARY)
    assert model.apply(FRAME).shape == (300, 3)
    assert model.decision_path(FRAME)[0].shape == (300, 9)
    assert "d" in model.to_text(0)
    members = AdaBoostClassifier(estimator=GaussianNB(), n_estimators=3).fit(X, BINARY)
    for read in (members.apply, members.to_text, members.decision_path):
        with pytest.raises(AttributeError, match="learners are of GaussianNB: only trees of arboretum can be read"):
            read(X)


# --------------------------------------------------------------------------------------------- the same model


def test_threads_do_not_change_a_large_model():
    rng = np.random.default_rng(0)
    table = np.round(rng.normal(size=(70_000, 5)), 2)
    table[rng.random(table.shape) < 0.05] = np.nan
    score = np.nan_to_num(table[:, 0] + table[:, 1] * table[:, 2]) + rng.normal(size=70_000)
    for model, y in ((AdaBoostClassifier, score > 0), (AdaBoostRegressor, score)):
        prints = {model(n_estimators=5, n_jobs=n).fit(table, y).fingerprint() for n in (1, 2, 3, 8)}
        assert len(prints) == 1


@each_of_others
def test_order_of_rows_does_not_change_the_model(model):
    order = RNG.permutation(300)
    one, other = clone(model).fit(X, target_of(model)), clone(model).fit(X[order], target_of(model)[order])
    np.testing.assert_allclose(outcome(other, X), outcome(one, X), rtol=1e-6)


@each_of_ours
def test_sparse_tables_are_those_of_zeros(model):
    table = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, sparse = clone(model).fit(table, target_of(model)), clone(model).fit(csr_matrix(table), target_of(model))
    np.testing.assert_array_equal(outcome(sparse, csr_matrix(table)), outcome(dense, table))


# --------------------------------------------------------------------------------------------- odd input


@pytest.mark.parametrize("binary", [True, False])
def test_missing_values_and_categories_are_split_as_they_are(binary):
    rng = np.random.default_rng(0)
    town = rng.choice(["a", "b", "c", "d", "e", "f"], 400)
    number = np.where(rng.random(400) < 0.5, np.nan, rng.normal(size=400))
    odd = np.isin(town, ["a", "d", "e"])
    y = odd if binary else np.where(odd, 0, 1 + np.isnan(number))
    frame = pd.DataFrame({"town": town, "number": number})
    assert AdaBoostClassifier().fit(frame, y).score(frame, y) == 1
    assert AdaBoostRegressor().fit(frame, y).score(frame, y) > 0.99


def test_policies_are_those_of_the_default_learner_or_of_the_estimator():
    new = FRAME.assign(town="Bergen")
    y = FRAME["town"].fillna("?").to_numpy()
    for make in (
        lambda **policy: AdaBoostClassifier(n_estimators=2, **policy),
        lambda **policy: AdaBoostClassifier(
            estimator=arb.DecisionTreeClassifier(max_depth=1, **policy), n_estimators=2
        ),
    ):
        average, missing = make().fit(FRAME, y), make(unknown="missing").fit(FRAME, y)
        assert average.fingerprint() != missing.fingerprint()
        none = FRAME.assign(town=pd.Series([None] * 300, dtype=object))
        np.testing.assert_array_equal(missing.predict_proba(new), missing.predict_proba(none))
        assert (average.predict_proba(new) != missing.predict_proba(new)).any()
        with pytest.raises(ValueError, match="Bergen"):
            make(unknown="error").fit(FRAME, y).predict(new)
        with pytest.raises(ValueError, match="'a'"):
            make(missing="error").fit(FRAME, y).predict(FRAME.assign(a=np.nan))


@pytest.mark.parametrize("place", ["", "estimator__"])
@pytest.mark.parametrize("cls", [AdaBoostClassifier, AdaBoostRegressor])
def test_policies_can_be_set_after_the_fit(cls, place):
    tree = arb.DecisionTreeClassifier if cls is AdaBoostClassifier else arb.DecisionTreeRegressor
    y, new = FRAME["town"].fillna("?").to_numpy() == "Oslo", FRAME.assign(town="Bergen")

    def make(**policy):
        return cls(estimator=tree(max_depth=2, **policy) if place else None, n_estimators=2, **{} if place else policy)

    model = make().fit(FRAME, y)
    for policy in ("missing", "average"):
        expected = make(unknown=policy).fit(FRAME, y)
        model.set_params(**{f"{place}unknown": policy})
        np.testing.assert_array_equal(model.predict(new), expected.predict(new))
        assert model.fingerprint() == reloaded(model).fingerprint() == expected.fingerprint()
    model.set_params(**{f"{place}unknown": "error", f"{place}missing": "error"})
    for changed in (model, reloaded(model)):
        with pytest.raises(ValueError, match="Bergen"):
            changed.predict(new)
        with pytest.raises(ValueError, match="'a'"):
            changed.predict(FRAME.assign(a=np.nan))


def test_huge_targets_and_weights():
    plain, huge = (AdaBoostRegressor(n_estimators=5, bootstrap=False).fit(X, Y * scale) for scale in (1.0, 1e99))
    np.testing.assert_allclose(huge.predict(X) / 1e99, plain.predict(X), rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-200, 1e29])
@pytest.mark.parametrize("n_rows", [300, 70_000])
def test_the_size_of_all_weights_does_not_matter(scale, n_rows):
    table, weight = np.resize(X, (n_rows, 4)) + np.arange(n_rows)[:, None] / 1e6, np.resize(WEIGHT, n_rows)
    for model in (AdaBoostClassifier(n_estimators=5), AdaBoostRegressor(n_estimators=3, bootstrap=False)):
        y = np.resize(target_of(model, binary=True), n_rows)
        plain, scaled = (clone(model).fit(table, y, weight * factor) for factor in (1.0, scale))
        assert len(plain.estimator_weights_) > 2
        np.testing.assert_allclose(outcome(scaled, X), outcome(plain, X), rtol=1e-5)


@pytest.mark.parametrize("rate", [1e-100, 20.0, 1e100])
@pytest.mark.parametrize("model", [*OURS[:5], FOREIGN[1]], ids=name_of)
def test_any_learning_rate_gives_finite_predictions(model, rate):
    model = clone(model).set_params(learning_rate=rate).fit(X, target_of(model))
    assert np.isfinite(outcome(model, X)).all()
    assert np.isfinite(model.estimator_weights_).all()


ERRORS = [
    ({"n_estimators": 0}, "n_estimators=0: use an integer at least 1"),
    ({"learning_rate": 0}, "learning_rate=0: use a number above 0"),
    ({"learning_rate": np.inf}, "learning_rate=inf: use a number above 0 and at most 1e\\+100"),
    ({"max_bins": 1}, "max_bins=1: use an integer at least 2"),
    ({"unknown": "averge"}, "did you mean 'average'"),
    ({"missing": "ignore"}, "missing='ignore': use one of 'warn', 'error'"),
    ({"random_state": "x"}, "random_state='x': use an integer"),
    ({"n_jobs": 0}, "n_jobs=0: use None"),
    ({"categorical_features": 3}, "categorical_features=3: use a list"),
    ({"estimator": 3}, "estimator=3: use an estimator object"),
    ({"estimator": GaussianNB}, "use an estimator object"),
]


@pytest.mark.parametrize(("params", "message"), ERRORS)
@pytest.mark.parametrize("cls", [AdaBoostClassifier, AdaBoostRegressor])
def test_wrong_parameters_are_named(cls, params, message):
    with pytest.raises(ValueError, match=message):
        cls(**params).fit(X, target_of(cls()))


def test_wrong_combinations_are_named():
    with pytest.raises(ValueError, match=r"loss='squared'.*did you mean 'square'"):
        AdaBoostRegressor(loss="squared").fit(X, Y)
    with pytest.raises(ValueError, match="bootstrap=1: use one of True, False"):
        AdaBoostRegressor(bootstrap=1).fit(X, Y)
    with pytest.raises(ValueError, match="cannot be boosted by AdaBoostRegressor: use AdaBoostClassifier"):
        AdaBoostRegressor(estimator=GaussianNB()).fit(X, Y)
    with pytest.raises(ValueError, match="cannot be boosted by AdaBoostClassifier: use AdaBoostRegressor"):
        AdaBoostClassifier(estimator=arb.DecisionTreeRegressor()).fit(X, LABELS)
    for name, value in {"max_bins": 63, "categorical_features": [0], "unknown": "error", "missing": "error"}.items():
        with pytest.raises(ValueError, match=f"{name}=.* is a parameter of the default learner.*set it there"):
            AdaBoostClassifier(estimator=GaussianNB(), **{name: value}).fit(X, LABELS)
    with pytest.raises(ValueError, match="max_depth=0"):
        tree_classifier().set_params(estimator__max_depth=0).fit(X, LABELS)


class Broken(Regressor):
    """Predicts what it is told to."""

    def __init__(self, *, says=np.nan):
        self.says = says

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full((len(X), *np.shape(self.says)), self.says)


@pytest.mark.parametrize("says", [np.nan, np.inf, [1.0, 2.0]])
def test_learners_must_predict_a_finite_number_a_row(says):
    with pytest.raises(ValueError, match="expected one finite number per row"):
        AdaBoostRegressor(estimator=Broken(says=says)).fit(X, Y)
    assert AdaBoostRegressor(estimator=Broken(says=[2.0])).fit(X, Y).predict(X).tolist() == [2.0] * 300


@each_model
def test_wrong_data_is_named(model):
    y = target_of(model)
    with pytest.raises(ValueError, match="y has 299 values, but X has 300 rows"):
        clone(model).fit(X, y[1:])
    with pytest.raises(ValueError, match="sample_weight is negative in row 2"):
        clone(model).fit(X, y, np.where(np.arange(300) == 2, -1.0, 1.0))
    if isinstance(model, AdaBoostClassifier):
        with pytest.raises(ValueError, match="y has only one class"):
            clone(model).fit(X, np.zeros(300))
        with pytest.raises(ValueError, match="only one class, 'low', has rows of positive sample_weight"):
            clone(model).fit(X, y, y == "low")
    else:
        with pytest.raises(ValueError, match="beyond ±1e\\+100"):
            clone(model).fit(X, y * 1e101)
    fitted = clone(model).fit(X, y)
    with pytest.raises(ValueError, match="4 features"):
        fitted.predict(X[:, 1:])


@each_model
def test_unfitted_models_say_so(model):
    model = clone(model)
    for use in (model.predict, lambda X: list(model.staged_predict(X)), lambda X: model.estimators_):
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            use(X)
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        model.save("never.arb")


@each_model
def test_a_failing_fit_leaves_the_model_as_it_was(model):
    model, y = clone(model).fit(X, target_of(model)), target_of(model)
    before = outcome(model, X)
    with pytest.raises(ValueError, match=r"NaN|missing"):
        model.fit(X, [None] * 300)
    np.testing.assert_array_equal(outcome(model, X), before)
    np.testing.assert_array_equal(outcome(model.fit(X, y), X), before)


def test_refitting_with_other_learners_leaves_nothing_behind():
    model = AdaBoostClassifier(n_estimators=3).fit(FRAME[["d", "b"]], BINARY)
    model.set_params(estimator=GaussianNB()).fit(X, LABELS)
    assert not hasattr(model, "forest_")
    assert not hasattr(model, "schema_")
    assert not hasattr(model, "feature_names_in_")
    assert model.predict(X).shape == (300,)
    model.set_params(estimator=None).fit(FRAME, BINARY)
    assert model.feature_names_in_.tolist() == list(FRAME.columns)
    assert len(model.estimators_) == model.forest_.n_trees == 3


def test_an_interrupted_fit_keeps_its_rounds(monkeypatch):
    plain, fit = AdaBoostClassifier(n_estimators=3).fit(X, BINARY), rounds.BinaryTrees.fit

    def interrupted(self, number):
        if number == 3:
            raise KeyboardInterrupt
        return fit(self, number)

    monkeypatch.setattr(rounds.BinaryTrees, "fit", interrupted)
    with pytest.warns(UserWarning, match="fit was interrupted: the model keeps the 3 rounds so far"):
        model = AdaBoostClassifier(n_estimators=50).fit(X, BINARY)
    assert model.fingerprint() == plain.fingerprint()


# --------------------------------------------------------------------------------------------- files


@each_of_others
def test_pickles_keep_the_model(model):
    model = clone(model).fit(X, target_of(model))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(outcome(again, X), outcome(model, X))
    np.testing.assert_array_equal(again.estimator_errors_, model.estimator_errors_)
    assert repr(again) == repr(model)


@each_of_others
def test_other_peoples_learners_have_no_file(model, tmp_path):
    model = clone(model).fit(X, target_of(model))
    name = type(model.estimator).__name__
    with pytest.raises(TypeError, match=f"save needs members of arboretum, not {name}: pickle or skops"):
        model.save(tmp_path / "m.arb")
    with pytest.raises(TypeError, match=f"fingerprint needs members of arboretum, not {name}"):
        model.fingerprint()


def damaged(model, change):
    with pytest.raises(arb.ModelFileError, match="damaged model file") as caught:
        reloaded(model, change)
    return str(caught.value)


def test_damaged_files_are_refused():
    trees, members = AdaBoostClassifier(n_estimators=3).fit(X, BINARY), members_of_ours().fit(X, BINARY)
    for model in (trees, members):
        for name in ("estimator_weights", "estimator_errors"):
            bad = np.full(len(model.estimator_weights_), np.nan)
            found = damaged(model, lambda h, a, name=name, bad=bad: a.update({name: bad}))
            assert f"{name}: expected finite numbers, found array([nan" in found
            found = damaged(model, lambda h, a, name=name: a.update({name: a[name][:2]}))
            assert f"2 {name.removeprefix('estimator_')}" in found

    def shorten(header, arrays):
        for name in ("estimator_weights", "estimator_errors"):
            arrays[name] = arrays[name][:2]

    assert "2 weights: expected one for each of the 3 trees" in damaged(trees, shorten)
    assert "4 members, 2 weights and 2 errors" in damaged(members, shorten)
    assert "base" in damaged(trees, lambda h, a: a.update(base=np.ones(1)))
    assert "a member: expected the bytes of a file, found float64 of shape (3,)" in damaged(
        members, lambda h, a: a.update({"member 1": np.zeros(3)})
    )
    tree = {"model": "DecisionTreeClassifier", "params": {}}
    assert "a member of class BoostedTreesClassifier" in damaged(members, lambda h, a: h.update(estimator=tree))
    other = {"dtype": "<U1", "values": ["a", "b"]}
    assert "a member has classes that the ensemble lacks" in damaged(members, lambda h, a: h.update(classes=other))
    regressor = AdaBoostRegressor(n_estimators=3).fit(X, Y)
    assert "expected one output, found 2" in damaged(
        regressor,
        lambda h, a: a.update(
            base=np.zeros(2), value=np.repeat(a["value"], 2, axis=1), tree_output=np.full(3, -1, np.int32)
        ),
    )


# --------------------------------------------------------------------------------------------- inside others


def test_bagging_and_boosting_of_each_other(tmp_path):
    bagged = arb.BaggingClassifier(estimator=AdaBoostClassifier(n_estimators=3), n_estimators=3).fit(FRAME, LABELS)
    bagged.save(tmp_path / "b.arb")
    assert arb.load(tmp_path / "b.arb").fingerprint() == bagged.fingerprint()
    forest = arb.RandomForestClassifier(n_estimators=3, max_depth=3)
    assert AdaBoostClassifier(estimator=forest, n_estimators=3).fit(FRAME, LABELS).score(FRAME, LABELS) > 0.75


def test_sklearns_trees_as_learners_of_numbers():
    model = AdaBoostRegressor(estimator=DecisionTreeRegressor(max_depth=3), n_estimators=10).fit(X, Y)
    assert model.score(X, Y) > 0.8
    assert all(member.random_state is not None for member in model.estimators_)


def test_shares_of_weight_are_those_of_the_weights_in_use():
    tree = arb.DecisionTreeClassifier(max_depth=3, min_weight_fraction_leaf=0.2)
    plain, scaled = (
        AdaBoostClassifier(estimator=tree, n_estimators=4).fit(X, LABELS, WEIGHT * scale) for scale in (1.0, 1e28)
    )
    np.testing.assert_allclose(scaled.predict_proba(X), plain.predict_proba(X), rtol=1e-6)
    free = AdaBoostClassifier(estimator=arb.DecisionTreeClassifier(max_depth=3), n_estimators=4).fit(X, LABELS, WEIGHT)
    assert plain.forest_.n_nodes < free.forest_.n_nodes
