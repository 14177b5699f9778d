"""BoostedTreesRanker: rows in any order, queries kept whole, early stopping on NDCG, and the rest of boosted trees."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from tests.reference.sklearn_checks import checks_of

from arboretum import BoostedTreesRanker
from arboretum.data.table import read_table
from arboretum.ensembles.boosting.automatic import of_release
from arboretum.ensembles.boosting.problem import Problem
from arboretum.losses import LambdaMart, SquaredError
from arboretum.metrics import map_score, mrr_score, ndcg_score

LOSSES = ["lambdamart", "pairwise", "listwise", "yetirank"]
N_ROWS = 1200
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N_ROWS, 5))
QUERY = RNG.integers(0, 60, N_ROWS)
SIGNAL = X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * RNG.normal(size=N_ROWS)
GRADE = np.digitize(SIGNAL, [0.5, 1.2, 2.0])
WEIGHT = RNG.random(N_ROWS) + 0.1
TEST = slice(900, None)
HOLED = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
FRAME = pd.DataFrame(HOLED, columns=list("abcde")).assign(town=np.array(["Oslo", "Rome", "Bonn", "Bern"])[QUERY % 4])


PLAIN = {
    "n_estimators": 8,
    "max_leaf_nodes": 8,
    "learning_rate": 0.2,
    "min_samples_leaf": 20,
    "l2": 0.0,
    "subsample": 1.0,
    "max_features": 1.0,
    "category_levels": None,
    "early_stopping": False,
    "n_iter_no_change": 10,
    "refit": False,
}


def ranker(**params):
    return BoostedTreesRanker(**{**PLAIN, **params})


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("metric", ["ndcg", "map"])
def test_orders_new_rows(loss, metric):
    rest = slice(0, 900)
    model = ranker(n_estimators=30, loss=loss, metric=metric).fit(X[rest], GRADE[rest], group=QUERY[rest])
    score = {"ndcg": ndcg_score, "map": map_score}[metric]
    ideal = score(GRADE[TEST], X[TEST, 0] + np.sin(2 * X[TEST, 1]), QUERY[TEST])
    assert score(GRADE[TEST], model.predict(X[TEST]), QUERY[TEST]) > ideal - 0.05
    assert model.score(X[TEST], GRADE[TEST], QUERY[TEST]) == ndcg_score(
        GRADE[TEST], model.predict(X[TEST]), QUERY[TEST]
    )


# ---- order of rows, names of queries, threads ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"loss": "pairwise", "truncation": 5},
        {"loss": "listwise", "subsample": 0.5},
        {"loss": "yetirank", "trees_per_round": 2},
        {"sampling": "goss", "growth": "symmetric", "max_depth": 3},
        {"early_stopping": True, "metric": "map"},
        {"category_levels": 0},
    ],
    ids=str,
)
def test_order_of_rows_and_threads_do_not_matter(params):
    def fingerprint(order, n_jobs):
        model = ranker(n_jobs=n_jobs, **params)
        return model.fit(FRAME.iloc[order], GRADE[order], QUERY[order], WEIGHT[order]).fingerprint()

    orders = [np.arange(N_ROWS), np.argsort(QUERY, kind="stable"), np.random.default_rng(3).permutation(N_ROWS)]
    assert len({fingerprint(order, n_jobs) for order in orders for n_jobs in (1, 3)}) == 1


def test_ids_may_be_of_any_kind():
    as_is = ranker().fit(X, GRADE, QUERY).fingerprint()
    text = np.array([f"q{q:03}" for q in QUERY])
    dates = np.datetime64("2020-01-01") + QUERY.astype("timedelta64[D]")
    for ids in (text, text.astype(object), dates, QUERY / 7, pd.Series(text, dtype="category"), pl.Series(text)):
        assert ranker().fit(X, GRADE, ids).fingerprint() == as_is
    assert ranker().fit(X, GRADE, QUERY % 20).fingerprint() != as_is


def test_sparse_and_dense_tables_give_the_same_model():
    dense = np.where(np.abs(X) < 0.8, 0.0, X)
    fit = ranker(subsample=0.5).fit
    assert fit(sparse.csr_array(dense), GRADE, QUERY).fingerprint() == fit(dense, GRADE, QUERY).fingerprint()


# ---- weights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_a_weight_of_a_query_counts_its_copies(loss):
    """Copies change how often a category occurs, by which its code goes."""
    table = pd.DataFrame(X, columns=list("abcde")).assign(size=np.array(list("wxyz"))[np.digitize(X[:, 0], [-1, 0, 1])])
    copies = np.array([0, 1, 2])[QUERY % 3]
    rows = np.concatenate([np.flatnonzero(copies > time) for time in range(2)])
    names = np.concatenate([QUERY[copies > time] + 100 * time for time in range(2)])
    params = {"loss": loss, "min_samples_leaf": 1, "min_child_weight": 0.1, "max_bins": None}
    weighted = ranker(**params).fit(table, GRADE, QUERY, sample_weight=copies).predict(table)
    repeated = ranker(**params).fit(table.iloc[rows], GRADE[rows], names).predict(table)
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)
    assert not np.allclose(weighted, ranker(**params).fit(table, GRADE, QUERY).predict(table), atol=1e-3)


def test_rows_of_weight_0_are_no_rows():
    weight = (RNG.random(N_ROWS) < 0.7).astype(float)
    kept = weight > 0
    model = ranker().fit(X, GRADE, QUERY, sample_weight=weight)
    assert model.fingerprint() == ranker().fit(X[kept], GRADE[kept], QUERY[kept]).fingerprint()


# ---- early stopping --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["ndcg", "ndcg@3", "map", "map@5", "mrr", "mrr@2"])
def test_history_holds_one_minus_the_metric(metric):
    rest = slice(0, 900)
    table = pd.DataFrame({"size": np.array(["large", "medium", "small"])[np.digitize(-X[:, 0], [-0.5, 0.5])]})
    weight = np.where(table["size"][TEST] == "small", 0, np.round(WEIGHT[TEST]))  # no rows of the middle code
    model = ranker(early_stopping=True, n_iter_no_change=3, n_estimators=40, metric=metric).fit(
        table[rest],
        GRADE[rest],
        QUERY[rest],
        X_val=table[TEST],
        y_val=GRADE[TEST],
        group_val=QUERY[TEST],
        sample_weight_val=weight,
    )
    staged = list(model.staged_predict(table[TEST]))
    name, _, places = metric.partition("@")
    score = {"ndcg": ndcg_score, "map": map_score, "mrr": mrr_score}[name]
    cut = {"k": int(places)} if places else {}
    expected = [1 - score(GRADE[TEST], scores, QUERY[TEST], sample_weight=weight, **cut) for scores in staged]
    np.testing.assert_allclose(model.history_.validation_loss[: len(staged)], expected, rtol=1e-12)
    assert model.n_iter_ == model.history_.best_round < 40
    np.testing.assert_allclose(staged[-1], model.predict(table[TEST]), rtol=1e-12)


def test_held_out_queries_are_whole():
    query = np.sort(QUERY).astype(np.int64)
    problem = Problem(read_table(X), GRADE.astype(float), None, query)
    kept, out = ranker().goal().split(problem, 0.3, seed=5)
    assert not set(query[kept]) & set(query[out])
    assert len(set(query[out])) == round(0.3 * len(set(query)))
    assert sorted([*kept, *out]) == list(range(N_ROWS))


@pytest.mark.parametrize("n_ordered", [2, 5, 40])
def test_only_queries_with_an_order_are_held_out(n_ordered):
    """Others judge nothing: a part of them alone would have no metric."""
    query = np.repeat(np.arange(120), 10)
    y = np.where((query < n_ordered) & (np.arange(N_ROWS) % 2 == 0), 1.0, 0.0)
    problem = Problem(read_table(X), y, None, query.astype(np.int64))
    goal = ranker().goal()
    parts = [goal.split(problem, 0.2, seed=1), *goal.folds(problem, 0.2, 1, of_release(None))]
    assert len(parts) == (1 if n_ordered < 5 else 6)
    for kept, out in parts:
        assert sorted([*kept, *out]) == list(range(N_ROWS))
        assert set(query[out]) <= set(range(n_ordered)) - set(query[kept])
    assert BoostedTreesRanker(n_estimators=3).fit(X, y, query).n_iter_ > 0


def test_early_stopping_holds_queries_out():
    model = ranker(early_stopping=True, n_estimators=60, validation_fraction=0.3, n_iter_no_change=5)
    model.fit(X, GRADE, QUERY)
    assert model.history_.stopped_by == "early stopping"
    assert model.n_iter_ == model.history_.best_round


# ---- what boosted trees can do ---------------------------------------------------------------------------------------


def test_monotone_constraints_hold():
    model = ranker(monotonic_cst=[1, 0, 0, 0, -1], n_estimators=20).fit(X, GRADE, QUERY)
    grid = np.repeat(X[:50], 30, axis=0)
    grid[:, 0] = np.tile(np.linspace(-3, 3, 30), 50)
    assert (np.diff(model.predict(grid).reshape(50, 30), axis=1) >= 0).all()
    assert np.ptp(model.predict(grid)) > 0


@pytest.mark.parametrize(
    "params",
    [
        {"dart_rate": 0.2},
        {"leaf_steps": 3},
        {"second_order": False},
        {"trees_per_round": 2, "subsample": 0.5},
        {"leaf_model": "linear"},
        {"refit": True, "early_stopping": True},
        {"learning_rate": "auto"},
        {"sampling": "stratified", "subsample": 0.5},
        {"score_noise": 1.0},
        {"callbacks": [lambda report: report.training_loss < 0]},
    ],
    ids=lambda params: ", ".join(params),
)
def test_other_options_of_boosted_trees_work(params):
    model = ranker(n_estimators=15, **params).fit(X, GRADE, QUERY)
    assert model.score(X, GRADE, QUERY) > 0.75 > ndcg_score(GRADE, np.zeros(N_ROWS), QUERY) + 0.1


# ---- odd queries -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_queries_without_an_order_teach_nothing(loss):
    """Queries of one row, or of equal grades, change bins and counts of rows alone."""
    odd = np.concatenate([QUERY, np.arange(100, 140), np.full(30, 200)])
    y = np.concatenate([GRADE, RNG.integers(0, 3, 40), np.zeros(30)])
    rows = np.concatenate([X, X[:70]])
    params = {"loss": loss, "min_samples_leaf": 1, "min_child_weight": 0.1, "max_bins": None}
    model = ranker(**params).fit(rows, y, odd)
    np.testing.assert_allclose(model.predict(X), ranker(**params).fit(X, GRADE, QUERY).predict(X), atol=1e-6)


def test_grades_may_be_fractions():
    model = ranker(n_estimators=20).fit(X, np.clip(SIGNAL + 2, 0, 4), QUERY)
    assert np.corrcoef(model.predict(X), SIGNAL)[0, 1] > 0.7


def fit_with(**changes):
    given = {"X": X, "y": GRADE, "group": QUERY, **changes}
    params = {name: given.pop(name) for name in list(given) if name in BoostedTreesRanker._get_param_names()}
    return ranker(**params).fit(**given)


HELD = {"X_val": X, "y_val": GRADE, "group_val": QUERY}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"group": None}, "group is None: give the id of each row's query; rows are ranked within their query"),
        ({"group": QUERY[:-1]}, "group has 1199 ids, but y has 1200 rows: give one query id per row$"),
        ({"group": np.bincount(QUERY)}, r"these look like sizes: use np.repeat\(np.arange\(len\(sizes\)\), sizes\)"),
        ({"group": np.where(QUERY == 3, np.nan, QUERY)}, r"group has a missing id \(.*nan.*\) in row"),
        ({"y": GRADE[:-1], "group": QUERY[:-1]}, "y has 1199 values, but X has 1200 rows"),
        ({"y": None}, "the target y is None"),
        ({"y": GRADE - 1}, r"y\[\d+\] = -1.0: grades must lie between 0 and 31"),
        ({"y": GRADE * 20}, r"y\[\d+\] = \d+.0: grades must lie between 0 and 31"),
        ({"y": np.where(QUERY == 3, np.nan, GRADE)}, "Input y contains NaN"),
        ({"y": np.array(["good"] * N_ROWS)}, "which is not numeric; give grades, such as 0 to 4"),
        ({"y": np.zeros(N_ROWS)}, r"no query has rows of different grades \(n_samples=1200\): there is no order to"),
        ({"y": QUERY % 3}, "no query has rows of different grades"),
        ({"group": np.arange(N_ROWS)}, "no query has rows of different grades"),
        ({"ordered_boosting": 2}, "ordered_boosting=2: the gradient of a row depends on the other rows of its query"),
        ({"metric": "auc"}, "metric='auc': use 'ndcg'"),
        ({"metric": "ndcg@"}, "metric='ndcg@': use 'ndcg'"),
        ({"truncation": 0}, "truncation=0: use an integer at least 1"),
        ({"truncation": 5, "loss": "listwise"}, "truncation=5 has no effect with loss='listwise': leave it at 30"),
        ({"metric": "map", "loss": LambdaMart()}, "metric given beside the loss object"),
        ({"loss": "poisson"}, "is for regression, not ranking: use one of lambdamart, pairwise, listwise"),
        ({"loss": SquaredError()}, "is for regression, not ranking"),
        ({**HELD, "group_val": None}, "group_val is None: give the id"),
        ({**HELD, "X_val": None, "y_val": None}, "group_val is given without X_val"),
        ({**HELD, "y_val": None}, "X_val is given without y_val"),
        ({**HELD, "y_val": GRADE - 1}, r"y_val\[\d+\] = -1.0: grades must"),
        ({**HELD, "y_val": GRADE * 0, "early_stopping": True}, "no query has a relevant row"),
        ({"early_stopping": True, "validation_fraction": 0.001}, "leaves no row to train or to validate on"),
    ],
    ids=str,
)
def test_errors(changes, message):
    with pytest.raises(ValueError, match=message):
        fit_with(**changes)


def test_score_needs_queries():
    with pytest.raises(ValueError, match="group is None: give the id of each row's query"):
        ranker().fit(X, GRADE, QUERY).score(X, GRADE)


# ---- scikit-learn ----------------------------------------------------------------------------------------------------


class RankerOfOneList(BoostedTreesRanker):
    """All rows are one query, as scikit-learn's checks know none; nor that a copy of a row would compete with it."""

    def fit(self, X, y):
        return super().fit(X, None if y is None else np.clip(y, 0, 31), np.zeros(0 if y is None else len(y)))

    def score(self, X, y):
        return super().score(X, y, np.zeros(len(y)))


