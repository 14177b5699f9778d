"""Files of fitted models: what is saved comes back to the bit; what is damaged is refused or predicts safely."""

from __future__ import annotations

import errno
import io
import os
import pickle
import shutil
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from tests.reference.files import content

import arboretum as arb
from arboretum.model import model_file

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 4))
X[::9, 1] = np.nan
Y = X[:, 0] + np.nan_to_num(X[:, 1]) * X[:, 2]
FRAME = pd.DataFrame(
    {
        "town": RNG.choice(["Oslo", "Köln", "東京", 'a\n"b"'], 240),
        "size": X[:, 0],
        "day": np.datetime64("2024-01-01", "us") + RNG.integers(0, 10**15, 240),
        "flag": X[:, 2] > 0,
        "level": pd.Categorical(RNG.integers(0, 40, 240)),
    }
)


class Squared(arb.Loss):
    """A module-level class, so that pickles find it."""

    link = "exp"

    def values(self, y, raw):
        return 0.5 * (np.exp(raw) - y) ** 2

    def gradients(self, y, raw):
        mean = np.exp(raw)
        return (mean - y) * mean, mean * mean

    def start(self, y, weight):
        return np.log(np.atleast_1d(np.average(y, weights=weight)))


def fitted(cls, X, y, **params):
    return cls(**{"n_estimators": 6, **params}).fit(X, y), X


REGRESSOR, CLASSIFIER = arb.BoostedTreesRegressor, arb.BoostedTreesClassifier
THIRDS = np.digitize(Y, np.quantile(Y, [0.33, 0.66]))
MODELS = {
    "numbers": lambda: fitted(REGRESSOR, X, Y),
    "categories": lambda: fitted(REGRESSOR, FRAME, Y, min_samples_leaf=2),
    "symmetric": lambda: fitted(REGRESSOR, FRAME, Y, growth="symmetric", subsample=0.5),
    "unknown is missing": lambda: fitted(REGRESSOR, FRAME, Y, unknown="missing"),
    "unknown is an error": lambda: fitted(REGRESSOR, FRAME, Y, unknown="error", missing="error"),
    "poisson": lambda: fitted(REGRESSOR, X, np.abs(Y), loss="poisson"),
    "quantile": lambda: fitted(REGRESSOR, X, Y, loss="quantile", quantile=0.9),
    "huber": lambda: fitted(REGRESSOR, X, Y, loss="huber", quantile=0.8),
    "tweedie": lambda: fitted(REGRESSOR, X, np.abs(Y), loss="tweedie", power=1.2),
    "custom loss": lambda: fitted(REGRESSOR, X, np.abs(Y) + 1, loss=Squared()),
    "two classes": lambda: fitted(CLASSIFIER, X, Y > 0),
    "string labels": lambda: fitted(CLASSIFIER, FRAME, np.where(Y > 0, "größer", "kleiner")),
    "object labels": lambda: fitted(CLASSIFIER, X, np.array(["x", "yy", "zzz"], object)[THIRDS]),
    "three classes": lambda: fitted(
        CLASSIFIER, FRAME, np.array([10, 20, 70])[THIRDS], class_weight={10: 2.0}, category_levels=None
    ),
    "big labels": lambda: fitted(CLASSIFIER, X, np.array([2**63, 2**64 - 1], np.uint64)[(Y > 0).astype(int)]),
    "early stopping": lambda: fitted(REGRESSOR, X, Y, early_stopping=True, n_estimators=200, learning_rate=0.5),
    "constraints": lambda: fitted(
        REGRESSOR, FRAME, Y, monotonic_cst={"size": 1}, interaction_cst=[{"size", "day"}, {"town"}]
    ),
    "numpy parameters": lambda: fitted(
        REGRESSOR, X, Y, learning_rate=np.float32(0.3), categorical_features=np.array([False] * 4)
    ),
    "no trees of more than a leaf": lambda: fitted(REGRESSOR, np.zeros((9, 1)), np.arange(9.0)),
    "names that are no strings": lambda: fitted(REGRESSOR, pd.DataFrame(X), Y),
}


