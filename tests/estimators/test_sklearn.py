"""scikit-learn: its own checks without exception, its meta-estimators, and a quiet import."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import BaggingClassifier, StackingRegressor, VotingClassifier
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score, cross_validate
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from arboretum import BoostedTreesClassifier, BoostedTreesRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = X[:, 0] * 2 + X[:, 1] ** 2 + 0.1 * RNG.normal(size=300)
LABELS = np.array(["low", "mid", "high"])[np.digitize(Y, [0.0, 1.5])]
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(town=np.where(X[:, 3] > 0, "Oslo", "Rome"))


def regressor(**params):
    return BoostedTreesRegressor(**{"n_estimators": 10, **params})


def classifier(**params):
    return BoostedTreesClassifier(**{"n_estimators": 10, **params})


@parametrize_with_checks([regressor(), classifier(), regressor(growth="symmetric"), classifier(growth="level")])
def test_every_check_of_sklearn(estimator, check):  # XGB#11093, SK#30542, LGB#6653, #6717
    check(estimator)


def test_tags_say_what_is_accepted():
    tags = regressor().__sklearn_tags__()
    assert tags.input_tags.allow_nan
    assert tags.input_tags.sparse
    assert tags.input_tags.categorical
    assert tags.target_tags.required
    assert is_regressor(regressor())
    assert is_classifier(classifier())


# --------------------------------------------------------------------------------------------- meta-estimators


def test_pipeline_with_text_columns_and_pandas_output():
    columns = ColumnTransformer(
        [("scale", StandardScaler(), ["a", "b"])], remainder="passthrough", verbose_feature_names_out=False
    )
    pipeline = make_pipeline(columns, regressor()).set_output(transform="pandas").fit(FRAME, Y)
    assert pipeline[-1].feature_names_in_.tolist() == ["a", "b", "c", "d", "town"]
    assert pipeline.score(FRAME, Y) > 0.5
    np.testing.assert_array_equal(pipeline.predict(FRAME[FRAME.columns[::-1]]), pipeline.predict(FRAME))


def test_grid_search_over_text_columns():
    search = GridSearchCV(
        classifier(), {"max_leaf_nodes": [3, 8], "learning_rate": [0.1, 0.3]}, cv=3, scoring="neg_log_loss"
    )
    search.fit(FRAME, LABELS)
    assert set(search.best_params_) == {"max_leaf_nodes", "learning_rate"}
    assert search.predict(FRAME).tolist() == search.best_estimator_.predict(FRAME).tolist()
    assert search.score(FRAME, LABELS) > -1


def test_search_in_processes_equals_search_in_one():
    scores = [cross_val_score(regressor(n_jobs=1), FRAME, Y, cv=3, n_jobs=n_jobs) for n_jobs in (1, 2)]
    np.testing.assert_array_equal(scores[0], scores[1])


def test_folds_that_lack_a_class():  # XGB#11228, #10078: any labels, any gaps
    order = np.argsort(LABELS, kind="stable")
    with pytest.warns(RuntimeWarning, match="Number of classes"):
        proba = cross_val_predict(
            classifier(), X[order], LABELS[order], cv=KFold(3, shuffle=False), method="predict_proba"
        )
    assert proba.shape == (300, 3)
    assert np.isfinite(proba).all()


def test_out_of_fold_predictions_and_models():  # XGB#6756
    predicted = cross_val_predict(regressor(n_estimators=50), FRAME, Y, cv=4)
    assert np.corrcoef(predicted, Y)[0, 1] > 0.8
    found = cross_validate(regressor(), FRAME, Y, cv=3, return_estimator=True, params={"sample_weight": np.ones(300)})
    assert [model.n_iter_ for model in found["estimator"]] == [10, 10, 10]


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration(method):
    calibrated = CalibratedClassifierCV(classifier(), method=method, cv=3).fit(X, LABELS)
    proba = calibrated.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert calibrated.score(X, LABELS) > 0.6


def test_permutation_importance_and_partial_dependence():
    model = regressor(n_estimators=40).fit(FRAME, Y)
    importance = permutation_importance(model, FRAME, Y, n_repeats=2, random_state=0).importances_mean
    assert importance.argmax() == 0
    curve = partial_dependence(model, FRAME, ["a"], grid_resolution=5)["average"][0]
    assert curve[-1] > curve[0] + 2


def test_models_of_models():
    bagged = BaggingClassifier(classifier(), n_estimators=3, random_state=0).fit(X, LABELS)
    assert bagged.score(X, LABELS) > 0.7
    voting = VotingClassifier([("one", classifier()), ("two", classifier(growth="level"))], voting="soft").fit(
        X, LABELS
    )
    assert voting.score(X, LABELS) > 0.7
    stack = StackingRegressor([("trees", regressor()), ("line", Ridge())], cv=3).fit(X, Y)
    assert stack.score(X, Y) > 0.7
    both = MultiOutputRegressor(regressor(), n_jobs=2).fit(X, np.column_stack([Y, -Y]))
    assert both.predict(X).shape == (300, 2)
    logged = TransformedTargetRegressor(regressor(n_estimators=50), func=np.log1p, inverse_func=np.expm1).fit(
        X, Y - Y.min()
    )
    assert logged.score(X, Y - Y.min()) > 0.7


def test_scorers_find_the_positive_class():
    y = np.where(Y > 1, "yes", "no")
    model = classifier(n_estimators=50).fit(X, y)
    assert get_scorer("roc_auc")(model, X, y) > 0.95
    assert get_scorer("neg_log_loss")(model, X, y) > -0.4
    assert get_scorer("accuracy")(model, X, y) == model.score(X, y) > 0.9


# --------------------------------------------------------------------------------------------- parameters, repr


@pytest.mark.parametrize("make", [regressor, classifier])
def test_clone_get_and_set_params(make):
    model = make(max_depth=3, monotonic_cst={"a": 1}, loss=make().loss)
    copied = clone(model)
    assert copied is not model
    assert copied.get_params() == model.get_params()
    assert model.set_params(max_depth=None, subsample=0.5) is model
    assert (model.max_depth, model.subsample) == (None, 0.5)
    pipeline = make_pipeline(StandardScaler(), make()).set_params(**{f"{type(model).__name__.lower()}__max_depth": 2})
    assert pipeline[-1].max_depth == 2


@pytest.mark.parametrize("make", [regressor, classifier])
def test_representations(make):
    model = make(max_depth=3)
    assert repr(model) == f"{type(model).__name__}(max_depth=3, n_estimators=10)"
    page = model._repr_html_()
    assert type(model).__name__ in page
    assert "Not fitted" in page
    assert "Not fitted" not in model.fit(X, LABELS if make is classifier else Y)._repr_html_()


def test_fit_returns_the_model_itself():
    model = regressor()
    assert model.fit(X, Y) is model
    assert model.fit_more(X, Y, n_estimators=1) is model


# --------------------------------------------------------------------------------------------- quiet and small

HEAVY = ["pandas", "polars", "pyarrow", "matplotlib", "rich", "dask", "duckdb", "torch", "plotly", "tqdm"]


def run(code, folder):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=folder, timeout=120
    )


def test_import_and_fit_need_nothing_heavy_print_nothing_and_write_nothing(tmp_path):
    """scikit-learn itself may import pandas where it is installed: what counts is who asks for a module."""
    # CB#2158 (hard dependencies), CB#2197, #1891, #1051, #913 (catboost_info/), LGB#640, #1157, #1792, #4649 (noise)
    code = f"""
import builtins, sys
asked, real = set(), builtins.__import__
def watch(name, where=None, *args, **kwargs):
    if name.split(".")[0] in {HEAVY}:
        if (where or {{}}).get("__name__", "").split(".")[0] == "arboretum":
            asked.add(name)
        raise ImportError(name)
    return real(name, where, *args, **kwargs)
builtins.__import__ = watch
import arboretum as arb
rows = [[float(i % 7), float(i % 3)] for i in range(60)]
arb.BoostedTreesRegressor(n_estimators=300).fit(rows, [row[0] for row in rows]).predict(rows)
arb.BoostedTreesClassifier(n_estimators=5).fit([[0.0]] * 60, ["a", "b", "c"] * 20).predict([[1.0]])
assert not asked, asked
assert not [name for name in {HEAVY} if name in sys.modules]
"""
    done = run(code, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_fit_is_silent_where_nothing_can_be_split(capfd):  # LGB#4649: hundreds of lines "No further splits"
    regressor().fit(np.zeros((50, 2)), np.arange(50.0))
    classifier().fit(np.arange(4.0)[:, None], [0, 1, 0, 1])
    regressor(min_gain=1e9).fit(X, Y)
    assert capfd.readouterr() == ("", "")
