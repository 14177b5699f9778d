"""Files of forests: what is saved comes back to the bit; what is damaged is refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from tests.estimators.test_random_forest import CLASSIFIERS, FORESTS, THREE, TWO, X, Y, make, output
from tests.reference.files import reloaded, seed_of

import arboretum as arb


def fitted(cls, **params):
    frame = pd.DataFrame(X, columns=list("abcde")).assign(town=np.where(X[:, 4] > 4, "Köln", "東京"))
    y = THREE if cls in CLASSIFIERS else Y
    return make(cls, **params).fit(frame, y), frame


def through_file(model, path):
    model.save(path)
    return arb.load(path)


WAYS = {
    "file": through_file,
    "pickle": lambda model, _: pickle.loads(pickle.dumps(model)),
    "deepcopy": lambda model, _: copy.deepcopy(model),
}


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_forests_come_back_to_the_bit(cls, way, tmp_path):
    model, frame = fitted(cls, bootstrap=True, n_estimators=40, oob_score=True)
    again = way(model, tmp_path / "m.arb")
    assert type(again) is cls
    assert again.fingerprint() == model.fingerprint()
    assert again.get_params() == model.get_params()
    assert (again.n_outputs_, again.n_features_in_, seed_of(again)) == (model.n_outputs_, 6, seed_of(model))
    np.testing.assert_array_equal(output(again, frame), output(model, frame), strict=True)
    assert again.oob_score_ == model.oob_score_


@pytest.mark.parametrize("cls", FORESTS)
def test_outputs_come_back(cls, tmp_path):
    y = np.column_stack([TWO, np.digitize(Y, [0.5, 1.8])])
    model = make(cls).fit(X, y)
    again = through_file(model, tmp_path / "m.arb")
    assert again.fingerprint() == model.fingerprint()
    np.testing.assert_array_equal(again.predict(X), model.predict(X), strict=True)


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
    "classes of two outputs": (lambda header, arrays: header["classes"].append(header["classes"][0]), "2 outputs"),
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
