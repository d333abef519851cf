"""Changes of a subscription that its queue must follow: pause, resume, mode, key, deletion.

Whatever moves deliveries first locks the subscription's state, which waits for the publishers that are
making deliveries under the old configuration; those that come after see the change and begin anew.
"""

import uuid
from contextlib import suppress

from django.db import connection, transaction
from django.db.models.functions import Now

from delivery.audit import Operator, record
from delivery.models import Lane, RequestAttempt
from delivery.statements import statement
from subscriptions.models import Subscription, SubscriptionState
from tenants.problems import NotFound


@transaction.atomic
def pause(subscription_id: uuid.UUID, *, by: Operator) -> None:
    """Nothing moves, nothing is lost. Lanes are parked as their turn comes; requests in flight end."""
    if Subscription.objects.filter(id=subscription_id, is_paused=False).update(is_paused=True):
        record(by, "pause_subscription", subscription_id=subscription_id)


@transaction.atomic
def resume(subscription_id: uuid.UUID, *, by: Operator) -> None:
    """Go on, in order. The subscription's row is changed before its lanes: none can be parked in between."""
    if not Subscription.objects.filter(id=subscription_id, is_paused=True).update(is_paused=False):
        return
    lanes = _run("unpark", subscription_id)
    SubscriptionState.objects.filter(subscription_id=subscription_id, fifo_mode=False).update(ready_at=Now())
    record(by, "resume_subscription", subscription_id=subscription_id, lanes=lanes)


@transaction.atomic
def change_mode(subscription_id: uuid.UUID, *, fifo_mode: bool, fifo_key: str | None, by: Operator) -> int:
    """Another mode or key; how many pending deliveries were moved.

    Into FIFO, and from one key to another, they are numbered in event order. A request that is in flight
    at this moment may still arrive, and is repeated in its place.
    """
    state = _lock(subscription_id)
    subscription = Subscription.objects.get(id=subscription_id)
    if (subscription.fifo_mode, subscription.fifo_key) == (fifo_mode, fifo_key):
        return 0
    Subscription.objects.filter(id=subscription_id).update(fifo_mode=fifo_mode, fifo_key=fifo_key)
    moved = 0
    if state.fifo_mode:
        moved = _run("unlane", subscription_id)
    if fifo_mode:
        moved = _run("enlane", subscription_id)
    SubscriptionState.objects.filter(subscription_id=subscription_id).update(
        fifo_mode=fifo_mode, in_flight=0, ready_at=None if fifo_mode else Now()
    )
    record(by, "change_mode", subscription_id=subscription_id, fifo_mode=fifo_mode, fifo_key=fifo_key, moved=moved)
    return moved


@transaction.atomic
def delete(subscription_id: uuid.UUID, *, by: Operator) -> int:
    """The subscription goes, with its lanes and its pending work; how many deliveries that were."""
    _lock(subscription_id)
    Subscription.objects.filter(id=subscription_id).update(deleted_at=Now(), is_enabled=False)
    Lane.objects.filter(subscription_id=subscription_id).delete()
    dropped, _ = RequestAttempt.objects.filter(subscription_id=subscription_id).delete()
    SubscriptionState.objects.filter(subscription_id=subscription_id).delete()
    record(by, "delete_subscription", subscription_id=subscription_id, dropped=dropped)
    return dropped


def delete_all(application_id: uuid.UUID) -> int:
    """All subscriptions of an application that is deleted; how many deliveries were dropped.

    Each goes in a transaction of its own. What breaks off in between goes on with the next call, and there will be
    one: `delivery.maintenance` looks for what is left.
    """
    dropped = 0
    by = Operator("hook0", "Its application is deleted")
    left = Subscription.objects.filter(application_id=application_id, deleted_at=None)
    for subscription_id in left.values_list("id", flat=True):
        with suppress(NotFound):  # somebody else was faster
            dropped += delete(subscription_id, by=by)
    return dropped


def _lock(subscription_id: uuid.UUID) -> SubscriptionState:
    state = SubscriptionState.objects.select_for_update().filter(subscription_id=subscription_id).first()
    if state is None:
        raise NotFound
    return state


def _run(name: str, subscription_id: uuid.UUID) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement(name), {"subscription": str(subscription_id)})
        return int((cursor.fetchone() or (0,))[0])
