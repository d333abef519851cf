"""Plain functions that make what a test needs; every field can be overridden."""

import itertools
import uuid
from datetime import UTC, datetime
from typing import Any, cast

from events.ingest import Columns, Ingested, NewEvent, ingest
from subscriptions.configure import create_subscription
from subscriptions.models import Subscription
from tenants.models import Application, EventType, Organization

EVENT_TYPE = "billing.invoice.paid"
_numbers = itertools.count(1)


def make_application(**overrides: Any) -> Application:
    organization = overrides.pop("organization", None) or Organization.objects.create(name="Acme")
    application = Application.objects.create(**{"organization": organization, "name": "Shop", **overrides})
    make_event_type(application)
    return application


def make_event_type(application: Application, name: str = EVENT_TYPE) -> EventType:
    service, resource_type, verb = name.rsplit(".", 2)
    return EventType.objects.create(application=application, service=service, resource_type=resource_type, verb=verb)


def make_subscription(application: Application, **overrides: Any) -> Subscription:
    fields = {
        "application": application,
        "event_types": [EVENT_TYPE],
        "labels": {"shop": "1"},
        "url": "http://127.0.0.1:9/",
        **overrides,
    }
    return create_subscription(**fields)


def make_fifo(application: Application, **overrides: Any) -> Subscription:
    return make_subscription(application, **{"fifo_mode": True, **overrides})


def new_event(**overrides: Any) -> NewEvent:
    fields = {
        "event_id": uuid.uuid4(),
        "event_type": EVENT_TYPE,
        "payload": b'{"number": %d}' % next(_numbers),
        "payload_content_type": "application/json",
        "labels": {"shop": "1"},
        "occurred_at": datetime.now(UTC),
        **overrides,
    }
    event_id = fields.pop("event_id")
    return NewEvent.of(fields.pop("payload"), cast("Columns", fields), event_id)


def publish(application: Application, count: int = 1, **overrides: Any) -> list[Ingested]:
    """Ingest `count` events in one batch."""
    return ingest(application.id, [new_event(**overrides) for _ in range(count)])
