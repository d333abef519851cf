"""`/events_per_day/`: how much came in."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from events.per_day import events_per_day
from events.problems import InvalidDateRange
from tenants.api.event_types import application_asked_for
from tenants.authentication import require_organization
from tenants.models import Application
from tenants.problems import raises

DAYS = timedelta(days=30)


class RangeQuery(serializers.Serializer[Any]):
    """Days in UTC, both included."""

    to = serializers.DateField(required=False, help_text="Left out: today.")

    def get_fields(self) -> dict[str, Any]:
        """With the one whose name Python keeps for itself."""
        first = serializers.DateField(source="first", required=False, help_text="Left out: 30 days before `to`.")
        return {"from": first, **super().get_fields()}

    def days(self) -> tuple[date, date]:
        self.is_valid(raise_exception=True)
        last = self.validated_data.get("to") or datetime.now(UTC).date()
        first = self.validated_data.get("first") or max(date.min + DAYS, last) - DAYS
        if first > last:
            raise InvalidDateRange
        return first, last


class ApplicationRangeQuery(RangeQuery):
    application_id = serializers.UUIDField()


class OrganizationRangeQuery(RangeQuery):
    organization_id = serializers.UUIDField()


class DayAnswer(serializers.Serializer[Any]):
    application_id = serializers.UUIDField()
    application_name = serializers.CharField()
    date = serializers.DateField()
    amount = serializers.IntegerField()
    is_provisional = serializers.BooleanField(help_text="The day is not over, or not counted to its end.")


class ApplicationEventsPerDayView(APIView):
    @raises(InvalidDateRange)
    @extend_schema(
        operation_id="eventsPerDay.application",
        tags=["Events"],
        parameters=[ApplicationRangeQuery],
        responses=DayAnswer(many=True),
    )
    def get(self, request: Request) -> Response:
        """How many events an application received on each day; days without events are left out."""
        application_id = application_asked_for(request)
        first, last = ApplicationRangeQuery(data=request.query_params).days()
        counts = events_per_day([application_id], first=first, last=last)
        return Response(DayAnswer(counts, many=True).data)


class OrganizationEventsPerDayView(APIView):
    @raises(InvalidDateRange)
    @extend_schema(
        operation_id="eventsPerDay.organization",
        tags=["Events"],
        parameters=[OrganizationRangeQuery],
        responses=DayAnswer(many=True),
    )
    def get(self, request: Request) -> Response:
        """How many events each application of an organization received on each day; days without any are left out."""
        query = OrganizationRangeQuery(data=request.query_params)
        first, last = query.days()
        organization_id = query.validated_data["organization_id"]
        require_organization(request, organization_id)
        applications = Application.objects.filter(organization_id=organization_id, deleted_at=None)
        counts = events_per_day(list(applications.values_list("id", flat=True)), first=first, last=last)
        return Response(DayAnswer(counts, many=True).data)
