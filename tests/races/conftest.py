"""A cluster, a broker, workers and publishers in processes of their own, and the history of what they did."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
from django.conf import settings

from hook0.embedded import postgres
from hook0.embedded.server import Server
from hook0.programs import end, spawn
from hook0.receiver import Behaviour, Receiver, start_in_thread
from tests.embedded_services import temporary_home
from tests.flow.conftest import ROOT
from tests.races.history import Arrival, Ending, History, Published

TIMEOUT_MS = 1_000
LEASE_MARGIN = 1
QUIET_SECONDS = 90


class Moody(Receiver):
    """A receiver that fails, hangs past the time-out, or hangs up, at random."""

    def __init__(self, *, seed: int) -> None:
        super().__init__()
        self.dice = random.Random(seed)
        self.pace_ms = 20
        self.calm = False

    def _next(self, path: str, body: bytes) -> Behaviour:
        mood = 1.0 if self.calm else self.dice.random()
        if mood < 0.08:
            return Behaviour(status=500)
        if mood < 0.10:
            return Behaviour(delay_ms=TIMEOUT_MS + 500)
        if mood < 0.12:
            return Behaviour(down=True)
        return Behaviour(delay_ms=self.dice.randrange(10 if self.calm else self.pace_ms))


@dataclass(frozen=True)
class Publisher:
    """A process that publishes, and the file in which it keeps what it was answered."""

    process: subprocess.Popen
    said: Path


@dataclass
class Arena:
    """A database of its own, which may be shot, and everybody who works on it."""

    home: Path
    server: Server
    process: subprocess.Popen
    receiver: Receiver
    children: list[subprocess.Popen] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "DATABASE_URL": self.server.url,
            "HOOK0_LEASE_MARGIN": str(LEASE_MARGIN),
            "PYTHONPATH": str(ROOT),
        }

    @property
    def errors(self) -> Path:
        return self.home / "log" / "children.log"

    def query(self, sql: str, *parameters) -> list[tuple]:
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            cursor = connection.execute(sql, parameters)
            return cursor.fetchall() if cursor.description else []

    def start(self, *arguments: str, **options) -> subprocess.Popen:
        child = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self.environment,
            text=True,
            stderr=self.errors.open("a"),
            **options,
        )
        self.children.append(child)
        return child

    def work(self, mutant: str = "none") -> subprocess.Popen:
        return self.start("tests/races/process.py", "work", mutant)

    def publish(self, application: str, *, seed: int, seconds: float) -> Publisher:
        said = self.home / f"publisher-{seed}.jsonl"
        with said.open("w") as stdout:
            arguments = ("publish", application, str(seed), str(seconds))
            return Publisher(self.start("tests/races/process.py", *arguments, stdout=stdout), said)

    def restart_immediately(self) -> None:
        """As a power cut for the server: no checkpoint, no good-bye."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(30)
        self.serve()

    def serve(self) -> None:
        self.process = spawn(self.server.program, self.home / "log" / "postgres.log")
        while not self.server.program.is_ready():
            assert self.process.poll() is None, (self.home / "log" / "postgres.log").read_text()[-3000:]
            time.sleep(0.05)

    def subscribe(self, **overrides) -> str:
        """An application with one FIFO subscription with a lane per key; the application's id."""
        (organization,) = self.query(
            "INSERT INTO organization (id, name) VALUES (gen_random_uuid(), 'Races') RETURNING id"
        )[0]
        (application,) = self.query(
            "INSERT INTO application (id, name, organization_id) VALUES (gen_random_uuid(), 'Races', %s) RETURNING id",
            organization,
        )[0]
        self.query(
            "INSERT INTO event_type (application_id, service, resource_type, verb)"
            " VALUES (%s, 'races', 'event', 'sent')",
            application,
        )
        columns = {
            "fifo_mode": True,
            "fifo_key": "ordering_key",
            "retry_policy": json.dumps({"schedule_ms": [50] * 99}),
            "url": f"http://127.0.0.1:{self.receiver.port}/lanes",
            **overrides,
        }
        names = ", ".join(columns)
        self.query(
            "WITH s AS (INSERT INTO subscription (id, application_id, description, is_enabled, is_paused,"
            " event_types, labels, metadata, secret, method, headers, fifo_on_exhausted, timeout_ms, max_in_flight,"
            f" disabled_reason,"
            f" updated_at, {names}) VALUES (gen_random_uuid(), %s, '', true, false, '{{races.*}}', '{{}}', '{{}}',"
            f" gen_random_uuid(), 'POST', '{{}}', 'advance', {TIMEOUT_MS}, 32, '', now(),"
            f" {', '.join(['%s'] * len(columns))}) RETURNING id, fifo_mode)"
            f" INSERT INTO subscription_state (subscription_id, fifo_mode) SELECT id, fifo_mode FROM s",
            application,
            *columns.values(),
        )
        return str(application)

    def wait_until_quiet(self, seconds: float = QUIET_SECONDS):
        """Until nothing is pending, or for so long; how much is left."""
        deadline = time.monotonic() + seconds
        while True:
            ((pending,),) = self.query("SELECT count(*) FROM request_attempt")
            if not pending or time.monotonic() > deadline:
                return pending
            time.sleep(0.2)

    def history(self, publishers: Sequence[Publisher], *, pending: int) -> History:
        places = {
            str(event): (lane, number)
            for event, lane, number in self.query(
                "SELECT e.event_id, l.lane_id, l.lane_seq FROM event e JOIN"
                " (SELECT event_id, lane_id, lane_seq FROM attempt_log"
                "  UNION SELECT event_id, lane_id, lane_seq FROM request_attempt) l ON l.event_id = e.id"
            )
        }
        history = History(pending=pending)
        for publisher in publishers:
            publisher.process.wait(60)
            for line in publisher.said.read_text().splitlines():
                call = json.loads(line)
                for event in call["events"]:
                    if event in places:
                        history.published.append(Published(*places[event], call["invoked"], call["answered"]))
                    else:
                        history.vanished += 1
        for each in self.receiver.received:
            headers = each.headers
            history.arrivals.append(
                Arrival(
                    lane=int(headers["x-hook0-lane"]),
                    number=int(headers["x-hook0-sequence"]),
                    attempt=int(headers["x-hook0-attempt"]),
                    begin=each.at,
                    end=min(each.until, each.at + TIMEOUT_MS / 1000),
                    ok=each.answered == 200 and each.until < each.at + TIMEOUT_MS / 1000,
                )
            )
        history.endings = [
            Ending(*row)
            for row in self.query(
                "SELECT lane_id, lane_seq, try_number, accepted, succeeded,"
                " coalesce(error_name = 'E_WORKER_LOST', false) FROM attempt_log"
            )
        ]
        return history


@pytest.fixture(scope="module")
def cluster() -> Iterator[Arena]:
    with temporary_home() as home:
        (home / "log").mkdir()
        server = postgres.prepare(home, settings.POSTGRES_BIN)
        arena = Arena(home, server, None, None)
        arena.serve()
        try:
            subprocess.run(
                [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
                cwd=ROOT,
                env=arena.environment,
                check=True,
            )
            yield arena
        finally:
            end(server.program, arena.process)


@pytest.fixture
def arena(cluster: Arena, request) -> Iterator[Arena]:
    """The cluster with empty tables, and a receiver of its own."""
    tables = "organization, event, request_attempt, attempt_log, dead_letter, operator_action, pump_beacon"
    cluster.query(f"TRUNCATE {tables} RESTART IDENTITY CASCADE")
    cluster.receiver = start_in_thread(Moody(seed=7))
    cluster.children = []
    yield cluster
    for child in cluster.children:
        if child.poll() is None:
            child.send_signal(signal.SIGCONT)
            child.kill()
        child.wait()
