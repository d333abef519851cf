"""From staged rows to events: in the order of the load, a chunk per transaction, so that it may break off anywhere.

Chunks are planned first, and each is marked in the transaction that makes its events: what goes on takes the rest.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import psycopg
from psycopg import sql

from spark_ingest import loads
from spark_ingest.database import Connection, connect, statement
from spark_ingest.loads import Load
from spark_ingest.problems import StagingLost
from spark_ingest.staging import Staged

Result = TypeVar("Result")

CHUNK = 5_000
CONNECTIONS = 3
TRIES = 5
# Where the application has none of the events, it is a fifth cheaper not to ask: so that is tried first.
FAIL, SKIP = sql.SQL(""), sql.SQL("ON CONFLICT (application_id, event_id) DO NOTHING")
LOST = "The server has crashed and lost the staged rows, so the load was taken away. Run it again."


def total(staged: Iterable[Staged]) -> tuple[int, Counter[str]]:
    """Rows that were read, and how many of them were refused for which reason."""
    counted = list(staged)
    return sum(each.rows for each in counted), sum((each.refused for each in counted), Counter())


def close_staging(url: str, load: Load, staged: list[Staged]) -> None:
    """All tasks are through: what counts of their rows is what will be merged. A twin that is late is refused."""
    rows, refused = total(staged)
    with connect(url, purpose="commit") as connection, connection.transaction():
        loads.start_merging(connection, load, rows_read=rows, quarantined=refused)
        connection.execute(statement("close_staging", load.staging))
        _drop_uncommitted(connection, load, staged)


def merge(url: str, load: Load) -> Load:
    """All that is staged becomes events, by some connections at once. One that breaks is made anew, for a while."""
    _again(_plan, url, load)
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        for merged in [pool.submit(_again, _merge_chunks, url, load) for _ in range(CONNECTIONS)]:
            merged.result()
    return _again(_finish, url, load)


def merge_batch(url: str, load: Load, staged: list[Staged], batch: int) -> None:
    """A micro-batch becomes events, all of it or nothing; one that was merged before is not merged again."""
    rows, refused = total(staged)
    with connect(url, purpose=f"batch {batch}") as connection, connection.transaction():
        before = loads.find(connection, load.id, lock=True)
        connection.execute(statement("lock_staging", load.staging))
        _drop_uncommitted(connection, load, staged)
        if before.last_batch is None or batch > before.last_batch:
            _plan_chunks(connection, load, first=before.chunks)
            while _merge_chunk(connection, load, SKIP):
                pass
            if loads.find(connection, load.id).rows_merged - before.rows_merged != rows - refused.total():
                raise StagingLost("The server has crashed and lost the staged rows. Start the query again.")
            numbers = {"batch": batch, "rows_read": rows, "lost": refused.total()}
            loads.change(connection, load, "commit_batch", numbers | {"quarantined": json.dumps(refused)})
        connection.execute(statement("empty_staging", load.staging))


def _again(work: Callable[[Connection, Load], Result], url: str, load: Load) -> Result:
    for tried in range(1, TRIES + 1):
        try:
            with connect(url, purpose="merge") as connection:
                return work(connection, load)
        except psycopg.OperationalError:
            if tried == TRIES:
                raise
            time.sleep(2**tried)
    raise AssertionError("unreachable")


def _plan(connection: Connection, load: Load) -> None:
    if not loads.find(connection, load.id).chunks:
        with connection.transaction():
            _plan_chunks(connection, load, first=0)


def _finish(connection: Connection, load: Load) -> Load:
    now = loads.find(connection, load.id)
    if now.rows_merged != now.rows_staged:
        raise StagingLost(loads.give_up(connection, load, LOST))
    loads.finish(connection, load)
    return loads.find(connection, load.id)


def _plan_chunks(connection: Connection, load: Load, *, first: int) -> None:
    """Sort what is staged, and say where each chunk ends."""
    connection.execute(statement("memory"))
    duplicates = connection.execute(statement("drop_duplicates", load.staging)).rowcount
    connection.execute(statement("sort_staging", load.staging))
    planned = connection.execute(
        statement("plan_chunks", load.staging), {"load": load.id, "first": first, "size": CHUNK}
    ).rowcount
    loads.change(connection, load, "start_chunks", {"chunks": planned, "duplicates": duplicates})


def _merge_chunks(connection: Connection, load: Load) -> None:
    connection.execute(statement("merge_settings"))
    on_conflict = FAIL
    while True:
        try:
            if not _merge_chunk(connection, load, on_conflict):
                return
        except psycopg.errors.UniqueViolation:
            on_conflict = SKIP


def _merge_chunk(connection: Connection, load: Load, on_conflict: sql.SQL) -> bool:
    """The next chunk becomes events, if there is one that nobody else merges."""
    with connection.transaction():
        taken = connection.execute(statement("take_chunk"), {"load": load.id}).fetchone()
        if taken is None:
            return False
        names = ("number", "after", "after_place", "until", "until_place")
        chunk = dict(zip(names, taken, strict=True)) | {"load": load.id, "application": load.application_id}
        merge_chunk = statement("merge_chunk", load.staging, conflict=on_conflict)
        events, rows = connection.execute(merge_chunk, chunk).fetchone() or (0, 0)
        loads.change(connection, load, "count_chunk", {"events": events, "rows": rows})
    return True


def _drop_uncommitted(connection: Connection, load: Load, staged: list[Staged]) -> None:
    committed = [each.attempt for each in staged]
    connection.execute(statement("drop_uncommitted", load.staging), {"committed": committed})
