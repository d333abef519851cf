"""How tries end, counted in slots of ten minutes, so that a chart need not read the log."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.db import connection, transaction
from django.db.models import Max

from delivery.models import Tally
from delivery.statements import statement

SLOT = timedelta(minutes=10)
KEPT = timedelta(days=2)
BOUNDS_MS = (10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000)


@dataclass
class Slot:
    """What ended in these ten minutes; `latencies` counts successes by the bound that they were below."""

    at: datetime
    succeeded: int = 0
    failed: int = 0
    latencies: dict[int, int] = field(default_factory=dict)

    @property
    def success_percent(self) -> float | None:
        """How many of a hundred tries succeeded; None without tries."""
        tries = self.succeeded + self.failed
        return 100 * self.succeeded / tries if tries else None

    def add(self, *, succeeded: bool, latency: int, amount: int) -> None:
        if succeeded:
            self.succeeded += amount
            self.latencies[latency] = self.latencies.get(latency, 0) + amount
        else:
            self.failed += amount


def count_tries(*, now: datetime | None = None) -> None:
    """Count what has ended since the last round, and forget what is old."""
    moment = now or datetime.now(UTC)
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        Tally.objects.filter(slot__lt=moment - KEPT).delete()
        last = Tally.objects.aggregate(last=Max("slot"))["last"]
        since = last - SLOT if last else slot_of(moment - KEPT / 2)
        cursor.execute(statement("count_tries"), {"since": since, "bounds": list(BOUNDS_MS)})


def slot_of(moment: datetime) -> datetime:
    """When the ten minutes began that this is in."""
    return moment - timedelta(seconds=moment.timestamp() % SLOT.total_seconds())


def slots_until(now: datetime, *, over: timedelta) -> dict[datetime, Slot]:
    """Empty slots, the oldest first, the last of them under way."""
    last = slot_of(now)
    return {at: Slot(at) for at in (last - SLOT * n for n in reversed(range(over // SLOT)))}


def percentile(latencies: Mapping[int, int], share: float) -> int | None:
    """The bound, in ms, that so great a share of tries was below; None without tries."""
    wanted, seen = share * sum(latencies.values()), 0
    for latency, amount in sorted(latencies.items()):
        seen += amount
        if seen >= wanted:
            return BOUNDS_MS[min(latency, len(BOUNDS_MS) - 1)]
    return None


def added(slots: Iterable[Slot]) -> dict[int, int]:
    """The latencies of several slots as one."""
    total: dict[int, int] = {}
    for slot in slots:
        for latency, amount in slot.latencies.items():
            total[latency] = total.get(latency, 0) + amount
    return total
