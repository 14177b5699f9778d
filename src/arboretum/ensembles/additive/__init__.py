"""Additive modelling of any base learners, stage by stage."""
