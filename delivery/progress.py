"""How far consumers say they have come with what they hold."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import orjson

from delivery.attempt_ids import delivery_id_of
from delivery.models import AttemptProgress
from delivery.receipts import Receipt
from delivery.statements import run

_SAID = ("percent", "stage", "events_count")
KEPT = timedelta(days=1)  # after the last report


@dataclass(frozen=True)
class Progress:
    """What a consumer says of a lease; what it leaves out stays as it was."""

    receipt: Receipt
    percent: int | None = None
    stage: str | None = None
    events_count: int | None = None


def report(subscription_id: uuid.UUID, reports: Sequence[Progress]) -> set[Receipt]:
    """Write down how far leases have come; those that were still held."""
    last: dict[Receipt, Progress] = {}
    for each in reports:
        last[each.receipt] = _merged(last.get(each.receipt), each)
    rows = [
        {
            "id": receipt.delivery_id,
            "epoch": receipt.epoch,
            "percent": each.percent,
            "stage": each.stage,
            "events_count": each.events_count,
        }
        for receipt, each in last.items()
    ]
    asked = {"subscription": str(subscription_id), "reports": orjson.dumps(rows).decode()}
    told = {delivery_id_of(attempt) for (attempt,) in run("report_progress", asked)}
    return {receipt for receipt in last if receipt.delivery_id in told}


def _merged(before: Progress | None, said: Progress) -> Progress:
    if before is None:
        return said
    news = {field: value for field in _SAID if (value := getattr(said, field)) is not None}
    return replace(before, **news)


def progress_of(attempts: Iterable[uuid.UUID]) -> dict[uuid.UUID, AttemptProgress]:
    """What was reported of these tries."""
    return AttemptProgress.objects.in_bulk(list(attempts))


def forget(*, now: datetime | None = None) -> int:
    """Forget the progress of what nobody has reported of for long; how many tries that were."""
    forgotten, _ = AttemptProgress.objects.filter(reported_at__lt=(now or datetime.now(UTC)) - KEPT).delete()
    return forgotten
