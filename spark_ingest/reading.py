"""From batches of rows to events that will do, and the reasons why the others will not."""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa

from spark_ingest import limits, rules
from spark_ingest.layout import REQUIRED, Layout
from spark_ingest.rules import Refused

Values = list[Any]
Reasons = dict[int, dict[str, str]]  # by row, then by field

MOMENTS = {"occurred_at", "deliver_at"}


@dataclass(frozen=True)
class Rules:
    """What a row is held against. The moment is that of the load, so that every look at a row finds the same."""

    layout: Layout
    event_types: Collection[str]
    now: int  # in microseconds since 1970


def read(batch: pa.RecordBatch, against: Rules) -> tuple[dict[str, Values], Reasons]:
    """The fields of all rows, as they are stored, and why rows are refused; what those hold is meaningless."""
    reasons: Reasons = {}
    fields = {field: _field(batch, against.layout, field, check, reasons) for field, check in rules.checks().items()}
    fields["payload_content_type"] = [kind or limits.JSON for kind in fields["payload_content_type"]]
    fields["payload"] = _field(batch, against.layout, "payload", rules.sized, reasons)
    for row, moment in enumerate(fields["deliver_at"] or ()):
        if moment is not None and moment - against.now > rules.FAR:
            _refuse(reasons, row, "deliver_at", "it is more than 30 days ahead")
    _look_inside(fields, against, reasons)
    if against.layout.unreadable:
        for row, is_read in enumerate(batch.column(against.layout.unreadable).is_null().to_pylist()):
            if not is_read:
                reasons[row] = {"row": "it cannot be read"}
    return fields, reasons


def _look_inside(fields: dict[str, Values], against: Rules, reasons: Reasons) -> None:
    """As the API does: payloads and event types are looked at when all fields will do by themselves."""
    payloads, content_types, names = fields["payload"], fields["payload_content_type"], fields["event_type"]
    for row, (payload, content_type, name) in enumerate(zip(payloads, content_types, names, strict=True)):
        if row in reasons:
            continue
        if content_type not in limits.CONTENT_TYPES:
            _refuse(reasons, row, "payload_content_type", f"it is none of {', '.join(limits.CONTENT_TYPES)}")
            continue
        try:
            payloads[row] = rules.content(payload, content_type)
        except Refused as why:
            _refuse(reasons, row, "payload", str(why))
            continue
        if name not in against.event_types:
            _refuse(reasons, row, "event_type", "the application has no active event type of this name")


def _field(batch: pa.RecordBatch, layout: Layout, field: str, check: Callable[[Any], Any], reasons: Reasons) -> Values:
    if field in layout.constants:
        return [check(layout.constants[field])] * batch.num_rows
    if field not in layout.columns:
        return [None] * batch.num_rows
    column = batch.column(layout.columns[field])
    if field in MOMENTS and not _is_text(column.type):
        values, check = _microseconds(column), rules.timestamp
    elif _is_text(column.type) or pa.types.is_binary(column.type):
        values = column.to_pylist()
    else:
        values = _as_text(column)
    checked: Values = []
    for row, value in enumerate(values):
        if value is None:
            if field in REQUIRED:
                _refuse(reasons, row, field, "it is missing")
            checked.append(None)
            continue
        try:
            checked.append(check(value))
        except Refused as why:
            _refuse(reasons, row, field, str(why))
            checked.append(None)
    return checked


def _refuse(reasons: Reasons, row: int, field: str, why: str) -> None:
    reasons.setdefault(row, {})[field] = why


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _microseconds(column: pa.Array) -> Values:
    """Times as numbers; those without a zone are in UTC."""
    zone = getattr(column.type, "tz", None)
    return list(column.cast(pa.timestamp("us", tz=zone)).cast(pa.int64()).to_pylist())


def _as_text(column: pa.Array) -> Values:
    """Maps, structs and lists as JSON; what a struct does not have is left out. Numbers as their digits."""
    kind = column.type
    if not pa.types.is_nested(kind):
        return list(column.cast(pa.string()).to_pylist())
    if pa.types.is_map(kind) and _is_text(kind.key_type) and _is_text(kind.item_type):
        return _maps(column)
    values = column.to_pylist(maps_as_pydicts="strict")
    if pa.types.is_struct(kind):
        values = [value and {key: each for key, each in value.items() if each is not None} for value in values]
    return [None if value is None else _json(value) for value in values]


def _maps(column: pa.MapArray) -> Values:
    """Maps of strings, five times faster than Arrow makes dictionaries of them."""
    keys, items, ends = column.keys.to_pylist(), column.items.to_pylist(), column.offsets.to_pylist()
    return [
        _map(tuple(keys[start:end]), tuple(items[start:end])) if is_there else None
        for is_there, start, end in zip(column.is_valid().to_pylist(), ends[:-1], ends[1:], strict=True)
    ]


@lru_cache(maxsize=10_000)
def _map(keys: tuple[str, ...], items: tuple[str | None, ...]) -> str:
    return _json(dict(zip(keys, items, strict=True)))


_json = json.JSONEncoder(default=str, separators=(",", ":")).encode
