"""ranger, a package of R: ``Rscript`` reads and writes files of doubles."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.categories import FilledCodes
from benchmarks.rivals.base import Model, Rival
from benchmarks.task import Growth, Task

SCRIPT, KEPT = Path(__file__).with_name("ranger.R"), "model.rds"


@cache
def installed_version() -> str | None:
    """Return ranger's version, None if it or R is not installed."""
    if shutil.which("Rscript") is None:
        return None
    asked = subprocess.run(
        ["Rscript", "-e", 'cat(as.character(packageVersion("ranger")))'], capture_output=True, text=True, check=False
    )
    return asked.stdout if asked.returncode == 0 else None


class UntouchedRanger(Rival):
    """Forests of probabilities or numbers; ``rule`` is the split rule, None for ranger's own."""

    module = "ranger"
    growths: ClassVar[frozenset[Growth]] = frozenset()
    unequal = "ranger runs in a process of its own, whose start is part of its time; it refuses missing values"

    def __init__(self, name: str = "ranger", rule: str = "default") -> None:
        self.name, self.rule = name, rule

    @classmethod
    def available(cls) -> bool:
        return installed_version() is not None

    @classmethod
    def version(cls) -> str:
        return installed_version() or "unknown"

    def settings(self, task: Task) -> dict[str, Any]:
        return {"kind": task.kind, "rule": self.rule, "threads": task.settings.threads, "seed": task.settings.seed}

    def fit(self, task: Task) -> Model:
        encoder = FilledCodes(task.categorical)
        with TemporaryDirectory() as name:
            folder = Path(name)
            write(folder, "X", encoder.fit(task.X))
            write(folder, "y", task.y)
            self._run("fit", folder, task)
            return Model((folder / KEPT).read_bytes(), task, encoder)

    def predict(self, model: Model, X: Any) -> NDArray[Any]:
        with TemporaryDirectory() as name:
            folder = Path(name)
            write(folder, "X", model.encode(X))
            (folder / KEPT).write_bytes(model.fitted)
            self._run("predict", folder, model.task)
            answer = np.fromfile(folder / "answer.bin")
        if model.task.kind == "regression":
            return answer
        probability = answer.reshape(-1, len(X)).T
        return probability[:, 1] if model.task.kind == "binary" else probability

    def _run(self, verb: str, folder: Path, task: Task) -> None:
        given = [str(value) for value in self.settings(task).values()]
        command = ["Rscript", "--vanilla", str(SCRIPT), verb, str(folder), *given]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())


def write(folder: Path, name: str, values: Any) -> None:
    """Write a table by columns, and its shape."""
    matrix = np.asarray(values, dtype=np.float64)
    matrix = matrix.reshape(len(matrix), -1)
    (folder / f"{name}.txt").write_text(f"{matrix.shape[0]} {matrix.shape[1]}")
    np.asfortranarray(matrix).ravel(order="F").tofile(folder / f"{name}.bin")
