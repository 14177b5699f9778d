"""Laws of files that are written whole or not at all, and of what killed writers leave behind."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import arboretum as arb
from arboretum.model import load, save
from arboretum.model.whole_file import replacing
from arboretum.report import writing

posix = pytest.mark.skipif(os.name != "posix", reason="signals and locks")
X, Y = [[0.0], [1.0]], [0.0, 1.0]


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def save_model(path):
    arb.BoostedTreesRegressor(n_estimators=1).fit(X, Y).save(path)


def keep_checkpoint(path):
    arb.BoostedTreesRegressor(n_estimators=1).fit(X, Y, checkpoint=arb.Checkpoint(path, rounds=1))


def write_report(path):
    writing.gather = lambda *_: {}  # in the child alone
    arb.BoostedTreesRegressor(n_estimators=1).fit(X, Y).report(X, Y, path)


@posix
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("write", [save_model, keep_checkpoint, write_report])
def test_what_a_killed_writer_leaves_is_removed_by_the_next_one(write, tmp_path):
    path = tmp_path / "m.arb"
    child = os.fork()
    if child == 0:
        os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
        write(path)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    (left,) = names(tmp_path)
    assert left.startswith(".m.arb.")
    save_model(path)
    assert names(tmp_path) == ["m.arb"]


@posix
def test_only_what_nobody_writes_any_longer_is_removed(tmp_path):
    path = tmp_path / "m.arb"
    for name in (".m.arb.0123456789abcdef", ".m.arb.0123456789abcdef.arb"):  # version 0.1, and this one
        (tmp_path / name).write_bytes(b"half")
    others = [
        ".m.arb",
        ".m.arb.0123",
        ".m.arb.0123456789abcdef.txt",
        ".n.arb.0123456789abcdef",
        "m.arb.0123456789abcdef",
    ]
    for name in others:
        (tmp_path / name).write_bytes(b"someone else's")
    (tmp_path / ".m.arb.aaaaaaaaaaaaaaaa").mkdir()
    with replacing(path) as new:
        save(path, {"model": "forest"}, {"x": np.ones(1)})
        assert new.exists()
        new.write_bytes(b"whole")
    assert path.read_bytes() == b"whole"
    assert names(tmp_path) == sorted([*others, ".m.arb.aaaaaaaaaaaaaaaa", "m.arb"])


def test_many_writers_of_one_file_leave_one_whole_file(tmp_path):
    path = tmp_path / "m.arb"

    def write(value):
        for _ in range(5):
            save(path, {"model": "forest"}, {"x": np.full(1000, value)})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    values = load(path)[1]["x"]
    assert len(values) == 1000
    assert len(set(values.tolist())) == 1
    assert names(tmp_path) == ["m.arb"]


def test_a_block_that_raises_leaves_the_old_file(tmp_path):
    path = tmp_path / "page.tar.gz"
    path.write_text("old")

    def interrupted():
        with replacing(path) as new:
            assert new.name.endswith(".tar.gz")
            new.write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["page.tar.gz"]


@posix
def test_a_device_is_not_replaced(tmp_path):
    link = tmp_path / "null"
    link.symlink_to(os.devnull)
    with pytest.raises(OSError, match="not a regular file"), replacing(link):
        pass


@posix
@pytest.mark.parametrize("name", ["🌳" * 60 + ".arb", "ü" * 120 + ".arb", "n" * 250 + ".arb"])
def test_names_of_any_letters_may_be_as_long_as_the_system_allows(tmp_path, name):
    """Room for the new file beside it was counted in letters, where systems count bytes."""
    save_model(tmp_path / name)
    assert names(tmp_path) == [name]
