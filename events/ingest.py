"""The one way in: events are stored and become deliveries in one statement."""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial

import orjson
from django.conf import settings
from django.db import transaction

from delivery.dispatch import Dispatched, Stored, persistently, publish
from delivery.doorbell import ring
from events.quota import spend
from events.together import Together


@dataclass(frozen=True)
class NewEvent:
    """An event that has been checked."""

    event_id: uuid.UUID
    event_type: str
    payload: bytes
    payload_content_type: str
    labels: dict[str, str]
    metadata: dict[str, str]
    occurred_at: datetime
    ordering_key: str | None = None
    priority: int = 100
    deliver_at: datetime | None = None
    backoff_schedule: list[int] | None = None
    keys_if_undelivered: list[list[str]] | None = None
    ip: str | None = None
    traceparent: str | None = None
    tracestate: str | None = None


class Fate(StrEnum):
    CREATED = "created"
    DUPLICATE = "duplicate"
    UNKNOWN_TYPE = "unknown type"


@dataclass(frozen=True)
class Ingested:
    event_id: uuid.UUID
    fate: Fate
    received_at: datetime | None


def ingest(application_id: uuid.UUID, events: Sequence[NewEvent]) -> list[Ingested]:
    """Store events and make their deliveries, in order. When this returns, both are durable."""
    ingested, dispatched = persistently(partial(_publish, application_id, events))
    if dispatched.deliveries and not dispatched.expected:
        ring()
    return ingested


# The same for one event, in one transaction with those that come at the same time.
ingest_one: Together[uuid.UUID, NewEvent, Ingested] = Together(ingest)


def _publish(application_id: uuid.UUID, events: Sequence[NewEvent]) -> tuple[list[Ingested], Dispatched]:
    with transaction.atomic(durable=True) if settings.QUOTAS_ENFORCED else nullcontext():
        stored, dispatched = store(application_id, events)
        ingested = list(_fates(stored))
        if settings.QUOTAS_ENFORCED:
            spend(application_id, sum(each.fate is Fate.CREATED for each in ingested))
    return ingested, dispatched


def _fates(stored: Sequence[Stored]) -> Iterator[Ingested]:
    created = set()
    for each in stored:
        if not each.known:
            fate = Fate.UNKNOWN_TYPE
        elif each.pk is None or each.pk in created:  # sent before, or earlier in this batch
            fate = Fate.DUPLICATE
        else:
            fate = Fate.CREATED
            created.add(each.pk)
        yield Ingested(each.event_id, fate, each.received_at)


def store(application_id: uuid.UUID, events: Sequence[NewEvent]) -> tuple[list[Stored], Dispatched]:
    """Hand events on in two parameters: ten times cheaper than a list of values for each."""
    without_payloads = orjson.dumps(events, default=_is_no_json).decode()
    return publish(application_id, without_payloads, [event.payload for event in events])


def _is_no_json(_payload: bytes) -> None:
    return None
