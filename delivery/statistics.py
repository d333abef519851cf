"""How many deliveries there are, and how they fare."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from delivery.statements import run


@dataclass(frozen=True)
class Counts:
    """Of one subscription. `pending` waits, also for a retry; `running` is being sent, or leased to a consumer."""

    subscription_id: uuid.UUID
    pending: int
    running: int
    dead: int
    total: int
    retries: int  # of all of these, the first tries left out


def count_deliveries(
    application_id: uuid.UUID, *, subscription_id: uuid.UUID | None = None, labels: Mapping[str, str] | None = None
) -> list[Counts]:
    """Of each subscription of an application, or of one; of all events, or of those that carry all of these labels."""
    asked = {
        "application": str(application_id),
        "subscription": subscription_id and str(subscription_id),
        "labels": orjson.dumps(labels).decode() if labels else None,
    }
    return [Counts(*row) for row in run("count_deliveries", asked)]
