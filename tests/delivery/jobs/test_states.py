"""Every operation on a job in every state: what it becomes, or that the operation is refused."""

import pytest

from delivery.jobs import Queue, State
from delivery.problems import JobConflict
from tenants.problems import NotFound
from tests.delivery.jobs.conftest import claimed, job_in

# A dot: refused with an error that names the state. A dash: not an error, and nothing changes.
TABLE = """
                IP RU CO FR ST UN UR CA US EX
claim           RU -  -  RU -  -  RU -  -  -
complete        .  CO .  .  .  .  CO CO CO .
fail            .  FR .  .  .  .  FR .  .  .
stop            .  ST .  .  .  .  ST ST .  .
stop_with_retry .  .  .  .  .  .  .  ST .  .
mark_unknown    .  US .  .  .  .  US US .  .
cancel          UN CA -  ST -  -  ST CA -  -
ack_executing   .  .  .  .  .  .  .  ST .  .
ack_not_there   .  .  .  .  .  .  .  US .  .
unresponsive    -  UR -  -  -  -  -  US -  -
reset           -  UR -  -  -  -  -  US -  -
retry           .  .  .  .  .  .  .  .  .  FR
progress        .  RU .  .  .  .  .  CA .  .
delete          .  .  ok .  ok ok .  .  ok ok
"""
SHORT = {
    "IP": State.INITIAL_PENDING, "RU": State.RUNNING, "CO": State.COMPLETED, "FR": State.FAILED_RETRY,
    "ST": State.STOPPED, "UN": State.UNSCHEDULED, "UR": State.UNKNOWN_RETRY, "CA": State.CANCELLING,
    "US": State.UNKNOWN_STOPPED, "EX": State.EXHAUSTED,
}  # fmt: skip
HEADER, *ROWS = [line.split() for line in TABLE.strip().splitlines()]
CELLS = {
    (operation, SHORT[state]): SHORT.get(cell, cell)
    for operation, *cells in ROWS
    for state, cell in zip(HEADER, cells, strict=True)
}
FINAL = {State.COMPLETED, State.STOPPED, State.UNSCHEDULED, State.UNKNOWN_STOPPED}

OPERATIONS = {
    "claim": lambda queue, _: claimed(queue),
    "complete": lambda queue, job: queue.complete(job, b"done"),
    "fail": lambda queue, job: queue.fail(job, "it failed"),
    "stop": lambda queue, job: queue.stop(job, "it stopped"),
    "stop_with_retry": lambda queue, job: queue.stop_with_retry(job, "it failed while it stopped"),
    "mark_unknown": lambda queue, job: queue.mark_unknown_stopped(job, "nobody knows"),
    "cancel": lambda queue, job: queue.cancel(ids=[job]),
    "ack_executing": lambda queue, job: queue.acknowledge_cancellation(job, was_executing=True),
    "ack_not_there": lambda queue, job: queue.acknowledge_cancellation(job, was_executing=False),
    "unresponsive": lambda queue, job: queue.mark_worker_unresponsive(job),
    "reset": lambda queue, _: queue.reset_running(),
    "retry": lambda queue, job: queue.retry(job),
    "delete": lambda queue, job: queue.delete(ids=[job]),
    "progress": lambda queue, job: queue.progress(job, percent=50),
}


def test_the_table_has_every_state_and_every_operation():
    assert {operation for operation, _ in CELLS} == set(OPERATIONS)
    assert {state for _, state in CELLS} == set(State)
    assert len(CELLS) == len(OPERATIONS) * len(State)


@pytest.mark.parametrize(("operation", "state"), CELLS, ids=str)
def test_what_becomes_of_a_job(jobs: Queue, operation, state):
    becomes = CELLS[operation, state]
    job = job_in(jobs, state)
    before = jobs.get(job)
    if becomes == ".":
        with pytest.raises(JobConflict, match=rf"{job}.*is {state}") as refused:
            OPERATIONS[operation](jobs, job)
        assert refused.value.state == state
        assert jobs.get(job) == before
        return
    OPERATIONS[operation](jobs, job)
    if becomes == "ok":
        with pytest.raises(NotFound):
            jobs.get(job)
        return
    after = jobs.get(job)
    if becomes == "-":
        assert after == before
        return
    assert after.status == becomes
    assert (after.finalized_at is not None) == (after.status in FINAL | {State.EXHAUSTED})
    if operation != "claim":
        assert (after.assignee, after.assigned_at) == (before.assignee, before.assigned_at)
    retried = {"fail": 1, "stop_with_retry": 1, "retry": 1}.get(operation, 0)
    assert after.retry_count == before.retry_count + retried
    assert (after.last_retry_at != before.last_retry_at) == bool(retried)


@pytest.mark.parametrize(
    "operation", sorted(OPERATIONS.keys() - {"claim", "cancel", "unresponsive", "reset", "delete"})
)
def test_a_job_that_does_not_exist_is_an_error(jobs: Queue, operation):
    with pytest.raises(NotFound, match="no-such-job"):
        OPERATIONS[operation](jobs, "no-such-job")
