"""Which lanes are held, as the terminal shows it and as the log says it."""

import json
import logging
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.db.models.functions import Now

from delivery.attempts import Sought, find_attempts
from delivery.audit import Operator
from delivery.lanes import pause
from delivery.models import Lane, Phase, RequestAttempt
from hook0.logs import Json
from hook0.receiver import Behaviour
from monitoring import fifo_log
from monitoring.held import held_lanes
from monitoring.management.commands.fifo_status import CLEAR, duration
from tests.factories import make_application, make_fifo, make_subscription, publish

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def failing(receiver):
    """A FIFO subscription whose head fails, with four more behind it."""
    receiver.behaviours["/fails"] = Behaviour(status=500)
    return make_fifo(make_application(), url=f"http://127.0.0.1:{receiver.port}/fails")


@pytest.fixture(autouse=True)
def nothing_is_reported():
    fifo_log._reported.clear()
    fifo_log._spoke_at.clear()


def age(subscription, seconds: float) -> None:
    Lane.objects.filter(subscription=subscription).update(since=Now() - timedelta(seconds=seconds))


def status(*arguments: str) -> str:
    out = StringIO()
    call_command("fifo_status", *arguments, stdout=out)
    return out.getvalue()


def test_a_failing_head_is_shown_with_all_that_an_operator_asks(failing, pump):
    publish(failing.application, 5)
    pump.run()
    age(failing, 432)
    (shown,) = json.loads(status("--json"))
    head = RequestAttempt.objects.order_by("lane_seq").first()
    assert shown["subscription_id"] == str(failing.id)
    assert shown["application_id"] == str(failing.application_id)
    assert shown["delivery_id"] == str(head.id)
    assert shown["event_id"] == str(head.event.event_id)
    assert (shown["why"], shown["phase"], shown["depth"]) == ("retrying", "waiting", 5)
    assert (shown["retry_count"], shown["max_retries"]) == (1, 15)
    assert 432 <= shown["seconds"] < 500
    line = status().splitlines()[1]
    assert line.startswith("7m 1")
    assert "retrying  1/15   5 " in line


def test_lanes_are_shown_by_why_they_are_held_longest_first(failing):
    application = failing.application
    expected = []
    for number, (phase, why) in enumerate(
        [(Phase.BLOCKED, "retries used up"), (Phase.WAITING, "no pump takes it"), (Phase.RUNNING, "retrying")]
    ):
        subscription = make_fifo(application, labels={"n": str(number)})
        publish(application, labels=subscription.labels)
        ago = Now() - timedelta(minutes=10 - number)
        Lane.objects.filter(subscription=subscription).update(
            phase=phase,
            tries=1 if phase == Phase.RUNNING else 0,
            since=None if phase == Phase.WAITING else ago,
            ready_at=ago if phase == Phase.WAITING else None,
            lease_until=Now() + timedelta(minutes=1) if phase == Phase.RUNNING else None,
        )
        expected.append((subscription.id, why))
    paused = make_fifo(application, labels={"n": "paused"})
    publish(application, labels=paused.labels)
    pause(Lane.objects.get(subscription=paused).pk, by=Operator("tester"))
    expected.append((paused.id, "paused"))
    assert [(lane.subscription_id, lane.why) for lane in held_lanes()] == expected
    assert [lane.subscription_id for lane in held_lanes(seconds=9.5 * 60)] == [expected[0][0]]
    assert len(held_lanes(most=2)) == 2
    assert [lane.why for lane in held_lanes(subscription=paused.id)] == ["paused"]


def test_a_lane_that_is_pulled_waits_for_a_consumer_and_for_no_pump(application, caplog):
    subscription = make_fifo(application, target_type="pull", url="")
    publish(application)
    Lane.objects.update(ready_at=Now() - timedelta(minutes=5))
    assert [(lane.subscription_id, lane.why) for lane in held_lanes()] == [(subscription.id, "no consumer asks")]
    assert fifo_log.report_held_lanes() == 1
    (said,) = caplog.messages
    assert said.startswith(f"[FIFO] Subscription {subscription.id} has waited for a consumer for 30")


def test_the_retries_are_counted_against_the_subscriptions_own_policy(receiver, pump):
    receiver.behaviours["/fails"] = Behaviour(status=500)
    subscription = make_fifo(
        make_application(),
        url=f"http://127.0.0.1:{receiver.port}/fails",
        retry_policy={"schedule_ms": [60_000, 60_000, 60_000]},
    )
    publish(subscription.application)
    pump.run()
    assert [(lane.retry_count, lane.max_retries) for lane in held_lanes()] == [(1, 3)]


def test_what_moves_is_not_shown(failing, queue):
    publish(failing.application, 3)
    make_subscription(failing.application)
    assert status() == "No lane is held.\n"
    queue.claim(10)
    assert status() == "No lane is held.\n"


def test_a_subscription_that_is_asked_for_is_the_only_one_shown(failing, pump):
    publish(failing.application)
    pump.run()
    assert len(status("--subscription", str(failing.id)).splitlines()) == 2
    assert status("--subscription", "00000000-0000-0000-0000-000000000000") == "No lane is held.\n"


