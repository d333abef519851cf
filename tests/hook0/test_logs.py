"""Request ids in answers and in log lines."""

import json
import logging
import os
import subprocess
import sys
from datetime import datetime

import pytest
from django.conf import settings
from django.db import IntegrityError, connection, transaction
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


SECRET = "hush\nhush"  # of two lines, as texts may be


def fail_to_store(name):
    """What came of it, out of an error of the database whose text has the row."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE customer (name text PRIMARY KEY)")
        try:
            with transaction.atomic():
                cursor.execute("INSERT INTO customer VALUES (%s), (%s)", [name, name])
        except IntegrityError as problem:
            raise RuntimeError("It could not be stored") from problem


@pytest.mark.django_db
@pytest.mark.parametrize("formatter", [Json(), Line()], ids=["json", "line"])
def test_an_error_of_the_database_shows_no_rows(formatter):
    with pytest.raises(RuntimeError) as caught:
        fail_to_store(SECRET)
    refused = caught.value.__cause__
    assert SECRET in str(refused)

    def line(message, argument, raised):
        told = (type(raised), raised, raised.__traceback__) if raised else None
        return formatter.format(logging.LogRecord("x", logging.ERROR, "x.py", 1, message, (argument,), told))

    raised = line("%s failed", "it", caught.value)
    said = line("It failed: %s", refused, None)
    of_celery = line("Task raised unexpected: %(exc)s", {"exc": repr(refused)}, refused)
    for shown in (raised, said, of_celery):
        assert "customer_pkey" in shown
        assert "hush" not in shown
        assert "DETAIL" not in shown
    assert "It could not be stored" in raised


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


@pytest.mark.parametrize("form", ["json", "line"])
def test_the_web_server_writes_its_own_lines_as_the_others_are(form):
    program = (
        "import json, granian.log as log\n"
        "log.configure_logging(log.LogLevels.info, json.load(open('hook0/server_log.json')))\n"
        "log.logger.warning('Unexpected exit from worker-1')"
    )
    environment = {**os.environ, "HOOK0_LOG_FORMAT": form}
    line = subprocess.run(
        [sys.executable, "-c", program],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    if form == "json":
        assert json.loads(line)["message"] == "Unexpected exit from worker-1"
    else:
        assert line == "WARNING _granian: Unexpected exit from worker-1\n"
