"""A subscription is paused, resumed, changed in its mode, deleted: what becomes of its queue."""

import threading
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from delivery import lanes, maintenance, reconfigure
from delivery.audit import Operator
from delivery.dispatch import dispatch
from delivery.models import AttemptLog, Lane, OperatorAction, Phase, RequestAttempt
from delivery.outcome import Outcome
from delivery.pump import Pump
from delivery.queue import Ended
from delivery.retry import Decision
from events.models import Event
from subscriptions.models import PUBLIC_POOL, Subscription, SubscriptionState, Worker
from tenants.models import Application
from tenants.problems import NotFound
from tests.factories import make_application, make_fifo, make_subscription, publish

ME = Operator("me@example.com")
OK, DONE = Outcome(None, http_status=200), Decision("done")
LATER = timedelta(days=1)


def numbered():
    return list(
        RequestAttempt.objects.order_by("lane__key", "lane_seq").values_list("lane__key", "lane_seq", "event_id")
    )


@pytest.mark.parametrize("fifo_mode", [True, False])
def test_a_paused_subscription_sends_nothing_and_loses_nothing_and_goes_on_in_order(
    application, pump, receiver, queue, fifo_mode
):
    url = f"http://127.0.0.1:{receiver.port}/hook"
    subscription = make_subscription(application, url=url, fifo_mode=fifo_mode, max_in_flight=1)
    publish(application, 2)
    reconfigure.edit(subscription.id, {"is_paused": True}, by=ME)
    publish(application, 2)
    pump.run()
    assert receiver.received == []
    assert queue.claim(10, now=datetime.now(UTC) + LATER) == []
    assert RequestAttempt.objects.count() == 4
    reconfigure.edit(subscription.id, {"is_paused": False}, by=ME)
    pump.run()
    sent = [each.headers["x-event-id"] for each in receiver.received]
    assert sent == [str(event) for event in Event.objects.order_by("id").values_list("event_id", flat=True)]
    assert {each.headers["x-hook0-attempt"] for each in receiver.received} == {"1"}
    assert list(OperatorAction.objects.order_by("id").values_list("action", "details__is_paused")) == [
        ("edit_subscription", True),
        ("edit_subscription", False),
    ]


def test_a_lane_that_an_operator_paused_stays_paused_when_its_subscription_is_resumed(application, pump, receiver):
    subscription = make_fifo(application, fifo_key="ordering_key", url=f"http://127.0.0.1:{receiver.port}/hook")
    publish(application, ordering_key="a")
    publish(application, ordering_key="b")
    lanes.pause(Lane.objects.get(key="a").id, by=ME)
    reconfigure.edit(subscription.id, {"is_paused": True}, by=ME)
    pump.run()
    assert set(Lane.objects.values_list("phase", flat=True)) == {Phase.PAUSED}
    reconfigure.edit(subscription.id, {"is_paused": False}, by=ME)
    pump.run()
    assert dict(Lane.objects.values_list("key", "phase")) == {"a": Phase.PAUSED, "b": Phase.EMPTY}


def test_parking_a_lane_waits_for_a_resume_that_is_under_way(application, queue):
    """Or else the lane would be parked after the resume has passed by, and sleep for ever."""
    subscription = make_fifo(application)
    publish(application)
    reconfigure.edit(subscription.id, {"is_paused": True}, by=ME)
    (claimed,) = queue.claim(10)

    def park():
        unsaid = [Ended(claimed, Decision("park"))]
        while unsaid:  # a pump waits for a lock half a second at a time
            queue.record(unsaid)
            unsaid = queue.held_up

    parking = threading.Thread(target=park)
    with transaction.atomic():
        reconfigure.edit(subscription.id, {"is_paused": False}, by=ME)
        parking.start()
        parking.join(0.5)
        assert parking.is_alive()
    parking.join()
    assert Lane.objects.get().phase == Phase.WAITING


def test_a_disabled_subscription_gets_nothing_new_and_completes_what_it_has(application, pump, receiver):
    subscription = make_fifo(application, url=f"http://127.0.0.1:{receiver.port}/hook")
    publish(application, 2)
    Subscription.objects.filter(id=subscription.id).update(is_enabled=False)
    publish(application, 2)
    pump.run()
    assert len(receiver.received) == 2


def test_into_fifo_what_is_pending_is_numbered_in_event_order(application, queue):
    subscription = make_subscription(application)
    publish(application, 3, priority=30)
    publish(application, 3, priority=150)
    assert reconfigure.edit(subscription.id, {"fifo_mode": True, "fifo_key": None}, by=ME) == 6
    publish(application)
    events = list(Event.objects.order_by("id").values_list("id", flat=True))
    assert numbered() == [("", number, event) for number, event in enumerate(events, start=1)]
    assert SubscriptionState.objects.get().ready_at is None
    assert queue.claim(10)[0].lane_seq == 1


