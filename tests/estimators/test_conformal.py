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
    return arb.ConformalRegressor(**{"estimator": boosted(), "n_folds": 3, "calibration": "cross", **params})


def coverage_of(ends, y):
    return np.mean((ends[:, 0] <= y) & (y <= ends[:, 1]))


QUANTILES = boosted(loss="quantile", quantile=[0.1, 0.9])
FOREST = arb.RandomForestRegressor(n_estimators=40, min_samples_leaf=3)
WAYS = {
    "cross": conformal(),
    "split": conformal(calibration="split", calibration_fraction=0.4),
    "pooled": conformal(calibration="pooled"),
    "pooled quantiles": conformal(estimator=QUANTILES, calibration="pooled"),
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


@pytest.mark.parametrize("adaptive", [False, True])
def test_pooled_scores_are_those_of_all_folds_around_the_model_of_all_rows(adaptive, tmp_path):
    crossed, pooled = (conformal(adaptive=adaptive, calibration=way).fit(X, Y) for way in ("cross", "pooled"))
    scores = np.sort(crossed.scores_.values)
    np.testing.assert_array_equal(pooled.scores_.values, scores)
    assert pooled.members_ == [pooled.estimator_]
    point, reach = pooled.predict(X_NEW), scores[int(np.ceil(0.8 * (N + 1))) - 1]
    np.testing.assert_array_equal(point, crossed.predict(X_NEW))
    half = reach * (pooled.spreads_[0].predict(X_NEW) if adaptive else 1.0)
    np.testing.assert_allclose(pooled.predict_interval(X_NEW, 0.8), np.stack([point - half, point + half], axis=1))
    pooled.save(tmp_path / "m.arb")
    back = arb.load(tmp_path / "m.arb")
    np.testing.assert_array_equal(back.predict_interval(X), pooled.predict_interval(X))
    assert back.fingerprint() == pooled.fingerprint()


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


@pytest.mark.parametrize("way", ["cross", "split", "pooled", "quantiles", "pipeline"])
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


# ---- groups ----------------------------------------------------------------------------------------------------------

LOUD, LOUD_NEW = (np.abs(part[:, 1]) > 1 for part in (X, X_NEW))
NAME, NAME_NEW = (np.where(part, "loud", "quiet") for part in (LOUD, LOUD_NEW))


@pytest.mark.parametrize("calibration", ["cross", "pooled", "split", "oob"])
def test_intervals_hold_within_each_group(calibration):
    way = {"adaptive": False, "calibration": calibration, "estimator": FOREST if calibration == "oob" else boosted()}
    together, apart = conformal(**way).fit(X, Y), conformal(**way).fit(X, Y, by=NAME)
    assert apart.groups_ == ("loud", "quiet")
    assert together.groups_ is None
    ends = apart.predict_interval(X_NEW, 0.8, by=NAME_NEW)
    for rows in (LOUD_NEW, ~LOUD_NEW):
        assert abs(coverage_of(ends[rows], Y_NEW[rows]) - 0.8) < 0.07
    plain = together.predict_interval(X_NEW, 0.8)
    assert coverage_of(plain[LOUD_NEW], Y_NEW[LOUD_NEW]) < 0.72
    assert coverage_of(plain[~LOUD_NEW], Y_NEW[~LOUD_NEW]) > 0.84


@pytest.mark.parametrize("calibration", ["cross", "pooled", "split"])
def test_scores_of_a_group_are_those_of_its_rows(calibration):
    """The slow twin: all scores are one list per model, of which a group takes what its rows have."""
    shared = {"calibration": calibration, "calibration_fraction": 0.4}
    together, apart = conformal(**shared).fit(X, Y), conformal(**shared).fit(X, Y, by=NAME)
    first, second = together.scores_, apart.scores_
    n = first.n_lists
    assert second.n_lists == 2 * n
    for k in range(n):
        joined = np.concatenate([second.part(k, k + 1).values, second.part(n + k, n + k + 1).values])
        np.testing.assert_array_equal(np.sort(joined), first.part(k, k + 1).values)
    loud = np.isin(first.values, second.part(0, n).values)
    assert loud.sum() == len(second.part(0, n).values)


def test_one_group_changes_nothing():
    plain, grouped = conformal().fit(X, Y), conformal().fit(X, Y, by=np.full(N, 7))
    np.testing.assert_array_equal(
        plain.predict_interval(X_NEW[:99]), grouped.predict_interval(X_NEW[:99], by=np.full(99, 7))
    )


def test_weights_of_rows_count_in_their_group():
    weight = RNG.integers(0, 3, N).astype(float)
    twice = np.repeat(np.arange(N), weight.astype(int))
    one = conformal(adaptive=False, estimator=arb.DecisionTreeRegressor(max_depth=3))
    weighted = clone(one).fit(X, Y, weight, by=NAME)
    repeated = clone(one).fit(X[twice], Y[twice], by=NAME[twice])
    order = np.random.default_rng(3).permutation(N)
    shuffled = clone(one).fit(X[order], Y[order], weight[order], by=NAME[order])
    ends = weighted.predict_interval(X_NEW, by=NAME_NEW)
    np.testing.assert_allclose(repeated.predict_interval(X_NEW, by=NAME_NEW), ends, atol=1e-9)
    np.testing.assert_array_equal(shuffled.predict_interval(X_NEW, by=NAME_NEW), ends)


@pytest.mark.parametrize("labels", [NAME, LOUD, LOUD.astype(int), np.where(LOUD, 0.5, 2.0)], ids=["str", "b", "i", "f"])
def test_groups_are_in_the_file(labels, tmp_path):
    model = conformal(estimator=boosted(n_estimators=5)).fit(X, Y, by=labels)
    model.save(tmp_path / "m.arb")
    back = arb.load(tmp_path / "m.arb")
    assert back.groups_ == model.groups_ == tuple(np.unique(labels).tolist())
    assert back.fingerprint() == model.fingerprint() != conformal().fit(X, Y).fingerprint()
    np.testing.assert_array_equal(back.predict_interval(X, by=labels), model.predict_interval(X, by=labels))


def test_a_column_may_name_the_groups():
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(side=NAME, y=Y)
    model = conformal(estimator=boosted(n_estimators=5)).fit(frame, target="y", by="side")
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(
        model.predict_interval(frame, by="side"), model.predict_interval(frame.drop(columns="side"), by=NAME)
    )
    with pytest.raises(TypeError, match="by='side' names a column, but X, a ndarray, has no column names"):
        model.predict_interval(X, by="side")


def test_groups_that_do_not_fit():
    model = conformal(estimator=boosted(n_estimators=5)).fit(X, Y, by=np.where(np.arange(N) < 6, "rare", NAME))
    with pytest.raises(ValueError, match="needs scores of at least 9 rows, but there are 6 in the group 'rare': calib"):
        model.predict_interval(X, 0.9, by=NAME)
    model.predict_interval(X, 0.5, by=NAME)
    with pytest.raises(ValueError, match="by has the label 'mute' in row 1, which the training labels do not have"):
        model.predict_interval(X[:2], 0.5, by=["loud", "mute"])
    with pytest.raises(ValueError, match="the model was fitted with by: give the group of each row"):
        model.predict_interval(X, 0.5)
    with pytest.raises(ValueError, match="by is given, but the model was fitted without it"):
        conformal(estimator=boosted(n_estimators=5)).fit(X, Y).predict_interval(X, by=NAME)
    with pytest.raises(ValueError, match="by has 3 values, but X has 900 rows: give one value per row"):
        model.fit(X, Y, by=NAME[:3])
    with pytest.raises(ValueError, match=r"by has the label .* of type date: give texts or numbers"):
        model.fit(X, Y, by=np.array(["2020-01-01"] * N, dtype="datetime64[D]"))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("loud", "groups: expected a list of texts or numbers"),
        ([], "groups: expected a list of texts or numbers"),
        ([["a"], "b"], "groups: expected a list of texts or numbers"),
        (["a", "a"], "groups: expected different labels"),
        (list("abcd"), "scores have 6 lists, which 4 groups cannot share"),
    ],
)
def test_damaged_groups(groups, message, tmp_path):
    file = tmp_path / "model.arb"
    conformal(estimator=boosted(n_estimators=2), adaptive=False).fit(X, Y, by=NAME).save(file)
    header, found = model_file.load(file)
    model_file.save(file, {**header, "groups": groups}, found, compact=False)
    with pytest.raises(arb.ModelFileError, match=message):
        arb.load(file)


# ---- bounds ----------------------------------------------------------------------------------------------------------


def test_intervals_end_at_the_bounds():
    model = conformal().fit(X, Y)
    plain = model.predict_interval(X_NEW, [0.5, 0.95])
    both = model.set_params(bounds=(-0.5, 0.75)).predict_interval(X_NEW, [0.5, 0.95])
    np.testing.assert_array_equal(both, np.clip(plain, -0.5, 0.75))
    above = model.set_params(bounds=(None, 0.75)).predict_interval(X_NEW, [0.5, 0.95])
    np.testing.assert_array_equal(above, np.minimum(plain, 0.75))
    assert coverage_of(above[1], np.minimum(Y_NEW, 0.75)) >= coverage_of(plain[1], Y_NEW)


@pytest.mark.parametrize("bounds", [3.0, (1.0,), (1.0, 1.0), ("a", 1), (np.nan, 1.0), (True, 4)])
def test_refused_bounds(bounds):
    with pytest.raises(ValueError, match=r"bounds=.*: use a pair of numbers that rise, such as \(0, 100\), or None"):
        conformal(bounds=bounds).fit(X, Y)
