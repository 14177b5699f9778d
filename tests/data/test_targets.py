"""Targets and what stands beside them: how columns are read."""

from __future__ import annotations

import numpy as np
import pytest

from arboretum.data.targets import read_groups


def test_groups_of_any_labels():
    assert read_groups(None, 3) is None
    with pytest.raises(ValueError, match="groups has 2 values, but X has 3 rows"):
        read_groups([1, 2], 3)
    with pytest.raises(ValueError, match="groups has a missing label"):
        read_groups(["a", None, "b"], 3)
    with pytest.raises(ValueError, match="groups has labels of types float, str: convert them to one type"):
        read_groups(np.array(["a", 1.0, "b"], dtype=object), 3)
