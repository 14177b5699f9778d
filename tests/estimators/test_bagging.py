"""Bagging: the same for any order of rows, threads and containers; out-of-bag rows are unseen; any base will do."""

from __future__ import annotations

import pickle
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import coo_matrix, csc_matrix, csr_matrix
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.reference.bagging_models import (
    FRAME,
    LABELS,
    RNG,
    STEPS,
    X,
    Y,
    boosted_classifier,
    boosted_regressor,
    every_model,
    outcome,
    target_of,
)
from tests.reference.sklearn_checks import checks_of

import arboretum as arb
from arboretum.data.selection import as_container, take_columns, take_rows
from arboretum.data.table import read_table
from arboretum.ensembles.members.goals import OneClass
from arboretum.estimators.bagging import BaggingClassifier, BaggingRegressor
from arboretum.estimators.protocol import Regressor

# --------------------------------------------------------------------------------------------- scikit-learn's checks


def name_of(case):
    return getattr(getattr(case, "func", case), "__name__", None) or repr(case)


@pytest.mark.parametrize(
    ("estimator", "check"),
    checks_of(
        BaggingClassifier(n_estimators=4),
        BaggingRegressor(n_estimators=4),
        boosted_classifier(),
        boosted_regressor(),
        BaggingClassifier(estimator=KNeighborsClassifier(), n_estimators=4),
        BaggingRegressor(n_estimators=4, bootstrap=False, max_samples=0.7, max_features=0.7),
    ),
    ids=name_of,
)
def test_every_check_of_sklearn(estimator, check):
    check(estimator)


def test_tags_are_those_of_the_base():
    assert BaggingClassifier().__sklearn_tags__().input_tags.allow_nan
    assert not BaggingClassifier(estimator=LogisticRegression()).__sklearn_tags__().input_tags.allow_nan
    assert boosted_regressor().__sklearn_tags__().input_tags.string
    assert BaggingRegressor().__sklearn_tags__().target_tags.multi_output
    assert boosted_regressor().__sklearn_tags__().target_tags.multi_output
    assert not BaggingRegressor(estimator=LinearSVR()).__sklearn_tags__().target_tags.multi_output


# --------------------------------------------------------------------------------------------- what a bag is


@every_model
def test_the_model_is_the_mean_of_members_fitted_to_their_rows_and_columns(model):
    """The plain twin: every member is fitted again, to copies of the rows that it says it has drawn."""
    model, y = clone(model), target_of(model)
    model.set_params(random_state=5).fit(STEPS, y := np.resize(y, 200))
    total = 0.0
    for member, rows, columns in zip(
        model.estimators_, model.estimators_samples_, model.estimators_features_, strict=True
    ):
        again = clone(member)
        weighted = "sample_weight" in again.fit.__code__.co_varnames
        kept, copies = np.unique(rows, return_counts=True) if weighted else (rows, None)
        weight = {"sample_weight": copies} if weighted else {}
        again.fit(STEPS[kept][:, columns], y[kept], **weight)
        mine = again.predict_proba(STEPS[:, columns]) if y is not None and hasattr(again, "classes_") else None
        total = total + (again.predict(STEPS[:, columns]) if mine is None else mine)
    np.testing.assert_allclose(outcome(model, STEPS), total / len(model.estimators_), rtol=1e-9, atol=1e-12)


@every_model
def test_members_differ(model):
    model = clone(model).fit(X, target_of(model))
    assert len({outcome(member, X[:, f]).tobytes() for member, f in members_of(model)}) > 1
    seeds = [member.random_state for member in model.estimators_ if hasattr(member, "random_state")]
    assert len(set(seeds)) == len(seeds)


def members_of(model):
    return [
        (_AsBagging(member), columns)
        for member, columns in zip(model.estimators_, model.estimators_features_, strict=True)
    ]


class _AsBagging:
    def __init__(self, member):
        self.predict = member.predict


