"""Evaluation of rankers: queries, and how well each is ordered."""

from __future__ import annotations

from typing import Any

import numpy as np

from arboretum.estimators import targets
from arboretum.metrics import map_score, mrr_score, ndcg_score
from arboretum.queries import Queries
from arboretum.report.evaluation.charts import curves, histogram, metric, series
from arboretum.report.subject import FloatArray, Rows, Subject

PLACES = 10  # that count in NDCG
WORST_QUERIES = 15


def evaluate(subject: Subject) -> list[dict[str, Any]]:
    """Evaluate the order of rows within queries; the baseline is a random one."""
    test, train = subject.test, subject.train
    scores = subject.model.predict(test.X)
    random = np.random.default_rng(0).random(test.n_rows)
    told = None if train is None else subject.model.predict(train.X)

    def all_three(score: Any, name: str, about: str, **more: Any) -> dict[str, Any]:
        def of(rows: Rows | None, values: Any) -> float | None:
            if rows is None:
                return None
            return float(score(rows.target, values, rows.group, sample_weight=rows.weight, **more))

        return metric(name, of(test, scores), of(test, random), about, train=of(train, told), better="high")

    metrics = [
        all_three(ndcg_score, f"NDCG@{PLACES}", "gains of the first ten places, beside the best order", k=PLACES),
        all_three(map_score, "MAP", "mean average precision of relevant rows"),
        all_three(mrr_score, "MRR", "mean of 1 / place of the first relevant row"),
    ]
    return [{"name": "", "metrics": metrics, "charts": _charts(test, scores, random)}]


def _charts(test: Rows, scores: FloatArray, random: FloatArray) -> list[dict[str, Any]]:
    assert test.y is not None
    query = targets.query_numbers(test.group, test.n_rows)
    order = np.argsort(query, kind="stable")
    queries = Queries.of_sorted(query[order])
    grades = targets.grades(test.y[:, 0])[order]
    of_model, of_chance = (queries.metric("ndcg", grades, values[order], PLACES) for values in (scores, random))
    known = ~np.isnan(of_model)
    places = np.arange(1, PLACES + 1)

    def by_cut(values: FloatArray) -> list[float]:
        return [queries.mean_metric("ndcg", grades, values[order], int(cut)) for cut in places]

    lines = [series("model", places, by_cut(scores)), series("random order", places, by_cut(random), "baseline")]
    worst = np.argsort(np.where(known, of_model, np.inf), kind="stable")[: min(WORST_QUERIES, int(known.sum()))]
    assert test.group is not None
    labels, sizes = test.group[order][queries.start[:-1]], np.diff(queries.start)
    note = f"{int(known.sum()):,} queries with a relevant row, of {len(known):,}"
    return [
        histogram(
            "NDCG of each query",
            f"NDCG@{PLACES}",
            {"model": of_model[known], "random order": of_chance[known]},
            bins=20,
            note=note,
            unit="queries",
            baseline="random order",
        ),
        curves("NDCG by number of places", "places that count", "NDCG", lines, y_domain=[0, 1], dots=True),
        {
            "kind": "table",
            "title": "Queries that are ordered worst",
            "columns": ["query", "rows", "best grade", f"NDCG@{PLACES}"],
            "rows": [
                [
                    str(labels[q]),
                    sizes[q],
                    grades[queries.start[q] : queries.start[q + 1]].max(),
                    of_model[q],
                ]
                for q in worst
            ],
        },
    ]
