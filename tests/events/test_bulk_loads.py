"""What people do to bulk loads, through the API, and what happens to them meanwhile."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now

from delivery import reconfigure
from delivery.models import OperatorAction, RequestAttempt
from events import retention, tasks
from events.models import BulkLoad, BulkLoadChunk, Event
from events.per_day import count_events
from tenants.models import Application
from tenants.principal import Operator
from tests.clients import problem
from tests.events.loads import go, lane_order, make_load, steps, tidy
from tests.factories import make_application, make_fifo, publish

ME = Operator("me@example.com")

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("small_steps")]


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
    listed = api.get("/operator_actions/", application_id=application.id).json()
    assert [each["details"]["bulk_load_id"] for each in listed] == [str(load.pk)] * 2


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
