"""Metrics: how good predictions are, for tasks that scikit-learn has no metric of."""

from arboretum.metrics.ranking import map_score, mrr_score, ndcg_score

__all__ = ["map_score", "mrr_score", "ndcg_score"]
