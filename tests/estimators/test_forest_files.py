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
}
CASES = [(cls, *case) for cls in FORESTS for case in TAMPERED.values()]
CASES += [(cls, *case) for cls in CLASSIFIERS for case in OF_CLASSES.values()]


@pytest.mark.parametrize(("cls", "change", "message"), CASES)
def test_tampered_headers_are_refused(cls, change, message):
    model, _ = fitted(cls, n_estimators=2)
    with pytest.raises(arb.ModelFileError, match=message):
        reloaded(model, change)
