"""Gauges against the database: what they say is what is there."""

import threading
import time
import uuid
from datetime import timedelta

import pytest
from django.db import OperationalError, connection, transaction
from django.db.models.functions import Now

from delivery import maintenance
from delivery.audit import Operator
from delivery.jobs import NewJob
from delivery.jobs import Queue as JobQueue
from delivery.jobs.models import StoredJob
from delivery.jobs.queues import create_queue
from delivery.lanes import pause
from delivery.models import DeadLetter, Lane, Phase, RequestAttempt
from events.models import BulkLoad, Event
from monitoring import gauges, snapshot
from monitoring.models import JobRound, Snapshot
from monitoring.tables import STALE_SECONDS, TableCollector
from subscriptions.models import Subscription, SubscriptionState, Worker
from tests.factories import make_fifo, make_subscription, publish

pytestmark = pytest.mark.django_db(transaction=True)

BY = Operator("tester")


def taken(name: str) -> dict[tuple[str, ...], float]:
    """The values of a gauge by the values of its labels."""
    return {tuple(sample.labels.values()): sample.value for sample in snapshot.take() if sample.name == name}


def one_lane(subscription) -> Lane:
    return Lane.objects.get(subscription=subscription)


def hold(lane: Lane, phase: Phase, *, minutes: float, tries: int) -> None:
    """As the queue leaves a lane whose head has failed."""
    Lane.objects.filter(pk=lane.pk).update(
        phase=phase,
        since=Now() - timedelta(minutes=minutes),
        tries=tries,
        ready_at=Now() + timedelta(hours=1) if phase == Phase.WAITING else None,
        lease_until=Now() + timedelta(hours=1) if phase == Phase.RUNNING else None,
    )


def test_every_gauge_has_a_statement_and_every_value_a_gauge(application):
    make_fifo(application)
    BulkLoad.objects.create(application=application)
    create_queue(application.id, "jobs")
    publish(application)
    assert {sample.name for sample in snapshot.take()} == set(gauges.GAUGES)


def test_the_three_metrics_of_fifo_subscriptions_say_what_is_in_their_lanes(application, settings):
    settings.METRICS_SUBSCRIPTIONS = 2
    deep, held, shallow, split = (make_fifo(application, labels={"shop": str(n)}) for n in range(4))
    for depth, subscription in ((7, deep), (5, held), (2, shallow), (1, split)):
        publish(application, depth, labels=subscription.labels)
    make_subscription(application)
    hold(one_lane(held), Phase.WAITING, minutes=10, tries=3)
    hold(one_lane(shallow), Phase.BLOCKED, minutes=90, tries=16)
    hold(one_lane(split), Phase.RUNNING, minutes=1, tries=2)
    assert taken("fifo_subscription_queue_depth") == {(str(deep.id),): 7, (str(held.id),): 5, ("other",): 3}
    assert taken("fifo_subscription_current_retry_count") == {(str(deep.id),): 0, (str(held.id),): 3, ("other",): 15}
    for_how_long = taken("hook0_fifo_subscription_held_seconds")
    assert for_how_long[str(deep.id),] == 0
    assert 600 <= for_how_long[str(held.id),] < 660
    assert 5400 <= for_how_long["other",] < 5460


def test_the_depths_add_up_to_what_waits_in_lanes(application):
    for _ in range(3):
        make_fifo(application, fifo_key="ordering_key")
    make_subscription(application)
    for key in "abc":
        publish(application, 4, ordering_key=key)
    in_lanes = RequestAttempt.objects.filter(lane__isnull=False).count()
    assert sum(taken("fifo_subscription_queue_depth").values()) == in_lanes == 36
    assert sum(taken("hook0_lane_deliveries").values()) == in_lanes
    assert taken("hook0_deliveries_pending") == {(): RequestAttempt.objects.count()}
    assert sum(taken("hook0_lanes").values()) == Lane.objects.exclude(phase=Phase.EMPTY).count() == 9


