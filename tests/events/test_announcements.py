"""Events of hook0's own: what has gone wrong, and what has recovered, for whoever subscribes to that."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from delivery import lanes, maintenance
from delivery.audit import Operator
from delivery.finish import Report, finish
from delivery.models import DeadLetter, Lane, Tally
from delivery.pull import Wanted, poll
from delivery.tallies import slot_of
from events.announcements import announce
from events.models import Event
from subscriptions.models import Subscription, SubscriptionState
from tenants.models import EventType
from tenants.own_event_types import ANNOUNCEMENTS
from tests.clients import problem
from tests.factories import EVENT_TYPE, make_application, make_fifo, make_subscription, publish

pytestmark = pytest.mark.django_db(transaction=True)

PULL = {"target_type": "pull", "url": "", "max_in_flight": 1_000, "retry_policy": {"schedule_ms": []}}
OURS = {**PULL, "event_types": ["hook0.*"], "labels": {"source": "hook0"}}
BY = Operator("tester")


@pytest.fixture
def application(transactional_db):
    return make_application()


@pytest.fixture
def operators(application):
    """A subscription to everything that hook0 itself says."""
    return make_subscription(application, **OURS)


def handle(subscription, error=None):
    """What it gets, acknowledged or rejected."""
    pulled = poll(Subscription.objects.get(pk=subscription.pk), most=100, wanted=Wanted())
    finish(subscription, [Report(each.receipt, error) for each in pulled], by="tester")
    return pulled


def told(operators):
    """What was announced, by type and content."""
    return [(each.claimed.event_type, json.loads(each.claimed.payload)) for each in handle(operators)]


def test_a_delivery_that_is_given_up_is_told_once_with_all_one_wants_to_know(application, operators):
    failing = make_subscription(application, **PULL)
    (event,) = publish(application)
    (lost,) = handle(failing, error="no disk")
    assert announce() == 1
    ((event_type, details),) = told(operators)
    assert event_type == "hook0.delivery.exhausted"
    assert details["subscription_id"] == str(failing.pk)
    assert (details["delivery_id"], details["event_id"]) == (str(lost.claimed.delivery_id), str(event.event_id))
    assert (details["event_type"], details["reason"], details["tries"]) == (EVENT_TYPE, "exhausted", 1)
    assert details["last_error"] == "E_REJECTED"
    assert announce() == 0
    stored = Event.objects.get(event_type=event_type)
    assert stored.labels == {"source": "hook0", "subscription_id": str(failing.pk)}


def test_a_recovery_is_told_after_the_first_success_and_not_again(application, operators):
    failing = make_subscription(application, **PULL)
    publish(application)
    handle(failing, error="no")
    announce()
    assert [name for name, _ in told(operators)] == ["hook0.delivery.exhausted"]
    assert announce() == 0
    publish(application)
    handle(failing)
    announce()
    ((name, details),) = told(operators)
    assert (name, details["subscription_id"]) == ("hook0.delivery.recovered", str(failing.pk))
    publish(application)
    handle(failing)
    assert announce() == 0
    assert SubscriptionState.objects.filter(trouble_announced_at__isnull=False).count() == 0


def test_a_lane_that_stops_is_told_each_time_it_stops(application, operators):
    failing = make_fifo(application, **PULL, fifo_on_exhausted="block", fifo_key="ordering_key")
    publish(application, 2, ordering_key="k")
    for _ in range(2):
        handle(failing, error="no")
        assert announce() == 1
        assert announce() == 0
        ((name, details),) = told(operators)
        assert (name, details["key"], details["depth"]) == ("hook0.lane.blocked", "k", 2)
        lanes.retry_head(Lane.objects.get(subscription=failing).pk, by=BY)


def test_a_subscription_that_is_disabled_is_told_with_its_reason(application, operators):
    failing = make_subscription(application, disable_after_hours=1)
    two_hours_ago = datetime.now(UTC) - timedelta(hours=2)
    SubscriptionState.objects.filter(pk=failing.pk).update(failing_since=two_hours_ago)
    now = slot_of(datetime.now(UTC))
    Tally.objects.create(subscription=failing, slot=now, succeeded=False, latency=0, amount=1)
    assert maintenance.disable_failing() == [failing.pk]
    assert announce() == 1
    ((name, details),) = told(operators)
    assert (name, details["subscription_id"]) == ("hook0.subscription.disabled", str(failing.pk))
    assert details["reason"].startswith("Every request has failed since")
    assert announce() == 0


def test_what_an_operator_skips_or_disables_is_not_told(application, operators):
    failing = make_fifo(application, **PULL, fifo_on_exhausted="block")
    publish(application)
    lane = Lane.objects.get()
    lanes.skip_head(lane.pk, by=BY)
    Subscription.objects.filter(pk=failing.pk).update(is_enabled=False)
    assert DeadLetter.objects.count() == 1
    assert announce() == 0


def test_where_nobody_subscribes_nothing_is_made_of_it(application):
    failing = make_subscription(application, **PULL)
    publish(application)
    handle(failing, error="no")
    assert announce() == 0
    assert not Event.objects.filter(event_type__startswith="hook0.").exists()
    assert not EventType.objects.filter(service="hook0").exists()
    make_subscription(application, **OURS)
    assert announce() == 0  # what is past is past


def test_what_goes_wrong_with_announcements_is_not_announced(application, operators):
    failing = make_subscription(application, **PULL)
    publish(application)
    handle(failing, error="no")
    assert announce() == 1
    handle(operators, error="no")
    assert DeadLetter.objects.count() == 2
    for _ in range(3):
        assert announce() == 0
    assert DeadLetter.objects.filter(is_announced=False).count() == 0


def test_others_hear_nothing_of_it(application, operators):
    other = make_application()
    theirs, listening = make_subscription(other, **PULL), make_subscription(other, **OURS)
    publish(application)
    publish(other)
    handle(theirs, error="no")
    announce()
    assert told(operators) == []
    assert [details["subscription_id"] for _, details in told(listening)] == [str(theirs.pk)]


def test_a_backlog_is_told_round_by_round_and_whole(application, operators):
    failing = make_subscription(application, **PULL)
    publish(application, 250)
    while handle(failing, error="no"):
        pass
    assert (announce(), announce(), announce()) == (200, 50, 0)
    seen = told(operators) + told(operators) + told(operators)
    assert len({details["delivery_id"] for _, details in seen}) == 250


def test_clients_cannot_say_what_only_hook0_says(application, api, operators):
    failing = make_subscription(application, **PULL)
    publish(application)
    handle(failing, error="no")
    announce()
    event = {
        "application_id": application.id, "event_type": "hook0.delivery.exhausted", "payload": "{}",
        "payload_content_type": "application/json", "occurred_at": datetime.now(UTC), "labels": {"source": "hook0"},
    }  # fmt: skip
    refused = problem(api.post("/event/", event), 422, "Validation")
    assert refused["validation"]["event_type"][0]["code"] == "reserved"
    kind = {"application_id": application.id, "service": "hook0", "resource_type": "a", "verb": "b"}
    assert "service" in problem(api.post("/event_types/", kind), 422, "Validation")["validation"]
    kind["service"] = "hook0.delivery"
    assert "service" in problem(api.post("/event_types/", kind), 422, "Validation")["validation"]
    names = {each["event_type_name"] for each in api.get("/event_types/", application_id=application.id).json()}
    assert names == {EVENT_TYPE, "hook0.delivery.exhausted"}


def test_there_are_four_kinds_of_them():
    assert len(set(ANNOUNCEMENTS)) == 4
    assert all(name.count(".") == 2 for name in ANNOUNCEMENTS)


@pytest.mark.parametrize(
    ("sql", "index"),
    [
        ("dead_letter WHERE NOT is_announced ORDER BY died_at, id", "dead_letter_unannounced"),
        (
            "fifo_subscription_state WHERE phase = 3 AND (announced_since IS NULL OR NOT announced_since = since)",
            "lane_unannounced",
        ),
    ],
)
def test_what_is_to_be_announced_is_found_by_an_index(application, sql, index):
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN SELECT FROM {sql} LIMIT 1")
        assert index in str(cursor.fetchall())
