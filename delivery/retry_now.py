"""Trying one delivery again now, because somebody asks for it."""

import uuid
from functools import partial

from django.db import transaction
from django.db.models.functions import Least, Now

from delivery import dead_letters, lanes
from delivery.attempt_ids import attempt_id, delivery_id_of
from delivery.attempts import find_ended
from delivery.audit import Operator, record
from delivery.dispatch import ASKED_BY_A_PERSON, dispatch_again, persistently
from delivery.doorbell import ring
from delivery.models import DeadLetter, Lane, Phase, RequestAttempt
from delivery.problems import AttemptConflict
from subscriptions.models import SubscriptionState
from tenants.problems import NotFound


def subscription_of(attempt: uuid.UUID) -> uuid.UUID | None:
    """Whose attempt this is, pending or ended."""
    found = RequestAttempt.objects.filter(id=delivery_id_of(attempt)).first() or find_ended(attempt)
    return found.subscription_id if found else None


def retry_now(attempt: uuid.UUID, *, by: Operator) -> None:
    """What waits for its next try is due now; what has ended, however it did, becomes a new delivery."""
    persistently(partial(_retry, attempt, by))
    ring()


@transaction.atomic(durable=True)
def _retry(attempt: uuid.UUID, by: Operator) -> None:
    pending = RequestAttempt.objects.filter(id=delivery_id_of(attempt)).first()
    if pending is None:
        _deliver_again(attempt, by)
    elif pending.is_cancelled:
        raise AttemptConflict("This delivery was called off.")
    elif pending.lane_id is None:
        _hurry(pending, by)
    else:
        _retry_head(pending, pending.lane_id, by)


def _deliver_again(attempt: uuid.UUID, by: Operator) -> None:
    if DeadLetter.objects.filter(id=delivery_id_of(attempt)).exists():
        dead_letters.put_back(delivery_id_of(attempt), by=by)
        return
    ended = find_ended(attempt)
    if ended is None:
        raise NotFound
    record(by, "retry_attempt", subscription_id=ended.subscription_id, request_attempt_id=str(attempt))
    dispatched = dispatch_again(ended.event_id, only=ended.subscription_id)
    if not dispatched.deliveries:
        raise NotFound("The subscription or the event of this attempt is gone.")


def _hurry(pending: RequestAttempt, by: Operator) -> None:
    """Locked as everywhere: the subscription's state, then the delivery."""
    state = SubscriptionState.objects.filter(subscription_id=pending.subscription_id, fifo_mode=False)
    list(state.select_for_update(no_key=True))
    waiting = RequestAttempt.objects.filter(id=pending.id, lane=None, lease_until=None)
    if not waiting.update(due_at=Now(), priority=ASKED_BY_A_PERSON):
        raise AttemptConflict("This delivery is being sent right now.")
    state.update(ready_at=Least("ready_at", Now()))
    record(by, "retry_attempt", subscription_id=pending.subscription_id, delivery_id=str(pending.id))


def _retry_head(pending: RequestAttempt, lane_id: int, by: Operator) -> None:
    lane = Lane.objects.select_for_update(no_key=True).filter(id=lane_id).first()
    if lane is None or lane.head_seq > (pending.lane_seq or 0):
        raise AttemptConflict("This delivery has just ended, or left its lane: look at it again.")
    if lane.head_seq != pending.lane_seq:
        head = RequestAttempt.objects.get(lane=lane, lane_seq=lane.head_seq)
        number = head.tries + lane.tries + (lane.phase != Phase.RUNNING)
        raise AttemptConflict(f"Its lane is held by the request attempt {attempt_id(head.id, number)}: retry that one.")
    lanes.retry_head(lane_id, by=by)
