"""Laws of saving and loading: all or nothing, no copies, and errors that say what to do."""

from __future__ import annotations

import errno
import gc
import os
import re
import stat
from pathlib import Path

import numpy as np
import pytest
from tests.model.damage import peak_bytes

from arboretum.model import ModelFileError, from_bytes, load, save, to_bytes

HEADER = {"model": "forest", "classes": ["ja", "nein"]}
ARRAYS = {"kind": np.array([1, 0, 0], np.uint8), "value": np.linspace(-1, 1, 6).reshape(3, 2)}
VALID = to_bytes(HEADER, ARRAYS)

posix = pytest.mark.skipif(os.name != "posix", reason="links, modes, devices and replacing a mapped file")


def shown(path: Path) -> str:
    return re.escape(repr(str(path)))


def assert_same(found, expected):
    assert set(found) == set(expected)
    for name in found:
        np.testing.assert_array_equal(found[name], expected[name], strict=True)


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "model.arb"


def test_saved_file_is_to_bytes_and_loads_without_copies(path):
    save(path, HEADER, ARRAYS)
    assert path.read_bytes() == VALID
    header, arrays = load(path)
    assert header == from_bytes(VALID)[0]
    assert_same(arrays, ARRAYS)
    assert all(array.flags.aligned and not array.flags.writeable for array in arrays.values())
    assert [p.name for p in path.parent.iterdir()] == ["model.arb"]


def test_load_maps_the_arrays(path):
    save(path, HEADER, {"big": np.ones(1_000_000)}, compact=False)
    assert peak_bytes(lambda: load(str(path))) < 200_000
    assert load(str(path))[1]["big"].sum() == 1_000_000


def test_compact_file_is_small_and_holds_the_same(path):
    big = {"big": np.arange(100_000.0) % 100}
    save(path, HEADER, big)
    assert path.stat().st_size < 110_000
    assert_same(load(path)[1], big)
    assert not load(path)[1]["big"].flags.writeable


@posix
def test_loaded_arrays_outlive_a_new_file_in_the_same_place(path):
    save(path, HEADER, {"x": np.array([1.0])})
    old = load(path)[1]["x"]
    save(path, HEADER, {"x": np.array([2.0])})
    gc.collect()
    assert old[0] == 1.0
    assert load(path)[1]["x"][0] == 2.0


@posix
def test_saving_follows_links_and_keeps_permissions(path):
    save(path, HEADER, {})
    path.chmod(0o640)
    link = path.with_name("link.arb")
    link.symlink_to(path)
    save(link, HEADER, ARRAYS)
    assert link.is_symlink()
    assert path.read_bytes() == VALID
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def iter_then(fail):
    yield b"the first half"
    fail()


@pytest.mark.parametrize("failing", ["fsync", "write", "replace"])
def test_failing_write_keeps_the_old_file(path, monkeypatch, failing):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    save(path, HEADER, ARRAYS)
    if failing == "fsync":
        monkeypatch.setattr(os, "fsync", fail)
    elif failing == "replace":
        monkeypatch.setattr(Path, "replace", fail)
    else:
        monkeypatch.setattr("arboretum.model.model_file._parts", lambda *_: iter_then(fail))
    with pytest.raises(OSError, match=f"Cannot save to {shown(path)}: No space left on device") as caught:
        save(path, HEADER, {"x": np.ones(5)})
    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == VALID
    assert list(path.parent.iterdir()) == [path]


def test_interrupted_write_keeps_the_old_file(path, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    save(path, HEADER, ARRAYS)
    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(path, HEADER, {"x": np.ones(5)})
    assert path.read_bytes() == VALID
    assert list(path.parent.iterdir()) == [path]


def test_content_that_cannot_be_saved_leaves_no_file(path):
    with pytest.raises(ModelFileError, match="dtype object"):
        save(path, HEADER, {"x": np.array([None])})
    assert not path.exists()


def test_missing_folder_is_told(tmp_path):
    folder = tmp_path / "nowhere"
    with pytest.raises(FileNotFoundError, match=f"the folder {shown(folder)} does not exist. Create it first"):
        save(folder / "model.arb", HEADER, ARRAYS)


def test_folder_in_place_of_a_file_is_told(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"Cannot save to .*: it is a folder\. Add a file name"):
        save(tmp_path, HEADER, ARRAYS)
    with pytest.raises(IsADirectoryError, match=r"Cannot load .*: it is a folder\. Add a file name"):
        load(tmp_path)


@posix
def test_file_in_place_of_a_folder_is_told(path):
    save(path, HEADER, ARRAYS)
    with pytest.raises(NotADirectoryError, match=f"{shown(path)} is not a folder. Give another path"):
        save(path / "model.arb", HEADER, ARRAYS)


@posix
def test_special_file_is_not_replaced():
    with pytest.raises(OSError, match="Cannot save to '/dev/null': it is not a regular file"):
        save(os.devnull, HEADER, ARRAYS)
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_lack_of_permission_is_told(path, monkeypatch):
    def forbid(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    save(path, HEADER, ARRAYS)
    monkeypatch.setattr(Path, "open", forbid)  # the superuser may write anywhere
    with pytest.raises(
        PermissionError, match=f"no permission to write in the folder {shown(path.parent)}. Give another"
    ):
        save(path, HEADER, ARRAYS)
    with pytest.raises(PermissionError, match=r"no permission to read it\. Change the permissions"):
        load(path)


def test_missing_and_foreign_files_are_named(path):
    with pytest.raises(FileNotFoundError, match=f"Cannot load {shown(path)}: there is no such file. Check the path"):
        load(path)
    path.write_bytes(b"")
    with pytest.raises(ModelFileError, match=f"Cannot load {shown(path)}. Not an arboretum model file: it is empty"):
        load(path)
    path.write_bytes(b"tree\nversion=v4\nnum_class=1\n")
    with pytest.raises(ModelFileError, match=f"Cannot load {shown(path)}. Not an .* looks like a LightGBM text model"):
        load(path)
