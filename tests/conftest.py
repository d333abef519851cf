from collections.abc import Callable, Iterator

import pytest
from django.conf import settings

from delivery import warm
from delivery.claimed import Claimed
from delivery.database import connect
from delivery.pump import Pump
from delivery.queue import Connection, Queue
from delivery.sender import Sender
from hook0.receiver import Receiver, start_in_thread
from tenants import credentials
from tenants.models import Application
from tests.clients import ApiClient, as_application
from tests.factories import make_application


@pytest.fixture(autouse=True)
def nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials count as the database has them now; a test that is about the memory gives it seconds."""
    for memory in (credentials.principals, credentials.reach):
        memory.forget()
        monkeypatch.setattr(memory, "seconds", 0.0)


@pytest.fixture(autouse=True)
def no_connection_stays() -> Iterator[None]:
    yield
    warm.close()


@pytest.fixture
def application(db: None) -> Application:
    return make_application()


@pytest.fixture
def api(application: Application) -> ApiClient:
    """What the application would call us with."""
    return as_application(application)


_receiver: list[Receiver] = []


@pytest.fixture
def receiver() -> Receiver:
    """A real HTTP server that remembers what it received, and can be told to misbehave."""
    if not _receiver:
        _receiver.append(start_in_thread(Receiver()))
    _receiver[0].received.clear()
    _receiver[0].behaviours.clear()
    return _receiver[0]


@pytest.fixture
def open_connection(transactional_db: None) -> Iterator[Callable[[], Connection]]:
    """Opens connections as a pump has them."""
    connections = []

    def open_connection():
        connections.append(connect(name="test"))
        return connections[-1]

    yield open_connection
    for connection in connections:
        connection.close()


@pytest.fixture
def queue(open_connection: Callable[[], Connection]) -> Queue:
    """The queue over a connection of its own."""
    return Queue(open_connection, lease_margin=settings.LEASE_MARGIN, process="test")


@pytest.fixture
def sender() -> Iterator[Sender[Claimed]]:
    sender: Sender[Claimed] = Sender(allowed=settings.ALLOWED_TARGETS)
    yield sender
    sender.close()


@pytest.fixture
def pump(queue: Queue, sender: Sender[Claimed]) -> Pump:
    """A pump that returns as soon as nothing is due; its dice never add jitter."""
    return Pump(queue, sender, window=50, linger=0.0, dice=lambda: 0.0)
