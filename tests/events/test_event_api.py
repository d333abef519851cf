"""`POST /event/`: what is taken, what is refused, and with which words."""

import base64
import ipaddress
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import OperationalError
from django.test import Client

from delivery.models import RequestAttempt
from events import limits
from events.models import Event
from tenants.credentials import create_application_secret
from tests.clients import ApiClient, as_organization, problem
from tests.factories import EVENT_TYPE, make_application, make_subscription

pytestmark = pytest.mark.django_db


def body(application, **overrides):
    return {
        "application_id": application.id,
        "event_type": EVENT_TYPE,
        "payload": '{"a": 1}',
        "payload_content_type": "application/json",
        "occurred_at": "2026-01-02T03:04:05Z",
        "labels": {"shop": "1"},
        **overrides,
    }


def test_an_event_is_stored_and_its_deliveries_are_made_when_the_201_is_read(api, application):
    make_subscription(application)
    mine = uuid.uuid4()
    answer = api.post("/event/", body(application, event_id=mine, metadata={"k": "v"}))
    assert answer.status_code == 201
    assert set(answer.json()) == {"application_id", "event_id", "received_at"}
    assert answer.json()["event_id"] == str(mine)
    event = Event.objects.get()
    assert (event.event_id, bytes(event.payload), event.metadata) == (mine, b'{"a": 1}', {"k": "v"})
    assert event.occurred_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert RequestAttempt.objects.get().event_id == event.id


def test_an_id_is_made_for_who_brings_none(api, application):
    answer = api.post("/event/", body(application, event_id=None, metadata=None))
    assert uuid.UUID(answer.json()["event_id"]).version == 7


def test_a_repeat_is_a_conflict_and_changes_nothing(api, application):
    mine = body(application, event_id=uuid.uuid4())
    assert api.post("/event/", mine).status_code == 201
    problem(api.post("/event/", {**mine, "payload": "{}"}), 409, "EventAlreadyIngested")
    assert bytes(Event.objects.get().payload) == b'{"a": 1}'


def test_json_is_kept_byte_for_byte(api, application):
    payload = '{ "b" :1.10,\n"a":"\\u00e9é","a":2 }'
    api.post("/event/", body(application, payload=payload))
    assert bytes(Event.objects.get().payload).decode() == payload


def test_base64_is_decoded_and_text_is_taken_as_it_is(api, application):
    raw = bytes(range(256))
    encoded = base64.b64encode(raw).decode()
    api.post("/event/", body(application, payload=encoded, payload_content_type=limits.BASE64))
    api.post("/event/", body(application, payload="not json", payload_content_type="text/plain"))
    assert [bytes(event.payload) for event in Event.objects.order_by("id")] == [raw, b"not json"]


@pytest.mark.parametrize(
    ("payload", "content_type", "name"),
    [
        ("{", "application/json", "EventInvalidJsonPayload"),
        ("", "application/json", "EventInvalidJsonPayload"),
        ("NaN", "application/json", "EventInvalidJsonPayload"),
        ("[" * 100_000, "application/json", "EventInvalidJsonPayload"),
        ("YQ", limits.BASE64, "EventInvalidBase64Payload"),
        ("Y Q==", limits.BASE64, "EventInvalidBase64Payload"),
        ("_-==", limits.BASE64, "EventInvalidBase64Payload"),
        ("x", "application/xml", "EventInvalidPayloadContentType"),
    ],
)
def test_a_payload_that_is_not_what_it_says_is_refused(api, application, payload, content_type, name):
    problem(api.post("/event/", body(application, payload=payload, payload_content_type=content_type)), 400, name)
    assert not Event.objects.exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("application_id", "nonsense"),
        ("event_id", "nonsense"),
        ("event_type", ""),
        ("event_type", "x" * 201),
        ("event_type", "a.b\n.c"),
        ("payload", None),
        ("payload", {"a": 1}),
        ("payload", "x" * (limits.PAYLOAD_CHARACTERS + 1)),
        ("payload_content_type", ""),
        ("payload_content_type", "x" * 101),
        ("occurred_at", "yesterday"),
        ("occurred_at", None),
        ("labels", {}),
        ("labels", None),
        ("labels", []),
        ("labels", {"a": 1}),
        ("labels", {"": "x"}),
        ("labels", {"a": ""}),
        ("labels", {"a": "x" * 51}),
        ("labels", {"a": "é" * 26}),
        ("labels", {"a": "\0"}),
        ("labels", {str(n): "x" for n in range(11)}),
        ("metadata", {str(n): "x" for n in range(51)}),
        ("metadata", "x"),
        ("ordering_key", ""),
        ("ordering_key", "x" * 201),
        ("priority", 201),
        ("priority", -1),
        ("delay_ms", -1),
        ("deliver_at", "soon"),
        ("deliver_at", "9999-12-31T23:59:59Z"),
        ("backoff_schedule", [-1]),
        ("backoff_schedule", "x"),
    ],
)
def test_each_bad_field_is_named(api, application, field, value):
    document = problem(api.post("/event/", body(application, **{field: value})), 422, "Validation")
    assert set(document["validation"]) == {field}
    assert not Event.objects.exists()


