"""`GET /health/`, with a database and a broker that answer, and with ones that do not."""

import pytest
from django.db import OperationalError

from hook0.celery import app
from tests.clients import ApiClient, problem

pytestmark = pytest.mark.django_db
api = ApiClient(None)


@pytest.fixture
def key(settings):
    settings.HEALTH_CHECK_KEY = "a key"
    return settings.HEALTH_CHECK_KEY


def test_both_are_asked_and_say_how_long_it_took(key):
    answer = api.get("/health/", key=key)
    document = answer.json()
    durations = [document.pop(f"{each}_duration_ms") for each in ("database", "broker", "total")]
    assert answer.status_code == 200
    assert document == {
        "database": True,
        "broker": True,
        "pulsar": None,
        "object_storage": None,
        "pulsar_duration_ms": None,
        "object_storage_duration_ms": None,
    }
    assert durations[0] + durations[1] == durations[2]


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_a_broker_that_does_not_answer_is_a_503(key, monkeypatch, scheme):
    monkeypatch.setattr(app.conf, "broker_write_url", f"{scheme}://127.0.0.1:1")
    answer = api.get("/health/", key=key)
    assert (answer.status_code, answer.json()["database"], answer.json()["broker"]) == (503, True, False)


def test_a_database_that_does_not_answer_is_a_503(key, monkeypatch):
    def refuse():
        raise OperationalError("connection refused")

    monkeypatch.setattr("monitoring.health._ask_database", refuse)
    answer = api.get("/health/", key=key)
    assert (answer.status_code, answer.json()["database"], answer.json()["broker"]) == (503, False, True)


@pytest.mark.parametrize("query", [{}, {"key": ""}, {"key": "another"}, {"key": "clé"}])
def test_who_has_not_the_key_is_told_nothing(key, query):
    problem(api.get("/health/", **query), 403, "Forbidden")


@pytest.mark.parametrize("query", [{}, {"key": ""}])
def test_without_a_key_there_is_no_such_address(settings, query):
    settings.HEALTH_CHECK_KEY = ""
    problem(api.get("/health/", **query), 404, "NotFound")
