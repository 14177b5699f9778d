"""The average of fitted models: one forest that predicts their weighted mean."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

import arboretum as arb
from arboretum.model.averaging import recoded

RNG = np.random.default_rng(0)
N = 240
X = RNG.normal(size=(N, 4))
NUMBERS = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + RNG.normal(size=N) / 2
CLASSES = np.array(["low", "mid", "high"])[np.digitize(NUMBERS, [-0.5, 0.8])]
GRADES = np.digitize(NUMBERS, [-0.5, 0.8])
EVENTS = np.column_stack([np.exp(-NUMBERS), RNG.random(N) < 0.7])
QUERY = np.arange(N) // 8
TREATED = RNG.integers(0, 2, N)
BOTH = np.column_stack([NUMBERS, -NUMBERS])
WEIGHTS = [1, 0.25, 3]
QUICK = {"learning_rate": 0.3, "early_stopping": False}
SOME = [slice(None), slice(0, 200), slice(30, None)]  # rows of each model

CASES = {
    "numbers": (arb.BoostedTreesRegressor, QUICK, NUMBERS),
    "counts": (arb.BoostedTreesRegressor, {**QUICK, "loss": "poisson"}, np.exp(NUMBERS)),
    "linear leaves": (arb.BoostedTreesRegressor, {**QUICK, "leaf_model": "linear"}, NUMBERS),
    "several numbers": (arb.BoostedTreesRegressor, QUICK, BOTH),
    "dropped rounds": (arb.BoostedTreesRegressor, {**QUICK, "dart_rate": 0.5}, NUMBERS),
    "averaged rounds": (arb.BoostedTreesRegressor, {**QUICK, "average_rounds": 3}, NUMBERS),
    "two classes": (arb.BoostedTreesClassifier, QUICK, NUMBERS > 0),
    "three classes": (arb.BoostedTreesClassifier, {**QUICK, "trees_per_round": 2}, CLASSES),
    "vector leaves": (arb.BoostedTreesClassifier, {**QUICK, "vector_leaves": True}, CLASSES),
    "ordered classes": (arb.BoostedTreesClassifier, {**QUICK, "loss": "ordinal"}, GRADES),
    "ranking": (arb.BoostedTreesRanker, QUICK, GRADES, QUERY),
    "hazards": (arb.BoostedTreesSurvival, QUICK, EVENTS),
    "times": (arb.BoostedTreesSurvival, {**QUICK, "loss": "aft"}, EVENTS),
    "forest of numbers": (arb.RandomForestRegressor, {}, NUMBERS),
    "forest of outputs": (arb.RandomForestRegressor, {}, BOTH),
    "forest of two classes": (arb.RandomForestClassifier, {}, NUMBERS > 0),
    "forest of classes": (arb.ExtraTreesClassifier, {}, CLASSES),
    "forest of effects": (arb.UpliftForest, {"min_samples_leaf": 3}, (NUMBERS > 0) + 0, TREATED),
    "trees of numbers": (arb.DecisionTreeRegressor, {"max_depth": 4}, NUMBERS),
    "trees of classes": (arb.DecisionTreeClassifier, {"max_depth": 4}, CLASSES),
}
BOOSTED = [name for name, (cls, *_) in CASES.items() if cls.__name__.startswith("BoostedTrees")]
WIDE = dict.fromkeys(["forest of two classes", "forest of classes", "trees of classes"], "predict_proba")
WIDE["forest of effects"] = "predict_outcome"


def members(name, rows=SOME):
    cls, params, *given = CASES[name]
    models = []
    for place, part in enumerate(rows):
        size = {} if cls.__name__.startswith("Decision") else {"n_estimators": 5 + 2 * place}
        models.append(cls(**params, **size, random_state=place).fit(X[part], *(values[part] for values in given)))
    return models


def quantity(model, name):
    """Return what is averaged: raw predictions, or means of trees."""
    if name in BOOSTED:
        return model.predict_raw(X)
    return np.asarray(getattr(model, WIDE.get(name, "predict"))(X))


@pytest.fixture(scope="module")
def all_members():
    return {name: members(name) for name in CASES}


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighted"])
@pytest.mark.parametrize("name", CASES)
def test_an_average_predicts_the_mean(all_members, name, weights, tmp_path):
    models = all_members[name]
    marks = [model.fingerprint() for model in models]
    joined = arb.average(models, weights)
    known = np.array([quantity(model, name) for model in models])
    expected = np.average(known, axis=0, weights=weights)
    np.testing.assert_allclose(quantity(joined, name), expected, rtol=1e-12, atol=1e-12 * np.abs(known).max())
    assert joined.forest_.n_trees == sum(model.forest_.n_trees for model in models)
    joined.save(tmp_path / "m.arb")
    for again in (arb.load(tmp_path / "m.arb"), pickle.loads(pickle.dumps(joined))):
        assert again.fingerprint() == joined.fingerprint()
        np.testing.assert_array_equal(again.predict(X), joined.predict(X))
    explained = joined.explain(X[:3])
    total = (np.asarray(explained.base_values) + np.asarray(explained.values).sum(axis=1)).reshape(3, -1)
    parts = [model.explain(X[:3]) for model in models]
    sums = [(np.asarray(one.base_values) + np.asarray(one.values).sum(axis=1)).reshape(3, -1) for one in parts]
    np.testing.assert_allclose(total, np.average(sums, axis=0, weights=weights), rtol=1e-9, atol=1e-9)
    assert [model.fingerprint() for model in models] == marks


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("trees")])
def test_one_model_is_its_average(all_members, name):
    one = all_members[name][1]
    assert type(arb.average([one])) is type(one)
    assert arb.average([one]).fingerprint() == one.fingerprint()
    assert arb.average(all_members[name], [0, 7.5, 0]).fingerprint() == one.fingerprint()


def test_equal_models_are_their_average(all_members):
    for name in ("numbers", "forest of classes"):
        one = all_members[name][0]
        np.testing.assert_allclose(quantity(arb.average([one] * 3), name), quantity(one, name), rtol=1e-14)


def test_only_ratios_of_weights_count(all_members):
    models = all_members["numbers"]
    expected = arb.average(models, [1, 2, 4])
    assert arb.average(models, [2, 4, 8]).fingerprint() == expected.fingerprint()
    huge = arb.average(models, [1e307, 2e307, 4e307])
    np.testing.assert_allclose(huge.predict(X), expected.predict(X), rtol=1e-12)


def test_thresholds_are_averaged_with_scores(all_members):
    models = all_members["ordered classes"]
    below = [np.cumsum(model.predict_proba(X), axis=1)[:, :-1] for model in models]
    odds = np.average([np.log(p / (1 - p)) for p in below], axis=0, weights=WEIGHTS)
    found = np.cumsum(arb.average(models, WEIGHTS).predict_proba(X), axis=1)[:, :-1]
    np.testing.assert_allclose(np.log(found / (1 - found)), odds, rtol=1e-9, atol=1e-9)
    learned = arb.average(models, WEIGHTS, X=X, y=GRADES)
    assert learned.loss_.value(GRADES + 0.0, learned.predict_raw(X)[:, 0]) <= arb.average(models, WEIGHTS).loss_.value(
        GRADES + 0.0, learned.predict_raw(X)[:, 0]
    )


def test_a_baseline_is_learned_from_rows(all_members):
    models = all_members["hazards"]
    joined = arb.average(models)
    with pytest.raises(ValueError, match="the baseline hazard belongs to all rounds of a fit"):
        joined.predict_survival_function(X)
    learned = arb.average(models, X=X, y=EVENTS)
    np.testing.assert_array_equal(learned.predict(X), joined.predict(X))
    times = np.unique(EVENTS[:, 0])
    own = learned.predict_cumulative_hazard(X, times)[np.arange(N), np.searchsorted(times, EVENTS[:, 0])]
    assert own.sum() == pytest.approx(EVENTS[:, 1].sum(), rel=1e-6)  # Breslow


def test_trees_become_a_forest(all_members):
    joined = arb.average(all_members["trees of classes"])
    assert isinstance(joined, arb.RandomForestClassifier)
    assert joined.n_estimators == len(joined) == 3
    assert joined.max_depth == 4
    assert joined.apply(X).shape == (N, 3)
    tree, forest = all_members["trees of classes"][0], all_members["forest of classes"][0]
    with pytest.raises(ValueError, match=r"it has prior_trees=0\.\d+, not 0\.0"):
        arb.average([tree, forest])
    assert len(arb.average([tree, clone(forest).set_params(prior_trees=0.0).fit(X, CLASSES)])) == 1 + len(forest)


def test_votes_have_no_weights():
    models = [arb.RandomForestClassifier(n_estimators=4, voting="hard", random_state=k).fit(X, CLASSES) for k in (0, 1)]
    expected = np.mean([model.predict_proba(X) for model in models], axis=0)
    np.testing.assert_allclose(arb.average(models).predict_proba(X), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="voting='hard' counts the votes of trees, which have no weights: give equal"):
        arb.average(models, [1, 2])


def test_nothing_is_added_to_an_average(all_members):
    joined = arb.average(all_members["numbers"])
    with pytest.raises(ValueError, match="the fitted model is an average"):
        joined.fit_more(X, NUMBERS, n_estimators=1)
    forest = arb.average(all_members["forest of numbers"])
    with pytest.raises(ValueError, match="warm_start=True, but the fitted forest is an average, whose trees have w"):
        forest.set_params(warm_start=True, n_estimators=100).fit(X, NUMBERS)
    with pytest.raises(AttributeError, match="is an average, whose trees have weights: look at the models"):
        forest.estimators_
    for model, y in ((forest, NUMBERS), (joined, NUMBERS)):
        with pytest.raises(ValueError, match="its trees have the weights of an average: ask the model"):
            model.influence(X[:2], X_train=X, y_train=y)


# ---- categories ----------------------------------------------------------------------------------------------------


def frame(n_rows, n_towns, seed):
    rng = np.random.default_rng(seed)
    # Every town occurs, most of them in another order of frequency for each seed.
    towns = np.concatenate([np.arange(n_towns), (n_towns * rng.power(3, n_rows - n_towns)).astype(int)])
    towns = rng.permutation(n_towns)[towns] if seed else towns
    return pd.DataFrame({"a": rng.normal(size=n_rows), "town": [f"town {k}" for k in towns]})


@pytest.mark.parametrize("n_towns", [5, 70])
@pytest.mark.parametrize(
    "make",
    [
        lambda seed: arb.BoostedTreesRegressor(n_estimators=9, learning_rate=0.3, l2=0.0, category_levels=None),
        lambda seed: arb.RandomForestRegressor(n_estimators=4, max_features=None, random_state=seed),
        lambda seed: arb.ExtraTreesRegressor(n_estimators=4, max_features=None, random_state=seed),
    ],
    ids=["boosted", "forest", "extra"],
)
def test_categories_in_another_order_are_recoded(make, n_towns):
    tables = [frame(400, n_towns, seed) for seed in range(3)]
    target = [table["a"] + table["town"].str.len() + table["town"].str[-1].astype(int) for table in tables]
    models = [make(k).fit(table, y) for k, (table, y) in enumerate(zip(tables, target, strict=True))]
    assert len({model.schema_.columns[1].categories for model in models}) == 3
    rows = pd.concat([*tables, pd.DataFrame({"a": [0.0, 1.0], "town": ["Atlantis", None]})])
    with pytest.warns(UserWarning, match="missing values in columns that had none at fit"):
        expected = np.mean([model.predict(rows) for model in models], axis=0)
    with pytest.warns(UserWarning, match="missing values in columns that had none at fit"):
        found = arb.average(models).predict(rows)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_recoding_there_and_back_changes_nothing():
    tables = [frame(300, 40, seed) for seed in (0, 1)]
    one, two = (arb.RandomForestRegressor(n_estimators=2).fit(table, table["a"]) for table in tables)
    there = recoded(one.forest_, one.schema_, two.schema_)
    back = recoded(there, two.schema_, one.schema_)
    assert not np.array_equal(there.set_words, one.forest_.set_words)
    np.testing.assert_array_equal(back.set_words, one.forest_.set_words)


def test_categories_that_cannot_be_recoded_are_refused():
    tables = [frame(400, 70, seed) for seed in (0, 1)]
    few = [arb.BoostedTreesRegressor(n_estimators=2).fit(table, table["a"]) for table in tables]
    with pytest.raises(ValueError, match=r"models\[1\] cannot be averaged with models\[0\]: it has categories in anot"):
        arb.average(few)
    same = [arb.BoostedTreesRegressor(n_estimators=n).fit(tables[0], tables[0]["a"]) for n in (2, 3)]
    expected = np.mean([model.predict(tables[1]) for model in same], axis=0)
    np.testing.assert_allclose(arb.average(same).predict(tables[1]), expected, rtol=1e-12, atol=1e-12)


# ---- what is refused ---------------------------------------------------------------------------------------------


def boosted(table=X, y=NUMBERS, **params):
    return arb.BoostedTreesRegressor(n_estimators=2, **params).fit(table, y)


def classifier(y, **params):
    return arb.BoostedTreesClassifier(n_estimators=2, **params).fit(X, y)


FRAME = pd.DataFrame(X[:, :2], columns=["a", "b"])
TOWN = FRAME.assign(b=np.where(X[:, 0] > 0, "Oslo", "Rome"))
REFUSED = {
    "columns": (lambda: [boosted(FRAME), boosted(FRAME.rename(columns={"b": "c"}))], r"missing: \['b'\], unexpected"),
    "order": (lambda: [boosted(FRAME), boosted(FRAME[["b", "a"]])], "its columns in another order: 'b', 'a'"),
    "kind": (lambda: [boosted(FRAME), boosted(TOWN)], "a column 'b' of categorical string, not of numeric number"),
    "categories": (
        lambda: [boosted(TOWN), boosted(TOWN.assign(b=TOWN["b"].replace("Oslo", "Bern")))],
        "other categories of column 'b', such as 'Bern'",
    ),
    "policy": (lambda: [boosted(TOWN), boosted(TOWN, unknown="missing")], "unknown='missing', not 'average'"),
    "loss": (lambda: [boosted(), boosted(loss="huber")], r"loss Huber.*, not SquaredError"),
    "classes": (
        lambda: [classifier(NUMBERS > 0), classifier(np.where(NUMBERS > 0, "y", "n"))],
        r"classes \[\['n', 'y'\]\], not \[\[False, True\]\]",
    ),
    "leaves": (
        lambda: [classifier(CLASSES), classifier(CLASSES, vector_leaves=True)],
        "leaves of 3 values, not 1: fit all with the same vector_leaves",
    ),
    "outputs": (lambda: [boosted(), boosted(y=BOTH)], "loss EachOutput"),
    "task": (lambda: [boosted(), classifier(NUMBERS > 0)], "predictions of another kind"),
    "method": (lambda: [boosted(), arb.RandomForestRegressor(n_estimators=2).fit(X, NUMBERS)], "predictions of anoth"),
    "offset": (
        lambda: [boosted(), arb.BoostedTreesRegressor(n_estimators=2).fit(X, NUMBERS, offset=X[:, 0])],
        "an offset",
    ),
    "arms": (
        lambda: [
            arb.UpliftForest(n_estimators=2).fit(X, NUMBERS > 0, treatment=TREATED),
            arb.UpliftForest(n_estimators=2, control="a").fit(X, NUMBERS > 0, treatment=np.where(TREATED, "b", "a")),
        ],
        "other arms or outcomes",
    ),
}


@pytest.mark.parametrize("difference", REFUSED)
def test_models_that_differ_are_refused_by_place(difference):
    make, message = REFUSED[difference]
    models = make()
    with pytest.raises(ValueError, match=rf"models\[2\] cannot be averaged with models\[0\]: it has .*{message}"):
        arb.average([models[0], models[0], models[1]])


@pytest.mark.parametrize(
    "make",
    [
        lambda: arb.IsolationForest(n_estimators=2).fit(X),
        lambda: arb.AdaBoostClassifier(n_estimators=2).fit(X, CLASSES),
        lambda: arb.BaggingRegressor(n_estimators=2).fit(X, NUMBERS),
        lambda: arb.RandomSurvivalForest(n_estimators=2).fit(X, EVENTS),
        lambda: arb.UpliftBoostedTrees(n_estimators=2).fit(X, NUMBERS, treatment=TREATED),
        lambda: arb.DecisionTreeClassifier(method="c45").fit(X, CLASSES),
    ],
    ids=["isolation", "votes", "members", "hazards", "effects", "many branches"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_models_without_a_mean_of_leaves_are_refused(make):
    with pytest.raises(
        TypeError, match=r"models\[1\] is a \w+, whose predictions are not sums or means of leaf values"
    ):
        arb.average([boosted(), make()])


@pytest.mark.parametrize(
    ("models", "weights", "error", "message"),
    [
        ([], None, ValueError, r"models=\[\]: give a list of fitted models"),
        (3, None, ValueError, "models=3: give a list of fitted models"),
        (arb.BoostedTreesRegressor(), None, ValueError, r"models=BoostedTreesRegressor\(\): give a list"),
        ([Ridge()], None, TypeError, r"models\[0\] is a Ridge: average joins the trees of models of arboretum"),
        ([arb.BoostedTreesRegressor()], None, NotFittedError, "is not fitted yet"),
        ("two", 3, ValueError, "weights=3: give one weight for each of the 2 models"),
        ("two", [1], ValueError, r"weights=\[1\]: give one weight for each of the 2 models"),
        ("two", [1, -1], ValueError, r"weights\[1\]=-1: use a finite number of at least 0"),
        ("two", [1, float("nan")], ValueError, r"weights\[1\]=nan: use a finite number"),
        ("two", [1, "1"], ValueError, r"weights\[1\]='1': use a finite number"),
        ("two", [0, 0.0], ValueError, "weights are all 0: give at least one model a weight above 0"),
    ],
)
def test_odd_arguments_are_refused(all_members, models, weights, error, message):
    given = all_members["numbers"][:2] if models == "two" else models
    with pytest.raises(error, match=message):
        arb.average(given, weights)
