"""The history of deliveries as a data source: `spark.read.format("hook0_attempts")`, a partition for each day."""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.csv
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition

from spark_ingest.database import connect, statement
from spark_ingest.problems import LoadProblem
from spark_ingest.pushing import Narrowed, narrow

TIME = pa.timestamp("us", tz="UTC")
# As read_attempts.sql has them, with the types of Arrow and of Spark.
COLUMNS: Mapping[str, tuple[pa.DataType, str]] = {
    "ended_at": (TIME, "timestamp"),
    "attempt_id": (pa.string(), "string"),
    "delivery_id": (pa.string(), "string"),
    "application_id": (pa.string(), "string"),
    "subscription_id": (pa.string(), "string"),
    "lane_id": (pa.int64(), "bigint"),
    "lane_seq": (pa.int64(), "bigint"),
    "try_number": (pa.int32(), "int"),
    "succeeded": (pa.bool_(), "boolean"),
    "accepted": (pa.bool_(), "boolean"),
    "error_name": (pa.string(), "string"),
    "http_status": (pa.int32(), "int"),
    "elapsed_ms": (pa.int32(), "int"),
    "worker": (pa.string(), "string"),
    "created_at": (TIME, "timestamp"),
    "due_at": (TIME, "timestamp"),
    "picked_at": (TIME, "timestamp"),
    "retry_at": (TIME, "timestamp"),
}
SCHEMA = ", ".join(["day date", *(f"{name} {spark}" for name, (_, spark) in COLUMNS.items())])
BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Part(InputPartition):
    """What is read by one task: of a day, from when to before when."""

    day: date
    since: datetime
    until: datetime


class AttemptsDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "hook0_attempts"

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: Any) -> "AttemptsReader":
        if unknown := sorted(set(self.options) - {"url", "path"}):
            raise LoadProblem(f"There is no option {', '.join(unknown)}. There is: url.")
        if not (url := self.options.get("url")):
            raise LoadProblem("The option url is missing: the database, as postgresql://user:password@host:5432/hook0.")
        return AttemptsReader(url)


class AttemptsReader(DataSourceReader):
    def __init__(self, url: str) -> None:
        self._url, self._narrowed = url, Narrowed()

    def pushFilters(self, filters: list[Filter]) -> list[Filter]:  # noqa: N802 - Spark's
        self._narrowed, left = narrow(filters)
        return left

    def partitions(self) -> Sequence[Part]:
        with connect(self._url, purpose="look") as connection:
            try:
                days = [day for (day,) in connection.execute(statement("attempt_days"))]
            except psycopg.errors.UndefinedTable:
                raise LoadProblem("The database has no table attempt_log. Is it hook0's?") from None
        return [Part(day, *part) for day in days if (part := self._narrowed.part_on(day))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """It comes by COPY, a block at a time: a day of any length takes the same memory."""
        if not isinstance(partition, Part):
            return  # where there is no part, Spark asks for one all the same
        narrowed = self._narrowed
        parameters = {
            "since": partition.since,
            "until": partition.until,
            "applications": narrowed.applications and list(narrowed.applications),
            "subscriptions": narrowed.subscriptions and list(narrowed.subscriptions),
        }
        with connect(self._url, purpose=f"read {partition.day}") as connection, connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 0")
            with cursor.copy(statement("read_attempts"), parameters) as copy:
                for batch in _batches(copy):
                    days = pa.array([partition.day], pa.date32()).take(pa.array([0] * len(batch), pa.int8()))
                    yield pa.RecordBatch.from_arrays([days, *batch.columns], names=["day", *COLUMNS])


def _batches(copy: psycopg.Copy) -> Iterator[pa.RecordBatch]:
    text = _Text(copy)
    if text.is_empty():
        return  # which Arrow would not take
    types = {name: pa.int64() if arrow is TIME else arrow for name, (arrow, _) in COLUMNS.items()}
    reader = pyarrow.csv.open_csv(
        pa.PythonFile(text, mode="r"),
        pyarrow.csv.ReadOptions(column_names=list(COLUMNS), block_size=BLOCK_BYTES, use_threads=False),
        pyarrow.csv.ParseOptions(newlines_in_values=True),
        pyarrow.csv.ConvertOptions(
            column_types=types, null_values=[""], true_values=["t"], false_values=["f"],
            strings_can_be_null=True, quoted_strings_can_be_null=False,
        ),
    )  # fmt: skip
    schema = pa.schema([(name, arrow) for name, (arrow, _) in COLUMNS.items()])
    for batch in reader:
        yield batch.cast(schema)


class _Text(io.RawIOBase):
    """What a COPY brings, row by row, as a file that is read in blocks."""

    def __init__(self, copy: psycopg.Copy) -> None:
        self._copy, self._held = copy, bytearray()

    def readable(self) -> bool:
        return True

    def is_empty(self) -> bool:
        self._fill(1)
        return not self._held

    def read(self, size: int = -1) -> bytes:
        self._fill(size)
        block = bytes(self._held[:size])
        del self._held[:size]
        return block

    def _fill(self, size: int) -> None:
        while len(self._held) < size and (row := self._copy.read()):
            self._held += row
