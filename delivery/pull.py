"""The queue seen from consumers that pull: they lease what a pump would send. `delivery.finish` hears how it went."""

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

import orjson
import psycopg
from django.db import transaction

from delivery.claimed import Claimed, wants
from delivery.dispatch import persistently
from delivery.finish import leases, record
from delivery.outcome import E_WORKER_LOST, Outcome
from delivery.queue import Ended
from delivery.receipts import Receipt
from delivery.retry import Decision, exhausted, policy_for
from delivery.statements import execute, run, statement
from delivery.waking import notify
from subscriptions.matching import like_pattern
from subscriptions.models import Subscription
from subscriptions.workers import pool_of

LOOKS = 10  # for what can be handed out, among what was called off or is delayed


@dataclass(frozen=True)
class Wanted:
    """Which events a consumer takes: any of the types, all of the labels. Nothing said is everything."""

    event_types: Sequence[str] = ()
    labels: Mapping[str, str] | None = None

    @property
    def is_choosy(self) -> bool:
        return bool(self.event_types or self.labels)


class Pulled(NamedTuple):
    """A delivery that is leased to a consumer, with what it takes to handle it."""

    claimed: Claimed
    receipt: Receipt
    labels: Mapping[str, str]
    metadata: Mapping[str, str]
    occurred_at: datetime
    lease_until: datetime


def poll(subscription: Subscription, *, most: int, wanted: Wanted) -> list[Pulled]:
    """Lease so many due deliveries at most: in a lane the head alone, and nothing while it is leased."""
    if subscription.is_paused:
        return []
    leased: list[Pulled] = []
    for _ in range(LOOKS):
        pulled = _lease(subscription, most - len(leased), wanted)
        unfit = [Ended(each.claimed, *reason) for each in pulled if (reason := _why_not(each.claimed))]
        record(unfit, by=None)
        unfit_ids = {each.claimed.delivery_id for each in unfit}
        leased += [each for each in pulled if each.claimed.delivery_id not in unfit_ids]
        if len(leased) == most or not unfit:
            break
    return leased


def give_back(pulled: Sequence[Pulled]) -> None:
    """End leases as if they had not been: the deliveries are due at once, and it costs them no try."""
    record([Ended(each.claimed, Decision("defer")) for each in pulled], by=None)
    for subscription_id in {each.claimed.subscription_id for each in pulled}:
        notify(str(subscription_id))


def leased_until(subscription_id: uuid.UUID, receipts: Sequence[Receipt]) -> dict[Receipt, datetime]:
    """Which of these leases last, and until when."""
    found = run("leased_until", leases(subscription_id, receipts))
    until = {(delivery, epoch): end for delivery, epoch, end in found}
    return {each: until[each.delivery_id, each.epoch] for each in receipts if (each.delivery_id, each.epoch) in until}


def look_for_work(on: psycopg.Connection[Any], subscription_ids: Sequence[str]) -> list[str]:
    """Which of these subscriptions have something due, for delivery.waking."""
    found = execute(on, statement("due_subscriptions"), {"subscriptions": list(subscription_ids)})
    return [str(subscription_id) for (subscription_id,) in found]


def _lease(subscription: Subscription, most: int, wanted: Wanted) -> list[Pulled]:
    asked = {
        "subscription": str(subscription.pk),
        "room": most,
        "lease": float(subscription.lease_seconds),
        "event_types": [like_pattern(name) for name in wanted.event_types] or None,
        "labels": orjson.dumps(wanted.labels).decode() if wanted.labels else None,
    }
    if subscription.fifo_mode:
        heads = run("lease_lanes", {**asked, "pool": pool_of(subscription, fifo_mode=True)})
        return _pulled(subscription, _read_heads(heads))
    rows = persistently(partial(run, "lease_attempts", asked))
    if len(rows) < most:
        persistently(partial(_put_to_sleep, subscription.pk))
    return _pulled(subscription, rows)


@transaction.atomic(durable=True)
def _put_to_sleep(subscription_id: uuid.UUID) -> None:
    """Nobody need look at it again before something is due, unless a publisher is just adding to it."""
    idle = bool(run("lock_idle", {"subscriptions": [subscription_id]}))
    if idle:
        taken = {"subscriptions": [subscription_id], "rooms": [1], "taken": [0], "idle": [idle]}
        run("settle_subscriptions", taken)


def _read_heads(leased: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """In a new snapshot, as lease_lanes.sql says."""
    if not leased:
        return []
    lanes, numbers, epochs = map(list, zip(*leased, strict=True))
    return run("pulled", {"lanes": lanes, "numbers": numbers, "epochs": epochs})


def _pulled(subscription: Subscription, rows: Sequence[tuple[Any, ...]]) -> list[Pulled]:
    """Leases as the statements return them, each with what their subscription wants."""
    began, now = time.monotonic(), datetime.now(UTC)
    wanted = wants(subscription)
    found = []
    for *lease, labels, metadata, occurred_at, until in rows:
        claimed = Claimed(*(began, began, *lease[:4], subscription.pk, *lease[4:], *wanted))
        receipt = Receipt(claimed.delivery_id, claimed.epoch, now)
        found.append(Pulled(claimed, receipt, labels, metadata, occurred_at, until))
    return found


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
