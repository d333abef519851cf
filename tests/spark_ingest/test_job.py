"""The job, in this process with the session of the tests, and once as a process of its own."""

import gzip
import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from pyspark.sql import functions as F

from events.models import BulkLoad, Event
from spark_ingest import inputs, job, merging
from spark_ingest.__main__ import main
from spark_ingest.arguments import read_arguments
from spark_ingest.explaining import explain
from tests.factories import EVENT_TYPE, publish
from tests.spark_ingest.conftest import in_order, staging_tables
from tests.spark_ingest.rows import BEGAN, an_event, frame

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def run(spark, url, application):
    def run(source: Path, kind: str, *options: str):
        argv = ["--source", str(source), "--format", kind, "--application-id", str(application.id), *options]
        return job.load(read_arguments([*argv, "--database-url", url]))

    return run


def line(number: int, **overrides) -> str:
    return json.dumps(an_event(number, **overrides), default=lambda time: time.isoformat())


def test_lines_of_json_are_loaded_in_the_order_of_the_files_and_lines(monkeypatch, spark, run, tmp_path):
    monkeypatch.setattr(merging, "CHUNK", 7)
    for file in (2, 0, 1):
        lines = [line(100 * file + n, occurred_at=BEGAN) for n in range(50)]
        (tmp_path / f"part {file}.json").write_text("\n".join(lines))
    spark.conf.set("spark.sql.files.maxPartitionBytes", "2000")  # many blocks of one file
    report = run(tmp_path, "json")
    spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert in_order(uuid.UUID(report.load_id)) == [str(100 * file + n) for file in range(3) for n in range(50)]


def test_gzipped_lines_csv_and_parquet_keep_their_order_too(spark, run, tmp_path):
    numbers = list(range(20))
    with gzip.open(tmp_path / "events.json.gz", "wt") as file:
        file.write("\n".join(line(n, occurred_at=BEGAN) for n in numbers))
    header = "kind,body,at\n"
    rows = [f'{EVENT_TYPE},"{{""n"": {n}}}",{BEGAN.isoformat()}' for n in numbers]
    (tmp_path / "events.csv").write_text(header + "\n".join(rows))
    frame(spark, [an_event(100 + n, occurred_at=BEGAN) for n in numbers]).coalesce(1).write.parquet(
        str(tmp_path / "events.parquet")
    )
    lines = run(tmp_path / "events.json.gz", "json")
    mapped = ("--map", "event_type=kind", "--map", "payload=body", "--map", "occurred_at=at")
    csv = run(tmp_path / "events.csv", "csv", *mapped, "--set", 'labels={"shop": "1"}')
    parquet = run(tmp_path / "events.parquet", "parquet", "--rate", "50")
    assert in_order(uuid.UUID(lines.load_id)) == [str(n) for n in numbers]
    assert in_order(uuid.UUID(csv.load_id)) == [f'{{"n": {n}}}' for n in numbers]
    assert in_order(uuid.UUID(parquet.load_id)) == [str(100 + n) for n in numbers]
    assert BulkLoad.objects.get(id=parquet.load_id).per_second == 50


