"""Members of other libraries in model files: kept by skops or pickle, read by consent alone."""

from __future__ import annotations

import io
import pickle
import random
import subprocess
import sys
from functools import cache
from typing import Any

import numpy as np
import pytest
from benchmarks.faults.mutations import mutate, mutate_content
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from tests.reference.files import content, loaded

import arboretum as arb
from arboretum.ensembles.members.goals import OneClass
from arboretum.model.foreign import FORMS, ConsentError, consent

pytest.importorskip("skops")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of few rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] + RNG.normal(size=60) / 4
LABELS = np.array(["no", "yes"])[(Y > 0).astype(int)]
LINE = "sklearn.linear_model._base.LinearRegression"
each_form = pytest.mark.parametrize("form", FORMS)


def scaled() -> Pipeline:
    return make_pipeline(StandardScaler(), Ridge(alpha=2.0))


def bag(estimator: Any = None, **params: Any) -> Any:
    base = LinearRegression() if estimator is None else estimator
    return arb.BaggingRegressor(estimator=base, n_estimators=2, **params)


def classes_of(estimator: Any) -> Any:
    return arb.BaggingClassifier(estimator=estimator, n_estimators=2)


def boosted(estimator: Any) -> Any:
    return arb.AdaBoostRegressor(estimator=estimator, n_estimators=2)


def additive(*estimators: Any) -> Any:
    return arb.AdditiveBoostingRegressor(estimators=list(estimators), n_estimators=3)


def intervals(estimator: Any, **params: Any) -> Any:
    return arb.ConformalRegressor(estimator=estimator, n_folds=2, **params)


def calibrated(estimator: Any) -> Any:
    return arb.CalibratedClassifier(estimator=estimator, n_folds=2)


def tree() -> Any:
    return arb.DecisionTreeRegressor(max_depth=2)


MODELS = {
    "bag of lines": bag,
    "bag of pipelines": lambda: bag(scaled(), max_features=2),
    "bag of classifiers": lambda: classes_of(LogisticRegression(C=0.5)),
    "AdaBoost of lines": lambda: boosted(LinearRegression()),
    "AdaBoost of pipelines": lambda: boosted(scaled()),
    "AdaBoost of classifiers": lambda: arb.AdaBoostClassifier(estimator=LogisticRegression(), n_estimators=2),
    "sum of a line and a tree": lambda: additive(("line", LinearRegression()), ("tree", tree())),
    "sum of pipelines": lambda: additive(scaled()),
    "calibrated classifier": lambda: calibrated(LogisticRegression()),
    "intervals around a line": lambda: intervals(LinearRegression(), adaptive=False),
    "intervals around a pipeline": lambda: intervals(scaled()),
    "bag of bags": lambda: bag(bag()),
    "bag of calibrated classifiers": lambda: classes_of(calibrated(LogisticRegression())),
    "sum of bags of pipelines": lambda: additive(("bags", bag(scaled())), ("tree", tree())),
    "bag of sums of lines without names": lambda: bag(additive(LinearRegression(), bag(Ridge()))),
    "intervals around a sum of bags": lambda: intervals(additive(("bags", bag()), ("tree", tree()))),
}


@cache
def fitted(name: str) -> Any:
    """Return a model that no test may change."""
    model = MODELS[name]()
    return model.fit(X, LABELS if model.estimator_type == "classifier" else Y)


def told(model: Any) -> list[np.ndarray]:
    """Return what a model says of rows that it has not seen, and of those that it has."""
    names = ("predict", "predict_proba", "decision_function", "predict_interval")
    rows = np.concatenate([X, 3 * X])
    return [getattr(model, name)(rows) for name in names if hasattr(model, name)]


def saved(model: Any, **how: Any) -> bytes:
    file = io.BytesIO()
    model.save(file, **how)
    return file.getvalue()


def load(data: bytes, **how: Any) -> Any:
    return arb.load(io.BytesIO(data), **how)


