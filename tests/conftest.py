from collections.abc import Iterator

import pytest
from django.conf import settings

from delivery.claimed import Claimed
from delivery.database import connect
from delivery.pump import Pump
from delivery.queue import Queue
from delivery.sender import Sender
from hook0.receiver import Receiver, start_in_thread

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
def queue(transactional_db: None) -> Iterator[Queue]:
    """The queue over a connection of its own, as a pump has it."""
    connections = []

    def open_connection():
        connections.append(connect(name="test"))
        return connections[-1]

    yield Queue(open_connection, lease_margin=settings.LEASE_MARGIN, worker="test")
    for connection in connections:
        connection.close()


@pytest.fixture
def sender() -> Iterator[Sender[Claimed]]:
    sender: Sender[Claimed] = Sender(allowed=settings.ALLOWED_TARGETS)
    yield sender
    sender.close()


@pytest.fixture
def pump(queue: Queue, sender: Sender[Claimed]) -> Pump:
    """A pump that returns as soon as nothing is due; its dice never add jitter."""
    return Pump(queue, sender, window=50, linger=0.0, dice=lambda: 0.0)
