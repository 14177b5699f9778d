"""A race of settings before a fit: what it chooses, and that nothing else changes."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import arboretum as arb
from arboretum.ensembles.boosting.racing import CONTESTANTS, DEFAULT, Lap
from arboretum.ensembles.boosting.rounds import BoostingRun
from arboretum.plotting import plot_learning_curve

RNG = np.random.default_rng(1)
N = 1100
X = RNG.normal(size=(N, 5))
SMOOTH = X[:, 0] + np.sin(X[:, 1]) + 0.05 * RNG.normal(size=N)
NOISE = RNG.normal(size=N)
CLASSES = np.digitize(SMOOTH + 0.1 * NOISE, [-0.7, 0.7])
RULE = (X[:, 0] > 0) ^ (X[:, 1] > 0)
FRAME = pd.DataFrame(X, columns=list("abcde")).assign(shop=RNG.choice([f"s{i}" for i in range(40)], N))
QUICK = {"n_estimators": 40, "n_iter_no_change": 10}
CASES = {
    "numbers": (arb.BoostedTreesRegressor, {}, X, SMOOTH),
    "categories": (arb.BoostedTreesRegressor, {}, FRAME, SMOOTH),
    "two classes": (arb.BoostedTreesClassifier, {}, X, SMOOTH > 0),
    "classes": (arb.BoostedTreesClassifier, {}, X, CLASSES),
    "ordered": (arb.BoostedTreesClassifier, {"loss": "ordinal"}, X, CLASSES),
    "counts": (arb.BoostedTreesRegressor, {"loss": "poisson"}, X, np.floor(np.exp(SMOOTH / 2))),
    "not fitted again": (arb.BoostedTreesRegressor, {"refit": False}, X, SMOOTH),
}


@pytest.fixture(scope="module", params=CASES)
def raced(request):
    cls, params, table, y = CASES[request.param]
    return cls, {**QUICK, **params}, table, y, cls(**QUICK, **params).fit(table, y)


def test_chosen_parameters_give_the_same_model_without_a_race(raced):
    cls, params, table, y, model = raced
    assert model.race_.changes == {**CONTESTANTS[model.race_.chosen]}
    if params.get("refit", True):
        again = cls(**{**params, **model.chosen_params_}).fit(table, y)
        assert again.fingerprint() == model.fingerprint()
        assert again.race_ is None
        assert model.history_.best_round == model.n_iter_
    else:
        again = cls(**params, **model.race_.changes, race=False).fit(table, y)
        assert again.fingerprint() == model.fingerprint()


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_do_not_change_the_race(raced, threads):
    cls, params, table, y, model = raced
    again = cls(**params, n_jobs=threads).fit(table, y)
    assert again.fingerprint() == model.fingerprint()
    assert again.race_ == model.race_


def test_the_winner_is_told(raced):
    *_, model = raced
    assert f"won the race {model.race_}" in " ".join(model.to_text().split())


def test_the_race_is_in_the_file(raced, tmp_path):
    *_, model = raced
    model.save(tmp_path / "model.arb")
    assert arb.load(tmp_path / "model.arb").race_ == model.race_


def test_a_contestant_is_a_fit_with_longer_steps():
    """The loss of a contestant on given validation rows is that of an ordinary fit, to the bit."""
    rows = {"X": np.tile(X, (2, 1)) + 0.1, "y": np.tile(SMOOTH, 2), "X_val": X, "y_val": SMOOTH}
    params = {"n_estimators": 100, "n_iter_no_change": 25, "random_state": 4}
    model = arb.BoostedTreesRegressor(**params, learning_rate=0.05).fit(**rows)
    for name in model.race_.losses:
        setting = {**CONTESTANTS[name], "n_estimators": 50, "learning_rate": 0.1, "n_iter_no_change": 13}
        alone = arb.BoostedTreesRegressor(**{**params, **setting}, race=False).fit(**rows)
        assert model.race_.losses[name] == [min(alone.history_.validation_loss)]


@pytest.mark.parametrize(("rate", "y"), [(0.07, SMOOTH), (0.07, NOISE), (0.03, SMOOTH)], ids=["same", "one", "coarser"])
def test_rounds_are_those_of_least_mean_loss_of_folds_with_steps_twice_as_long(rate, y):
    """Laps of the race go on, those that are missing begin: the same as runs of their own, to the bit."""
    params = {"n_estimators": 120, "n_iter_no_change": 8, "random_state": 4}
    model = arb.BoostedTreesRegressor(**params, learning_rate=rate).fit(X, y)
    losses = []
    for kept, held in model.recipe().race_folds(model.recipe().read(X, y)[0]):
        setting = {"min_samples_leaf": 3, "l2": 10.0, "subsample": 0.7, "max_features": 0.3, **model.race_.changes}
        params = {"n_estimators": len(model.history_.validation_loss), "n_iter_no_change": 120, "random_state": 4}
        alone = arb.BoostedTreesRegressor(**params, **setting, learning_rate=2 * rate, race=False)
        losses.append(alone.fit(X[kept], y[kept], X_val=X[held], y_val=y[held]).history_.validation_loss)
    np.testing.assert_allclose(model.history_.validation_loss, np.mean(losses, axis=0), rtol=1e-12)
    assert model.history_.stride == 2
    assert model.n_iter_ == model.history_.best_round == 2 * (np.argmin(np.mean(losses, axis=0)) + 1)
    assert model.learning_rate_ == rate


def test_a_history_of_every_second_round_is_told_as_such(tmp_path):
    model = arb.BoostedTreesRegressor(n_estimators=60, learning_rate=0.07, n_iter_no_change=8).fit(X, SMOOTH)
    model.save(tmp_path / "model.arb")
    assert arb.load(tmp_path / "model.arb").history_ == model.history_
    ax = plot_learning_curve(model)
    assert ax.lines[0].get_xdata().tolist() == [2 * k for k in range(1, len(model.history_.validation_loss) + 1)]
    assert f"in round {model.n_iter_}" in " ".join(model.to_text().split())
    more = model.fit_more(X, SMOOTH, n_estimators=3, X_val=X[:50], y_val=SMOOTH[:50]).history_
    known = np.array(more.validation_loss)
    assert more.stride == 1
    assert np.isnan(known[: model.n_iter_ - 3 : 2]).all()
    assert np.isfinite(known[1 : model.n_iter_ - 3 : 2]).all()


def test_the_race_helps_where_there_is_little_noise_and_chooses_the_default_where_all_is_noise():
    y = RULE
    loss = {
        race: -np.log(
            np.take_along_axis(
                arb.BoostedTreesClassifier(n_estimators=100, race=race).fit(X[:1000], y[:1000]).predict_proba(X[1000:]),
                y[1000:, None].astype(int),
                axis=1,
            )
        ).mean()
        for race in (False, True)
    }
    assert loss[True] < 0.7 * loss[False]
    assert arb.BoostedTreesRegressor(**QUICK).fit(X, NOISE).race_.chosen == DEFAULT


@pytest.mark.parametrize(
    ("params", "rows"),
    [
        ({"race": False}, N),
        ({}, 999),
        ({"early_stopping": False}, N),
        ({"scoring": "mae"}, N),
        ({"time_limit": 100.0}, N),
        ({"dart_rate": 0.1}, N),
        ({"warm_start": True}, N),
        ({"max_features": 0.5, "growth": "level", "leaf_model": "linear"}, N),
    ],
    ids=str,
)
def test_no_race(params, rows):
    model = arb.BoostedTreesRegressor(**QUICK, **params).fit(X[:rows], SMOOTH[:rows])
    assert model.race_ is None
    assert model.chosen_params_["n_estimators"] == model.n_iter_


def test_no_race_for_several_outputs():
    assert arb.BoostedTreesRegressor(**QUICK).fit(X, np.column_stack([SMOOTH, NOISE])).race_ is None


@pytest.mark.parametrize("name", sorted({name for changes in CONTESTANTS.values() for name in changes}))
def test_a_parameter_that_is_set_does_not_race(name):
    other = {
        "max_features": 0.7,
        "l2": 2.0,
        "subsample": 0.9,
        "growth": "level",
        "leaf_model": "linear",
        "max_leaf_nodes": 20,
        "min_samples_leaf": 2,
        "vector_leaves": False,
    }[name]
    model = arb.BoostedTreesClassifier(**QUICK, **{name: other}).fit(X, CLASSES)
    entered = set() if model.race_ is None else set(model.race_.losses)
    assert not entered & {one for one, changes in CONTESTANTS.items() if name in changes}
    assert getattr(model, name) == other


@pytest.mark.parametrize(
    "limit", [{"max_depth": 4}, {"max_leaf_nodes": 9}, {"min_samples_leaf": 7}, {"min_gain": 0.1}], ids=str
)
def test_limits_of_trees_keep_their_growth(limit):
    model = arb.BoostedTreesRegressor(**QUICK, **limit).fit(X, SMOOTH)
    assert not {"symmetric", "linear"} & set(model.race_.losses)


def test_sparse_rows_race_as_dense_ones():
    dense = np.where(RNG.random((N, 8)) < 0.2, X[:, :1], 0.0)
    one, other = (arb.BoostedTreesRegressor(**QUICK).fit(table, SMOOTH) for table in (dense, sp.csr_matrix(dense)))
    assert one.race_ == other.race_
    assert one.fingerprint() == other.fingerprint()


def test_files_race_as_tables_in_memory(tmp_path):
    FRAME.assign(y=SMOOTH).to_parquet(tmp_path / "rows.parquet")
    one = arb.BoostedTreesRegressor(**QUICK).fit(FRAME, SMOOTH)
    other = arb.BoostedTreesRegressor(**QUICK).fit(arb.Dataset.from_parquet(tmp_path / "rows.parquet"), target="y")
    assert one.race_ == other.race_
    assert one.forest_.to_arrays()["value"].tobytes() == other.forest_.to_arrays()["value"].tobytes()


def test_influence_knows_the_penalty_of_the_winner():
    params = {**QUICK, "max_depth": 9}  # without linear leaves
    model = arb.BoostedTreesClassifier(**params).fit(X, RULE)
    assert model.race_.changes["l2"] != "auto"
    again = arb.BoostedTreesClassifier(**{**params, **model.chosen_params_}).fit(X, RULE)
    one, other = (each.influence(X[:3], X_train=X, y_train=RULE) for each in (model, again))
    np.testing.assert_array_equal(one, other)


def test_sparse_validation_rows_do_not_race_linear_leaves():
    model = arb.BoostedTreesRegressor(**QUICK).fit(X, SMOOTH, X_val=sp.csr_matrix(X), y_val=SMOOTH)
    assert "linear" not in model.race_.losses
    assert model.race_.losses[DEFAULT]


def test_a_contestant_that_diverges_is_out(monkeypatch):
    whole, advance = arb.BoostedTreesRegressor(**QUICK).fit(X, SMOOTH), BoostingRun.advance

    def diverging(run):
        if run.params.linear is not None and run.number == 2:
            raise run.divergence()
        return advance(run)

    assert whole.race_.chosen == "linear"
    monkeypatch.setattr(BoostingRun, "advance", diverging)
    model = arb.BoostedTreesRegressor(**QUICK).fit(X, SMOOTH)
    assert model.race_.losses["linear"] == []
    assert model.race_.chosen != "linear"


@pytest.mark.filterwarnings("ignore:overflow")
def test_the_fit_tells_of_divergence_if_all_contestants_diverge():
    with pytest.raises(ValueError, match=r"the fit diverged in round \d"):
        arb.BoostedTreesRegressor(n_estimators=20, learning_rate=1e250).fit(X, SMOOTH)


def test_a_share_of_rows_that_is_set_is_held_out_for_the_rounds():
    model = arb.BoostedTreesRegressor(**QUICK, validation_fraction=0.3).fit(X, SMOOTH)
    params = {**QUICK, **model.race_.changes, "validation_fraction": 0.3, "race": False}
    assert model.history_ == arb.BoostedTreesRegressor(**params).fit(X, SMOOTH).history_


def test_control_c_ends_a_race(monkeypatch):
    model = arb.BoostedTreesRegressor(**QUICK).fit(X, SMOOTH)
    before = model.fingerprint()
    run = Lap.run_until

    def interrupted(lap, length):
        run(lap, length / 2)
        raise KeyboardInterrupt

    monkeypatch.setattr(Lap, "run_until", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, NOISE)
    assert model.fingerprint() == before


def test_rounds_that_are_added_keep_the_choice():
    model = arb.BoostedTreesRegressor(**QUICK).fit(X, SMOOTH)
    assert model.race_.chosen != DEFAULT
    plain = arb.BoostedTreesRegressor(**model.get_params()).set_params(**model.chosen_params_).fit(X, SMOOTH)
    assert (
        model.fit_more(X, NOISE, n_estimators=5).fingerprint() == plain.fit_more(X, NOISE, n_estimators=5).fingerprint()
    )
    assert model.race_ is not None


def test_a_raced_fit_that_dies_becomes_the_same_model(tmp_path):
    class DiedError(Exception):
        pass

    def dying(report):
        if report.number == 20:
            raise DiedError

    whole = arb.BoostedTreesRegressor(**QUICK).fit(X, SMOOTH)
    path = tmp_path / "run.arb"
    with suppress(DiedError):
        arb.BoostedTreesRegressor(**QUICK, callbacks=[dying]).fit(X, SMOOTH, checkpoint=arb.Checkpoint(path, rounds=3))
    model = arb.BoostedTreesRegressor(**QUICK).fit(X, SMOOTH, checkpoint=arb.Checkpoint(path, rounds=3))
    assert model.fingerprint() == whole.fingerprint()
    assert model.race_ == whole.race_
    assert model.history_.best_round == model.n_iter_


def test_weights_of_rows_count_in_the_race():
    weight = np.where(X[:, 2] > 0, 1.0, 1e-9)
    heavy = arb.BoostedTreesRegressor(**QUICK).fit(X, np.where(X[:, 2] > 0, SMOOTH, 1e3 * NOISE), weight)
    alike = arb.BoostedTreesRegressor(**QUICK).fit(X, np.where(X[:, 2] > 0, SMOOTH, 2e3 * NOISE), weight)
    assert max(heavy.race_.losses[DEFAULT]) < 10
    assert heavy.race_.chosen == alike.race_.chosen


@pytest.mark.parametrize(
    ("race", "message"),
    [
        ("none", "race: expected chosen, changes and losses, found 'none'"),
        ({"chosen": "linear", "changes": {}, "losses": 3}, "race: expected a name and two objects, found"),
        (
            {"chosen": "linear", "changes": {"l2": [1]}, "losses": {}},
            "race: expected changes that are numbers or words",
        ),
        ({"chosen": "linear", "changes": {}, "losses": {"a": 1.0}}, "race: expected lists of losses, found 1.0"),
    ],
    ids=str,
)
def test_a_race_of_a_file_is_checked(race, message):
    from arboretum.ensembles.boosting.racing import RaceResult

    with pytest.raises(ValueError, match=message):
        RaceResult.from_json(race)
