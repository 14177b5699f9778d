"""Single rows: where the model fails, where it is sure, and why it says what it says."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.data import targets
from arboretum.data.selection import take_rows
from arboretum.explaining.reading import class_lists
from arboretum.report import trees
from arboretum.report.evaluation import classes as class_rows
from arboretum.report.evaluation import numbers
from arboretum.report.facts import LeftOut
from arboretum.report.importance import ranking
from arboretum.report.subject import FloatArray, Rows, Subject, ask, cell_texts, or_reason
from arboretum.tasks import Task

EACH = 15  # rows of every kind
SHOWN_COLUMNS = 8  # of the table
WATERFALL = 12  # columns; the others are one bar
NEIGHBOURS = 8  # training rows
# Influence takes 4 ns for an example, a training row, a leaf value and an output, and as long as 30 examples to begin.
INFLUENCE_BUDGET, INFLUENCE_START = 800_000_000, 30


@dataclass(frozen=True, eq=False)
class Ranked:
    """All rows, with what the table shows about them.

    ``kinds`` maps a name to the rows it stands for, the most telling first; ``output`` is the output of the model that
    an explanation of the row speaks of.
    """

    actual: list[str] | None
    told: list[str]
    error: FloatArray | None
    kinds: dict[str, NDArray[np.intp]]
    output: NDArray[np.intp]


def gather(subject: Subject, written: list[dict[str, Any]]) -> dict[str, Any]:
    """Choose rows and explain each of them; ``written`` are the trees of the viewer, where they can be followed."""
    ranked = _rank(subject)
    drawn = np.random.default_rng(0).permutation(subject.test.n_rows)[:EACH]
    kinds = {**ranked.kinds, "random": drawn}
    chosen = np.array(sorted({int(row) for rows in kinds.values() for row in rows[:EACH]}), np.intp)
    rows = subject.test.take(chosen)
    shown = _shown_columns(subject)
    texts = cell_texts(rows.table, list(range(subject.schema.n_features)))
    output = ranked.output[chosen]
    return {
        "names": subject.names,
        "shown": shown,
        "kinds": list(kinds),
        "rows": [
            {
                "row": int(row),
                "id": None if subject.test.ids is None else subject.test.ids[row],
                "kinds": [name for name, members in kinds.items() if row in members[:EACH]],
                "actual": None if ranked.actual is None else ranked.actual[row],
                "told": ranked.told[row],
                "error": None if ranked.error is None else ranked.error[row],
                "cells": texts[at],
            }
            for at, row in enumerate(chosen.tolist())
        ],
        "waterfalls": or_reason(lambda: _waterfalls(subject, rows, output)),
        "neighbours": or_reason(lambda: _neighbours(subject, rows, output, _turns(kinds, chosen), shown)),
        "leaves": trees.leaves(subject, rows.X, written) if written else None,
    }


def _shown_columns(subject: Subject) -> list[int]:
    try:
        return ranking(subject.importances)[:SHOWN_COLUMNS]
    except LeftOut:
        return list(range(min(SHOWN_COLUMNS, subject.schema.n_features)))


# ---- which rows ------------------------------------------------------------------------------------------------------


def _rank(subject: Subject) -> Ranked:
    if subject.task.has_classes:
        return _classes(subject)
    return _numbers(subject) if subject.task.has_numbers else _scores(subject)


def _first(values: FloatArray) -> NDArray[np.intp]:
    """Rows of the largest values."""
    return np.argsort(-values, kind="stable")[:EACH]


def _classes(subject: Subject) -> Ranked:
    judged = class_rows.judged(subject)[0]  # the first output stands for all
    labels = [str(label) for label in class_lists(subject.model)[0].tolist()]
    at, guess = np.arange(len(judged.truth)), judged.told.argmax(axis=1)
    sure = judged.told[at, guess]
    own = judged.told[at, judged.truth]
    return Ranked(
        [labels[code] for code in judged.truth],
        [f"{labels[code]} ({share:.3f})" for code, share in zip(guess, sure, strict=True)],
        1 - own,
        {"worst errors": _first(1 - own), "confident": _first(np.where(guess == judged.truth, sure, -1.0))},
        guess,
    )


def _numbers(subject: Subject) -> Ranked:
    truth, told = (part[:, 0] for part in numbers.predictions(subject.test, subject.told))
    error = np.abs(np.nan_to_num(truth - told))
    return Ranked(
        [f"{value:.6g}" for value in truth],
        [f"{value:.6g}" for value in told],
        error,
        {"worst errors": _first(error), "closest": _first(-error)},
        np.zeros(len(truth), np.intp),
    )


def _scores(subject: Subject) -> Ranked:
    """Rows by score alone; what is known of them stands beside it."""
    test = subject.test
    told = subject.told.reshape(test.n_rows, -1)[:, 0]
    actual, error = _known(test, subject.task), None
    kinds = {"highest": _first(told), "lowest": _first(-told)}
    if subject.task.role == "group" and test.y is not None and test.group is not None:
        error = _misplaced(targets.grades(test.y[:, 0]), told, test.group)
        kinds = {"most misplaced": _first(error), **kinds}
    return Ranked(actual, [f"{value:.6g}" for value in told], error, kinds, np.zeros(test.n_rows, np.intp))


def _known(test: Rows, task: Task) -> list[str] | None:
    if test.y is None:
        return None
    if task.role == "event":
        return [f"{low:.6g}" if low == high else f"after {low:.6g}" for low, high in test.y.tolist()]
    if test.treatment is not None:
        return [f"{outcome} ({arm})" for outcome, arm in zip(test.y[:, 0], test.treatment, strict=True)]
    if test.group is not None:
        return [f"grade {grade} of query {query}" for grade, query in zip(test.y[:, 0], test.group, strict=True)]
    return [str(value) for value in test.y[:, 0]]


def _misplaced(grades: FloatArray, scores: FloatArray, group: NDArray[Any]) -> FloatArray:
    """Distance of a row's place by score from its place by grade, as a share of the places of its query."""
    _, query = np.unique(group, return_inverse=True)
    places = []
    for values in (grades, scores):
        order = np.lexsort((-scores, -values, query))
        place = np.empty(len(order))
        start = np.flatnonzero(np.append(True, np.diff(query[order]) > 0))
        place[order] = np.arange(len(order)) - np.repeat(start, np.diff(np.append(start, len(order))))
        places.append(place)
    return np.asarray(np.abs(places[0] - places[1]) / np.bincount(query)[query])


