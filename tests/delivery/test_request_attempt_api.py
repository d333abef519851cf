"""`/request_attempts/` and `/responses/`: pending and ended tries as one list, and who may see it."""

import re
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from delivery import lanes, maintenance
from delivery.attempt_ids import attempt_id, made_at
from delivery.audit import Operator
from delivery.models import AttemptLog, Lane, RequestAttempt
from delivery.outcome import E_HTTP, E_TIMEOUT, Outcome
from delivery.queue import Ended
from delivery.retry import Decision
from events.models import Event
from tests.clients import as_application, as_organization, problem
from tests.factories import EVENT_TYPE, make_application, make_event_type, make_fifo, make_subscription, publish

OK = Outcome(None, http_status=200, headers={"x-a": "b"}, body=b"thanks", elapsed_ms=12)
FAILED = Outcome(E_HTTP, http_status=500, body=b"\xff", elapsed_ms=3)
DONE, RETRY = Decision("done"), Decision("retry", wait=60.0)
LATER = timedelta(hours=1)


@pytest.fixture
def listed(api, application):
    """The list with these filters, as one page."""

    def ask(**query):
        answer = api.get("/request_attempts/", application_id=application.id, **query)
        assert answer.status_code == 200, answer.content
        return answer.json()

    return ask


def next_of(answer):
    found = re.fullmatch(r'<https?://[^/]+/api/v1(/[^>]+)>; rel="next"', answer.headers.get("Link", ""))
    return found and found[1]


def states(attempts):
    return [each["status"]["type"] for each in attempts]


def test_an_attempt_goes_from_pending_over_in_progress_and_waiting_to_its_end(application, listed, queue):
    subscription = make_subscription(application, description="the shop")
    (event,) = publish(application)
    (pending,) = listed()
    delivery = RequestAttempt.objects.get()
    assert pending == {
        "request_attempt_id": str(delivery.id), "delivery_id": str(delivery.id), "event_id": str(event.event_id),
        "event": {"event_id": str(event.event_id), "event_type_name": EVENT_TYPE},
        "subscription": {"subscription_id": str(subscription.id), "description": "the shop"},
        "created_at": pending["created_at"], "delay_until": pending["delay_until"], "retry_count": 0,
        "picked_at": None, "failed_at": None, "succeeded_at": None, "response_id": None,
        "http_response_status": None, "error_name": None, "lane_id": None, "lane_sequence": None,
        "progress": None,
        "status": {"type": "pending", "since": pending["status"]["since"], "until": None, "at": None,
                   "full_processing_ms": None},
    }  # fmt: skip
    assert abs(datetime.fromisoformat(pending["created_at"]) - delivery.created_at) < timedelta(seconds=1)

    (claimed,) = queue.claim(1)
    (running,) = listed()
    assert running["status"]["type"] == "in_progress"
    assert abs(datetime.fromisoformat(running["picked_at"]) - datetime.now(UTC)) < timedelta(seconds=5)
    queue.record([Ended(claimed, RETRY, FAILED, picked_at=datetime.now(UTC))])

    waiting, failed = listed()
    assert states([waiting, failed]) == ["waiting", "failed"]
    assert waiting["request_attempt_id"] == str(attempt_id(delivery.id, 2))
    assert (waiting["retry_count"], failed["retry_count"]) == (1, 0)
    assert waiting["status"]["until"] == waiting["delay_until"] > waiting["created_at"]
    assert (failed["request_attempt_id"], failed["created_at"]) == (str(delivery.id), pending["created_at"])
    assert (failed["http_response_status"], failed["error_name"]) == (500, "E_HTTP")
    assert failed["failed_at"] == failed["status"]["at"]
    assert failed["response_id"] == failed["request_attempt_id"]

    (claimed,) = queue.claim(1, now=datetime.now(UTC) + LATER)
    queue.record([Ended(claimed, DONE, OK)])
    successful, _ = listed()
    assert successful["request_attempt_id"] == waiting["request_attempt_id"]
    assert successful["status"]["type"] == "successful"
    assert successful["succeeded_at"] == successful["status"]["at"]
    assert successful["failed_at"] is None


