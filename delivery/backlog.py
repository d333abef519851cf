"""How much waited, and for how long, once in each slot of ten minutes: what charts are made of."""

from datetime import UTC, datetime

from django.db import connection, transaction

from delivery.models import BacklogSample
from delivery.statements import statement
from delivery.tallies import KEPT, slot_of

MOST_COUNTED = 10_000  # of a subscription


def sample_backlog(*, now: datetime | None = None) -> None:
    """Sample this slot, if nobody has, and forget what is old."""
    moment = now or datetime.now(UTC)
    slot = slot_of(moment)
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        BacklogSample.objects.filter(slot__lt=moment - KEPT).delete()
        if not BacklogSample.objects.filter(slot=slot).exists():
            cursor.execute(statement("sample_backlog"), {"slot": slot, "most": MOST_COUNTED})
