"""Laws of the boosting loop, through the estimators."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arboretum as arb
from arboretum.data.binning import assign_bins, learn_bins
from arboretum.data.table import read_table
from arboretum.ensembles.boosting.history import History
from arboretum.ensembles.boosting.rounds import BoostingParams, BoostingRun
from arboretum.ensembles.boosting.rows import Rows, filled_raw, start_raw
from arboretum.growing.grower import TreeParams
from arboretum.growing.sampling import Subsample
from arboretum.losses import LOSSES, Logistic, Loss, Multinomial, SquaredError

REGRESSION = [name for name, build in LOSSES.items() if build().task == "regression"]
GROWTHS = ["leaf", "level", "symmetric"]


def problem(n_rows=300, n_features=4, seed=0, positive=False, holes=0.1):
    """Rows with holes and a target of signal and noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    X[rng.random(X.shape) < holes] = np.nan
    clean = np.nan_to_num(X)
    y = clean[:, 0] * 2 + np.sin(3 * clean[:, 1]) + 0.3 * rng.normal(size=n_rows)
    return X, np.exp(y / 3) if positive else y


def same_forest(a, b):
    for name, array in a.to_arrays().items():
        np.testing.assert_array_equal(array, b.to_arrays()[name], err_msg=name, strict=True)


# ---- running raw predictions ---------------------------------------------------------------------------------------


def boosted_rows(loss, y, X, n_rounds, *, sampler=None, weight=None, **tree):
    """Boost by hand, to see the raw predictions that the loop kept."""
    table = read_table(X)
    data = assign_bins(table, learn_bins(table))
    base = start_raw(loss, y, weight)
    rows = Rows(data, y, weight, filled_raw(base, table.n_rows))
    tree_params = TreeParams(min_samples_leaf=5, max_leaf_nodes=8, **tree)
    params = BoostingParams(n_rounds, 0.5, tree_params, sampler or Subsample(), seed=1, threads=1)
    forest, history = BoostingRun(rows, loss, params, base=base).complete()
    return rows, forest, history, table


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("share", [1.0, 0.5])
@pytest.mark.parametrize("name", [*REGRESSION, "log_loss", "multinomial"])
def test_running_predictions_are_those_of_the_forest(name, share, growth):
    X, y = problem(positive=True)
    if name == "log_loss":
        loss, y = Logistic(), (y > np.median(y)).astype(float)
    elif name == "multinomial":
        loss, y = Multinomial(3), np.digitize(y, np.quantile(y, [0.3, 0.7])).astype(float)
    else:
        loss = LOSSES[name]()
    rows, forest, history, table = boosted_rows(loss, y, X, 6, sampler=Subsample(share), growth=growth, max_depth=3)
    assert forest.n_trees == 6 * loss.n_outputs
    assert history.stopped_by == "rounds"
    np.testing.assert_array_equal(forest.raw(table.columns, table.n_rows), rows.raw.T)


