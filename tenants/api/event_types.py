"""`/event_types/`: what an application may send."""

import uuid
from contextlib import suppress
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from tenants.audit import note
from tenants.authentication import operator_of, require_application
from tenants.fields import checked, no_control_characters
from tenants.models import Application, EventType
from tenants.own_event_types import RESERVED_SERVICE
from tenants.pages import Page, PageQuery
from tenants.principal import Operator
from tenants.problems import NotFound, TooManyEventTypesPerApplication, raises
from tenants.quotas import limits, require_room


def _not_reserved(service: str) -> None:
    if service.partition(".")[0] == RESERVED_SERVICE:
        raise serializers.ValidationError("This service is for events of hook0's own.", code="reserved")


class EventTypePost(serializers.Serializer[Any]):
    application_id = serializers.UUIDField()
    service = serializers.CharField(
        max_length=50, trim_whitespace=False, validators=[no_control_characters, _not_reserved]
    )
    resource_type = serializers.CharField(max_length=50, trim_whitespace=False, validators=[no_control_characters])
    verb = serializers.CharField(max_length=50, trim_whitespace=False, validators=[no_control_characters])


class EventTypeAnswer(serializers.Serializer[Any]):
    service_name = serializers.CharField(source="service")
    resource_type_name = serializers.CharField(source="resource_type")
    verb_name = serializers.CharField(source="verb")
    event_type_name = serializers.CharField(source="name", help_text="`service.resource_type.verb`")


class ApplicationQuery(serializers.Serializer[Any]):
    """The query string of nearly everything that is asked of an application."""

    application_id = serializers.UUIDField()


class ApplicationListQuery(ApplicationQuery, PageQuery):
    """The query string of nearly every list."""


@transaction.atomic
def declare(
    *, application_id: uuid.UUID, service: str, resource_type: str, verb: str, by: Operator | None = None
) -> EventType:
    """The event type of this name, active. Parts may hold dots: what counts is the name they make."""
    same_name = EventType.objects.filter(application_id=application_id, name=f"{service}.{resource_type}.{verb}")
    if found := same_name.filter(deactivated_at=None).first():
        return found
    require_room(
        Application.objects.filter(id=application_id),
        EventType.objects.filter(application_id=application_id, deactivated_at=None).exclude(service=RESERVED_SERVICE),
        limits().event_types_per_application,
        TooManyEventTypesPerApplication,
    )
    if not same_name.update(deactivated_at=None):
        with suppress(IntegrityError), transaction.atomic():  # somebody else was faster: theirs is as good
            EventType.objects.create(
                application_id=application_id, service=service, resource_type=resource_type, verb=verb
            )
    event_type = same_name.get()
    note(by, "activate_event_type", application_id=application_id, event_type=event_type.name)
    return event_type


def declare_ours(application_id: uuid.UUID, name: str) -> None:
    """An event type of hook0's own, active in this application. It takes no quota, and no client can send such."""
    service, resource_type, verb = name.split(".")
    EventType.objects.update_or_create(
        application_id=application_id,
        service=service,
        resource_type=resource_type,
        verb=verb,
        defaults={"deactivated_at": None},
    )


@transaction.atomic
def deactivate(event_type: EventType, *, by: Operator) -> None:
    """Its events are refused from now on. What has come in is delivered."""
    EventType.objects.filter(pk=event_type.pk).update(deactivated_at=Now())
    note(by, "deactivate_event_type", application_id=event_type.application_id, event_type=event_type.name)


class EventTypeListQuery(ApplicationListQuery):
    service = serializers.CharField(required=False, help_text="The first part of the name.")


class EventTypesView(APIView):
    @raises(TooManyEventTypesPerApplication)
    @extend_schema(
        operation_id="eventTypes.create", tags=["Event types"], request=EventTypePost, responses={201: EventTypeAnswer}
    )
    def post(self, request: Request) -> Response:
        """Create an event type, or activate it again."""
        fields = checked(EventTypePost, request.data)
        require_application(request, fields["application_id"])
        return Response(EventTypeAnswer(declare(**fields, by=operator_of(request))).data, status=201)

    @extend_schema(
        operation_id="eventTypes.list",
        tags=["Event types"],
        parameters=[EventTypeListQuery],
        responses=EventTypeAnswer(many=True),
    )
    def get(self, request: Request) -> Response:
        """The active event types of an application, by name."""
        application_id = application_asked_for(request)
        active = EventType.objects.filter(application_id=application_id, deactivated_at=None)
        if service := checked(EventTypeListQuery, request.query_params).get("service"):
            active = active.filter(service=service)
        page = Page(request, active, by=["name"])
        return page.answer(EventTypeAnswer(page.rows, many=True).data)


@extend_schema(tags=["Event types"], parameters=[ApplicationQuery])
class EventTypeView(APIView):
    @extend_schema(operation_id="eventTypes.get", responses=EventTypeAnswer)
    def get(self, request: Request, name: str) -> Response:
        """One event type, by its name."""
        return Response(EventTypeAnswer(self._find(request, name)).data)

    @extend_schema(operation_id="eventTypes.delete", responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        """Deactivate an event type: its events are refused from now on."""
        deactivate(self._find(request, name), by=operator_of(request))
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
    query = checked(ApplicationQuery, request.query_params)
    require_application(request, query["application_id"])
    return query["application_id"]
