"""What an operator sees first: how deliveries fare, what waits, and where somebody has to act."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Max, Model, OuterRef, Q, QuerySet, Subquery, Sum
from django.utils.safestring import SafeString

from delivery.attempt_ids import made_at
from delivery.heads import Head, find_heads
from delivery.models import AttemptLog, BacklogSample, Lane, OperatorAction, Phase, RequestAttempt, Tally
from delivery.tallies import Slot, added, percentile, slots_until
from events.models import BulkLoad, Replay
from hook0.desk.charts import bars, marks
from hook0.desk.health import Health, health_of, with_health
from subscriptions.models import Subscription
from tenants.counts import Count, count
from tenants.models import Application
from tenants.staff import Row, may_see, sees_all, visible_to

HOURS = timedelta(hours=6)
DAY = timedelta(hours=24)
SHOWN = 8


@dataclass(frozen=True)
class Look:
    """The home page of one reader."""

    sees_any: bool
    deliveries: SafeString
    successes: SafeString
    latency: SafeString
    waiting: SafeString
    ages: SafeString
    succeeded: int
    failed: int
    p95_ms: int | None
    backlog: Count
    oldest: datetime | None
    blocked: Count
    stuck: list[tuple[Lane, Head | None]]
    failing: list[tuple[Any, Health]]
    replays: list[Replay]
    loads: list[BulkLoad]
    actions: list[OperatorAction]

    @property
    def ratio(self) -> str:
        """How many of a hundred tries succeeded."""
        tries = self.succeeded + self.failed
        return f"{100 * self.succeeded / tries:.2f} %" if tries else "–"


def look(user: User | AnonymousUser) -> Look:
    now = datetime.now(UTC)
    mine = visible_to(user, Subscription.objects.filter(deleted_at=None), "application__organization")
    subscriptions = mine if may_see(user, Subscription) else mine.none()
    slots = list(tallied(_of_mine(user, Tally.objects.all(), mine, AttemptLog), now=now, over=HOURS))
    samples = sampled(_of_mine(user, BacklogSample.objects.all(), mine, RequestAttempt), now=now, over=HOURS)
    lanes = _shown(user, Lane.objects.all(), "subscription__application__organization")
    stuck = list(lanes.filter(since__isnull=False).select_related("subscription").order_by("since", "id")[:SHOWN])
    heads = find_heads(stuck)
    pending = _shown(user, RequestAttempt.objects.all(), "subscription__application__organization")
    replays = _shown(user, Replay.objects.all(), "application__organization")
    loads = _shown(user, BulkLoad.objects.all(), "application__organization")
    actions = OperatorAction.objects.order_by("-id") if may_see(user, OperatorAction) else OperatorAction.objects.none()
    if not sees_all(user):
        applications = visible_to(user, Application.objects.all(), "organization")
        actions = actions.filter(application_id__in=applications.values("id"))
    return Look(
        sees_any=subscriptions.exists(),
        deliveries=bars(slots, label="Tries of the last six hours"),
        successes=marks((slot.success_percent for slot in slots), label="Tries that succeeded", unit="%", most=100),
        latency=marks((percentile(slot.latencies, 0.95) for slot in slots), label="95th percentile", unit="ms"),
        waiting=marks((waiting for waiting, _ in samples), label="Deliveries that wait", unit="deliveries"),
        ages=marks((age for _, age in samples), label="The oldest that waits", unit="min"),
        succeeded=sum(slot.succeeded for slot in slots),
        failed=sum(slot.failed for slot in slots),
        p95_ms=percentile(added(slots), 0.95),
        backlog=count(pending),
        oldest=_oldest(user, mine) if may_see(user, RequestAttempt) else None,
        blocked=count(lanes.filter(phase=Phase.BLOCKED)),
        stuck=[(lane, heads.get(lane.pk)) for lane in stuck],
        failing=_failing(subscriptions),
        replays=list(replays.filter(finished_at=None).select_related("application").order_by("-id")[:SHOWN]),
        loads=list(loads.filter(finished_at=None).select_related("application").order_by("-created_at", "-id")[:SHOWN]),
        actions=list(actions[:SHOWN]),
    )


def tallied(tallies: QuerySet[Tally], *, now: datetime, over: timedelta) -> Iterable[Slot]:
    """Slots with what is known of them, the oldest first."""
    slots = slots_until(now, over=over)
    counted = tallies.filter(slot__gte=next(iter(slots))).values("slot", "succeeded", "latency")
    for row in counted.annotate(total=Sum("amount")):
        if slot := slots.get(row["slot"]):
            slot.add(succeeded=row["succeeded"], latency=row["latency"], amount=row["total"])
    return slots.values()


def sampled(samples: QuerySet[BacklogSample], *, now: datetime, over: timedelta) -> list[tuple[int, int]]:
    """How much waited in each slot, the oldest first, and for how many minutes the oldest of it had."""
    slots = dict.fromkeys(slots_until(now, over=over), (0, 0))
    found = samples.filter(slot__gte=next(iter(slots))).values("slot")
    for row in found.annotate(total=Sum("amount"), oldest=Max("age_seconds")):
        if row["slot"] in slots:
            slots[row["slot"]] = row["total"], row["oldest"] // 60
    return list(slots.values())


def sparklines(subscription_ids: list[uuid.UUID], *, now: datetime | None = None) -> dict[uuid.UUID, list[Slot]]:
    """The last 24 hours of several subscriptions, in hours."""
    moment = now or datetime.now(UTC)
    first = moment - DAY
    days = {each: [Slot(first + timedelta(hours=n)) for n in range(24)] for each in subscription_ids}
    counted = Tally.objects.filter(subscription__in=subscription_ids, slot__gt=first)
    for row in counted.values("subscription_id", "slot", "succeeded").annotate(total=Sum("amount")):
        hours = int((row["slot"] - first) / timedelta(hours=1))
        hour = days[row["subscription_id"]][min(hours, 23)]  # the database's clock may be ahead of ours
        hour.add(succeeded=row["succeeded"], latency=0, amount=row["total"])
    return days


def _shown(user: User | AnonymousUser, rows: QuerySet[Row], organization: str) -> QuerySet[Row]:
    """What somebody sees of these, who may look at such rows at all."""
    return visible_to(user, rows, organization) if may_see(user, rows.model) else rows.none()


def _of_mine(
    user: User | AnonymousUser, counted: QuerySet[Row], subscriptions: QuerySet[Subscription], of: type[Model]
) -> QuerySet[Row]:
    """What was counted of the reader's subscriptions, if the reader may look at what was counted."""
    if not may_see(user, of):
        return counted.none()
    return counted if sees_all(user) else counted.filter(subscription__in=subscriptions.values("id"))


def _failing(subscriptions: QuerySet[Subscription]) -> list[tuple[Any, Health]]:
    """Those that hook0 has disabled, left alone, or tries again."""
    in_trouble = Q(state__failures__gt=0) | Q(state__failing_since__isnull=False) | ~Q(disabled_reason="")
    found = with_health(subscriptions.filter(in_trouble)).order_by("state__failing_since", "id")
    return [(each, health_of(each)) for each in found[:SHOWN]]


def _oldest(user: User | AnonymousUser, subscriptions: QuerySet[Subscription]) -> datetime | None:
    """When the oldest delivery was made that waits. Ids begin with that; one look for all, or one for each of ours."""
    if sees_all(user):
        first = RequestAttempt.objects.order_by("id").values_list("id", flat=True).first()
    else:
        theirs = RequestAttempt.objects.filter(subscription=OuterRef("pk"), lease_until=None).order_by("id")
        each = subscriptions.annotate(oldest=Subquery(theirs.values("id")[:1])).filter(oldest__isnull=False)
        first = each.order_by("oldest").values_list("oldest", flat=True).first()
    return made_at(first) if first else None
