"""Single trees as text, drawings and files."""

from __future__ import annotations

import copy
import pickle
import random
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from tests.reference.decision_trees import (
    CARTS,
    PLAY,
    SCORE,
    TABLE,
    WEATHER,
    YES,
    X,
    classifier,
    mixed_table,
)
from tests.reference.files import content, loaded, reloaded

import arboretum as arb

mpl.use("Agg")


# --------------------------------------------------------------------------------------------- text and drawings


def test_text_of_a_binary_tree():
    model = classifier().fit([[1.0, "a"], [2.0, "b"], [3.0, "b"], [4.0, "b"]], ["x", "y", "y", "y"])
    assert (
        model.to_text() == "tree 0 of 1  (4 rows, gain 1.5)\n├── x0 <= 1.5 → x 1  (1 row)\n└── x0 > 1.5 → y 1  (3 rows)"
    )


@pytest.mark.parametrize("method", ["cart", "id3", "c45"])
def test_drawings(method):
    table = TABLE[["town"]].fillna("nowhere") if method == "id3" else TABLE
    model = classifier(method=method, pruning=None, max_depth=3).fit(table, YES)
    ax = model.plot_tree(max_depth=2)
    ax.figure.canvas.draw()
    boxes = [patch for patch in ax.patches if (patch.get_gid() or "").startswith("node ")]
    depths = model.tree_.depths if method != "cart" else model.forest_.depths
    assert {patch.get_gid() for patch in boxes} == {f"node {node}" for node in np.flatnonzero(depths <= 2)}
    extents = [patch.get_window_extent() for patch in boxes]
    for place, a in enumerate(extents):
        assert not any(a.overlaps(b) for b in extents[:place])
    texts = {text.get_text() for text in ax.texts}
    assert {"yes", "no"} <= texts  # of the legend
    if method == "id3":
        assert "town = nowhere" in texts
    plt.close(ax.figure)


def test_a_drawing_of_too_many_boxes_is_refused():
    table = pd.DataFrame({"level": [f"level {j}" for j in range(6000)]})
    model = classifier(method="id3").fit(table, np.arange(6000) % 2)
    with pytest.raises(ValueError, match="more than 5000 boxes cannot be read: lower max_depth"):
        model.plot_tree()


# ----------------------------------------------------------------------------------------------------------- files


SAVED = {
    **CARTS,
    "labels": (classifier(method="c45", pruning=None), np.array([10, 20, 70])[np.arange(400) % 3]),
    "flags": (classifier(method="c45", unknown="missing"), YES == "yes"),
}


@pytest.mark.parametrize("compact", [True, False])
@pytest.mark.parametrize(("model", "y"), SAVED.values(), ids=SAVED.keys())
def test_trees_come_back_to_the_bit(model, y, compact, tmp_path):
    model = clone(model).fit(TABLE, y)
    model.save(tmp_path / "tree.arb", compact=compact)
    for again in (arb.load(tmp_path / "tree.arb"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again.fingerprint() == model.fingerprint()
        assert again.get_params().keys() == model.get_params().keys()
        assert again.to_text() == model.to_text()
        np.testing.assert_array_equal(again.predict(TABLE), model.predict(TABLE))
        np.testing.assert_array_equal(again.apply(TABLE), model.apply(TABLE))
        np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)


def test_a_large_tree_of_many_branches_is_saved_compactly(tmp_path):
    table, y = mixed_table(9, 3000, missing=0.0)
    words = pd.DataFrame(
        {"town": table["town"], "street": table["street"], "tenth": pd.qcut(table["size"], 10).astype(str)}
    )
    model = classifier(method="id3").fit(words, y)
    for compact in (True, False):
        model.save(tmp_path / f"{compact}.arb", compact=compact)
        assert arb.load(tmp_path / f"{compact}.arb").fingerprint() == model.fingerprint()
    assert (tmp_path / "True.arb").stat().st_size < 0.6 * (tmp_path / "False.arb").stat().st_size


def entry(name, value, index=1):
    def change(header, arrays):
        arrays[name][index] = value

    return change


TAMPERED = {
    "parent after its child": (entry("parent", 9), "parent"),
    "branch beyond the categories": (entry("branch", 77), "branch"),
    "feature beyond the columns": (entry("feature", 9, 0), "feature"),
    "unknown kind": (entry("kind", 7), "kind"),
    "condition of another column": (entry("kind", 1, 0), "kind"),
    "counts of nothing": (entry("counts", np.nan), "counts"),
    "negative counts": (entry("counts", -1.0), "counts"),
    "gain of infinity": (entry("gain", np.inf, 0), "gain"),
    "no seed": (lambda header, arrays: header.pop("seed"), "seed"),
    "two outputs": (
        lambda header, arrays: header.update(n_outputs=2),
        "classes: expected labels of 2 outputs, found 1",
    ),
    "three classes": (lambda header, arrays: header["classes"][0].update(values=["a", "b", "c"]), "classes"),
    "classes of two outputs": (
        lambda header, arrays: header["classes"].append(header["classes"][0]),
        "classes: expected labels of 1 outputs, found 2",
    ),
    "array that is lost": (lambda header, arrays: arrays.pop("branch"), "branch"),
    "another method": (lambda header, arrays: header["params"].update(method="magic"), "method"),
    "foreign parameter": (lambda header, arrays: header["params"].update(criterion="entropy"), "criterion"),
}


@pytest.mark.parametrize(("change", "message"), TAMPERED.values(), ids=TAMPERED.keys())
def test_tampered_trees_are_refused(change, message):
    model = classifier(method="id3").fit(WEATHER, PLAY)
    with pytest.raises(arb.ModelFileError, match=f"damaged model file: .*{message}"):
        reloaded(model, change)


def test_a_file_of_two_trees_is_no_decision_tree():
    forest = arb.RandomForestRegressor(n_estimators=2).fit(X[:50], SCORE[:50])

    def change(header, arrays):
        header["model"], header["params"] = "DecisionTreeRegressor", {}

    with pytest.raises(arb.ModelFileError, match="a decision tree of 2 trees"):
        reloaded(forest, change)


def test_mutated_arrays_are_refused_or_predict():
    model = classifier(method="c45", pruning=None).fit(TABLE, YES)
    header, arrays = content(model)
    generator, seen = random.Random("mutations"), {"refused": 0, "predicted": 0}
    for _ in range(400):
        changed = {name: array.copy() for name, array in arrays.items()}
        name = generator.choice(sorted(changed))
        bits = changed[name].reshape(-1).view(np.uint8)
        bits[generator.randrange(len(bits))] = generator.choice([0, 1, 2, 3, 127, 255])
        try:
            again = loaded(header, changed)
        except arb.ModelFileError:
            seen["refused"] += 1
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # counts of 1e300
            assert again.predict_proba(TABLE.head(9)).shape == (9, 2)
        seen["predicted"] += 1
    assert min(seen.values()) > 40
