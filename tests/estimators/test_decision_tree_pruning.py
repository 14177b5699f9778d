"""Pruning of single trees by its laws, and what cannot be asked of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from tests.reference.decision_trees import (
    AMOUNT,
    LABELS,
    PLAY,
    SCORE,
    TABLE,
    WEATHER,
    WEIGHT,
    YES,
    X,
    classifier,
    mixed_table,
    regressor,
)

import arboretum as arb
from arboretum.ensembles.bagging.trees import BaggedTarget
from arboretum.trees.cart import training_errors, validation_losses

# ------------------------------------------------------------------------------------------------------ pruning


def slow_losses(forest, leaves, target):
    """Go through all nodes and rows: what would the node, as a leaf, cost on the rows that pass it."""
    parent = {child: node for node in range(forest.n_nodes) for child in (forest.left[node], forest.right[node])}
    cost = [0.0] * forest.n_nodes
    for row, node in enumerate(leaves):
        while node >= 0:
            value = forest.value[node]
            if target.classes is not None:
                shares = [1 - value[0], value[0]] if len(value) == 1 else value
                loss = float(np.argmax(shares) != target.classes[row, 0])
            elif target.criterion == "absolute_error":
                loss = abs(target.numbers[row, 0] - value[0])
            elif target.criterion == "poisson":
                y = target.numbers[row, 0]
                loss = value[0] - y + (y * np.log(y / value[0]) if y else 0.0)
            else:
                loss = (target.numbers[row, 0] - value[0]) ** 2
            cost[node] += loss * (1.0 if target.weight is None else target.weight[row])
            node = parent.get(node, -1)
    return np.array(cost)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from(["gini", "squared_error", "absolute_error", "poisson"]), st.booleans()
)
def test_validation_losses_are_those_of_a_slow_twin(seed, criterion, weighted):
    rng = np.random.default_rng(seed)
    rows, others = rng.normal(size=(60, 2)), rng.normal(size=(40, 2))
    weight = rng.random(40) if weighted else None
    if criterion == "gini":
        model = classifier(max_depth=4).fit(rows, np.append([0, 1], rng.integers(0, 3, 58)))
        codes = rng.integers(0, len(model.classes_), (40, 1)).astype(np.int32)
        target = BaggedTarget(criterion, weight, classes=codes, n_classes=(len(model.classes_),))
    else:
        model = regressor(criterion=criterion, max_depth=4).fit(rows, rng.random(60) + 0.01)
        target = BaggedTarget(criterion, weight, numbers=rng.poisson(1.0, (40, 1)).astype(float))
    found = validation_losses(model.forest_, model.apply(others), target)
    expected = slow_losses(model.forest_, model.apply(others), target)
    np.testing.assert_allclose(found * (expected[0] / found[0]), expected, rtol=1e-9, atol=1e-12)


def test_training_errors_are_those_of_the_majority():
    for labels in LABELS.values():
        model = classifier(max_depth=3).fit(X, labels)
        passed = model.decision_path(X).toarray().astype(bool)
        classes = np.unique(labels, return_inverse=True)[1]
        wrong = [passed[:, node].sum() - np.bincount(classes[passed[:, node]]).max() for node in range(passed.shape[1])]
        np.testing.assert_allclose(training_errors(model.forest_, model.forest_.n_rows * 1.0), wrong, atol=1e-9)


def validation_error(model, table, y, weight=None):
    if hasattr(model, "classes_"):
        return float(np.average(model.predict(table) != y, weights=weight))
    guess = model.predict(table)
    if model.criterion == "absolute_error":
        return float(np.average(np.abs(y - guess), weights=weight))
    if model.criterion == "poisson":
        rate = np.maximum(guess, 1e-300)
        return float(np.average(rate - y * np.log(rate), weights=weight))
    return float(np.average((y - guess) ** 2, weights=weight))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "model",
    [
        classifier(),
        classifier(max_bins=16),
        classifier(method="c45"),
        classifier(method="id3"),
        regressor(),
        regressor(criterion="absolute_error"),
        regressor(criterion="poisson", min_samples_leaf=3),
    ],
    ids=repr,
)
def test_reduced_error_is_never_worse_on_the_validation_rows(model, seed):
    table, y = mixed_table(seed)
    others, y_val = mixed_table(seed + 100)
    if model.get_params().get("method") == "id3":
        table, others = table[["town"]].assign(half=table["size"] > 0), others[["town"]].assign(half=others["size"] > 0)
        table, others = table.astype(str), others.astype(str)
    if not hasattr(model, "class_weight"):
        y, y_val = (
            np.where(labels == "yes", 5.0, 1.0) + table_["noise"].abs()
            for labels, table_ in ((y, table), (y_val, others))
        )
    weight = np.random.default_rng(seed).random(400)
    whole = clone(model).set_params(pruning=None).fit(table, y)
    pruned = clone(model).set_params(pruning="reduced_error").fit(table, y, None, others, y_val, weight)
    before, after = (validation_error(m, others, y_val, weight) for m in (whole, pruned))
    assert after <= before + 1e-12
    assert pruned.get_n_leaves() < whole.get_n_leaves() or model.get_params().get("method") == "id3"


def test_rows_that_are_held_out_are_not_grown_on():
    model = classifier(pruning="reduced_error").fit(TABLE, YES)
    assert model.forest_.n_rows[0] == 400 - int((YES == "yes").sum() * 0.2) - int((YES == "no").sum() * 0.2)
    half = classifier(pruning="reduced_error", validation_fraction=0.5).fit(TABLE, YES)
    assert 198 <= half.forest_.n_rows[0] <= 202
    seeds = {classifier(pruning="reduced_error", random_state=s).fit(TABLE, YES).fingerprint() for s in (0, 1, 0)}
    assert len(seeds) == 2


def test_categories_of_held_out_rows_alone_are_unknown():
    towns = pd.DataFrame({"town": [f"town {j}" for j in range(50)] + ["Oslo", "Rome"] * 75})
    y = (towns["town"] == "Oslo").astype(int)
    for method in ("cart", "id3", "c45"):
        model = classifier(method=method, pruning="reduced_error", validation_fraction=0.4).fit(towns, y)
        known = model.schema_.columns[0].categories
        assert {"Oslo", "Rome"} < set(known)
        assert len(known) < 52
        assert model.score(towns, y) == 1.0


def test_weights_of_classes_count_in_validation():
    heavy = {"yes": 1000.0, "no": 1.0}
    model = classifier(pruning="reduced_error", class_weight=heavy, max_depth=3)
    model.fit(TABLE, YES, X_val=TABLE, y_val=YES)
    assert (model.predict(TABLE)[YES == "yes"] == "yes").mean() > 0.97


def test_pessimistic_pruning_cuts_more_with_less_confidence():
    sizes = [
        classifier(method=method, pruning="pessimistic", confidence=confidence).fit(TABLE, YES).get_n_leaves()
        for method in ("cart", "c45")
        for confidence in (0.9, 0.25, 0.001)
    ]
    assert sizes[0] > sizes[1] > sizes[2]
    assert sizes[3] >= sizes[4] > sizes[5]


def test_pessimistic_pruning_of_a_node_of_the_book():
    """Leaves of 6, 9 and 1 rows under a node that would get one of 16 wrong: Quinlan 1993, ch. 4."""
    table = pd.DataFrame({"education": ["a"] * 6 + ["b"] * 9 + ["c"]})
    y = ["democrat"] * 15 + ["republican"]
    assert classifier(method="id3").fit(table, y).get_n_leaves() == 3
    assert classifier(method="id3", pruning="pessimistic").fit(table, y).to_text() == "democrat (16/1)"


def test_cost_complexity_of_many_branches_is_that_of_entropy():
    model = classifier(method="id3")
    path = model.cost_complexity_pruning_path(WEATHER, PLAY)
    assert not hasattr(model, "tree_")
    np.testing.assert_allclose(path.impurities[[0, -1]], [0.0, arb.entropy([5, 9])], atol=1e-12)
    ccp_alphas, _ = path
    assert classifier(method="id3", ccp_alpha=ccp_alphas[-1]).fit(WEATHER, PLAY).get_n_leaves() == 1
    assert classifier(method="id3", ccp_alpha=ccp_alphas[1] / 2).fit(WEATHER, PLAY).get_n_leaves() == 5


def test_grid_search_over_the_path():
    path = classifier().cost_complexity_pruning_path(X, SCORE > 0)
    search = GridSearchCV(classifier(), {"ccp_alpha": path.ccp_alphas[::40]}, cv=3).fit(X, SCORE > 0)
    assert search.best_estimator_.get_n_leaves() < classifier().fit(X, SCORE > 0).get_n_leaves()


# ---------------------------------------------------------------------------------------------------------- errors


ERRORS = {
    "method": (classifier(method="c4.5"), r"method='c4.5' \(did you mean 'c45'\?\): use one of 'cart', 'id3', 'c45'"),
    "criterion of id3": (
        classifier(method="id3", criterion="entropy"),
        "criterion='entropy' has no effect with method='id3': use method='cart', or leave criterion='gini'",
    ),
    "bins of c45": (classifier(method="c45", max_bins=9), "max_bins=9 has no effect with method='c45'.*'cart'.*=None"),
    "leaves of id3": (classifier(method="id3", max_leaf_nodes=9), "max_leaf_nodes=9 has no effect with method='id3'"),
    "split of c45": (
        classifier(method="c45", min_samples_split=9),
        "min_samples_split=9 has no effect with method='c45': use method='cart' or method='id3', or leave .*=2",
    ),
    "leaf of id3": (
        classifier(method="id3", min_samples_leaf=1),
        "min_samples_leaf=1 has no effect with method='id3': use method='cart' or method='c45', or leave .*=None",
    ),
    "weight of id3": (classifier(method="id3", min_weight_fraction_leaf=0.1), "min_weight_fraction_leaf=0.1 has no"),
    "decrease of c45": (classifier(method="c45", min_impurity_decrease=0.1), "min_impurity_decrease=0.1 has no"),
    "columns of c45": (classifier(method="c45", max_features="sqrt"), "max_features='sqrt' has no effect"),
    "directions of c45": (classifier(method="c45", monotonic_cst=[1, 0, 0, 0, 0]), "monotonic_cst=.* has no effect"),
    "oblique c45": (classifier(method="c45", oblique=True), "oblique=True has no effect with method='c45'"),
    "pruning": (classifier(pruning="pesimistic"), r"pruning='pesimistic' \(did you mean 'pessimistic'\?\)"),
    "pruning of numbers": (regressor(pruning="pessimistic"), "pruning='pessimistic': use one of 'auto'"),
    "alpha of c45": (
        classifier(method="c45", ccp_alpha=0.1),
        "ccp_alpha=0.1 has no effect with pruning='auto': use pruning='cost_complexity', or leave ccp_alpha=0.0",
    ),
    "alpha without pruning": (regressor(pruning=None, ccp_alpha=0.1), "ccp_alpha=0.1 has no effect with pruning=None"),
    "confidence of cart": (classifier(confidence=0.1), "confidence=0.1 has no effect .* use pruning='pessimistic'"),
    "fraction": (
        regressor(validation_fraction=0.5),
        "validation_fraction=0.5 has no effect with pruning='auto': use pruning='reduced_error'",
    ),
    "negative alpha": (classifier(ccp_alpha=-1.0), "ccp_alpha=-1.0: use a number at least 0"),
    "confidence of 1": (
        classifier(pruning="pessimistic", confidence=1.0),
        "confidence must be between 0 and 1, not 1.0",
    ),
    "confidence of 2": (classifier(method="c45", confidence=2.0), "confidence=2.0: use a number above 0 and at most 1"),
    "whole fraction": (
        regressor(pruning="reduced_error", validation_fraction=1.0),
        "validation_fraction=1.0: use a number above 0 and at most 0.9",
    ),
    "no row to prune by": (
        regressor(pruning="reduced_error", validation_fraction=0.001),
        "validation_fraction=0.001 of 400 rows leaves no row to grow on or to prune by: give X_val",
    ),
    "leaf of None": (regressor(min_samples_leaf=None), "min_samples_leaf=None: use an integer at least 1"),
    "depth": (classifier(method="id3", max_depth=0), "max_depth=0: use an integer at least 1"),
    "bins": (classifier(max_bins=1), "max_bins=1: use an integer at least 2"),
    "numbers of id3": (
        classifier(method="id3"),
        "splits categories only, but column 'size' is numeric; use method=\"c45\"",
    ),
}


@pytest.mark.parametrize(("model", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_parameters_that_mean_nothing_are_refused(model, message):
    y = YES if hasattr(model, "class_weight") else AMOUNT
    with pytest.raises(ValueError, match=message):
        model.fit(TABLE, y)
    assert not hasattr(model, "schema_")


def test_defaults_of_other_types_are_defaults():
    model = classifier(method="c45", min_impurity_decrease=0, ccp_alpha=np.float64(0), random_state=np.int64(0))
    assert model.fit(TABLE, YES).fingerprint() == classifier(method="c45").fit(TABLE, YES).fingerprint()


FIT_ERRORS = {
    "X_val without pruning": ({}, {"X_val": TABLE, "y_val": YES}, "X_val is given, but pruning='auto' does not use it"),
    "X_val of another pruning": (
        {"pruning": "pessimistic"},
        {"X_val": TABLE, "y_val": YES},
        "X_val is given, but pruning='pessimistic' does not use it: set pruning='reduced_error' or leave X_val out",
    ),
    "y_val alone": ({}, {"y_val": YES}, "y_val or sample_weight_val is given without X_val"),
    "weights alone": ({}, {"sample_weight_val": WEIGHT}, "y_val or sample_weight_val is given without X_val"),
    "no y_val": ({"pruning": "reduced_error"}, {"X_val": TABLE}, "X_val is given without y_val: give both"),
    "other columns": (
        {"pruning": "reduced_error"},
        {"X_val": TABLE.drop(columns="day"), "y_val": YES},
        "the columns of X are not those of the fit",
    ),
    "another length": (
        {"pruning": "reduced_error"},
        {"X_val": TABLE, "y_val": YES[:9]},
        "y_val has 9 values, but X_val",
    ),
    "unknown label": (
        {"pruning": "reduced_error"},
        {"X_val": TABLE, "y_val": np.where(YES == "yes", "yes", "maybe")},
        "y_val has the label 'maybe' in row",
    ),
    "two outputs": (
        {"pruning": "reduced_error"},
        {"X_val": TABLE, "y_val": np.column_stack([YES, YES])},
        "y_val has 2 outputs, but the training rows have 1: give the same",
    ),
    "missing is an error": (
        {"pruning": "reduced_error", "missing": "error"},
        {"X_val": TABLE.assign(noise=np.nan), "y_val": YES},
        "missing values in columns that had none at fit: 'noise'",
    ),
}


@pytest.mark.parametrize(("params", "held", "message"), FIT_ERRORS.values(), ids=FIT_ERRORS.keys())
def test_validation_rows_that_cannot_be_used_are_refused(params, held, message):
    model = classifier().fit(TABLE, YES)
    before = model.fingerprint()
    with pytest.raises(ValueError, match=message):
        model.set_params(**params).fit(TABLE, YES, **held)
    assert model.fingerprint() == before


def test_several_outputs_need_cart():
    labels = np.column_stack([YES, YES])
    with pytest.raises(ValueError, match="method='c45' needs one output, but y has 2: use method='cart'"):
        classifier(method="c45").fit(TABLE, labels)
    with pytest.raises(ValueError, match="pruning='pessimistic' needs one output, but y has 2: use pruning='reduced"):
        classifier(pruning="pessimistic").fit(TABLE, labels)
    with pytest.raises(ValueError, match="y_val has 1 outputs, but the training rows have 2: give the same"):
        regressor(pruning="reduced_error").fit(TABLE, np.column_stack([AMOUNT] * 2), X_val=TABLE, y_val=AMOUNT)
    pruned = classifier(pruning="reduced_error").fit(TABLE, labels)
    assert pruned.get_n_leaves() < classifier().fit(TABLE, labels).get_n_leaves()
    assert not classifier(method="c45").__sklearn_tags__().target_tags.multi_output
    assert classifier().__sklearn_tags__().target_tags.multi_output


@pytest.mark.parametrize("method", ["cart", "c45"])
@pytest.mark.parametrize("call", ["predict", "predict_proba", "apply", "decision_path"])
def test_nothing_works_before_fit(method, call):
    with pytest.raises(NotFittedError, match="This DecisionTreeClassifier instance is not fitted yet"):
        getattr(classifier(method=method), call)(X)


@pytest.mark.parametrize("call", ["to_text", "plot_tree", "get_depth", "get_n_leaves", "fingerprint"])
def test_nothing_can_be_read_before_fit(call):
    for model in (classifier(method="id3"), regressor()):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(model, call)()


def test_huge_numbers_do_not_overflow():
    rows = np.arange(100.0)[:, None] % 2
    y = np.where(rows[:, 0] == 0, 1e99, -1e99)
    model = regressor(pruning="reduced_error").fit(rows, y, X_val=rows, y_val=y)
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), [1e99, -1e99])
    model.fit(rows, y, X_val=rows, y_val=1e101 * y)  # so far off that no leaf is better than another
    assert model.get_n_leaves() == 1
