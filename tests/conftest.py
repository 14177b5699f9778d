"""Where tests import from, and how numbers are drawn: the same in every run.

``--hypothesis-profile=explore`` draws new examples.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests read benchmarks too

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("repeatable")


def pytest_collection_finish() -> None:
    """Keep the tests themselves, millions of objects, out of every later collection of garbage."""
    gc.collect()
    gc.freeze()


AT_FIRST: dict[str, Any] = {}  # state of the RNG of each module


@pytest.fixture(autouse=True)
def _same_draws(request: pytest.FixtureRequest) -> None:
    """Let a test draw the same numbers whichever tests of its module the process has run before it."""
    rng = getattr(getattr(request, "module", None), "RNG", None)
    if isinstance(rng, np.random.Generator):
        rng.bit_generator.state = AT_FIRST.setdefault(request.module.__name__, rng.bit_generator.state)
