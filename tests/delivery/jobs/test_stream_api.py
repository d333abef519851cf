"""`/job_queues/{id}/stream/` as workers see it: the real server of the product, over real sockets."""

import asyncio
import json
import signal
import socket
import time
from typing import Any

import orjson
import pytest
import requests
from django.db import connection
from django.test import Client

from delivery.api import job_stream
from delivery.api.event_stream import event
from delivery.api.stream import STREAMS
from delivery.jobs import State
from delivery.streams import Streams
from delivery.waking import Waker
from tenants.credentials import create_application_secret, revoke
from tests.clients import problem
from tests.delivery.jobs.conftest import enqueue
from tests.delivery.jobs.test_streams import end_connections, in_loop, wait_until
from tests.delivery.test_stream_api import SECONDS, events, running_server, server, token

__all__ = ["server", "token"]
pytestmark = pytest.mark.django_db(transaction=True)


def connect(address, jobs, token, **query):
    headers = {"Authorization": f"Bearer {token}"}
    address = f"{address}/api/v1/job_queues/{jobs.id}/stream/"
    return requests.get(address, params={"assignee": "me", **query}, headers=headers, stream=True, timeout=SECONDS)


def messages(answer):
    return (json.loads(each["data"]) for each in events(answer) if each["event"] == "message")


def test_jobs_are_sent_as_they_come_and_up_to_the_places(api, jobs, server, token):
    there = enqueue(jobs, tags=["gpu"], definition=b'{"width": 320}')
    enqueue(jobs, tags=["other"])
    with connect(server, jobs, token, tags="gpu", max_assigned=2) as answer:
        coming = messages(answer)
        job = next(coming)
        assert job.items() >= {"id": there, "status": "RUNNING", "definition": {"width": 320}, "assignee": "me"}.items()
        later = [enqueue(jobs, tags=["gpu"]) for _ in range(2)]
        assert next(coming)["id"] == later[0]
        assert jobs.get(later[1]).status == State.INITIAL_PENDING
        done = api.post(f"/job_queues/{jobs.id}/jobs/{there}/complete/", {"result": 1})
        assert done.json()["status"] == "COMPLETED"
        assert next(coming)["id"] == later[1]
    assert jobs.get(later[1]).status == State.RUNNING


def test_a_server_that_is_asked_to_end_ends_its_streams(jobs, token):
    with running_server() as (port, process), connect(f"http://127.0.0.1:{port}", jobs, token) as answer:
        coming = events(answer)
        assert next(coming)["event"] == "ping"
        process.send_signal(signal.SIGTERM)
        assert list(coming) == []
        assert process.wait(SECONDS) == 0


def test_a_worker_that_goes_leaves_its_stream(jobs, server, token):
    with connect(server, jobs, token, max_assigned=1) as answer:
        assert next(events(answer))["event"] == "ping"
    job = enqueue(jobs)
    with connect(server, jobs, token, assignee="another") as answer:
        wait_until(lambda: jobs.get(job).assignee == "another" or jobs.get(job).status == State.FAILED_RETRY)
        if jobs.get(job).status == State.FAILED_RETRY:  # it was assigned to who had gone just then
            wait_until(lambda: jobs.get(job).assignee == "another")


def slow_client(server, jobs, token) -> socket.socket:
    """A worker with a hundred places, which is to read by itself what it is sent."""
    client = socket.create_connection(server.removeprefix("http://").split(":"), timeout=SECONDS)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    path = f"/api/v1/job_queues/{jobs.id}/stream/?assignee=me&max_assigned=100"
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    return client


def settled(jobs) -> int:
    """How many jobs are assigned when no more are, and no more are given back."""
    before, running = -1, 0
    while running != before or not running:
        time.sleep(1)
        before, running = running, jobs.statistics().running_jobs
    return running


def test_for_a_worker_that_does_not_read_not_all_its_places_are_filled(jobs, server, token):
    for _ in range(60):
        enqueue(jobs, definition=orjson.dumps("x" * 500_000))
    with slow_client(server, jobs, token):
        assert settled(jobs) <= 50  # what the sockets hold, and twice what is assigned at once


def test_what_a_worker_that_goes_was_not_sent_goes_back(jobs, server, token):
    for _ in range(60):
        enqueue(jobs, definition=orjson.dumps("x" * 500_000))
    with slow_client(server, jobs, token) as client:
        received = 0
        while received < 600_000:  # the first one, and more
            part = client.recv(65_536)
            assert part
            received += len(part)
        settled(jobs)
    wait_until(lambda: jobs.statistics().failed_jobs > 0)
    assert 0 < settled(jobs) < 30  # what the sockets hold; not all that was assigned


def test_a_stream_stays_while_the_database_is_away_and_ends_when_its_token_is_revoked(
    jobs, application, open_connection, monkeypatch
):
    monkeypatch.setattr(job_stream, "PING_SECONDS", 0.05)
    monkeypatch.setattr(job_stream, "CHECK_SECONDS", 0.02)
    secret, token = create_application_secret(application)
    streams = Streams(Waker(lambda: None))
    client: Any = Client(headers={"Authorization": f"Bearer {token}"})
    client.defaults[STREAMS] = streams
    answer = client.get(f"/api/v1/job_queues/{jobs.id}/stream/", {"assignee": "me"})
    coming = answer.events

    async def scene() -> None:
        for _ in range(4):
            assert await anext(coming) == event("ping")
        await asyncio.to_thread(end_connections, open_connection())
        for _ in range(4):
            assert await anext(coming) == event("ping")
        await asyncio.to_thread(revoke, secret)
        async with asyncio.timeout(SECONDS):
            assert {each async for each in coming} <= {event("ping")}

    in_loop(scene)
    streams.close()
    connection.close()


def test_who_asks_for_what_will_not_do_is_told(api, jobs, server, token):
    refused = connect(server, jobs, token, max_assigned=0)
    assert (refused.status_code, list(refused.json()["validation"])) == (422, ["max_assigned"])
    assert connect(server, jobs, "nonsense").status_code == 403
    problem(api.get(f"/job_queues/{jobs.id}/stream/", assignee="me"), 421, "StreamIsElsewhere")
