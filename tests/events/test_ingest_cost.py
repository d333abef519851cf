"""What a single ingest asks of the database, once the credentials are known."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection

from delivery.warm import warm_connection
from tenants import credentials
from tests.clients import as_application, as_organization
from tests.events.test_event_api import body
from tests.factories import make_application, make_fifo, make_subscription

STATEMENTS = 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["application secret", "service token"])
def test_an_event_costs_so_many_statements(kind, monkeypatch, tmp_path):
    for memory in (credentials.principals, credentials.reach):
        monkeypatch.setattr(memory, "seconds", 60.0)
    application = make_application()
    make_subscription(application)
    make_fifo(application)
    api = as_application(application) if kind == "application secret" else as_organization(application.organization)
    for _ in range(10):  # statements are prepared when they were asked for some times
        assert api.post("/event/", body(application)).status_code == 201

    with listening(tmp_path / "protocol") as sent:
        assert api.post("/event/", body(application)).status_code == 201

    assert len(sent) == STATEMENTS, sent


@contextmanager
def listening(path) -> Iterator[list[str]]:
    """What this process sends to the server, however it does: libpq writes the protocol down."""
    sent: list[str] = []
    with warm_connection():  # the next ingest will have the same
        pgconn = connection.connection.pgconn
    with path.open("w+") as protocol:
        pgconn.trace(protocol.fileno())
        yield sent
        pgconn.untrace()
        protocol.seek(0)
        sent += re.findall(r"\tF\t\d+\t((?:Query|Execute).*)", protocol.read())
