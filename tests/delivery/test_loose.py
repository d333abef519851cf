"""Subscriptions without order: shares, limits, priorities, and the sleep that nobody is lost in."""

import threading
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction

from delivery import maintenance
from delivery.dispatch import dispatch
from delivery.models import AttemptLog, DeadLetter, RequestAttempt
from delivery.outcome import E_HTTP, Outcome
from delivery.queue import Ended
from delivery.retry import Decision
from events.models import Event
from subscriptions.models import SubscriptionState
from tests.factories import make_subscription, publish

OK, FAILED = Outcome(None, http_status=200), Outcome(E_HTTP, http_status=500)
DONE, RETRY = Decision("done"), Decision("retry", wait=60.0)


def state_of(subscription):
    return SubscriptionState.objects.get(subscription=subscription)


def test_a_subscription_sleeps_when_all_is_delivered_and_wakes_with_the_next(application, queue):
    subscription = make_subscription(application)
    publish(application, 3)
    claimed = queue.claim(10)
    assert len(claimed) == 3
    assert (state_of(subscription).in_flight, state_of(subscription).ready_at) == (3, None)
    queue.record([Ended(each, DONE, OK) for each in claimed])
    assert (state_of(subscription).in_flight, state_of(subscription).ready_at) == (0, None)
    assert not RequestAttempt.objects.exists()
    publish(application)
    assert len(queue.claim(10)) == 1


def test_a_subscription_has_no_more_in_flight_than_it_may(application, queue):
    subscription = make_subscription(application, max_in_flight=3)
    publish(application, 10)
    first = queue.claim(50)
    assert len(first) == 3
    assert queue.claim(50) == []
    queue.record([Ended(first[0], DONE, OK)])
    assert len(queue.claim(50)) == 1
    assert state_of(subscription).in_flight == 3


def test_an_enormous_subscription_leaves_the_others_their_share(application, queue):
    enormous = make_subscription(application, labels={"who": "enormous"}, max_in_flight=1000)
    publish(application, 500, labels={"who": "enormous"})
    small = make_subscription(application, labels={"who": "small"})
    publish(application, 5, labels={"who": "small"})
    claimed = queue.claim(20)
    counts = {each.id: sum(c.subscription_id == each.id for c in claimed) for each in (enormous, small)}
    assert counts == {enormous.id: 10, small.id: 5}


def test_the_higher_priority_goes_first_and_then_the_older(application, queue):
    make_subscription(application)
    for priority in (30, 100, 150, 30, 100, 150):
        publish(application, priority=priority)
    order = []
    for _ in range(6):
        (claimed,) = queue.claim(1)
        order.append((RequestAttempt.objects.get(id=claimed.delivery_id).priority, claimed.event_pk))
    assert order == sorted(order, key=lambda each: (-each[0], each[1]))


def test_a_high_priority_of_the_future_does_not_hide_what_is_due(application, queue):
    make_subscription(application)
    publish(application, 5, priority=150, deliver_at=datetime.now(UTC) + timedelta(hours=1))
    publish(application, 2, priority=30)
    assert len(queue.claim(10)) == 2
    assert queue.claim(10) == []
    assert len(queue.claim(10, now=datetime.now(UTC) + timedelta(hours=2))) == 5


def test_a_retry_waits_for_its_time_and_holds_back_nothing_else(application, queue):
    subscription = make_subscription(application)
    publish(application, 2)
    first, second = queue.claim(10)
    queue.record([Ended(first, RETRY, FAILED), Ended(second, DONE, OK)])
    assert queue.claim(10) == []
    publish(application)
    assert len(queue.claim(10)) == 1
    (again,) = queue.claim(10, now=datetime.now(UTC) + timedelta(seconds=61))
    assert (again.delivery_id, again.tries) == (first.delivery_id, 2)
    assert state_of(subscription).in_flight == 2


def test_a_dead_delivery_is_buried(application, queue):
    make_subscription(application)
    publish(application)
    (only,) = queue.claim(10)
    queue.record([Ended(only, Decision("dead", reason="gone"), Outcome(E_HTTP, http_status=410))])
    assert DeadLetter.objects.get().reason == "gone"
    assert not RequestAttempt.objects.exists()


def test_a_try_that_was_never_made_costs_no_retry(application, queue):
    subscription = make_subscription(application)
    publish(application)
    (only,) = queue.claim(10)
    queue.record([Ended(only, Decision("defer"))])
    assert state_of(subscription).in_flight == 0
    assert queue.claim(10)[0].tries == 1
    assert not AttemptLog.objects.exists()


@pytest.mark.parametrize("decision", [DONE, RETRY, Decision("dead", reason="exhausted")])
def test_a_late_finisher_changes_nothing_but_the_log(application, queue, decision):
    subscription = make_subscription(application)
    publish(application)
    (late,) = queue.claim(10)
    queue.record([Ended(late, RETRY, FAILED)])
    (current,) = queue.claim(10, now=datetime.now(UTC) + timedelta(seconds=61))
    queue.record([Ended(late, decision, OK if decision is DONE else FAILED)])
    assert state_of(subscription).in_flight == 1
    assert RequestAttempt.objects.get().epoch == current.epoch
    assert not DeadLetter.objects.exists()
    assert list(AttemptLog.objects.order_by("ended_at").values_list("accepted", flat=True)) == [True, False]


def test_a_subscription_does_not_fall_asleep_while_somebody_is_publishing_to_it(application, queue):
    """The one way to lose a wake-up: the claim finds nothing just before a publisher's deliveries become visible."""
    subscription = make_subscription(application)
    publish(application)
    publishing, claimed = threading.Event(), threading.Event()

    def publish_slowly():
        with transaction.atomic():
            # The subscription is awake, so the fan-out has nothing to change in its row.
            dispatch([Event.objects.create(**_copy(Event.objects.values().first())).pk])
            publishing.set()
            claimed.wait(10)
        connection.close()

    publisher = threading.Thread(target=publish_slowly)
    publisher.start()
    publishing.wait(10)
    assert len(queue.claim(10)) == 1  # what was there before; the row must stay awake
    claimed.set()
    publisher.join()
    assert state_of(subscription).ready_at is not None
    assert len(queue.claim(10)) == 1


def _copy(event):
    return {**event, "id": None, "event_id": uuid.uuid4()}


def test_an_old_and_a_new_result_of_a_delivery_in_one_record_are_told_apart(application, queue):
    """A pump whose lease ran out may have claimed the same again before it wrote the first result down."""
    make_subscription(application)
    publish(application)
    (old,) = queue.claim(1)
    maintenance.reap(now=datetime.now(UTC) + timedelta(minutes=5))
    (new,) = queue.claim(1)
    queue.record([Ended(old, Decision("dead", reason="exhausted"), FAILED), Ended(new, DONE, OK)])
    ended = AttemptLog.objects.exclude(error_name="E_WORKER_LOST").order_by("try_number")
    assert list(ended.values_list("try_number", "accepted")) == [(1, False), (2, True)]
    assert not DeadLetter.objects.exists()
