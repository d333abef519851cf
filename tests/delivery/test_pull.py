"""Consumers that pull: lease, acknowledge, reject, extend; with the order, fences, retries and ends of a pump."""

import multiprocessing
import os
import signal
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, connections

from delivery import lanes, maintenance, reconfigure
from delivery.audit import Operator
from delivery.dead_letters import cancel
from delivery.finish import Report, extend, finish
from delivery.models import AttemptLog, DeadLetter, Lane, Phase, RequestAttempt
from delivery.pull import Wanted, poll
from subscriptions.models import Subscription, SubscriptionState
from tests.factories import EVENT_TYPE, make_event_type, make_fifo, make_subscription, publish

pytestmark = pytest.mark.django_db(transaction=True)

PULL = {"target_type": "pull", "url": "", "max_in_flight": 1_000}
ALL = Wanted()
BY = Operator("tester")
LATER = timedelta(hours=1)


@pytest.fixture(params=[make_subscription, make_fifo], ids=["loose", "fifo"])
def make(request):
    """One of either kind."""
    return request.param


def pull(subscription, most=10, wanted=ALL):
    return poll(Subscription.objects.get(pk=subscription.pk), most=most, wanted=wanted)


def ack(subscription, pulled, error=None):
    """Whether they all were still held."""
    reports = [Report(each.receipt, error) for each in pulled]
    return finish(subscription, reports, by="tester") == {each.receipt for each in pulled}


def test_no_pump_ever_gets_what_is_pulled(application, queue, make):
    subscription = make(application, **PULL)
    publish(application, 3)
    assert queue.claim(100) == []
    assert pull(subscription) != []


def test_a_pull_subscription_keeps_its_pool_whatever_its_organization_chooses(application, queue, make):
    subscription = make(application, **PULL)
    publish(application)
    reconfigure.choose_default_worker(application.organization_id, None, by=BY)
    reconfigure.edit(subscription.pk, {"description": "changed"}, by=BY)
    assert queue.claim(100) == []
    assert len(pull(subscription)) == 1


def test_a_poll_leases_for_as_long_as_the_subscription_says(application, make):
    subscription = make(application, **PULL, lease_seconds=7)
    (event,) = publish(application, metadata={"a": "b"})
    (pulled,) = pull(subscription)
    assert timedelta(seconds=5) < pulled.lease_until - datetime.now(UTC) <= timedelta(seconds=7)
    assert pulled.claimed.event_id == event.event_id
    assert (pulled.claimed.try_number, pulled.labels, pulled.metadata) == (1, {"shop": "1"}, {"a": "b"})
    assert pulled.claimed.payload.startswith(b'{"number"')
    assert pull(subscription) == []


def test_what_is_acknowledged_is_gone_and_on_the_record(application, make):
    subscription = make(application, **PULL)
    publish(application)
    pulled = pull(subscription)
    assert ack(subscription, pulled)
    assert not RequestAttempt.objects.exists()
    log = AttemptLog.objects.get()
    assert (log.succeeded, log.accepted, log.worker, log.try_number) == (True, True, "tester", 1)
    assert log.created_at <= log.picked_at <= log.ended_at
    assert not ack(subscription, pulled)
    assert AttemptLog.objects.count() == 1


def test_without_order_a_poll_gets_many_but_no_more_than_it_wants_nor_than_may_be_in_flight(application):
    subscription = make_subscription(application, **PULL | {"max_in_flight": 5})
    publish(application, 9)
    assert len(pull(subscription, most=3)) == 3
    rest = pull(subscription)
    assert len(rest) == 2
    assert ack(subscription, rest)
    assert len(pull(subscription)) == 2


def test_without_order_priority_goes_first_and_then_age(application):
    subscription = make_subscription(application, **PULL)
    old, new = publish(application)[0], publish(application)[0]
    urgent = publish(application, priority=150)[0]
    assert [each.claimed.event_id for each in pull(subscription)] == [urgent.event_id, old.event_id, new.event_id]


