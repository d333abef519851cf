"""A queue against an oracle: any sequence of whatever can be said to it, over several jobs, workers and streams."""

from collections import deque
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run

from delivery.database import connect
from delivery.jobs import NewJob, Queue, State
from delivery.jobs.models import StoredJob
from delivery.jobs.queues import create_queue
from delivery.jobs.stream import Stream
from delivery.problems import JobAlreadyExists, JobConflict
from delivery.waking import CHANNEL, notify
from tenants.problems import NotFound
from tests.delivery.jobs.oracle import ASSIGNED, Known, Oracle
from tests.delivery.jobs.test_states import CELLS, FINAL, OPERATIONS
from tests.factories import make_application

OF_ONE_JOB = [
    "fail",
    *sorted(OPERATIONS.keys() - {"claim", "cancel", "unresponsive", "reset", "delete"}),
]  # fail: often
OVER = FINAL | {State.EXHAUSTED}
SETTLED = "settled"
PATIENCE = 20.0

tags = st.sampled_from([[], [], ["a"], ["b"], ["a", "b"]])
rarely_tags = st.sampled_from([[], [], [], ["a"], ["a", "b"]])
workers = st.sampled_from(["me", "they"])
places = st.integers(1, 2)


class Reading:
    """A stream, and what it is to hand out."""

    def __init__(self, queue: Queue, worker: str, wanted: list[str], most: int) -> None:
        self.worker, self.wanted, self.most = worker, wanted, most
        self.stream = Stream(queue, worker, wanted, most)
        self.batches: deque[list[str]] = deque()