def test_lanes_are_counted_by_phase_and_by_how_long_they_are_held(application):
    names = ("under 5m", "5m to 1h", "1h to 1d", "over 1d")
    for minutes in (1, 10, 100, 2000):
        subscription = make_fifo(application, labels={"minutes": str(minutes)})
        publish(application, labels=subscription.labels)
        hold(one_lane(subscription), Phase.BLOCKED, minutes=minutes, tries=16)
    idle = make_fifo(application, labels={"minutes": "0"})
    publish(application, labels=idle.labels)
    pause(one_lane(idle).pk, by=BY)
    lanes = taken("hook0_lanes")
    assert {held: lanes["blocked", held] for held in names} == dict.fromkeys(names, 1)
    assert lanes["paused", "not"] == 1
    assert sum(lanes.values()) == 5
    assert taken("hook0_lane_longest_held_seconds")["blocked", "over 1d"] == pytest.approx(120_000, abs=60)


def test_in_flight_oldest_and_dead_are_those_of_the_tables(application, queue):
    make_fifo(application)
    loose = make_subscription(application)
    publish(application, 3)
    assert len(queue.claim(10)) == 4
    assert taken("hook0_in_flight") == {("fifo",): 1, ("none",): 3}
    oldest = RequestAttempt.objects.order_by("id").first()
    RequestAttempt.objects.filter(pk=oldest.pk).update(created_at=Now() - timedelta(hours=2))
    assert taken("hook0_oldest_undelivered_seconds")[()] == pytest.approx(7200, abs=60)
    DeadLetter.objects.create(id=uuid.uuid4(), event_id=1, subscription=loose, reason="gone", tries=1, created_at=Now())
    assert taken("hook0_dead_letters") == {(): 1}


def test_with_nothing_there_every_gauge_is_nothing(db):
    for name in ("hook0_deliveries_pending", "hook0_oldest_undelivered_seconds", "hook0_dead_letters"):
        assert taken(name) == {(): 0}
    assert set(taken("hook0_lanes").values()) == {0}
    assert set(taken("hook0_circuits").values()) == {0}
    assert taken("fifo_subscription_queue_depth") == {}


def test_a_worker_that_has_stopped_shows_as_no_pump_and_as_work_that_is_due(application, queue, open_connection):
    tokyo = Worker.objects.create(name="tokyo")
    make_fifo(application, dedicated_workers=[tokyo])
    publish(application)
    queue.give_sign_of_life()
    Lane.objects.update(ready_at=Now() - timedelta(minutes=3))
    assert taken("hook0_pumps") == {("everybody",): 1, ("tokyo",): 0}
    due = taken("hook0_oldest_due_seconds")
    assert due["everybody",] == 0
    assert due["tokyo",] == pytest.approx(180, abs=30)

    theirs = type(queue)(open_connection, lease_margin=15.0, process="tokyo:1", worker="tokyo")
    assert taken("hook0_worker_pumps") == {("everybody",): 1, ("tokyo",): 0}
    theirs.give_sign_of_life()
    assert taken("hook0_pumps") == {("everybody",): 1, ("tokyo",): 1}
    assert taken("hook0_worker_pumps") == {("everybody",): 1, ("tokyo",): 1}
    with connection.cursor() as cursor:
        cursor.execute("UPDATE running_pump SET seen_at = now() - interval '1 min'")
    assert taken("hook0_pumps") == {("everybody",): 0, ("tokyo",): 0}


def test_pools_are_no_more_than_asked_for_and_those_that_wait_are_among_them(application, queue, settings):
    settings.METRICS_SUBSCRIPTIONS = 2
    workers = [Worker.objects.create(name=name) for name in ("kyoto", "osaka", "tokyo")]
    for number, worker in enumerate(workers):
        subscription = make_fifo(application, dedicated_workers=[worker], labels={"shop": str(number)})
        publish(application, labels=subscription.labels)
        Lane.objects.filter(subscription=subscription).update(ready_at=Now() - timedelta(minutes=1 + number))
    queue.give_sign_of_life()
    assert taken("hook0_pumps") == {("everybody",): 1, ("tokyo",): 0, ("other",): 0}
    due = taken("hook0_oldest_due_seconds")
    assert due["tokyo",] == pytest.approx(180, abs=30)
    assert due["other",] == pytest.approx(120, abs=30)


