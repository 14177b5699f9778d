"""Members of bagging: shared tables, files, other people's estimators, and what is refused."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import AdaBoostClassifier
from sklearn.ensemble import BaggingClassifier as TheirBaggingClassifier
from sklearn.ensemble import BaggingRegressor as TheirBaggingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.reference.bagging_models import (
    FRAME,
    LABELS,
    RNG,
    STEPS,
    X,
    Y,
    boosted_classifier,
    boosted_regressor,
    every_model,
    outcome,
    target_of,
)

import arboretum as arb
from arboretum.ensembles.bagging.resampling import RowDraws
from arboretum.estimators.bagging import BaggingClassifier, BaggingRegressor
from arboretum.estimators.files import load
from arboretum.estimators.protocol import Classifier
from arboretum.model import model_file


def clone_of_fit(model):
    return pickle.loads(pickle.dumps(model))


# --------------------------------------------------------------------------------------------- sharing


@pytest.mark.parametrize("weight", [None, RNG.random(200)])
@pytest.mark.parametrize("columns", [1.0, 2])
def test_members_of_a_shared_table_equal_those_fitted_alone(weight, columns):
    """Where every bag has all values, cuts are the same; weights and constraints must then be so, too."""
    y = STEPS[:, 0] - STEPS[:, 1] + np.random.default_rng(1).normal(size=200)
    base = arb.BoostedTreesRegressor(n_estimators=5, monotonic_cst=[1, -1, 0], interaction_cst=[{0, 1}])
    model = BaggingRegressor(estimator=base, n_estimators=5, max_features=columns).fit(STEPS, y, weight)
    for member, rows, chosen in zip(
        model.estimators_, model.estimators_samples_, model.estimators_features_, strict=True
    ):
        kept, copies = np.unique(rows, return_counts=True)
        alone = clone(member).fit(STEPS[kept][:, chosen], y[kept], copies)
        np.testing.assert_allclose(member.predict(STEPS[:, chosen]), alone.predict(STEPS[:, chosen]), rtol=1e-9)
        assert list(member.monotonic_cst) == [[1, -1, 0][column] for column in chosen]


def test_class_weights_of_members_hold():
    base = arb.BoostedTreesClassifier(n_estimators=5, class_weight={"low": 0.0, "mid": 1.0, "top": 1.0})
    model = BaggingClassifier(estimator=base, n_estimators=3).fit(X, LABELS)
    assert model.predict_proba(X)[:, 0].max() < 1e-6
    assert "low" not in model.predict(X)


def test_constraints_hold_in_the_mean():
    base = arb.BoostedTreesRegressor(n_estimators=20, monotonic_cst={"d": 1})
    model = BaggingRegressor(estimator=base, max_features=3).fit(FRAME, Y)
    grid = FRAME.iloc[[0] * 100].assign(d=np.linspace(-3, 3, 100))
    assert (np.diff(model.predict(grid)) >= 0).all()


def test_early_stopping_of_members():
    base = arb.BoostedTreesRegressor(n_estimators=500, early_stopping=True, n_iter_no_change=3)
    model = BaggingRegressor(estimator=base, n_estimators=3).fit(X, Y)
    assert all(member.history_.stopped_by == "early stopping" for member in model.estimators_)


def test_tables_are_read_once(monkeypatch):
    from arboretum.ensembles.boosting import recipe
    from arboretum.ensembles.members import tables

    calls = Counter()

    def counting(module, name):
        function = getattr(module, name)

        def call(*args, **kwargs):
            calls[name] += 1
            return function(*args, **kwargs)

        monkeypatch.setattr(module, name, call)

    counting(tables, "read_table")
    counting(recipe, "read_table")
    counting(recipe, "learn_bins")
    boosted_regressor(n_estimators=7).fit(FRAME, Y)
    assert calls == {"read_table": 1, "learn_bins": 1}


# --------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    "model",
    [
        boosted_classifier(),
        boosted_regressor(max_features=0.5),
        BaggingRegressor(estimator=arb.RandomForestRegressor(n_estimators=3), n_estimators=2),
    ],
)
@pytest.mark.parametrize("compact", [True, False])
def test_files_keep_the_model(model, compact, tmp_path):
    model = clone(model).fit(FRAME, target_of(model))
    model.save(tmp_path / "model.arb", compact=compact)
    again = load(tmp_path / "model.arb")
    assert type(again) is type(model)
    assert again.fingerprint() == model.fingerprint() == clone_of_fit(model).fingerprint()
    np.testing.assert_array_equal(outcome(again, FRAME), outcome(model, FRAME))
    assert repr(again) == repr(model)
    assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    with pytest.raises(AttributeError, match=r"^estimators_samples_ needs the training rows: a model file does not"):
        again.estimators_samples_
    grown = again.set_params(warm_start=True, n_estimators=5).fit(FRAME, target_of(model))
    whole = clone(model).set_params(n_estimators=5).fit(FRAME, target_of(model))
    assert grown.fingerprint() == whole.fingerprint()


@every_model
def test_pickles_keep_the_model(model):
    model = clone(model).fit(X, target_of(model))
    again = clone_of_fit(model)
    np.testing.assert_array_equal(outcome(again, X), outcome(model, X))
    for a, b in zip(again.estimators_samples_, model.estimators_samples_, strict=True):
        np.testing.assert_array_equal(a, b)


def test_files_of_strangers_are_refused(tmp_path):
    model = BaggingRegressor(estimator=LinearRegression()).fit(X, Y)
    with pytest.raises(TypeError, match=r"^save needs members of arboretum, not LinearRegression: pickle or skops"):
        model.save(tmp_path / "model.arb")
    with pytest.raises(TypeError, match=r"^fingerprint needs members of arboretum, not LinearRegression"):
        model.fingerprint()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        boosted_regressor().save(tmp_path / "model.arb")


DAMAGE = {
    "columns that do not rise": lambda h, a: h["columns"][0].reverse(),
    "columns beyond": lambda h, a: h["columns"][0].__setitem__(-1, 9),
    "columns that are text": lambda h, a: h.__setitem__("columns", "all"),
    "no columns": lambda h, a: h["columns"][0].clear(),
    "fewer columns": lambda h, a: h["columns"][0].pop(),
    "more members than files": lambda h, a: h["columns"].append([0]),
    "no members": lambda h, a: h["columns"].clear(),
    "no seed": lambda h, a: h.__setitem__("seed", None),
    "a base of another class": lambda h, a: h["estimator"].__setitem__("model", "BoostedTreesRegressor"),
    "a base that is bagging": lambda h, a: h["estimator"].__setitem__("model", "BaggingClassifier"),
    "a base of other members": lambda h, a: h.__setitem__(
        "estimator", {"model": "DecisionTreeClassifier", "params": {}}
    ),
    "members that predict classes, not numbers": lambda h, a: h.update(
        model="BaggingRegressor", params={key: value for key, value in h["params"].items() if key != "voting"}
    ),
    "an unknown base": lambda h, a: h["estimator"].__setitem__("model", "os"),
    "unknown parameters": lambda h, a: h["estimator"]["params"].__setitem__("nonsense", 1),
    "parameters out of range": lambda h, a: h["params"].__setitem__("n_estimators", -1),
    "other classes": lambda h, a: h["classes"].__setitem__("values", ["low", "mid", "zzz"]),
    "fewer classes": lambda h, a: h["classes"]["values"].pop(),
    "a schema that is none": lambda h, a: h.__setitem__("schema", []),
    "a member that is no file": lambda h, a: a.__setitem__("member 0", np.zeros(9)),
    "a member of zeros": lambda h, a: a.__setitem__("member 0", np.zeros(99, np.uint8)),
    "a member that is damaged": lambda h, a: a.__setitem__(
        "member 0", np.where(np.arange(a["member 0"].size) == 2000, 1 ^ a["member 0"], a["member 0"]).astype(np.uint8)
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_are_refused(damage, tmp_path):
    file = tmp_path / "model.arb"
    boosted_classifier(max_features=3).fit(X, LABELS).save(file)
    assert load(file).max_features == 3
    header, arrays = model_file.from_bytes(file.read_bytes())
    DAMAGE[damage](header, arrays)
    model_file.save(file, header, arrays, compact=False)
    with pytest.raises(arb.ModelFileError, match="model file"):
        load(file)


def test_a_loaded_file_runs_no_code_and_needs_no_sklearn(tmp_path):
    code = """
