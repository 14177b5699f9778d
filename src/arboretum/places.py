"""Rows in several places: what must be known of all of them.

A model is fitted to rows that lie in several processes by running the same fit in each of them. A process sees its own
rows alone; wherever a fit looks at all rows (a sum, a maximum, the levels of a category), it asks here. Without other
places these functions return what they are given.

::

    place 0    fit ── joined ───────────────── joined ── …        parts go up a tree of places and are joined on the
                 ▲      ▲                        ▲                  way; what place 0 has in the end goes down again
    place 1    fit ── joined ───────────────── joined ── …
    place 2    fit ── joined ─ (lost)

All places ask the same questions in the same order, because what they are told decides what they do next. So a place
that is lost can be replaced: the answers so far are kept (``Answers``), and a new process that runs the same fit gets
them without asking the others. What a place made of its own rows is kept as well, for when the fit begins anew.

Rows travel between places (``exchanged``): every place sends each other place a part. What a place gets is known to it
alone, so these answers are not kept. All places exchange again when the fit begins anew, and nothing that one of them
may skip, because it has the answer or has made it before, may exchange anything::

    begins anew      place 0                    place 1 (new)            place 2
    exchanged        sends, gets                sends, gets              sends, gets         always, everywhere
    joined           from answers               from answers             from answers        or asked everywhere
    kept             from what it made          made again               from what it made   makes alone: no exchange

Answers that are too large to be kept are asked for ``afresh``, by the same rule.

Rows are numbered across all places, those of place 0 first: draws that depend on the number of a row are the same
wherever the row lies.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
R = TypeVar("R")
K = TypeVar("K")
P = ParamSpec("P")
Rows = TypeVar("Rows", bound="NDArray[Any]")
Integers = TypeVar("Integers", bound="NDArray[np.integer[Any]]")


class PlaceLostError(RuntimeError):
    """Another place will not answer any more: the fit has to begin anew, from the answers so far."""


class Post(Protocol):
    """What carries messages between places."""

    def __call__(self, place: int, key: Hashable, value: Any) -> None:
        """Put a value under a key into the mailbox of a place."""


class Mailbox:
    """What other places have sent, until it is taken."""

    def __init__(self) -> None:
        self.found: dict[Hashable, Any] = {}
        self.changed = threading.Condition()
        self.failure: BaseException | None = None

    def put(self, key: Hashable, value: Any) -> None:
        """Keep a value until it is taken."""
        with self.changed:
            self.found[key] = value
            self.changed.notify_all()

    def take(self, key: Hashable) -> Any:
        """Wait for a value; an error if ``fail`` is called first."""
        with self.changed:
            self.changed.wait_for(lambda: self.failure is not None or key in self.found)
            if self.failure is not None:
                raise self.failure
            return self.found.pop(key)

    def holds(self, key: Hashable) -> bool:
        """Return whether a value is there to be taken."""
        with self.changed:
            return key in self.found

    def fail(self, error: BaseException) -> None:
        """End all waiting with an error."""
        with self.changed:
            self.failure = error
            self.changed.notify_all()


@dataclass
class Answers:
    """What a place was told, and what it made of its own rows, by the part of the fit that asked.

    A fit that begins anew, here or in the place of a lost one, asks the same questions in the same order; ``told`` is
    the same at all places, ``made`` belongs to this one.
    """

    told: dict[str, list[Any]] = field(default_factory=dict)
    made: dict[str, list[Any]] = field(default_factory=dict)


class Places:
    """One of several places that fit a model together.

    Parameters
    ----------
    index : int
        Number of this place.
    count : int
        How many places there are.
    post : callable
        Sends a value to another place.
    attempt : int
        How often the fit began anew; messages of earlier attempts are not read.
    answers : Answers, optional
        What is known from an earlier attempt.
    """

    def __init__(self, index: int, count: int, post: Post, attempt: int = 0, answers: Answers | None = None) -> None:
        self.index, self.count, self.post, self.attempt = index, count, post, attempt
        self.mailbox = Mailbox()
        self.answers = answers or Answers()
        self.stage: str | None = None  # of the fit, whose answers are kept
        self.n_told = self.n_made = 0  # of this stage, in this attempt
        self.step = 0

    def parent(self, root: int = 0) -> int | None:
        """Return the place that the parts of this one, and of all below it, go up to; None of the root."""
        rank = (self.index - root) % self.count
        return ((rank - 1) // 2 + root) % self.count if rank else None

    def children(self, root: int = 0) -> list[int]:
        """Return the places that send their parts here."""
        rank = (self.index - root) % self.count
        return [(one + root) % self.count for one in range(2 * rank + 1, min(2 * rank + 3, self.count))]

    def begin(self, stage: str | None) -> None:
        """Begin a part of the fit; its answers are kept under its name, those of no part are not kept."""
        self.stage, self.n_told, self.n_made = stage, 0, 0

    def kept(self, make: Callable[[], T]) -> T:
        """Return what is made of the rows of this place, or what an earlier attempt has made."""
        if self.stage is None:
            return make()
        made = self.answers.made.setdefault(self.stage, [])
        if self.n_made == len(made):
            made.append(self.alone(make))
        self.n_made += 1
        found: T = made[self.n_made - 1]
        return found

    def joined(self, make: Callable[[], T], join: Callable[[T, T], T]) -> T:
        """Return the parts of all places, joined; ``make`` makes that of this place unless the answer is known."""
        return self.answer(lambda: self.down(self.up(self.alone(make), join)))

    def decided(self, make: Callable[[], T], join: Callable[[T, T], T], decide: Callable[[T], R]) -> R:
        """Return what place 0 decides, once it has the parts of all places."""

        def ask() -> R:
            part = self.up(self.alone(make), join)
            return self.down(self.alone(lambda: decide(part)) if self.index == 0 else cast(R, None))

        return self.answer(ask)

    def dealt(
        self, things: Sequence[K], make: Callable[[K], T], join: Callable[[T, T], T], decide: Callable[[T], R]
    ) -> list[R]:
        """Return what is decided about each thing, each at another place, once it has the parts of all places."""

        def ask() -> list[R]:
            gathered = {}
            for number, thing in enumerate(things):
                part = self.up(self.alone(partial(make, thing)), join, number % self.count)
                if number % self.count == self.index:
                    gathered[number] = part
            own = {number: self.alone(partial(decide, part)) for number, part in gathered.items()}
            return in_order(self.down(self.up(own, dict.__or__)))

        return self.answer(ask)

    def told(self, make: Callable[[], T]) -> T:
        """Return what place 0 makes."""
        return self.answer(lambda: self.down(self.alone(make) if self.index == 0 else cast(T, None)))

    @staticmethod
    def alone(make: Callable[[], T]) -> T:
        """Make something without the others: whether it is made at all differs between places."""
        with among(None):
            return make()

    def answer(self, ask: Callable[[], T]) -> T:
        """Return what is asked, or what was answered before."""
        if self.stage is None:
            return ask()
        told = self.answers.told.setdefault(self.stage, [])
        if self.n_told == len(told):
            told.append(ask())
        self.n_told += 1
        found: T = told[self.n_told - 1]
        return found

    @contextmanager
    def afresh(self) -> Iterator[None]:
        """Keep neither answers nor what is made meanwhile."""
        before = self.stage, self.n_told, self.n_made
        self.begin(None)
        try:
            yield
        finally:
            self.stage, self.n_told, self.n_made = before

    def exchanged(self, parts: Sequence[T]) -> list[T]:
        """Send part i to place i; return what each place has sent here."""
        self.step += 1
        for place, part in enumerate(parts):
            if place != self.index:
                self.send(place, ("across", self.index), part)
        return [part if place == self.index else self.take(("across", place)) for place, part in enumerate(parts)]

    def up(self, part: T, join: Callable[[T, T], T], root: int = 0) -> T:
        """Return this part joined with those of all places below; the root has all then."""
        self.step += 1
        for child in self.children(root):
            part = join(part, self.take(("up", child)))
        if (parent := self.parent(root)) is not None:
            self.send(parent, ("up", self.index), part)
        return part

    def down(self, value: T) -> T:
        """Return the value of place 0."""
        self.step += 1
        if self.index:
            value = self.take(("down",))
        for child in self.children():
            self.send(child, ("down",), value)
        return value

    def send(self, place: int, what: tuple[Any, ...], value: Any) -> None:
        """Send a value of this step."""
        self.post(place, (self.attempt, self.step, *what), value)

    def take(self, what: tuple[Any, ...]) -> Any:
        """Wait for a value of this step."""
        return self.mailbox.take((self.attempt, self.step, *what))


_HERE: ContextVar[Places | None] = ContextVar("arboretum_places", default=None)


@contextmanager
def among(places: Places | None) -> Iterator[None]:
    """Fit among other places; with None alone, whatever is in force outside."""
    before = _HERE.set(places)
    try:
        yield
    finally:
        _HERE.reset(before)


def here() -> Places | None:
    """Return this place among others; None if there are no others."""
    return _HERE.get()


def are_several() -> bool:
    """Return whether there are other places."""
    return (places := here()) is not None and places.count > 1


def begin(stage: str | None) -> None:
    """Begin a part of the fit, whose answers are kept for a fit that begins anew; None: they are not kept."""
    places = here()
    if places is not None:
        places.begin(stage)


def kept(make: Callable[[], T]) -> T:
    """Return what ``make`` makes of the rows of this place; a fit that begins anew does not make it again."""
    places = here()
    return make() if places is None else places.kept(make)


def joined(make: Callable[[], T], join: Callable[[T, T], T]) -> T:
    """Return what ``make`` makes at every place, joined two at a time in any order.

    Examples
    --------
    >>> joined(lambda: {"red"}, set.union)
    {'red'}
    """
    places = here()
    return make() if places is None else places.joined(make, join)


def decided(make: Callable[[], T], join: Callable[[T, T], T], decide: Callable[[T], R]) -> R:
    """Return what place 0 decides, once it has what ``make`` makes at every place, joined.

    Examples
    --------
    >>> decided(lambda: [3, 1], list.__add__, sorted)
    [1, 3]
    """
    places = here()
    return decide(make()) if places is None else places.decided(make, join, decide)


def dealt(things: Sequence[K], make: Callable[[K], T], join: Callable[[T, T], T], decide: Callable[[T], R]) -> list[R]:
    """Return what is decided about each of several things: each at another place, which gets what all make of it.

    Examples
    --------
    >>> dealt([3, 1], lambda n: list(range(n)), list.__add__, len)
    [3, 1]
    """
    places = here()
    if places is None:
        return [decide(make(thing)) for thing in things]
    return places.dealt(things, make, join, decide)


def told(make: Callable[[], T]) -> T:
    """Return what ``make`` makes at place 0; it is not called elsewhere."""
    places = here()
    return make() if places is None else places.told(make)


def exchanged(parts: Sequence[T]) -> list[T]:
    """Return what each place has sent here, in their order; part i goes to place i.

    All places exchange in every attempt of the fit; the introduction says what follows from it.

    Examples
    --------
    >>> exchanged(["to myself"])
    ['to myself']
    """
    places = here()
    return list(parts) if places is None else places.exchanged(parts)


@contextmanager
def afresh() -> Iterator[None]:
    """Ask questions whose answers are too large to be kept; a fit that begins anew asks them again, at all places."""
    places = here()
    with nullcontext() if places is None else places.afresh():
        yield


def added(numbers: Integers) -> Integers:
    """Return the sum of arrays of integers.

    Examples
    --------
    >>> added(np.array([1, 2]))
    array([1, 2])
    """
    summed: Integers = joined(lambda: numbers, np.add)
    return summed


def summed(make: Callable[[], list[T]]) -> list[T]:
    """Return the sum of each item of the lists that ``make`` makes; items are whatever can be added.

    Examples
    --------
    >>> summed(lambda: ["a", "b"])
    ['a', 'b']
    """
    return joined(make, lambda one, other: list(map(operator.add, one, other)))


def total(number: int) -> int:
    """Return the sum of whole numbers, such as counts of rows."""
    return joined(lambda: number, int.__add__)


def most(number: float) -> float:
    """Return the largest of numbers; not a number if one is not."""
    return joined(lambda: number, lambda a, b: float(np.maximum(a, b)))


def least(number: float) -> float:
    """Return the smallest of numbers; not a number if one is not."""
    return joined(lambda: number, lambda a, b: float(np.minimum(a, b)))


def anywhere(holds: bool) -> bool:
    """Return whether something holds at any place."""
    return joined(lambda: bool(holds), bool.__or__)


def everywhere(holds: bool) -> bool:
    """Return whether something holds at every place."""
    return joined(lambda: bool(holds), bool.__and__)


def gathered(make: Callable[[], T]) -> list[T]:
    """Return what ``make`` makes at each place, in their order."""
    own = index()
    return in_order(joined(lambda: {own: make()}, dict.__or__))


def whole(rows: Rows) -> Rows:
    """Return the rows of all places, in their order, from an array of the rows of this one; they are not kept.

    Examples
    --------
    >>> whole(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    with afresh():
        parts = gathered(lambda: rows)
    return rows if len(parts) == 1 else cast(Rows, np.concatenate(parts))


def in_order(parts: dict[int, T]) -> list[T]:
    """Return the parts of places in their order."""
    return [parts[place] for place in sorted(parts)]


def index() -> int:
    """Return the number of this place."""
    places = here()
    return 0 if places is None else places.index


def count() -> int:
    """Return how many places there are."""
    places = here()
    return 1 if places is None else places.count


def bound(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function that asks the places of now wherever it is called, as by code that runs alone on all rows."""
    places = here()

    @wraps(function)
    def ask(*args: P.args, **kwargs: P.kwargs) -> T:
        with among(places):
            return function(*args, **kwargs)

    return ask


class Numbered(NamedTuple):
    """Numbers of the rows of a place among those of all places."""

    first: int
    total: int


def numbered(n_rows: int) -> Numbered:
    """Return where the rows of this place begin, and how many there are at all places."""
    places = here()
    if places is None:
        return Numbered(0, n_rows)
    counts = gathered(lambda: n_rows)
    return Numbered(sum(counts[: places.index]), sum(counts))
