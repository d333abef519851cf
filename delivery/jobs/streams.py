"""Streams: each has so many places for jobs, and is handed a batch whenever there are jobs for its free ones.

One thread of a process hears of work (`delivery.waking`), and another assigns it, for all the streams of the process. A
stream may be read in any thread. How many of its places are taken is in the table: whoever ends a job frees its place.
"""

import asyncio
import logging
import os
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Protocol, Self

import orjson
from django.db import DatabaseError, InterfaceError, connection

from delivery.database import connect
from delivery.jobs.job import Assigned, Job
from delivery.statements import execute, statement
from delivery.waking import Connection, Waker

logger = logging.getLogger(__name__)

SQL = Path(__file__).parent / "sql"
FLOOR_SECONDS = 30.0  # words are lost with their connection alone, so this is for what nobody thought of
NOT_HANDED_OUT = "The stream ended before this job was handed out."


class Source(Protocol):
    """What a stream asks of its queue."""

    id: uuid.UUID

    def assign(self, assignee: str, *, tags: Sequence[str], most: int, stream: uuid.UUID) -> Assigned: ...

    def give_back(self, ids: Sequence[str], *, stream: uuid.UUID, error: str) -> None: ...


class Stream:
    """An iterator of batches of jobs that were assigned. It ends when it is closed, and raises what went wrong."""

    def __init__(self, source: Source, assignee: str, tags: Sequence[str], most: int) -> None:
        self.id = uuid.uuid4()
        self.on_change: Callable[[], None] = lambda: None
        self.queue_id = source.id
        self._source, self._assignee, self._tags, self._most = source, assignee, set(tags), most
        self._changed = threading.Condition()
        self._batches: deque[list[Job]] = deque()
        self._is_full = self._is_over = False
        self._is_due = True
        self._error: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> list[Job]:
        with self._changed:
            self._changed.wait_for(lambda: self._batches or self._is_over)
            return self._take()

    def take(self) -> list[Job]:
        """The next batch if there is one: else none, and at the end StopIteration."""
        with self._changed:
            return self._take() if self._batches or self._is_over else []

    def put_back(self, jobs: list[Job]) -> None:
        """These were taken, but did not get to their worker."""
        with self._changed:
            self._batches.appendleft(jobs)

    def end(self, error: Exception | None = None) -> None:
        """Let its reader come to the end. At once: the rest is left to `close`."""
        with self._changed:
            self._is_over = True
            self._error = self._error or error
            self._tell()

    def close(self, error: Exception | None = None) -> None:
        """What was assigned and not handed out goes back, and can be assigned to others."""
        _hub(os.getpid()).remove(self)
        self.end(error)
        with self._changed:
            left = [job for batch in self._batches for job in batch]
            self._batches.clear()
        self._give_back(left)

    # --- said by the thread that hears, and the one that assigns

    def hear(self, told: str) -> bool:
        """Whether there may be work now; of what it has no place for, a stream takes no notice."""
        with self._changed:
            if told:
                word = orjson.loads(told)
                if str(self.id) in word["streams"]:
                    self._is_full = False
                elif self._is_full or not any(self._tags <= set(tags) for tags in word["tags"]):
                    return False
            is_news = not self._is_due
            self._is_due = True
            return is_news

    def fill(self) -> bool:
        """Have jobs assigned to the free places; whether there may be more."""
        with self._changed:
            self._is_due = False
        assigned = self._source.assign(self._assignee, tags=sorted(self._tags), most=self._most, stream=self.id)
        with self._changed:
            self._is_full = assigned.is_full and not self._is_due  # a place may have been freed since
            if not self._is_over and assigned.jobs:
                self._batches.append(assigned.jobs)
                self._tell()
                return not self._is_full
        self._give_back(assigned.jobs)
        return False

    def _take(self) -> list[Job]:
        if self._batches and not self._is_over:
            return self._batches.popleft()
        if self._error:
            raise self._error
        raise StopIteration

    def _tell(self) -> None:
        self._changed.notify_all()
        self.on_change()

    def _give_back(self, jobs: list[Job]) -> None:
        if not jobs:
            return
        try:
            self._source.give_back([job.id for job in jobs], stream=self.id, error=NOT_HANDED_OUT)
        except (DatabaseError, InterfaceError) as problem:
            connection.close()
            logger.warning("Jobs of a stream that ended stay assigned until their leases end: %s", problem)


