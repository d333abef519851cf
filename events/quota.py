"""How many events an application may send a day, where quotas are enforced."""

import uuid
from pathlib import Path

from django.conf import settings

from delivery.statements import run
from events.problems import TooManyEventsToday

SQL = Path(__file__).parent / "sql"


def spend(application_id: uuid.UUID, amount: int) -> None:
    """Take so many events off today's quota, in the transaction that stores them; refuse them if it has not enough."""
    if not amount:
        return
    ((spent,),) = run("count_events", {"application": str(application_id), "amount": amount}, SQL)
    if spent > settings.EVENTS_PER_DAY:
        raise TooManyEventsToday
