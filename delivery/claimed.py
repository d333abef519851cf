"""A delivery under lease, with what it takes to send it."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Claimed:
    """One claim: the epoch fences it, `expires` (of the monotonic clock) ends it."""

    delivery_id: uuid.UUID
    event_pk: int
    subscription_id: uuid.UUID
    lane_id: int | None
    lane_seq: int | None
    epoch: int
    tries: int
    created_at: datetime
    due_at: datetime
    is_cancelled: bool
    expires: float
    visit_began: float  # when this pump came to the lane

    is_paused: bool
    event_id: uuid.UUID
    event_type: str
    payload: bytes
    payload_content_type: str
    received_at: datetime
    backoff_schedule: Sequence[int] | None
    method: str
    url: str
    headers: Mapping[str, str]
    secret: uuid.UUID
    timeout_ms: int
    fifo_mode: bool
    fifo_on_exhausted: str
    retry_policy: Mapping[str, Any] | None

    @property
    def blocks(self) -> bool:
        return self.lane_id is not None and self.fifo_on_exhausted == "block"