class Hub:
    """The streams of this process. Its threads run while there are any."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: dict[Stream, None] = {}
        self._wakes: dict[Stream, Callable[[str], None]] = {}
        self._waker: Waker | None = None

    def add(self, stream: Stream) -> None:
        with self._changed:
            if self._waker is None:
                self._waker = Waker(partial(connect, name="hook0 job streams"), Floor())
                threading.Thread(target=self._assign, args=[self._waker], name="job streams", daemon=True).start()
            self._wakes[stream] = partial(self._hear, stream)
            self._waker.add(str(stream.queue_id), self._wakes[stream])
            self._due[stream] = None
            self._changed.notify_all()

    def remove(self, stream: Stream) -> None:
        with self._changed:
            wake = self._wakes.pop(stream, None)
            if wake is None or self._waker is None:
                return
            self._due.pop(stream, None)
            self._waker.remove(str(stream.queue_id), wake)
            if not self._wakes:
                self._waker = None  # its threads end by themselves
                self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            streams = list(self._wakes)
        for stream in streams:
            stream.end()

    def _hear(self, stream: Stream, told: str) -> None:
        if stream.hear(told):
            with self._changed:
                self._due[stream] = None
                self._changed.notify_all()

    def _assign(self, waker: Waker) -> None:
        """Fill the streams that are due, in turns, until there are none any more."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._due or self._waker is not waker)
                if self._waker is not waker:
                    break
                stream = next(iter(self._due))
                del self._due[stream]
            try:
                goes_on = stream.fill()
            except Exception as problem:  # whatever it is, it ends the stream and is told to its reader
                connection.close()
                stream.close(problem)
                continue
            if goes_on:
                with self._changed:
                    if stream in self._wakes:
                        self._due[stream] = None
        connection.close()
        waker.close()


class Floor:
    """Which queues have jobs: asked when a connection begins to listen, and now and then."""

    def __init__(self) -> None:
        self._asked: Connection | None = None
        self._next = 0.0

    def __call__(self, on: Connection, queues: Sequence[str]) -> list[str]:
        if on is self._asked and time.monotonic() < self._next:
            return []
        self._asked, self._next = on, time.monotonic() + FLOOR_SECONDS
        return [queue for (queue,) in execute(on, statement("queues_with_jobs", SQL), {"queues": list(queues)})]


@cache
def _hub(_process: int) -> Hub:
    """Threads do not survive a fork."""
    return Hub()


def end_streams() -> None:
    """Let all readers of this process come to their ends."""
    _hub(os.getpid()).end()


def open_stream(stream: Stream) -> None:
    """Let it have jobs from now on."""
    _hub(os.getpid()).add(stream)


class AsyncStream:
    """A stream that is read in an event loop: with `async with` and `async for`."""

    def __init__(self, open_: Callable[[], Stream]) -> None:
        self._open = open_
        self._stream: Stream
        self._is_open = self._is_over = False

    async def __aenter__(self) -> Self:
        self._loop, self._changed = asyncio.get_running_loop(), asyncio.Event()
        self._stream = self._open()
        self._stream.on_change = self._tell
        self._is_open = True
        if self._is_over:
            self._stream.end()
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(asyncio.to_thread(self._stream.close))

    def __aiter__(self) -> Self:
        return self

    def put_back(self, jobs: list[Job]) -> None:
        """These were taken, but did not get to their worker."""
        self._stream.put_back(jobs)

    def end(self) -> None:
        """Let its reader come to the end, from whatever thread, and even before it has begun."""
        self._is_over = True
        if self._is_open:
            self._stream.end()

    async def __anext__(self) -> list[Job]:
        while True:
            self._changed.clear()
            try:
                batch = self._stream.take()
            except StopIteration:
                raise StopAsyncIteration from None
            if batch:
                return batch
            await self._changed.wait()

    def _tell(self) -> None:
        with suppress(RuntimeError):  # the loop has ended, and nobody waits
            self._loop.call_soon_threadsafe(self._changed.set)
