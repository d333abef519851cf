"""Bulk loads become deliveries: in which order, how fast, and what crashes, other workers and operators do to it."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction

from delivery.dispatch import dispatch
from delivery.models import Lane, OperatorAction, RequestAttempt
from delivery.outcome import Outcome
from delivery.queue import Ended
from delivery.retry import Decision
from events import hooks, release, watch
from events.models import BulkLoad, BulkLoadChunk, Event, ReleasePace
from events.pace import FIRST, LEAST
from tenants.principal import Operator
from tests.events.loads import FAST, go, lane_order, make_load, steps, tidy
from tests.factories import make_fifo, make_subscription, publish

ME = Operator("me@example.com")
DONE, OK = Decision("done"), Outcome(None, http_status=200)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("small_steps")]


def test_it_is_released_in_its_order_at_the_lowest_priority_and_is_done_then(application):
    make_fifo(application)
    make_subscription(application)
    load, keys = make_load(application)
    go()
    assert lane_order()[:5] == keys
    assert set(RequestAttempt.objects.values_list("priority", flat=True)) == {30}
    load.refresh_from_db()
    assert (load.state, load.stage, load.events_released, load.deliveries) == ("done", "released", 5, 10)
    assert load.finished_at
    tidy()
    load.refresh_from_db()
    assert (load.is_tidy, BulkLoadChunk.objects.count(), load.events_count) == (True, 0, 5)
    assert Event.objects.count() == 5


def test_live_events_go_where_they_come_in_between_what_is_released(application):
    fifo = make_fifo(application)
    load, keys = make_load(application)
    steps(load, 1)
    (live,) = publish(application)
    go()
    live_key = Event.objects.get(event_id=live.event_id).pk
    assert lane_order() == [*keys[:2], live_key, *keys[2:]]
    assert Lane.objects.get(subscription=fifo).tail_seq == 6


def test_a_delay_of_an_event_counts(application):
    make_subscription(application)
    _, keys = make_load(application, 1)
    later = datetime.now(UTC) + timedelta(hours=1)
    Event.objects.filter(pk=keys[0]).update(deliver_at=later)
    go()
    assert RequestAttempt.objects.get().due_at == later


def test_what_goes_at_once_is_due_one_after_the_other_until_the_next(application):
    make_subscription(application)
    load, keys = make_load(application, 2)
    BulkLoad.objects.update(per_second=4)
    steps(load, 1)
    first, second = (RequestAttempt.objects.get(event_id=key).due_at for key in keys[:2])
    assert timedelta(seconds=0.24) < second - first < timedelta(seconds=0.3)


def test_in_a_lane_only_the_first_waits_for_its_moment(application):
    make_fifo(application, fifo_key="ordering_key")
    load, keys = make_load(application, 2)
    Event.objects.filter(pk=keys[1]).update(ordering_key="other")
    BulkLoad.objects.update(per_second=4)
    steps(load, 1)
    first, second = Lane.objects.order_by("ready_at")
    assert timedelta(seconds=0.24) < second.ready_at - first.ready_at < timedelta(seconds=0.3)
    due = RequestAttempt.objects.get(event_id=keys[1]).due_at
    assert due < second.ready_at - timedelta(seconds=0.2)


def test_after_a_crash_it_goes_on_where_it_was_and_does_nothing_twice(application, monkeypatch):
    make_fifo(application)
    load, keys = make_load(application)
    released = []

    def dispatch_and_die(events, **options):
        dispatched = dispatch(events, **options)
        released.append(list(events))
        if len(released) == 2:
            raise KeyboardInterrupt
        return dispatched

    monkeypatch.setattr(release, "dispatch", dispatch_and_die)
    with pytest.raises(KeyboardInterrupt):
        go()
    load.refresh_from_db()
    assert (load.state, load.events_released, load.released_of_chunk) == ("releasing", 2, 2)
    go()
    assert released[1] == released[2]
    assert lane_order() == keys


def test_two_workers_never_move_the_same_one(application):
    make_fifo(application)
    _, keys = make_load(application)
    with transaction.atomic():
        BulkLoad.objects.select_for_update().get()
        with ThreadPoolExecutor(1) as thread:
            thread.submit(_go_and_hang_up, 0.3).result(10)
    assert not RequestAttempt.objects.exists()
    with ThreadPoolExecutor(2) as threads:
        for worker in [threads.submit(_go_and_hang_up) for _ in range(2)]:
            worker.result(30)
    assert lane_order() == keys
    assert BulkLoad.objects.get().state == "done"


def test_loads_take_turns(application):
    make_fifo(application)
    for _ in range(2):
        make_load(application)
    ends = iter([False, True])
    release.work(stopping=lambda: next(ends))
    assert set(BulkLoad.objects.values_list("events_released", flat=True)) == {2}


def test_the_more_deliveries_an_event_makes_the_fewer_go_at_a_time(application):
    for _ in range(2):
        make_subscription(application)
    load, _ = make_load(application)
    steps(load, 1)
    assert load.events_released == 2
    steps(load, 1)
    assert (load.events_released, load.deliveries) == (3, 6)


def test_events_that_make_no_deliveries_are_released_too(application):
    load, _ = make_load(application)
    go()
    load.refresh_from_db()
    assert (load.state, load.events_released, load.deliveries) == ("done", 5, 0)


def test_a_load_without_new_events_is_done_at_once(application):
    make_load(application, 0)
    load, _ = make_load(application, 0, chunks=1)
    assert BulkLoadChunk.objects.get(load=load).events == []
    go()
    assert set(BulkLoad.objects.values_list("state", flat=True)) == {"done"}


@pytest.mark.parametrize("state", ["loading", "merging", "paused", "failed", "cancelled"])
def test_only_what_is_ready_is_released(application, state):
    make_subscription(application)
    finished = datetime.now(UTC) if state in {"failed", "cancelled"} else None
    make_load(application, state=state, finished_at=finished)
    go()
    assert not RequestAttempt.objects.exists()


def test_a_stream_waits_for_more_and_keeps_the_latest_of_its_chunks(application, monkeypatch):
    monkeypatch.setattr(release, "CHUNKS_OF_A_STREAM", 1)
    make_fifo(application)
    load, _ = make_load(application, 7, chunk=2, is_stream=True)
    began = time.monotonic()
    go()
    assert time.monotonic() - began < 15, "other work waits behind a stream that brings nothing"
    load.refresh_from_db()
    assert (load.state, load.events_released) == ("releasing", 7)
    assert list(BulkLoadChunk.objects.order_by("number").values_list("number", flat=True)) == [3]


def test_a_rate_is_kept_over_seconds(application, monkeypatch):
    monkeypatch.setattr(release, "AT_A_TIME", 200)
    make_subscription(application)
    load, _ = make_load(application, 600, chunk=100, per_second=100)
    go(1.0)  # what it begins with
    load.refresh_from_db()
    before, since = load.events_released, time.monotonic()
    go(3.0)
    load.refresh_from_db()
    too_many = load.events_released - before - 100 * (time.monotonic() - since)
    assert abs(too_many) <= 100 * release.TICK_SECONDS + 15


def test_another_rate_counts_from_now_on(api, application):
    make_subscription(application)
    load, _ = make_load(application, per_second=1)
    go(0.5)
    assert RequestAttempt.objects.count() <= 1
    shown = api.put(f"/bulk_loads/{load.pk}", {"per_second": FAST, "reason": "in a hurry"}).json()
    assert shown["per_second"] == FAST
    go()
    assert RequestAttempt.objects.count() == 5
    action = OperatorAction.objects.get()
    assert (action.action, action.reason) == ("change_rate_of_bulk_load", "in a hurry")
    assert action.details["per_second"] == FAST


# --- the pace of those that have no rate ------------------------------------------------------------


def test_without_a_rate_it_goes_at_the_pace_that_all_share(application, monkeypatch):
    monkeypatch.setattr(release, "AT_A_TIME", 200)
    make_subscription(application)
    for _ in range(2):
        make_load(application, 200, chunk=50, per_second=None)
    go(1.0)
    released = sum(BulkLoad.objects.values_list("events_released", flat=True))
    assert 0.3 * FIRST < released <= 1.3 * FIRST
    assert all(BulkLoad.objects.values_list("events_released", flat=True))
    assert ReleasePace.objects.get().released == released


def test_where_nobody_delivers_it_slows_down(application):
    make_subscription(application)
    make_load(application, 20, per_second=None)
    go(0.3)
    _seconds_pass(30)
    watch.watch()
    assert watch.pace_of(ReleasePace.objects.get()).per_second == FIRST * 0.7
    for _ in range(20):
        ReleasePace.objects.update(deliveries=1)
        _seconds_pass(5)
        watch.watch()
    assert watch.pace_of(ReleasePace.objects.get()).per_second == LEAST


def test_live_deliveries_are_told_from_released_ones_and_how_long_each_took(application, queue):
    make_subscription(application)
    publish(application, 3)
    make_load(application, 2)
    go()
    publish(application, 1, deliver_at=datetime.now(UTC) - timedelta(seconds=1))  # put off: not looked at
    time.sleep(0.2)
    claimed = queue.claim(9)
    queue.record([Ended(each, DONE, OK, picked_at=datetime.now(UTC)) for each in claimed])
    assert len(claimed) == 6
    ReleasePace.objects.create()
    watch.watch()
    pace = watch.pace_of(ReleasePace.objects.get())
    assert len(pace.calm) == 3
    assert min(pace.calm) >= 0.2
    assert max(pace.calm) < 10


def test_one_look_a_second_is_enough(application):
    watch.watch()
    looked = ReleasePace.objects.get().pace["looked_at"]
    watch.watch()
    assert ReleasePace.objects.get().pace["looked_at"] == looked


def _seconds_pass(seconds):
    row = ReleasePace.objects.get()
    row.pace |= {name: row.pace[name] - seconds for name in ("since", "looked_at", "calm_until")}
    row.save()


def test_what_is_released_is_counted_as_come_in(application, monkeypatch):
    counted = []
    monkeypatch.setattr(hooks, "on_ingested", [lambda route, fates: counted.append((route, list(fates)))])
    make_fifo(application)
    make_load(application, events=3)
    go()
    assert {route for route, _ in counted} == {"bulk"}
    assert [fate for _, fates in counted for fate in fates] == ["created"] * 3


def _go_and_hang_up(seconds=20.0):
    go(seconds)
    connection.close()
