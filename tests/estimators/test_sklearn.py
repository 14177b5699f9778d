"""scikit-learn: its own checks without exception, its meta-estimators, and an import that does without it."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import BaggingClassifier, StackingClassifier, StackingRegressor, VotingClassifier
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.inspection import PartialDependenceDisplay, partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, get_scorer, r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score, cross_validate
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted
from tests.reference.sklearn_checks import checks_of

from arboretum import (
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from arboretum.estimators.protocol import Classifier, Estimator, Regressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = X[:, 0] * 2 + X[:, 1] ** 2 + 0.1 * RNG.normal(size=300)
LABELS = np.array(["low", "mid", "high"])[np.digitize(Y, [0.0, 1.5])]
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(town=np.where(X[:, 3] > 0, "Oslo", "Rome"))


def regressor(**params):
    return BoostedTreesRegressor(**{"n_estimators": 10, **params})


def classifier(**params):
    return BoostedTreesClassifier(**{"n_estimators": 10, **params})


def name_of(case):
    return getattr(getattr(case, "func", case), "__name__", None) or repr(case)


@pytest.mark.parametrize(
    ("estimator", "check"),
    checks_of(
        regressor(),
        classifier(),
        regressor(growth="symmetric"),
        classifier(growth="level", leaf_steps=3),
        RandomForestClassifier(n_estimators=10),
        RandomForestRegressor(n_estimators=10),
        ExtraTreesClassifier(n_estimators=10),
        ExtraTreesRegressor(n_estimators=10),
    ),
    ids=name_of,
)
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
    assert (tags.estimator_type, tags.classifier_tags) == ("regressor", None)
    assert classifier().__sklearn_tags__().classifier_tags.multi_class
    assert Estimator().__sklearn_tags__().estimator_type is None
    assert not Estimator().__sklearn_tags__().target_tags.required


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


def test_partial_dependence_display():
    pytest.importorskip("matplotlib").use("agg")
    display = PartialDependenceDisplay.from_estimator(regressor().fit(X, Y), X, [0, (0, 1)], grid_resolution=4)
    assert len(display.pd_results) == 2


def test_models_of_models():
    bagged = BaggingClassifier(classifier(), n_estimators=3, random_state=0).fit(X, LABELS)
    assert bagged.score(X, LABELS) > 0.7
    voting = VotingClassifier([("one", classifier()), ("two", classifier(growth="level"))], voting="soft").fit(
        X, LABELS
    )
    assert voting.score(X, LABELS) > 0.7
    stack = StackingRegressor([("trees", regressor()), ("line", Ridge())], cv=3).fit(X, Y)
    assert stack.score(X, Y) > 0.7
    stack = StackingClassifier([("trees", classifier()), ("line", LogisticRegression())], cv=3).fit(X, LABELS)
    assert stack.score(X, LABELS) > 0.7
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


@pytest.mark.parametrize("make", [regressor, classifier])
def test_score_is_that_of_sklearn(make):
    y, measure = (LABELS, accuracy_score) if make is classifier else (Y, r2_score)
    weight = np.arange(300)
    model = make().fit(X, y)
    assert model.score(X, y) == measure(y, model.predict(X))
    assert model.score(X, y, weight) == measure(y, model.predict(X), sample_weight=weight) != model.score(X, y)


# --------------------------------------------------------------------------------------------- metadata routing


class Recording(BoostedTreesRegressor):
    """Keeps the weights that reach it."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        self.seen.append(("fit", sample_weight))
        return super().fit(X, y, sample_weight)

    def score(self, X, y, sample_weight=None):
        self.seen.append(("score", sample_weight))
        return super().score(X, y, sample_weight)


@pytest.mark.parametrize("to_score", [True, False])
def test_routed_weights_reach_fit_and_score(to_score):
    Recording.seen.clear()
    with sklearn.config_context(enable_metadata_routing=True):
        model = Recording(n_estimators=3).set_fit_request(sample_weight=True).set_score_request(sample_weight=to_score)
        GridSearchCV(model, {"max_depth": [1, 2]}, cv=2).fit(X, Y, sample_weight=np.ones(300))
    assert {(name, weight is not None) for name, weight in Recording.seen} == {("fit", True), ("score", to_score)}


def test_routed_weights_pass_through_a_pipeline():
    Recording.seen.clear()
    with sklearn.config_context(enable_metadata_routing=True):
        model = Recording(n_estimators=3).set_fit_request(sample_weight="cost")
        pipeline = make_pipeline(StandardScaler(), model)
        cross_validate(pipeline, X, Y, cv=2, params={"cost": np.ones(300)})
    assert [name for name, weight in Recording.seen if weight is not None] == ["fit", "fit"]


