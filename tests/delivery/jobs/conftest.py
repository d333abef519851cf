import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from delivery.jobs import NewJob, Queue, State
from delivery.jobs.queues import create_queue

WORKER = "worker-1"
_numbers = itertools.count(1)


@pytest.fixture
def jobs(application) -> Queue:
    return Queue(create_queue(application.id, "jobs"))


@pytest.fixture
def fifo(application) -> Queue:
    return Queue(create_queue(application.id, "fifo", is_fifo=True, retry_limit=0))


def new(**fields) -> NewJob:
    return NewJob(**{"id": f"job-{next(_numbers)}", **fields})


def enqueue(queue: Queue, **fields) -> str:
    return queue.enqueue(new(**fields))


def claimed(queue: Queue, most: int = 100, **wanted) -> list[str]:
    return [job.id for job in queue.claim(WORKER, most=most, **wanted)]


def assign(queue: Queue, job: str) -> None:
    """To a worker of its own, by a tag of its own."""
    assert [each.id for each in queue.claim(job, tags=[job])] == [job]


def fail(queue: Queue, job: str) -> None:
    queue.fail(job, "before")


def cancel(queue: Queue, job: str) -> None:
    queue.cancel(ids=[job])


WAYS: dict[State, list[Callable[[Queue, str], object]]] = {
    State.INITIAL_PENDING: [],
    State.RUNNING: [assign],
    State.COMPLETED: [assign, Queue.complete],
    State.FAILED_RETRY: [assign, fail],
    State.STOPPED: [assign, Queue.stop],
    State.UNSCHEDULED: [cancel],
    State.UNKNOWN_RETRY: [assign, Queue.mark_worker_unresponsive],
    State.CANCELLING: [assign, cancel],
    State.UNKNOWN_STOPPED: [assign, Queue.mark_unknown_stopped],
    State.EXHAUSTED: [assign, fail],
}


def job_in(queue: Queue, state: State, *, tags: Sequence[str] = (), **fields) -> str:
    """A job that has come into this state."""
    sent = new(retry_limit=0 if state == State.EXHAUSTED else None, **fields)
    job = queue.enqueue(replace(sent, tags=[*tags, sent.id]))
    for step in WAYS[state]:
        step(queue, job)
    assert queue.get(job).status == state
    return job
