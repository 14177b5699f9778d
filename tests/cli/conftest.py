"""The command as a function, a shop's table as a CSV file, and a model of it."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from tests.cli.shop import Ran, Run, shop_table

from arboretum import cli


def run_command(*words: Any) -> Ran:
    """Run the command; anything but an exit code is a failure of the test."""
    out, err = io.TextIOWrapper(io.BytesIO(), write_through=True), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = cli.run([str(word) for word in words])
    return Ran(code, out.buffer.getvalue(), err.getvalue())  # type: ignore[attr-defined]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return run_command


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.csv"
    pa.csv.write_csv(shop_table(), path)
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Train a small model of the shop."""
    folder = tmp_path_factory.mktemp("trained")
    pa.csv.write_csv(shop_table(), folder / "shop.csv")
    words = ["-t", "sold", "-m", "tree", "--ignore", "price", "--holdout", 0.3, "-o", folder / "kept.arb"]
    ran = run_command("train", folder / "shop.csv", *words)
    assert ran.code == 0, ran.err
    return (folder / "kept.arb").read_bytes()


@pytest.fixture
def model(tmp_path: Path, trained: bytes) -> Path:
    """Return the file of the model."""
    path = tmp_path / "kept.arb"
    path.write_bytes(trained)
    return path