def test_a_table_that_does_not_number_its_rows_keeps_their_order_too(monkeypatch, spark, run, tmp_path):
    """As Delta's, which takes a package of its own: ORC stands in for it. Its rows are packed, many to a byte."""
    event = (
        F.lit(EVENT_TYPE).alias("event_type"),
        F.lit(BEGAN).alias("occurred_at"),
        F.lit('{"shop": "1"}').alias("labels"),
    )
    table = spark.range(20_000).select(F.floor(F.col("id") / 500).cast("string").alias("payload"), *event)
    table.coalesce(1).write.option("orc.stripe.size", "1024").orc(str(tmp_path / "events"))
    monkeypatch.setattr(inputs, "_read", lambda spark, source, *_, **__: spark.read.orc(source))
    spark.conf.set("spark.sql.files.maxPartitionBytes", "1000")
    report = run(tmp_path / "events", "delta")
    spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert in_order(uuid.UUID(report.load_id)) == [str(n // 500) for n in range(20_000)]


def test_a_payload_is_stored_as_it_stands_in_the_file(run, tmp_path):
    text = '{"b": 1.00, "a": [1,  2], "c": "\\u00e9", "b": 1e2}'
    event = line(1).replace('"payload": "1"', f'"payload": {text}')
    assert text in event
    (tmp_path / "events.json").write_text(event)
    run(tmp_path / "events.json", "json")
    assert bytes(Event.objects.get().payload).decode() == text


def bad_file(folder: Path) -> Path:
    lines = [
        *(line(n) for n in range(10)),
        line(3),
        "{not json",
        line(20, payload="{"),
        line(21, event_type="no.such.type"),
    ]
    (folder / "events.json").write_text("\n".join(lines))
    return folder / "events.json"


def test_a_dry_run_says_what_a_load_then_does_and_writes_nothing(spark, run, application, tmp_path):
    publish(application, event_id=uuid.UUID(an_event(5)["event_id"]))
    source, quarantine = bad_file(tmp_path), tmp_path / "bad"
    told = run(source, "json", "--quarantine", str(quarantine), "--dry-run")
    assert (BulkLoad.objects.count(), Event.objects.count(), quarantine.exists(), staging_tables()) == (0, 1, False, 0)
    done = run(source, "json", "--quarantine", str(quarantine))
    figures = ("rows_read", "loaded", "duplicate", "quarantined", "reasons")
    assert {name: getattr(told, name) for name in figures} == {name: getattr(done, name) for name in figures}
    assert (done.rows_read, done.loaded, done.duplicate, done.quarantined) == (14, 9, 2, 3)

    bad = {row["_unreadable"] or row["event_id"]: row for row in spark.read.parquet(done.quarantine).collect()}
    assert set(bad) == {"{not json", an_event(20)["event_id"], an_event(21)["event_id"]}
    assert bad["{not json"]["reasons"] == ["row: it cannot be read"]
    assert bad[an_event(20)["event_id"]]["reasons"] == ["payload: it is not JSON"]
    assert bad[an_event(20)["event_id"]]["payload"] == "{"


def test_the_same_load_goes_on_where_it_broke_off(monkeypatch, run, tmp_path):
    monkeypatch.setattr(merging, "CHUNK", 2)
    load_id = ("--load-id", str(uuid.uuid4()))
    (tmp_path / "events.json").write_text("\n".join(line(n) for n in range(30)))
    merge_chunk, left = merging._merge_chunk, iter(range(6))
    with monkeypatch.context() as patch:
        patch.setattr(merging, "_merge_chunk", lambda *of: merge_chunk(*of) if next(left, None) is not None else 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run(tmp_path / "events.json", "json", *load_id)
    load = BulkLoad.objects.get()
    assert (load.state, load.error) == ("merging", "division by zero")
    assert 0 < load.events_count < 30
    report = run(tmp_path / "events.json", "json", *load_id)
    assert (report.state, report.loaded, report.duplicate, Event.objects.count()) == ("ready", 30, 0, 30)
    assert in_order(load.id) == [str(n) for n in range(30)]
    again = run(tmp_path / "events.json", "json", *load_id)
    assert (again.loaded, Event.objects.count()) == (30, 30)


def test_it_runs_as_a_process_of_its_own(url, application, tmp_path):
    environment = {**os.environ, "DATABASE_URL": url, "PYTHONPATH": str(ROOT)}
    environment.pop("PYSPARK_PYTHON", None)
    command = [sys.executable, "-m", "spark_ingest", "--source", str(bad_file(tmp_path)), "--format", "json", "--json"]
    command += ["--application-id", str(application.id), "--master", "local[1]", "--quarantine", str(tmp_path / "bad")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["state"], report["loaded"], report["duplicate"], report["quarantined"]) == ("ready", 10, 1, 3)
    assert f"Load {report['load_id']} into the database" in done.stderr
    assert "  0% reading and copying" in done.stderr
    assert Event.objects.count() == 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--database-url", "postgresql://me:secret@127.0.0.1:1/x"],
            "There is no way to the database x on 127.0.0.1:1",
        ),
        (["--application-id", str(uuid.uuid4())], "There is no application"),
        (["--format", "parquet"], "cannot be read as parquet"),
        (["--format", "delta"], "This Spark cannot read delta. Add what it needs"),
        (["--map", "kind=x"], "An event has no field 'kind'"),
        (["--set", "labels=x"], "labels: it is not an object of strings"),
        (["--abandon", str(uuid.uuid4())], "There is no load"),
        ([], "1 of 1 rows will not do"),
    ],
)
def test_what_went_wrong_is_said_in_a_line_and_the_exit_code(
    spark, url, application, tmp_path, capfd, options, message
):
    (tmp_path / "events.json").write_text("{}")
    argv = ["--source", str(tmp_path / "events.json"), "--format", "json", "--application-id", str(application.id)]
    assert main([*argv, "--database-url", url, *options]) == 1
    said = capfd.readouterr().err
    assert message in said
    assert "secret" not in said
    assert "Traceback" not in said


def test_without_a_database_or_a_source_the_usage_is_shown(monkeypatch, capsys):
    monkeypatch.delenv("DATABASE_URL", raising=False)
    for argv, message in ([["--source", "x"], "--database-url"], [["--database-url", "x"], "--source, --format"]):
        with pytest.raises(SystemExit) as ended:
            main(argv)
        assert ended.value.code == 2
        assert message in capsys.readouterr().err


def test_of_an_error_of_javas_the_stack_is_left_out():
    assert explain(RuntimeError("java.lang.NoSuchMethodError: x\n\tat org.Y.z(Y.scala:1)\n\tat a.B")) == (
        "java.lang.NoSuchMethodError: x"
    )
