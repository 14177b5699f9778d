"""Checks of constructor parameters, and the validation split of early stopping."""

from __future__ import annotations

import difflib
import math
import numbers
from dataclasses import KW_ONLY, dataclass
from typing import Any, cast

import numpy as np

from arboretum import places
from arboretum.arguments import holds_others, shown
from arboretum.other_libraries import VALUES, advice


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``; perhaps also None, some words, or booleans."""

    low: float = -np.inf
    high: float = np.inf
    _: KW_ONLY
    open_low: bool = False
    integer: bool = False
    optional: bool = False
    words: tuple[str, ...] = ()
    words_of_bool: bool = False

    def value(self, owner: Any, name: str) -> Any:
        """Return parameter ``name`` of an estimator, if it is one of these."""
        value = getattr(owner, name)
        if (self.optional and value is None) or (isinstance(value, str) and value in self.words):
            return value
        if self.words_of_bool and isinstance(value, bool):
            return value
        kind = numbers.Integral if self.integer else numbers.Real
        if isinstance(value, kind) and not isinstance(value, bool | np.bool_):
            exact: Any = int(cast(Any, value)) if self.integer else as_float(value)
            if (self.low < exact if self.open_low else self.low <= exact) and exact <= self.high:
                return exact
        raise ValueError(f"{name}={shown(value)}: use {self.described}")

    @property
    def described(self) -> str:
        """What messages call these values."""
        bounds = [f"{'above' if self.open_low else 'at least'} {self.low:g}" if self.low > -np.inf else ""]
        bounds.append(f"at most {self.high:g}" if self.high < np.inf else "")
        wanted = ("an integer " if self.integer else "a number ") + " and ".join(bound for bound in bounds if bound)
        return " or ".join([wanted.strip(), *map(repr, self.words), *(["None"] if self.optional else [])])


def as_float(value: Any) -> float:
    """Return a number as float64, infinite if it is out of range."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def choice(owner: Any, name: str, options: tuple[Any, ...]) -> Any:
    """Return parameter ``name`` of an estimator if it is one of the options."""
    value = getattr(owner, name)
    for option in options:
        if value is option or (isinstance(value, str) and value == option):
            return option
    raise ValueError(f"{name}={shown(value)}{_hint(name, value, options)}: use one of {', '.join(map(repr, options))}")


def _hint(name: str, value: Any, options: tuple[Any, ...]) -> str:
    """Return a hint at what a text may mean: a word of another library, or a misspelled one."""
    if not isinstance(value, str):
        return ""
    words = [option for option in options if isinstance(option, str)]
    told = advice(VALUES, value, words, owner=name)
    near = difflib.get_close_matches(value, words, n=1)
    return f" ({told})" if told else f" (did you mean {near[0]!r}?)" if near else ""


def check_rounds(n_rounds: Any, n_fitted: int) -> None:
    """Reject a number of rounds that a model does not have."""
    if (
        isinstance(n_rounds, bool | np.bool_)
        or not isinstance(n_rounds, numbers.Integral)
        or not 1 <= int(n_rounds) <= n_fitted
    ):
        raise ValueError(f"n_rounds={shown(n_rounds)}: use an integer from 1 to {n_fitted}, the rounds of this model")


def callables(owner: Any, name: str) -> None:
    """Reject a parameter that is neither None nor a sequence of callables."""
    value = getattr(owner, name)
    if value is None:
        return
    if not holds_others(value) or not all(callable(item) for item in value):
        given = getattr(value, "__name__", shown(value))
        raise ValueError(f"{name}={given}: use a list of functions that take a RoundReport, or None")


def check_columns(spec: Any) -> None:
    """Reject an invalid ``categorical_features``."""
    if spec is not None and not isinstance(spec, str) and not holds_others(spec):
        raise ValueError(f"categorical_features={shown(spec)}: use a list of names or positions, a mask, or None")


def share(owner: Any, name: str, total: int) -> float:
    """Return a parameter that is a share in (0, 1] or a number of columns, as a share of ``total``."""
    value = getattr(owner, name)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        if value < 1:
            raise ValueError(f"{name}={shown(value)}: use a number of columns of at least 1, or a share above 0")
        return min(int(value), total) / total
    return float(Range(0.0, 1.0, open_low=True).value(owner, name))


def seed_of(random_state: Any) -> int:
    """Return a seed: an integer itself, else one drawn from the Generator, the RandomState or, for None, np.random.

    Examples
    --------
    >>> seed_of(7), seed_of(np.random.default_rng(7)) == seed_of(np.random.default_rng(7))
    (7, True)
    """
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        return int(random_state) & 0xFFFFFFFFFFFFFFFF
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    source = np.random if random_state is None else random_state
    if source is not np.random and not isinstance(source, np.random.RandomState):
        raise ValueError(
            f"random_state={shown(random_state)}: use an integer, a NumPy Generator or RandomState, or None"
        )
    return places.told(lambda: int(source.randint(2**31 - 1)))
