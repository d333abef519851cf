"""A stream in an event loop."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from delivery.jobs.job import Job
from delivery.jobs.stream import Stream


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

    @property
    def is_over(self) -> bool:
        return self._is_over or (self._is_open and self._stream.is_over)

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
