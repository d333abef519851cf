"""What a bulk load leaves behind when it is over: its chunks, and, of a cancelled one, what was never released.

A chunk per transaction, so that it may stop anywhere; when none is left, the load is tidy.
"""

from collections.abc import Callable, Sequence

from django.db import connection, transaction
from django.db.models import F
from psycopg import sql

from delivery.audit import Operator
from delivery.dead_letters import cancel
from delivery.dispatch import BACKFILL
from delivery.models import RequestAttempt
from delivery.statements import statement
from delivery.transactions import in_passing
from events.models import BulkLoad, BulkLoadChunk, Event
from events.per_day import SQL

CANCELLED = BulkLoad.State.CANCELLED


def tidy(*, stopping: Callable[[], bool]) -> None:
    """Remove what is left of loads that are over, until nothing is or it is time to stop."""
    over = BulkLoad.objects.filter(state__in=[BulkLoad.State.DONE, CANCELLED], is_tidy=False)
    for load in over.order_by("finished_at"):
        while not stopping() and _remove_a_chunk(load):
            pass
        if not stopping():
            _close(load)


@transaction.atomic
def _remove_a_chunk(load: BulkLoad) -> bool:
    """The last chunk that nobody holds; whether there was one. Locked before the load's row, as who merges it does."""
    chunks = BulkLoadChunk.objects.select_for_update(skip_locked=True).filter(load=load)
    chunk = chunks.order_by("-number").first()
    if chunk is None:
        return False
    events = chunk.events or []
    ahead = chunk.number - load.released_chunks  # of the cursor, which stays where it is now
    released = len(events) if ahead < 0 else load.released_of_chunk if ahead == 0 else 0
    if load.calls_off:
        by = Operator("hook0", f"The bulk load {load.pk} was cancelled")
        cancel(RequestAttempt.objects.filter(event__in=events[:released], priority=BACKFILL), by=by)
    if load.state == CANCELLED:
        gone = _delete(events[released:])
        BulkLoad.objects.filter(id=load.pk).update(
            events_count=F("events_count") - gone, rows_merged=F("rows_merged") - gone
        )
    chunk.delete()
    return True


def _delete(events: Sequence[int]) -> int:
    """Delete events, but for those that somebody has replayed meanwhile; how many."""
    list(Event.objects.select_for_update().filter(id__in=events).values_list("id").order_by("id"))
    with connection.cursor() as cursor:
        cursor.execute(statement("delete_events", SQL), {"events": list(events)})
        return int(cursor.rowcount)


def _close(load: BulkLoad) -> None:
    """Drop its staging table, unless Spark is still at it: then the next round does."""
    with in_passing() as cursor:
        if load.staging:
            table = sql.Identifier("bulk_load_stage", load.staging)
            cursor.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
        if not BulkLoadChunk.objects.filter(load=load).exists():
            stage = "cancelled" if load.state == CANCELLED else load.stage
            BulkLoad.objects.filter(id=load.pk).update(is_tidy=True, staging="", stage=stage)
