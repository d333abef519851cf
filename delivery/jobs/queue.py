"""The job queue: jobs go in, workers are assigned to them and say how they ended. See docs/how-to/run-jobs.md.

Every operation changes what it changes in one statement, in the caller's transaction if there is one. It is for all
threads: each has its own connection.
"""

import uuid
from collections.abc import Collection, Sequence
from datetime import timedelta
from functools import partial
from typing import Any
from weakref import WeakSet

from asgiref.sync import sync_to_async
from django.db import connection, transaction
from django.db.models.functions import Now

from delivery.dispatch import persistently
from delivery.jobs import limits, states
from delivery.jobs.async_stream import AsyncStream
from delivery.jobs.awaited import awaited
from delivery.jobs.checks import (
    check_assignee,
    check_document,
    check_id,
    check_ids,
    check_new,
    check_number,
    check_tags,
    check_text,
)
from delivery.jobs.job import Assigned, Cancelled, Job, NewJob, Statistics
from delivery.jobs.models import JobQueue, as_job
from delivery.jobs.rows import Moved, Rows, ids_of
from delivery.jobs.states import Operation, State
from delivery.jobs.stream import Stream
from delivery.jobs.streams import open_stream
from delivery.problems import JobAlreadyExists, JobConflict
from tenants.problems import NotFound


