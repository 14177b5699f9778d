"""A limit on the memory of this process: how much is left of it, and when it is too small.

The limit counts resident memory above what the process held at a start: the first statement of a command, or the call
of ``fit``, ``predict`` or ``batches``. Everything after it counts, including libraries that are loaded late. Buffers
and batches are planned from what is left when they are needed, so that each estimate corrects the one before; only what
a fit cannot do without is estimated ahead, to reject a limit before any work is done.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
import numbers
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")
CGROUP_FILES = (  # limit, statistics and what in them cannot be freed: versions 2 and 1
    ("memory.max", "memory.stat", "anon"),
    ("memory/memory.limit_in_bytes", "memory/memory.stat", "total_rss"),
)
STATM = Path("/proc/self/statm")  # sizes of this process in pages; the second is what is resident
READING_SHARE = 0.7  # of what is left: allocators keep more than they are asked for
CROWDED = 0.85  # share of the limit from which allocators are asked to give back what they keep
MOST_READING = 256_000_000  # bytes of a reader, unless a single column needs more: more would not make a pass faster
# Shares of the memory of a reader: what it holds of each column (pages), and a batch, of which its users make copies.
PAGES_SHARE, BATCH_SHARE = 1 / 2, 1 / 8
# Bytes while a fit reads: a reader with small batches; and per row, its target as a whole and in parts, and its part.
READER_BYTES, ROW_BYTES = 16_000_000, 32
ROUNDED_TO, VARYING = 5_000_000, 2_000_000  # rounding of a suggested limit; what libraries take varies a little
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


class MemoryLimitError(ValueError):
    """A ``memory_limit`` that cannot be kept; the message says how large it must be."""


class ReaderMemoryError(Exception):
    """A reader was given too little memory; ``needed`` is the least that it can work with."""

    def __init__(self, needed: int, what: str) -> None:
        super().__init__(what)
        self.needed, self.what = needed, what


def resident() -> int:
    """Return the bytes of memory that this process holds; where that is unknown, its peak, or 0."""
    try:
        return int(STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        pass
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def available_bytes() -> float:
    """Memory that is free: on the machine, and under the limit of the container; infinity if neither is known."""
    free = _number_after(MEMINFO, "MemAvailable:", math.inf) * 1024
    for limit, stat, used in CGROUP_FILES:
        try:
            most = int((CGROUP / limit).read_text(encoding="ascii"))
        except (OSError, ValueError):  # without a limit there is no file, or "max" in it
            continue
        free = min(free, most - _number_after(CGROUP / stat, used, 0))
    return max(free, 0)


def _number_after(file: Path, name: str, default: float) -> float:
    try:
        words = file.read_text(encoding="ascii").split()
        return float(words[words.index(name) + 1])
    except (OSError, ValueError):
        return default


def give_back() -> None:
    """Return memory to the system that was freed but kept by allocators."""
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    trim = _trim()
    if trim is not None:
        trim(0)


@functools.cache
def _trim() -> Any:
    """Return glibc's malloc_trim, or None: other C libraries do not have it, and keep less."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


@dataclass(frozen=True)
class MemoryBudget:
    """Bytes that this process may hold above what it held at a start.

    Examples
    --------
    >>> MemoryBudget(10**9).begun().free() > 9 * 10**8
    True
    >>> str(MemoryBudget(2 * 10**6).too_small(5 * 10**8, "a table of this size"))
    'memory_limit=2MB is too small: a table of this size needs at least 515MB'
    """

    limit: int
    start: int | None = None  # resident memory at the start; None before
    reserved: int = 0  # bytes that are kept for a later use

    def begun(self) -> MemoryBudget:
        """Return the budget from now on, if it has not begun before."""
        if self.start is not None:
            return self
        give_back()
        return replace(self, start=resident())

    def free(self) -> int:
        """Return what is left; it may be negative."""
        assert self.start is not None
        give_back()
        return self.limit - self.reserved - (resident() - self.start)

    def working(self) -> int:
        """Return what an engine with buffers of its own may take, at least a few megabytes."""
        return max(1, int(READING_SHARE * self.free()))

    def least_for(self, working: int, *, beside: int = 0) -> int:
        """Return the least limit that leaves ``working`` bytes to a reader or an engine, and ``beside`` to others."""
        return self.limit - self.free() + beside + math.ceil(working / READING_SHARE)

    def keep(self) -> bool:
        """Give memory back to the system if little is left, and return whether the limit is kept; for loops."""
        assert self.start is not None
        if resident() - self.start <= CROWDED * self.limit:
            return True
        give_back()
        return resident() - self.start <= self.limit

    def reading(self, *, beside: int = 0) -> int:
        """Return what a reader may hold, including copies of its batches, while others hold ``beside`` bytes."""
        return max(1, int(READING_SHARE * (self.free() - beside)))

    def require(self, more: int, what: str) -> None:
        """Reject a limit that leaves less than ``more`` bytes, and name the least one that suffices."""
        lacking = more - self.free()
        if lacking > 0:
            raise self.too_small(self.limit + lacking, what)

    def too_small(self, least: int, what: str) -> MemoryLimitError:
        """Return the error for a limit that would have to be larger."""
        enough = math.ceil((VARYING + 1.02 * least) / ROUNDED_TO) * ROUNDED_TO
        return MemoryLimitError(
            f"memory_limit={as_text(self.limit)} is too small: {what} needs at least {as_text(enough)}"
        )


def as_bytes(limit: int | str) -> int:
    """Read a size in bytes.

    Examples
    --------
    >>> as_bytes("500MB"), as_bytes("1 GiB"), as_bytes(4096)
    (500000000, 1073741824, 4096)
    """
    if isinstance(limit, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", limit)
        size = float(found[1]) * UNITS.get(found[2].upper(), math.nan) if found else math.nan
        if size < 2**63:
            return int(size)
    elif isinstance(limit, numbers.Integral) and not isinstance(limit, bool) and limit > 0:
        return int(limit)
    raise ValueError(f"memory_limit={limit!r}: use a number of bytes, or text such as '500MB' or '2GB'")


def as_text(size: int) -> str:
    """Write bytes as a size that ``memory_limit`` takes.

    Examples
    --------
    >>> as_text(515_000_000), as_text(2_000_000_000), as_text(1_234), as_text(12)
    ('515MB', '2GB', '1.234KB', '12B')
    """
    for unit, bytes_of_unit in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= bytes_of_unit:
            return f"{size / bytes_of_unit:.10g}{unit}"
    return f"{size}B"


def grouped(sizes: Sequence[float], most: float) -> list[range]:
    """Divide items into runs of at most this size together, or of one item that is larger.

    Examples
    --------
    >>> grouped([3, 3, 3, 9, 1], 6)
    [range(0, 2), range(2, 3), range(3, 4), range(4, 5)]
    """
    starts, held = [0], 0.0
    for place, size in enumerate(sizes):
        if held and held + size > most:
            starts.append(place)
            held = 0.0
        held += size
    return [range(first, last) for first, last in itertools.pairwise([*starts, len(sizes)])]