@pytest.mark.parametrize("categorical", [False, True])
def test_rows_of_small_weight_are_where_the_forest_puts_them(categorical):
    """In the histograms of a large table their gradients and hessians may round to 0; their rows are still there."""
    rng = np.random.default_rng(0)
    code = rng.integers(0, 9, 70_000)
    y, weight = np.sin(code) + rng.normal(size=70_000), np.where(code == 7, 1e-7, 1.0)
    if categorical:
        X = np.array([f"c{c}" for c in code], dtype=object)[:, None]
    else:
        X = np.where(code == 7, np.nan, code)[:, None]
    rows, forest, _, table = boosted_rows(SquaredError(), y, X, 5, weight=weight)
    np.testing.assert_array_equal(forest.raw(table.columns, table.n_rows), rows.raw.T)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 1000),
    st.sampled_from(GROWTHS),
    st.sampled_from(["squared_error", "absolute_error", "huber", "poisson", "log_loss", "multinomial"]),
    st.sampled_from([1.0, 0.6]),
    st.integers(1, 9),
)
def test_stopping_and_going_on_is_the_same_as_never_stopping(seed, growth, name, subsample, first):
    X, y = problem(120, 3, seed, positive=True)
    options = {"growth": growth, "subsample": subsample, "max_features": 0.7, "random_state": seed, "max_depth": 3}
    if name in ("log_loss", "multinomial"):
        y = np.digitize(y, np.quantile(y, [0.5] if name == "log_loss" else [0.3, 0.6]))
        make = arb.BoostedTreesClassifier
    else:
        make, options["loss"] = arb.BoostedTreesRegressor, name
    whole = make(n_estimators=10, **options).fit(X, y)
    parts = make(n_estimators=first, warm_start=True, **options).fit(X, y)
    parts.set_params(n_estimators=10).fit(X, y)
    more = (
        make(n_estimators=first, **options).fit(X, y).fit_more(X, y, n_estimators=10 - first) if first < 10 else whole
    )
    assert whole.fingerprint() == parts.fingerprint() == more.fingerprint()
    assert parts.n_iter_ == 10


def test_nothing_to_add_leaves_the_model_as_it_is():
    X, y = problem()
    model = arb.BoostedTreesRegressor(n_estimators=3, warm_start=True).fit(X, y)
    before = model.forest_
    assert model.fit(X, y).forest_ is before
    with pytest.raises(ValueError, match="n_estimators=2 is less than the 3 rounds already fitted"):
        model.set_params(n_estimators=2).fit(X, y)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_stages_end_at_the_prediction(n_classes):
    X, y = problem()
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
        model = arb.BoostedTreesClassifier(n_estimators=7).fit(X, y)
        stages = list(model.staged_predict_proba(X))
        np.testing.assert_array_equal(stages[-1], model.predict_proba(X))
    else:
        model = arb.BoostedTreesRegressor(n_estimators=7).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_iter_ == 7
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    shorter = type(model)(n_estimators=4).fit(X, y)
    np.testing.assert_array_equal(stages[3], shorter.predict(X))


def test_the_first_rounds_are_a_slice_of_the_forest():
    X, y = problem()
    long, short = (arb.BoostedTreesRegressor(n_estimators=n).fit(X, y) for n in (9, 4))
    same_forest(long.forest_[:4], short.forest_)


def test_the_learning_rate_scales_the_first_tree():
    X, y = problem()
    full, tenth = (
        arb.BoostedTreesRegressor(n_estimators=1, learning_rate=rate).fit(X, y).forest_ for rate in (1.0, 0.125)
    )
    np.testing.assert_array_equal(tenth.value, full.value * 0.125)
    for name in ("feature", "threshold", "gain", "n_rows", "base"):
        np.testing.assert_array_equal(getattr(tenth, name), getattr(full, name))


@pytest.mark.parametrize("name", REGRESSION)
def test_training_loss_falls(name):
    X, y = problem(positive=True)
    model = arb.BoostedTreesRegressor(loss=name, n_estimators=15, callbacks=[lambda _: None]).fit(X, y)
    losses = model.history_.training_loss
    assert len(losses) == 15
    # Huber's delta moves with the residuals: its later rounds minimise another loss than the one that scores.
    assert losses[-1] < losses[0]
    if name in ("squared_error", "poisson", "gamma", "tweedie"):
        assert np.all(np.diff(losses) < 0)


# ---- ends ----------------------------------------------------------------------------------------------------------


def after(n_rounds, action):
    def callback(report):
        return action() if report.number == n_rounds else None

    return callback


def interrupt():
    raise KeyboardInterrupt


