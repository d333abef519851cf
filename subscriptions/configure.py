"""Making subscriptions."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from subscriptions.models import Subscription, SubscriptionState, Worker
from subscriptions.problems import TooManySubscriptionsPerApplication
from subscriptions.workers import lock_defaults, pool_of
from tenants.models import Application
from tenants.quotas import limits, require_room

DISABLE_AFTER_HOURS = 120


@transaction.atomic
def create_subscription(*, dedicated_workers: Sequence[Worker] = (), **fields: Any) -> Subscription:
    """A subscription, with the row that the queue keeps of it.

    Where order matters, nobody but a person decides to leave events out: FIFO is not disabled by default.
    """
    if "disable_after_hours" not in fields:
        fields["disable_after_hours"] = None if fields.get("fifo_mode") else DISABLE_AFTER_HOURS
    subscription = Subscription(**fields)
    require_room(
        Application.objects.filter(id=subscription.application_id),
        Subscription.objects.filter(application_id=subscription.application_id, deleted_at=None),
        limits().subscriptions_per_application,
        TooManySubscriptionsPerApplication,
    )
    subscription.save(force_insert=True)
    subscription.dedicated_workers.set(dedicated_workers)
    lock_defaults(subscription.application.organization_id)
    SubscriptionState.objects.create(
        subscription=subscription,
        fifo_mode=subscription.fifo_mode,
        pool=pool_of(subscription, fifo_mode=subscription.fifo_mode),
    )
    return subscription
