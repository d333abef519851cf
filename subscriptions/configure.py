"""Making subscriptions."""

from typing import Any

from django.db import transaction

from subscriptions.models import Subscription, SubscriptionState


@transaction.atomic
def create_subscription(**fields: Any) -> Subscription:
    """A subscription, with the row that the queue keeps of it."""
    subscription = Subscription.objects.create(**fields)
    SubscriptionState.objects.create(subscription=subscription, fifo_mode=subscription.fifo_mode)
    return subscription
