"""The command as a function, a shop's table as a CSV file, and a model of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from tests.cli.shop import Ran, Run, shop_table
from typer.testing import CliRunner

from arboretum.cli.app import app


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in an empty folder; anything but an exit code is a failure of the test."""
    monkeypatch.chdir(tmp_path)

    def run_command(*words: Any) -> Ran:
        result = CliRunner().invoke(app, [str(word) for word in words])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    return run_command


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.csv"
    pa.csv.write_csv(shop_table(), path)
    return path


@pytest.fixture
def model(run: Run, shop: Path) -> Path:
    """Train a small model of the shop."""
    path = shop.with_name("kept.arb")
    ran = run("train", shop, "-t", "sold", "-m", "tree", "--ignore", "price", "--holdout", 0.3, "-o", path)
    assert ran.code == 0, ran.err
    return path
