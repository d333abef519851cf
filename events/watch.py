"""The pace of the releases that have no rate of their own follows what the log shows of live deliveries."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from django.db import transaction
from django.db.models import DateTimeField, Func

from delivery.attempt_ids import first_from
from delivery.statements import run
from events.models import ReleasePace
from events.pace import IDLE_SECONDS, SETTLE_SECONDS, Pace, Sight, begin, decide

SQL = Path(__file__).parent / "sql"
LOOK_SECONDS = 0.4
LOOK_BACK_SECONDS = 10.0  # to deliveries that were made then, and end now
MOST_ATTEMPTS = 5_000


class Clock(Func):
    """What time it is on the database, which is the same for all workers."""

    template = "clock_timestamp()"
    output_field = DateTimeField()


@transaction.atomic(durable=True)
def watch() -> None:
    """Look at the deliveries, if the last look is a while ago, and change the pace after them."""
    ReleasePace.objects.get_or_create(id=1)
    rows = ReleasePace.objects.select_for_update(no_key=True, skip_locked=True).annotate(now=Clock())
    row = rows.first()
    if row is None:  # somebody else releases, or looks
        return
    now = row.now.timestamp()
    before = pace_of(row)
    if now - before.looked_at > IDLE_SECONDS:
        before = begin(now)
    if now - before.looked_at < LOOK_SECONDS:
        return
    after = decide(before, _sight(row, before, now))
    row.pace = asdict(after)
    if after.since != before.since:
        row.released = row.deliveries = 0
    row.save(update_fields=["pace", "released", "deliveries"])


def pace_of(row: ReleasePace) -> Pace:
    """What was decided last; before the first time, nothing is released."""
    known = row.pace or {"since": 0.0, "calm": ()}
    return Pace(**known | {"calm": tuple(known["calm"])})


def _sight(row: ReleasePace, pace: Pace, now: float) -> Sight:
    settled = pace.since + SETTLE_SECONDS
    made_from = max(settled, min(pace.looked_at, now - LOOK_BACK_SECONDS))
    parameters = {
        "first": first_from(_moment(made_from)),
        "since": _moment(settled),
        "looked_at": _moment(pace.looked_at),
        "most": MOST_ATTEMPTS,
    }
    ((live, wait, is_served),) = run("look_at_deliveries", parameters, SQL)
    return Sight(now, row.released, row.deliveries, live=tuple(live), wait=wait, is_served=is_served)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
