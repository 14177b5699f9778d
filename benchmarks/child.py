"""New processes: one library, one measurement, one line of JSON on standard output."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np

from benchmarks.measuring import MEGABYTE
from benchmarks.rivals import Rival
from benchmarks.task import Kind, Settings, Task

STATUS = Path("/proc/self/status")


def run_child(measurement: str, rival: Rival | None = None, **options: Any) -> dict[str, float]:
    """Run ``measurement`` in a new interpreter and return what it printed."""
    place = f"{type(rival).__module__}:{type(rival).__name__}" if rival else ""
    arguments = [sys.executable, "-m", "benchmarks.child", measurement, place, json.dumps(options)]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    if done.returncode:
        raise RuntimeError(f"the child process failed: {done.stderr.strip().splitlines()[-1]}")
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


def fresh(rival: Rival | None, rounds: int = 100, threads: int = 2) -> dict[str, float]:
    """Fit and predict the small task; without a library do nothing."""
    from benchmarks.workloads import small

    if rival is None:
        return {}
    task = small.task(Settings(rounds=rounds, threads=threads))
    return {"mean": float(np.mean(rival.predict(rival.fit(task), task.X_test)))}


def memory(rival: Rival | None, kind: Kind, settings: dict[str, Any], folder: str) -> dict[str, float]:
    """Return the peak of resident memory during ``fit`` above what was resident just before it."""
    assert rival is not None
    X, y = (np.load(Path(folder) / f"{name}.npy") for name in "Xy")
    task = Task(kind, X, y, X[:1], y[:1], Settings(**settings))
    with rival.limited(task.settings.threads):
        rival.fit(task.head(1_000, rounds=2))
        before = resident("VmRSS")
        peak = Peak()
        with peak:
            rival.fit(task)
    return {"memory_mb": (peak.bytes - before) / MEGABYTE}


def data(rival: Rival | None, **options: Any) -> dict[str, float]:
    """Train from a file; see benchmarks/data.py."""
    from benchmarks.data import from_file

    return from_file(**options)


def resident(field: str) -> int:
    """Return a memory field of this process in bytes."""
    if not STATUS.exists():
        import psutil

        return int(psutil.Process().memory_info().rss)
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


class Peak:
    """The largest resident memory inside a ``with`` block.

    Linux keeps a high-water mark that can be reset; elsewhere a thread looks every 5 ms.
    """

    def __enter__(self) -> Peak:
        self.bytes = resident("VmRSS")
        self.done = Event()
        try:
            Path("/proc/self/clear_refs").write_text("5")
            self.sampler: Thread | None = None
        except OSError:
            self.sampler = Thread(target=self._sample, daemon=True)
            self.sampler.start()
        return self

    def _sample(self) -> None:
        while not self.done.wait(0.005):
            self.bytes = max(self.bytes, resident("VmRSS"))

    def __exit__(self, *exception: object) -> None:
        self.done.set()
        if self.sampler:
            self.sampler.join()
        else:
            self.bytes = resident("VmHWM")


MEASUREMENTS: dict[str, Callable[..., dict[str, float]]] = {"data": data, "fresh": fresh, "memory": memory}

if __name__ == "__main__":
    measurement, place, options = sys.argv[1:]
    module, _, name = place.partition(":")
    rival = getattr(import_module(module), name)() if place else None
    print(json.dumps(MEASUREMENTS[measurement](rival, **json.loads(options))))
