import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from delivery import dead_letters, lanes, reconfigure
from delivery.audit import Operator
from delivery.models import AttemptLog, DeadLetter, Lane, OperatorAction, Phase, RequestAttempt
from delivery.outcome import E_HTTP, Outcome
from delivery.pump import Pump
from delivery.queue import Ended
from delivery.retry import Decision
from hook0.receiver import Behaviour
from subscriptions.models import Subscription
from tenants.problems import NotFound
from tests.factories import make_fifo, make_subscription, publish

ME = Operator("me@example.com", "the endpoint is mended")
NO_RETRIES = {"schedule_ms": []}


@pytest.fixture(params=[True, False], ids=["fifo", "unordered"])
def letter(request, application, receiver, pump):
    """One event has been given up; the endpoint has come back."""
    receiver.behaviours["/hook"] = Behaviour(status=500, times=1)
    url = f"http://127.0.0.1:{receiver.port}/hook"
    make_subscription(application, url=url, retry_policy=NO_RETRIES, fifo_mode=request.param)
    publish(application)
    pump.run()
    receiver.received.clear()
    return DeadLetter.objects.get()


def test_a_requeued_letter_is_delivered_as_a_new_delivery_of_the_same_event(letter, application, receiver, pump):
    publish(application)
    dead_letters.requeue(letter.id, by=ME)
    attempt = RequestAttempt.objects.get(event_id=letter.event_id)
    assert (attempt.priority, attempt.lane_seq) == (150, 3 if letter.lane_seq else None)
    pump.run()
    assert len(receiver.received) == 2
    assert not DeadLetter.objects.exists()
    assert AttemptLog.objects.filter(event_id=letter.event_id, succeeded=True).get().delivery_id != letter.id
    assert OperatorAction.objects.get().action == "requeue"


def test_it_goes_to_its_subscription_even_if_that_wants_nothing_new(letter, receiver, pump):
    Subscription.objects.update(is_enabled=False, labels={"other": "1"})
    dead_letters.requeue(letter.id, by=ME)
    pump.run()
    assert len(receiver.received) == 1


def test_it_cannot_go_to_a_subscription_that_is_deleted(letter):
    reconfigure.delete(letter.subscription_id, by=ME)
    with pytest.raises(NotFound):
        dead_letters.requeue(letter.id, by=ME)
    assert DeadLetter.objects.exists()


def test_letters_are_deleted_one_by_one_or_all_of_a_subscription(letter, application):
    other = make_subscription(application)
    assert dead_letters.purge(DeadLetter.objects.filter(subscription=other), by=ME) == 0
    assert dead_letters.purge(DeadLetter.objects.filter(subscription=letter.subscription_id), by=ME) == 1
    with pytest.raises(NotFound):
        dead_letters.delete(letter.id, by=ME)
    with pytest.raises(NotFound):
        dead_letters.requeue(uuid.uuid4(), by=ME)
    action = OperatorAction.objects.get()
    assert (action.subscription_id, action.details) == (letter.subscription_id, {"purged": 1})


def test_many_are_purged_and_cancelled_in_short_transactions(application, monkeypatch):
    monkeypatch.setattr(dead_letters, "BATCH", 2)
    for subscription in (make_fifo(application), make_subscription(application)):
        publish(application, 3)
        pending = RequestAttempt.objects.filter(subscription=subscription)
        assert dead_letters.cancel(pending, by=ME) == pending.count()
    make_fifo(application, labels={"shop": "1"}, fifo_key="ordering_key")
    publish(application, 5)
    lane = Lane.objects.latest("id")
    lanes.skip_to(lane.id, 6, by=ME)
    assert dead_letters.purge(DeadLetter.objects.all(), by=ME) == 5
    assert [each.details["purged"] for each in OperatorAction.objects.filter(action="purge_dead_letters")] == [2, 2, 1]
    cancelled = [len(each.details["deliveries"]) for each in OperatorAction.objects.filter(action="cancel")]
    assert sum(cancelled) == 9
    assert max(cancelled) == 2


def test_a_requeue_that_is_overtaken_by_an_edit_begins_anew(letter, application):
    """It reads the old mode, waits for the state, and must not make a delivery that nobody would look at."""
    fifo_mode = Subscription.objects.get().fifo_mode
    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic():
            reconfigure.edit(letter.subscription_id, {"fifo_mode": not fifo_mode}, by=ME)
            requeued = thread.submit(_requeue_in_a_thread, letter.id)
            with pytest.raises(TimeoutError):
                requeued.result(0.5)
        requeued.result(10)
    assert (RequestAttempt.objects.get().lane_id is None) is fifo_mode


def _requeue_in_a_thread(dead_letter_id):
    dead_letters.requeue(dead_letter_id, by=ME)
    connection.close()


def test_a_cancelled_delivery_is_never_sent(application, queue, sender, receiver):
    make_subscription(application, url=f"http://127.0.0.1:{receiver.port}/hook")
    publish(application, 3)
    ids = list(RequestAttempt.objects.values_list("id", flat=True))
    first_two = RequestAttempt.objects.filter(id__in=ids[:2])
    assert dead_letters.cancel(first_two, by=ME) == 2
    assert dead_letters.cancel(first_two, by=ME) == 0
    Pump(queue, sender, window=10, linger=0.0).run()
    assert len(receiver.received) == 1
    assert not RequestAttempt.objects.exists()


@pytest.mark.parametrize("decision", [Decision("retry", wait=3600.0), Decision("block", reason="exhausted")])
def test_a_lane_goes_on_at_once_when_the_head_that_holds_it_is_cancelled(
    application, queue, sender, receiver, decision
):
    make_fifo(application, url=f"http://127.0.0.1:{receiver.port}/hook")
    publish(application, 3)
    (head,) = queue.claim(1)
    queue.record([Ended(head, decision, Outcome(E_HTTP, http_status=500))])
    assert dead_letters.cancel(RequestAttempt.objects.filter(id=head.delivery_id), by=ME) == 1
    Pump(queue, sender, window=10, linger=0.0).run()
    assert [each.headers["x-hook0-sequence"] for each in receiver.received] == ["2", "3"]


def test_a_lane_that_is_paused_stays_so_when_its_head_is_cancelled(application, queue):
    make_fifo(application)
    publish(application, 2)
    lanes.pause(Lane.objects.get().id, by=ME)
    assert dead_letters.cancel(RequestAttempt.objects.filter(lane_seq=1), by=ME) == 1
    assert Lane.objects.get().phase == Phase.PAUSED
