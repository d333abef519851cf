"""What an operator can do to a lane.

Each verb locks the lane, takes a new epoch, so that a request still in flight changes nothing any more
when it ends, and is put on the record.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now

from delivery.audit import Operator, record
from delivery.models import Lane, Phase, RequestAttempt
from delivery.problems import LaneConflict
from delivery.statements import run, statement
from tenants.problems import NotFound

CLEARED_AT_A_TIME = 5000


def retry_head(lane_id: int, *, by: Operator) -> None:
    """Try the head now, with all its retries before it again. Unblocks a blocked lane."""
    with _acting_on(lane_id, "retry", by) as lane:
        _require_work(lane)
        if lane.phase == Phase.RUNNING:
            raise LaneConflict("The head is being sent right now.")
        _renew_tries(lane)
        _settle(lane)


def skip_head(lane_id: int, *, by: Operator) -> None:
    """Give the head up and go on with the next. It is kept as a dead letter."""
    with _acting_on(lane_id, "skip", by) as lane:
        _require_work(lane)
        _bury_head(lane)
        _advance(lane, lane.head_seq + 1)


def skip_to(lane_id: int, number: int, *, by: Operator) -> int:
    """Give up everything before this number; how many. They are kept as dead letters."""
    with _acting_on(lane_id, "skip_to", by, number=number) as lane:
        if not lane.head_seq < number <= lane.tail_seq + 1:
            raise LaneConflict(f"The number must be from {lane.head_seq + 1} to {lane.tail_seq + 1}.")
        skipped = number - lane.head_seq
        _bury_head(lane)
        _advance(lane, number)
    clear(lane_id, keep=True)
    return skipped


def purge(lane_id: int, *, by: Operator) -> int:
    """Throw away everything that waits; how many. Nothing is kept of it but the record of this."""
    with _acting_on(lane_id, "purge", by) as lane:
        purged = lane.tail_seq + 1 - lane.head_seq
        _advance(lane, lane.tail_seq + 1)
    clear(lane_id, keep=False)
    return purged


def clear(lane_id: int, *, keep: bool) -> None:
    """Take away what the lane's head has passed, in short transactions; whether it is kept as dead letters.

    The lane has gone on meanwhile: a million deliveries are passed at once, and taken away one batch after the other.
    """
    batch = {"lane": lane_id, "most": CLEARED_AT_A_TIME, "keep": keep}
    while run("clear_lane", batch)[0][0] == CLEARED_AT_A_TIME:
        pass


def pause(lane_id: int, *, by: Operator) -> None:
    """Stop after the request in flight, if there is one."""
    with _acting_on(lane_id, "pause", by, fence=False) as lane:
        lane.is_paused = True
        if lane.phase not in {Phase.RUNNING, Phase.BLOCKED}:
            lane.phase, lane.ready_at = Phase.PAUSED, None


def resume(lane_id: int, *, by: Operator) -> None:
    """Go on after a pause. A lane that was blocked before stays blocked."""
    with _acting_on(lane_id, "resume", by, fence=False) as lane:
        lane.is_paused = False
        if lane.phase == Phase.PAUSED:
            _settle(lane)


def reset(lane_id: int, *, by: Operator) -> None:
    """Let go of whatever holds the lane: lease, block, pause and tries. The head is sent again at once."""
    with _acting_on(lane_id, "reset", by) as lane:
        lane.is_paused = False
        _renew_tries(lane)
        _settle(lane)


def retry_blocked(subscription_id: uuid.UUID, *, over_seconds: float, by: Operator) -> int:
    """Try the heads of all blocked lanes of a subscription again, spread over a while; how many."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement("retry_blocked"), {"subscription": str(subscription_id), "over": over_seconds})
        retried = int(cursor.rowcount)
        record(by, "retry_blocked", subscription_id=subscription_id, lanes=retried)
    return retried


@contextmanager
def _acting_on(lane_id: int, action: str, by: Operator, *, fence: bool = True, **details: int) -> Iterator[Lane]:
    """The lane under its lock; saved and put on the record at the end."""
    with transaction.atomic():
        lane = Lane.objects.select_for_update(no_key=True).filter(id=lane_id).first()
        if lane is None:
            raise NotFound
        told: dict[str, Any] = {"phase": Phase(lane.phase).name.lower(), "head_seq": lane.head_seq}
        told |= {"tail_seq": lane.tail_seq, **details}
        yield lane
        if fence:
            lane.epoch = _next_epoch()
        lane.updated_at = Now()
        lane.save()
        record(by, action, subscription_id=lane.subscription_id, lane_id=lane.pk, **told)


def _require_work(lane: Lane) -> None:
    if lane.head_seq > lane.tail_seq:
        raise LaneConflict("Nothing waits in this lane.")


def _bury_head(lane: Lane) -> None:
    """Keep it as a dead letter, with the tries that the lane has counted."""
    with connection.cursor() as cursor:
        cursor.execute(statement("bury"), {"lane": lane.pk, "number": lane.head_seq, "tries": lane.tries})


def _advance(lane: Lane, head_seq: int) -> None:
    """Move the head: the one place beside record_lanes.sql where a lane advances. `clear` takes away what it passes."""
    lane.head_seq = head_seq
    _forget_head(lane)
    _settle(lane)


def _renew_tries(lane: Lane) -> None:
    """Count the head's tries from 0 again. Their numbers go on: no two of a delivery have the same."""
    RequestAttempt.objects.filter(lane=lane, lane_seq=lane.head_seq).update(tries=F("tries") + lane.tries)
    lane.tries, lane.since = 0, None


def _forget_head(lane: Lane) -> None:
    lane.tries, lane.since, lane.current_request_attempt_id = 0, None, None


def _settle(lane: Lane) -> None:
    """Free of any lease or block: paused, empty, or ready now."""
    lane.lease_until = lane.ready_at = None
    if lane.is_paused:
        lane.phase = Phase.PAUSED
    elif lane.head_seq > lane.tail_seq:
        lane.phase = Phase.EMPTY
    else:
        lane.phase, lane.ready_at = Phase.WAITING, Now()


def _next_epoch() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT new_epoch()")
        return int((cursor.fetchone() or (0,))[0])
