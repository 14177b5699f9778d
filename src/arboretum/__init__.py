"""Arboretum: every tree ensemble on one engine, fast, exact and reproducible to the bit."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from arboretum.running.forking import finish_imports

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=finish_imports)


def _places() -> dict[str, str]:
    """Return the module that each public name is imported from: ``from place import name as name`` in the stub."""
    with open(os.path.join(__path__[0], "__init__.pyi"), encoding="utf-8") as stub:  # noqa: PTH118, PTH123
        lines = [line.split() for line in stub]
    return {words[3]: words[1] for words in lines if words[:1] == ["from"]}


# A name is imported when it is asked for, so that a process waits only for what it uses.
_PLACES = _places()
__all__ = sorted(name for name, place in _PLACES.items() if place != __name__)


def __getattr__(name: str) -> object:
    """Import a public name or module when it is first asked for."""
    value: object
    if name == "__version__":
        from importlib.metadata import version  # costs as much as half of NumPy

        value = version(__name__)
    elif name not in _PLACES:
        from arboretum.other_libraries import CLASSES, advice

        told = advice(CLASSES, name, __all__)
        if told and sys._getframe(1).f_code.co_name == "_handle_fromlist":  # which hides an AttributeError
            raise ImportError(f"cannot import {name!r} from {__name__!r}: {told}", name=__name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{f': {told}' if told else ''}")
    elif _PLACES[name] == __name__:
        value = import_module(f"{__name__}.{name}")
    else:
        value = getattr(import_module(_PLACES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, those not yet imported too."""
    return sorted([*_PLACES, "__version__"])
