"""Trials with known effects, and the studies of uplift and calibration at tiny sizes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks import trials
from benchmarks.__main__ import main
from tests.reference.benchmarking import write_german


@pytest.mark.parametrize("outcome", trials.OUTCOMES)
@pytest.mark.parametrize("surface", trials.SURFACES)
def test_outcomes_differ_by_the_effect_that_is_told(tmp_path, surface, outcome):
    write_german(tmp_path)
    design = trials.Design("german", 200, surface, "half", outcome, seed=0)
    fitted, judged = design.draw(tmp_path)
    again, _ = design.draw(tmp_path)
    np.testing.assert_array_equal(fitted.y, again.y)
    parts = [part for part in (fitted, judged) if len(part.y)]
    y, treated, effect = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("y", "treated", "effect")
    )
    seen = y[treated == 1].mean() - y[treated == 0].mean()
    error = np.sqrt(sum(y[treated == arm].var() / np.sum(treated == arm) for arm in (0, 1)))
    assert abs(seen - effect.mean()) < 4 * error
    assert fitted.is_binary == (outcome == "yes or no")


def test_models_of_effects_are_compared(tmp_path, capsys):
    write_german(tmp_path)
    options = ["--tables", "german", "--sizes", "100", "--trials", "1", "--learners", "UpliftForest; constant"]
    assert main(["uplift-defaults", "--data", str(tmp_path), *options, "--threads", "1"]) == 0
    told = capsys.readouterr().out
    assert "6 drawn trials" in told
    assert "UpliftForest" in told
    assert main(["uplift-defaults", "--data", str(tmp_path), "--learners", "none"]) == 2
