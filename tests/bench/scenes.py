"""The measurements: each returns rows of the report, a figure beside its yardstick from the same run."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from statistics import mean

import requests

from delivery.database import connect
from events.ingest import ingest
from events.limits import BATCH_EVENTS
from tenants.credentials import create_application_secret
from tests.bench.stage import Stage, a_request, an_event, an_ingest, load, percentile, rate
from tests.factories import make_fifo, make_subscription
from tests.plans.explain import FILL_LANES, claim_lanes, fill, heads_of

NAIVE_INDEX = "CREATE INDEX naive_order ON request_attempt (created_at) WHERE lane_id IS NULL AND lease_until IS NULL"
BENCH = {"event_types": ["bench.*"], "labels": {"bench": "yes"}}
TURNS = 3


@dataclass(frozen=True)
class Row:
    """One line of the report; `bar` is the least ratio, or with `at_most` the greatest, that will do."""

    what: str
    value: float
    unit: str
    yardstick: str = ""
    ratio: float | None = None
    bar: float | None = None
    at_most: bool = False

    @property
    def ok(self) -> bool | None:
        if self.ratio is None or self.bar is None:
            return None
        return self.ratio <= self.bar if self.at_most else self.ratio >= self.bar


def throughput(stage: Stage, *, events: int) -> Iterator[Row]:
    """Deliveries per second, end to end, beside the bare sender and a worker that sends inside its transaction."""
    for processes in (1, 2):
        naive = naive_rate(stage, events=max(500, events // 20), processes=processes)
        yield Row(f"naive worker, {processes} process(es) of 16 threads", naive, "deliveries/s")
        bare = bare_rate(stage, requests=events, processes=processes)
        yield Row(f"bare sender, {processes} process(es)", bare, "requests/s")
        application = stage.empty()
        for n in range(50):
            make_subscription(
                application, url=stage.url("/ok"), max_in_flight=1000, event_types=["bench.*"], labels={"n": str(n)}
            )
        load(application, events, spread=50)
        with stage.pumps(processes):
            stage.cluster.wait_until_quiet(300)
        ours = rate(stage.counts()[0])
        what = f"deliveries without order, {processes} process(es)"
        yield Row(what, ours, "deliveries/s", "bare sender", ours / bare, 0.25)
        yield Row(what, ours, "deliveries/s", "naive worker", ours / naive, 8.0)


def naive_rate(stage: Stage, *, events: int, processes: int) -> float:
    """Of workers that hold a transaction open while they send, as one writes them first."""
    application = stage.empty()
    make_subscription(application, url=stage.url("/ok"), **BENCH)
    load(application, events)
    stage.cluster.query(NAIVE_INDEX)  # they shall not lose because their order is not indexed
    stage.run("tests/bench/yardsticks.py", "naive", stage.cluster.server.url, count=processes)
    stage.cluster.query("DROP INDEX naive_order")
    return rate(stage.counts()[0])


def bare_rate(stage: Stage, *, requests: int, processes: int) -> float:
    """Of the same client without a database."""
    stage.run("tests/bench/yardsticks.py", "bare", stage.url("/ok"), str(requests // processes), count=processes)
    return rate(stage.counts()[0])


def one_lane(stage: Stage, *, events: int) -> Iterator[Row]:
    """A lane against a receiver that takes 20 ms, beside one client that sends one after the other."""
    session = requests.Session()
    session.trust_env = False
    for _ in range(events):
        session.post(stage.url("/slow"), data=b"x" * 1000, timeout=15)
    sequential = rate(stage.counts()[0])
    application = stage.empty()
    make_fifo(application, url=stage.url("/slow"), **BENCH)
    load(application, events)
    with stage.pumps(1):
        stage.cluster.wait_until_quiet(300)
    ours = rate(stage.counts()[0])
    yield Row("one lane, receiver of 20 ms", ours, "deliveries/s", "sequential client", ours / sequential, 0.9)


def many_lanes(stage: Stage, *, lanes: int, events: int) -> Iterator[Row]:
    """A thousand lanes at once, beside the bare sender."""
    bare = bare_rate(stage, requests=events, processes=2)
    application = stage.empty()
    make_fifo(application, url=stage.url("/ok"), fifo_key="ordering_key", **BENCH)
    load(application, events, spread=lanes)
    with stage.pumps(2):
        stage.cluster.wait_until_quiet(300)
    ours = rate(stage.counts()[0])
    yield Row(f"{lanes:,} lanes at once, 2 processes", ours, "deliveries/s", "bare sender", ours / bare)


def dead_endpoints(stage: Stage, *, seconds: float, rounds: int) -> Iterator[Row]:
    """The p99 of 80 healthy endpoints, with and without 20 dead ones beside them, by turns, over all rounds.

    The same 80 get the same events at the same moments in both, and every fifth is for a dead one: a pump that found
    nothing for a while looks less often, and that would be measured instead.
    """
    took: dict[int, list[float]] = {0: [], 20: []}
    for dead in list(took) * rounds:
        application = stage.empty()
        paths = {n: "/dead" if n % 5 == 0 else "/ok" for n in range(100)}
        for n, path in paths.items():
            if path == "/ok" or dead:
                make_subscription(
                    application, url=stage.url(path), timeout_ms=1000, event_types=["bench.*"], labels={"n": str(n)}
                )
        with stage.pumps(2):
            publish(application, per_second=100, seconds=15.0, spread=100)  # the circuits of the dead open
            stage.counts()
            publish(application, per_second=100, seconds=seconds, spread=100)
            time.sleep(1)
        took[dead] += stage.counts()[1]
    without, beside = (percentile(latencies, 0.99) for latencies in took.values())
    yield Row("p99 of the healthy, none dead", without * 1000, "ms")
    ratio = beside / without
    yield Row("p99 of the healthy, 20 of 100 dead", beside * 1000, "ms", "none dead", ratio, 1.1, at_most=True)


def latency(stage: Stage, *, seconds: float) -> Iterator[Row]:
    """From before the publish call to the receiver."""
    for per_second in (50, 200):
        application = stage.empty()
        make_subscription(application, url=stage.url("/ok"), **BENCH)
        with stage.pumps(2):
            publish(application, per_second=per_second, seconds=2.0)
            stage.counts()
            publish(application, per_second=per_second, seconds=seconds)
            time.sleep(1)
        p95 = percentile(stage.counts()[1], 0.95)
        yield Row(f"latency at {per_second}/s, p95", p95 * 1000, "ms", "50 ms", p95 / 0.05, 1.0, at_most=True)


def ingests(stage: Stage, *, seconds: float) -> Iterator[Row]:
    """Events per second through the API, one by one and in batches, beside a view that does nothing."""
    stage.wear_in()
    application = stage.empty()
    make_subscription(application, **BENCH)
    token = create_application_secret(application)[1]
    single = json.dumps({"application_id": str(application.id), **an_ingest()}).encode()
    lines = "\n".join(json.dumps(an_ingest(n)) for n in range(BATCH_EVENTS)).encode()
    batch = a_request(f"/events/?application_id={application.id}", token, lines, "application/x-ndjson")
    with stage.api() as port:
        views = a_request("/nothing/", token, single), a_request("/event/", token, single)
        for request in views:
            stage.hammer(port, request, connections=32, seconds=1.0)
        turns = [  # a noisy machine is noisy to both
            [stage.hammer(port, request, connections=32, seconds=seconds / TURNS) for request in views]
            for _ in range(TURNS)
        ]
        nothing, ours = (mean(each) for each in zip(*turns, strict=True))
        # A virtual machine gets its memory from its host as it grows: what is measured grows into memory that is there.
        stage.hammer(port, batch, connections=8, seconds=seconds)
        stage.cluster.query("TRUNCATE event, request_attempt CASCADE")
        batches = stage.hammer(port, batch, connections=8, seconds=seconds)
    events = batches * BATCH_EVENTS
    yield Row("a view that does nothing", nothing, "requests/s")
    yield Row("events one by one", ours, "events/s", "a view that does nothing", ours / nothing, 0.4)
    yield Row("events in batches", events, "events/s", "events one by one", events / ours, 20.0)


def claim_cost(stage: Stage, *, sizes: Sequence[int]) -> Iterator[Row]:
    """Pages that a claim of fifty lanes touches, most lanes blocked and one of nearly all there is."""
    subscription = make_fifo(stage.empty(), fifo_key="ordering_key").pk
    smallest = 0
    for pending in sizes:
        with closing(connect(name="bench")) as connection:
            connection.execute("SET statement_timeout = 0")
            fill(connection, FILL_LANES, pending=pending, subscription=subscription)
            pages = claim_lanes(connection).pages + heads_of(connection).pages
        smallest = smallest or pages
        ratio = pages / smallest
        yield Row(f"a claim at {pending:,} pending", pages, "pages", "the smallest", ratio, 1.1, at_most=True)


def publish(application, *, per_second: float, seconds: float, spread: int = 1) -> None:
    """One event after the other, at an even pace."""
    began = time.monotonic()
    for number in range(int(per_second * seconds)):
        time.sleep(max(0.0, began + number / per_second - time.monotonic()))
        ingest(application.id, [an_event(number % spread, sent=time.time())])