@pytest.mark.parametrize("field", ["payload", "event_type", "labels", "ordering_key"])
def test_text_that_is_no_text_is_refused_and_not_a_crash(api, application, field):
    surrogate = "\ud800"
    value = {"a": surrogate} if field == "labels" else surrogate
    answer = api.post(
        "/event/",
        body(
            application,
            **{field: value, "payload_content_type": "text/plain"}
            if field != "payload"
            else {"payload": surrogate, "payload_content_type": "text/plain"},
        ),
    )
    document = problem(answer, 422, "Validation")
    assert set(document["validation"]) == {field}


@pytest.mark.parametrize(
    "missing", ["application_id", "event_type", "payload", "payload_content_type", "occurred_at", "labels"]
)
def test_each_missing_field_is_named(api, application, missing):
    fields = body(application)
    del fields[missing]
    document = problem(api.post("/event/", fields), 422, "Validation")
    (complaint,) = document["validation"][missing]
    assert complaint["code"] == "required"


def test_unknown_fields_are_ignored(api, application):
    assert api.post("/event/", body(application, surprise=1)).status_code == 201


@pytest.mark.parametrize(
    ("raw", "content_type"),
    [
        (b"{", "application/json"),
        (b'{"a": NaN}', "application/json"),
        (b"\xff", "application/json"),
        (b"[" * 100_000, "application/json"),
        (b"{}", "text/plain"),
        (b"a=1", "application/x-www-form-urlencoded"),
        (b'"' + b"x" * 2_097_152 + b'"', "application/json"),
    ],
)
def test_a_body_that_is_not_json_is_refused(api, raw, content_type):
    problem(api.post("/event/", raw=raw, content_type=content_type), 400, "JsonPayload")


@pytest.mark.parametrize("raw", [b"", b"[]", b"1", b"null", b'"x"'])
def test_a_body_that_is_not_an_object_is_refused(api, raw):
    problem(api.post("/event/", raw=raw), 422, "Validation")


def test_an_event_type_must_exist_and_be_active(api, application):
    problem(api.post("/event/", body(application, event_type="a.b.c")), 400, "EventTypeDoesNotExist")
    assert api.delete(f"/event_types/{EVENT_TYPE}/", application_id=application.id).status_code == 204
    problem(api.post("/event/", body(application)), 400, "EventTypeDoesNotExist")


def test_a_delay_and_a_time_say_when_to_deliver(api, application):
    make_subscription(application)
    then = datetime.now(UTC) + timedelta(days=1)
    api.post("/event/", body(application, delay_ms=3_600_000))
    api.post("/event/", body(application, deliver_at=then.isoformat()))
    hour, day = RequestAttempt.objects.order_by("due_at").values_list("due_at", flat=True)
    assert timedelta(minutes=59) < hour - datetime.now(UTC) <= timedelta(hours=1)
    assert day == then


