"""What operators want to know is told as events of the application itself, to whoever subscribes to them.

What happens is marked where it happens, and announced here within a second or so: the queue's hot paths know nothing of
it. Each announcement and the mark that it was made are one transaction, so nothing is left out or told twice. What goes
wrong with announcements is not announced, so they never go round in circles.
"""

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

import orjson
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q

from delivery.dispatch import persistently
from delivery.doorbell import ring
from delivery.heads import Head, find_heads
from delivery.models import AttemptLog, DeadLetter, Lane, Phase, RequestAttempt
from events.ingest import Columns, NewEvent, store
from events.undelivered import GivenUp, keep
from subscriptions.matching import names_for
from subscriptions.models import Subscription, SubscriptionState
from tenants.api.event_types import declare_ours
from tenants.own_event_types import BLOCKED, DISABLED, EXHAUSTED, RECOVERED, RESERVED_SERVICE

BATCH = 200


@dataclass(frozen=True)
class Announcement:
    """Something that is told to an application; `about` and the type make its id, so it is never stored twice."""

    application_id: uuid.UUID
    event_type: str
    subscription_id: uuid.UUID
    about: str
    at: datetime
    details: Mapping[str, Any] = field(default_factory=dict)

    def as_event(self) -> NewEvent:
        told = {"subscription_id": self.subscription_id, "at": self.at, **self.details}
        columns: Columns = {
            "event_type": self.event_type,
            "payload_content_type": "application/json",
            "labels": {"source": RESERVED_SERVICE, "subscription_id": str(self.subscription_id)},
            "occurred_at": self.at,
        }
        return NewEvent.of(
            orjson.dumps(told), columns, uuid.uuid5(self.subscription_id, f"{self.event_type} {self.about}")
        )


def announce() -> int:
    """One round; how many events that were."""
    rounds: tuple[Callable[[], Iterable[Announcement]], ...] = (_dead_letters, _blocked_lanes, _disabled, _recovered)
    return sum(persistently(partial(_tell, find)) for find in rounds)


@transaction.atomic(durable=True)
def _tell(find: Callable[[], Iterable[Announcement]]) -> int:
    """Mark what is found as announced, and tell those of it that somebody subscribes to."""
    by_application: dict[uuid.UUID, list[Announcement]] = defaultdict(list)
    for each in find():
        if somebody_wants(each.application_id, each.event_type):
            by_application[each.application_id].append(each)
    for application_id, told in sorted(by_application.items()):
        for event_type in sorted({each.event_type for each in told}):
            declare_ours(application_id, event_type)
        _, dispatched = store(application_id, [each.as_event() for each in told])
        if dispatched.deliveries and not dispatched.expected:
            transaction.on_commit(ring)
    return sum(map(len, by_application.values()))


def somebody_wants(application_id: uuid.UUID, event_type: str) -> bool:
    wanted = Subscription.objects.filter(application_id=application_id, is_enabled=True, deleted_at=None)
    return wanted.filter(event_types__overlap=names_for(event_type)).exists()


def _dead_letters() -> list[Announcement]:
    """Deliveries that were given up, not by an operator; their events are kept under the keys that they name."""
    unannounced = DeadLetter.objects.select_for_update(of=("self",), skip_locked=True).filter(is_announced=False)
    letters = list(unannounced.select_related("event", "subscription").order_by("died_at", "id")[:BATCH])
    DeadLetter.objects.filter(id__in=[each.pk for each in letters]).update(is_announced=True)
    given_up = [each for each in letters if each.reason != DeadLetter.Reason.SKIPPED]
    keep(GivenUp(each.event, each.subscription_id, each.reason) for each in given_up)
    return _in_trouble(
        Announcement(
            each.subscription.application_id,
            EXHAUSTED,
            each.subscription_id,
            about=str(each.pk),
            at=each.died_at,
            details={
                "delivery_id": each.pk,
                "event_id": each.event.event_id,
                "event_type": each.event.event_type,
                "reason": each.reason,
                "tries": each.tries,
                "last_error": each.last_error,
                "last_http_status": each.last_http_status,
                "lane_id": each.lane_id,
            },
        )
        for each in given_up
        if not is_ours(each.event.event_type)
    )


