"""The pump, whole: from the table over a real socket and back."""

import os
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from django.db import connection

from delivery.models import AttemptLog, DeadLetter, Lane, Phase, PumpBeacon, RequestAttempt
from delivery.pump import Pump
from events.ingest import ingest
from hook0.receiver import Behaviour
from tests.factories import make_fifo, make_subscription, new_event, publish

SOON = {"schedule_ms": [10, 10, 10]}


@pytest.fixture
def url(receiver):
    return f"http://127.0.0.1:{receiver.port}"


def wait_until(true):
    ends = time.monotonic() + 10
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.01)


def bodies(receiver, path, status=200):
    return [each.body for each in receiver.received if each.path == path and each.answered == status]


def test_a_lane_arrives_in_order_whatever_fails_on_the_way(application, pump, receiver, url):
    make_fifo(application, url=f"{url}/fifo", retry_policy=SOON)
    events = [new_event() for _ in range(10)]
    receiver.behaviours["/fifo"] = Behaviour(status=503, times=3, only=events[4].payload.decode())
    ingest(application.id, events)
    assert pump.run() == 13
    assert bodies(receiver, "/fifo") == [event.payload.decode() for event in events]
    sequences = [each.headers["x-hook0-sequence"] for each in receiver.received if each.answered == 200]
    assert sequences == [str(number) for number in range(1, 11)]
    tries = [each.headers["x-hook0-attempt"] for each in receiver.received if each.body == events[4].payload.decode()]
    assert tries == ["1", "2", "3", "4"]
    assert Lane.objects.get().phase == Phase.EMPTY


def test_a_failure_without_order_holds_back_nothing(application, pump, receiver, url):
    make_subscription(application, url=f"{url}/plain", retry_policy={"schedule_ms": [200]}, max_in_flight=1)
    events = [new_event() for _ in range(3)]
    receiver.behaviours["/plain"] = Behaviour(status=500, times=1, only=events[0].payload.decode())
    ingest(application.id, events)
    pump.run()
    assert bodies(receiver, "/plain") == [events[number].payload.decode() for number in (1, 2, 0)]


def test_an_exhausted_head_lets_the_next_one_go_or_blocks_as_its_subscription_says(application, pump, receiver, url):
    make_fifo(application, url=f"{url}/advance", retry_policy=SOON)
    make_fifo(application, url=f"{url}/block", retry_policy=SOON, fifo_on_exhausted="block")
    events = [new_event(), new_event()]
    for path in ("/advance", "/block"):
        receiver.behaviours[path] = Behaviour(status=500, only=events[0].payload.decode())
    ingest(application.id, events)
    pump.run()
    assert bodies(receiver, "/advance") == [events[1].payload.decode()]
    assert bodies(receiver, "/block") == []
    assert len(bodies(receiver, "/block", 500)) == 4
    assert set(Lane.objects.values_list("phase", flat=True)) == {Phase.EMPTY, Phase.BLOCKED}
    assert DeadLetter.objects.get().reason == "exhausted"


@pytest.mark.parametrize(("fifo_mode"), [True, False])
def test_410_and_forbidden_targets_are_final(application, pump, receiver, url, fifo_mode):
    receiver.behaviours["/gone"] = Behaviour(status=410)
    make_subscription(application, url=f"{url}/gone", fifo_mode=fifo_mode)
    make_subscription(application, url="http://10.0.0.1/", fifo_mode=fifo_mode)
    publish(application)
    assert pump.run() == 2
    assert set(DeadLetter.objects.values_list("reason", flat=True)) == {"gone", "forbidden"}


def test_retry_after_puts_a_lane_off(application, pump, receiver, url):
    receiver.behaviours["/busy"] = Behaviour(status=429, headers={"retry-after": "120"})
    make_fifo(application, url=f"{url}/busy", retry_policy=SOON)
    publish(application)
    pump.run()
    assert timedelta(seconds=110) < Lane.objects.get().ready_at - datetime.now(UTC) < timedelta(seconds=121)