def test_in_a_lane_the_head_has_the_tries_and_what_is_behind_it_is_pending(application, listed, queue):
    def in_line():
        return sorted(listed(), key=lambda each: (each["lane_sequence"], each["retry_count"]), reverse=True)

    make_fifo(application, fifo_on_exhausted="block")
    publish(application, 2)
    (claimed,) = queue.claim(10)
    assert states(in_line()) == ["pending", "in_progress"]
    queue.record([Ended(claimed, RETRY, FAILED)])
    behind, head, failed = in_line()
    assert states([behind, head, failed]) == ["pending", "waiting", "failed"]
    assert [each["lane_sequence"] for each in (behind, head, failed)] == [2, 1, 1]
    assert [each["retry_count"] for each in (behind, head, failed)] == [0, 1, 0]
    (claimed,) = queue.claim(10, now=datetime.now(UTC) + LATER)
    queue.record([Ended(claimed, Decision("block", reason="exhausted"), FAILED)])
    assert states(in_line()) == ["pending", "pending", "failed", "failed"]
    lanes.retry_head(Lane.objects.get().id, by=Operator("me"))
    ids = [each["request_attempt_id"] for each in in_line()]
    assert ids[1] == str(attempt_id(claimed.delivery_id, 3))
    assert len(set(ids)) == 4


def test_a_try_that_ended_after_its_lease_was_given_away_is_not_shown_twice(application, api, listed, queue):
    make_subscription(application)
    publish(application)
    (late,) = queue.claim(1)
    maintenance.reap(now=datetime.now(UTC) + LATER)
    queue.record([Ended(late, DONE, OK)])
    assert AttemptLog.objects.count() == 2
    assert [(each["retry_count"], each["error_name"]) for each in listed()] == [(1, None), (0, "E_WORKER_LOST")]
    answer = api.get(f"/responses/{late.delivery_id}", application_id=application.id)
    assert answer.json()["response_error_name"] == "E_WORKER_LOST"


@pytest.fixture
def history(application, queue):
    """Two subscriptions, one of them FIFO; events that succeeded, failed, and wait."""
    make_event_type(application, "shop.cart.left")
    loose = make_subscription(application, event_types=["billing.*", "shop.*"])
    fifo = make_fifo(application, event_types=["shop.*"])
    first = publish(application)[0]
    second = publish(application, event_type="shop.cart.left", labels={"shop": "1", "region": "eu"})[0]
    claimed = {(each.event_id, each.subscription_id): each for each in queue.claim(10)}
    timed_out = Outcome(E_TIMEOUT, elapsed_ms=15_000)
    queue.record(
        [
            Ended(claimed[first.event_id, loose.id], DONE, OK),
            Ended(claimed[second.event_id, loose.id], RETRY, FAILED),
            Ended(claimed[second.event_id, fifo.id], RETRY, timed_out),
        ]
    )
    third = publish(application)[0]
    return {"loose": loose, "fifo": fifo, "first": first, "second": second, "third": third}


ALL = {"first/loose/1", "second/loose/1", "second/loose/2", "second/fifo/1", "second/fifo/2", "third/loose/1"}


