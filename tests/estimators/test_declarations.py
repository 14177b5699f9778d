"""Declarations of parameters: what is made from them, for every estimator and for a subclass with one more."""

from __future__ import annotations

import inspect
import pickle
import re
import typing
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import arboretum as arb
from arboretum import other_libraries as elsewhere
from arboretum.cli import methods
from arboretum.estimators.classes import MODELS
from arboretum.estimators.parameter_page import estimators, page
from arboretum.estimators.protocol import Estimator
from arboretum.parameters.declaring import (
    Anything,
    Choice,
    CountOrShare,
    Number,
    declares_parameters,
    fitted,
    like,
    parameter,
    parameter_group,
    parameters_of,
)
from arboretum.parameters.docstrings import sections
from arboretum.tasks import REGRESSION

ROOT = Path(__file__).parents[2]
ESTIMATORS = estimators()
X = np.linspace(0, 1, 60)[:, None]
Y = X[:, 0] ** 2


@declares_parameters
class Shifted(arb.BoostedTreesRegressor):
    """Boosted trees that add a number."""

    shift: float = parameter(0.0, Number(low=0.0), "What is added to predictions.", before="monotonic_cst")
    n_estimators: int = like(arb.BoostedTreesRegressor, default=3)
    shifts_: int = fitted()

    def predict(self, X):
        return super().predict(X) + self.shift


# ---- every estimator -------------------------------------------------------------------------------------------------


def test_every_public_estimator_declares_its_parameters():
    public = [getattr(arb, name) for name in arb.__all__]
    assert set(ESTIMATORS) == {cls for cls in public if isinstance(cls, type) and issubclass(cls, Estimator)}


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_constructors_are_the_declarations(cls):
    declared, signature = parameters_of(cls), inspect.signature(cls).parameters
    assert list(signature) == list(declared)
    assert all(p.kind is p.KEYWORD_ONLY and p.default is declared[name].default for name, p in signature.items())
    assert set(typing.get_type_hints(cls.__init__)) == {*declared, "return"}
    assert cls._get_param_names() == sorted(declared)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_constructors_store_what_they_are_given_and_nothing_else(cls):
    given = {name: object() for name in parameters_of(cls)}
    assert vars(cls(**given)) == given
    assert vars(cls()) == {name: declared.default for name, declared in parameters_of(cls).items()}
    assert not [name for name in given if isinstance(inspect.getattr_static(cls, name, None), Anything | Number)]


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_defaults_are_allowed(cls):
    cls().check_parameters()


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_docstrings_describe_every_parameter_once_and_in_order(cls):
    parts = sections(cls.__doc__)
    assert re.findall(r"^(\w+) : ", parts["Parameters"], re.MULTILINE) == list(parameters_of(cls))
    assert list(parts)[:4] in (["", "Parameters", "Attributes", last] for last in ("Notes", "References", "Examples"))
    assert len(re.findall(r"^\n", parts["Parameters"], re.MULTILINE)) >= len(groups_in_a_row(cls)) - 1
    assert not re.search(r"<[a-z]+>", cls.__doc__)
    assert max(map(len, cls.__doc__.splitlines())) <= 120
    assert cls().__doc__ is cls.__doc__


def groups_in_a_row(cls: type) -> list[str]:
    names = [declared.group for declared in parameters_of(cls).values()]
    return [name for place, name in enumerate(names) if place == 0 or name != names[place - 1]]


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_sentences_end(cls):
    for name, declared in parameters_of(cls).items():
        assert declared.doc.endswith("."), name
        assert declared.group, name


def test_one_meaning_is_declared_once():
    for name in ("categorical_features", "unknown", "missing", "n_jobs", "verbose", "warm_start", "monotonic_cst"):
        declared = [parameters_of(cls)[name] for cls in ESTIMATORS if name in parameters_of(cls)]
        assert len({(p.doc, p.default, p.group) for p in declared}) == 1, name
        assert len({id(p.allowed) for p in declared}) == 1, name


