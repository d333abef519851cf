"""Streams in threads and in event loops: places, words, tags and ends."""

import asyncio
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue

import pytest
from django.db import OperationalError, connection, connections

from delivery.jobs import Queue, State
from delivery.jobs.models import JobQueue
from delivery.jobs.queues import create_queue, delete_queue
from delivery.jobs.stream import NOT_HANDED_OUT
from delivery.jobs.streams import Floor
from tests.delivery.jobs.conftest import enqueue, new

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE = 20.0  # below the floor, so that nothing but a word can have been in time
MOMENT = 0.3  # what has not come by then is not on its way


class Reader:
    """Reads a stream in a thread."""

    def __init__(self, stream) -> None:
        self.stream, self.ended = stream, threading.Event()
        self.problem: Exception | None = None
        self._jobs = SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            for batch in self.stream:
                for job in batch:
                    assert job.status == State.RUNNING
                    self._jobs.put(job.id)
        except Exception as problem:
            self.problem = problem
        self.ended.set()

    def next(self, count: int = 1) -> set[str]:
        return {self._jobs.get(timeout=PATIENCE) for _ in range(count)}

    def gets_nothing(self) -> bool:
        try:
            return not self._jobs.get(timeout=MOMENT)
        except Empty:
            return True


@pytest.fixture(autouse=True)
def words_alone(monkeypatch):
    monkeypatch.setattr("delivery.jobs.streams.FLOOR_SECONDS", 3_600.0)


@pytest.fixture
def read(jobs):
    """Opens streams, and closes them in the end; their threads come to theirs before the tables are emptied."""
    yield lambda most=10, **wanted: Reader(jobs.stream(wanted.pop("assignee", "me"), max_assigned=most, **wanted))
    jobs.close()
    for thread in threading.enumerate():
        if thread.name == "job streams":
            thread.join(PATIENCE)


def test_what_is_there_comes_at_once_and_what_comes_later_when_it_comes(jobs, read):
    there = {enqueue(jobs) for _ in range(3)}
    reader = read()
    assert reader.next(3) == there
    later = enqueue(jobs)
    assert reader.next() == {later}


def test_a_stream_has_no_more_than_its_places(jobs, read):
    sent = {enqueue(jobs) for _ in range(5)}
    reader = read(most=2)
    first = reader.next(2)
    assert reader.gets_nothing()
    assert jobs.statistics().running_jobs == 2
    jobs.complete(min(first))
    second = reader.next(1)
    assert reader.gets_nothing()
    assert first | second < sent


FREES = {
    "complete": lambda jobs, job: jobs.complete(job),
    "fail": lambda jobs, job: jobs.fail(job, "no"),
    "stop": lambda jobs, job: jobs.stop(job),
    "mark_unknown_stopped": lambda jobs, job: jobs.mark_unknown_stopped(job),
    "mark_worker_unresponsive": lambda jobs, _: jobs.mark_worker_unresponsive("me"),
    "reset_running": lambda jobs, _: jobs.reset_running(),
    "cancel and stop": lambda jobs, job: (jobs.cancel(ids=[job]), jobs.stop(job)),
    "cancel and stop with a retry": lambda jobs, job: (jobs.cancel(ids=[job]), jobs.stop_with_retry(job)),
    "cancel and complete": lambda jobs, job: (jobs.cancel(ids=[job]), jobs.complete(job)),
    "cancel and acknowledge": lambda jobs, job: (
        jobs.cancel(ids=[job]), jobs.acknowledge_cancellation(job, was_executing=True)
    ),
    "acknowledge what was not executing and delete": lambda jobs, job: (
        jobs.cancel(ids=[job]), jobs.acknowledge_cancellation(job, was_executing=False), jobs.delete(ids=[job])
    ),
}  # fmt: skip
KEEPS = {
    "cancel": lambda jobs, job: jobs.cancel(ids=[job]),
    "progress": lambda jobs, job: jobs.progress(job, percent=1),
    "acknowledge what was not executing": lambda jobs, job: (
        jobs.cancel(ids=[job]), jobs.acknowledge_cancellation(job, was_executing=False)
    ),
}  # fmt: skip


