"""Word that there may be work, from one process to those who wait in another."""

import queue
import threading
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from delivery.database import connect
from delivery.models import RequestAttempt
from delivery.pull import look_for_work
from delivery.waking import Waker, notify
from tests.factories import make_fifo, make_subscription, publish

pytestmark = pytest.mark.django_db(transaction=True)

PULL = {"target_type": "pull", "url": ""}
SOON, A_WHILE = 10, 0.3


@pytest.fixture
def make_waker():
    wakers = []

    def make_waker(*looks):
        wakers.append(Waker(lambda: connect(name="test waker"), *looks))
        return wakers[-1]

    yield make_waker
    for waker in wakers:
        waker.close()


@pytest.fixture
def waker(make_waker):
    """One that is listening, and finds nothing by its own looking."""
    listening = threading.Event()

    def look(_connection, _keys):
        listening.set()
        return ()

    waker = make_waker(look)
    waker.add("nobody's", print)
    assert listening.wait(SOON)
    return waker


def test_who_waits_for_a_key_hears_of_it_and_of_no_other(waker):
    heard = queue.Queue()
    waker.add("mine", heard.put)
    notify("another's", "nothing")
    notify("mine", "that and this")
    assert heard.get(timeout=SOON) == "that and this"
    assert heard.empty()


def test_all_who_wait_for_a_key_hear_of_it_until_they_leave(waker):
    first, second = queue.Queue(), queue.Queue()
    waker.add("key", first.put)
    waker.add("key", second.put)
    notify("key")
    assert (first.get(timeout=SOON), second.get(timeout=SOON)) == ("", "")
    waker.remove("key", first.put)
    notify("key")
    assert second.get(timeout=SOON) == ""
    assert first.empty()


def test_a_word_is_heard_when_what_it_tells_of_is_committed(waker):
    heard = queue.Queue()
    waker.add("key", heard.put)
    with transaction.atomic():
        notify("key")
        with pytest.raises(queue.Empty):
            heard.get(timeout=A_WHILE)
    assert heard.get(timeout=SOON) == ""


def test_without_a_word_it_is_looked_each_second(make_waker):
    heard = queue.Queue()
    waker = make_waker(lambda _, keys: [key for key in keys if key == "busy"])
    waker.add("idle", heard.put)
    waker.add("busy", heard.put)
    assert heard.get(timeout=SOON) == ""
    assert heard.get(timeout=SOON) == ""


def test_a_connection_that_was_cut_is_made_anew(make_waker, open_connection):
    heard = queue.Queue()
    waker = make_waker(lambda _, keys: keys)
    waker.add("key", heard.put)
    assert heard.get(timeout=SOON) == ""
    open_connection().execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'test waker'"
    )
    while not heard.empty():
        heard.get()
    assert heard.get(timeout=SOON) == ""


@pytest.mark.parametrize("make", [make_subscription, make_fifo], ids=["loose", "fifo"])
def test_an_event_wakes_consumers_that_pull_and_nobody_else(application, waker, make):
    pulled, sent = make(application, **PULL), make(application)
    heard, unheard = queue.Queue(), queue.Queue()
    waker.add(str(pulled.pk), heard.put)
    waker.add(str(sent.pk), unheard.put)
    publish(application)
    assert heard.get(timeout=SOON) == ""
    notify(str(sent.pk), "the end")
    assert unheard.get(timeout=SOON) == "the end"


@pytest.mark.parametrize("make", [make_subscription, make_fifo], ids=["loose", "fifo"])
def test_looking_finds_what_is_due_and_nothing_else(application, open_connection, make):
    due, empty, later = (make(application, **PULL, labels={"for": name}) for name in ("due", "empty", "later"))
    publish(application, labels={"for": "due"})
    publish(application, labels={"for": "later"}, deliver_at=datetime.now(UTC) + timedelta(hours=1))
    keys = [str(each.pk) for each in (due, empty, later)]
    assert look_for_work(open_connection(), [*keys, str(uuid.uuid4())]) == [str(due.pk)]
    assert RequestAttempt.objects.count() == 2
