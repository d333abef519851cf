"""`POST /events/`: many events come in at once, and each gets an answer of its own."""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from itertools import islice
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from events import hooks, limits
from events.api.event import TRACE_HEADERS, EventPost
from events.fields import read_uuid, refusal
from events.ingest import Fate, Ingested, NewEvent, ingest
from events.problems import TooManyEventsToday
from events.reading import Arrival, read_application, read_event
from events.tracing import read_trace
from tenants import strict_json
from tenants.addresses import client_address
from tenants.authentication import require_application
from tenants.bodies import read_capped
from tenants.fields import checked
from tenants.problems import EventTypeDoesNotExist, JsonPayload, Problem, ProblemAnswer, Validation, document, raises


class BatchQuery(serializers.Serializer[Any]):
    """The query string of a batch that comes in lines."""

    application_id = serializers.UUIDField(required=False, help_text="Where events come as `application/x-ndjson`.")


class BatchEvent(EventPost):
    """An event of a batch, for the OpenAPI document."""

    application_id = serializers.UUIDField(required=False, allow_null=True, help_text="That of the batch.")


class BatchPost(serializers.Serializer[Any]):
    """The body of a batch, for the OpenAPI document."""

    application_id = serializers.UUIDField()
    events = serializers.ListField(child=BatchEvent(), max_length=limits.BATCH_EVENTS)


class ResultAnswer(serializers.Serializer[Any]):
    event_id = serializers.UUIDField(allow_null=True, help_text="null: the event is invalid and has no UUID as its id.")
    status = serializers.ChoiceField(choices=["created", "duplicate", "invalid"])
    problem = ProblemAnswer(allow_null=True, help_text="Of what is invalid.")


class BatchAnswer(serializers.Serializer[Any]):
    results = ResultAnswer(many=True, help_text="One for each event, in the order of the events.")


@dataclass(frozen=True)
class Batch:
    """A batch as it was sent: events that were not JSON are the Problem with that.

    Lines are read one by one, as they are asked for: a batch of them would not stay in the processor's cache.
    """

    application_id: uuid.UUID
    events: Iterator[Any]


class JsonBatch(BaseParser):
    """`{"application_id", "events"}`"""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        try:
            body = strict_json.loads(read_capped(stream, limits.BATCH_BYTES))
        except ValueError as problem:
            raise JsonPayload(f"The body is not JSON: {problem}") from None
        application_id = read_application(body)
        events = body.get("events")
        if not isinstance(events, list):
            raise Validation(validation={"events": [refusal("not_a_list", "This must be a list of events.")]})
        return Batch(application_id, iter(events))


class LinesBatch(BaseParser):
    """An event on each line, and the application in the query string. Empty lines are nothing."""

    media_type = "application/x-ndjson"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        application_id = read_application((parser_context or {})["request"].query_params)
        lines = BytesIO(read_capped(stream, limits.BATCH_BYTES))  # which finds their ends faster than split() does
        return Batch(application_id, (_read_line(line) for line in lines if not line.isspace()))


class BatchView(APIView):
    parser_classes = [JsonBatch, LinesBatch]

    @raises(TooManyEventsToday)
    @extend_schema(
        operation_id="events.ingestBatch",
        tags=["Events"],
        parameters=[BatchQuery, *TRACE_HEADERS],
        request={"application/json": BatchPost, "application/x-ndjson": BatchEvent},
        responses=BatchAnswer,
    )
    def post(self, request: Request) -> Response:
        """Ingest up to 1,000 events in one request, in order. The good ones are durable even if others are bad."""
        checked(BatchQuery, request.query_params)
        batch = request.data
        if not isinstance(batch, Batch):  # without a body and a content type, none of the parsers is asked
            raise JsonPayload
        require_application(request, batch.application_id)
        arrival = Arrival(datetime.now(UTC), client_address(request), read_trace(request.headers))
        results = ingest_batch(batch, arrival)
        return Response({"results": results})


def ingest_batch(batch: Batch, arrival: Arrival) -> list[dict[str, Any]]:
    """Ingest what is good of a batch, and answer for each event."""
    most = limits.BATCH_EVENTS
    read = [_read(batch.application_id, sent, arrival) for sent in islice(batch.events, most)]
    if any(True for _ in batch.events):
        message = f"A batch has at most {most} events; this one has more."
        raise Validation(message, validation={"events": [refusal("max_length", message, max=most)]})
    good = [event for event in read if isinstance(event, NewEvent)]
    ingested = iter(ingest(batch.application_id, good) if good else ())
    results = [_result(next(ingested)) if isinstance(event, NewEvent) else event for event in read]
    hooks.ingested("batch", [result["status"] for result in results])
    return results


def _read(application_id: uuid.UUID, sent: Any, arrival: Arrival) -> NewEvent | dict[str, Any]:
    """An event, or the answer to what is none."""
    if isinstance(sent, Problem):
        return _refused(None, sent)
    try:
        event = read_event(sent, arrival)
        if sent.get("application_id") is not None and read_application(sent) != application_id:
            message = "This is not the application of the batch."
            raise Validation(validation={"application_id": [refusal("invalid", message)]})
    except Problem as problem:
        return _refused(_id_of(sent), problem)
    return event


def _read_line(line: bytes) -> Any:
    try:
        return strict_json.loads(line.removesuffix(b"\n"))
    except ValueError as problem:
        return JsonPayload(f"The line is not JSON: {problem}")


def _result(ingested: Ingested) -> dict[str, Any]:
    if ingested.fate is Fate.UNKNOWN_TYPE:
        return _refused(ingested.event_id, EventTypeDoesNotExist())
    return {"event_id": ingested.event_id, "status": ingested.fate, "problem": None}


def _refused(event_id: uuid.UUID | None, problem: Problem) -> dict[str, Any]:
    return {"event_id": event_id, "status": "invalid", "problem": document(problem)}


def _id_of(sent: Any) -> uuid.UUID | None:
    return read_uuid(sent.get("event_id")) if isinstance(sent, Mapping) else None
