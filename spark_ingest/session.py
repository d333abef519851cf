"""Spark, told of the data sources, and given this package for its workers."""

import os
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_ingest.attempts import AttemptsDataSource
from spark_ingest.java import provide_java
from spark_ingest.problems import LoadProblem
from spark_ingest.source import Hook0DataSource

PACKAGE = Path(__file__).parent
SUBMITTED = "PYSPARK_GATEWAY_PORT"  # where spark-submit has started a Java, which knows its master already


def start_session(name: str, *, master: str | None, conf: Mapping[str, str]) -> SparkSession:
    """The session of a job: on the cluster that is named, or that spark-submit names, or else on this machine."""
    provide_java()
    builder = SparkSession.builder.appName(name).config("spark.ui.showConsoleProgress", "false")
    master = master or (None if SUBMITTED in os.environ else "local[*]")
    if master:
        builder = builder.master(master)
        if master.startswith("local"):  # the workers are this Python, and all of it stays on this machine
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    for key, value in conf.items():
        builder = builder.config(key, value)
    try:
        spark = builder.getOrCreate()
    except (PySparkException, Py4JError) as problem:
        raise LoadProblem(f"Spark does not start: {problem}") from None
    spark.sparkContext.setLogLevel("FATAL")  # what goes wrong is said once, in words
    register(spark)
    return spark


def register(spark: SparkSession) -> None:
    """Make our formats known to a session. The workers are sent the package; what it imports they have to have."""
    if PACKAGE.is_dir():  # not where it was sent as a zip already, by --py-files
        spark.sparkContext.addPyFile(str(_zipped()))
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")  # or the history would be read as a whole
    spark.dataSource.register(Hook0DataSource)
    spark.dataSource.register(AttemptsDataSource)


@cache
def _zipped() -> Path:
    target = Path(tempfile.mkdtemp(prefix="spark_ingest-")) / "spark_ingest.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(PACKAGE.rglob("*")):
            if file.suffix in {".py", ".sql"}:
                archive.write(file, Path("spark_ingest") / file.relative_to(PACKAGE))
    return target
