"""Metrics: how good predictions are, for tasks that scikit-learn has no metric of."""

from arboretum.metrics.effects import average_effect, policy_value
from arboretum.metrics.ranking import map_score, mrr_score, ndcg_score
from arboretum.metrics.survival import (
    brier_score,
    concordance_index,
    concordance_index_ipcw,
    cumulative_dynamic_auc,
    integrated_brier_score,
)
from arboretum.metrics.uplift import auuc_score, qini_curve, qini_score, uplift_at_k, uplift_curve

__all__ = [
    "auuc_score",
    "average_effect",
    "brier_score",
    "concordance_index",
    "concordance_index_ipcw",
    "cumulative_dynamic_auc",
    "integrated_brier_score",
    "map_score",
    "mrr_score",
    "ndcg_score",
    "policy_value",
    "qini_curve",
    "qini_score",
    "uplift_at_k",
    "uplift_curve",
]
