"""Deliveries that were given up: send them again, or let them go. And work that is called off before it is sent."""

import uuid
from collections.abc import Sequence

from django.db import transaction

from delivery.audit import Operator, record
from delivery.dispatch import dispatch_again
from delivery.models import DeadLetter, RequestAttempt
from tenants.problems import NotFound


def requeue(dead_letter_id: uuid.UUID, *, by: Operator) -> None:
    """A new delivery of the event to its subscription: at the tail of its lane, or before what is ordinary."""
    with transaction.atomic():
        letter = DeadLetter.objects.select_for_update().filter(id=dead_letter_id).first()
        if letter is None:
            raise NotFound
        dispatched = dispatch_again(letter.event_id, only=letter.subscription_id)
        if not dispatched.deliveries:
            raise NotFound("The subscription or the event of this dead letter is gone.")
        letter.delete()
        record(by, "requeue", subscription_id=letter.subscription_id, dead_letter_id=str(dead_letter_id))


def delete(dead_letter_id: uuid.UUID, *, by: Operator) -> None:
    """Let one go for good."""
    with transaction.atomic():
        letter = DeadLetter.objects.filter(id=dead_letter_id).first()
        if letter is None:
            raise NotFound
        letter.delete()
        record(by, "delete_dead_letter", subscription_id=letter.subscription_id, dead_letter_id=str(dead_letter_id))


def purge(subscription_ids: Sequence[uuid.UUID], *, by: Operator) -> int:
    """Let all of these subscriptions go for good; how many."""
    with transaction.atomic():
        purged, _ = DeadLetter.objects.filter(subscription_id__in=subscription_ids).delete()
        record(by, "purge_dead_letters", subscriptions=[str(each) for each in subscription_ids], purged=purged)
    return purged


def cancel(delivery_ids: Sequence[uuid.UUID], *, by: Operator) -> int:
    """Call pending deliveries off; how many. In a lane they leave, unsent, when their turn comes.

    One that is being sent right now may arrive, but it is not tried again.
    """
    with transaction.atomic():
        cancelled = RequestAttempt.objects.filter(id__in=delivery_ids, is_cancelled=False).update(is_cancelled=True)
        record(by, "cancel", deliveries=[str(each) for each in delivery_ids], cancelled=cancelled)
    return cancelled