# ---- the way there and back ------------------------------------------------------------------------------------------


@each_form
@pytest.mark.parametrize("name", MODELS)
def test_models_come_back_to_the_bit(name, form, tmp_path):
    model, path = fitted(name), tmp_path / "model.arb"
    expected = told(model)
    model.save(path, foreign=form)
    ways = [
        arb.load(path, foreign=form),
        load(saved(model, foreign=form, compact=False), foreign=form),
        load(saved(arb.load(path, foreign=form), foreign=form), foreign=form),
    ]
    for again in ways:
        assert type(again) is type(model)
        assert repr(again) == repr(model)
        for found, answer in zip(told(again), expected, strict=True):
            np.testing.assert_array_equal(found, answer)


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_is_fitted_again(name):
    model = fitted(name)
    again = load(saved(model, foreign="pickle"), foreign="pickle")
    again.fit(X, LABELS if model.estimator_type == "classifier" else Y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@each_form
@pytest.mark.parametrize("name", MODELS)
def test_files_are_refused_without_consent(name, form):
    data = saved(fitted(name), foreign=form)
    other = next(other for other in FORMS if other != form)
    for how, words in (({}, form), ({"foreign": other}, f"{form}, not with {other}")):
        with pytest.raises(arb.ModelFileError, match=f"other libraries, written with {words}: sklearn") as caught:
            load(data, **how)
        assert f"Load it with arboretum.load(path, foreign={form!r})" in str(caught.value)
        assert ("a pickle can run any code" in str(caught.value)) == (form == "pickle")


def test_the_error_lists_classes_and_members():
    data = saved(arb.BaggingRegressor(estimator=LinearRegression(), n_estimators=5).fit(X, Y), foreign="skops")
    with pytest.raises(ConsentError) as caught:
        load(data)
    assert f": {LINE} in 'base 0', 'member 0', 'member 1' and 3 more. Load it" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@each_form
def test_files_of_our_own_members_do_not_mind(form):
    model = bag(tree()).fit(X, Y)
    assert saved(model, foreign=form) == saved(model)
    assert load(saved(model), foreign=form).fingerprint() == model.fingerprint()
    assert "foreign" not in content(model)[0]


def test_consent_ends_with_the_call():
    data = saved(bag().fit(X, Y), foreign="pickle")
    load(data, foreign="pickle")
    with pytest.raises(arb.ModelFileError, match="damaged"):
        load(data[:-1] + b"?", foreign="pickle")
    with pytest.raises(ConsentError, match="written with pickle"):
        load(data)
    with pytest.raises(TypeError, match="save needs members of arboretum"):
        saved(bag().fit(X, Y))


# ---- what a file holds -----------------------------------------------------------------------------------------------


@each_form
def test_the_header_names_every_class(form):
    header, arrays = content(fitted("sum of bags of pipelines"), foreign=form)
    assert header["foreign"] == {"form": form, "classes": {"base 0": "sklearn.pipeline.Pipeline"}}
    header, arrays = content(fitted("bag of lines"), foreign=form)
    assert header["estimator"] == {"foreign": "base 0"}
    assert header["foreign"]["classes"] == {name: LINE for name in ("base 0", "member 0", "member 1")}
    assert all(arrays[name].dtype == np.uint8 for name in header["foreign"]["classes"])


def test_skops_archives_are_compressed_unless_asked():
    model = fitted("bag of pipelines")
    assert len(saved(model, foreign="skops")) < len(saved(model, foreign="skops", compact=False)) / 2


def test_pickles_have_a_fixed_protocol():
    header, arrays = content(fitted("bag of lines"), foreign="pickle")
    assert {bytes(arrays[name][:2]) for name in header["foreign"]["classes"]} == {b"\x80\x05"}


def test_the_base_is_kept_without_what_the_user_fitted():
    base = LinearRegression().fit(X, Y)
    again = load(saved(bag(base).fit(X, Y), foreign="pickle"), foreign="pickle")
    assert "coef_" not in vars(again.estimator)
    assert "coef_" in vars(again.estimators_[0])


@each_form
def test_loaded_models_have_no_fingerprint(form):
    model = load(saved(bag().fit(X, Y), foreign=form), foreign=form)
    with pytest.raises(TypeError, match=r"^fingerprint needs members of arboretum, not LinearRegression: other"):
        model.fingerprint()


# ---- members that are special ----------------------------------------------------------------------------------------


@each_form
def test_bags_of_one_class_are_kept(form):
    labels = np.array(["a"] * 58 + ["b"] * 2)
    model = arb.BaggingClassifier(estimator=LogisticRegression(), n_estimators=12, max_samples=10).fit(X, labels)
    assert {type(member) for member in model.estimators_} == {LogisticRegression, OneClass}
    again = load(saved(model, foreign=form), foreign=form)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


class Lengths(Ridge):
    """A regressor of documents, which has no columns."""

    def fit(self, X, y):
        super().fit([[len(text)] for text in X], y)
        del self.n_features_in_
        return self

    def predict(self, X):
        return super().predict([[len(text)] for text in X])


def test_members_need_not_tell_their_columns():
    texts = ["a" * n for n in range(40)]
    model = intervals(Lengths(), adaptive=False).fit(texts, np.arange(40.0))
    again = load(saved(model, foreign="pickle"), foreign="pickle")
    np.testing.assert_array_equal(again.predict_interval(texts), model.predict_interval(texts))


def test_types_that_skops_does_not_trust_are_named():
    model = bag(KNeighborsRegressor()).fit(X, Y)
    data = saved(model, foreign="skops")
    types = ["sklearn.metrics._dist_metrics.EuclideanDistance64", "sklearn.neighbors._kd_tree.KDTree"]
    with pytest.raises(ConsentError) as caught:
        load(data, foreign="skops", trusted=types[:1])
    assert str(caught.value) == (
        f"the file holds types that skops does not trust: {types[1]}. Load it with arboretum.load(path, "
        f"foreign='skops', trusted={types}): do this only if you trust these types"
    )
    again = load(data, foreign="skops", trusted=types)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_pipelines_that_end_with_a_model_of_ours():
    model = bag(make_pipeline(StandardScaler(), arb.BoostedTreesRegressor(n_estimators=2))).fit(X, Y)
    by_pickle = load(saved(model, foreign="pickle"), foreign="pickle")
    np.testing.assert_array_equal(by_pickle.predict(X), model.predict(X))
    data = saved(model, foreign="skops")
    with pytest.raises(ConsentError, match=r"trust: arboretum\.estimators\.boosted_trees\.BoostedTreesR") as caught:
        load(data, foreign="skops")
    by_skops = load(data, foreign="skops", trusted=caught.value.allowed.trusted)
    np.testing.assert_array_equal(by_skops.predict(X), model.predict(X))


def test_what_a_form_cannot_keep_is_not_written(tmp_path):
    path = tmp_path / "model.arb"
    model = bag(make_pipeline(FunctionTransformer(lambda rows: rows), Ridge())).fit(X, Y)
    for form, other in (("skops", "pickle"), ("pickle", "skops")):
        words = rf"^foreign='{form}' cannot keep base 0, a Pipeline \(.*lambda.*\): try foreign='{other}'$"
        with pytest.raises(TypeError, match=words):
            model.save(path, foreign=form)
    assert list(tmp_path.iterdir()) == []


# ---- options ---------------------------------------------------------------------------------------------------------


def test_the_error_of_save_names_the_option(tmp_path):
    model = fitted("bag of bags")
    words = r"not LinearRegression: pickle or skops keep other estimators, by save\(path, foreign='skops'\) or save"
    with pytest.raises(TypeError, match=words):
        model.save(tmp_path / "model.arb")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["joblib", "", True, 1, ["skops"], {}])
