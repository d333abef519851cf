"""The job queue, beside bare loops of workers over a table of jobs."""

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import psycopg
from django.db import connection

from delivery.jobs import NewJob, Queue
from delivery.jobs.queues import create_queue
from tests.bench.scenes import Row
from tests.bench.stage import BATCH, PAYLOAD_BYTES, Stage

WORKERS = 4
PLACES = 50
DEFINITION = b"x" * PAYLOAD_BYTES
TABLE = """
DROP TABLE IF EXISTS bench_job;
CREATE TABLE bench_job (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state text NOT NULL, definition bytea NOT NULL
);
CREATE INDEX bench_job_pending ON bench_job (id) WHERE state = 'pending';
"""
ADD = "INSERT INTO bench_job (state, definition) SELECT 'pending', %s FROM generate_series(1, %s)"
TAKE = """
UPDATE bench_job SET state = 'running' WHERE id IN (
  SELECT id FROM bench_job WHERE state = 'pending' ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
) RETURNING id, definition
"""
DONE = "UPDATE bench_job SET state = 'completed' WHERE id = %s"


def jobs(stage: Stage, *, count: int) -> Iterator[Row]:
    """Jobs per second into a queue, and through workers that complete them one by one."""
    url = stage.cluster.server.url
    with psycopg.connect(url, autocommit=True) as bare:
        bare.execute(TABLE)
        bare_in = count / _timed(partial(_add, bare, count))
    stage.cluster.query("VACUUM ANALYZE")
    bare_out = count / _timed(partial(_together, partial(_take, url)))
    queue = Queue(create_queue(stage.empty().id, "bench"))
    ours_in = count / _timed(partial(_enqueue, queue, count))
    stage.cluster.query("VACUUM ANALYZE")
    ours_out = count / _timed(partial(_together, partial(_claim, queue)))
    assert queue.statistics().completed_jobs == count
    streamed = Queue(create_queue(stage.empty().id, "bench"))
    _enqueue(streamed, count)
    stage.cluster.query("VACUUM ANALYZE")
    ours_streamed = count / _timed(partial(_stream, streamed, count))
    assert streamed.statistics().completed_jobs == count
    yield Row(f"bare INSERT, {BATCH} jobs at a time", bare_in, "jobs/s")
    yield Row(f"enqueue_many, {BATCH} jobs at a time", ours_in, "jobs/s", "a bare INSERT", ours_in / bare_in)
    yield Row(f"bare loop, {WORKERS} workers, {PLACES} at a time", bare_out, "jobs/s")
    yield Row(f"claim and complete, {WORKERS} workers", ours_out, "jobs/s", "a bare loop", ours_out / bare_out)
    what = f"stream and complete, {WORKERS} of {PLACES} places"
    yield Row(what, ours_streamed, "jobs/s", "a bare loop", ours_streamed / bare_out)


def _add(bare: psycopg.Connection, count: int) -> None:
    for start in range(0, count, BATCH):
        bare.execute(ADD, (DEFINITION, min(BATCH, count - start)))


def _take(url: str) -> None:
    with psycopg.connect(url, autocommit=True, prepare_threshold=0) as bare:
        while rows := bare.execute(TAKE, (PLACES,)).fetchall():
            for job, _ in rows:
                bare.execute(DONE, (job,))


def _enqueue(queue: Queue, count: int) -> None:
    for start in range(0, count, BATCH):
        numbers = range(start, min(count, start + BATCH))
        queue.enqueue_many([NewJob(f"job-{number}", definition=DEFINITION) for number in numbers])


def _claim(queue: Queue) -> None:
    while batch := queue.claim("worker", most=PLACES):
        for job in batch:
            queue.complete(job.id)
    connection.close()


def _stream(queue: Queue, count: int) -> None:
    """Until all is done: a stream waits for more, so the last one closes the queue."""
    left, lock = [count], threading.Lock()

    def work() -> None:
        for batch in queue.stream("worker", max_assigned=PLACES):
            for job in batch:
                queue.complete(job.id)
            with lock:
                left[0] -= len(batch)
            if not left[0]:
                queue.close()
        connection.close()

    _together(work)


def _together(work: Callable[[], None]) -> None:
    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _timed(work: Callable[[], None]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began
