"""Facts of the report: figures by their definitions, trees as the model holds them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn import metrics

import arboretum as arb
from arboretum.metrics.survival import kaplan_meier
from arboretum.reading.conditions import condition
from arboretum.report import columns, evaluation, examples, trees
from arboretum.report.evaluation.survival import calibration_half_way
from arboretum.report.facts import rounded, to_json
from arboretum.report.subject import Subject, draw_rows, read_rows

DRAW = np.random.default_rng(7)
ROWS = DRAW.normal(size=(400, 3))
LABELS = ROWS[:, 0] + DRAW.logistic(size=400) > 0.5


def subject(model, X, y, X_train=None, y_train=None, **extra):
    train = None if X_train is None else read_rows(model, X_train, y_train, of="_train")
    return Subject(model, model.task_, read_rows(model, X, y, **extra), train, 500)


@pytest.fixture(scope="module")
def classifier():
    return arb.BoostedTreesClassifier(n_estimators=20).fit(ROWS, LABELS)


def figures(facts):
    return {metric["name"]: metric["model"] for metric in facts["outputs"][0]["metrics"]}


def charts(facts):
    return {chart["title"]: chart for chart in facts["outputs"][0]["charts"]}


def test_figures_of_two_classes_are_those_of_scikit_learn(classifier):
    found = figures(evaluation.gather(subject(classifier, ROWS, LABELS)))
    told = classifier.predict_proba(ROWS)[:, 1]
    assert found["ROC AUC"] == pytest.approx(metrics.roc_auc_score(LABELS, told))
    assert found["average precision"] == pytest.approx(metrics.average_precision_score(LABELS, told))
    assert found["log loss"] == pytest.approx(metrics.log_loss(LABELS, told))
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(LABELS, told > 0.5))
    assert found["Brier score"] == pytest.approx(metrics.brier_score_loss(LABELS, told))


def test_weights_equal_repetitions(classifier):
    weight = DRAW.integers(0, 3, 400)
    kept = np.repeat(np.arange(400), weight)
    weighted = evaluation.gather(subject(classifier, ROWS, LABELS, sample_weight=weight))
    repeated = evaluation.gather(subject(classifier, ROWS[kept], LABELS[kept]))
    assert figures(weighted) == pytest.approx(figures(repeated))
    mean = (
        np.asarray(charts(facts)["Confusion matrix by threshold"]["true_positives"]) for facts in (weighted, repeated)
    )
    np.testing.assert_allclose(*mean)


def test_a_threshold_counts_rows_at_or_above_it(classifier):
    chart = charts(evaluation.gather(subject(classifier, ROWS, LABELS)))["Confusion matrix by threshold"]
    told = classifier.predict_proba(ROWS)[:, 1]
    for at, threshold in enumerate(chart["thresholds"]):
        assert chart["true_positives"][at] == ((told >= threshold) & LABELS).sum()
        assert chart["false_positives"][at] == ((told >= threshold) & ~LABELS).sum()


def test_figures_of_numbers_and_several_classes():
    y = ROWS[:, 0] + 0.1 * DRAW.normal(size=400)
    model = arb.BoostedTreesRegressor(n_estimators=20).fit(ROWS, y)
    found, told = figures(evaluation.gather(subject(model, ROWS, y))), model.predict(ROWS)
    assert found["R²"] == pytest.approx(metrics.r2_score(y, told))
    assert found["RMSE"] == pytest.approx(np.sqrt(metrics.mean_squared_error(y, told)))
    classes = np.digitize(y, [-1, 0, 1])
    model = arb.RandomForestClassifier(n_estimators=5, max_depth=2).fit(ROWS, classes)
    facts = evaluation.gather(subject(model, ROWS, classes))
    assert figures(facts)["balanced accuracy"] == pytest.approx(
        metrics.balanced_accuracy_score(classes, model.predict(ROWS))
    )
    np.testing.assert_array_equal(
        charts(facts)["Confusion matrix"]["counts"], metrics.confusion_matrix(classes, model.predict(ROWS))
    )


def test_one_class_alone_has_no_curves(classifier):
    facts = evaluation.gather(subject(classifier, ROWS[:5], np.zeros(5, bool)))
    assert "ROC AUC" not in figures(facts)
    assert "ROC curve" not in charts(facts)


@given(st.lists(st.one_of(st.floats(), st.sampled_from([0.0, np.inf, 1e308, -1e308])), min_size=1, max_size=60))
def test_columns_of_any_numbers_are_described(values):
    facts = columns.describe(columns.ColumnSchema("x", "numeric", "number"), np.array(values))
    known = [value for value in values if not np.isnan(value)]
    assert facts["missing"] == len(values) - len(known)
    assert facts["distinct"] == len(set(known))
    assert sum(facts["bars"]) == len(known)
    to_json(facts)


def test_survival_without_censoring_is_the_share_of_rows_left():
    time = DRAW.integers(1, 9, 50).astype(float)
    steps, level = kaplan_meier(time, np.ones(50, bool))
    np.testing.assert_allclose(level, [(time > step).mean() for step in steps])


@settings(max_examples=50)
@example(["</script>", "\u2028", float("nan")])
@given(st.lists(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()), max_size=5))
def test_facts_are_strict_json_that_cannot_end_a_script(facts):
    text = to_json(facts)
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text, parse_constant=pytest.fail) == rounded(facts)


def test_trees_are_written_as_the_forest_holds_them(classifier):
    written = trees.gather(subject(classifier, ROWS, LABELS))
    assert written["n_trees"] == len(written["trees"]) == classifier.forest_.n_trees
    forest = classifier.forest_
    for tree in written["trees"]:
        start = forest.tree_start[tree["number"]]
        for at, node in enumerate(tree["id"]):
            assert tree["parent"][at] < at
            assert tree["rows"][at] == forest.n_rows[start + node]
            if tree["test"][at]:
                text = condition(forest, start + node).pretty(classifier.schema_, digits=6)
                assert f"{tree['subject'][at]} {tree['test'][at]}" == text
            children = [i for i, parent in enumerate(tree["parent"]) if parent == at]
            assert len(children) == (2 if tree["test"][at] else 0)
            assert not children or sum(tree["rows"][i] for i in children) == tree["rows"][at]


def test_examples_end_where_a_cut_tree_ends(monkeypatch):
    monkeypatch.setattr(trees, "LARGEST", 7)
    model = arb.DecisionTreeRegressor().fit(ROWS, ROWS[:, 0])
    about = subject(model, ROWS, ROWS[:, 0])
    tree = trees.gather(about)["trees"][0]
    assert len(tree["id"]) == 7
    ends = trees.leaves(about, ROWS, [tree])[:, 0]
    reached = {node: int((ends == node).sum()) for node in tree["id"]}
    assert sum(reached.values()) == len(ROWS)
    passed = dict(zip(tree["id"], np.asarray(model.decision_path(ROWS).sum(axis=0)).ravel()[tree["id"]], strict=True))
    is_end = [node for at, node in enumerate(tree["id"]) if at not in tree["parent"]]
    assert {node: reached[node] for node in is_end} == {node: passed[node] for node in is_end}


def test_queries_are_drawn_whole():
    model = arb.BoostedTreesRanker(n_estimators=1).fit(ROWS, LABELS.astype(int), np.arange(400) // 10)
    rows = read_rows(model, ROWS, LABELS.astype(int), group=np.arange(400) % 40)
    drawn = draw_rows(rows, 55)
    assert len(drawn) == 50
    assert set(np.bincount(drawn % 40)) == {0, 10}


def test_influence_is_sought_while_time_allows(classifier, monkeypatch):
    about = subject(classifier, ROWS, LABELS, ROWS, LABELS)
    everything = examples.gather(about, [])
    assert len(everything["neighbours"]["of"]) == len(everything["rows"])
    cost = 400 * classifier.forest_.n_trees
    monkeypatch.setattr(examples, "INFLUENCE_BUDGET", cost * (examples.INFLUENCE_START + 3))
    some = examples.gather(about, [])["neighbours"]
    assert len(some["of"]) == 3
    worst = max(everything["rows"], key=lambda row: row["error"])
    assert everything["rows"].index(worst) in some["of"]
    for at, place in enumerate(some["of"]):
        assert some["change"][at].tolist() == everything["neighbours"]["change"][place].tolist()
    monkeypatch.setattr(examples, "INFLUENCE_BUDGET", cost)
    assert "would take long to find" in examples.gather(about, [])["neighbours"]["left_out"]


def test_waterfalls_add_up_to_the_raw_prediction(classifier):
    found = examples.gather(subject(classifier, ROWS, LABELS), [])
    raw = classifier.decision_function(ROWS)
    for row, fall in zip(found["rows"], found["waterfalls"], strict=True):
        assert fall["base"] + fall["values"].sum() + fall["rest"] == pytest.approx(raw[row["row"]])


def test_calibration_at_a_time_is_that_of_fifths_of_the_rows():
    rng = np.random.default_rng(4)
    chance = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 400)
    time = np.where(rng.random(2000) < chance, rng.uniform(2, 3, 2000), rng.uniform(0, 1, 2000))
    survival = np.column_stack([np.ones(2000), chance, np.zeros(2000)])
    chart = calibration_half_way(time, np.ones(2000, bool), survival, np.array([0.0, 1.5, 4.0]))
    dots = chart["series"][0]
    np.testing.assert_allclose(dots["x"], [0.1, 0.3, 0.5, 0.7, 0.9])
    np.testing.assert_allclose(dots["y"], [(time[chance == one] > 1.5).mean() for one in dots["x"].round(1)])
    assert chart["title"] == "Calibration at time 1.5"
