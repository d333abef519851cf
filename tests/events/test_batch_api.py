"""`POST /events/`: an answer for each event, and the good ones are kept whatever the others are."""

import json
import uuid

import pytest

from delivery.models import RequestAttempt
from events import limits
from events.models import Event
from tests.clients import as_application, as_organization, problem
from tests.factories import EVENT_TYPE, make_application, make_fifo

pytestmark = pytest.mark.django_db


def event(**overrides):
    return {
        "event_id": str(uuid.uuid4()),
        "event_type": EVENT_TYPE,
        "payload": "{}",
        "payload_content_type": "application/json",
        "occurred_at": "2026-01-02T03:04:05Z",
        "labels": {"shop": "1"},
        **overrides,
    }


def send(api, application, events, *, lines=False):
    """A batch, as JSON or in lines; its results."""
    if lines:
        raw = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in events)
        path = f"/events/?application_id={application.id}"
        answer = api.post(path, raw=raw, content_type="application/x-ndjson")
    else:
        answer = api.post("/events/", {"application_id": application.id, "events": events})
    assert answer.status_code == 200, answer.content
    return answer.json()["results"]


@pytest.mark.parametrize("lines", [False, True])
def test_each_event_has_its_answer_and_the_good_ones_are_kept(api, application, lines):
    known, twice = event(), event()
    send(api, application, [known])
    events = [event(), known, event(labels={}), twice, twice, event(event_type="a.b.c"), event(payload="{"), 7, event()]
    results = send(api, application, events, lines=lines)
    statuses = [result["status"] for result in results]
    created, duplicate, invalid = "created", "duplicate", "invalid"
    assert statuses == [created, duplicate, invalid, created, duplicate, invalid, invalid, invalid, created]
    assert [result["event_id"] for result in results] == [e["event_id"] if e != 7 else None for e in events]
    ids = [result["problem"] and result["problem"]["id"] for result in results]
    assert [name for name in ids if name] == [
        "Validation",
        "EventTypeDoesNotExist",
        "EventInvalidJsonPayload",
        "Validation",
    ]
    assert results[2]["problem"]["validation"]["labels"][0]["code"] == "length"
    assert [str(e.event_id) for e in Event.objects.order_by("id")] == [
        e["event_id"] for e in (known, events[0], twice, events[-1])
    ]


def test_a_line_that_is_not_json_is_an_invalid_event_and_not_the_end(api, application):
    results = send(api, application, [event(), b"{", b"\xff", b"", b"  ", event()], lines=True)
    assert [result["status"] for result in results] == ["created", "invalid", "invalid", "created"]
    assert results[1]["problem"]["id"] == "JsonPayload"
    assert "line 1 column 2" in results[1]["problem"]["detail"]


def test_a_lane_has_the_order_of_the_batch(api, application):
    make_fifo(application)
    results = send(api, application, [event(event_id=None) for _ in range(50)])
    in_lane = RequestAttempt.objects.order_by("lane_seq").values_list("event__event_id", flat=True)
    assert [result["event_id"] for result in results] == [str(event_id) for event_id in in_lane]


def test_an_event_of_another_application_is_invalid(api, application):
    mine, other = event(application_id=str(application.id)), event(application_id=str(uuid.uuid4()))
    assert [result["status"] for result in send(api, application, [mine, other])] == ["created", "invalid"]


def test_a_batch_may_be_empty(api, application):
    assert send(api, application, []) == []


@pytest.mark.parametrize("lines", [False, True])
def test_a_batch_has_a_thousand_events_and_no_more(api, application, lines):
    assert len(send(api, application, [event(event_id=None)] * limits.BATCH_EVENTS, lines=lines)) == 1000
    if lines:
        raw = json.dumps(event()).encode()
        path = f"/events/?application_id={application.id}"
        answer = api.post(path, raw=b"\n\n".join([raw] * 1001), content_type="application/x-ndjson")
    else:
        answer = api.post("/events/", {"application_id": application.id, "events": [1] * 1001})
    document = problem(answer, 422, "Validation")
    assert document["validation"]["events"][0]["params"] == {"max": 1000}
    assert "1000" in document["detail"]
    assert Event.objects.count() == 1000


@pytest.mark.parametrize("content_type", ["application/json", "application/x-ndjson"])
def test_a_batch_of_more_than_10_mib_is_refused(api, application, content_type):
    path = f"/events/?application_id={application.id}"
    answer = api.post(path, raw=b" " * (limits.BATCH_BYTES + 1), content_type=content_type)
    assert "10485760" in problem(answer, 400, "JsonPayload")["detail"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"events": []}, "application_id"),
        ({"application_id": "x", "events": []}, "application_id"),
        ([], "application_id"),
        ({"application_id": str(uuid.uuid4())}, "events"),
        ({"application_id": str(uuid.uuid4()), "events": {}}, "events"),
    ],
)
def test_a_body_that_is_no_batch_is_refused_with_the_field_named(api, body, field):
    assert set(problem(api.post("/events/", body), 422, "Validation")["validation"]) == {field}


def test_lines_must_say_their_application_in_the_query_string(api):
    answer = api.post("/events/", raw=b"{}", content_type="application/x-ndjson")
    assert set(problem(answer, 422, "Validation")["validation"]) == {"application_id"}


@pytest.mark.parametrize(("raw", "content_type"), [(b"{", "application/json"), (b"{}", "text/csv")])
def test_a_body_that_cannot_be_read_is_refused(api, raw, content_type):
    problem(api.post("/events/", raw=raw, content_type=content_type), 400, "JsonPayload")


def test_a_batch_is_for_who_may_act_in_its_application(application):
    other = make_application()
    body = {"application_id": application.id, "events": [event()]}
    problem(as_application(other).post("/events/", body), 403, "Forbidden")
    problem(as_organization(other.organization).post("/events/", body), 403, "Forbidden")
    assert as_organization(application.organization).post("/events/", body).status_code == 200
    assert Event.objects.count() == 1


def test_a_batch_without_a_body_or_a_content_type_is_told_what_is_missing(api, application):
    answer = api.post(f"/events/?application_id={application.id}", raw=b"", content_type="")
    problem(answer, 400, "JsonPayload")


def test_an_application_in_the_query_string_is_checked_for_json_too(api, application):
    answer = api.post("/events/?application_id=1", {"application_id": application.id, "events": [event()]})
    assert set(problem(answer, 422, "Validation")["validation"]) == {"application_id"}
