"""The streams of a process: one thread hears of work (`delivery.waking`), and another assigns it, for all of them."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache, partial

from django.db import connection

from delivery.database import connect
from delivery.jobs.rows import SQL
from delivery.jobs.stream import Stream
from delivery.statements import execute, statement
from delivery.waking import Connection, Waker

FLOOR_SECONDS = 30.0  # words are lost with their connection alone, so this is for what nobody thought of


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
            stream.on_close = partial(self.remove, stream)
            stream.on_read = partial(self._fill_again, stream)
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
            self._fill_again(stream)

    def _fill_again(self, stream: Stream) -> None:
        with self._changed:
            if stream in self._wakes:
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
                self._fill_again(stream)
        connection.close()
        waker.close()


class Floor:
    """Which queues have jobs, or are gone: asked when a connection begins to listen, and now and then."""

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
