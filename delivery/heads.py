"""What stands at the head of a lane, for people: which event, how it has fared, and for how long."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import F, QuerySet

from delivery.attempt_ids import attempt_id
from delivery.models import AttemptLog, Lane, RequestAttempt
from subscriptions.models import Subscription


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
    return find_heads([lane]).get(lane.pk)


def lanes_of_key(key: str) -> QuerySet[Lane]:
    """Served by lane_once_per_key, which is looked into for each FIFO subscription."""
    return Lane.objects.filter(key=key, subscription__in=Subscription.objects.filter(fifo_mode=True, deleted_at=None))


def find_heads(lanes: Iterable[Lane]) -> dict[int, Head]:
    """The heads of several lanes by the lanes' ids, in two looks."""
    by_id = {lane.pk: lane for lane in lanes}
    found = (
        RequestAttempt.objects.filter(lane__in=by_id, lane_seq=F("lane__head_seq"))
        .select_related("event")
        .only("id", "created_at", "lane_id", "lane_seq", "event__event_id", "event__event_type")
    )
    deliveries = [each for each in found if each.lane_seq == by_id[each.lane_id or 0].head_seq]
    tries = AttemptLog.objects.filter(
        event__in=[each.event_id for each in deliveries], delivery_id__in=[each.pk for each in deliveries]
    ).order_by("delivery_id", "-ended_at")
    last = {
        each.delivery_id: each
        for each in tries.distinct("delivery_id").only("delivery_id", "error_name", "http_status", "ended_at")
    }
    return {each.lane_id or 0: _head(by_id[each.lane_id or 0], each, last.get(each.pk)) for each in deliveries}


def _head(lane: Lane, delivery: RequestAttempt, last: AttemptLog | None) -> Head:
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
