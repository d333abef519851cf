"""The command line of the job."""

import argparse
import getpass
import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spark_ingest.inputs import FORMATS
from spark_ingest.layout import FIELDS
from spark_ingest.options import positive

EXAMPLES = """\
examples:
  See what a load would do, without writing anything:
    python -m spark_ingest --source events/ --format json --application-id ID --dry-run
  Load Parquet whose columns have other names, with the same labels for all, and set bad rows aside:
    python -m spark_ingest --source events.parquet --format parquet --application-id ID \\
      --map event_type=kind --map occurred_at=time --set labels='{"shop": "1"}' --quarantine bad/
  Go on with a load that broke off:
    the same command again, with --load-id as it was printed

A field is in the column of its name, unless --map or --set says otherwise. Fields: """ + ", ".join(FIELDS)


@dataclass(frozen=True)
class Arguments:
    database_url: str
    application_id: uuid.UUID
    source: str
    kind: str
    load_id: uuid.UUID | None
    mapped: Mapping[str, str]
    values: Mapping[str, str]
    reader_options: Mapping[str, str]
    place: str | None
    quarantine: str | None
    quarantine_format: str
    per_second: int | None
    actor: str
    dry_run: bool
    as_json: bool
    abandon: uuid.UUID | None
    master: str | None
    conf: Mapping[str, str]


def read_arguments(argv: Sequence[str] | None = None) -> Arguments:
    parser = argparse.ArgumentParser(
        prog="python -m spark_ingest",
        description="Load events from files into hook0, by Spark; they are then delivered in order, at priority 30.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_argument_group("what to load")
    what.add_argument("--source", help="a file, a folder or a pattern; anything that Spark reads: s3a://bucket/events/")
    what.add_argument("--format", dest="kind", choices=FORMATS, help="how it is written; json is an event on each line")
    what.add_argument("--option", dest="reader_options", type=pair, action="append", default=[], metavar="NAME=VALUE",
                      help="for Spark's reader of the format: --option sep=';' (repeatable)")  # fmt: skip
    what.add_argument("--map", dest="mapped", type=pair, action="append", default=[], metavar="FIELD=COLUMN",
                      help="which column holds a field (repeatable)")  # fmt: skip
    what.add_argument("--set", dest="values", type=pair, action="append", default=[], metavar="FIELD=VALUE",
                      help="a field that is the same in all rows; labels as JSON (repeatable)")  # fmt: skip
    what.add_argument("--place", metavar="COLUMN",
                      help="a column of whole numbers that decides between events of the same moment; without it, "
                           "their place in the files does")  # fmt: skip
    where = parser.add_argument_group("where to")
    where.add_argument("--application-id", type=uuid.UUID, help="whose events these are")
    where.add_argument("--database-url", default=os.environ.get("DATABASE_URL"),
                       help="hook0's database, postgresql://user:password@host:5432/hook0; by default what the "
                            "environment variable DATABASE_URL says, which keeps the password out of lists of "
                            "processes")  # fmt: skip
    how = parser.add_argument_group("how")
    how.add_argument("--dry-run", action="store_true", help="report what would happen, and write nothing")
    how.add_argument("--load-id", type=uuid.UUID, help="a UUID to know the load by; run again with it, a load goes on")
    how.add_argument("--quarantine", metavar="FOLDER",
                     help="where rows go that will not do, with the reasons; without it, one such row fails the "
                          "load")  # fmt: skip
    how.add_argument("--quarantine-format", choices=("parquet", "json"), default="parquet")
    how.add_argument("--rate", dest="per_second", type=positive, metavar="EVENTS",
                     help="release so many events per second; without it, as fast as live traffic allows")  # fmt: skip
    how.add_argument("--actor", default=getpass.getuser(), help="who loads, as the API shows it (%(default)s)")
    how.add_argument("--abandon", type=uuid.UUID, metavar="LOAD_ID",
                     help="take away what a load has brought that broke off, instead of going on with it")  # fmt: skip
    how.add_argument("--json", dest="as_json", action="store_true", help="the report as JSON")
    spark = parser.add_argument_group("Spark, where spark-submit does not say it")
    spark.add_argument("--master", help="local[4], spark://host:7077; by default this machine, with all its cores")
    spark.add_argument("--conf", type=pair, action="append", default=[], metavar="NAME=VALUE", help="(repeatable)")
    given = vars(parser.parse_args(argv))
    if not given["database_url"]:
        parser.error("Which database? Set DATABASE_URL, or give --database-url")
    if not given["abandon"]:
        missing = [name for name in ("source", "kind", "application_id") if given[name] is None]
        if missing:
            options = [f"--{'format' if name == 'kind' else name.replace('_', '-')}" for name in missing]
            parser.error(f"Missing: {', '.join(options)}")
    pairs = {name: dict(given[name]) for name in ("reader_options", "mapped", "values", "conf")}
    return Arguments(**{**given, **pairs})


def pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name, value
