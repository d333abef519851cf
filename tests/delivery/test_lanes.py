"""A lane through its transitions: claim, record, fence. Without a network; the outcomes are given."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, connection

from delivery import maintenance
from delivery.models import AttemptLog, DeadLetter, Lane, Phase, RequestAttempt
from delivery.outcome import E_HTTP, Outcome
from delivery.queue import Ended
from delivery.retry import Decision
from subscriptions.models import Subscription
from tests.factories import make_fifo, make_subscription, publish

OK = Outcome(None, http_status=200)
FAILED = Outcome(E_HTTP, http_status=500, body=b"oops", headers={"x": "y"}, elapsed_ms=7)
DONE, RETRY = Decision("done"), Decision("retry", wait=60.0)
DEAD, BLOCK = Decision("dead", reason="exhausted"), Decision("block", reason="exhausted")


def the_lane():
    return Lane.objects.get()


def test_a_claim_leases_the_head_and_nobody_gets_a_second_one(application, queue):
    make_fifo(application, timeout_ms=2_000)
    publish(application, 3)
    (claimed,) = queue.claim(10)
    assert (claimed.lane_seq, claimed.tries) == (1, 1)
    lane = the_lane()
    assert (lane.phase, lane.epoch) == (Phase.RUNNING, claimed.epoch)
    assert timedelta(seconds=16) < lane.lease_until - datetime.now(UTC) <= timedelta(seconds=17)
    assert queue.claim(10) == []


def test_a_success_advances_the_lane_to_the_next_head(application, queue):
    make_fifo(application)
    publish(application, 2)
    (first,) = queue.claim(10)
    assert queue.record([Ended(first, DONE, OK)]) == []
    lane = the_lane()
    assert (lane.phase, lane.head_seq, lane.tries, lane.since) == (Phase.WAITING, 2, 0, None)
    assert lane.last_completed_event_created_at == first.received_at
    (second,) = queue.claim(10)
    assert second.lane_seq == 2
    queue.record([Ended(second, DONE, OK)])
    assert the_lane().phase == Phase.EMPTY
    assert not RequestAttempt.objects.exists()
    assert AttemptLog.objects.filter(succeeded=True, accepted=True).count() == 2


def test_who_stays_gets_the_next_head_in_the_same_statement(application, queue):
    make_fifo(application)
    publish(application, 2)
    (first,) = queue.claim(10)
    (second,) = queue.record([Ended(first, DONE, OK, stay=True)])
    assert (second.lane_seq, second.tries, second.visit_began) == (2, 1, first.visit_began)
    assert second.epoch != first.epoch
    assert queue.claim(10) == []
    assert queue.record([Ended(second, DONE, OK, stay=True)]) == []
    assert the_lane().phase == Phase.EMPTY


def test_a_lease_is_as_long_as_the_subscription_says_when_it_begins(application, queue):
    """Else a request could outlive its lease, where somebody raises the time-out while a pump stays with a lane."""
    make_fifo(application, timeout_ms=2000)
    publish(application, 2)
    (first,) = queue.claim(1)
    Subscription.objects.update(timeout_ms=60_000)
    (second,) = queue.record([Ended(first, DONE, OK, stay=True)])
    assert second.timeout_ms == 60_000
    assert timedelta(seconds=74) < Lane.objects.get().lease_until - datetime.now(UTC) <= timedelta(seconds=75)


@pytest.mark.parametrize("fifo_mode", [True, False])
def test_a_time_out_that_is_raised_just_after_a_lease_began_is_for_the_next(application, queue, monkeypatch, fifo_mode):
    make_subscription(application, fifo_mode=fifo_mode, timeout_ms=2000)
    publish(application)
    execute = queue._execute

    def raise_before_it_is_read(name, **parameters):
        if name in {"heads", "load_subscriptions"}:
            Subscription.objects.update(timeout_ms=60_000)
        return execute(name, **parameters)

    monkeypatch.setattr(queue, "_execute", raise_before_it_is_read)
    assert [claimed.timeout_ms for claimed in queue.claim(1)] == [2000]


def test_a_retry_holds_the_lane_back_until_its_time_has_come(application, queue):
    make_fifo(application)
    publish(application, 2)
    (first,) = queue.claim(10)
    queue.record([Ended(first, RETRY, FAILED, stay=True)])
    lane = the_lane()
    assert (lane.phase, lane.head_seq, lane.current_request_attempt_id) == (Phase.WAITING, 1, first.delivery_id)
    assert lane.since is not None
    assert queue.claim(10) == []
    (again,) = queue.claim(10, now=datetime.now(UTC) + timedelta(seconds=61))
    assert (again.lane_seq, again.tries, again.delivery_id) == (1, 2, first.delivery_id)


def test_a_dead_head_is_buried_and_the_lane_goes_on(application, queue):
    make_fifo(application)
    publish(application, 2)
    (first,) = queue.claim(10)
    queue.record([Ended(first, DEAD, FAILED)])
    letter = DeadLetter.objects.get()
    assert (letter.id, letter.reason, letter.lane_seq, letter.last_http_status) == (
        first.delivery_id,
        "exhausted",
        1,
        500,
    )
    assert the_lane().head_seq == 2
    assert queue.claim(10)[0].lane_seq == 2


def test_an_exhausted_head_may_block_its_lane_for_good(application, queue):
    make_fifo(application)
    publish(application, 2)
    (first,) = queue.claim(10)
    queue.record([Ended(first, BLOCK, FAILED)])
    assert (the_lane().phase, the_lane().head_seq) == (Phase.BLOCKED, 1)
    publish(application)
    assert queue.claim(10, now=datetime.now(UTC) + timedelta(days=365)) == []
    assert RequestAttempt.objects.count() == 3


def test_a_try_that_was_never_made_costs_no_retry_and_is_not_logged(application, queue):
    make_fifo(application)
    publish(application)
    (first,) = queue.claim(10)
    queue.record([Ended(first, Decision("defer", wait=30.0))])
    assert (the_lane().tries, the_lane().phase) == (0, Phase.WAITING)
    assert not AttemptLog.objects.exists()
    assert queue.claim(10) == []
    assert queue.claim(10, now=datetime.now(UTC) + timedelta(seconds=31))[0].tries == 1


@pytest.mark.parametrize("decision", [DONE, RETRY, DEAD, BLOCK])
def test_a_late_finisher_changes_nothing_but_the_log(application, queue, decision):
    make_fifo(application)
    publish(application, 2)
    (late,) = queue.claim(10)
    Lane.objects.update(phase=Phase.WAITING, lease_until=None, ready_at=datetime.now(UTC))  # as the reaper does
    (current,) = queue.claim(10)
    before = Lane.objects.values().get()
    outcome = OK if decision is DONE else FAILED
    assert queue.record([Ended(late, decision, outcome, stay=True)]) == []
    assert Lane.objects.values().get() == before
    assert RequestAttempt.objects.count() == 2
    assert not DeadLetter.objects.exists()
    assert AttemptLog.objects.get().accepted is False
    queue.record([Ended(current, DONE, OK)])
    assert the_lane().head_seq == 2


def test_recording_twice_moves_a_lane_once(application, queue):
    make_fifo(application)
    publish(application, 3)
    (first,) = queue.claim(10)
    queue.record([Ended(first, DONE, OK)])
    queue.record([Ended(first, DONE, OK)])
    assert the_lane().head_seq == 2


def test_lanes_take_turns(application, queue):
    for _ in range(3):
        make_fifo(application)
    publish(application, 3)
    order = []
    for _ in range(9):
        (claimed,) = queue.claim(1)
        order.append(claimed.subscription_id)
        queue.record([Ended(claimed, DONE, OK)])
    assert len(set(order[:3])) == len(set(order[3:6])) == len(set(order[6:])) == 3


def test_a_claim_takes_no_more_than_there_is_room(application, queue):
    for _ in range(5):
        make_fifo(application)
    publish(application, 2)
    assert len(queue.claim(3)) == 3
    assert len(queue.claim(3)) == 2
    assert queue.claim(3) == []


def test_the_log_keeps_what_an_operator_asks_for(application, queue):
    make_fifo(application)
    publish(application)
    (first,) = queue.claim(10)
    queue.record([Ended(first, RETRY, FAILED, picked_at=datetime.now(UTC))])
    log = AttemptLog.objects.get()
    assert (log.id, log.delivery_id, log.event_id) == (first.delivery_id, first.delivery_id, first.event_pk)
    assert (log.lane_seq, log.try_number, log.worker, log.error_name) == (1, 1, "test", "E_HTTP")
    assert (log.http_status, log.response_headers, bytes(log.response_body), log.elapsed_ms) == (
        500,
        {"x": "y"},
        b"oops",
        7,
    )
    assert timedelta(seconds=59) < log.retry_at - log.ended_at < timedelta(seconds=61)


@pytest.mark.parametrize(
    "broken",
    [
        {"phase": Phase.EMPTY, "ready_at": None},  # asleep with work waiting
        {"head_seq": 2},  # waiting for nothing
        {"head_seq": 3, "phase": Phase.EMPTY, "ready_at": None},  # past the tail
        {"ready_at": None},
        {"phase": Phase.RUNNING, "ready_at": None},  # without a lease
        {"phase": Phase.BLOCKED},  # and waiting for a time
    ],
)
def test_the_database_refuses_a_lane_that_cannot_be(application, broken):
    make_fifo(application)
    publish(application)
    with pytest.raises(IntegrityError):
        Lane.objects.update(**broken)


def test_the_database_refuses_a_number_twice(application):
    make_fifo(application)
    publish(application, 2)
    with pytest.raises(IntegrityError):
        RequestAttempt.objects.filter(lane_seq=2).update(lane_seq=1)


def test_a_lane_that_a_publisher_holds_is_claimed_when_it_lets_go(application, queue):
    make_fifo(application)
    publish(application)
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT 1 FROM fifo_subscription_state FOR NO KEY UPDATE")
        assert queue.claim(10) == []
        cursor.execute("COMMIT")
    assert len(queue.claim(10)) == 1


def test_an_old_and_a_new_result_of_a_lane_in_one_record_are_told_apart(application, queue):
    """A pump whose lease ran out may have claimed the same again before it wrote the first result down."""
    make_fifo(application)
    publish(application)
    (old,) = queue.claim(1)
    maintenance.reap(now=datetime.now(UTC) + timedelta(minutes=5))
    (new,) = queue.claim(1)
    queue.record([Ended(old, Decision("dead", reason="exhausted"), FAILED), Ended(new, DONE, OK)])
    ended = AttemptLog.objects.exclude(error_name="E_WORKER_LOST").order_by("try_number")
    assert list(ended.values_list("try_number", "accepted")) == [(1, False), (2, True)]
    assert not DeadLetter.objects.exists()
