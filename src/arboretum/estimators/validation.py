"""Checks of constructor parameters, and the validation split of early stopping."""

from __future__ import annotations

import difflib
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

SPLIT_PURPOSE = 0x73706C6974  # "split"


def number(
    owner: Any,
    name: str,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    open_low: bool = False,
    integer: bool = False,
    optional: bool = False,
    words: tuple[str, ...] = (),
    words_of_bool: bool = False,
) -> Any:
    """Return parameter ``name`` of an estimator if it is a number in range, None, a word, or perhaps a boolean."""
    value = getattr(owner, name)
    if (optional and value is None) or (isinstance(value, str) and value in words):
        return value
    if words_of_bool and isinstance(value, bool):
        return value
    kind = numbers.Integral if integer else numbers.Real
    if isinstance(value, kind) and not isinstance(value, bool | np.bool_):
        convert: Any = int if integer else float
        exact = convert(value)
        if (low < exact if open_low else low <= exact) and exact <= high:
            return exact
    bounds = [f"{'above' if open_low else 'at least'} {low:g}" if low > -np.inf else ""]
    bounds.append(f"at most {high:g}" if high < np.inf else "")
    wanted = ("an integer " if integer else "a number ") + " and ".join(bound for bound in bounds if bound)
    others = [repr(word) for word in words] + (["None"] if optional else [])
    raise ValueError(f"{name}={value!r}: use {' or '.join([wanted.strip(), *others])}")


def choice(owner: Any, name: str, options: tuple[Any, ...]) -> Any:
    """Return parameter ``name`` of an estimator if it is one of the options."""
    value = getattr(owner, name)
    for option in options:
        if value is option or (isinstance(value, str) and value == option):
            return option
    near = (
        difflib.get_close_matches(value, [o for o in options if isinstance(o, str)], n=1)
        if isinstance(value, str)
        else []
    )
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise ValueError(f"{name}={value!r}{hint}: use one of {', '.join(map(repr, options))}")


def check_integer(name: str, value: Any, low: int = 1) -> None:
    """Refuse an argument that is no integer of at least ``low``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral) or value < low:
        raise ValueError(f"{name}={value!r}: use an integer at least {low}")


def callables(owner: Any, name: str) -> None:
    """Refuse a parameter that is neither None nor a sequence of callables."""
    value = getattr(owner, name)
    if value is None:
        return
    if isinstance(value, str) or not hasattr(value, "__iter__") or not all(callable(item) for item in value):
        shown = getattr(value, "__name__", repr(value))
        raise ValueError(f"{name}={shown}: use a list of functions that take a RoundReport, or None")


def check_columns(spec: Any) -> None:
    """Refuse a ``categorical_features`` that cannot name columns."""
    if spec is not None and not isinstance(spec, str) and not hasattr(spec, "__iter__"):
        raise ValueError(f"categorical_features={spec!r}: use a list of names or positions, a mask, or None")


def share(owner: Any, name: str, total: int) -> float:
    """Return a parameter that is a share in (0, 1] or a number of columns, as a share of ``total``."""
    value = getattr(owner, name)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        if value < 1:
            raise ValueError(f"{name}={value!r}: use a number of columns of at least 1, or a share above 0")
        return min(int(value), total) / total
    return float(number(owner, name, low=0.0, high=1.0, open_low=True))


def seed_of(random_state: Any) -> int:
    """Return an integer seed: an integer is its own, a RandomState draws one, None stands for NumPy's global one."""
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        return int(random_state) & 0xFFFFFFFFFFFFFFFF
    source = np.random if random_state is None else random_state
    if source is not np.random and not isinstance(source, np.random.RandomState):
        raise ValueError(f"random_state={random_state!r}: use an integer, a RandomState or None")
    return int(source.randint(2**31 - 1))


def split_rows(
    n_rows: int, fraction: float, seed: int, strata: NDArray[Any] | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Training and validation rows; with strata, the same fraction of each, and never all of one."""
    draws = np.random.default_rng([seed, SPLIT_PURPOSE]).random(n_rows)
    if strata is None:
        strata = np.zeros(n_rows)
    order = np.lexsort((draws, strata))
    _, counts = np.unique(strata, return_counts=True)
    starts = np.repeat(np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    rank = np.arange(n_rows) - starts
    held = np.zeros(n_rows, dtype=bool)
    held[order] = rank < np.floor(np.repeat(counts, counts) * fraction)
    return np.flatnonzero(~held), np.flatnonzero(held)
