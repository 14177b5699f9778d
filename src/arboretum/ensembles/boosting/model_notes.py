"""Notes of a fit that a boosted model keeps."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arboretum.ensembles.boosting.history import History
from arboretum.ensembles.boosting.racing import RaceResult
from arboretum.growing.grower import ALL_OUTPUTS
from arboretum.model.arrays import Arrays
from arboretum.model.forest import Forest
from arboretum.model.notes import Notes, read_flag


@dataclass(frozen=True, eq=False)
class BoostingNotes(Notes):
    """History and steps of boosted trees."""

    n_rounds: int
    history: History = field(default_factory=History)
    learning_rate: float = 1.0
    trees_per_round: int = 1  # and output
    has_offset: bool = False  # whether rounds were fitted beside offsets
    checkpoint: dict[str, Any] | None = None  # in a checkpoint, which fit it is part of
    race: RaceResult | None = None  # which settings raced, and which won
    is_averaged: bool = False  # whether trees have the weights of a mean of models, after which none can be grown

    def to_json(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the entries of a file header, without defaults and without what a parameter gives already."""
        return {
            "history": self.history.to_json(),
            **({} if self.learning_rate == params["learning_rate"] else {"learning_rate": self.learning_rate}),
            **({} if self.trees_per_round == 1 else {"trees_per_round": self.trees_per_round}),
            **({"has_offset": True} if self.has_offset else {}),
            **({} if self.checkpoint is None else {"checkpoint": self.checkpoint}),
            **({} if self.race is None else {"race": self.race.to_json()}),
            **({"is_averaged": True} if self.is_averaged else {}),
        }

    @classmethod
    def from_file(cls, header: dict[str, Any], arrays: Arrays, forest: Forest) -> BoostingNotes:
        """Read the notes."""
        history = History.from_json(header["history"])
        has_offset, is_averaged = read_flag(header, "has_offset"), read_flag(header, "is_averaged")
        per_round = header.get("trees_per_round", 1)
        if type(per_round) is not int or per_round < 1:
            raise ValueError(f"trees_per_round is {per_round!r:.80}: expected a positive integer")
        rate = header.get("learning_rate", header["params"].get("learning_rate"))
        if isinstance(rate, bool) or not isinstance(rate, numbers.Real) or not 0 < float(rate) <= 1e300:
            raise ValueError(f"learning_rate is {rate!r:.80}: expected a positive number")
        if len(np.unique(forest.tree_output < 0)) > 1:
            raise ValueError("tree_output: some trees have one output, others all")
        n_rounds, rest = divmod(forest.n_trees, trees_of_round(forest, per_round))
        if rest:
            raise ValueError(f"expected whole rounds of {per_round} trees per output, found {forest.n_trees} trees")
        race = RaceResult.from_json(header["race"]) if "race" in header else None
        return cls(n_rounds, history, float(rate), per_round, has_offset, header.get("checkpoint"), race, is_averaged)


def is_vector(forest: Forest) -> bool:
    """Return whether trees have a value for each output."""
    return bool((forest.tree_output == ALL_OUTPUTS).any())


def trees_of_round(forest: Forest, trees_per_round: int) -> int:
    """Return how many trees each round has added."""
    return trees_per_round * (1 if is_vector(forest) else forest.n_outputs)