import sys
for name in ("sklearn", "scipy", "joblib", "pandas"):
    sys.modules[name] = None
import numpy as np, arboretum as arb
from arboretum.estimators.bagging import BaggingClassifier
X = np.random.default_rng(0).normal(size=(100, 3))
base = arb.BoostedTreesClassifier(n_estimators=3)
model = BaggingClassifier(estimator=base, max_features=2, n_jobs=2).fit(X, X[:, 0] > 0)
model.save("model.arb")
assert (arb.load("model.arb").predict(X) == model.predict(X)).all()
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# --------------------------------------------------------------------------------------------- against scikit-learn


@pytest.mark.parametrize("base", [None, LogisticRegression(max_iter=5000), KNeighborsClassifier()])
def test_accuracy_is_that_of_sklearn(base):
    data, y = load_breast_cancer(return_X_y=True)
    data = (data - data.mean(axis=0)) / data.std(axis=0)
    mine = cross_val_score(BaggingClassifier(estimator=base, n_estimators=20), data, y, cv=5).mean()
    theirs = cross_val_score(TheirBaggingClassifier(base, n_estimators=20, random_state=0), data, y, cv=5).mean()
    assert abs(mine - theirs) < 0.015
    oob = BaggingClassifier(estimator=base, n_estimators=20, oob_score=True).fit(data, y).oob_score_
    assert abs(oob - theirs) < 0.02


