"""The queue seen from consumers that pull: they lease what a pump would send. `delivery.finish` hears how it went."""

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import orjson
from django.db import transaction

from delivery.claimed import Claimed
from delivery.dispatch import persistently
from delivery.finish import record
from delivery.outcome import E_WORKER_LOST, Outcome
from delivery.queue import Ended
from delivery.receipts import Receipt
from delivery.retry import Decision, exhausted, policy_for
from delivery.statements import run
from subscriptions.matching import like_pattern
from subscriptions.models import Subscription, SubscriptionState

LOOKS = 10  # for what can be handed out, among what was called off or is delayed


@dataclass(frozen=True)
class Wanted:
    """Which events a consumer takes: any of the types, all of the labels. Nothing said is everything."""

    event_types: Sequence[str] = ()
    labels: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Pulled:
    """A delivery that is leased to a consumer, with what it takes to handle it."""

    claimed: Claimed
    receipt: Receipt
    payload: bytes
    labels: Mapping[str, str]
    metadata: Mapping[str, str]
    occurred_at: datetime
    lease_until: datetime


def poll(subscription: Subscription, *, most: int, wanted: Wanted) -> list[Pulled]:
    """Lease so many due deliveries at most: in a lane the head alone, and nothing while it is leased."""
    leased: list[Claimed] = []
    for _ in range(LOOKS):
        claimed = _lease(subscription, most - len(leased), wanted)
        unfit = [Ended(each, *reason) for each in claimed if (reason := _why_not(each))]
        record(unfit, by=None)
        unfit_ids = {each.claimed.delivery_id for each in unfit}
        leased += [each for each in claimed if each.delivery_id not in unfit_ids]
        if len(leased) == most or not unfit:
            break
    return _read(leased)


def _lease(subscription: Subscription, most: int, wanted: Wanted) -> list[Claimed]:
    state = SubscriptionState.objects.filter(subscription=subscription).first()
    if state is None or subscription.is_paused:
        return []
    asked = {
        "subscription": str(subscription.pk),
        "lease": float(subscription.lease_seconds),
        "event_types": [like_pattern(name) for name in wanted.event_types] or None,
        "labels": orjson.dumps(wanted.labels).decode() if wanted.labels else None,
    }
    if state.fifo_mode:
        return _lease_lanes({**asked, "pool": state.pool, "room": most})
    return persistently(partial(_lease_loose, subscription.pk, asked, most))


def _lease_lanes(asked: Mapping[str, object]) -> list[Claimed]:
    began = time.monotonic()
    lanes = run("lease_lanes", asked)
    if not lanes:
        return []
    ids, numbers, epochs, tries, due = map(list, zip(*lanes, strict=True))
    heads = run("heads", {"lanes": ids, "numbers": numbers, "epochs": epochs, "tries": tries, "due": due})
    by_lane = {row[0]: Claimed(began, began, *row) for row in heads}
    return [by_lane[lane] for lane in ids if lane in by_lane]


@transaction.atomic(durable=True)
def _lease_loose(subscription_id: uuid.UUID, asked: Mapping[str, object], most: int) -> list[Claimed]:
    """As a pump does it (delivery.queue), for one subscription; the state is put to sleep if nothing else is due."""
    room = next((free for (free,) in run("lock_room", {"subscription": str(subscription_id)})), 0)
    room = min(room, most)
    if not room:
        return []
    leases = run("lease_attempts", {**asked, "room": room})
    idle = len(leases) < room and bool(run("lock_idle", {"subscriptions": [subscription_id]}))
    taken = {"subscriptions": [subscription_id], "rooms": [room], "taken": [len(leases)], "idle": [idle]}
    run("settle_subscriptions", taken)
    if not leases:
        return []
    began = time.monotonic()
    ids, epochs = map(list, zip(*leases, strict=True))
    held = run("held", {"subscription": str(subscription_id), "deliveries": ids, "epochs": epochs})
    claimed = {each.delivery_id: each for each in (Claimed(began, began, *row) for row in held)}
    return [claimed[delivery] for delivery in ids if delivery in claimed]


def _why_not(claimed: Claimed) -> tuple[Decision, Outcome | None] | None:
    """Why a lease is better given back than handed out, as a pump sees it."""
    if claimed.is_cancelled:
        return Decision("cancel"), None
    if claimed.is_paused:
        return Decision("park" if claimed.lane_id else "defer"), None
    if claimed.wait:
        return Decision("defer", claimed.wait), None
    policy = policy_for(fifo=claimed.fifo_mode, own=claimed.retry_policy, backoff_schedule=claimed.backoff_schedule)
    if claimed.tries > policy.max_tries:
        lost = Outcome(E_WORKER_LOST, body=b"No consumer came back with it within its lease.")
        return exhausted(blocks=claimed.blocks), lost
    return None


def _read(leased: Sequence[Claimed]) -> list[Pulled]:
    if not leased:
        return []
    now = datetime.now(UTC)
    rows = {id_: rest for id_, *rest in run("pulled", {"deliveries": [each.delivery_id for each in leased]})}
    return [
        Pulled(each, Receipt(each.delivery_id, each.epoch, now), *rows[each.delivery_id])
        for each in leased
        if each.delivery_id in rows
    ]
