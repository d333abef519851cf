"""Who did what to the queue, and why."""

import uuid
from typing import Any

from delivery.models import OperatorAction
from subscriptions.models import Subscription
from tenants.principal import Operator

__all__ = ["Operator", "record"]


def record(
    by: Operator,
    action: str,
    *,
    application_id: uuid.UUID | None = None,
    subscription_id: uuid.UUID | None = None,
    lane_id: int | None = None,
    **details: Any,
) -> None:
    """Put an action on the record, in the transaction that carries it out. A subscription tells the application."""
    if subscription_id and not application_id:
        application_id = Subscription.objects.values_list("application_id", flat=True).get(id=subscription_id)
    OperatorAction.objects.create(
        application_id=application_id,
        actor=by.name,
        action=action,
        reason=by.reason,
        subscription_id=subscription_id,
        lane_id=lane_id,
        details=details,
    )
