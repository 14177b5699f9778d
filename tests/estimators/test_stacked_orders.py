"""Stacks of rankers and survival models: a plain twin, folds of whole queries, curves, explanations, clear errors."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold
from tests.reference.sklearn_checks import checks_of

import arboretum as arb
from arboretum.data import targets
from arboretum.metrics import concordance_index, map_score, ndcg_score

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
SIGNAL = X[:, 0] + X[:, 1] * X[:, 2]
QUERY = np.repeat(np.arange(25), 8)
GRADE = np.digitize(SIGNAL + RNG.normal(size=200) / 2, [-1, 0, 1])
TIMES = np.column_stack([RNG.exponential(np.exp(-SIGNAL)) + 0.01, RNG.random(200) < 0.7])


def rankers():
    return [(loss, arb.BoostedTreesRanker(n_estimators=6, loss=loss)) for loss in ("lambdamart", "listwise")]


def survivals():
    boosted = arb.BoostedTreesSurvival(n_estimators=6)
    return [("boosted", boosted), ("forest", arb.RandomSurvivalForest(n_estimators=6))]


def ranked(**params):
    return arb.StackingRanker(**{"estimators": rankers(), **params}).fit(X, GRADE, QUERY)


def timed(**params):
    return arb.StackingSurvival(**{"estimators": survivals(), **params}).fit(X, TIMES)


def greedy(answers, score):
    """Return the shares of members, each step adding the best one, as plainly as can be."""
    chosen = [int(np.argmax([score(answer) for answer in answers]))]
    best, kept = score(answers[chosen[0]]), list(chosen)
    while len(chosen) < 50:
        scores = [score(np.mean([answers[one] for one in [*chosen, more]], axis=0)) for more in range(len(answers))]
        chosen.append(int(np.argmax(scores)))
        if max(scores) > best + 1e-12:
            best, kept = max(scores), list(chosen)
    return np.bincount(kept, minlength=len(answers)) / len(kept)


# ---- a plain twin ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scoring", "metric"),
    [
        ("ndcg", lambda scores: ndcg_score(GRADE, scores, QUERY, k=None)),
        ("ndcg@3", lambda scores: ndcg_score(GRADE, scores, QUERY, k=3)),
        ("map", lambda scores: map_score(GRADE, scores, QUERY)),
    ],
)
def test_rankers_are_those_of_the_plain_twin(scoring, metric):
    cv = list(GroupKFold(3).split(X, GRADE, QUERY))
    stack = ranked(cv=cv, scoring=scoring)
    scaled, scales = [], []
    for name, member in rankers():
        unseen = np.zeros(200)
        for fit, held in cv:
            unseen[held] = clone(member).fit(X[fit], GRADE[fit], QUERY[fit]).predict(X[held])
        assert (stack.unseen_answers()[name][:, 0] == unseen).all()
        np.testing.assert_allclose(stack.member_scores_[name], metric(unseen), rtol=1e-12)
        centred = unseen - pd.Series(unseen).groupby(QUERY).transform("mean")
        scales.append(np.sqrt((centred**2).mean()))
        scaled.append(unseen / scales[-1])
    weights = greedy(scaled, metric) / scales
    np.testing.assert_allclose(stack.weights_, weights, rtol=1e-9)
    whole = [clone(member).fit(X, GRADE, QUERY).predict(X) for _, member in rankers()]
    np.testing.assert_allclose(stack.predict(X), weights @ whole, rtol=1e-9, atol=1e-12)


def test_survival_models_are_those_of_the_plain_twin():
    cv = list(KFold(3).split(X))
    stack, scaled, scales = timed(cv=cv), [], []
    for name, member in survivals():
        unseen = np.zeros(200)
        for fit, held in cv:
            unseen[held] = clone(member).fit(X[fit], TIMES[fit]).predict(X[held])
        assert (stack.unseen_answers()[name][:, 0] == unseen).all()
        scales.append(unseen.std())
        scaled.append(unseen / scales[-1])
    shares = greedy(scaled, lambda risk: concordance_index(TIMES, risk))
    np.testing.assert_allclose(stack.weights_, shares / scales, rtol=1e-9)
    whole = [clone(member).fit(X, TIMES) for _, member in survivals()]
    risks = [model.predict(X) for model in whole]
    np.testing.assert_allclose(stack.predict(X), (shares / scales) @ risks, rtol=1e-9, atol=1e-12)
    at = [0.1, 0.5, 2.0]
    curves = sum(w * model.predict_survival_function(X, at) for w, model in zip(shares, whole, strict=True))
    np.testing.assert_allclose(stack.predict_survival_function(X, at), curves, rtol=1e-9)
    np.testing.assert_allclose(stack.predict_cumulative_hazard(X, at), -np.log(curves), rtol=1e-9, atol=1e-12)
    assert (stack.event_times_ == np.unique(TIMES[TIMES[:, 1] == 1, 0])).all()
    assert stack.score(X, TIMES) == concordance_index(TIMES, stack.predict(X))


def test_curves_fall_from_1_and_hazards_are_finite():
    stack = timed(refit=False, cv=2)
    curves = stack.predict_survival_function(X, [0.0, *stack.event_times_, 1e9])
    assert (curves[:, 0] == 1).all()
    assert (np.diff(curves, axis=1) <= 1e-12).all()
    assert (curves >= 0).all()
    assert np.isfinite(stack.predict_cumulative_hazard(X, [1e9])).all()


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_the_level_and_the_unit_of_a_query_do_not_matter(shift):
    """Only differences within a query do: a member whose scores have a level per query counts as much as without."""

    class Shifted(arb.BoostedTreesRanker):
        def predict(self, X, *, offset=None):
            return 4 * super().predict(X, offset=offset) + shift

    stack = ranked(cv=3, estimators=[*rankers()[:1], ("shifted", Shifted(n_estimators=6, loss="listwise"))])
    plain = ranked(cv=3)
    np.testing.assert_allclose(stack.weights_ * [1, 4], plain.weights_, rtol=1e-6)


# ---- rows that members have not seen ---------------------------------------------------------------------------------


def test_queries_are_never_on_both_sides():
    shuffled = RNG.permutation(200)
    model = arb.StackingRanker(estimators=rankers(), cv=4, refit=False).fit(
        X[shuffled], GRADE[shuffled], QUERY[shuffled]
    )
    named = model.named_estimators_["lambdamart"]
    assert len(named) == 4
    unseen = model.unseen_answers()["lambdamart"][:, 0]
    for query in np.unique(QUERY):
        rows = QUERY[shuffled] == query
        by_fold = [one.predict(X[shuffled][rows]) for one in named]
        assert sum(np.array_equal(found, unseen[rows]) for found in by_fold) >= 1


def test_blocks_of_queries_never_look_ahead():
    stack = ranked(cv=3, time_ordered=True)
    unseen = stack.unseen_answers()["listwise"][:, 0]
    assert np.isnan(unseen[QUERY < 6]).all()
    assert not np.isnan(unseen[QUERY >= 6]).any()
    fit, held = QUERY < 6, (QUERY >= 6) & (QUERY < 12)
    first = clone(rankers()[1][1]).fit(X[fit], GRADE[fit], QUERY[fit])
    assert (unseen[held] == first.predict(X[held])).all()


def test_folds_have_the_same_share_of_events():
    few = TIMES.copy()
    few[:, 1] = np.arange(200) < 4
    stack = arb.StackingSurvival(estimators=survivals(), refit=False).fit(X, few)
    assert [len(one.event_times_) for one in stack.named_estimators_["boosted"]] == [3, 3, 3, 3]


def test_groups_of_survival_stay_together():
    groups = np.arange(200) % 7
    stack = arb.StackingSurvival(estimators=survivals(), cv=3, refit=False).fit(X, TIMES, groups=groups)
    unseen = stack.unseen_answers()["boosted"][:, 0]
    for group in range(7):
        rows = groups == group
        assert any(np.array_equal(one.predict(X[rows]), unseen[rows]) for one in stack.named_estimators_["boosted"])


def test_out_of_bag_risks_take_the_place_of_folds():
    forest = arb.RandomSurvivalForest(n_estimators=60)
    stack = timed(estimators=[("forest", forest)])
    whole = clone(forest).set_params(oob_score=True).fit(X, TIMES)
    assert np.array_equal(stack.unseen_answers()["forest"][:, 0], whole.oob_prediction_, equal_nan=True)


def test_weights_of_rows_reach_members_and_weights():
    weight = np.repeat(RNG.integers(0, 3, 25), 8).astype(float)
    kept = weight > 0
    cv = list(GroupKFold(3).split(X, GRADE, QUERY))
    place = np.cumsum(kept) - 1
    some = [(place[fit[kept[fit]]], place[held[kept[held]]]) for fit, held in cv]
    whole = arb.StackingRanker(estimators=rankers(), cv=cv).fit(X, GRADE, QUERY, weight)
    part = arb.StackingRanker(estimators=rankers(), cv=some).fit(X[kept], GRADE[kept], QUERY[kept], weight[kept])
    np.testing.assert_allclose(whole.predict(X), part.predict(X), rtol=1e-9)


def test_a_function_scores_too():
    def top(model, X, y, group):
        return ndcg_score(y, model.predict(X), group, k=3)

    assert (ranked(cv=3, scoring=top).weights_ == ranked(cv=3, scoring="ndcg@3").weights_).all()
    np.testing.assert_allclose(timed(cv=3, scoring=None).weights_, timed(cv=3).weights_)


# ---- one model -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fitted", [ranked, timed])
def test_threads_files_pickles_and_parameters(fitted, tmp_path):
    model = fitted(cv=3, n_jobs=1)
    assert {fitted(cv=3, n_jobs=n).fingerprint() for n in (2, 8)} == {model.fingerprint()}
    model.save(tmp_path / "model.arb")
    for again in (arb.load(tmp_path / "model.arb"), pickle.loads(pickle.dumps(model))):
        assert again.fingerprint() == model.fingerprint()
        assert (again.predict(X) == model.predict(X)).all()
        assert again.member_scores_ == model.member_scores_
    name = next(iter(model.named_estimators_))
    other = clone(model).set_params(**{f"{name}__n_estimators": 3})
    assert other.get_params()[f"{name}__n_estimators"] == 3
    assert other.get_params()["cv"] == 3


def test_stacks_may_be_members():
    inner = arb.StackingSurvival(estimators=survivals(), cv=2)
    stack = timed(cv=2, estimators=[("stack", inner), *survivals()[:1]])
    assert stack.predict_survival_function(X[:3], [1.0]).shape == (3, 1)
    assert (
        ranked(cv=2, estimators=[("stack", arb.StackingRanker(estimators=rankers(), cv=2))]).score(X, GRADE, QUERY)
        > 0.8
    )


def test_the_default_members():
    assert list(ranked(estimators=None, cv=2).named_estimators_) == ["lambdamart", "pairwise", "listwise"]
    assert [type(one).__name__ for one in timed(estimators=None, cv=2).estimators_] == [
        "BoostedTreesSurvival",
        "RandomSurvivalForest",
    ]


@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("fitted", [ranked, timed])
def test_explanations_sum_to_predictions(fitted, refit):
    model = fitted(cv=2, refit=refit)
    np.testing.assert_allclose(model.explain(X[:20]).predictions, model.predict(X[:20]), rtol=1e-9, atol=1e-12)


def test_minus_the_logarithm_of_a_time_is_not_explained():
    members = [("aft", arb.BoostedTreesSurvival(n_estimators=4, loss="aft"))]
    with pytest.raises(TypeError, match=r"member 'aft' .* is not a sum of its trees.*explain the members one by one"):
        timed(cv=2, estimators=members).explain(X)


# ---- bad input -------------------------------------------------------------------------------------------------------

LATE = np.column_stack([TIMES[:, 0], np.zeros(200)])
SPREAD = {"estimators": rankers(), "cv": list(KFold(3).split(X))}
OTHER = arb.BoostedTreesClassifier()
WRONG = {
    "a classifier": ({"estimators": [("a", OTHER)]}, {}, "'a' is the classifier BoostedTreesClassifier: use a ranker"),
    "survival": (
        {"estimators": [("a", arb.RandomSurvivalForest())]},
        {},
        "'a' is the survival model RandomSurvivalForest: use a ranker",
    ),
    "no group": ({}, {"group": None}, "group is None: give the id of each row's query"),
    "one query": (
        {},
        {"group": np.zeros(200)},
        r"group has one query \(n_samples=200\), but folds are whole queries: give rows of",
    ),
    "no order": ({}, {"y": np.ones(200)}, "no query has rows of different grades"),
    "grades": ({}, {"y": GRADE - 1}, "grade"),
    "many folds": ({"cv": 26}, {}, "cv=26, but there are 25 groups"),
    "many blocks": ({"cv": 25, "time_ordered": True}, {}, "cv=25 blocks after the first, but X has groups=25"),
    "parted queries": (SPREAD, {}, "cv: split 0 has rows of one query, that of row 64, among the training rows and"),
    "loss": ({"scoring": "loss"}, {}, "scoring='loss': members have losses of their own; use ndcg, map, mrr"),
    "metric": ({"scoring": "rmse"}, {}, "scoring='rmse' is a metric of regression, not of ranking: use ndcg, map, mrr"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_of_rankers(name):
    params, changes, message = WRONG[name]
    rows = {"X": X, "y": GRADE, "group": QUERY, **changes}
    with pytest.raises(ValueError, match=message):
        arb.StackingRanker(**{"estimators": rankers(), **params}).fit(**rows)


@pytest.mark.parametrize(
    ("params", "changes", "message"),
    [
        ({"estimators": [("a", OTHER)]}, {}, "'a' is the classifier BoostedTreesClassifier: use a survival model"),
        ({}, {"y": LATE}, "y has no event in 200 rows, all are censored"),
        ({}, {"sample_weight": 1.0 - TIMES[:, 1]}, "y has no event in"),
        ({"cv": 5}, {"y": np.column_stack([TIMES[:, 0], np.arange(200) < 3])}, "cv=5, but class 'event' has 3 rows"),
        ({}, {"y": None}, "requires y to be passed"),
        ({"scoring": "ndcg"}, {}, "scoring='ndcg' is a metric of ranking, not of survival: use concordance"),
        ({"time_ordered": True}, {"groups": QUERY}, "groups with time_ordered=True"),
    ],
)
def test_errors_of_survival_models(params, changes, message):
    rows = {"X": X, "y": TIMES, **changes}
    with pytest.raises(ValueError, match=message):
        arb.StackingSurvival(**{"estimators": survivals(), **params}).fit(**rows)


def test_rankers_are_no_members_of_other_stacks():
    with pytest.raises(ValueError, match="'a' is the ranker BoostedTreesRanker: use a regressor"):
        arb.StackingRegressor(estimators=[("a", arb.BoostedTreesRanker())]).fit(X, SIGNAL)


def test_a_member_that_fails_is_left_out():
    members = [*rankers(), ("bad", arb.BoostedTreesRanker(loss="cox"))]
    with pytest.raises(ValueError, match="member 'bad'"):
        ranked(cv=2, estimators=members)
    with pytest.warns(UserWarning, match="member 'bad' .* it is left out"):
        stack = ranked(cv=2, estimators=members, on_error="skip")
    assert list(stack.skipped_) == ["bad"]
    assert stack.fingerprint() == ranked(cv=2).fingerprint()


def test_an_error_leaves_the_model_as_it_was():
    model = timed(cv=2)
    before = model.fingerprint()
    with pytest.raises(ValueError, match="no event"):
        model.fit(X, LATE)
    assert model.fingerprint() == before


# ---- scikit-learn ----------------------------------------------------------------------------------------------------


class OfTwoQueries(arb.StackingRanker):
    """Two queries at random, as scikit-learn's checks know none."""

    def fit(self, X, y):
        query = np.zeros(0) if y is None else np.random.default_rng(0).integers(2, size=len(y))
        return super().fit(X, None if y is None else np.clip(y, 0, 31), query)

    def score(self, X, y):
        return super().score(X, y, np.zeros(len(y)))


