"""Trees of forests as estimators, as rows of a frame, and in file objects."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import arboretum as arb
from arboretum.estimators.protocol import Regressor

RNG = np.random.default_rng(3)
X = pd.DataFrame({"size": RNG.normal(size=120), "colour": RNG.choice(["red", "green", "blue", None], 120)})
X.loc[::7, "size"] = np.nan
KINDS = RNG.choice(["a", "b", "c"], 120)
NUMBERS = np.nan_to_num(X["size"].to_numpy()) + (X["colour"] == "red")
FORESTS = [
    arb.RandomForestClassifier(n_estimators=4, prior_trees=0.0),
    arb.ExtraTreesClassifier(n_estimators=4, class_weight="balanced", prior_trees=0.0),
    arb.RandomForestRegressor(n_estimators=4, criterion="absolute_error"),
    arb.ExtraTreesRegressor(n_estimators=4),
]
MODELS = [
    *FORESTS,
    arb.RandomForestClassifier(n_estimators=3, oblique=True),
    arb.BoostedTreesClassifier(n_estimators=3),
    arb.BoostedTreesClassifier(n_estimators=3, vector_leaves=True),
    arb.BoostedTreesRegressor(n_estimators=3, leaf_model="linear"),
    arb.DecisionTreeClassifier(),
    arb.DecisionTreeClassifier(method="c45"),
    arb.DecisionTreeClassifier(method="id3", categorical_features=[0]),
    arb.AdaBoostClassifier(n_estimators=3),
    arb.IsolationForest(n_estimators=3),
]


def fitted(model):
    return clone(model).fit(X, NUMBERS if isinstance(model, Regressor) else KINDS)


@pytest.mark.parametrize("model", FORESTS, ids=repr)
def test_a_forest_is_the_mean_of_its_estimators(model):
    model = fitted(model)
    assert len(model.estimators_) == len(model) == model.n_estimators
    ask = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    parts = [getattr(tree, ask)(X) for tree in model.estimators_]
    np.testing.assert_allclose(np.mean(parts, axis=0), getattr(model, ask)(X), rtol=1e-12)
    tree = model.estimators_[2]
    assert "tree 0 of 1" in tree.to_text() or "→" in tree.to_text()
    stream = io.BytesIO()
    tree.save(stream)
    stream.seek(0)
    assert arb.load(stream).fingerprint() == tree.fingerprint()


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_frame_has_every_node(model, backend):
    model = fitted(model)
    frame = model.to_frame(backend)
    table = frame if backend == "pandas" else frame.to_pandas()
    assert set(table["tree"]) == set(range(len(model)))
    children = table[table["parent"] >= 0]
    roots = table[table["parent"] < 0]
    assert (roots["node"] == 0).all()
    assert len(roots) == len(model)
    assert roots["condition"].isna().all()
    assert children["condition"].notna().all()
    parents = table.set_index(["tree", "node"]).loc[list(zip(children["tree"], children["parent"], strict=True))]
    assert (parents["depth"].to_numpy() + 1 == children["depth"].to_numpy()).all()
    named = [name in text for name, text in zip(parents["feature"], children["condition"], strict=True)]
    assert all(named)
    np.testing.assert_allclose(  # rows of siblings add up to those of the parent
        children.groupby(["tree", "parent"])["rows"].sum().sort_index().to_numpy(),
        table[table["feature"].notna()].set_index(["tree", "node"])["rows"].sort_index().to_numpy(),
    )


def test_a_frame_tells_classes_apart():
    boosted = arb.BoostedTreesClassifier(n_estimators=2).fit(X, KINDS).to_frame()
    assert boosted.groupby("tree")["output"].first().tolist() == ["a", "b", "c"] * 2
    forest = arb.RandomForestClassifier(n_estimators=2).fit(X, KINDS).to_frame()
    np.testing.assert_allclose(forest[["value of a", "value of b", "value of c"]].sum(axis=1), 1.0)


def test_a_backend_is_one_of_three():
    with pytest.raises(ValueError, match="backend='excel': use one of 'pandas', 'polars', 'pyarrow'"):
        fitted(FORESTS[0]).to_frame("excel")


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(ImportError, match=r"to_frame\(backend='polars'\) needs polars: pip install polars"):
        fitted(FORESTS[0]).to_frame("polars")


@pytest.mark.parametrize("model", [*FORESTS, arb.BaggingClassifier(), arb.IsolationForest()], ids=repr)
def test_models_are_true_and_unfitted_ones_have_no_length(model):
    assert model
    with pytest.raises(ValueError, match="is not fitted yet"):
        len(model)


def test_classes_are_counted():
    assert arb.RandomForestClassifier(n_estimators=2).fit(X, KINDS).n_classes_ == 3
    several = arb.RandomForestClassifier(n_estimators=2).fit(X, np.column_stack([KINDS, KINDS == "a"]).astype(str))
    assert several.n_classes_ == [3, 2]
    assert arb.BaggingClassifier(n_estimators=2).fit(X, KINDS).n_classes_ == 3
    assert not hasattr(arb.RandomForestClassifier(), "n_classes_")


# ---- classes that weigh alike in every bag -------------------------------------------------------------------------


def rare_class():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(600, 3)), np.zeros(600, int)
    labels[:30] = 1
    rows[:30] += 0.8
    return rows, labels


def test_balanced_subsample_draws_alike_from_each_class():
    rows, labels = rare_class()
    model = arb.RandomForestClassifier(n_estimators=20, class_weight="balanced_subsample").fit(rows, labels)
    assert (model.forest_.value[model.forest_.tree_start[:-1], 0] == 0.5).all()
    drawn = arb.RandomForestClassifier(n_estimators=20, bootstrap="balanced").fit(rows, labels)
    assert model.fingerprint() == drawn.fingerprint()
    weighted = arb.RandomForestClassifier(n_estimators=20, class_weight="balanced").fit(rows, labels)
    assert not (weighted.forest_.value[weighted.forest_.tree_start[:-1], 0] == 0.5).all()


def test_without_bags_balanced_subsample_is_balanced():
    rows, labels = rare_class()
    models = [arb.ExtraTreesClassifier(n_estimators=5, class_weight=w) for w in ("balanced", "balanced_subsample")]
    assert len({model.fit(rows, labels).fingerprint() for model in models}) == 1


def test_only_forests_have_bags_to_balance():
    for model in (arb.DecisionTreeClassifier, arb.BoostedTreesClassifier):
        with pytest.raises(ValueError, match="class_weight='balanced_subsample'"):
            model(class_weight="balanced_subsample").fit(*rare_class())


# ---- warm starts of isolation forests ------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_isolation_trees_can_be_added(sparse):
    from scipy.sparse import csr_matrix

    rows = RNG.normal(size=(300, 3)) * (RNG.random((300, 3)) < 0.5)
    rows = csr_matrix(rows) if sparse else rows
    grown = arb.IsolationForest(n_estimators=5, warm_start=True, contamination=0.1).fit(rows)
    stream = io.BytesIO()
    grown.save(stream)
    stream.seek(0)
    for model in (grown, arb.load(stream)):
        model.set_params(n_estimators=12).fit(rows)
        assert model.fingerprint() == arb.IsolationForest(n_estimators=12, contamination=0.1).fit(rows).fingerprint()
        assert model.fit(rows).forest_.n_trees == 12
        with pytest.raises(ValueError, match="n_estimators=3 is less than the 12 trees already fitted"):
            model.set_params(n_estimators=3).fit(rows)
        with pytest.raises(ValueError, match="the rows per tree are not those of the fitted trees"):
            model.set_params(n_estimators=15).fit(rows[:100])


# ---- decision function of bagged classifiers -----------------------------------------------------------------------


@pytest.mark.parametrize("labels", [KINDS, KINDS == "a"], ids=["three classes", "two classes"])
@pytest.mark.parametrize("base", [None, arb.BoostedTreesClassifier(n_estimators=3)], ids=["trees", "boosted"])
def test_the_decision_function_ranks_as_probabilities_do(labels, base):
    model = arb.BaggingClassifier(estimator=base, n_estimators=3).fit(X, labels)
    scores, proba = model.decision_function(X), model.predict_proba(X)
    assert np.isfinite(scores).all()
    if scores.ndim == 1:
        assert ((scores > 0) == (proba[:, 1] > 0.5)).all()
    else:
        np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))


# ---- file objects --------------------------------------------------------------------------------------------------


def test_file_objects_must_take_bytes(tmp_path):
    model = fitted(FORESTS[0])
    with (
        (tmp_path / "m.txt").open("w") as file,
        pytest.raises(TypeError, match=r"it takes text. Open it with mode 'wb'"),
    ):
        model.save(file)
    with (tmp_path / "m.txt").open() as file, pytest.raises(TypeError, match=r"gives str. Open it with mode 'rb'"):
        arb.load(file)
    with pytest.raises(TypeError, match="Cannot save to 3: give a path, or a file object"):
        model.save(3)
    with pytest.raises(TypeError, match="Cannot load 3: give a path, or a file object"):
        arb.load(3)
    with pytest.raises(arb.ModelFileError, match="model file"):
        arb.load(io.BytesIO(b"no model"))
    (tmp_path / "m.arb").write_bytes(b"")
    with (tmp_path / "m.arb").open("rb") as file, pytest.raises(ValueError, match=r"write\. Open it with mode 'wb'"):
        model.save(file)
    with pytest.raises(ValueError, match=r"closed file\. Open it with mode 'rb'"):
        arb.load(file)
    with pytest.raises(TypeError, match="Cannot load ") as caught:
        arb.load(bytes(1_000_000))
    assert len(str(caught.value)) < 1000


class Slow(io.RawIOBase):
    """Takes and gives a hundred bytes at a time, as sockets may."""

    def __init__(self) -> None:
        self.content = io.BytesIO()

    def write(self, data):
        return self.content.write(bytes(data)[:100])

    def read(self, size=-1):
        return self.content.read(100)


def test_file_objects_may_take_and_give_some_bytes_at_a_time():
    model, file = fitted(FORESTS[0]), Slow()
    model.save(file)
    file.content.seek(0)
    assert arb.load(file).fingerprint() == model.fingerprint()


def test_only_numeric_conditions_have_a_threshold():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=200), "town": np.array(["a", "b", "c"])[rng.integers(0, 3, 200)]})
    y = table["x"].to_numpy() + 3 * (table["town"] == "b").to_numpy()
    frame = arb.RandomForestRegressor(n_estimators=3).fit(table, y).to_frame()
    assert (frame["threshold"].notna() == (frame["feature"] == "x")).all()
    assert {"x", "town"} <= set(frame["feature"].dropna())
