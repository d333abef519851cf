"""What breaks off in the middle, and what is done twice. Tasks are called here as Spark calls them, without Spark."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import psycopg
import pyarrow as pa
import pytest
from django.db import transaction

from delivery.dispatch import dispatch_again
from delivery.models import RequestAttempt
from events.models import BulkLoad, BulkLoadChunk, Event
from spark_ingest import loads, merging
from spark_ingest.__main__ import main
from spark_ingest.database import connect
from spark_ingest.layout import Layout
from spark_ingest.problems import LoadProblem, Overtaken, StagingLost
from spark_ingest.reading import Rules
from spark_ingest.staging import stage
from tests.factories import EVENT_TYPE, make_fifo, publish
from tests.spark_ingest.conftest import in_order, staging_tables
from tests.spark_ingest.rows import BEGAN, an_event
from tests.spark_ingest.waiting import wait_until

pytestmark = pytest.mark.usefixtures("small_chunks")

FIELDS = ("event_id", "event_type", "payload", "occurred_at")
RULES = Rules(
    Layout({field: field for field in FIELDS}, {"labels": '{"shop": "1"}', "payload_content_type": "text/plain"}),
    {EVENT_TYPE},
    0,
)


def batch(numbers):
    events = [an_event(number) for number in numbers]
    columns = {field: pa.array([event[field] for event in events]) for field in FIELDS}
    return pa.RecordBatch.from_pydict(columns)


@pytest.fixture
def database(url):
    with connect(url, purpose="test") as connection:
        yield connection


@pytest.fixture
def request_(application):
    return loads.Request(load_id=uuid.uuid4(), application_id=application.id)


@pytest.fixture
def staged(url, database, request_):
    """A load of a hundred events, that is about to be merged."""
    load = loads.open_load(database, request_)
    done = [stage(url, load.staging, iter([batch(range(n, 100, 2))]), RULES, partition=n) for n in (0, 1)]
    merging.close_staging(url, load, done)
    return load


def break_after(monkeypatch, chunks):
    """Each connection that merges stops after so many chunks, as if its process had been shot."""
    merge_chunk = merging._merge_chunk

    def shot(connection, load, on_conflict, left=threading.local()):  # noqa: B008
        left.chunks = getattr(left, "chunks", chunks) - 1
        if left.chunks < 0:
            raise RuntimeError("shot")
        return merge_chunk(connection, load, on_conflict)

    monkeypatch.setattr(merging, "_merge_chunk", shot)


def test_a_merge_that_breaks_off_goes_on_where_it_was(monkeypatch, url, database, request_, staged):
    with monkeypatch.context() as patch:
        break_after(patch, 2)
        with pytest.raises(RuntimeError, match="shot"):
            merging.merge(url, staged)
    half = BulkLoad.objects.get()
    assert (half.state, half.events_count) == ("merging", Event.objects.count())
    assert 0 < half.events_count < 100
    assert 50 < half.progress < 100
    before = set(Event.objects.values_list("id", flat=True))

    again = loads.open_load(database, request_)
    assert again.state == "merging"
    merged = merging.merge(url, again)
    assert (merged.state, merged.events_count, merged.rows_merged, merged.progress) == ("ready", 100, 100, 100)
    assert before < set(Event.objects.values_list("id", flat=True))
    assert in_order(staged.id) == [str(n) for n in range(100)]
    numbers = list(BulkLoadChunk.objects.order_by("number").values_list("number", flat=True))
    assert numbers == list(range(merged.chunks))
    assert staging_tables() == 0


def test_what_a_twin_of_a_task_has_copied_does_not_count(url, database, request_):
    load = loads.open_load(database, request_)
    first = stage(url, load.staging, iter([batch(range(50))]), RULES, partition=0)
    twin = stage(url, load.staging, iter([batch(range(50))]), RULES, partition=0)
    other = stage(url, load.staging, iter([batch(range(50, 80))]), RULES, partition=1)
    assert first.attempt != twin.attempt
    merging.close_staging(url, load, [first, other])
    merged = merging.merge(url, load)
    assert (merged.rows_read, merged.rows_merged, merged.events_count) == (80, 80, 80)
    assert in_order(load.id) == [str(n) for n in range(80)]


def is_waiting_for_a_lock(database, purpose):
    waiting = "SELECT FROM pg_stat_activity WHERE application_name = %s AND wait_event_type = 'Lock'"
    return database.execute(waiting, [f"hook0 bulk load: {purpose}"]).rowcount == 1


class LateTwin(threading.Thread):
    """A twin of a task that Spark has not killed yet: it is in the middle of its copy until it is told to end."""

    def __init__(self, url, load, numbers):
        super().__init__(daemon=True)
        self._arguments = (url, load.staging, self._batches(numbers), RULES)
        self.has_begun, self._may_end = threading.Event(), threading.Event()
        self.start()
        assert self.has_begun.wait(60)

    def run(self):
        stage(*self._arguments, partition=0)

    def _batches(self, numbers):
        yield batch(numbers)
        self.has_begun.set()
        self._may_end.wait(60)

    def outlast(self, database, commit, purpose):
        """Commit; as soon as that waits for the twin, or is through without, the twin ends."""
        with ThreadPoolExecutor(1) as pool:
            committed = pool.submit(commit)
            wait_until(lambda: committed.done() or is_waiting_for_a_lock(database, purpose))
            self._may_end.set()
            self.join(60)
            committed.result(60)


def test_a_twin_that_ends_while_its_load_is_committed_does_not_count(url, database, request_):
    load = loads.open_load(database, request_)
    done = [stage(url, load.staging, iter([batch(range(50))]), RULES, partition=0)]
    twin = LateTwin(url, load, range(50))
    twin.outlast(database, lambda: merging.close_staging(url, load, done), "commit")
    merged = merging.merge(url, load)
    assert (merged.state, merged.rows_merged, merged.events_count) == ("ready", 50, 50)
    assert in_order(load.id) == [str(n) for n in range(50)]


def test_a_twin_that_begins_when_its_load_is_committed_is_refused(url, database, request_):
    load = loads.open_load(database, request_)
    done = [stage(url, load.staging, iter([batch(range(50))]), RULES, partition=0)]
    merging.close_staging(url, load, done)
    with pytest.raises(psycopg.errors.CheckViolation, match="closed"):
        stage(url, load.staging, iter([batch(range(50))]), RULES, partition=0)
    assert merging.merge(url, load).rows_merged == 50


def test_a_twin_that_ends_while_its_micro_batch_is_committed_does_not_count(url, database, application):
    stream = loads.Request(load_id=uuid.uuid4(), application_id=application.id, is_stream=True)
    load = loads.open_load(database, stream)
    done = [stage(url, load.staging, iter([batch(range(50))]), RULES, partition=0)]
    twin = LateTwin(url, load, range(50))
    twin.outlast(database, lambda: merging.merge_batch(url, load, done, 0), "batch 0")
    # One that comes later still is dropped with the next batch.
    stage(url, load.staging, iter([batch(range(50))]), RULES, partition=0)
    merging.merge_batch(url, load, [stage(url, load.staging, iter([batch(range(50, 60))]), RULES, partition=0)], 1)
    after = loads.find(database, load.id)
    assert (after.last_batch, after.rows_read, after.rows_merged, after.events_count) == (1, 60, 60, 60)


def test_a_task_that_fails_has_copied_nothing(url, database, request_):
    load = loads.open_load(database, request_)

    def batches():
        yield batch(range(50))
        raise RuntimeError("the executor is gone")

    with pytest.raises(RuntimeError):
        stage(url, load.staging, batches(), RULES, partition=0)
    ((rows,),) = database.execute(f'SELECT count(*) FROM bulk_load_stage."{load.staging}"').fetchall()
    assert rows == 0


def test_a_run_that_was_overtaken_changes_nothing(url, database, request_, staged):
    again = loads.open_load(database, request_)
    with pytest.raises(Overtaken):
        merging.merge(url, staged)
    with pytest.raises(Overtaken):
        loads.give_up(database, staged, "too late")
    assert merging.merge(url, again).events_count == 100


def test_a_late_task_of_a_run_before_finds_no_table(url, database, request_):
    before = loads.open_load(database, request_)
    loads.open_load(database, request_)
    with pytest.raises(psycopg.errors.UndefinedTable):
        stage(url, before.staging, iter([batch([1])]), RULES, partition=0)


def test_rows_that_a_crash_of_the_server_took_are_missed_and_nothing_stays(
    monkeypatch, url, database, request_, staged
):
    with monkeypatch.context() as patch:
        break_after(patch, 2)
        with pytest.raises(RuntimeError):
            merging.merge(url, staged)
    database.execute(f'TRUNCATE bulk_load_stage."{staged.staging}"')  # as PostgreSQL does with unlogged tables
    again = loads.open_load(database, request_)
    with pytest.raises(StagingLost, match="Run it again"):
        merging.merge(url, again)
    load = BulkLoad.objects.get()
    assert (load.state, load.events_count, Event.objects.count(), BulkLoadChunk.objects.count()) == ("failed", 0, 0, 0)
    assert loads.open_load(database, request_).state == "loading"


def test_an_event_that_comes_in_meanwhile_is_not_added_and_not_taken_away(
    monkeypatch, application, url, database, staged
):
    publish(application, event_id=uuid.UUID(an_event(99)["event_id"]))
    with monkeypatch.context() as patch:
        break_after(patch, 3)
        with pytest.raises(RuntimeError):
            merging.merge(url, staged)
    loads.abandon(database, staged.id)
    assert Event.objects.count() == 1
    assert (BulkLoad.objects.get().state, staging_tables()) == ("failed", 0)


def test_an_event_that_is_replayed_while_its_load_is_taken_away_stays_and_is_said_to(
    monkeypatch, application, url, database, request_, staged, capsys
):
    make_fifo(application)
    with monkeypatch.context() as patch:
        break_after(patch, 2)
        with pytest.raises(RuntimeError):
            merging.merge(url, staged)
    before, event = Event.objects.count(), Event.objects.order_by("id")[2]
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            dispatch_again(event.pk)
            abandoned = pool.submit(main, ["--abandon", str(staged.id), "--database-url", url])
            wait_until(lambda: abandoned.done() or is_waiting_for_a_lock(database, "abandon"))
        assert abandoned.result(60) == 0
    assert RequestAttempt.objects.get().event_id == event.pk
    assert before > 1
    assert Event.objects.get().pk == event.pk
    load = BulkLoad.objects.get()
    assert (load.state, load.events_count, load.rows_duplicate) == ("failed", 1, 0)
    assert load.error == "It was abandoned. Events of it that stay, because they were replayed: 1."
    assert capsys.readouterr().out.endswith("these events stay, because they were replayed: 1.\n")

    # Run again, the load brings the others: an event with an id of its own is not added twice.
    again = loads.open_load(database, request_)
    merging.close_staging(url, again, [stage(url, again.staging, iter([batch(range(100))]), RULES, partition=0)])
    merged = merging.merge(url, again)
    assert (merged.state, merged.events_count, Event.objects.count()) == ("ready", 99, 100)


def test_what_is_loaded_or_cancelled_is_neither_abandoned_nor_begun_again(url, database, request_, staged):
    merging.merge(url, staged)
    with pytest.raises(LoadProblem, match="cancel it through the API"):
        loads.abandon(database, staged.id)
    database.execute("UPDATE bulk_load SET state = 'cancelled', finished_at = now()")
    with pytest.raises(LoadProblem, match="was cancelled"):
        loads.open_load(database, request_)


def test_a_load_that_is_cancelled_stops(url, database, staged):
    database.execute("UPDATE bulk_load SET state = 'cancelled', finished_at = now()")
    with pytest.raises(Overtaken):
        merging.merge(url, staged)
    assert not Event.objects.exists()


def test_an_id_is_not_taken_for_another_load(database, request_, staged):
    other = loads.Request(load_id=request_.load_id, application_id=request_.application_id, source="other.json")
    with pytest.raises(LoadProblem, match="Load under another id"):
        loads.open_load(database, other)


def test_rows_of_one_place_are_in_one_chunk(url, database, request_):
    load = loads.open_load(database, request_)
    rules = Rules(
        Layout({**RULES.layout.columns, "event_id": "id"}, RULES.layout.constants, place="p"), {EVENT_TYPE}, 0
    )
    columns = {
        "id": [str(uuid.UUID(int=n)) for n in range(30)], "p": [n // 10 for n in range(30)],
        "event_type": [EVENT_TYPE] * 30, "payload": [str(n // 10) for n in range(30)], "occurred_at": [BEGAN] * 30,
    }  # fmt: skip
    done = stage(url, load.staging, iter([pa.RecordBatch.from_pydict(columns)]), rules, partition=0)
    merging.close_staging(url, load, [done])
    assert merging.merge(url, load).events_count == 30
    assert in_order(load.id) == ["0"] * 10 + ["1"] * 10 + ["2"] * 10
    ends = list(BulkLoadChunk.objects.order_by("number").values_list("until_place", flat=True))
    assert all(one <= two for one, two in pairwise(ends))
