"""A database cluster of its own, which may be shot, and processes that work on it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from hook0.embedded import postgres
from hook0.embedded.server import Server
from hook0.programs import end, kill_group, spawn
from tests.embedded_services import temporary_home

ROOT = Path(__file__).parent.parent
TABLES = (
    "organization, event, event_upkeep, request_attempt, attempt_log, dead_letter, operator_action, pump_beacon,"
    " release_pace"
)
QUIET_SECONDS = 90


@dataclass
class Cluster:
    """PostgreSQL with our tables, and the children that were started on it."""

    home: Path
    server: Server
    settings: dict[str, str] = field(default_factory=dict)
    children: list[subprocess.Popen] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.serve()

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "DATABASE_URL": self.server.url, "PYTHONPATH": str(ROOT), **self.settings}

    @property
    def log(self) -> Path:
        return self.home / "log" / "children.log"

    def serve(self) -> None:
        self.process = spawn(self.server.program, self.home / "log" / "postgres.log")
        is_ready = self.server.program.is_ready
        while not (is_ready and is_ready()):
            assert self.process.poll() is None, (self.home / "log" / "postgres.log").read_text()[-3000:]
            time.sleep(0.05)

    def restart_immediately(self) -> None:
        """As a power cut for the server: no checkpoint, no good-bye."""
        self.restart(signal.SIGQUIT)

    def restart(self, by: int = signal.SIGINT) -> None:
        self.process.send_signal(by)
        self.process.wait(60)
        self.serve()

    def query(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            cursor = connection.execute(sql, parameters)
            return cursor.fetchall() if cursor.description else []

    def wait_for_pumps(self, count: int) -> None:
        """Until so many are connected: who begins while the database is away ends, for its supervisor to begin anew."""
        connected = "SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'hook0 pump%%'"
        while len(self.query(connected)) < count:
            time.sleep(0.05)

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen:
        """A Python process of the checkout; what it says on stderr is in the log."""
        with self.log.open("a") as errors:
            child = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                env=self.environment,
                text=True,
                stderr=errors,
                start_new_session=True,
                **options,
            )
        self.children.append(child)
        return child

    def wait_until_quiet(self, seconds: float = QUIET_SECONDS) -> int:
        """Until nothing is pending, or for so long; how much is left."""
        deadline = time.monotonic() + seconds
        while True:
            ((pending,),) = self.query("SELECT count(*) FROM request_attempt")
            if not pending or time.monotonic() > deadline:
                return int(pending)
            time.sleep(0.1)

    def end_children(self) -> None:
        for child in self.children:
            kill_group(child.pid)
            child.wait()
        self.children = []

    def empty(self) -> None:
        self.query(f"TRUNCATE {TABLES} RESTART IDENTITY CASCADE")


@contextmanager
def running_cluster(kind: type[Cluster] = Cluster, **settings: str) -> Iterator[Cluster]:
    """A cluster for as long as the block lasts; its children are told `settings`."""
    with temporary_home() as home:
        (home / "log").mkdir()
        server = postgres.prepare(home, os.environ.get("HOOK0_POSTGRES_BIN", ""))
        cluster = kind(home, server, settings)
        try:
            migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
            subprocess.run(migrate, cwd=ROOT, env=cluster.environment, check=True)
            yield cluster
        finally:
            cluster.end_children()
            end(server.program, cluster.process)
