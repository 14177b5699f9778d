"""Forks while another thread imports.

Names of the package, and the libraries behind them, are imported when they are first used. Python holds a lock per
module while it imports, and the child of a fork inherits those of threads that it does not have: it would wait for ever
as soon as it used the same name. So a fork waits until imports of other threads have ended.
"""

from __future__ import annotations

import sys
from importlib._bootstrap import _lock_unlock_module, _module_locks  # type: ignore[attr-defined]

# Libraries whose imports end by themselves. Others, such as a user's own modules, may wait for the fork.
LIBRARIES = {
    *("arboretum", "narwhals", "numpy", "scipy", "sklearn", "joblib", "threadpoolctl"),
    *("duckdb", "matplotlib", "pandas", "polars", "pyarrow", "rich"),
    *sys.stdlib_module_names,  # codecs, for one, are imported when a file is first opened
}


def finish_imports() -> None:
    """Wait until other threads have imported what they are importing.

    Python's import system waits as it does for an import of the same module: it notices when that would last for ever,
    because the other thread waits for a module that this one is importing, and returns.
    """
    waited_for: set[str] = set()
    while pending := _being_imported() - waited_for:  # the next import may have begun meanwhile
        for name in pending:
            _lock_unlock_module(name)
        waited_for |= pending


def _being_imported() -> set[str]:
    return {name for name in tuple(_module_locks) if name.partition(".")[0] in LIBRARIES}
