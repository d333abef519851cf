"""Bulk loads become deliveries: some events per transaction, in the order of the load, so that it may stop anywhere.

The cursor and the counts move in the transaction that makes the deliveries: what breaks off goes on where it was, and
does nothing twice. Loads take turns, and the row of each is locked while it moves, so two workers never move the same.
"""

import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now

from delivery.dispatch import BACKFILL, dispatch, persistently
from delivery.doorbell import ring
from events import hooks
from events.models import BulkLoad, BulkLoadChunk, ReleasePace
from events.pace import Allowance
from events.watch import LOOK_SECONDS, Clock, pace_of, watch

AT_A_TIME = 200  # deliveries of one transaction: publishers wait for it where it has locked their lanes
AT_FIRST = 10  # events, while it is not known how many deliveries they make
LOADS_AT_A_TIME = 20
TICK_SECONDS = 0.5  # each step costs live deliveries something; its own are due one after the other until the next
MOST_WAIT_SECONDS = 0.2
BURST_SECONDS = 2.0  # what a rate makes up for when maintenance was busy with something else
SHORT_BURST_SECONDS = 1.0
CHUNKS_OF_A_STREAM = 1000  # are kept, so that what is pending of them can be called off
MOVING = [BulkLoad.State.READY, BulkLoad.State.RELEASING]
MOVED = ["state", "stage", "released_chunks", "released_of_chunk", "released_until", "events_released", "deliveries"]


def work(*, stopping: Callable[[], bool]) -> None:
    """Release until nothing may go for now, or it is time to stop. Who was moved on longest ago is next."""
    moving = BulkLoad.objects.filter(state__in=MOVING).exclude(is_stream=True, released_chunks=F("chunks"))
    loads = moving.order_by("moved_at").values_list("id", "per_second")
    look_at = 0.0
    while not stopping() and (found := list(loads[:LOADS_AT_A_TIME])):
        if time.monotonic() >= look_at and any(per_second is None for _, per_second in found):
            watch()
            look_at = time.monotonic() + LOOK_SECONDS
        waits = [persistently(partial(_move_on, load_id)) for load_id, _ in found]
        known = [wait for wait in waits if wait is not None]
        if not known:
            return
        time.sleep(min(known))


@transaction.atomic(durable=True)
def _move_on(load_id: uuid.UUID) -> float | None:
    """Release as many events of a load as may go now; seconds until more may, or None if that is not known."""
    rows = BulkLoad.objects.select_for_update(no_key=True, skip_locked=True, of=("self",)).annotate(now=Clock())
    load = rows.filter(id=load_id, state__in=MOVING).first()
    if load is None:
        return None
    if load.released_chunks == load.chunks:
        if not load.is_stream:
            _finish(load)
        return None
    shared = None
    if load.per_second is None:
        shared = ReleasePace.objects.select_for_update(no_key=True, skip_locked=True).first()
        if shared is None or pace_of(shared).is_calm:
            return None
    now = load.now.timestamp()
    allowance = _allowance(load, shared, now)
    allowed, most = allowance.room(now), _most_at_a_time(load)
    least = min(most, max(1, int(allowance.per_second * TICK_SECONDS)))
    if allowed < least:
        return min(MOST_WAIT_SECONDS, (least - allowed) / allowance.per_second)
    _need_not_wait_for_the_disk()
    events, deliveries = _release(load, min(most, allowed), apart=1 / allowance.per_second)
    used_until = datetime.fromtimestamp(allowance.use(events, now), UTC)
    if shared is None:
        load.released_until = used_until
    else:
        shared.released_until = used_until
        shared.released += events
        shared.deliveries += deliveries
        shared.save(update_fields=["released_until", "released", "deliveries"])
    load.moved_at = Now()
    load.save(update_fields=[*MOVED, "moved_at"])
    return 0.0


def _need_not_wait_for_the_disk() -> None:
    """What a crash takes away it takes together: the deliveries and the cursor that has passed them."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")


def _allowance(load: BulkLoad, shared: ReleasePace | None, now: float) -> Allowance:
    """What is left of the load's own rate, or of the one that it shares. Who begins may do a step."""
    if shared is None:
        per_second, used_until, burst = float(load.per_second or 0), load.released_until, BURST_SECONDS
    else:
        per_second, used_until, burst = pace_of(shared).per_second, shared.released_until, SHORT_BURST_SECONDS
    if used_until is None:
        return Allowance(per_second, now - TICK_SECONDS - 1 / per_second, burst)
    return Allowance(per_second, used_until.timestamp(), burst)


def _most_at_a_time(load: BulkLoad) -> int:
    if not load.events_released:
        return AT_FIRST
    return max(1, AT_A_TIME * load.events_released // max(load.events_released, load.deliveries))


def _release(load: BulkLoad, most: int, *, apart: float) -> tuple[int, int]:
    """Make the deliveries of the next events, and move the cursor; how many events and deliveries that were.

    It locks lanes, then states, each in id order, as publishers do; nothing but the counts is written behind it.
    """
    first, number = load.released_of_chunk, load.released_chunks
    chunk = BulkLoadChunk.objects.filter(load=load, number=number)
    size, events = chunk.values_list("events__len", f"events__{first}_{first + most}").get()
    dispatched = dispatch(events, priority=BACKFILL, apart=apart)
    load.state, load.stage = BulkLoad.State.RELEASING, "releasing"
    load.events_released += len(events)
    load.deliveries += dispatched.deliveries
    load.released_of_chunk += len(events)
    if load.released_of_chunk >= (size or 0):
        load.released_chunks, load.released_of_chunk = number + 1, 0
        if load.is_stream:
            BulkLoadChunk.objects.filter(load=load, number=number - CHUNKS_OF_A_STREAM).delete()
    transaction.on_commit(partial(hooks.ingested, "bulk", ["created"] * len(events)))
    if dispatched.deliveries and not dispatched.expected:
        transaction.on_commit(ring)
    return len(events), dispatched.deliveries


def _finish(load: BulkLoad) -> None:
    load.state, load.stage, load.finished_at = BulkLoad.State.DONE, "released", Now()
    load.save(update_fields=["state", "stage", "finished_at"])
