"""Names of other libraries: each error says what to write here, and what it says exists."""

from __future__ import annotations

import inspect
from pathlib import Path

import pandas as pd
import pytest
from sklearn import ensemble, tree

import arboretum as arb
from arboretum import other_libraries as elsewhere

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


def names(table: tuple[elsewhere.Elsewhere, ...]) -> list[str]:
    return sorted({name for row in table for library in elsewhere.LIBRARIES for name in getattr(row, library).split()})


def recommended(table: tuple[elsewhere.Elsewhere, ...]) -> set[str]:
    return {row.ours.partition("(")[0] for row in table if row.ours}


@pytest.fixture(scope="module")
def fitted():
    return arb.BoostedTreesRegressor(n_estimators=2).fit(pd.DataFrame({"size": [1.0, 2.0]}), [1.0, 2.0])


def test_what_is_recommended_exists(fitted):
    assert recommended(elsewhere.PARAMETERS) <= set().union(*map(parameters, ESTIMATORS))
    methods = [getattr(cls, name) for cls in ESTIMATORS for name in ("fit", "predict") if hasattr(cls, name)]
    assert recommended(elsewhere.ARGUMENTS) <= {
        name for method in methods for name in inspect.signature(method).parameters
    }
    assert all(hasattr(fitted, name) for name in recommended(elsewhere.ATTRIBUTES))
    assert recommended(elsewhere.CLASSES) <= set(arb.__all__)


@pytest.mark.parametrize("row", elsewhere.VALUES, ids=lambda row: f"{row.owner}={row.ours}")
def test_recommended_values_are_taken(row):
    for name in names((row,)):
        cls = next(cls for cls in ESTIMATORS if row.owner in parameters(cls) and accepts(cls, row))
        with pytest.raises(ValueError, match=f"'{row.ours}' here"):
            cls(**{row.owner: name}).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])


def accepts(cls: type, row: elsewhere.Elsewhere) -> bool:
    try:
        cls(**{row.owner: "?"}).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    except (TypeError, ValueError) as error:
        return repr(row.ours) in str(error) or f" {row.ours}" in str(error)
    raise AssertionError("'?' was taken for a value")


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_parameters_of_others_are_refused_with_ours(cls):
    for name in names(elsewhere.PARAMETERS):
        if name in parameters(cls):
            continue
        with pytest.raises(TypeError, match=f"^{cls.__name__} has no parameter '{name}'") as caught:
            cls(**{name: 1})
        for row in elsewhere.PARAMETERS:
            if row.libraries(name) and row.ours in parameters(cls):
                assert f"'s {name} is {row.ours} here" in str(caught.value)


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
            "give n_iter_no_change, and early_stopping=True",
        ),
        (lambda model: model.fit([[1]], [1], categorical_feature=[0]), "give categorical_features to the constructor"),
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
        (
            lambda _: arb.BoostedTreesRegressor(loss="mse").fit([[1], [2]], [1, 2]),
            "unknown loss 'mse': .* 'squared_error'",
        ),
    ],
)
def test_errors_teach(fitted, call, message):
    with pytest.raises((AttributeError, TypeError, ValueError), match=message):
        call(fitted)


@pytest.mark.parametrize(("theirs", "ours"), RELATIVES)
def test_every_parameter_of_scikit_learn_is_here_or_explained(theirs, ours):
    for name in set(inspect.signature(theirs).parameters) - parameters(ours):
        assert elsewhere.advice(elsewhere.PARAMETERS, name, parameters(ours)), name


@pytest.mark.parametrize(("library", "theirs"), [("lightgbm", "LGBMClassifier"), ("xgboost", "XGBClassifier")])
def test_every_parameter_of_rivals_is_here_or_explained(library, theirs):
    cls, ours = getattr(pytest.importorskip(library), theirs), parameters(arb.BoostedTreesClassifier)
    for name in set(cls().get_params()) - ours:
        assert elsewhere.advice(elsewhere.PARAMETERS, name, ours), name


def test_the_page_is_the_table():
    assert (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8") == elsewhere.page()