def test_routing_needs_a_decision_and_knows_its_names():
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(ValueError, match=r"sample_weight.*BoostedTreesRegressor\.fit"):
            GridSearchCV(regressor(), {"max_depth": [1]}, cv=2).fit(X, Y, sample_weight=np.ones(300))
        with pytest.raises(TypeError, match=r"Unexpected args.*nonsense"):
            regressor().set_fit_request(nonsense=True)
        model = clone(regressor().set_fit_request(X_val="held"))
        requests = model.get_metadata_routing().fit.requests
        others = ("checkpoint", "groups", "offset", "offset_val", "sample_weight", "sample_weight_val", "y_val")
        assert requests == {"X_val": "held", **dict.fromkeys(others)}
    with pytest.raises(RuntimeError, match="enable_metadata_routing"):
        regressor().set_fit_request(sample_weight=True)
    with sklearn.config_context(enable_metadata_routing=True):
        model = regressor().set_predict_request(offset="exposure")
        assert model.get_metadata_routing().predict.requests == {"offset": "exposure"}


def test_routing_equals_that_of_inheriting():
    class Twin(BaseEstimator):
        # target names a column of a Dataset: nothing to route.
        fit, score = BoostedTreesRegressor.fit.__wrapped__, BoostedTreesRegressor.score.__wrapped__
        predict = BoostedTreesRegressor.predict

    assert str(regressor().get_metadata_routing()) == str(Twin().get_metadata_routing())

    class Bare(BoostedTreesRegressor):
        def fit(self, X, y):
            return super().fit(X, y)

    assert Bare().get_metadata_routing().fit.requests == {}
    with sklearn.config_context(enable_metadata_routing=True), pytest.raises(TypeError, match="Unexpected args"):
        Bare().set_fit_request(sample_weight=True)


# --------------------------------------------------------------------------------------------- parameters, repr


class Own(Estimator):
    def __init__(self, *, number=1.0, name="a", inner=None, items=()):
        self.number, self.name, self.inner, self.items = number, name, inner, items


class Inherited(BaseEstimator):
    def __init__(self, *, number=1.0, name="a", inner=None, items=()):
        self.number, self.name, self.inner, self.items = number, name, inner, items


VALUES = st.fixed_dictionaries(
    {},
    optional={
        "number": st.floats() | st.integers() | st.none(),
        "name": st.text(max_size=5),
        "items": st.lists(st.integers(), max_size=3) | st.dictionaries(st.integers(), st.booleans(), max_size=3),
    },
)


@given(VALUES, VALUES, VALUES)
def test_parameters_are_handled_as_by_sklearn(first, inner, second):
    def history(cls):
        model = cls(**first, inner=cls(**inner))
        nested = clone(model).set_params(**second, **{f"inner__{name}": value for name, value in second.items()})
        return [repr(m).replace(cls.__name__, "E").split() for m in (model, nested, model.inner)] + [
            [
                (name, repr(value).replace(cls.__name__, "E"))
                for name, value in m.get_params(deep).items()
                if name != "inner"
            ]
            for m in (model, nested)
            for deep in (False, True)
        ]

    assert history(Own) == history(Inherited)


def test_set_params_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match=r"^Own has no parameter 'numbre': did you mean 'number'\?$"):
        Own().set_params(numbre=2)
    with pytest.raises(ValueError, match=r"^Own has no parameter 'x'; parameters are inner, items, name, number$"):
        Own().set_params(x__number=2)
    with pytest.raises(ValueError, match=r"^number=1.0 is not an estimator: it has no parameter 'x'$"):
        Own().set_params(number__x=2)
    with pytest.raises(TypeError, match=r"^Own has no parameter 'x'; parameters are number, name, inner, items$"):
        Own(x=2)


def test_long_representations_are_wrapped_and_cut():
    text = repr(Own(number=123456789, name="x" * 40, inner=Own(), items=list(range(100))))
    shown = ", ".join(map(str, range(30)))
    assert text.startswith(f"Own(inner=Own(),\n    items=[{shown}, ...],\n")
    assert text.endswith(f"    name='{'x' * 40}', number=123456789)")
    assert repr(Own()) == "Own()"


def test_own_estimators_need_only_fit_and_predict():
    class Mean(Regressor):
        def fit(self, X, y):
            self.mean_ = np.mean(y)
            return self

        def predict(self, X):
            return np.full(len(X), self.mean_)

    class Majority(Classifier):
        def fit(self, X, y):
            self.classes_, counts = np.unique(y, return_counts=True)
            self.most_ = self.classes_[counts.argmax()]
            return self

        def predict(self, X):
            return np.full(len(X), self.most_)

    assert cross_val_score(Mean(), X, Y, cv=KFold(3)).shape == (3,)
    assert cross_val_score(Majority(), X, LABELS, cv=3).min() > 0.3
    assert is_classifier(Majority())
    assert is_regressor(make_pipeline(StandardScaler(), Mean()))


@pytest.mark.parametrize("make", [regressor, classifier])
def test_unfitted_models_raise_the_error_of_sklearn(make):
    for call in (make().predict, make().apply):
        with pytest.raises(NotFittedError, match=f"This {type(make()).__name__} instance is not fitted yet"):
            call(X)
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        check_is_fitted(make())
    check_is_fitted(make().fit(X, LABELS if make is classifier else Y))


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
    assert type(model).__name__ in make_pipeline(StandardScaler(), model)._repr_html_()
    with sklearn.config_context(display="text"):
        assert model._repr_html_() is None


