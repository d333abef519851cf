"""Keys if undelivered: what is kept of an event that was given up, and how it is found."""

import base64
from datetime import UTC, datetime

import pytest

from delivery import lanes
from delivery.audit import Operator
from delivery.finish import Report, finish
from delivery.models import Lane
from delivery.pull import Wanted, poll
from events import undelivered
from events.announcements import announce
from events.models import Event, Undelivered
from tests.clients import as_application, problem
from tests.factories import EVENT_TYPE, make_application, make_fifo, make_subscription, publish

pytestmark = pytest.mark.django_db(transaction=True)

PULL = {"target_type": "pull", "url": "", "max_in_flight": 1_000, "retry_policy": {"schedule_ms": [0]}}


@pytest.fixture
def application(transactional_db):
    return make_application()


@pytest.fixture
def failing(application):
    return make_subscription(application, **PULL)


def fail(subscription):
    """Every retry of all there is."""
    while pulled := poll(subscription, most=100, wanted=Wanted()):
        finish(subscription, [Report(each.receipt, "no") for each in pulled], by="tester")
    announce()


def post(api, application, keys):
    event = {
        "application_id": application.id, "event_type": EVENT_TYPE, "payload": "{}", "labels": {"shop": "1"},
        "payload_content_type": "application/json", "occurred_at": datetime.now(UTC), "keys_if_undelivered": keys,
    }  # fmt: skip
    return api.post("/event/", event)


def listed(api, application, *prefix):
    answer = api.get("/keys/", application_id=application.id, **({"prefix": prefix} if prefix else {}))
    assert answer.status_code == 200, answer.content
    return [each["path"] for each in answer.json()]


def test_what_has_used_up_its_retries_is_kept_under_the_keys_it_named(application, api, failing):
    keys = [["failed-payments", "ord-123"], ["alerts", "payment-failure", "ord-123"]]
    assert post(api, application, keys).status_code == 201
    assert listed(api, application) == []
    fail(failing)
    assert listed(api, application) == sorted(keys)
    (kept,) = api.get("/keys/", application_id=application.id, prefix="failed-payments").json()
    event = Event.objects.get()
    assert (kept["event_id"], kept["event_type"], kept["reason"]) == (str(event.event_id), EVENT_TYPE, "exhausted")
    assert base64.b64decode(kept["payload"]) == b"{}"
    assert kept["subscription_id"] == str(failing.pk)
    assert api.get(f"/keys/{kept['key_id']}/").json() == kept


def test_what_blocks_its_lane_is_kept_as_well_and_stays_when_somebody_skips_it(application, api):
    lane = make_fifo(application, **PULL, fifo_on_exhausted="block")
    post(api, application, [["a"]])
    post(api, application, [["b"]])
    fail(lane)
    assert listed(api, application) == [["a"]]
    (kept,) = api.get("/keys/", application_id=application.id).json()
    assert (kept["reason"], kept["subscription_id"]) == ("exhausted", str(lane.pk))
    lanes.skip_head(Lane.objects.get().pk, by=Operator("tester"))
    announce()
    assert listed(api, application) == [["a"]]


def test_what_is_delivered_is_not_kept(application, api, failing):
    post(api, application, [["a"]])
    pulled = poll(failing, most=1, wanted=Wanted())
    finish(failing, [Report(each.receipt) for each in pulled], by="tester")
    announce()
    assert listed(api, application) == []


def test_a_prefix_is_of_whole_parts_and_of_their_order(application, api, failing):
    keys = [["a"], ["a", "b"], ["a", "b", "c"], ["a", "bb"], ["a", "é"], ["aa"], ["b", "a"], ["Z"]]
    assert post(api, application, keys).status_code == 201
    fail(failing)
    assert listed(api, application, "a") == [["a"], ["a", "b"], ["a", "b", "c"], ["a", "bb"], ["a", "é"]]
    assert listed(api, application, "a", "b") == [["a", "b"], ["a", "b", "c"]]
    assert listed(api, application, "b") == [["b", "a"]]
    assert listed(api, application, "c") == []
    assert listed(api, application)[0] == ["Z"]


def test_lists_go_on_in_pages(application, api, failing):
    post(api, application, [["k", str(number)] for number in range(5)])
    fail(failing)
    answer = api.get("/keys/", application_id=application.id, prefix="k", limit=3)
    assert [each["path"][1] for each in answer.json()] == ["0", "1", "2"]
    path = answer["Link"].partition("/api/v1")[2].partition(">")[0]
    assert [each["path"][1] for each in api.get(path).json()] == ["3", "4"]


def test_the_latest_counts_and_one_that_is_deleted_is_gone(application, api, failing):
    for payload in (b"1", b"2"):
        publish(application, payload=payload, keys_if_undelivered=[["k"]])
        fail(failing)
    (kept,) = api.get("/keys/", application_id=application.id).json()
    assert base64.b64decode(kept["payload"]) == b"2"
    assert api.delete(f"/keys/{kept['key_id']}/").status_code == 204
    assert listed(api, application) == []
    problem(api.get(f"/keys/{kept['key_id']}/"), 404, "NotFound")


def test_there_are_no_more_than_so_many_and_the_oldest_go(application, api, failing, monkeypatch):
    monkeypatch.setattr(undelivered, "MOST", 3)
    for number in range(5):
        publish(application, keys_if_undelivered=[[str(number)]])
        fail(failing)
    assert listed(api, application) == [["2"], ["3"], ["4"]]


def test_nobody_else_sees_or_takes_it(application, api, failing):
    post(api, application, [["k"]])
    fail(failing)
    stranger = as_application(make_application())
    key = Undelivered.objects.get().pk
    problem(stranger.get(f"/keys/{key}/"), 404, "NotFound")
    problem(stranger.delete(f"/keys/{key}/"), 404, "NotFound")
    problem(stranger.get("/keys/", application_id=application.id), 403, "Forbidden")


@pytest.mark.parametrize(
    "keys",
    [
        "k",
        ["k"],
        [[]],
        [[""]],
        [["a" * 101]],
        [["a"] * 11],
        [["a"]] * 11,
        [[1]],
        [["a\x01"]],
        [["\0"]],
        [None],
        {"a": 1},
    ],
)
def test_what_is_no_list_of_keys_is_refused_by_name(application, api, keys):
    refused = problem(post(api, application, keys), 422, "Validation")
    assert refused["validation"].keys() == {"keys_if_undelivered"}
