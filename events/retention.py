"""Events that are old enough are deleted, but for those that somebody may still want delivered."""

import time
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import connection, transaction

from delivery.statements import statement
from events.models import EventUpkeep
from events.per_day import SQL, midnight_before

BATCH = 1000
ROUND_SECONDS = 1.0  # the jobs of maintenance take turns


def delete_old_events(*, now: datetime | None = None) -> int:
    """Delete events past retention, for a moment; how many. The next round goes on from there.

    Pending deliveries and dead letters keep theirs, and so does a day whose events are not all counted.
    """
    moment = now or datetime.now(UTC)
    deleted, ends = 0, time.monotonic() + ROUND_SECONDS
    while True:
        of_batch, more = _delete_batch(moment - timedelta(days=settings.EVENT_RETENTION_DAYS))
        deleted += of_batch
        if not more or time.monotonic() >= ends:
            return deleted


@transaction.atomic(durable=True)
def _delete_batch(before: datetime) -> tuple[int, bool]:
    """How many events of the next batch were deleted, and whether there is another."""
    upkeep = EventUpkeep.objects.select_for_update().first()
    if upkeep is None:
        return 0, False
    before = min(before, midnight_before(upkeep.counted_until))
    with connection.cursor() as cursor:
        cursor.execute(statement("lock_old_events", SQL), {"after": upkeep.swept_to, "before": before, "most": BATCH})
        old, last, more = cursor.fetchone() or (None, None, False)
        deleted = 0
        if old:
            cursor.execute(statement("delete_events", SQL), {"events": old})
            deleted = cursor.rowcount
    upkeep.swept_to = last if more and last else 0
    upkeep.save(update_fields=["swept_to"])
    return deleted, bool(more)
