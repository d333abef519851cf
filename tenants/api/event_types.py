"""`/event_types/`: what an application may send."""

import uuid
from contextlib import suppress
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from tenants.authentication import require_application
from tenants.fields import no_control_characters
from tenants.models import EventType
from tenants.problems import NotFound


class EventTypePost(serializers.Serializer[Any]):
    application_id = serializers.UUIDField()
    service = serializers.CharField(max_length=50, trim_whitespace=False, validators=[no_control_characters])
    resource_type = serializers.CharField(max_length=50, trim_whitespace=False, validators=[no_control_characters])
    verb = serializers.CharField(max_length=50, trim_whitespace=False, validators=[no_control_characters])


class ApplicationQuery(serializers.Serializer[Any]):
    """The query string of nearly every list."""

    application_id = serializers.UUIDField()


def show(event_type: EventType) -> dict[str, str]:
    return {
        "service_name": event_type.service,
        "resource_type_name": event_type.resource_type,
        "verb_name": event_type.verb,
        "event_type_name": str(event_type.name),
    }


def declare(*, application_id: uuid.UUID, service: str, resource_type: str, verb: str) -> EventType:
    """The event type of this name, active. Parts may hold dots: what counts is the name they make."""
    same_name = EventType.objects.filter(application_id=application_id, name=f"{service}.{resource_type}.{verb}")
    if not same_name.update(deactivated_at=None):
        with suppress(IntegrityError), transaction.atomic():  # somebody else was faster: theirs is as good
            EventType.objects.create(
                application_id=application_id, service=service, resource_type=resource_type, verb=verb
            )
    return same_name.get()


class EventTypesView(APIView):
    def post(self, request: Request) -> Response:
        """Create an event type, or activate it again."""
        body = EventTypePost(data=request.data)
        body.is_valid(raise_exception=True)
        fields = body.validated_data
        require_application(request, fields["application_id"])
        return Response(show(declare(**fields)), status=201)

    def get(self, request: Request) -> Response:
        """The active event types of an application, by name."""
        application_id = application_asked_for(request)
        active = EventType.objects.filter(application_id=application_id, deactivated_at=None)
        return Response([show(event_type) for event_type in active.order_by("name")])


class EventTypeView(APIView):
    def get(self, request: Request, name: str) -> Response:
        return Response(show(self._find(request, name)))

    def delete(self, request: Request, name: str) -> Response:
        """Deactivate: events of this type are refused from now on."""
        EventType.objects.filter(pk=self._find(request, name).pk).update(deactivated_at=Now())
        return Response(status=204)

    def _find(self, request: Request, name: str) -> EventType:
        application_id = application_asked_for(request)
        if "\0" in name:
            raise NotFound
        found = EventType.objects.filter(application_id=application_id, name=name, deactivated_at=None).first()
        if found is None:
            raise NotFound
        return found


def application_asked_for(request: Request) -> Any:
    """The `application_id` of the query string, if the caller may act inside it."""
    query = ApplicationQuery(data=request.query_params)
    query.is_valid(raise_exception=True)
    require_application(request, query.validated_data["application_id"])
    return query.validated_data["application_id"]
