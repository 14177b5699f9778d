"""Average effects and values of policies: unbiased, and as certain as they say."""

from __future__ import annotations

import numpy as np
import pytest

from arboretum.metrics import average_effect, policy_value


def trial(rng, n_rows=400, *, confounded=False):
    """Rows whose average effect is 1 on average; a policy of x > 0 is best."""
    x = rng.normal(size=n_rows)
    chance = 1 / (1 + np.exp(-x)) if confounded else np.full(n_rows, 0.5)
    treated = rng.random(n_rows) < chance
    return x, 2 * x + treated * (1 + x) + rng.normal(size=n_rows), treated, chance


@pytest.mark.parametrize(
    ("confounded", "models"),
    [(False, "none"), (False, "right"), (True, "none"), (True, "right"), (True, "right effects, wrong chances")],
)
def test_intervals_hold_the_average_effect_as_often_as_they_say(confounded, models):
    rng, held, errors = np.random.default_rng(0), 0, []
    for _ in range(300):
        x, y, treated, chance = trial(rng, confounded=confounded)
        given = {} if not confounded or "wrong" in models else {"propensity": chance}
        effect = np.zeros(len(y)) if models == "none" else 1 + x
        if models != "none":
            used = np.full(len(y), treated.mean()) if "wrong" in models else chance
            given["expected"] = 2 * x + used * (1 + x)
        found = average_effect(y, effect, treated, **given)
        held += abs(found.value - 1.0) <= 1.96 * found.error
        errors.append(found.error)
    assert 0.9 < held / 300 < 0.99
    assert np.mean(errors) < (0.5 if models == "none" else 0.2)


def test_the_value_of_a_policy_is_what_rows_would_have_got():
    rng, held = np.random.default_rng(0), 0
    for _ in range(300):
        x, y, treated, chance = trial(rng, confounded=True)
        own = np.where(treated, chance, 1 - chance)
        found = policy_value(y, np.where(x > -1, "mail", "none"), np.where(treated, "mail", "none"), propensity=own)
        held += abs(found.value - 1.0833) <= 1.96 * found.error  # E[(1 + x)+]
    assert 0.85 < held / 300 < 0.99


def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    x, y, treated, _ = trial(rng, 60)
    times = rng.integers(1, 4, 60)
    again = np.repeat(np.arange(60), times)
    for metric, told in ((average_effect, 1 + x), (policy_value, x > 0)):
        weighted = metric(y, told, treated, sample_weight=times.astype(float), propensity=np.where(treated, 0.4, 0.6))
        repeated = metric(y[again], told[again], treated[again], propensity=np.where(treated, 0.4, 0.6)[again])
        assert weighted.value == pytest.approx(repeated.value, abs=1e-12)
        assert weighted.error > repeated.error, "copies tell nothing new, but who gives rows says that they do"


def test_a_policy_of_one_arm_has_the_mean_of_that_arm():
    rng = np.random.default_rng(1)
    y, arm = rng.normal(size=90), np.repeat(["a", "b", "c"], 30)
    for name in "abc":
        assert policy_value(y, np.full(90, name), arm).value == pytest.approx(y[arm == name].mean())


@pytest.mark.parametrize(
    ("policy", "changes", "message"),
    [
        (["a", "d"], {}, r"policy chooses 'd' in row 1, which no row got: .* treatment has \['a', 'b'\]"),
        (["b", "a"], {}, r"no row got the arm that policy chooses for it"),
        (["a", "b"], {"propensity": [0.5, 1.0]}, r"propensity is 1 in row 1: use probabilities above 0 and below 1"),
        (["a"], {}, r"policy has 1 values, but y has 2 rows"),
    ],
)
def test_what_cannot_be_estimated_is_refused(policy, changes, message):
    with pytest.raises(ValueError, match=message):
        policy_value([1.0, 0.0], np.array(policy), np.array(["a", "b"]), **changes)
    with pytest.raises(ValueError, match="expected has 1 values, but y has 2 rows"):
        average_effect([1.0, 0.0], [0.0, 0.0], [1, 0], expected=[1.0])
