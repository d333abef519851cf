"""What keeps the queue going beside the pumps: each function is one round of one job."""

import logging
import uuid
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef

from delivery import hooks, lanes
from delivery.audit import Operator, record
from delivery.models import JobQueue, RunningPump, Tally
from delivery.reconfigure import delete_all
from delivery.statements import run, statement
from delivery.tallies import SLOT
from delivery.transactions import in_passing
from subscriptions.models import Subscription

logger = logging.getLogger(__name__)

PARTITIONS_AHEAD = 7
LANE_KEPT = timedelta(days=30)
LANES_AT_A_TIME = 5000
NAMED = 10  # subscriptions in a line of the log


def reap(*, now: datetime | None = None) -> int:
    """Give back the work of pumps and consumers that did not come back within their lease."""
    expired: list[tuple[uuid.UUID, bool, int]] = []
    for name in ("reap_lanes", "reap_attempts"):
        with transaction.atomic(durable=True), connection.cursor() as cursor:
            cursor.execute(statement(name), {"now": now})
            expired += cursor.fetchall()
    freed = sum(leases for _, _, leases in expired)
    if freed:
        ids = {"subscription_ids": [str(subscription_id) for subscription_id, _, _ in expired[:NAMED]]}
        logger.warning("%d leases had expired: their deliveries are tried again", freed, extra={"fields": ids})
        pulled = sum(leases for _, is_pulled, leases in expired if is_pulled)
        hooks.reaped(freed - pulled, pulled)
    return freed


def forget_pumps(*, now: datetime | None = None) -> int:
    """Forget the pumps that have given no sign of life for a day; how many."""
    forgotten, _ = RunningPump.objects.filter(seen_at__lt=(now or datetime.now(UTC)) - timedelta(days=1)).delete()
    return forgotten


def forget_lanes(*, now: datetime | None = None) -> int:
    """Forget the lanes of keys that have been empty for a month; how many. Their next events begin at 1 again."""
    before, forgotten = (now or datetime.now(UTC)) - LANE_KEPT, 0
    while True:
        with transaction.atomic(durable=True), connection.cursor() as cursor:
            cursor.execute(statement("forget_lanes"), {"before": before, "most": LANES_AT_A_TIME})
            in_this_round = int(cursor.rowcount)
        forgotten += in_this_round
        if in_this_round < LANES_AT_A_TIME:
            return forgotten


def clear_lanes() -> int:
    """Take away what lanes have passed where an operator's verb broke off; of how many lanes."""
    uncleared = [lane_id for (lane_id,) in run("uncleared_lanes", {})]
    for lane_id in uncleared:
        lanes.clear(lane_id, keep=True)
    return len(uncleared)


def disable_failing(*, now: datetime | None = None) -> list[uuid.UUID]:
    """Disable the subscriptions whose every request has failed for longer than they allow; which ones.

    One that is idle is left alone: a request must have failed after so long, too.
    """
    moment = now or datetime.now(UTC)
    allowed = OuterRef("state__failing_since") + OuterRef("disable_after_hours") * timedelta(hours=1)
    failed_since = Tally.objects.filter(subscription=OuterRef("pk"), succeeded=False, slot__gte=allowed - SLOT)
    with transaction.atomic(durable=True):
        failing = list(
            Subscription.objects.select_for_update(no_key=True, of=("self",))
            .filter(is_enabled=True, deleted_at=None, disable_after_hours__isnull=False)
            .filter(state__failing_since__lte=moment - F("disable_after_hours") * timedelta(hours=1))
            .filter(Exists(failed_since))
            .select_related("state")
        )
        for subscription in failing:
            subscription.is_enabled = subscription.is_end_announced = False
            subscription.disabled_reason = (
                f"Every request has failed since {subscription.state.failing_since:%F %H:%M} UTC"
            )
            subscription.save(update_fields=["is_enabled", "is_end_announced", "disabled_reason", "updated_at"])
            reason = Operator("hook0", subscription.disabled_reason)
            record(reason, "disable_subscription", subscription_id=subscription.pk)
            ids = {"subscription_id": str(subscription.pk), "application_id": str(subscription.application_id)}
            logger.warning(
                "Subscription %s is disabled: %s", subscription.pk, subscription.disabled_reason, extra={"fields": ids}
            )
    return [subscription.pk for subscription in failing]


def finish_deletions() -> int:
    """Delete what a deletion that broke off has left of its application; how many deliveries were dropped."""
    left = Subscription.objects.filter(deleted_at=None, application__deleted_at__isnull=False)
    queues = JobQueue.objects.filter(application__deleted_at__isnull=False)
    ids = left.values_list("application_id", flat=True).union(queues.values_list("application_id", flat=True))
    return sum(delete_all(each) for each in ids)


def make_partitions(*, now: datetime | None = None) -> list[str]:
    """Make the partitions of the attempt log for today and the days ahead; the names of the new ones."""
    today = (now or datetime.now(UTC)).date()
    days = {f"attempt_log_{day:%Y%m%d}": day for day in (today + timedelta(n) for n in range(PARTITIONS_AHEAD + 1))}
    made = []
    for name in sorted(days.keys() - set(_partitions())):
        with in_passing() as cursor:
            cursor.execute("SELECT make_attempt_log_partition(%s)", [days[name]])
            made.append(name)
    return made


def drop_partitions(*, now: datetime | None = None) -> list[str]:
    """Drop the days of the attempt log that are older than the retention; the names of the dropped."""
    today = (now or datetime.now(UTC)).date()
    oldest = f"attempt_log_{today - timedelta(days=settings.ATTEMPT_RETENTION_DAYS):%Y%m%d}"
    gone = []
    for name in (name for name in _partitions() if name < oldest):
        with in_passing() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {name}")
            gone.append(name)
    if gone:
        logger.info("Dropped %s", ", ".join(gone))
    return gone


def _partitions() -> list[str]:
    """The partitions of the attempt log that hold one day, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits"
            " WHERE inhparent = 'attempt_log'::regclass AND inhrelid::regclass::text ~ '^attempt_log_[0-9]{8}$'"
            " ORDER BY 1"
        )
        return [name for (name,) in cursor.fetchall()]
