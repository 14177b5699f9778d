"""Rankers with few queries find their number of rounds by folds of queries: against fits to each fold alone."""

from __future__ import annotations

import numpy as np
import pytest

import arboretum as arb
from arboretum.data.splits import fold_of_rows
from arboretum.ensembles.boosting.automatic import FEWEST_HELD_QUERIES, FOLDS

N_QUERIES, ROWS_OF_QUERY = 60, 20


def ranked_rows(n_queries: int = N_QUERIES) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    query = np.repeat(np.arange(n_queries), ROWS_OF_QUERY)
    X = random.normal(size=(len(query), 4))
    return X, np.clip(np.round(X[:, 0] + random.normal(size=len(query))), 0, 3), query


def ranker(**parameters: object) -> arb.BoostedTreesRanker:
    return arb.BoostedTreesRanker(**{"n_estimators": 60, "n_iter_no_change": 8, "random_state": 5, **parameters})


@pytest.mark.parametrize("scoring", [None, "map"])
def test_history_is_the_mean_of_fits_to_each_fold(scoring: str | None) -> None:
    X, grade, query = ranked_rows()
    model = ranker(scoring=scoring).fit(X, grade, group=query)
    fold = fold_of_rows(N_QUERIES, FOLDS, 5)[query]
    n_rounds, losses, scores = len(model.history_.validation_loss), [], []
    for one in range(FOLDS):
        kept, out = fold != one, fold == one
        alone = ranker(n_estimators=n_rounds, n_iter_no_change=n_rounds, learning_rate=model.learning_rate_)
        alone.set_params(scoring=scoring, l2=10.0, subsample=0.7, min_samples_leaf=3)
        held = {"X_val": X[out], "y_val": grade[out], "group_val": query[out]}
        history = alone.fit(X[kept], grade[kept], group=query[kept], **held).history_
        losses.append(history.validation_loss)
        scores.append(history.validation_score)
    np.testing.assert_allclose(model.history_.validation_loss, np.mean(losses, axis=0), rtol=1e-12)
    np.testing.assert_allclose(model.history_.validation_score, np.mean(scores, axis=0), rtol=1e-12)
    best = np.argmin(model.history_.validation_loss) if scoring is None else np.argmax(np.mean(scores, axis=0))
    assert model.n_iter_ == best + 1 == model.history_.best_round


def test_all_rows_are_fitted_for_the_rounds_found() -> None:
    X, grade, query = ranked_rows()
    model = ranker().fit(X, grade, group=query)
    same = ranker(n_estimators=model.n_iter_, learning_rate=model.learning_rate_, early_stopping=False)
    same.fit(X, grade, group=query)
    assert 0 < model.n_iter_ < 60
    np.testing.assert_array_equal(same.predict(X), model.predict(X))


def test_many_queries_are_held_out_once() -> None:
    X, grade, query = ranked_rows(10 * FEWEST_HELD_QUERIES)
    model = ranker(n_estimators=4).fit(X, grade, group=query)
    held = ranker(n_estimators=4, refit=False).fit(X, grade, group=query)
    assert model.history_.validation_loss == held.history_.validation_loss


@pytest.mark.parametrize("parameters", [{"refit": False}, {"early_stopping": False}, {"warm_start": True}])
def test_folds_are_only_for_fits_that_end_with_all_rows(parameters: dict[str, object]) -> None:
    X, grade, query = ranked_rows()
    told = []
    ranker(n_estimators=3, callbacks=[told.append], **parameters).fit(X, grade, group=query)
    assert len(told) == 3


def test_callbacks_hear_of_the_search_and_of_the_fit_and_can_end_both() -> None:
    X, grade, query = ranked_rows()
    told = []

    def ended(report: object) -> bool:
        told.append(report.number)
        return report.number == 4

    model = ranker(callbacks=[ended]).fit(X, grade, group=query)
    assert told[:4] == [1, 2, 3, 4]
    assert len(model.history_.validation_loss) == 4
    assert model.history_.stopped_by == "callback"
    assert 1 <= model.n_iter_ <= 4


def test_an_interrupted_search_keeps_its_first_fold() -> None:
    X, grade, query = ranked_rows()

    def interrupted(report: object) -> None:
        if report.number == 5:
            raise KeyboardInterrupt

    with pytest.warns(arb.InterruptedFit, match=r"keeps the \d rounds so far"):
        model = ranker(callbacks=[interrupted]).fit(X, grade, group=query)
    assert model.history_.stopped_by == "interrupt"
    assert model.n_iter_ == model.history_.best_round
    assert model.predict(X).shape == (len(X),)
