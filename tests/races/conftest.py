"""Workers and publishers in processes of their own, and the history of what they did."""

import json
import math
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import redis

from hook0.embedded import valkey
from hook0.programs import end, kill_group, spawn
from hook0.receiver import Behaviour, Receiver, start_in_thread
from tests.cluster import Cluster, running_cluster
from tests.races.history import Arrival, Ending, History, Published

TIMEOUT_MS = 1_000
LANES, DEAD, HANGING = "/lanes", "/dead", "/hanging"
IN_LANES = "subscription_id IN (SELECT id FROM subscription WHERE url LIKE %s)"
LEASE_MARGIN = 1


class Moody(Receiver):
    """A receiver that fails, hangs past the time-out, or hangs up, at random."""

    def __init__(self, *, seed: int) -> None:
        super().__init__()
        self.dice = random.Random(seed)
        self.pace_ms = 20
        self.calm = False

    def _next(self, path: str, body: bytes) -> Behaviour:
        if path == DEAD:
            return Behaviour(status=500)
        if path == HANGING:
            return Behaviour(delay_ms=TIMEOUT_MS + 500)
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


MAINTENANCE = ("worker", "--queues", "maintenance", "--concurrency", "1", "--hostname", "maintenance@%h")
DELIVERY = ("worker", "--queues", "delivery", "--concurrency", "2", "--hostname", "delivery@%h")


class Celery:
    """The product's Celery processes, on a broker of their own. Who ends is started again, as `manage.py up` does."""

    def __init__(self, arena: "Arena", broker_url: str) -> None:
        self._arena, self._broker_url = arena, broker_url
        self._commands = {
            "maintenance": MAINTENANCE,
            "delivery": DELIVERY,
            "beat": ("beat", "--schedule", str(arena.home / "beat")),
        }
        self._running = {name: self._start(name) for name in self._commands}
        self._ended = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise)
        self._supervisor.start()

    def wait_for_a_pump(self) -> None:
        while not self._arena.query("SELECT 1 FROM pump_beacon"):
            time.sleep(0.1)

    def flush(self) -> None:
        with redis.Redis.from_url(self._broker_url) as broker:
            broker.flushall()

    def kill_a_pump(self) -> None:
        worker = self._running["delivery"].pid
        with suppress(ProcessLookupError, FileNotFoundError):
            children = Path(f"/proc/{worker}/task/{worker}/children").read_text().split()
            for child in children[-1:]:
                os.kill(int(child), signal.SIGKILL)

    def kill(self, name: str) -> None:
        """With its children, as a machine dies."""
        kill_group(self._running[name].pid)

    def stop(self, name: str) -> None:
        """As an operator does, and a deployment."""
        process = self._running[name]
        process.terminate()
        process.wait(60)

    def end(self) -> None:
        self._ended.set()
        self._supervisor.join()

    def _supervise(self) -> None:
        while not self._ended.wait(0.1):
            for name, process in self._running.items():
                if process.poll() is not None:
                    kill_group(process.pid)
                    self._running[name] = self._start(name)

    def _start(self, name: str) -> subprocess.Popen:
        arguments = self._commands[name]
        return self._arena.start("-m", "celery", "--quiet", "--app", "hook0", *arguments, "--loglevel", "ERROR")


