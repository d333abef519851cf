"""What somebody should know who asks for this configuration."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from subscriptions.configure import appetite
from subscriptions.models import Subscription

RECOMMENDED_RETRIES = {"max_fast_retries": 5, "max_slow_retries": 10}  # what FIFO does by default
RECOMMENDED_TIMEOUT_MS = 15_000


@dataclass(frozen=True)
class Warning:  # noqa: A001 - it is what the API calls it
    """A code for programs and a sentence for people."""

    code: str
    message: str


def warnings_about(subscription: Subscription, *, moved: int = 0) -> list[Warning]:
    """What this configuration costs; `moved` deliveries were pending when its mode or key was changed."""
    return list(_fifo_warnings(subscription) if subscription.fifo_mode else _unordered_warnings(moved))


def _unordered_warnings(moved: int) -> Iterator[Warning]:
    if moved:
        yield Warning(
            "fifo_off_with_pending",
            f"{moved} deliveries were waiting in order. They are sent without order from now on.",
        )


def _fifo_warnings(subscription: Subscription) -> Iterator[Warning]:
    yield Warning(
        "fifo_throughput",
        "FIFO sends one webhook at a time per lane, and a failing one holds back what comes behind it. Keep the "
        "endpoint fast, and make it idempotent all the same: a webhook may repeat.",
    )
    if subscription.fifo_on_exhausted == Subscription.OnExhausted.BLOCK:
        yield Warning(
            "fifo_blocks",
            "When an event has used up its retries, its lane stops until somebody retries or skips it.",
        )
    if subscription.timeout_ms > RECOMMENDED_TIMEOUT_MS:
        yield Warning(
            "fifo_long_timeout",
            f"A try may take {subscription.timeout_ms / 1000:g} s, and its lane waits for it. "
            f"{RECOMMENDED_TIMEOUT_MS / 1000:g} s or less are recommended for FIFO.",
        )
    if _retries_more_than_recommended(subscription.retry_policy or {}):
        yield Warning(
            "fifo_many_retries",
            "While an event is retried, its lane waits. At most 5 fast and 10 slow retries are recommended for FIFO.",
        )
    if subscription.max_in_flight != appetite(subscription.target_type):
        yield Warning(
            "fifo_ignores_max_in_flight",
            "`max_in_flight` has no effect in FIFO: there is one request in flight for each lane.",
        )


def _retries_more_than_recommended(policy: Mapping[str, Any]) -> bool:
    if "schedule_ms" in policy:
        return len(policy["schedule_ms"]) > sum(RECOMMENDED_RETRIES.values())
    return any(policy.get(name, most) > most for name, most in RECOMMENDED_RETRIES.items())
