"""Encoding: categories as levels, target statistics and combinations."""
