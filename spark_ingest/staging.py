"""What a task does: its rows are checked, and copied into the staging table of the load in one transaction."""

import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import pyarrow as pa

from spark_ingest import copying
from spark_ingest.database import connect, statement
from spark_ingest.places import Places
from spark_ingest.reading import Reasons, Rules, Values, read

COPY_ROWS = 10_000  # at a time, so that memory does not depend on the batches of Spark


@dataclass(frozen=True)
class Staged:
    """What a task has done; rows of an attempt that Spark does not count, for another did the same, are dropped."""

    attempt: int = 0
    rows: int = 0
    refused: Counter[str] = field(default_factory=Counter)


def stage(url: str, staging: str, batches: Iterator[pa.RecordBatch], rules: Rules, *, partition: int) -> Staged:
    first = next(batches, None)
    if first is None:  # many partitions are empty: they need no connection
        return Staged()
    attempt, rows, refused = secrets.randbits(60), 0, Counter[str]()
    places = Places(rules.layout, partition)
    with (
        connect(url, purpose="a task") as connection,
        connection.cursor() as cursor,
        cursor.copy(statement("copy_rows", staging)) as copy,
    ):
        copy.write(copying.HEADER)
        for batch in _small(chain([first], batches)):
            fields, reasons = read(batch, rules)
            fields["place"] = list(places.of(batch))
            fields["event_id"] = [known or _made(attempt, rows + row) for row, known in enumerate(fields["event_id"])]
            rows += batch.num_rows
            refused.update(told(reasons))
            good = _without(fields, reasons)
            if good["place"]:
                copy.write(copying.rows(_columns(attempt, good)))
        copy.write(copying.TRAILER)
    return Staged(attempt, rows, refused)


def told(reasons: Reasons) -> Iterator[str]:
    """One reason for each row that is refused: the first."""
    for of_row in reasons.values():
        name, why = next(iter(of_row.items()))
        yield f"{name}: {why}"


def _made(attempt: int, row: int) -> bytes:
    """An id for an event that has none: a UUID of version 8, of the task and its row, so that those of a task follow
    each other in the index."""
    high = attempt >> 12 << 16 | 0x8000 | attempt & 0xFFF
    return (high << 64 | 0b10 << 62 | row).to_bytes(16, "big")


def _small(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, batch.num_rows, COPY_ROWS):
            yield batch.slice(start, COPY_ROWS)


def _without(fields: dict[str, Values], reasons: Reasons) -> dict[str, Values]:
    if not reasons:
        return fields
    return {name: [value for row, value in enumerate(values) if row not in reasons] for name, values in fields.items()}


def _columns(attempt: int, events: dict[str, Any]) -> list[pa.Array]:
    """In the order of copy_rows.sql."""
    json = b"\x01"  # the version of the form in which `jsonb` is sent
    return [
        copying.integers([attempt] * len(events["place"])),
        copying.integers(events["place"]),
        copying.times(events["occurred_at"]),
        copying.binary(events["event_id"]),
        copying.binary(events["event_type"]),
        copying.binary(events["payload"]),
        copying.binary(events["payload_content_type"]),
        copying.binary(events["labels"], prefix=json),
        copying.binary([value or "{}" for value in events["metadata"]], prefix=json),
        copying.binary(events["ordering_key"]),
        copying.times(events["deliver_at"]),
        copying.binary(events["backoff_schedule"]),
        copying.binary(events["keys_if_undelivered"], prefix=json),
    ]
