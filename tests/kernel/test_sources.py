"""The folders of the kernel: what kernel/README.md says of them is true."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
KERNEL = ROOT / "kernel"
README = KERNEL / "README.md"

# A folder may include those before it.
LAYERS = ("base", "data", "losses", "correct", "forest", "grow", "leaves", "explain", "bind")


def test_readme_names_every_header_once():
    rows = re.findall(r"^\| `([\w/]+\.hpp)` \|", README.read_text(encoding="utf-8"), re.MULTILINE)
    headers = [path.relative_to(KERNEL).as_posix() for path in KERNEL.rglob("*.hpp")]
    assert Counter(rows) == Counter(headers)


def test_readme_names_files_that_exist():
    named = re.findall(r"`([\w/.*-]+(?:/|\.(?:hpp|cpp|py|md)))`", README.read_text(encoding="utf-8"))
    folders = (KERNEL, ROOT, ROOT / "src" / "arboretum")
    assert [name for name in named if not any(list(folder.glob(name)) for folder in folders)] == []


def test_documents_name_files_that_exist():
    pages = [ROOT / "ARCHITECTURE.md", *ROOT.glob("docs/*.md"), *ROOT.glob("src/**/*.py")]
    named = {
        name for page in pages for name in re.findall(r"\bkernel/[\w/]+\.[hc]pp", page.read_text(encoding="utf-8"))
    }
    assert named
    assert sorted(name for name in named if not (ROOT / name).is_file()) == []


def test_folders_include_only_those_below():
    layer = {name: place for place, name in enumerate(LAYERS)}
    wrong = []
    for path in sorted([*KERNEL.rglob("*.hpp"), *KERNEL.rglob("*.cpp")]):
        place = path.relative_to(KERNEL).as_posix()
        for name in re.findall(r'#include "([^"]+)"', path.read_text(encoding="utf-8")):
            assert (KERNEL / name).is_file(), f"{place} includes {name}: name the path from kernel/"
            if layer[name.split("/")[0]] > layer[place.split("/")[0]]:
                wrong.append(f"{place} includes {name}")
    assert wrong == []
