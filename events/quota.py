"""How many events an application may send a day, where quotas are enforced."""

import uuid
from pathlib import Path

from django.conf import settings
from django.db import connection

from delivery.statements import statement
from events.problems import TooManyEventsToday

SQL = Path(__file__).parent / "sql"


def spend(application_id: uuid.UUID, amount: int) -> None:
    """Take so many events off today's quota, in the transaction that stores them; refuse them if it has not enough."""
    if not settings.QUOTAS_ENFORCED:
        return
    with connection.cursor() as cursor:
        cursor.execute(statement("count_events", SQL), {"application": str(application_id), "amount": amount})
        (spent,) = cursor.fetchone() or (0,)
    if spent > settings.EVENTS_PER_DAY:
        raise TooManyEventsToday
