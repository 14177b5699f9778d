"""Facts as a page can hold them: strict JSON of rounded numbers and plain text."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

DIGITS = 6  # significant ones; no chart shows more


class LeftOut(Exception):  # noqa: N818  # no error: the rest of the report goes on
    """A section that this model or these rows cannot give; the message says why, and is shown."""


def rounded(value: Any) -> Any:
    """Return facts with numbers of six significant digits; what is not finite becomes None, arrays become lists.

    Examples
    --------
    >>> rounded({"loss": np.array([1 / 3, np.nan]), "rows": np.int64(7), "name": "a"})
    {'loss': [0.333333, None], 'rows': 7, 'name': 'a'}
    """
    if isinstance(value, dict):
        return {str(key): rounded(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return rounded(value.tolist())
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    if isinstance(value, np.generic):
        return rounded(value.item())
    if isinstance(value, float):
        return _short(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def _short(value: float) -> float | int:
    if value.is_integer() and abs(value) < 2**53:
        return int(value)  # written without ".0"
    return float(f"{value:.{DIGITS}g}")


def to_json(facts: Any) -> str:
    r"""Write facts as JSON that may stand inside of a script element: no ``<`` can end it.

    Examples
    --------
    >>> to_json({"column": "</script>"})
    '{"column":"\\u003c/script>"}'
    """
    text = json.dumps(rounded(facts), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Names may hold U+2028, which would end a line of a script, and lone surrogates, which have no UTF-8.
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return text.encode("utf-8", "replace").decode("utf-8")
