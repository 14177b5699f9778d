"""Boosting: rounds of trees fitted to gradients, and the ingredients of a round."""
