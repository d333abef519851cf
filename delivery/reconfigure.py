"""Changes of a subscription that its queue must follow: pause, resume, mode, key, workers, deletion.

Whatever moves deliveries first locks the subscription's state, which waits for the publishers that are
making deliveries under the old configuration; those that come after see the change and begin anew.
"""

import uuid
from collections.abc import Sequence
from contextlib import suppress

from django.db import connection, transaction
from django.db.models.functions import Now

from delivery.audit import Operator, record
from delivery.models import Lane, RequestAttempt
from delivery.statements import statement
from subscriptions.models import OrganizationWorker, Subscription, SubscriptionState, Worker
from subscriptions.workers import lock_defaults, pool_of
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
        moved = _run("enlane", subscription_id, pool=pool_of(subscription, fifo_mode=True))
    SubscriptionState.objects.filter(subscription_id=subscription_id).update(
        fifo_mode=fifo_mode, in_flight=0, ready_at=None if fifo_mode else Now()
    )
    record(by, "change_mode", subscription_id=subscription_id, fifo_mode=fifo_mode, fifo_key=fifo_key, moved=moved)
    return moved


@transaction.atomic
def assign_workers(subscription_id: uuid.UUID, workers: Sequence[Worker], *, by: Operator) -> None:
    """From now on these workers send, or without any those of the organization. What is in flight ends where it is."""
    state = _lock(subscription_id)
    Subscription.objects.get(id=subscription_id).dedicated_workers.set(workers)
    _change_pool(state)
    record(by, "assign_workers", subscription_id=subscription_id, workers=[worker.name for worker in workers])


@transaction.atomic
def choose_default_worker(organization_id: uuid.UUID, worker: Worker | None, *, by: Operator) -> int:
    """The worker of all the organization's subscriptions that name none of their own; how many those are."""
    lock_defaults(organization_id)
    links = OrganizationWorker.objects.filter(organization=organization_id)
    links.update(is_default=False)
    if worker is not None:
        links.update_or_create(organization_id=organization_id, worker=worker, defaults={"is_default": True})
    followers = SubscriptionState.objects.select_for_update(of=("self",)).filter(
        subscription__application__organization=organization_id, subscription__dedicated_workers=None
    )
    states = list(followers.order_by("subscription_id"))
    for state in states:
        _change_pool(state)
    name = worker and worker.name
    record(by, "choose_default_worker", organization_id=str(organization_id), worker=name, subscriptions=len(states))
    return len(states)


def _change_pool(state: SubscriptionState) -> None:
    """Let the pool follow the subscription's workers. The state is locked: lanes that are made later read it there."""
    pool = pool_of(state.subscription, fifo_mode=state.fifo_mode)
    if pool != state.pool:
        SubscriptionState.objects.filter(pk=state.pk).update(pool=pool)
        _run("change_pool", state.pk, pool=pool)


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


def _run(name: str, subscription_id: uuid.UUID, **parameters: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement(name), {"subscription": str(subscription_id), **parameters})
        return int((cursor.fetchone() or (0,))[0])
