"""One consumer that stays connected: it is sent deliveries up to its capacity, and more as those end."""

import asyncio
import time
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol, TypeVar

from delivery.pull import Pulled, Wanted, poll
from subscriptions.models import Subscription

T = TypeVar("T")

AT_ONCE = 10  # deliveries that are leased before they are sent
PING_SECONDS = 15.0
CHECK_SECONDS = 60.0  # until it is looked whether the consumer is still allowed to have its stream
RECOUNT_SECONDS = 10.0  # at its capacity: for the case that the word of an end was lost


@dataclass(frozen=True)
class Terms:
    """What a consumer asks of its stream."""

    subscription_id: uuid.UUID
    max_assigned: int
    wanted: Wanted
    is_allowed: Callable[[], bool]
    last_event_id: str = ""


@dataclass
class Assigned:
    """A delivery that was sent and has not ended: its place in the stream, and the known end of its lease."""

    pulled: Pulled  # without its payload
    place: int
    until: datetime


@dataclass(eq=False)
class Held:
    """What a stream holds. It outlives the connection, for a consumer that comes back."""

    id: str
    subscription_id: uuid.UUID
    assigned: dict[uuid.UUID, Assigned] = field(default_factory=dict)
    last_place: int = 0

    def assign(self, pulled: Pulled) -> str:
        """The delivery's id in the stream."""
        self.last_place += 1
        kept = pulled._replace(claimed=pulled.claimed._replace(payload=b""))
        self.assigned[pulled.claimed.delivery_id] = Assigned(kept, self.last_place, pulled.lease_until)
        return f"{self.id}-{self.last_place}"


class Company(Protocol):
    """What a stream knows of the others of its process (delivery.streams)."""

    async def join(self, stream: "Stream") -> None: ...
    async def leave(self, stream: "Stream", unsent: Sequence[Pulled]) -> None: ...
    async def recount(self, held: Held) -> None: ...
    def wait_in_line(self, stream: "Stream") -> None: ...
    def leave_line(self, stream: "Stream") -> None: ...
    def wake_another(self, stream: "Stream") -> None: ...
    def ask(self, question: Callable[[], T], otherwise: T) -> Coroutine[Any, Any, T]: ...


class Stream:
    """The deliveries of one connection, for as long as somebody iterates over them."""

    def __init__(self, company: Company, terms: Terms) -> None:
        self.terms = terms
        self.held = Held(uuid.uuid4().hex, terms.subscription_id)
        self.is_over = False
        self._company = company
        self._woken = asyncio.Event()
        self._unsent: deque[Pulled] = deque()
        self._leasing: asyncio.Future[list[Pulled] | None] | None = None

    @property
    def room(self) -> int:
        return self.terms.max_assigned - len(self.held.assigned)

    def wake(self) -> None:
        self._woken.set()

    def end(self) -> None:
        """Let it come to its end by itself: what it had not sent is given back."""
        self.is_over = True
        self.wake()

    async def deliveries(self) -> AsyncGenerator[tuple[str, Pulled] | None, None]:
        """Each with its id in the stream; and None at the beginning, and when there was none for a while."""
        ping_at = time.monotonic()
        check_at = ping_at + CHECK_SECONDS
        try:
            await self._company.join(self)
            while not self.is_over:
                now = time.monotonic()
                if now >= check_at:
                    check_at = now + CHECK_SECONDS
                    if not await self._company.ask(self.terms.is_allowed, True):
                        break
                if now >= ping_at:
                    ping_at = now + PING_SECONDS
                    yield None
                if self.room > 0 and await self._lease():
                    while self._unsent and not self.is_over:
                        pulled = self._unsent.popleft()
                        yield self.held.assign(pulled), pulled
                    ping_at = time.monotonic() + PING_SECONDS
                else:
                    await self._wait(ping_at - time.monotonic())
        finally:
            try:
                if self._leasing:  # this was cancelled meanwhile
                    self._unsent.extend(await self._leasing or ())
            finally:
                await self._company.leave(self, self._unsent)

    async def _lease(self) -> bool:
        """Whether there is something to send now."""
        self._woken.clear()
        most = min(self.room, AT_ONCE)
        nothing: list[Pulled] | None = []
        self._leasing = asyncio.ensure_future(self._company.ask(partial(_poll, self.terms, most), nothing))
        pulled = await asyncio.shield(self._leasing)
        self._leasing = None
        if pulled is None:
            self.is_over = True
        self._unsent.extend(pulled or ())
        if len(self._unsent) == most:
            self._company.wake_another(self)
        return bool(self._unsent)

    async def _wait(self, seconds: float) -> None:
        """Until there may be something to do, or for so long."""
        if self.is_over:
            return
        is_full = self.room <= 0
        if is_full:
            first = min(each.until for each in self.held.assigned.values())
            seconds = min(seconds, RECOUNT_SECONDS, max(0.1, (first - datetime.now(UTC)).total_seconds()))
        else:
            self._company.wait_in_line(self)
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds)):
                await self._woken.wait()
        self._company.leave_line(self)
        if is_full and self.room <= 0 and not self.is_over:
            self._woken.clear()
            await self._company.recount(self.held)


def _poll(terms: Terms, most: int) -> list[Pulled] | None:
    """None when there is nothing to be had any more: the subscription is gone, or its deliveries are sent."""
    subscription = Subscription.objects.filter(id=terms.subscription_id, deleted_at=None).first()
    if subscription is None or not subscription.pulls:
        return None
    return poll(subscription, most=most, wanted=terms.wanted)
