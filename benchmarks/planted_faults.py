"""Faults planted into clean tables, one at a time, to count how many of them a report finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

PLANTED = "planted"  # name of a column that a fault adds


@dataclass(frozen=True, eq=False)
class Split:
    """Training rows and held-out rows of a table; frames of pandas."""

    kind: str
    X_train: Any
    y_train: NDArray[Any]
    X: Any
    y: NDArray[Any]
    train_arguments: dict[str, Any]
    test_arguments: dict[str, Any]

    def with_column(self, make: Callable[[NDArray[Any]], Any]) -> Split:
        """Add a column that is made from the target, in both parts."""
        return self.with_columns(make(self.y_train), make(self.y))

    def with_columns(self, train: Any, test: Any) -> Split:
        """Add a column with these values."""
        return replace(self, X_train=self.X_train.assign(**{PLANTED: train}), X=self.X.assign(**{PLANTED: test}))

    def with_test_column(self, name: str, values: Any) -> Split:
        """Replace a column of the held-out rows."""
        return replace(self, X=self.X.assign(**{name: values}))


@dataclass(frozen=True)
class Planting:
    """What a fault may know: its strength, the generator, and the columns by falling importance to the clean model."""

    strength: Any
    draw: np.random.Generator
    by_importance: Sequence[str]

    def number(self, split: Split, place: int = 0) -> str:
        """Return an important column of numbers with many values."""
        names = [name for name in self.by_importance if split.X[name].dtype.kind == "f"]
        varied = [name for name in names if split.X_train[name].nunique() > 20]
        return (varied or names)[min(place, len(varied or names) - 1)]


@dataclass(frozen=True)
class Fault:
    """A fault: how it is planted at each strength, and which findings name it.

    ``found_as`` are kinds of findings; ``on_column`` says whether the finding must name the column that ``plant``
    returns. ``refit`` is False where the model of the clean training rows is the one that is reported on.
    """

    name: str
    strengths: tuple[Any, ...]
    plant: Callable[[Split, Planting], tuple[Split, str | None]]
    found_as: tuple[str, ...]
    kinds: tuple[str, ...] = ("binary", "multiclass", "regression")
    refit: bool = True
    model: Callable[[Any, Any], Any] | None = None  # (clean model, strength) → model to fit


# ---- columns that know the target ----


def noisy_copy(split: Split, planting: Planting) -> tuple[Split, str | None]:
    """Add the target with noise, in units of its deviation; of two classes, in units of their distance."""
    unit = 1.0 if len(np.unique(split.y_train)) == 2 else float(split.y_train.std())

    def make(y: NDArray[Any]) -> Any:
        return y / unit + planting.strength * planting.draw.normal(size=len(y))

    return split.with_column(make), PLANTED


def revealed(split: Split, planting: Planting) -> tuple[Split, str | None]:
    """Add a column written after the fact: the target's group for some rows, "none" for the others."""
    edges = np.quantile(split.y_train, [0.2, 0.4, 0.6, 0.8]) if split.kind == "regression" else None

    def make(y: NDArray[Any]) -> Any:
        group = y if edges is None else np.digitize(y, edges)
        known = planting.draw.random(len(y)) < planting.strength
        return np.where(known, np.char.add("group ", group.astype(int).astype(str)), "none").astype(object)

    return split.with_column(make), PLANTED


def telling_holes(split: Split, planting: Planting) -> tuple[Split, str | None]:
    """Add noise that is missing where the target is high, but for a share of the rows."""
    middle = np.median(split.y_train) if split.kind == "regression" else 0

    def make(y: NDArray[Any]) -> Any:
        missing = (y > middle) ^ (planting.draw.random(len(y)) >= planting.strength)
        return np.where(missing, np.nan, planting.draw.normal(size=len(y)))

    return split.with_column(make), PLANTED


# ---- identifiers and idle columns ----