def test_regression_is_that_of_sklearn_and_better_than_one_tree():
    data, y = load_diabetes(return_X_y=True)
    mine = cross_val_score(BaggingRegressor(n_estimators=30), data, y, cv=5).mean()
    theirs = cross_val_score(TheirBaggingRegressor(n_estimators=30, random_state=0), data, y, cv=5).mean()
    alone = cross_val_score(DecisionTreeRegressor(random_state=0), data, y, cv=5).mean()
    assert abs(mine - theirs) < 0.05
    assert mine > alone + 0.3


def test_bagged_boosting_is_better_than_boosting_of_deep_trees():
    data, y = load_diabetes(return_X_y=True)
    base = arb.BoostedTreesRegressor(n_estimators=50, max_leaf_nodes=31, min_samples_leaf=2)
    alone = cross_val_score(base, data, y, cv=5).mean()
    assert cross_val_score(BaggingRegressor(estimator=base), data, y, cv=5).mean() > alone + 0.05


def test_adaboost_can_be_bagged():
    data, y = load_breast_cancer(return_X_y=True)
    model = BaggingClassifier(estimator=AdaBoostClassifier(n_estimators=10), n_estimators=5, oob_score=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some rows are in all five bags
        assert model.fit(data, y).oob_score_ > 0.93


# --------------------------------------------------------------------------------------------- parameters and errors


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_estimators": 0}, r"^n_estimators=0: use an integer at least 1"),
        ({"max_samples": 0}, r"^max_samples=0: use an integer at least 1"),
        ({"max_samples": 0.0}, r"^max_samples=0\.0: use a number above 0"),
        ({"max_samples": 1.5, "bootstrap": False}, r"^max_samples=1\.5: use a number above 0 and at most 1$"),
        ({"max_samples": True}, r"^max_samples=True: use an integer"),
        ({"max_samples": 151, "bootstrap": False}, r"^max_samples=151, but there are 150 rows .*bootstrap=True$"),
        ({"max_features": 5}, r"^max_features=5, but X has 4 columns: use fewer or a share$"),
        ({"max_features": 1.5}, r"^max_features=1\.5: use a number above 0 and at most 1$"),
        ({"max_features": "sqrt"}, r"^max_features='sqrt': use a number"),
        ({"bootstrap": "yes"}, r"^bootstrap='yes': use one of True, False$"),
        ({"bootstrap_features": 2}, r"^bootstrap_features=2: use one of True, False$"),
        ({"warm_start": None}, r"^warm_start=None: use one of True, False$"),
        ({"verbose": -1}, r"^verbose=-1: use an integer at least 0"),
        ({"oob_score": 3}, r"^oob_score=3: use True, False, a scorer's name or a function"),
        ({"oob_score": True, "bootstrap": False}, r"^oob_score=True, but every member sees every row.*bootstrap=True"),
        ({"estimator": "tree"}, r"^estimator='tree': use an estimator object"),
        ({"estimator": DecisionTreeRegressor}, r": use an estimator object, with fit, predict and get_params$"),
        ({"estimator": DecisionTreeClassifier()}, r"cannot be bagged by BaggingRegressor: use BaggingClassifier$"),
        ({"estimator": arb.BoostedTreesClassifier()}, r"cannot be bagged by BaggingRegressor: use BaggingClassifier$"),
        ({"estimator": arb.BoostedTreesRegressor(max_bins=1)}, r"^max_bins=1: use an integer at least 2"),
        ({"random_state": "a"}, r"^random_state='a': use an integer, a NumPy Generator or RandomState, or None$"),
        ({"n_jobs": 0}, r"^n_jobs=0: use None, a positive number"),
    ],
)
def test_parameters_are_refused_with_their_cure(params, message):
    with pytest.raises(ValueError, match=message):
        BaggingRegressor(**params).fit(X, Y)