def _blocked_lanes() -> list[Announcement]:
    """Lanes whose heads have used up their retries; the events of these are kept like those that were given up."""
    unannounced = Q(phase=Phase.BLOCKED) & (Q(announced_since=None) | ~Q(announced_since=F("since")))
    lanes = list(
        Lane.objects.select_for_update(of=("self",), skip_locked=True, no_key=True)
        .filter(unannounced)
        .select_related("subscription")
        .order_by("since")[:BATCH]
    )
    heads = find_heads(lanes)
    keep(_exhausted(heads.values()))
    Lane.objects.filter(id__in=[each.pk for each in lanes]).update(announced_since=F("since"))
    return _in_trouble(
        Announcement(
            each.subscription.application_id,
            BLOCKED,
            each.subscription_id,
            about=f"{each.pk} {each.since}",
            at=each.since or datetime.now(UTC),
            details={
                "lane_id": each.pk,
                "key": each.key,
                "depth": each.depth,
                "delivery_id": head.delivery_id,
                "event_id": head.event_id,
                "event_type": head.event_type,
                "tries": head.tries,
                "last_error": head.last_error,
                "last_http_status": head.last_http_status,
            },
        )
        for each in lanes
        if (head := heads.get(each.pk)) and not is_ours(head.event_type)
    )


def _exhausted(heads: Iterable[Head]) -> list[GivenUp]:
    ids = [each.delivery_id for each in heads]
    found = RequestAttempt.objects.filter(id__in=ids, event__keys_if_undelivered__isnull=False).select_related("event")
    return [GivenUp(each.event, each.subscription_id, DeadLetter.Reason.EXHAUSTED) for each in found.order_by("id")]


def _disabled() -> list[Announcement]:
    """Subscriptions that hook0 has disabled because all had failed for too long."""
    unannounced = Q(is_enabled=False, is_end_announced=False) & ~Q(disabled_reason="")
    found = list(
        Subscription.objects.select_for_update(skip_locked=True, no_key=True)
        .filter(unannounced)
        .order_by("updated_at")[:BATCH]
    )
    Subscription.objects.filter(id__in=[each.pk for each in found]).update(is_end_announced=True)
    return [
        Announcement(
            each.application_id,
            DISABLED,
            each.pk,
            about=str(each.updated_at),
            at=each.updated_at,
            details={"reason": each.disabled_reason},
        )
        for each in found
    ]


def _recovered() -> list[Announcement]:
    """Subscriptions that were announced to fail, and to which a delivery has succeeded since."""
    success = AttemptLog.objects.filter(
        subscription=OuterRef("subscription"), ended_at__gt=OuterRef("trouble_announced_at"), succeeded=True
    )
    states = list(
        SubscriptionState.objects.select_for_update(of=("self",), skip_locked=True, no_key=True)
        .filter(Exists(success), trouble_announced_at__isnull=False)
        .select_related("subscription")
        .order_by("subscription_id")[:BATCH]
    )
    SubscriptionState.objects.filter(pk__in=[each.pk for each in states]).update(trouble_announced_at=None)
    now = datetime.now(UTC)
    return [
        Announcement(
            each.subscription.application_id,
            RECOVERED,
            each.subscription_id,
            about=str(each.trouble_announced_at),
            at=now,
            details={"failing_since": each.trouble_announced_at},
        )
        for each in states
    ]


def _in_trouble(announcements: Iterable[Announcement]) -> list[Announcement]:
    """Remember whose recovery somebody will want to hear of."""
    told = list(announcements)
    by_application: dict[uuid.UUID, set[uuid.UUID]] = defaultdict(set)
    for each in told:
        by_application[each.application_id].add(each.subscription_id)
    for application_id, subscription_ids in by_application.items():
        if somebody_wants(application_id, RECOVERED):
            states = SubscriptionState.objects.filter(pk__in=subscription_ids, trouble_announced_at=None)
            locked = states.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True)
            SubscriptionState.objects.filter(pk__in=list(locked)).update(trouble_announced_at=datetime.now(UTC))
    return told


def is_ours(event_type: str) -> bool:
    return event_type.startswith(f"{RESERVED_SERVICE}.")
