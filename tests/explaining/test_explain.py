"""``model.explain``: what every kind of model says of its predictions."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

import arboretum as arb

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
X[RNG.random(X.shape) < 0.05] = np.nan
SIGNAL = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1] * X[:, 2])
LABELS = np.array(["low", "mid", "high"])[np.digitize(SIGNAL, [-0.5, 0.5])]
TREATED = RNG.integers(0, 2, 200)
ARMS = RNG.choice(["control", "mail", "call"], 200)
TIMES = np.column_stack([np.exp(SIGNAL), RNG.random(200) < 0.7])
SMALL = {"n_estimators": 7, "random_state": 0}
BOOSTED = {**SMALL, "min_samples_leaf": 5}


CASES = {
    "boosted regressor": (arb.BoostedTreesRegressor(**BOOSTED), (SIGNAL,), "predict"),
    "boosted counts": (arb.BoostedTreesRegressor(**BOOSTED, loss="poisson"), (np.exp(SIGNAL),), None),
    "symmetric": (arb.BoostedTreesRegressor(**BOOSTED, growth="symmetric", max_depth=4), (SIGNAL,), "predict"),
    "linear leaves": (arb.BoostedTreesRegressor(**BOOSTED, leaf_model="linear"), (SIGNAL,), "predict"),
    "several numbers": (arb.BoostedTreesRegressor(**BOOSTED), (np.column_stack([SIGNAL, -SIGNAL]),), "predict"),
    "boosted classifier": (arb.BoostedTreesClassifier(**BOOSTED), (SIGNAL > 0,), "decision_function"),
    "boosted classes": (arb.BoostedTreesClassifier(**BOOSTED), (LABELS,), "decision_function"),
    "ranker": (arb.BoostedTreesRanker(**BOOSTED), (np.digitize(SIGNAL, [0]), np.arange(200) // 10), "predict"),
    "survival": (arb.BoostedTreesSurvival(**BOOSTED), (TIMES,), None),
    "tree": (arb.DecisionTreeRegressor(), (SIGNAL,), "predict"),
    "tree of classes": (arb.DecisionTreeClassifier(), (LABELS,), "predict_proba"),
    "forest": (arb.RandomForestRegressor(**SMALL), (SIGNAL,), "predict"),
    "oblique forest": (arb.RandomForestRegressor(**SMALL, oblique=True, max_depth=4), (SIGNAL,), "predict"),
    "forest of classes": (arb.RandomForestClassifier(**SMALL), (LABELS,), "predict_proba"),
    "votes": (arb.RandomForestClassifier(**SMALL, voting="hard"), (LABELS,), "predict_proba"),
    "extra trees": (arb.ExtraTreesRegressor(**SMALL), (SIGNAL,), "predict"),
    "survival forest": (arb.RandomSurvivalForest(**SMALL), (TIMES,), "predict"),
    "isolation": (arb.IsolationForest(**SMALL), (), "path_lengths"),
    "hyperplanes": (arb.IsolationForest(**SMALL, max_samples=32, extension="full"), (), "path_lengths"),
    "uplift forest": (arb.UpliftForest(**SMALL, min_samples_leaf=20), (SIGNAL > 0, TREATED), "predict"),
    "uplift of two": (arb.UpliftForest(**SMALL, min_samples_leaf=20), (SIGNAL > 0, ARMS), "predict"),
    "uplift boosting": (arb.UpliftBoostedTrees(**SMALL), (SIGNAL, TREATED), "predict"),
    "adaboost": (arb.AdaBoostClassifier(**SMALL), (SIGNAL > 0,), "decision_function"),
    "adaboost of classes": (arb.AdaBoostClassifier(**SMALL), (LABELS,), "decision_function"),
}


def fitted(name):
    model, targets, method = CASES[name]
    return clone(model).fit(X, *targets), method


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("by_background", [False, True])
def test_values_sum_to_the_prediction(name, by_background):
    model, method = fitted(name)
    rows = X[:20]
    explanation = model.explain(rows, background=X[50:60] if by_background else None)
    predicted = getattr(model, method)(rows) if method else model.predict_raw(rows)[:, 0]
    np.testing.assert_allclose(explanation.predictions, predicted, rtol=1e-9, atol=1e-12)
    outputs = predicted.shape[1:]
    assert explanation.values.shape == (20, 4, *outputs)
    assert explanation.base_values.shape == (20, *outputs)
    assert explanation.feature_names == ["x0", "x1", "x2", "x3"]
    np.testing.assert_array_equal(explanation.data, rows)
    if by_background:
        before = getattr(model, method)(X[50:60]) if method else model.predict_raw(X[50:60])[:, 0]
        np.testing.assert_allclose(explanation.base_values[0], before.mean(axis=0), rtol=1e-9)


@pytest.mark.parametrize("name", ["boosted regressor", "linear leaves", "forest of classes", "oblique forest"])
@pytest.mark.parametrize("by_background", [False, True])
def test_interactions_sum_to_the_values(name, by_background):
    model, _ = fitted(name)
    background = X[50:55] if by_background else None
    alone = model.explain(X[:9], background=background)
    pairs = model.explain(X[:9], background=background, interactions=True)
    assert pairs.has_interactions
    np.testing.assert_allclose(pairs.values.sum(axis=2), alone.values, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(pairs.values, pairs.values.swapaxes(1, 2))
    np.testing.assert_allclose(pairs.predictions, alone.predictions, rtol=1e-9, atol=1e-12)


def test_outputs_have_the_names_of_classes_and_arms():
    for name, names in {
        "boosted classes": ["high", "low", "mid"],
        "forest of classes": ["high", "low", "mid"],
        "uplift of two": ["call", "mail"],
        "boosted classifier": None,
        "several numbers": None,
    }.items():
        assert fitted(name)[0].explain(X[:2]).output_names == names
    both = np.column_stack([LABELS, SIGNAL > 0])
    forest = arb.RandomForestClassifier(**SMALL).fit(X, both)
    assert forest.explain(X[:2]).output_names[0] == "output 0: high"


def mixed_frame(n_rows):
    import pandas as pd

    rng = np.random.default_rng(1)
    street = rng.integers(0, 60, n_rows)
    frame = pd.DataFrame(
        {
            "size": rng.random(n_rows),
            "street": [f"street {i}" for i in street],
            "shop": [f"shop {i}" for i in rng.integers(0, 50, n_rows)],
            "colour": rng.choice(["red", "blue", None], n_rows),
        }
    )
    return frame, (street % 7) * frame["size"].to_numpy()


@pytest.mark.parametrize("interactions", [False, True])
def test_encoded_columns_are_summed_to_those_of_the_user(interactions):
    frame, y = mixed_frame(400)
    model = arb.BoostedTreesRegressor(n_estimators=10, category_levels=4, category_combinations=2, random_state=0)
    model.fit(frame, y)
    assert len(model.encoding_.schema.names) > 4
    new = frame[["colour", "shop", "street", "size"]].head(12).copy()
    new.loc[0, "street"] = "never seen"
    explanation = model.explain(new, background=frame.tail(5), interactions=interactions)
    assert explanation.feature_names == ["size", "street", "shop", "colour"]
    np.testing.assert_allclose(explanation.predictions, model.predict(new), rtol=1e-9)
    assert explanation.data[0].tolist() == new.loc[0, explanation.feature_names].tolist()
    shares = model.encoding_.shares()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert explanation.values.shape == (12, 4, 4)[: 3 if interactions else 2]
    influence = np.abs(model.explain(frame).values).mean(axis=0)
    assert influence[1] > 5 * influence[3]


@pytest.mark.parametrize("unknown", ["average", "missing"])
def test_unknown_categories_follow_the_model(unknown):
    frame, y = mixed_frame(300)
    model = arb.BoostedTreesRegressor(n_estimators=10, category_levels=None, unknown=unknown, random_state=0)
    model.fit(frame, y)
    new = frame.head(20).copy()
    new.loc[::2, "street"] = "never seen"
    for background in (None, new.tail(4)):
        explanation = model.explain(new, background=background)
        np.testing.assert_allclose(explanation.predictions, model.predict(new), rtol=1e-9)


def test_sparse_rows_and_threads_change_nothing():
    from scipy.sparse import csr_matrix

    dense = np.where(RNG.random((300, 6)) < 0.3, RNG.normal(size=(300, 6)), 0.0)
    model = arb.BoostedTreesRegressor(n_estimators=5, n_jobs=1).fit(dense, dense.sum(axis=1))
    want = model.explain(dense)
    got = model.set_params(n_jobs=3).explain(csr_matrix(dense), background=None)
    np.testing.assert_array_equal(got.values, want.values)
    np.testing.assert_array_equal(got.data, dense)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (arb.AdaBoostRegressor(n_estimators=2), "predicts a median of its trees, not a sum"),
        (arb.BaggingRegressor(n_estimators=2), "BaggingRegressor predicts no sum of trees"),
        (arb.AdditiveBoostingRegressor(n_estimators=2), "AdditiveBoostingRegressor predicts no sum of trees"),
        (
            arb.ConformalRegressor(estimator=arb.BoostedTreesRegressor(**BOOSTED)),
            "ConformalRegressor predicts no sum of trees",
        ),
    ],
)
def test_models_that_are_no_sum_of_trees_say_so(model, message):
    model = clone(model).fit(np.nan_to_num(X), SIGNAL)
    with pytest.raises(TypeError, match=message):
        model.explain(X[:2])


def test_trees_of_many_branches_say_so():
    model = arb.DecisionTreeClassifier(method="c45").fit(X, LABELS)
    with pytest.raises(TypeError, match="SHAP values need trees with two branches per node: use method='cart'"):
        model.explain(X[:2])


def test_a_model_must_be_fitted_and_the_background_conform():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="is not fitted yet"):
        arb.BoostedTreesRegressor().explain(X)
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        arb.AdaBoostClassifier().explain(X)
    model = arb.BoostedTreesRegressor(**BOOSTED).fit(X, SIGNAL)
    with pytest.raises(ValueError, match="X has 3 features, but BoostedTreesRegressor is expecting 4"):
        model.explain(X, background=X[:, :3])


def test_the_explanation_says_what_it_holds():
    model = arb.BoostedTreesClassifier(**BOOSTED).fit(X, LABELS)
    assert repr(model.explain(X[:3])) == "Explanation(3 rows, 4 columns, 3 outputs)"
    assert repr(model.explain(X[:3], interactions=True)) == "Explanation(3 rows, 4 columns, 3 outputs, interactions)"


def test_plots_of_shap_get_what_they_want(monkeypatch):
    stand_in = SimpleNamespace(Explanation=lambda *arrays, **names: (arrays, names))
    monkeypatch.setitem(sys.modules, "shap", stand_in)
    explanation = fitted("boosted classes")[0].explain(X[:3])
    arrays, names = explanation.to_shap()
    assert arrays == (explanation.values, explanation.base_values, explanation.data)
    assert names == {"feature_names": ["x0", "x1", "x2", "x3"], "output_names": ["high", "low", "mid"]}


def test_values_are_those_of_lightgbm():
    """Trees of another library, read into a forest by hand, get its own values."""
    lightgbm = pytest.importorskip("lightgbm")
    clean = np.nan_to_num(X)
    theirs = lightgbm.LGBMRegressor(n_estimators=5, num_leaves=8, min_child_samples=5, verbose=-1).fit(clean, SIGNAL)
    ours = to_forest(theirs.booster_.dump_model()["tree_info"])
    from arboretum.explaining import shap_values

    values, base = shap_values(ours, list(clean.T), len(clean))
    want = theirs.predict(clean, pred_contrib=True)
    np.testing.assert_allclose(values[:, :, 0], want[:, :-1], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(base[0], want[0, -1], rtol=1e-9)


def to_forest(trees):
    columns = {name: [] for name in ("kind", "feature", "threshold", "left", "right", "value", "n_rows")}
    start = [0]

    def add(node):
        place = len(columns["kind"]) - start[-1]
        is_leaf = "leaf_value" in node
        row = (
            0 if is_leaf else 1,
            -1 if is_leaf else node["split_feature"],
            0.0 if is_leaf else node["threshold"],
            -1,
            -1,
            node["leaf_value"] if is_leaf else 0.0,
            node["leaf_count" if is_leaf else "internal_count"],
        )
        for column, entry in zip(columns.values(), row, strict=True):
            column.append(entry)
        if not is_leaf:
            columns["left"][start[-1] + place] = add(node["left_child"])
            columns["right"][start[-1] + place] = add(node["right_child"])
        return place

    for tree in trees:
        add(tree["tree_structure"])
        start.append(len(columns["kind"]))
    n = start[-1]
    types = {"kind": np.uint8, "feature": np.int32, "left": np.int32, "right": np.int32, "n_rows": np.int64}
    arrays = {name: np.array(column, types.get(name, np.float64)) for name, column in columns.items()}
    return arb.Forest(
        **{**arrays, "value": arrays["value"][:, None]},
        tree_start=np.array(start),
        tree_output=np.zeros(len(trees), np.int32),
        missing_left=np.zeros(n, np.uint8),
        set_start=np.zeros(n + 1, np.int64),
        set_words=np.zeros(0, np.uint32),
        gain=np.zeros(n),
        base=np.zeros(1),
    )
