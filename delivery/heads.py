"""What stands at the head of a lane, for people: which event, how it has fared, and for how long."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

from delivery.attempt_ids import attempt_id
from delivery.models import AttemptLog, Lane, RequestAttempt


@dataclass(frozen=True)
class Head:
    """The delivery that is next; `request_attempt_id` is that of its last try, or of its first one to come."""

    delivery_id: uuid.UUID
    request_attempt_id: uuid.UUID
    event_id: uuid.UUID
    event_type: str
    created_at: datetime
    age_seconds: float
    tries: int
    last_error: str | None
    last_http_status: int | None
    last_tried_at: datetime | None


def find_head(lane: Lane) -> Head | None:
    """None if nothing waits, or if the head has left since the lane was read."""
    delivery = (
        RequestAttempt.objects.filter(lane=lane, lane_seq=lane.head_seq)
        .select_related("event")
        .only("id", "created_at", "event__event_id", "event__event_type")
        .first()
    )
    if delivery is None:
        return None
    tries = AttemptLog.objects.filter(event_id=delivery.event_id, delivery_id=delivery.pk)
    last = tries.order_by("-ended_at").only("error_name", "http_status", "ended_at").first()
    return Head(
        delivery_id=delivery.pk,
        request_attempt_id=attempt_id(delivery.pk, max(lane.tries, 1)),
        event_id=delivery.event.event_id,
        event_type=delivery.event.event_type,
        created_at=delivery.created_at,
        age_seconds=round((datetime.now(UTC) - delivery.created_at).total_seconds(), 3),
        tries=lane.tries,
        last_error=last.error_name if last else None,
        last_http_status=last.http_status if last else None,
        last_tried_at=last.ended_at if last else None,
    )
