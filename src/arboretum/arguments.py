"""Checks of the arguments of any function, and how messages show them."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_integer(name: str, value: Any, low: int = 1, *, optional: bool = False) -> None:
    """Reject an argument that is not an integer of at least ``low``; ``optional`` allows None.

    Examples
    --------
    >>> check_integer("top_k", 2.5)
    Traceback (most recent call last):
        ...
    ValueError: top_k=2.5: use an integer at least 1
    """
    if optional and value is None:
        return
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral) or value < low:
        raise ValueError(f"{name}={shown(value)}: use an integer at least {low}{', or None' * optional}")


def check_flag(name: str, value: Any) -> None:
    """Reject an argument that is neither True nor False.

    Examples
    --------
    >>> check_flag("compact", "no")
    Traceback (most recent call last):
        ...
    ValueError: compact='no': use True or False
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={shown(value)}: use True or False")


def shown(value: Any) -> str:
    """Return a value for an error message, cut if it is long: an integer may have thousands of digits.

    Examples
    --------
    >>> shown("abc"), shown(10**5000)
    ("'abc'", 'an integer of 16610 bits')
    """
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def first_true(found: NDArray[np.bool_]) -> int | None:
    """Return the place of the first True of an array, to name it in an error; None if there is none.

    Examples
    --------
    >>> first_true(np.array([False, True])), first_true(np.array([False]))
    (1, None)
    """
    return int(np.argmax(found)) if found.any() else None


def holds_others(value: Any) -> bool:
    """Whether a value can be iterated over, as a list can: neither text nor an array without dimensions.

    Examples
    --------
    >>> holds_others([1]), holds_others("ab"), holds_others(np.array(3))
    (True, False, False)
    """
    if isinstance(value, str | bytes):
        return False
    try:
        iter(value)
    except TypeError:
        return False
    return True
