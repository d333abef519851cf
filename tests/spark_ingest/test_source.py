import random
import uuid

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from events.models import BulkLoad, Event
from spark_ingest import merging
from tests.factories import EVENT_TYPE, publish
from tests.spark_ingest.conftest import in_order, staging_tables
from tests.spark_ingest.rows import BEGAN, an_event, frame


def test_rows_become_events_as_the_api_would_store_them(spark, save, application):
    schema = (
        "id string, event_type string, payload binary, payload_content_type string, labels string, metadata "
        "map<string,string>, at string, ordering_key bigint, deliver_at timestamp, backoff_schedule array<int>, "
        "keys_if_undelivered array<array<string>>"
    )
    row = (
        "7f2c2c1e-63a5-4d3c-8f0c-5a54a3b0b2f4", EVENT_TYPE, b'{"a": 1.00}', "application/json", '{"shop": "1"}',
        {"née": "ü"}, "2026-01-31T12:00:00.123456789+01:00", 42, BEGAN, [1000, 2000],
        [["failed-payments", "né"], ["alerts"]],
    )  # fmt: skip
    load = save(spark.createDataFrame([row], schema), columns='{"event_id": "id", "occurred_at": "at"}')
    event = Event.objects.get(application=application)
    assert str(event.event_id) == row[0]
    assert bytes(event.payload) == b'{"a": 1.00}'
    assert (event.labels, event.metadata) == ({"shop": "1"}, {"née": "ü"})
    assert event.occurred_at.isoformat() == "2026-01-31T11:00:00.123456+00:00"
    assert (event.ordering_key, event.priority, event.backoff_schedule) == ("42", 30, [1000, 2000])
    assert event.deliver_at == BEGAN
    assert event.keys_if_undelivered == [["failed-payments", "né"], ["alerts"]]
    assert (load.state, load.progress, load.events_count, load.rows_read) == ("ready", 100, 1, 1)
    assert staging_tables() == 0


def test_labels_may_be_a_struct_and_the_same_for_all_rows(spark, save, application):
    rows = frame(spark, [an_event(1), an_event(2)])
    save(rows.withColumn("labels", F.struct(F.lit("1").alias("shop"), F.lit(None).cast("string").alias("none"))))
    save(frame(spark, [an_event(3)]).drop("labels"), values='{"labels": {"shop": "2"}}')
    found = Event.objects.order_by("id").values_list("labels", flat=True)
    assert list(found) == [{"shop": "1"}, {"shop": "1"}, {"shop": "2"}]


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("partitions", [1, 2, 5])
def test_the_order_is_that_of_the_times_and_then_of_the_places_whatever_the_partitions(
    spark, stage, url, application, partitions
):
    events = [an_event(n, occurred_at=BEGAN, event_id=None) | {"place": n} for n in range(40)]
    events += [an_event(n, event_id=None) | {"place": n} for n in range(-20, 0)]
    shuffled = random.Random(partitions).sample(events, len(events))
    rows = frame(spark, shuffled, schema="event_type string, payload string, labels map<string,string>, "
                 "occurred_at timestamp, place bigint").repartition(partitions)  # fmt: skip
    load = stage(rows, place="place")
    merged = merging.merge(url, load)
    assert (merged.state, merged.chunks) == ("ready", 9)
    assert in_order(load.id) == [str(n) for n in range(-20, 40)]


def test_without_a_column_for_it_the_place_is_the_partition_and_the_row_in_it(spark, save):
    events = [an_event(n, occurred_at=BEGAN) for n in range(30)]
    load = save(frame(spark, events).repartition(1))
    assert in_order(load.id) == [str(n) for n in range(30)]


@pytest.mark.usefixtures("small_chunks")
def test_of_one_id_the_first_in_the_order_stays_and_what_the_database_has_is_not_added(spark, stage, url, application):
    (known,) = publish(application)
    events = [an_event(n % 20, occurred_at=BEGAN, payload=f'"{n}"') | {"place": n} for n in range(40)]
    events.append(an_event(99, event_id=str(known.event_id)) | {"place": 99})
    schema = "event_id string, event_type string, payload string, labels map<string,string>, occurred_at timestamp"
    load = stage(frame(spark, events, f"{schema}, place bigint").repartition(3), place="place")
    merged = merging.merge(url, load)
    assert in_order(load.id) == [f'"{n}"' for n in range(20)]
    assert (merged.rows_read, merged.events_count, merged.rows_merged) == (41, 20, 41)