@pytest.mark.parametrize(("make", "order"), [(make_subscription, "none"), (make_fifo, "fifo")])
def test_what_no_consumer_asks_for_is_as_old_as_it_has_been_due(application, make, order):
    for shop in "123":  # each has a pool of its own
        make(application, labels={"shop": shop}, target_type="pull", url="")
        publish(application, labels={"shop": shop})
    waited = taken("hook0_consumer_oldest_due_seconds")
    assert waited.keys() == {("fifo",), ("none",)}
    assert max(waited.values()) < 60
    due = Lane if order == "fifo" else SubscriptionState
    oldest = due.objects.order_by("pool")[1]
    due.objects.filter(pool=oldest.pool).update(ready_at=Now() - timedelta(hours=2))
    waited = taken("hook0_consumer_oldest_due_seconds")
    assert waited.pop((order,)) == pytest.approx(7200, abs=60)
    assert max(waited.values()) < 60
    assert taken("hook0_oldest_due_seconds")["everybody",] == 0
    Subscription.objects.filter(pk=oldest.subscription_id).update(is_paused=True)
    if order == "none":  # a lane that is paused does not wait; a state goes on to
        assert taken("hook0_consumer_oldest_due_seconds")["none",] < 60


def test_a_public_worker_counts_for_everybody_and_for_its_own(application, open_connection, queue):
    public = Worker.objects.create(name="public", is_public=True)
    make_subscription(application, dedicated_workers=[public])
    type(queue)(open_connection, lease_margin=15.0, process="public:1", worker="public").give_sign_of_life()
    assert taken("hook0_pumps") == {("everybody",): 1, ("public",): 1}


def test_pumps_that_are_long_gone_are_forgotten(queue):
    queue.give_sign_of_life()
    assert maintenance.forget_pumps() == 0
    with connection.cursor() as cursor:
        cursor.execute("UPDATE running_pump SET seen_at = now() - interval '2 days'")
    assert maintenance.forget_pumps() == 1


def test_circuits_are_open_or_being_probed(application):
    for pause_ in ("1 hour", "-1 hour", "-2 hours"):
        subscription = make_subscription(application)
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE subscription_state SET allowance = 1, circuit_until = now() + %s::interval"
                " WHERE subscription_id = %s",
                [pause_, subscription.id],
            )
    assert taken("hook0_circuits") == {("open",): 1, ("probing",): 2}


def test_jobs_are_those_of_the_clock_with_when_they_last_went_well(db):
    JobRound.objects.create(job="reap", succeeded_at=Now())
    JobRound.objects.create(job="of another release", succeeded_at=Now())
    succeeded = taken("hook0_job_last_success_timestamp_seconds")
    assert succeeded["reap",] > 1_700_000_000
    assert succeeded["keep_partitions",] == pytest.approx(time.time(), abs=60)  # it is known since now
    JobRound.objects.filter(job="keep_partitions").update(known_at=Now() - timedelta(hours=1))
    assert taken("hook0_job_last_success_timestamp_seconds")["keep_partitions",] < time.time() - 3000
    assert ("of another release",) not in succeeded
    assert taken("hook0_job_interval_seconds").keys() == succeeded.keys()


def test_bulk_loads_show_how_far_they_are(application):
    under_way = BulkLoad.objects.create(
        application=application, state="releasing", progress=100, rows_merged=12, events_count=10, events_released=4
    )
    BulkLoad.objects.create(application=application, state="done", progress=100, finished_at=Now())
    loads = taken("hook0_bulk_loads")
    assert (loads["releasing",], loads["done",], loads["failed",]) == (1, 1, 0)
    assert taken("hook0_bulk_load_loaded_ratio") == {(str(under_way.id),): 1.0}
    assert taken("hook0_bulk_load_released_ratio") == {(str(under_way.id),): 0.4}
    assert taken("hook0_bulk_load_rows_merged") == {(str(under_way.id),): 12}
    assert taken("hook0_bulk_load_events_released") == {(str(under_way.id),): 4}


