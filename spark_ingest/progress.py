"""How far a load is: a line in the terminal, and the load's row for everybody else."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import psycopg
from pyspark.sql import SparkSession

from spark_ingest import loads
from spark_ingest.database import Connection, connect
from spark_ingest.loads import Load
from spark_ingest.problems import LoadProblem

SECONDS = 0.5


@contextmanager
def shown(spark: SparkSession, url: str, load: Load, out: TextIO) -> Iterator[None]:
    """Show it for as long as the block lasts. It is for looking at: where it fails, the load goes on without."""
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(spark, url, load, out, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _watch(spark: SparkSession, url: str, load: Load, out: TextIO, over: threading.Event) -> None:
    last = ""
    try:
        with connect(url, purpose="progress") as connection:
            while not over.wait(SECONDS):
                line = _line(spark, connection, load)
                if line != last and (out.isatty() or line[:2] != last[:2]):  # elsewhere, at every tenth percent
                    out.write(f"\r\033[K{line}" if out.isatty() else f"{line}\n")
                    out.flush()
                    last = line
    except (psycopg.Error, LoadProblem) as problem:
        out.write(f"\nThe progress is not shown any more: {problem}\n")
    if out.isatty():
        out.write("\r\033[K")


def _line(spark: SparkSession, connection: Connection, load: Load) -> str:
    now = loads.find(connection, load.id)
    if now.state == "loading":
        tracker = spark.sparkContext.statusTracker()
        stages = [info for each in tracker.getActiveStageIds() if (info := tracker.getStageInfo(each))]
        running = [info for info in stages if info.name.startswith("save ")]  # not what sends small tables around
        done, tasks = sum(each.numCompletedTasks for each in running), sum(each.numTasks for each in running)
        progress = 50 * done // tasks if tasks else now.progress
        loads.say(connection, load, f"reading and copying: {done} of {tasks} tasks", progress=progress)
        return f"{progress:>3}% reading and copying: {done} of {tasks} tasks"
    return f"{now.progress:>3}% {now.stage}: {now.rows_merged:,} of {now.rows_staged:,} rows"
