"""Quotas, through the API: what the most is, and that they cost nothing where they are off."""

import threading
import uuid
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from django.db import connection

from events.models import Event, EventCount
from subscriptions.models import Subscription
from tenants.api.event_types import declare
from tenants.models import EventType
from tenants.problems import TooManyEventTypesPerApplication
from tests.clients import ApiClient, as_organization, problem
from tests.factories import EVENT_TYPE, make_application, publish

UNLIMITED = 2_147_483_647
KINDS = (
    "members_per_organization", "applications_per_organization", "events_per_day", "days_of_events_retention",
    "subscriptions_per_application", "event_types_per_application",
)  # fmt: skip


@pytest.fixture
def enforced(settings):
    settings.QUOTAS_ENFORCED = True
    settings.APPLICATIONS_PER_ORGANIZATION = settings.SUBSCRIPTIONS_PER_APPLICATION = 2
    settings.EVENT_TYPES_PER_APPLICATION = settings.EVENTS_PER_DAY = 2


@pytest.fixture
def api(application):
    return as_organization(application.organization)


def create_application(api, application):
    return api.post("/applications/", {"organization_id": application.organization_id, "name": "One more"})


def create_event_type(api, application, verb):
    body = {"application_id": application.id, "service": "shop", "resource_type": "cart", "verb": verb}
    return api.post("/event_types/", body)


def create_subscription(api, application):
    target = {"type": "http", "method": "POST", "url": "https://example.com/", "headers": {}}
    body = {"is_enabled": True, "event_types": [EVENT_TYPE], "labels": {"shop": "1"}, "target": target}
    return api.post("/subscriptions/", {"application_id": application.id, **body})


def send_event(api, application, **overrides):
    body = {
        "application_id": application.id,
        "event_type": EVENT_TYPE,
        "payload": "x",
        "payload_content_type": "text/plain",
        "occurred_at": "2026-01-02T03:04:05Z",
        "labels": {"shop": "1"},
        **overrides,
    }
    return api.post("/event/", body)


def test_there_are_no_limits_by_default():
    answer = ApiClient(None).get("/quotas/")
    assert answer.json() == {"enabled": False, "limits": {f"global_{kind}_limit": UNLIMITED for kind in KINDS}}


def test_the_limits_that_are_enforced_are_told(enforced):
    answer = ApiClient(None).get("/quotas/").json()
    assert answer["enabled"] is True
    assert answer["limits"] == {f"global_{kind}_limit": 2 for kind in KINDS} | {
        "global_members_per_organization_limit": UNLIMITED,
        "global_days_of_events_retention_limit": UNLIMITED,
    }


def test_an_organization_has_so_many_applications_at_a_time(enforced, api, application):
    make_application()
    assert create_application(api, application).status_code == 201
    problem(create_application(api, application), 429, "TooManyApplicationsPerOrganization")
    assert api.delete(f"/applications/{application.id}").status_code == 204
    assert create_application(api, application).status_code == 201


def test_an_application_has_so_many_active_event_types(enforced, api, application):
    assert create_event_type(api, application, "left").status_code == 201
    assert create_event_type(api, application, "left").status_code == 201
    problem(create_event_type(api, application, "paid"), 429, "TooManyEventTypesPerApplication")
    assert api.delete("/event_types/shop.cart.left", application_id=application.id).status_code == 204
    assert create_event_type(api, application, "paid").status_code == 201
    problem(create_event_type(api, application, "left"), 429, "TooManyEventTypesPerApplication")


def test_an_application_has_so_many_subscriptions(enforced, api, application):
    for _ in range(2):
        assert create_subscription(api, application).status_code == 201
    problem(create_subscription(api, application), 429, "TooManySubscriptionsPerApplication")
    assert Subscription.objects.count() == 2
    neighbour = make_application(organization=application.organization)
    assert create_subscription(api, neighbour).status_code == 201


def test_an_application_sends_so_many_events_a_day(enforced, api, application):
    for _ in range(2):
        assert send_event(api, application).status_code == 201
    problem(send_event(api, application), 429, "TooManyEventsToday")
    assert Event.objects.count() == 2
    neighbour = make_application(organization=application.organization)
    assert send_event(api, neighbour).status_code == 201
    EventCount.objects.update(day="2026-01-01")  # a day passes
    assert send_event(api, application).status_code == 201


def test_an_event_that_is_not_stored_is_not_counted(enforced, api, application):
    mine = uuid.uuid4()
    assert send_event(api, application, event_id=mine).status_code == 201
    problem(send_event(api, application, event_id=mine), 409, "EventAlreadyIngested")
    problem(send_event(api, application, event_type="a.b.c"), 400, "EventTypeDoesNotExist")
    assert send_event(api, application).status_code == 201
    problem(send_event(api, application, event_id=mine), 409, "EventAlreadyIngested")


def test_what_was_sent_today_is_shown(enforced, api, application):
    publish(application)
    publish(make_application(organization=application.organization))
    EventCount.objects.create(application=application, day="2026-01-01", amount=5)
    shown = api.get(f"/applications/{application.id}").json()
    assert shown["consumption"] == {"events_per_day": 1}
    assert shown["quotas"] == {"events_per_day_limit": 2, "days_of_events_retention_limit": UNLIMITED}
    shown = api.get(f"/organizations/{application.organization_id}").json()
    assert shown["consumption"] == {"members": 0, "applications": 2, "events_per_day": 2}
    assert shown["quotas"]["applications_per_organization_limit"] == 2
    assert EventCount.objects.get(application=application, amount=1).day == datetime.now(UTC).date()


def test_nothing_is_asked_or_counted_where_they_are_off(application, monkeypatch):
    monkeypatch.setattr("events.quota.run", lambda *_: pytest.fail("the quota was asked for"))
    publish(application)
    assert not EventCount.objects.exists()


def test_who_comes_at_the_same_time_does_not_get_more(enforced, transactional_db):
    application = make_application()
    together = threading.Barrier(4)

    def create(number):
        together.wait(10)
        with suppress(TooManyEventTypesPerApplication):
            declare(application_id=application.id, service="shop", resource_type="cart", verb=f"n{number}")
        connection.close()

    threads = [threading.Thread(target=create, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert EventType.objects.filter(deactivated_at=None).count() == 2
