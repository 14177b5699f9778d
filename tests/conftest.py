"""How hypothesis draws: the same examples in every run; ``--hypothesis-profile=explore`` draws new ones."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("repeatable")
