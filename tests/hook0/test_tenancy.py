"""One walk through every operation of the API, with the credentials of another tenant."""

import json
import re
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client

from tenants.models import Application
from tests.clients import ApiClient, as_application, as_organization
from tests.factories import EVENT_TYPE, make_application

METHODS = {"get", "post", "put", "delete"}
TABLES = (
    "application, application_secret, service_token, event_type, subscription, subscription_state, event,"
    " fifo_subscription_state, request_attempt, attempt_log, dead_letter, operator_action, replay, bulk_load,"
    " undelivered, attempt_progress, job_queue, job"
)
# What answers about the caller, whatever it is asked for.
ABOUT_ONESELF = {"GET /api/v1/organizations/"}


def operations():
    document = json.loads(Client().get("/api/v1/swagger.json").content)
    for path, item in document["paths"].items():
        for method in METHODS & item.keys():
            if item[method].get("security", [{}]) != [{}] and "token" in str(item[method]["security"]):
                yield f"{method.upper()} {path}", method, path.removeprefix("/api/v1")


def body_for(ids):
    """Valid for every operation: what it does not know, it ignores."""
    event = {
        "event_type": EVENT_TYPE,
        "payload": "{}",
        "payload_content_type": "application/json",
        "occurred_at": "2026-01-01T00:00:00Z",
        "labels": {"shop": "1"},
    }
    return {
        **event,
        "application_id": ids["application_id"],
        "organization_id": ids["organization_id"],
        "subscription_id": ids["subscription_id"],
        "name": "stolen",
        "service": "a",
        "resource_type": "b",
        "verb": "c",
        "events": [event],
        "is_enabled": True,
        "event_types": [EVENT_TYPE],
        "target": {"type": "http", "method": "POST", "url": "https://example.com/", "headers": {}},
        "number": 2,
        "per_second": 2,
        "delivery_ids": [uuid.uuid4()],
        "tokens": [ids["lease"]],
        "reports": [{"token": ids["lease"], "percent": 50}],
        "rejections": [{"token": ids["lease"]}],
        "jobs": [{"id": "stolen"}],
        "ids": [ids["job_id"]],
        "assignee": "worker-1",
        "error": "stolen",
        "was_executing": True,
        "older_than_seconds": 1,
        "since": datetime.now(UTC) - timedelta(hours=1),
    }


def everything():
    with connection.cursor() as cursor:
        found = {}
        for table in TABLES.split(", "):
            cursor.execute(f"SELECT md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) FROM {table} t")
            found[table.strip()] = cursor.fetchone()[0]
        return found


def a_stranger(_) -> tuple[ApiClient, Application]:
    application = make_application()
    return as_application(application), application


def a_strangers_organization(_) -> tuple[ApiClient, Application]:
    application = make_application()
    return as_organization(application.organization), application


def a_sibling(application) -> tuple[ApiClient, Application]:
    """Another application of the same organization."""
    sibling = make_application(organization=application.organization)
    return as_application(sibling), sibling


# Their bodies name one; of their lists, one is asked for by `application_id`.
ABOUT_A_SUBSCRIPTION = {"/deliveries/ack/", "/deliveries/nack/", "/deliveries/extend/", "/deliveries/progress/"}
THIEVES = [a_stranger, a_strangers_organization, a_sibling]


@pytest.mark.parametrize("thieves", THIEVES)
def test_whoever_names_an_application_of_their_own_gets_nothing_of_anothers(tenant, thieves):
    """The ids in the address, and of what a body speaks of, are another's."""
    victim, ids = tenant
    thief, own = thieves(victim)
    mine = {"application_id": own.id, "organization_id": own.organization_id}
    before, answers = everything(), {}
    for name, method, path in operations():
        is_of_another = "{" in path and "{name}" not in path  # a name is their own
        if not is_of_another and path not in ABOUT_A_SUBSCRIPTION:
            continue
        address = re.sub(r"\{(\w+)\}", lambda match: str(ids[match[1]]), path)
        if method in {"get", "delete"}:
            answer = getattr(thief, method)(address, **mine)
        else:
            answer = getattr(thief, method)(f"{address}?application_id={own.id}", body_for(ids) | mine)
        answers[name] = answer.status_code
    assert len(answers) > 45
    let_in = {name: status for name, status in answers.items() if status not in {403, 404}}
    assert let_in == {}
    assert everything() == before


@pytest.mark.parametrize("thieves", THIEVES)
def test_nobody_reads_or_changes_what_is_anothers(tenant, thieves):
    victim, ids = tenant
    thief, _ = thieves(victim)
    before, answers = everything(), {}
    for name, method, path in operations():
        address = re.sub(r"\{(\w+)\}", lambda match: str(ids[match[1]]), path)
        query = {key: ids[key] for key in ("application_id", "organization_id")}
        if method in {"get", "delete"}:
            answer = getattr(thief, method)(address, **query)
        else:
            answer = getattr(thief, method)(f"{address}?application_id={ids['application_id']}", body_for(ids))
        answers[name] = answer.status_code
    assert len(answers) > 50
    let_in = {name: status for name, status in answers.items() if status not in {403, 404}}
    assert let_in.keys() - ABOUT_ONESELF == set(), let_in
    assert everything() == before
