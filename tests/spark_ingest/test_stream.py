import json
import uuid
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException

from events.models import BulkLoad, Event
from tests.spark_ingest.conftest import in_order
from tests.spark_ingest.rows import SCHEMA, an_event


@pytest.fixture
def stream(spark, url, application, tmp_path):
    """Streams what is new in a folder into a load, to its end."""
    (tmp_path / "in").mkdir()
    load_id = uuid.uuid4()

    def stream(**options):
        rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(tmp_path / "in"))
        given = {"url": url, "application_id": str(application.id), "load_id": str(load_id), **options}
        writer = rows.writeStream.format("hook0").options(**given).option("checkpointLocation", str(tmp_path / "cp"))
        writer.trigger(availableNow=True).start().awaitTermination()
        return BulkLoad.objects.get(id=load_id)

    return stream


def write(folder: Path, name: str, numbers) -> None:
    lines = [json.dumps(an_event(n, event_id=None), default=lambda time: time.isoformat()) for n in numbers]
    (folder / "in" / name).write_text("\n".join(lines))


def test_micro_batches_become_events_one_after_the_other_and_none_twice(stream, tmp_path):
    write(tmp_path, "1.json", range(10))
    load = stream()
    assert (load.state, load.is_stream, load.last_batch, load.events_count) == ("ready", True, 0, 10)
    write(tmp_path, "2.json", range(5))
    load = stream()
    assert (load.last_batch, load.rows_read, load.events_count, load.chunks) == (1, 15, 15, 2)
    assert in_order(load.id) == [str(n) for n in (*range(10), *range(5))]

    # Spark has not noted that the batch was through: it comes again.
    for note in (tmp_path / "cp" / "commits").glob("*1*"):
        note.unlink()
    load = stream()
    assert (load.last_batch, load.rows_read, load.events_count, load.chunks) == (1, 15, 15, 2)
    assert Event.objects.count() == 15


def test_a_stream_without_an_id_of_its_own_is_refused(stream, tmp_path):
    write(tmp_path, "1.json", range(1))
    with pytest.raises(StreamingQueryException, match="A stream needs the option load_id"):
        stream(load_id="")


def test_a_stream_that_was_cancelled_stops(stream, tmp_path):
    write(tmp_path, "1.json", range(1))
    load = stream()
    BulkLoad.objects.update(state="cancelled", finished_at=load.created_at)
    write(tmp_path, "2.json", range(1))
    with pytest.raises(StreamingQueryException, match="was cancelled"):
        stream()
    assert Event.objects.count() == 1
