"""`/livez` and `/readyz`, with everything there, and with each thing missing."""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.db.models.functions import Now
from django.test import Client

from delivery.models import RunningPump
from hook0.celery import app
from monitoring import readiness
from monitoring.models import JobRound
from subscriptions.models import Worker

pytestmark = pytest.mark.django_db
client = Client()


@pytest.fixture(autouse=True)
def all_is_there(monkeypatch):
    monkeypatch.setattr(readiness, "REMEMBERED_SECONDS", -1.0)
    JobRound.objects.create(job="reap", succeeded_at=Now())
    RunningPump.objects.create(process="host:1")


def reasons(query: str = "", status: int = 503) -> dict[str, str]:
    answer = client.get(f"/readyz{query}")
    assert answer.status_code == status
    document = answer.json()
    assert document["ready"] == (status == 200)
    return {name: check["reason"] for name, check in document["checks"].items() if not check["ok"]}


def test_alive_is_who_answers():
    assert client.get("/livez").status_code == 200


def test_with_everything_there_it_is_ready():
    assert reasons(status=200) == {}
    assert set(client.get("/readyz").json()["checks"]) == {"database", "migrations", "broker", "beat", "workers"}


def test_a_clock_that_stands_still_is_named():
    JobRound.objects.update(succeeded_at=Now() - timedelta(minutes=2))
    assert "start beat" in reasons()["beat"]
    JobRound.objects.all().delete()
    assert set(reasons()) == {"beat"}


def test_no_pump_is_named_and_a_private_one_does_not_count():
    RunningPump.objects.update(seen_at=Now() - timedelta(minutes=2))
    assert "start a delivery worker" in reasons()["workers"]
    tokyo = Worker.objects.create(name="tokyo")
    RunningPump.objects.create(process="tokyo:1", worker="tokyo")
    assert set(reasons()) == {"workers"}
    tokyo.is_public = True
    tokyo.save()
    assert reasons(status=200) == {}


def test_a_broker_that_is_away_is_named(monkeypatch):
    monkeypatch.setattr(app.conf, "broker_write_url", "redis://127.0.0.1:1")
    assert "CELERY_BROKER_URL" in reasons()["broker"]


def test_migrations_that_are_missing_are_named():
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'monitoring'")
    assert "manage.py migrate" in reasons()["migrations"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("table", "named"), [("job_round", "beat"), ("running_pump", "workers")])
def test_a_database_without_our_tables_is_a_reason_and_no_failure(table, named):
    """The API may be up before the migrations are."""
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} RENAME TO not_yet")
    try:
        found = reasons()
        assert reasons(f"?exclude={named}", status=200) == {}
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE not_yet RENAME TO {table}")
    assert set(found) == {named}
    assert "UndefinedTable" in found[named]
    assert "manage.py migrate" in found[named]


def test_a_database_that_is_away_is_named_and_what_needs_it_too(monkeypatch):
    def refuse(*_):
        raise OperationalError("password for 10.0.0.1 is hunter2")

    monkeypatch.setattr(connection, "cursor", refuse)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "hunter2" not in answer.text
    assert {name for name, check in answer.json()["checks"].items() if not check["ok"]} >= {"database", "beat"}


def test_what_is_excluded_is_not_asked_for():
    JobRound.objects.all().delete()
    RunningPump.objects.all().delete()
    assert reasons("?exclude=beat,workers", status=200) == {}
    assert set(reasons("?exclude=beat")) == {"workers"}
    assert reasons("?exclude=beat&exclude=workers", status=200) == {}


def test_a_check_that_does_not_exist_is_said():
    answer = client.get("/readyz?exclude=beats")
    assert answer.status_code == 400
    assert "There is no check beats" in answer.json()["problem"]


def test_who_asks_again_at_once_is_told_the_same(monkeypatch):
    monkeypatch.setattr(readiness, "REMEMBERED_SECONDS", 60.0)
    readiness.forget()
    assert reasons(status=200) == {}
    JobRound.objects.all().delete()
    assert reasons(status=200) == {}
    readiness.forget()
    assert set(reasons()) == {"beat"}


def test_probes_come_without_https_and_by_address(settings):
    settings.SECURE_SSL_REDIRECT = True
    settings.ALLOWED_HOSTS = ["hooks.example.com"]
    for path in ("/livez", "/readyz"):
        assert Client().get(path, headers={"host": "10.0.0.7:8000"}).status_code == 200
