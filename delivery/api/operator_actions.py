"""`/operator_actions/`: who did what to the queue, and why."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from delivery.models import OperatorAction
from tenants.api.event_types import ApplicationListQuery, application_asked_for
from tenants.fields import checked
from tenants.pages import Page


class OperatorActionListQuery(ApplicationListQuery):
    subscription_id = serializers.UUIDField(required=False)
    lane_id = serializers.IntegerField(required=False)
    action = serializers.CharField(required=False)
    actor = serializers.CharField(required=False)
    min_at = serializers.DateTimeField(required=False)
    max_at = serializers.DateTimeField(required=False)


# In the words of `QuerySet.filter`.
_FILTERS = {
    "subscription_id": "subscription_id",
    "lane_id": "lane_id",
    "action": "action",
    "actor": "actor",
    "min_at": "at__gte",
    "max_at": "at__lte",
}


class OperatorActionAnswer(serializers.Serializer[Any]):
    operator_action_id = serializers.IntegerField(source="id")
    at = serializers.DateTimeField()
    actor = serializers.CharField(help_text="The name of a token and how it ends, or a person of the admin, or hook0.")
    action = serializers.CharField()
    reason = serializers.CharField()
    subscription_id = serializers.UUIDField(allow_null=True)
    lane_id = serializers.IntegerField(allow_null=True)
    details = serializers.JSONField()


class OperatorActionsView(APIView):
    @extend_schema(
        operation_id="operatorActions.list",
        tags=["Operator actions"],
        parameters=[OperatorActionListQuery],
        responses=OperatorActionAnswer(many=True),
    )
    def get(self, request: Request) -> Response:
        """What was done to the queues and the bulk loads of an application, the latest first."""
        application_id = application_asked_for(request)
        query = checked(OperatorActionListQuery, request.query_params)
        narrowed = {lookup: query[name] for name, lookup in _FILTERS.items() if name in query}
        found = OperatorAction.objects.filter(application_id=application_id, **narrowed)
        page = Page(request, found, by=["-at", "-id"])
        return page.answer(OperatorActionAnswer(page.rows, many=True).data)
