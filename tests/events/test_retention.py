"""Which events retention takes, and which somebody still needs."""

import threading
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction

from delivery.attempts import Sought, find_attempts
from delivery.audit import Operator
from delivery.dispatch import dispatch_again
from delivery.models import DeadLetter, RequestAttempt
from delivery.outcome import E_HTTP, Outcome
from delivery.queue import Ended
from delivery.retry import Decision
from delivery.retry_now import retry_now
from events import retention
from events.models import Event, EventUpkeep
from events.per_day import count_events
from tests.factories import make_application, make_subscription, publish

NOW = datetime.now(UTC)
OK, FAILED = Outcome(None, http_status=200), Outcome(E_HTTP, http_status=410)


@pytest.fixture
def application(transactional_db, settings):
    settings.EVENT_RETENTION_DAYS = 10
    count_events(now=NOW)
    return make_application()


def receive(application, days_ago, count=1):
    published = [event.event_id for event in publish(application, count)]
    Event.objects.filter(event_id__in=published).update(received_at=NOW - timedelta(days=days_ago))
    return published


def kept():
    return set(Event.objects.values_list("event_id", flat=True))


def test_what_is_older_than_the_retention_goes_and_the_rest_stays(application):
    receive(application, 11, 3)
    young = receive(application, 9, 2)
    assert retention.delete_old_events(now=NOW) == 3
    assert kept() == set(young)
    assert retention.delete_old_events(now=NOW) == 0


def test_a_pending_delivery_and_a_dead_letter_keep_their_event(application, queue):
    make_subscription(application)
    delivered, dead, pending = receive(application, 11, 3)
    for claimed in queue.claim(3):
        if claimed.event_id == delivered:
            queue.record([Ended(claimed, Decision("done"), OK)])
        elif claimed.event_id == dead:
            queue.record([Ended(claimed, Decision("dead", reason="gone"), FAILED)])
    assert retention.delete_old_events(now=NOW) == 1
    assert kept() == {dead, pending}
    DeadLetter.objects.all().delete()
    RequestAttempt.objects.all().delete()
    assert retention.delete_old_events(now=NOW) == 2


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_batches_go_on_past_what_is_kept_and_begin_again_at_the_end(application, monkeypatch, size):
    monkeypatch.setattr(retention, "BATCH", size)
    make_subscription(application, labels={"kept": "1"})
    receive(application, 11, 5)
    kept_one = publish(application, labels={"kept": "1"})[0].event_id
    Event.objects.filter(event_id=kept_one).update(received_at=NOW - timedelta(days=11))
    receive(application, 11, 2)
    young = receive(application, 1)
    assert retention.delete_old_events(now=NOW) == 7
    assert kept() == {kept_one, *young}
    assert EventUpkeep.objects.get().swept_to == 0
    RequestAttempt.objects.all().delete()
    assert retention.delete_old_events(now=NOW) == 1


def test_a_round_is_short_and_the_next_one_goes_on_from_there(application, monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 2)
    monkeypatch.setattr(retention, "ROUND_SECONDS", 0)
    receive(application, 11, 5)
    assert [retention.delete_old_events(now=NOW) for _ in range(3)] == [2, 2, 1]


def test_a_day_that_is_not_counted_is_not_deleted(application):
    receive(application, 11)
    EventUpkeep.objects.update(counted_until=NOW - timedelta(days=11))
    assert retention.delete_old_events(now=NOW) == 0
    EventUpkeep.objects.all().delete()
    assert retention.delete_old_events(now=NOW) == 0
    assert len(kept()) == 1


@pytest.mark.parametrize("first", ["replay", "retention"])
def test_an_event_that_is_being_sent_again_is_not_deleted_meanwhile(application, first):
    """Or its delivery would be claimed for ever, and never be sent."""
    make_subscription(application)
    receive(application, 11)
    RequestAttempt.objects.all().delete()
    event, found = Event.objects.get().pk, []

    def other():
        if first == "replay":
            found.append(retention.delete_old_events(now=NOW))
        else:
            with transaction.atomic():
                found.append(dispatch_again(event).deliveries)
        connection.close()

    thread = threading.Thread(target=other)
    with transaction.atomic():
        if first == "replay":
            assert dispatch_again(event).deliveries == 1
            thread.start()
            thread.join(5)  # it does not wait: there is a next round
        else:
            with connection.cursor() as cursor:
                cursor.execute("DELETE FROM event WHERE id = %s", [event])
            thread.start()
            thread.join(0.5)
            assert thread.is_alive()
    thread.join()
    assert found == [0]
    assert RequestAttempt.objects.count() == Event.objects.count() == (1 if first == "replay" else 0)


def test_an_attempt_whose_event_is_gone_is_neither_shown_nor_retried(application, queue):
    make_subscription(application)
    receive(application, 11)
    (claimed,) = queue.claim(1)
    queue.record([Ended(claimed, Decision("done"), OK)])
    retention.delete_old_events(now=NOW)
    assert find_attempts(Sought(application.id), most=10) == []
    with pytest.raises(Exception, match="gone"):
        retry_now(claimed.delivery_id, by=Operator("me"))


def test_an_event_id_may_be_used_again_when_its_event_is_gone(application):
    mine = uuid.uuid4()
    publish(application, event_id=mine)
    Event.objects.update(received_at=NOW - timedelta(days=11))
    retention.delete_old_events(now=NOW)
    assert publish(application, event_id=mine)[0].received_at is not None
