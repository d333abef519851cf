"""`/lanes/` and `/operator_actions/`: how lanes are found, shown and acted upon."""

from datetime import UTC, datetime, timedelta

import pytest

from delivery.attempt_ids import attempt_id
from delivery.models import DeadLetter, Lane, OperatorAction, Phase, RequestAttempt
from delivery.outcome import E_HTTP, Outcome
from delivery.queue import Ended
from delivery.reconfigure import delete
from delivery.retry import Decision
from events.models import Event
from tenants.principal import Operator
from tests.clients import as_application, as_organization, problem
from tests.factories import EVENT_TYPE, make_application, make_fifo, publish

FAILED = Outcome(E_HTTP, http_status=500)


@pytest.fixture
def subscription(application):
    return make_fifo(application, fifo_key="ordering_key", fifo_on_exhausted="block")


@pytest.fixture
def blocked(application, subscription, queue):
    """Three lanes: `a` and `b` are blocked, b for longer, with two events each; `c` waits."""
    for key in "aab":
        publish(application, ordering_key=key)
    queue.record([Ended(each, Decision("block", reason="exhausted"), FAILED) for each in queue.claim(10)])
    publish(application, ordering_key="b")
    publish(application, ordering_key="c")
    Lane.objects.filter(key="b").update(since=datetime.now(UTC) - timedelta(hours=1))
    return {lane.key: lane for lane in Lane.objects.all()}


def keys(answer):
    assert answer.status_code == 200, answer.content
    return [each["key"] for each in answer.json()]


def test_lanes_are_listed_by_subscription_state_and_key(api, application, subscription, blocked):
    def listed(**query):
        return keys(api.get("/lanes/", application_id=application.id, **query))

    other = make_fifo(application)
    publish(application, ordering_key="a")
    assert listed() == ["a", "b", "c", ""]
    assert listed(subscription_id=other.id) == [""]
    assert listed(state="waiting") == ["c", ""]
    assert listed(state="paused") == []
    assert (listed(key="b"), listed(key="")) == (["b"], [""])
    assert listed(subscription_id=subscription.id, key="") == []


def test_of_the_blocked_those_that_fail_longest_come_first_in_pages(api, application, blocked):
    first = api.get("/lanes/", application_id=application.id, state="blocked", limit=1)
    assert keys(first) == ["b"]
    cursor = first.headers["Link"].partition("pagination_cursor=")[2].partition("&")[0].partition(">")[0]
    cursor = cursor.replace("%3D", "=")
    rest = api.get("/lanes/", application_id=application.id, state="blocked", pagination_cursor=cursor)
    assert (keys(rest), "Link" in rest.headers) == (["a"], False)


def test_pages_go_on_within_and_across_subscriptions(api, application, blocked):
    make_fifo(application, fifo_key="ordering_key")
    for key in "abc":
        publish(application, ordering_key=key)
    seen, query = [], {"limit": 2}
    while True:
        answer = api.get("/lanes/", application_id=application.id, **query)
        seen += [each["lane_id"] for each in answer.json()]
        if "Link" not in answer.headers:
            break
        query["pagination_cursor"] = answer.headers["Link"].partition("pagination_cursor=")[2][:-13].replace("%3D", "=")
    assert sorted(seen) == sorted(Lane.objects.values_list("id", flat=True))
    assert len(seen) == 6


def test_a_lane_is_shown_with_its_head(api, application, subscription, blocked):
    lane = blocked["b"]
    delivery = RequestAttempt.objects.get(lane=lane, lane_seq=1)
    shown = api.get(f"/lanes/{lane.id}").json()
    head = shown.pop("head")
    (listed,) = api.get("/lanes/", application_id=application.id, key="b").json()
    assert shown == listed
    assert {name: shown[name] for name in ("lane_id", "subscription_id", "state", "depth", "tries", "next_try_at")} == {
        "lane_id": lane.id,
        "subscription_id": str(subscription.id),
        "state": "blocked",
        "depth": 2,
        "tries": 1,
        "next_try_at": None,
    }
    assert (shown["head_number"], shown["tail_number"], shown["is_paused"]) == (1, 2, False)
    assert datetime.fromisoformat(shown["blocked_since"]) == lane.since
    assert head.pop("age_seconds") >= 0
    assert datetime.fromisoformat(head.pop("last_tried_at")) <= datetime.now(UTC)
    assert datetime.fromisoformat(head.pop("created_at")) == delivery.created_at
    assert head == {
        "delivery_id": str(delivery.id),
        "request_attempt_id": str(attempt_id(delivery.id, 1)),
        "event_id": str(Event.objects.get(id=delivery.event_id).event_id),
        "event_type": EVENT_TYPE,
        "tries": 1,
        "last_error": "E_HTTP",
        "last_http_status": 500,
    }


def test_a_lane_that_waits_says_until_when_and_an_empty_one_has_no_head(api, blocked):
    waiting = api.get(f"/lanes/{blocked['c'].id}").json()
    assert datetime.fromisoformat(waiting["next_try_at"]) == blocked["c"].ready_at
    assert (waiting["blocked_since"], waiting["head"]["last_error"], waiting["head"]["tries"]) == (None, None, 0)
    emptied = api.post(f"/lanes/{blocked['c'].id}/purge", {}).json()
    assert (emptied["state"], emptied["depth"], emptied["head"]) == ("empty", 0, None)


