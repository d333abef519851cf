"""The job: read, check, stage, set aside, merge, report."""

import json
import sys
import time
import uuid
from contextlib import suppress

import psycopg

from spark_ingest import loads
from spark_ingest.arguments import Arguments
from spark_ingest.database import connect, where
from spark_ingest.explaining import explain
from spark_ingest.inputs import Input, read_input
from spark_ingest.loads import Load, Request
from spark_ingest.merging import merge
from spark_ingest.options import read_options
from spark_ingest.problems import LoadProblem
from spark_ingest.progress import shown
from spark_ingest.reading import Rules
from spark_ingest.report import Report
from spark_ingest.session import start_session
from spark_ingest.source import make_rules, new_id
from spark_ingest.verdicts import forecast, refused_rows


def load(arguments: Arguments) -> Report:
    """Load what the arguments say, or go on with it."""
    began = time.monotonic()
    load_id = arguments.load_id or new_id()
    request = _request(arguments, load_id)
    with connect(arguments.database_url, purpose="look") as connection:
        loads.require_tables(connection)
        loads.require_application(connection, request.application_id)
        types = loads.event_types(connection, request.application_id)
    spark = start_session("hook0 bulk load", master=arguments.master, conf=arguments.conf)
    options = _options(arguments, request)
    rows = read_input(
        spark,
        arguments.source,
        arguments.kind,
        mapped=arguments.mapped,
        place=arguments.place,
        options=arguments.reader_options,
    )
    options |= {name: value for name in ("place", "block", "unreadable") if (value := getattr(rows, name))}
    rules = make_rules(read_options(options), rows.rows.schema, types)
    if arguments.dry_run:
        return _forecast(arguments, rows, rules, began)
    folder = f"{arguments.quarantine.rstrip('/')}/{load_id}" if arguments.quarantine else None
    with connect(arguments.database_url, purpose="open") as connection:
        opened = loads.open_load(connection, request)
    _tell(f"Load {opened.id} into {where(arguments.database_url)}")
    if opened.is_loaded:
        _tell("It is there already: nothing to do.")
        return _report(opened, folder, time.monotonic() - began)
    try:
        with shown(spark, arguments.database_url, opened, sys.stderr):
            if opened.state == "loading":
                rows.rows.write.format("hook0").options(**options, run=str(opened.run)).mode("append").save()
            if folder:
                _set_aside(arguments, opened, rows, rules, folder)
            loaded = merge(arguments.database_url, opened)
    except BaseException as problem:
        with suppress(LoadProblem, psycopg.Error), connect(arguments.database_url, purpose="abort") as connection:
            loads.abort(connection, opened, explain(problem))
        raise  # what went wrong first is what is said
    return _report(loaded, folder, time.monotonic() - began)


def abandon(database_url: str, load_id: uuid.UUID) -> Load:
    """Take away what a load has brought that is not all there."""
    with connect(database_url, purpose="abandon") as connection:
        loads.require_tables(connection)
        return loads.abandon(connection, load_id)


def _set_aside(arguments: Arguments, opened: Load, rows: Input, rules: Rules, folder: str) -> None:
    """Before the merge: what is refused is read once more, which costs nothing where all rows are good."""
    with connect(arguments.database_url, purpose="look") as connection:
        staged = loads.find(connection, opened.id)
    if staged.rows_quarantined:
        refused = refused_rows(rows.rows, rules, rows.columns)
        refused.write.format(arguments.quarantine_format).mode("overwrite").save(folder)


def _forecast(arguments: Arguments, rows: Input, rules: Rules, began: float) -> Report:
    found = forecast(rows.rows, rules, url=arguments.database_url, application_id=arguments.application_id)
    seconds = time.monotonic() - began
    refused = found.refused.total()
    return Report(
        load_id="",
        state="dry run",
        rows_read=found.rows,
        loaded=found.loaded,
        duplicate=found.rows - found.loaded - refused,
        quarantined=refused,
        reasons=dict(found.refused),
        quarantine=None,
        seconds=seconds,
        rows_per_second=found.rows / seconds,
    )


def _report(loaded: Load, quarantine: str | None, seconds: float) -> Report:
    return Report(
        load_id=str(loaded.id),
        state=loaded.state,
        rows_read=loaded.rows_read,
        loaded=loaded.events_count,
        duplicate=loaded.rows_merged - loaded.events_count,
        quarantined=loaded.rows_quarantined,
        reasons=loaded.quarantined,
        quarantine=quarantine,
        seconds=seconds,
        rows_per_second=loaded.rows_read / seconds,
    )


def _request(arguments: Arguments, load_id: uuid.UUID) -> Request:
    return Request(
        load_id=load_id,
        application_id=arguments.application_id,
        source=arguments.source[:1000],
        actor=arguments.actor[:150],
        per_second=arguments.per_second,
    )


def _options(arguments: Arguments, request: Request) -> dict[str, str]:
    """The same in the words of the data source."""
    return {
        "url": arguments.database_url,
        "application_id": str(request.application_id),
        "load_id": str(request.load_id),
        "columns": json.dumps(arguments.mapped),
        "values": json.dumps(arguments.values),
        "refused": "skip" if arguments.quarantine else "fail",
        "source": request.source,
        "actor": request.actor,
    }


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