@pytest.mark.skipif(not hasattr(BaseEstimator, "_get_params_html"), reason="a release without tables of parameters")
def test_notebooks_show_all_parameters():
    assert "validation_fraction" in regressor()._repr_html_()


# --------------------------------------------------------------------------------------------- targets


def test_a_column_vector_is_flattened_with_sklearns_warning():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed when a 1d array was expected"):
        model = regressor().fit(X, Y[:, None])
    assert model.fingerprint() == regressor().fit(X, Y).fingerprint()


def test_a_target_of_other_rows_is_refused():
    with pytest.raises(ValueError, match=r"^y has shape \(150, 2\), but X has 300 rows: give one row of outputs each"):
        regressor().fit(X, np.zeros((150, 2)))


@pytest.mark.parametrize("shape", [(300, 1, 1), ()])
def test_a_target_of_another_shape_is_refused(shape):
    with pytest.raises(
        ValueError, match=r"^y should be a 1d array, got an array of shape \(.*\) instead: give one value"
    ):
        regressor().fit(X, np.zeros(shape))


def test_float_labels_that_look_like_a_regression_target():
    with pytest.raises(
        ValueError, match=r"^Unknown label type: continuous\. y has the value 2\.5 in row 2, .*regressor"
    ):
        classifier().fit(X[:4], [0.0, 1.0, 2.5, 3.5])
    with pytest.warns(
        UserWarning, match=r"^y has 30 classes in 30 rows, and they are floats: it could be a regression"
    ):
        classifier(n_estimators=1).fit(X[:30], np.arange(30.0))
    classifier(n_estimators=1).fit(X[:30], np.arange(30.0) // 2)
    classifier(n_estimators=1).fit(X[:30], np.arange(30))


def test_fit_returns_the_model_itself():
    model = regressor()
    assert model.fit(X, Y) is model
    assert model.fit_more(X, Y, n_estimators=1) is model


# --------------------------------------------------------------------------------------------- quiet and small

HEAVY = ["sklearn", "scipy", "joblib", "pandas", "polars", "pyarrow", "matplotlib", "rich", "dask", "duckdb", "torch"]


def run(code, folder):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=folder, timeout=120
    )


def test_import_and_fit_need_nothing_heavy_print_nothing_and_write_nothing(tmp_path):
    # CB#2158 (hard dependencies), CB#2197, #1891, #1051, #913 (catboost_info/), LGB#640, #1157, #1792, #4649 (noise)
    code = f"""
import sys
for name in {HEAVY}:
    sys.modules[name] = None  # as if it were not installed
import arboretum as arb
rows = [[float(i % 7), float(i % 3)] for i in range(60)]
arb.BoostedTreesRegressor(n_estimators=300).fit(rows, [row[0] for row in rows]).predict(rows)
arb.BoostedTreesClassifier(n_estimators=5).fit([[0.0]] * 60, ["a", "b", "c"] * 20).predict([[1.0]])
"""
    done = run(code, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_fresh_process_imports_nothing_heavy(tmp_path):
    """Where all is installed: scikit-learn alone would cost more than import, fit and prediction together."""
    code = f"""
import io, pickle, sys
import numpy as np
import arboretum as arb
X = np.random.default_rng(0).normal(size=(1000, 20))
for model, y in ((arb.BoostedTreesRegressor(), X[:, 0]), (arb.BoostedTreesClassifier(), X[:, 0] > 0)):
    model.set_params(n_estimators=5, random_state=np.random.RandomState(0)).fit(X, y).predict(X)
    repr(model), model.get_params(), model.apply(X), model.fingerprint()
    pickle.loads(pickle.dumps(model.set_params(random_state=None).fit(X, y))).predict(X)
    model.save("model.arb")
    arb.load("model.arb").predict(X)
model.predict_proba(X)
assert not [name for name in {[*HEAVY, "narwhals"]} if name in sys.modules]
"""
    done = run(code, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_import_alone_is_lean(tmp_path):
    code = "import sys, arboretum; assert not {'importlib.metadata', 'narwhals', 'sklearn'} & set(sys.modules)"
    assert run(code, tmp_path).stderr == ""


def test_version_is_known_when_asked_for():
    import arboretum

    assert arboretum.__version__ == metadata.version("arboretum")
    with pytest.raises(AttributeError, match="module 'arboretum' has no attribute 'versoin'"):
        arboretum.versoin


def test_fit_is_silent_where_nothing_can_be_split(capfd):  # LGB#4649: hundreds of lines "No further splits"
    regressor().fit(np.zeros((50, 2)), np.arange(50.0))
    classifier().fit(np.arange(4.0)[:, None], [0, 1, 0, 1])
    regressor(min_gain=1e9).fit(X, Y)
    assert capfd.readouterr() == ("", "")
