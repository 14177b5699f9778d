"""Categories that no training row had: averaged over branches, missing, or refused."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.every_estimator import CASES, VARIANTS, answers, framed

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of few rows

KNOWING = [case for case in [*CASES, *VARIANTS] if case.takes("unknown") and "estimator" not in case.params]


def with_town(rows, town):
    return rows["X"].assign(town=town)


@pytest.mark.parametrize("case", KNOWING, ids=str)
def test_unknown_categories_follow_the_policy(case):
    rows = framed(case.problem(60))
    missing = case.fitted(rows, unknown="missing")
    expected = answers(missing, with_town(rows, None))
    np.testing.assert_array_equal(answers(missing, with_town(rows, "Atlantis")), expected)
    average = case.fitted(rows, unknown="average")
    found = answers(average, with_town(rows, "Atlantis"))
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(answers(average, with_town(rows, "Ys")), found)
    np.testing.assert_array_equal(answers(average, rows["X"]), answers(missing, rows["X"]))
    with pytest.raises(ValueError, match=r"town.*Atlantis"):
        answers(case.fitted(rows, unknown="error"), with_town(rows, "Atlantis"))
