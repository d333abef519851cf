"""What becomes of rows, without loading them: those that are refused, and what a load would do."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from spark_ingest.database import connect, statement
from spark_ingest.reading import Reasons, Rules, read
from spark_ingest.staging import told

Line = tuple[bytes | None, bool, str | None, int]  # an id and whether it is known, or a reason; and how many rows
KINDS = (pa.binary(), pa.bool_(), pa.string(), pa.int64())


@dataclass(frozen=True)
class Forecast:
    """What a load would do."""

    rows: int
    loaded: int
    refused: Counter[str]


def refused_rows(rows: DataFrame, rules: Rules, columns: Sequence[str]) -> DataFrame:
    """The rows that will not do as they came, each with its reasons."""

    def find(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            _, reasons = read(batch, rules)
            if reasons:
                yield _with_reasons(batch.select(columns), reasons)

    kept = [field for field in rows.schema if field.name in columns]
    return rows.mapInArrow(find, StructType([*kept, StructField("reasons", ArrayType(StringType()))]))


def _with_reasons(batch: pa.RecordBatch, reasons: Reasons) -> pa.RecordBatch:
    order = sorted(reasons)
    texts = [[f"{field}: {why}" for field, why in reasons[row].items()] for row in order]
    found = batch.take(pa.array(order, pa.int64()))
    return pa.RecordBatch.from_arrays(
        [*found.columns, pa.array(texts, pa.list_(pa.string()))], names=[*found.schema.names, "reasons"]
    )


def forecast(rows: DataFrame, rules: Rules, *, url: str, application_id: UUID) -> Forecast:
    """Check all rows, and look for their ids in the load and in the database. It writes nothing."""

    def judge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with connect(url, purpose="dry run") as connection:
            for batch in batches:
                fields, reasons = read(batch, rules)
                ids = [each for row, each in enumerate(fields["event_id"]) if row not in reasons and each]
                parameters = {"application": application_id, "ids": [UUID(bytes=each) for each in ids]}
                known = {each.bytes for (each,) in connection.execute(statement("find_events"), parameters)}
                nameless = batch.num_rows - len(reasons) - len(ids)
                lines: list[Line] = [(each, each in known, None, 1) for each in ids]
                lines += [(None, False, None, nameless)] if nameless else []
                lines += [(None, False, why, amount) for why, amount in Counter(told(reasons)).items()]
                yield _lines(lines)

    judged = rows.mapInArrow(judge, "id binary, known boolean, reason string, amount bigint")
    by_id = judged.groupBy("id", "reason").agg(F.sum("amount").alias("amount"), F.max("known").alias("known"))
    old = F.col("reason").isNotNull() | F.col("known")
    fresh = F.when(old, 0).when(F.col("id").isNull(), F.col("amount")).otherwise(1)
    found = by_id.groupBy("reason").agg(F.sum("amount").alias("amount"), F.sum(fresh).alias("fresh")).collect()
    refused = Counter({line["reason"]: line["amount"] for line in found if line["reason"] is not None})
    return Forecast(sum(line["amount"] for line in found), sum(line["fresh"] for line in found), refused)


def _lines(lines: Sequence[Line]) -> pa.RecordBatch:
    columns = zip(*lines, strict=True) if lines else ((), (), (), ())
    arrays = [pa.array(values, kind) for values, kind in zip(columns, KINDS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=["id", "known", "reason", "amount"])