def test_without_credentials_one_is_told_how_to_bring_them(application):
    answer = ApiClient(None).post("/event/", body(application))
    problem(answer, 401, "AuthNoAuthorizationHeader")
    assert answer["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("token", ["nonsense", str(uuid.uuid4()), "hook0_x"])
def test_an_unknown_token_is_refused_before_the_body_is_read(token):
    problem(ApiClient(token).post("/event/", raw=b"{"), 403, "AuthInvalidBiscuit")


def test_a_secret_gives_its_own_application_and_no_other(api, application):
    neighbour = make_application(organization=application.organization)
    problem(api.post("/event/", body(neighbour)), 403, "Forbidden")
    problem(api.post("/event/", body(application, application_id=uuid.uuid4())), 403, "Forbidden")


def test_whose_application_it_is_comes_before_what_is_wrong_with_the_event(api, application):
    problem(api.post("/event/", body(make_application(), labels={})), 403, "Forbidden")


def test_the_address_of_an_event_is_the_one_that_a_trusted_proxy_tells(api, application, settings):
    settings.TRUSTED_PROXIES = [ipaddress.ip_network("127.0.0.0/8")]
    headers = {"X-Forwarded-For": "192.0.2.7"}
    assert api.post("/event/", body(application), **headers).status_code == 201
    batch = {"application_id": application.id, "events": [body(application)]}
    assert api.post("/events/", batch, **headers).status_code == 200
    assert set(Event.objects.values_list("ip", flat=True)) == {"192.0.2.7"}


def test_a_service_token_gives_the_applications_of_its_organization(application):
    api = as_organization(application.organization)
    assert api.post("/event/", body(application)).status_code == 201
    problem(api.post("/event/", body(make_application())), 403, "Forbidden")


def test_the_word_bearer_may_be_left_out(application):
    token = create_application_secret(application)[1]
    answer = ApiClient(None).post("/event/", body(application), Authorization=token)
    assert answer.status_code == 201


@pytest.mark.parametrize("path", ["/event", "/event/", "//event/", "/event//"])
def test_slashes_are_forgiven(api, application, path):
    assert api.post(path, body(application)).status_code == 201


@pytest.mark.parametrize("shape", ["/{}", "/{}/", "//{}/", "/{}//"])
def test_slashes_are_forgiven_whatever_the_method(api, application, shape):
    subscription = make_subscription(application)
    of = {"application_id": application.id}
    assert api.get(shape.format("subscriptions"), **of).json()
    one = shape.format(f"subscriptions//{subscription.pk}")
    assert api.get(one).json()["subscription_id"] == str(subscription.pk)
    fields = {"is_enabled": False, "event_types": [EVENT_TYPE], "labels": {"a": "b"}}
    target = {"type": "http", "method": "POST", "url": "https://example.com/", "headers": {}}
    assert api.put(one, {**of, **fields, "target": target}).json()["is_enabled"] is False
    assert api.delete(one, **of).status_code == 204
    assert api.get(shape.format("instance")).status_code == 200


def test_wrong_methods_and_addresses_get_a_problem_document_too(api):
    problem(api.get("/event/"), 405, "MethodNotAllowed")
    problem(api.get("/nothing/here"), 404, "NotFound")
    problem(api.get("/subscriptions/nonsense"), 404, "NotFound")


def test_a_client_that_accepts_something_else_gets_json_all_the_same(api, application):
    answer = api.post("/event/", body(application), Accept="application/xml")
    assert (answer.status_code, answer["Content-Type"]) == (201, "application/json")
    assert api.get("/event_types/", application_id=application.id, format="xml").status_code == 200


@pytest.mark.parametrize("path", ["/nope", "/favicon.ico", "/api", "/api/", "/static/nope.css"])
def test_an_address_outside_the_api_is_not_found_either(path):
    problem(Client(raise_request_exception=False).get(path), 404, "NotFound")


def test_a_database_that_is_away_is_said_to_be(api, application, monkeypatch):
    def refuse(*_, **__):
        raise OperationalError("connection refused")

    monkeypatch.setattr("events.api.event.ingest_one", refuse)
    answer = api.post("/event/", body(application))
    problem(answer, 503, "ServiceUnavailable")
    assert answer["Retry-After"] == "5"
