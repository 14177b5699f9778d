"""Files of forests: what is saved comes back to the bit; what is damaged is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.estimators.test_random_forest import CLASSIFIERS, FORESTS, THREE, X, Y, make
from tests.reference.files import reloaded

import arboretum as arb


def fitted(cls, **params):
    frame = pd.DataFrame(X, columns=list("abcde")).assign(town=np.where(X[:, 4] > 4, "Köln", "東京"))
    y = THREE if cls in CLASSIFIERS else Y
    return make(cls, **params).fit(frame, y), frame


def of(*path):
    def at(value):
        def change(header, arrays):
            for key in path[:-1]:
                header = header[key]
            header[path[-1]] = value

        return change

    return at


TAMPERED = {
    "no seed": (lambda header, arrays: header.pop("seed"), "seed"),
    "seed of text": (of("seed")("0"), r"seed=.*expected 0 ≤ seed < 2\*\*64|n_outputs=.*expected an integer"),
    "seed too large": (of("seed")(2**64), r"seed=.*expected 0 ≤ seed < 2\*\*64|n_outputs=.*expected an integer"),
    "no outputs": (of("n_outputs")(0), r"seed=.*expected 0 ≤ seed < 2\*\*64|n_outputs=.*expected an integer"),
    "half an output": (of("n_outputs")(1.0), r"seed=.*expected 0 ≤ seed < 2\*\*64|n_outputs=.*expected an integer"),
    "more outputs than values": (of("n_outputs")(2), "outputs"),
    "criterion of nothing": (of("params", "criterion")("os.system"), "criterion"),
    "draws of nothing": (of("params", "bootstrap")([]), "bootstrap"),
    "another class": (of("model")("BoostedTreesRegressor"), "damaged model file"),
    "unknown parameter": (of("params", "no_such")(1), "parameters"),
}
OF_CLASSES = {
    "classes are no list": (of("classes")(5), "damaged model file"),
    "classes of two outputs": (
        lambda header, arrays: header["classes"].append(header["classes"][0]),
        "classes: expected labels of 1 outputs, found 2",
    ),
    "a class less": (lambda header, arrays: header["classes"][0]["values"].pop(), "values per leaf"),
    "a class twice": (of("classes", 0, "values")(["low", "low", "top"]), "classes"),
    "no values": (of("classes", 0)({}), "values"),
    "voting of nothing": (of("params", "voting")("loud"), "voting"),
    "votes of nothing": (of("voting")("loud"), "voting is 'loud': expected 'soft' or 'hard'"),
}
CASES = [(cls, *case) for cls in FORESTS for case in TAMPERED.values()]
CASES += [(cls, *case) for cls in CLASSIFIERS for case in OF_CLASSES.values()]


KEPT = {
    "leaves of fewer trees": (
        lambda h, a: a.update(bag_leaves=a["bag_leaves"][:, :-1]),
        "bags: the shapes of the arrays",
    ),
    "copies of another type": (
        lambda h, a: a.update(bag_copies=a["bag_copies"] * 1.0),
        "bags: expected leaves as int32",
    ),
    "leaves beyond the trees": (
        lambda h, a: a["bag_leaves"].fill(10**6),
        "bags: expected one target per row, and leaves",
    ),
    "targets of other rows": (
        lambda h, a: a.update(bag_target=a["bag_target"][1:]),
        "bags: expected one target per row",
    ),
    "means of other outputs": (
        lambda h, a: a.update(oob_mean=a["oob_mean"][:, :0]),
        "out-of-bag predictions: the shape does not fit the forest",
    ),
    "a score of text": (of("oob_score")("good"), "oob_score is 'good': expected a number or null"),
    "no trees": (
        lambda h, a: a.update({name: a[name][: name.endswith("_start")] for name in a.keys() - {"base"}}),
        "the forest has no trees",
    ),
}


@pytest.mark.parametrize(("cls", "change", "message"), CASES)
def test_tampered_headers_are_refused(cls, change, message):
    model, _ = fitted(cls, n_estimators=2)
    with pytest.raises(arb.ModelFileError, match=message):
        reloaded(model, change)


@pytest.mark.parametrize(("change", "message"), KEPT.values(), ids=KEPT.keys())
def test_tampered_bags_are_refused(change, message):
    model, _ = fitted(arb.RandomForestRegressor, n_estimators=20, oob_score=True, keep_bags=True)
    assert reloaded(model).fingerprint() == model.fingerprint()
    with pytest.raises(arb.ModelFileError, match=message):
        reloaded(model, change)
