"""How much of a body is read, whatever is announced."""

import io
import json

import pytest
from django.core.signals import request_started
from django.db import close_old_connections

from events import limits
from hook0.middleware import MOST_THROWN_AWAY, PIECE
from hook0.parsers import BODY_LIMIT
from hook0.wsgi import application
from tenants.credentials import create_application_secret
from tests.factories import make_application

pytestmark = pytest.mark.django_db


class Body(io.BytesIO):
    """A body that knows how much of it was read, and how much at once."""

    largest = 0

    @property
    def taken(self):
        return self.tell()

    def read(self, size=-1):
        piece = super().read(size)
        self.largest = max(self.largest, len(piece))
        return piece


@pytest.fixture
def post():
    token = create_application_secret(make_application())[1]
    request_started.disconnect(close_old_connections)  # the connection is in the transaction of the test

    def post(path, body, **environ):
        answer = {}
        environ = {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": f"/api/v1{path}",
            "SERVER_NAME": "testserver",
            "SERVER_PORT": "80",
            "REMOTE_ADDR": "192.0.2.1",
            "CONTENT_TYPE": "application/json",
            "HTTP_AUTHORIZATION": f"Bearer {token}",
            "wsgi.input": body,
            "wsgi.url_scheme": "http",
            **environ,
        }
        content = b"".join(application(environ, lambda status, _headers: answer.update(status=status)))
        return int(answer["status"][:3]), json.loads(content)

    yield post
    request_started.connect(close_old_connections)


LIMITS = [("/event/", BODY_LIMIT), ("/events/", limits.BATCH_BYTES)]


@pytest.mark.parametrize(("path", "limit"), LIMITS)
def test_a_body_that_says_it_is_too_big_is_thrown_away_in_pieces(post, path, limit):
    body = Body(b" " * (limit + 1))
    status, problem = post(path, body, CONTENT_LENGTH=str(limit + 1))
    assert (status, problem["id"], body.taken, body.largest) == (400, "JsonPayload", limit + 1, PIECE)
    assert str(limit) in problem["detail"]


@pytest.mark.parametrize(("path", "limit"), LIMITS)
def test_a_body_in_chunks_is_read_up_to_the_limit_and_no_further(post, path, limit):
    body = Body(b" " * (limit + 2 * PIECE))
    status, problem = post(path, body, HTTP_TRANSFER_ENCODING="chunked")
    assert (status, problem["id"], body.largest) == (400, "JsonPayload", limit + 1)


def test_what_is_thrown_away_has_an_end_too(post):
    body = Body(b" " * (MOST_THROWN_AWAY + 2 * PIECE))
    status, problem = post("/event/", body, CONTENT_LENGTH=str(len(body.getvalue())))
    assert (status, problem["id"], body.taken) == (400, "JsonPayload", MOST_THROWN_AWAY)


def test_a_body_that_waits_to_be_asked_for_is_not_asked_for(post):
    body = Body(b" " * 1000)
    status, problem = post(
        "/event/", body, CONTENT_LENGTH="1000", HTTP_AUTHORIZATION="Bearer nonsense", HTTP_EXPECT="100-continue"
    )
    assert (status, problem["id"], body.taken) == (403, "AuthInvalidBiscuit", 0)


def test_a_refusal_waits_for_a_body_that_nobody_looks_at(post):
    body = Body(b" " * 1000)
    status, problem = post("/event/", body, CONTENT_LENGTH="1000", HTTP_AUTHORIZATION="Bearer nonsense")
    assert (status, problem["id"], body.taken) == (403, "AuthInvalidBiscuit", 1000)


def test_a_body_in_chunks_is_read(post):
    status, problem = post("/event/", Body(b'{"application_id": 5}'), HTTP_TRANSFER_ENCODING="chunked")
    assert (status, set(problem["validation"])) == (422, {"application_id"})