def test_an_interrupted_fit_keeps_its_rounds():
    X, y = problem()
    model = arb.BoostedTreesRegressor(n_estimators=20, callbacks=[after(5, interrupt)])
    with pytest.warns(UserWarning, match="fit was interrupted: the model keeps the 5 rounds so far"):
        model.fit(X, y)
    assert model.history_.stopped_by == "interrupt"
    assert model.n_iter_ == 5
    five = arb.BoostedTreesRegressor(n_estimators=5).fit(X, y)
    assert model.fingerprint() == five.fingerprint()
    # … and can go on.
    model.set_params(callbacks=None, warm_start=True).fit(X, y)
    assert model.fingerprint() == arb.BoostedTreesRegressor(n_estimators=20).fit(X, y).fingerprint()


class Interrupted(SquaredError):  # noqa: N818
    """Raises in the middle of a round, as Ctrl-C would."""

    def __init__(self, rounds):
        object.__setattr__(self, "left", [rounds])

    def gradients(self, y, raw):
        self.left[0] -= 1
        if self.left[0] < 0:
            raise KeyboardInterrupt
        return super().gradients(y, raw)


def test_an_interrupted_round_is_not_kept():
    X, y = problem()
    with pytest.warns(UserWarning, match="keeps the 3 rounds so far"):
        model = arb.BoostedTreesRegressor(loss=Interrupted(3), n_estimators=20).fit(X, y)
    same_forest(model.forest_, arb.BoostedTreesRegressor(n_estimators=3).fit(X, y).forest_)


def test_an_interrupt_before_the_first_round_ends_is_raised():
    X, y = problem()
    model = arb.BoostedTreesRegressor(loss=Interrupted(0))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "forest_")


