"""The history of deliveries as a DataFrame: what is in it, and what of it is read at all."""

import uuid
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest
from django.db import connection
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql.datasource import EqualTo, GreaterThan, GreaterThanOrEqual, In, IsNotNull, LessThan, LessThanOrEqual

from delivery.models import AttemptLog
from spark_ingest import attempts
from spark_ingest.attempts import AttemptsReader, Part
from spark_ingest.database import statement
from spark_ingest.pushing import FIRST, LAST, Narrowed, narrow
from tests.factories import make_fifo

TODAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
DAY = timedelta(days=1)
ONE, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)


def log(days_ago=0, **overrides):
    """A try that ended so many days ago, at noon."""
    ended = TODAY - days_ago * DAY + DAY / 2
    fields = {
        "id": uuid.uuid4(), "delivery_id": uuid.uuid4(), "event_id": 1, "subscription_id": ONE, "application_id": ONE,
        "try_number": 1, "succeeded": True, "accepted": True, "created_at": ended, "due_at": ended, "ended_at": ended,
        **overrides,
    }  # fmt: skip
    return AttemptLog.objects.create(**fields)


@pytest.fixture
def days(url):
    """Partitions of the last days, which are not kept."""
    with connection.cursor() as cursor:
        names = [f"attempt_log_{TODAY - n * DAY:%Y%m%d}" for n in (3, 2, 1)]
        for n in (3, 2, 1):
            cursor.execute("SELECT make_attempt_log_partition(%s)", [(TODAY - n * DAY).date()])
        yield
        for name in names:
            cursor.execute(f"DROP TABLE {name}")


@pytest.fixture
def history(spark, url, days):
    return spark.read.format("hook0_attempts").option("url", url).load()


def test_each_column_is_what_the_log_has(history, application):
    fifo = make_fifo(application)
    tried = log(
        1, subscription_id=fifo.pk, application_id=application.pk, lane_id=7, lane_seq=2**40, try_number=3,
        succeeded=False, accepted=False, error_name="E_HTTP", http_status=503, elapsed_ms=1234, worker='a "b",\nc',
        picked_at=TODAY + timedelta(microseconds=1), retry_at=TODAY + timedelta(hours=30, microseconds=999_999),
        response_body=b"x" * 100,
    )  # fmt: skip
    (row,) = history.collect()
    found = row.asDict()
    assert found.pop("day") == tried.ended_at.date()
    assert found.pop("attempt_id") == str(tried.id)
    for name, value in found.items():
        expected = getattr(tried, name)
        if isinstance(expected, uuid.UUID):
            expected = str(expected)
        if isinstance(value, datetime):
            value = value.astimezone(UTC)  # noqa: PLW2901 - Spark leaves the zone out, and means this machine's
        assert value == expected, name


def test_what_is_not_known_is_null_and_an_empty_text_is_not(history):
    log(lane_id=None, worker="")
    (row,) = history.collect()
    assert (row.worker, row.error_name) == ("", None)
    assert (row.lane_id, row.http_status, row.elapsed_ms, row.picked_at, row.retry_at) == (None,) * 5
    assert history.where("lane_id IS NULL").count() == 1


def test_there_is_a_partition_for_each_day_that_there_is_something_of(history):
    for ago in (0, 1, 1, 3, 40):  # of the last, there is no partition in the database
        log(ago)
    counted = {row.day: row["count"] for row in history.groupBy("day").count().collect()}
    assert counted == {(TODAY - ago * DAY).date(): count for ago, count in [(0, 1), (1, 2), (3, 1), (40, 1)]}
    narrowed = history.where(F.col("day") <= (TODAY - DAY).date())
    assert narrowed.rdd.getNumPartitions() == 4
    assert narrowed.count() == 4


@pytest.mark.parametrize(
    ("condition", "partitions", "rows"),
    [
        (lambda: F.col("day") == (TODAY - 2 * DAY).date(), 1, 2),
        (lambda: F.col("day").isin((TODAY - DAY).date(), (TODAY - 3 * DAY).date()), 2, 4),
        (lambda: (F.col("day") > (TODAY - 3 * DAY).date()) & (F.col("day") < TODAY.date()), 2, 4),
        (lambda: F.col("ended_at") >= F.lit(TODAY - DAY) + F.expr("INTERVAL 12 HOURS"), None, 4),
        (lambda: (F.col("day") == TODAY.date()) & (F.col("application_id") == str(OTHER)), 1, 1),
        (lambda: (F.col("day") == TODAY.date()) & F.col("subscription_id").isin(str(ONE), str(OTHER)), 1, 2),
        (lambda: F.col("day") == date(2001, 1, 1), None, 0),
        (lambda: F.col("application_id") == "nonsense", None, 0),
    ],
)
def test_what_is_asked_for_is_what_comes_and_other_days_are_not_planned(history, condition, partitions, rows):
    for ago in range(4):
        log(ago)
        log(ago, application_id=OTHER)
    found = history.where(condition())
    assert found.count() == rows
    if partitions is not None:
        assert found.rdd.getNumPartitions() == partitions


def test_the_database_sees_to_the_filters_and_spark_has_none_left(history):
    found = history.where(
        (F.col("day") == TODAY.date()) & (F.col("application_id") == str(ONE)) & (F.col("subscription_id") == str(ONE))
    )
    plan = found._jdf.queryExecution().executedPlan().toString()
    conditions = [line for line in plan.splitlines() if "Filter (" in line and "BatchScan" not in line]
    assert all("isnotnull" in line for line in conditions), plan
    assert not any(str(ONE) in line for line in conditions), plan


