"""All streams of a process: who is woken when there is work, and what each holds.

Everything here happens in one event loop. The database is asked in a few threads, and only when there may be work: what
an idle stream costs is its connection.
"""

import asyncio
import logging
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from django.db import InterfaceError, OperationalError, close_old_connections, connections

from delivery.pull import Pulled, give_back, leased_until
from delivery.stream import Held, Stream, Terms
from delivery.waking import Waker

logger = logging.getLogger(__name__)

T = TypeVar("T")

THREADS = 4  # that ask the database for all streams
PAUSE_SECONDS = 1.0  # while it does not answer
REMEMBERED = 10_000  # deliveries of streams that have ended, for consumers that come back


@dataclass(eq=False)
class _Room:
    """The streams of one subscription; those with nothing to do stand in line for work."""

    hear: Callable[[str], object]
    streams: set[Stream] = field(default_factory=set)
    line: OrderedDict[Stream, None] = field(default_factory=OrderedDict)


class Streams:
    """Opens streams, and lets them know of work and of ends."""

    def __init__(self, waker: Waker) -> None:
        self._waker = waker
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="streams")
        self._rooms: dict[uuid.UUID, _Room] = {}
        self._ended: OrderedDict[str, Held] = OrderedDict()

    def open(self, terms: Terms) -> Stream:
        return Stream(self, terms)

    def end(self) -> None:
        """Let all of them come to their ends."""
        for room in self._rooms.values():
            for stream in room.streams:
                stream.end()

    def close(self) -> None:
        """Each thread closes its connection: a task that waits for the others keeps it from taking another's, too."""
        self._waker.close()
        everyone = threading.Barrier(THREADS)
        for _ in range(THREADS):
            self._threads.submit(_leave, everyone)
        self._threads.shutdown()

    async def ask(self, question: Callable[[], T], otherwise: T) -> T:
        """The answer to a question to the database; `otherwise` while that is away."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, _ask, question)
        except (OperationalError, InterfaceError) as problem:
            logger.warning("The database does not answer, streams ask again in a moment: %s", problem)
            await asyncio.sleep(PAUSE_SECONDS)
            return otherwise

    async def join(self, stream: Stream) -> None:
        key = stream.terms.subscription_id
        if key not in self._rooms:
            loop = asyncio.get_running_loop()
            self._rooms[key] = _Room(lambda told: loop.call_soon_threadsafe(self._hear, key, told))
            self._waker.add(str(key), self._rooms[key].hear)
        self._rooms[key].streams.add(stream)
        await self._take_over(stream)

    async def leave(self, stream: Stream, unsent: Sequence[Pulled]) -> None:
        key, held = stream.terms.subscription_id, stream.held
        room = self._rooms[key]
        room.streams.discard(stream)
        self.leave_line(stream)
        self._remember(held)
        if unsent:
            await self.ask(partial(give_back, list(unsent)), None)
        self._wake(key)
        if not room.streams and self._rooms.get(key) is room:
            del self._rooms[key]
            self._waker.remove(str(key), room.hear)

    async def recount(self, held: Held) -> None:
        """Forget the leases that have ended, and learn of those that were extended."""
        receipts = [each.pulled.receipt for each in held.assigned.values()]
        known = {receipt: each.until for receipt, each in zip(receipts, held.assigned.values(), strict=True)}
        until = await self.ask(partial(leased_until, held.subscription_id, receipts), known)
        for each in list(held.assigned.values()):
            if each.pulled.receipt in until:
                each.until = until[each.pulled.receipt]
            elif each.pulled.receipt in known:
                del held.assigned[each.pulled.claimed.delivery_id]

    def wait_in_line(self, stream: Stream) -> None:
        self._rooms[stream.terms.subscription_id].line[stream] = None

    def leave_line(self, stream: Stream) -> None:
        self._rooms[stream.terms.subscription_id].line.pop(stream, None)

    def wake_another(self, stream: Stream) -> None:
        """There may be more than one stream takes at once."""
        if line := self._rooms[stream.terms.subscription_id].line:
            line.popitem(last=False)[0].wake()

    def _hear(self, key: uuid.UUID, told: str) -> None:
        """There may be work; and these deliveries have ended."""
        ended = {uuid.UUID(each) for each in told.split()}
        for stream in self._rooms[key].streams if ended and key in self._rooms else ():
            for each in ended & stream.held.assigned.keys():
                del stream.held.assigned[each]
                stream.wake()
        self._wake(key)

    def _wake(self, key: uuid.UUID) -> None:
        """The one that is idle for longest is enough, unless it might not want what has come. Where none is idle, those
        that look for work right now look again: they may have looked too early."""
        room = self._rooms.get(key)
        if not room:
            return
        if room.line and not any(stream.terms.wanted.is_choosy for stream in room.streams):
            room.line.popitem(last=False)[0].wake()
        else:
            for stream in room.streams:
                stream.wake()

    async def _take_over(self, stream: Stream) -> None:
        """A consumer that comes back keeps what it has seen. What was sent later was lost on the way: it is due."""
        last_id, _, place = stream.terms.last_event_id.partition("-")
        left = self._find(last_id, stream) if place.isdecimal() else None
        if left is None:
            return
        stream.held = left  # it goes on under the same id: the last one that the consumer knows stays good
        await self.recount(left)
        lost = [each for each in left.assigned.values() if each.place > int(place)]
        for each in lost:
            del left.assigned[each.pulled.claimed.delivery_id]
        await self.ask(partial(give_back, [each.pulled for each in lost]), None)

    def _find(self, held_id: str, stream: Stream) -> Held | None:
        """What a stream of the same subscription holds, or held: one that is still open ends now."""
        for other in self._rooms[stream.terms.subscription_id].streams:
            if other.held.id == held_id:
                other.end()
                taken, other.held = other.held, Held(uuid.uuid4().hex, other.held.subscription_id)
                return taken
        held = self._ended.pop(held_id, None)
        return held if held and held.subscription_id == stream.terms.subscription_id else None

    def _remember(self, held: Held) -> None:
        if held.assigned:
            self._ended[held.id] = held
        now, kept = datetime.now(UTC), sum(len(each.assigned) for each in self._ended.values())
        for old in list(self._ended.values()):
            if kept <= REMEMBERED and any(each.until > now for each in old.assigned.values()):
                break
            kept -= len(old.assigned)
            del self._ended[old.id]


def _leave(everyone: threading.Barrier) -> None:
    everyone.wait()
    connections.close_all()


def _ask(question: Callable[[], T]) -> T:
    close_old_connections()
    return question()
