"""Every list comes in pages: row by row, following `Link`, one gets what one page would have, each row once."""

import json
import re
from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.test import Client

from delivery import dead_letters
from delivery.jobs import NewJob
from delivery.jobs import Queue as JobQueue
from delivery.jobs.queues import create_queue
from delivery.models import DeadLetter, RequestAttempt
from delivery.outcome import Outcome
from delivery.queue import Ended
from delivery.retry import Decision
from events.models import BulkLoad, Replay, Undelivered
from tenants.credentials import create_application_secret, create_service_token
from tenants.principal import Operator
from tests.clients import as_organization
from tests.factories import EVENT_TYPE, make_application, make_event_type, make_fifo, make_subscription, publish

ROWS = 3


@pytest.fixture
def full(transactional_db, queue):
    """An organization with three of everything that is listed."""
    application = make_application()
    for name in ("a.b.c", "a.b.d", "a.b.e"):
        make_event_type(application, name)
    for number in range(ROWS):
        make_application(organization=application.organization)
        create_application_secret(application)
        create_service_token(application.organization)
        make_subscription(application)
        make_fifo(application, labels={"n": str(number)})
        jobs = JobQueue(create_queue(application.id, f"jobs {number}"))
        BulkLoad.objects.create(application=application, state="ready")
    jobs.enqueue_many([NewJob(f"job {number}") for number in range(ROWS)])
    for number in range(ROWS):
        (event,) = publish(application, labels={"shop": "1", "n": str(number)})
        Undelivered.objects.create(
            application=application, path=["k", str(number)], event_id=event.event_id, event_type=EVENT_TYPE,
            payload=b"", reason="gone", payload_content_type="text/plain", subscription=make_subscription(application),
        )  # fmt: skip
        Replay.objects.create(
            application=application, since=event.received_at, until=event.received_at + timedelta(1), only_failed=True,
            actor="me", cursor_received_at=event.received_at,
        )  # fmt: skip
    given_up = Decision("dead", reason="gone"), Outcome("E_HTTP", http_status=410)
    queue.record([Ended(claimed, *given_up) for claimed in queue.claim(9)])
    for letter in DeadLetter.objects.all()[:ROWS]:
        dead_letters.requeue(letter.pk, by=Operator("me"))
    assert RequestAttempt.objects.count() >= ROWS
    return application.organization, {"application_id": application.id, "job_queue_id": jobs.id}


LISTS = {
    "/applications/": "application_id",
    "/application_secrets/": "token",
    "/service_token/": "token_id",
    "/event_types/": "event_type_name",
    "/events/": "event_id",
    "/subscriptions/": "subscription_id",
    "/request_attempts/": "request_attempt_id",
    "/lanes/": "lane_id",
    "/dead_letters/": "dead_letter_id",
    "/operator_actions/": "operator_action_id",
    "/replays/": "replay_id",
    "/bulk_loads/": "bulk_load_id",
    "/keys/": "key_id",
    "/job_queues/": "job_queue_id",
    "/job_queues/{job_queue_id}/jobs/": "id",
}


@pytest.mark.parametrize("path", LISTS)
def test_a_list_in_pages_is_the_list(full, path):
    organization, ids = full
    api, name = as_organization(organization), LISTS[path]
    address = path.format(**ids)
    query = (
        {"organization_id": organization.id}
        if path in {"/applications/", "/service_token/"}
        else {"application_id": ids["application_id"]}
    )
    whole = [row[name] for row in api.get(address, **query).json()]
    assert len(whole) == len(set(whole)) >= ROWS
    found, pages = [], 0
    while True:
        answer = api.get(address, **{**query, "limit": 2})
        assert answer.status_code == 200, answer.content
        rows = answer.json()
        found += [row[name] for row in rows]
        pages += 1
        if "Link" not in answer:
            break
        assert len(rows) == 2
        next_page = re.fullmatch(r'<(.+)>; rel="next"', answer["Link"])[1]
        query = dict(parse_qsl(urlsplit(next_page).query))
        assert pages < 100
    assert found == whole
    assert pages == -(-len(whole) // 2)


@pytest.mark.parametrize(
    ("path", "narrowed", "some"),
    [
        ("/applications/", {"name": "SHOP"}, 4),
        ("/applications/", {"name": "nobody's"}, 0),
        ("/application_secrets/", {"name": "nobody's"}, 0),
        ("/service_token/", {"name": "nobody's"}, 0),
        ("/event_types/", {"service": "a"}, 3),
        ("/event_types/", {"service": "b"}, 0),
        ("/replays/", {"state": "waiting"}, 3),
        ("/replays/", {"state": "done"}, 0),
        ("/operator_actions/", {"action": "requeue", "actor": "me"}, 3),
        ("/operator_actions/", {"actor": "you"}, 0),
        ("/operator_actions/", {"max_at": "2020-01-01T00:00:00Z"}, 0),
        ("/operator_actions/", {"min_at": "2020-01-01T00:00:00Z"}, 3),
    ],
)
def test_a_list_is_narrowed_by_what_its_rows_are(full, path, narrowed, some):
    organization, ids = full
    of = {"application_id": ids["application_id"], "organization_id": organization.id}
    answer = as_organization(organization).get(path, **of, **narrowed)
    assert (answer.status_code, len(answer.json())) == (200, some), answer.content


def test_every_list_of_the_document_is_looked_at():
    paths = json.loads(Client().get("/api/v1/swagger.json").content)["paths"]
    listed = {
        path.removeprefix("/api/v1")
        for path, methods in paths.items()
        if any(each["name"] == "pagination_cursor" for each in methods.get("get", {}).get("parameters", []))
    }
    assert listed - {"/job_queues/{job_queue_id}/blocked_keys/"} == set(LISTS)  # those are names: tests/delivery/jobs