def test_odd_forms_are_refused(form, tmp_path):
    model = bag(tree()).fit(X, Y)
    model.save(tmp_path / "model.arb")
    for call in (model.save, arb.load):
        with pytest.raises(ValueError, match=r"^foreign=.*: use 'skops', 'pickle' or None$"):
            call(tmp_path / "model.arb", foreign=form)


def test_odd_trusted_types_are_refused():
    data = saved(bag(tree()).fit(X, Y))
    load(data, foreign="skops", trusted=(name for name in ["a.B"]))
    for trusted in ("sklearn.tree.Tree", [3], 3, None):
        with pytest.raises(ValueError, match=r"^trusted=.*: use a list of names of types"):
            load(data, foreign="skops", trusted=trusted)
    for form in (None, "pickle"):
        with pytest.raises(ValueError, match=r"^trusted=\['a.B'\] counts only with foreign='skops', not with foreign="):
            load(data, foreign=form, trusted=["a.B"])


def test_missing_skops_is_told_before_anything_is_written(tmp_path, monkeypatch):
    path, model = tmp_path / "model.arb", bag().fit(X, Y)
    model.save(path, foreign="skops")
    before = path.read_bytes()
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for call in (model.save, arb.load):
        with pytest.raises(ImportError, match=r"^foreign='skops' needs skops: pip install 'arboretum\[foreign\]'$"):
            call(path, foreign="skops")
    assert path.read_bytes() == before
    assert load(saved(model, foreign="pickle"), foreign="pickle").predict(X).tolist() == model.predict(X).tolist()