def through_file(model, path):
    model.save(path)
    return arb.load(path)


WAYS = {"file": through_file, "pickle": lambda model, _: pickle.loads(pickle.dumps(model))}


def outputs(model, X):
    names = ["predict", "apply"] + (["predict_proba", "decision_function"] if hasattr(model, "classes_") else [])
    return {name: getattr(model, name)(X) for name in names}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS.keys())
def test_model_comes_back_to_the_bit(build, way, tmp_path):  # XGB#5209, #5235, #6264, SK#5777
    model, table = build()
    again = way(model, tmp_path / "model.arb")
    assert type(again) is type(model)
    assert again.fingerprint() == model.fingerprint()
    assert (again.n_iter_, again.n_features_in_) == (model.n_iter_, model.n_features_in_)
    assert vars(again.history_) == vars(model.history_)
    assert again.schema_ == model.schema_
    assert (
        getattr(again, "feature_names_in_", np.array(0)).tolist()
        == getattr(model, "feature_names_in_", np.array(0)).tolist()
    )
    for name, expected in outputs(model, table).items():
        np.testing.assert_array_equal(outputs(again, table)[name], expected, strict=True)


@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS.keys())
def test_loaded_model_can_be_fitted_again(build, tmp_path):
    model, table = build()
    if isinstance(model.loss, arb.Loss):
        with pytest.raises(RuntimeError, match=r"custom loss .*Squared, which its file cannot carry: give loss="):
            clone(through_file(model, tmp_path / "model.arb")).fit(table, np.ones(len(table)))
        return
    y = model.predict(table) if hasattr(model, "classes_") else Y[: len(table)] ** 2 + 1
    again = clone(through_file(model, tmp_path / "model.arb")).fit(table, y)
    assert again.fingerprint() == clone(model).fit(table, y).fingerprint()


def test_pickle_keeps_the_custom_loss_itself():
    model, _ = MODELS["custom loss"]()
    again = pickle.loads(pickle.dumps(model))
    assert type(again.loss_) is Squared
    assert again.fit_more(X, np.abs(Y) + 1, n_estimators=2).n_iter_ == 8


def test_file_and_pickle_are_plain_data(tmp_path):
    """No code in the file; the pickle needs only the classes of its parameters."""
    model, _ = MODELS["three classes"]()
    model.save(tmp_path / "m.arb")
    assert b"pickle" not in (tmp_path / "m.arb").read_bytes()
    state = model.__getstate__()
    assert model_file.from_bytes(state["file"])[0]["model"] == "BoostedTreesClassifier"


def test_pickle_keeps_metadata_requests():
    """Workers of a parallel search get their estimators by pickle."""
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        model = arb.BoostedTreesRegressor().set_fit_request(sample_weight=True)
        again = pickle.loads(pickle.dumps(model))
        assert str(again.get_metadata_routing()) == str(model.get_metadata_routing())


