"""Health, and what programs wrote: decisions without a page."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from hook0.desk.health import health_of
from tenants.cells import copyable, moment, pretty
from tenants.written import MOST, indented

NOW = datetime.now(UTC)


def subscription(**overrides):
    state = {"failures": 0, "failing_since": None, "circuit_until": None, **overrides.pop("state", {})}
    fields = {"is_enabled": True, "is_paused": False, "disabled_reason": "", "has_blocked": False, **overrides}
    return SimpleNamespace(**fields, state=SimpleNamespace(**state))


@pytest.mark.parametrize(
    ("overrides", "name"),
    [
        ({}, "ok"),
        ({"state": {"failures": 2}}, "retrying"),
        ({"state": {"failures": 12, "circuit_until": NOW + timedelta(minutes=1)}}, "circuit open"),
        ({"state": {"failures": 12, "circuit_until": NOW - timedelta(minutes=1)}}, "retrying"),
        ({"has_blocked": True, "state": {"failures": 2}}, "blocked"),
        ({"is_paused": True, "has_blocked": True}, "paused"),
        ({"is_enabled": False, "is_paused": True}, "disabled"),
    ],
)
def test_health_is_the_gravest_thing_that_can_be_said(overrides, name):
    assert health_of(subscription(**overrides), now=NOW).name == name


def test_a_subscription_that_hook0_has_disabled_says_why():
    assert health_of(subscription(is_enabled=False, disabled_reason="it failed"), now=NOW).why == "it failed"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (b'{"a":1}', '{\n  "a": 1\n}'),
        (b"not JSON", "not JSON"),
        (b"", ""),
        (b"\xff\x00", "2 bytes that are no text: ff 00"),
        (b'"\\ud800"', '"\\ud800"'),
        (b"[" * 50_000, "[" * 50_000),
    ],
)
def test_what_programs_wrote_is_shown_whatever_it_is(written, shown):
    assert indented(written) == shown


def test_what_is_long_is_cut_and_says_so():
    assert indented(b"x" * (MOST + 7)).endswith("… and 7 characters more")


def test_nothing_that_others_wrote_is_markup():
    evil = "<script>alert(1)</script>"
    assert "<script>" not in pretty(evil) + copyable(evil)


def test_a_time_is_told_from_now_on_and_exactly():
    assert ">3 min ago<" in moment(datetime.now(UTC) - timedelta(minutes=3))
    assert ">in 2 h<" in moment(datetime.now(UTC) + timedelta(hours=2, seconds=5))
    assert moment(None) == "–"
