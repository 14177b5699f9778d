"""Threads of ``n_jobs``: what affinity, control groups and the user allow."""

from __future__ import annotations

import os

import joblib
import pytest

from arboretum.running import threads
from arboretum.running.threads import available_cores, n_threads


@pytest.fixture
def limit(monkeypatch, tmp_path):
    """Pretend to have 8 cores; return a function that writes limits of control groups."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT", raising=False)
    monkeypatch.setattr(threads, "CGROUP", tmp_path)
    (tmp_path / "cpu").mkdir()

    def write(file, text):
        (tmp_path / file).write_text(text)

    return write


def test_cores_are_those_joblib_counts():
    assert available_cores() == joblib.cpu_count()


@pytest.mark.parametrize(
    ("n_jobs", "expected"), [(None, 8), (-1, 8), (-2, 7), (-8, 1), (-100, 1), (1, 1), (3, 3), (99, 99)]
)
def test_threads_of_n_jobs(limit, n_jobs, expected):
    assert n_threads(n_jobs) == expected


@pytest.mark.parametrize("n_jobs", [0, True, 2.0, "all"])
def test_other_values_are_refused(n_jobs):
    with pytest.raises(ValueError, match=r"^n_jobs=.*: use None, a positive number of threads, or a negative one"):
        n_threads(n_jobs)


@pytest.mark.parametrize(
    ("quota", "cores"),
    [("max 100000", 8), ("200000 100000", 2), ("250000 100000", 3), ("5000 100000", 1), ("99900000 100000", 8)],
)
def test_quota_of_control_groups_version_2(limit, quota, cores):
    limit("cpu.max", quota + "\n")
    assert available_cores() == cores


@pytest.mark.parametrize(("quota", "cores"), [("-1", 8), ("150000", 2), ("400000", 4)])
def test_quota_of_control_groups_version_1(limit, quota, cores):
    limit("cpu/cpu.cfs_quota_us", quota + "\n")
    limit("cpu/cpu.cfs_period_us", "100000\n")
    assert available_cores() == cores


def test_a_quota_that_cannot_be_read_is_none(limit):
    limit("cpu.max", "")
    assert available_cores() == 8


@pytest.mark.parametrize(("chosen", "cores"), [("3", 3), ("100", 8), ("0", 1), ("", 8), ("many", 8)])
def test_variable_of_joblib(limit, monkeypatch, chosen, cores):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", chosen)
    assert available_cores() == cores


def test_affinity(limit, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {5})
    assert available_cores() == 1
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cores() == 1