def test_jobs_that_are_not_over_are_counted_by_queue_and_state(application, settings):
    settings.METRICS_SUBSCRIPTIONS = 1
    shown, *others = [JobQueue(create_queue(application.id, name)) for name in ("a", "b", "c")]
    for queue in (shown, *others):
        queue.enqueue_many([NewJob("first"), NewJob("second"), NewJob("third")])
        queue.claim("worker")
        queue.complete("first")
    StoredJob.objects.filter(queue=shown.id, job_id="second").update(created_at=Now() - timedelta(minutes=1))
    counted, oldest = taken("hook0_queue_jobs"), taken("hook0_queue_jobs_oldest_seconds")
    assert counted[str(shown.id), "INITIAL_PENDING"] == 2
    assert (counted["other", "INITIAL_PENDING"], counted["other", "RUNNING"]) == (4, 0)
    assert sum(counted.values()) == 6
    assert 60 <= oldest[str(shown.id), "INITIAL_PENDING"] < 120
    assert oldest["other", "EXHAUSTED"] == 0


def test_the_days_of_the_log_reach_ahead(db):
    maintenance.make_partitions()
    assert taken("hook0_attempt_log_days_ahead") == {(): maintenance.PARTITIONS_AHEAD}


def test_the_days_of_the_log_reach_back_to_the_oldest(db):
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_char(current_date - 40, 'YYYYMMDD'), make_attempt_log_partition(current_date - 40)")
        ((day, _),) = cursor.fetchall()
        try:
            assert taken("hook0_attempt_log_days_kept") == {(): 40}
        finally:
            cursor.execute(f"DROP TABLE attempt_log_{day}")
    assert taken("hook0_attempt_log_days_kept")[()] < 40


def test_the_oldest_event_is_the_one_that_came_first(application):
    assert taken("hook0_oldest_event_seconds") == {(): 0}
    first, _ = publish(application, 2)
    Event.objects.filter(event_id=first.event_id).update(received_at=Now() - timedelta(hours=3))
    assert taken("hook0_oldest_event_seconds")[()] == pytest.approx(10_800, abs=60)


def asked(sql: str):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        ((value,),) = cursor.fetchall()
    return value


def test_tables_are_as_large_as_postgresql_says_and_their_rows_as_many(application):
    make_subscription(application)
    publish(application, 20)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")  # what was counted before is not added later
        for table in ("event", "request_attempt", "attempt_log"):
            cursor.execute(f"VACUUM ANALYZE {table}")
        cursor.execute("DELETE FROM request_attempt WHERE id IN (SELECT id FROM request_attempt LIMIT 5)")
        cursor.execute("SELECT pg_stat_force_next_flush()")
    rows, dead, size = map(taken, ("hook0_table_rows", "hook0_table_dead_rows", "hook0_table_size_bytes"))
    assert rows.keys() == dead.keys() == size.keys()
    assert (rows["event",], dead["event",]) == (20, 0)
    assert (rows["request_attempt",], dead["request_attempt",]) == (15, 5)
    assert (rows["attempt_log",], dead["attempt_log",]) == (0, 0)
    for table in ("event", "request_attempt", "fifo_subscription_state", "subscription_state", "dead_letter"):
        assert size[table,] == asked(f"SELECT pg_total_relation_size('{table}')")
    days = "SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'attempt_log'::regclass"
    assert size["attempt_log",] == asked(days)


def test_connections_are_counted_by_what_they_do(db, open_connection):
    assert taken("hook0_database_connections_limit") == {(): int(asked("SHOW max_connections"))}
    before = taken("hook0_database_connections")
    assert before["active",] >= 1  # who asks
    idle, forgotten = open_connection(), open_connection()
    idle.execute("SELECT 1")
    forgotten.execute("BEGIN")
    after = taken("hook0_database_connections")
    assert after["idle in transaction",] == before["idle in transaction",] + 1
    assert after["idle",] == before["idle",] + 1
    ours = "datname = current_database() AND backend_type = 'client backend'"
    assert sum(after.values()) == asked(f"SELECT count(*) FROM pg_stat_activity WHERE {ours}")
    assert taken("hook0_database_size_bytes")[()] == pytest.approx(
        asked("SELECT pg_database_size(current_database())"), rel=0.05
    )