@pytest.mark.parametrize(("size", "drawn"), [(1.0, 150), (0.5, 75), (7, 7), (2.0, 300)])
def test_draws_with_replacement(size, drawn):
    samples = BaggingRegressor(max_samples=size, n_estimators=20).fit(X, Y).estimators_samples_
    assert {len(rows) for rows in samples} == {drawn}
    if size == 1.0:  # 1 − 1/e of the rows, as Breiman says
        assert 0.6 < np.mean([len(np.unique(rows)) for rows in samples]) / 150 < 0.66


def test_draws_without_replacement():
    model = BaggingRegressor(bootstrap=False, max_samples=0.4, n_estimators=50).fit(X, Y)
    for rows in model.estimators_samples_:
        assert len(np.unique(rows)) == len(rows) == 60
    counts = np.bincount(np.concatenate(model.estimators_samples_), minlength=150)
    assert counts.min() > 5  # of 20 expected
    whole = BaggingRegressor(bootstrap=False, n_estimators=2).fit(X, Y)
    assert [sorted(rows) for rows in whole.estimators_samples_] == [list(range(150))] * 2


def test_columns_are_drawn():
    model = BaggingRegressor(max_features=0.5, n_estimators=30).fit(X, Y)
    assert {len(columns) for columns in model.estimators_features_} == {2}
    assert len({tuple(columns) for columns in model.estimators_features_}) == 6  # all pairs of 4
    assert all((np.diff(columns) > 0).all() for columns in model.estimators_features_)
    again = BaggingRegressor(max_features=4, bootstrap_features=True, n_estimators=30).fit(X, Y)
    assert {2, 3, 4} <= {len(columns) for columns in again.estimators_features_}
    assert all((np.diff(columns) > 0).all() for columns in again.estimators_features_)
    assert boosted_regressor(max_features=3).fit(X, Y).estimators_[0].n_features_in_ == 3


def test_chance_is_weight():
    weight = np.random.default_rng(1).random(150) + 0.01
    model = BaggingRegressor(estimator=DecisionTreeRegressor(max_depth=1), n_estimators=400).fit(X, Y, weight)
    counts = np.bincount(np.concatenate(model.estimators_samples_), minlength=150)
    expected = weight / weight.sum() * 400 * 150
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()


def test_weights_that_do_not_enter_the_draw_enter_the_fit():
    weight = np.random.default_rng(1).random(150) + 0.5
    model = BaggingRegressor(estimator=LinearRegression(), bootstrap=False, n_estimators=1).fit(X, Y, weight)
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, Y, weight).predict(X))


# --------------------------------------------------------------------------------------------- order, weights, threads


@every_model
def test_weights_are_repetitions(model):
    weight = np.random.default_rng(1).integers(0, 4, 40)
    if model.estimator is None:  # in small nodes scikit-learn's trees leave ties between features to rounding
        tree = DecisionTreeClassifier if isinstance(model, BaggingClassifier) else DecisionTreeRegressor
        model = clone(model).set_params(estimator=tree(max_depth=1))
    y = target_of(model)[:40]
    one = clone(model).fit(X[:40], y, weight)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(40), weight))
    other = clone(model).fit(X[rows], y[rows])
    np.testing.assert_allclose(outcome(one, X), outcome(other, X), rtol=1e-7, atol=1e-9)


@every_model
def test_the_order_of_rows_does_not_matter(model):
    y, order = target_of(model), np.random.default_rng(1).permutation(150)
    one, other = clone(model).fit(X, y), clone(model).fit(X[order], y[order])
    np.testing.assert_allclose(outcome(one, X), outcome(other, X), rtol=1e-9)
    for a, b in zip(one.estimators_samples_, other.estimators_samples_, strict=True):
        np.testing.assert_array_equal(np.sort(a), np.sort(order[b]))


@every_model
def test_threads_do_not_matter(model):
    y = target_of(model)
    several = [clone(model).set_params(n_jobs=n, oob_score=True, n_estimators=12).fit(X, y) for n in (1, 2, 3, 8)]
    found = {outcome(one, X).tobytes() for one in several}
    assert len(found) == 1
    assert len({one.oob_score_ for one in several}) == 1
    if isinstance(several[0].estimators_[0], arb.BoostedTreesClassifier | arb.BoostedTreesRegressor):
        assert len({one.fingerprint() for one in several}) == 1


