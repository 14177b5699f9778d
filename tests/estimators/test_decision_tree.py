"""Single trees: CART node by node as scikit-learn's, ID3 and C4.5 by the book, the same for any threads."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import tree as sklearn_tree
from sklearn.base import clone
from tests.reference.decision_trees import (
    ID3_TEXT,
    LABELS,
    PLAY,
    SCORE,
    TABLE,
    WEATHER,
    WEIGHT,
    YES,
    X,
    classifier,
    regressor,
)
from tests.reference.sklearn_checks import checks_of

import arboretum as arb
from arboretum.data.table import read_table
from arboretum.trees import grow_c45

# --------------------------------------------------------------------------------- CART, as scikit-learn grows it


def pairs_of_nodes(forest, theirs):
    """Walk both trees at once; conditions must agree to the bit."""
    stack = [(0, 0)]
    while stack:
        a, b = stack.pop()
        yield a, b
        assert (forest.kind[a] == 0) == (theirs.children_left[b] < 0)
        if forest.kind[a]:
            assert (forest.feature[a], forest.threshold[a]) == (theirs.feature[b], theirs.threshold[b])
            stack += [(forest.left[a], theirs.children_left[b]), (forest.right[a], theirs.children_right[b])]


def assert_same_tree(model, theirs):
    found = list(pairs_of_nodes(model.forest_, theirs.tree_))
    assert len(found) == model.forest_.n_nodes == theirs.tree_.node_count
    for a, b in found:
        assert model.forest_.n_rows[a] == theirs.tree_.n_node_samples[b]
    assert (model.get_depth(), model.get_n_leaves()) == (theirs.get_depth(), theirs.get_n_leaves())
    np.testing.assert_allclose(model.feature_importances_, theirs.feature_importances_, atol=1e-12)
    if hasattr(theirs, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
    else:
        np.testing.assert_allclose(model.predict(X), theirs.predict(X), rtol=1e-9, atol=1e-12)


# Gains tie in small nodes (equal counts of classes), and the absolute error of rows without weights ties anywhere; such
# a tie may go either way. scikit-learn splits pure nodes of weighted rows if rounding leaves an impurity of 1e-16.
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
@pytest.mark.parametrize(
    ("limits", "weight"),
    [
        ({"max_leaf_nodes": 40}, None),
        ({"min_samples_leaf": 20}, WEIGHT),
        ({"max_depth": 6, "min_samples_leaf": 10}, WEIGHT),
    ],
    ids=["leaves", "weights", "depth"],
)
def test_classifier_is_scikit_learns_node_by_node(labels, criterion, limits, weight):
    theirs = sklearn_tree.DecisionTreeClassifier(criterion=criterion, random_state=1, **limits)
    model = classifier(criterion=criterion, **limits)
    assert_same_tree(model.fit(X, labels, weight), theirs.fit(X, labels, weight))
    path, other = (
        model.cost_complexity_pruning_path(X, labels, weight),
        theirs.cost_complexity_pruning_path(X, labels, weight),
    )
    unit = 1.0 if criterion == "gini" else np.log(2)  # their entropies are in bits
    np.testing.assert_allclose(path.ccp_alphas, unit * other.ccp_alphas, atol=1e-12)
    np.testing.assert_allclose(path.impurities, unit * other.impurities, atol=1e-12)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["rows", "weights"])
def test_regressor_is_scikit_learns_node_by_node(criterion, weight):
    if criterion == "absolute_error" and weight is None:
        weight = np.random.default_rng(5).random(3000) + 0.5
    y = np.exp(SCORE) if criterion == "poisson" else SCORE
    theirs = sklearn_tree.DecisionTreeRegressor(criterion=criterion, min_samples_leaf=20, random_state=1)
    model = regressor(criterion=criterion, min_samples_leaf=20)
    assert_same_tree(model.fit(X, y, weight), theirs.fit(X, y, weight))
    path, other = model.cost_complexity_pruning_path(X, y, weight), theirs.cost_complexity_pruning_path(X, y, weight)
    np.testing.assert_allclose(path.ccp_alphas, other.ccp_alphas, atol=1e-12)
    np.testing.assert_allclose(path.impurities, other.impurities, atol=1e-12)
    for alpha in (path.ccp_alphas[[10, 40, -2]] + path.ccp_alphas[[11, 41, -1]]) / 2:
        assert_same_tree(
            clone(model).set_params(ccp_alpha=alpha).fit(X, y, weight),
            theirs.set_params(ccp_alpha=alpha).fit(X, y, weight),
        )


def test_several_outputs_are_scikit_learns():
    y = np.column_stack([SCORE, X[:, 3] + 0.3 * SCORE])
    theirs = sklearn_tree.DecisionTreeRegressor(min_samples_leaf=20, random_state=1).fit(X, y)
    assert_same_tree(regressor(min_samples_leaf=20).fit(X, y), theirs)
    labels = np.column_stack([LABELS["four classes"], SCORE > 0])
    theirs = sklearn_tree.DecisionTreeClassifier(max_leaf_nodes=30, random_state=1).fit(X, labels, WEIGHT)
    model = classifier(max_leaf_nodes=30).fit(X, labels, WEIGHT)
    assert len(list(pairs_of_nodes(model.forest_, theirs.tree_))) == 59
    np.testing.assert_array_equal(model.predict(X), theirs.predict(X))
    assert [len(classes) for classes in model.classes_] == [4, 2]


@pytest.mark.parametrize("alpha", [0.0005, 0.002, 0.01, 0.05, 0.2])
def test_cost_complexity_prunes_as_scikit_learn_does(alpha):
    labels = LABELS["four classes"]
    theirs = sklearn_tree.DecisionTreeClassifier(ccp_alpha=alpha, min_samples_leaf=20, random_state=1)
    for pruning in ("auto", "cost_complexity"):
        model = classifier(ccp_alpha=alpha, pruning=pruning, min_samples_leaf=20)
        assert_same_tree(model.fit(X, labels, WEIGHT), theirs.fit(X, labels, WEIGHT))


def test_alpha_of_zero_prunes_nothing():
    model = classifier(pruning="cost_complexity").fit(X, SCORE > 0)
    assert model.fingerprint() == classifier(pruning=None).fit(X, SCORE > 0).fingerprint()
    assert model.score(X, SCORE > 0) == 1.0


def test_histograms_are_close_to_exact_trees():
    exact, binned = (classifier(max_bins=bins, min_samples_leaf=20).fit(X, SCORE > 0) for bins in (None, 64))
    assert exact.fingerprint() != binned.fingerprint()
    assert abs(exact.score(X, SCORE > 0) - binned.score(X, SCORE > 0)) < 0.02
    many = classifier(max_bins=65_535, min_samples_leaf=20).fit(X[:500], SCORE[:500] > 0)
    np.testing.assert_array_equal(
        many.predict(X[:500]), classifier(min_samples_leaf=20).fit(X[:500], SCORE[:500] > 0).predict(X[:500])
    )


def test_missing_numbers_take_the_better_side():
    column = X[:, :1].astype(float)
    column[::3] = np.nan
    model = classifier(max_depth=1).fit(column, np.isnan(column[:, 0]))
    assert model.score(column, np.isnan(column[:, 0])) == 1.0
    assert "x0 is missing" in model.to_text()


def test_categories_are_split_as_sets():
    model = classifier(max_depth=1).fit(TABLE[["town"]], TABLE["town"].isin(["Rome", "Bern"]))
    assert re.search(r"town in {(Bern, Rome|Rome, Bern)} → True 1 ", model.to_text())
    assert model.get_n_leaves() == 2


def test_monotone_constraints_outlive_pruning():
    y = SCORE + X[:, 3]
    for params in ({"ccp_alpha": 0.005}, {"pruning": "reduced_error"}, {}):
        model = regressor(monotonic_cst=[0, 0, 0, 1, 0, 0], **params).fit(X, y)
        rows = np.repeat(X[:50], 40, axis=0)
        rows[:, 3] = np.tile(np.linspace(-3, 3, 40), 50)
        assert (np.diff(model.predict(rows).reshape(50, 40), axis=1) >= 0).all()
        assert model.get_n_leaves() > 3


def test_oblique_conditions_are_pruned_and_kept():
    y = X[:, 0] + X[:, 1] > 0.3
    model = classifier(oblique=True, max_depth=6, pruning="reduced_error").fit(X, y)
    assert (model.forest_.kind == 3).any()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.fingerprint() == model.fingerprint()
    assert model.score(X, y) > 0.9


# ------------------------------------------------------------------------------------------------- ID3 and C4.5


def test_id3_of_the_weather_table():
    model = classifier(method="id3").fit(WEATHER, PLAY)
    assert model.to_text() == ID3_TEXT
    assert model.score(WEATHER, PLAY) == 1.0
    assert (model.get_depth(), model.get_n_leaves(), model.tree_.n_nodes) == (2, 5, 8)
    np.testing.assert_allclose(model.tree_.gain[0], arb.information_gain([9, 5], [[2, 3], [4, 0], [3, 2]], base=2))
    assert model.to_text(max_depth=1).splitlines() == [
        "outlook = rain: yes (5/2; 2 nodes below)",
        "outlook = sunny: no (5/2; 2 nodes below)",
        "outlook = overcast: yes (4)",
    ]
    assert model.to_text(max_depth=0) == "yes (14/5; 7 nodes below)"
    assert model.feature_importances_[1] == 0
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_c45_is_the_algorithm_of_the_book():
    codes = (YES == "yes").astype(int)
    for params, least in (({}, 2), ({"min_samples_leaf": 5}, 5), ({"confidence": 0.05, "max_depth": 3}, 2)):
        model = classifier(method="c45", **params).fit(TABLE, YES)
        kept = {name: value for name, value in params.items() if name != "min_samples_leaf"}
        expected = grow_c45(read_table(TABLE), codes, min_samples_leaf=least, **kept)
        for name, array in expected.to_arrays().items():
            np.testing.assert_array_equal(model.tree_.to_arrays()[name], array)
    assert classifier(method="c45", pruning=None).fit(TABLE, YES).get_n_leaves() > model.get_n_leaves()


def test_shares_of_rows_and_weights_are_limits_of_c45():
    by_share = classifier(method="c45", min_samples_leaf=0.05).fit(TABLE, YES)
    assert by_share.fingerprint() == classifier(method="c45", min_samples_leaf=20).fit(TABLE, YES).fingerprint()
    by_weight = classifier(method="c45", min_weight_fraction_leaf=0.05).fit(TABLE, YES)
    assert by_weight.fingerprint() == by_share.fingerprint()


def test_dates_and_booleans_read_in_their_own_terms():
    table = pd.DataFrame({"day": TABLE["day"], "paid": X[:400, 0] > 0})
    y = (table["day"] > "2024-06-01") ^ table["paid"]
    text = classifier(method="c45", pruning=None).fit(table, y).to_text()
    assert "paid is true" in text
    assert re.search(r"day > 2024-0[56]-\d\d", text)


def test_missing_and_unknown_values_of_many_branches():
    model = classifier(method="c45").fit(TABLE, YES)
    proba = model.predict_proba(pd.concat([TABLE, TABLE.assign(town="Atlantis"), TABLE.assign(town=None)]))
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    id3 = classifier(method="id3").fit(WEATHER, PLAY)
    unseen = WEATHER.assign(outlook="fog")
    np.testing.assert_allclose(id3.predict_proba(unseen), np.tile([5 / 14, 9 / 14], (14, 1)))
    assert id3.apply(unseen).tolist() == [0] * 14
    with pytest.raises(ValueError, match="'fog'"):
        classifier(method="id3", unknown="error").fit(WEATHER, PLAY).predict(unseen)
    with pytest.warns(UserWarning, match="missing values in columns that had none at fit: 'outlook'"):
        spread = id3.predict_proba(WEATHER.assign(outlook=None))
    np.testing.assert_allclose(spread.sum(axis=1), 1)
    missing = classifier(method="id3", unknown="missing").fit(WEATHER, PLAY)
    np.testing.assert_array_equal(missing.predict_proba(unseen), spread)


@pytest.mark.parametrize("method", ["cart", "c45"])
def test_paths_end_in_leaves(method):
    model = classifier(method=method, max_depth=4).fit(TABLE, YES)
    leaves, passed = model.apply(TABLE), model.decision_path(TABLE)
    parent = model.tree_.parent if method == "c45" else None
    assert leaves.shape == (400,)
    assert passed.shape[0] == 400
    assert (passed.data == 1).all()
    assert (passed[:, 0].toarray() == 1).all()
    assert (passed[np.arange(400), leaves] == 1).all()
    if parent is not None:  # a node is passed only by rows that pass its parent
        dense = passed.toarray()
        assert (dense[:, 1:] <= dense[:, parent[1:]]).all()
        complete = TABLE.notna().all(axis=1).to_numpy()
        assert (dense[complete].sum(axis=1) == model.tree_.depths[leaves[complete]] + 1).all()
    else:
        rows_passed = np.asarray(passed.sum(axis=0)).ravel()
        np.testing.assert_array_equal(rows_passed, model.forest_.n_rows)


def test_a_refit_by_another_method_forgets_the_first():
    model = classifier().fit(TABLE, YES)
    model.set_params(method="c45").fit(TABLE, YES)
    assert not hasattr(model, "forest_")
    expected = classifier(method="c45").fit(TABLE, YES)
    assert model.fingerprint() == expected.fingerprint()
    model.set_params(method="cart").fit(TABLE, YES)
    assert not hasattr(model, "tree_")
    assert model.fingerprint() == classifier().fit(TABLE, YES).fingerprint()
    model.set_params(method="c45")  # a fitted tree stays what it is until the next fit
    assert pickle.loads(pickle.dumps(model)).fingerprint() == model.fingerprint()


# ------------------------------------------------------------------------------------------------- sameness


@pytest.mark.parametrize("criterion", ["gini", "squared_error", "absolute_error"])
def test_threads_do_not_change_a_large_tree(criterion):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(6_000 if criterion == "absolute_error" else 40_000, 5))
    rows[rng.random(rows.shape) < 0.02] = np.nan
    y = np.nan_to_num(rows[:, 0] * rows[:, 1]) + rng.normal(size=len(rows))
    model = classifier(max_depth=12) if criterion == "gini" else regressor(criterion=criterion, max_depth=12)
    y = y > 0 if criterion == "gini" else y
    assert len({clone(model).set_params(n_jobs=n).fit(rows, y).fingerprint() for n in (1, 2, 3, 8)}) == 1


@pytest.mark.parametrize("method", ["cart", "id3", "c45"])
def test_a_weight_is_a_number_of_equal_rows(method):
    table = WEATHER if method == "id3" else WEATHER.assign(size=np.arange(14.0))
    times = np.array([3, 1, 2, 0, 1, 4, 1, 1, 2, 1, 0, 1, 1, 2])
    rows = np.repeat(np.arange(14), times)
    weighted = classifier(method=method).fit(table, PLAY, sample_weight=times)
    repeated = classifier(method=method).fit(table.iloc[rows], np.array(PLAY)[rows])
    np.testing.assert_allclose(weighted.predict_proba(table), repeated.predict_proba(table), atol=1e-12)
    assert weighted.get_n_leaves() == repeated.get_n_leaves()


@pytest.mark.parametrize("method", ["cart", "c45"])
def test_sparse_tables_are_dense_ones(method):
    from scipy.sparse import csr_matrix

    rows = np.where(X[:300] > 0.5, X[:300], 0.0)
    dense = classifier(method=method).fit(rows, SCORE[:300] > 0)
    sparse = classifier(method=method).fit(csr_matrix(rows), SCORE[:300] > 0)
    assert sparse.fingerprint() == dense.fingerprint()
    np.testing.assert_array_equal(sparse.apply(csr_matrix(rows)), dense.apply(rows))
    np.testing.assert_array_equal(sparse.predict_proba(csr_matrix(rows)), dense.predict_proba(rows))
    np.testing.assert_array_equal(sparse.decision_path(csr_matrix(rows)).toarray(), dense.decision_path(rows).toarray())


@pytest.mark.parametrize("method", ["cart", "c45"])
def test_a_category_of_a_hundred_thousand_levels(method):
    n_levels = 100_000
    levels = np.random.default_rng(0).permutation(n_levels)
    table = pd.DataFrame({"level": pd.Categorical.from_codes(levels, [f"level {j}" for j in range(n_levels)])})
    table["size"] = levels.astype(float)
    y = levels % 1000 < 500
    model = classifier(method=method, max_depth=2).fit(table, y)
    assert model.predict_proba(table.head(100)).shape == (100, 2)
    assert len(model.schema_.columns[0].categories) == n_levels
    if method == "cart":
        assert model.score(table, y) > 0.9


# ------------------------------------------------------------------------------------------------- scikit-learn, docs


@pytest.mark.parametrize(
    ("estimator", "check"),
    checks_of(classifier(), regressor(), classifier(method="c45")),
    ids=lambda case: getattr(getattr(case, "func", case), "__name__", None) or repr(case),
)
def test_every_check_of_sklearn(estimator, check):
    check(estimator)


def test_public_functions_of_counts():
    assert [round(arb.entropy(counts), 7) for counts in ([10, 6], [8, 2], [2, 4])] == [0.6615632, 0.5004024, 0.6365142]
    assert round(arb.information_gain([10, 6], [[8, 2], [2, 4]]), 7) == 0.1101189
    assert arb.gini([10, 6]) == 0.46875
    assert 0 < arb.gain_ratio([10, 6], [[8, 2], [2, 4]]) < 1
    assert arb.variance_reduction([1.0, 3.0], [[1.0], [3.0]]) == 1.0


def test_the_page_shows_the_tree_of_the_weather():
    assert ID3_TEXT in (Path(__file__).parents[2] / "docs/decision-trees.md").read_text(encoding="utf-8")