def test_of_a_day_the_database_reads_one_partition_and_sends_what_is_asked_for(url, days, monkeypatch):
    for ago in (0, 1, 2):
        log(ago)
        log(ago, application_id=OTHER)
    run = []

    def told(name, **parts):
        run.append(name)
        return statement(name, **parts)

    monkeypatch.setattr("spark_ingest.attempts.statement", told)
    reader = AttemptsReader(url)
    day = (TODAY - DAY).date()
    assert reader.pushFilters([EqualTo(("day",), day), EqualTo(("application_id",), str(OTHER))]) == []
    (part,) = reader.partitions()
    assert part == Part(day, TODAY - DAY, TODAY)
    (batch,) = reader.read(part)
    assert batch.column("application_id").to_pylist() == [str(OTHER)]
    assert run == ["attempt_days", "read_attempts"]
    with connection.cursor() as cursor:
        select = statement("read_attempts").as_string().partition("COPY (")[2].rpartition(")")[0].rpartition(")")[0]
        cursor.execute(
            f"EXPLAIN {select}",
            {"since": part.since, "until": part.until, "applications": [OTHER], "subscriptions": None},
        )
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert plan.count("on attempt_log") == 1, plan
    assert f"attempt_log_{day:%Y%m%d}" in plan
    assert "application_id" in plan


def test_a_long_day_comes_in_blocks(url, days, monkeypatch):
    monkeypatch.setattr(attempts, "BLOCK_BYTES", 4096)
    AttemptLog.objects.bulk_create(
        AttemptLog(
            id=uuid.uuid4(), delivery_id=uuid.uuid4(), event_id=n, subscription_id=ONE, application_id=ONE,
            try_number=1, succeeded=True, accepted=True, created_at=TODAY, due_at=TODAY, ended_at=TODAY, elapsed_ms=n,
        )
        for n in range(1000)
    )  # fmt: skip
    reader = AttemptsReader(url)
    (part,) = [part for part in reader.partitions() if part.day == TODAY.date()]
    batches = list(reader.read(part))
    assert len(batches) > 10
    assert sorted(pa.Table.from_batches(batches)["elapsed_ms"].to_pylist()) == list(range(1000))


@pytest.mark.parametrize(
    ("filters", "narrowed", "left"),
    [
        ([EqualTo(("day",), date(2026, 1, 2))],
         Narrowed(since=datetime(2026, 1, 2, tzinfo=UTC), until=datetime(2026, 1, 3, tzinfo=UTC)), 0),
        ([In(("day",), (date(2026, 1, 2), date(2026, 1, 3))), In(("day",), (date(2026, 1, 3),))],
         Narrowed(days=frozenset({date(2026, 1, 3)})), 0),
        ([GreaterThan(("day",), date(2026, 1, 2))], Narrowed(since=datetime(2026, 1, 3, tzinfo=UTC)), 0),
        ([GreaterThanOrEqual(("day",), date(2026, 1, 2)), LessThanOrEqual(("day",), date(2026, 1, 2))],
         Narrowed(since=datetime(2026, 1, 2, tzinfo=UTC), until=datetime(2026, 1, 3, tzinfo=UTC)), 0),
        ([LessThan(("day",), date(2026, 1, 2))], Narrowed(until=datetime(2026, 1, 2, tzinfo=UTC)), 0),
        ([LessThanOrEqual(("ended_at",), TODAY), GreaterThan(("ended_at",), TODAY - DAY)],
         Narrowed(since=TODAY - DAY + timedelta(microseconds=1), until=TODAY + timedelta(microseconds=1)), 0),
        ([EqualTo(("application_id",), str(ONE)), In(("subscription_id",), (str(ONE), str(OTHER)))],
         Narrowed(applications=frozenset({ONE}), subscriptions=frozenset({ONE, OTHER})), 0),
        ([EqualTo(("application_id",), "x"), IsNotNull(("day",)), EqualTo(("try_number",), 1)], Narrowed(), 3),
        ([GreaterThan(("application_id",), str(ONE)), EqualTo(("day",), "2026-01-01")], Narrowed(), 2),
        ([EqualTo(("application_id",), "0000000000000000000000000000000F")], Narrowed(), 1),
    ],
)  # fmt: skip
def test_what_is_left_to_the_database(filters, narrowed, left):
    found, rest = narrow(filters)
    assert found == narrowed
    assert len(rest) == left
    assert all(each in filters for each in rest)


def test_the_part_of_a_day_is_what_is_asked_for_of_it():
    noon = TODAY + DAY / 2
    assert Narrowed(since=noon).part_on(TODAY.date()) == (noon, TODAY + DAY)
    assert Narrowed(until=noon).part_on(TODAY.date()) == (TODAY, noon)
    assert Narrowed(until=TODAY).part_on(TODAY.date()) is None
    assert Narrowed(days=frozenset()).part_on(TODAY.date()) is None
    assert FIRST < TODAY < LAST


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "The option url is missing"),
        ({"url": "postgresql://me:secret@127.0.0.1:1/hook0"}, "There is no way to the database hook0 on 127.0.0.1:1"),
        ({"url": "x", "day": "2026-01-01"}, "There is no option day"),
    ],
)
def test_what_cannot_be_is_refused(spark, options, message):
    with pytest.raises(PySparkException, match=message) as refused:
        spark.read.format("hook0_attempts").options(**options).load().count()
    assert "secret" not in str(refused.value)