@pytest.mark.parametrize(
    ("verb", "state", "head_number"),
    [
        ("retry", "waiting", 1),
        ("skip", "waiting", 2),
        ("pause", "blocked", 1),
        ("resume", "blocked", 1),
        ("reset", "waiting", 1),
        ("purge", "empty", 3),
    ],
)
def test_every_verb_answers_the_lane_as_it_is_then_and_is_on_the_record(
    api, application, blocked, verb, state, head_number
):
    answer = api.post(f"/lanes/{blocked['a'].id}/{verb}", {"reason": "it is mended"})
    assert answer.status_code == 200
    lane = answer.json()
    assert (lane["state"], lane["head_number"], lane["is_paused"]) == (state, head_number, verb == "pause")
    assert lane == api.get(f"/lanes/{blocked['a'].id}").json() | ({"head": lane["head"]} if lane["head"] else {})
    (action,) = api.get("/operator_actions/", application_id=application.id).json()
    assert (action["action"], action["reason"], action["lane_id"]) == (verb, "it is mended", blocked["a"].id)
    assert action["actor"].startswith("unnamed (…")
    assert action["details"] == {"phase": "blocked", "head_seq": 1, "tail_seq": 2}


def test_skipping_to_a_number_leaves_dead_letters(api, blocked):
    address = f"/lanes/{blocked['a'].id}/skip_to"
    problem(api.post(address, {"number": 4}), 409, "LaneConflict")
    assert set(problem(api.post(address, {}), 422, "Validation")["validation"]) == {"number"}
    assert api.post(address, {"number": 3, "reason": "both are stale"}).json()["state"] == "empty"
    assert DeadLetter.objects.filter(reason="skipped").count() == 2
    problem(api.post(f"/lanes/{blocked['a'].id}/skip", {}), 409, "LaneConflict")


def test_a_reason_may_be_left_out_and_must_be_short(api, blocked):
    address = f"/lanes/{blocked['a'].id}/pause"
    assert api.post(address, raw=b"").status_code == 200
    assert set(problem(api.post(address, {"reason": "x" * 501}), 422, "Validation")["validation"]) == {"reason"}
    bounded = api.post(address, {"reason": " " + "x" * 500})  # is not made to fit
    assert set(problem(bounded, 422, "Validation")["validation"]) == {"reason"}
    assert OperatorAction.objects.get().reason == ""


def test_all_blocked_lanes_of_a_subscription_are_tried_again_over_a_while(api, subscription, blocked):
    address = f"/subscriptions/{subscription.id}/retry_blocked"
    problem(api.post(address, {"over_seconds": -1}), 422, "Validation")
    assert api.post(address, {"over_seconds": 600, "reason": "it is back"}).json() == {"lanes": 2}
    assert not Lane.objects.filter(phase=Phase.BLOCKED).exists()
    assert Lane.objects.filter(ready_at__gt=datetime.now(UTC)).exists()
    assert api.post(address, {}).json() == {"lanes": 0}


def test_the_record_can_be_narrowed_and_outlives_its_subscription(api, application, subscription, blocked):
    def actions(**query):
        listed = api.get("/operator_actions/", application_id=application.id, **query).json()
        return [each["action"] for each in listed]

    api.post(f"/lanes/{blocked['a'].id}/pause", {})
    api.post(f"/lanes/{blocked['b'].id}/skip", {})
    other = make_fifo(application)
    delete(other.id, by=Operator("me"))
    delete(subscription.id, by=Operator("me"))
    assert actions() == ["delete_subscription", "delete_subscription", "skip", "pause"]
    assert actions(subscription_id=subscription.id) == ["delete_subscription", "skip", "pause"]
    assert actions(lane_id=blocked["a"].id) == ["pause"]
    assert actions(subscription_id=other.id, lane_id=blocked["a"].id) == []


def test_strangers_reach_no_lane_and_see_no_record(application, subscription, blocked):
    other = make_application()
    sibling = make_application(organization=application.organization)
    lane = blocked["a"].id
    for stranger in (as_application(other), as_organization(other.organization), as_application(sibling)):
        for lane_id in (lane, lane + 1_000_000, 10**30):
            problem(stranger.get(f"/lanes/{lane_id}"), 404, "NotFound")
            for verb in ("retry", "skip", "skip_to", "pause", "resume", "reset", "purge"):
                problem(stranger.post(f"/lanes/{lane_id}/{verb}", {"number": 2}), 404, "NotFound")
        problem(stranger.post(f"/subscriptions/{subscription.id}/retry_blocked", {}), 404, "NotFound")
        for address in ("/lanes/", "/operator_actions/"):
            problem(stranger.get(address, application_id=application.id), 403, "Forbidden")
    assert not OperatorAction.objects.exists()
    assert as_application(other).get("/lanes/", application_id=other.id, subscription_id=subscription.id).json() == []
    assert keys(as_organization(application.organization).get("/lanes/", application_id=application.id, key="a")) == [
        "a"
    ]
