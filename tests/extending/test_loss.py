"""A new loss in a few lines, through public members alone: fit, file, explanations and report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import arboretum as arb
from arboretum.testing import check_loss


@dataclass(frozen=True)
class LogCosh(arb.Loss):
    """Squared near 0, absolute far from it: log cosh(y − raw)."""

    name = "log_cosh"

    def values(self, y, raw):
        error = np.abs(y - raw)
        return error + np.log1p(np.exp(-2 * error)) - np.log(2.0)

    def gradients(self, y, raw):
        slope = np.tanh(raw - y)
        return slope, 1 - slope**2


def test_a_loss_works_from_end_to_end(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3))
    y = X[:, 0] * 2 + random.standard_t(2, 400)
    check_loss(LogCosh())
    model = arb.BoostedTreesRegressor(loss=LogCosh(), n_estimators=40, learning_rate=0.2).fit(X, y)
    assert np.corrcoef(model.predict(X), X[:, 0])[0, 1] > 0.8
    explained = model.explain(X[:5])
    np.testing.assert_allclose(explained.values.sum(axis=1) + explained.base_values, model.predict_raw(X[:5])[:, 0])
    model.save(tmp_path / "m.arb")
    np.testing.assert_array_equal(arb.load(tmp_path / "m.arb").predict(X), model.predict(X))
    model.report(X, y, tmp_path / "r.html")
    assert "LogCosh" in (tmp_path / "r.html").read_text(encoding="utf-8")
