"""What streams cost that only wait: a thousand of them shall do with 150 MiB, so some hundreds are measured."""

import os
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from delivery.jobs import Queue
from delivery.jobs.queues import create_queue
from tenants.credentials import create_application_secret
from tests.delivery.test_stream_api import PULL, SECONDS, running_server
from tests.factories import make_application, make_subscription

pytestmark = pytest.mark.django_db(transaction=True)

FEW, MORE, MANY = 50, 200, 1_000
MiB = 1 << 20
RATES = {"HOOK0_TOKEN_RATE": "1000000", "HOOK0_ADDRESS_RATE": "1000000"}


def of_deliveries(application) -> str:
    return f"/api/v1/subscriptions/{make_subscription(application, **PULL).pk}/stream/"


def of_jobs(application) -> str:
    return f"/api/v1/job_queues/{Queue(create_queue(application.id, 'jobs')).id}/stream/?assignee=me"


@pytest.mark.parametrize("path_in", [of_deliveries, of_jobs])
def test_a_thousand_idle_streams_take_less_than_150_mib(path_in):
    application = make_application()
    path, (_, token) = path_in(application), create_application_secret(application)
    with running_server(**RATES) as (port, server), ExitStack() as open_:
        sizes = []
        for count in (FEW, MORE):
            for _ in range(count):
                open_.enter_context(connected(port, path, token))
            sizes.append(resident(server.pid))
        each = max(0, sizes[1] - sizes[0]) / MORE
        assert sizes[1] + (MANY - FEW - MORE) * each < 150 * MiB, f"{each / 1024:.0f} KiB each"


def connected(port: int, path: str, token: str) -> socket.socket:
    """A consumer that has had its first ping."""
    client = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    received = b""
    while b"event: ping" not in received:
        piece = client.recv(65_536)
        assert piece, received
        received += piece
    return client


def resident(parent: int) -> int:
    """The bytes of the process that serves: the child of the server's own."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    pages = [int(Path(f"/proc/{child}/statm").read_text().split()[1]) for child in children]
    return max(pages) * os.sysconf("SC_PAGE_SIZE")
