"""`POST /subscriptions/{id}/test`: what is sent, what is shown of the answer, and what it leaves alone."""

import threading
import time
import uuid

import pytest

from delivery import trials
from delivery.models import AttemptLog, RequestAttempt
from delivery.signatures import standard_signature
from hook0.receiver import Behaviour
from tests.clients import as_application, problem
from tests.factories import EVENT_TYPE, make_application, make_fifo, make_subscription

pytestmark = pytest.mark.django_db


@pytest.fixture
def url(receiver):
    return f"http://127.0.0.1:{receiver.port}/hook"


def send_test(api, subscription, **body):
    return api.post(f"/subscriptions/{subscription.id}/test", body)


def test_a_signed_webhook_goes_out_and_the_answer_is_shown(api, application, receiver, url):
    receiver.behaviours["/hook"] = Behaviour(status=202, headers={"x-mood": "fine"}, body="thanks")
    subscription = make_subscription(application, url=url, headers={"authorization": "Bearer x"})
    answer = send_test(api, subscription)
    assert answer.status_code == 200
    shown = answer.json()
    (webhook,) = receiver.received
    assert (shown["succeeded"], shown["http_code"], shown["response_error_name"]) == (True, 202, None)
    assert (shown["body"], shown["headers"]["x-mood"]) == ("thanks", "fine")
    assert shown["elapsed_time_ms"] >= 0
    assert webhook.headers["x-hook0-test"] == "true"
    assert webhook.headers["x-event-id"] == shown["event_id"]
    assert (webhook.headers["x-event-type"], webhook.headers["authorization"]) == (EVENT_TYPE, "Bearer x")
    assert webhook.body == '{"test": true}'
    signed = standard_signature(
        str(subscription.secret),
        message_id=shown["event_id"],
        timestamp=int(webhook.headers["webhook-timestamp"]),
        body=webhook.body.encode(),
    )
    assert webhook.headers["webhook-signature"] == signed
    assert "x-hook0-test" in webhook.headers["x-hook0-signature"]


def test_it_is_past_the_queue_and_goes_out_even_if_nothing_else_does(api, application, receiver, url):
    subscription = make_fifo(application, url=url, is_enabled=False, is_paused=True)
    assert send_test(api, subscription).json()["succeeded"] is True
    assert "x-hook0-lane" not in receiver.received[0].headers
    assert not RequestAttempt.objects.exists()
    assert not AttemptLog.objects.exists()


def test_type_and_payload_may_be_ones_own(api, application, receiver, url):
    subscription = make_subscription(application, url=url)
    own = {"event_type": "a.b.c", "payload": "aGk=", "payload_content_type": "application/octet-stream+base64"}
    send_test(api, subscription, **own)
    (webhook,) = receiver.received
    assert (webhook.headers["x-event-type"], webhook.body) == ("a.b.c", "hi")
    assert webhook.headers["content-type"] == "application/octet-stream"
    problem(send_test(api, subscription, payload="{"), 400, "EventInvalidJsonPayload")
    problem(send_test(api, subscription, payload_content_type="image/png"), 400, "EventInvalidPayloadContentType")
    problem(send_test(api, subscription, event_type=""), 422, "Validation")


def test_wildcards_name_no_type_of_an_event(api, application, receiver, url):
    send_test(api, make_subscription(application, url=url, event_types=["billing.*"]))
    assert receiver.received[0].headers["x-event-type"] == "hook0.subscription.tested"


def test_failures_are_answers_too(api, application, receiver, url, settings):
    receiver.behaviours["/hook"] = Behaviour(status=500, body="x" * 100)
    settings.RESPONSE_BODY_LIMIT = 10
    failed = send_test(api, make_subscription(application, url=url)).json()
    assert (failed["succeeded"], failed["response_error_name"], failed["http_code"]) == (False, "E_HTTP", 500)
    assert failed["body"] == "x" * 10
    settings.ALLOWED_TARGETS = []
    forbidden = send_test(api, make_subscription(application, url=url)).json()
    assert (forbidden["response_error_name"], forbidden["http_code"]) == ("E_INVALID_TARGET", None)
    assert len(receiver.received) == 1


def test_it_waits_no_longer_than_the_subscription_does(api, application, receiver, url):
    receiver.behaviours["/hook"] = Behaviour(delay_ms=3_000)
    shown = send_test(api, make_subscription(application, url=url, timeout_ms=1_000)).json()
    assert (shown["response_error_name"], receiver.received) == ("E_TIMEOUT", [])
    while not receiver.received:  # its answer, when nobody waits any more, belongs to this test
        time.sleep(0.05)


def test_only_so_many_are_sent_at_a_time_and_each_gives_its_place_back(api, application, receiver, url, monkeypatch):
    monkeypatch.setattr(trials, "_slots", threading.BoundedSemaphore(1))
    subscription = make_subscription(application, url=url)
    with trials._slots:
        refused = send_test(api, subscription)
    problem(refused, 429, "TooManyTests")
    assert refused.headers["Retry-After"] == "1"
    for _ in range(2):
        assert send_test(api, subscription).json()["succeeded"] is True
    assert len(receiver.received) == 2


def test_strangers_send_nothing(application, receiver, url):
    subscription = make_subscription(application, url=url)
    stranger = as_application(make_application())
    problem(send_test(stranger, subscription), 404, "NotFound")
    problem(stranger.post(f"/subscriptions/{uuid.uuid4()}/test", {}), 404, "NotFound")
    assert receiver.received == []