def test_skops_is_imported_only_for_its_members(tmp_path):
    bag(tree()).fit(X, Y).save(tmp_path / "own.arb")
    bag().fit(X, Y).save(tmp_path / "other.arb", foreign="skops")
    program = """if True:
        import sys, arboretum as arb
        assert not {"skops", "sklearn"} & set(sys.modules)
        arb.load(sys.argv[1], foreign="skops")
        try:
            arb.load(sys.argv[2])
        except arb.ModelFileError:
            assert not {"skops", "sklearn"} & set(sys.modules)
        arb.load(sys.argv[2], foreign="skops")
        assert {"skops", "sklearn"} <= set(sys.modules)
    """
    command = [sys.executable, "-c", program, tmp_path / "own.arb", tmp_path / "other.arb"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- files of unknown origin -----------------------------------------------------------------------------------------

RAN: list[str] = []


def run(word: str) -> LinearRegression:
    RAN.append(word)
    return LinearRegression()


class Bomb:
    """What an attacker puts into a pickle."""

    def __reduce__(self) -> Any:
        return run, ("code",)


def test_no_code_runs_without_consent_to_pickle():
    header, arrays = content(bag().fit(X, Y), foreign="pickle")
    arrays["base 0"] = np.frombuffer(pickle.dumps(Bomb()), np.uint8)
    RAN.clear()
    for how in ({}, {"foreign": "skops"}):
        with pytest.raises(ConsentError):
            loaded(header, arrays, **how)
    lie = {**header, "foreign": {**header["foreign"], "form": "skops"}}
    with pytest.raises(arb.ModelFileError, match=f"cannot read base 0, of class {LINE}, with skops: BadZipFile"):
        loaded(lie, arrays, foreign="skops")
    hidden = {**header, "foreign": {**header["foreign"], "classes": {"member 0": LINE, "member 1": LINE}}}
    with pytest.raises(arb.ModelFileError):
        loaded(hidden, arrays, foreign="pickle")
    assert RAN == []
    loaded(header, arrays, foreign="pickle")
    assert RAN == ["code"]


def test_a_pickle_inside_a_file_inside_a_file_needs_consent_to_pickle():
    model = bag(bag()).fit(X, Y)
    header, arrays = content(model, foreign="skops")
    _, others = content(model, foreign="pickle")
    with pytest.raises(ConsentError, match="written with pickle, not with skops"):
        loaded(header, {**arrays, "member 0": others["member 0"]}, foreign="skops")


def put(*keys: Any, value: Any) -> Any:
    def change(header: Any, arrays: Any) -> None:
        for key in keys[:-1]:
            header = header[key]
        header[keys[-1]] = value

    return change


def put_array(name: str, value: Any) -> Any:
    return lambda header, arrays: arrays.__setitem__(name, value)


DAMAGE: dict[str, tuple[Any, str]] = {
    "no list": (lambda h, a: h.pop("foreign"), "array of a base is 'base 0', expected a key of classes"),
    "a list that is text": (
        put("foreign", value="skops"),
        "entry 'foreign': it must be an object with the keys",
    ),
    "a list with more keys": (put("foreign", "more", value=1), r"it must be an object .* got \['classes'"),
    "another form": (put("foreign", "form", value="dill"), "form is 'dill', expected one of skops, pickle"),
    "a form that is a list": (put("foreign", "form", value=[]), r"form is \[\], expected one of skops, pickle"),
    "no classes": (put("foreign", "classes", value={}), r"classes is \{\}, expected class names by names of arrays"),
    "a class that is a number": (
        put("foreign", "classes", "member 0", value=3),
        "class of 'member 0' is 3, expected the name of a class",
    ),
    "a class with controls": (
        put("foreign", "classes", "member 0", value="\x1b[2J"),
        r"class of 'member 0' is '\\x1b\[2J', expected the name of a class",
    ),
    "another class": (
        put("foreign", "classes", "member 0", value="sklearn.linear_model.Lasso"),
        "class of 'member 0' is 'sklearn.linear_model.Lasso', expected sklearn.linear_model._base.LinearRegression",
    ),
    "an array that is not there": (
        put("foreign", "classes", "member 9", value=LINE),
        "'member 9' is 'no array', expected bytes of",
    ),
    "numbers instead of bytes": (
        put_array("member 0", np.zeros(3)),
        r"'member 0' is \('float64', \(3,\)\), expected bytes of",
    ),
    "no bytes": (put_array("member 0", np.zeros(0, np.uint8)), "cannot read member 0, of class sklearn"),
    "bytes of something else": (put_array("member 1", np.ones(50, np.uint8)), "cannot read member 1, of class sklearn"),
    "a base that is not there": (put("estimator", "foreign", value="base 7"), "array of a base is 'base 7', expected"),
    "a base that is a list": (put("estimator", "foreign", value=[]), r"array of a base is \[\], expected"),
    "a base of another class": (
        put("estimator", value={"model": "DecisionTreeRegressor", "params": {}}),
        "a member of class LinearRegression",
    ),
    "a member of ours": (
        lambda h, a: (h["foreign"]["classes"].pop("member 0"), put_array("member 0", OURS)(h, a)),
        "a member of class DecisionTreeRegressor",
    ),
}
OURS = np.frombuffer(saved(tree().fit(X, Y)), np.uint8)


@each_form
@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_fields_are_named(name, form):
    change, words = DAMAGE[name]
    header, arrays = content(fitted("bag of lines"), foreign=form)
    change(header, arrays)
    with pytest.raises(arb.ModelFileError, match=words):
        loaded(header, arrays, foreign=form)


FILE = saved(fitted("bag of sums of lines without names"), foreign="skops")


@settings(max_examples=150)
@given(st.integers(0, 2**32))
@example(0)
def test_damaged_files_are_refused_or_work(number):
    """Without consent, no such file gives a model."""
    rng = random.Random(number)
    data = mutate(rng, FILE) if rng.random() < 0.2 else mutate_content(rng, FILE)
    for how in ({}, {"foreign": "pickle"}, {"foreign": "skops"}):
        try:
            model = load(data, **how)
        except arb.ModelFileError:
            continue
        assert how == {"foreign": "skops"}
        assert type(model) is arb.BaggingRegressor


def test_consent_is_an_argument_that_is_checked():
    with pytest.raises(ValueError, match="foreign='zip'"), consent("zip"):
        pytest.fail("the body runs")
