"""``learning_rate="auto"`` is the rate that CatBoost chooses, shared by the trees of a round."""

from __future__ import annotations

import numpy as np
import pytest

from arboretum.ensembles.boosting.automatic_rate import automatic_rate
from arboretum.losses import Logistic, Multinomial, SquaredError

catboost = pytest.importorskip("catboost")

CASES = {
    "regression": (catboost.CatBoostRegressor, {}, SquaredError()),
    "two classes": (catboost.CatBoostClassifier, {"boost_from_average": True}, Logistic()),
    "several classes": (catboost.CatBoostClassifier, {}, Multinomial(3)),
}


def target(kind, x):
    return {"regression": x, "two classes": x > 0, "several classes": np.digitize(x, [-0.5, 0.5])}[kind]


@pytest.mark.parametrize(("n_rows", "n_rounds"), [(500, 1000), (2_000, 400), (20_000, 300)])
@pytest.mark.parametrize("kind", CASES)
def test_the_automatic_rate_of_all_rounds_is_theirs(kind, n_rows, n_rounds):
    build, options, loss = CASES[kind]
    rows = np.random.default_rng(n_rows).normal(size=(n_rows, 1))
    y = target(kind, rows[:, 0])
    model = build(
        iterations=n_rounds, depth=1, border_count=1, verbose=0, thread_count=1, allow_writing_files=False, **options
    )
    model.fit(rows, y)
    theirs = model.get_all_params()["learning_rate"]  # a float32
    ours = automatic_rate(loss, n_rows, n_rounds, keeps_best=False)
    assert ours == pytest.approx(theirs / loss.n_outputs, rel=1e-6, abs=5e-7)
