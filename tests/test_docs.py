"""Every Python block of the documentation runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("page", ["docs/how-to.md"])
def test_blocks_run_in_order(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a page share one namespace, as a reader's session would."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) > 5
    for block in blocks:
        exec(compile(block, page, "exec"), namespace)


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
