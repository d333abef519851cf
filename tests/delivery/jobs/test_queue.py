"""What each operation does beside changing the state."""

import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from rest_framework.serializers import ValidationError

from delivery.jobs import NewJob, Queue, State, Statistics
from delivery.jobs.models import StoredJob
from delivery.jobs.queues import change_queue, create_queue, delete_queue
from delivery.models import JobQueue
from delivery.problems import JobAlreadyExists, JobConflict, JobQueueConflict
from tenants.problems import NotFound
from tests.delivery.jobs.conftest import WORKER, claimed, enqueue, job_in, new
from tests.delivery.jobs.test_streams import wait_until


def test_a_job_comes_out_as_it_went_in(jobs: Queue):
    sent = new(type="resize", definition=b"\x00\xff{", tags=["b", "a", "b"], priority=120, retry_limit=2)
    assert jobs.enqueue(sent) == sent.id
    job = jobs.get(sent.id)
    assert (job.type, job.definition, job.tags, job.priority, job.retry_limit) == (
        "resize", b"\x00\xff{", ["b", "a"], 120, 2,
    )  # fmt: skip
    assert (job.status, job.started_at, job.assignee, job.result) == (State.INITIAL_PENDING, None, None, None)
    (assigned,) = jobs.claim("me")
    assert (assigned.id, assigned.status, assigned.assignee) == (sent.id, State.RUNNING, "me")
    assert assigned.assigned_at == assigned.started_at
    assert jobs.get(sent.id) == assigned


def test_a_batch_is_added_in_its_order_or_not_at_all(jobs: Queue):
    batch = [new() for _ in range(50)]
    assert jobs.enqueue_many(batch) == [each.id for each in batch]
    assert claimed(jobs) == [each.id for each in batch]
    with pytest.raises(JobAlreadyExists, match=batch[7].id):
        jobs.enqueue_many([new(), batch[7], new()])
    twin = new()
    with pytest.raises(JobAlreadyExists, match=twin.id):
        jobs.enqueue_many([twin, twin])
    assert jobs.statistics().total_jobs == 50
    assert jobs.enqueue_many([]) == []


@pytest.mark.django_db(transaction=True)
def test_of_two_batches_that_cross_the_second_is_told_which_id_is_there(jobs):
    while not (problems := cross(jobs, new(), new())):
        pass  # it was the first that gave way
    assert [type(problem) for problem in problems] == [JobAlreadyExists]


def cross(jobs: Queue, first: NewJob, second: NewJob) -> list[Exception]:
    """What the one is told that waits longer, and so is the one that PostgreSQL lets go."""
    problems = []

    def add_the_other_way_round() -> None:
        try:
            jobs.enqueue_many([second, first])
        except Exception as problem:
            problems.append(problem)
        connection.close()

    thread = threading.Thread(target=add_the_other_way_round)
    with suppress(OperationalError), transaction.atomic(), connection.cursor() as cursor:
        jobs.enqueue(first)
        thread.start()
        wait_until(partial(somebody_waits, cursor))
        jobs.enqueue(second)
    thread.join()
    return problems


def somebody_waits(cursor) -> bool:
    cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
    return bool(cursor.fetchone()[0])


def test_what_its_transaction_takes_back_was_never_there(jobs: Queue):
    with transaction.atomic():
        job = enqueue(jobs)
        transaction.set_rollback(True)
    with pytest.raises(NotFound):
        jobs.get(job)


def test_the_oldest_comes_first_counted_from_its_last_retry(jobs: Queue):
    first, second = enqueue(jobs), enqueue(jobs)
    assert claimed(jobs, most=1) == [first]
    jobs.fail(first, "no")
    third = enqueue(jobs)
    assert claimed(jobs) == [second, first, third]


def test_priority_goes_before_age(jobs: Queue):
    backfill, live, asked_for = enqueue(jobs, priority=30), enqueue(jobs), enqueue(jobs, priority=150)
    assert claimed(jobs) == [asked_for, live, backfill]


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [([], True), (["a"], True), (["b", "a"], True), (["a", "c"], False), (["A"], False), (["a", "b", "c"], False)],
)
def test_all_tags_must_be_there(jobs: Queue, wanted, matches):
    job = enqueue(jobs, tags=["a", "b"])
    assert jobs.statistics(wanted).total_jobs == int(matches)
    assert claimed(jobs, tags=wanted) == ([job] if matches else [])


