"""How far a load is, while it runs: in the terminal, in its row, and in the API."""

import io
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from events.models import BulkLoad
from spark_ingest import loads, merging, progress
from spark_ingest.database import connect
from tests.clients import as_application
from tests.spark_ingest.rows import an_event, frame
from tests.spark_ingest.waiting import wait_until

pytestmark = pytest.mark.usefixtures("small_chunks")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def opened(monkeypatch, url, application):
    monkeypatch.setattr(progress, "SECONDS", 0.02)
    with connect(url, purpose="test") as database:
        return loads.open_load(database, loads.Request(load_id=uuid.uuid4(), application_id=application.id))


@pytest.fixture
def save(spark, url, application, opened):
    """Writes a DataFrame into the load, as the job does."""

    def save(rows):
        given = {"url": url, "application_id": str(application.id), "load_id": str(opened.id), "run": str(opened.run)}
        rows.write.format("hook0").options(**given).mode("append").save()

    return save


def until(marker):
    """For tasks of which the first two go on, and the others wait for a file."""

    def hold(batches):
        import time  # noqa: PLC0415 - this runs in a worker
        from pathlib import Path  # noqa: PLC0415

        from pyspark import TaskContext  # noqa: PLC0415

        deadline = time.monotonic() + 60
        while TaskContext.get().partitionId() >= 2 and not Path(marker).exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        yield from batches

    return hold


def in_the_api(application, load):
    shown = as_application(application).get(f"/bulk_loads/{load.id}/").json()
    return shown["state"], shown["stage"], shown["progress"]


@pytest.mark.parametrize("terminal", [Terminal, io.StringIO])
def test_while_spark_reads_it_is_known_how_many_tasks_are_through(
    spark, url, application, opened, save, tmp_path, terminal
):
    def save_slowly():  # a DataFrame makes its session that of the thread, which knows our format
        rows = frame(spark, [an_event(n) for n in range(40)]).repartition(4)
        save(rows.mapInArrow(until(str(marker)), rows.schema))

    marker, out = tmp_path / "go on", terminal()
    reading = "reading and copying: 2 of 4 tasks"
    with ThreadPoolExecutor(1) as pool, progress.shown(spark, url, opened, out):
        saved = pool.submit(save_slowly)
        wait_until(lambda: saved.done() or f" 25% {reading}" in out.getvalue())
        known = in_the_api(application, opened)
        marker.touch()
        saved.result(60)
    assert known == ("loading", reading, 25)
    assert in_the_api(application, opened) == ("merging", "sorting", 50)
    assert (f"\r\033[K 25% {reading}" in out.getvalue()) == out.isatty()


def test_while_it_is_merged_it_is_known_how_many_rows_are_through(monkeypatch, spark, url, application, opened, save):
    save(frame(spark, [an_event(n) for n in range(70)]))
    merge_chunk, left, go_on, out = merging._merge_chunk, iter(range(4)), threading.Event(), Terminal()

    def held(*of):
        if next(left, None) is None:
            go_on.wait(60)
        return merge_chunk(*of)

    monkeypatch.setattr(merging, "_merge_chunk", held)
    with ThreadPoolExecutor(1) as pool, progress.shown(spark, url, opened, out):
        merged = pool.submit(merging.merge, url, opened)
        wait_until(lambda: merged.done() or " 70% merging: 28 of 70 rows" in out.getvalue())
        assert in_the_api(application, opened) == ("merging", "merging", 70)
        go_on.set()
        merged.result(60)
        wait_until(lambda: "100% loaded: 70 of 70 rows" in out.getvalue())
    assert in_the_api(application, opened) == ("ready", "loaded", 100)


def test_where_it_cannot_be_shown_the_load_goes_on(spark, url, opened, save):
    out = io.StringIO()
    with progress.shown(spark, url, opened, out):
        wait_until(lambda: "  0% reading" in out.getvalue())
        with connection.cursor() as cursor:
            named = "application_name = 'hook0 bulk load: progress'"
            cursor.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {named}")
        wait_until(lambda: "The progress is not shown any more" in out.getvalue())
        save(frame(spark, [an_event(1)]))
        merging.merge(url, opened)
    assert BulkLoad.objects.get().state == "ready"
