"""Looking inside fitted models."""

from __future__ import annotations

from arboretum.explaining.explanation import Explanation
from arboretum.explaining.shap import shap_values

__all__ = ["Explanation", "shap_values"]
