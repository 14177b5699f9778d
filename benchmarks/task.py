"""What every library is asked to do: the data, and settings they all share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Growth = Literal["leaf", "level", "symmetric", "unlimited"]
Kind = Literal["binary", "multiclass", "regression"]


@dataclass(frozen=True)
class Settings:
    """Settings in the words of no library; each rival translates them into its own.

    ``rounds`` are the trees of a forest. ``bins`` of None try every distinct value. ``columns`` is the share of the
    columns that a node looks at, "sqrt" their square root.
    """

    rounds: int = 100
    growth: Growth = "leaf"
    leaves: int = 31
    depth: int = 6
    learning_rate: float = 0.1
    bins: int | None = 255
    min_rows: int = 20
    threads: int = 2
    seed: int = 0
    columns: float | Literal["sqrt"] = 1.0
    bootstrap: bool = False
    random_thresholds: bool = False

    @property
    def shape(self) -> str:
        """The size of a tree, in words."""
        if self.growth == "leaf":
            return f"{self.leaves} leaves"
        return "unlimited" if self.growth == "unlimited" else f"{self.growth}, depth {self.depth}"

    @property
    def size(self) -> str:
        """How many trees of which size, in words."""
        return f"{self.rounds} {'trees' if self.growth == 'unlimited' else 'rounds'}, {self.shape}"

    def columns_a_node(self, n_columns: int) -> int:
        """Return how many columns a node looks at, rounded down as every library does."""
        return max(1, int(n_columns**0.5 if self.columns == "sqrt" else n_columns * self.columns))


@dataclass(frozen=True)
class Task:
    """One training problem with its test set.

    ``X`` is a float32 array, or a pandas frame whose ``categorical`` columns hold strings (NaN = missing).
    ``y`` holds 0 and 1, class numbers from 0, or values.
    """

    kind: Kind
    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]
    settings: Settings = field(default_factory=Settings)
    weight: NDArray[np.float64] | None = None
    categorical: tuple[str, ...] = ()

    @property
    def n_classes(self) -> int:
        """Number of classes; labels are 0 … n_classes - 1."""
        return int(self.y.max()) + 1

    def with_settings(self, **changes: Any) -> Task:
        """Return the same data with other settings."""
        return replace(self, settings=replace(self.settings, **changes))

    def head(self, rows: int, **changes: Any) -> Task:
        """Return the first training rows only, with other settings."""
        weight = None if self.weight is None else self.weight[:rows]
        shorter = replace(self, X=self.X[:rows], y=self.y[:rows], weight=weight)
        return shorter.with_settings(**changes)

    @property
    def shape(self) -> str:
        """Rows × columns, kind and settings, for a table's title."""
        rows, columns = self.X.shape
        return f"{rows:,} × {columns}, {self.kind}, {self.settings.size}"


class Scale(Protocol):
    """What a task needs to know of a run: its size, and the settings that all of its tasks share."""

    def scaled(self, full: int) -> int:
        """Scale a number of rows of the full-size run."""

    def settings(self, **changes: Any) -> Settings:
        """Return the common settings, with changes."""


def split(kind: Kind, X: Any, y: NDArray[Any], n_train: int, settings: Settings) -> Task:
    """Take the first ``n_train`` rows for training, the rest as the test set."""
    return Task(kind, X[:n_train], y[:n_train], X[n_train:], y[n_train:], settings)
