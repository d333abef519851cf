"""`/subscriptions/{id}/stream/` as consumers see it: the real server of the product, over real sockets."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager
from urllib.parse import quote

import pytest
import requests
from django.conf import settings
from django.db import connection

from delivery.models import RequestAttempt
from delivery.pull import Wanted, poll
from hook0.probes import free_port, http_answers
from hook0.product import serve_streams
from tenants.credentials import create_application_secret
from tests.clients import as_application, problem
from tests.cluster import ROOT
from tests.factories import make_application, make_fifo, make_subscription, publish

pytestmark = pytest.mark.django_db(transaction=True)

PULL = {"target_type": "pull", "url": "", "max_in_flight": 1_000}
SECONDS = 60


@contextmanager
def running_server(**environment):
    """The server of the streams, on the database of the tests; its port."""
    name = connection.settings_dict["NAME"]
    url = settings.DATABASE_URL.rpartition("/")[0]
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, *serve_streams("127.0.0.1", port)],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": f"{url}/{name}", **environment},
        start_new_session=True,
    )
    try:
        while not http_answers("127.0.0.1", port, "/api/v1/instance/", "http://127.0.0.1"):
            assert process.poll() is None
            time.sleep(0.1)
        yield port, process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def server(transactional_db):
    with running_server() as (port, _):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def token(application):
    return create_application_secret(application)[1]


def connect(server, subscription, token, last_event_id=None, **query):
    headers = {"Authorization": f"Bearer {token}"} | ({"Last-Event-ID": last_event_id} if last_event_id else {})
    address = f"{server}/api/v1/subscriptions/{subscription.pk}/stream/"
    return requests.get(address, params=query, headers=headers, stream=True, timeout=SECONDS)


def events(answer):
    """Each with its fields, as they come."""
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/event-stream"), answer.content
    fields = {}
    for line in answer.iter_lines(chunk_size=1):
        if line:
            name, _, value = line.decode().partition(":")
            fields[name] = value.removeprefix(" ")
        elif fields:
            yield fields
            fields = {}


def messages(answer):
    return ((each["id"], json.loads(each["data"])) for each in events(answer) if each["event"] == "message")


def test_a_stream_says_what_a_poll_says_and_is_acknowledged_like_it(application, api, server, token):
    subscription = make_subscription(application, **PULL)
    with connect(server, subscription, token) as answer:
        coming = events(answer)
        assert next(coming) == {"event": "ping", "data": ""}
        (event,) = publish(application, payload='{"é": "\n\n"}'.encode(), metadata={"a": "b"})
        message = next(coming)
        delivery = json.loads(message["data"])
        assert (message["event"], delivery["event_id"]) == ("message", str(event.event_id))
        assert delivery["payload"] == '{"é": "\n\n"}'
        assert (delivery["attempt"], delivery["metadata"]) == (1, {"a": "b"})
        said = {"subscription_id": subscription.pk, "tokens": [delivery["token"]]}
        assert api.post("/deliveries/ack/", said).json()["results"][0]["accepted"]
        publish(application)
        assert next(coming)["event"] == "message"
    polled = api.post(f"/subscriptions/{subscription.pk}/poll/", {}).json()["deliveries"]
    assert polled == []


def test_who_comes_back_with_the_last_id_gets_what_was_lost(application, server, token):
    subscription = make_fifo(application, **PULL, fifo_key="ordering_key")
    for number in range(3):
        publish(application, ordering_key=str(number))
    with connect(server, subscription, token) as answer:
        coming = messages(answer)
        (last_id, first), (_, second), (_, third) = next(coming), next(coming), next(coming)
    with connect(server, subscription, token, last_event_id=last_id) as answer:
        coming = messages(answer)
        again = [next(coming)[1], next(coming)[1]]
    assert {each["delivery_id"] for each in again} == {second["delivery_id"], third["delivery_id"]}
    assert {each["attempt"] for each in again} == {1}
    assert first["delivery_id"] not in {each["delivery_id"] for each in again}


def test_a_client_that_does_not_read_is_not_buffered_without_bound(application, server, token):
    subscription = make_subscription(application, **PULL)
    payload = b"x" * 500_000
    for _ in range(60):
        publish(application, payload=payload, payload_content_type="text/plain")
    path = f"/api/v1/subscriptions/{subscription.pk}/stream/?max_assigned=100"
    with socket.create_connection(server.removeprefix("http://").split(":")) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        client.sendall(head.encode())
        leased = settled = -1
        while leased != settled or leased < 1:
            settled = leased
            time.sleep(1)
            leased = RequestAttempt.objects.filter(lease_until__isnull=False).count()
        assert leased <= 40  # what the sockets hold, and what is leased at once; not all that it may be assigned


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_asked_to_end_ends_its_streams(application, token, number):
    subscription = make_subscription(application, **PULL)
    with running_server() as (port, process), connect(f"http://127.0.0.1:{port}", subscription, token) as answer:
        coming = events(answer)
        assert next(coming)["event"] == "ping"
        began = time.monotonic()
        process.send_signal(number)
        assert list(coming) == []
        assert process.wait(10) == 0
        assert time.monotonic() - began < 8  # it is killed after 15


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"max_assigned": 0}, "max_assigned"),
        ({"max_assigned": 101}, "max_assigned"),
        ({"labels": "x"}, "labels"),
        ({"event_types": ","}, "event_types"),
    ],
)
def test_what_will_not_do_is_refused_by_name(application, api, query, field):
    subscription = make_subscription(application, **PULL)
    refused = problem(api.get(f"/subscriptions/{subscription.pk}/stream/", **query), 422, "Validation")
    assert refused["validation"].keys() == {field}


def test_the_other_server_says_where_streams_are(application, api):
    subscription = make_subscription(application, **PULL)
    path = f"/subscriptions/{subscription.pk}/stream/"
    problem(api.get(path), 421, "StreamIsElsewhere")
    problem(api.get(f"/subscriptions/{make_subscription(application).pk}/stream/"), 409, "SubscriptionIsNotPull")
    problem(as_application(make_application()).get(path), 404, "NotFound")


def test_the_server_of_the_streams_serves_nothing_else_and_checks_as_the_other(application, server, token):
    subscription = make_subscription(application, **PULL)
    assert connect(server, subscription, str(uuid.uuid4())).status_code == 403
    assert connect(server, make_subscription(make_application(), **PULL), token).status_code == 404
    assert connect(server, subscription, token, max_assigned="x").json()["id"] == "Validation"
    for path in ("/api/v1/event/", "/admin/", f"/{quote('é')}", "/"):
        answer = requests.get(server + path, headers={"Authorization": f"Bearer {token}"}, timeout=SECONDS)
        assert (answer.status_code, answer.json()["id"]) == (404, "NotFound")
    answer = requests.post(
        f"{server}/api/v1/subscriptions/{subscription.pk}/stream/", data=b"x" * 100_000, timeout=SECONDS
    )
    assert answer.status_code in {401, 405}
    assert poll(subscription, most=1, wanted=Wanted()) == []
