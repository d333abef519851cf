"""Making subscriptions."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from subscriptions.models import Subscription, SubscriptionState, Worker
from subscriptions.problems import TooManySubscriptionsPerApplication
from subscriptions.workers import lock_defaults, pool_of
from tenants.audit import note
from tenants.models import Application
from tenants.principal import Operator
from tenants.quotas import limits, require_room

DISABLE_AFTER_HOURS = 120
MAX_IN_FLIGHT = 32
MAX_LEASED = 1_000


def patience(*, fifo_mode: bool) -> int | None:
    """The usual `disable_after_hours`. Where order matters, nobody but a person decides to leave events out."""
    return None if fifo_mode else DISABLE_AFTER_HOURS


def appetite(target_type: str) -> int:
    """The usual `max_in_flight`: consumers that pull know best how much they can hold."""
    return MAX_LEASED if target_type == Subscription.TargetType.PULL else MAX_IN_FLIGHT


@transaction.atomic
def create_subscription(
    *, dedicated_workers: Sequence[Worker] = (), by: Operator | None = None, **fields: Any
) -> Subscription:
    """A subscription, with the row that the queue keeps of it."""
    fields.setdefault("disable_after_hours", patience(fifo_mode=fields.get("fifo_mode", False)))
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
    note(by, "create_subscription", application_id=subscription.application_id, subscription_id=subscription.pk)
    return subscription
