"""A snapshot of the tables as metrics: taken by one process at a time, kept in one row, read by all.

A statement here may read many rows where much is waiting. So the next one waits for twenty times as long as this one
took: it costs a twentieth of a processor at most, but for looks of more than five seconds, after which what was seen
must not become too old to be shown. Whatever becomes of a look, the next one is not at once.
"""

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings
from django.db import OperationalError, connection, transaction
from psycopg.errors import QueryCanceled

from delivery.statements import statement
from monitoring import jobs
from monitoring.gauges import GAUGES
from monitoring.models import Snapshot

logger = logging.getLogger(__name__)

SQL = Path(__file__).parent / "sql"
STATEMENTS = (
    "lanes", "fifo_subscriptions", "queue", "in_flight", "pools", "consumers", "workers", "circuits", "jobs",
    "job_queues", "bulk_loads", "bulk_load_progress", "retention", "connections", "database", "tables",
)  # fmt: skip
INTERVAL_SECONDS = 5.0
SHARE = 20
LONGEST_SECONDS = 90.0  # between two looks; after two minutes, what was seen is no longer shown (monitoring.tables)
STATEMENT_SECONDS = 10.0
COUNTED_JOBS = 200_000  # of each state, by all queues together


class TookTooLong(Exception):
    """A statement did not come to its end in time; which one."""


@dataclass(frozen=True)
class Sample:
    """One value of one metric."""

    name: str
    labels: dict[str, str]
    value: float


def keep_fresh() -> bool:
    """Take a new snapshot if it is time and nobody else is at it; whether one was taken."""
    if not _is_my_turn():
        return False
    began = time.monotonic()
    try:
        with transaction.atomic(durable=True), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = '{STATEMENT_SECONDS}s'")
            samples = orjson.dumps(list(take())).decode()
            seconds = time.monotonic() - began
            cursor.execute(
                "UPDATE metrics_snapshot SET samples = %s::jsonb, seconds = %s, taken_at = clock_timestamp(),"
                " next_at = clock_timestamp() + %s * interval '1 s'",
                [samples, seconds, pause_after(seconds)],
            )
    except TookTooLong as name:
        logger.warning("The tables were not looked at: %s took more than %g s", name, STATEMENT_SECONDS)
        return False
    return True


def pause_after(seconds: float) -> float:
    """How long to wait after a look that took so long."""
    return min(max(INTERVAL_SECONDS, SHARE * seconds), LONGEST_SECONDS)


def _is_my_turn() -> bool:
    """Put the next look far off, before this one: one that does not come to its end is not begun anew at once."""
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("INSERT INTO metrics_snapshot (samples) VALUES ('[]') ON CONFLICT DO NOTHING")
        cursor.execute(
            "UPDATE metrics_snapshot SET next_at = clock_timestamp() + %s * interval '1 s' WHERE id IN"
            " (SELECT id FROM metrics_snapshot WHERE next_at <= clock_timestamp() FOR NO KEY UPDATE SKIP LOCKED)",
            [LONGEST_SECONDS],
        )
        return bool(cursor.rowcount)


def take() -> Iterator[Sample]:
    """What the tables say now."""
    intervals = jobs.intervals()
    parameters = {
        "most": settings.METRICS_SUBSCRIPTIONS,
        "counted_jobs": COUNTED_JOBS,
        "jobs": list(intervals),
        "intervals": list(intervals.values()),
    }
    for name in STATEMENTS:
        yield from _ask(name, parameters)


@dataclass(frozen=True)
class Kept:
    """The snapshot that is there."""

    samples: list[Sample]
    taken_at: datetime
    age: float
    seconds: float


def read() -> Kept | None:
    """None where none was ever taken."""
    row = Snapshot.objects.first()
    if row is None or not row.samples:
        return None
    with connection.cursor() as cursor:  # the database's clock, as the one that took it
        cursor.execute("SELECT extract(epoch FROM clock_timestamp() - %s)::float", [row.taken_at])
        (age,) = cursor.fetchone() or (0.0,)
    return Kept([Sample(**sample) for sample in row.samples], row.taken_at, age, row.seconds)


def _ask(name: str, parameters: dict[str, Any]) -> Iterator[Sample]:
    with connection.cursor() as cursor:
        try:
            cursor.execute(statement(name, SQL), parameters)
        except OperationalError as problem:
            if isinstance(problem.__cause__, QueryCanceled):
                raise TookTooLong(name) from None
            raise
        columns = [column.name for column in cursor.description or ()]
        rows = cursor.fetchall()
    for row in rows:
        values = dict(zip(columns, row, strict=True))
        labels = {column: str(value) for column, value in values.items() if column not in GAUGES}
        for gauge in values.keys() & GAUGES.keys():
            yield Sample(gauge, labels, float(values[gauge]))