# A million rounds would take an hour. With validation rows the best round is an early one: the target is mostly noise.
LONG_FIT = """
import json, signal, sys, warnings
import numpy as np
import arboretum as arb

signal.signal(signal.SIGINT, signal.default_int_handler)  # a child of a background job would ignore it
rng = np.random.default_rng(0)
X = rng.normal(size=(40_000, 10))
y = X[:, 0] + 3 * rng.normal(size=40_000)
held = {"X_val": X[:4000], "y_val": y[:4000]} if sys.argv[1] == "validated" else {}

def tell(report):
    if report.number == 20:
        print("in the middle", flush=True)

params = {"learning_rate": 0.5, "early_stopping": bool(held), "n_iter_no_change": 10**6, "race": False, "n_jobs": 2}
model = arb.BoostedTreesRegressor(n_estimators=10**6, callbacks=[tell], **params)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model.fit(X[4000:], y[4000:], **held)
again = arb.BoostedTreesRegressor(n_estimators=model.n_iter_, **{**params, "early_stopping": False})
print(json.dumps({
    "warnings": [str(warning.message) for warning in caught],
    "stopped_by": model.history_.stopped_by,
    "rounds": model.n_iter_,
    "validation_loss": model.history_.validation_loss,
    "same": model.fingerprint() == again.fit(X[4000:], y[4000:]).fingerprint(),
}))
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for a single process")
@pytest.mark.parametrize("rows", ["plain", "validated"])
def test_control_c_from_outside_returns_the_best_model_so_far(rows):
    with subprocess.Popen([sys.executable, "-c", LONG_FIT, rows], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "in the middle\n"
            os.kill(child.pid, signal.SIGINT)
            found = json.loads(child.communicate(timeout=30)[0])
        finally:
            child.kill()
    assert child.returncode == 0
    assert found["stopped_by"] == "interrupt"
    assert found["warnings"] == [f"fit was interrupted: the model keeps the {found['rounds']} rounds so far"]
    assert found["same"]
    losses = found["validation_loss"]
    if rows == "plain":
        assert found["rounds"] >= 20
    else:
        assert found["rounds"] == np.argmin(losses) + 1 < 20 <= len(losses)


def test_a_callback_that_returns_true_ends_the_fit():
    X, y = problem()
    heard = []
    model = arb.BoostedTreesRegressor(
        n_estimators=20, callbacks=[after(4, lambda: True), lambda report: heard.append(report.number)]
    ).fit(X, y)
    assert model.history_.stopped_by == "callback"
    assert model.n_iter_ == 4
    assert heard == [1, 2, 3, 4]  # every callback hears of every round
    assert model.fingerprint() == arb.BoostedTreesRegressor(n_estimators=4).fit(X, y).fingerprint()


def test_other_results_of_callbacks_do_not_end_the_fit():
    X, y = problem()
    model = arb.BoostedTreesRegressor(n_estimators=4, callbacks=[lambda _: 1, lambda _: "yes"]).fit(X, y)
    assert model.history_.stopped_by == "rounds"


def test_reports_tell_round_time_and_losses():
    X, y = problem(holes=0)
    reports = []
    model = arb.BoostedTreesRegressor(n_estimators=3, callbacks=[reports.append]).fit(X, y, X_val=X, y_val=y)
    assert [report.number for report in reports] == [1, 2, 3]
    assert {report.n_rounds for report in reports} == {3}
    assert all(0 <= a.seconds <= b.seconds for a, b in pairwise(reports))
    assert [report.training_loss for report in reports] == model.history_.training_loss
    assert [report.validation_loss for report in reports] == model.history_.validation_loss
    np.testing.assert_allclose(model.history_.training_loss, model.history_.validation_loss)


def test_an_error_in_a_callback_is_raised():
    X, y = problem()

    def fail(report):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        arb.BoostedTreesRegressor(callbacks=[fail]).fit(X, y)


def test_a_time_limit_ends_the_fit_in_time():
    X, y = problem()
    started = time.monotonic()
    params = {"learning_rate": 0.1, "callbacks": [lambda _: time.sleep(0.02)]}
    model = arb.BoostedTreesRegressor(n_estimators=10_000, time_limit=0.5, **params).fit(X, y)
    seconds = time.monotonic() - started
    assert model.history_.stopped_by == "time limit"
    assert 1 <= model.n_iter_ < 30
    assert seconds < 5
    same_forest(model.forest_, arb.BoostedTreesRegressor(n_estimators=model.n_iter_, **params).fit(X, y).forest_)


def test_a_time_limit_of_almost_nothing_keeps_one_round():
    X, y = problem()
    model = arb.BoostedTreesRegressor(n_estimators=50, time_limit=1e-9).fit(X, y)
    assert model.n_iter_ == 1


# ---- early stopping ------------------------------------------------------------------------------------------------


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 6), st.sampled_from([0, 2, 3]))
def test_early_stopping_keeps_the_best_round(seed, patience, n_classes):
    X, y = problem(200, 3, seed, holes=0)
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    make = arb.BoostedTreesClassifier if n_classes else arb.BoostedTreesRegressor
    options = {"n_estimators": 60, "learning_rate": 0.5, "random_state": seed}
    held = slice(120, 200)
    model = make(n_iter_no_change=patience, **options).fit(X[:120], y[:120], X_val=X[held], y_val=y[held])
    losses = model.history_.validation_loss
    best = int(np.argmin(losses)) + 1
    assert model.n_iter_ == best == model.history_.best_round
    free = make(**{**options, "n_estimators": best}).fit(X[:120], y[:120])
    same_forest(model.forest_, free.forest_)
    if model.history_.stopped_by == "early stopping":
        assert len(losses) == best + patience
    else:
        assert (model.history_.stopped_by, len(losses)) == ("rounds", 60)


def test_validation_losses_are_those_of_the_stages():
    X, y = problem(holes=0)
    X_val, y_val = problem(seed=1, holes=0)
    weight = np.random.default_rng(2).random(300)
    model = arb.BoostedTreesRegressor(n_estimators=5, n_iter_no_change=50).fit(
        X, y, X_val=X_val, y_val=y_val, sample_weight_val=weight
    )
    expected = [model.loss_.value(y_val, raw, weight) for raw in model.staged_predict(X_val)]
    np.testing.assert_allclose(model.history_.validation_loss[: model.n_iter_], expected, rtol=1e-12)


def test_validation_rows_may_have_holes_where_training_rows_do():
    X, y = problem()
    arb.BoostedTreesRegressor(n_estimators=2).fit(X, y, X_val=X, y_val=y)  # a warning would be an error here
    with pytest.warns(UserWarning, match="missing values in columns that had none at fit"):
        arb.BoostedTreesRegressor(n_estimators=2).fit(np.nan_to_num(X), y, X_val=X, y_val=y)


def test_validation_without_early_stopping_only_watches():
    X, y = problem(holes=0)
    watched = arb.BoostedTreesRegressor(n_estimators=30, learning_rate=0.9, early_stopping=False).fit(
        X, y, X_val=X[:50], y_val=-y[:50]
    )
    assert len(watched.history_.validation_loss) == watched.n_iter_ == 30


def test_the_best_round_of_a_history():
    assert History().best_round is None
    assert History(validation_loss=[3.0, 1.0, 1.0, 2.0]).best_round == 2


# ---- losses written in Python --------------------------------------------------------------------------------------


class Squared(Loss):
    """The squared error, restated."""

    def values(self, y, raw):
        return 0.5 * (y - raw) ** 2

    def gradients(self, y, raw):
        return raw - y, np.ones_like(raw)

    def start(self, y, weight):
        return SquaredError().start(y, weight)


class RestatedLogistic(Logistic):
    """Not the class of the registry: its gradients come from Python."""

    def gradients(self, y, raw):
        p = 1 / (1 + np.exp(-raw))
        return p - y, p * (1 - p)


@pytest.mark.parametrize("growth", GROWTHS)
def test_a_restated_squared_error_gives_the_same_forest(growth):
    X, y = problem()
    weight = np.random.default_rng(0).integers(0, 3, 300)
    for weights in (None, weight):
        built_in, own = (
            arb.BoostedTreesRegressor(loss=loss, n_estimators=10, growth=growth).fit(X, y, weights)
            for loss in ("squared_error", Squared())
        )
        same_forest(built_in.forest_, own.forest_)


def test_a_restated_logistic_loss_gives_nearly_the_same_forest():
    """The kernel's exponential and NumPy's differ in their last bit."""
    X, y = problem()
    built_in, own = (
        arb.BoostedTreesClassifier(loss=loss, n_estimators=10).fit(X, y > 0)
        for loss in ("log_loss", RestatedLogistic())
    )
    for name in ("kind", "feature", "threshold", "left", "right", "missing_left", "n_rows"):
        np.testing.assert_array_equal(getattr(own.forest_, name), getattr(built_in.forest_, name))
    np.testing.assert_allclose(own.forest_.value, built_in.forest_.value, rtol=1e-9)


class Wrong(Squared):
    def __init__(self, gradient, hessian):
        self.result = gradient, hessian

    def gradients(self, y, raw):
        return tuple(make(raw) for make in self.result)

    def __repr__(self):
        return "Wrong()"


@pytest.mark.parametrize(
    ("gradient", "hessian", "message"),
    [
        (
            lambda r: np.where(np.arange(len(r)) == 7, np.nan, r),
            np.ones_like,
            "gradients that are not finite, first in row 7",
        ),
        (
            lambda r: r,
            lambda r: np.where(np.arange(len(r)) == 9, np.inf, 1.0),
            "hessians that are not finite, first in row 9",
        ),
        (lambda r: r, lambda r: 5.0 - np.arange(len(r)), "a negative hessian, first in row 6: return an upper bound"),
        (lambda r: r[:, None], np.ones_like, r"gradients of shape \(300, 1\): expected \(300,\)"),
        (lambda r: r, lambda r: 1.0, r"hessians of shape \(\): expected \(300,\)"),
    ],
)
def test_bad_gradients_are_refused(gradient, hessian, message):
    X, y = problem()
    with pytest.raises(ValueError, match=r"Wrong\(\) returned " + message):
        arb.BoostedTreesRegressor(loss=Wrong(gradient, hessian), n_estimators=2).fit(X, y)


# ---- samples and constraints ---------------------------------------------------------------------------------------


def test_a_subsample_grows_each_tree_from_its_share():
    X, y = problem(2000)
    model = arb.BoostedTreesRegressor(n_estimators=20, subsample=0.3).fit(X, y)
    roots = model.forest_.n_rows[model.forest_.tree_start[:-1]]
    assert np.all(np.abs(roots - 600) < 5 * np.sqrt(2000 * 0.3 * 0.7))
    assert len(set(roots.tolist())) > 5
    other = arb.BoostedTreesRegressor(n_estimators=20, subsample=0.3, random_state=1).fit(X, y)
    assert other.fingerprint() != model.fingerprint()
    assert model.fingerprint() == arb.BoostedTreesRegressor(n_estimators=20, subsample=0.3).fit(X, y).fingerprint()


def test_a_seed_without_sampling_changes_nothing():
    X, y = problem()
    params = {"n_estimators": 3, "max_features": 1.0}
    models = [arb.BoostedTreesRegressor(**params, random_state=seed).fit(X, y) for seed in (0, 1)]
    assert models[0].fingerprint() == models[1].fingerprint()


def grid_violations(model, X, column, direction, predict):
    """Count steps against the direction along 1,000 values, from many rows."""
    grid = np.linspace(-4, 4, 1000)
    count = 0
    for row in X[:10]:
        table = np.repeat(row[None], 1000, axis=0)
        table[:, column] = grid
        count += int(np.sum(direction * np.diff(predict(table)) < 0))
    return count


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("name", [*REGRESSION, "log_loss"])
def test_monotone_predictions(name, growth):
    X, y = problem(400, 4, seed=3, positive=True)
    # The data want the opposite in column 0, waves in column 1 and 2.
    options = {
        "monotonic_cst": [-1, 1, -1, 0],
        "growth": growth,
        "n_estimators": 25,
        "max_depth": 5,
        "learning_rate": 0.3,
    }
    if name == "log_loss":
        model = arb.BoostedTreesClassifier(**options).fit(X, y > np.median(y))
        predict = model.decision_function
    else:
        model = arb.BoostedTreesRegressor(loss=name, **options).fit(X, y)
        predict = model.predict
    assert model.forest_.n_nodes > 50
    for column, direction in enumerate([-1, 1, -1]):
        assert grid_violations(model, X, column, direction, predict) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        free = type(model)(**{**model.get_params(), "monotonic_cst": None}).fit(
            X, y if name != "log_loss" else y > np.median(y)
        )
    predict = free.predict if name != "log_loss" else free.decision_function
    assert sum(grid_violations(free, X, c, d, predict) for c, d in enumerate([-1, 1, -1])) > 0


def test_interactions_hold_on_every_path():
    X, _ = problem(500, 4)
    clean = np.nan_to_num(X)
    y = clean[:, 0] * clean[:, 1] + clean[:, 2] * clean[:, 3]
    forest = arb.BoostedTreesRegressor(n_estimators=20, interaction_cst=[{0, 2}, {1, 3}]).fit(X, y).forest_
    for start, end in zip(forest.tree_start[:-1], forest.tree_start[1:], strict=True):
        paths = {0: frozenset()}
        for node in range(end - start):
            here = paths[node]
            if forest.kind[start + node]:
                here |= {int(forest.feature[start + node])}
                paths[int(forest.left[start + node])] = paths[int(forest.right[start + node])] = here
            assert here <= {0, 2} or here <= {1, 3}


def test_boosting_does_not_depend_on_threads():
    X, y = problem(4000, 20)
    models = [
        arb.BoostedTreesRegressor(n_estimators=8, subsample=0.7, max_features=0.5, n_jobs=n).fit(X, y)
        for n in (1, 2, 3, 8)
    ]
    assert len({model.fingerprint() for model in models}) == 1
