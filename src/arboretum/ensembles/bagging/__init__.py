"""Bagging: trees grown on draws of the rows, and what their leaves tell."""