@every_model
def test_named_columns_come_in_any_order(model):
    frame = FRAME[["d", "b", "c", "a"]]
    one = clone(model).fit(frame, target_of(model))
    np.testing.assert_array_equal(outcome(one, frame), outcome(one, frame[["c", "a", "b", "d"]]))
    assert one.feature_names_in_.tolist() == ["d", "b", "c", "a"]
    other = clone(model).fit(frame[["a", "b", "c", "d"]], target_of(model))
    names = [{tuple(sorted(m.feature_names_in_[columns])) for columns in m.estimators_features_} for m in (one, other)]
    assert names[0] == names[1]
    for a, b in zip(one.estimators_samples_, other.estimators_samples_, strict=True):
        np.testing.assert_array_equal(a, b)


def test_seeds():
    assert (BaggingRegressor(random_state=1).fit(X, Y).predict(X) != BaggingRegressor().fit(X, Y).predict(X)).any()
    np.random.seed(0)
    one = BaggingRegressor(random_state=None).fit(X, Y)
    other = BaggingRegressor(random_state=None).fit(X, Y)
    assert (one.predict(X) != other.predict(X)).any()
    deep = make_pipeline(CountVectorizer(), DecisionTreeClassifier())
    model = BaggingClassifier(estimator=deep, n_estimators=3).fit(
        np.array(["aa bb", "cc dd", "aa dd", "cc bb"] * 5), [0, 1, 0, 1] * 5
    )
    assert len({member[-1].random_state for member in model.estimators_}) == 3


# --------------------------------------------------------------------------------------------- out of the bag


class Memory(Regressor):
    """Predicts 1 for rows that it has seen, 0 for others."""

    def __init__(self, *, weighted=True):
        self.weighted = weighted

    def fit(self, X, y, sample_weight=None):
        self.seen_ = {row.tobytes() for row in np.asarray(X)}
        return self

    def predict(self, X):
        return np.array([float(row.tobytes() in self.seen_) for row in np.asarray(X)])


class Forgetful(Memory):
    """Takes no weights."""

    def fit(self, X, y):
        return super().fit(X, y)


@pytest.mark.parametrize("base", [Memory(), Forgetful()])
@pytest.mark.parametrize("params", [{}, {"max_samples": 0.3}, {"bootstrap": False, "max_samples": 0.6}])
@pytest.mark.parametrize("weight", [None, RNG.random(150), RNG.integers(0, 3, 150).astype(float)])
def test_out_of_bag_rows_were_never_seen(base, params, weight):
    if isinstance(base, Forgetful) and weight is not None and params.get("bootstrap") is False and weight[0] % 1:
        return
    model = BaggingRegressor(estimator=base, oob_score=True, n_estimators=60, **params).fit(X, Y, weight)
    known = np.ones(150, dtype=bool) if weight is None else weight > 0
    assert (model.oob_prediction_[known] == 0).all()
    assert np.isnan(model.oob_prediction_[~known]).all()
    for member, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        assert member.seen_ == {X[row].tobytes() for row in rows}


