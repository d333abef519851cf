"""Request ids in answers and in log lines."""

import json
import logging
import sys
import uuid
from datetime import datetime

import pytest
from django.test import Client

from hook0.logs import Json, Line
from hook0.request_ids import request_id


@pytest.fixture
def in_a_request():
    token = request_id.set("abc")
    yield
    request_id.reset(token)


def record(message="%s happened", *values, **more):
    return logging.LogRecord("delivery.pump", logging.WARNING, "pump.py", 1, message, values or ("it",), None, **more)


def test_a_json_line_is_one_object(in_a_request):
    line = Json().format(record("two\nlines and %s", '"quotes"'))
    assert "\n" not in line
    entry = json.loads(line)
    assert datetime.fromisoformat(entry.pop("time")).tzinfo
    assert entry == {
        "level": "WARNING",
        "logger": "delivery.pump",
        "message": 'two\nlines and "quotes"',
        "request_id": "abc",
    }


def test_an_exception_is_in_the_same_object():
    problem = record()
    try:
        int("what went wrong")
    except ValueError:
        problem.exc_info = sys.exc_info()
    entry = json.loads(Json().format(problem))
    assert "what went wrong" in entry["exception"]
    assert "request_id" not in entry


def test_a_line_for_people_says_the_request_where_there_is_one(in_a_request):
    assert Line().format(record()) == "WARNING delivery.pump: it happened [abc]"


def test_a_line_outside_of_a_request_says_none():
    assert Line().format(record()) == "WARNING delivery.pump: it happened"


def test_an_answer_carries_the_clients_own_id():
    answer = Client().get("/api/v1/instance/", headers={"X-Request-Id": "mine-1.2:3"})
    assert answer["X-Request-Id"] == "mine-1.2:3"


@pytest.mark.parametrize("sent", ["", "two words", "x" * 129, "line\nbreak", "é", "<script>"])
def test_another_is_made_for_who_sends_none_or_nonsense(sent):
    ids = {Client().get("/api/v1/instance/", headers={"X-Request-Id": sent})["X-Request-Id"] for _ in range(2)}
    assert len(ids) == 2
    assert all(len(made) == 32 for made in ids)


def test_errors_carry_one_too_and_nothing_of_a_request_stays_behind():
    assert Client().get("/api/v1/nothing/", headers={"X-Request-Id": "mine"})["X-Request-Id"] == "mine"
    assert request_id.get() == ""


def test_the_ids_that_are_given_along_are_in_the_object_and_nothing_else_is():
    line = logging.makeLogRecord({"msg": "held", "subscription_id": uuid.UUID(int=1), "lane_id": 7, "error": None})
    line.request = "a whole request, with ?key=secret"
    entry = json.loads(Json().format(line))
    assert (entry["subscription_id"], entry["lane_id"]) == (str(uuid.UUID(int=1)), 7)
    assert set(entry) == {"time", "level", "logger", "message", "subscription_id", "lane_id"}