@pytest.mark.parametrize("operation", FREES)
def test_what_frees_a_place(jobs, read, operation):
    first, second = enqueue(jobs), enqueue(jobs)
    reader = read(most=1)
    assert reader.next() == {first}
    FREES[operation](jobs, first)
    assert reader.next() <= {first, second}


@pytest.mark.parametrize("operation", KEEPS)
def test_what_frees_no_place(jobs, read, operation):
    first, _ = enqueue(jobs), enqueue(jobs)
    reader = read(most=1)
    assert reader.next() == {first}
    KEEPS[operation](jobs, first)
    assert reader.gets_nothing()


def test_a_place_is_that_of_the_stream_that_holds_the_job_now(jobs, read):
    job = enqueue(jobs)
    mine = read(most=1, assignee="me", tags=[])
    assert mine.next() == {job}
    mine.stream.close()
    theirs = read(most=1, assignee="they")
    jobs.mark_worker_unresponsive("me")
    assert theirs.next() == {job}
    other = enqueue(jobs)
    jobs.complete(job)  # by whomever
    assert theirs.next() == {other}


def test_a_stream_gets_what_has_all_its_tags(jobs, read):
    both, one = read(tags=["a", "b"]), read(tags=["a"])
    second, third = enqueue(jobs, tags=["a"]), enqueue(jobs, tags=["c"])
    assert one.next() == {second}
    assert both.gets_nothing()
    one.stream.close()
    first = enqueue(jobs, tags=["b", "c", "a"])
    assert both.next() == {first}
    assert jobs.get(third).status == State.INITIAL_PENDING
    assert read().next() == {third}


def test_who_has_the_tags_and_a_place_is_woken_once_for_a_batch(jobs, read, monkeypatch):
    asked = Counter()
    assign = Queue.assign

    def counted(queue, assignee, **wanted):
        asked[assignee] += 1
        return assign(queue, assignee, **wanted)

    enqueue(jobs, tags=["full"])
    full = read(most=1, assignee="full", tags=["full"])
    full.next()
    others = read(assignee="others", tags=["others"])
    mine = read(assignee="mine", tags=["mine"])
    enqueue(jobs, tags=["mine"])
    mine.next()
    assert others.gets_nothing()
    monkeypatch.setattr(Queue, "assign", counted)
    sent = jobs.enqueue_many([new(tags=tags) for tags in (["mine"], ["mine", "x"], ["full"], ["mine"])])
    assert mine.next(3) == {sent[0], sent[1], sent[3]}
    assert full.gets_nothing()
    assert asked == {"mine": 2}  # once for the word, and once to see that nothing is left


def test_no_more_lies_unread_than_is_assigned_at_once(jobs):
    sent = [enqueue(jobs) for _ in range(5)]
    with jobs.stream("me", max_assigned=4, at_once=2) as stream:
        wait_until(lambda: jobs.statistics().running_jobs == 2)
        sent.append(enqueue(jobs))  # its word is heard, and nothing comes of it
        assert stays(lambda: jobs.statistics().running_jobs == 2)
        assert [job.id for job in next(stream)] == sent[:2]
        wait_until(lambda: jobs.statistics().running_jobs == 4)
        assert [job.id for job in next(stream)] == sent[2:4]
        jobs.complete(sent[0])
        assert [job.id for job in next(stream)] == sent[4:5]


def test_a_queue_that_is_deleted_ends_its_streams(jobs, read):
    readers = [read(), read(tags=["a"])]
    assert readers[0].gets_nothing()
    delete_queue(JobQueue.objects.get(pk=jobs.id))
    for reader in readers:
        assert reader.ended.wait(PATIENCE)
        assert reader.problem is None


