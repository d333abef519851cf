import uuid

import pytest

from tests.clients import ApiClient, as_application, as_organization, problem
from tests.factories import make_application, make_subscription, publish

pytestmark = pytest.mark.django_db
UNLIMITED = 2_147_483_647


@pytest.fixture
def organization(application):
    return application.organization


@pytest.fixture
def api(organization):
    return as_organization(organization)


def test_a_service_token_lists_exactly_its_organization(api, organization):
    make_application()
    answer = api.get("/organizations/")
    expected = {"organization_id": str(organization.id), "name": "Acme", "role": "editor", "plan": None}
    assert (answer.status_code, answer.json()) == (200, [expected])


def test_an_organization_is_shown_with_its_limits_and_what_it_has_used(api, organization):
    assert api.get(f"/organizations/{organization.id}").json() == {
        "organization_id": str(organization.id),
        "name": "Acme",
        "plan": None,
        "users": [],
        "quotas": {
            "members_per_organization_limit": UNLIMITED,
            "applications_per_organization_limit": UNLIMITED,
            "events_per_day_limit": UNLIMITED,
            "days_of_events_retention_limit": UNLIMITED,
        },
        "consumption": {"members": 0, "applications": 1, "events_per_day": None},
        "onboarding_steps": {"application": "Done", "event_type": "Done", "subscription": "ToDo", "event": "ToDo"},
    }


def test_a_step_is_done_when_one_of_the_applications_has_done_it(api, application, organization):
    make_subscription(make_application(organization=organization))
    publish(application)
    shown = api.get(f"/organizations/{organization.id}").json()
    assert shown["consumption"]["applications"] == 2
    assert set(shown["onboarding_steps"].values()) == {"Done"}


def test_what_is_deleted_or_a_neighbours_does_not_count(api, application, organization):
    neighbour = make_application()
    make_subscription(neighbour)
    publish(neighbour)
    assert api.delete(f"/applications/{application.id}").status_code == 204
    shown = api.get(f"/organizations/{organization.id}").json()
    assert shown["consumption"]["applications"] == 0
    assert set(shown["onboarding_steps"].values()) == {"ToDo"}


def test_another_organization_is_not_shown_whether_it_exists_or_not(api):
    for other in (make_application().organization_id, uuid.uuid4()):
        problem(api.get(f"/organizations/{other}"), 403, "Forbidden")


def test_an_application_secret_has_no_organization(application, organization):
    api = as_application(application)
    problem(api.get("/organizations/"), 403, "Forbidden")
    problem(api.get(f"/organizations/{organization.id}"), 403, "Forbidden")


def test_credentials_are_needed():
    problem(ApiClient(None).get("/organizations/"), 401, "AuthNoAuthorizationHeader")