def name_of(case):
    return getattr(getattr(case, "func", case), "__name__", None) or repr(case)


@pytest.mark.parametrize(
    ("estimator", "check"), checks_of(RankerOfOneList(n_estimators=4, early_stopping=False)), ids=name_of
)
def test_every_check_of_sklearn(estimator, check):
    check(estimator)


@pytest.fixture
def _routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("_routing")
def test_cross_validation_passes_queries_on():
    model = ranker().set_fit_request(group=True).set_score_request(group=True)
    scores = cross_val_score(model, X, GRADE, cv=GroupKFold(3), params={"group": QUERY, "groups": QUERY})
    assert (scores > 0.7).all()
    search = GridSearchCV(model, {"loss": LOSSES}, cv=GroupKFold(3)).fit(X, GRADE, group=QUERY, groups=QUERY)
    assert search.best_score_ >= scores.mean()
    assert pickle.loads(pickle.dumps(search.best_estimator_)).score(X, GRADE, QUERY) > 0.8


def test_cross_validation_by_hand():
    scores = [
        ranker().fit(X[rest], GRADE[rest], QUERY[rest]).score(X[test], GRADE[test], QUERY[test])
        for rest, test in GroupKFold(3).split(X, GRADE, QUERY)
    ]
    assert min(scores) > 0.7


def test_a_single_query_has_none_to_hold_out():
    X = np.random.default_rng(0).normal(size=(1200, 2))
    y = (X[:, 0] > 1).astype(int)
    model = BoostedTreesRanker(n_estimators=3).fit(X, y, group=np.zeros(1200))
    assert not model.history_.validation_loss
    with pytest.raises(ValueError, match="leaves no row to train or to validate on"):
        BoostedTreesRanker(n_estimators=3, early_stopping=True).fit(X, y, group=np.zeros(1200))
