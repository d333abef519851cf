"""Who did what to the queue, and why."""

import uuid
from typing import Any

from delivery.models import OperatorAction
from tenants.principal import Operator

__all__ = ["Operator", "record"]


def record(
    by: Operator, action: str, *, subscription_id: uuid.UUID | None = None, lane_id: int | None = None, **details: Any
) -> None:
    """Put an action on the record, in the transaction that carries it out."""
    OperatorAction.objects.create(
        actor=by.name,
        action=action,
        reason=by.reason,
        subscription_id=subscription_id,
        lane_id=lane_id,
        details=details,
    )
