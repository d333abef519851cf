"""What the benchmarks stand on: a cluster, a sink, pumps, and events to deliver."""

import json
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg
from django.db import connections

from events.ingest import Columns, NewEvent, ingest
from hook0.probes import free_port, http_answers
from hook0.product import serve
from tenants.models import Application
from tests.cluster import Cluster
from tests.factories import make_application, make_event_type

EVENT_TYPE = "bench.event.sent"
BATCH = 500
PAYLOAD_BYTES = 1000


@dataclass
class Stage:
    """A cluster and a sink that is a process of its own."""

    cluster: Cluster
    sink: str

    def url(self, path: str) -> str:
        return f"{self.sink}{path}"

    def counts(self) -> tuple[list[float], list[float]]:
        """When requests came since the last call, and how long after their event was sent."""
        with urllib.request.urlopen(self.url("/counts"), timeout=30) as answer:  # noqa: S310 - our own sink
            known = json.load(answer)
        return sorted(known["arrivals"]), sorted(known["latencies"])

    def empty(self) -> Application:
        """Empty tables, and an application."""
        self.cluster.empty()
        self.counts()
        application = make_application()
        make_event_type(application, EVENT_TYPE)
        return application

    def fill(self, sql: str, **parameters: Any) -> None:
        """Rows by the hundred thousand, where a statement makes them."""
        with psycopg.connect(self.cluster.server.url, autocommit=True) as connection:
            connection.execute(sql, parameters)
            connection.execute("VACUUM ANALYZE event")

    def wear_in(self) -> None:
        """Two gigabytes of the database's log, whose files it uses again: a new one fills each with zeros first."""
        self.cluster.query(
            "SELECT count(pg_logical_emit_message(false, '', repeat('x', 1 << 20))) FROM generate_series(1, 2048)"
        )
        self.cluster.restart()
        connections.close_all()

    @contextmanager
    def pumps(self, count: int, **settings: str) -> Iterator[None]:
        """So many pumps, awake when the block begins."""
        self.cluster.settings |= settings
        pumps = [self.cluster.start("manage.py", "deliver", stdout=subprocess.DEVNULL) for _ in range(count)]
        self.cluster.wait_for_pumps(count)
        try:
            yield
        finally:
            for pump in pumps:
                pump.terminate()
            for pump in pumps:
                pump.wait(60)

    @contextmanager
    def api(self) -> Iterator[int]:
        """The API as the product serves it, with a view beside it that does nothing; its port."""
        port = free_port()
        self.cluster.settings |= {"HOOK0_TOKEN_RATE": "1000000", "HOOK0_ADDRESS_RATE": "1000000"}  # counted, not met
        server = self.cluster.start(*serve("tests.bench.wsgi:application", "127.0.0.1", port))
        while not http_answers("127.0.0.1", port, "/api/v1/instance/", "http://127.0.0.1"):
            time.sleep(0.1)
        try:
            yield port
        finally:
            server.terminate()
            server.wait(60)

    def hammer(self, port: int, request: bytes, *, connections: int, seconds: float) -> float:
        """How often per second a request is answered, sent by a process of its own."""
        arguments = ("tests/bench/hammer.py", str(port), str(connections), str(seconds))
        process = self.cluster.start(*arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="latin-1")
        return float(process.communicate(request.decode("latin-1"), timeout=600)[0])

    def run(self, *arguments: str, count: int) -> None:
        """So many processes of a yardstick, to their end."""
        processes: list[subprocess.Popen] = [self.cluster.start(*arguments) for _ in range(count)]
        for process in processes:
            process.wait(600)


def an_event(index: int = 0, *, sent: float | None = None) -> NewEvent:
    body = f'{{"sent": {sent}, "x": "'.encode() if sent else b'{"x": "'
    columns: Columns = {
        "event_type": EVENT_TYPE,
        "payload_content_type": "application/json",
        "labels": {"bench": "yes", "n": str(index)},
        "occurred_at": datetime.now(UTC),
        "ordering_key": str(index),
    }
    return NewEvent.of(body + b"x" * (PAYLOAD_BYTES - len(body) - 2) + b'"}', columns)


def an_ingest(index: int = 0) -> dict[str, Any]:
    """The same as the API takes it."""
    event = an_event(index)
    return {**json.loads(event.fields), "payload": event.payload.decode()}


def a_request(path: str, token: str, body: bytes, content_type: str = "application/json") -> bytes:
    head = (
        f"POST /api/v1{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def load(application: Application, count: int, *, spread: int = 1) -> None:
    """So many events, in batches; `spread` is over how many keys and labels."""
    for start in range(0, count, BATCH):
        batch = [an_event(number % spread) for number in range(start, min(count, start + BATCH))]
        ingest(application.id, batch)


def rate(arrivals: Sequence[float]) -> float:
    """Per second, from the first arrival to the last, without the first and the last tenth."""
    tenth = len(arrivals) // 10
    middle = arrivals[tenth : len(arrivals) - tenth]
    return (len(middle) - 1) / (middle[-1] - middle[0])


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
