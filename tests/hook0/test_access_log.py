"""A line for each request, for who asks for it."""

import json
import logging
import uuid

import pytest
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpResponse

from hook0.access_log import log_requests
from hook0.logs import Json
from tenants.credentials import create_application_secret
from tests.clients import ApiClient, as_application, as_organization
from tests.factories import EVENT_TYPE, make_application

pytestmark = pytest.mark.django_db


@pytest.fixture
def lines(settings, caplog):
    settings.ACCESS_LOG = True
    caplog.set_level(logging.INFO, "hook0.access_log")
    return lambda: [json.loads(Json().format(record)) for record in caplog.records if record.name == "hook0.access_log"]


def test_a_line_says_what_was_asked_by_whom_and_how_it_was_answered(lines):
    application = make_application()
    as_application(application).get("/events/", application_id=application.id)
    as_organization(application.organization).get("/events/", application_id=uuid.uuid4())
    ApiClient(None).get("/events/")
    mine, theirs, nobodys = lines()
    assert (mine["method"], mine["path"], mine["status"]) == ("GET", "/api/v1/events/", 200)
    assert mine["caller"] == f"application {application.id}"
    assert 0 < mine["ms"] < 60_000
    assert (theirs["status"], theirs["caller"]) == (403, f"organization {application.organization_id}")
    assert (nobodys["status"], nobodys["caller"]) == (401, "nobody")


def test_a_line_says_which_events_came_in(lines, monkeypatch):
    """With the id of the request, which is in all lines that it causes."""
    monkeypatch.setattr("hook0.access_log.MOST_IDS", 2)
    application = make_application()
    event = {
        "application_id": application.id, "event_type": EVENT_TYPE, "payload": "x", "labels": {"shop": "1"},
        "payload_content_type": "text/plain", "occurred_at": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    ids = [str(uuid.uuid4()) for _ in range(5)]
    api = as_application(application)
    api.post("/event/", {**event, "event_id": ids[0]})
    api.post("/event/", {**event, "event_id": ids[0]})
    sent = [{**event, "event_id": each} for each in ids]
    api.post("/events/", {"application_id": application.id, "events": [*sent, {}]})
    api.get(f"/events/{ids[0]}/", application_id=application.id)
    one, again, batch, read = lines()
    assert one["event_id"] == ids[0]
    assert (batch["events"], batch["event_ids"]) == (4, ids[1:3])
    for line in (again, read):
        assert not {"event_id", "events", "event_ids"} & line.keys()
    assert "labels" not in json.dumps(lines())


def test_secrets_are_not_in_it(lines):
    application = make_application()
    token = create_application_secret(application)[1]
    as_application(application).delete(f"/application_secrets/{token}", application_id=application.id)
    ApiClient(None).get("/health/", key="hush")
    (deleted, health) = lines()
    assert (deleted["path"], deleted["status"]) == ("/api/v1/application_secrets/***", 204)
    assert token not in json.dumps(deleted)
    assert "hush" not in json.dumps(health)


def test_nothing_is_in_the_way_of_who_does_not_ask_for_it(settings):
    settings.ACCESS_LOG = False
    with pytest.raises(MiddlewareNotUsed):
        log_requests(lambda _: HttpResponse())
