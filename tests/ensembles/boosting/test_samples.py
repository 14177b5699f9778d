"""Boosting on samples: every sampling with every growth and loss; boosted forests; pruning by gain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.files import content, loaded

import arboretum as arb
from arboretum import _kernel
from arboretum.data.binning import assign_bins, learn_bins
from arboretum.data.table import read_table
from arboretum.ensembles.boosting.rounds import BoostingParams, BoostingRun, weight_with_factors
from arboretum.ensembles.boosting.rows import Rows, filled_raw, start_raw
from arboretum.growing.grower import TreeParams
from arboretum.growing.sampling import Bayesian, Bootstrap, Goss, Mvs, Sample, Stratified, Subsample
from arboretum.losses import LOSSES, AbsoluteError, Logistic, Multinomial

GROWTHS = ["leaf", "level", "symmetric"]
SAMPLINGS = {
    "subsample": {"subsample": 0.6},
    "bootstrap": {"subsample": 0.8},
    "stratified": {"subsample": 0.5},
    "goss": {"top_rate": 0.3, "other_rate": 0.2},
    "mvs": {"subsample": 0.5},
    "bayesian": {"bagging_temperature": 0.7},
}
PAIRS = [(name, options) for name, options in SAMPLINGS.items()]


def problem(n_rows=300, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    y = X[:, 0] * 2 + np.sin(3 * X[:, 1]) + 0.3 * rng.normal(size=n_rows)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.exp(y / 3)


def boosted_rows(loss, y, X, sampler, **options):
    table = read_table(X)
    base = start_raw(loss, y, None)
    rows = Rows(assign_bins(table, learn_bins(table)), y, None, filled_raw(base, table.n_rows))
    tree = TreeParams(min_samples_leaf=5, max_leaf_nodes=8, max_depth=3, growth=options.pop("growth", "leaf"))
    params = BoostingParams(5, 0.5, tree, sampler, seed=1, threads=1, **options)
    forest, _ = BoostingRun(rows, loss, params, base=base).complete()
    return rows, forest, table


SAMPLERS = [
    Subsample(0.5),
    Bootstrap(0.7),
    Goss(0.2, 0.2),
    Mvs(0.4),
    Bayesian(),
    Stratified.of_numbers(0.4, problem()[1]),
]


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: type(sampler).__name__)
@pytest.mark.parametrize("name", ["squared_error", "absolute_error", "huber", "log_loss", "multinomial"])
def test_running_predictions_are_those_of_the_forest(name, sampler, growth):
    X, y = problem()
    if name == "log_loss":
        loss, y = Logistic(), (y > np.median(y)).astype(float)
    elif name == "multinomial":
        loss, y = Multinomial(3), np.digitize(y, np.quantile(y, [0.3, 0.7])).astype(float)
    else:
        loss = LOSSES[name]()
    rows, forest, table = boosted_rows(loss, y, X, sampler, growth=growth, trees_per_round=2)
    assert forest.n_trees == 10 * loss.n_outputs
    np.testing.assert_array_equal(forest.raw(table.columns, table.n_rows), rows.raw.T)


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize(("sampling", "options"), PAIRS)
@pytest.mark.parametrize("task", ["numbers", "median", "classes"])
def test_boosting_on_samples_does_not_depend_on_threads(sampling, options, growth, task):
    X, y = problem(3000, 5)
    make, extra = (arb.BoostedTreesClassifier, {}) if task == "classes" else (arb.BoostedTreesRegressor, {})
    if task == "median":
        extra = {"loss": "absolute_error"}
    elif task == "classes":
        y = np.digitize(y, [0.8, 1.3])
    models = [
        make(n_estimators=3, sampling=sampling, growth=growth, trees_per_round=2, n_jobs=n, **extra, **options).fit(
            X, y
        )
        for n in (1, 2, 3, 8)
    ]
    assert len({model.fingerprint() for model in models}) == 1


@pytest.mark.parametrize(("sampling", "options"), PAIRS)
def test_samplings_learn_and_differ(sampling, options):
    X, y = problem(2000)
    model = arb.BoostedTreesRegressor(n_estimators=60, sampling=sampling, **options).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > 0.8
    other = arb.BoostedTreesRegressor(n_estimators=60, sampling=sampling, random_state=1, **options)
    assert other.fit(X[:1000], y[:1000]).fingerprint() != model.fingerprint()


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(PAIRS), st.integers(1, 5), st.integers(1, 3), st.sampled_from(["squared_error", "quantile"]))
def test_stopping_and_going_on_is_the_same_as_never_stopping(pair, first, trees_per_round, loss):
    sampling, options = pair
    X, y = problem(120, 3)
    options = {"sampling": sampling, "trees_per_round": trees_per_round, "loss": loss, "max_features": 0.7, **options}
    whole = arb.BoostedTreesRegressor(n_estimators=6, **options).fit(X, y)
    parts = arb.BoostedTreesRegressor(n_estimators=first, warm_start=True, **options).fit(X, y)
    parts.set_params(n_estimators=6).fit(X, y)
    assert whole.fingerprint() == parts.fingerprint()
    assert parts.n_iter_ == 6


def test_leaves_of_renewing_losses_weigh_rows_by_their_factor():
    """A stump of the median on three rows: the copies of a row move it."""
    X, y = np.zeros((3, 1)), np.array([1.0, 2.0, 10.0])

    class Copies:
        def sample(self, gradients, hessians, *, key, threads):
            return Sample(np.array([0, 2], np.uint32), np.array([1.0, 3.0]))

    _, forest, _ = boosted_rows(AbsoluteError(), y, X, Copies())
    assert forest.base[0] + forest.value[0, 0] == 2 + 0.5 * (10 - 2)


def test_factors_multiply_the_weights_of_rows():
    X, y = problem(4)
    table = read_table(X)
    rows = Rows(assign_bins(table, learn_bins(table)), y, np.array([1.0, 2.0, 3.0, 4.0]), np.zeros((1, 4)))
    sample = Sample(np.array([1, 3], np.uint32), np.array([10.0, 100.0]))
    assert weight_with_factors(rows, sample).tolist() == [0, 20, 0, 400]
    assert weight_with_factors(replace(rows, weight=None), sample).tolist() == [0, 10, 0, 100]
    everything = Sample(None, np.array([1.0, 2.0, 3.0, 4.0]))
    assert weight_with_factors(rows, everything).tolist() == [1, 4, 9, 16]


def test_the_least_rows_of_a_leaf_are_rows_of_the_sample():
    X, y = problem(1000)
    model = arb.BoostedTreesRegressor(n_estimators=5, sampling="goss", min_samples_leaf=30).fit(X, y)
    forest = model.forest_
    assert forest.n_rows[forest.tree_start[:-1]].tolist() == [300] * 5
    assert forest.n_rows[forest.kind == 0].min() >= 30


def test_a_fit_on_a_sample_that_diverges_says_so():
    X, y = problem()
    for options in SAMPLINGS.values():
        sampling = next(name for name, other in SAMPLINGS.items() if other is options)
        model = arb.BoostedTreesRegressor(sampling=sampling, learning_rate=1e200, n_estimators=5, **options)
        with pytest.raises(ValueError, match=r"diverged in round \d: .* lower learning_rate"):
            model.fit(X, y)


# ---- wrong combinations ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"top_rate": 0.2},
            "top_rate=0.2 has no effect with sampling='subsample': use sampling='goss', or top_rate=None",
        ),
        ({"sampling": "mvs", "other_rate": 0.1}, "other_rate=0.1 has no effect with sampling='mvs'"),
        ({"sampling": "goss", "bagging_temperature": 1.0}, "use sampling='bayesian', or bagging_temperature=None"),
        ({"sampling": "goss", "subsample": 0.5}, "subsample=0.5 has no effect with .* use top_rate and other_rate"),
        ({"sampling": "bayesian", "subsample": 0.5}, "use bagging_temperature, and subsample=1.0"),
        ({"sampling": "goss", "top_rate": 0.7, "other_rate": 0.5}, "top_rate=0.7 and other_rate=0.5 are more than all"),
        ({"sampling": "gos"}, r"sampling='gos' \(did you mean 'goss'\?\)"),
        ({"prune": True, "growth": "symmetric"}, "prune=True with growth='symmetric'.*use growth='leaf' or 'level'"),
    ],
)
def test_wrong_combinations_name_the_cure(options, message):
    X, y = problem()
    with pytest.raises(ValueError, match=message):
        arb.BoostedTreesRegressor(**options).fit(X, y)


# ---- several trees a round -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_a_round_is_the_mean_of_trees_on_their_own_samples(loss):
    """Each tree alone: the first round of a model whose sample has the same number."""
    X, y = problem()
    options = {"loss": loss, "subsample": 0.5, "max_features": 0.5, "learning_rate": 1.0, "n_estimators": 1}
    forest = arb.BoostedTreesRegressor(trees_per_round=4, **options).fit(X, y)
    trees = [forest.forest_[i : i + 1] for i in range(4)]
    assert len({tuple(tree.n_rows.tolist()) for tree in trees}) == 4
    alone = arb.BoostedTreesRegressor(**options).fit(X, y).forest_
    np.testing.assert_array_equal(trees[0].value * 4, alone.value)
    np.testing.assert_array_equal(trees[0].threshold, alone.threshold)


def test_without_samples_the_trees_of_a_round_are_equal():
    X, y = problem()
    once = arb.BoostedTreesRegressor(n_estimators=5, max_features=1.0).fit(X, y)
    thrice = arb.BoostedTreesRegressor(n_estimators=5, max_features=1.0, trees_per_round=4).fit(X, y)
    np.testing.assert_allclose(thrice.predict(X), once.predict(X), rtol=1e-12)
    assert thrice.forest_.n_trees == 20


def test_one_tree_a_round_is_the_default():
    X, y = problem()
    for options in ({}, {"subsample": 0.5, "max_features": 0.5}, {"loss": "huber"}):
        plain, one = (
            arb.BoostedTreesRegressor(n_estimators=5, **options, **more) for more in ({}, {"trees_per_round": 1})
        )
        assert plain.fit(X, y).fingerprint() == one.fit(X, y).fingerprint()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_everything_counts_rounds(n_classes, tmp_path):
    X, y = problem()
    y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    heard = []
    model = arb.BoostedTreesClassifier(
        n_estimators=6, trees_per_round=3, subsample=0.5, callbacks=[lambda report: heard.append(report.number)]
    ).fit(X, y)
    outputs = 1 if n_classes == 2 else n_classes
    assert (model.n_iter_, model.trees_per_round_, model.forest_.n_trees) == (6, 3, 18 * outputs)
    assert heard == [1, 2, 3, 4, 5, 6]
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == 6
    np.testing.assert_allclose(stages[-1], model.predict_proba(X), rtol=1e-12)
    shorter = arb.BoostedTreesClassifier(n_estimators=2, trees_per_round=3, subsample=0.5).fit(X, y)
    np.testing.assert_allclose(stages[1], shorter.predict_proba(X), rtol=1e-12)
    model.set_params(callbacks=None).save(tmp_path / "m.arb")
    loaded = arb.load(tmp_path / "m.arb")
    assert (loaded.n_iter_, loaded.trees_per_round_) == (6, 3)
    assert len(list(loaded.staged_predict(X))) == 6
    assert loaded.fingerprint() == model.fingerprint()


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (4, "whole rounds of 4 trees"),
        (0, "0: expected a positive"),
        ("3", "'3': expected a positive"),
    ],
)
def test_a_file_with_rounds_that_do_not_fit_is_refused(number, message):
    X, y = problem()
    model = arb.BoostedTreesRegressor(n_estimators=2, trees_per_round=3).fit(X, y)
    header, arrays = content(model)
    assert header["trees_per_round"] == 3
    with pytest.raises(ValueError, match=f"damaged model file: .*{message}"):
        loaded({**header, "trees_per_round": number}, arrays)


def test_early_stopping_counts_rounds():
    X, y = problem(400)
    model = arb.BoostedTreesRegressor(
        n_estimators=200, trees_per_round=3, subsample=0.5, learning_rate=0.5, n_iter_no_change=4
    ).fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    losses = model.history_.validation_loss
    assert model.n_iter_ == np.argmin(losses) + 1 == model.history_.best_round
    assert len(losses) == model.n_iter_ + 4
    assert model.forest_.n_trees == 3 * model.n_iter_


def test_rounds_of_another_size_cannot_be_added():
    X, y = problem()
    model = arb.BoostedTreesRegressor(n_estimators=2, trees_per_round=3, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="trees_per_round=2, but the fitted model has 3: use the same number"):
        model.set_params(n_estimators=4, trees_per_round=2).fit(X, y)
    with pytest.raises(ValueError, match="trees_per_round=2, but the fitted model has 3"):
        model.fit_more(X, y, n_estimators=1)


def test_one_round_of_many_trees_is_a_forest():
    """Of squared error with leaves of one row: close to a random forest of the same size."""
    X, y = problem(1000)
    X = np.nan_to_num(X)
    boosted = arb.BoostedTreesRegressor(
        n_estimators=1,
        learning_rate=1.0,
        trees_per_round=100,
        sampling="bootstrap",
        max_features=0.7,
        max_leaf_nodes=10_000,
        min_samples_leaf=1,
        l2=0.0,
    ).fit(X[:500], y[:500])
    forest = arb.RandomForestRegressor(n_estimators=100, max_features=0.7).fit(X[:500], y[:500])
    assert abs(boosted.score(X[500:], y[500:]) - forest.score(X[500:], y[500:])) < 0.02


# ---- pruning by gain -------------------------------------------------------------------------------------------------


def pruned_twin(tree, least_gain):
    """Which nodes stay, bottom-up, and the leaf that stands for each old one."""
    n = tree.n_nodes
    splits = [False] * n
    for node in reversed(range(n)):
        if tree.left[node] >= 0:
            children = (tree.left[node], tree.right[node])
            splits[node] = tree.gain[node] > least_gain or any(splits[child] for child in children)
    alive, place = {0: 0}, {0: 0}
    for node in range(n):
        if tree.left[node] >= 0:
            for child in (tree.left[node], tree.right[node]):
                if node in alive and splits[node]:
                    alive[child] = None
                place[child] = child if child in alive else place[node]
    names = {node: number for number, node in enumerate(sorted(alive))}
    return sorted(alive), [splits[node] for node in sorted(alive)], [names[place[node]] for node in range(n)]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(["leaf", "level"]), st.floats(0, 1), st.booleans())
def test_pruning_is_its_definition(seed, growth, quantile, sampled):
    X, y = problem(200, 3, seed)
    table = read_table(X)
    data = assign_bins(table, learn_bins(table))
    params = TreeParams(growth=growth, max_leaf_nodes=20, min_samples_leaf=3).to_kernel()
    rows = np.arange(0, 200, 2, dtype=np.uint32) if sampled else None
    full, cut = _kernel.Grower(data.codes, 1), _kernel.Grower(data.codes, 1)
    whole = full.grow(y.mean() - y, np.ones(200), rows, params, 0)
    tree = cut.grow(y.mean() - y, np.ones(200), rows, params, 0)
    least = float(np.quantile(whole.gain[whole.kind > 0], quantile)) if whole.n_nodes > 1 else 0.0
    cut.prune(tree, least)
    alive, splits, place = pruned_twin(whole, least)
    assert tree.n_nodes == len(alive)
    np.testing.assert_array_equal(tree.kind > 0, splits)
    for name in ("n_rows", "gradient", "hessian"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(whole, name)[alive])
    for name in ("feature", "code", "gain"):
        np.testing.assert_array_equal(getattr(tree, name)[splits], getattr(whole, name)[alive][splits])
    np.testing.assert_array_equal(cut.leaf_of_row, np.array(place)[full.leaf_of_row])
    leaves = np.empty(200, np.uint32)
    tree.leaves(data.codes, 1, leaves)
    np.testing.assert_array_equal(cut.leaf_of_row, leaves)


def xor(n_rows=400):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (n_rows, 2)).astype(float)
    return X, (X[:, 0] != X[:, 1]).astype(float)


def test_pruning_keeps_a_poor_split_above_a_good_one():
    X, y = xor()
    options = {"n_estimators": 1, "learning_rate": 1.0, "min_gain": 5.0, "min_samples_leaf": 1}
    options |= {"l2": 0.0, "max_features": 1.0}
    stopped = arb.BoostedTreesRegressor(**options).fit(X, y)
    pruned = arb.BoostedTreesRegressor(prune=True, **options).fit(X, y)
    assert stopped.forest_.n_nodes == 1
    np.testing.assert_allclose(pruned.predict(X), y, atol=1e-9)
    none = arb.BoostedTreesRegressor(**{**options, "min_gain": 1e6}, prune=True).fit(X, y)
    assert none.forest_.n_nodes == 1


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_predictions_of_pruned_trees_are_those_of_the_running_fit(loss):
    X, y = problem()
    rows, forest, table = boosted_rows(LOSSES[loss](), y, X, Subsample(0.7), prune_gain=0.5)
    np.testing.assert_array_equal(forest.raw(table.columns, table.n_rows), rows.raw.T)
    free = boosted_rows(LOSSES[loss](), y, X, Subsample(0.7))[1]
    assert forest.n_nodes < free.n_nodes


def test_pruning_without_a_least_gain_changes_nothing():
    X, y = problem()
    plain, pruned = (arb.BoostedTreesRegressor(n_estimators=5, prune=prune).fit(X, y) for prune in (False, True))
    assert plain.fingerprint() == pruned.fingerprint()