@dataclass
class Arena(Cluster):
    """A cluster, and everybody who works on it."""

    receiver: Receiver = field(default_factory=Receiver)

    def work(self, mutant: str = "none") -> subprocess.Popen:
        return self.start("tests/races/process.py", "work", mutant)

    def publish(self, application: str, *, seed: int, seconds: float) -> Publisher:
        said = self.home / f"publisher-{seed}.jsonl"
        with said.open("w") as stdout:
            arguments = ("publish", application, str(seed), str(seconds))
            return Publisher(self.start("tests/races/process.py", *arguments, stdout=stdout), said)

    def subscribe(self, **overrides) -> str:
        """An application with one FIFO subscription with a lane per key; the application's id."""
        application = self._make_application()
        self.add_subscription(application, **overrides)
        return application

    def forget_the_dead(self) -> None:
        """What waits for endpoints that never answer."""
        self.query(
            "WITH s AS (SELECT id FROM subscription WHERE url NOT LIKE %s),"
            " a AS (DELETE FROM request_attempt WHERE subscription_id IN (SELECT id FROM s))"
            " DELETE FROM fifo_subscription_state WHERE subscription_id IN (SELECT id FROM s)",
            f"%{LANES}",
        )

    def _make_application(self) -> str:
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
        return str(application)

    def add_subscription(self, application: str, *, path: str = LANES, **overrides) -> None:
        columns = {
            "fifo_mode": True,
            "fifo_key": "ordering_key",
            "fifo_on_exhausted": "advance",
            "retry_policy": json.dumps({"schedule_ms": [50] * 99}),
            "url": f"http://127.0.0.1:{self.receiver.port}{path}",
            **overrides,
        }
        names = ", ".join(columns)
        self.query(
            "WITH s AS (INSERT INTO subscription (id, application_id, description, is_enabled, is_paused,"
            " event_types, labels, metadata, secret, method, headers, timeout_ms, max_in_flight,"
            f" disabled_reason,"
            f" updated_at, {names}) VALUES (gen_random_uuid(), %s, '', true, false, '{{races.*}}', '{{}}', '{{}}',"
            f" gen_random_uuid(), 'POST', '{{}}', {TIMEOUT_MS}, 32, '', now(),"
            f" {', '.join(['%s'] * len(columns))}) RETURNING id, fifo_mode)"
            f" INSERT INTO subscription_state (subscription_id, fifo_mode) SELECT id, fifo_mode FROM s",
            application,
            *columns.values(),
        )

    @contextmanager
    def celery(self) -> Iterator[Celery]:
        broker = valkey.prepare(self.home)
        process = spawn(broker.program, self.home / "log" / "valkey.log")
        self.settings["CELERY_BROKER_URL"] = broker.url
        celery = Celery(self, broker.url)
        try:
            yield celery
        finally:
            celery.end()
            self.end_children()
            end(broker.program, process)
            del self.settings["CELERY_BROKER_URL"]

    def history(self, publishers: Sequence[Publisher], *, pending: int) -> History:
        places = {
            event: (lane, number)
            for event, lane, number in self.query(
                "SELECT e.metadata->>'mark', l.lane_id, l.lane_seq FROM event e JOIN"
                " (SELECT event_id, subscription_id, lane_id, lane_seq FROM attempt_log"
                "  UNION SELECT event_id, subscription_id, lane_id, lane_seq FROM request_attempt) l"
                f" ON l.event_id = e.id WHERE {IN_LANES}",
                f"%{LANES}",
            )
        }
        history = History(pending=pending)
        for publisher in publishers:
            publisher.process.wait(60)
            for line in publisher.said.read_text().splitlines():
                call = json.loads(line)
                for event in call["events"]:
                    # Where the answer was lost with the database, the event may be there all the same.
                    answered = call["answered"] or math.inf
                    if event in places:
                        history.published.append(Published(*places[event], call["invoked"], answered))
                    elif answered < math.inf:
                        history.vanished += 1
        for each in [each for each in self.receiver.received if each.path == LANES]:
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
                f" coalesce(error_name = 'E_WORKER_LOST', false) FROM attempt_log WHERE {IN_LANES}",
                f"%{LANES}",
            )
        ]
        return history


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster(Arena, HOOK0_LEASE_MARGIN=str(LEASE_MARGIN)) as cluster:
        yield cluster


@pytest.fixture
def arena(cluster: Arena) -> Iterator[Arena]:
    """The cluster with empty tables, and a receiver of its own."""
    cluster.empty()
    cluster.receiver = start_in_thread(Moody(seed=7))
    yield cluster
    cluster.end_children()
