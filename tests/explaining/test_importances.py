"""Importances of all kinds against slow twins, for every model with trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import get_scorer

import arboretum as arb
from arboretum.data.table import read_table
from arboretum.explaining import permutation
from arboretum.explaining.sage import sage_values
from arboretum.explaining.structure import Uses

RNG = np.random.default_rng(2)
N = 240
X = pd.DataFrame(RNG.normal(size=(N, 4)), columns=list("abcd"))
X["colour"] = RNG.choice(["red", "green", "blue"], N)
X["street"] = [f"s{number}" for number in RNG.integers(0, 30, N)]
Y = (2 * X["a"] + X["b"] * X["c"] + (X["colour"] == "red")).to_numpy()
LABELS = np.digitize(Y, [-1, 1])
QUERY = np.repeat(np.arange(N // 8), 8)
ARM = RNG.integers(0, 2, N)
TIMES = np.column_stack([RNG.exponential(np.exp(-X["a"])), RNG.integers(0, 2, N)])
FEW = {"n_estimators": 6}

CASES = {
    "boosted": (arb.BoostedTreesRegressor(**FEW, min_samples_leaf=3), Y, {}),
    "statistics": (arb.BoostedTreesRegressor(**FEW, min_samples_leaf=3, category_levels=2), Y, {}),
    "linear leaves": (arb.BoostedTreesRegressor(**FEW, min_samples_leaf=5, leaf_model="linear"), Y, {}),
    "classes": (arb.BoostedTreesClassifier(**FEW, min_samples_leaf=3), LABELS, {}),
    "forest": (arb.RandomForestClassifier(**FEW), LABELS, {}),
    "votes": (arb.RandomForestClassifier(**FEW, voting="hard"), LABELS, {}),
    "oblique": (arb.ExtraTreesRegressor(**FEW, oblique=True), Y, {}),
    "tree": (arb.DecisionTreeRegressor(), Y, {}),
    "multiway": (arb.DecisionTreeClassifier(method="c45"), LABELS, {}),
    "adaboost classes": (arb.AdaBoostClassifier(n_estimators=3), LABELS, {}),
    "adaboost numbers": (arb.AdaBoostRegressor(n_estimators=3), Y, {}),
    "ranker": (arb.BoostedTreesRanker(**FEW), LABELS, {"group": QUERY}),
    "uplift forest": (
        arb.UpliftForest(**FEW, min_samples_leaf=10, min_samples_treatment=2),
        (Y > 0).astype(int),
        {"treatment": ARM},
    ),
    "uplift boosting": (arb.UpliftBoostedTrees(**FEW), Y, {"treatment": ARM}),
    "survival forest": (arb.RandomSurvivalForest(**FEW), TIMES, {}),
    "survival boosting": (arb.BoostedTreesSurvival(**FEW), TIMES, {}),
}
ALL = pytest.mark.parametrize("case", CASES)


def fitted(case: str) -> tuple[Any, Any, dict[str, Any]]:
    model, y, arguments = CASES[case]
    return clone(model).fit(X, y, **arguments), y, arguments


@ALL
def test_permutation_is_the_fall_of_the_score_of_shuffled_tables(case: str) -> None:
    model, y, arguments = fitted(case)
    found = model.importances(X, y, n_repeats=2, random_state=5, n_jobs=2, **arguments)
    before = model.score(X, y, **arguments)
    falls = np.zeros((2, X.shape[1]))
    for place, name in enumerate(X):
        for repeat in range(2):
            order = np.random.default_rng([5, repeat, place]).permutation(N)
            moved = X.assign(**{name: X[name].to_numpy()[order]})
            falls[repeat, place] = before - model.score(moved, y, **arguments)
    assert_allclose(found.kinds["permutation"], falls.mean(axis=0), rtol=1e-9, atol=1e-10)
    assert_allclose(found.kinds["permutation_error"], falls.std(axis=0, ddof=1) / np.sqrt(2), rtol=1e-8, atol=1e-10)
    assert found.rows == "given"
    alone = model.importances(X, y, n_repeats=2, random_state=5, n_jobs=1, **arguments)
    assert all(np.array_equal(alone.kinds[kind], values) for kind, values in found.kinds.items())


@pytest.mark.parametrize(
    "case", ["boosted", "statistics", "linear leaves", "classes", "votes", "oblique", "uplift forest"]
)
def test_all_shuffles_at_once_are_each_in_turn(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, y, arguments = fitted(case)
    asked = X.assign(colour=X["colour"].where(X["a"] > -1.0, "never seen"))
    found = []
    for most in (0, 10**9):
        monkeypatch.setattr(permutation, "MOST_COMPILED_NODES", most)
        found.append(model.importances(asked, y, shap=False, **arguments).kinds["permutation"])
    assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-12)
    monkeypatch.setattr(permutation, "MOST_COMPILED_NODES", 0)
    alone = model.importances(asked, y, shap=False, n_jobs=1, **arguments).kinds["permutation"]
    assert_array_equal(found[0], alone)


@ALL
def test_gains_sum_to_one(case: str) -> None:
    model, *_ = fitted(case)
    importances = model.feature_importances_
    assert importances.shape == (X.shape[1],)
    assert (importances >= 0).all()
    assert importances.sum() == pytest.approx(1.0)


def walked(model: Any) -> dict[str, Any]:
    """Count uses of columns by walking every tree from its root."""
    forest, n = model.forest_, model.schema_.n_features
    made_from = model.encoding_.sources if model.encoding_ else [(column,) for column in range(n)]
    found = {kind: np.zeros(n) for kind in ("gain", "nodes", "rows", "root")}
    depths = []
    for tree in range(forest.n_trees):
        start, least, deepest = int(forest.tree_start[tree]), {}, 0
        stack = [(start, 0)]
        while stack:
            node, depth = stack.pop()
            deepest = max(deepest, depth)
            if forest.kind[node] == 0:
                terms = slice(*forest.slope_start[node : node + 2]) if forest.has_slopes else slice(0, 0)
                reads = [(column, 1.0) for column in forest.slope_feature[terms]]
            elif forest.kind[node] == 3:
                terms = slice(*forest.projection_start[node : node + 2])
                columns = forest.projection_feature[terms]
                reads = [(column, 1 / len(columns)) for column in columns]
            else:
                reads = [(forest.feature[node], 1.0)]
            if forest.kind[node] != 0:
                stack += [(start + forest.left[node], depth + 1), (start + forest.right[node], depth + 1)]
            for read, share in reads:
                for column in made_from[read]:
                    part = share / len(made_from[read])
                    found["gain"][column] += part * forest.gain[node]
                    found["nodes"][column] += part
                    found["rows"][column] += part * forest.n_rows[node]
                    found["root"][column] += part * (depth == 0)
                    least[column] = min(depth, least.get(column, depth))
        depths.append([least.get(column, deepest) for column in range(n)])
    return {**found, "depth": np.mean(depths, axis=0), "inverse_depth": 1 / (1 + np.mean(depths, axis=0))}


@pytest.mark.parametrize("case", ["boosted", "statistics", "linear leaves", "forest", "oblique", "ranker"])
def test_structure_is_that_of_a_walk(case: str) -> None:
    model, *_ = fitted(case)
    found, slow = model.importances(), walked(model)
    assert list(found.kinds) == list(slow)
    for kind, values in slow.items():
        assert_allclose(found.kinds[kind], values, rtol=1e-10, err_msg=kind)


def test_uses_of_multiway_trees() -> None:
    model, *_ = fitted("multiway")
    kinds = model.importances().kinds
    assert kinds["nodes"].sum() == (model.tree_.kind > 0).sum()
    assert kinds["root"].sum() == 1
    assert kinds["depth"].min() == 0
    assert len(Uses.of(model).tree_depth) == 1


def test_isolation_forests_count_cuts_that_part_few_from_many() -> None:
    numbers = RNG.normal(size=(500, 3))
    numbers[:5, 1] = 50.0
    model = arb.IsolationForest(n_estimators=50).fit(numbers)
    assert model.feature_importances_.argmax() == 1
    assert "permutation" not in model.importances(numbers).kinds
    with pytest.raises(ValueError, match="IsolationForest has no score of its own: give scoring=, or leave y out"):
        model.importances(numbers, np.zeros(500))


def test_out_of_bag_rows_of_a_forest_that_keeps_them() -> None:
    model = arb.RandomForestClassifier(n_estimators=20, keep_bags=True).fit(X, LABELS)
    found = model.importances(X, LABELS, n_repeats=3)
    assert found.rows == "out of bag"
    assert_allclose(found.kinds["permutation"], model.oob_permutation_importance(X, LABELS, n_repeats=3), atol=1e-12)
    assert model.importances(X[:100], LABELS[:100]).rows == "given"
    fewer = model.importances(X, LABELS, max_rows=50)
    assert fewer.rows == "out of bag"


def test_groups_are_shuffled_together_and_counted_as_one() -> None:
    model, y, _ = fitted("boosted")
    plain, found = model.importances(), model.importances(X, y, groups={"bc": ["b", "c"]}, n_repeats=1)
    assert found.feature_names == ["a", "bc", "d", "colour", "street"]
    assert found.kinds["gain"][1] == pytest.approx(plain.kinds["gain"][[1, 2]].sum())
    assert found.kinds["depth"][1] <= plain.kinds["depth"][[1, 2]].min()
    order = np.random.default_rng([0, 0, 1]).permutation(N)
    moved = X.assign(b=X["b"].to_numpy()[order], c=X["c"].to_numpy()[order])
    assert found.kinds["permutation"][1] == pytest.approx(model.score(X, y) - model.score(moved, y), rel=1e-9)
    assert np.isnan(found.kinds["permutation_error"]).all()
    assert model.importances(groups=[[1, 2]]).feature_names[1] == "b + c"


def test_shap_is_the_mean_size_of_values_summed_over_groups_first() -> None:
    model, *_ = fitted("classes")
    found = model.importances(X, groups={"bc": ["b", "c"]})
    values = model.explain(X).values
    assert_allclose(found.kinds["shap"][0], np.abs(values[:, 0]).mean(axis=0).sum(), rtol=1e-12)
    assert_allclose(found.kinds["shap"][1], np.abs(values[:, 1] + values[:, 2]).mean(axis=0).sum(), rtol=1e-12)
    multiway, labels, _ = fitted("multiway")
    assert "shap" not in multiway.importances(X, labels, n_repeats=1).kinds


@pytest.mark.parametrize("scoring", ["neg_log_loss", lambda model, X, y: get_scorer("roc_auc_ovr")(model, X, y)])
def test_any_scorer(scoring: Any) -> None:
    model, y, _ = fitted("classes")
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    found = model.importances(X, y, scoring=scoring, n_repeats=1)
    order = np.random.default_rng([0, 0, 0]).permutation(N)
    moved = X.assign(a=X["a"].to_numpy()[order])
    assert found.kinds["permutation"][0] == pytest.approx(scorer(model, X, y) - scorer(model, moved, y), rel=1e-9)


def test_rows_are_drawn_and_weights_go_with_them() -> None:
    model, y, _ = fitted("boosted")
    rows = np.sort(np.random.default_rng(3).permutation(N)[:50])
    weight = RNG.random(N)
    drawn = model.importances(X, y, max_rows=50, random_state=3, sample_weight=weight)
    same = model.importances(X.iloc[rows], y[rows], random_state=3, sample_weight=weight[rows])
    assert_array_equal(drawn.kinds["permutation"], same.kinds["permutation"])
    ranker, grades, _ = fitted("ranker")
    assert np.isfinite(ranker.importances(X, grades, group=QUERY, max_rows=40).kinds["permutation"]).all()


def test_an_identifier_is_suspect_and_few_values_are_not() -> None:
    draw = np.random.default_rng(0)
    flags = draw.integers(0, 3, size=(4000, 4)).astype(float)
    numbers = np.column_stack([flags, draw.permutation(4000)])
    y = flags[:, 0] + 0.5 * draw.normal(size=4000)
    model = arb.RandomForestRegressor(n_estimators=20).fit(numbers[:500], y[:500])
    found = model.importances(numbers[500:], y[500:], shap=False)
    assert [name for name, _ in found.suspects] == ["x4"]
    assert "its splits tell training rows apart" in str(found)
    classes = arb.RandomForestClassifier(n_estimators=20).fit(numbers[:500], y[:500] > 1)
    assert classes.importances(numbers[500:], y[500:] > 1, shap=False).suspects == []  # accuracy is blind
    by_loss = classes.importances(numbers[500:], y[500:] > 1, scoring="neg_brier_score", shap=False)
    assert [name for name, _ in by_loss.suspects] == ["x4"]


def test_sage_shares_out_what_the_columns_take_off_the_loss() -> None:
    numbers = RNG.normal(size=(300, 3))
    y = 2 * numbers[:, 0] + numbers[:, 1]
    model = arb.BoostedTreesRegressor(n_estimators=60, min_samples_leaf=5).fit(numbers, y)
    table = read_table(numbers)
    found = sage_values(model, table, y, [[0], [1], [2]], seed=0, n_draws=2000)
    assert found[0] > 2 * found[1] > 10 * abs(found[2])
    loss = ((y - model.predict(numbers).mean()) ** 2).mean() - ((y - model.predict(numbers)) ** 2).mean()
    assert found.sum() == pytest.approx(loss, rel=0.15)  # v(all columns), up to the draws
    joint = sage_values(model, table, y, [[0, 1], [2]], seed=0, n_draws=2000)
    assert joint[0] == pytest.approx(found[:2].sum(), rel=0.1)
    classes = arb.BoostedTreesClassifier(n_estimators=10).fit(numbers, y > 0)
    assert classes.importances(numbers, y > 0, sage=True).kinds["sage"].argmax() == 0


def test_tables_to_read() -> None:
    model, y, _ = fitted("boosted")
    found = model.importances(X, y)
    assert set(found.to_dict()) == set(X)
    assert found.to_dict()["a"]["gain"] == found.kinds["gain"][0]
    lines = str(found).splitlines()
    assert lines[0].split()[:3] == ["gain", "nodes", "rows"]
    assert lines[1].startswith(found.feature_names[found.order[0]])
    assert found._repr_html_().count("<tr>") == 1 + X.shape[1]
    odd = arb.RandomForestRegressor(n_estimators=2).fit(X.rename(columns={"a": "<b>"}), y)
    assert "&lt;b&gt;" in odd.importances()._repr_html_()
    wide = arb.RandomForestRegressor(n_estimators=2).fit(RNG.random((50, 30)), RNG.random(50))
    assert "… and 10 more" in str(wide.importances())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": Y}, "need rows: give X"),
        ({"X": X, "sage": True}, "needs the targets of the rows: give y"),
        (
            {"X": X, "y": Y, "scoring": "neg_log_los"},
            "scoring='neg_log_los' is not a scorer: did you mean 'neg_log_loss'",
        ),
        ({"X": X, "y": Y, "scoring": 3}, "use a scorer's name"),
        ({"X": X, "y": Y, "n_repeats": 0}, "n_repeats"),
        ({"X": X, "y": Y, "sample_weight": 3}, "sample_weight=3, but X has .* rows: give one value per row"),
        ({"X": X, "y": Y, "max_rows": 0}, "max_rows"),
        ({"groups": {"one": ["a"], "two": ["a"]}}, "column 'a' is in two groups"),
        ({"groups": {"none": []}}, "group 'none' has no columns"),
        ({"groups": "a"}, "give a mapping of names to columns"),
        ({"groups": {"one": ["colou"]}}, "no column is called 'colou': did you mean 'colour'"),
    ],
)
def test_errors(arguments: dict[str, Any], message: str) -> None:
    model, *_ = fitted("boosted")
    with pytest.raises(ValueError, match=message):
        model.importances(**arguments)
    ranker, *_ = fitted("ranker")
    with pytest.raises(ValueError, match="sage=True needs a classifier or a regressor"):
        ranker.importances(X, LABELS, group=QUERY, sage=True)
    for several, y in ((arb.RandomForestRegressor, Y), (arb.RandomForestClassifier, LABELS)):
        model, pairs = several(n_estimators=2), np.column_stack([y, y])
        with pytest.raises(
            ValueError, match="sage=True needs a classifier or a regressor of one output, not RandomFor"
        ):
            model.fit(X, pairs).importances(X, pairs, sage=True)


def test_not_fitted() -> None:
    with pytest.raises(Exception, match="not fitted"):
        arb.BoostedTreesRegressor().importances()
    assert not hasattr(arb.BoostedTreesRegressor(), "feature_importances_")
