from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from arboretum.cli.scores import _of_separation

ROWS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.5 + 2**-53, 1.0, -1e300, np.inf]), st.booleans(), st.integers(0, 3)),
    min_size=1,
    max_size=30,
)


@given(ROWS, st.booleans())
def test_separation_is_that_of_scikit_learn(rows: list[tuple[float, bool, int]], weighted: bool) -> None:
    values, positive, weight = (np.array(column) for column in zip(*rows, strict=True))
    given_weight = weight.astype(np.float64) if weighted else None
    found = _of_separation(values, positive, given_weight)
    kept = weight > 0 if weighted else np.ones(len(weight), dtype=bool)
    if len(set(positive[kept])) < 2:
        assert found == {}
        return
    of_each = {"sample_weight": None if given_weight is None else given_weight[kept]}
    ranked = np.unique(values, return_inverse=True)[1][kept]  # scikit-learn takes no infinities
    assert found["roc auc"] == pytest.approx(roc_auc_score(positive[kept], ranked, **of_each), rel=1e-12)
    expected = average_precision_score(positive[kept], ranked, **of_each)
    assert found["average precision"] == pytest.approx(expected, rel=1e-12)
