"""What is remembered for a moment, and what that means for who is let in."""

import pytest

from tenants import credentials
from tenants.credentials import create_application_secret
from tenants.memory import Memory
from tests.clients import ApiClient, as_organization, problem
from tests.factories import make_application


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved; credentials are remembered as in the product."""
    now = [100.0]
    for memory in (credentials.principals, credentials.reach):
        monkeypatch.setattr(memory, "seconds", credentials.REMEMBERED_SECONDS)
        monkeypatch.setattr(memory, "_clock", lambda: now[0])
    return now


def test_an_answer_is_remembered_for_its_seconds_and_then_asked_for_again():
    now, answers = [0.0], iter("abc")
    memory = Memory(seconds=2, most=10, clock=lambda: now[0])
    seen = []
    for now[0] in (0.0, 1.9, 2.0, 3.9, 4.0):
        seen.append(memory.get("key", lambda: next(answers)))
    assert seen == ["a", "a", "b", "b", "c"]


def test_no_more_is_kept_than_may_be_and_the_oldest_goes_first():
    memory = Memory(seconds=2, most=2, clock=lambda: 0.0)
    for key in (1, 2, 1, 3):
        memory.get(key, lambda: "first")
    assert [memory.get(key, lambda: "again") for key in (3, 2, 1)] == ["first", "first", "again"]


def test_that_nothing_is_known_is_remembered_too():
    memory = Memory(seconds=2, most=2, clock=lambda: 0.0)
    assert memory.get("key", lambda: None) is None
    assert memory.get("key", lambda: pytest.fail("asked again")) is None


@pytest.mark.django_db
def test_a_token_is_looked_up_once_in_a_while(clock, django_assert_num_queries):
    api, stranger = ApiClient(create_application_secret(make_application())[1]), ApiClient("nonsense")
    for client, status in ((api, 403), (stranger, 403)):
        with django_assert_num_queries(1):
            for _ in range(3):
                assert client.get("/organizations/").status_code == status


@pytest.mark.django_db
def test_a_revoked_secret_is_refused_two_seconds_later(clock):
    application = make_application()
    secret, token = create_application_secret(application)
    api = ApiClient(token)
    assert api.get("/event_types/", application_id=application.id).status_code == 200
    secret.delete()
    clock[0] += credentials.REMEMBERED_SECONDS
    problem(api.get("/event_types/", application_id=application.id), 403, "AuthInvalidBiscuit")


@pytest.mark.django_db
def test_a_deleted_application_is_refused_to_its_organization_two_seconds_later(clock):
    application = make_application()
    api = as_organization(application.organization)
    assert api.get("/event_types/", application_id=application.id).status_code == 200
    assert api.delete(f"/applications/{application.id}/").status_code == 204
    clock[0] += credentials.REMEMBERED_SECONDS
    problem(api.get("/event_types/", application_id=application.id), 403, "Forbidden")