class Uncensored(arb.StackingSurvival):
    """Numbers of any sign as times, every one an event."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, None if y is None else _as_events(y), sample_weight)

    def score(self, X, y, sample_weight=None):
        return super().score(X, _as_events(y), sample_weight)


def _as_events(y):
    n_rows = len(np.asarray(y))
    time = targets.regression_target(targets.as_column(y, n_rows))
    return np.column_stack([time - time.min() + 1.0, np.ones(n_rows)])


def name_of(case):
    return getattr(getattr(case, "func", case), "__name__", None) or type(case).__name__


SMALL = {"n_estimators": 3}
MEMBERS = {
    OfTwoQueries: [("a", arb.BoostedTreesRanker(**SMALL)), ("b", arb.BoostedTreesRanker(**SMALL, loss="listwise"))],
    Uncensored: [
        ("a", arb.BoostedTreesSurvival(**SMALL, early_stopping=False, min_samples_leaf=1)),  # which count rows
        ("b", arb.RandomSurvivalForest(**SMALL)),
    ],
}


@pytest.mark.parametrize(
    ("estimator", "check"), checks_of(*(cls(estimators=given, cv=2) for cls, given in MEMBERS.items())), ids=name_of
)
def test_every_check_of_sklearn(estimator, check):
    check(estimator)
