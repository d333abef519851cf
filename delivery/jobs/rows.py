"""The jobs of a queue in the table: each change is one statement, in the caller's transaction if there is one.

In a FIFO queue whoever changes jobs holds their keys meanwhile, and gives the turn of these on.
"""

import base64
import uuid
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import orjson
from django.db import connection, transaction
from django.db.models import QuerySet

from delivery.jobs import states
from delivery.jobs.job import Assigned, Job, NewJob, Statistics
from delivery.jobs.models import StoredJob
from delivery.jobs.states import Operation, State
from delivery.statements import run, statement

SQL = Path(__file__).parent / "sql"
Moved = dict[str, tuple[str, str | None]]

BUCKETS = 32  # of the keys of a FIFO queue: how many transactions can finish in it side by side
_NO_CHANGE: dict[str, Any] = {
    "assignee": None, "stream": None, "is_over": False, "renews": False, "more_retries": 0,
    "error": None, "result": None, "percent": None, "stage": None, "events_count": None,
}  # fmt: skip


class Rows:
    """What `delivery.jobs.Queue` does, without asking whether it makes sense."""

    def __init__(self, queue: uuid.UUID, *, is_fifo: bool) -> None:
        self._queue, self._is_fifo = queue, is_fifo

    def all(self) -> QuerySet[StoredJob]:
        return StoredJob.objects.filter(queue=self._queue)

    def assigned(self) -> QuerySet[StoredJob]:
        return self.all().filter(status__in=states.ASSIGNED)

    def having(self, tags: list[str]) -> list[str]:
        """The ids of those that have all the tags; nobody has none."""
        return ids_of(self.all().filter(tags__contains=tags)) if tags else []

    def statistics(self, tags: list[str]) -> Statistics:
        with connection.cursor() as cursor:  # planned for these tags: some are rare
            cursor.execute(statement("statistics", SQL), {"queue": str(self._queue), "tags": tags})
            return Statistics(tags, *(cursor.fetchone() or ()))

    def add(self, jobs: Sequence[NewJob]) -> set[str]:
        """The ids of those that were added; others are there already."""
        rows = orjson.dumps([_row(job) for job in jobs]).decode()
        with self._turns({job.key for job in jobs if job.key is not None}):
            return {job_id for job_id, _ in self._run("enqueue", jobs=rows)}

    def assign(
        self, assignee: str, *, tags: Sequence[str], most: int, at_once: int, stream: uuid.UUID | None
    ) -> Assigned:
        wanted = {"assignee": assignee, "most": most, "at_once": at_once, "stream": stream and str(stream)}
        if not tags:
            return _assigned(self._run("claim", **wanted))
        for everything in (False, True):  # others may have been at all that is near
            rows = self._run("claim_tagged", tags=list(tags), everything=everything, **wanted)
            if rows[0][0] is not None or rows[0][-1]:
                break
        return _assigned(rows)

    def move(self, operation: Operation, ids: Sequence[str], **said: Any) -> Moved:
        """In which state each was found, and in which it is now; None: it stayed."""
        if not ids:
            return {}
        steps = operation.steps
        becoming = {
            "states": [*steps],
            "becomes": [step.to for step in steps.values()],
            "instead": [State.EXHAUSTED if step.unless_exhausted else None for step in steps.values()],
            "frees": [step.frees for step in steps.values()],
            "retries": [step.retries for step in steps.values()],
            "assigned": [*states.ASSIGNED],
            "eligible": [*states.ELIGIBLE],
            "ended": [*states.ENDED],
        }
        with self._turns(self._keys_of(ids)):
            rows = self._run("move", ids=list(ids), **{**_NO_CHANGE, **said}, **becoming)
        return {job_id: (found, becomes) for job_id, found, becomes, *_ in rows}

    def delete(self, ids: Sequence[str]) -> dict[str, str]:
        """In which state each was found; if one of them is not over, all are still there."""
        with self._turns(self._keys_of(ids)):
            found = self._run("delete", ids=list(ids), states=[*states.DELETE])
        return {job_id: state for job_id, state, _ in found}

    @contextmanager
    def _turns(self, keys: Collection[str]) -> Iterator[None]:
        """Change jobs of these keys. Who does so at the same time waits, and then it is seen whose turn it is."""
        with transaction.atomic() if keys else nullcontext():
            if keys:
                self._run("lock_keys", buckets=[zlib.crc32(key.encode()) % BUCKETS for key in keys])
            yield
            if keys:
                self._run("promote", keys=list(keys))

    def _keys_of(self, ids: Sequence[str]) -> set[str]:
        if not self._is_fifo:
            return set()
        keys = self.all().filter(job_id__in=ids).values_list("key", flat=True)
        return {key for key in keys if key is not None}

    def _run(self, name: str, **parameters: Any) -> list[tuple[Any, ...]]:
        return run(name, {"queue": str(self._queue), **parameters}, SQL)


def ids_of(jobs: QuerySet[StoredJob]) -> list[str]:
    return list(jobs.order_by("id").values_list("job_id", flat=True))


def _row(job: NewJob) -> dict[str, Any]:
    definition = base64.b64encode(job.definition).decode()
    tags = list(dict.fromkeys(job.tags))
    return {
        "id": job.id, "type": job.type, "definition": definition, "tags": tags, "key": job.key,
        "priority": job.priority, "retry_limit": job.retry_limit,
    }  # fmt: skip


def _assigned(rows: list[tuple[Any, ...]]) -> Assigned:
    *_, places, is_there, _ = rows[0]
    jobs = [Job(*row[:-3]) for row in rows if row[0] is not None]
    return Assigned(jobs, is_full=len(jobs) == places, is_queue_gone=not is_there)
