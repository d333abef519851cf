"""What a retry does to a delivery, in every state it may be in: a table."""

import uuid
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from django.db import connection, transaction

from delivery import dead_letters, lanes, reconfigure
from delivery.attempt_ids import attempt_id
from delivery.audit import Operator
from delivery.models import DeadLetter, Lane, OperatorAction, RequestAttempt
from delivery.outcome import E_HTTP, Outcome
from delivery.problems import AttemptConflict, LaneConflict
from delivery.queue import Ended
from delivery.retry import Decision
from delivery.retry_now import retry_now
from events.models import Event
from tenants.problems import NotFound
from tests.factories import make_application, make_subscription, publish

ME = Operator("me@example.com", "the endpoint is mended")
OK, FAILED = Outcome(None, http_status=200), Outcome(E_HTTP, http_status=500)


def in_a_thread(function, *arguments, **named):
    try:
        return function(*arguments, **named)
    finally:
        connection.close()


ENDS = {
    "waiting": (Decision("retry", wait=600.0), FAILED),
    "blocked": (Decision("block", reason="exhausted"), FAILED),
    "successful": (Decision("done"), OK),
    "dead": (Decision("dead", reason="gone"), FAILED),
}


@pytest.fixture
def subscription(transactional_db):
    return make_subscription(make_application(), max_in_flight=1, fifo_on_exhausted="block")


@pytest.fixture
def delivery_in(subscription, queue):
    """The first of two deliveries, brought into a state."""

    def bring(state, *, fifo_mode):
        reconfigure.edit(subscription.id, {"fifo_mode": fifo_mode, "fifo_key": None}, by=ME)
        publish(subscription.application, 2)
        first = RequestAttempt.objects.order_by("event_id").first()
        if state == "cancelled":
            dead_letters.cancel(RequestAttempt.objects.filter(id=first.id), by=ME)
        elif state == "paused":
            lanes.pause(first.lane_id, by=ME)
        elif state != "new":
            (claimed,) = queue.claim(1)
            assert claimed.delivery_id == first.id
            if state in ENDS:
                queue.record([Ended(claimed, *ENDS[state])])
        OperatorAction.objects.all().delete()
        return first

    return bring


@pytest.mark.parametrize(
    ("fifo_mode", "state", "action", "next_sent"),
    [
        (False, "new", "retry_attempt", "the same"),
        (False, "waiting", "retry_attempt", "the same"),
        (False, "in flight", AttemptConflict, None),
        (False, "cancelled", AttemptConflict, None),
        (False, "successful", "retry_attempt", "a new one"),
        (False, "dead", "requeue", "a new one"),
        (True, "new", "retry", "the same"),
        (True, "waiting", "retry", "the same"),
        (True, "in flight", LaneConflict, None),
        (True, "cancelled", AttemptConflict, None),
        (True, "blocked", "retry", "the same"),
        (True, "paused", "retry", None),
        (True, "successful", "retry_attempt", "what is before it"),
        (True, "dead", "requeue", "what is before it"),
    ],
)
def test_what_a_retry_does(delivery_in, queue, fifo_mode, state, action, next_sent):
    first = delivery_in(state, fifo_mode=fifo_mode)
    others = set(RequestAttempt.objects.exclude(id=first.id).values_list("id", flat=True))
    if not isinstance(action, str):
        with pytest.raises(action):
            retry_now(first.id, by=ME)
        assert not OperatorAction.objects.exists()
        assert RequestAttempt.objects.count() == 2
        return
    retry_now(first.id, by=ME)
    audited = OperatorAction.objects.get()
    assert (audited.action, audited.actor, audited.reason) == (action, ME.name, ME.reason)
    assert not DeadLetter.objects.exists()
    claimed = queue.claim(1)
    if next_sent is None:
        assert claimed == []
    elif next_sent == "the same":
        assert [each.delivery_id for each in claimed] == [first.id]
    elif next_sent == "what is before it":
        assert [each.delivery_id for each in claimed] == list(others)
        assert RequestAttempt.objects.exclude(id__in=others).get().event_id == first.event_id
    else:
        assert [each.event_pk for each in claimed] == [first.event_id]
        assert claimed[0].delivery_id not in {first.id, *others}


def test_in_a_lane_one_is_told_which_attempt_is_in_front(delivery_in):
    first = delivery_in("waiting", fifo_mode=True)
    second = RequestAttempt.objects.exclude(id=first.id).get()
    before = Lane.objects.values().get()
    with pytest.raises(AttemptConflict, match=str(attempt_id(first.id, 2))):
        retry_now(second.id, by=ME)
    assert Lane.objects.values().get() == before


@pytest.mark.parametrize("gone", ["event", "subscription", "all of it"])
def test_what_is_gone_cannot_be_sent_again(delivery_in, subscription, gone):
    first = delivery_in("successful", fifo_mode=False)
    if gone == "event":
        Event.objects.filter(id=first.event_id).delete()
    elif gone == "subscription":
        reconfigure.delete(subscription.id, by=ME)
    pending = RequestAttempt.objects.count()
    with pytest.raises(NotFound):
        retry_now(first.id if gone != "all of it" else uuid.uuid4(), by=ME)
    assert RequestAttempt.objects.count() == pending


def test_a_head_that_ends_while_somebody_asks_for_it_is_said_to_have_ended(delivery_in, queue):
    first = delivery_in("new", fifo_mode=True)
    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic():
            lanes.skip_head(first.lane_id, by=ME)
            asked = thread.submit(in_a_thread, retry_now, first.id, by=ME)
            wait([asked], timeout=0.5)
            assert not asked.done()  # it waits for the lane
        with pytest.raises(AttemptConflict, match="just ended"):
            asked.result()
