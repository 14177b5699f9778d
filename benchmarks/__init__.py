"""Arboretum and its rivals, measured in the same minutes at equal settings."""
