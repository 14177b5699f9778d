"""Presets: the parameters that make boosted trees behave like a known system."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

__all__ = ["PresetTable", "presets"]

Switches: TypeAlias = dict[str, Any]

# Every switch is given for every system, so that a preset stays what it is when a default changes.
#
#   gbm         Friedman, Greedy function approximation: a gradient boosting machine, 2001; stochastic: 2002
#   xgboost     Chen and Guestrin, XGBoost: a scalable tree boosting system, 2016
#   lightgbm    Ke et al., LightGBM: a highly efficient gradient boosting decision tree, 2017
#   catboost    Prokhorenkova et al., CatBoost: unbiased boosting with categorical features, 2018
_SYSTEMS = ("gbm", "xgboost", "lightgbm", "catboost")
_SWITCHES: dict[str, tuple[Any, Any, Any, Any]] = {
    "n_estimators": (100, 100, 100, 1000),
    "learning_rate": (0.1, 0.3, 0.1, "auto"),
    "growth": ("level", "level", "leaf", "symmetric"),
    "max_leaf_nodes": (None, None, 31, None),
    "max_depth": (3, 6, None, 6),
    "min_samples_leaf": (1, 1, 20, 1),
    "min_child_weight": (0.0, 1.0, 1e-3, 0.0),
    "l2": (0.0, 1.0, 0.0, 3.0),
    "prune": (False, True, False, False),
    "second_order": (False, True, True, True),
    "leaf_steps": (1, 1, 1, "auto"),
    "split_score": ("gain", "gain", "gain", "cosine"),
    "score_noise": (0.0, 0.0, 0.0, 1.0),
    "sampling": ("subsample", "subsample", "subsample", "mvs"),
    "subsample": (1.0, 1.0, 1.0, 0.8),
    "max_features": (1.0, 1.0, 1.0, 1.0),
    "max_bins": (None, 255, 255, 254),
    "category_levels": (20, None, None, 2),
    "category_combinations": (1, 1, 1, 4),
    "category_orders": (4, 1, 1, 4),
    "vector_leaves": ("auto", "auto", "auto", True),
    "early_stopping": (False, False, False, False),
    "race": (False, False, False, False),
}


class PresetTable(Mapping[str, Switches]):
    """The switches of each system, by its name; printed, a table.

    Examples
    --------
    >>> table = presets()
    >>> list(table)
    ['gbm', 'xgboost', 'lightgbm', 'catboost']
    >>> table["xgboost"]["l2"]
    1.0
    """

    def __getitem__(self, name: str) -> Switches:
        """Return the switches of a system."""
        if name not in _SYSTEMS:
            near = difflib.get_close_matches(str(name), _SYSTEMS, n=1)
            hint = f": did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"no preset is called {name!r}{hint}; there are: {', '.join(_SYSTEMS)}")
        place = _SYSTEMS.index(name)
        return {switch: values[place] for switch, values in _SWITCHES.items()}

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the systems."""
        return iter(_SYSTEMS)

    def __len__(self) -> int:
        """Return the number of systems."""
        return len(_SYSTEMS)

    def __repr__(self) -> str:
        """Return the table: one line per switch, one column per system."""
        lines = [("", *_SYSTEMS), *((switch, *map(str, values)) for switch, values in _SWITCHES.items())]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def presets() -> PresetTable:
    """Return the table of presets: the switches that make each system.

    Examples
    --------
    >>> import arboretum as arb
    >>> arb.presets()  # doctest: +ELLIPSIS
                           gbm        xgboost    lightgbm   catboost
    n_estimators           100        100        100        1000
    learning_rate          0.1        0.3        0.1        auto
    ...
    >>> model = arb.BoostedTreesRegressor.preset("xgboost", max_depth=4)
    >>> model.max_depth, model.l2
    (4, 1.0)
    """
    return PresetTable()
