"""`/subscriptions/{id}/poll/` and `/deliveries/ack|nack|extend/`: what consumers that pull send and read."""

import base64
import uuid
from datetime import UTC, datetime, timedelta
from unittest.mock import ANY

import pytest
from django.conf import settings

from delivery import maintenance, progress
from delivery.models import AttemptLog, RequestAttempt
from tests.clients import problem
from tests.factories import EVENT_TYPE, make_subscription, publish

pytestmark = pytest.mark.django_db(transaction=True)


def body(application, **overrides):
    return {
        "application_id": application.id,
        "is_enabled": True,
        "event_types": [EVENT_TYPE],
        "labels": {"shop": "1"},
        "target": {"type": "pull"},
        **overrides,
    }


@pytest.fixture
def subscription(api, application):
    return api.post("/subscriptions/", body(application)).json()["subscription_id"]


def poll(api, subscription, **wanted):
    answer = api.post(f"/subscriptions/{subscription}/poll/", wanted)
    assert answer.status_code == 200, answer.content
    return answer.json()["deliveries"]


def tell(api, verb, subscription, **said):
    answer = api.post(f"/deliveries/{verb}/", {"subscription_id": subscription, **said})
    assert answer.status_code == 200, answer.content
    return answer.json()["results"]


def test_a_pull_subscription_has_a_lease_and_no_address(api, application):
    created = api.post("/subscriptions/", body(application, target={"type": "pull", "lease_seconds": 7})).json()
    address = f"{settings.STREAM_URL}/api/v1/subscriptions/{created['subscription_id']}/stream/"
    assert created["target"] == {"type": "pull", "lease_seconds": 7, "stream_url": address}
    assert created["max_in_flight"] == 1_000
    read = api.get(f"/subscriptions/{created['subscription_id']}/").json()
    assert read["target"] == created["target"]


def test_an_edit_between_http_and_pull_leaves_nothing_of_the_other(api, application, subscription):
    http = {"type": "http", "method": "PUT", "url": "https://example.com/hook", "headers": {"x-a": "b"}}
    address = f"/subscriptions/{subscription}/"
    assert api.put(address, body(application, target=http)).json()["target"] == http
    target = api.put(address, body(application)).json()["target"]
    assert (target.pop("stream_url"), target) == (ANY, {"type": "pull", "lease_seconds": 30})
    assert api.put(address, body(application, target=http)).json()["max_in_flight"] == 32


@pytest.mark.parametrize(
    "target",
    [
        {"type": "pull", "lease_seconds": 0},
        {"type": "pull", "lease_seconds": 43_201},
        {"type": "pull", "lease_seconds": "30"},
        {"type": "http"},
        {"type": 1},
        {},
        "pull",
    ],
)
def test_a_target_that_will_not_do_is_refused(api, application, target):
    refused = problem(api.post("/subscriptions/", body(application, target=target)), 422, "Validation")
    assert refused["validation"].keys() == {"target"}


@pytest.mark.parametrize(
    "field", [{"rate_limit": {"requests": 1, "per_seconds": 1}}, {"dedicated_workers": ["somebody"]}]
)
def test_what_is_for_webhooks_alone_is_refused(api, application, field):
    refused = problem(api.post("/subscriptions/", body(application, **field)), 422, "Validation")
    assert refused["validation"].keys() == field.keys()


def test_a_poll_tells_all_there_is_to_know_of_a_delivery(api, application, subscription):
    (event,) = publish(application, payload=b'{"a": "\xc3\xa9"}', metadata={"m": "1"}, ordering_key="k")
    (delivery,) = poll(api, subscription)
    attempt = RequestAttempt.objects.get()
    assert delivery["event_id"] == str(event.event_id)
    assert delivery["delivery_id"] == delivery["request_attempt_id"] == str(attempt.pk)
    assert (delivery["attempt"], delivery["lane_id"], delivery["lane_sequence"]) == (1, None, None)
    assert (delivery["event_type"], delivery["payload"]) == (EVENT_TYPE, '{"a": "é"}')
    assert (delivery["labels"], delivery["metadata"]) == ({"shop": "1"}, {"m": "1"})
    assert delivery["received_at"] < delivery["lease_until"]


