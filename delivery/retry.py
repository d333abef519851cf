"""What follows a try: a pure function of the policy, the number of tries, the outcome and the dice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from delivery.outcome import E_INVALID_TARGET, Outcome

JITTER = 0.1  # only ever added
RETRY_AFTER_CAP = 3600.0
PAUSE_STATUSES = frozenset({429, 503})
GONE = 410

# done, dead and cancel end a delivery; retry and defer put it off (a deferred try was never made and costs
# nothing); block and park stop its lane.
Verdict = Literal["done", "dead", "cancel", "retry", "defer", "block", "park"]


@dataclass(frozen=True)
class Policy:
    """When to try again: fast retries that double, then slow ones at a fixed pace; or an explicit schedule."""

    max_fast_retries: int = 30
    max_slow_retries: int = 30
    fast_min_ms: int = 5_000
    fast_max_ms: int = 300_000
    slow_ms: int = 3_600_000
    schedule_ms: tuple[int, ...] | None = None

    @property
    def max_tries(self) -> int:
        if self.schedule_ms is not None:
            return 1 + len(self.schedule_ms)
        return 1 + self.max_fast_retries + self.max_slow_retries

    def wait_ms(self, retry: int) -> int | None:
        """The wait before retry number `retry` (from 1), without jitter; None when there is none left."""
        if retry >= self.max_tries:
            return None
        if self.schedule_ms is not None:
            return self.schedule_ms[retry - 1]
        if retry <= self.max_fast_retries:
            return min(self.fast_max_ms, self.fast_min_ms << (retry - 1))
        return self.slow_ms


DEFAULT = Policy()
# A head on retry holds back what comes behind it, so a lane gives up sooner.
FIFO_DEFAULT = Policy(max_fast_retries=5, max_slow_retries=10)


def policy_for(*, fifo: bool, own: Mapping[str, Any] | None, backoff_schedule: Sequence[int] | None = None) -> Policy:
    """The event's schedule, else the subscription's policy over the default of its mode."""
    if backoff_schedule is not None:
        return Policy(schedule_ms=tuple(backoff_schedule))
    default = FIFO_DEFAULT if fifo else DEFAULT
    if not own:
        return default
    if "schedule_ms" in own:
        return Policy(schedule_ms=tuple(own["schedule_ms"]))
    return Policy(**{**{name: getattr(default, name) for name in _NUMBERS}, **own})


_NUMBERS = ("max_fast_retries", "max_slow_retries", "fast_min_ms", "fast_max_ms", "slow_ms")


@dataclass(frozen=True)
class Decision:
    """What becomes of a delivery: the verdict, the seconds to wait, and why it was given up."""

    verdict: Verdict
    wait: float = 0.0
    reason: str | None = None


def decide(*, policy: Policy, tries: int, outcome: Outcome, blocks: bool, dice: float) -> Decision:
    """Judge the try number `tries`; `blocks` is a lane that stops when its head is exhausted, `dice` is in [0, 1)."""
    if outcome.succeeded:
        return Decision("done")
    if outcome.http_status == GONE:
        return Decision("dead", reason="gone")
    if outcome.error_name == E_INVALID_TARGET:
        return Decision("dead", reason="forbidden")
    wait_ms = policy.wait_ms(tries)
    if wait_ms is None:
        return exhausted(blocks=blocks)
    wait = wait_ms / 1000 * (1 + JITTER * dice)
    if outcome.retry_after is not None and outcome.http_status in PAUSE_STATUSES:
        wait = max(wait, min(outcome.retry_after, RETRY_AFTER_CAP))
    return Decision("retry", wait)


def exhausted(*, blocks: bool) -> Decision:
    return Decision("block" if blocks else "dead", reason="exhausted")
