"""DART: drops, weights, and fits against a plain twin that keeps every tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import arboretum as arb
from arboretum import _kernel
from arboretum.data.binning import assign_bins, learn_bins
from arboretum.data.table import read_table
from arboretum.ensembles.boosting.dart import Dart
from arboretum.ensembles.boosting.gradients import fill_gradients
from arboretum.ensembles.boosting.rounds import (
    EXACT_ROWS,
    TREE_PURPOSE,
    BoostingParams,
    BoostingRun,
    renewed_values,
    renews_leaves,
)
from arboretum.ensembles.boosting.rows import Rows, filled_raw, start_raw
from arboretum.growing.grower import TreeParams
from arboretum.growing.sampling import Subsample, sample_key
from arboretum.losses import AbsoluteError, Logistic, Multinomial, SquaredError


def problem(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    return X, X[:, 0] * 2 + np.sin(3 * X[:, 1]) + 0.5 * rng.normal(size=n_rows)


# ---- drops -----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 60), st.floats(0, 1), st.floats(0, 1), st.integers(1, 10), st.integers(0, 2**64 - 1))
def test_drops_are_earlier_rounds_and_not_too_many(number, rate, skip, most, seed):
    dropped = Dart(rate, skip, most).dropped(number, seed)
    assert dropped == sorted(set(dropped))
    assert all(0 <= earlier < number for earlier in dropped)
    assert len(dropped) <= most
    everything = Dart(rate, skip, 10**6).dropped(number, seed)
    assert set(dropped) <= set(everything)
    assert len(dropped) == min(len(everything), most)
    assert dropped == Dart(rate, skip, most).dropped(number, seed)


def test_drops_have_their_rates():
    always = [len(Dart(0.2, 0.0, 1000).dropped(100, seed)) for seed in range(300)]
    assert abs(np.mean(always) - 20) < 5 * np.sqrt(100 * 0.2 * 0.8 / 300)
    skipped = np.mean([not Dart(0.5, 0.3).dropped(100, seed) for seed in range(1000)])
    assert abs(skipped - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 1000)
    assert Dart(1.0, 0.0).dropped(7, 0) == list(range(7))
    assert Dart(1.0, 1.0).dropped(7, 0) == Dart(0.0, 0.0).dropped(7, 0) == []


@pytest.mark.parametrize("k", [1, 2, 7])
def test_weights_are_those_of_the_paper(k):
    assert Dart.weights(k, 1.0) == (1 / (k + 1), k / (k + 1))
    assert Dart.weights(k, 0.5) == (0.5 / (k + 1), k / (k + 1))


def test_without_drops_weights_are_those_of_boosting():
    assert Dart.weights(0, 0.3)[0] == 0.3


# ---- the twin --------------------------------------------------------------------------------------------------------


def twin(X, y, loss, params):
    """Raw predictions, found anew from all trees in every round; and the weight of every tree."""
    table = read_table(X)
    data = assign_bins(table, learn_bins(table))
    base = start_raw(loss, y, None)
    grower, tree_params = _kernel.Grower(data.codes, 1), params.tree.to_kernel()
    assert table.n_rows <= EXACT_ROWS
    kept, rounds, weights = [], [], []
    for number in range(params.n_rounds):
        dropped = params.dart.dropped(number, params.seed)
        raw = filled_raw(base, table.n_rows)
        for i, (output, step) in enumerate(rounds):
            if kept[i] not in dropped:
                raw[output] += weights[i] * step
        rows = Rows(data, y, None, raw)
        g, h = np.empty(raw.shape), np.empty(raw.shape)
        fill_gradients(loss, rows, g, h, 1)
        sample = params.sampler.sample(g, h, key=sample_key(params.seed, number), threads=1).rows
        k = len(dropped)
        weights = [w * k / (k + 1) if kept[i] in dropped else w for i, w in enumerate(weights)]
        for output in range(len(raw)):
            seed = _kernel.draw(params.seed, TREE_PURPOSE, number * len(raw) + output)
            tree = grower.grow(g[output], h[output], sample, tree_params, seed)
            renewed = renewed_values(loss, tree, grower, rows, sample, params) if renews_leaves(loss) else None
            rounds.append((output, tree.values(tree_params, renewed)[grower.leaf_of_row]))
            weights.append(params.learning_rate / (k + 1))
            kept.append(number)
    raw = filled_raw(base, table.n_rows)
    for weight, (output, step) in zip(weights, rounds, strict=True):
        raw[output] += weight * step
    return raw, np.array(weights)


@pytest.mark.parametrize("loss", [SquaredError(), AbsoluteError(), Logistic(), Multinomial(3)], ids=lambda x: x.name)
@pytest.mark.parametrize("share", [1.0, 0.7])
def test_dart_is_its_definition(loss, share):
    X, y = problem()
    if loss.task == "classification":
        y = np.digitize(y, np.quantile(y, [0.5] if loss.n_outputs == 1 else [0.3, 0.6])).astype(float)
    tree = TreeParams(max_leaf_nodes=6, min_samples_leaf=10)
    params = BoostingParams(25, 0.4, tree, Subsample(share), seed=5, threads=2, dart=Dart(0.2, 0.3, 4))
    expected, weights = twin(X, y, loss, params)
    assert len(np.unique(weights)) > 5
    table = read_table(X)
    base = start_raw(loss, y, None)
    rows = Rows(assign_bins(table, learn_bins(table)), y, None, filled_raw(base, table.n_rows))
    forest, _ = BoostingRun(rows, loss, params, base=base).complete()
    np.testing.assert_allclose(rows.raw, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(forest.raw(table.columns, table.n_rows), expected.T, rtol=1e-9, atol=1e-9)


# ---- through the estimators ------------------------------------------------------------------------------------------

DROPPING = {"dart_rate": 0.3, "dart_skip": 0.2}


def test_without_drops_dart_is_boosting():
    X, y = problem()
    plain = arb.BoostedTreesRegressor(n_estimators=10).fit(X, y).fingerprint()
    for options in ({"dart_rate": 0.0}, {"dart_rate": 0.5, "dart_skip": 1.0}):
        assert arb.BoostedTreesRegressor(n_estimators=10, **options).fit(X, y).fingerprint() == plain
    assert arb.BoostedTreesRegressor(n_estimators=10, **DROPPING).fit(X, y).fingerprint() != plain


@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
@pytest.mark.parametrize("trees_per_round", [1, 2])
def test_dart_does_not_depend_on_threads(growth, trees_per_round):
    X, y = problem(3000)
    models = [
        arb.BoostedTreesRegressor(
            n_estimators=12, growth=growth, subsample=0.7, trees_per_round=trees_per_round, n_jobs=n, **DROPPING
        ).fit(X, y)
        for n in (1, 2, 3, 8)
    ]
    assert len({model.fingerprint() for model in models}) == 1


def test_validation_losses_are_those_of_the_weights_of_their_round():
    """Also the best round keeps the weights that it had, whatever later rounds did to its trees."""
    X, y = problem(400)
    held = {"X_val": X[200:], "y_val": y[200:]}
    options = {"learning_rate": 1.0, "max_leaf_nodes": 8, **DROPPING}
    model = arb.BoostedTreesRegressor(n_estimators=60, n_iter_no_change=8, **options).fit(X[:200], y[:200], **held)
    losses = model.history_.validation_loss
    assert model.n_iter_ == np.argmin(losses) + 1 < len(losses)
    for number in (1, 2, model.n_iter_ - 1, model.n_iter_):
        shorter = arb.BoostedTreesRegressor(n_estimators=number, early_stopping=False, **options).fit(X[:200], y[:200])
        loss = shorter.loss_.value(y[200:], shorter.predict(X[200:]), None)
        assert loss == pytest.approx(losses[number - 1], rel=1e-9)
    assert shorter.fingerprint() == model.fingerprint()


def test_dart_of_full_steps_overfits_less_than_boosting():
    X, y = problem(1000)
    options = {"learning_rate": 1.0, "n_estimators": 60}
    scores = [
        arb.BoostedTreesRegressor(**options, **more).fit(X[:500], y[:500]).score(X[500:], y[500:])
        for more in ({}, {"dart_rate": 0.3, "dart_skip": 0.0})
    ]
    assert scores[1] > scores[0] + 0.02


def test_an_interrupted_fit_keeps_whole_rounds():
    X, y = problem()

    def interrupt(report):
        if report.number == 7:
            raise KeyboardInterrupt

    model = arb.BoostedTreesRegressor(n_estimators=20, callbacks=[interrupt], **DROPPING)
    with pytest.warns(UserWarning, match="keeps the 7 rounds so far"):
        model.fit(X, y)
    assert model.fingerprint() == arb.BoostedTreesRegressor(n_estimators=7, **DROPPING).fit(X, y).fingerprint()


def test_an_interrupt_inside_a_round_leaves_the_weights_of_the_last_one(monkeypatch):
    X, y = problem()
    from arboretum.ensembles.boosting import rounds as boosting

    calls = []

    def rescaled(trees, weight):
        calls.append(weight)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return original(trees, weight)

    original = boosting.rescaled
    monkeypatch.setattr(boosting, "rescaled", rescaled)
    with pytest.warns(UserWarning, match="fit was interrupted"):
        model = arb.BoostedTreesRegressor(n_estimators=20, **DROPPING).fit(X, y)
    monkeypatch.undo()
    again = arb.BoostedTreesRegressor(n_estimators=model.n_iter_, **DROPPING).fit(X, y)
    assert model.fingerprint() == again.fingerprint()


def test_rounds_cannot_be_added_with_dart():
    X, y = problem()
    model = arb.BoostedTreesRegressor(n_estimators=3, warm_start=True, **DROPPING).fit(X, y)
    with pytest.raises(ValueError, match=r"dart_rate=0\.3: .* fit anew with warm_start=False, or add rounds with"):
        model.set_params(n_estimators=5).fit(X, y)
    with pytest.raises(ValueError, match=r"dart_rate=0\.3"):
        model.fit_more(X, y, n_estimators=2)
    assert model.set_params(dart_rate=0.0).fit(X, y).n_iter_ == 5