def _turns(kinds: dict[str, NDArray[np.intp]], chosen: NDArray[np.intp]) -> NDArray[np.intp]:
    """Places among the chosen rows, the most telling of every kind first."""
    columns = [list(rows[:EACH]) for rows in kinds.values()]
    mixed = [int(row) for rank in zip_longest(*columns) for row in rank if row is not None]
    return np.searchsorted(chosen, np.array(list(dict.fromkeys(mixed)), np.intp))


# ---- why -------------------------------------------------------------------------------------------------------------


def _waterfalls(subject: Subject, rows: Rows, output: NDArray[np.intp]) -> list[dict[str, Any]]:
    """SHAP values of each row: the largest by themselves, the others as a sum."""
    found = ask(lambda: subject.model.explain(rows.X))
    values, base = np.asarray(found.values, np.float64), np.asarray(found.base_values, np.float64)
    names, falls = found.output_names, []
    offset = None if rows.offset is None else rows.offset.reshape(rows.n_rows, -1)
    for at in range(rows.n_rows):
        k = int(min(output[at], values.shape[-1] - 1)) if values.ndim == 3 else None
        own = values[at] if k is None else values[at, :, k]
        start = (base[at] if k is None else base[at, k]) + (0 if offset is None else offset[at, k or 0])
        if k is None and subject.positive == 0:  # one raw prediction of two classes is for the second
            own, start = -own, -start
        order = np.argsort(-np.abs(own), kind="stable")
        most = order[:WATERFALL]
        falls.append(
            {
                "base": start,
                "columns": most,
                "values": own[most],
                "rest": own[order[WATERFALL:]].sum(),
                "n_rest": len(order) - len(most),
                "output": subject.shown_class or "" if k is None else "" if names is None else str(names[k]),
                "offset": None if offset is None else offset[at, k or 0],
            }
        )
    return falls


def _neighbours(
    subject: Subject, rows: Rows, output: NDArray[np.intp], order: NDArray[np.intp], shown: list[int]
) -> dict[str, Any]:
    """Training rows without which raw predictions would change most, of the first rows in order while time allows."""
    train, model = subject.train, subject.model
    if train is None:
        raise LeftOut("Give X_train and y_train to see the training rows that matter most to a prediction.")
    some = _worth_it(order, train.n_rows * _values_asked(subject))
    given = {"X_train": train.X, "y_train": train.target, "sample_weight": train.weight, "top": NEIGHBOURS}
    most, change = ask(lambda: model.influence(take_rows(rows.X, some), **given))
    if most.ndim == 3:  # several outputs: the one that the row's explanation speaks of
        at = np.minimum(output[some], most.shape[2] - 1)[:, np.newaxis, np.newaxis]
        most, change = (np.take_along_axis(part, at, axis=2)[:, :, 0] for part in (most, change))
    used, place = np.unique(most, return_inverse=True)
    named = train.take(used)
    return {
        "of": some,
        "rows": used,
        "ids": named.ids,
        "actual": _known(named, subject.task),
        "cells": cell_texts(named.table, shown),
        "places": place.reshape(most.shape),
        "change": change,
    }


def _values_asked(subject: Subject) -> int:
    """Leaf values of a training row in all trees, once for each output."""
    if subject.multiway is not None:
        return 1
    forest = subject.forest()
    return int(forest.n_trees * forest.width * forest.n_outputs)


def _worth_it(order: NDArray[np.intp], cost: int) -> NDArray[np.intp]:
    """Keep as many examples as a few seconds allow, in the order of rows."""
    room = INFLUENCE_BUDGET // max(cost, 1) - INFLUENCE_START
    if room < 1:
        raise LeftOut(
            "Influential training rows would take long to find in a model and training rows of this size: "
            "model.influence(X, X_train=..., y_train=..., top=8) finds them for single rows."
        )
    return np.sort(order[:room])
