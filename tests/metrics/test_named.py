"""Metrics by name: those of scikit-learn where it has them, and what ``scoring`` may be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from arboretum.data.queries import Queries
from arboretum.metrics import auuc_score, concordance_index, ndcg_score, qini_score
from arboretum.metrics.named import METRICS, Answered, find_metric, named_metrics
from arboretum.metrics.scoring import Scorer, find_scoring

SCORES = st.sampled_from([0.0, 0.1, 0.5, 0.5 + 2**-53, 1.0, -1e300, np.inf])
ROWS = st.lists(st.tuples(SCORES, st.booleans(), st.integers(0, 3)), min_size=1, max_size=30)


def value(name, task, *rows, **columns):
    return find_metric(name, task).value(Answered(*rows, **columns))


@given(ROWS, st.booleans())
def test_separation_is_that_of_scikit_learn(rows, weighted):
    scores, positive, weight = (np.array(column) for column in zip(*rows, strict=True))
    kept = weight > 0 if weighted else np.ones(len(weight), dtype=bool)
    of_rows = weight.astype(np.float64) if weighted else None
    found = [value(name, "binary", positive * 1, scores, of_rows) for name in ("roc_auc", "average_precision")]
    if len(set(positive[kept])) < 2:
        assert np.isnan(found).all()
        return
    of_each = {"sample_weight": None if of_rows is None else of_rows[kept]}
    ranked = np.unique(scores, return_inverse=True)[1][kept]  # scikit-learn takes no infinities
    expected = [
        sklearn_metrics.roc_auc_score(positive[kept], ranked, **of_each),
        sklearn_metrics.average_precision_score(positive[kept], ranked, **of_each),
    ]
    assert found == pytest.approx(expected, rel=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.booleans())
def test_metrics_of_classes_are_those_of_scikit_learn(seed, n_classes, weighted):
    rng = np.random.default_rng(seed)
    y, proba = np.append(np.arange(n_classes), rng.integers(0, n_classes, 30)), rng.random((30 + n_classes, n_classes))
    proba /= proba.sum(axis=1, keepdims=True)
    weight = rng.integers(1, 4, len(y)).astype(float) if weighted else None
    task, labels = "binary" if n_classes == 2 else "multiclass", proba.argmax(axis=1)
    expected = {
        "accuracy": sklearn_metrics.accuracy_score(y, labels, sample_weight=weight),
        "balanced_accuracy": sklearn_metrics.balanced_accuracy_score(y, labels, sample_weight=weight),
        "log_loss": sklearn_metrics.log_loss(y, proba, sample_weight=weight),
    }
    assert {name: value(name, task, y, proba, weight) for name in expected} == pytest.approx(expected)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_metrics_of_numbers_are_those_of_scikit_learn(seed, weighted):
    rng = np.random.default_rng(seed)
    y, answer = rng.normal(size=(2, 20))
    weight = rng.random(20) if weighted else None
    expected = {
        "rmse": sklearn_metrics.mean_squared_error(y, answer, sample_weight=weight) ** 0.5,
        "mae": sklearn_metrics.mean_absolute_error(y, answer, sample_weight=weight),
        "r2": sklearn_metrics.r2_score(y, answer, sample_weight=weight),
    }
    assert {name: value(name, "regression", y, answer, weight) for name in expected} == pytest.approx(expected)
    assert np.isnan(value("r2", "regression", np.ones(3), np.zeros(3)))


def test_metrics_of_orders_are_the_public_ones():
    rng = np.random.default_rng(0)
    y, scores, query, weight = rng.integers(0, 4, 40).astype(float), rng.random(40), np.arange(40) // 8, rng.random(40)
    queries = Queries.of_sorted(query)
    for name, k in (("ndcg", None), ("ndcg@3", 3), ("ndcg@100", 100)):
        found = value(name, "ranking", y, scores, weight, queries=queries)
        assert found == ndcg_score(y, scores, query, k=k, sample_weight=weight)
    bounds = np.column_stack([np.arange(1.0, 41), np.where(y > 0, np.arange(1.0, 41), np.inf)])
    events = np.column_stack([np.arange(1.0, 41), y > 0])
    expected = concordance_index(events, scores, sample_weight=weight)
    assert value("concordance", "survival", bounds, scores, weight) == expected
    treated = rng.random(40) < 0.5
    assert value("qini", "uplift", y, scores, weight, treated=treated) == qini_score(
        y, scores, treated, sample_weight=weight
    )
    for outcome, known in ((y, False), (y > 0, True)):
        expected = auuc_score(outcome, scores, treated, normalise=known, sample_weight=weight)
        assert value("auuc", "uplift", outcome, scores, weight, treated=treated) == expected


def test_a_class_that_the_model_does_not_know_is_wrong_and_thought_impossible():
    rows = Answered(np.array([0, -1]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert find_metric("accuracy", "binary").value(rows) == 0.5
    assert find_metric("log_loss", "binary").value(rows) == pytest.approx(-np.log(1e-15) / 2)


def test_several_outputs_are_averaged_over_known_rows():
    y = np.array([[1.0, np.nan], [3.0, 2.0]])
    answer = np.array([[0.0, 100.0], [0.0, 0.0]])
    assert value("mae", "regression", y, answer) == pytest.approx((2.0 + 2.0) / 2)
    labels = np.array([[0.0, 1.0], [1.0, 1.0]])
    proba = [np.array([[0.9, 0.1], [0.8, 0.2]]), np.array([[0.1, 0.9], [0.2, 0.8]])]
    assert value("accuracy", "binary", labels, proba) == pytest.approx((0.5 + 1.0) / 2)


def test_several_predictions_of_one_number_are_refused():
    with pytest.raises(ValueError, match=r"scoring='rmse' reads one prediction per row, but the model gives 3: use"):
        value("rmse", "regression", np.zeros(2), np.zeros((2, 3)))


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_of_another_task_is_refused_with_those_of_the_task(name):
    for task in ("binary", "multiclass", "regression", "ranking", "survival", "uplift"):
        if task in METRICS[name].tasks:
            assert find_metric(name, task) is METRICS[name]
            assert name in named_metrics(task)
        else:
            with pytest.raises(ValueError, match=f"scoring='{name}' is a metric of .*, not of {task}: use "):
                find_metric(name, task)


# --------------------------------------------------------------------------------------------- scoring


def own(model, X, y):
    return 1.0


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        ("acuracy", "scoring='acuracy' is neither .* did you mean 'accuracy'"),
        ("rmse", "is a metric of regression, not of binary: use accuracy, "),
        ("ndcg@0", "is neither a metric nor"),
        (5, "scoring=5: use 'loss', the name of a metric, a function"),
        (Scorer, "use 'loss'"),
        (sklearn_metrics.f1_score, r"scoring=f1_score is a function of truth and prediction: wrap it"),
    ],
)
def test_what_is_no_scoring_is_refused(scoring, message):
    with pytest.raises(ValueError, match=message):
        find_scoring(scoring, "binary")


def test_what_scoring_may_be():
    assert find_scoring("loss", "binary") is None
    assert find_scoring("roc_auc", "binary") is METRICS["roc_auc"]
    assert find_scoring("neg_brier_score", "binary").name == "neg_brier_score"
    assert find_scoring(own, "binary") == Scorer("own", own)
    made = sklearn_metrics.make_scorer(sklearn_metrics.fbeta_score, beta=2)
    assert find_scoring(made, "binary").function is made


def test_scorers_get_the_columns_that_they_take():
    def greedy(model, X, y, **columns):
        return sorted(columns)

    def grouped(model, X, y, sample_weight, group):
        return sample_weight + group

    columns = {"sample_weight": 1, "group": 2, "treatment": None}
    assert Scorer("greedy", greedy).score(None, None, None, **columns) == ["sample_weight"]
    assert Scorer("grouped", grouped).score(None, None, None, **columns) == 3
    assert Scorer("own", own).score(None, None, None, group=2) == 1.0
    with pytest.raises(ValueError, match=r"scoring='own' takes no sample_weight, but rows or classes have weights"):
        Scorer("own", own).score(None, None, None, **columns)

    def weightless(model, X, y, **columns):
        raise TypeError("max_error() got an unexpected keyword argument 'sample_weight'")

    with pytest.raises(ValueError, match=r"scoring='max_error' takes no sample_weight"):
        Scorer("max_error", weightless).score(None, None, None, **columns)
