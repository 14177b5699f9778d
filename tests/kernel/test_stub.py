"""The types that the package ships for its kernel are those of the kernel that is built."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from arboretum import _kernel

STUB = Path(__file__).parents[2] / "src" / "arboretum" / "_kernel.pyi"


def parts(source: str) -> list[str]:
    """Return what a stub declares, however it is formatted; imports are sorted."""
    body = ast.parse(source).body
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    others = [node for node in body if node not in imports]
    for node in others:
        if isinstance(node, ast.AnnAssign):
            node.value = None  # build_type is another one in a debug build
    return [*sorted(map(ast.unparse, imports)), *map(ast.unparse, others)]


def test_stub_is_that_of_the_built_kernel():
    stubgen = pytest.importorskip("nanobind.stubgen")
    generated = stubgen.StubGen(_kernel)
    generated.put(_kernel)
    committed = STUB.read_text(encoding="utf-8")
    assert parts(committed) == parts(generated.get()), "the kernel has changed: run `make stub`"