def identifier(split: Split, planting: Planting) -> tuple[Split, str | None]:
    n_train, n = len(split.y_train), len(split.y_train) + len(split.y)
    numbers = {
        "running number": planting.draw.permutation(n),
        "random number": planting.draw.choice(10**9, n, replace=False),
        "text": planting.draw.choice(10**9, n, replace=False),
    }[planting.strength]
    values: Any = numbers.astype(np.float64)
    if planting.strength == "text":
        values = np.char.add("C", numbers.astype(str)).astype(object)
    return split.with_columns(values[:n_train], values[n_train:]), PLANTED


def constant(split: Split, planting: Planting) -> tuple[Split, str | None]:
    return split.with_columns(1.0, 1.0), PLANTED


# ---- held-out rows that are not like the training rows ----


def shifted(split: Split, planting: Planting) -> tuple[Split, str | None]:
    name = planting.number(split)
    spread = float(split.X_train[name].std())
    return split.with_test_column(name, split.X[name] + planting.strength * spread), name


def other_units(split: Split, planting: Planting) -> tuple[Split, str | None]:
    name = planting.number(split)
    return split.with_test_column(name, split.X[name] * planting.strength), name


def stuck(split: Split, planting: Planting) -> tuple[Split, str | None]:
    name = planting.number(split)
    values = split.X[name].to_numpy().copy()
    values[planting.draw.random(len(values)) < planting.strength] = split.X_train[name].median()
    return split.with_test_column(name, values), name


def shuffled(split: Split, planting: Planting) -> tuple[Split, str | None]:
    """Join a column to the wrong rows: its distribution is what it was."""
    name = planting.by_importance[planting.strength - 1]
    return split.with_test_column(name, planting.draw.permutation(split.X[name].to_numpy())), name


def new_holes(split: Split, planting: Planting) -> tuple[Split, str | None]:
    name = planting.number(split)
    values = split.X[name].to_numpy().copy()
    values[planting.draw.random(len(values)) < planting.strength] = np.nan
    return split.with_test_column(name, values), name


def copied_rows(split: Split, planting: Planting) -> tuple[Split, str | None]:
    """Replace some held-out rows by rows that the model was trained on."""
    import pandas as pd

    n_copies = round(planting.strength * len(split.y))
    taken = planting.draw.choice(len(split.y_train), n_copies, replace=n_copies > len(split.y_train))
    X = pd.concat([split.X_train.iloc[taken], split.X.iloc[n_copies:]])
    return replace(split, X=X, y=np.concatenate([split.y_train[taken], split.y[n_copies:]])), None


def moved_target(split: Split, planting: Planting) -> tuple[Split, str | None]:
    """Make held-out rows of other classes, or of larger numbers, than the training rows."""
    if split.kind == "regression":
        return replace(split, y=split.y + planting.strength * split.y_train.std()), None
    common = np.bincount(split.y).argmax()
    kept = (split.y != common) | (planting.draw.random(len(split.y)) >= planting.strength)
    return replace(split, X=split.X[kept], y=split.y[kept]), None


# ---- labels ----


def noise(y: NDArray[Any], share: float, draw: np.random.Generator) -> NDArray[Any]:
    wrong = draw.random(len(y)) < share
    return np.where(wrong, draw.permutation(y), y)


def noisy_labels(split: Split, planting: Planting) -> tuple[Split, str | None]:
    y_train, y = (noise(part, planting.strength, planting.draw) for part in (split.y_train, split.y))
    return replace(split, y_train=y_train, y=y), None


def noisy_test_labels(split: Split, planting: Planting) -> tuple[Split, str | None]:
    return replace(split, y=noise(split.y, planting.strength, planting.draw)), None


def swapped_labels(split: Split, planting: Planting) -> tuple[Split, str | None]:
    """Exchange the labels of the two most frequent classes in a share of the held-out rows."""
    first, second = np.argsort(-np.bincount(split.y))[:2]
    other = np.where(split.y == first, second, np.where(split.y == second, first, split.y))
    chosen = planting.draw.random(len(split.y)) < planting.strength
    return replace(split, y=np.where(chosen, other, split.y)), None


