"""Models that go on: parts of a fit are the whole of it, also after a file."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.every_estimator import CASES, VARIANTS, answers, framed
from tests.reference.files import reloaded

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of few rows

APART = {"early_stopping", "average_rounds"}  # which choose among rounds after the last one
WARM = [case for case in [*CASES, *VARIANTS] if case.takes("warm_start") and not APART & set(case.params)]
MORE = [case for case in WARM if hasattr(case.make(), "fit_more")]


def of_all_rounds(case):
    """Return what keeps a fit from following the number of rounds, and from choosing among them."""
    rate = {"learning_rate": 0.1} if case.params.get("learning_rate") == "auto" else {}
    return {**rate, "early_stopping": False} if case.name == "BoostedTreesSurvival" else rate


@pytest.mark.parametrize("case", WARM, ids=str)
def test_a_warm_start_is_one_fit(case):
    rows = framed(case.problem(60))
    options = of_all_rounds(case)
    whole = case.fitted(rows, **options)
    part = case.fitted(rows, **options, warm_start=True, n_estimators=2)
    for model in (part, reloaded(part)):
        model.set_params(n_estimators=whole.n_estimators).fit(**rows)
        np.testing.assert_allclose(answers(model, rows["X"]), answers(whole, rows["X"]), rtol=1e-9, atol=1e-12)
        mark = model.fingerprint()
        assert model.fit(**rows).fingerprint() == mark
        with pytest.raises(
            ValueError, match=r"^n_estimators=3 is less than the \d+ (trees|rounds|members) already fitted"
        ):
            model.set_params(n_estimators=3).fit(**rows)
        assert model.fingerprint() == mark


@pytest.mark.parametrize("case", MORE, ids=str)
def test_more_rounds_are_those_of_one_fit(case):
    rows = framed(case.problem(60))
    options = of_all_rounds(case)
    whole, part = case.fitted(rows, **options), case.fitted(rows, **options, n_estimators=2)
    for model in (reloaded(part), part):
        model.fit_more(**rows, n_estimators=3)
        np.testing.assert_allclose(answers(model, rows["X"]), answers(whole, rows["X"]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("case", WARM, ids=str)
def test_without_a_warm_start_a_fit_begins_anew(case):
    rows, half = framed(case.problem(60)), framed(case.problem(30))
    assert case.fitted(half).fit(**rows).fingerprint() == case.fitted(rows).fingerprint()