@every_model
def test_out_of_bag_predictions_are_those_of_the_members_that_did_not_see_a_row(model):
    y = target_of(model)
    model = clone(model).set_params(oob_score=True, n_estimators=20).fit(STEPS[:150] + X[:, :3], y)
    data = STEPS[:150] + X[:, :3]
    sums, counts = 0.0, np.zeros(150)
    for member, rows, columns in zip(
        model.estimators_, model.estimators_samples_, model.estimators_features_, strict=True
    ):
        out = ~np.isin(np.arange(150), rows)
        part = data[:, columns]
        found = member.predict_proba(part) if isinstance(model, BaggingClassifier) else member.predict(part)
        sums = sums + (found.T * out).T
        counts += out
    mean = (sums.T / counts).T
    kept = model.oob_decision_function_ if isinstance(model, BaggingClassifier) else model.oob_prediction_
    np.testing.assert_allclose(kept, mean, rtol=1e-9)
    if isinstance(model, BaggingClassifier):
        assert model.oob_score_ == (model.classes_[mean.argmax(axis=1)] == y).mean()
    else:
        np.testing.assert_allclose(model.oob_score_, 1 - ((y - mean) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def test_any_score_out_of_the_bag():
    y = (Y > 1).astype(int)
    model = BaggingClassifier(oob_score="roc_auc", n_estimators=20).fit(X, y)
    assert model.oob_score_ == roc_auc_score(y, model.oob_decision_function_[:, 1])
    model = boosted_classifier(oob_score="neg_log_loss", n_estimators=20).fit(X, y)
    proba = model.oob_decision_function_[np.arange(150), y]
    np.testing.assert_allclose(model.oob_score_, np.log(proba).mean())
    weight = np.random.default_rng(1).random(150)
    model = BaggingRegressor(oob_score="neg_mean_absolute_error", n_estimators=20).fit(X, Y, weight)
    np.testing.assert_allclose(model.oob_score_, -np.average(np.abs(Y - model.oob_prediction_), weights=weight))
    model = BaggingRegressor(oob_score=lambda y, p: np.max(y - p), n_estimators=20).fit(X, Y)
    assert model.oob_score_ == np.max(Y - model.oob_prediction_)


def test_rows_in_every_bag_have_no_prediction():
    with pytest.warns(UserWarning, match=r"^\d+ of 150 rows are in the bag of every member .*raise n_estimators=2"):
        model = BaggingRegressor(oob_score=True, n_estimators=2).fit(X, Y)
    never = set.intersection(*(set(rows) for rows in model.estimators_samples_))
    assert set(np.flatnonzero(np.isnan(model.oob_prediction_))) == never
    with pytest.raises(ValueError, match=r"^oob_score: every row is in the bag of every member; raise n_estimators$"):
        BaggingRegressor(oob_score=True, n_estimators=2, max_samples=100.0).fit(X[:5], Y[:5])


# --------------------------------------------------------------------------------------------- containers

CONTAINERS = {
    "list": np.ndarray.tolist,
    "float32": lambda values: values.astype(np.float32),
    "fortran": np.asfortranarray,
    "csr": csr_matrix,
    "csc": csc_matrix,
    "coo": coo_matrix,
    "pandas": lambda values: pd.DataFrame(values, index=np.random.default_rng(1).permutation(len(values))),
    "named": lambda values: pd.DataFrame(values, columns=["a", "b", "c"]),
    "polars": lambda values: pl.DataFrame(values, schema=["a", "b", "c"]),
    "arrow": lambda values: pa.table(dict(zip("abc", values.T, strict=True))),
}


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("model", [BaggingRegressor(n_estimators=3, max_features=2), boosted_regressor(max_features=2)])
def test_any_container_gives_the_same_model(kind, model):
    if kind == "arrow" and model.estimator is None:
        return  # scikit-learn's trees do not take it
    y = np.resize(Y, 200)
    plain, other = clone(model).fit(STEPS, y), clone(model).fit(CONTAINERS[kind](STEPS), y)
    np.testing.assert_allclose(other.predict(CONTAINERS[kind](STEPS)), plain.predict(STEPS), rtol=1e-12)
    for a, b in zip(other.estimators_samples_, plain.estimators_samples_, strict=True):
        np.testing.assert_array_equal(a, b)


class Witness(Regressor):
    """Keeps the type of table that it is given."""

    def fit(self, X, y):
        self.kind_ = type(X)
        self.shape_ = X.shape
        return self

    def predict(self, X):
        assert type(X) is self.kind_
        return np.zeros(X.shape[0])


@pytest.mark.parametrize("kind", ["csr", "pandas", "named", "polars", "arrow", "float32"])
def test_members_see_the_container_that_was_given(kind):
    rows = CONTAINERS[kind](STEPS)
    model = BaggingRegressor(estimator=Witness(), oob_score=True, n_estimators=20).fit(rows, np.resize(Y, 200))
    model.predict(rows)
    assert {member.kind_ for member in model.estimators_} == {type(rows)}
    assert {member.shape_ for member in model.estimators_} == {(200, 3)}


def test_documents_can_be_bagged():
    texts = ["good fine", "bad poor", "fine", "poor", "good good", "bad bad"] * 5
    model = BaggingClassifier(estimator=make_pipeline(CountVectorizer(), MultinomialNB()), oob_score=True)
    assert model.fit(texts, [1, 0] * 15).predict(["good", "poor"]).tolist() == [1, 0]
    assert model.oob_score_ == 1
    with pytest.raises(AttributeError, match="this BaggingClassifier was fitted to rows that are not a table"):
        model.n_features_in_
    with pytest.raises(ValueError, match=r"^max_features=0\.5 needs a table of rows and columns: use 1\.0$"):
        model.set_params(max_features=0.5).fit(texts, [1, 0] * 15)


def test_text_columns_reach_members_of_ours():
    model = boosted_classifier(oob_score=True, n_estimators=10).fit(FRAME, FRAME["town"])
    assert model.oob_score_ > 0.95
    assert model.predict(FRAME.iloc[:5]).tolist() == FRAME["town"].tolist()[:5]
    seen = FRAME.assign(town="Paris").iloc[:3]
    assert model.predict_proba(seen).shape == (3, 2)  # an unknown town takes both branches


def test_missing_values_of_a_few_rows_raise_no_warning():
    holes = X.copy()
    holes[0, 0] = np.nan  # most bags have none
    model = boosted_regressor(n_estimators=10, oob_score=True).fit(holes, Y)
    model.predict(holes)
    with pytest.warns(UserWarning, match=r"missing values in columns that had none at fit"):
        model.predict(np.full((1, 4), np.nan))


def test_parts_of_containers():
    rows, columns = np.array([2, 0, 2]), np.array([0, 2])
    for kind in CONTAINERS.values():
        part = take_columns(take_rows(as_container(kind(STEPS)), rows), columns)
        dense = next(batch for _, batch in read_table(part).column_batches())
        np.testing.assert_array_equal(np.column_stack(dense), STEPS[rows][:, columns])
    with pytest.raises(ValueError, match=r"^column names must be unique, rename the columns"):
        take_rows(pd.DataFrame(STEPS, columns=["a", "a", "b"]), rows)


# --------------------------------------------------------------------------------------------- targets


@pytest.mark.parametrize("labels", [LABELS, LABELS.astype(object), Y > 1, np.digitize(Y, [0, 1]) * 10 - 5])
@pytest.mark.parametrize("model", [BaggingClassifier(n_estimators=5), boosted_classifier()])
def test_any_labels(labels, model):
    model = clone(model).fit(X, labels)
    assert model.classes_.tolist() == np.unique(labels).tolist()
    assert model.predict(X).dtype == np.asarray(labels).dtype
    assert model.score(X, labels) > 0.85
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("voting", ["soft", "hard"])
@pytest.mark.parametrize("base", [None, LogisticRegression(), KNeighborsClassifier(1), arb.BoostedTreesClassifier()])
def test_classes_that_a_bag_lacks_have_no_probability_there(base, voting):
    y = np.array(["b"] * 20 + ["a", "c"])
    model = BaggingClassifier(estimator=base, n_estimators=30, max_samples=8, voting=voting)
    model.fit(X[:22], y)
    seen = [set(y[rows]) for rows in model.estimators_samples_]
    assert {1, 2} <= {len(classes) for classes in seen}
    proba = model.predict_proba(X[:22])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert proba[:, 1].min() >= np.mean([classes == {"b"} for classes in seen]) - 1e-6
    assert (proba[:, 0] <= np.mean(["a" in classes for classes in seen]) + 1e-3).all()


def test_a_bag_of_one_class_needs_no_learner():
    y = np.array([0] * 30 + [1])
    model = BaggingClassifier(estimator=LogisticRegression(), n_estimators=20).fit(X[:31], y)
    kinds = Counter(type(member) for member in model.estimators_)
    assert kinds[OneClass] == sum(30 not in rows for rows in model.estimators_samples_) > 0


def test_votes():
    soft, hard = (BaggingClassifier(voting=v, estimator=LogisticRegression()).fit(X, LABELS) for v in ("soft", "hard"))
    votes = np.array([member.predict(X) for member in hard.estimators_])
    share = np.stack([(votes == label).mean(axis=0) for label in hard.classes_], axis=1)
    np.testing.assert_allclose(hard.predict_proba(X), share)
    assert (soft.predict_proba(X) != share).any()
    np.testing.assert_array_equal(hard.predict(X), hard.classes_[share.argmax(axis=1)])
    ours = boosted_classifier(voting="hard", n_estimators=5).fit(X, LABELS)
    votes = np.array([member.predict(X) for member in ours.estimators_])
    np.testing.assert_allclose(ours.predict_proba(X)[:, 0], (votes == "low").mean(axis=0))
    machine = BaggingClassifier(estimator=LinearSVC()).fit(X, LABELS)  # has no probabilities
    assert set(np.unique(machine.predict_proba(X) * 10).round(9)) <= set(range(11))
    np.testing.assert_array_equal(np.log(soft.predict_proba(X)), soft.predict_log_proba(X))


def test_several_outputs():
    both = np.column_stack([Y, -Y])
    model = BaggingRegressor(oob_score=True, n_estimators=20).fit(X, both)
    assert model.predict(X).shape == model.oob_prediction_.shape == (150, 2)
    np.testing.assert_allclose(model.predict(X)[:, 0], -model.predict(X)[:, 1])
    assert model.oob_score_ > 0.7


# --------------------------------------------------------------------------------------------- warm start


@every_model
def test_adding_members_equals_fitting_all_at_once(model):
    y = target_of(model)
    model = clone(model).set_params(n_estimators=5, oob_score=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rows that all of the few have seen
        grown = clone(model).set_params(n_estimators=2, warm_start=True).fit(X, y)
        first = grown.estimators_[0]
        grown.set_params(n_estimators=5).fit(X, y)
        whole = model.fit(X, y)
    assert grown.estimators_[0] is first
    np.testing.assert_array_equal(outcome(grown, X), outcome(whole, X))
    assert grown.oob_score_ == whole.oob_score_
    for a, b in zip(grown.estimators_samples_, whole.estimators_samples_, strict=True):
        np.testing.assert_array_equal(a, b)
    assert grown.fit(X, y).estimators_[0] is first
    assert len(grown.estimators_) == 5


def test_warm_start_refuses_what_cannot_be_added():
    model = BaggingRegressor(n_estimators=4, warm_start=True).fit(X, Y)
    with pytest.raises(
        ValueError, match=r"^n_estimators=3 is less than the 4 members already fitted .*warm_start=False"
    ):
        model.set_params(n_estimators=3).fit(X, Y)
    model.set_params(n_estimators=5)
    with pytest.raises(
        ValueError, match=r"^the columns of X, or their categories, are not those of the members so far"
    ):
        model.fit(X[:, :3], Y)
    with pytest.raises(
        ValueError, match=r"^estimator is a LinearRegression, the members so far are of DecisionTreeReg"
    ):
        clone_of_fit(model).set_params(estimator=LinearRegression()).fit(X, Y)
    model.fit(X + 1, Y)  # other rows will do
    with pytest.raises(ValueError, match=r"^oob_score needs members that were all fitted to the same rows"):
        model.set_params(n_estimators=6, oob_score=True).fit(X, Y)
    ours = boosted_classifier(warm_start=True).fit(FRAME, LABELS).set_params(n_estimators=5)
    with pytest.raises(ValueError, match=r"^the columns of X, or their categories"):
        ours.fit(FRAME.assign(town="Oslo"), LABELS)
    with pytest.raises(ValueError, match=r"^y has the label 'new' in row 0, which the training labels do not have"):
        ours.fit(FRAME, np.where(np.arange(150) == 0, "new", LABELS))


def clone_of_fit(model):
    return pickle.loads(pickle.dumps(model))
