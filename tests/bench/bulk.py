"""Loads from Spark, beside what else brings rows into the same table."""

import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_ingest import register
from spark_ingest.java import provide_java
from tests.bench.scenes import Row
from tests.bench.stage import EVENT_TYPE, Stage

PAYLOAD_BYTES = 500
JDBC_JAR = Path("/usr/share/java/postgresql.jar")  # Debian's libpostgresql-jdbc-java
INSTALL = "apt install libpostgresql-jdbc-java, and make bench ARGS=bulk"
COLUMNS = "event_id, application_id, event_type, payload, payload_content_type, labels, metadata, occurred_at"


def bulk(stage: Stage, *, rows: int) -> Iterator[Row]:
    """Into the table of events: from Parquet by Spark, from a ready-made file by COPY, and by Spark's JDBC writer."""
    with _session() as spark, tempfile.TemporaryDirectory() as folder:
        source = _source(spark, folder, rows)
        _load(stage, source.limit(1000))  # Spark's first write starts its workers
        ours = rows / _load(stage, source)
        ready = Path(folder) / "events.copy"
        _copy_out(stage, ready)
        bare = rows / _copy_in(stage, ready)
        yield Row("COPY by one process", bare, "rows/s")
        yield Row("load from Spark", ours, "rows/s", "COPY by one process", ours / bare, 0.5)
        if JDBC_JAR.exists():
            for name, batched, bar in (("Spark's JDBC writer", "false", 1.0), ("the same, rewriting", "true", None)):
                jdbc = rows / _write_by_jdbc(stage, source, batched)
                yield Row("load from Spark", ours, "rows/s", name, ours / jdbc, bar)
        else:
            sys.stdout.write(
                f"NOT MEASURED: load from Spark / Spark's JDBC writer. There is no {JDBC_JAR}: {INSTALL}\n"
            )


def memory(stage: Stage, *, sizes: Sequence[int]) -> Iterator[Row]:
    """The most memory that the driver takes for loads of different sizes; its executors are processes of their own."""
    taken = {}
    with tempfile.TemporaryDirectory() as folder:
        for rows in sizes:
            with _session("local-cluster[2,1,1024]") as spark:
                source = _source(spark, f"{folder}/{rows}", rows)
                _load(stage, source.limit(1000))
                with _peak() as peak:
                    _load(stage, source)
            taken[rows] = peak[0] / 1024
            ratio = taken[rows] / taken[sizes[0]]
            beside = (f"{sizes[0]:,} rows", ratio, 1.2) if rows != sizes[0] else ("", None, None)
            yield Row(f"memory of the driver, {rows:,} rows", taken[rows], "MiB", *beside, at_most=True)


@contextmanager
def _session(master: str = "local[*]") -> Iterator[SparkSession]:
    provide_java()
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "1g").config("spark.ui.showConsoleProgress", "false")
    if JDBC_JAR.exists():
        builder = builder.config("spark.jars", str(JDBC_JAR))
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    register(spark)
    yield spark
    spark.stop()


def _source(spark: SparkSession, folder: str, rows: int) -> DataFrame:
    """So many events in Parquet."""
    begin = F.lit('{"n": ')
    number = F.lpad(F.col("id").cast("string"), 12, " ")
    filling = F.lit(', "x": "' + "x" * (PAYLOAD_BYTES - 28) + '"}')
    events = spark.range(rows).select(
        F.expr("uuid()").alias("event_id"),
        F.lit(EVENT_TYPE).alias("event_type"),
        F.concat(begin, number, filling).alias("payload"),
        F.create_map(F.lit("bench"), F.lit("yes")).alias("labels"),
        F.timestamp_millis(F.col("id") + 1_700_000_000_000).alias("occurred_at"),
    )
    events.write.parquet(f"{folder}/events")
    return spark.read.parquet(f"{folder}/events")


def _load(stage: Stage, source: DataFrame) -> float:
    """Seconds from the call to the last event in the table."""
    application = stage.empty()
    options = {"url": stage.cluster.server.url, "application_id": str(application.id)}
    began = time.monotonic()
    source.write.format("hook0").options(**options).mode("append").save()
    return time.monotonic() - began


def _copy_out(stage: Stage, file: Path) -> None:
    with (
        psycopg.connect(stage.cluster.server.url) as connection,
        file.open("wb") as out,
        connection.cursor().copy(f"COPY event ({COLUMNS}) TO STDOUT") as copy,
    ):
        for block in copy:
            out.write(block)


def _copy_in(stage: Stage, file: Path) -> float:
    """Seconds for the same rows."""
    stage.cluster.query("TRUNCATE event")
    began = time.monotonic()
    with (
        psycopg.connect(stage.cluster.server.url) as connection,
        file.open("rb") as ready,
        connection.cursor().copy(f"COPY event ({COLUMNS}) FROM STDIN") as copy,
    ):
        while block := ready.read(1 << 17):
            copy.write(block)
    return time.monotonic() - began


def _write_by_jdbc(stage: Stage, source: DataFrame, batched: str) -> float:
    """As Spark's documentation has it; `batched` is the driver's way to rewrite many rows into one statement."""
    application = stage.empty()
    parts = psycopg.conninfo.conninfo_to_dict(stage.cluster.server.url)
    rows = source.select(
        "event_id",
        F.lit(str(application.id)).alias("application_id"),
        "event_type",
        F.col("payload").cast("binary").alias("payload"),
        F.lit("application/json").alias("payload_content_type"),
        F.to_json("labels").alias("labels"),
        F.lit("{}").alias("metadata"),
        "occurred_at",
    )
    began = time.monotonic()
    rows.write.format("jdbc").mode("append").options(
        url=f"jdbc:postgresql://{parts['host']}:{parts['port']}/{parts['dbname']}",
        user=parts["user"],
        password=parts["password"],
        driver="org.postgresql.Driver",
        dbtable="event",
        stringtype="unspecified",
        reWriteBatchedInserts=batched,
    ).save()
    return time.monotonic() - began


@contextmanager
def _peak() -> Iterator[list[int]]:
    """The most that the driver has had in memory at once, in KiB: this process and what it started, but executors."""
    over, peak = threading.Event(), [0]

    def watch() -> None:
        while not over.wait(0.1):
            peak[0] = max(peak[0], _tree())

    watcher = threading.Thread(target=watch)
    watcher.start()
    yield peak
    over.set()
    watcher.join()


def _tree() -> int:
    parents, sizes = {}, {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:
            continue  # it has ended
        pid = int(fields["Pid"])
        parents[pid], sizes[pid] = int(fields["PPid"]), int(fields.get("VmRSS", "0").split()[0])
    mine = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in mine and pid not in mine and _is_driver(pid)}:
        mine |= more
    return sum(sizes[pid] for pid in mine)


def _is_driver(pid: int) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"CoarseGrainedExecutorBackend" not in command and b"postgres" not in command.split(b"\0")[0]
