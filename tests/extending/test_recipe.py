"""A new recipe and its estimator in a few lines: fit, file, explanations, report, drawings and the command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.cli.shop import Run

import arboretum as arb
from arboretum.cli import methods
from arboretum.data.selection import as_container, take_rows
from arboretum.ensembles.bagging.parameters import Trees
from arboretum.ensembles.recipe import Recipe
from arboretum.estimators.classes import MODELS, register
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.estimators.protocol import Estimator, Regressor
from arboretum.model.heads import MeanHead
from arboretum.model.model import Model
from arboretum.parameters.declaring import Number, declares_parameters, parameter, parameter_group
from arboretum.parameters.shared import Categories, Seed, Threads


@parameter_group()
class HalvesParameters(Trees, Categories, Seed, Threads):
    """Parameters of halves."""

    share: float = parameter(0.5, Number(0.0, 1.0, open_low=True), "Share of the rows that each tree sees.")


@dataclass(frozen=True, eq=False)
class Halves(Recipe[HalvesParameters, None]):
    """The mean of trees, each grown on its own share of the rows."""

    def fit(self, X: Any, y: Any) -> Model:
        X, y, rng = as_container(X), np.asarray(y), np.random.default_rng(self.given.random_state)
        draws = [rng.permutation(len(y))[: int(self.given.share * len(y))] for _ in range(self.given.n_estimators)]
        trees = [arb.DecisionTreeRegressor().fit(take_rows(X, rows), y[rows]).model_ for rows in draws]
        forest = arb.Forest.concat([tree.forest for tree in trees])
        return Model(forest, trees[0].schema, name=self.name, head=MeanHead().of(forest))


@declares_parameters
class HalvesRegressor(Regressor, HalvesParameters, GrownTrees, Estimator):
    """The mean of trees, each grown on its own share of the rows."""

    head_kind = MeanHead

    def fit(self, X: Any, y: Any) -> HalvesRegressor:
        self.check_parameters()
        self.model_ = Halves(self, None, type(self).__name__).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.head.answers(self.model_.sums(X, self.n_jobs))


@pytest.fixture
def halves(monkeypatch: pytest.MonkeyPatch) -> type[HalvesRegressor]:
    monkeypatch.setitem(MODELS, "HalvesRegressor", HalvesRegressor)
    monkeypatch.setitem(methods.CLASSES, "halves", {"regression": "HalvesRegressor"})
    return register(HalvesRegressor)


def test_a_recipe_works_from_end_to_end(halves: type[HalvesRegressor], run: Run, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X = random.random((300, 3))
    y = X[:, 0] + X[:, 1] ** 2
    model = halves(n_estimators=20, share=0.7).fit(X, y)
    assert model.score(X, y) > 0.9
    with pytest.raises(ValueError, match="share=2: use a number above 0 and at most 1"):
        halves(share=2).fit(X, y)
    with pytest.raises(TypeError, match="HalvesRegressor has no parameter 'shares': did you mean 'share'"):
        halves(shares=0.5)

    model.save(tmp_path / "m.arb")
    again = arb.load(tmp_path / "m.arb")
    assert (type(again), again.get_params(), again.fingerprint()) == (halves, model.get_params(), model.fingerprint())
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    explained = model.explain(X[:5])
    np.testing.assert_allclose(explained.values.sum(axis=1) + explained.base_values, model.predict(X[:5]))
    assert model.importances(X, y).kinds["permutation"][2] < 0.05
    assert "tree 3 of 20" in model.to_text(3)
    model.report(X, y, tmp_path / "r.html")
    assert "HalvesRegressor" in (tmp_path / "r.html").read_text(encoding="utf-8")

    pa.parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "y": y}), tmp_path / "rows.parquet")
    ran = run("train", "rows.parquet", "-t", "y", "--model", "halves", "--set", "share=0.6", "-o", "c.arb", "--json")
    assert (ran.code, arb.load(tmp_path / "c.arb").share) == (0, 0.6), ran.json
    assert run("predict", "c.arb", "rows.parquet", "-o", "p.parquet").code == 0
