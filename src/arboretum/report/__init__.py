"""The report: what a model is, how good it is and why, as one HTML file that needs nothing else."""

from __future__ import annotations

from arboretum.report.writing import write_report

__all__ = ["write_report"]
