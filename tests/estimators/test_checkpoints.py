"""Checkpoints: a fit that dies at any moment becomes the same model, or says why it cannot."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

import arboretum as arb

RNG = np.random.default_rng(5)
N = 1200
X = RNG.normal(size=(N, 4))
SCORE = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.3 * RNG.normal(size=N)
CLASSES = np.digitize(SCORE, [-0.7, 0.7])
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(shop=RNG.choice([f"s{i}" for i in range(60)], N))
QUERY = np.repeat(np.arange(N // 12), 12)
EVENT = np.array(list(zip(RNG.random(N) < 0.7, np.exp(-SCORE), strict=True)), dtype=[("event", bool), ("time", float)])
QUICK = {"n_estimators": 24, "learning_rate": 0.1, "random_state": 3, "n_iter_no_change": 6, "race": False}


class DiedError(Exception):
    """The process is gone."""


def dying(after):
    """Return a callback under which a process dies after so many rounds."""
    left = [after]

    def callback(report):
        left[0] -= 1
        if left[0] < 0:
            raise DiedError

    return callback


def until_done(fit, path, deaths):
    """Fit in processes that die, one after the other; return the model and the states that their files were in."""
    states = []
    for after in deaths:
        with suppress(DiedError):
            return fit([dying(after)], arb.Checkpoint(path, rounds=3)), states
        states.append(arb.load(path).checkpoint_["phase"] if path.exists() else None)
    return fit([dying(10_000)], arb.Checkpoint(path, rounds=3)), states


@pytest.mark.parametrize(
    ("cls", "params", "data"),
    [
        (arb.BoostedTreesRegressor, {"early_stopping": False}, (X, SCORE)),
        (arb.BoostedTreesRegressor, {"refit": True}, (X, SCORE)),
        (arb.BoostedTreesRegressor, {"refit": False, "learning_rate": 0.7}, (X, SCORE)),
        (arb.BoostedTreesRegressor, {"loss": "huber", "refit": False}, (X, SCORE)),
        (arb.BoostedTreesRegressor, {"loss": "absolute_error", "sampling": "goss", "trees_per_round": 2}, (X, SCORE)),
        (arb.BoostedTreesRegressor, {"leaf_model": "linear", "early_stopping": False}, (X, SCORE)),
        (arb.BoostedTreesRegressor, {"category_levels": 2, "category_orders": 3, "score_noise": 1.0}, (FRAME, SCORE)),
        (arb.BoostedTreesClassifier, {"refit": True, "learning_rate": "auto"}, (FRAME, SCORE > 0)),
        (arb.BoostedTreesClassifier, {"early_stopping": False}, (X, CLASSES)),
        (arb.BoostedTreesClassifier, {"vector_leaves": True, "leaf_steps": 2}, (X, CLASSES)),
        (arb.BoostedTreesClassifier, {"loss": "ordinal", "refit": False}, (X, CLASSES)),
        (arb.BoostedTreesRanker, {"early_stopping": False}, (X, CLASSES, QUERY)),
        (arb.BoostedTreesSurvival, {"early_stopping": True, "refit": False}, (X, EVENT)),
    ],
    ids=lambda value: getattr(value, "__name__", None) or (str(value) if isinstance(value, dict) else ""),
)
def test_a_fit_that_dies_becomes_the_same_model(cls, params, data, tmp_path):
    settings = QUICK | params
    whole = cls(**settings, callbacks=[lambda report: None]).fit(*data)

    def fit(callbacks, checkpoint):
        return cls(**settings, callbacks=callbacks).fit(*data, checkpoint=checkpoint)

    model, states = until_done(fit, tmp_path / "run.arb", (1, 4, 0, 5, 7, 12, 9, 4))
    assert states[:3] == [None, "search", "search"]
    assert not params.get("refit") or "again" in states
    assert model.fingerprint() == whole.fingerprint()
    assert model.history_ == whole.history_
    assert model.n_iter_ == whole.n_iter_


def test_seeds_of_chance_are_kept(tmp_path):
    """random_state=None draws a seed; the file remembers it."""
    path = tmp_path / "run.arb"
    params = {**QUICK, "random_state": None, "early_stopping": False, "subsample": 0.5}

    def fit(callbacks, checkpoint):
        return arb.BoostedTreesRegressor(**params, callbacks=callbacks).fit(X, SCORE, checkpoint=checkpoint)

    with pytest.raises(DiedError):
        fit([dying(10)], arb.Checkpoint(path, rounds=3))
    begun = arb.load(path)
    model, _ = until_done(fit, path, ())
    kept = model.forest_[: begun.forest_.n_trees]
    assert np.array_equal(kept.value, begun.forest_.value)
    seed = begun.checkpoint_["seed"]
    assert (
        model.fingerprint() == arb.BoostedTreesRegressor(**params | {"random_state": seed}).fit(X, SCORE).fingerprint()
    )


def test_the_file_is_a_model_at_any_time(tmp_path):
    path = tmp_path / "run.arb"
    model = arb.BoostedTreesSurvival(**QUICK | {"early_stopping": False}, callbacks=[dying(9)])
    with pytest.raises(DiedError):
        model.fit(X, EVENT, checkpoint=arb.Checkpoint(path, rounds=4))
    half = arb.load(path)
    assert half.n_iter_ == 8
    assert half.history_.stopped_by == "checkpoint"
    same = arb.BoostedTreesSurvival(**QUICK | {"early_stopping": False, "n_estimators": 8}).fit(X, EVENT)
    assert half.fingerprint() == same.fingerprint()
    assert not hasattr(model, "forest_")


def test_a_finished_fit_is_read_and_not_repeated(tmp_path):
    path = tmp_path / "run.arb"
    heard = []
    first = arb.BoostedTreesClassifier(**QUICK).fit(FRAME, CLASSES, checkpoint=path)
    again = arb.BoostedTreesClassifier(**QUICK, callbacks=[heard.append], n_jobs=1).fit(FRAME, CLASSES, checkpoint=path)
    assert not heard
    assert again.fingerprint() == first.fingerprint()
    assert again.history_ == first.history_
    assert again.checkpoint_ is None
    assert list(again.classes_) == [0, 1, 2]
    assert np.array_equal(again.predict_proba(FRAME), first.predict_proba(FRAME))


def test_rows_of_a_dataset_have_checkpoints_too(tmp_path):
    rows = arb.Dataset.from_frame({"a": X[:, 0], "b": X[:, 1], "y": SCORE})
    model = arb.BoostedTreesRegressor(**QUICK)
    whole = model.fit(rows, target="y").fingerprint()
    with pytest.raises(DiedError):
        arb.BoostedTreesRegressor(**QUICK, callbacks=[dying(5)]).fit(
            rows, target="y", checkpoint=arb.Checkpoint(tmp_path / "run.arb", rounds=2)
        )
    assert model.fit(rows, target="y", checkpoint=str(tmp_path / "run.arb")).fingerprint() == whole


def test_seconds_decide_too(tmp_path):
    always, rarely = tmp_path / "always.arb", tmp_path / "rarely.arb"
    for checkpoint in (arb.Checkpoint(always, seconds=0), rarely):
        model = arb.BoostedTreesRegressor(**QUICK, callbacks=[dying(5)])
        with pytest.raises(DiedError):
            model.fit(X, SCORE, checkpoint=checkpoint)
    assert arb.load(always).n_iter_ == 6
    assert not rarely.exists()


SCRIPT = """
import sys, numpy as np, arboretum as arb
rng = np.random.default_rng(0)
X = rng.normal(size=(4_000, 10))
y = X[:, 0] * X[:, 1] + rng.normal(size=4_000)
model = arb.BoostedTreesRegressor(n_estimators=60, early_stopping=True, random_state=0, n_jobs=1)
print(model.fit(X, y, checkpoint=arb.Checkpoint(sys.argv[1], rounds=1)).fingerprint())
"""


def test_killed_processes_go_on(tmp_path):
    path = tmp_path / "run.arb"
    command = [sys.executable, "-c", SCRIPT, str(path)]
    expected = subprocess.run([*command[:-1], str(tmp_path / "whole.arb")], capture_output=True, text=True, check=True)
    kills = 0
    for wait in (0.02, 0.1):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while not path.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        assert arb.load(path).checkpoint_ is not None
    assert kills
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == expected.stdout


# ---- what is refused ---------------------------------------------------------------------------------------------


def begun(path, **params):
    model = arb.BoostedTreesRegressor(**QUICK | {"early_stopping": False} | params, callbacks=[dying(7)])
    with pytest.raises(DiedError):
        model.fit(X, SCORE, checkpoint=arb.Checkpoint(path, rounds=2))
    return path


def test_a_file_of_another_fit_is_refused_and_stays(tmp_path):
    path = begun(tmp_path / "run.arb")
    content = path.read_bytes()
    model = arb.BoostedTreesRegressor(**QUICK | {"early_stopping": False})
    swapped = X.copy()
    swapped[[0, 1]] = X[[1, 0]]
    for changed, data, message in (
        ({"l2": 7.0}, (X, SCORE), r"it was begun with l2='auto', this fit has 7\.0; delete the file to begin anew"),
        ({}, (X, -SCORE), "it was begun with other targets, weights, offsets or validation rows; delete"),
        ({}, (X, SCORE, np.arange(N) + 1.0), "it was begun with other targets, weights"),
        ({}, (swapped, SCORE), "it was begun with other rows; delete"),
    ):
        with pytest.raises(ValueError, match=rf"^checkpoint '.*run\.arb' is that of another fit: {message}"):
            model.__class__(**model.get_params() | changed).fit(*data, checkpoint=path)
    with pytest.raises(ValueError, match="it holds a BoostedTreesRegressor, not a BoostedTreesClassifier"):
        arb.BoostedTreesClassifier().fit(X, CLASSES, checkpoint=path)
    assert path.read_bytes() == content


def test_a_checkpoint_of_another_release_is_refused(tmp_path, monkeypatch):
    path = begun(tmp_path / "run.arb")
    monkeypatch.setattr(arb, "__version__", "99.1")
    with pytest.raises(ValueError, match=r"arboretum .* began it, this is 99\.1"):
        arb.BoostedTreesRegressor(**QUICK | {"early_stopping": False}).fit(X, SCORE, checkpoint=path)


def test_no_model_of_the_user_is_overwritten(tmp_path):
    path = tmp_path / "precious.arb"
    model = arb.BoostedTreesRegressor(**QUICK).fit(X, SCORE)
    model.save(path)
    with pytest.raises(
        ValueError, match="is a model that save\\(\\) wrote, not a checkpoint, and would be overwritten"
    ):
        model.fit(X, SCORE, checkpoint=path)
    assert arb.load(path).fingerprint() == model.fingerprint()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(arb.ModelFileError, match="model file"):
        model.fit(X, SCORE, checkpoint=tmp_path / "notes.txt")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        model.fit(X, SCORE, checkpoint=tmp_path / "no" / "folder.arb")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"dart_rate": 0.1},
            "checkpoint with dart_rate=0.1: such a run has more state than its rounds; use dart_rate=0",
        ),
        ({"ordered_boosting": 2}, "checkpoint with ordered_boosting=2"),
    ],
)
def test_runs_that_know_more_than_their_trees_have_none(params, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        arb.BoostedTreesRegressor(**QUICK | params).fit(X, SCORE, checkpoint=tmp_path / "run.arb")


def test_models_that_go_on_have_none(tmp_path):
    model = arb.BoostedTreesRegressor(**QUICK | {"early_stopping": False}, warm_start=True).fit(X, SCORE)
    with pytest.raises(ValueError, match="not supported when warm_start=True continues a fit"):
        model.set_params(n_estimators=30).fit(X, SCORE, checkpoint=tmp_path / "run.arb")


@pytest.mark.parametrize("wrong", [{"rounds": 0}, {"rounds": 1.5}, {"seconds": -1}, {"seconds": float("nan")}])
def test_intervals_are_checked(wrong):
    name, value = next(iter(wrong.items()))
    with pytest.raises(ValueError, match=f"^{name}={value!r} of a checkpoint: give a"):
        arb.Checkpoint("run.arb", **wrong)