@pytest.mark.parametrize(("arguments", "pause"), [(["--watch"], 2.0), (["--watch", "0.5"], 0.5)])
@pytest.mark.parametrize("as_json", [False, True], ids=["table", "json"])
def test_it_looks_again_until_it_is_interrupted(failing, pump, monkeypatch, arguments, pause, as_json):
    publish(failing.application)
    pauses = []

    def sleep(seconds):
        pauses.append(seconds)
        if len(pauses) == 2:
            raise KeyboardInterrupt
        pump.run()

    monkeypatch.setattr("monitoring.management.commands.fifo_status.time", SimpleNamespace(sleep=sleep))
    shown = status(*arguments, *(["--json"] if as_json else []))
    assert pauses == [pause, pause]
    if as_json:
        assert [len(json.loads(line)) for line in shown.splitlines()] == [0, 1]
    else:
        first, second = shown.split(CLEAR)[1:]
        assert first == "No lane is held.\n"
        assert str(failing.id) in second


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.4, "0s"), (59, "59s"), (61, "1m 1s"), (3600, "1h"), (90_061, "1d 1h"), (86_405, "1d 5s")]
)
def test_a_duration_is_short(seconds, shown):
    assert duration(seconds) == shown


def test_the_first_failure_is_said_once_with_ids_and_without_the_payload(failing, pump, caplog):
    publish(failing.application, 3, payload=b"a secret")
    with caplog.at_level(logging.INFO, "monitoring"):
        pump.run()
    (record,) = caplog.records
    head = RequestAttempt.objects.order_by("lane_seq").first()
    pending = find_attempts(Sought(failing.application_id, states=["waiting"]), most=10)
    (next_try,) = [each for each in pending if each.id.int >> 16 == head.id.int >> 16]
    assert record.getMessage() == (
        f"[FIFO] Subscription {failing.id} blocked - waiting for request attempt {next_try.id} to complete"
    )
    line = Json().format(record)
    assert "a secret" not in line
    entry = json.loads(line)
    assert entry["level"] == "INFO"
    assert entry["subscription_id"] == str(failing.id)
    assert entry["delivery_id"] == str(head.id)
    assert entry["event_id"] == str(head.event.event_id)
    assert entry["lane_id"] == head.lane_id
    assert entry["request_attempt_id"] == str(next_try.id)
    assert entry["error"] == "E_HTTP"


def test_many_lanes_that_fail_together_are_one_line(receiver, pump, caplog):
    receiver.behaviours["/fails"] = Behaviour(status=400)
    subscription = make_fifo(make_application(), url=f"http://127.0.0.1:{receiver.port}/fails", fifo_key="ordering_key")
    for key in "abcdef":
        publish(subscription.application, ordering_key=key)
    with caplog.at_level(logging.INFO, "monitoring"):
        pump.run()
    assert len(held_lanes()) == 6
    assert len(caplog.records) == 1


def test_a_head_that_has_used_up_its_retries_is_a_warning(receiver, pump, caplog):
    receiver.behaviours["/fails"] = Behaviour(status=500)
    subscription = make_fifo(
        make_application(),
        url=f"http://127.0.0.1:{receiver.port}/fails",
        fifo_on_exhausted="block",
        retry_policy={"schedule_ms": []},
    )
    publish(subscription.application)
    with caplog.at_level(logging.INFO, "monitoring"):
        pump.run()
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "used up its retries" in record.getMessage()


def test_a_lane_that_stays_held_is_said_ever_more_rarely(failing, pump, monkeypatch):
    publish(failing.application)
    pump.run()
    (lane,) = held_lanes()
    said = []
    for minutes in (1, 1.6, 2.1, 3, 4.1, 7.9, 8.1, 100, 120):
        monkeypatch.setattr(fifo_log, "held_lanes", lambda m=minutes, **_: [replace(lane, seconds=m * 60)])
        said.append(fifo_log.report_held_lanes())
    assert said == [1, 0, 1, 0, 1, 0, 1, 1, 0]
    later = replace(lane, since=lane.since + timedelta(hours=3), seconds=70)
    monkeypatch.setattr(fifo_log, "held_lanes", lambda **_: [later])
    assert fifo_log.report_held_lanes() == 1  # another head


def test_what_is_said_has_the_duration_and_the_retries(failing, pump, caplog):
    publish(failing.application, 2)
    pump.run()
    age(failing, 400)
    caplog.clear()
    assert fifo_log.report_held_lanes() == 1
    assert fifo_log.report_held_lanes() == 0
    (record,) = caplog.records
    message = record.getMessage()
    assert message.startswith(f"[FIFO] Subscription {failing.id} blocked for 40")
    assert message.endswith("s - current attempt on retry 1/15")
    assert record.levelname == "WARNING"
    assert {"lane_id", "delivery_id", "event_id", "request_attempt_id"} <= vars(record)["fields"].keys()
