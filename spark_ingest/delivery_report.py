"""python -m spark_ingest.delivery_report: how deliveries went, per day, application and subscription, as Parquet."""

import argparse
import os
import sys
import uuid
from collections.abc import Sequence
from datetime import UTC, date, datetime

import psycopg
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from spark_ingest.arguments import pair
from spark_ingest.explaining import explain
from spark_ingest.problems import LoadProblem
from spark_ingest.session import start_session

BY = ["day", "application_id", "subscription_id"]
NUMBERS = ["sent", "succeeded", "failed", "retried", "p50_ms", "p95_ms", "p99_ms"]
MOST_LINES = 50
EPILOG = """\
A line counts the tries that ended on a day (in UTC): sent, succeeded, failed, those that were not the first of their
delivery (retried), and percentiles of how long their requests took.
"""


def delivery_report(attempts: DataFrame) -> DataFrame:
    """A line for each day, application and subscription that had a try."""
    p50, p95, p99 = (F.percentile("elapsed_ms", F.lit(share)) for share in (0.5, 0.95, 0.99))
    return (
        attempts.groupBy(*BY)
        .agg(
            F.count("*").alias("sent"),
            F.count_if("succeeded").alias("succeeded"),
            F.count_if(~F.col("succeeded")).alias("failed"),
            F.count_if(F.col("try_number") > 1).alias("retried"),
            *(value.alias(name) for name, value in {"p50_ms": p50, "p95_ms": p95, "p99_ms": p99}.items()),
        )
        .coalesce(1)
        .sort(*BY)
    )


def as_table(lines: Sequence[Row]) -> str:
    head = f"{'day':<11}{'application':<37}{'subscription':<37}" + "".join(f"{name:>11}" for name in NUMBERS)
    rows = [
        f"{line.day!s:<11}{line.application_id or '':<37}{line.subscription_id:<37}"
        + "".join(f"{'' if line[name] is None else format(line[name], ',.0f'):>11}" for name in NUMBERS)
        for line in lines
    ]
    return "\n".join([head, *rows])


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _read_arguments(argv)
    try:
        spark = start_session("hook0 delivery report", master=arguments.master, conf=dict(arguments.conf))
        attempts = spark.read.format("hook0_attempts").option("url", arguments.database_url).load()
        wanted = attempts.where(F.col("day").between(arguments.since, arguments.until))
        if arguments.application_id:
            wanted = wanted.where(F.col("application_id") == str(arguments.application_id))
        mode = "overwrite" if arguments.overwrite else "error"
        delivery_report(wanted).write.mode(mode).parquet(arguments.output)
        written = spark.read.parquet(arguments.output)
        lines = written.sort(*BY).limit(MOST_LINES).collect()
        sys.stdout.write(f"{as_table(lines)}\n")
        if (more := written.count() - len(lines)) > 0:
            sys.stdout.write(f"and {more:,} more lines\n")
    except (LoadProblem, PySparkException, Py4JError, psycopg.Error) as problem:
        said = explain(problem)
        hint = " Give --overwrite to replace it." if "PATH_ALREADY_EXISTS" in said else ""
        sys.stderr.write(f"{said}{hint}\n")
        return 1
    sys.stdout.write(f"Written to {arguments.output}\n")
    return 0


def _read_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m spark_ingest.delivery_report",
        description="How deliveries went, per day, application and subscription, as Parquet and as a table.",
        epilog=EPILOG,
    )
    today = datetime.now(UTC).date()
    parser.add_argument("--since", type=_day, required=True, metavar="DAY", help="as 2026-01-31, in UTC")
    parser.add_argument("--until", type=_day, default=today, metavar="DAY", help="the last day (today)")
    parser.add_argument("--output", required=True, metavar="FOLDER", help="anywhere that Spark writes to")
    parser.add_argument("--overwrite", action="store_true", help="replace what is there")
    parser.add_argument("--application-id", type=uuid.UUID, help="of this application alone")
    url = os.environ.get("DATABASE_URL")
    parser.add_argument("--database-url", default=url, help="by default what the variable DATABASE_URL says")
    parser.add_argument("--master", help="local[4], spark://host:7077; by default this machine, with all its cores")
    parser.add_argument("--conf", type=pair, action="append", default=[], metavar="NAME=VALUE", help="for Spark")
    arguments = parser.parse_args(argv)
    if arguments.until < arguments.since:
        parser.error("--until is before --since")
    if not arguments.database_url:
        parser.error("Which database? Set DATABASE_URL, or give --database-url")
    return arguments


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a day, as 2026-01-31 is") from None


if __name__ == "__main__":
    sys.exit(main())