class Queue:
    """A queue of jobs of an application."""

    def __init__(self, row: JobQueue) -> None:
        self.id: uuid.UUID = row.pk
        self.is_fifo = row.is_fifo
        self._rows = Rows(row.pk, is_fifo=row.is_fifo)
        self._streams: WeakSet[Stream] = WeakSet()
        self._is_closed = False

    @classmethod
    def named(cls, application_id: uuid.UUID, name: str) -> "Queue":
        row = JobQueue.objects.filter(application_id=application_id, name=name).first()
        if row is None:
            raise NotFound(f"The application has no job queue {name!r}. Create it first.")
        return cls(row)

    # --- in

    def enqueue(self, job: NewJob) -> str:
        """Add a job; its id."""
        return self.enqueue_many([job])[0]

    def enqueue_many(self, jobs: Sequence[NewJob]) -> list[str]:
        """Add jobs in this order, all of them or none; their ids."""
        for job in jobs:
            check_new(job, is_fifo=self.is_fifo)
        ids = [job.id for job in jobs]
        if len(set(ids)) < len(ids):
            twice = next(each for each in ids if ids.count(each) > 1)
            raise JobAlreadyExists(f"The id {twice!r} is there twice. Each job needs its own.")
        add = partial(self._add, jobs)
        return add() if connection.in_atomic_block else persistently(add)  # two batches with the same ids may cross

    # --- assigned

    def claim(self, assignee: str, *, tags: Sequence[str] = (), most: int = 1) -> list[Job]:
        """Assign to a worker the oldest jobs that have all the tags, so many at most."""
        most = _most("most", most)
        return self.assign(check_assignee(assignee), tags=check_tags(tags), most=most, at_once=most, stream=None).jobs

    def assign(
        self, assignee: str, *, tags: Sequence[str], most: int, at_once: int, stream: uuid.UUID | None
    ) -> Assigned:
        """The same for a stream, which has no more than so many at a time."""
        return self._rows.assign(assignee, tags=tags, most=most, at_once=at_once, stream=stream)

    def stream(
        self, assignee: str, *, tags: Sequence[str] = (), max_assigned: int, at_once: int | None = None
    ) -> Stream:
        """An iterator of batches: jobs are assigned as they come, and as others of the same stream end.

        Close it, or use it in a `with`: what it was assigned and has not handed out goes back. With `at_once`, batches
        have so many jobs at most, and the next one is assigned when the one before is read.
        """
        if self._is_closed:
            raise RuntimeError("This queue is closed. Make another.")
        most = _most("max_assigned", max_assigned)
        at_once = at_once if at_once is None else _most("at_once", at_once)
        stream = Stream(self, check_assignee(assignee), check_tags(tags), most, at_once)
        self._streams.add(stream)
        open_stream(stream)
        return stream

    def astream(
        self, assignee: str, *, tags: Sequence[str] = (), max_assigned: int, at_once: int | None = None
    ) -> AsyncStream:
        """The same for `async with` and `async for`."""
        return AsyncStream(lambda: self.stream(assignee, tags=tags, max_assigned=max_assigned, at_once=at_once))

    def close(self) -> None:
        """End all streams of this object."""
        self._is_closed = True
        for stream in list(self._streams):
            stream.close()

    def progress(
        self, job_id: str, *, percent: int | None = None, stage: str | None = None, events_count: int | None = None
    ) -> State:
        """Say how far a job has come, which renews its lease. What it answers may be CANCELLING: then stop it."""
        said: dict[str, Any] = {}
        if percent is not None:
            said["percent"] = check_number("percent", percent, limits.PERCENT)
        if stage is not None:
            said["stage"] = check_text("stage", stage, limits.STAGE_CHARACTERS, least=0)
        if events_count is not None:
            said["events_count"] = check_number("events_count", events_count, (0, limits.EVENTS_COUNT))
        return self._move_one(states.REPORT, job_id, renews=True, **said)

    # --- finished

    def complete(self, job_id: str, result: bytes = b"") -> State:
        """It is done."""
        return self._move_one(states.COMPLETE, job_id, result=check_document("result", result), percent=100)

    def fail(self, job_id: str, error: str) -> State:
        """It failed, and can be assigned again at once: FAILED_RETRY, or EXHAUSTED if no retry is left."""
        return self._move_one(states.FAIL, job_id, error=_message(error, least=1))

    def stop(self, job_id: str, error: str = "") -> State:
        """It ends here, and is not tried again."""
        return self._move_one(states.STOP, job_id, error=_message(error))

    def stop_with_retry(self, job_id: str, error: str = "") -> State:
        """It failed while it was being cancelled: it ends here, and the retry that it is spared is counted."""
        return self._move_one(states.STOP_WITH_RETRY, job_id, error=_message(error))

    def mark_unknown_stopped(self, job_id: str, error: str = "") -> State:
        """Nobody knows what became of it, and it is not tried again."""
        return self._move_one(states.MARK_UNKNOWN_STOPPED, job_id, error=_message(error))

    # --- cancelled

    def cancel(self, *, tags: Sequence[str] = (), ids: Sequence[str] = ()) -> Cancelled:
        """Cancel the jobs that have all the tags, if there are any, and those of these ids.

        What runs is CANCELLING until its worker acknowledges that. Nothing named is nothing cancelled.
        """
        wanted = list(dict.fromkeys([*check_ids(ids), *self._rows.having(check_tags(tags))]))
        moved = self._rows.move(states.CANCEL, wanted)
        cancelled = [each for each in wanted if moved.get(each, (None, None))[1]]
        return Cancelled(cancelled, [each for each in wanted if each not in set(cancelled)])

    def acknowledge_cancellation(self, job_id: str, *, was_executing: bool) -> State:
        """The worker has stopped a job that was being cancelled, or it never had it."""
        operation = states.ACKNOWLEDGE_EXECUTING if was_executing else states.ACKNOWLEDGE_NOT_EXECUTING
        return self._move_one(operation, job_id)

    # --- workers that are gone

    def mark_worker_unresponsive(self, assignee: str) -> int:
        """Take all jobs from a worker; how many. What ran can be assigned again."""
        check_assignee(assignee)
        theirs = self._rows.assigned().filter(assignee=assignee)
        return _count(self._rows.move(states.MARK_WORKER_UNRESPONSIVE, ids_of(theirs), assignee=assignee))

    def reset_running(self) -> int:
        """Take all jobs from all workers, as after a restart of everything; how many."""
        return _count(self._rows.move(states.RESET_RUNNING, ids_of(self._rows.assigned())))

    def take_lapsed(self) -> int:
        """Take the jobs whose lease is over; how many."""
        lapsed = self._rows.assigned().filter(lease_until__lte=Now())
        return _count(self._rows.move(states.LAPSE, ids_of(lapsed), is_over=True, error="The lease ended."))

    def give_back(self, ids: Sequence[str], *, stream: uuid.UUID, error: str) -> None:
        """Take the jobs that a stream was assigned and never handed out."""
        self._rows.move(states.GIVE_BACK, ids, stream=str(stream), error=error)

    # --- looked at

    def get(self, job_id: str) -> Job:
        found = self._rows.all().filter(job_id=check_id(job_id)).first()
        if found is None:
            raise _unknown(job_id)
        return as_job(found)

    def statistics(self, tags: Sequence[str] = ()) -> Statistics:
        """How many jobs have all the tags; without tags, how many there are."""
        return self._rows.statistics(check_tags(tags))

    def blocked_keys(self) -> list[str]:
        """The keys of a FIFO queue that wait for somebody to retry or delete a job, in the order of the jobs."""
        exhausted = self._rows.all().filter(status=State.EXHAUSTED, key__isnull=False).order_by("id")
        return [key for key in exhausted.values_list("key", flat=True) if key is not None]

    # --- kept or not

    def retry(self, job_id: str) -> State:
        """Try once more what has used up its retries. In a FIFO queue it is next of its key."""
        return self._move_one(states.RETRY, job_id, more_retries=1)

    def delete(self, *, tags: Sequence[str] = (), ids: Sequence[str] = ()) -> int:
        """Delete the jobs that have all the tags, if there are any, and those of these ids: all, or none if one of them
        is not over. How many there were. A key that was blocked by one goes on.
        """
        found = self._rows.delete(list({*check_ids(ids), *self._rows.having(check_tags(tags))}))
        for job_id, state in found.items():
            if state not in states.DELETE:
                raise _refused(job_id, state, "deleted", states.DELETE)
        return len(found)

    def clean_up_expired(self, ttl: timedelta) -> int:
        """Delete what was completed longer ago than this; how many there were."""
        if ttl <= timedelta(0):
            raise ValueError("The time to live must be longer than nothing.")
        expired = self._rows.all().filter(status=State.COMPLETED, finalized_at__lt=Now() - ttl)
        return expired.delete()[0]

    # --- the same in event loops, beside `astream`

    @classmethod
    async def anamed(cls, application_id: uuid.UUID, name: str) -> "Queue":
        return await sync_to_async(cls.named)(application_id, name)

    aenqueue = awaited(enqueue)
    aenqueue_many = awaited(enqueue_many)
    aclaim = awaited(claim)
    aclose = awaited(close)
    aprogress = awaited(progress)
    acomplete = awaited(complete)
    afail = awaited(fail)
    astop = awaited(stop)
    astop_with_retry = awaited(stop_with_retry)
    amark_unknown_stopped = awaited(mark_unknown_stopped)
    acancel = awaited(cancel)
    aacknowledge_cancellation = awaited(acknowledge_cancellation)
    amark_worker_unresponsive = awaited(mark_worker_unresponsive)
    areset_running = awaited(reset_running)
    aget = awaited(get)
    astatistics = awaited(statistics)
    ablocked_keys = awaited(blocked_keys)
    aretry = awaited(retry)
    adelete = awaited(delete)
    aclean_up_expired = awaited(clean_up_expired)

    # --- within

    @transaction.atomic
    def _add(self, jobs: Sequence[NewJob]) -> list[str]:
        new, ids = self._rows.add(jobs), [job.id for job in jobs]
        if missing := [each for each in ids if each not in new]:
            if not JobQueue.objects.filter(pk=self.id).exists():
                raise NotFound("The queue was deleted.")
            raise JobAlreadyExists(f"The queue has a job with the id {missing[0]!r}. None of these was added.")
        return ids

    def _move_one(self, operation: Operation, job_id: str, **said: Any) -> State:
        moved = self._rows.move(operation, [check_id(job_id)], **said)
        if job_id not in moved:
            raise _unknown(job_id)
        found, becomes = moved[job_id]
        if becomes is None:
            raise _refused(job_id, found, operation.verb, operation.steps)
        return State(becomes)


def _count(moved: Moved) -> int:
    return sum(becomes is not None for _, becomes in moved.values())


def _most(name: str, value: int) -> int:
    return check_number(name, value, (1, limits.ASSIGNED))


def _message(error: str, *, least: int = 0) -> str:
    return check_text("error", error, limits.ERROR_CHARACTERS, least=least)


def _unknown(job_id: str) -> NotFound:
    return NotFound(f"The queue has no job {job_id!r}.")


def _refused(job_id: str, state: str, verb: str, allowed: Collection[str]) -> JobConflict:
    can = " or ".join(sorted(allowed))
    return JobConflict(f"The job {job_id!r} is {state}, and cannot be {verb}: only one that is {can} can.", state=state)
