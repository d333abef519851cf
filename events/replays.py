"""Making deliveries of past events again, in event order: a chunk per transaction, so that it may stop anywhere.

The cursor moves in the transaction that makes the deliveries: what breaks off goes on where it was, and does nothing
twice. Replays take turns, and the row of each is locked while it moves, so two workers never move the same one.
"""

import uuid
from collections import defaultdict
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from delivery.audit import Operator, record
from delivery.dispatch import ASKED_BY_A_PERSON, dispatch, keep, persistently
from delivery.doorbell import ring
from delivery.models import AttemptLog, RequestAttempt
from events.models import Event, Replay
from subscriptions.matching import matches
from subscriptions.models import Subscription

CHUNK = 200
_UNDER_WAY = [Replay.State.WAITING, Replay.State.RUNNING]


@transaction.atomic
def start(*, since: datetime, by: Operator, **fields: Any) -> Replay:
    """A replay that the next worker begins. Without an end, it ends with the events that there are now."""
    fields["until"] = fields.get("until") or Now()
    replay = Replay.objects.create(since=since, cursor_received_at=since, actor=by.name, reason=by.reason, **fields)
    _record(replay, "replay", by)
    return Replay.objects.get(pk=replay.pk)


@transaction.atomic
def cancel(replay_id: uuid.UUID, *, by: Operator) -> None:
    """Make no more deliveries; those that are made stay. One that is over stays as it is."""
    replay = Replay.objects.select_for_update(no_key=True).get(id=replay_id)
    if replay.state in _UNDER_WAY:
        _finish(replay, Replay.State.CANCELLED)
        _record(replay, "cancel_replay", by)


def _record(replay: Replay, action: str, by: Operator) -> None:
    subscription_id = replay.subscription_id
    record(by, action, application_id=replay.application_id, subscription_id=subscription_id, replay_id=str(replay.pk))


def work(*, stopping: Callable[[], bool]) -> None:
    """Move replays on until none is left that nobody else moves."""
    while not stopping() and persistently(_move_one_on):
        ring()


@transaction.atomic(durable=True)
def _move_one_on() -> bool:
    replay = (
        Replay.objects.select_for_update(no_key=True, skip_locked=True)
        .filter(state__in=_UNDER_WAY)
        .order_by("moved_at")
        .first()
    )
    if replay is None:
        return False
    if replay.state == Replay.State.WAITING:
        replay.state, replay.started_at, replay.total = Replay.State.RUNNING, Now(), _rest_of(replay).count()
    chunk = list(_rest_of(replay).order_by("received_at", "id").defer("payload")[:CHUNK])
    replay.moved_at = Now()
    if chunk:
        replay.done += len(chunk)
        replay.cursor_received_at, replay.cursor_event = chunk[-1].received_at, chunk[-1].pk
        replay.deliveries += _deliver_again(replay, chunk)
        replay.save()
    else:
        _finish(replay, Replay.State.DONE)
    return True


def _rest_of(replay: Replay) -> QuerySet[Event]:
    """The events behind the cursor. Served by event_by_arrival."""
    behind = Q(received_at__gt=replay.cursor_received_at) | Q(
        received_at=replay.cursor_received_at, id__gt=replay.cursor_event
    )
    return Event.objects.filter(
        behind,
        application_id=replay.application_id,
        received_at__gte=replay.cursor_received_at,
        received_at__lt=replay.until,
    )


def _deliver_again(replay: Replay, chunk: list[Event]) -> int:
    """Last thing before the commit: it locks lanes, then states, each in id order, as publishers do."""
    keep([event.pk for event in chunk])
    served = _served(chunk) if replay.only_failed else set()
    wanted = defaultdict(list)
    for subscription in _targets(replay):
        for event in chunk:
            if (event.pk, subscription.pk) not in served and _wants(replay, subscription, event):
                wanted[subscription.pk].append(event.pk)
    return sum(
        dispatch(events, only=subscription_id, priority=ASKED_BY_A_PERSON).deliveries
        for subscription_id, events in wanted.items()
    )


def _targets(replay: Replay) -> QuerySet[Subscription]:
    """All enabled ones; the one that was named, whether or not."""
    found = Subscription.objects.filter(application_id=replay.application_id, deleted_at=None)
    named = Q(id=replay.subscription_id) if replay.subscription_id else Q(is_enabled=True)
    return found.filter(named).order_by("-fifo_mode", "id")


def _wants(replay: Replay, subscription: Subscription, event: Event) -> bool:
    return (
        (replay.event_types is None or matches(event.event_type, replay.event_types))
        and (replay.labels is None or replay.labels.items() <= event.labels.items())
        and matches(event.event_type, subscription.event_types)
        and subscription.labels.items() <= event.labels.items()
    )


def _served(chunk: list[Event]) -> set[tuple[int, uuid.UUID]]:
    """Which events were delivered to which subscriptions, or are about to be."""
    succeeded = AttemptLog.objects.filter(event__in=chunk, succeeded=True)
    pending = RequestAttempt.objects.filter(event__in=chunk, is_cancelled=False)
    return {pair for found in (succeeded, pending) for pair in found.values_list("event_id", "subscription_id")}


def _finish(replay: Replay, state: Replay.State) -> None:
    replay.state, replay.finished_at = state, Now()
    replay.save()
