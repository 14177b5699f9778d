"""Corrections of models: calibrated probabilities and intervals, learned from rows that a model has not seen."""
