"""Models stay what they were, to the bit, whatever is rearranged."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.compat.pinned import fingerprint, fits, name_of
from tests.reference.every_estimator import PUBLIC

PINNED = json.loads(Path(__file__).with_name("pinned.json").read_text(encoding="utf-8"))
FITS = {name_of(fit, place): fit for place, fit in enumerate(fits())}


def test_every_estimator_is_pinned_with_six_sets_of_options_or_more():
    counts = Counter(name for name, _, _ in FITS.values())
    assert sorted(counts) == sorted(PUBLIC)
    assert min(counts.values()) >= 6
    assert list(FITS) == list(PINNED)


@pytest.mark.parametrize("name", FITS)
def test_the_fingerprint_is_that_which_was_pinned(name):
    assert fingerprint(FITS[name]) == PINNED[name]
