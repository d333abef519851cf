"""`/applications/`: the tenants of an organization."""

import uuid
from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from tenants.api.onboarding import Step
from tenants.api.organizations import OrganizationListQuery, organization_asked_for
from tenants.audit import note
from tenants.authentication import operator_of, require_application, require_organization
from tenants.credentials import create_application_secret
from tenants.fields import checked, no_control_characters
from tenants.models import Application, Organization
from tenants.pages import NamedQuery, Page, named
from tenants.principal import Operator
from tenants.problems import TooManyApplicationsPerOrganization, raises
from tenants.quotas import limits, require_room
from tenants.usage import Usage


class ApplicationPut(serializers.Serializer[Any]):
    name = serializers.CharField(min_length=2, max_length=50, validators=[no_control_characters])


class ApplicationPost(ApplicationPut):
    organization_id = serializers.UUIDField()


class ApplicationAnswer(serializers.Serializer[Any]):
    application_id = serializers.UUIDField(source="id")
    organization_id = serializers.UUIDField()
    name = serializers.CharField()


class ApplicationQuotas(serializers.Serializer[Any]):
    events_per_day_limit = serializers.IntegerField(source="events_per_day")
    days_of_events_retention_limit = serializers.IntegerField(source="days_of_events_retention")


class ApplicationConsumption(serializers.Serializer[Any]):
    events_per_day = serializers.IntegerField(
        source="events_today", allow_null=True, help_text="Today's, where quotas are enforced."
    )


class ApplicationOnboarding(serializers.Serializer[Any]):
    event_type = Step(source="has_event_type")
    subscription = Step(source="has_subscription")
    event = Step(source="has_event")


class ApplicationInfoAnswer(serializers.Serializer[Any]):
    application_id = serializers.UUIDField(source="application.id")
    organization_id = serializers.UUIDField(source="application.organization_id")
    name = serializers.CharField(source="application.name")
    quotas = ApplicationQuotas(source="limits")
    consumption = ApplicationConsumption(source="usage")
    onboarding_steps = ApplicationOnboarding(source="usage")


@transaction.atomic
def create_application(*, organization_id: uuid.UUID, name: str, by: Operator) -> Application:
    """An application, with a first secret. Nobody has seen its token: it is there as Hook0's clients expect it."""
    require_room(
        Organization.objects.filter(id=organization_id),
        Application.objects.filter(organization_id=organization_id, deleted_at=None),
        limits().applications_per_organization,
        TooManyApplicationsPerOrganization,
    )
    application = Application.objects.create(organization_id=organization_id, name=name)
    create_application_secret(application, name="Default")
    note(by, "create_application", application_id=application.id, name=name)
    return application


@transaction.atomic
def rename_application(application_id: uuid.UUID, name: str, *, by: Operator) -> Application:
    Application.objects.filter(id=application_id).update(name=name)
    note(by, "rename_application", application_id=application_id, name=name)
    return Application.objects.get(id=application_id)


def delete_application(application_id: uuid.UUID, *, delete_subscriptions: Callable[..., int], by: Operator) -> int:
    """Its secrets are void from now on; how many deliveries were dropped with its subscriptions."""
    with transaction.atomic():
        Application.objects.filter(id=application_id).update(deleted_at=Now())
        note(by, "delete_application", application_id=application_id)
    return delete_subscriptions(application_id, by=by)


@extend_schema(tags=["Applications"])
class ApplicationsView(APIView):
    @raises(TooManyApplicationsPerOrganization)
    @extend_schema(operation_id="applications.create", request=ApplicationPost, responses={201: ApplicationAnswer})
    def post(self, request: Request) -> Response:
        """Create an application. It needs a service token, and so does making a secret for it."""
        body = checked(ApplicationPost, request.data)
        require_organization(request, body["organization_id"])
        return Response(ApplicationAnswer(create_application(**body, by=operator_of(request))).data, status=201)

    @extend_schema(
        operation_id="applications.list",
        parameters=[OrganizationListQuery, NamedQuery],
        responses=ApplicationAnswer(many=True),
    )
    def get(self, request: Request) -> Response:
        """The applications of an organization, oldest first."""
        organization_id = organization_asked_for(request)
        found = Application.objects.filter(organization_id=organization_id, deleted_at=None)
        page = Page(request, named(request, found), by=["created_at", "id"])
        return page.answer(ApplicationAnswer(page.rows, many=True).data)


@extend_schema(tags=["Applications"])
class ApplicationView(APIView):
    # hook0.urls says which functions: what an application has is known above us.
    usage_of: Callable[[QuerySet[Application]], Usage] = NotImplemented
    delete_subscriptions: Callable[..., int] = NotImplemented

    @extend_schema(operation_id="applications.get", responses=ApplicationInfoAnswer)
    def get(self, request: Request, application_id: uuid.UUID) -> Response:
        """One application, with its limits and what it has used of them."""
        require_application(request, application_id)
        found = Application.objects.filter(id=application_id)
        info = {"application": found.get(), "limits": limits(), "usage": self.usage_of(found)}
        return Response(ApplicationInfoAnswer(info).data)

    @extend_schema(operation_id="applications.update", request=ApplicationPut, responses=ApplicationAnswer)
    def put(self, request: Request, application_id: uuid.UUID) -> Response:
        """Give an application another name. It stays in its organization."""
        require_application(request, application_id)
        body = checked(ApplicationPut, request.data)
        renamed = rename_application(application_id, body["name"], by=operator_of(request))
        return Response(ApplicationAnswer(renamed).data)

    @extend_schema(operation_id="applications.delete", responses={204: None})
    def delete(self, request: Request, application_id: uuid.UUID) -> Response:
        """Delete an application. Its secrets are void, and its subscriptions go, with what waits for them."""
        require_application(request, application_id)
        by = operator_of(request)
        delete_application(application_id, delete_subscriptions=self.delete_subscriptions, by=by)
        return Response(status=204)
