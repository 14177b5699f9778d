"""How many threads a fit or a prediction may use."""

from __future__ import annotations

import math
import numbers
import os
from pathlib import Path

from arboretum.arguments import shown

CGROUP = Path("/sys/fs/cgroup")
MOST_THREADS = 256  # of the kernel's pool


def n_threads(n_jobs: int | None) -> int:
    """Threads of ``n_jobs``: None is what the container, quota and affinity allow; −1 likewise, −2 one fewer."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs={shown(n_jobs)}: use None, a positive number of threads, or a negative one (-1: all)")
    if n_jobs is not None and n_jobs > 0:
        return min(int(n_jobs), MOST_THREADS)
    left = available_cores() + 1 + (int(n_jobs) if n_jobs is not None else -1)
    return min(max(1, left), MOST_THREADS)


def available_cores() -> int:
    """Cores that this process may keep busy: by affinity, by the quota of its container, by joblib's variable."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    chosen = os.environ.get("LOKY_MAX_CPU_COUNT", "")
    limits = [cores, _quota(CGROUP), int(chosen) if chosen.isdecimal() else math.inf]
    return max(1, math.ceil(min(limits)))


def _quota(cgroup: Path) -> float:
    """Cores' worth of time that control groups grant; infinity if they set no limit."""
    for files in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):  # versions 2 and 1
        try:
            quota, period = " ".join((cgroup / file).read_text(encoding="ascii") for file in files).split()
        except (OSError, ValueError):
            continue
        return int(quota) / int(period) if quota.isdecimal() and int(quota) > 0 else math.inf  # else "max" or -1
    return math.inf