def test_into_fifo_what_is_in_flight_ends_before_the_lane_begins(application, queue):
    subscription = make_subscription(application)
    publish(application, 2)
    in_flight = queue.claim(1)
    lease_until = RequestAttempt.objects.get(lease_until__isnull=False).lease_until
    reconfigure.edit(subscription.id, {"fifo_mode": True, "fifo_key": None}, by=ME)
    assert Lane.objects.get().ready_at >= lease_until
    queue.record([Ended(in_flight[0], DONE, OK)])
    assert RequestAttempt.objects.count() == 2  # it is repeated in its place
    assert AttemptLog.objects.get().accepted is False


def test_out_of_fifo_everything_goes_on_without_order(application, queue):
    subscription = make_fifo(application, fifo_key="ordering_key")
    publish(application, 2, ordering_key="a")
    publish(application, 2, ordering_key="b")
    assert reconfigure.edit(subscription.id, {"fifo_mode": False, "fifo_key": None}, by=ME) == 4
    assert not Lane.objects.exists()
    assert len(queue.claim(10)) == 4


def test_out_of_fifo_a_head_in_flight_is_not_sent_twice_at_a_time(application, queue):
    subscription = make_fifo(application)
    publish(application, 2)
    (head,) = queue.claim(10)
    reconfigure.edit(subscription.id, {"fifo_mode": False, "fifo_key": None}, by=ME)
    assert [each.delivery_id == head.delivery_id for each in queue.claim(10)] == [False]


def test_another_key_splits_what_is_pending_anew(application):
    subscription = make_fifo(application)
    for key in "abab":
        publish(application, ordering_key=key)
    reconfigure.edit(subscription.id, {"fifo_mode": True, "fifo_key": "ordering_key"}, by=ME)
    first, second, third, fourth = Event.objects.order_by("id").values_list("id", flat=True)
    assert numbered() == [("a", 1, first), ("a", 2, third), ("b", 1, second), ("b", 2, fourth)]


def test_the_same_mode_again_changes_nothing(application):
    subscription = make_fifo(application)
    publish(application, 2)
    before = Lane.objects.values().get()
    assert reconfigure.edit(subscription.id, {"fifo_mode": True, "fifo_key": None}, by=ME) == 0
    assert Lane.objects.values().get() == before


def test_the_tries_of_deliveries_are_numbered_through_from_one_mode_to_the_other(application, queue):
    subscription = make_subscription(application)
    publish(application, 2)
    failed = Ended(queue.claim(1)[0], Decision("retry"), Outcome("E_HTTP", http_status=500))
    second = Ended(queue.claim(2)[-1], Decision("retry"), Outcome("E_HTTP", http_status=500))
    queue.record([failed, second])
    numbers = []
    for fifo_mode in (True, False):
        reconfigure.edit(subscription.id, {"fifo_mode": fifo_mode, "fifo_key": None}, by=ME)
        for _ in range(2):
            (claimed,) = queue.claim(1)
            queue.record([Ended(claimed, Decision("retry"), Outcome("E_HTTP", http_status=500))])
            numbers.append(claimed.try_number)
    ended = list(AttemptLog.objects.values_list("id", flat=True))
    assert len(ended) == len(set(ended)) == 6
    assert max(numbers) > 2


def test_put_in_order_a_delivery_has_the_retries_of_a_lane_before_it(application, queue):
    """The default of a subscription without order is more than a lane has at all."""
    subscription = make_subscription(application)
    publish(application)
    RequestAttempt.objects.update(tries=20)
    reconfigure.edit(subscription.id, {"fifo_mode": True, "fifo_key": None}, by=ME)
    (claimed,) = queue.claim(1)
    assert (claimed.tries, claimed.try_number) == (1, 21)


@pytest.mark.parametrize("fifo_mode", [True, False])
def test_a_publisher_that_is_overtaken_by_a_change_of_mode_begins_anew(application, fifo_mode):
    """It has read the old mode, and must not make deliveries that the new one would never look at."""
    subscription = make_subscription(application, fifo_mode=fifo_mode)
    publish(application)
    started = threading.Event()

    def publish_meanwhile():
        started.set()
        publish(application, 3)
        connection.close()

    publisher = threading.Thread(target=publish_meanwhile)
    with transaction.atomic():
        reconfigure.edit(subscription.id, {"fifo_mode": not fifo_mode, "fifo_key": None}, by=ME)
        publisher.start()
        started.wait(5)
        publisher.join(0.5)
        assert publisher.is_alive()  # it waits for the state
    publisher.join()
    in_lanes = RequestAttempt.objects.filter(lane__isnull=False).count()
    assert (in_lanes, RequestAttempt.objects.count()) == (0 if fifo_mode else 4, 4)


