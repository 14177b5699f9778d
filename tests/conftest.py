"""Where tests import from, and how hypothesis draws: the same examples in every run.

``--hypothesis-profile=explore`` draws new ones.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests read benchmarks too

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("repeatable")


def pytest_collection_finish() -> None:
    """Keep the tests themselves, millions of objects, out of every later collection of garbage."""
    gc.collect()
    gc.freeze()
