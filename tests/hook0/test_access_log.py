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
from tests.factories import make_application

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