def test_who_keeps_vacuum_from_cleaning_is_as_old_as_its_transaction(db, open_connection):
    holding = open_connection()
    holding.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    holding.execute("SELECT 1")  # from now on it has a snapshot
    began = time.monotonic()
    deadline = began + 30
    while (age := taken("hook0_database_oldest_transaction_seconds")[()]) < 0.5:
        assert time.monotonic() < deadline
    assert age <= time.monotonic() - began + 1
    holding.execute("ROLLBACK")
    assert taken("hook0_database_oldest_transaction_seconds")[()] < age
    assert taken("hook0_database_prepared_transactions") == {(): asked("SELECT count(*) FROM pg_prepared_xacts")}
    assert taken("hook0_database_slot_xmin_age") == {(): 0}  # there is no standby


def test_a_snapshot_is_taken_once_an_interval_whoever_asks(db):
    assert snapshot.keep_fresh()
    assert not snapshot.keep_fresh()
    Snapshot.objects.update(next_at=Now() - timedelta(seconds=1))
    assert snapshot.keep_fresh()


@pytest.mark.parametrize(("seconds", "pause"), [(0.01, 5.0), (1.0, 20.0), (6.0, 90.0), (60.0, 90.0)])
def test_a_look_that_takes_long_is_not_repeated_soon_but_before_it_is_too_old_to_be_shown(seconds, pause):
    assert snapshot.pause_after(seconds) == pause
    assert pause + snapshot.STATEMENT_SECONDS < STALE_SECONDS


def test_a_look_that_never_ends_is_given_up_and_not_begun_anew_at_once(db, monkeypatch, caplog):
    monkeypatch.setattr(snapshot, "STATEMENT_SECONDS", 0.05)
    monkeypatch.setattr(snapshot, "statement", lambda *_: "SELECT pg_sleep(60)")
    tables = TableCollector()
    tables.look()
    (said,) = caplog.messages
    assert said == "The tables were not looked at: lanes took more than 0.05 s"
    assert Snapshot.objects.filter(next_at__gt=Now() + timedelta(seconds=60)).exists()
    assert scrape(tables)["hook0_database_up"] == 1  # it answers


def test_who_comes_while_another_takes_it_does_not_wait(db):
    snapshot.keep_fresh()
    Snapshot.objects.update(next_at=Now() - timedelta(seconds=1))
    taken_by_another = []

    def ask() -> None:
        taken_by_another.append(snapshot.keep_fresh())
        connection.close()

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT FROM metrics_snapshot FOR NO KEY UPDATE")
        asking = threading.Thread(target=ask)
        asking.start()
        asking.join(30)
    assert taken_by_another == [False]


def scrape(tables: TableCollector) -> dict[str, float]:
    return {sample.name: sample.value for family in tables.collect() for sample in family.samples}


def test_a_scrape_shows_what_the_last_look_saw(application, django_assert_num_queries):
    make_fifo(application)
    publish(application, 5)
    tables = TableCollector()
    tables.look()
    with django_assert_num_queries(0):
        assert scrape(tables)["fifo_subscription_queue_depth"] == 5
    publish(application, 5)
    tables.look()
    assert scrape(tables)["fifo_subscription_queue_depth"] == 5  # for the interval
    Snapshot.objects.update(next_at=Now() - timedelta(seconds=1))
    tables.look()
    assert scrape(tables)["fifo_subscription_queue_depth"] == 10


def test_an_old_snapshot_is_not_shown_as_how_things_are(application):
    tables = TableCollector()
    tables.look()
    Snapshot.objects.update(taken_at=Now() - timedelta(seconds=STALE_SECONDS + 1), next_at=Now() + timedelta(hours=1))
    tables.look()
    shown = scrape(tables)
    assert "hook0_deliveries_pending" not in shown
    assert {"hook0_snapshot_timestamp_seconds", "hook0_build_info"} <= shown.keys()


def test_a_database_that_is_away_is_a_metric_and_no_failure(application, monkeypatch):
    tables = TableCollector()
    tables.look()
    assert scrape(tables)["hook0_database_up"] == 1

    def refuse():
        raise OperationalError

    monkeypatch.setattr("monitoring.tables.keep_fresh", refuse)
    tables.look()
    shown = scrape(tables)
    assert shown["hook0_database_up"] == 0
    assert "hook0_deliveries_pending" not in shown
