"""`POST /event/`: an event comes in."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from events import limits
from events.ingest import Fate, NewEvent, ingest
from events.payload import decode_payload
from events.problems import EventAlreadyIngested
from tenants.authentication import require_application
from tenants.fields import StringMap, no_control_characters
from tenants.ids import new_id
from tenants.problems import EventTypeDoesNotExist


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
    ordering_key = serializers.CharField(max_length=limits.ORDERING_KEY_CHARACTERS, required=False, allow_null=True)
    priority = serializers.IntegerField(
        min_value=limits.PRIORITIES[0], max_value=limits.PRIORITIES[1], required=False, default=100
    )
    delay_ms = serializers.IntegerField(min_value=0, max_value=limits.DELAY_MS, required=False, allow_null=True)
    deliver_at = serializers.DateTimeField(required=False, allow_null=True)
    backoff_schedule = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=limits.BACKOFF_MS),
        max_length=limits.BACKOFF_ENTRIES,
        required=False,
        allow_null=True,
    )

    def validate_deliver_at(self, moment: datetime | None) -> datetime | None:
        if moment and moment > datetime.now(UTC) + timedelta(milliseconds=limits.DELAY_MS):
            days = timedelta(milliseconds=limits.DELAY_MS).days
            raise serializers.ValidationError(f"This must be within {days} days from now.", code="max_value")
        return moment


class EventView(APIView):
    def post(self, request: Request) -> Response:
        """Ingest one event. When the 201 is read, it is durable and its deliveries are made."""
        body = EventPost(data=request.data)
        body.is_valid(raise_exception=True)
        fields = body.validated_data
        require_application(request, fields["application_id"])
        event = as_new_event(fields)
        (ingested,) = ingest(fields["application_id"], [event], ip=request.META.get("REMOTE_ADDR") or None)
        if ingested.fate is Fate.UNKNOWN_TYPE:
            raise EventTypeDoesNotExist
        if ingested.fate is Fate.DUPLICATE:
            raise EventAlreadyIngested
        return Response(
            {
                "application_id": fields["application_id"],
                "event_id": ingested.event_id,
                "received_at": ingested.received_at,
            },
            status=201,
        )


def as_new_event(fields: dict[str, Any]) -> NewEvent:
    """A checked body as a value; the payload is checked here, after everything else."""
    return NewEvent(
        event_id=fields.get("event_id") or new_id(),
        event_type=fields["event_type"],
        payload=decode_payload(fields["payload"], fields["payload_content_type"]),
        payload_content_type=fields["payload_content_type"],
        labels=cast("dict[str, str]", fields["labels"]),
        metadata=fields.get("metadata") or {},
        occurred_at=fields["occurred_at"],
        ordering_key=fields.get("ordering_key"),
        priority=fields["priority"],
        deliver_at=_deliver_at(fields),
        backoff_schedule=fields.get("backoff_schedule"),
    )


def _deliver_at(fields: dict[str, Any]) -> Any:
    if (delay := fields.get("delay_ms")) is not None:
        return datetime.now(UTC) + timedelta(milliseconds=delay)
    return fields.get("deliver_at")
