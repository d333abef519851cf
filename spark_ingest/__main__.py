"""python -m spark_ingest: load events from files. --help says how."""

import sys
from collections.abc import Sequence

import psycopg
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from spark_ingest.arguments import read_arguments
from spark_ingest.explaining import explain
from spark_ingest.job import abandon, load
from spark_ingest.problems import LoadProblem
from spark_ingest.report import as_json, as_table, what_is_left

FAILED, INTERRUPTED = 1, 130


def main(argv: Sequence[str] | None = None) -> int:
    arguments = read_arguments(argv)
    try:
        if arguments.abandon:
            sys.stdout.write(f"{what_is_left(abandon(arguments.database_url, arguments.abandon))}\n")
            return 0
        report = load(arguments)
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted. Run it again with its --load-id, and it goes on.\n")
        return INTERRUPTED
    except (LoadProblem, PySparkException, Py4JError, psycopg.Error) as problem:
        sys.stderr.write(f"\n{explain(problem)}\n")
        return FAILED
    sys.stdout.write(f"{as_json(report) if arguments.as_json else as_table(report)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