def named(attempts, history):
    ids = {str(getattr(each, "event_id", None) or each.pk): name for name, each in history.items()}
    return {
        f"{ids[each['event_id']]}/{ids[each['subscription']['subscription_id']]}/{each['retry_count'] + 1}"
        for each in attempts
    }


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ALL),
        ({"status": "pending"}, {"third/loose/1"}),
        ({"status": "waiting"}, {"second/loose/2", "second/fifo/2"}),
        ({"status": "in_progress"}, set()),
        ({"status": "successful"}, {"first/loose/1"}),
        ({"status": "failed"}, {"second/loose/1", "second/fifo/1"}),
        ({"status": "failed,pending"}, {"second/loose/1", "second/fifo/1", "third/loose/1"}),
        ({"error_name": "E_HTTP"}, {"second/loose/1"}),
        ({"error_name": "E_HTTP", "status": "successful"}, set()),
        ({"http_status": 200}, {"first/loose/1"}),
        ({"http_status": 500}, {"second/loose/1"}),
        ({"event.event_type_names": EVENT_TYPE}, {"first/loose/1", "third/loose/1"}),
        ({"event.event_type_names": "shop.*"}, ALL - {"first/loose/1", "third/loose/1"}),
        ({"event.event_type_names": f"shop.cart.left,{EVENT_TYPE}"}, ALL),
        ({"event.event_type_names": "shop.cart._eft"}, set()),
        ({"labels": "shop:1"}, ALL),
        ({"labels": ["region:eu", "shop:1"]}, ALL - {"first/loose/1", "third/loose/1"}),
        ({"labels": ["shop:1", "shop:2"]}, set()),
        ({"event_id": "second"}, {"second/loose/1", "second/loose/2", "second/fifo/1", "second/fifo/2"}),
        ({"subscription_id": "fifo"}, {"second/fifo/1", "second/fifo/2"}),
        ({"event_id": "second", "subscription_id": "loose"}, {"second/loose/1", "second/loose/2"}),
        ({"lane_id": "lane"}, {"second/fifo/1", "second/fifo/2"}),
        ({"delivery_id": "delivery"}, {"second/fifo/1", "second/fifo/2"}),
        ({"min_created_at": "third"}, {"third/loose/1"}),
        ({"max_created_at": "third"}, ALL),
        ({"max_created_at": "before"}, ALL - {"third/loose/1"}),
        ({"min_created_at": "9999-12-31T23:59:59.999999Z"}, set()),
        ({"max_created_at": "0001-01-01T00:00:00Z"}, set()),
        ({"event_id": uuid.UUID(int=7)}, set()),
        ({"subscription_id": uuid.UUID(int=7)}, set()),
        ({"delivery_id": uuid.UUID(int=2**128 - 1)}, set()),
    ],
)
def test_every_filter(history, listed, query, expected):
    lane = Lane.objects.get()
    third = RequestAttempt.objects.get(event__event_id=history["third"].event_id)
    known = {
        "second": history["second"].event_id,
        "loose": history["loose"].id,
        "fifo": history["fifo"].id,
        "lane": lane.id,
        "delivery": RequestAttempt.objects.get(lane=lane).id,
        "third": made_at(third.id).isoformat(),
        "before": (made_at(third.id) - timedelta(milliseconds=1)).isoformat(),
    }
    asked = {name: known.get(str(value), value) for name, value in query.items()}
    assert named(listed(**asked), history) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", "done"), ("status", "failed,,"), ("error_name", "E_X"), ("http_status", "ok"),
        ("event_id", "x"), ("subscription_id", "x"), ("delivery_id", "x"), ("lane_id", 0), ("lane_id", 2**63),
        ("min_created_at", "yesterday"), ("max_created_at", "x"), ("event.event_type_names", "a\0b"),
        ("labels", "shop"),
        ("pagination_cursor", "eA=="), ("pagination_cursor", "WyJub25zZW5zZSJd"),
    ],
)  # fmt: skip
def test_each_bad_filter_is_named(api, application, name, value):
    answer = api.get("/request_attempts/", application_id=application.id, **{name: value})
    assert set(problem(answer, 422, "Validation")["validation"]) == {name}


def test_pages_neither_skip_nor_repeat_while_deliveries_come_and_end(application, api, queue):
    """Eight subscriptions: one event makes eight attempts at one moment, and a page ends in the midst of them."""
    for number in range(8):
        make_subscription(application, fifo_mode=number % 2 == 0)
    publish(application, 4)
    before = {str(id_) for id_ in RequestAttempt.objects.values_list("id", flat=True)}
    seen = []
    address = "/request_attempts/"
    query = {"application_id": application.id, "limit": 5}
    while address:
        answer = api.get(address, **query)
        query = {}
        seen += [each["request_attempt_id"] for each in answer.json()]
        address = next_of(answer)
        publish(application)
        queue.record([Ended(each, DONE, OK) for each in queue.claim(4)])
    assert len(seen) == len(set(seen))
    assert set(seen) == before
    assert seen == sorted(seen, reverse=True)