def test_a_publisher_that_is_overtaken_by_a_change_of_key_begins_anew(application):
    """It has read the old key, and must not number its event in a lane of that."""
    subscription = make_fifo(application)
    publish(application, ordering_key="a")
    started = threading.Event()

    def publish_meanwhile():
        started.set()
        publish(application, ordering_key="a")
        connection.close()

    publisher = threading.Thread(target=publish_meanwhile)
    with transaction.atomic():
        reconfigure.edit(subscription.id, {"fifo_key": "ordering_key"}, by=ME)
        publisher.start()
        started.wait(5)
        publisher.join(0.5)
        assert publisher.is_alive()
    publisher.join()
    first, second = Event.objects.order_by("id").values_list("id", flat=True)
    assert numbered() == [("a", 1, first), ("a", 2, second)]


def test_without_order_a_key_means_nothing_and_what_is_in_flight_is_still_counted(application, queue):
    subscription = make_subscription(application)
    publish(application, 2)
    (claimed,) = queue.claim(1)
    assert reconfigure.edit(subscription.id, {"fifo_key": "ordering_key"}, by=ME) == 0
    assert SubscriptionState.objects.get().in_flight == 1
    queue.record([Ended(claimed, DONE, OK)])
    assert (SubscriptionState.objects.get().in_flight, RequestAttempt.objects.count()) == (0, 1)


def test_a_saturated_subscription_is_woken_when_it_may_have_more_in_flight(application, queue):
    subscription = make_subscription(application, max_in_flight=1)
    publish(application, 3)
    assert len(queue.claim(10)) == 1
    assert queue.claim(10) == []
    reconfigure.edit(subscription.id, {"max_in_flight": 3}, by=ME)
    assert len(queue.claim(10)) == 2


def test_fewer_in_flight_are_honoured_by_the_next_claim(application, queue):
    subscription = make_subscription(application, max_in_flight=3)
    publish(application, 6)
    claimed = queue.claim(3)
    reconfigure.edit(subscription.id, {"max_in_flight": 1}, by=ME)
    queue.record([Ended(each, DONE, OK) for each in claimed[:2]])
    assert queue.claim(10) == []
    queue.record([Ended(claimed[2], DONE, OK)])
    assert len(queue.claim(10)) == 1


@pytest.mark.parametrize("fifo_mode", [True, False])
def test_a_higher_rate_limit_counts_at_once(application, queue, fifo_mode):
    subscription = make_subscription(
        application,
        fifo_mode=fifo_mode,
        fifo_key="ordering_key",
        rate_limit={"requests": 1, "per_seconds": 86_400},
    )
    for number in range(4):
        publish(application, ordering_key=str(number))

    def send_what_may_be_sent():
        claimed = queue.claim(10)
        sent = [each for each in claimed if not each.wait]
        queue.record([Ended(each, DONE, OK) for each in sent])
        queue.record([Ended(each, Decision("defer", each.wait)) for each in claimed if each.wait])
        return len(sent)

    assert (send_what_may_be_sent(), send_what_may_be_sent()) == (1, 0)
    reconfigure.edit(subscription.id, {"rate_limit": {"requests": 100, "per_seconds": 1}}, by=ME)
    assert send_what_may_be_sent() == 3


@pytest.mark.parametrize("fifo_mode", [True, False])
@pytest.mark.parametrize(
    ("fields", "closes"),
    [({"url": "http://127.0.0.1:9/new"}, True), ({"is_enabled": True}, True), ({"description": "new"}, False)],
)
def test_another_target_or_enabling_again_closes_the_circuit(application, queue, fifo_mode, fields, closes):
    subscription = make_subscription(application, fifo_mode=fifo_mode, is_enabled="is_enabled" not in fields)
    Subscription.objects.update(disabled_reason="Every request has failed")
    (event,) = publish(application, event_id=uuid.uuid4())
    dispatch([Event.objects.get(event_id=event.event_id).pk], only=subscription.id)
    later = datetime.now(UTC) + timedelta(minutes=5)
    SubscriptionState.objects.update(failures=20, failing_since=later, allowance=1, trips=3, circuit_until=later)
    Lane.objects.update(ready_at=later)
    reconfigure.edit(subscription.id, fields, by=ME)
    state = SubscriptionState.objects.get()
    closed = (state.failures, state.failing_since, state.allowance, state.trips, state.circuit_until)
    assert (closed == (0, None, None, 0, None)) is closes
    assert (Subscription.objects.get().disabled_reason == "") is ("is_enabled" in fields)
    assert bool([each for each in queue.claim(10) if not each.wait]) is closes


