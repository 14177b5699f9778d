"""Every block of Python, and every call of the command, in the documentation runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


BLOCK = re.compile(r"```(python|console)\n(.*?)```", re.DOTALL)
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if BLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run_in_order(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a page share one namespace, as a reader's session would."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for language, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            exec(compile(block, page.name, "exec"), namespace)
        else:
            run_commands(block)


def run_commands(block: str) -> None:
    """Run the lines that start with a prompt; others are what they print."""
    from typer.testing import CliRunner

    from arboretum.cli.app import app

    for line in block.splitlines():
        if line.startswith("$ "):
            program, *words = shlex.split(line[2:])
            assert program == "arboretum", line
            ran = CliRunner().invoke(app, words)
            assert ran.exit_code == 0, (line, ran.stderr, ran.exception)


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
