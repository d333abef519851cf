"""DataFrames of events, to load."""

from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tests.factories import EVENT_TYPE

BEGAN = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
SCHEMA = "event_id string, event_type string, payload string, labels map<string,string>, occurred_at timestamp"


def an_event(number: int, **overrides: Any) -> dict[str, Any]:
    return {
        "event_id": f"00000000-0000-4000-8000-{number:012}",
        "event_type": EVENT_TYPE,
        "payload": str(number),
        "labels": {"shop": "1"},
        "occurred_at": BEGAN + timedelta(seconds=number),
        **overrides,
    }


def frame(spark: SparkSession, events: list[dict[str, Any]], schema: str = SCHEMA) -> DataFrame:
    return spark.createDataFrame(events, schema)
