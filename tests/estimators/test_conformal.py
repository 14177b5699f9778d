"""ConformalRegressor: coverage on rows it has not seen, for any estimator, in every way of calibrating."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.reference.sklearn_checks import checks_of

import arboretum as arb
from arboretum.model import model_file

PLAIN = {"l2": 0.0, "subsample": 1.0, "max_features": 1.0, "early_stopping": False}
RNG = np.random.default_rng(0)
N = 900
X = RNG.uniform(-2, 2, (N, 3))
Y = np.sin(X[:, 0]) + (0.1 + np.abs(X[:, 1])) * RNG.normal(size=N)
X_NEW = RNG.uniform(-2, 2, (6000, 3))
Y_NEW = np.sin(X_NEW[:, 0]) + (0.1 + np.abs(X_NEW[:, 1])) * RNG.normal(size=6000)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(town=np.where(X[:, 2] > 0, "Oslo", "Rome"))
FRAME.loc[::7, "c"] = np.nan


def boosted(**params):
    return arb.BoostedTreesRegressor(
        **{"n_estimators": 25, "max_leaf_nodes": 8, "learning_rate": 0.15, **PLAIN, **params}
    )


def conformal(**params):
    return arb.ConformalRegressor(**{"estimator": boosted(), "n_folds": 3, **params})


def coverage_of(ends, y):
    return np.mean((ends[:, 0] <= y) & (y <= ends[:, 1]))


QUANTILES = boosted(loss="quantile", quantile=[0.1, 0.9])
FOREST = arb.RandomForestRegressor(n_estimators=40, min_samples_leaf=3)
WAYS = {
    "cross": conformal(),
    "split": conformal(calibration="split", calibration_fraction=0.4),
    "constant": conformal(adaptive=False),
    "quantiles": conformal(estimator=QUANTILES),
    "oob": conformal(estimator=FOREST, calibration="oob"),
    "bagged": conformal(estimator=arb.BaggingRegressor(estimator=boosted(), n_estimators=3)),
    "pipeline": conformal(estimator=make_pipeline(StandardScaler(), Ridge())),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_coverage_of_new_rows(way, coverage):
    model = FITTED.setdefault(way, clone(WAYS[way]).fit(X, Y) if way not in FITTED else FITTED[way])
    ends = model.predict_interval(X_NEW, coverage)
    assert ends.shape == (6000, 2)
    assert (ends[:, 0] <= ends[:, 1]).all()
    assert coverage - 0.045 < coverage_of(ends, Y_NEW) < coverage + 0.07
    np.testing.assert_array_equal(model.predict(X_NEW[:5]), model.estimator_.predict(X_NEW[:5]))


FITTED: dict[str, arb.ConformalRegressor] = {}


def test_widths_follow_the_spread_and_are_smaller_for_it():
    constant, adaptive, quantiles = (clone(WAYS[way]).fit(X, Y) for way in ("constant", "cross", "quantiles"))
    quiet, noisy = np.abs(X_NEW[:, 1]) < 0.3, np.abs(X_NEW[:, 1]) > 1.5
    width = {m: np.diff(m.predict_interval(X_NEW), axis=1)[:, 0] for m in (constant, adaptive, quantiles)}
    for model in (adaptive, quantiles):
        assert width[model][noisy].mean() > 1.5 * width[model][quiet].mean()
    assert width[adaptive].mean() < width[constant].mean()
    assert width[constant][noisy].mean() < 1.2 * width[constant][quiet].mean()
    assert constant.spreads_ is None
    assert quantiles.spreads_ is None
    assert len(adaptive.spreads_) == len(adaptive.members_) == 3


def test_folds_judge_rows_they_have_not_seen():
    """A model that knows its rows by heart has errors of 0 on them, and honest ones elsewhere."""
    tree = arb.DecisionTreeRegressor()
    model = conformal(estimator=tree, adaptive=False).fit(X, Y)
    assert np.abs(tree.fit(X, Y).predict(X) - Y).max() < 1e-12
    assert 0.86 < coverage_of(model.predict_interval(X_NEW), Y_NEW) < 0.98


def test_intervals_of_split_by_hand():
    model = conformal(calibration="split", adaptive=False).fit(X, Y)
    assert model.members_[0] is model.estimator_
    scores = model.scores_.values
    n = len(model.scores_.values)
    assert n == 180
    rank = int(np.ceil(0.9 * (n + 1)))
    reach = np.sort(scores)[rank - 1]
    point = model.predict(X_NEW)
    np.testing.assert_allclose(model.predict_interval(X_NEW, 0.9), np.stack([point - reach, point + reach], axis=1))


def test_seeds_make_other_folds():
    first, second = (conformal(adaptive=False, random_state=seed).fit(X, Y) for seed in (0, 1))
    assert not np.array_equal(first.scores_.values, second.scores_.values)


def test_damaged_file(tmp_path):
    file = tmp_path / "model.arb"
    conformal().fit(X, Y).save(file)
    header, arrays = model_file.from_bytes(file.read_bytes())
    del arrays["spread 2"]
    model_file.save(file, header, arrays, compact=False)
    with pytest.raises(arb.ModelFileError, match="damaged model file: its header or its arrays lack 'spread 2'"):
        arb.load(file)
    conformal(adaptive=False).fit(X, Y).save(file)
    header, arrays = model_file.from_bytes(file.read_bytes())
    other = model_file.to_bytes(*boosted().fit(X[:, :2], Y).to_file())
    model_file.save(file, header, arrays | {"member 1": np.frombuffer(other, np.uint8)}, compact=False)
    with pytest.raises(arb.ModelFileError, match="a member of class BoostedTreesRegressor does not match the estimat"):
        arb.load(file)


def test_score_is_that_of_the_estimator():
    assert conformal().fit(X, Y).score(X, Y) == boosted().fit(X, Y).score(X, Y)
    assert conformal(estimator=QUANTILES).fit(X, Y).score(X, Y) == clone(QUANTILES).fit(X, Y).score(X, Y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"calibration": "crss"}, r"calibration='crss' \(did you mean 'cross'\?\)"),
        ({"n_folds": 1}, "n_folds=1: use an integer at least 2"),
        ({"n_folds": 901}, "n_folds=901, but X has n_samples=900: give more rows"),
        ({"calibration_fraction": 0.0}, "calibration_fraction=0.0: use a number above 0"),
        ({"calibration": "split", "calibration_fraction": 1e-4}, "leaves no row to fit or none to calibrate on"),
        ({"calibration": "split", "calibration_fraction": 1 / 900}, "adaptive=True needs more than one row to calib"),
        (
            {"calibration": "oob"},
            "needs an estimator with out-of-bag predictions, such as a random forest, not Boosted",
        ),
        ({"adaptive": "yes"}, "adaptive='yes': use one of True, False"),
        ({"estimator": arb.BoostedTreesClassifier()}, "is not a regressor, which ConformalRegressor needs"),
        ({"estimator": arb.BoostedTreesRegressor}, "use an estimator object, with fit, predict and get_params"),
    ],
)
def test_refused_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        conformal(**params).fit(X, Y)


def test_refused_questions():
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        conformal().predict_interval(X)
    model = conformal().fit(X[:30], Y[:30])
    with pytest.raises(
        ValueError, match=r"coverage=0.99 needs scores of at least 99 rows, but there are 30: calibrate on mo"
    ):
        model.predict_interval(X, 0.99)
    for coverage in (0.0, 1.0, np.nan, "most"):
        with pytest.raises(ValueError, match=r"coverage=.*: use a number strictly between 0 and 1"):
            model.predict_interval(X, coverage)
    with pytest.raises(TypeError, match="save needs members of arboretum, not Ridge: pickle or skops"):
        conformal(estimator=Ridge()).fit(X, Y).save("model.arb")
    with pytest.raises(ValueError, match="adaptive=True needs a table of rows and columns: set adaptive=False"):
        conformal(estimator=Lengths()).fit([f"{'a' * n}" for n in range(40)], np.arange(40.0))


class Lengths(Ridge):
    """A regressor of documents."""

    def fit(self, X, y):
        return super().fit([[len(text)] for text in X], y)

    def predict(self, X):
        return super().predict([[len(text)] for text in X])


def test_weights_need_an_estimator_that_takes_them():
    model = conformal(estimator=Lengths(), adaptive=False)
    with pytest.raises(ValueError, match="sample_weight is given, but fit of Lengths does not take it: leave it out"):
        model.fit(["a" * n for n in range(40)], np.arange(40.0), sample_weight=np.arange(40.0))


def test_exact_predictions_have_intervals_of_no_width():
    model = conformal().fit(X, np.ones(N))
    np.testing.assert_allclose(model.predict_interval(X_NEW[:4]), 1.0)


@pytest.mark.parametrize(
    ("estimator", "check"),
    checks_of(conformal(estimator=boosted(n_estimators=4, learning_rate=0.5), n_folds=2)),
    ids=lambda case: getattr(getattr(case, "func", case), "__name__", ""),
)
def test_every_check_of_sklearn(estimator, check):
    check(estimator)


# ---- several coverages, and ranges -----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["cross", "split", "quantiles", "pipeline"])
def test_several_coverages_are_nested(way):
    model, levels = clone(WAYS[way]).fit(X, Y), [0.9, 0.5, 0.95, 0.05]
    ends = model.predict_interval(X_NEW[:200], levels)
    assert ends.shape == (4, 200, 2)
    assert (ends[..., 0] <= ends[..., 1]).all()
    order = np.argsort(levels)
    assert (np.diff(ends[order, :, 0], axis=0) <= 0).all()
    assert (np.diff(ends[order, :, 1], axis=0) >= 0).all()
    for level, found in zip(levels[:3], ends[:3], strict=True):  # the last may have been inside out
        np.testing.assert_array_equal(found, model.predict_interval(X_NEW[:200], level))
    np.testing.assert_array_equal(model.predict_interval(X_NEW[:5], np.array([0.9])), ends[:1, :5])


@pytest.mark.parametrize("coverage", [[0.9, 1.0], [], [True], [["a"]], ["a"], [0.5, None]])
def test_wrong_coverages_among_others(coverage):
    model = FITTED.setdefault("cross", clone(WAYS["cross"]).fit(X, Y) if "cross" not in FITTED else FITTED["cross"])
    with pytest.raises(ValueError, match=r"coverage.*strictly between 0 and 1"):
        model.predict_interval(X, coverage)


COUNTS = np.random.default_rng(1).poisson(np.exp(X[:, 0] / 2))
OF_COUNTS = {
    "poisson": boosted(loss="poisson"),
    "gamma": boosted(loss="gamma"),
    "tweedie": boosted(loss="tweedie"),
    "forest": arb.RandomForestRegressor(n_estimators=10, criterion="poisson"),
    "bagged": arb.BaggingRegressor(estimator=boosted(loss="poisson"), n_estimators=3),
    "additive": arb.AdditiveBoostingRegressor(loss="poisson", n_estimators=10),
    "adaboost": arb.AdaBoostRegressor(estimator=arb.DecisionTreeRegressor(criterion="poisson", max_depth=2)),
    "histograms": HistGradientBoostingRegressor(loss="poisson", max_iter=10),
    "sklearn": PoissonRegressor(),
}


@pytest.mark.parametrize("name", OF_COUNTS)
def test_intervals_around_counts_are_not_negative(name, tmp_path):
    y = COUNTS + (name == "gamma")
    model = conformal(estimator=OF_COUNTS[name]).fit(X, y)
    ends = model.predict_interval(X, [0.8, 0.95])
    assert ends.min() == 0
    assert coverage_of(ends[0], y) > 0.75
    if name not in ("bagged", "additive", "adaboost", "sklearn", "histograms"):
        model.save(tmp_path / "m.arb")
        np.testing.assert_array_equal(arb.load(tmp_path / "m.arb").predict_interval(X, [0.8, 0.95]), ends)


def test_intervals_around_numbers_may_be_negative():
    assert conformal().fit(X, COUNTS).predict_interval(X, 0.95).min() < 0
