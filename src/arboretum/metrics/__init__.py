"""Scores of predictions that scikit-learn does not have."""

from __future__ import annotations

from arboretum.metrics.uplift import auuc_score, qini_curve, qini_score, uplift_at_k, uplift_curve

__all__ = ["auuc_score", "qini_curve", "qini_score", "uplift_at_k", "uplift_curve"]
