"""What a FIFO subscription that waits says in the log: when it begins to, and from then on ever more rarely."""

import logging
import math
import time
import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from delivery.attempt_ids import attempt_id
from delivery.queue import Ended
from monitoring.held import NOT_ASKED_FOR, HeldLane, held_lanes

logger = logging.getLogger(__name__)

FIRST_SECONDS = 60.0  # then after twice as long, and so on
MOST = 100  # lanes that are looked at in a round, the longest held first

QUIET_SECONDS = 10.0  # of a process, after it has said that a subscription begins to wait
REMEMBERED = 10_000

_reported: dict[tuple[int, datetime], int] = {}
_spoke_at: dict[tuple[uuid.UUID, str], float] = {}


def report_blocks(ended: Sequence[Ended], _seconds: float) -> None:
    """Say which heads hold their lanes back from now on: a first try that failed, or retries that are used up."""
    for each in ended:
        claimed, verdict = each.claimed, each.decision.verdict
        begins = verdict == "block" or (verdict == "retry" and claimed.tries == 1)
        if claimed.lane_id is None or not begins or not _may_speak((claimed.subscription_id, verdict)):
            continue
        # What is waited for is the next try; after the last one, there is none.
        attempt = attempt_id(claimed.delivery_id, claimed.try_number + (verdict == "retry"))
        ids = {
            "subscription_id": str(claimed.subscription_id),
            "application_id": str(claimed.application_id),
            "lane_id": claimed.lane_id,
            "event_id": str(claimed.event_id),
            "delivery_id": str(claimed.delivery_id),
            "request_attempt_id": str(attempt),
            "retry_count": claimed.tries - 1,
            "error": each.outcome and each.outcome.error_name,
        }
        if verdict == "retry":
            logger.info(
                "[FIFO] Subscription %s blocked - waiting for request attempt %s to complete",
                claimed.subscription_id,
                attempt,
                extra={"fields": ids},
            )
        else:
            logger.warning(
                "[FIFO] Subscription %s blocked - request attempt %s has used up its retries: retry or skip it",
                claimed.subscription_id,
                attempt,
                extra={"fields": ids},
            )


def _may_speak(about: tuple[uuid.UUID, str]) -> bool:
    """One line says enough of a subscription with a thousand lanes that fail together."""
    now = time.monotonic()
    if now - _spoke_at.get(about, -QUIET_SECONDS) < QUIET_SECONDS:
        return False
    if len(_spoke_at) >= REMEMBERED:
        _spoke_at.clear()
    _spoke_at[about] = now
    return True


def report_held_lanes() -> int:
    """Say which lanes are still held: after a minute, two, four and so on; of how many it was said."""
    held = held_lanes(seconds=FIRST_SECONDS, most=MOST)
    news = list(_not_yet_said(held))
    for lane in news:
        if lane.why == NOT_ASKED_FOR:
            logger.warning(
                "[FIFO] Subscription %s has waited for a consumer for %.0fs",
                *(lane.subscription_id, lane.seconds),
                extra={"fields": _ids(lane)},
            )
        else:
            logger.warning(
                "[FIFO] Subscription %s blocked for %.0fs - current attempt on retry %d/%d",
                *(lane.subscription_id, lane.seconds, lane.retry_count, lane.max_retries),
                extra={"fields": _ids(lane)},
            )
    return len(news)


def _not_yet_said(held: Iterable[HeldLane]) -> Iterable[HeldLane]:
    now = {(lane.lane_id, lane.since): int(math.log2(lane.seconds / FIRST_SECONDS)) for lane in held}
    for lane in held:
        key = (lane.lane_id, lane.since)
        if now[key] > _reported.get(key, -1):
            yield lane
    _reported.clear()
    _reported.update(now)


def _ids(lane: HeldLane) -> dict[str, Any]:
    return {
        "subscription_id": str(lane.subscription_id),
        "application_id": str(lane.application_id),
        "lane_id": lane.lane_id,
        "event_id": str(lane.event_id),
        "delivery_id": str(lane.delivery_id),
        "request_attempt_id": str(lane.request_attempt_id),
        "retry_count": lane.retry_count,
        "why": lane.why,
    }
