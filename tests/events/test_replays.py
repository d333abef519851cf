"""Past events are delivered again: which, in which order, and what a crash or a second worker does to it."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import OperationalError, connection, transaction

from delivery.dispatch import dispatch, keep
from delivery.models import Lane, RequestAttempt
from delivery.outcome import E_HTTP, Outcome
from delivery.queue import Ended
from delivery.reconfigure import delete
from delivery.retry import Decision
from events import replays, tasks
from events.models import Event, Replay
from tenants.principal import Operator
from tests.clients import as_application, as_organization, problem
from tests.factories import EVENT_TYPE, make_application, make_event_type, make_fifo, make_subscription, publish

ME = Operator("me@example.com")
OK, DONE = Outcome(None, http_status=200), Decision("done")
FAILED, DEAD = Outcome(E_HTTP, http_status=500), Decision("dead", reason="exhausted")


pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def end(queue):
    """Bring everything that is pending to an end."""

    def end(decision, outcome):
        while claimed := queue.claim(100):
            queue.record([Ended(each, decision, outcome) for each in claimed])

    return end


def never():
    return False


def ask(api, application, **overrides):
    since = datetime.now(UTC) - timedelta(hours=1)
    return api.post("/replays/", {"application_id": application.id, "since": since, **overrides})


def replay(api, application, **overrides):
    """Ask for a replay and let it run; how it stands then."""
    answer = ask(api, application, **overrides)
    assert answer.status_code == 202, answer.content
    replays.work(stopping=never)
    return api.get(f"/replays/{answer.json()['replay_id']}").json()


def pending():
    return list(
        RequestAttempt.objects.order_by("subscription_id", "lane_seq", "event_id").values_list("event_id", flat=True)
    )


def event_pks():
    return list(Event.objects.order_by("id").values_list("id", flat=True))


@pytest.mark.parametrize("fifo_mode", [True, False])
def test_what_failed_is_delivered_again_in_event_order_before_what_is_ordinary(
    api, application, end, monkeypatch, fifo_mode
):
    monkeypatch.setattr(replays, "CHUNK", 2)
    make_subscription(application, fifo_mode=fifo_mode)
    publish(application, 2)
    end(DONE, OK)
    publish(application, 5)
    end(DEAD, FAILED)
    publish(application)
    events = event_pks()
    shown = replay(api, application, reason="the outage")
    assert RequestAttempt.objects.filter(priority=150).count() == 5
    if fifo_mode:
        assert pending() == [events[7], *events[2:7]]
    else:
        assert pending() == events[2:]
    assert {name: shown[name] for name in ("state", "total", "done", "deliveries", "status", "reason")} == {
        "state": "done", "total": 8, "done": 8, "deliveries": 5, "status": "failed", "reason": "the outage",
    }  # fmt: skip
    assert shown["created_at"] <= shown["started_at"] <= shown["finished_at"]


def test_all_means_what_was_delivered_too(api, application, end):
    make_fifo(application)
    publish(application, 3)
    end(DONE, OK)
    assert replay(api, application)["deliveries"] == 0
    assert replay(api, application, status="all")["deliveries"] == 3
    assert pending() == event_pks()


def test_a_subscription_gets_what_it_wants_now_and_what_it_missed(api, application):
    make_event_type(application, "crm.person.left")
    publish(application)
    publish(application, event_type="crm.person.left")
    publish(application, labels={"shop": "2"})
    wanting = make_fifo(application, event_types=["billing.*"])
    disabled = make_fifo(application, is_enabled=False)
    assert replay(api, application)["deliveries"] == 1
    assert pending() == event_pks()[:1]
    assert replay(api, application, subscription_id=disabled.id)["deliveries"] == 1
    assert set(RequestAttempt.objects.values_list("subscription_id", flat=True)) == {wanting.id, disabled.id}


def test_it_can_be_narrowed_to_a_time_to_types_and_to_labels(api, application):
    make_event_type(application, "crm.person.left")
    for fields in ({}, {"event_type": "crm.person.left"}, {"labels": {"shop": "1", "vip": "1"}}, {}):
        publish(application, **fields)
    make_fifo(application, event_types=["billing.*", "crm.*"])
    first, second, third, fourth = Event.objects.order_by("id")

    def replayed(**narrowed):
        RequestAttempt.objects.all().delete()
        Lane.objects.all().delete()
        replay(api, application, **narrowed)
        return pending()

    assert replayed() == [first.id, second.id, third.id, fourth.id]
    assert replayed(since=second.received_at, until=fourth.received_at) == [second.id, third.id]
    assert replayed(event_types=["crm.*"]) == [second.id]
    assert replayed(event_types=[EVENT_TYPE], labels={"vip": "1"}) == [third.id]


def test_neighbours_are_left_alone(api, application):
    neighbour = make_application(organization=application.organization)
    publish(neighbour)
    make_fifo(neighbour)
    make_fifo(application)
    shown = replay(api, application)
    assert (shown["total"], shown["deliveries"], pending()) == (0, 0, [])


def test_after_a_crash_it_goes_on_where_it_was_and_does_nothing_twice(api, application, monkeypatch):
    monkeypatch.setattr(replays, "CHUNK", 2)
    publish(application, 5)
    make_fifo(application)
    chunks = []

    def dispatch_and_die(events, **options):
        dispatched = dispatch(events, **options)
        chunks.append(events)
        if len(chunks) == 2:
            raise KeyboardInterrupt
        return dispatched

    monkeypatch.setattr(replays, "dispatch", dispatch_and_die)
    asked = ask(api, application, status="all").json()
    with pytest.raises(KeyboardInterrupt):
        replays.work(stopping=never)
    broken_off = api.get(f"/replays/{asked['replay_id']}").json()
    assert (broken_off["state"], broken_off["done"], broken_off["deliveries"]) == ("running", 2, 2)
    replays.work(stopping=never)
    assert chunks[1] == chunks[2]
    assert pending() == event_pks()


def test_two_workers_never_move_the_same_one(api, application):
    publish(application)
    make_fifo(application)
    ask(api, application)
    with transaction.atomic():
        Replay.objects.select_for_update().get()
        _in_another_connection(lambda: replays.work(stopping=never))
    assert Replay.objects.get().state == "waiting"
    replays.work(stopping=never)
    assert Replay.objects.get().state == "done"


def test_replays_take_turns(api, application, monkeypatch):
    monkeypatch.setattr(replays, "CHUNK", 1)
    publish(application, 3)
    for _ in range(2):
        ask(api, application)
    for _ in range(2):
        replays._move_one_on()
    assert list(Replay.objects.values_list("done", flat=True)) == [1, 1]


def test_a_shift_ends_and_the_next_goes_on(api, application, monkeypatch):
    monkeypatch.setattr(replays, "CHUNK", 1)
    monkeypatch.setattr(tasks, "SHIFT_SECONDS", 0.0)
    publish(application, 2)
    make_fifo(application)
    ask(api, application)
    tasks.replay()
    assert Replay.objects.get().state == "waiting"
    monkeypatch.undo()
    tasks.replay()
    assert (Replay.objects.get().state, len(pending())) == ("done", 2)


def test_a_cancelled_one_makes_no_more_deliveries_and_one_that_is_over_stays(api, application, monkeypatch):
    monkeypatch.setattr(replays, "CHUNK", 1)
    publish(application, 3)
    make_fifo(application)
    asked = ask(api, application).json()
    replays._move_one_on()
    address = f"/replays/{asked['replay_id']}"
    assert api.delete(address).status_code == 204
    replays.work(stopping=never)
    shown = api.get(address).json()
    assert (shown["state"], shown["done"], len(pending())) == ("cancelled", 1, 1)
    over = replay(api, application)
    assert api.delete(f"/replays/{over['replay_id']}").status_code == 204
    assert api.get(f"/replays/{over['replay_id']}").json() == over


def test_a_subscription_that_is_deleted_meanwhile_gets_nothing(api, application):
    publish(application)
    subscription = make_fifo(application)
    asked = ask(api, application, subscription_id=subscription.id).json()
    delete(subscription.id, by=ME)
    replays.work(stopping=never)
    shown = api.get(f"/replays/{asked['replay_id']}").json()
    assert (shown["state"], shown["deliveries"]) == ("done", 0)


def test_the_list_has_the_latest_first(api, application):
    asked = [ask(api, application).json() for _ in range(2)]
    assert api.get("/replays/", application_id=application.id).json() == asked[::-1]
    assert "Link" in api.get("/replays/", application_id=application.id, limit=1).headers


@pytest.mark.parametrize(
    ("overrides", "field"),
    [
        ({"since": None}, "since"),
        ({"since": "2001-01-01T00:00:00Z"}, "since"),
        ({"until": "2001-01-01T00:00:00Z"}, "until"),
        ({"status": "some"}, "status"),
        ({"event_types": []}, "event_types"),
        ({"labels": {}}, "labels"),
        ({"subscription_id": "x"}, "subscription_id"),
    ],
)
def test_each_bad_field_is_named(api, application, overrides, field):
    assert set(problem(ask(api, application, **overrides), 422, "Validation")["validation"]) == {field}
    assert not Replay.objects.exists()


def test_strangers_replay_nothing(api, application):
    publish(application)
    subscription = make_fifo(application)
    asked = ask(api, application).json()
    other = make_application()
    for stranger in (as_application(other), as_organization(other.organization)):
        problem(ask(stranger, application), 403, "Forbidden")
        problem(ask(stranger, other, subscription_id=subscription.id), 404, "NotFound")
        problem(stranger.get("/replays/", application_id=application.id), 403, "Forbidden")
        for replay_id in (asked["replay_id"], uuid.uuid4()):
            problem(stranger.get(f"/replays/{replay_id}"), 404, "NotFound")
            problem(stranger.delete(f"/replays/{replay_id}"), 404, "NotFound")
    assert Replay.objects.get().state == "waiting"


def _in_another_connection(act):
    with ThreadPoolExecutor(1) as thread:
        thread.submit(act).result(10)
        thread.submit(lambda: connection.close()).result(10)  # noqa: PLW0108 - its own connection


@pytest.mark.parametrize("first", ["replay", "retention"])
def test_what_retention_takes_meanwhile_is_not_delivered_again(application, monkeypatch, first):
    """A delivery without its event would be claimed for ever, and hold its lane."""
    make_fifo(application)
    publish(application, 3)
    RequestAttempt.objects.all().delete()
    Lane.objects.all().delete()
    since = datetime.now(UTC) - timedelta(hours=1)
    replays.start(application=application, since=since, only_failed=False, by=ME)
    oldest = Event.objects.order_by("id").first().pk

    def delete_the_oldest():
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '100ms'")
            cursor.execute("DELETE FROM event WHERE id = %s", [oldest])
        connection.close()

    def meanwhile(events):
        if first == "replay":
            keep(events)
        with ThreadPoolExecutor(1) as thread:
            deleted = thread.submit(delete_the_oldest)
            assert (type(deleted.exception()) is OperationalError) is (first == "replay")
        if first == "retention":
            keep(events)

    monkeypatch.setattr(replays, "keep", meanwhile)
    replays.work(stopping=never)
    assert Event.objects.count() == (3 if first == "replay" else 2)
    assert pending() == list(Event.objects.order_by("id").values_list("id", flat=True))
