"""Bulk loads as Spark leaves them, and their release, step by step."""

import time
from datetime import UTC, datetime, timedelta

from django.db.models.functions import Now

from delivery.models import RequestAttempt
from events import leftovers, release
from events.models import BulkLoad, BulkLoadChunk, Event

FAST = 1_000_000


def make_load(application, events=5, *, chunk=3, **overrides):
    """A load whose events are in the reverse order of their keys, in chunks, as it is when all of it is merged."""
    keys = [
        Event.objects.create(
            application=application, event_type="billing.invoice.paid", payload=b"1", payload_content_type="text/plain",
            labels={"shop": "1"}, occurred_at=datetime.now(UTC), priority=30, ordering_key=str(n % 2),
        ).pk
        for n in range(events)
    ][::-1]  # fmt: skip
    fields = {
        "state": "ready", "events_count": events, "rows_merged": events, "rows_read": events, "progress": 100,
        "per_second": FAST, "chunks": -(-events // chunk), **overrides,
    }  # fmt: skip
    load = BulkLoad.objects.create(application=application, **fields)
    for number in range(fields["chunks"]):
        BulkLoadChunk.objects.create(
            load=load, number=number, until_occurred_at=datetime.now(UTC), until_place=0,
            events=keys[number * chunk : (number + 1) * chunk],
        )  # fmt: skip
    return BulkLoad.objects.get(pk=load.pk), keys


def go(seconds=20.0):
    """Release until nothing is left to do, or for so long."""
    ends = time.monotonic() + seconds
    release.work(stopping=lambda: time.monotonic() > ends)


def step(load):
    """One step of a load that is allowed one."""
    BulkLoad.objects.filter(pk=load.pk).update(released_until=Now() - timedelta(seconds=1))
    return release._move_on(load.pk)


def steps(load, count):
    for _ in range(count):
        step(load)
    load.refresh_from_db()


def tidy():
    leftovers.tidy(stopping=lambda: False)


def lane_order():
    return list(RequestAttempt.objects.order_by("lane_id", "lane_seq").values_list("event_id", flat=True))
