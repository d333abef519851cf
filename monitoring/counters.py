"""Counters that processes keep while they work; `PROMETHEUS_MULTIPROC_DIR` makes those of a machine one.

Labels come from short lists. What a client can choose never becomes one, but for the ids of FIFO subscriptions: only so
many of them (monitoring.own_series).
"""

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import product

from django.conf import settings
from prometheus_client import Counter, Histogram

from delivery.claimed import Claimed
from delivery.outcome import ERRORS
from delivery.queue import Ended
from monitoring.histograms import observe_all
from monitoring.own_series import OwnSeries

QUICK = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
REQUESTS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60)
HOURS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 10800, 43200, 86400, 172800)
WAITS = (1, 5, 15, 60, 300, 900, 3600, 10800, 43200, 86400, 172800)
SIZES = (1, 2, 5, 10, 25, 50, 100, 250, 500)

EVENTS = Counter(
    "hook0_events_ingested_total",
    "Events that came in and were stored; those of bulk loads when they are released.",
    ["route"],
)
REFUSED = Counter("hook0_events_refused_total", "Events that came in and were not stored.", ["route", "reason"])
API_SECONDS = Histogram(
    "hook0_api_request_duration_seconds",
    "Requests to the API and the admin, and how long they took.",
    ["method", "route", "status"],
    buckets=QUICK,
)

TRIES = Counter(
    "hook0_delivery_tries_total",
    "Tries of deliveries that ended, by what became of the delivery and the class of error.",
    ["verdict", "error", "order", "target"],
)
REQUEST_SECONDS = Histogram("hook0_request_duration_seconds", "How long endpoints took to answer.", buckets=REQUESTS)
DELIVERY_SECONDS = Histogram(
    "hook0_delivery_duration_seconds",
    "From the receipt of an event, or the end of the delay it asks for, to its acknowledgement.",
    ["order", "target", "origin"],
    buckets=HOURS,
)
QUEUE_SECONDS = Histogram(
    "hook0_queue_duration_seconds",
    "From when a webhook's try was due to when its request began; in a lane, of the first of each visit of a pump.",
    ["order"],
    buckets=HOURS,
)
BLOCKED_SECONDS = Histogram(
    "fifo_subscription_blocked_duration_seconds",
    "How long webhooks of a FIFO subscription waited for their turn.",
    ["subscription_id"],
    buckets=WAITS,
)

CLAIM_SECONDS = Histogram("hook0_claim_duration_seconds", "Looks for work, and how long they took.", buckets=QUICK)
CLAIMED = Counter("hook0_deliveries_claimed_total", "Deliveries that were leased to a pump.")
RECORD_SECONDS = Histogram("hook0_record_duration_seconds", "How long batches took to write down.", buckets=QUICK)
RECORD_SIZE = Histogram("hook0_record_batch_size", "Ends of tries that were written down together.", buckets=SIZES)
EXPIRED = Counter("hook0_leases_expired_total", "Leases of those that did not come back in time.", ["holder"])
JOBS = Counter("hook0_jobs_total", "Rounds of the jobs on the clock, by result.", ["task", "result"])

ORDERS, TARGETS, HOLDERS = ("fifo", "none"), ("http", "pull"), ("pump", "consumer")
ENDS = {"done": ["none"], "cancel": ["none"], "retry": ERRORS, "dead": ERRORS, "block": ERRORS}

LIVE_SECONDS = 5.0  # what is made of an event later is a replay, of a bulk load, or sent again by somebody

own_series = OwnSeries(settings.METRICS_DIR, most=settings.METRICS_SUBSCRIPTIONS)


def begin_at_zero() -> None:
    """Show what may fail before it does: Prometheus sees no increase from nothing to the first burst."""
    for order, target in product(ORDERS, TARGETS):
        for verdict, errors in ENDS.items():
            for error in errors:
                TRIES.labels(verdict, error, order, target)
    for holder in HOLDERS:
        EXPIRED.labels(holder)


begin_at_zero()


def count_ingested(route: str, fates: Iterable[str]) -> None:
    """Events that have just come in, by what became of them."""
    for fate, amount in Tally(fates).items():
        if fate == "created":
            EVENTS.labels(route).inc(amount)
        else:
            REFUSED.labels(route, fate).inc(amount)


def count_claimed(leases: int, seconds: float) -> None:
    """A look for work."""
    CLAIM_SECONDS.observe(seconds)
    if leases:
        CLAIMED.inc(leases)


def count_recorded(ended: Sequence[Ended], seconds: float) -> None:
    """What a pump or a consumer has just had written down."""
    RECORD_SECONDS.observe(seconds)
    RECORD_SIZE.observe(len(ended))
    made = [each for each in ended if each.decision.verdict not in {"defer", "park"}]
    for labels, amount in Tally(_fate(each) for each in made).items():
        TRIES.labels(*labels).inc(amount)
    requests = [each.outcome.elapsed_ms / 1000 for each in made if each.outcome and each.outcome.elapsed_ms is not None]
    observe_all(REQUEST_SECONDS, requests)
    _count_waits([each for each in made if each.picked_at and each.outcome])


def count_reaped(of_pumps: int, of_consumers: int) -> None:
    """Leases that had expired."""
    EXPIRED.labels("pump").inc(of_pumps)
    EXPIRED.labels("consumer").inc(of_consumers)


def _fate(ended: Ended) -> tuple[str, str, str, str]:
    error = (ended.outcome and ended.outcome.error_name) or "none"
    return ended.decision.verdict, error, _order(ended.claimed), _target(ended.claimed)


def _order(claimed: Claimed) -> str:
    return "fifo" if claimed.fifo_mode else "none"


def _target(claimed: Claimed) -> str:
    return "http" if claimed.url else "pull"


def _origin(claimed: Claimed) -> str:
    return "live" if _seconds(claimed.received_at, claimed.created_at) < LIVE_SECONDS else "later"


def _count_waits(sent: Sequence[Ended]) -> None:
    queued, acknowledged, turns = defaultdict(list), defaultdict(list), defaultdict(list)
    now = datetime.now(UTC)
    for each in sent:
        claimed, outcome, picked_at = each.claimed, each.outcome, each.picked_at
        if picked_at is None or outcome is None:
            continue
        order, target = _order(claimed), _target(claimed)
        # Who comes after, in the same visit, is due when its turn comes; and consumers ask when they like.
        if target == "http" and claimed.visit_began == claimed.leased_at:
            queued[order].append(_seconds(claimed.due_at, picked_at))
        if each.decision.verdict == "done":
            wanted_at = max(claimed.received_at, claimed.deliver_at or claimed.received_at)
            # What a consumer has acknowledged ends now.
            took = _seconds(wanted_at, now if outcome.elapsed_ms is None else picked_at)
            acknowledged[order, target, _origin(claimed)].append(took + (outcome.elapsed_ms or 0) / 1000)
        if order == "fifo" and claimed.try_number == 1:
            waited = _seconds(max(claimed.created_at, claimed.deliver_at or claimed.created_at), picked_at)
            turns[own_series.label(claimed.subscription_id, worth_one=waited >= WAITS[0])].append(waited)
    for order, amounts in queued.items():
        observe_all(QUEUE_SECONDS.labels(order), amounts)
    for labels, amounts in acknowledged.items():
        observe_all(DELIVERY_SECONDS.labels(*labels), amounts)
    for subscription, waits in turns.items():
        observe_all(BLOCKED_SECONDS.labels(subscription), waits)


def _seconds(since: datetime, until: datetime) -> float:
    return max(0.0, (until - since).total_seconds())