def test_a_delayed_event_waits_and_in_a_lane_what_is_behind_it_waits_too(application, pump, receiver, url):
    make_fifo(application, url=f"{url}/fifo")
    make_subscription(application, url=f"{url}/plain")
    first = new_event(deliver_at=datetime.now(UTC) + timedelta(seconds=0.7))
    second = new_event()
    ingest(application.id, [new_event(), first, second])
    pump.run()
    assert len(bodies(receiver, "/fifo")) == 1
    assert len(bodies(receiver, "/plain")) == 2
    Pump(pump._queue, pump._sender, window=10, linger=1.0).run()
    assert bodies(receiver, "/fifo")[1:] == [first.payload.decode(), second.payload.decode()]
    assert len(bodies(receiver, "/plain")) == 3


def test_a_claim_that_no_longer_fits_into_its_lease_is_given_back_unsent(
    application, queue, sender, receiver, url, monkeypatch
):
    make_fifo(application, url=f"{url}/fifo")
    publish(application)

    claim, frozen = queue.claim, iter([True])

    def claim_and_freeze(room):
        """The process was stopped for a while between the claim and the send."""
        claimed = claim(room)
        if claimed and next(frozen, False):
            return [each._replace(leased_at=each.leased_at - 20) for each in claimed]
        return claimed

    monkeypatch.setattr(queue, "claim", claim_and_freeze)
    assert Pump(queue, sender, window=10, linger=0.0).run() == 2
    assert [each.headers["x-hook0-attempt"] for each in receiver.received] == ["1"]


def test_a_delivery_that_has_cost_a_worker_at_every_try_is_given_up(application, pump, receiver, url):
    make_fifo(application, url=f"{url}/fifo", retry_policy=SOON)
    publish(application)
    Lane.objects.update(tries=4)
    pump.run()
    assert receiver.received == []
    assert DeadLetter.objects.get().last_error == "E_WORKER_LOST"
    assert AttemptLog.objects.get().error_name == "E_WORKER_LOST"


@pytest.mark.parametrize("fifo_mode", [True, False])
def test_who_holds_a_lane_or_a_subscription_holds_up_nobody_else(
    application, queue, sender, receiver, url, open_connection, fifo_mode
):
    held = make_subscription(application, url=f"{url}/held", fifo_mode=fifo_mode)
    make_fifo(application, url=f"{url}/fifo")
    make_subscription(application, url=f"{url}/plain")
    for path in ("/held", "/fifo", "/plain"):
        receiver.behaviours[path] = Behaviour(delay_ms=500)
    publish(application)
    pump = Pump(queue, sender, window=10, linger=0.0)
    thread = threading.Thread(target=pump.run)
    somebody = open_connection()
    with somebody.transaction():
        thread.start()
        running = Lane.objects.filter(phase=Phase.RUNNING)
        leased = RequestAttempt.objects.exclude(lease_until=None)
        wait_until(lambda: running.count() + leased.count() == 3)
        table = "fifo_subscription_state" if fifo_mode else "subscription_state"
        somebody.execute(f"SELECT FROM {table} WHERE subscription_id = %s FOR UPDATE", [held.id])
        wait_until(lambda: AttemptLog.objects.count() == 2)
        assert not AttemptLog.objects.filter(subscription=held).exists()
    thread.join(10)
    assert AttemptLog.objects.filter(succeeded=True, accepted=True).count() == 3
    assert len(receiver.received) == 3


def test_a_result_that_the_database_refuses_costs_nobody_else_theirs(
    application, queue, sender, receiver, url, monkeypatch, caplog
):
    bad = make_fifo(application, url=f"{url}/bad")
    make_fifo(application, url=f"{url}/fifo")
    make_subscription(application, url=f"{url}/plain")
    publish(application)
    wait = sender.wait

    def garble(seconds):
        """No text of PostgreSQL's holds a NUL."""
        return [
            (tag, replace(outcome, headers={"x": "\0"}) if tag.subscription_id == bad.id else outcome)
            for tag, outcome in wait(seconds)
        ]

    monkeypatch.setattr(sender, "wait", garble)
    Pump(queue, sender, window=10, linger=0.0).run()
    assert list(AttemptLog.objects.filter(accepted=True).values_list("succeeded", flat=True)) == [True, True]
    assert RequestAttempt.objects.get().subscription_id == bad.id
    assert Lane.objects.get(subscription=bad).phase == Phase.RUNNING  # until its lease ends
    assert "A result is refused" in caplog.text


