"""Bulk loads become deliveries: in which order, how fast, and what crashes, other workers and operators do to it."""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from delivery import reconfigure
from delivery.dispatch import dispatch
from delivery.models import Lane, OperatorAction, RequestAttempt
from delivery.outcome import Outcome
from delivery.queue import Ended
from delivery.retry import Decision
from events import leftovers, release, retention, tasks, watch
from events.models import BulkLoad, BulkLoadChunk, Event, ReleasePace
from events.pace import FIRST, LEAST
from events.per_day import count_events
from tenants.models import Application
from tenants.principal import Operator
from tests.clients import as_application, problem
from tests.factories import make_application, make_fifo, make_subscription, publish

ME = Operator("me@example.com")
DONE, OK = Decision("done"), Outcome(None, http_status=200)
FAST = 1_000_000


@pytest.fixture
def application(transactional_db):
    return make_application()


@pytest.fixture
def api(application):
    return as_application(application)


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    monkeypatch.setattr(release, "AT_FIRST", 2)
    monkeypatch.setattr(release, "AT_A_TIME", 2)


def make_load(application, events=5, *, chunk=3, **overrides):
    """A load whose events are in the reverse order of their keys, in chunks, as it is when all of it is merged."""
    keys = [
        Event.objects.create(
            application=application, event_type="billing.invoice.paid", payload=b"1", payload_content_type="text/plain",
            labels={"shop": "1"}, occurred_at=datetime.now(UTC), priority=30, ordering_key=str(n % 2),
        ).pk
        for n in range(events)
    ][::-1]  # fmt: skip
    fields = {
        "state": "ready", "events_count": events, "rows_merged": events, "rows_read": events, "progress": 100,
        "per_second": FAST, "chunks": -(-events // chunk), **overrides,
    }  # fmt: skip
    load = BulkLoad.objects.create(application=application, **fields)
    for number in range(fields["chunks"]):
        BulkLoadChunk.objects.create(
            load=load, number=number, until_occurred_at=datetime.now(UTC), until_place=0,
            events=keys[number * chunk : (number + 1) * chunk],
        )  # fmt: skip
    return BulkLoad.objects.get(pk=load.pk), keys


def go(seconds=20.0):
    """Release until nothing is left to do, or for so long."""
    ends = time.monotonic() + seconds
    release.work(stopping=lambda: time.monotonic() > ends)


def step(load):
    """One step of a load that is allowed one."""
    BulkLoad.objects.filter(pk=load.pk).update(released_until=Now() - timedelta(seconds=1))
    return release._move_on(load.pk)


def steps(load, count):
    for _ in range(count):
        step(load)
    load.refresh_from_db()


def tidy():
    leftovers.tidy(stopping=lambda: False)


def lane_order():
    return list(RequestAttempt.objects.order_by("lane_id", "lane_seq").values_list("event_id", flat=True))


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
    rate = (load.events_released - before) / (time.monotonic() - since)
    assert 85 < rate < 115


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


# --- what people do, and what happens meanwhile -----------------------------------------------------


def test_it_is_paused_and_resumed_on_the_record(api, application):
    make_fifo(application)
    load, keys = make_load(application)
    steps(load, 1)
    shown = api.post(f"/bulk_loads/{load.pk}/pause", {"reason": "the receiver is down"}).json()
    assert (shown["state"], shown["stage"], shown["events_released"]) == ("paused", "paused", 2)
    assert api.post(f"/bulk_loads/{load.pk}/pause", {}).status_code == 200
    go()
    assert len(lane_order()) == 2
    assert api.post(f"/bulk_loads/{load.pk}/resume", {}).json()["state"] == "releasing"
    assert api.post(f"/bulk_loads/{load.pk}/resume", {}).status_code == 200
    go()
    assert lane_order() == keys
    recorded = OperatorAction.objects.order_by("id").values_list("action", "reason", "details__before")
    assert list(recorded) == [
        ("pause_bulk_load", "the receiver is down", "releasing"), ("resume_bulk_load", "", "paused"),
    ]  # fmt: skip


def test_what_was_paused_before_it_began_is_ready_again(api, application):
    load, _ = make_load(application)
    api.post(f"/bulk_loads/{load.pk}/pause", {})
    assert api.post(f"/bulk_loads/{load.pk}/resume", {}).json()["state"] == "ready"


def test_cancelled_before_its_release_a_load_leaves_nothing(api, application):
    make_fifo(application)
    load, _ = make_load(application)
    (other,) = publish(application)
    shown = api.post(f"/bulk_loads/{load.pk}/cancel", {"reason": "the wrong file"}).json()
    assert (shown["state"], shown["events_count"]) == ("cancelled", 5)
    go()
    tidy()
    shown = api.get(f"/bulk_loads/{load.pk}").json()
    assert (shown["events_count"], shown["rows_duplicate"], shown["stage"]) == (0, 0, "cancelled")
    assert [event.event_id for event in Event.objects.all()] == [other.event_id]
    assert BulkLoadChunk.objects.count() == 0


@pytest.mark.parametrize("released", [1, 2])
def test_cancelled_in_the_middle_what_is_released_stays(api, application, released):
    make_fifo(application)
    load, keys = make_load(application)
    steps(load, released)
    api.post(f"/bulk_loads/{load.pk}/cancel", {})
    go()
    tidy()
    load.refresh_from_db()
    out = load.events_released
    assert 0 < out < 5
    assert lane_order() == keys[:out]
    assert (load.events_count, set(Event.objects.values_list("id", flat=True))) == (out, set(keys[:out]))
    assert not RequestAttempt.objects.filter(is_cancelled=True).exists()


def test_if_one_asks_for_it_what_is_pending_is_called_off(api, application):
    make_fifo(application)
    load, _ = make_load(application)
    other, _ = make_load(application, 1)
    steps(other, 1)
    steps(load, 2)
    publish(application)
    api.post(f"/bulk_loads/{load.pk}/cancel", {"pending": True})
    tidy()
    called_off = RequestAttempt.objects.filter(is_cancelled=True)
    assert called_off.count() == load.events_released > 0
    assert RequestAttempt.objects.filter(is_cancelled=False).count() == 2


def test_an_event_that_somebody_has_replayed_is_not_removed(api, application):
    make_fifo(application)
    load, keys = make_load(application)
    event = Event.objects.get(pk=keys[4])
    assert api.post(f"/events/{event.event_id}/replay", {"application_id": application.id}).status_code == 204
    api.post(f"/bulk_loads/{load.pk}/cancel", {})
    tidy()
    assert list(Event.objects.values_list("id", flat=True)) == [keys[4]]
    assert BulkLoad.objects.get().events_count == 1


def test_the_table_that_spark_has_staged_in_goes_when_spark_is_through_with_it(api, application, open_connection):
    load, _ = make_load(application, 0, state="loading", staging="of_a_load")
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE bulk_load_stage.of_a_load (place bigint)")
    api.post(f"/bulk_loads/{load.pk}/cancel", {})
    spark = open_connection()
    with spark.transaction():
        spark.execute("INSERT INTO bulk_load_stage.of_a_load VALUES (1)")
        tidy()
        assert not BulkLoad.objects.get().is_tidy
    tidy()
    assert BulkLoad.objects.get().is_tidy
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('bulk_load_stage.of_a_load')")
        assert cursor.fetchone() == (None,)


@pytest.mark.parametrize(
    ("state", "verb", "status"),
    [
        ("loading", "pause", 409), ("merging", "pause", 409), ("merging", "resume", 409), ("loading", "cancel", 200),
        ("merging", "cancel", 200), ("paused", "cancel", 200), ("done", "pause", 409), ("done", "resume", 409),
        ("done", "cancel", 409), ("failed", "cancel", 409), ("cancelled", "cancel", 200), ("cancelled", "resume", 409),
    ],
)  # fmt: skip
def test_what_cannot_be_done_says_why(api, application, state, verb, status):
    finished = datetime.now(UTC) if state in {"done", "failed", "cancelled"} else None
    load, _ = make_load(application, state=state, finished_at=finished)
    answer = api.post(f"/bulk_loads/{load.pk}/{verb}", {})
    assert answer.status_code == status
    if status == 409:
        assert f"The load is {state}" in problem(answer, 409, "BulkLoadConflict")["detail"]
        assert BulkLoad.objects.get().state == state


def test_a_deleted_application_gets_no_more_of_it_and_its_events_go(application):
    make_fifo(application)
    loads = [make_load(application)[0] for _ in range(2)]
    steps(loads[0], 1)
    reconfigure.delete_all(application.id)
    Application.objects.filter(id=application.id).update(deleted_at=Now())
    tasks.release_bulk_loads()
    tidy()
    assert set(BulkLoad.objects.values_list("state", "is_tidy")) == {("cancelled", True)}
    assert (Event.objects.count(), RequestAttempt.objects.count()) == (2, 0)


def test_a_subscription_that_is_deleted_meanwhile_gets_nothing(application):
    fifo, other = make_fifo(application), make_fifo(application)
    load, keys = make_load(application)
    steps(load, 1)
    reconfigure.delete(fifo.id, by=ME)
    go()
    assert lane_order() == keys
    assert set(RequestAttempt.objects.values_list("subscription_id", flat=True)) == {other.id}


def test_retention_keeps_what_is_still_to_be_released(application, settings):
    settings.EVENT_RETENTION_DAYS = 10
    make_load(application, state="paused")
    publish(application)
    BulkLoad.objects.update(created_at=Now() - timedelta(days=12))
    Event.objects.update(received_at=Now() - timedelta(days=11))
    later = datetime.now(UTC) + timedelta(days=2)
    count_events(now=later)
    retention.delete_old_events()
    assert Event.objects.count() == 5
    BulkLoad.objects.update(state="releasing")
    go()
    retention.delete_old_events()
    assert Event.objects.count() == 0


def test_the_task_ends_with_its_shift_and_the_next_goes_on(application, monkeypatch):
    make_fifo(application)
    _, keys = make_load(application)
    monkeypatch.setattr(tasks, "RELEASE_SECONDS", 0.0)
    tasks.release_bulk_loads()
    assert not RequestAttempt.objects.exists()
    monkeypatch.undo()
    tasks.release_bulk_loads()
    assert lane_order() == keys


# --- the API ----------------------------------------------------------------------------------------


def test_the_list_has_the_latest_first_in_pages_and_by_state(api, application):
    loads = [make_load(application, 1, state=state)[0] for state in ("ready", "paused", "ready")]
    make_load(make_application())
    listed = api.get("/bulk_loads/", application_id=application.id).json()
    assert [each["bulk_load_id"] for each in listed] == [str(load.pk) for load in reversed(loads)]
    paused = api.get("/bulk_loads/", application_id=application.id, state="paused").json()
    assert [each["bulk_load_id"] for each in paused] == [str(loads[1].pk)]
    first = api.get("/bulk_loads/", application_id=application.id, limit=2)
    assert len(first.json()) == 2
    assert 'rel="next"' in first["Link"]
    problem(api.get("/bulk_loads/", application_id=application.id, state="odd"), 422, "Validation")
    assert api.get(f"/bulk_loads/{loads[0].pk}").json() == listed[2]
    problem(api.get(f"/bulk_loads/{uuid.uuid4()}"), 404, "NotFound")


@pytest.mark.parametrize("body", [{}, {"per_second": 0}, {"per_second": "fast"}, {"per_second": 10**7}])
def test_a_rate_that_cannot_be_is_refused(api, application, body):
    load, _ = make_load(application)
    assert set(problem(api.put(f"/bulk_loads/{load.pk}", body), 422, "Validation")["validation"]) == {"per_second"}


def _go_and_hang_up(seconds=20.0):
    go(seconds)
    connection.close()