class QueueMachine(RuleBasedStateMachine):
    """Words are heard by a connection, and streams are filled here: with threads, nobody could say who comes first."""

    is_fifo = False

    @initialize()
    def begin(self):
        row = create_queue(make_application().id, "model", is_fifo=self.is_fifo, lease_seconds=3_600)
        self.queue, self.oracle = Queue(row), Oracle()
        self.heard = connect(name="model")
        self.heard.execute(f"LISTEN {CHANNEL}")
        self.numbers, self.ids = count(1), []
        self.streams: list[Reading] = []

    def teardown(self):
        if hasattr(self, "heard"):
            self.heard.close()

    def settle(self, *due: Reading):
        """Fill the streams that are due, and those that were told of work."""
        waiting = deque(due)
        notify(SETTLED)
        for word in self.heard.notifies(timeout=PATIENCE):
            key, _, told = word.payload.partition(" ")
            if key == SETTLED:
                break
            waiting += [each for each in self.streams if key == str(self.queue.id) and each.stream.hear(told)]
        else:
            raise AssertionError("The database is silent.")
        while waiting:
            reading = waiting.popleft()
            goes_on = reading.stream.fill()
            batch = self.oracle.assign(reading.worker, reading.wanted, reading.most, reading.stream.id)
            if batch:
                reading.batches.append(batch)
            if goes_on:
                waiting.append(reading)

    def an_id(self, fitting) -> st.SearchStrategy[str]:
        """Of a job in one of the states if there is one, as often as of any, which may be deleted by now."""
        fit = [job.id for job in self.oracle.jobs.values() if job.status in fitting]
        return st.one_of(*([st.sampled_from(fit)] if fit else []), st.sampled_from([*self.ids, "nobody"]))

    def some_ids(self, data, fitting) -> list[str]:
        ids: list[str] = data.draw(st.lists(self.an_id(fitting), max_size=2))
        return ids

    def assigned(self) -> list[Known]:
        return [job for job in self.oracle.jobs.values() if job.status in ASSIGNED]

    def known(self, ids, wanted) -> list[str]:
        """Those of the ids, and those that have the tags, if there are any."""
        having = [job.id for job in self.oracle.having(wanted)] if wanted else []
        return list(dict.fromkeys([*ids, *having]))

    @rule(data=st.data(), amount=st.integers(1, 5))
    def enqueues(self, data, amount):
        batch = [
            NewJob(
                f"job-{next(self.numbers)}",
                tags=data.draw(tags),
                key=data.draw(st.sampled_from("xy")) if self.is_fifo else None,
                priority=data.draw(st.sampled_from([100, 100, 150])),
                retry_limit=data.draw(st.sampled_from([None, 0, 1])),
            )
            for _ in range(amount)
        ]
        self.ids += self.queue.enqueue_many(batch)
        self.oracle.enqueue(batch)
        self.settle()

    @precondition(lambda self: self.oracle.jobs)
    @rule(data=st.data())
    def enqueues_what_is_there(self, data):
        there = NewJob(data.draw(st.sampled_from(list(self.oracle.jobs))), key="x" if self.is_fifo else None)
        with pytest.raises(JobAlreadyExists, match=there.id):
            self.queue.enqueue_many([NewJob("new", key=there.key), there])

    @rule(worker=workers, wanted=tags, most=places)
    def claims(self, worker, wanted, most):
        claimed = [job.id for job in self.queue.claim(worker, tags=wanted, most=most)]
        assert claimed == self.oracle.assign(worker, wanted, most)

    @precondition(lambda self: len(self.streams) < 2)
    @rule(worker=workers, wanted=tags, most=places)
    def opens_a_stream(self, worker, wanted, most):
        self.streams.append(Reading(self.queue, worker, wanted, most))
        self.settle(self.streams[-1])

    @precondition(lambda self: self.streams)
    @rule(data=st.data())
    def reads_a_stream(self, data):
        reading = data.draw(st.sampled_from(self.streams))
        expected = reading.batches.popleft() if reading.batches else []
        assert [job.id for job in reading.stream.take()] == expected

    @precondition(lambda self: self.streams)
    @rule(data=st.data())
    def ends_a_stream(self, data):
        reading = data.draw(st.sampled_from(self.streams))
        self.streams.remove(reading)
        reading.stream.close()
        for batch in reading.batches:
            self.oracle.give_back(batch, reading.stream.id)
        self.settle()

    @rule(data=st.data(), operation=st.sampled_from(OF_ONE_JOB))
    def says_something_of_a_job(self, data, operation):
        job = data.draw(self.an_id({state for state in State if CELLS[operation, state] not in {".", "-"}}))
        known = self.oracle.jobs.get(job)
        if known is None:
            with pytest.raises(NotFound):
                OPERATIONS[operation](self.queue, job)
            return
        was = known.status
        becomes = self.oracle.retry(known) if operation == "retry" else self.oracle.move(operation, known)
        if becomes == ".":
            with pytest.raises(JobConflict) as refused:
                OPERATIONS[operation](self.queue, job)
            assert refused.value.state == was
        else:
            assert OPERATIONS[operation](self.queue, job) == becomes
            self.settle()

    @precondition(lambda self: self.assigned())
    @rule(data=st.data())
    def cancels_what_its_worker_never_had(self, data):
        """It is over, and holds its place."""
        job = data.draw(st.sampled_from(self.assigned()))
        for operation in ("cancel", "ack_not_there"):
            OPERATIONS[operation](self.queue, job.id)
            self.oracle.move(operation, job)
        self.settle()

    @rule(data=st.data(), wanted=rarely_tags)
    def cancels(self, data, wanted):
        ids = self.some_ids(data, {State.RUNNING})
        expected = [
            (each, each in self.oracle.jobs and self.oracle.move("cancel", self.oracle.jobs[each]) != "-")
            for each in self.known(ids, wanted)
        ]
        answer = self.queue.cancel(tags=wanted, ids=ids)
        assert answer.cancelled == [each for each, is_cancelled in expected if is_cancelled]
        assert answer.unknown == [each for each, is_cancelled in expected if not is_cancelled]
        self.settle()

    @rule(data=st.data(), wanted=rarely_tags)
    def deletes(self, data, wanted):
        ids = self.some_ids(data, OVER)
        there = [each for each in self.known(ids, wanted) if each in self.oracle.jobs]
        if {self.oracle.jobs[each].status for each in there} <= OVER:
            assert self.queue.delete(tags=wanted, ids=ids) == len(there)
            self.oracle.delete(there)
            self.settle()
        else:
            with pytest.raises(JobConflict):
                self.queue.delete(tags=wanted, ids=ids)

    @rule(worker=st.sampled_from(["me", "they", None]))
    def workers_are_gone(self, worker):
        """One of them, or all."""
        theirs = [job for job in self.assigned() if worker is None or job.assignee == worker]
        for job in theirs:
            self.oracle.move("reset", job)
        gone = self.queue.mark_worker_unresponsive(worker) if worker else self.queue.reset_running()
        assert gone == len(theirs)
        self.settle()

    @precondition(lambda self: self.assigned())
    @rule(data=st.data())
    def a_lease_ends(self, data):
        job = data.draw(st.sampled_from(self.assigned()))
        StoredJob.objects.filter(queue=self.queue.id, job_id=job.id).update(
            lease_until=datetime.now(UTC) - timedelta(1)
        )
        assert self.queue.take_lapsed() == 1
        self.oracle.lapse(job)
        self.settle()

    @precondition(lambda self: any(job.status == State.COMPLETED for job in self.oracle.jobs.values()))
    @rule(data=st.data())
    def cleans_up(self, data):
        job = data.draw(st.sampled_from([job.id for job in self.oracle.jobs.values() if job.status == State.COMPLETED]))
        StoredJob.objects.filter(queue=self.queue.id, job_id=job).update(finalized_at=datetime.now(UTC) - timedelta(2))
        assert self.queue.clean_up_expired(timedelta(days=1)) == 1
        self.oracle.delete([job])

    @invariant()
    def the_queue_is_as_the_oracle_says(self):
        if not hasattr(self, "queue"):
            return
        rows = StoredJob.objects.filter(queue=self.queue.id).order_by("id")
        assert [
            (row.job_id, row.status, row.assignee, row.stream, row.retry_count, row.retry_limit) for row in rows
        ] == [
            (job.id, job.status, job.assignee, job.place, job.retries, job.limit) for job in self.oracle.jobs.values()
        ]
        for row in rows:
            assert (row.finalized_at is not None) == (row.status in OVER)
            assert (row.lease_until is not None) == (row.status in ASSIGNED)
            assert (row.started_at is not None) == (row.assignee is not None)
            assert (row.last_retry_at is not None) == (row.retry_count > 0)
        for wanted in ([], ["a"]):
            said = self.queue.statistics(wanted)
            assert tuple(vars(said).values())[1:] == self.oracle.statistics(wanted)
        assert self.queue.blocked_keys() == self.oracle.blocked_keys()

    @invariant()
    def no_stream_waits_for_what_is_there(self):
        """Whoever makes work or frees a place wakes who can have it; and nobody has more than his places."""
        for each in getattr(self, "streams", []):
            free = each.most - self.oracle.taken(each.stream.id)
            assert free >= 0
            assert not free or not self.oracle.eligible(each.wanted)


class FifoMachine(QueueMachine):
    is_fifo = True


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("machine", [QueueMachine, FifoMachine])
def test_a_queue_does_what_the_oracle_says(machine):
    run(
        machine,
        settings=settings(
            max_examples=50,
            stateful_step_count=50,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )
