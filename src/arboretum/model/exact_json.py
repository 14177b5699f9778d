"""The JSON of the header: it comes back as it was written, or is an error.

Floats and integers come back exactly. NaN and infinities, for which JSON has no number, are written as
``{"__float__": "nan"}``. What JSON would change (tuples, NumPy scalars, keys that are not strings) is rejected. Reading
is safe for arbitrary bytes.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, NoReturn

_MAX_DEPTH = 64
_MAX_DIGITS = 4300  # Python's own limit for int(str)
_MAX_INT = 10**_MAX_DIGITS
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_NONFINITE_KEY = "__float__"
_NONFINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def dumps(value: Any) -> bytes:
    """Canonical JSON: keys sorted, no spaces, UTF-8.

    Parameters
    ----------
    value : None, bool, int, float, str, list or dict
        Nested at most 64 deep.

    Returns
    -------
    bytes
        The same for equal values, whatever the order of their keys.

    Raises
    ------
    ValueError
        If :func:`loads` would not give `value` back.

    Examples
    --------
    >>> from arboretum.model import exact_json
    >>> exact_json.dumps({"b": float("inf"), "a": 2**60})
    b'{"a":1152921504606846976,"b":{"__float__":"inf"}}'
    """
    encoded = _encoded(value, "header", 0)
    return json.dumps(encoded, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def loads(text: bytes) -> Any:
    """Value written by :func:`dumps`.

    Parameters
    ----------
    text : bytes
        JSON without repeated keys, NaN, numbers beyond float64 or deep nesting.

    Returns
    -------
    None, bool, int, float, str, list or dict

    Raises
    ------
    ValueError
        If `text` is anything else.

    Examples
    --------
    >>> from arboretum.model import exact_json
    >>> exact_json.loads(b'[0.1, {"__float__": "-inf"}]')
    [0.1, -inf]
    """
    if _nesting(text) > _MAX_DEPTH:
        raise ValueError(f"nested deeper than {_MAX_DEPTH} levels")
    try:
        return json.loads(
            text.decode(),
            object_pairs_hook=_object,
            parse_int=_bounded_int,
            parse_float=_finite_float,
            parse_constant=_no_constant,
        )
    except RecursionError:
        raise ValueError("nested deeper than this thread can follow") from None


def _encoded(value: Any, where: str, depth: int) -> Any:
    if depth >= _MAX_DEPTH:
        raise ValueError(f"it is nested deeper than {_MAX_DEPTH} levels. Flatten it.")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _checked_text(value, where)
    if isinstance(value, int):
        if abs(value) >= _MAX_INT:
            raise ValueError(f"{where} is an integer of more than {_MAX_DIGITS} digits. Store it as a string.")
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {_NONFINITE_KEY: repr(float(value))}
    if isinstance(value, list):
        return [_encoded(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        if _NONFINITE_KEY in value:
            raise ValueError(f"{where} has the key {_NONFINITE_KEY!r}, which is reserved. Rename it.")
        return {_checked_key(key, where): _encoded(item, f"{where}[{key!r}]", depth + 1) for key, item in value.items()}
    raise ValueError(
        f"{where} is of type {type(value).__name__}, which JSON would not give back. "
        "Convert it to None, bool, int, float, str, list or dict."
    )


def _checked_key(key: Any, where: str) -> str:
    if not isinstance(key, str):
        raise ValueError(f"{where} has the key {key!r}, which is not a string. Convert it with str().")
    return _checked_text(key, f"the key of {where}")


def _checked_text(text: str, where: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{where} is {text!r}, which is not valid Unicode. Replace its surrogates.") from None
    return text


def _nesting(text: bytes) -> int:
    """Depth of brackets outside strings, in linear time: Python's parser recurses on the C stack."""
    pieces = text.decode("latin-1").replace(r"\\", "").replace(r"\"", "").split('"')
    outside = "".join(pieces[::2]).encode("latin-1")  # bytes.join would take 80 bytes per piece
    steps = (1 if bracket in b"[{" else -1 for bracket in outside.translate(None, _NOT_BRACKETS))
    return max(accumulate(steps), default=0)


def _object(pairs: list[tuple[str, Any]]) -> Any:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((repeated, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {repeated!r:.60} is repeated")
    if _NONFINITE_KEY not in found:
        return found
    word = found[_NONFINITE_KEY]
    if len(found) > 1 or not isinstance(word, str) or word not in _NONFINITE:
        raise ValueError(f"{_NONFINITE_KEY!r} is {word!r:.60}, expected {', '.join(_NONFINITE)} and no other key")
    return _NONFINITE[word]


def _bounded_int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS + 1:  # and a sign
        raise ValueError(f"a number has {len(digits)} digits, expected at most {_MAX_DIGITS}")
    return int(digits)


def _finite_float(digits: str) -> float:
    if len(digits) > _MAX_DIGITS or not math.isfinite(value := float(digits)):
        raise ValueError(f"the number {digits:.30} is out of range, expected a finite float64")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