def test_a_load_that_is_run_again_adds_nothing_even_if_its_events_have_no_ids(spark, save):
    rows = frame(spark, [an_event(n, event_id=None) for n in range(10)]).drop("event_id")
    first = save(rows)
    again = save(rows, load_id=first.id)
    assert (again.events_count, Event.objects.count(), again.loaded_at) == (10, 10, first.loaded_at)


def test_one_bad_row_fails_the_load_and_nothing_of_it_stays(spark, save, url):
    rows = frame(spark, [*(an_event(n) for n in range(20)), an_event(20, event_type="no.such.type")])
    with pytest.raises(PySparkException, match="1 of 21 rows will not do") as refused:
        save(rows)
    assert "event_type: the application has no active event type of this name" in str(refused.value)
    load = BulkLoad.objects.get()
    assert (load.state, load.events_count, Event.objects.count(), staging_tables()) == ("failed", 0, 0, 0)


def test_bad_rows_are_left_out_and_counted_by_reason_if_one_says_so(spark, save):
    events = [an_event(1), an_event(2, payload="{"), an_event(3, payload="{"), an_event(4, labels={})]
    load = save(frame(spark, events), refused="skip")
    assert load.quarantined == {"payload: it is not JSON": 2, "labels: it does not have from 1 to 10 entries": 1}
    assert (load.rows_read, load.rows_quarantined, load.events_count) == (4, 3, 1)


def test_a_load_of_nothing_is_ready(spark, save):
    load = save(frame(spark, []))
    assert (load.state, load.progress, load.chunks) == ("ready", 100, 0)


def test_a_task_that_fails_and_is_tried_again_adds_nothing_twice(spark, save, tmp_path):
    marker = str(tmp_path / "failed")

    def stumble(batches):
        from pathlib import Path  # noqa: PLC0415 - this runs in a worker

        for number, batch in enumerate(batches):
            yield batch
            if number == 1 and not Path(marker).exists():
                Path(marker).touch()
                raise RuntimeError("the first try ends here")

    rows = frame(spark, [an_event(n) for n in range(100)]).repartition(2)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10")
    load = save(rows.mapInArrow(stumble, rows.schema))
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert (tmp_path / "failed").exists()
    assert (load.rows_read, load.events_count, Event.objects.count()) == (100, 100, 100)


def test_an_abort_leaves_nothing_and_the_load_can_be_run_again(spark, save, url):
    good = frame(spark, [an_event(n) for n in range(20)])
    broken = good.withColumn("payload", F.when(F.col("payload") == "7", F.raise_error(F.lit("broken"))).otherwise("1"))
    load_id = uuid.uuid4()
    with pytest.raises(PySparkException):
        save(broken, load_id=load_id)
    load = BulkLoad.objects.get()
    assert (load.state, Event.objects.count(), staging_tables()) == ("failed", 0, 0)
    assert load.finished_at
    again = save(good, load_id=load_id)
    assert (again.state, again.events_count, again.finished_at) == ("ready", 20, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shop": "1"}, "There is no option shop"),
        ({"refused": "maybe"}, "must be fail or skip"),
        ({"application_id": "me"}, "application_id must be a UUID"),
        ({"application_id": str(uuid.uuid4())}, "There is no application"),
        ({"columns": '{"kind": "x"}'}, "An event has no field 'kind'"),
        ({"columns": '{"event_type": "kind"}'}, "There is no column kind"),
        ({"place": "line"}, "There is no column line"),
        ({"values": '{"labels": {"a": 1}}'}, "labels: it is not an object of strings"),
        ({"url": "jdbc:postgresql://x/y"}, "must be like postgresql://"),
        ({"url": "postgresql://me:secret@127.0.0.1:1/hook0"}, "There is no way to the database hook0 on 127.0.0.1:1"),
        ({"per_second": "0"}, "per_second must be a whole number from 1 on"),
    ],
)
def test_what_cannot_be_is_refused_by_name(spark, save, options, message):
    with pytest.raises(PySparkException, match=message) as refused:
        save(frame(spark, [an_event(1)]), **options)
    assert "secret" not in str(refused.value)
    assert not BulkLoad.objects.exists()


def test_a_required_field_without_a_column_is_named(spark, save):
    with pytest.raises(PySparkException, match="There is no column for labels, occurred_at"):
        save(frame(spark, [an_event(1)]).drop("labels", "occurred_at"))


def test_a_column_of_an_impossible_type_is_named(spark, save):
    with pytest.raises(PySparkException, match="The column occurred_at is of the type bigint"):
        save(frame(spark, [an_event(1)]).withColumn("occurred_at", F.lit(1).cast("bigint")))
