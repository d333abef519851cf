from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from delivery import lanes, maintenance
from delivery.audit import Operator
from delivery.models import AttemptLog, Lane, OperatorAction, Phase, RequestAttempt, Tally
from delivery.outcome import Outcome
from delivery.queue import Ended
from delivery.retry import Decision
from delivery.tallies import slot_of
from subscriptions.models import SubscriptionState
from tenants.models import Application
from tests.factories import make_application, make_fifo, make_subscription, publish

LATER = timedelta(minutes=5)
OK, DONE = Outcome(None, http_status=200), Decision("done")


def test_what_a_dead_pump_held_is_tried_again_and_the_lost_try_is_on_the_record(application, queue):
    make_fifo(application)
    make_subscription(application)
    publish(application)
    held = queue.claim(10)
    assert maintenance.reap() == 0  # the leases still run
    assert maintenance.reap(now=datetime.now(UTC) + LATER) == 2
    assert list(AttemptLog.objects.values_list("error_name", "try_number")) == [("E_WORKER_LOST", 1)] * 2
    again = queue.claim(10)
    assert {each.delivery_id for each in again} == {each.delivery_id for each in held}
    assert [each.tries for each in again] == [2, 2]


def test_a_pump_that_comes_back_after_the_reaper_is_fenced(application, queue):
    make_fifo(application)
    make_subscription(application)
    publish(application)
    held = queue.claim(10)
    maintenance.reap(now=datetime.now(UTC) + LATER)
    assert queue.record([Ended(each, DONE, OK, stay=True) for each in held]) == []
    assert RequestAttempt.objects.count() == 2
    assert Lane.objects.get().phase == Phase.WAITING
    assert SubscriptionState.objects.filter(in_flight=0).count() == 2
    assert AttemptLog.objects.filter(accepted=False).count() == 2


def test_the_attempt_log_has_a_partition_for_every_day_ahead_and_sheds_old_ones(db, settings):
    settings.ATTEMPT_RETENTION_DAYS = 3
    now = datetime(2031, 5, 10, 12, tzinfo=UTC)
    made = maintenance.make_partitions(now=now)
    assert made[0] == "attempt_log_20310510"
    assert len(made) == maintenance.PARTITIONS_AHEAD + 1
    assert maintenance.make_partitions(now=now) == []
    assert not set(made) & set(maintenance.drop_partitions(now=now + timedelta(days=3)))
    assert maintenance.drop_partitions(now=now + timedelta(days=5)) == made[:2]


def test_a_day_that_somebody_reads_is_left_for_the_next_round(transactional_db, open_connection, queue):
    """Who waits to drop it would have every result wait behind itself."""
    make_fifo(make_application())
    publish(Application.objects.get())
    now = datetime(2020, 5, 10, 12, tzinfo=UTC)
    days = maintenance.make_partitions(now=now)
    reader = open_connection()
    with reader.transaction():
        reader.execute(f"SELECT FROM {days[0]}")
        assert maintenance.drop_partitions(now=now + timedelta(days=60)) == days[1:]
    with reader.transaction():
        reader.execute("SELECT FROM attempt_log")
        assert maintenance.drop_partitions(now=now + timedelta(days=60)) == []
        queue.record([Ended(each, DONE, OK) for each in queue.claim(1)])
        assert AttemptLog.objects.count() == 1
    assert maintenance.drop_partitions(now=now + timedelta(days=60)) == days[:1]


def test_what_was_logged_before_its_day_was_made_moves_into_it(db):
    now = datetime(2031, 5, 10, 12, tzinfo=UTC)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO attempt_log (id, delivery_id, event_id, subscription_id, try_number, succeeded, accepted,"
            " created_at, due_at, ended_at) SELECT new_delivery_id(), new_delivery_id(), 1, new_delivery_id(), 1, true,"
            " true, now(), now(), %s RETURNING tableoid::regclass::text",
            [now],
        )
        assert cursor.fetchone() == ("attempt_log_default",)
        maintenance.make_partitions(now=now)
        cursor.execute("SELECT tableoid::regclass::text FROM attempt_log")
        assert cursor.fetchone() == ("attempt_log_20310510",)


def test_a_lane_of_a_key_that_nothing_comes_for_is_forgotten_and_begins_anew(application, queue, monkeypatch):
    monkeypatch.setattr(maintenance, "LANES_AT_A_TIME", 2)
    make_fifo(application)  # its only lane stays
    make_fifo(application, fifo_key="ordering_key")
    for key in "abcd":
        publish(application, ordering_key=key)
    while claimed := queue.claim(10):
        queue.record([Ended(each, DONE, OK) for each in claimed])
    publish(application, ordering_key="d")  # and what is not empty
    month = datetime.now(UTC) + timedelta(days=31)
    assert maintenance.forget_lanes() == 0
    assert maintenance.forget_lanes(now=month) == 3
    assert sorted(Lane.objects.values_list("key", "tail_seq")) == [("", 5), ("d", 2)]
    publish(application, ordering_key="a")
    assert Lane.objects.get(key="a").tail_seq == 1


def test_a_lane_that_was_paused_while_its_pump_died_stays_paused(application, queue):
    make_fifo(application)
    publish(application)
    queue.claim(10)
    lanes.pause(Lane.objects.get().id, by=Operator("me"))
    maintenance.reap(now=datetime.now(UTC) + LATER)
    assert Lane.objects.get().phase == Phase.PAUSED
    assert queue.claim(10) == []


def test_a_try_is_logged_into_its_day(db):
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO attempt_log (id, delivery_id, event_id, subscription_id, try_number, succeeded, accepted,"
            " created_at, due_at, ended_at) SELECT new_delivery_id(), new_delivery_id(), 1, new_delivery_id(), 1, true,"
            " true, now(), now(), now() RETURNING tableoid::regclass::text"
        )
        assert cursor.fetchone() == (f"attempt_log_{datetime.now(UTC):%Y%m%d}",)


@pytest.mark.parametrize(
    ("hours", "failing_hours", "last_failed", "disabled"),
    [
        (24, 25, 0, True),
        (24, 23, 0, False),
        (24, 25, 20, False),  # nothing was sent since: who is idle does not fail
        (None, 9999, 0, False),
        (24, None, 0, False),
    ],
)
def test_what_has_only_failed_for_long_is_disabled_and_says_why(
    application, hours, failing_hours, last_failed, disabled
):
    subscription = make_subscription(application, disable_after_hours=hours)
    publish(application)
    since = datetime.now(UTC) - timedelta(hours=failing_hours) if failing_hours else None
    SubscriptionState.objects.update(failing_since=since)
    failed = slot_of(datetime.now(UTC) - timedelta(hours=last_failed))
    Tally.objects.create(subscription=subscription, slot=failed, succeeded=False, latency=0, amount=1)
    assert maintenance.disable_failing() == ([subscription.id] if disabled else [])
    subscription.refresh_from_db()
    assert subscription.is_enabled is not disabled
    assert ("has failed since" in subscription.disabled_reason) is disabled
    assert OperatorAction.objects.filter(action="disable_subscription").exists() is disabled
    assert RequestAttempt.objects.count() == 1  # what was pending completes


def test_fifo_is_disabled_by_a_person_alone_unless_it_asks_for_it(application):
    assert make_fifo(application).disable_after_hours is None
    assert make_subscription(application).disable_after_hours == 120
