"""Names of other libraries: each error says what to write here, and what it says exists."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pytest
from sklearn import ensemble, tree
from sklearn.metrics import get_scorer_names
from tests.reference.every_estimator import CASES

import arboretum as arb
from arboretum import other_libraries as elsewhere
from arboretum.metrics.named import METRICS

ROOT = Path(__file__).parents[1]
ESTIMATORS = [getattr(arb, name) for name in arb.__all__ if hasattr(getattr(arb, name), "fit")]
RELATIVES = [
    (ensemble.GradientBoostingClassifier, arb.BoostedTreesClassifier),
    (ensemble.GradientBoostingRegressor, arb.BoostedTreesRegressor),
    (ensemble.HistGradientBoostingClassifier, arb.BoostedTreesClassifier),
    (ensemble.HistGradientBoostingRegressor, arb.BoostedTreesRegressor),
    (ensemble.RandomForestClassifier, arb.RandomForestClassifier),
    (ensemble.RandomForestRegressor, arb.RandomForestRegressor),
    (ensemble.ExtraTreesClassifier, arb.ExtraTreesClassifier),
    (ensemble.ExtraTreesRegressor, arb.ExtraTreesRegressor),
    (ensemble.AdaBoostClassifier, arb.AdaBoostClassifier),
    (ensemble.AdaBoostRegressor, arb.AdaBoostRegressor),
    (ensemble.BaggingClassifier, arb.BaggingClassifier),
    (ensemble.BaggingRegressor, arb.BaggingRegressor),
    (ensemble.IsolationForest, arb.IsolationForest),
    (tree.DecisionTreeClassifier, arb.DecisionTreeClassifier),
    (tree.DecisionTreeRegressor, arb.DecisionTreeRegressor),
]


def parameters(cls: type) -> set[str]:
    return set(cls._get_param_names())


def names(table: Iterable[elsewhere.Elsewhere]) -> list[str]:
    return sorted({name for row in table for theirs in row.theirs.values() for name in theirs})


BOOSTED = [arb.BoostedTreesClassifier, arb.BoostedTreesRanker, arb.BoostedTreesRegressor, arb.BoostedTreesSurvival]
FORESTS = [
    arb.ExtraTreesClassifier,
    arb.ExtraTreesRegressor,
    arb.RandomForestClassifier,
    arb.RandomForestRegressor,
]
FAMILIES = {"boosted trees": BOOSTED, "forests": FORESTS, "boosted trees and forests": BOOSTED + FORESTS}
TASKS = {
    "classifiers": ("binary", "multiclass"),
    "classifiers of two classes": ("binary",),
    "regressors": ("regression",),
    "rankers": ("ranking",),
}
ROWS = {"X": pd.DataFrame({"size": [0.0, 1.0, 2.0, 3.0]}), "y": [0, 1, 0, 1]}


def family(row: elsewhere.Elsewhere) -> list[type]:
    """Classes that a row says to have what it is about."""
    return FAMILIES[row.of] if row.of in FAMILIES else [getattr(arb, row.of)]


def fit_arguments(cls: type) -> set[str]:
    return set(inspect.signature(cls.fit).parameters) - {"self"}


@pytest.fixture(scope="module")
def fitted():
    return arb.BoostedTreesRegressor(n_estimators=2).fit(pd.DataFrame({"size": [1.0, 2.0]}), [1.0, 2.0])


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def model(request):
    rows = request.param.problem(60)
    return request.param.fitted({**rows, "X": pd.DataFrame(rows["X"], columns=["a", "b", "c"])})


def error_of(function, *given, **named) -> str:
    """Return what is said of an unknown name, without the words that every such error begins with."""
    with pytest.raises((TypeError, AttributeError), match=r"parameter|argument|attribute") as caught:
        function(*given, **named)
    assert "did you mean" not in str(caught.value)
    return re.sub(r"^.*? (parameter|argument|attribute) '\w+'", "", str(caught.value))


def check_advice(name: str, told: str, model, here: set[str]) -> None:
    """Assert that all that is recommended to the users of a model exists, and that something is said."""
    assert told.startswith(": ")
    told = re.sub(r"\S+'s [\w, ']*? is (\S+) of fit\b", r"fit(\1=)", told)
    told = re.sub(r"(\S+'s [\w, ']*? is \S+ of|: \w+ belongs to) [\w ]+(; set it on what is given as)?", "", told)
    assert set(re.findall(r" is (\w+)\S* here", told)) <= here
    calls = re.findall(r"([\w.]+)\(([^)]*)\)", told)
    of_fit = {one for function, given in calls if function == "fit" for one in re.findall(r"(\w+)=", given)}
    assert of_fit <= fit_arguments(type(model))
    assert set(re.findall(r"(\w+)=", re.sub(r"\([^)]*\)", "", told))) <= parameters(type(model))
    assert all(hasattr(model, one) for one in re.findall(r"model\.(\w+)", told))
    ours = {one for cls in ESTIMATORS for one in parameters(cls) | fit_arguments(cls) if "_" in one} - {name}
    assert ours & set(re.findall(r"\w+", told)) <= parameters(type(model)) | fit_arguments(type(model))


def test_constructors_advise_what_their_class_has(model):
    cls = type(model)
    ours = {row.ours for row in elsewhere.PARAMETERS if row.ours}
    for name in {*names(elsewhere.PARAMETERS), *names(elsewhere.ARGUMENTS), *ours} - parameters(cls):
        told = error_of(cls, **{name: 1})
        check_advice(name, told, model, parameters(cls))
        rows = [row for row in elsewhere.PARAMETERS if row.libraries(name) and row.ours in parameters(cls)]
        assert not rows or f" {name} is {rows[0].ours} here" in told


@pytest.mark.parametrize("method", ["fit", "predict"])
def test_methods_advise_what_their_class_has(model, method):
    known = set(inspect.signature(getattr(model, method)).parameters)
    for name in set(names(elsewhere.ARGUMENTS) + names(elsewhere.PARAMETERS)) - known:
        told = error_of(getattr(model, method), *(None,) * len({"X", "y", "treatment"} & known), **{name: 1})
        check_advice(
            name, told, model, known if "given to the constructor" not in told else known | parameters(type(model))
        )


def test_models_advise_what_they_have(model):
    for name in names(elsewhere.ATTRIBUTES):
        if not hasattr(model, name):
            check_advice(name, error_of(getattr, model, name), model, set(dir(model)))


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_parameters_have_names(cls):
    first = next(iter(inspect.signature(cls).parameters))
    with pytest.raises(TypeError, match=rf"parameters are keyword-only: write {cls.__name__}\({first}=100\)"):
        cls(100)


def test_subclasses_may_take_parameters_by_position():
    class Small(arb.RandomForestClassifier):
        def __init__(self, n_estimators=3):
            super().__init__(n_estimators=n_estimators)

    assert Small(5).n_estimators == 5


def test_what_others_have_they_have():
    for row in elsewhere.PARAMETERS:
        assert all(not row.ours or row.ours in parameters(cls) for cls in family(row)), row
    for row in elsewhere.ARGUMENTS:
        if row.ours and row.of != "fit":
            assert all(row.ours in fit_arguments(cls) for cls in family(row)), row
    for row in elsewhere.ATTRIBUTES:
        assert row.of == "boosted trees"
    classes = {row.ours for row in elsewhere.CLASSES if row.ours}
    assert classes <= set(arb.__all__)
    ours = set(inspect.signature(arb.cross_validate).parameters)
    assert {row.ours for row in elsewhere.CROSS_VALIDATION if row.ours} <= ours


@pytest.mark.parametrize("row", list(elsewhere.VALUES), ids=lambda row: f"{row.owner}={row.ours}")
def test_recommended_values_are_taken(row):
    if row.owner == "scoring":
        tasks = METRICS[row.ours].tasks if row.ours in METRICS else None
        assert row.ours == "loss" or tasks == TASKS[row.of.partition(";")[0]] or row.ours in get_scorer_names()
        return
    for cls in family(row) if row.ours else ():
        message = error_of_value(cls, row.owner, "?")
        assert re.search(rf"[ ']{row.ours}\b", message.partition("Known:")[2] or message), message
        for name in names((row,)):
            assert f"'{row.ours}' here" in error_of_value(cls, row.owner, name)


@pytest.mark.parametrize("cls", [cls for cls in ESTIMATORS if "loss" in parameters(cls)])
def test_no_loss_is_recommended_that_a_class_refuses(cls):
    known = set(re.findall(r"\w+", error_of_value(cls, "loss", "?").rpartition(": ")[2]))
    for name in names(tuple(row for row in elsewhere.VALUES if row.owner == "loss")):
        if name not in known:
            message = error_of_value(cls, "loss", name)
            assert "did you mean" not in message
            assert set(re.findall(r" is '(\w+)' here", message)) <= known


def error_of_value(cls: type, parameter: str, value: str) -> str:
    rows = ROWS
    if cls is arb.BoostedTreesSurvival:
        rows = {**ROWS, "y": pd.DataFrame({"time": [1.0, 2.0, 3.0, 4.0], "event": [True, True, False, True]})}
    if cls is arb.BoostedTreesRanker:
        rows = {**ROWS, "group": [0, 0, 1, 1]}
    with pytest.raises(ValueError, match=re.escape(repr(value))) as caught:
        cls(**{parameter: value}).fit(**rows)
    return str(caught.value)


@pytest.mark.parametrize(
    ("cls", "parameter", "value", "message"),
    [
        (
            arb.BoostedTreesClassifier,
            "loss",
            "mse",
            "'squared_error' of BoostedTreesRegressor. Known: log_loss, ordinal$",
        ),
        (arb.BoostedTreesClassifier, "loss", "squared_error", "is for regression, .* or BoostedTreesRegressor$"),
        (arb.BoostedTreesRegressor, "loss", "binary", "'log_loss' of BoostedTreesClassifier. Known: squared_error, "),
        (
            arb.BoostedTreesClassifier,
            "loss",
            "poison",
            r"did you mean 'poisson' of BoostedTreesRegressor\? Known: log_loss",
        ),
        (arb.BoostedTreesRegressor, "loss", "MSE", "LightGBM's MSE is 'squared_error' here"),
        (arb.BoostedTreesRegressor, "loss", "L2", "LightGBM's L2 is 'squared_error' here"),
        (arb.BoostedTreesRegressor, "loss", "least_squares", "scikit-learn's least_squares is 'squared_error' here"),
        (arb.BoostedTreesRegressor, "loss", "MAPE", r"'absolute_error' here \(with sample_weight=1 / max\(1, \|y\|\)"),
        (arb.BoostedTreesRegressor, "loss", "Quantile:alpha=0.9", r"'quantile' here \(with quantile=\.\.\.\)"),
        (arb.AdaBoostRegressor, "loss", "mse", "LightGBM's mse is 'square' here"),
        (arb.RandomForestClassifier, "criterion", "mse", "'squared_error' of RandomForestRegressor"),
        (arb.BoostedTreesRegressor, "scoring", "l2", r"'rmse' here \(the root of the mean\)"),
        (arb.BoostedTreesRegressor, "scoring", "l1", "'mae' here"),
        (arb.BoostedTreesRegressor, "scoring", "auc", "'roc_auc' of classifiers of two classes"),
        (arb.BoostedTreesClassifier, "scoring", "error", r"XGBoost's error is 'accuracy' here \(1 - error\)"),
        (arb.BoostedTreesClassifier, "scoring", "Logloss", "'log_loss' here"),
        (arb.BoostedTreesClassifier, "scoring", "NDCG:top=5", "'ndcg' of rankers"),
    ],
)
def test_values_of_others(cls, parameter, value, message):
    assert re.search(message, error_of_value(cls, parameter, value))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("from arboretum import LGBMClassifier", "ImportError: .* is BoostedTreesClassifier here"),
        ("from arboretum import load, XGBRanker", "ImportError: .* is BoostedTreesRanker here"),
        ("from arboretum import Spam", "ImportError: cannot import name 'Spam'"),
        ("import arboretum; arboretum.CatBoost", "AttributeError: .* is BoostedTreesRegressor here"),
        ("import arboretum; raise SystemExit(str(hasattr(arboretum, 'CatBoost')))", "False"),
    ],
)
def test_classes_of_others(statement, message):
    told = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True, check=False).stderr
    assert re.search(f"^{message}", told, re.MULTILINE), told


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda _: arb.BoostedTreesClassifier(num_leaves=3),
            "LightGBM's and CatBoost's num_leaves is max_leaf_nodes here",
        ),
        (lambda _: arb.BoostedTreesClassifier(eta=1), "LightGBM's, XGBoost's and CatBoost's eta is learning_rate here"),
        (lambda _: arb.BoostedTreesRegressor(alpha=0.1), "XGBoost's alpha is l1 here; LightGBM's and .* quantile here"),
        (
            lambda _: arb.BoostedTreesClassifier(device="cuda"),
            "has no parameter 'device': models are trained on processors",
        ),
        (lambda model: model.set_params(num_boost_round=3), "num_boost_round is n_estimators here"),
        (
            lambda model: model.fit([[1]], [1], eval_set=[]),
            r"fit\(\) got an unexpected keyword argument 'eval_set': .* X_val",
        ),
        (
            lambda model: model.fit([[1]], [1], early_stopping_rounds=5),
            "give n_iter_no_change= and early_stopping=True to the constructor",
        ),
        (lambda model: model.fit([[1]], [1], categorical_feature=[0]), "give categorical_features= to the constructor"),
        (lambda model: model.fit([[1]], [1], sample_wieght=[1]), "did you mean 'sample_weight'"),
        (lambda model: model.predict([[1]], pred_contrib=True), r"call model\.explain\(X\)"),
        (
            lambda model: model.predict([[1]], spam=1),
            r"predict\(\) got an unexpected keyword argument 'spam'; arguments are X",
        ),
        (lambda model: model.best_iteration_, "LightGBM's and CatBoost's best_iteration_ is n_iter_ here"),
        (lambda model: model.spam, "'BoostedTreesRegressor' object has no attribute 'spam'$"),
        (lambda _: arb.XGBClassifier, "XGBoost's XGBClassifier is BoostedTreesClassifier here"),
        (lambda _: arb.Spam, "module 'arboretum' has no attribute 'Spam'$"),
        (lambda _: arb.RandomForestClassifier(subsample=0.5), "scikit-learn's and YDF's subsample is max_samples here"),
        (lambda _: arb.RandomForestClassifier(gamma=1), "XGBoost's gamma is min_impurity_decrease here$"),
        (lambda _: arb.RandomForestClassifier(objective="x"), "objective is criterion here$"),
        (lambda _: arb.RandomForestClassifier(ccp_alpha=1), "use min_samples_leaf=, .* and min_impurity_decrease="),
        (lambda _: arb.RandomForestClassifier(eval_set=1), ": RandomForestClassifier takes no validation rows$"),
        (
            lambda _: arb.RandomForestClassifier(min_child_weight=1),
            "min_child_weight belongs to boosted trees; RandomForestClassifier has nothing like it$",
        ),
        (
            lambda _: arb.RandomForestClassifier(od_wait=1),
            "is n_iter_no_change of boosted trees; RandomForestClassifier does not stop early$",
        ),
        (lambda _: arb.RandomForestClassifier(sample_weight=[1]), r"give it to fit, as fit\(\.\.\., sample_weight="),
        (lambda _: arb.BaggingClassifier(num_leaves=3), "max_leaf_nodes of .*; set it on what is given as estimator=$"),
        (lambda _: arb.AdditiveBoostingRegressor(early_stopping_rounds=3), r"here \(with early_stopping=True\)$"),
        (lambda model: model.fit([[1]], [1], max_depth=3), "give max_depth= to the constructor"),
        (lambda model: model.fit([[1]], [1], depth=3), "is max_depth here; parameters are given to the constructor"),
        (lambda model: model.predict([[1]], eval_set=3), "is X_val of fit$"),
        (
            lambda _: arb.RandomForestClassifier().history_,
            "history_ belongs to boosted trees; RandomForestClassifier keeps no history of scores",
        ),
    ],
)
def test_errors_teach(fitted, call, message):
    with pytest.raises((AttributeError, TypeError, ValueError), match=message):
        call(fitted)


@pytest.mark.parametrize(("theirs", "ours"), RELATIVES)
def test_every_parameter_of_scikit_learn_is_here_or_explained(theirs, ours):
    for name in set(inspect.signature(theirs).parameters) - parameters(ours):
        assert ours.__name__ not in error_of(ours, **{name: 1}) or name == "verbose", name


@pytest.mark.parametrize(("library", "theirs"), [("lightgbm", "LGBMClassifier"), ("xgboost", "XGBClassifier")])
def test_every_parameter_of_rivals_is_here_or_explained(library, theirs):
    cls, ours = getattr(pytest.importorskip(library), theirs), parameters(arb.BoostedTreesClassifier)
    for name in set(cls().get_params()) - ours:
        assert elsewhere.advice(elsewhere.PARAMETERS, name, ours), name


def test_the_page_is_the_table():
    assert (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8") == elsewhere.page()
