"""`/events/`: what came in, and once more; and who may see it."""

import base64
import re
import uuid
from datetime import UTC, datetime

import pytest

from delivery.models import OperatorAction, RequestAttempt
from events.models import Event
from subscriptions.models import Subscription
from tests.clients import as_application, as_organization, problem
from tests.factories import (
    EVENT_TYPE,
    make_application,
    make_event_type,
    make_fifo,
    make_subscription,
    publish,
)

pytestmark = pytest.mark.django_db


def next_of(answer):
    found = re.fullmatch(r'<https?://[^/]+/api/v1(/[^>]+)>; rel="next"', answer.headers.get("Link", ""))
    return found and found[1]


def ids(answer):
    assert answer.status_code == 200, answer.content
    return [uuid.UUID(each["event_id"]) for each in answer.json()]


def test_an_event_is_shown_as_it_came_in(api, application):
    occurred = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    (event,) = publish(application, occurred_at=occurred, metadata={"k": "v"}, payload=b"\xff\x00")
    shown = {
        "event_id": str(event.event_id), "event_type_name": EVENT_TYPE, "payload_content_type": "application/json",
        "ip": "0.0.0.0", "metadata": {"k": "v"}, "occurred_at": "2026-01-02T03:04:05Z",
        "received_at": event.received_at.isoformat().replace("+00:00", "Z"), "labels": {"shop": "1"},
    }  # fmt: skip
    assert api.get("/events/", application_id=application.id).json() == [shown]
    Event.objects.update(ip="192.0.2.7")
    shown |= {"ip": "192.0.2.7", "payload": base64.b64encode(b"\xff\x00").decode()}
    assert api.get(f"/events/{event.event_id}", application_id=application.id).json() == shown
    problem(api.get(f"/events/{uuid.uuid4()}", application_id=application.id), 404, "NotFound")


def test_a_hundred_are_a_page_the_last_received_first(api, application):
    published = [event.event_id for event in publish(application, 101)]
    first = api.get("/events/", application_id=application.id)
    assert ids(first) == published[:0:-1]
    last = api.get(next_of(first))
    assert ids(last) == published[:1]
    assert next_of(last) is None


def test_pages_neither_skip_nor_repeat_events_of_one_moment_while_others_come_in(api, application):
    before = {event.event_id for event in publish(application, 7)}
    Event.objects.update(received_at=datetime(2026, 1, 1, tzinfo=UTC))
    address, query, seen = "/events/", {"application_id": application.id, "limit": 2}, []
    while address:
        answer = api.get(address, **query)
        seen += ids(answer)
        address, query = next_of(answer), {}
        publish(application)
    assert (len(seen), set(seen)) == (7, before)


@pytest.fixture
def three(application):
    """Received an hour apart: the type, the labels."""
    make_event_type(application, "shop.cart.left")
    events = {}
    for hour, (name, event_type, labels) in enumerate(
        [
            ("a", EVENT_TYPE, {"env": "prod", "shop": "1"}),
            ("b", "shop.cart.left", {"env": "prod", "url": "http://x,y"}),
            ("c", EVENT_TYPE, {"env": "test"}),
        ]
    ):
        (events[name],) = publish(application, event_type=event_type, labels=labels)
        Event.objects.filter(event_id=events[name].event_id).update(received_at=datetime(2026, 1, 1, hour, tzinfo=UTC))
    return {event.event_id: name for name, event in events.items()}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, "cba"),
        ({"event_type": EVENT_TYPE}, "ca"),
        ({"event_type": "shop.*"}, "b"),
        ({"event_type": "shop.*,billing.invoice.*"}, "cba"),
        ({"event_type": "shop.cart.*,a.b.c"}, "b"),
        ({"event_type": "shop"}, ""),
        ({"labels": "env:prod"}, "ba"),
        ({"labels": ["env:prod", "shop:1"]}, "a"),
        ({"labels": "url:http://x,y"}, "b"),
        ({"labels": "env:dev"}, ""),
        ({"min_received_at": "2026-01-01T01:00:00Z"}, "cb"),
        ({"max_received_at": "2026-01-01T02:00:00+01:00"}, "ba"),
        ({"min_received_at": "2026-01-01T00:30:00Z", "max_received_at": "2026-01-01T01:30:00Z"}, "b"),
        ({"labels": "env:prod", "event_type": EVENT_TYPE}, "a"),
    ],
)
def test_every_filter(api, application, three, query, expected):
    assert "".join(three[id_] for id_ in ids(api.get("/events/", application_id=application.id, **query))) == expected


