"""What "auto" stands for has the least loss out of the bag, by a plain twin that looks at each place by itself."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import arboretum as arb
from arboretum.ensembles.bagging import choosing, trees
from arboretum.ensembles.bagging.choosing import COLUMNS, LEAST_DRAWS, TREES
from arboretum.ensembles.bagging.model_notes import notes_of
from arboretum.ensembles.bagging.settings import Choice

FORESTS = [arb.RandomForestClassifier, arb.RandomForestRegressor, arb.ExtraTreesClassifier, arb.ExtraTreesRegressor]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 5))
Y = np.where(X[:, 0] * X[:, 1] > 0, 2.0, -1.0) + X[:, 2] + RNG.normal(size=150)
LABELS = np.digitize(Y, [-0.5, 1.5])
WHOLE, PARTS = RNG.integers(1, 4, 150), RNG.random(150) + 0.1


def target_of(cls):
    return LABELS if cls.__name__.endswith("Classifier") else Y


def twin_loss(model, choice, weight):
    """Return the loss of one trial, place by place, from trees that are grown and asked one by one."""
    fixed = type(model)(
        n_estimators=TREES,
        bootstrap=True,
        max_features=choice.max_features,
        min_samples_leaf=1,
        **({"prior_trees": 0.0} if hasattr(model, "prior_trees") else {}),
    )
    recipe = fixed.recipe()
    given = recipe.preparation.read(X, target_of(type(model)), weight)
    training = recipe.preparation.cut(given, 1)
    n_draws = training.pool.n_draws
    forest = fixed.set_params(min_weight_fraction_leaf=(choice.least_draws - 0.25) / n_draws).fit(
        X, target_of(type(model)), weight
    )
    values, leaves = forest.forest_.value, forest.apply(X)
    drawn = [training.pool.drawn(0, tree) for tree in range(TREES)]
    total, amount = 0.0, 0.0
    for place, row in enumerate(training.pool.rows):
        said = [
            values[forest.forest_.tree_start[tree] + leaves[row, tree]]
            for tree in range(TREES)
            if drawn[tree][place] == 0
        ]
        if len(said) > 1:
            of_row = 1.0 if training.pool.weight is None else training.pool.weight[place]
            off = (np.mean(said, axis=0) - given.target.as_values[row]) ** 2 - np.var(said, axis=0, ddof=1) / len(said)
            total, amount = total + of_row * off.sum(), amount + of_row
    return total / amount


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize("weight", [None, WHOLE, PARTS], ids=["equal", "whole", "parts"])
def test_a_trial_is_the_loss_of_every_place_out_of_the_bag(cls, weight, monkeypatch):
    losses, judge = {}, choosing.Trial.loss

    def noted(trial, preparation):
        settings = preparation.settings
        loss = judge(trial, preparation)
        losses[Choice(settings.max_features, int(settings.least_weight + 1))] = loss
        return loss

    monkeypatch.setattr(choosing.Trial, "loss", noted)
    model = cls(n_estimators=2).fit(X, target_of(cls), weight)
    chosen = notes_of(model.model_).choice
    assert len(losses) == len(COLUMNS) + len(LEAST_DRAWS) - 1
    for choice in (Choice("sqrt", 2), chosen):
        assert losses[choice] == pytest.approx(twin_loss(model, choice, weight), rel=1e-9)
    by_columns = {columns: losses[Choice(columns, 2)] for columns in COLUMNS}
    best = min(by_columns, key=by_columns.get)
    assert chosen.max_features == best
    assert losses[chosen] == min(losses[Choice(best, draws)] for draws in LEAST_DRAWS)


@pytest.mark.parametrize("cls", FORESTS)
def test_copies_order_and_threads_do_not_change_the_choice(cls):
    y = target_of(cls)
    model = cls(n_estimators=5).fit(X, y, WHOLE)
    copies = np.random.default_rng(1).permutation(np.repeat(np.arange(150), WHOLE))
    again = cls(n_estimators=5, n_jobs=3).fit(X[copies], y[copies])
    assert again.chosen_params_ == model.chosen_params_
    np.testing.assert_array_equal(model.predict(X), again.predict(X))


@pytest.mark.parametrize("cls", FORESTS)
def test_the_chosen_setting_can_be_given(cls):
    """It is noted in the file, and stays when trees are added."""
    y = target_of(cls)
    model = cls(n_estimators=20).fit(X, y)
    same = cls(n_estimators=20, **model.chosen_params_).fit(X, y)
    assert same.chosen_params_ == {}
    assert same.fingerprint() == model.fingerprint()
    grown = cls(n_estimators=8).fit(X, y).set_params(warm_start=True, n_estimators=20).fit(X, y)
    assert grown.fingerprint() == model.fingerprint()
    assert pickle.loads(pickle.dumps(grown)).chosen_params_ == model.chosen_params_
    weighted = cls(n_estimators=20).fit(X, y, PARTS)
    again = cls(n_estimators=20, **weighted.chosen_params_).fit(X, y, PARTS)
    np.testing.assert_array_equal(again.predict(X), weighted.predict(X))


def test_noise_asks_for_larger_leaves_and_a_lone_signal_for_all_columns():
    noise = RNG.integers(0, 2, 150)
    model = arb.RandomForestClassifier().fit(X, noise)
    assert model.forest_.n_rows.min() == max(LEAST_DRAWS)
    wide = RNG.normal(size=(150, 60))
    assert arb.RandomForestRegressor().fit(wide, np.sign(wide[:, 7])).chosen_params_["max_features"] == 1.0


def test_the_choice_pays_on_rows_held_out():
    wide = RNG.normal(size=(200, 40))
    y = np.sign(wide[:, 7]) + RNG.normal(size=200) / 4
    usual = arb.RandomForestRegressor(n_estimators=50, max_features=1 / 3, min_samples_leaf=1)
    assert cross_val_score(arb.RandomForestRegressor(n_estimators=50), wide, y).mean() > (
        cross_val_score(usual, wide, y).mean() + 0.02
    )


@pytest.mark.parametrize(
    ("cls", "params", "y"),
    [
        (arb.RandomForestRegressor, {"criterion": "absolute_error"}, Y),
        (arb.RandomForestRegressor, {}, np.column_stack([Y, -Y])),
        (arb.RandomForestClassifier, {"bootstrap": "balanced"}, LABELS),
        (arb.RandomForestClassifier, {"class_weight": "balanced_subsample"}, LABELS),
    ],
    ids=["medians", "outputs", "balanced", "balanced_subsample"],
)
def test_nothing_is_tried_where_the_loss_is_another(cls, params, y, monkeypatch):
    monkeypatch.setattr(choosing.Trial, "loss", None)
    model = cls(n_estimators=2, **params).fit(X, y)
    assert notes_of(model.model_).choice == Choice("sqrt" if cls is arb.RandomForestClassifier else 0.5, 2)


@pytest.mark.parametrize("weight", [None, np.full(150, 134)], ids=["rows", "copies"])
def test_nothing_is_tried_with_many_rows_or_copies(weight, monkeypatch):
    monkeypatch.setattr(choosing.Trial, "loss", None)
    if weight is None:
        monkeypatch.setattr(choosing, "MOST_PLACES", 149)
    model = arb.RandomForestRegressor(n_estimators=1).fit(X, Y, weight)
    assert notes_of(model.model_).choice == Choice(0.5, 2)


def test_nothing_is_tried_with_many_rows_and_classes(monkeypatch):
    monkeypatch.setattr(choosing.Trial, "loss", None)
    labels = np.arange(3000) % 700
    model = arb.RandomForestClassifier(n_estimators=1, max_depth=1).fit(labels[:, None], labels)
    assert notes_of(model.model_).choice == Choice("sqrt", 2)


@pytest.mark.parametrize("cls", FORESTS)
def test_one_of_the_two_can_be_given(cls):
    y = target_of(cls)
    model = cls(n_estimators=3, max_features=2).fit(X, y)
    assert set(model.chosen_params_) == {"min_samples_leaf", "min_weight_fraction_leaf"}
    rows = cls(n_estimators=3, min_samples_leaf=7).fit(X, y)
    assert rows.forest_.n_rows.min() >= 7
    assert rows.chosen_params_ in [{"max_features": columns} for columns in COLUMNS]


def test_a_probability_is_zero_only_without_trees_that_know_no_splits():
    forest = arb.RandomForestClassifier(n_estimators=50, min_samples_leaf=1)
    least = [
        clone(forest).set_params(prior_trees=prior).fit(X, X[:, 0] > 0).predict_proba(X).min()
        for prior in (0.0, "auto", 1.0)
    ]
    assert least[0] == 0.0 < least[1] < least[2] < 0.02
    votes = arb.RandomForestClassifier(n_estimators=50, voting="hard").fit(X, X[:, 0] > 0)
    assert votes.predict_proba(X).min() == 0.0


def test_an_interrupted_trial_ends_the_fit(monkeypatch):
    def first_batch_alone(first_tree, n_trees, threads):
        yield first_tree, 1
        raise KeyboardInterrupt

    monkeypatch.setattr(trees, "batches", first_batch_alone)
    with pytest.raises(KeyboardInterrupt):
        arb.RandomForestRegressor().fit(X, Y)


def test_one_row_and_one_tree():
    assert arb.RandomForestRegressor(n_estimators=1).fit([[1.0]], [2.0]).predict([[3.0]]) == [2.0]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_features": "all"}, "max_features='all': use 'sqrt', 'log2', a share, a number or None"),
        ({"prior_trees": -1.0}, "prior_trees=-1.0: use a number"),
    ],
)
def test_errors_name_what_can_be_given(params, message):
    with pytest.raises(ValueError, match=message):
        arb.RandomForestClassifier(**params).fit(X, LABELS)


def test_places_of_the_pool_need_no_weights_of_their_own():
    recipe = arb.RandomForestRegressor().recipe()
    training = recipe.preparation.cut(recipe.preparation.read(X, Y, WHOLE), 1)
    assert training.pool.weight is None
    assert len(training.pool.rows) == WHOLE.sum()
    drawn = np.bincount(training.pool.rows, training.pool.drawn(3, 1), len(Y))
    np.testing.assert_array_equal(drawn, training.bootstrap.copies(3, 1, len(Y)))
