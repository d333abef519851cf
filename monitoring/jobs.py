"""Keeps when each job on the clock last went well: a job that fails, or a clock that stands still, is seen by that."""

import logging
import time
from datetime import UTC, datetime
from typing import Any

from celery import current_app
from celery.signals import task_failure, task_success
from django.db import DatabaseError, InterfaceError, connection

from monitoring.counters import JOBS
from monitoring.models import JobRound

logger = logging.getLogger(__name__)

PUMP = "delivery.tasks.pump"  # not of the clock alone, and it gives signs of life of its own
WRITE_SECONDS = 5.0  # a job that runs every second is not written down every second

_written: dict[str, float] = {}


def intervals() -> dict[str, float]:
    """The jobs on the clock, and how often each is due, in seconds."""
    schedule = current_app.conf.beat_schedule.values()
    return {name_of(each["task"]): float(each["schedule"]) for each in schedule if each["task"] != PUMP}


def name_of(task: str) -> str:
    return task.rpartition(".")[2]


@task_success.connect
def succeeded(sender: Any, **_: Any) -> None:
    job = name_of(sender.name)
    if job not in intervals():
        return
    JOBS.labels(job, "succeeded").inc()
    if time.monotonic() - _written.get(job, -WRITE_SECONDS) >= WRITE_SECONDS:
        _written[job] = time.monotonic()
        _write(job, succeeded_at=datetime.now(UTC))


@task_failure.connect
def failed(sender: Any, exception: BaseException, **_: Any) -> None:
    job = name_of(sender.name)
    if job not in intervals():
        return
    JOBS.labels(job, "failed").inc()
    _write(job, failed_at=datetime.now(UTC), error=_in_a_line(exception))


def _write(job: str, **values: Any) -> None:
    """Where the database is away, the counter has to do."""
    try:
        JobRound.objects.update_or_create(job=job, defaults=values)
    except (DatabaseError, InterfaceError) as problem:
        connection.close()
        logger.warning("The round of %s could not be written down: %s", job, problem)


def _in_a_line(problem: BaseException) -> str:
    """PostgreSQL shows rows in further lines, and rows are somebody's data."""
    return f"{type(problem).__name__}: {str(problem).partition(chr(10))[0]}"[:500]