def test_what_was_not_handed_out_goes_back_when_the_stream_ends(jobs):
    sent = [enqueue(jobs) for _ in range(3)]
    stream = jobs.stream("me", max_assigned=2)
    wait_until(lambda: jobs.statistics().running_jobs == 2)
    cancelled = sent[1]
    jobs.cancel(ids=[cancelled])
    stream.close()
    with pytest.raises(StopIteration):
        next(stream)
    given_back = jobs.get(sent[0])
    assert (given_back.status, given_back.error) == (State.FAILED_RETRY, NOT_HANDED_OUT)
    assert (given_back.retry_count, given_back.last_retry_at) == (0, None)
    assert (given_back.assignee, jobs.get(cancelled).status) == ("me", State.STOPPED)
    assert jobs.get(sent[2]).status == State.INITIAL_PENDING


def test_what_goes_back_does_so_over_a_new_connection_when_the_database_was_away(jobs, open_connection):
    job = enqueue(jobs)
    stream = jobs.stream("me", max_assigned=2)
    wait_until(lambda: jobs.statistics().running_jobs == 1)
    end_connections(open_connection())
    stream.close()
    assert jobs.get(job).status == State.FAILED_RETRY


def end_connections(of_mine) -> None:
    """All but mine, as a database that restarts does."""
    of_mine.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


def test_what_was_handed_out_stays_with_its_worker(jobs):
    job = enqueue(jobs)
    with jobs.stream("me", max_assigned=2) as stream:
        assert [each.id for each in next(stream)] == [job]
    assert jobs.get(job).status == State.RUNNING


def test_closing_the_queue_ends_its_streams(jobs, read):
    readers = [read(), read()]
    jobs.close()
    for reader in readers:
        assert reader.ended.wait(PATIENCE)
        assert reader.problem is None
    with pytest.raises(RuntimeError, match="closed"):
        read()


def test_what_goes_wrong_ends_the_stream_and_is_told(jobs, read, monkeypatch):
    good = read(tags=["good"])
    reader = read(tags=["bad"])
    assign = Queue.assign

    def breaks(queue, assignee, *, tags, **wanted):
        if tags == ["bad"]:
            raise OperationalError("the database is away")
        return assign(queue, assignee, tags=tags, **wanted)

    monkeypatch.setattr(Queue, "assign", breaks)
    enqueue(jobs, tags=["bad"])
    assert reader.ended.wait(PATIENCE)
    assert isinstance(reader.problem, OperationalError)
    job = enqueue(jobs, tags=["good"])
    assert good.next() == {job}


def test_words_that_were_lost_are_made_up_for_by_a_new_connection(jobs, read):
    reader = read()
    job = enqueue(jobs)
    assert reader.next() == {job}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hook0 job streams'"
        )
    later = enqueue(jobs)
    assert reader.next() == {later}


def test_the_floor_asks_now_and_then(jobs, application, open_connection, monkeypatch):
    enqueue(jobs)
    idle = Queue(create_queue(application.id, "idle"))
    floor, on, queues = Floor(), open_connection(), [str(jobs.id), str(idle.id)]
    assert floor(on, queues) == [str(jobs.id)]
    assert floor(on, queues) == []
    assert floor(open_connection(), queues) == [str(jobs.id)]
    monkeypatch.setattr("delivery.jobs.streams.FLOOR_SECONDS", 0.0)
    floor(on, queues)
    assert floor(on, queues) == [str(jobs.id)]
    gone = "00000000-0000-0000-0000-000000000000"
    assert floor(on, [gone]) == [gone]  # so that its streams come to their ends


