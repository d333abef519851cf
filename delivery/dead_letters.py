"""Deliveries that were given up: send them again, or let them go. And work that is called off before it is sent."""

import uuid
from collections import defaultdict
from collections.abc import Iterable
from functools import partial

from django.db import transaction
from django.db.models import QuerySet

from delivery.audit import Operator, record
from delivery.dispatch import Dispatched, dispatch_again, persistently
from delivery.doorbell import ring
from delivery.models import DeadLetter, RequestAttempt
from delivery.statements import run
from tenants.problems import NotFound

BATCH = 1000


def requeue(dead_letter_id: uuid.UUID, *, by: Operator) -> None:
    """A new delivery of the event to its subscription: at the tail of its lane, or before what is ordinary."""
    if not persistently(partial(put_back, dead_letter_id, by=by)).expected:
        ring()


@transaction.atomic
def put_back(dead_letter_id: uuid.UUID, *, by: Operator) -> Dispatched:
    """Requeue inside a transaction of the caller's, who begins anew if another has crossed it, and rings at its end."""
    letter = DeadLetter.objects.select_for_update().filter(id=dead_letter_id).first()
    if letter is None:
        raise NotFound
    dispatched = dispatch_again(letter.event_id, only=letter.subscription_id)
    if not dispatched.deliveries:
        raise NotFound("The subscription or the event of this dead letter is gone.")
    letter.delete()
    record(by, "requeue", subscription_id=letter.subscription_id, dead_letter_id=str(dead_letter_id))
    return dispatched


@transaction.atomic
def delete(dead_letter_id: uuid.UUID, *, by: Operator) -> None:
    """Let one go for good."""
    letter = DeadLetter.objects.filter(id=dead_letter_id).first()
    if letter is None:
        raise NotFound
    letter.delete()
    record(by, "delete_dead_letter", subscription_id=letter.subscription_id, dead_letter_id=str(dead_letter_id))


def purge(letters: QuerySet[DeadLetter], *, by: Operator) -> int:
    """Let all of these go for good, in short transactions; how many. One that is just requeued is left alone."""
    purged = 0
    while batch := _purge_some(letters, by):
        purged += batch
    return purged


@transaction.atomic
def _purge_some(letters: QuerySet[DeadLetter], by: Operator) -> int:
    locked = letters.select_for_update(of=("self",), skip_locked=True).values_list("subscription_id", "id")
    found = list(locked[:BATCH])
    DeadLetter.objects.filter(id__in=[letter for _, letter in found]).delete()
    for subscription_id, ids in _by_subscription(found).items():
        record(by, "purge_dead_letters", subscription_id=subscription_id, purged=len(ids))
    return len(found)


def cancel(pending: QuerySet[RequestAttempt], *, by: Operator) -> int:
    """Call these deliveries off, in short transactions; how many. In a lane they leave, unsent, when their turn comes:
    at once, where it has come already and the lane waits for a retry of theirs, or is blocked by them.

    One that is being sent right now may arrive, but it is not tried again.
    """
    cancelled, live = 0, pending.filter(is_cancelled=False).order_by("id")
    batch = persistently(partial(_cancel_some, live, by))
    while batch:
        cancelled += len(batch)
        persistently(partial(run, "free_lanes", {"deliveries": batch}))
        batch = persistently(partial(_cancel_some, live.filter(id__gt=batch[-1]), by))
    return cancelled


@transaction.atomic
def _cancel_some(live: QuerySet[RequestAttempt], by: Operator) -> list[uuid.UUID]:
    found = list(live.select_for_update(of=("self",), no_key=True).values_list("subscription_id", "id")[:BATCH])
    cancelled = [delivery for _, delivery in found]
    RequestAttempt.objects.filter(id__in=cancelled).update(is_cancelled=True)
    for subscription_id, ids in _by_subscription(found).items():
        record(by, "cancel", subscription_id=subscription_id, deliveries=[str(each) for each in ids])
    return cancelled


def _by_subscription(found: Iterable[tuple[uuid.UUID, uuid.UUID]]) -> dict[uuid.UUID, list[uuid.UUID]]:
    grouped: dict[uuid.UUID, list[uuid.UUID]] = defaultdict(list)
    for subscription_id, each in found:
        grouped[subscription_id].append(each)
    return grouped
