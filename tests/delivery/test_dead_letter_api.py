"""`/dead_letters/` and `/deliveries/cancel/`."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from delivery.models import DeadLetter, Lane, OperatorAction, RequestAttempt
from delivery.outcome import E_HTTP, Outcome
from delivery.queue import Ended
from delivery.retry import Decision
from tests.clients import as_application, as_organization, problem
from tests.factories import make_application, make_event_type, make_fifo, make_subscription, publish

OTHER_TYPE = "crm.person.left"


@pytest.fixture
def letters(application, queue):
    """Three, oldest first: exhausted and gone of one subscription, exhausted of a FIFO one."""
    make_event_type(application, OTHER_TYPE)
    first = make_subscription(application, event_types=["billing.*"])
    second = make_fifo(application, event_types=["crm.*"])
    for subscription, event_type, reason in [
        (first, "billing.invoice.paid", "exhausted"),
        (first, "billing.invoice.paid", "gone"),
        (second, OTHER_TYPE, "exhausted"),
    ]:
        publish(application, event_type=event_type)
        (claimed,) = queue.claim(1)
        assert claimed.subscription_id == subscription.id
        queue.record([Ended(claimed, Decision("dead", reason=reason), Outcome(E_HTTP, http_status=500))])
    return list(DeadLetter.objects.select_related("event").order_by("died_at"))


def test_they_are_listed_latest_first_and_can_be_narrowed(api, application, letters):
    def listed(**query):
        answer = api.get("/dead_letters/", application_id=application.id, **query)
        assert answer.status_code == 200, answer.content
        ids = [each["dead_letter_id"] for each in answer.json()]
        return [[str(letter.id) for letter in letters].index(each) for each in ids]

    assert listed() == [2, 1, 0]
    assert listed(subscription_id=letters[0].subscription_id) == [1, 0]
    assert listed(reason="exhausted") == [2, 0]
    assert listed(event_type=OTHER_TYPE) == [2]
    assert listed(min_died_at=letters[1].died_at.isoformat()) == [2, 1]
    assert listed(max_died_at=letters[1].died_at.isoformat()) == [1, 0]
    assert listed(reason="gone", event_type=OTHER_TYPE) == []
    assert listed(limit=2) == [2, 1]
    assert "Link" in api.get("/dead_letters/", application_id=application.id, limit=2).headers
    bad = problem(api.get("/dead_letters/", application_id=application.id, reason="bored"), 422, "Validation")
    assert set(bad["validation"]) == {"reason"}


def test_one_is_shown_as_in_the_list(api, application, letters):
    letter = letters[2]
    shown = api.get(f"/dead_letters/{letter.id}").json()
    assert shown == api.get("/dead_letters/", application_id=application.id).json()[0]
    assert datetime.fromisoformat(shown.pop("died_at")) == letter.died_at
    assert datetime.fromisoformat(shown.pop("created_at")) == letter.created_at
    assert shown == {
        "dead_letter_id": str(letter.id),
        "subscription_id": str(letter.subscription_id),
        "event_id": str(letter.event.event_id),
        "event_type": OTHER_TYPE,
        "reason": "exhausted",
        "tries": 1,
        "last_error": "E_HTTP",
        "last_http_status": 500,
        "lane_id": Lane.objects.get().id,
        "number": 1,
    }


def test_one_is_sent_again_or_let_go_on_the_record(api, application, letters):
    assert api.post(f"/dead_letters/{letters[0].id}/requeue", {"reason": "mended"}).status_code == 204
    assert RequestAttempt.objects.get().event_id == letters[0].event_id
    assert api.delete(f"/dead_letters/{letters[1].id}").status_code == 204
    for gone in letters[:2]:
        problem(api.get(f"/dead_letters/{gone.id}"), 404, "NotFound")
        problem(api.delete(f"/dead_letters/{gone.id}"), 404, "NotFound")
        problem(api.post(f"/dead_letters/{gone.id}/requeue", {}), 404, "NotFound")
    recorded = api.get("/operator_actions/", application_id=application.id).json()
    assert [(each["action"], each["reason"]) for each in recorded] == [
        ("delete_dead_letter", ""),
        ("requeue", "mended"),
    ]


def test_a_purge_takes_what_the_filters_select(api, application, letters):
    def purge(**query):
        return api.delete("/dead_letters/", application_id=application.id, **query).json()

    assert purge(min_died_at=(datetime.now(UTC) + timedelta(hours=1)).isoformat()) == {"purged": 0}
    assert purge(reason="exhausted", event_type=OTHER_TYPE) == {"purged": 1}
    assert set(DeadLetter.objects.all()) == set(letters[:2])
    assert purge() == {"purged": 2}
    problem(api.delete("/dead_letters/"), 422, "Validation")


def test_the_stats_count_by_subscription_and_reason(api, application, letters):
    stats = api.get("/dead_letters/stats", application_id=application.id).json()
    first, second = str(letters[0].subscription_id), str(letters[2].subscription_id)
    assert [(each["subscription_id"], each["reason"], each["amount"]) for each in stats] == sorted(
        [(first, "exhausted", 1), (first, "gone", 1), (second, "exhausted", 1)]
    )
    assert datetime.fromisoformat(stats[0]["first_died_at"]) == letters[0].died_at


def test_strangers_reach_no_dead_letter(application, letters):
    other = make_application()
    for stranger in (as_application(other), as_organization(other.organization)):
        for letter_id in (letters[0].id, uuid.uuid4()):
            problem(stranger.get(f"/dead_letters/{letter_id}"), 404, "NotFound")
            problem(stranger.delete(f"/dead_letters/{letter_id}"), 404, "NotFound")
            problem(stranger.post(f"/dead_letters/{letter_id}/requeue", {}), 404, "NotFound")
        for address in ("/dead_letters/", "/dead_letters/stats"):
            problem(stranger.get(address, application_id=application.id), 403, "Forbidden")
        problem(stranger.delete("/dead_letters/", application_id=application.id), 403, "Forbidden")
        theirs = {"application_id": other.id, "subscription_id": letters[0].subscription_id}
        assert stranger.get("/dead_letters/", **theirs).json() == []
        assert stranger.delete("/dead_letters/", **theirs).json() == {"purged": 0}
    assert DeadLetter.objects.count() == 3


@pytest.fixture
def pending(application):
    """Four deliveries: two of a blue event, one of a red one, one of another application."""
    for _ in range(2):
        make_fifo(application, labels={"color": "blue"})
    make_subscription(application, labels={"color": "red"})
    (blue,) = publish(application, labels={"color": "blue"})
    publish(application, labels={"color": "red"})
    neighbour = make_application(organization=application.organization)
    make_fifo(neighbour, labels={"color": "blue"})
    publish(neighbour, labels={"color": "blue"}, event_id=blue.event_id)
    return blue


def cancelled():
    return RequestAttempt.objects.filter(is_cancelled=True)


def test_pending_deliveries_are_called_off_by_their_ids(api, application, pending):
    mine = [str(each.id) for each in RequestAttempt.objects.filter(subscription__application=application)]
    theirs = str(RequestAttempt.objects.exclude(subscription__application=application).get().id)
    ids = [*mine[:2], theirs]
    answer = api.post("/deliveries/cancel", {"application_id": application.id, "delivery_ids": ids, "reason": "no"})
    assert answer.json() == {"cancelled": 2, "unknown": [theirs]}
    assert {str(each.id) for each in cancelled()} == set(mine[:2])
    assert {each.reason for each in OperatorAction.objects.all()} == {"no"}
    again = api.post("/deliveries/cancel", {"application_id": application.id, "delivery_ids": mine[:2]})
    assert again.json() == {"cancelled": 0, "unknown": []}


def test_they_are_called_off_by_event_and_by_labels(api, application, pending):
    of_the_event = {"application_id": application.id, "event_id": pending.event_id, "labels": {"color": "red"}}
    assert api.post("/deliveries/cancel", of_the_event).json() == {"cancelled": 0, "unknown": []}
    of_the_event.pop("labels")
    assert api.post("/deliveries/cancel", of_the_event).json() == {"cancelled": 2, "unknown": []}
    red = {"application_id": application.id, "labels": {"color": "red"}}
    assert api.post("/deliveries/cancel", red).json() == {"cancelled": 1, "unknown": []}
    assert set(cancelled().values_list("subscription__application", flat=True)) == {application.id}


def test_nothing_is_called_off_by_accident_or_by_strangers(api, application, pending):
    bad = problem(api.post("/deliveries/cancel", {"application_id": application.id}), 422, "Validation")
    assert set(bad["validation"]) == {"delivery_ids"}
    problem(api.post("/deliveries/cancel", {"application_id": application.id, "labels": {}}), 422, "Validation")
    for stranger in (make_application(), make_application(organization=application.organization)):
        body = {"application_id": application.id, "event_id": pending.event_id}
        problem(as_application(stranger).post("/deliveries/cancel", body), 403, "Forbidden")
    assert not cancelled().exists()
