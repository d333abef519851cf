"""`GET /quotas/`: how much one may have, and what is shown of it beside what it limits."""

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tenants.api.public import PublicView
from tenants.quotas import limits


class LimitsAnswer(serializers.Serializer[Any]):
    global_members_per_organization_limit = serializers.IntegerField(source="members_per_organization")
    global_applications_per_organization_limit = serializers.IntegerField(source="applications_per_organization")
    global_events_per_day_limit = serializers.IntegerField(source="events_per_day")
    global_days_of_events_retention_limit = serializers.IntegerField(source="days_of_events_retention")
    global_subscriptions_per_application_limit = serializers.IntegerField(source="subscriptions_per_application")
    global_event_types_per_application_limit = serializers.IntegerField(source="event_types_per_application")


class QuotasAnswer(serializers.Serializer[Any]):
    enabled = serializers.BooleanField()
    limits = LimitsAnswer()


class QuotasView(PublicView):
    @extend_schema(operation_id="quotas.get", tags=["Installation"], responses=QuotasAnswer)
    def get(self, request: Request) -> Response:
        """Whether quotas are enforced here, and the limits; 2147483647 is none."""
        return Response(QuotasAnswer({"enabled": settings.QUOTAS_ENFORCED, "limits": limits()}).data)
