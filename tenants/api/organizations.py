"""`/organizations/`: to look at. Organizations and people are managed in the admin."""

import uuid
from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from tenants.api.onboarding import Step
from tenants.authentication import principal_of, require_organization
from tenants.fields import checked
from tenants.models import Application, Organization
from tenants.pages import PageQuery
from tenants.quotas import limits
from tenants.usage import Usage

ROLE = "editor"  # what a service token is in Hook0's words


class OrganizationAnswer(serializers.Serializer[Any]):
    organization_id = serializers.UUIDField(source="id")
    name = serializers.CharField()
    role = serializers.CharField(default=ROLE, read_only=True)
    plan = serializers.JSONField(default=None, read_only=True, help_text="There are no plans here.")


class OrganizationQuotas(serializers.Serializer[Any]):
    members_per_organization_limit = serializers.IntegerField(source="members_per_organization")
    applications_per_organization_limit = serializers.IntegerField(source="applications_per_organization")
    events_per_day_limit = serializers.IntegerField(source="events_per_day")
    days_of_events_retention_limit = serializers.IntegerField(source="days_of_events_retention")


class OrganizationConsumption(serializers.Serializer[Any]):
    members = serializers.IntegerField(default=0, read_only=True)
    applications = serializers.IntegerField()
    events_per_day = serializers.IntegerField(
        source="events_today", allow_null=True, help_text="Today's, where quotas are enforced."
    )


class OrganizationOnboarding(serializers.Serializer[Any]):
    application = Step(source="applications")
    event_type = Step(source="has_event_type")
    subscription = Step(source="has_subscription")
    event = Step(source="has_event")


class OrganizationInfoAnswer(serializers.Serializer[Any]):
    organization_id = serializers.UUIDField(source="organization.id")
    name = serializers.CharField(source="organization.name")
    plan = serializers.JSONField(default=None, read_only=True, help_text="There are no plans here.")
    users = serializers.ListField(default=list, read_only=True, help_text="Empty: people are managed in the admin.")
    quotas = OrganizationQuotas(source="limits")
    consumption = OrganizationConsumption(source="usage")
    onboarding_steps = OrganizationOnboarding(source="usage")


class OrganizationQuery(serializers.Serializer[Any]):
    """The query string of what is asked of an organization."""

    organization_id = serializers.UUIDField(required=False, help_text="Left out: the token's own.")


class OrganizationListQuery(OrganizationQuery, PageQuery):
    """The query string of an organization's lists."""


class OrganizationsView(APIView):
    @extend_schema(operation_id="organizations.list", tags=["Organizations"], responses=OrganizationAnswer(many=True))
    def get(self, request: Request) -> Response:
        """The organizations of the token, which is one."""
        organization_id = principal_of(request).organization_id
        require_organization(request, organization_id)
        return Response(OrganizationAnswer(Organization.objects.filter(id=organization_id), many=True).data)


class OrganizationView(APIView):
    usage_of: Callable[[QuerySet[Application]], Usage] = NotImplemented  # hook0.urls knows: those above us count

    @extend_schema(operation_id="organizations.get", tags=["Organizations"], responses=OrganizationInfoAnswer)
    def get(self, request: Request, organization_id: uuid.UUID) -> Response:
        """One organization, with its limits and what it has used of them."""
        require_organization(request, organization_id)
        info = {
            "organization": Organization.objects.get(id=organization_id),
            "limits": limits(),
            "usage": self.usage_of(Application.objects.filter(organization_id=organization_id, deleted_at=None)),
        }
        return Response(OrganizationInfoAnswer(info).data)


def organization_asked_for(request: Request) -> uuid.UUID:
    """The organization of the query string or, without one, of the token, if the caller may act for it."""
    query = checked(OrganizationQuery, request.query_params)
    organization_id: uuid.UUID = query.get("organization_id", principal_of(request).organization_id)
    require_organization(request, organization_id)
    return organization_id
