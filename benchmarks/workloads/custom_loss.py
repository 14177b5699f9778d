"""A loss of one's own: the logistic loss restated in NumPy must give the trees of the built-in one, at little cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import Bench, Row, timed
from benchmarks.rivals import Rival
from benchmarks.table import HOME, Column, Table
from benchmarks.workloads import dense


def own_loss() -> Any:
    """Return the logistic loss as a user would write it."""
    from arboretum import Loss

    class OwnLogistic(Loss):
        """log(1 + exp(raw)) − y raw."""

        task = "classification"
        link = "sigmoid"

        def values(self, y: NDArray[Any], raw: NDArray[Any]) -> NDArray[Any]:
            return np.logaddexp(0, raw) - y * raw

        def gradients(self, y: NDArray[Any], raw: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
            p = 1 / (1 + np.exp(-raw))
            return p - y, p * (1 - p)

        def start(self, y: NDArray[Any], weight: NDArray[Any] | None) -> NDArray[Any]:
            p = np.average(y, weights=weight)
            return np.array([np.log(p / (1 - p))])

    return OwnLogistic()


def run(bench: Bench) -> Iterator[Table]:
    """Fit the dense task with either loss, in direct succession."""
    task = dense.task(bench)
    prints: set[str] = set()

    def turn(rival: Rival) -> Row:
        from arboretum import BoostedTreesClassifier
        from arboretum.model import fingerprint

        settings = rival.settings(task)
        built_in_s, built_in = timed(lambda: BoostedTreesClassifier(**settings).fit(task.X, task.y))
        own_s, own = timed(lambda: BoostedTreesClassifier(**settings, loss=own_loss()).fit(task.X, task.y))
        # Of the trees: the fingerprint of a model tells its loss as well.
        prints.update(fingerprint({"model": "forest"}, model.forest_.to_arrays()) for model in (built_in, own))
        return {"built_in_s": built_in_s, "own_s": own_s, "same": float(len(prints) == 1)}

    columns = (Column("built_in_s", "built-in s"), Column("own_s", "own s"), Column("cost", "×"))
    table = bench.table("custom-loss", task.shape, columns, turn, among=(HOME,))
    row = table.rows.get(HOME)
    if isinstance(row, dict):
        row["cost"] = row["own_s"] / row["built_in_s"]
        verdict = "identical" if row["same"] else "different"
        table.notes.append(f"fingerprints of the trees: {verdict} ({', '.join(sorted(mark[:8] for mark in prints))})")
    yield table
