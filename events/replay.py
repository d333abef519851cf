"""Sending an event again."""

import uuid
from functools import partial

from django.db import transaction

from delivery.audit import Operator, record
from delivery.dispatch import dispatch_again, persistently
from delivery.doorbell import ring
from events.models import Event
from tenants.problems import NotFound


def replay(application_id: uuid.UUID, event_id: uuid.UUID, *, only: uuid.UUID | None = None, by: Operator) -> None:
    """New deliveries of an event, to every subscription that wants it now, or to `only` one whatever it wants."""
    persistently(partial(_replay, application_id, event_id, only, by))
    ring()


@transaction.atomic(durable=True)
def _replay(application_id: uuid.UUID, event_id: uuid.UUID, only: uuid.UUID | None, by: Operator) -> None:
    event = Event.objects.filter(application_id=application_id, event_id=event_id).only("pk").first()
    if event is None:
        raise NotFound
    record(by, "replay", application_id=application_id, subscription_id=only, event_id=str(event_id))
    dispatch_again(event.pk, only=only)