def test_loaded_model_predicts_in_threads_and_after_its_file_is_replaced(tmp_path):
    model, table = MODELS["three classes"]()
    path = tmp_path / "m.arb"
    loaded = through_file(model, path)
    MODELS["numbers"]()[0].save(path)
    expected, found = model.predict_proba(table), []
    workers = [
        threading.Thread(target=lambda: found.append(np.array_equal(loaded.predict_proba(table), expected)))
        for _ in range(8)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [True] * 8


# --------------------------------------------------------------------------------------- files that are no models


def test_paths_that_are_no_model_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        arb.load(tmp_path / "nothing.arb")
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        arb.load(tmp_path)
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        MODELS["numbers"]()[0].save(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"the folder .* does not exist"):
        MODELS["numbers"]()[0].save(tmp_path / "no" / "folder.arb")


@pytest.mark.parametrize(
    ("content", "look"),
    [
        (b"", "it is empty"),
        (b"tree\nversion=v4\n", "a LightGBM text model"),
        (b"CBM1" + bytes(40), "a CatBoost model"),
        (b'{"learner": {}}', "JSON text"),
        (pickle.dumps([1, 2, 3]), "a Python pickle"),
        (bytes(range(256)), "random or damaged bytes"),
    ],
)
def test_file_of_another_program_is_named(content, look, tmp_path):
    (tmp_path / "m.arb").write_bytes(content)
    with pytest.raises(arb.ModelFileError, match=look):
        arb.load(tmp_path / "m.arb")


def test_every_truncation_is_refused(tmp_path):
    model, _ = MODELS["categories"]()
    path = tmp_path / "m.arb"
    model.save(path)
    whole = path.read_bytes()
    for size in sorted({0, 1, 8, 9, 100, len(whole) - 1, *range(0, len(whole), len(whole) // 40)}):
        path.write_bytes(whole[:size])
        with pytest.raises(arb.ModelFileError, match="model file"):
            arb.load(path)


def edited(model, change):
    """Write the file of a model after ``change(header, arrays)``, with a valid checksum."""
    header, arrays = content(model)
    change(header, arrays)
    return model_file.to_bytes(header, arrays)


def of(*path):
    """Set the entry of a header at this path."""

    def at(value):
        def change(header, arrays):
            for key in path[:-1]:
                header = header[key]
            header[path[-1]] = value

        return change

    return at


TAMPERED = {
    "another kind": (of("model")("Perceptron"), "a model of kind 'Perceptron'"),
    "kind of the other class": (of("model")("BoostedTreesRegressor"), "damaged model file"),
    "no kind of model": (of("model")("os.system"), "a model of kind 'os.system'"),
    "a base of models": (of("model")("BoostedTrees"), "a model of kind 'BoostedTrees'"),
    "offset of text": (of("has_offset")("yes"), "has_offset is 'yes': expected true or false"),
    "unknown parameter": (of("params", "no_such")(1), "parameters"),
    "parameters are a list": (of("params")([]), "parameters"),
    "unknown loss": (of("loss")({"name": "os.system"}), "unknown loss 'os.system'"),
    "loss of another task": (of("loss")({"name": "squared_error"}), "damaged model file"),
    "loss of more classes": (of("loss")({"name": "log_loss", "n_outputs": 4}), "outputs"),
    "loss is no object": (of("loss")(5), "damaged model file"),
    "no schema": (of("schema")(None), "schema"),
    "schema of too few columns": (lambda h, a: h["schema"]["columns"].pop(), "feature"),
    "columns of other kinds": (
        lambda h, a: h["schema"]["columns"].insert(0, h["schema"]["columns"].pop(1)),
        "damaged model",
    ),
    "history is no history": (
        of("history")({"training_loss": 5, "validation_loss": "x", "stopped_by": []}),
        "damaged model",
    ),
    "history of more fields": (of("history", "more")(1), "damaged model file"),
    "no classes": (lambda h, a: h.pop("classes"), "damaged model file"),
    "one class": (of("classes", "values")([10]), "classes"),
    "a class twice": (of("classes", "values")([10, 10, 70]), "classes"),
    "classes out of order": (of("classes", "values")([70, 10, 20]), "classes"),
    "classes of another type": (of("classes", "dtype")("O,O"), "damaged model file"),
    "classes wider than their labels": (of("classes", "dtype")("<U1000000"), "damaged model file"),
    "classes beyond their type": (of("classes")({"dtype": "|i1", "values": [10, 20, 7000]}), "damaged model file"),
    "classes that are lists": (
        of("classes", "values")([[1], [2], [3]]),
        r"invalid classes: values is \[\[1\], \[2\], \[3\]\], expected a list of text",
    ),
    "unknown policy": (of("params", "unknown")("bogus"), "damaged model file"),
}


@pytest.mark.parametrize(("change", "message"), TAMPERED.values(), ids=TAMPERED.keys())
def test_tampered_header_with_a_valid_checksum_is_refused(change, message, tmp_path):  # LGB#7357, #7437, #7438, CB#2826
    model, _ = MODELS["three classes"]()
    (tmp_path / "m.arb").write_bytes(edited(model, change))
    with pytest.raises(arb.ModelFileError, match=message):
        arb.load(tmp_path / "m.arb")


def entry(name, value, index=0):
    def change(header, arrays):
        arrays[name][index] = value

    return change


ARRAYS = {
    "child beyond the tree": (entry("left", 10**6), "left"),
    "child before its parent": (entry("right", 0), "right"),
    "feature beyond the columns": (entry("feature", 77), "feature"),
    "negative feature": (entry("feature", -5), "feature"),
    "unknown kind": (entry("kind", 9), "kind"),
    "value that is not finite": (entry("value", np.nan), "value"),
    "threshold of nothing": (entry("threshold", np.nan), "threshold"),
    "tree beyond the nodes": (entry("tree_start", 10**9, -1), "tree_start"),
    "set beyond the words": (entry("set_start", 10**12, -1), "set_start"),
    "output beyond the outputs": (entry("tree_output", 99), "tree_output"),
    "base of infinity": (entry("base", np.inf), "base"),
    "array that is lost": (lambda h, a: a.pop("left"), "left"),
    "array of another type": (lambda h, a: a.update(left=a["left"].astype("i8")), "left"),
}


@pytest.mark.parametrize(("change", "message"), ARRAYS.values(), ids=ARRAYS.keys())
def test_tampered_array_with_a_valid_checksum_is_refused(change, message, tmp_path):  # LGB#7357, #7437, #7438
    model, _ = MODELS["three classes"]()
    (tmp_path / "m.arb").write_bytes(edited(model, change))
    with pytest.raises(arb.ModelFileError, match=f"damaged model file: .*{message}"):
        arb.load(tmp_path / "m.arb")


# ------------------------------------------------------------------------------------------------- failing saves


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_failing_save_keeps_the_old_file(step, tmp_path, monkeypatch):
    path = tmp_path / "m.arb"
    old, _ = MODELS["numbers"]()
    old.save(path)

    def no_space(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    new, _ = MODELS["categories"]()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_space) if step == "fsync" else patch.setattr("pathlib.Path.replace", no_space)
        with pytest.raises(OSError, match=r"Cannot save to .*No space left on device"):
            new.save(path)
    assert arb.load(path).fingerprint() == old.fingerprint()
    assert [file.name for file in tmp_path.iterdir()] == ["m.arb"]
    new.save(path)
    assert arb.load(path).fingerprint() == new.fingerprint()


def test_round_trip_through_another_folder_and_bytes(tmp_path):
    model, table = MODELS["categories"]()
    model.save(str(tmp_path / "a.arb"))
    shutil.copy(tmp_path / "a.arb", tmp_path / "b.arb")
    model.save(tmp_path / "c.arb")
    assert (tmp_path / "b.arb").read_bytes() == (tmp_path / "c.arb").read_bytes()
    buffer = io.BytesIO()
    pickle.dump(model, buffer)
    np.testing.assert_array_equal(
        pickle.loads(buffer.getvalue()).predict(table), arb.load(tmp_path / "b.arb").predict(table)
    )


def test_callbacks_do_not_cost_the_file(tmp_path):
    """A function cannot be in a file; the model can."""
    model = arb.BoostedTreesRegressor(n_estimators=3, callbacks=[print_nothing]).fit(
        [[1.0], [2.0]] * 30, [0.0, 1.0] * 30
    )
    model.save(tmp_path / "m.arb")
    again = arb.load(tmp_path / "m.arb")
    assert again.callbacks is None
    assert again.fingerprint() == model.fingerprint()


def print_nothing(report):
    return None