class Shift:
    """What the workers of many streams do, and what they have seen."""

    def __init__(self, jobs: Queue, sent: int) -> None:
        self.jobs, self._sent = jobs, sent
        self.done, self.most, self._running = [], Counter(), Counter()
        self._lock, self.is_over = threading.Lock(), threading.Event()

    def work(self, worker: str, batch) -> None:
        with self._lock:
            self._running[worker] += len(batch)
            self.most[worker] = max(self.most[worker], self._running[worker])
        for job in batch:
            with self._lock:
                self._running[worker] -= 1
                self.done.append(job.id)
            self.jobs.complete(job.id)
        if len(self.done) >= self._sent:
            self.is_over.set()

    def in_thread(self, worker: str, places: int) -> None:
        for batch in self.jobs.stream(worker, max_assigned=places):
            self.work(worker, batch)
        connection.close()

    async def in_loop(self, worker: str, places: int) -> None:
        async with self.jobs.astream(worker, max_assigned=places) as stream:
            async for batch in stream:
                await asyncio.to_thread(self.work, worker, batch)

    def loop(self, workers: list[str], places: int) -> None:
        async def run() -> None:
            with ThreadPoolExecutor(4) as pool:
                asyncio.get_running_loop().set_default_executor(pool)
                await asyncio.gather(*(self.in_loop(worker, places) for worker in workers))
                for _ in range(4):
                    pool.submit(close)

        def close() -> None:
            barrier.wait()  # so that each thread of the pool takes one
            connections.close_all()

        barrier = threading.Barrier(4)
        asyncio.run(run())


def test_many_streams_in_threads_and_loops_share_the_work(jobs):
    """Each job once, and no stream with more than its places."""
    shift, places = Shift(jobs, sent=400), 3
    threads = [threading.Thread(target=shift.in_thread, args=[f"thread-{number}", places]) for number in range(20)]
    threads.append(threading.Thread(target=shift.loop, args=[[f"task-{number}" for number in range(20)], places]))
    for thread in threads:
        thread.start()
    ids = [job for _ in range(8) for job in jobs.enqueue_many([new() for _ in range(50)])]
    assert shift.is_over.wait(3 * PATIENCE)
    jobs.close()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert Counter(shift.done) == Counter(ids)
    assert max(shift.most.values()) <= places
    assert {worker.partition("-")[0] for worker in shift.most} == {"thread", "task"}


def test_a_task_that_is_cancelled_gives_back_what_it_was_not_handed(jobs):
    first, running = enqueue(jobs), []

    async def read(started: asyncio.Event) -> None:
        async with jobs.astream("me", max_assigned=2) as stream:
            async for batch in stream:
                running.extend(batch)
                started.set()
                await asyncio.Event().wait()

    async def run() -> None:
        with ThreadPoolExecutor(1) as pool:
            asyncio.get_running_loop().set_default_executor(pool)
            started = asyncio.Event()
            task = asyncio.create_task(read(started))
            await asyncio.wait_for(started.wait(), PATIENCE)
            await asyncio.to_thread(enqueue_and_wait)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.to_thread(connections.close_all)

    def enqueue_and_wait() -> None:
        job = enqueue(jobs)
        wait_until(lambda: jobs.get(job).status == State.RUNNING)

    asyncio.run(run())
    assert [job.id for job in running] == [first]
    assert (jobs.statistics().running_jobs, jobs.statistics().failed_jobs) == (1, 1)


def test_what_came_while_a_batch_was_handed_out_is_read_at_once_when_nothing_is_put_back(jobs):
    enqueue(jobs)

    async def read() -> None:
        async with jobs.astream("me", max_assigned=2) as stream:
            await anext(stream)
            later = await asyncio.to_thread(enqueue_and_wait)
            stream.put_back([])
            async with asyncio.timeout(PATIENCE):
                assert [job.id for job in await anext(stream)] == [later]

    def enqueue_and_wait() -> str:
        job = enqueue(jobs)
        wait_until(lambda: jobs.get(job).status == State.RUNNING)
        return job

    in_loop(read)


def in_loop(scene) -> None:
    """With one thread for what waits, whose connection ends with it."""

    async def run() -> None:
        with ThreadPoolExecutor(1) as pool:
            asyncio.get_running_loop().set_default_executor(pool)
            await scene()
            await asyncio.to_thread(connections.close_all)

    asyncio.run(run())


def stays(true) -> bool:
    threading.Event().wait(MOMENT)
    return bool(true())


def wait_until(true) -> None:
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.01)):
        if true():
            return
        pause.wait(0.01)
    raise AssertionError("It never came true.")
