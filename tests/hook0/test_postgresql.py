"""A connection that has gone is noticed before it is used, without asking the server each time."""

from contextlib import closing

import pytest
from django.db import close_old_connections, connection, connections
from django.db.backends.postgresql import base

from delivery.database import connect
from tests.clients import as_application
from tests.factories import make_application


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_the_server_has_ended_is_replaced_before_the_next_request():
    api = as_application(make_application())
    pid = connection.connection.info.backend_pid
    other = connections.create_connection("default")
    other.cursor().execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    other.close()
    close_old_connections()  # as at the beginning of each request, which the test client leaves out
    assert api.get("/organizations/").status_code == 403
    assert connection.connection.info.backend_pid != pid


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_stands_is_not_asked(monkeypatch):
    connection.ensure_connection()
    monkeypatch.setattr(base.DatabaseWrapper, "is_usable", lambda _: pytest.fail("the server was asked"))
    assert connection.is_usable()


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_was_closed_on_this_side_is_not_usable():
    connection.ensure_connection()
    connection.connection.close()
    assert not connection.is_usable()
    connection.close()


@pytest.mark.parametrize("connected", ["API", "pump"])
@pytest.mark.django_db
def test_no_statement_is_compiled_whatever_the_server_does_by_itself(connected):
    connection.ensure_connection()
    with closing(connect(name="pump")) as pump:
        on = connection.connection if connected == "API" else pump
        known = on.execute("SELECT setting, source FROM pg_settings WHERE name = 'jit'").fetchone()
    assert known == ("off", "client")
