"""Bagging: trees grown on draws of the rows, and the statistics of their leaves."""
