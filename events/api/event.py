"""`POST /event/`: an event comes in."""

from datetime import UTC, datetime
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from events import limits
from events.ingest import Fate, ingest_one
from events.problems import (
    EventAlreadyIngested,
    EventInvalidBase64Payload,
    EventInvalidJsonPayload,
    EventInvalidPayloadContentType,
    TooManyEventsToday,
)
from events.reading import Arrival, read_application, read_event
from events.tracing import read_trace
from tenants.addresses import client_address
from tenants.authentication import require_application
from tenants.fields import StringMap, no_control_characters
from tenants.problems import EventTypeDoesNotExist, raises


# For the OpenAPI document alone: events.reading reads events, and a test holds the two together.
class EventPost(serializers.Serializer[Any]):
    """The body of an ingest; payloads are strings whatever they hold."""

    application_id = serializers.UUIDField()
    event_id = serializers.UUIDField(required=False, allow_null=True)
    event_type = serializers.CharField(
        max_length=limits.EVENT_TYPE_CHARACTERS, trim_whitespace=False, validators=[no_control_characters]
    )
    payload = serializers.CharField(max_length=limits.PAYLOAD_CHARACTERS, trim_whitespace=False, allow_blank=True)
    payload_content_type = serializers.CharField(max_length=limits.CONTENT_TYPE_CHARACTERS, trim_whitespace=False)
    metadata = StringMap(
        least=0,
        most=limits.METADATA_ENTRIES,
        entry_bytes=limits.KEY_OR_VALUE_BYTES,
        required=False,
        allow_null=True,
    )
    occurred_at = serializers.DateTimeField()
    labels = StringMap(least=1, most=limits.LABEL_ENTRIES, entry_bytes=limits.KEY_OR_VALUE_BYTES)
    ordering_key = serializers.CharField(
        max_length=limits.ORDERING_KEY_CHARACTERS, trim_whitespace=False, required=False, allow_null=True
    )
    priority = serializers.IntegerField(
        min_value=limits.PRIORITIES[0],
        max_value=limits.PRIORITIES[1],
        required=False,
        allow_null=True,
        help_text="100 where it is left out.",
    )
    delay_ms = serializers.IntegerField(min_value=0, max_value=limits.DELAY_MS, required=False, allow_null=True)
    deliver_at = serializers.DateTimeField(required=False, allow_null=True)
    backoff_schedule = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=limits.BACKOFF_MS),
        max_length=limits.BACKOFF_ENTRIES,
        required=False,
        allow_null=True,
    )
    keys_if_undelivered = serializers.ListField(
        child=serializers.ListField(
            child=serializers.CharField(
                max_length=limits.KEY_CHARACTERS, trim_whitespace=False, validators=[no_control_characters]
            ),
            min_length=1,
            max_length=limits.KEY_PARTS,
        ),
        max_length=limits.KEYS_IF_UNDELIVERED,
        required=False,
        allow_null=True,
        help_text="Paths under which it is kept if a delivery is given up.",
    )


class IngestedEvent(serializers.Serializer[Any]):
    application_id = serializers.UUIDField()
    event_id = serializers.UUIDField()
    received_at = serializers.DateTimeField()


TRACE_HEADERS = [
    OpenApiParameter(
        "traceparent",
        str,
        OpenApiParameter.HEADER,
        description="The trace that what is sent belongs to, as the W3C writes it. Webhooks carry it on.",
    ),
    OpenApiParameter("tracestate", str, OpenApiParameter.HEADER, description="What goes with `traceparent`."),
]


class EventView(APIView):
    @raises(
        EventTypeDoesNotExist, EventInvalidPayloadContentType, EventInvalidBase64Payload, EventInvalidJsonPayload,
        EventAlreadyIngested, TooManyEventsToday,
    )  # fmt: skip
    @extend_schema(
        operation_id="events.ingest",
        tags=["Events"],
        parameters=TRACE_HEADERS,
        request=EventPost,
        responses={201: IngestedEvent},
    )
    def post(self, request: Request) -> Response:
        """Ingest one event. When the 201 is read, it is durable and its deliveries are made."""
        application_id = read_application(request.data)
        require_application(request, application_id)
        arrival = Arrival(datetime.now(UTC), client_address(request), read_trace(request.headers))
        ingested = ingest_one(application_id, read_event(request.data, arrival))
        if ingested.fate is Fate.UNKNOWN_TYPE:
            raise EventTypeDoesNotExist
        if ingested.fate is Fate.DUPLICATE:
            raise EventAlreadyIngested
        answer = {
            "application_id": application_id,
            "event_id": ingested.event_id,
            "received_at": ingested.received_at,
        }
        return Response(answer, status=201)
