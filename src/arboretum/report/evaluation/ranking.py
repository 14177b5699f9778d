"""Evaluation of rankers: queries, and how well each is ordered."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data import targets
from arboretum.data.queries import Metric, Queries
from arboretum.losses.ranking import RankingLoss
from arboretum.report.evaluation.charts import curves, histogram, series
from arboretum.report.evaluation.figures import Figure, measured
from arboretum.report.subject import FloatArray, Rows, Subject

PLACES = 10  # that count in NDCG
WORST_QUERIES = 15


def evaluate(subject: Subject) -> list[dict[str, Any]]:
    """Evaluate the order of rows within queries; the baseline is a random one."""
    test, train = subject.test, subject.train
    random = np.random.default_rng(0).random(test.n_rows)

    def figure(metric: Metric, name: str, about: str, k: int | None = None) -> Figure:
        of_test, of_chance = (_by_query(test, values, metric, k) for values in (subject.told, random))
        of_train = None if train is None else _mean(_by_query(train, subject.told_of_training, metric, k))
        return Figure(name, about, partial(_mean, of_test), partial(_mean, of_chance), "high", of_train)

    figures = [
        figure("ndcg", f"NDCG@{PLACES}", "gains of the first ten places, beside the best order", PLACES),
        figure("map", "MAP", "mean average precision of relevant rows"),
        figure("mrr", "MRR", "mean of 1 / place of the first relevant row"),
    ]
    loss = getattr(subject.model, "loss_", None)
    if isinstance(loss, RankingLoss) and (name := str(loss.followed).upper()) not in [one.name for one in figures]:
        figures.insert(0, figure(loss.followed.metric, name, "what the model was fitted by", loss.followed.k))
    n_queries = len(np.unique(np.asarray(test.group)[test.weights > 0]))
    charts = _charts(test, subject.told, random)
    return [{"name": "", "metrics": measured(figures, n_queries), "charts": charts}]


def _mean(of_queries: tuple[FloatArray, FloatArray], chosen: Any = slice(None)) -> float | None:
    """Mean over queries that have a relevant row, weighted."""
    values, weight = (part[chosen] for part in of_queries)
    known = ~np.isnan(values) & (weight > 0)
    return float(np.average(values[known], weights=weight[known])) if known.any() else None


def _by_query(rows: Rows, scores: FloatArray, metric: Metric, k: int | None) -> tuple[FloatArray, FloatArray]:
    """Figure of each query, NaN if none of its rows is relevant, and its mean weight."""
    order, queries, grades = _by_order(rows, rows.weights > 0)
    mean_weight = np.add.reduceat(rows.weights[order], queries.start[:-1]) / np.diff(queries.start)
    return queries.metric(metric, grades, scores[order], k), mean_weight


def _by_order(rows: Rows, kept: NDArray[np.bool_]) -> tuple[NDArray[np.intp], Queries, FloatArray]:
    """Return an order of the kept rows by query, the queries, and the grades of the rows in that order."""
    assert rows.y is not None
    query = targets.query_numbers(rows.group, rows.n_rows)
    order = np.argsort(query, kind="stable")
    order = order[kept[order]]
    return order, Queries.of_sorted(query[order]), targets.grades(rows.y[:, 0])[order]


def _charts(test: Rows, scores: FloatArray, random: FloatArray) -> list[dict[str, Any]]:
    order, queries, grades = _by_order(test, np.ones(test.n_rows, bool))
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
