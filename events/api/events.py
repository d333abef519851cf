"""`/events/`: what came in, and once more."""

import base64
import uuid
from typing import Any

from django.db.models import Q, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from delivery.api.reasons import ReasonPost
from events.api.batch import BatchView
from events.models import Event
from events.replay import replay
from subscriptions.api.views import require_subscription
from subscriptions.matching import is_wildcard
from tenants.api.event_types import ApplicationListQuery, ApplicationQuery, application_asked_for
from tenants.authentication import operator_of, require_application
from tenants.fields import CommaList, Label, checked
from tenants.pages import Page
from tenants.problems import NotFound

PAGE = 100
UNKNOWN_IP = "0.0.0.0"  # noqa: S104 - clients of Hook0 read an address wherever an event came from


class EventsQuery(ApplicationListQuery):
    event_type = CommaList(required=False, help_text="Names, separated by commas; `a.b.*` for all that start so.")
    labels = serializers.ListField(
        child=Label(), required=False, help_text="`key:value`; repeated, an event must carry all of them."
    )
    min_received_at = serializers.DateTimeField(required=False)
    max_received_at = serializers.DateTimeField(required=False)


class EventAnswer(serializers.Serializer[Any]):
    event_id = serializers.UUIDField()
    event_type_name = serializers.CharField(source="event_type")
    payload_content_type = serializers.CharField()
    ip = serializers.SerializerMethodField(help_text=f"Where it came from; `{UNKNOWN_IP}` where that is not known.")
    metadata = serializers.DictField(child=serializers.CharField())
    occurred_at = serializers.DateTimeField()
    received_at = serializers.DateTimeField()
    labels = serializers.DictField(child=serializers.CharField())

    def get_ip(self, event: Event) -> str:
        return event.ip or UNKNOWN_IP


class EventWithPayloadAnswer(EventAnswer):
    payload = serializers.SerializerMethodField(help_text="In base64, whatever its content type.")

    def get_payload(self, event: Event) -> str:
        return base64.b64encode(event.payload).decode()


class ReplayEventPost(ReasonPost):
    application_id = serializers.UUIDField()
    subscription_id = serializers.UUIDField(
        required=False, allow_null=True, default=None, help_text="Send it to this one alone, whatever that wants."
    )


class EventsView(BatchView):
    @extend_schema(
        operation_id="events.list", tags=["Events"], parameters=[EventsQuery], responses=EventAnswer(many=True)
    )
    def get(self, request: Request) -> Response:
        """The events of an application, the last received first, without their payloads."""
        application_id = application_asked_for(request)
        query = checked(EventsQuery, request.query_params)
        events = Event.objects.filter(application_id=application_id).defer("payload")
        page = Page(request, _narrow(events, query), by=["-received_at", "-id"], size=PAGE)
        return page.answer(EventAnswer(page.rows, many=True).data)


class OneEventView(APIView):
    @extend_schema(
        operation_id="events.get", tags=["Events"], parameters=[ApplicationQuery], responses=EventWithPayloadAnswer
    )
    def get(self, request: Request, event_id: uuid.UUID) -> Response:
        """One event, with its payload."""
        event = Event.objects.filter(application_id=application_asked_for(request), event_id=event_id).first()
        if event is None:
            raise NotFound
        return Response(EventWithPayloadAnswer(event).data)


class ReplayEventView(APIView):
    @extend_schema(operation_id="events.replay", tags=["Events"], request=ReplayEventPost, responses={204: None})
    def post(self, request: Request, event_id: uuid.UUID) -> Response:
        """Deliver an event again, to the subscriptions that want it now."""
        fields = checked(ReplayEventPost, request.data)
        require_application(request, fields["application_id"])
        if fields["subscription_id"]:
            require_subscription(fields["application_id"], fields["subscription_id"])
        by = operator_of(request, fields["reason"])
        replay(fields["application_id"], event_id, only=fields["subscription_id"], by=by)
        return Response(status=204)


def _narrow(events: QuerySet[Event], fields: dict[str, Any]) -> QuerySet[Event]:
    if names := fields.get("event_type"):
        wanted = Q(event_type__in=[name for name in names if not is_wildcard(name)])
        for name in filter(is_wildcard, names):
            wanted |= Q(event_type__startswith=name[:-1])
        events = events.filter(wanted)
    for key, value in fields.get("labels", ()):
        events = events.filter(labels__contains={key: value})
    if since := fields.get("min_received_at"):
        events = events.filter(received_at__gte=since)
    if until := fields.get("max_received_at"):
        events = events.filter(received_at__lte=until)
    return events
