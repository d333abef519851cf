"""What consumers that pull say of their leases: done, could not be done, or not done yet."""

import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from random import random

import orjson

from delivery import hooks
from delivery.claimed import Claimed, wants
from delivery.dispatch import persistently
from delivery.outcome import E_REJECTED, Outcome
from delivery.queue import Ended, Queue
from delivery.receipts import Receipt
from delivery.retry import Decision, decide, policy_for
from delivery.statements import run
from delivery.waking import notify
from subscriptions.models import Subscription

_DONE, _SUCCEEDED = Decision("done"), Outcome(None)


@dataclass(frozen=True)
class Report:
    """What a consumer says of a lease: that it is done, or why it could not do it."""

    receipt: Receipt
    error: str | None = None


def finish(subscription: Subscription, reports: Sequence[Report], *, by: str) -> set[Receipt]:
    """Write down what came of leases; those that were still held. Of the others it changes nothing."""
    done = [] if subscription.fifo_mode else [report.receipt for report in reports if report.error is None]
    accepted = _acknowledge(subscription, done, by=by) if done else set()
    if len(accepted) == len(reports):
        return accepted
    by_receipt = {report.receipt: report for report in reports}
    held = _held(subscription.pk, [receipt for receipt in by_receipt if receipt not in accepted])
    ended = [_judge(claimed, by_receipt[receipt]) for receipt, claimed in held.items()]
    deliveries = record(ended, by=by)
    if deliveries:
        notify(str(subscription.pk), " ".join(delivery.hex for delivery in deliveries))
    return accepted | {receipt for receipt, claimed in held.items() if claimed.delivery_id in deliveries}


def extend(subscription_id: uuid.UUID, receipts: Sequence[Receipt], *, seconds: int) -> dict[Receipt, datetime]:
    """Let leases end so long from now; those that were still held, with their new ends."""
    wanted = leases(subscription_id, receipts) | {"lease": float(seconds)}
    until = {(delivery, epoch): end for delivery, epoch, end in persistently(partial(run, "extend_leases", wanted))}
    return {each: until[each.delivery_id, each.epoch] for each in receipts if (each.delivery_id, each.epoch) in until}


def record(ended: Sequence[Ended], *, by: str | None) -> set[uuid.UUID]:
    """Write down the ends of tries; whose leases were still held, which is decided now, under the lock."""
    if not ended:
        return set()
    began = time.monotonic()
    accepted: set[uuid.UUID] = set()
    for name, part in (
        ("record_lanes", [each for each in ended if each.claimed.lane_id is not None]),
        ("record_loose", [each for each in ended if each.claimed.lane_id is None]),
    ):
        if part:
            results = orjson.dumps([Queue.result_of(each, process=by, margin=0.0) for each in part]).decode()
            moved = persistently(partial(run, name, {"results": results}))
            numbers = {(each.claimed.lane_id, each.claimed.lane_seq): each.claimed.delivery_id for each in part}
            accepted |= {numbers[row[0], row[1]] if name == "record_lanes" else row[0] for row in moved}
    hooks.recorded(ended, time.monotonic() - began)
    return accepted


def _acknowledge(subscription: Subscription, receipts: Sequence[Receipt], *, by: str) -> set[Receipt]:
    """The short way of what most leases come to: done, and without order."""
    began, wanted = time.monotonic(), wants(subscription)
    given = leases(subscription.pk, receipts) | {"leased": _array(receipt.leased_at for receipt in receipts), "by": by}
    ended = []
    for delivery, event_pk, epoch, tries, made_at, due_at, event, received_at, deliver_at, picked_at in persistently(
        partial(run, "acknowledge", given)
    ):
        claimed = Claimed(
            *(began, began, None, None, delivery, event_pk, subscription.pk, epoch, tries, tries, made_at, due_at),
            *(False, 0.0, event, "", b"", "", received_at, deliver_at, None, None, None, *wanted),
        )
        ended.append(Ended(claimed, _DONE, _SUCCEEDED, picked_at=picked_at))
    if ended:
        hooks.recorded(ended, time.monotonic() - began)
    gone = {each.claimed.epoch: each.claimed.delivery_id for each in ended}
    return {receipt for receipt in receipts if gone.get(receipt.epoch) == receipt.delivery_id}


def _judge(claimed: Claimed, report: Report) -> Ended:
    outcome = Outcome(None) if report.error is None else Outcome(E_REJECTED, body=report.error.encode())
    decision = decide(
        policy=policy_for(fifo=claimed.fifo_mode, own=claimed.retry_policy, backoff_schedule=claimed.backoff_schedule),
        tries=claimed.tries,
        outcome=outcome,
        blocks=claimed.blocks,
        dice=random(),  # noqa: S311 - spreads retries, keeps no secret
    )
    picked_at = min(max(report.receipt.leased_at, claimed.created_at), datetime.now(UTC))
    return Ended(claimed, decision, outcome, picked_at=picked_at)


def _held(subscription_id: uuid.UUID, receipts: Sequence[Receipt]) -> dict[Receipt, Claimed]:
    now = time.monotonic()
    rows = [Claimed(now, now, *row) for row in run("held", leases(subscription_id, receipts))]
    by_lease = {(claimed.delivery_id, claimed.epoch): claimed for claimed in rows}
    return {
        receipt: by_lease[receipt.delivery_id, receipt.epoch]
        for receipt in receipts
        if (receipt.delivery_id, receipt.epoch) in by_lease
    }


def leases(subscription_id: uuid.UUID, receipts: Sequence[Receipt]) -> dict[str, object]:
    """Which leases are meant, as the statements read it."""
    return {
        "subscription": str(subscription_id),
        "deliveries": _array(receipt.delivery_id.hex for receipt in receipts),
        "epochs": _array(receipt.epoch for receipt in receipts),
    }


def _array(values: Iterable[object]) -> str:
    """As PostgreSQL reads it: psycopg would look for what to quote in each."""
    return f"{{{','.join(map(str, values))}}}"
