"""Where an attempt stands, in Hook0's words."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from delivery.attempt_ids import attempt_id
from delivery.attempts import Attempt, Status

MADE = datetime(2026, 1, 1, tzinfo=UTC)
DELIVERY = uuid.UUID(int=int(MADE.timestamp() * 1000) << 80)


def after(seconds):
    return MADE + timedelta(seconds=seconds)


def an_attempt(state, **overrides):
    return Attempt(
        **{
            "id": attempt_id(DELIVERY, 2), "event_id": uuid.uuid4(), "event_type": "a.b.c",
            "subscription_id": uuid.uuid4(), "description": "", "lane_id": None, "lane_seq": None, "number": 2,
            "due_at": after(5), "picked_at": None, "ended_at": None, "error_name": None, "http_status": None,
            "state": state, **overrides,
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("attempt", "status"),
    [
        (an_attempt("waiting"), Status("waiting", since=MADE, until=after(5))),
        (an_attempt("pending"), Status("pending", since=after(5))),
        (an_attempt("pending", due_at=after(-1)), Status("pending", since=MADE)),
        (an_attempt("in_progress", picked_at=after(6)), Status("in_progress", since=after(6))),
        (an_attempt("successful", ended_at=after(7)), Status("successful", at=after(7), full_processing_ms=2000)),
        (an_attempt("failed", ended_at=after(5.5)), Status("failed", at=after(5.5), full_processing_ms=500)),
        (an_attempt("failed", ended_at=after(3)), Status("failed", at=after(3), full_processing_ms=0)),
    ],
)
def test_the_status_says_since_when_until_when_or_how_long_it_took(attempt, status):
    assert attempt.status == status


def test_a_response_is_of_what_has_ended_alone():
    ended = an_attempt("failed", ended_at=after(7))
    assert (ended.response_id, ended.failed_at, ended.succeeded_at) == (ended.id, after(7), None)
    assert an_attempt("in_progress").response_id is None
    assert (ended.created_at, ended.delivery_id) == (MADE, DELIVERY)
