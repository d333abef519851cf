"""How many events came in on a day: a job counts them up to a moment ago, and who asks counts what came in since."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from django.db import connection, transaction

from delivery.statements import statement
from events.models import Event, EventUpkeep

SQL = Path(__file__).parent / "sql"
DAY = timedelta(days=1)
# What an ingest stored is seen when it commits. A day is counted once more when the longest have, and then it is final.
SETTLES = timedelta(minutes=1)
DAY_SETTLES = timedelta(hours=1)


@dataclass(frozen=True)
class DayCount:
    """The events of an application on a day, in UTC; provisional as long as the number may still change."""

    application_id: uuid.UUID
    application_name: str
    date: date
    amount: int
    is_provisional: bool


def events_per_day(application_ids: Sequence[uuid.UUID], *, first: date, last: date) -> list[DayCount]:
    """The days that had events, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            statement("events_per_day", SQL), {"applications": list(application_ids), "first": first, "last": last}
        )
        return [DayCount(*row) for row in cursor.fetchall()]


def count_events(*, now: datetime | None = None) -> None:
    """Count what came in since the last time."""
    moment = now or datetime.now(UTC)
    while _close_a_day(moment):
        pass
    _count_on(moment)


@transaction.atomic(durable=True)
def _close_a_day(moment: datetime) -> bool:
    """Count a whole day that has settled, if there is one."""
    upkeep = _upkeep(moment)
    midnight = midnight_before(upkeep.counted_until) + DAY
    if moment < midnight + DAY_SETTLES:
        return False
    _count(midnight - DAY, midnight, upkeep, whole=True)
    return True


@transaction.atomic(durable=True)
def _count_on(moment: datetime) -> None:
    upkeep, until = _upkeep(moment), moment - SETTLES
    if upkeep.counted_until < until < midnight_before(upkeep.counted_until) + DAY:
        _count(upkeep.counted_until, until, upkeep, whole=False)


def _count(since: datetime, until: datetime, upkeep: EventUpkeep, *, whole: bool) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement("count_day", SQL), {"since": since, "until": until, "whole": whole})
    upkeep.counted_until = until
    upkeep.save(update_fields=["counted_until"])


def _upkeep(moment: datetime) -> EventUpkeep:
    """The one row, locked: jobs that overlap count nothing twice."""
    if not EventUpkeep.objects.exists():
        first = Event.objects.order_by("id").values_list("received_at", flat=True).first()
        EventUpkeep.objects.get_or_create(id=1, defaults={"counted_until": midnight_before(first or moment)})
    return EventUpkeep.objects.select_for_update().get()


def midnight_before(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
