"""Changes of a subscription that its queue must follow: pause, resume, mode, key, workers, limits, target, deletion.

Whatever moves deliveries first locks the subscription's state, which waits for the publishers that are
making deliveries under the old configuration; those that come after see the change and begin anew.
"""

import uuid
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models.functions import Now

from delivery.audit import Operator, record
from delivery.models import JobQueue, Lane, RequestAttempt
from delivery.statements import statement
from subscriptions.models import OrganizationWorker, Subscription, SubscriptionState, Worker
from subscriptions.workers import lock_defaults, pool_of
from tenants.problems import NotFound

OF_A_DELETED_APPLICATION = Operator("hook0", "Its application is deleted")

# What the record tells of an edit beside the names of what was changed: targets and headers may hold credentials.
_TOLD = ("is_enabled", "is_paused", "fifo_mode", "fifo_key")


@transaction.atomic
def edit(subscription_id: uuid.UUID, fields: Mapping[str, Any], *, by: Operator) -> int:
    """Change columns of a subscription, or its `dedicated_workers`; how many pending deliveries had to be moved.

    They are moved by another mode or key: into lanes they are numbered in event order. A request that is in flight
    at this moment may still arrive, and is repeated in its place.

    Rows are locked in one order: the organization, the state, the subscription, its lanes. The subscription's row is
    changed before its lanes, so that none can be parked in between.
    """
    _lock_organization_of(subscription_id)
    state = _lock(subscription_id)
    before = Subscription.objects.select_for_update(no_key=True).get(id=subscription_id)
    after = copy(before)
    columns = fields.keys() - {"dedicated_workers"}
    for name in columns:
        setattr(after, name, fields[name])
    changed = {name for name in columns if getattr(before, name) != getattr(after, name)}
    is_enabled_again = after.is_enabled and not before.is_enabled
    if is_enabled_again:
        after.disabled_reason = ""
    after.save()
    if "dedicated_workers" in fields and set(after.dedicated_workers.all()) != set(fields["dedicated_workers"]):
        after.dedicated_workers.set(fields["dedicated_workers"])
        changed.add("dedicated_workers")

    is_reordered = _order_of(before) != _order_of(after)
    moved = _change_mode(state, after) if is_reordered else 0
    _change_pool(state)
    closes_circuit = is_enabled_again or bool(changed & {"target_type", "method", "url", "headers"})
    if closes_circuit:
        _close_circuit(state)
    if "rate_limit" in changed:
        state.next_token_at = None
    state.ready_at = None if state.fifo_mode else Now()  # what it waited for may be over
    state.save()
    if before.is_paused and not after.is_paused:
        _run("unpark", subscription_id)
    if (closes_circuit or "rate_limit" in changed) and not is_reordered:  # new lanes wait for what is in flight
        _run("hurry_lanes", subscription_id)
    if changed:
        told = {name: getattr(after, name) for name in _TOLD if name in changed}
        record(by, "edit_subscription", subscription_id=subscription_id, changed=sorted(changed), moved=moved, **told)
    return moved


def _order_of(subscription: Subscription) -> tuple[bool, str | None]:
    """What decides which lanes there are. Without order, a key means nothing."""
    return subscription.fifo_mode, subscription.fifo_key if subscription.fifo_mode else None


def _change_mode(state: SubscriptionState, subscription: Subscription) -> int:
    """Move what is pending into other lanes, or out of them.

    The caller saves the state as a new row: publishers that wait for the old one have read the old key. They find it
    gone, and begin anew.
    """
    moved = _run("unlane", state.pk) if state.fifo_mode else 0
    if subscription.fifo_mode:
        moved = _run("enlane", state.pk, pool=pool_of(subscription, fifo_mode=True))
    SubscriptionState.objects.filter(pk=state.pk).delete()
    state.fifo_mode, state.in_flight = subscription.fifo_mode, 0
    return moved


def _close_circuit(state: SubscriptionState) -> None:
    """Another endpoint, or one that somebody believes in again, deserves a fresh chance."""
    state.failures = state.trips = 0
    state.failing_since = state.allowance = state.circuit_until = state.probe_until = None


@transaction.atomic
def rotate_secret(subscription_id: uuid.UUID, *, overlap_seconds: float, by: Operator) -> Subscription:
    """A new signing secret. The old one signs along for a while; one that was still signing along does no more."""
    subscription = Subscription.objects.select_for_update(no_key=True).get(id=subscription_id)
    subscription.previous_secret = subscription.secret if overlap_seconds else None
    subscription.previous_secret_until = Now() + timedelta(seconds=overlap_seconds) if overlap_seconds else None
    subscription.secret = uuid.uuid4()
    subscription.save(update_fields=["secret", "previous_secret", "previous_secret_until", "updated_at"])
    record(by, "rotate_secret", subscription_id=subscription_id, overlap_seconds=overlap_seconds)
    subscription.refresh_from_db()
    return subscription


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
        state.pool = pool
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


def delete_all(application_id: uuid.UUID, *, by: Operator = OF_A_DELETED_APPLICATION) -> int:
    """All subscriptions and job queues of an application that is deleted; how many deliveries were dropped.

    Each subscription goes in a transaction of its own. What breaks off in between goes on with the next call, and there
    will be one: `delivery.maintenance` looks for what is left.
    """
    dropped = 0
    left = Subscription.objects.filter(application_id=application_id, deleted_at=None)
    for subscription_id in left.values_list("id", flat=True):
        with suppress(NotFound):  # somebody else was faster
            dropped += delete(subscription_id, by=by)
    JobQueue.objects.filter(application_id=application_id).delete()
    return dropped


def _lock_organization_of(subscription_id: uuid.UUID) -> None:
    """Nobody chooses another default worker while we follow the old one."""
    found = Subscription.objects.filter(id=subscription_id).values_list("application__organization_id", flat=True)
    if organization_id := found.first():
        lock_defaults(organization_id)


def _lock(subscription_id: uuid.UUID) -> SubscriptionState:
    state = SubscriptionState.objects.select_for_update().filter(subscription_id=subscription_id).first()
    if state is None:
        raise NotFound
    return state


def _run(name: str, subscription_id: uuid.UUID, **parameters: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement(name), {"subscription": str(subscription_id), **parameters})
        return int((cursor.fetchone() or (0,))[0])
