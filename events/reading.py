"""What a client sends as an event, checked."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import orjson

from events import limits
from events.fields import FIELDS, MISSING, NULL, REQUIRED, Complaint, read_uuid, refusal
from events.ingest import NewEvent
from events.payload import decode_payload
from events.plain import read_plain
from events.tracing import NO_TRACE, Trace
from tenants.problems import Validation

_FAR = timedelta(milliseconds=limits.DELAY_MS)

Complaints = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Arrival:
    """What is the same for all events of a request."""

    at: datetime
    ip: str | None = None
    trace: Trace = NO_TRACE

    @cached_property
    def end(self) -> bytes:
        """What the JSON of each event ends with."""
        said = {"ip": self.ip, "traceparent": self.trace.traceparent, "tracestate": self.trace.tracestate}
        members = orjson.dumps({name: value for name, value in said.items() if value})[1:]
        return members if members == b"}" else b"," + members


def read_event(body: Any, arrival: Arrival) -> NewEvent:
    """An event as it was sent, or the Problem with it."""
    return read_plain(body, arrival.end) or _read_with_care(body, arrival)


def _read_with_care(body: Any, arrival: Arrival) -> NewEvent:
    """All fields first, the payload last."""
    if not isinstance(body, dict):
        raise Validation(validation={"non_field_errors": [refusal("invalid", "This must be an object.")]})
    columns, complaints = _read_fields(body)
    delay, deliver_at = columns.pop("delay_ms", None), columns.get("deliver_at")
    if deliver_at and deliver_at - arrival.at > _FAR:
        message = f"This must be within {_FAR.days} days from now."
        complaints["deliver_at"] = [refusal("max_value", message, days=_FAR.days)]
    if complaints:
        raise Validation(validation={field: complaints[field] for field in FIELDS if field in complaints})
    if delay is not None:
        columns["deliver_at"] = arrival.at + timedelta(milliseconds=delay)
    payload = decode_payload(columns.pop("payload"), columns["payload_content_type"])
    event_id = columns.pop("event_id", None)
    return NewEvent(payload, orjson.dumps(columns)[:-1] + arrival.end, columns["event_type"], event_id)


def _read_fields(body: Mapping[str, Any]) -> tuple[dict[str, Any], Complaints]:
    """What is good of them, by name, and what is not; those that nobody knows are nothing."""
    good: dict[str, Any] = {}
    complaints: Complaints = {}
    for field, given in body.items():
        if given is not None and (check := FIELDS.get(field)):
            try:
                good[field] = check(given)
            except Complaint as problem:
                complaints[field] = [problem.refusal]
    missing = REQUIRED - good.keys() - complaints.keys()
    return good, complaints | {field: [NULL if field in body else MISSING] for field in missing}


def read_application(body: Any) -> uuid.UUID:
    """Which application a body is for: what has to be known before the rest is looked at."""
    given = body.get("application_id") if isinstance(body, Mapping) else None
    if application_id := read_uuid(given):
        return application_id
    complaint = (
        refusal("required", "This is required.") if given is None else refusal("invalid", "This must be a UUID.")
    )
    raise Validation(validation={"application_id": [complaint]})
