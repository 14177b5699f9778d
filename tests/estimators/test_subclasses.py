"""Classes that users derive from estimators: parameters, fit arguments, files and pickles."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from benchmarks.faults.every_estimator import CASES, draw_problem
from sklearn.base import clone

import arboretum as arb

PROBLEM = draw_problem(200, 4)
BY_CLASS = {name: case for name, case in CASES.items() if "," not in name}
X, Y = PROBLEM.X, PROBLEM.number


class Plain(arb.BoostedTreesRegressor):
    """No state of its own."""


class Named(arb.BoostedTreesRegressor):
    """A constructor of its own, with a parameter more and fewer of the others."""

    def __init__(self, *, n_estimators=3, trend=0.0):
        super().__init__(n_estimators=n_estimators, early_stopping=False)
        self.trend = trend

    def predict(self, X):
        return super().predict(X) + self.trend


class Collecting(arb.BoostedTreesRegressor):
    """A constructor and a fit that hand on what they do not know."""

    def __init__(self, *, trend=0.0, **others):
        super().__init__(**others)
        self.trend = trend

    def fit(self, X, y=None, *, note=None, **others):
        self.note_ = note
        return super().fit(X, y, **others)


class Positional(arb.BoostedTreesRegressor):
    def fit(self, *args, **others):
        return super().fit(*args, **others)


class Own(arb.BoostedTreesRegressor):
    """Reads datasets by itself."""

    def fit(self, X, y=None, *, target=None):
        return super().fit(X, y, target=target)


def subclass(cls):
    """Return a class of the same parameters in another module, as a user would define it."""
    made = type("Mine", (cls,), {"__module__": __name__})
    globals()["Mine"] = made  # pickle looks for it
    return made


@pytest.fixture(scope="module", params=BY_CLASS)
def fitted(request):
    """Fit a model, and the same of a subclass."""
    case = BY_CLASS[request.param]
    model = case.make()
    mine = subclass(type(model))(**model.get_params(deep=False))
    arguments = PROBLEM.arguments(case.task)
    return model.fit(X, **arguments), mine.fit(X, **arguments)


def test_a_subclass_is_saved_as_the_class_that_it_derives_from(fitted, tmp_path):
    model, mine = fitted
    mine.save(tmp_path / "m.arb")
    loaded = arb.load(tmp_path / "m.arb")
    assert type(loaded) is type(model)
    assert loaded.fingerprint() == mine.fingerprint() == model.fingerprint()
    np.testing.assert_array_equal(loaded.predict(X), mine.predict(X))


def test_copies_and_pickles_keep_the_subclass(fitted):
    _, mine = fitted
    globals()["Mine"] = type(mine)
    mine.mark = "mine"
    for same in (pickle.loads(pickle.dumps(mine)), copy.deepcopy(mine)):
        assert type(same) is type(mine)
        assert same.mark == "mine"
        assert same.fingerprint() == mine.fingerprint()
    assert type(clone(mine)) is type(mine)


def test_a_subclass_of_a_known_name_is_not_what_files_load(tmp_path):
    model = arb.BoostedTreesRegressor(n_estimators=2).fit(X, Y)
    model.save(tmp_path / "m.arb")
    type("BoostedTreesRegressor", (arb.BoostedTreesRegressor,), {"__init__": lambda self: None})
    assert type(arb.load(tmp_path / "m.arb")) is arb.BoostedTreesRegressor


def test_members_may_be_subclasses(tmp_path):
    model = arb.BaggingRegressor(estimator=Plain(n_estimators=2), n_estimators=2).fit(X, Y)
    model.save(tmp_path / "m.arb")
    loaded = arb.load(tmp_path / "m.arb")
    assert {type(member) for member in loaded.estimators_} == {arb.BoostedTreesRegressor}
    assert loaded.fingerprint() == model.fingerprint()


def test_a_subclass_goes_on_from_its_checkpoint(tmp_path):
    kept = arb.Checkpoint(tmp_path / "m.arb", rounds=1)
    mark = Plain(n_estimators=3).fit(X, Y, checkpoint=kept).fingerprint()
    again = Plain(n_estimators=3).fit(X, Y, checkpoint=kept)
    assert type(again) is Plain
    assert again.fingerprint() == mark


# ---- constructors of their own ---------------------------------------------------------------------------------------


def test_parameters_are_those_of_the_constructor(tmp_path):
    model = Named(trend=5.0)
    assert model.get_params() == {"n_estimators": 3, "trend": 5.0}
    assert repr(model) == "Named(trend=5.0)"
    assert clone(model).fit(X, Y).n_iter_ == 3
    with pytest.raises(TypeError, match="Named has no parameter 'trends': did you mean 'trend'"):
        Named(trends=1.0)
    model.fit(X, Y)
    with pytest.warns(UserWarning, match="Named is written as BoostedTreesRegressor, without its own predict"):
        model.save(tmp_path / "m.arb")
    np.testing.assert_array_equal(arb.load(tmp_path / "m.arb").predict(X) + 5.0, model.predict(X))
    same = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(same.predict(X), model.predict(X))


def test_collected_parameters_are_those_of_the_base():
    model = Collecting(n_estimators=2, trend=1.0)
    assert model.get_params() == {**arb.BoostedTreesRegressor(n_estimators=2).get_params(), "trend": 1.0}
    assert repr(clone(model).set_params(max_depth=3)) == "Collecting(max_depth=3, n_estimators=2, trend=1.0)"
    with pytest.raises(TypeError, match="Collecting has no parameter 'max_dept': did you mean 'max_depth'"):
        Collecting(max_dept=1)


# ---- arguments of fit ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [Plain, Named, Collecting, Positional, Own])
def test_fit_takes_tables_and_datasets(cls):
    expected = arb.BoostedTreesRegressor(n_estimators=3, early_stopping=False).fit(X, Y)
    params = {} if cls is Named else {"n_estimators": 3, "early_stopping": False}
    assert cls(**params).fit(X, Y).fingerprint() == expected.fingerprint()
    dataset = arb.Dataset.from_frame({**{f"x{j}": X[:, j] for j in range(4)}, "y": Y})
    by_name = arb.BoostedTreesRegressor(n_estimators=3, early_stopping=False).fit(dataset, target="y")
    assert cls(**params).fit(dataset, target="y").fingerprint() == by_name.fingerprint()


def test_collected_arguments_name_columns_too():
    weight = np.where(X[:, 0] > 1, 2.0, 1.0)
    frame = {**{f"x{j}": X[:, j] for j in range(4)}, "y": Y, "w": weight}
    dataset = arb.Dataset.from_frame(frame)
    expected = arb.BoostedTreesRegressor(n_estimators=2).fit(dataset, target="y", sample_weight="w")
    for cls in (Collecting, Positional):
        model = cls(n_estimators=2).fit(dataset, target="y", sample_weight="w")
        assert model.fingerprint() == expected.fingerprint()
    noted = Collecting(n_estimators=2).fit(X, Y, sample_weight=weight, note="noted")
    assert noted.note_ == "noted"
    assert pickle.loads(pickle.dumps(noted)).note_ == "noted"


def test_saving_a_subclass_that_answers_alike_warns_of_nothing(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Collecting(n_estimators=2).fit(X, Y).save(tmp_path / "m.arb")
