"""Correcting: formulas that calibrate probabilities and make intervals, from rows that a model has not seen."""
