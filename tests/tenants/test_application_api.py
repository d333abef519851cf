import uuid

import pytest

from delivery.models import RequestAttempt
from subscriptions.models import Subscription
from tenants.models import Application, ApplicationSecret
from tests.clients import as_application, as_organization, problem
from tests.factories import make_application, make_fifo, make_subscription, publish

pytestmark = pytest.mark.django_db
UNLIMITED = 2_147_483_647


@pytest.fixture
def api(application):
    return as_organization(application.organization)


def test_an_application_is_created_with_a_default_secret_that_is_not_returned(api, application):
    answer = api.post("/applications/", {"organization_id": application.organization_id, "name": "Blog"})
    created = Application.objects.exclude(id=application.id).get()
    assert answer.status_code == 201
    assert answer.json() == {
        "application_id": str(created.id),
        "organization_id": str(application.organization_id),
        "name": "Blog",
    }
    assert ApplicationSecret.objects.get(application=created).name == "Default"


@pytest.mark.parametrize("name", ["", "x", "x" * 51, "a\nb", None])
def test_a_bad_name_is_refused(api, application, name):
    answer = api.post("/applications/", {"organization_id": application.organization_id, "name": name})
    assert set(problem(answer, 422, "Validation")["validation"]) == {"name"}
    problem(api.put(f"/applications/{application.id}", {"name": name}), 422, "Validation")


def test_the_list_has_the_applications_of_the_organization_oldest_first(api, application):
    make_application()
    second = make_application(organization=application.organization)
    gone = make_application(organization=application.organization)
    assert api.delete(f"/applications/{gone.id}").status_code == 204
    for query in ({"organization_id": application.organization_id}, {}):
        listed = api.get("/applications/", **query).json()
        assert [each["application_id"] for each in listed] == [str(application.id), str(second.id)]
    assert api.get("/applications/", limit=1).headers["Link"].endswith('>; rel="next"')


def test_an_application_is_shown_with_its_limits_and_what_it_has_used(api, application):
    assert api.get(f"/applications/{application.id}").json() == {
        "application_id": str(application.id),
        "organization_id": str(application.organization_id),
        "name": "Shop",
        "quotas": {"events_per_day_limit": UNLIMITED, "days_of_events_retention_limit": UNLIMITED},
        "consumption": {"events_per_day": None},
        "onboarding_steps": {"event_type": "Done", "subscription": "ToDo", "event": "ToDo"},
    }
    make_subscription(application)
    publish(application)
    steps = api.get(f"/applications/{application.id}").json()["onboarding_steps"]
    assert steps == {"event_type": "Done", "subscription": "Done", "event": "Done"}


def test_a_new_name_is_taken_and_the_organization_is_not(api, application):
    elsewhere = make_application().organization_id
    answer = api.put(f"/applications/{application.id}", {"organization_id": elsewhere, "name": "Market"})
    assert answer.json() == {
        "application_id": str(application.id),
        "organization_id": str(application.organization_id),
        "name": "Market",
    }
    application.refresh_from_db()
    assert (application.name, application.organization_id != elsewhere) == ("Market", True)


def test_a_deleted_application_goes_with_its_secrets_its_subscriptions_and_its_work(api, application):
    neighbour = make_application(organization=application.organization)
    for each in (application, neighbour):
        make_subscription(each)
        make_fifo(each)
        publish(each, 2)
    inside = as_application(application)
    assert api.delete(f"/applications/{application.id}").status_code == 204
    problem(inside.get("/event_types/", application_id=application.id), 403, "AuthInvalidBiscuit")
    problem(api.get(f"/applications/{application.id}"), 403, "Forbidden")
    problem(api.delete(f"/applications/{application.id}"), 403, "Forbidden")
    theirs = set(Subscription.objects.filter(application=neighbour).values_list("id", flat=True))
    assert set(Subscription.objects.filter(deleted_at=None).values_list("id", flat=True)) == theirs
    assert set(RequestAttempt.objects.values_list("subscription_id", flat=True)) == theirs


def test_a_secret_acts_on_its_own_application_and_cannot_make_or_list_others(application):
    api = as_application(application)
    assert api.get(f"/applications/{application.id}").status_code == 200
    assert api.put(f"/applications/{application.id}", {"name": "Market"}).status_code == 200
    problem(
        api.post("/applications/", {"organization_id": application.organization_id, "name": "Mine"}), 403, "Forbidden"
    )
    problem(api.get("/applications/", organization_id=application.organization_id), 403, "Forbidden")
    problem(api.get("/applications/"), 403, "Forbidden")
    assert api.delete(f"/applications/{application.id}").status_code == 204


def test_nobody_reaches_a_neighbours_application(api, application):
    stranger, sibling = make_application(), make_application(organization=application.organization)
    for client, target in [(api, stranger.id), (api, uuid.uuid4()), (as_application(application), sibling.id)]:
        problem(client.get(f"/applications/{target}"), 403, "Forbidden")
        problem(client.put(f"/applications/{target}", {"name": "Mine now"}), 403, "Forbidden")
        problem(client.delete(f"/applications/{target}"), 403, "Forbidden")
    problem(api.post("/applications/", {"organization_id": stranger.organization_id, "name": "Mine"}), 403, "Forbidden")
    problem(api.get("/applications/", organization_id=stranger.organization_id), 403, "Forbidden")
    assert set(Application.objects.values_list("name", "deleted_at")) == {("Shop", None)}
