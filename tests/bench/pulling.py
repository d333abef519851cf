"""Consumers that pull, beside a bare loop over the same rows; and what a thousand of them cost that only wait."""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

from delivery.finish import Report, finish
from delivery.pull import Wanted, poll
from events.ingest import ingest
from hook0.probes import free_port, http_answers
from hook0.product import serve_streams
from tenants.credentials import create_application_secret
from tests.bench.scenes import BENCH, Row
from tests.bench.stage import Stage, an_event, load, percentile
from tests.factories import make_subscription

PULL = {"target_type": "pull", "url": "", "max_in_flight": 1_000}
LEASE = """
WITH due AS (
  SELECT a.id FROM request_attempt a
   WHERE a.subscription_id = %s AND a.lane_id IS NULL AND a.lease_until IS NULL AND a.due_at <= now()
   ORDER BY a.priority DESC, a.due_at, a.id LIMIT %s FOR UPDATE SKIP LOCKED
),
leased AS (
  UPDATE request_attempt a SET lease_until = now() + interval '30 s', epoch = 1, tries = tries + 1
    FROM due WHERE a.id = due.id RETURNING a.id, a.event_id
)
SELECT leased.id, e.event_id, e.event_type, e.payload, e.labels FROM leased JOIN event e ON e.id = leased.event_id
"""
DONE = "DELETE FROM request_attempt WHERE id = ANY (%s)"
MiB = 1 << 20


def polls(stage: Stage, *, events: int) -> Iterator[Row]:
    """Deliveries per second that one consumer fetches and acknowledges, beside one that does the least it can.

    That loop commits as PostgreSQL does by default; and, shown without a bar, as ours does, not waiting for the disk.
    """
    for many in (1, 10, 100):
        count = max(200, events * many // 100)
        bare = count / _bare(stage, count, many, commit="on")
        hasty = count / _bare(stage, count, many, commit="off")
        ours = count / _ours(stage, count, many)
        what = f"poll and ack, {many} at a time"
        yield Row(f"a bare loop, {many} at a time", bare, "deliveries/s")
        yield Row(what, ours, "deliveries/s", "a bare loop", ours / bare, 0.5)
        yield Row(what, ours, "deliveries/s", "one that does not wait for the disk", ours / hasty)


def waiting(stage: Stage, *, streams: int, events: int) -> Iterator[Row]:
    """What the process takes that serves so many idle streams, and how long after a publish one of them is told."""
    application = stage.empty()
    subscriptions = [
        make_subscription(application, **PULL, event_types=["bench.*"], labels={"n": str(n)}) for n in range(streams)
    ]
    token = create_application_secret(application)[1]
    port = free_port()
    stage.cluster.settings |= {"HOOK0_TOKEN_RATE": "1000000", "HOOK0_ADDRESS_RATE": "1000000"}
    server = stage.cluster.start(*serve_streams("127.0.0.1", port))
    while not http_answers("127.0.0.1", port, "/api/v1/instance/", "http://127.0.0.1"):
        time.sleep(0.1)
    try:
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(_connect(port, each.pk, token)) for each in subscriptions]
            memory = _rss(server.pid) / MiB
            yield Row(f"{streams:,} idle streams", memory, "MiB", "150 MiB", memory / 150, 1.0, at_most=True)
            waits = [_wake(application, clients, number % streams) for number in range(events)]
        p95 = percentile(waits, 0.95)
        yield Row("publish to a stream, p50", percentile(waits, 0.5) * 1000, "ms")
        yield Row("publish to a stream, p95", p95 * 1000, "ms", "30 ms", p95 / 0.03, 1.0, at_most=True)
    finally:
        server.terminate()
        server.wait(60)


def _bare(stage: Stage, count: int, many: int, *, commit: str) -> float:
    subscription = _filled(stage, count)
    with psycopg.connect(stage.cluster.server.url, autocommit=True, prepare_threshold=0) as connection:
        connection.execute("SET enable_seqscan = off")
        connection.execute(f"SET synchronous_commit = {commit}")
        connection.execute("LISTEN bench")
        began = time.monotonic()
        while rows := connection.execute(LEASE, (subscription.pk, many)).fetchall():
            connection.execute(DONE, ([row[0] for row in rows],))
        return time.monotonic() - began


def _ours(stage: Stage, count: int, many: int) -> float:
    subscription = _filled(stage, count)
    began = time.monotonic()
    while pulled := poll(subscription, most=many, wanted=Wanted()):
        finish(subscription, [Report(each.receipt) for each in pulled], by="bench")
    return time.monotonic() - began


def _filled(stage: Stage, count: int):
    application = stage.empty()
    subscription = make_subscription(application, **PULL, **BENCH)
    load(application, count)
    stage.cluster.query("VACUUM ANALYZE")
    return subscription


@contextlib.contextmanager
def _connect(port: int, subscription, token: str) -> Iterator[socket.socket]:
    """A consumer that has had its first ping."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        path = f"/api/v1/subscriptions/{subscription}/stream/?max_assigned=100"
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        _read_until(client, b"event: ping\ndata: \n\n")
        yield client


def _wake(application, clients: list[socket.socket], number: int) -> float:
    """Seconds from before the publish call until one stream has the delivery."""
    told: list[float] = []

    def listen() -> None:
        _read_until(clients[number], b"event: message")
        told.append(time.monotonic())

    listener = threading.Thread(target=listen)
    listener.start()
    began = time.monotonic()
    ingest(application.id, [an_event(number)])
    listener.join()
    return told[0] - began


def _read_until(client: socket.socket, wanted: bytes) -> None:
    received = b""
    while wanted not in received:
        piece = client.recv(65_536)
        assert piece, received
        received += piece


def _rss(parent: int) -> int:
    """Of the process that serves: the child of the server's own."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    sizes = [int(Path(f"/proc/{child}/statm").read_text().split()[1]) for child in children]
    return max(sizes) * os.sysconf("SC_PAGE_SIZE")
