"""Which lanes hold back what comes behind, and why."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from django.db import connection

from delivery.models import Phase
from delivery.retry import policy_for
from delivery.statements import statement
from monitoring.snapshot import SQL

NOT_ASKED_FOR = "no consumer asks"


@dataclass(frozen=True)
class HeldLane:
    """A lane, and its head that the others wait for."""

    application_id: uuid.UUID
    subscription_id: uuid.UUID
    lane_id: int
    key: str
    phase: str
    why: str
    depth: int
    delivery_id: uuid.UUID | None
    event_id: uuid.UUID | None
    request_attempt_id: uuid.UUID | None
    retry_count: int
    max_retries: int
    since: datetime
    seconds: float
    ready_at: datetime | None


def held_lanes(*, seconds: float = 0.0, most: int = 100, subscription: uuid.UUID | None = None) -> list[HeldLane]:
    """Those that have been held for at least so long, longest first."""
    parameters = {"seconds": seconds, "most": most, "subscription": subscription}
    with connection.cursor() as cursor:
        cursor.execute(statement("held_lanes", SQL), parameters)
        columns = [column.name for column in cursor.description or ()]
        return [_lane(dict(zip(columns, row, strict=True))) for row in cursor.fetchall()]


def _lane(row: dict[str, Any]) -> HeldLane:
    phase = Phase(row.pop("phase"))
    own, backoff_schedule = row.pop("retry_policy"), row.pop("backoff_schedule")
    policy = policy_for(fifo=True, own=orjson.loads(own or "null"), backoff_schedule=backoff_schedule)
    why = _why(phase, has_failed=row.pop("has_failed"), is_pulled=row.pop("is_pulled"))
    return HeldLane(**row, phase=phase.name.lower(), why=why, max_retries=policy.max_tries - 1)


def _why(phase: Phase, *, has_failed: bool, is_pulled: bool) -> str:
    if phase == Phase.BLOCKED:
        return "retries used up"
    if phase == Phase.PAUSED:
        return "paused"
    if has_failed:
        return "retrying"
    return NOT_ASKED_FOR if is_pulled else "no pump takes it"
