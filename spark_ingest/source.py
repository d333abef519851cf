"""The data source: `df.write.format("hook0")` and `df.writeStream.format("hook0")`."""

import os
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from spark_ingest import loads
from spark_ingest.database import connect
from spark_ingest.layout import layout
from spark_ingest.loads import Load, Request
from spark_ingest.merging import close_staging, merge, merge_batch, total
from spark_ingest.options import Options, read_options
from spark_ingest.problems import LoadProblem, Overtaken
from spark_ingest.reading import Rules
from spark_ingest.staging import Staged, stage


@dataclass(frozen=True)
class Message(WriterCommitMessage):
    staged: Staged


class Hook0DataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "hook0"

    def writer(self, schema: StructType, overwrite: bool) -> "LoadWriter":
        if overwrite:
            raise LoadProblem('Events are only ever added: write with mode("append").')
        options = read_options(self.options)
        return LoadWriter(options, *_open(options, schema, is_stream=False))

    def streamWriter(self, schema: StructType, overwrite: bool) -> "StreamWriter":  # noqa: N802 - Spark's
        options = read_options(self.options)
        if options.load_id is None:
            raise LoadProblem("A stream needs the option load_id: a UUID of your choice, the same at every start.")
        return StreamWriter(options, *_open(options, schema, is_stream=True))


def _open(options: Options, schema: StructType, *, is_stream: bool) -> tuple[Load, Rules]:
    request = Request(
        load_id=options.load_id or new_id(),
        application_id=options.application_id,
        source=options.source,
        actor=options.actor,
        per_second=options.per_second,
        is_stream=is_stream,
    )
    with connect(options.url, purpose="open") as connection:
        rules = make_rules(options, schema, loads.event_types(connection, options.application_id))
        if options.run is None:
            return loads.open_load(connection, request), rules
        load = loads.find(connection, request.load_id)
        if load.run != options.run:
            raise Overtaken(f"Another run has taken the load {load.id} over.")
        return load, rules


def make_rules(options: Options, schema: StructType, event_types: frozenset[str]) -> Rules:
    known = layout(
        {column.name: column.dataType.simpleString() for column in schema},
        mapped=options.columns,
        constants=options.values,
        place=options.place,
        block=options.block,
        unreadable=options.unreadable,
    )
    return Rules(known, event_types, time.time_ns() // 1000)


class LoadWriter(DataSourceArrowWriter):
    """A DataFrame becomes events. If the load was there before, it goes on where it was, and nothing is staged."""

    def __init__(self, options: Options, load: Load, rules: Rules) -> None:
        self._options, self._load, self._rules = options, load, rules

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Message:
        return Message(_stage(self._options, self._load, iterator, self._rules))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        if self._load.state == "loading":
            staged = _staged(messages)
            _require_good(self._options, staged)
            close_staging(self._options.url, self._load, staged)
        if self._options.run is None and not self._load.is_loaded:
            merge(self._options.url, self._load)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        with connect(self._options.url, purpose="abort") as connection:
            loads.abort(connection, self._load, "The Spark job has failed; its own messages say why.")


class StreamWriter(DataSourceStreamArrowWriter):
    """Each micro-batch becomes events when Spark commits it, all of it or nothing."""

    def __init__(self, options: Options, load: Load, rules: Rules) -> None:
        self._options, self._load, self._rules = options, load, rules

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Message:
        return Message(_stage(self._options, self._load, iterator, self._rules))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's
        staged = _staged(messages)
        _require_good(self._options, staged)
        merge_batch(self._options.url, self._load, staged, batchId)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's
        """What the batch has staged does not count, and is dropped with the next."""


def _stage(options: Options, load: Load, batches: Iterator[pa.RecordBatch], rules: Rules) -> Staged:
    if load.state in {"merging", *loads.LOADED} and not load.is_stream:
        return Staged()
    context = TaskContext.get()
    return stage(options.url, load.staging, batches, rules, partition=context.partitionId() if context else 0)


def _staged(messages: Sequence[WriterCommitMessage | None]) -> list[Staged]:
    return [message.staged for message in messages if isinstance(message, Message)]


def _require_good(options: Options, staged: Sequence[Staged]) -> None:
    rows, refused = total(staged)
    if refused and not options.skip_refused:
        reasons = "".join(f"\n  {amount:,} x {why}" for why, amount in refused.most_common(20))
        raise LoadProblem(
            f"{sum(refused.values()):,} of {rows:,} rows will not do, so none was loaded:{reasons}\n"
            "Mend them, or leave them out: the option refused=skip, or --quarantine of the job."
        )


def new_id() -> uuid.UUID:
    """A UUID of version 7, which sorts by time (Python has its own from 3.14 on)."""
    value = int.from_bytes(os.urandom(16), "big") & (1 << 80) - 1 | (time.time_ns() // 1_000_000) << 80
    return uuid.UUID(int=value & ~(0xF << 76) & ~(0b11 << 62) | 0x7 << 76 | 0b10 << 62)