def test_a_job_fails_as_often_as_its_limit_allows(jobs: Queue):
    job = enqueue(jobs, retry_limit=2)
    for state, count in [(State.FAILED_RETRY, 1), (State.FAILED_RETRY, 2), (State.EXHAUSTED, 2)]:
        assert claimed(jobs) == [job]
        assert jobs.fail(job, "no") == state
        assert jobs.get(job).retry_count == count
    jobs.retry(job)
    assert (jobs.get(job).retry_count, jobs.get(job).retry_limit) == (3, 3)
    assert claimed(jobs) == [job]
    assert jobs.fail(job, "once more") == State.EXHAUSTED


def test_the_limit_of_the_queue_counts_where_a_job_has_none(application):
    row = create_queue(application.id, "limited", retry_limit=0)
    job, patient = enqueue(Queue(row)), enqueue(Queue(row), retry_limit=1)
    change_queue(row, {"retry_limit": 9})
    assert claimed(Queue(row)) == [job, patient]
    assert Queue(row).fail(job, "no") == State.EXHAUSTED
    assert Queue(row).fail(patient, "no") == State.FAILED_RETRY


def test_cancelling_says_what_was_cancelled_and_what_is_unknown(jobs: Queue):
    done, running, waiting = (
        job_in(jobs, State.COMPLETED, tags=["x", "y"]),
        job_in(jobs, State.RUNNING, tags=["x"]),
        None,
    )
    waiting, other = enqueue(jobs, tags=["x"]), enqueue(jobs)
    answer = jobs.cancel(tags=["x"], ids=["nobody", running])
    assert set(answer.cancelled) == {running, waiting}
    assert set(answer.unknown) == {"nobody", done}
    assert jobs.cancel(ids=[running]).cancelled == [running]
    assert jobs.get(other).status == State.INITIAL_PENDING
    assert jobs.cancel() == jobs.cancel(ids=[]) == type(answer)([], [])


def test_an_unresponsive_worker_loses_its_own_jobs_alone(jobs: Queue):
    mine, theirs = enqueue(jobs), enqueue(jobs)
    jobs.claim("me")
    jobs.claim("they")
    assert jobs.mark_worker_unresponsive("me") == 1
    assert jobs.mark_worker_unresponsive("me") == 0
    assert (jobs.get(mine).status, jobs.get(theirs).status) == (State.UNKNOWN_RETRY, State.RUNNING)
    assert jobs.reset_running() == 1
    assert jobs.get(theirs).status == State.UNKNOWN_RETRY
    assert jobs.get(theirs).assignee == "they"


def test_statistics_count_each_job_once(jobs: Queue):
    for state in State:
        job_in(jobs, state, tags=["all"])
    assert jobs.statistics(["all"]) == Statistics(
        ["all"], total_jobs=10, pending_jobs=1, running_jobs=2, completed_jobs=1, stopped_jobs=3, failed_jobs=3,
        total_retries=1,  # EXHAUSTED had none left
    )  # fmt: skip
    assert jobs.statistics(["none"]) == Statistics(["none"], 0, 0, 0, 0, 0, 0, 0)


def test_nothing_is_deleted_unless_all_is_over(jobs: Queue):
    done, stopped = job_in(jobs, State.COMPLETED, tags=["x"]), job_in(jobs, State.STOPPED)
    waiting = enqueue(jobs, tags=["x"])
    with pytest.raises(JobConflict, match=f"{waiting}.*INITIAL_PENDING"):
        jobs.delete(tags=["x"], ids=[stopped])
    assert jobs.statistics().total_jobs == 3
    jobs.cancel(ids=[waiting])
    assert jobs.delete(tags=["x"], ids=[stopped, "nobody"]) == 3
    assert jobs.statistics().total_jobs == 0
    assert jobs.delete() == 0
    assert done


