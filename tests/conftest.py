"""Where tests import from, and how hypothesis draws: the same examples in every run.

``--hypothesis-profile=explore`` draws new ones.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests read benchmarks too

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("repeatable")
