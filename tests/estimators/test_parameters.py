"""Parameters: every bad value is refused with its name, the value and the cure; a refused fit costs no model."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

from arboretum import BoostedTreesClassifier, BoostedTreesRegressor, Loss

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = X[:, 0] + 0.5 * X[:, 1]
LABELS = np.where(Y > 0, "yes", "no")
ESTIMATORS = [BoostedTreesRegressor, BoostedTreesClassifier]
HUGE = 10**30
NAN, INF = float("nan"), float("inf")

BAD = {
    "n_estimators": [0, -1, 2.5, "many", None, True, NAN],
    "trees_per_round": [0, -1, 2.5, "many", None, True],
    "learning_rate": [0, -0.1, "slow", None, NAN, True],  # and infinity: DIVERGING
    "average_rounds": [0, -1, 2.5, "all", True, NAN, [3]],
    "growth": ["leafs", None, 3],
    "max_leaf_nodes": [1, 0, -5, 2.5, "31", True, HUGE],
    "max_depth": [0, -1, 2.5, "6", True, HUGE],
    "min_samples_leaf": [0, -1, 2.5, "autos", None, True, HUGE],
    "min_child_weight": [-1e-9, "1", None, NAN, INF],
    "l1": [-1, None, NAN, INF],
    "l2": [-1, "2", NAN, INF],
    "min_gain": [-1, None, NAN, INF],
    "split_score": ["cos", None, True, 1],
    "score_noise": [-1e-9, "some", None, NAN, INF, True],
    "prune": ["yes", None, 2],
    "second_order": ["yes", None, 2],
    "leaf_steps": [0, 1.5, "many"],
    "ordered_boosting": [-1, 0.5, "yes"],
    "vector_leaves": ["yes", 1, None],
    "leaf_model": ["line", None, 1],
    "linear_l2": [-1, "2", None, NAN, INF],
    "max_delta_step": [-1, None, NAN, INF],
    "max_bins": [1, 0, 65_536, 2.5, "255", True],
    "category_levels": [-1, 2.5, "many", True],
    "category_combinations": [0, 17, 2.5, "all", None, True],
    "category_orders": [0, -1, 2.5, None, True],
    "subsample": [0, -0.1, 1.5, "half", None, NAN, True],
    "sampling": ["gos", None, 3],
    "top_rate": [-0.1, 1.5, "most", NAN, True, 0.2],
    "other_rate": [0, -0.1, 1.5, "some", NAN, True, 0.1],
    "bagging_temperature": [-1, "hot", NAN, INF, True, 1.0],
    "max_features": [0, -1, 0.0, 1.5, "sqrt", None, True, NAN],
    "colsample_tree": [0, -1, 1.5, "sqrt", None],
    "colsample_level": [0, -1, 1.5, "sqrt", None],
    "dart_rate": [-0.1, 1.5, "some", None, NAN, True],
    "dart_skip": [-0.1, 1.5, "some", None, NAN, True],
    "dart_max": [0, -1, 2.5, "all", None, True],
    "loss": ["poison", None, 3, Loss],
    "monotonic_cst": [5, [1], [1, 2, 0], {"x9": 1}, {7: 1}, {"x0": "up"}, [None, 0, 0], [NAN, 0, 0]],
    "interaction_cst": [5, "pairs", [0], [{9}], [{"x9"}], [{0.5}]],
    "categorical_features": [5, "x0", [9], [-1], ["x9"], [0.5], [True]],
    "unknown": ["mean", None, 1],
    "missing": ["ignore", None, 1],
    "early_stopping": ["yes", None, 1, 0],
    "scoring": ["acuracy", "ndcg", 5, True],
    "validation_fraction": [0, 1.0, -1, "x", None, 5, NAN],
    "n_iter_no_change": [0, -1, None, 2.5, True],
    "tol": [-1e-9, "some", None, NAN, INF],
    "race": ["yes", None, 2],
    "defaults": ["0.0", "1", 0.1, True],
    "refit": ["yes", None, 2],
    "time_limit": [0, -1, "1 h", NAN, True],
    "warm_start": ["yes", 2],
    "callbacks": [5, [5], print, "bar"],
    "random_state": ["seed", 2.5],
    "n_jobs": [0, "all", 2.5, True],
    "verbose": ["loud", -1, 2.5],
}
CASES = [(name, value) for name, values in BAD.items() for value in values]


def target(cls):
    return Y if cls is BoostedTreesRegressor else LABELS


def test_every_parameter_has_bad_values_here():
    signatures = [set(inspect.signature(cls).parameters) for cls in ESTIMATORS]
    assert signatures[0] & signatures[1] == set(BAD)
    assert signatures[0] ^ signatures[1] == {"quantile", "power", "class_weight"}


@pytest.mark.parametrize("cls", ESTIMATORS)
@pytest.mark.parametrize(("name", "value"), CASES)
def test_bad_value_is_refused_by_name_value_and_cure(cls, name, value):  # LGB#343, #5591, CB#88
    model = cls(**{"n_estimators": 2, name: value})
    with pytest.raises((TypeError, ValueError), match=name) as caught:
        model.fit(X, target(cls))
    message = str(caught.value)
    culprit = value
    if isinstance(value, list | dict):  # the message names the entry that is wrong
        culprit = None
    assert culprit is None or (value.__name__ if callable(value) else repr(value)) in message
    assert any(word in message for word in (": use", "use ", "give", "did you mean", "columns", "must")), message


DIVERGING = """
import numpy as np, arboretum as arb
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
y = X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=200)
y = y if "CLASS".endswith("Regressor") else y > 0
for rate, n_rounds in ((float("inf"), 3), (1e300, 3), (1e100, 5), (1e3, 300)):
    try:
        model = arb.CLASS(n_estimators=n_rounds, learning_rate=rate).fit(X, y)
        assert np.isfinite(model.predict_proba(X) if y.dtype == bool else model.predict(X)).all(), rate
        assert np.isfinite(rate)
    except ValueError as error:
        assert "learning_rate" in str(error), error