def test_only_what_was_completed_long_ago_is_cleaned_up(jobs: Queue):
    old, young, stopped = (job_in(jobs, state) for state in [State.COMPLETED, State.COMPLETED, State.STOPPED])
    long_ago = datetime.now(UTC) - timedelta(hours=2)
    StoredJob.objects.filter(job_id__in=[old, stopped]).update(finalized_at=long_ago)
    assert jobs.clean_up_expired(timedelta(hours=1)) == 1
    with pytest.raises(NotFound):
        jobs.get(old)
    assert {jobs.get(young).status, jobs.get(stopped).status} == {State.COMPLETED, State.STOPPED}
    with pytest.raises(ValueError, match="longer than nothing"):
        jobs.clean_up_expired(timedelta(0))


def test_progress_is_kept_and_says_that_somebody_cancels(jobs: Queue):
    job = job_in(jobs, State.RUNNING)
    assert jobs.progress(job, percent=40, stage="reading", events_count=7) == State.RUNNING
    assert jobs.progress(job, percent=60) == State.RUNNING
    seen = jobs.get(job)
    assert (seen.percent, seen.stage, seen.events_count) == (60, "reading", 7)
    jobs.cancel(ids=[job])
    assert jobs.progress(job) == State.CANCELLING
    jobs.acknowledge_cancellation(job, was_executing=True)
    assert jobs.get(job).status == State.STOPPED
    done = job_in(jobs, State.COMPLETED)
    assert jobs.get(done).percent == 100


def test_a_lease_that_ends_gives_the_job_back_and_counts(application):
    row = create_queue(application.id, "leased", lease_seconds=60, retry_limit=1)
    jobs = Queue(row)
    job, cancelled = enqueue(jobs), enqueue(jobs)

    def lapse():
        StoredJob.objects.filter(queue=row, lease_until__isnull=False).update(lease_until=datetime.now(UTC))
        return jobs.take_lapsed()

    assert claimed(jobs) == [job, cancelled]
    jobs.cancel(ids=[cancelled])
    assert jobs.take_lapsed() == 0
    StoredJob.objects.filter(queue=row).update(lease_until=datetime.now(UTC) + timedelta(seconds=1))
    jobs.progress(job)
    assert jobs.get(job).lease_until > datetime.now(UTC) + timedelta(seconds=50)
    assert lapse() == 2
    assert jobs.get(cancelled).status == State.UNKNOWN_STOPPED
    assert (jobs.get(job).status, jobs.get(job).retry_count) == (State.UNKNOWN_RETRY, 1)
    assert claimed(jobs) == [job]
    assert lapse() == 1
    assert jobs.get(job).status == State.EXHAUSTED  # whoever takes it does not come back


def test_a_fifo_queue_wants_keys_and_others_do_not(jobs: Queue, fifo: Queue):
    with pytest.raises(ValidationError, match="needs a key"):
        enqueue(fifo)
    with pytest.raises(ValidationError, match="have no keys"):
        enqueue(jobs, key="a")


def test_of_a_key_one_runs_at_a_time_in_order(fifo: Queue):
    a1, b1, a2, a3 = (enqueue(fifo, key=key) for key in ["a", "b", "a", "a"])
    assert claimed(fifo) == [a1, b1]
    assert claimed(fifo) == []
    fifo.complete(a1)
    assert claimed(fifo) == [a2]
    fifo.cancel(ids=[a2])
    assert claimed(fifo) == []  # its worker may still be at it
    fifo.acknowledge_cancellation(a2, was_executing=True)
    assert claimed(fifo) == [a3]


@pytest.mark.parametrize("has_turn", [True, False])
def test_the_database_holds_that_one_of_a_key_runs(fifo: Queue, has_turn):
    enqueue(fifo, key="a")
    second = enqueue(fifo, key="a")
    claimed(fifo)
    with pytest.raises(IntegrityError), transaction.atomic():
        StoredJob.objects.filter(job_id=second).update(status=State.RUNNING, has_turn=has_turn)