# ---- models ----


def untouched(split: Split, planting: Planting) -> tuple[Split, str | None]:
    return split, None


def overfitted(clean: Any, strength: str) -> Any:
    import arboretum as arb

    is_number = not hasattr(clean, "classes_")
    if strength == "an unpruned tree":
        return arb.DecisionTreeRegressor() if is_number else arb.DecisionTreeClassifier()
    rounds, rate = {"600 rounds of rate 0.3": (600, 0.3), "200 rounds of rate 1": (200, 1.0)}[strength]
    make = arb.BoostedTreesRegressor if is_number else arb.BoostedTreesClassifier
    return make(
        n_estimators=rounds, learning_rate=rate, min_samples_leaf=1, l2=0.0, max_features=1.0, early_stopping=False
    )


def weighted_classes(clean: Any, strength: float) -> Any:
    from sklearn.base import clone

    rare = clean.classes_[-1]
    return clone(clean).set_params(class_weight={label: strength if label == rare else 1.0 for label in clean.classes_})


FAULTS: tuple[Fault, ...] = (
    Fault("a copy of the target with noise", (0.0, 0.1, 0.3, 1.0), noisy_copy, ("possible leakage",)),
    Fault("a column that reveals the target in a share of rows", (1.0, 0.9, 0.5), revealed, ("possible leakage",)),
    Fault(
        "missing values that follow the target",
        (1.0, 0.9, 0.7),
        telling_holes,
        ("missing values that tell the target", "possible leakage"),
    ),
    Fault(
        "an identifier",
        ("text", "random number", "running number"),
        identifier,
        ("identifier", "often asked, of no effect"),
    ),
    Fault("a constant column", (1.0,), constant, ("constant column",)),
    Fault("a column shifted by so many deviations", (0.25, 0.5, 1.0, 2.0), shifted, ("drift",), refit=False),
    Fault("a column in other units", (0.1, 2.54, 1000.0), other_units, ("drift",), refit=False),
    Fault("a column stuck at its median in a share of rows", (0.2, 0.5, 1.0), stuck, ("drift",), refit=False),
    Fault(
        "a column joined to the wrong rows, by its rank",
        (1, 2, 3),
        shuffled,
        ("changed relation",),
        refit=False,
    ),
    Fault(
        "new missing values in a share of rows",
        (0.01, 0.1, 0.5),
        new_holes,
        ("missing values that are new", "drift"),
        refit=False,
    ),
    Fault("copies of training rows", (0.02, 0.1, 0.5), copied_rows, ("copied rows",), refit=False),
    Fault("a moved target", (0.25, 0.5, 0.9), moved_target, ("drift of the target",), refit=False),
    Fault(
        "random labels in a share of all rows",
        (0.1, 0.2, 0.4),
        noisy_labels,
        ("worse than the baseline", "no better than the baseline", "not calibrated"),
        kinds=("binary", "multiclass"),
    ),
    Fault(
        "random labels in a share of the held-out rows",
        (0.1, 0.2, 0.4),
        noisy_test_labels,
        ("changed relation", "not calibrated", "worse than the baseline"),
        kinds=("binary", "multiclass"),
        refit=False,
    ),
    Fault(
        "two classes exchanged in a share of the held-out rows",
        (0.25, 0.5, 1.0),
        swapped_labels,
        ("exchanged labels", "changed relation", "not calibrated", "worse than the baseline"),
        kinds=("binary", "multiclass"),
        refit=False,
    ),
    Fault(
        "an overfitted model",
        ("an unpruned tree", "200 rounds of rate 1", "600 rounds of rate 0.3"),
        untouched,
        ("overfitted",),
        model=overfitted,
    ),
    Fault(
        "probabilities distorted by a class weight",
        (3.0, 10.0, 50.0),
        untouched,
        ("not calibrated",),
        kinds=("binary",),
        model=weighted_classes,
    ),
)
