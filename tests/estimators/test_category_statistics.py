"""Boosted trees that read statistics of categories: laws of the encoding, files, warm starts, constraints."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from tests.reference.files import content, loaded

import arboretum as arb
from arboretum.data.table import read_table
from arboretum.encoding.category_encoding import CategoryEncoding, learn_encoding
from arboretum.encoding.target_statistics import draw_orders


def towns(n_rows=600, seed=0, n_levels=40):
    """Return a column of many levels, one of few, numbers with holes, and a target that needs the levels."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "town": rng.integers(0, n_levels, n_rows).astype(str),
            "size": rng.normal(size=n_rows),
            "colour": rng.choice(["red", "blue"], n_rows),
            "shop": rng.integers(0, 25, n_rows).astype(str),
        }
    )
    effect = np.random.default_rng(99).normal(size=n_levels)
    score = effect[table["town"].astype(int)] + 0.5 * table["size"] + (table["colour"] == "red")
    table.loc[rng.random(n_rows) < 0.1, "size"] = np.nan
    table.loc[rng.random(n_rows) < 0.05, "shop"] = None
    return table, (score + 0.3 * rng.normal(size=n_rows)).to_numpy()


TABLE, SCORE = towns()
TARGETS = {"numbers": SCORE, "two classes": SCORE > 0.5, "three classes": np.digitize(SCORE, [0.0, 1.0])}
ENCODED = {"n_estimators": 15, "category_levels": 10, "min_samples_leaf": 5}


def model_of(y, **params):
    kind = arb.BoostedTreesRegressor if y.dtype.kind == "f" else arb.BoostedTreesClassifier
    return kind(**{**ENCODED, **params})


def outcome(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def mean_of_rows_before(codes, y, w, order, prior):
    """Return what the statistic of each row must be, by a plain loop."""
    values = np.empty(len(y))
    for place, row in enumerate(order):
        same = [other for other in order[:place] if codes[other] == codes[row]]
        values[row] = (sum(w[j] * y[j] for j in same) + prior) / (sum(w[j] for j in same) + 1)
    return values


# ------------------------------------------------------------------------------------------------ the encoded table


def test_columns_of_many_levels_are_replaced_and_others_kept():
    encoding = learn_encoding(read_table(TABLE), SCORE, category_levels=10)
    assert encoding.schema.names == [
        "colour",
        "size",
        "mean of target by shop",
        "frequency of shop",
        "mean of target by town",
        "frequency of town",
    ]
    assert [column.kind for column in encoding.schema.columns] == ["categorical"] + ["numeric"] * 5
    assert learn_encoding(read_table(TABLE), SCORE, category_levels=40) is None
    assert learn_encoding(read_table(TABLE[["size"]]), SCORE, category_levels=0) is None


def test_missing_is_a_level():
    """Shops have 25 levels and missing."""
    table = read_table(TABLE[["shop"]])
    assert learn_encoding(table, SCORE, category_levels=25) is not None
    assert learn_encoding(table, SCORE, category_levels=26) is None


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_training_rows_see_the_rows_before_them_alone(seed, weighted):
    rng = np.random.default_rng(seed)
    table = read_table(pd.DataFrame({"a": rng.integers(0, 5, 40).astype(str)}))
    y, w = rng.normal(size=40), rng.random(40) + 0.5 if weighted else None
    encoding = learn_encoding(table, y, category_levels=2, weight=w)
    encoded = encoding.ordered(table, y, w, 3, seed=7)
    (order,) = draw_orders(40, 1, seed=7, first=3)
    prior = encoding.statistics.statistics[0].prior
    expected = mean_of_rows_before(table.columns[0], y, np.ones(40) if w is None else w, order, prior)
    np.testing.assert_allclose(encoded.columns[0], expected, rtol=1e-12)


def test_combinations_are_all_of_a_size_while_they_fit():
    rng = np.random.default_rng(0)
    few = read_table(rng.integers(0, 6, (300, 4)), categorical_features=range(4))
    y = rng.normal(size=300)

    def n_combined(table, size):
        statistics = learn_encoding(table, y, category_levels=2, max_combination=size).statistics.statistics
        return len({one.columns for one in statistics if len(one.columns) > 1})

    assert [n_combined(few, size) for size in (1, 2, 3, 4, 9)] == [0, 6, 10, 11, 11]
    some = read_table(np.where(np.arange(4) < 2, rng.integers(0, 6, (300, 4)), 0), categorical_features=range(4))
    assert n_combined(some, 9) == 1  # columns of few levels are not combined
    many = read_table(rng.integers(0, 3, (300, 13)), categorical_features=range(13))  # 78 pairs
    assert n_combined(many, 2) <= 64


# --------------------------------------------------------------------------------------------------------- models


@pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS.keys())
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"growth": "symmetric", "category_combinations": 2},
        {"growth": "level", "category_orders": 1, "sampling": "mvs", "subsample": 0.7},
        {"dart_rate": 0.3, "category_orders": 3},
        {"ordered_boosting": 2, "early_stopping": True},
        {"leaf_model": "linear"},
    ],
    ids=["plain", "combined", "one order", "dart", "ordered", "linear"],
)
def test_models_are_the_same_for_any_threads_columns_and_copies(y, params, tmp_path):
    model = model_of(y, **params).fit(TABLE, y)
    mark = model.fingerprint()
    for n_jobs in (1, 2, 3, 8):
        assert clone(model).set_params(n_jobs=n_jobs).fit(TABLE, y).fingerprint() == mark
    assert clone(model).fit(TABLE[TABLE.columns[::-1]], y).fingerprint() == mark
    model.save(tmp_path / "model.arb")
    for copy in (arb.load(tmp_path / "model.arb"), pickle.loads(pickle.dumps(model))):
        assert copy.fingerprint() == mark
        np.testing.assert_array_equal(outcome(copy, TABLE), outcome(model, TABLE))
    assert clone(model).set_params(random_state=1).fit(TABLE, y).fingerprint() != mark


@pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS.keys())
@pytest.mark.parametrize("orders", [1, 3])
def test_more_rounds_are_those_of_one_fit(y, orders):
    whole = model_of(y, category_orders=orders).fit(TABLE, y)
    part = model_of(y, category_orders=orders, n_estimators=7).fit(TABLE, y)
    part.fit_more(TABLE, y, n_estimators=8)
    assert part.fingerprint() == whole.fingerprint()


def test_stages_end_at_the_prediction():
    model = model_of(SCORE, category_combinations=2).fit(TABLE, SCORE)
    *_, last = model.staged_predict(TABLE)
    np.testing.assert_allclose(last, model.predict(TABLE), rtol=1e-12)
    assert model.apply(TABLE).shape == (len(TABLE), 15)
    assert "by town" in "".join(model.to_text(tree) for tree in range(15))


def test_unseen_levels_take_the_prior():
    model = model_of(SCORE).fit(TABLE, SCORE)
    unseen = TABLE.assign(town="nowhere")
    encoded = model.model_.as_read(model.model_.conform(unseen), 1)
    place = encoded.schema.names.index("mean of target by town")
    np.testing.assert_allclose(encoded.columns[place], SCORE.mean())
    with pytest.raises(ValueError, match="nowhere"):
        model_of(SCORE, unknown="error").fit(TABLE, SCORE).predict(unseen)


def test_unseen_levels_may_count_as_missing():
    model = model_of(SCORE, unknown="missing").fit(TABLE, SCORE)
    a, b = (model.predict(TABLE.assign(shop=shop)) for shop in ("nowhere", None))
    np.testing.assert_array_equal(a, b)


def test_new_missing_values_are_noticed():
    with pytest.warns(UserWarning, match="missing values in columns that had none at fit: 'town'"):
        model_of(SCORE).fit(TABLE, SCORE).predict(TABLE.assign(town=None))


def test_constraints_name_the_users_columns():
    X = TABLE.assign(size=TABLE["size"].fillna(0.0))
    model = model_of(SCORE, n_estimators=40, monotonic_cst={"size": -1}).fit(X, SCORE)
    grid = pd.concat([X.iloc[[5]]] * 50).assign(size=np.linspace(-3, 3, 50))
    assert (np.diff(model.predict(grid)) <= 0).all()
    alone = model_of(SCORE, category_combinations=2, interaction_cst="no_interactions").fit(X, SCORE)
    sources = [{name} for name in ("colour", "size")] + [{s} for s in ("shop", "shop", "town", "town")]
    names = alone.encoding_.schema.names
    assert all(" × " not in names[f] for f in alone.forest_.feature[alone.forest_.feature >= 0])
    for begin, end in zip(alone.forest_.tree_start, alone.forest_.tree_start[1:], strict=False):
        used = {f for f in alone.forest_.feature[begin:end] if f >= 0}
        assert len(frozenset().union(*(sources[f] for f in used), frozenset())) <= 1
    with pytest.raises(ValueError, match="monotonic_cst on the categorical column 'town'"):
        model_of(SCORE, monotonic_cst={"town": 1}).fit(X, SCORE)


def test_members_of_ensembles_encode_for_themselves():
    bag = arb.BaggingRegressor(estimator=model_of(SCORE), n_estimators=5, max_samples=0.7).fit(TABLE, SCORE)
    assert np.corrcoef(bag.predict(TABLE), SCORE)[0, 1] > 0.8


def test_a_fit_without_many_levels_forgets_the_encoding():
    model = model_of(SCORE).fit(TABLE, SCORE)
    assert isinstance(model.encoding_, CategoryEncoding)
    assert model.fit(TABLE[["size", "colour"]], SCORE).encoding_ is None
    assert clone(model).fit(TABLE[["size", "colour"]], SCORE).fingerprint() == model.fingerprint()


def test_damaged_statistics_are_refused():
    model = model_of(SCORE).fit(TABLE, SCORE)
    header, arrays = content(model)
    with pytest.raises(arb.ModelFileError, match=r"level_keys\[1\] = \d+ must be at least 0 and rise"):
        loaded(header, {**arrays, "level_keys": arrays["level_keys"][::-1]})
    del header["statistics"]
    with pytest.raises(arb.ModelFileError, match="model file"):
        loaded(header, arrays)


# ----------------------------------------------------------------------------------------------- what they are for


def test_pure_noise_of_many_levels_does_not_overfit():
    """Every third row has a level of its own: a plain mean would tell its target."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"id": rng.integers(0, 700, 2000).astype(str)})
    y = rng.random(2000) < 0.5
    held_X, held_y = pd.DataFrame({"id": rng.integers(0, 700, 2000).astype(str)}), rng.random(2000) < 0.5
    model = model_of(y, n_estimators=50, category_orders=4).fit(X, y)

    def log_loss(rows, truth):
        p = model.predict_proba(rows)[:, 1]
        return -np.mean(np.log(np.where(truth, p, 1 - p)))

    assert log_loss(held_X, held_y) < 0.73


def test_statistics_beat_sets_where_levels_are_many():
    X, y = towns(6000, seed=1, n_levels=1500)
    held_X, held_y = towns(3000, seed=2, n_levels=1500)
    errors = {}
    for levels in (None, 10):
        model = model_of(y, n_estimators=100, category_levels=levels).fit(X, y)
        errors[levels] = np.mean((model.predict(held_X) - held_y) ** 2)
    assert errors[10] < errors[None]