def test_in_a_lane_there_is_one_at_a_time_and_the_next_after_its_acknowledgement(application):
    subscription = make_fifo(application, **PULL)
    events = publish(application, 3)
    for number, event in enumerate(events, start=1):
        (pulled,) = pull(subscription)
        assert (pulled.claimed.lane_seq, pulled.claimed.event_id) == (number, event.event_id)
        assert pull(subscription) == []
        assert ack(subscription, [pulled])
    assert Lane.objects.get().phase == Phase.EMPTY


def test_a_rejected_one_waits_for_its_retry_and_holds_its_lane_back(application, make):
    subscription = make(application, **PULL, retry_policy={"schedule_ms": [60_000]})
    publish(application)
    pulled = pull(subscription)
    assert ack(subscription, pulled, error="no disk")
    assert pull(subscription) == []
    log = AttemptLog.objects.get()
    assert (log.error_name, bytes(log.response_body), log.succeeded) == ("E_REJECTED", b"no disk", False)
    assert timedelta(seconds=55) < log.retry_at - datetime.now(UTC) <= timedelta(seconds=66)


def test_one_that_is_rejected_as_often_as_the_policy_allows_becomes_a_dead_letter(application, make):
    subscription = make(application, **PULL, retry_policy={"schedule_ms": [0]})
    publish(application)
    for _ in range(2):
        assert ack(subscription, pull(subscription), error="no")
    publish(application)
    letter = DeadLetter.objects.get()
    assert (letter.reason, letter.tries, letter.last_error) == ("exhausted", 2, "E_REJECTED")
    assert len(pull(subscription)) == 1


def test_where_order_says_so_the_lane_stops_instead_and_retry_opens_it(application):
    subscription = make_fifo(application, **PULL, fifo_on_exhausted="block", retry_policy={"schedule_ms": []})
    publish(application, 2)
    assert ack(subscription, pull(subscription), error="no")
    lane = Lane.objects.get()
    assert lane.phase == Phase.BLOCKED
    assert pull(subscription) == []
    lanes.retry_head(lane.pk, by=BY)
    (again,) = pull(subscription)
    assert (again.claimed.lane_seq, again.claimed.try_number) == (1, 2)


def test_rejections_open_no_circuit_and_disable_nothing(application):
    subscription = make_subscription(application, **PULL, retry_policy={"schedule_ms": [0] * 30})
    publish(application, 30)
    assert ack(subscription, pull(subscription, most=30), error="no")
    state = SubscriptionState.objects.get(subscription=subscription)
    assert (state.failures, state.allowance, state.failing_since) == (0, None, None)


def test_an_expired_lease_returns_by_itself_and_costs_a_try(application, make):
    subscription = make(application, **PULL)
    publish(application)
    late = pull(subscription)
    assert maintenance.reap(now=datetime.now(UTC) + LATER) == 1
    (again,) = pull(subscription)
    assert again.claimed.delivery_id == late[0].claimed.delivery_id
    assert again.claimed.try_number == 2
    assert AttemptLog.objects.get().error_name == "E_WORKER_LOST"


def test_a_late_acknowledgement_changes_nothing_and_says_so(application, make):
    subscription = make(application, **PULL)
    publish(application, 2)
    late = pull(subscription, most=1)
    maintenance.reap(now=datetime.now(UTC) + LATER)
    again = pull(subscription, most=1)
    assert not ack(subscription, late)
    assert not ack(subscription, late, error="no")
    assert extend(subscription.pk, [late[0].receipt], seconds=60) == {}
    assert RequestAttempt.objects.count() == 2
    assert ack(subscription, again)


def test_a_lease_that_is_extended_lasts_so_long_from_now(application, make):
    subscription = make(application, **PULL)
    publish(application)
    (pulled,) = pull(subscription)
    until = extend(subscription.pk, [pulled.receipt], seconds=7200)[pulled.receipt]
    assert timedelta(seconds=7190) < until - datetime.now(UTC) <= timedelta(seconds=7200)
    assert maintenance.reap(now=datetime.now(UTC) + LATER) == 0
    assert ack(subscription, [pulled])


def test_the_token_of_another_subscription_is_nobodys(application, make):
    mine, other = make(application, **PULL), make(application, **PULL)
    publish(application)
    pulled = pull(other)
    assert not ack(mine, pulled)
    assert extend(mine.pk, [pulled[0].receipt], seconds=60) == {}
    assert ack(other, pulled)


