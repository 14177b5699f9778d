"""Fits that hold rows out by whole groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import arboretum as arb
from arboretum.data.splits import split_groups

RNG = np.random.default_rng(5)
N_GROUPS, ROWS = 60, 20
GROUP = np.repeat(RNG.permutation(N_GROUPS), ROWS)
EFFECT = RNG.normal(size=N_GROUPS)
NUMBERS = RNG.normal(size=(len(GROUP), 4))
X = np.column_stack([NUMBERS, EFFECT[GROUP] * 100])  # the last column tells the group
Y = NUMBERS[:, 0] + RNG.normal(size=N_GROUPS)[GROUP] + 0.3 * RNG.normal(size=len(GROUP))
QUICK = {"n_estimators": 60, "n_iter_no_change": 10, "random_state": 3}


def test_rounds_suit_groups_not_seen():
    """Rows of a group give each other away: the loss of rows held out one by one is far below that of new groups."""
    apart, alone = (arb.BoostedTreesRegressor(**QUICK).fit(X, Y, groups=groups) for groups in (GROUP, None))
    assert min(apart.history_.validation_loss) > 2 * min(alone.history_.validation_loss)
    assert apart.n_iter_ < alone.n_iter_


@pytest.mark.parametrize("race", [False, True])
def test_rows_that_are_held_out_are_those_of_whole_groups(race):
    params = {**QUICK, "refit": False, "race": race}
    model = arb.BoostedTreesRegressor(**params).fit(X, Y, groups=GROUP)
    kept, held = split_groups(GROUP, 0.1, 3, None)
    changes = {} if model.race_ is None else model.race_.changes
    setting = {"min_samples_leaf": 3, "l2": 10.0, "subsample": 0.7, "max_features": 0.3, **changes}
    alone = arb.BoostedTreesRegressor(**QUICK, **setting, race=False, learning_rate=model.learning_rate_)
    alone.fit(X[kept], Y[kept], X_val=X[held], y_val=Y[held])
    assert model.history_ == alone.history_


@pytest.mark.parametrize("threads", [1, 3])
def test_names_of_groups_and_threads_do_not_matter(threads):
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=Y, who=[f"p{one:02}" for one in GROUP])
    by_name = arb.BoostedTreesRegressor(**QUICK, n_jobs=threads).fit(frame, target="y", groups="who")
    by_values = arb.BoostedTreesRegressor(**QUICK).fit(frame[list("abcde")], Y, groups=GROUP)
    assert by_name.race_ == by_values.race_
    assert by_name.forest_.to_arrays()["value"].tobytes() == by_values.forest_.to_arrays()["value"].tobytes()


def test_weights_of_zero_leave_groups_out():
    weight = (GROUP != 7).astype(float)
    one = arb.BoostedTreesRegressor(**QUICK).fit(X, Y, weight, groups=GROUP)
    other = arb.BoostedTreesRegressor(**QUICK).fit(X[weight > 0], Y[weight > 0], groups=GROUP[weight > 0])
    assert one.fingerprint() == other.fingerprint()


def test_a_class_of_one_group_is_never_held_out():
    labels = np.where(GROUP == 7, "rare", np.where(NUMBERS[:, 0] > 0, "high", "low"))
    model = arb.BoostedTreesClassifier(**QUICK).fit(X, labels, groups=GROUP)
    assert np.isfinite(model.history_.validation_loss).all()
    assert model.predict(X[GROUP == 7])[0] == "rare"


def test_where_each_group_has_a_class_of_its_own_no_rows_are_held_out():
    """So there is neither a race nor a search."""
    model = arb.BoostedTreesClassifier(n_estimators=5).fit(X, np.where(GROUP < 30, "a", "b"), groups=GROUP < 30)
    assert model.race_ is None
    assert model.n_iter_ == 5


def test_groups_can_be_checkpointed(tmp_path):
    path = tmp_path / "run.arb"
    arb.BoostedTreesRegressor(**QUICK).fit(X, Y, groups=GROUP, checkpoint=path)
    with pytest.raises(ValueError, match="is that of another fit"):
        arb.BoostedTreesRegressor(**QUICK).fit(X, Y, groups=GROUP // 2, checkpoint=path)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2], "groups has 2 values, but X has 1200 rows"),
        ([None, *GROUP[1:].tolist()], "groups has a missing label"),
        (np.zeros(len(GROUP)), "groups: all rows are in one group, so that none can be held out"),
    ],
    ids=str,
)
def test_odd_groups_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        arb.BoostedTreesRegressor(**QUICK).fit(X, Y, groups=groups)