def test_a_pump_that_is_stopped_finishes_what_is_in_flight_and_claims_no_more(
    application, queue, sender, receiver, url
):
    receiver.behaviours["/slow"] = Behaviour(delay_ms=300)
    make_fifo(application, url=f"{url}/slow")
    publish(application, 5)
    pump = Pump(
        queue, sender, window=10, linger=60.0, stopping=lambda: bool(sender.in_flight) or bool(receiver.received)
    )
    assert pump.run() == 1
    lane = Lane.objects.get()
    assert (lane.phase, lane.head_seq) == (Phase.WAITING, 2)
    assert RequestAttempt.objects.count() == 4


def test_results_survive_a_database_that_goes_away(application, queue, sender, receiver, url, monkeypatch):
    monkeypatch.setattr("delivery.pump.DATABASE_PAUSE_SECONDS", 0.05)
    make_fifo(application, url=f"{url}/fifo")
    make_subscription(application, url=f"{url}/plain")
    publish(application, 3)
    failures = iter([True, True, False, True])
    record = queue.record

    def record_after_a_cut(ended):
        if next(failures, False):
            queue._connection.close()
            raise psycopg.OperationalError("the server closed the connection unexpectedly")
        return record(ended)

    monkeypatch.setattr(queue, "record", record_after_a_cut)
    assert Pump(queue, sender, window=10, linger=0.0).run() == 6
    assert len(receiver.received) == 6  # nothing was sent twice
    assert not RequestAttempt.objects.exists()


def test_many_lanes_of_a_slow_endpoint_leave_room_for_the_others(application, queue, sender, receiver, url):
    receiver.behaviours["/slow"] = Behaviour(delay_ms=1_000)
    make_fifo(application, url=f"{url}/slow", fifo_key="ordering_key")
    ingest(application.id, [new_event(ordering_key=str(number)) for number in range(40)])
    make_subscription(application, url=f"{url}/fast", labels={"shop": "2"})
    pump = Pump(queue, sender, window=20, linger=0.0)

    def publish_meanwhile():
        publish(application, labels={"shop": "2"})
        connection.close()

    publisher = threading.Timer(0.3, publish_meanwhile)
    publisher.start()
    pump.run()
    publisher.join()
    arrived = {path: [each.at for each in receiver.received if each.path == path] for path in ("/slow", "/fast")}
    assert len(arrived["/slow"]) == 40
    # The fast one came while the first fifteen slow ones were still being waited for.
    assert sum(at < arrived["/fast"][0] for at in arrived["/slow"]) == 15
    assert {each.headers["x-hook0-attempt"] for each in receiver.received} == {"1"}


def test_a_waiting_pump_keeps_the_beacon_lit_and_lets_it_go_out_before_it_leaves(application, queue, sender):
    Pump(queue, sender, window=10, linger=0.5).run()
    lit_until = PumpBeacon.objects.get().awake_until
    assert lit_until < datetime.now(UTC)
    assert lit_until > datetime.now(UTC) - timedelta(seconds=5)


def test_every_webhook_carries_both_signatures_and_what_a_receiver_needs_to_drop_repeats(
    application, pump, receiver, url
):
    subscription = make_fifo(
        application, url=f"{url}/fifo", headers={"authorization": "Bearer x", "x-event-id": "mine"}
    )
    (ingested,) = publish(application)
    pump.run()
    headers = receiver.received[0].headers
    assert headers["content-type"] == "application/json"
    assert headers["authorization"] == "Bearer x"
    assert headers["x-event-id"] == headers["webhook-id"] == str(ingested.event_id)
    assert headers["x-event-type"] == "billing.invoice.paid"
    assert headers["x-hook0-delivery-id"] == str(AttemptLog.objects.get().delivery_id)
    assert (headers["x-hook0-sequence"], headers["x-hook0-attempt"]) == ("1", "1")
    assert headers["x-hook0-signature"].startswith(f"t={headers['webhook-timestamp']},h=authorization content-type")
    assert headers["webhook-signature"].startswith("v1,")
    assert str(subscription.secret) not in str(headers)
    assert os.environ["HOOK0_HOME"] not in str(headers)