def test_the_page_is_current():
    assert (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8") == page()


# ---- a subclass with one parameter more ------------------------------------------------------------------------------


def test_a_declared_parameter_is_in_the_signature_and_in_get_params():
    names = list(inspect.signature(Shifted).parameters)
    assert set(names) == {*inspect.signature(arb.BoostedTreesRegressor).parameters, "shift"}
    assert names[names.index("shift") + 1] == "monotonic_cst"
    assert inspect.signature(Shifted).parameters["shift"].annotation == "float"
    assert Shifted().get_params() == {**arb.BoostedTreesRegressor(n_estimators=3).get_params(), "shift": 0.0}
    assert repr(Shifted(shift=2.0)) == "Shifted(shift=2.0)"
    assert not hasattr(Shifted, "shift")
    assert not hasattr(Shifted(), "shifts_")


def test_a_declared_parameter_is_checked_and_described():
    for call in (Shifted.check_parameters, lambda model: model.fit(X, Y)):
        with pytest.raises(ValueError, match=r"^shift=-1: use a number at least 0$"):
            call(Shifted(shift=-1))
    with pytest.raises(ValueError, match="max_depth=0"):
        Shifted(max_depth=0).check_parameters()
    assert "\nshift : float, default=0.0\n    What is added to predictions.\n" in Shifted.__doc__
    assert Shifted.__doc__.startswith("Boosted trees that add a number.\n\nParameters\n")
    assert "\nn_iter_ : int\n    Rounds kept.\n" in Shifted.__doc__
    with pytest.raises(TypeError, match="Shifted has no parameter 'shifts': did you mean 'shift'"):
        Shifted(shifts=1.0)


def test_a_declared_parameter_is_cloned_pickled_set_and_searched():
    model = Shifted(shift=2.0)
    assert clone(model).get_params() == pickle.loads(pickle.dumps(model)).get_params() == model.get_params()
    assert clone(model).set_params(shift=3.0, max_depth=2).get_params()["shift"] == 3.0
    fitted = model.fit(X, Y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    np.testing.assert_array_equal(fitted.predict(X), arb.BoostedTreesRegressor(n_estimators=3).fit(X, Y).predict(X) + 2)
    search = GridSearchCV(Shifted(), {"shift": [0.0, 5.0]}, cv=2).fit(X, Y)
    assert search.best_params_ == {"shift": 0.0}


def test_a_declared_parameter_can_be_set_by_the_command(monkeypatch):
    monkeypatch.setitem(MODELS, "Shifted", Shifted)
    monkeypatch.setitem(methods.CLASSES["boosted"], "regression", "Shifted")
    model = methods.make("boosted", REGRESSION, settings=methods.parse_settings(["shift=2", "n_estimators=1e2"]))
    assert repr(model) == "Shifted(n_estimators=100, shift=2)"
    with pytest.raises(methods.UsageError, match="shift='far': use a number at least 0"):
        methods.make("boosted", REGRESSION, settings={"shift": "far"})


def test_subclasses_without_declarations_keep_those_of_the_class():
    class Plain(Shifted):
        """Nothing of its own."""

    assert parameters_of(Plain) == parameters_of(Shifted)
    assert Plain.__doc__ == "Nothing of its own."
    with pytest.raises(ValueError, match="shift=-1"):
        Plain(shift=-1).check_parameters()


def test_names_without_a_declaration_are_refused():
    with pytest.raises(
        TypeError, match=r"Forgetful.size is declared by neither parameter\(\), like\(\) nor fitted\(\)"
    ):

        @declares_parameters
        class Forgetful(Estimator):
            size: int


def test_constructors_are_not_replaced():
    with pytest.raises(TypeError, match="Twice has an __init__"):

        @declares_parameters
        class Twice(Estimator):
            def __init__(self, *, size=1):
                self.size = size


def test_groups_are_joined_from_left_to_right():
    @parameter_group("First")
    class First:
        a: int = parameter(1, Number(integer=True), "A <what>.")
        b: int = parameter(2, Number(integer=True), "B.")

    @parameter_group("Second")
    class Second:
        c: int = parameter(3, Number(integer=True), "C.")

    @declares_parameters
    class Both(First, Second, Estimator):
        """Both."""

        a: int = like(First, default=7, filled={"what": "number"})
        d: int = parameter(4, Number(integer=True), "D.", before="c")
        b: int = like(First, before="a")

    assert (
        str(inspect.signature(Both)).replace("'", "") == "(*, b: int = 2, a: int = 7, d: int = 4, c: int = 3) -> None"
    )
    assert [declared.group for declared in parameters_of(Both).values()] == ["First", "First", "First", "Second"]
    assert [declared.doc for declared in parameters_of(First).values()] == ["A <what>.", "B."]
    assert Both.__doc__ == (
        "Both.\n\nParameters\n----------\nb : int, default=2\n    B.\na : int, default=7\n    A number.\n"
        "d : int, default=4\n    D.\n\nc : int, default=3\n    C.\n"
    )


# ---- allowed values --------------------------------------------------------------------------------------------------


class Holder:
    def __init__(self, value):
        self.value = value


@pytest.mark.parametrize(
    ("allowed", "right", "wrong"),
    [
        (Number(low=0, open_low=True, words=("auto",)), [1, 0.5, "auto", np.float32(2)], [0, "car", None, True, [1]]),
        (Number(low=1, high=3, integer=True, optional=True), [1, 3, None, np.int8(2)], [0, 4, 1.0, "1", False]),
        (Choice("a", None, True, False), ["a", None, True], ["b", 1, 0]),
        (CountOrShare(2, optional=True), [2, 0.5, 1.0, None], [1, 1.5, 0.0, "x", True]),
        (CountOrShare(by_integer=True, words=("auto",)), [1, 0.5, np.float32(0.5), "auto"], [0, 1.5, None, "x", True]),
        (Anything("label"), [1, "a", None, [1]], []),
    ],
)
def test_values(allowed, right, wrong):
    for value in right:
        allowed.check(Holder(value), "value")
    for value in wrong:
        with pytest.raises(ValueError, match=r"^value=.*: use "):
            allowed.check(Holder(value), "value")


@pytest.mark.parametrize(
    ("allowed", "text", "value"),
    [
        (Number(integer=True), "1e6", 1_000_000),
        (Number(integer=True), "1.5", 1.5),
        (Number(), "1e6", 1e6),
        (Number(optional=True), "None", None),
        (Number(words=("auto",)), "auto", "auto"),
        (Choice(True, False), "false", False),
        (Choice("none", "all"), "none", "none"),
        (Choice("auto", None), "none", None),
        (Choice("1", "2"), "1", "1"),
        (Choice("a", "b"), "true", "true"),
        (CountOrShare(), "3", 3),
        (Anything("mapping"), "{'a': 1}", {"a": 1}),
        (Anything("label"), "a b", "a b"),
    ],
)
def test_texts_of_the_command(allowed, text, value):
    read = allowed.read(text)
    assert read == value
    assert type(read) is type(value)


# ---- tables that name parameters -------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", arb.presets())
def test_presets_set_declared_parameters_to_allowed_values(system):
    known = parameters_of(arb.BoostedTreesClassifier)
    assert set(arb.presets()[system]) <= set(known)
    for cls in (arb.BoostedTreesClassifier, arb.BoostedTreesRegressor, arb.BoostedTreesRanker):
        cls.preset(system).check_parameters()


BOOSTED = [cls for cls in ESTIMATORS if cls.__name__.startswith("BoostedTrees")]
FORESTS = [cls for cls in ESTIMATORS if re.match("(RandomForest|ExtraTrees)", cls.__name__)]
FAMILIES = {"boosted trees": BOOSTED, "forests": FORESTS, "boosted trees and forests": BOOSTED + FORESTS}


def test_names_of_other_libraries_stand_for_declared_parameters():
    for row in elsewhere.PARAMETERS:
        classes = FAMILIES[row.of] if row.of in FAMILIES else [getattr(arb, row.of)]
        assert not row.ours or any(row.ours in parameters_of(cls) for cls in classes), row


def test_values_of_other_libraries_stand_for_allowed_values():
    for row in elsewhere.VALUES:
        owners = [parameters_of(cls)[row.owner].allowed for cls in ESTIMATORS if row.owner in parameters_of(cls)]
        assert owners, row
        if row.ours and all(isinstance(allowed, Choice) for allowed in owners):
            assert any(row.ours in allowed.options for allowed in owners), row
