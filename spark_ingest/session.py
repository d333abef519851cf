"""Spark, told of the data sources, and given this package for its workers."""

import tempfile
import zipfile
from functools import cache
from pathlib import Path

from pyspark.sql import SparkSession

from spark_ingest.attempts import AttemptsDataSource
from spark_ingest.source import Hook0DataSource

PACKAGE = Path(__file__).parent


def register(spark: SparkSession) -> None:
    """Make our formats known to a session. The workers need psycopg and pyarrow; the package is sent to them."""
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