def test_a_job_that_is_tried_again_holds_its_key(fifo: Queue):
    first, second = enqueue(fifo, key="a", retry_limit=3), enqueue(fifo, key="a", priority=150)
    assert claimed(fifo) == [first]
    fifo.fail(first, "no")
    assert claimed(fifo) == [first]
    fifo.mark_worker_unresponsive(WORKER)
    assert claimed(fifo) == [first]
    fifo.complete(first)
    assert claimed(fifo) == [second]


def test_a_blocked_key_goes_on_by_a_retry(fifo: Queue):
    first, second = enqueue(fifo, key="a"), enqueue(fifo, key="a")
    claimed(fifo)
    assert fifo.fail(first, "no") == State.EXHAUSTED
    assert fifo.blocked_keys() == ["a"]
    assert claimed(fifo) == []
    fifo.retry(first)
    assert fifo.blocked_keys() == []
    assert claimed(fifo) == [first]
    fifo.complete(first)
    assert claimed(fifo) == [second]


def test_a_blocked_key_goes_on_by_a_deletion(fifo: Queue):
    first, second = enqueue(fifo, key="a"), enqueue(fifo, key="a")
    claimed(fifo)
    fifo.fail(first, "no")
    assert fifo.delete(ids=[first]) == 1
    assert fifo.blocked_keys() == []
    assert claimed(fifo) == [second]


def test_what_waits_behind_is_cancelled_in_its_place(fifo: Queue):
    first, second, third = (enqueue(fifo, key="a") for _ in range(3))
    fifo.cancel(ids=[first, second])
    assert claimed(fifo) == [third]


def test_names_are_told_apart_by_application(application):
    create_queue(application.id, "mail")
    with pytest.raises(JobQueueConflict, match="mail"):
        create_queue(application.id, "mail")
    assert Queue.named(application.id, "mail").id
    with pytest.raises(NotFound, match="post"):
        Queue.named(application.id, "post")


def test_a_queue_is_deleted_when_its_jobs_are_over(jobs: Queue):
    job = enqueue(jobs)
    row = JobQueue.objects.get(pk=jobs.id)
    with pytest.raises(JobQueueConflict, match="not over"):
        delete_queue(row)
    jobs.cancel(ids=[job])
    delete_queue(row)
    assert not StoredJob.objects.exists()
    with pytest.raises(NotFound, match="deleted"):
        enqueue(jobs)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"id": ""}, "id"),
        ({"id": "a/b"}, "id"),
        ({"id": "x" * 201}, "id"),
        ({"id": "a\0"}, "id"),
        ({"tags": ["a\ud800"]}, "tags"),
        ({"tags": "text"}, "tags"),
        ({"tags": [""]}, "tags"),
        ({"priority": 201}, "priority"),
        ({"retry_limit": -1}, "retry_limit"),
        ({"definition": "text"}, "definition"),
        ({"definition": b"x" * (512 * 1024 + 1)}, "definition"),
    ],
)
def test_wrong_jobs_are_refused_by_the_name_of_what_is_wrong(jobs: Queue, fields, complaint):
    with pytest.raises(ValidationError) as refused:
        enqueue(jobs, **fields)
    assert list(refused.value.detail) == [complaint]


@pytest.mark.parametrize(
    ("ask", "complaint"),
    [
        (lambda jobs: jobs.claim(""), "assignee"),
        (lambda jobs: jobs.claim("me", most=0), "most"),
        (lambda jobs: jobs.claim("me", tags="text"), "tags"),
        (lambda jobs: jobs.fail("a", ""), "error"),
        (lambda jobs: jobs.get(""), "id"),
        (lambda jobs: jobs.complete("a", "text"), "result"),
        (lambda jobs: jobs.progress("a", percent=101), "percent"),
        (lambda jobs: jobs.mark_worker_unresponsive(""), "assignee"),
        (lambda jobs: jobs.delete(ids="text"), "ids"),
    ],
)
def test_wrong_parameters_are_refused_by_their_names(jobs: Queue, ask, complaint):
    with pytest.raises(ValidationError) as refused:
        ask(jobs)
    assert list(refused.value.detail) == [complaint]
