"""The row of a load: who runs it, how far it is.

Whoever changes it names the run; one that another has taken over changes nothing.
"""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import class_row

from spark_ingest.database import Connection, statement
from spark_ingest.problems import LoadProblem, Overtaken

LOADED = {"ready", "releasing", "paused", "done"}


@dataclass(frozen=True)
class Request:
    """What somebody wants loaded."""

    load_id: uuid.UUID
    application_id: uuid.UUID
    source: str = ""
    actor: str = ""
    per_second: int | None = None
    is_stream: bool = False


@dataclass(frozen=True)
class Load:
    """A load as the database has it."""

    id: uuid.UUID
    application_id: uuid.UUID
    state: str
    stage: str
    progress: int
    source: str
    run: uuid.UUID
    staging: str
    is_stream: bool
    last_batch: int | None
    rows_read: int
    rows_quarantined: int
    quarantined: dict[str, int]
    rows_merged: int
    events_count: int
    chunks: int
    started_at: datetime

    @property
    def is_loaded(self) -> bool:
        return self.state in LOADED

    @property
    def rows_staged(self) -> int:
        return self.rows_read - self.rows_quarantined


def open_load(connection: Connection, request: Request) -> Load:
    """Begin a load, or take over one that has broken off: what it has staged counts if it got to merging."""
    require_tables(connection)
    require_application(connection, request.application_id)
    run = uuid.uuid4()
    with connection.transaction():
        connection.execute(statement("begin_load"), vars(request) | {"run": run})
        load = find(connection, request.load_id, lock=True)
        _require_same(load, request)
        if load.is_loaded and not load.is_stream:
            return load
        if load.state == "cancelled":
            raise LoadProblem(f"The load {load.id} was cancelled. Load under another id.")
        connection.execute(statement("take_over"), {"load": load.id, "run": run, "per_second": request.per_second})
        # Spark opens a stream anew for each commit: what its tasks have staged is in the table that there is.
        if load.state != "merging" and not (load.is_stream and load.staging):
            new = f"{load.id.hex}_{run.hex[:8]}"
            _drop(connection, load.staging)
            connection.execute(statement("create_staging", new))
            connection.execute(statement("begin_staging"), {"load": load.id, "staging": new})
    return find(connection, request.load_id)


def find(connection: Connection, load_id: uuid.UUID, *, lock: bool = False) -> Load:
    with connection.cursor(row_factory=class_row(Load)) as cursor:
        cursor.execute(statement("lock_load" if lock else "find_load"), {"load": load_id})
        load = cursor.fetchone()
    if load is None:
        raise LoadProblem(f"There is no load {load_id}.")
    return load


def start_merging(connection: Connection, load: Load, *, rows_read: int, quarantined: Mapping[str, int]) -> None:
    """All rows are staged. From here on, the load goes on where it was, whatever happens."""
    parameters = {"rows_read": rows_read, "quarantined": json.dumps(quarantined), "lost": sum(quarantined.values())}
    change(connection, load, "start_merging", parameters)


def finish(connection: Connection, load: Load) -> None:
    """All events are there: the release may begin."""
    with connection.transaction():
        change(connection, load, "finish_load", {})
        _drop(connection, load.staging)


def say(connection: Connection, load: Load, stage: str, *, progress: int | None = None) -> None:
    """What goes on, for those who look at the load."""
    connection.execute(statement("say"), {"load": load.id, "run": load.run, "stage": stage, "progress": progress})


def give_up(connection: Connection, load: Load, why: str) -> str:
    """Nothing of it stays, but events that somebody has replayed meanwhile; why, and how many those are.

    Events go in the chunks they came in, the last first, so that it may be called again.
    """
    while _take_chunk_away(connection, load):
        pass
    with connection.transaction():
        kept = find(connection, load.id, lock=True).events_count
        why += f" Events of it that stay, because they were replayed: {kept:,}." if kept else ""
        change(connection, load, "fail_load", {"error": why})
        _drop(connection, load.staging)
    return why


def _take_chunk_away(connection: Connection, load: Load) -> bool:
    with connection.transaction():
        taken = connection.execute(statement("take_chunk_away"), {"load": load.id, "run": load.run}).fetchone()
        if taken is None:
            return False
        events = {"events": taken[0]}
        connection.execute(statement("lock_events"), events)
        gone = connection.execute(statement("delete_events"), events).rowcount
        change(connection, load, "count_deleted", {"gone": gone})
    return True


def abort(connection: Connection, load: Load, why: str) -> None:
    """Spark has failed. Before the merge nothing of the load stays; later it can go on, and says why it has not."""
    try:
        if find(connection, load.id).state == "loading":
            give_up(connection, load, why)
        else:
            note(connection, load, why)
    except Overtaken:
        _drop(connection, load.staging)


def abandon(connection: Connection, load_id: uuid.UUID) -> Load:
    """Take a load over that is not all there, and give it up."""
    run = uuid.uuid4()
    with connection.transaction():
        load = find(connection, load_id, lock=True)
        if load.is_loaded or load.is_stream:
            raise LoadProblem(f"The load {load.id} is {load.state}: cancel it through the API.")
        connection.execute(statement("take_over"), {"load": load.id, "run": run, "per_second": None})
    if load.state in {"loading", "merging"}:
        give_up(connection, find(connection, load_id), "It was abandoned.")
    return find(connection, load_id)


def note(connection: Connection, load: Load, problem: str) -> None:
    """What went wrong; the load stays where it is, to be gone on with."""
    connection.execute(statement("note_error"), {"load": load.id, "run": load.run, "error": problem})


def event_types(connection: Connection, application_id: uuid.UUID) -> frozenset[str]:
    rows = connection.execute(statement("event_types"), {"application": application_id})
    return frozenset(name for (name,) in rows)


def require_tables(connection: Connection) -> None:
    try:
        connection.execute("SELECT FROM bulk_load LIMIT 0")
    except psycopg.errors.UndefinedTable:
        raise LoadProblem(
            "The database has no table bulk_load. Run `manage.py migrate` of the hook0 it belongs to."
        ) from None
    except psycopg.errors.InsufficientPrivilege:
        raise LoadProblem("This user may not read bulk_load. Take the one that hook0 itself connects as.") from None


def require_application(connection: Connection, application_id: uuid.UUID) -> None:
    if connection.execute(statement("find_application"), {"application": application_id}).fetchone() is None:
        raise LoadProblem(f"There is no application {application_id} in this database, or it was deleted.")


def _require_same(load: Load, request: Request) -> None:
    """An id that was meant for something else must not end another's load."""
    if load.application_id != request.application_id:
        raise LoadProblem(f"The load {load.id} is of another application. Load under another id.")
    if load.source != request.source or load.is_stream != request.is_stream:
        raise LoadProblem(f"The load {load.id} is of {load.source or 'another source'}. Load under another id.")


def change(connection: Connection, load: Load, name: str, parameters: Mapping[str, Any]) -> tuple[Any, ...]:
    """Run a statement that changes the load, if it still is this run's; the row that it returns."""
    cursor = connection.execute(statement(name, load.staging), {**parameters, "load": load.id, "run": load.run})
    if not cursor.rowcount:
        raise Overtaken(f"The load {load.id} was cancelled, or another run has taken it over.")
    return (cursor.fetchone() or ()) if cursor.description else ()


def _drop(connection: Connection, staging: str) -> None:
    if staging:
        connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier("bulk_load_stage", staging)))
