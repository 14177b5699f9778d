"""Every Python block of the documentation runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if BLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run_in_order(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a page share one namespace, as a reader's session would."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(compile(block, page.name, "exec"), namespace)


def test_the_how_to_has_blocks() -> None:
    assert ROOT / "docs" / "how-to.md" in PAGES


def test_demo_prints_a_scored_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "demo"}
    exec(compile((ROOT / "examples/demo.py").read_text(encoding="utf-8"), "demo.py", "exec"), namespace)
    monkeypatch.setitem(namespace, "SETS", namespace["SETS"][2:3])  # type: ignore[index]
    namespace["main"]()  # type: ignore[operator]
    printed = capsys.readouterr().out
    assert "arboretum" in printed
    assert "same fingerprint: True" in printed
