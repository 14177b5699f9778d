"""Models saved by every release load for ever, and answer as they did to the last bit."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.golden import make

import arboretum as arb
from arboretum.model import FORMAT_VERSION, model_file

GOLDEN = sorted(make.FOLDER.glob("*.arb"))
PAGE = Path(__file__).parents[2] / "docs" / "format.md"


def test_every_format_has_its_files():
    found = {file.name for file in GOLDEN}
    for version in range(1, FORMAT_VERSION + 1):
        wanted = {f"format{version}-{name}.arb" for name in ("regressor", "binary", "multiclass")}
        assert found >= wanted, "once a new format is settled, run tests/golden/make.py"


def test_every_kind_of_model_and_of_tree_has_its_file():
    models = [arb.load(file) for file in GOLDEN]
    assert {type(model).__name__ for model in models} >= {
        "AdaBoostClassifier",
        "BoostedTreesClassifier",
        "BoostedTreesRanker",
        "BoostedTreesRegressor",
        "BoostedTreesSurvival",
        "IsolationForest",
        "RandomForestClassifier",
        "RandomForestRegressor",
        "RandomSurvivalForest",
        "UpliftBoostedTrees",
        "UpliftForest",
    }
    forests = [model.forest_ for model in models if hasattr(model, "forest_")]
    assert {int(kind) for forest in forests for kind in np.unique(forest.kind)} == {0, 1, 2, 3, 4}
    assert any(forest.has_slopes for forest in forests)
    assert any((forest.tree_output < 0).any() and forest.value.shape[1] > 1 for forest in forests)
    assert any(model.encoding_ is not None for model in models)


@pytest.fixture(params=GOLDEN, ids=lambda file: file.stem)
def golden(request):
    return request.param, json.loads(request.param.with_suffix(".json").read_text(encoding="utf-8"))


def test_the_name_tells_the_format(golden):
    header, _ = model_file.load(golden[0])
    assert golden[0].name.startswith((f"format{header['version']}-", "model-"))


def test_the_fingerprint_is_kept(golden):
    file, case = golden
    assert arb.load(file).fingerprint() == case["fingerprint"]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_answers_are_kept_to_the_last_bit(golden, n_jobs):
    file, case = golden
    model, X = arb.load(file).set_params(n_jobs=n_jobs), make.read_input(case)
    assert case["exact"]
    for method, expected in case["exact"].items():
        answer = getattr(model, method)
        np.testing.assert_array_equal(answer(X), np.array(expected))
        some = range(0, len(X), 1 if file.stem.startswith("format") else 13)
        alone = [answer(X[row : row + 1])[0] for row in some]
        np.testing.assert_array_equal(alone, np.array(expected)[some])
    for method, expected in case["close"].items():
        np.testing.assert_allclose(getattr(model, method)(X), expected, rtol=1e-14)


def test_saving_again_keeps_the_content(golden, tmp_path):
    file, case = golden
    arb.load(file).save(tmp_path / "again.arb")
    assert arb.load(tmp_path / "again.arb").fingerprint() == case["fingerprint"]
    old, new = model_file.load(file), model_file.load(tmp_path / "again.arb")
    # Parameters that came later have their defaults.
    old[0]["params"] = {**type(arb.load(file))().get_params(), **old[0]["params"]}
    assert model_file.fingerprint(*old) == model_file.fingerprint(*new)


def test_files_are_small_and_cover_what_they_should(golden):
    file, case = golden
    assert file.stat().st_size < 20_000
    if file.stem.startswith("model-"):
        return
    model, X = arb.load(file), make.read_input(case)
    answer = next(iter(case["exact"].values()))
    assert len(answer) == len(X) >= 40
    assert any(None in column["values"] for column in case["columns"].values())
    kinds = {column.source for column in model.schema_.columns}
    assert kinds == ({"string", "number", "datetime", "bool"} if case["named"] else {"number"})
    assert set(model.forest_.kind) == ({0, 1, 2} if case["named"] else {0, 1})
    assert set(range(model.n_features_in_)) <= set(model.forest_.feature)


def test_the_page_names_the_keys_of_the_header():
    section = PAGE.read_text(encoding="utf-8").partition("## Header")[2].partition("\n## ")[0]
    first_cells = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    documented = {key for cell in first_cells for key in re.findall(r"`(\w+)`", cell)}
    assert {key for file in GOLDEN for key in model_file.load(file)[0]} == documented


def test_golden_files_are_never_remade(tmp_path):
    kept = shutil.copy(make.FOLDER / "format1-multiclass.arb", tmp_path / f"format{FORMAT_VERSION}-multiclass.arb")
    before = kept.read_bytes()
    with pytest.raises(FileExistsError, match=r"multiclass.arb is there already: golden files are never remade"):
        make.main(tmp_path)
    assert kept.read_bytes() == before
    assert list(tmp_path.iterdir()) == [kept]
    kept.unlink()
    make.main(tmp_path)
    assert (
        len(list(tmp_path.glob("*.arb"))) == len(list(tmp_path.glob("*.json"))) == len(make.FORMATS) + len(make.MODELS)
    )
