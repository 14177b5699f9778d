"""Estimators of any library as members of an ensemble: what they predict, and what they are fitted to."""