print("alive")
"""


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_fit_that_diverges_ends_in_an_error_or_a_finite_model(cls):  # CB#1935, #1553
    """Raw predictions that overflow must not become indices of anything: in a process of its own."""
    code = DIVERGING.replace("CLASS", cls.__name__)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


@pytest.mark.parametrize("value", [0, 1, -0.5, 2, NAN, "median", True])
@pytest.mark.parametrize("loss", ["quantile", "huber"])
def test_bad_quantile_is_refused(loss, value):
    with pytest.raises((TypeError, ValueError), match=f"quantile={value!r}"):
        BoostedTreesRegressor(loss=loss, quantile=value).fit(X, Y)


@pytest.mark.parametrize("value", [1, 2, 0, 3, NAN, "high"])
def test_bad_power_is_refused(value):
    with pytest.raises((TypeError, ValueError), match=f"power={value!r}"):
        BoostedTreesRegressor(loss="tweedie", power=value).fit(X, abs(Y))


@pytest.mark.parametrize(("name", "value"), [("quantile", 0.5), ("power", 1.5)])
def test_parameter_of_another_loss_is_refused(name, value):
    with pytest.raises(ValueError, match=f"loss='squared_error' has no parameter '{name}'"):
        BoostedTreesRegressor(**{name: value}).fit(X, Y)


@pytest.mark.parametrize(
    "value",
    [
        "balance",
        5,
        {"yes": -1},
        {"yes": NAN},
        {"yes": INF},
        {"yes": "heavy"},
        {"maybe": 1},
        [1, 2],
        {"yes": 0, "no": 0},
    ],
)
def test_bad_class_weight_is_refused(value):
    with pytest.raises((TypeError, ValueError), match="class_weight"):
        BoostedTreesClassifier(n_estimators=2, class_weight=value).fit(X, LABELS)


def test_class_weight_that_leaves_one_class_is_refused():
    with pytest.raises(ValueError, match="only one class, 'yes', has"):
        BoostedTreesClassifier(n_estimators=2, class_weight={"no": 0}).fit(X, LABELS)


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_loss_of_another_task_is_refused(loss):
    with pytest.raises(ValueError, match=f"loss '{loss}' is for regression, not classification: use one of log_loss"):
        BoostedTreesClassifier(loss=loss).fit(X, LABELS)
    with pytest.raises(ValueError, match="loss 'log_loss' is for classification, not regression: use one of squared"):
        BoostedTreesRegressor(loss="log_loss").fit(X, Y)


def test_monotone_constraints_are_refused_where_they_mean_nothing():  # XGB#5554, CB#1074, SK#28898
    labels = np.array(["a", "b", "c"])[RNG.integers(0, 3, 120)]
    with pytest.raises(ValueError, match=r"monotonic_cst is not supported for multiclass classification \(3 classes\)"):
        BoostedTreesClassifier(monotonic_cst=[1, 0, 0]).fit(X, labels)
    BoostedTreesClassifier(monotonic_cst=[0, 0, 0], n_estimators=1).fit(X, labels)
    with pytest.raises(ValueError, match="monotonic_cst on the categorical column 'x1': categories have no order"):
        BoostedTreesRegressor(monotonic_cst=[0, 1, 0], categorical_features=[1]).fit(np.round(X), Y)


@pytest.mark.parametrize("value", [0, -1, 2.5, "five", None, True])
def test_fit_more_checks_its_number_of_rounds(value):
    model = BoostedTreesRegressor(n_estimators=2).fit(X, Y)
    with pytest.raises((TypeError, ValueError), match=f"n_estimators={value!r}"):
        model.fit_more(X, Y, n_estimators=value)
    assert model.n_iter_ == 2


@pytest.mark.parametrize("cls", ESTIMATORS)
@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("n_estimator", "n_estimators"),
        ("learning_rat", "learning_rate"),
        ("max_leaf_node", "max_leaf_nodes"),
        ("colour", None),
    ],
)
def test_unknown_parameter_gets_the_nearest_name(cls, wrong, near):  # CB#88, LGB#343, #5591, #3115
    hint = f"did you mean '{near}'?" if near else "parameters are n_estimators"
    with pytest.raises(TypeError, match=f"{cls.__name__} has no parameter '{wrong}'") as caught:
        cls(**{wrong: 5})
    assert hint in str(caught.value)
    model = cls()
    with pytest.raises((TypeError, ValueError), match=f"'{wrong}'") as caught:
        model.set_params(**{wrong: 5})
    assert near is None or hint in str(caught.value)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_parameters_are_keyword_only(cls):
    with pytest.raises(TypeError, match="positional"):
        cls(100)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_numpy_scalars_are_numbers(cls):
    params = {"n_estimators": 5, "learning_rate": 0.5, "max_leaf_nodes": 7, "subsample": 0.5, "max_features": 2}
    plain = cls(**params).fit(X, target(cls))
    exotic = {name: np.array(value)[()] for name, value in params.items()}
    assert cls(**exotic).fit(X, target(cls)).fingerprint() == plain.fingerprint()


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_parameters_are_kept_as_given(cls):
    cst = {"x0": 1}
    model = cls(monotonic_cst=cst, learning_rate=np.float32(0.25))
    assert model.get_params()["monotonic_cst"] is cst
    assert type(model.learning_rate) is np.float32
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize(
    ("params", "fits"),
    [
        ({"max_features": 100}, {"max_features": 1.0}),
        ({"max_features": 3}, {"max_features": 1.0}),
        ({"colsample_tree": 3, "colsample_level": 3}, {}),
        ({"monotonic_cst": {}}, {}),
        ({"interaction_cst": []}, {}),
        ({"callbacks": []}, {}),
        ({"callbacks": ()}, {}),
        ({"time_limit": 1e9}, {}),
        ({"max_leaf_nodes": 31}, {}),
        ({"min_samples_leaf": 2}, {}),  # "auto" on 120 rows
    ],
)
def test_values_at_the_edge_equal_the_default(params, fits):
    model = BoostedTreesRegressor(n_estimators=5, **params).fit(X, Y)
    assert model.fingerprint() == BoostedTreesRegressor(n_estimators=5, **fits).fit(X, Y).fingerprint()


# ------------------------------------------------------------------------- a refused fit leaves the model as it was

NEW_LABELS = np.array(["p", "q", "r"])[RNG.integers(0, 3, 120)]


def interrupt(report):
    raise RuntimeError("stop")


def fit_anew(model, X=X[:, :2], y=None, **given):
    """Fit other columns and another target than those of the model."""
    new = NEW_LABELS if isinstance(model, BoostedTreesClassifier) else Y[::-1]
    return model.fit(X, new if y is None else y, **given)


FAILING_FITS = {
    "bad target": (lambda m: fit_anew(m, y=np.full(120, np.nan)), "y contains NaN"),
    "bad table": (lambda m: fit_anew(m, np.full((120, 3), {})), "column 'x0' holds values of type dict"),
    "bad weight": (lambda m: fit_anew(m, sample_weight=-np.ones(120)), "sample_weight is negative"),
    "bad growth": (lambda m: fit_anew(m.set_params(growth="up")), "growth='up'"),
    "bad share of columns": (lambda m: fit_anew(m.set_params(max_features=0)), "max_features=0"),
    "bad constraint": (lambda m: fit_anew(m.set_params(monotonic_cst=[9, 9])), "monotonic_cst of column 'x0' is 9"),
    "bad validation target": (lambda m: fit_anew(m, X_val=X[:, :2], y_val=Y[:5]), "y_val has 5 values"),
    "bad validation table": (lambda m: fit_anew(m, X_val=X, y_val=Y), "X has 3 features"),
    "bad loss": (lambda m: fit_anew(m.set_params(loss="poisons")), "unknown loss 'poisons'"),
    "callback that raises": (lambda m: fit_anew(m.set_params(callbacks=[interrupt])), "^stop$"),
    "bad rows to go on with": (lambda m: m.fit_more(X[:, :2], LABELS, n_estimators=2), "X has 2 features"),
}


@pytest.mark.parametrize(("failing", "message"), FAILING_FITS.values(), ids=FAILING_FITS.keys())
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_failing_fit_leaves_the_fitted_model_usable(cls, failing, message):
    model = cls(n_estimators=3).fit(X, target(cls))
    before, file = model.predict(X), model.fingerprint()
    state = {name: repr(getattr(model, name)) for name in vars(model) if name.endswith("_")}
    with pytest.raises((RuntimeError, TypeError, ValueError), match=message):
        failing(model)
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.fingerprint() == file
    assert {name: repr(getattr(model, name)) for name in vars(model) if name.endswith("_")} == state


def test_failing_class_weight_leaves_the_fitted_model_usable():
    model = BoostedTreesClassifier(n_estimators=3).fit(X, LABELS)
    with pytest.raises(ValueError, match="class_weight names 'zz'"):
        model.set_params(class_weight={"zz": 1.0}).fit(X, NEW_LABELS)
    assert model.classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_failing_first_fit_leaves_the_model_unfitted(cls):
    from sklearn.exceptions import NotFittedError

    model = cls(max_features=0)
    with pytest.raises(ValueError, match="max_features=0"):
        model.fit(X, target(cls))
    for use in (model.predict, model.apply, model.save):
        with pytest.raises(NotFittedError, match=f"This {cls.__name__} instance is not fitted yet"):
            use(X)
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        model.fit_more(X, target(cls), n_estimators=1)
    assert not [name for name in vars(model) if name.endswith("_")]
