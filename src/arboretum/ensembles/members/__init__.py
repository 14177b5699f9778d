"""Estimators as members of an ensemble, whoever wrote them: what they are asked, and what they are fitted to."""