def test_while_it_is_leased_the_list_of_attempts_says_since_when(api, application):
    target = {"type": "pull", "lease_seconds": 600}
    subscription = api.post("/subscriptions/", body(application, target=target)).json()["subscription_id"]
    publish(application)
    before = datetime.now(UTC)
    poll(api, subscription)
    (attempt,) = api.get("/request_attempts/", application_id=application.id).json()
    assert attempt["status"]["type"] == "in_progress"
    assert before <= datetime.fromisoformat(attempt["picked_at"]) <= datetime.now(UTC)


def test_bytes_are_in_base64_as_they_were_sent(api, application, subscription):
    publish(application, payload=b"\x00\xff", payload_content_type="application/octet-stream+base64")
    (delivery,) = poll(api, subscription)
    assert delivery["payload_content_type"] == "application/octet-stream+base64"
    assert base64.b64decode(delivery["payload"]) == b"\x00\xff"


def test_a_poll_narrows_by_type_and_labels_and_takes_no_more_than_its_limit(api, application, subscription):
    publish(application, 3)
    assert poll(api, subscription, event_types=["other.*"]) == []
    assert poll(api, subscription, labels={"shop": "2"}) == []
    assert len(poll(api, subscription, limit=2, event_types=["billing.*"], labels={"shop": "1"})) == 2
    assert len(poll(api, subscription)) == 1
    assert poll(api, subscription) == []


def test_many_are_acknowledged_in_one_call_and_each_has_its_answer(api, application, subscription):
    publish(application, 3)
    tokens = [delivery["token"] for delivery in poll(api, subscription)]
    results = tell(api, "ack", subscription, tokens=tokens)
    assert [(result["token"], result["accepted"]) for result in results] == [(token, True) for token in tokens]
    assert [result["accepted"] for result in tell(api, "ack", subscription, tokens=tokens)] == [False] * 3
    assert not RequestAttempt.objects.exists()


def test_a_rejection_keeps_what_the_consumer_said(api, application, subscription):
    publish(application)
    (delivery,) = poll(api, subscription)
    (result,) = tell(api, "nack", subscription, rejections=[{"token": delivery["token"], "error": "kaputt é"}])
    assert result == {"token": delivery["token"], "delivery_id": delivery["delivery_id"], "accepted": True}
    response = api.get(f"/responses/{AttemptLog.objects.get().pk}/", application_id=application.id).json()
    assert response["response_error_name"] == "E_REJECTED"
    assert response["body"] == "kaputt é"


def test_an_extension_answers_with_the_new_end(api, application, subscription):
    publish(application)
    (delivery,) = poll(api, subscription)
    (result,) = tell(api, "extend", subscription, tokens=[delivery["token"]], lease_seconds=600)
    assert result["accepted"]
    assert result["lease_until"] > delivery["lease_until"]
    tell(api, "ack", subscription, tokens=[delivery["token"]])
    (result,) = tell(api, "extend", subscription, tokens=[delivery["token"]])
    assert (result["accepted"], result["lease_until"]) == (False, None)


def progress_in(api, application):
    (attempt,) = api.get("/request_attempts/", application_id=application.id).json()
    return attempt["progress"]


