"""Files, pickles and copies: every model comes back to the bit, with all that it knows."""

from __future__ import annotations

import copy
import io
import pickle
from dataclasses import fields, is_dataclass

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from tests.reference.every_estimator import ANSWERS, CASES, VARIANTS, framed

import arboretum as arb
from arboretum.estimators.protocol import Estimator

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of few rows

MORE_ANSWERS = ("decision_function", "predict_interval", "predict_outcome")
ARGUMENTS = {"predict_interval": {"coverage": 0.5}}


def through_file(model, path, compact=True):
    model.save(path, compact=compact)
    return arb.load(path)


def through_file_object(model, _):
    file = io.BytesIO()
    model.save(file)
    return arb.load(io.BytesIO(file.getvalue()))


def through_joblib(model, path):
    joblib.dump(model, path)
    return joblib.load(path)


WAYS = {
    "file": through_file,
    "plain file": lambda model, path: through_file(model, path, compact=False),
    "file object": through_file_object,
    "pickle": lambda model, _: pickle.loads(pickle.dumps(model)),
    "deepcopy": lambda model, _: copy.deepcopy(model),
    "joblib": through_joblib,
    "file of a pickle of a file": lambda model, path: through_file(
        pickle.loads(pickle.dumps(through_file(model, path))), path
    ),
}


def plain(value):
    """Return a value of a fitted attribute in a form that ``==`` compares: arrays as lists, models by their trees."""
    if isinstance(value, Estimator):
        fitted = hasattr(value, "n_features_in_")
        return type(value), plain(value.get_params(deep=False)), value.fingerprint() if fitted else None
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, [plain(item) for item in value.tolist()]
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, arb.Loss):
        return type(value), [plain(getattr(value, field.name)) for field in fields(value) if field.compare]
    return "NaN" if value != value else value


def known(model):
    """Fitted attributes by name, those that have a value; fingerprints tell encodings."""
    return {
        name: plain(value)
        for name, value in vars(model).items()
        if name.endswith("_") and not name.startswith("_") and value is not None and name != "encoding_"
    }


def told(model, X):
    """Return what every method says of rows."""
    methods = [*ANSWERS, *MORE_ANSWERS, *(["apply"] if hasattr(model, "forest_") else [])]
    return {name: plain(getattr(model, name)(X, **ARGUMENTS.get(name, {}))) for name in methods if hasattr(model, name)}


def given(model):
    """Parameters; files of bagging name the learner that None stands for."""
    params = model.get_params(deep=False)
    return plain({name: value for name, value in params.items() if name != "estimator" or value is not None})


@pytest.mark.parametrize("case", [*CASES, *VARIANTS], ids=str)
def test_models_come_back_to_the_bit(case, tmp_path):  # XGB#5209, #5235, #6264, SK#5777
    rows = framed(case.problem(60))
    model = case.fitted(rows)
    answers, attributes = told(model, rows["X"]), known(model)
    for label in WAYS if case in CASES else ("file", "pickle"):
        again = WAYS[label](model, tmp_path / "model.arb")
        assert type(again) is type(model)
        assert again.fingerprint() == model.fingerprint(), label
        assert given(again).items() >= given(model).items(), label
        assert known(again) == attributes, label
        assert told(again, rows["X"]) == answers, label


@pytest.mark.parametrize("case", [*CASES, *VARIANTS], ids=str)
def test_a_loaded_model_is_fitted_again(case, tmp_path):
    rows = framed(case.problem(60))
    model = case.fitted(rows)
    again = through_file(model, tmp_path / "model.arb")
    expected = model.fingerprint()
    assert again.fit(**rows).fingerprint() == expected
    assert clone(again).fit(**rows).fingerprint() == expected


@pytest.mark.parametrize("case", CASES, ids=str)
def test_unfitted_models_are_pickled_with_their_parameters(case):
    model = case.make()
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), clone(model)):
        assert plain(again.get_params(deep=False)) == plain(model.get_params(deep=False))
        assert known(again) == {}