def test_fifty_are_a_page_and_only_where_there_is_more_is_there_a_next(application, api, listed):
    make_subscription(application)
    publish(application, 50)
    assert len(listed()) == 50
    assert next_of(api.get("/request_attempts/", application_id=application.id)) is None
    publish(application)
    answer = api.get("/request_attempts/", application_id=application.id)
    assert len(answer.json()) == 50
    assert len(api.get(next_of(answer)).json()) == 1


def test_the_attempts_of_an_event_that_retention_has_taken_are_gone_with_it(history, listed, application):
    Event.objects.filter(event_id=history["second"].event_id).delete()
    assert named(listed(), history) == {"first/loose/1", "third/loose/1"}


def test_one_attempt_is_found_by_its_id_while_it_is_pending_and_when_it_has_ended(history, listed, api, application):
    for each in listed():
        answer = api.get(f"/request_attempts/{each['request_attempt_id']}", application_id=application.id)
        assert answer.json() == each
    delivery = uuid.UUID(listed()[0]["delivery_id"])
    for unknown in (uuid.uuid4(), uuid.UUID(int=2**128 - 1), attempt_id(delivery, 9)):
        answer = api.get(f"/request_attempts/{unknown}", application_id=application.id)
        problem(answer, 404, "NotFound")


def test_a_response_is_found_by_the_id_that_its_attempt_names(history, listed, api, application):
    answers = {}
    for each in listed():
        if each["response_id"]:
            answer = api.get(f"/responses/{each['response_id']}", application_id=application.id).json()
            assert answer.pop("response_id") == each["response_id"]
            answers[answer["response_error_name"]] = answer
    assert answers == {
        None: {"response_error_name": None, "http_code": 200, "headers": {"x-a": "b"}, "body": "thanks",
               "body_is_base64": False, "elapsed_time_ms": 12},
        "E_HTTP": {"response_error_name": "E_HTTP", "http_code": 500, "headers": {}, "body": "/w==",
                   "body_is_base64": True, "elapsed_time_ms": 3},
        "E_TIMEOUT": {"response_error_name": "E_TIMEOUT", "http_code": None, "headers": {}, "body": None,
                      "body_is_base64": False, "elapsed_time_ms": 15_000},
    }  # fmt: skip
    problem(api.get(f"/responses/{uuid.uuid4()}", application_id=application.id), 404, "NotFound")


@pytest.mark.parametrize("credentials", [as_application, lambda other: as_organization(other.organization)])
def test_nobody_sees_or_retries_what_is_not_theirs(history, listed, application, credentials):
    other = make_application()
    stranger = credentials(other)
    ended = listed(status="failed")[0]["request_attempt_id"]
    pending = listed(status="pending")[0]["request_attempt_id"]
    for path in ("/request_attempts/", f"/request_attempts/{ended}", f"/responses/{ended}"):
        problem(stranger.get(path, application_id=application.id), 403, "Forbidden")
    for id_ in (ended, pending):
        for path in (f"/request_attempts/{id_}", f"/responses/{id_}"):
            problem(stranger.get(path, application_id=other.id), 404, "NotFound")
        problem(stranger.post(f"/request_attempts/{id_}/retry", {}), 404, "NotFound")
    assert stranger.get("/request_attempts/", application_id=other.id).json() == []
    mine = {"application_id": other.id, "subscription_id": history["loose"].id, "event_id": history["first"].event_id}
    assert stranger.get("/request_attempts/", **mine).json() == []


def test_a_retry_is_asked_for_by_the_id_of_an_attempt(history, listed, api, application):
    failed = listed(status="failed", subscription_id=history["loose"].id)[0]["request_attempt_id"]
    assert api.post(f"/request_attempts/{failed}/retry", {"reason": "mended"}).status_code == 204
    assert RequestAttempt.objects.get(id=failed).priority == 150
    assert api.post(f"/request_attempts/{failed}/retry", raw=b"").status_code == 204
    problem(api.post(f"/request_attempts/{uuid.uuid4()}/retry", {}), 404, "NotFound")
    with connection.cursor() as cursor:
        cursor.execute("SELECT actor, reason FROM operator_action ORDER BY id")
        actor = str(application.secrets.get())
        assert cursor.fetchall() == [(actor, "mended"), (actor, "")]