@pytest.mark.parametrize("fifo", [False, True])
def test_progress_is_shown_while_the_lease_lasts_and_the_next_try_begins_without(api, application, fifo):
    policy = {"retry_policy": {"schedule_ms": [0]}, "fifo_mode": fifo}
    subscription = api.post("/subscriptions/", body(application, **policy)).json()["subscription_id"]
    publish(application)
    (delivery,) = poll(api, subscription)
    token = delivery["token"]
    assert progress_in(api, application) is None
    first = {"token": token, "percent": 40, "stage": "resizing", "events_count": 7}
    assert tell(api, "progress", subscription, reports=[first])[0]["accepted"]
    assert progress_in(api, application) == {
        "percent": 40, "stage": "resizing", "events_count": 7, "reported_at": ANY,
    }  # fmt: skip
    tell(api, "progress", subscription, reports=[{"token": token, "percent": 50}, {"token": token, "percent": 100}])
    shown = progress_in(api, application)
    assert (shown["percent"], shown["stage"]) == (100, "resizing")
    last = [{"token": token, "stage": "storing", "events_count": 8}, {"token": token, "events_count": 9}]
    tell(api, "progress", subscription, reports=last)
    shown = progress_in(api, application)
    assert (shown["percent"], shown["stage"], shown["events_count"]) == (100, "storing", 9)
    tell(api, "nack", subscription, rejections=[{"token": token}])
    assert not tell(api, "progress", subscription, reports=[first])[0]["accepted"]
    poll(api, subscription)
    attempts = api.get("/request_attempts/", application_id=application.id).json()
    assert [attempt["progress"] for attempt in attempts] == [None, None]


def test_progress_of_what_is_long_over_is_forgotten(api, application, subscription):
    publish(application)
    (delivery,) = poll(api, subscription)
    tell(api, "progress", subscription, reports=[{"token": delivery["token"], "percent": 1}])
    assert progress.forget() == 0
    assert progress.forget(now=datetime.now(UTC) + timedelta(days=2)) == 1


def test_only_what_pulls_is_pulled_and_what_pulls_is_not_tried_out(api, application, subscription):
    http = make_subscription(application)
    problem(api.post(f"/subscriptions/{http.pk}/poll/", {}), 409, "SubscriptionIsNotPull")
    problem(api.post(f"/subscriptions/{subscription}/test/", {}), 409, "SubscriptionIsPull")


@pytest.mark.parametrize(
    ("verb", "said", "field"),
    [
        ("ack", {"tokens": []}, "tokens"),
        ("ack", {"tokens": ["nonsense"]}, "tokens"),
        ("ack", {"tokens": ["x" * 201]}, "tokens"),
        ("ack", {"tokens": [str(uuid.uuid4())] * 101}, "tokens"),
        ("ack", {"tokens": [1]}, "tokens"),
        ("ack", {}, "tokens"),
        ("nack", {"rejections": [{"error": "x"}]}, "rejections"),
        ("nack", {"rejections": [{"token": "nonsense"}]}, "rejections"),
        ("nack", {"rejections": [{"token": "x", "error": "x" * 4_001}]}, "rejections"),
        ("extend", {"tokens": ["nonsense"]}, "tokens"),
        ("progress", {"reports": []}, "reports"),
        ("progress", {"reports": [{"percent": 1}]}, "reports"),
        ("progress", {"reports": [{"token": "nonsense", "percent": 101}]}, "reports"),
        ("progress", {"reports": [{"token": "nonsense", "percent": "1"}]}, "reports"),
        ("progress", {"reports": [{"token": "nonsense", "stage": "x" * 201}]}, "reports"),
        ("extend", {"tokens": ["x"], "lease_seconds": 0}, "lease_seconds"),
    ],
)
def test_what_is_no_token_is_refused_by_name(api, subscription, verb, said, field):
    refused = problem(api.post(f"/deliveries/{verb}/", {"subscription_id": subscription, **said}), 422, "Validation")
    assert field in refused["validation"]


@pytest.mark.parametrize("wanted", [{"limit": 0}, {"limit": 101}, {"event_types": "a"}, {"labels": {"a": 1}}])
def test_a_poll_that_will_not_do_is_refused_by_name(api, subscription, wanted):
    refused = problem(api.post(f"/subscriptions/{subscription}/poll/", wanted), 422, "Validation")
    assert refused["validation"].keys() == wanted.keys()


def test_half_a_character_is_no_reason(api, application, subscription):
    publish(application)
    (delivery,) = poll(api, subscription)
    raw = b'{"subscription_id": "%s", "rejections": [{"token": "%s", "error": "\\ud800"}]}' % (
        subscription.encode(),
        delivery["token"].encode(),
    )
    assert api.post("/deliveries/nack/", raw=raw).status_code in {400, 422}
    assert maintenance.reap() == 0
