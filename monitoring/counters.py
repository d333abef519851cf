"""Counters that processes keep while they work; `PROMETHEUS_MULTIPROC_DIR` makes them one."""

from collections.abc import Sequence

from prometheus_client import Counter, Histogram

from delivery.queue import Ended

TRIES = Counter(
    "hook0_delivery_tries_total",
    "Tries of deliveries that ended, by what became of the delivery and the class of error.",
    ["verdict", "error"],
)
REQUEST_SECONDS = Histogram(
    "hook0_request_duration_seconds",
    "How long targets took to answer.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)


def count_recorded(ended: Sequence[Ended]) -> None:
    """What the pump has just recorded."""
    for each in ended:
        if each.decision.verdict == "defer":
            continue
        outcome = each.outcome
        TRIES.labels(each.decision.verdict, (outcome.error_name if outcome else None) or "none").inc()
        if outcome and outcome.elapsed_ms is not None:
            REQUEST_SECONDS.observe(outcome.elapsed_ms / 1000)
