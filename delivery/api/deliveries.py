"""`/deliveries/`: work that is not done yet."""

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from delivery.api.reasons import ReasonPost
from delivery.dead_letters import cancel
from delivery.models import RequestAttempt
from delivery.statistics import count_deliveries
from subscriptions import limits
from tenants.api.event_types import ApplicationQuery, application_asked_for
from tenants.authentication import operator_of, require_application
from tenants.fields import Label, StringMap, checked

MOST_IDS = 1000


class CancelPost(ReasonPost):
    application_id = serializers.UUIDField()
    delivery_ids = serializers.ListField(
        child=serializers.UUIDField(), min_length=1, max_length=MOST_IDS, required=False
    )
    event_id = serializers.UUIDField(required=False)
    labels = StringMap(
        least=limits.LABELS[0],
        most=limits.LABELS[1],
        entry_bytes=limits.KEY_OR_VALUE_BYTES,
        required=False,
        help_text="Those of events that carry all of these.",
    )

    def validate(self, fields: dict[str, Any]) -> dict[str, Any]:
        if not fields.keys() & {"delivery_ids", "event_id", "labels"}:
            raise serializers.ValidationError({"delivery_ids": "Say which: `delivery_ids`, `event_id` or `labels`."})
        return fields


class CancelAnswer(serializers.Serializer[Any]):
    cancelled = serializers.IntegerField()
    unknown = serializers.ListField(
        child=serializers.UUIDField(), help_text="Of `delivery_ids`, those that are not pending, or not the caller's."
    )


class DeliveryStatsQuery(ApplicationQuery):
    subscription_id = serializers.UUIDField(required=False)
    labels = serializers.ListField(
        child=Label(),
        max_length=limits.LABELS[1],
        required=False,
        default=list,
        help_text="`key:value`; repeated, deliveries of events that carry all of them.",
    )


class DeliveryStatsAnswer(serializers.Serializer[Any]):
    subscription_id = serializers.UUIDField()
    pending = serializers.IntegerField(help_text="That wait, for a retry among others.")
    running = serializers.IntegerField(help_text="That are being sent, or are leased to a consumer.")
    dead = serializers.IntegerField(help_text="Dead letters.")
    total = serializers.IntegerField()
    retries = serializers.IntegerField(help_text="Of all of these, their first tries left out.")


class DeliveryStatsView(APIView):
    @extend_schema(
        operation_id="deliveries.stats",
        tags=["Deliveries"],
        parameters=[DeliveryStatsQuery],
        responses=DeliveryStatsAnswer(many=True),
    )
    def get(self, request: Request) -> Response:
        """How many deliveries wait, run and were given up, by subscription."""
        application_id = application_asked_for(request)
        query = checked(DeliveryStatsQuery, request.query_params)
        counts = count_deliveries(
            application_id, subscription_id=query.get("subscription_id"), labels=dict(query["labels"])
        )
        return Response(DeliveryStatsAnswer(counts, many=True).data)


class CancelView(APIView):
    @extend_schema(operation_id="deliveries.cancel", tags=["Deliveries"], request=CancelPost, responses=CancelAnswer)
    def post(self, request: Request) -> Response:
        """Call pending deliveries off: those that all of the given filters select.

        One that is being sent right now may arrive, but it is not tried again. In a lane they leave, unsent, when
        their turn comes.
        """
        wanted = checked(CancelPost, request.data)
        require_application(request, wanted["application_id"])
        pending = RequestAttempt.objects.filter(subscription__application=wanted["application_id"])
        asked: set[uuid.UUID] = set(wanted.get("delivery_ids", ()))
        unknown = asked - set(pending.filter(id__in=asked).values_list("id", flat=True))
        if asked:
            pending = pending.filter(id__in=asked)
        if "event_id" in wanted:
            pending = pending.filter(event__event_id=wanted["event_id"], event__application=wanted["application_id"])
        if "labels" in wanted:
            pending = pending.filter(event__labels__contains=wanted["labels"])
        cancelled = cancel(pending, by=operator_of(request, wanted["reason"]))
        return Response(CancelAnswer({"cancelled": cancelled, "unknown": sorted(unknown)}).data)
