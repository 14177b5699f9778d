"""Outcomes and treatments: what they may be, and what is said of those that may not."""

from __future__ import annotations

import numpy as np
import pytest

from arboretum import UpliftBoostedTrees, UpliftForest
from arboretum.tasks.uplift_target import read_uplift

Y = np.array([0, 1, 0, 1, 0, 1])
ARM = np.array([0, 0, 1, 1, 2, 2])


def read(y=Y, treatment=ARM, control=None, weight=None):
    return read_uplift(y, treatment, len(Y), control, weight)


def test_the_control_comes_first_and_treatments_in_their_order():
    target = read(control=1)
    assert target.arms.in_order.tolist() == [1, 0, 2]
    assert target.arm.tolist() == [1, 1, 0, 0, 2, 2]
    assert np.unique(target.strata).size == 6


@pytest.mark.parametrize(
    ("labels", "control"),
    [([0, 1, 2], 0), (["a", "control", "z"], "control"), ([-1, 0, 1], 0), ([0.0, 1.0, 2.0], 0.0)],
)
def test_the_control_is_found_by_its_usual_name(labels, control):
    target = read(treatment=np.array(labels)[ARM])
    assert target.arms.in_order[0] == control


@pytest.mark.parametrize(
    ("y", "outcomes"),
    [(Y, [0, 1]), (Y == 1, [False, True]), (np.array(["n", "y"])[Y], ["n", "y"]), (Y + 0.5, None), (Y * 2, None)],
)
def test_outcomes_are_two_or_numbers(y, outcomes):
    target = read(y=y)
    assert (None if target.outcomes is None else target.outcomes.tolist()) == outcomes
    np.testing.assert_array_equal(target.y, y if outcomes is None else Y)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"treatment": None}, r"requires treatment to be passed"),
        ({"treatment": ARM[:-1]}, r"treatment has 5 values, but X has 6 rows: give one value per row"),
        ({"treatment": np.where(ARM == 2, np.nan, ARM)}, r"treatment contains NaN: nan in row 4 \(2 such rows\)"),
        ({"treatment": ["control", "a", None, "a", "a", "a"]}, r"treatment has a missing label \(None\) in row 2"),
        ({"treatment": ARM * 0.5}, r"treatment is 0\.5 in row 2: a dose is not a label"),
        (
            {"treatment": ["a"] * 6},
            r"treatment has only one label, 'a' \(n_samples=6\): .* add rows of the other group",
        ),
        ({"treatment": np.array(["a", "b", "c"])[ARM]}, r"no label 'control' .* \['a', 'b', 'c'\]: name the control"),
        ({"treatment": ARM + 1}, r"no label 0 to use as control; its labels are \[1, 2, 3\]"),
        ({"control": 7}, r"control=7 is not a label of treatment; its labels are \[0, 1, 2\]: name one of them"),
        ({"y": [0, 0, 0, 1, 0, 1]}, r"no row of the control, 0, has the outcome 1"),
        ({"y": ["n", "y", "y", "y", "n", "y"]}, r"no row of treatment 1 has the outcome 'n': .* leave the group out"),
        ({"y": ["a", "b", "c", "a", "b", "c"]}, r"y has 3 classes, .*: uplift needs two outcomes, or numbers"),
        ({"y": ["a"] * 6}, r"y has only one class, 'a'"),
        ({"y": [0, 1, np.nan, 1, 0, 1]}, r"y contains NaN: nan in row 2"),
        ({"y": [0, 1, 1e300, 1, 0, 1]}, r"y\[2\] = 1e\+300: beyond .*: divide it by a constant"),
        ({"weight": (ARM != 2) + 0.0}, r"no row of treatment 2 has a positive sample_weight"),
        ({"weight": np.array([1.0, 0, 1, 1, 1, 1])}, r"no row of the control, 0, has the outcome 1"),
    ],
)
def test_what_cannot_be_compared_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        read(**given)


@pytest.mark.parametrize("model", [UpliftForest(), UpliftBoostedTrees()])
def test_models_pass_errors_on(model):
    X = np.zeros((6, 1))
    with pytest.raises(ValueError, match="treatment has only one label"):
        model.fit(X, Y, treatment=[0] * 6)
    with pytest.raises(ValueError, match="control='none' is not a label of treatment"):
        type(model)(control="none").fit(X, Y, treatment=ARM)
    assert not hasattr(model, "forest_")


def test_scores_name_unknown_treatments():
    rng = np.random.default_rng(0)
    X, arm = rng.random((400, 2)), rng.integers(0, 2, 400)
    model = UpliftForest(n_estimators=2).fit(X, rng.random(400) < 0.5, arm)
    with pytest.raises(ValueError, match="treatment has the label 5 in row 0, which the training labels do not have"):
        model.score(X, np.ones(400), np.full(400, 5))
