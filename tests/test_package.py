"""The package: public names, written once in ``__init__.pyi`` and imported when they are asked for."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import arboretum as arb

MODULES = ["explaining", "losses", "metrics", "plotting", "reading", "tasks", "testing"]


def run(program, *arguments):
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_processes_read_the_stub_as_type_checkers_do():
    stub = ast.parse(Path(arb.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    names = [(alias.name, alias.asname, node.module) for node in imports for alias in node.names]
    assert all(name == exported for name, exported, _ in names)  # other names are not exported by a stub
    assert [name for name, _, place in names if place == "arboretum"] == MODULES
    assert sorted(name for name, _, place in names if place != "arboretum") == arb.__all__


def test_public_names_alone_are_shown():
    assert dir(arb) == sorted([*arb.__all__, *MODULES, "__version__"])


@pytest.mark.parametrize("name", arb.__all__)
def test_every_public_name_is_there(name):
    value = getattr(arb, name)
    assert value.__name__ == name
    assert value.__module__.startswith("arboretum.")


@pytest.mark.parametrize("name", MODULES)
def test_every_public_module_is_there(name):
    assert getattr(arb, name) is sys.modules[f"arboretum.{name}"]


def test_all_names_at_once():
    space = {}
    exec("from arboretum import *", space)
    assert set(arb.__all__) == set(space) - {"__builtins__"}


def test_modules_are_imported_when_asked_for():
    program = "import sys, arboretum as arb; assert 'numpy' not in sys.modules; print(arb.metrics.ndcg_score.__name__)"
    assert run(program) == "ndcg_score\n"


def test_libraries_of_extras_are_imported_when_they_are_used():
    program = """if True:
        import sys, numpy as np, arboretum as arb
        X, y = np.arange(20.0)[:, None], np.arange(20.0)
        arb.BoostedTreesRegressor(n_estimators=2).fit(X, y).predict(X)
        assert not {"dask", "distributed", "matplotlib", "pandas", "polars", "pyarrow"} & set(sys.modules)
        rows = arb.Dataset.from_frame({"x": y, "y": y})
        arb.BoostedTreesRegressor(n_estimators=2).fit(rows, target="y").predict(rows)
        arb.testing, arb.metrics
        from arboretum.cli import cluster, train
        assert not {"dask", "distributed", "matplotlib"} & set(sys.modules)
    """
    run(program)


INTERNAL = sorted(
    {path.stem for path in Path(arb.__file__).parent.iterdir() if not path.name.startswith(("_", "."))}
    - {*MODULES, "py", "running", "other_libraries"}  # the last two are imported by the package itself
)


def test_internal_modules_are_reached_by_an_explicit_import_alone():
    """A fresh process: a module that has been imported by any other is an attribute of its package."""
    program = """if True:
        import sys, arboretum
        for name in sys.argv[1:]:
            assert not hasattr(arboretum, name), name
        for name in sys.argv[1:]:
            exec(f"from arboretum import {name}")
            assert getattr(arboretum, name) is sys.modules[f"arboretum.{name}"]
    """
    assert {"data", "elementary", "estimators", "model"} <= set(INTERNAL)
    run(program, *INTERNAL)


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="no forks here")
def test_importing_the_package_minds_forks():
    program = """if True:
        import os
        hooks = []
        os.register_at_fork = lambda **given: hooks.append(given)
        import arboretum
        from arboretum.running.forking import finish_imports
        assert {"before": finish_imports} in hooks
    """
    run(program)


def test_a_file_is_loaded_by_a_process_that_asked_for_no_class(tmp_path):
    file = tmp_path / "m.arb"
    arb.BaggingRegressor(estimator=arb.DecisionTreeRegressor(), n_estimators=2).fit([[0.0], [1.0]], [0.0, 1.0]).save(
        file
    )
    program = "import sys, arboretum as arb; print(type(arb.load(sys.argv[1])).__name__)"
    assert run(program, str(file)) == "BaggingRegressor\n"


@pytest.mark.parametrize("name", ["BoostedTree", "_secret", "utils"])
def test_other_names_are_refused(name):
    with pytest.raises(AttributeError, match=f"^module 'arboretum' has no attribute '{name}'$"):
        getattr(arb, name)
