"""A delivery under lease, with what it takes to send it."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from subscriptions.models import Subscription


class Claimed(NamedTuple):
    """One claim: the epoch fences it. `leased_at` and `visit_began` are of the monotonic clock.

    A tuple, because every delivery makes one: with so many fields, a frozen dataclass takes six times as long.
    """

    leased_at: float
    visit_began: float  # when this pump came to the lane

    lane_id: int | None
    lane_seq: int | None
    delivery_id: uuid.UUID
    event_pk: int
    subscription_id: uuid.UUID
    epoch: int
    tries: int  # that the retry policy counts, this one included
    try_number: int  # no two tries of a delivery have the same
    created_at: datetime
    due_at: datetime
    is_cancelled: bool
    wait: float  # seconds to put it off: its event is delayed, or nobody may send to its endpoint now

    event_id: uuid.UUID
    event_type: str
    payload: bytes
    payload_content_type: str
    received_at: datetime
    deliver_at: datetime | None  # its sender wants it no sooner
    backoff_schedule: Sequence[int] | None
    traceparent: str | None
    tracestate: str | None

    application_id: uuid.UUID
    is_paused: bool
    method: str
    url: str
    headers: Mapping[str, str]
    secret: uuid.UUID
    previous_secret: uuid.UUID | None  # signs along, while receivers change theirs
    timeout_ms: int
    fifo_mode: bool
    fifo_on_exhausted: str
    retry_policy: Mapping[str, Any] | None
    limited: bool  # by a rate, or by a circuit that is not closed
    failing: bool  # the last answer of the endpoint was an outage

    is_probe: bool = False  # the one request that tries whether the endpoint is back

    @property
    def asks(self) -> bool:
        """Whether a permit is needed before it is sent."""
        return self.limited and not (self.wait or self.is_cancelled or self.is_paused)

    @property
    def blocks(self) -> bool:
        return self.lane_id is not None and self.fifo_on_exhausted == "block"


def wants(subscription: Subscription) -> tuple[Any, ...]:
    """The part of a claim that a subscription decides, for consumers that pull: nothing is sent, nothing is limited."""
    return (
        subscription.application_id, subscription.is_paused, subscription.method, subscription.url,
        subscription.headers, subscription.secret, None, subscription.timeout_ms, subscription.fifo_mode,
        subscription.fifo_on_exhausted, subscription.retry_policy, False, False,
    )  # fmt: skip
