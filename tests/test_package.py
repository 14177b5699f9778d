"""The package: public names, imported when they are asked for."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import arboretum as arb


def names_for_type_checkers():
    """Names by module, as the block that only type checkers read has them."""
    (block,) = [
        node for node in ast.parse(Path(arb.__file__).read_text(encoding="utf-8")).body if isinstance(node, ast.If)
    ][:1]
    return {node.module.removeprefix("arboretum."): tuple(name.name for name in node.names) for node in block.body}


def test_type_checkers_and_processes_see_the_same_names():
    assert names_for_type_checkers() == arb._PLACES
    assert sorted(arb.__all__) == sorted(arb._PLACE)
    assert set(arb.__all__) <= set(dir(arb))


@pytest.mark.parametrize("name", arb.__all__)
def test_every_public_name_is_there(name):
    value = getattr(arb, name)
    assert value.__name__ == name
    assert value.__module__.startswith("arboretum.")


def test_modules_are_imported_when_asked_for():
    program = "import sys, arboretum as arb; assert 'numpy' not in sys.modules; print(arb.metrics.ndcg_score.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "ndcg_score\n"


def test_a_file_is_loaded_by_a_process_that_asked_for_no_class(tmp_path):
    file = tmp_path / "m.arb"
    arb.BaggingRegressor(estimator=arb.DecisionTreeRegressor(), n_estimators=2).fit([[0.0], [1.0]], [0.0, 1.0]).save(
        file
    )
    program = "import sys, arboretum as arb; print(type(arb.load(sys.argv[1])).__name__)"
    done = subprocess.run([sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout == "BaggingRegressor\n"


@pytest.mark.parametrize("name", ["BoostedTree", "_secret", "utils"])
def test_other_names_are_refused(name):
    with pytest.raises(AttributeError, match=f"^module 'arboretum' has no attribute '{name}'$"):
        getattr(arb, name)
