"""Ctrl-C: during a fit, the model keeps what was fitted, and a warning says so; elsewhere it is a KeyboardInterrupt."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from types import FrameType

from arboretum.running.in_force import in_force

_IS_INNER: ContextVar[bool] = ContextVar("whether another fit waits for this one", default=False)


def inner_fits() -> AbstractContextManager[None]:
    """Mark fits inside as parts of another: Ctrl-C ends the outer fit, which must not go on with half a member.

    Examples
    --------
    >>> with inner_fits():
    ...     keeps_part(7)
    False
    """
    return in_force(_IS_INNER, True)


def keeps_part(n: int) -> bool:
    """Whether a fit that Ctrl-C ended after ``n`` rounds or trees keeps them, rather than pass the interrupt on.

    Examples
    --------
    >>> keeps_part(7), keeps_part(0)
    (True, False)
    """
    return n > 0 and not _IS_INNER.get()


class InterruptedFit(UserWarning):
    """A fit ended early because of Ctrl-C; the model has the rounds or trees that were done.

    Turn it into an error to end a program on Ctrl-C instead: ``warnings.simplefilter("error", InterruptedFit)``.

    Examples
    --------
    >>> import arboretum as arb
    >>> issubclass(arb.InterruptedFit, UserWarning)
    True
    """


def warn_interrupted(n: int, what: str) -> None:
    """Warn that a fit was interrupted after ``n`` rounds or trees.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_interrupted(7, "rounds")
    >>> str(caught[0].message)
    'fit was interrupted: the model keeps the 7 rounds so far'
    """
    from arboretum.running.warning import warn_user

    warn_user(f"fit was interrupted: the model keeps the {n} {what} so far", InterruptedFit)


def is_interruption(error: BaseException) -> bool:
    """Whether an error, or one that led to it, is Ctrl-C in another form: DuckDB has two of its own.

    Examples
    --------
    >>> is_interruption(RuntimeError("Query interrupted")), is_interruption(RuntimeError("no such table"))
    (True, False)
    """
    causes, found = [error], [error]
    while causes:
        cause = causes.pop()
        if isinstance(cause, KeyboardInterrupt | InterruptedFit) or type(cause).__name__ == "InterruptException":
            return True
        if isinstance(cause, RuntimeError) and str(cause) == "Query interrupted":
            return True
        led = [one for one in (cause.__cause__, cause.__context__) if one is not None and one not in found]
        causes += led
        found += led
    return False


@contextmanager
def on_interruption(stop: Callable[[], object]) -> Iterator[None]:
    """Call ``stop`` if Ctrl-C is pressed in the body, before what else Ctrl-C does.

    Examples
    --------
    >>> usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # programs in the background ignore Ctrl-C
    >>> try:
    ...     with on_interruption(lambda: print("the query is stopped")):
    ...         signal.raise_signal(signal.SIGINT)
    ... except KeyboardInterrupt:
    ...     print("the program is interrupted")
    the query is stopped
    the program is interrupted
    >>> handler = signal.signal(signal.SIGINT, usual)
    """
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return

    def pressed(number: int, frame: FrameType | None) -> None:
        stop()
        usual(number, frame)

    signal.signal(signal.SIGINT, pressed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