def test_the_same_token_twice_in_a_call_is_one_acknowledgement(application, make):
    subscription = make(application, **PULL, retry_policy={"schedule_ms": []})
    publish(application)
    (pulled,) = pull(subscription)
    assert ack(subscription, [pulled, pulled], error="no")
    assert AttemptLog.objects.count() == DeadLetter.objects.count() == 1


def test_a_delivery_that_no_consumer_ever_finishes_is_given_up(application, make):
    subscription = make(application, **PULL, retry_policy={"schedule_ms": [0]})
    publish(application)
    for _ in range(2):
        assert len(pull(subscription)) == 1
        maintenance.reap(now=datetime.now(UTC) + LATER)
    assert pull(subscription) == []
    letter = DeadLetter.objects.get()
    assert (letter.reason, letter.last_error) == ("exhausted", "E_WORKER_LOST")


def test_what_was_called_off_is_never_handed_out(application, make):
    subscription = make(application, **PULL)
    publish(application, 5)
    ids = list(RequestAttempt.objects.order_by("lane_seq", "id").values_list("id", flat=True)[:4])
    cancel(RequestAttempt.objects.filter(id__in=ids), by=BY)
    (pulled,) = pull(subscription)
    assert pulled.claimed.delivery_id not in ids
    assert set(RequestAttempt.objects.values_list("id", flat=True)) == {pulled.claimed.delivery_id}


def test_a_delayed_event_is_not_handed_out_before_its_time(application, make):
    subscription = make(application, **PULL)
    publish(application, deliver_at=datetime.now(UTC) + timedelta(seconds=60))
    assert pull(subscription) == []
    first = RequestAttempt.objects.get()
    assert first.tries == 0
    with connection.cursor() as cursor:
        cursor.execute("UPDATE request_attempt SET due_at = now()")
        cursor.execute("UPDATE fifo_subscription_state SET ready_at = now()")
    assert len(pull(subscription)) == 1


def test_while_it_is_paused_nothing_moves_and_afterwards_it_goes_on(application, make):
    subscription = make(application, **PULL)
    publish(application)
    reconfigure.edit(subscription.pk, {"is_paused": True}, by=BY)
    assert pull(subscription) == []
    reconfigure.edit(subscription.pk, {"is_paused": False}, by=BY)
    assert len(pull(subscription)) == 1


def test_what_waits_can_be_pulled_after_http_and_sent_after_pull(application, queue, make):
    subscription = make(application)
    publish(application)
    reconfigure.edit(subscription.pk, PULL, by=BY)
    assert queue.claim(100) == []
    (pulled,) = pull(subscription)
    back = {"target_type": "http", "url": "http://127.0.0.1:9/"}
    reconfigure.edit(subscription.pk, back, by=BY)
    assert queue.claim(100) == []
    assert ack(subscription, [pulled], error="no")
    (claimed,) = queue.claim(100, now=datetime.now(UTC) + LATER)
    assert (claimed.delivery_id, claimed.try_number) == (pulled.claimed.delivery_id, 2)


def test_a_change_of_the_order_takes_leases_away(application, make):
    subscription = make(application, **PULL)
    publish(application, 2)
    late = pull(subscription, most=1)
    reconfigure.edit(subscription.pk, {"fifo_mode": make is make_subscription}, by=BY)
    assert not ack(subscription, late)
    assert RequestAttempt.objects.count() == 2


def test_deleting_it_ends_its_leases(application, make):
    subscription = make(application, **PULL)
    publish(application)
    pulled = pull(subscription)
    reconfigure.delete(subscription.pk, by=BY)
    assert not ack(subscription, pulled)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Wanted(["billing.invoice.paid"]), {0, 2}),
        (Wanted(["billing.*"]), {0, 1, 2}),
        (Wanted(["billing.invoice.sent", "other.thing.done"]), {1}),
        (Wanted(labels={"region": "eu"}), {0, 1}),
        (Wanted(labels={"region": "eu", "shop": "1"}), {0, 1}),
        (Wanted(labels={"region": "eu", "shop": "2"}), set()),
        (Wanted(["billing.invoice.paid"], {"region": "eu"}), {0}),
        (ALL, {0, 1, 2}),
    ],
)
def test_a_poll_gets_the_types_and_labels_it_asks_for(application, wanted, found):
    make_event_type(application, "billing.invoice.sent")
    subscription = make_subscription(application, **PULL, event_types=["billing.*"])
    kinds = [(EVENT_TYPE, "eu"), ("billing.invoice.sent", "eu"), (EVENT_TYPE, "us")]
    events = [
        publish(application, event_type=kind, labels={"shop": "1", "region": region})[0] for kind, region in kinds
    ]
    ids = [event.event_id for event in events]
    assert {ids.index(each.claimed.event_id) for each in pull(subscription, wanted=wanted)} == found
    assert len(pull(subscription)) == 3 - len(found)