def test_both_mode_and_workers_may_change_in_one_edit(application):
    workers = [Worker.objects.create(name=name, is_public=True) for name in "ab"]
    subscription = make_fifo(application, dedicated_workers=workers[:1])
    publish(application, 2)
    edited = {"fifo_mode": False, "dedicated_workers": workers}
    assert reconfigure.edit(subscription.id, edited, by=ME) == 2
    back = {"fifo_mode": True, "dedicated_workers": []}
    assert reconfigure.edit(subscription.id, back, by=ME) == 2
    assert (Lane.objects.get().pool, SubscriptionState.objects.get().pool) == (PUBLIC_POOL, PUBLIC_POOL)


def test_an_edit_that_changes_nothing_is_not_put_on_the_record(application):
    subscription = make_fifo(application)
    reconfigure.edit(subscription.id, {"fifo_mode": True, "url": subscription.url, "dedicated_workers": []}, by=ME)
    assert not OperatorAction.objects.exists()


@pytest.mark.parametrize("fifo_mode", [True, False])
def test_a_deleted_subscription_goes_with_its_lanes_and_its_work(application, queue, fifo_mode):
    subscription = make_subscription(application, fifo_mode=fifo_mode)
    other = make_fifo(application)
    publish(application, 3)
    (in_flight,) = [each for each in queue.claim(2) if each.subscription_id == subscription.id]
    assert reconfigure.delete(subscription.id, by=ME) == 3
    assert queue.record([Ended(in_flight, DONE, OK, stay=True)]) == []
    publish(application)
    assert set(RequestAttempt.objects.values_list("subscription_id", flat=True)) == {other.id}
    assert set(Lane.objects.values_list("subscription_id", flat=True)) == {other.id}
    with pytest.raises(NotFound):
        reconfigure.delete(subscription.id, by=ME)


def test_a_deletion_of_an_application_that_breaks_off_is_finished_later(application, monkeypatch):
    neighbour = make_application()
    theirs = make_subscription(neighbour)
    for each in range(3):
        make_subscription(application, fifo_mode=each % 2 == 0)
    publish(application, 2)
    publish(neighbour, 2)
    Application.objects.filter(id=application.id).update(deleted_at=Now())
    delete, deleted = reconfigure.delete, []

    def delete_one_and_die(subscription_id, *, by):
        if deleted:
            raise KeyboardInterrupt
        deleted.append(subscription_id)
        return delete(subscription_id, by=by)

    monkeypatch.setattr(reconfigure, "delete", delete_one_and_die)
    with pytest.raises(KeyboardInterrupt):
        reconfigure.delete_all(application.id)
    monkeypatch.undo()
    assert Subscription.objects.filter(deleted_at=None, application=application).count() == 2
    assert maintenance.finish_deletions() == 4
    assert maintenance.finish_deletions() == 0
    assert set(Subscription.objects.filter(deleted_at=None)) == {theirs}
    assert set(RequestAttempt.objects.values_list("subscription_id", flat=True)) == {theirs.id}
    assert OperatorAction.objects.filter(action="delete_subscription", actor="hook0").count() == 3


def test_of_two_that_delete_an_application_each_goes_on_behind_the_other(application, monkeypatch):
    for _ in range(2):
        make_subscription(application)
    publish(application)
    delete = reconfigure.delete

    def delete_behind_another(subscription_id, *, by):
        delete(subscription_id, by=ME)
        return delete(subscription_id, by=by)

    monkeypatch.setattr(reconfigure, "delete", delete_behind_another)
    assert reconfigure.delete_all(application.id) == 0
    assert not Subscription.objects.filter(deleted_at=None).exists()


def test_a_cancelled_delivery_leaves_unsent_when_its_turn_comes(application, queue, sender, receiver):
    make_fifo(application, url=f"http://127.0.0.1:{receiver.port}/hook")
    publish(application, 5)
    RequestAttempt.objects.filter(lane_seq__in=[1, 3, 4]).update(is_cancelled=True)
    Pump(queue, sender, window=10, linger=0.0).run()
    assert [each.headers["x-hook0-sequence"] for each in receiver.received] == ["2", "5"]
    assert not RequestAttempt.objects.exists()
    assert AttemptLog.objects.count() == 2
