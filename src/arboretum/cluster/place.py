"""A place of a fit on a worker: an actor that runs the fit on its own rows, in a thread of its own.

Methods are coroutines, so that they answer on the event loop of the worker while the fit computes or waits.
"""

from __future__ import annotations

import asyncio
import contextvars
import shutil
import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arboretum.places import Answers, Mailbox, PlaceLostError, Places, among


@dataclass
class News:
    """What has happened at a place, for the driver to ask for."""

    events: list[tuple[str, Any]] = field(default_factory=list)

    def add(self, kind: str, value: Any) -> None:
        """Tell an event."""
        self.events.append((kind, value))


class Place:
    """The rows of some partitions, and the fit on them.

    Parameters
    ----------
    program : callable
        Runs the fit: ``program(place)``.
    """

    def __init__(self, program: Callable[[Place], Any]) -> None:
        from distributed import get_worker

        self.worker = get_worker()
        self.program = program
        self.answers = Answers()
        self.memory: Any = None  # what the program wants a later attempt to know
        self.news = News()
        self.mailbox = Mailbox()
        self.moved_bytes = 0  # sent to other places, and got from them
        self.thread: threading.Thread | None = None

    # ---- asked by the driver ---------------------------------------------------------------------------------------

    async def prepare(self, attempt: int, told: dict[str, list[Any]] | None, memory: Any) -> None:
        """Get ready for an attempt, with what another place knows of the earlier ones."""
        self.mailbox, self.news, self.attempt = Mailbox(), News(), attempt
        if told is not None:
            self.answers.told = told
        if memory is not None:
            self.memory = memory

    async def start(self, actors: Sequence[Any], index: int, given: Any) -> None:
        """Run the program as one of several places."""
        context = contextvars.copy_context()  # which knows the worker
        self.index, self.actors, self.given = index, actors, given
        self.thread = threading.Thread(target=context.run, args=(self._run,), daemon=True, name=f"arboretum-{index}")
        self.thread.start()

    async def stop(self) -> tuple[int, int]:
        """End the attempt; return how much the place knows: rounds and answers."""
        self.mailbox.fail(PlaceLostError("another place was lost"))
        while self.thread is not None and self.thread.is_alive():
            await asyncio.sleep(0.005)
        rounds = 0 if self.memory is None else self.memory.n_rounds
        return rounds, sum(map(len, self.answers.told.values()))

    async def known(self) -> tuple[dict[str, list[Any]], Any]:
        """Return what a place that takes part from now on must know."""
        return self.answers.told, self.memory

    async def deliver(self, key: Hashable, value: Any) -> None:
        """Take a message of another place."""
        self._count(value)
        self.mailbox.put(key, value)

    async def fail(self, error: Exception) -> None:
        """End the attempt with the error of another place."""
        self.mailbox.fail(error)

    async def since(self, first: int, seconds: float) -> list[tuple[str, Any]]:
        """Return the events from number ``first`` on; wait for one so many seconds."""
        for _ in range(max(1, int(seconds / 0.01))):
            if len(self.news.events) > first:
                break
            await asyncio.sleep(0.01)
        return self.news.events[first:]

    async def close(self, folder: str) -> None:
        """Remove the partitions of a fit from the disk, and what was made of them: Dask forgets actors late."""
        shutil.rmtree(Path(self.worker.local_directory) / folder, ignore_errors=True)
        self.answers.told.clear()
        self.answers.made.clear()
        self.memory = self.given = None

    # ---- the fit -----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        places = Places(self.index, len(self.actors), self._post, self.attempt, self.answers)
        places.mailbox = self.mailbox
        try:
            with among(places if places.count > 1 else None):
                result = self.program(self)
            self.news.add("done", result if self.index == 0 else None)
        except PlaceLostError:
            self.news.add("lost", None)
        except BaseException as error:
            self.news.add("error", error)
            if self.index:  # the driver listens to place 0
                self.actors[0].fail(error)

    def _post(self, place: int, key: Hashable, value: Any) -> None:
        if place == self.index:
            self.mailbox.put(key, value)
            return
        self._count(value)
        sent = self.actors[place].deliver(key, value)
        self.worker.loop.add_callback(self._watch, sent)

    def _count(self, value: Any) -> None:
        from dask.sizeof import sizeof

        self.moved_bytes += int(sizeof(value))

    async def _watch(self, sent: Any) -> None:
        try:
            await sent
        except Exception as error:
            self.mailbox.fail(PlaceLostError(f"a message could not be delivered: {error}"))