def test_a_filter_passes_no_head_of_a_lane_by(application):
    subscription = make_fifo(application, **PULL)
    publish(application, labels={"shop": "1", "region": "us"})
    publish(application, labels={"shop": "1", "region": "eu"})
    europe = Wanted(labels={"region": "eu"})
    assert pull(subscription, wanted=europe) == []
    assert ack(subscription, pull(subscription))
    assert [each.claimed.lane_seq for each in pull(subscription, wanted=europe)] == [2]


def test_consumers_that_compete_get_each_lane_in_order_and_nothing_twice(application):
    subscription = make_fifo(application, **PULL, fifo_key="ordering_key")
    for number in range(120):
        publish(application, ordering_key=str(number % 6))
    done, lock = [], threading.Lock()
    deadline = time.monotonic() + 60

    def consume():
        while RequestAttempt.objects.exists() and time.monotonic() < deadline:
            for each in pull(subscription, most=3):
                with lock:
                    done.append((each.claimed.lane_id, each.claimed.lane_seq))
                assert ack(subscription, [each])
        connection.close()

    consumers = [threading.Thread(target=consume) for _ in range(4)]
    for consumer in consumers:
        consumer.start()
    for consumer in consumers:
        consumer.join()
    assert len(done) == len(set(done)) == 120
    for lane in {lane for lane, _ in done}:
        assert [seq for each, seq in done if each == lane] == list(range(1, 21))


def test_consumers_of_a_subscription_without_order_share_it_and_nothing_is_lost_or_doubled(application):
    subscription = make_subscription(application, **PULL)
    publish(application, 200)
    done, lock = [], threading.Lock()
    deadline = time.monotonic() + 60

    def consume():
        while RequestAttempt.objects.exists() and time.monotonic() < deadline:
            pulled = pull(subscription, most=7)
            with lock:
                done.extend(each.claimed.delivery_id for each in pulled)
            assert ack(subscription, pulled)
        connection.close()

    consumers = [threading.Thread(target=consume) for _ in range(4)]
    for consumer in consumers:
        consumer.start()
    for consumer in consumers:
        consumer.join()
    assert len(done) == len(set(done)) == 200
    assert SubscriptionState.objects.get(subscription=subscription).in_flight == 0


def _die_holding(subscription):
    """In a process of its own: lease something, and never come back."""
    if pull(subscription):
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_consumer_that_is_killed_in_the_middle_loses_nothing_and_its_deliveries_come_back_in_order(application):
    subscription = make_fifo(application, **PULL, lease_seconds=1, retry_policy={"schedule_ms": [0] * 5})
    publish(application, 6)
    done = []
    for _ in range(2):
        connections.close_all()  # what a child inherits it would use, too
        victim = multiprocessing.get_context("fork").Process(target=_die_holding, args=(subscription,))
        victim.start()
        victim.join(30)
        assert victim.exitcode == -signal.SIGKILL
        assert pull(subscription) == []
        deadline = time.monotonic() + 30
        while not (pulled := pull(subscription)) and time.monotonic() < deadline:
            maintenance.reap()
            time.sleep(0.05)
        done.append((pulled[0].claimed.lane_seq, pulled[0].claimed.try_number))
        assert ack(subscription, pulled)
    while pulled := pull(subscription):
        done.append((pulled[0].claimed.lane_seq, pulled[0].claimed.try_number))
        assert ack(subscription, pulled)
    assert done == [(1, 2), (2, 2), (3, 1), (4, 1), (5, 1), (6, 1)]
