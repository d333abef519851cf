from datetime import UTC, datetime, timedelta

from django.db.models import F

from delivery import tasks
from delivery.jobs import Queue, State
from delivery.jobs.models import JobQueue, StoredJob
from delivery.jobs.queues import create_queue
from delivery.maintenance import finish_deletions
from tests.delivery.jobs.conftest import enqueue, job_in

HOUR = timedelta(hours=1)


def test_jobs_of_silent_workers_go_to_others(application):
    leased, patient = Queue(create_queue(application.id, "leased", lease_seconds=60)), create_queue(application.id, "p")
    silent, busy = job_in(leased, State.RUNNING), job_in(leased, State.RUNNING)
    for_ever = job_in(Queue(patient), State.RUNNING)
    StoredJob.objects.filter(job_id=silent).update(lease_until=datetime.now(UTC))
    tasks.reap()
    assert (leased.get(silent).status, leased.get(busy).status) == (State.UNKNOWN_RETRY, State.RUNNING)
    assert Queue(patient).get(for_ever).status == State.RUNNING


def test_a_fifo_queue_goes_on_behind_what_was_cancelled_and_never_acknowledged(application):
    queue = Queue(create_queue(application.id, "fifo", is_fifo=True, lease_seconds=60))
    first, second = job_in(queue, State.CANCELLING, key="a"), enqueue(queue, key="a")
    StoredJob.objects.filter(job_id=first).update(lease_until=datetime.now(UTC))
    tasks.reap()
    assert queue.get(first).status == State.UNKNOWN_STOPPED
    assert [job.id for job in queue.claim("another")] == [second]


def test_completed_jobs_are_kept_for_as_long_as_the_queue_says(application):
    short = Queue(create_queue(application.id, "short", retention_seconds=1800))
    long = Queue(create_queue(application.id, "long", retention_seconds=7200))
    endless = Queue(create_queue(application.id, "endless"))
    for queue in (short, long, endless):
        job_in(queue, State.COMPLETED)
        job_in(queue, State.STOPPED)
    StoredJob.objects.update(finalized_at=F("finalized_at") - HOUR)
    tasks.clean_up_jobs()
    assert [queue.statistics().completed_jobs for queue in (short, long, endless)] == [0, 1, 1]
    assert short.statistics().stopped_jobs == 1


def test_queues_go_with_their_application(application):
    enqueue(Queue(create_queue(application.id, "jobs")))
    application.deleted_at = datetime.now(UTC)
    application.save()
    finish_deletions()
    assert not JobQueue.objects.exists()
    assert not StoredJob.objects.exists()