def test_other_errors_name_their_cure():
    with pytest.raises(ValueError, match=r"^voting='sofd' \(did you mean 'soft'\?\): use one of 'soft', 'hard'$"):
        BaggingClassifier(voting="sofd").fit(X, LABELS)
    with pytest.raises(ValueError, match=r"cannot be bagged by BaggingClassifier: use BaggingRegressor$"):
        BaggingClassifier(estimator=LinearRegression()).fit(X, LABELS)
    with pytest.raises(
        TypeError, match=r"^BaggingClassifier has no parameter 'base_estimator': scikit-learn's .* is estimator here"
    ):
        BaggingClassifier(base_estimator=None)
    with pytest.raises(
        ValueError, match=r"^bootstrap=False with a sample_weight that is not whole numbers needs members"
    ):
        BaggingRegressor(estimator=KNeighborsRegressor(), bootstrap=False).fit(
            X, Y, np.random.default_rng(1).random(150)
        )
    with pytest.raises(ValueError, match=r"^y has 149 values, but X has 150 rows"):
        BaggingRegressor().fit(X, Y[1:])
    with pytest.raises(ValueError, match=r"^y has only one class"):
        BaggingClassifier().fit(X, np.zeros(150, int))
    with pytest.raises(ValueError, match=r"X has no rows$"):
        BaggingRegressor().fit(X[:0], Y[:0])
    with pytest.raises(ValueError, match=r"^no row has a positive weight to be drawn by$"):
        RowDraws.of(np.zeros(2, np.uint64), np.zeros(2), 1.0, replace=True)
    model = BaggingRegressor().fit(FRAME[["a", "b"]], Y)
    with pytest.raises(ValueError, match=r"the columns of X are not those of the fit"):
        model.predict(FRAME[["a", "c"]])
    with pytest.raises(ValueError, match=r"^X has 3 features, but BaggingRegressor is expecting 2 features as input"):
        model.predict(X[:, :3])
    for method in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError, match=r"This BaggingClassifier instance is not fitted yet"):
            getattr(BaggingClassifier(), method)(X)
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        BaggingClassifier().estimators_samples_


def test_configuration_of_sklearn_reaches_the_members():
    with sklearn.config_context(enable_metadata_routing=True):
        model = BaggingRegressor(estimator=Wrapper(), n_jobs=2).fit(X, Y)
    assert all(member.routing_ for member in model.estimators_)


class Wrapper(LinearRegression):
    """An estimator of scikit-learn that looks at its configuration."""

    def fit(self, X, y):
        self.routing_ = sklearn.get_config()["enable_metadata_routing"]
        return super().fit(X, y)


def test_members_of_a_class_that_is_no_classifier_of_ours():
    class Most(Classifier):
        def fit(self, X, y, sample_weight=None):
            self.classes_, codes = np.unique(y, return_inverse=True)
            self.most_ = np.bincount(codes, sample_weight).argmax()
            return self

        def predict(self, X):
            return np.full(len(X), self.classes_[self.most_])

    model = BaggingClassifier(estimator=Most()).fit(X, LABELS)
    votes = Counter(member.classes_[member.most_] for member in model.estimators_)
    assert votes[model.predict(X)[0]] == max(votes.values())


def test_progress_is_shown(capfd):
    BaggingRegressor(n_estimators=2, verbose=1).fit(X, Y)
    assert "2/2" in capfd.readouterr().err
    BaggingRegressor(n_estimators=2).fit(X, Y)
    assert capfd.readouterr() == ("", "")


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs/bagging.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 5
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/bagging.md", "exec"), namespace)
