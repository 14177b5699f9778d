"""What is left of a memory limit, and of the memory of the machine."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arboretum.data import memory_budget
from arboretum.data.memory_budget import MemoryBudget, MemoryLimitError, available_bytes, grouped


def test_what_is_allocated_is_no_longer_free():
    budget = MemoryBudget(500_000_000).begun()
    before = budget.free()
    held = np.ones(10_000_000)
    assert before - budget.free() == pytest.approx(held.nbytes, abs=8_000_000)
    del held
    assert budget.free() == pytest.approx(before, abs=8_000_000)
    assert budget.begun() is budget


def test_a_limit_that_is_too_small_is_rejected_with_one_that_is_not():
    budget = MemoryBudget(10_000_000).begun()
    with pytest.raises(
        MemoryLimitError, match=r"^memory_limit=10MB is too small: a pass needs at least (\d+)MB$"
    ) as error:
        budget.require(60_000_000, "a pass")
    least = int(str(error.value).split()[-1].removesuffix("MB"))
    assert 60 <= least <= 80
    MemoryBudget(least * 10**6, budget.start).require(60_000_000, "a pass")


@pytest.mark.parametrize("needed", [10**6, 10 * memory_budget.MOST_READING])
def test_the_least_limit_for_a_reader_gives_it_what_it_needs(monkeypatch, needed):
    monkeypatch.setattr(memory_budget, "resident", lambda: 50_000_000)
    small = MemoryBudget(10_000_000, start=20_000_000)
    assert MemoryBudget(small.least_for(needed), small.start).reading() >= needed


@pytest.mark.parametrize("limit", ["much", "9" * 400 + "GB", "1e3", "-5MB", 0, True, 2.5, None])
def test_what_is_not_a_size_is_refused(limit):
    with pytest.raises(ValueError, match="use a number of bytes, or text such as '500MB' or '2GB'"):
        memory_budget.as_bytes(limit)


@given(st.lists(st.integers(0, 20)), st.integers(1, 30))
def test_groups_are_runs_as_long_as_they_may_be(sizes, most):
    groups = grouped(sizes, most)
    assert [place for group in groups for place in group] == list(range(len(sizes)))
    for group, later in zip(groups, [*groups[1:], None], strict=True):
        held = sum(sizes[place] for place in group)
        assert held <= most or sum(sizes[place] > 0 for place in group) == 1
        assert later is None or held + sizes[later[0]] > most


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 8_192_000),
        ({"memory.max": "max\n"}, 8_192_000),
        ({"memory.max": "5000000\n", "memory.stat": "anon 2000000\nfile 7\n"}, 3_000_000),
        ({"memory.max": "5000000\n"}, 5_000_000),
        ({"memory.max": "50", "memory.stat": "anon 60\n"}, 0),
        ({"memory/memory.limit_in_bytes": "9223372036854771712\n"}, 8_192_000),
        ({"memory/memory.limit_in_bytes": "6000000", "memory/memory.stat": "rss 1\ntotal_rss 1000000\n"}, 5_000_000),
    ],
)
def test_free_memory_of_machine_and_container(tmp_path, monkeypatch, files, expected):
    (tmp_path / "memory").mkdir()
    (tmp_path / "meminfo").write_text("MemTotal:  9000 kB\nMemAvailable:    8000 kB\n")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(memory_budget, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory_budget, "CGROUP", tmp_path)
    assert available_bytes() == expected


def test_unknown_memory_is_no_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(memory_budget, "MEMINFO", tmp_path / "none")
    monkeypatch.setattr(memory_budget, "CGROUP", tmp_path)
    assert available_bytes() == math.inf