def test_filters_go_with_the_pages(api, application, three):
    answer = api.get("/events/", application_id=application.id, labels=["env:prod"], limit=1)
    assert [three[id_] for id_ in ids(answer) + ids(api.get(next_of(answer)))] == ["b", "a"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("labels", "env"), ("labels", ":x"), ("event_type", "a,,b"), ("min_received_at", "x"), ("max_received_at", "x"),
     ("pagination_cursor", "WzEsMl0="), ("pagination_cursor", "x")],
)  # fmt: skip
def test_each_bad_filter_is_named(api, application, name, value):
    answer = api.get("/events/", application_id=application.id, **{name: value})
    assert set(problem(answer, 422, "Validation")["validation"]) == {name}


def replay(api, application, event, **fields):
    return api.post(f"/events/{event.event_id}/replay", {"application_id": application.id, **fields})


def test_a_replay_goes_to_all_that_want_the_event_now_and_before_what_is_ordinary(api, application):
    loose, fifo = make_subscription(application), make_fifo(application)
    (event,) = publish(application)
    late, disabled = make_subscription(application), make_subscription(application)
    Subscription.objects.filter(id=disabled.id).update(is_enabled=False)
    RequestAttempt.objects.all().delete()
    assert replay(api, application, event, reason="lost").status_code == 204
    made = RequestAttempt.objects.order_by("subscription_id")
    assert list(made.values_list("subscription_id", flat=True)) == [loose.id, fifo.id, late.id]
    assert set(made.values_list("priority", flat=True)) == {150}
    assert made.get(subscription=fifo).lane_seq == 2
    audited = OperatorAction.objects.get()
    assert (audited.action, audited.actor, audited.reason) == ("replay", str(application.secrets.get()), "lost")


def test_a_replay_may_be_for_one_subscription_whatever_it_wants(api, application):
    make_subscription(application)
    one = make_subscription(application, labels={"other": "label"})
    (event,) = publish(application)
    RequestAttempt.objects.all().delete()
    assert replay(api, application, event, subscription_id=one.id).status_code == 204
    assert RequestAttempt.objects.get().subscription_id == one.id


def test_a_replay_that_nobody_wants_is_none_and_one_of_nothing_is_not_found(api, application):
    (event,) = publish(application)
    assert replay(api, application, event).status_code == 204
    assert not RequestAttempt.objects.exists()
    problem(replay(api, application, Event(event_id=uuid.uuid4())), 404, "NotFound")
    neighbours = make_subscription(make_application(organization=application.organization))
    for unknown in (uuid.uuid4(), neighbours.id):
        problem(replay(api, application, event, subscription_id=unknown), 404, "NotFound")
    assert OperatorAction.objects.count() == 1


@pytest.mark.parametrize("credentials", [as_application, lambda other: as_organization(other.organization)])
def test_nobody_sees_or_replays_what_is_not_theirs(application, credentials):
    make_subscription(application)
    (event,) = publish(application)
    pending = RequestAttempt.objects.count()
    other = make_application()
    stranger = credentials(other)
    for path in ("/events/", f"/events/{event.event_id}"):
        problem(stranger.get(path, application_id=application.id), 403, "Forbidden")
    problem(replay(stranger, application, event), 403, "Forbidden")
    problem(stranger.get(f"/events/{event.event_id}", application_id=other.id), 404, "NotFound")
    problem(replay(stranger, other, event), 404, "NotFound")
    assert stranger.get("/events/", application_id=other.id).json() == []
    assert RequestAttempt.objects.count() == pending


def test_a_service_token_reads_and_replays(application):
    (event,) = publish(application)
    api = as_organization(application.organization)
    assert ids(api.get("/events/", application_id=application.id)) == [event.event_id]
    assert replay(api, application, event).status_code == 204


def test_two_applications_may_have_the_same_event_id(api, application):
    (event,) = publish(application, payload=b'"mine"')
    publish(make_application(organization=application.organization), event_id=event.event_id, payload=b'"theirs"')
    shown = api.get(f"/events/{event.event_id}", application_id=application.id).json()
    assert base64.b64decode(shown["payload"]) == b'"mine"'
