"""Damaged files of every kind of model: refused by name, or a model that works.

Some of the files of ``python -m benchmarks mutated-files``, which tries 60,000.
"""

from __future__ import annotations

import io
import os
from collections import Counter

import pytest
from benchmarks.faults import mutated_files
from benchmarks.faults.mutated_files import DECLINES, FAILURE, REFUSED, WORKS

import arboretum as arb
from arboretum.model import from_bytes, to_bytes

KINDS = list(mutated_files.kinds())
FILES = 8  # per kind

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="files are loaded in forks")
pytestmark = pytest.mark.filterwarnings("ignore")


@forks
def test_damaged_files_are_refused_or_work():
    found = list(mutated_files.sweep(KINDS, 0, FILES * len(KINDS)))
    assert [one.detail for one in found if one.outcome == FAILURE] == []
    ends = Counter(one.outcome for one in found)
    assert ends.total() == FILES * len(KINDS)
    assert ends[REFUSED] > 4 * len(KINDS)
    assert ends[WORKS] > len(KINDS) / 2
    assert set(ends) <= {REFUSED, WORKS, DECLINES}


@pytest.mark.parametrize("n_jobs", [2**31, 2**64, -(2**40)])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if "," not in kind and ";" not in kind])
def test_threads_of_a_crafted_header_are_as_many_as_there_can_be(kind, n_jobs):
    """They reached the kernel, whose binding takes 32 bits."""
    valid = mutated_files.valid(kind)
    header, arrays = from_bytes(valid.data)
    if "n_jobs" not in header["params"]:
        pytest.skip("has no n_jobs")
    header["params"]["n_jobs"] = n_jobs
    model = arb.load(io.BytesIO(to_bytes(header, arrays)))
    expected = arb.load(io.BytesIO(valid.data))
    assert model.predict(valid.rows).tolist() == expected.predict(valid.rows).tolist()


@forks
def test_a_crash_costs_one_file(monkeypatch):
    """The sweep says which file it was, and goes on."""

    def crash_at_three(kind, number):
        if number == 3:
            os.abort()
        return REFUSED, ""

    monkeypatch.setattr(mutated_files, "outcome_of", crash_at_three)
    found = list(mutated_files.sweep(KINDS[:2], 0, 6))
    assert [one.outcome for one in found] == [REFUSED] * 3 + [FAILURE] + [REFUSED] * 2
    assert found[3].number == 3
    assert "SIGABRT" in found[3].detail
