"""`POST /subscriptions/{id}/retry_blocked`: an endpoint has come back, and so do all the lanes that gave up on it."""

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from delivery import lanes
from delivery.api.reasons import ReasonPost
from subscriptions.api.views import find_subscription
from tenants.authentication import operator_of
from tenants.fields import checked

SPREAD_SECONDS = (0, 86_400)


class RetryBlockedPost(ReasonPost):
    over_seconds = serializers.FloatField(
        min_value=SPREAD_SECONDS[0],
        max_value=SPREAD_SECONDS[1],
        required=False,
        default=0.0,
        help_text="Spread them over so long, so that the endpoint is not trampled.",
    )


class RetryBlockedAnswer(serializers.Serializer[Any]):
    lanes = serializers.IntegerField(help_text="How many were blocked.")


class RetryBlockedView(APIView):
    @extend_schema(
        operation_id="subscriptions.retryBlocked",
        tags=["Lanes"],
        request=RetryBlockedPost,
        responses=RetryBlockedAnswer,
    )
    def post(self, request: Request, subscription_id: uuid.UUID) -> Response:
        """Try the heads of all blocked lanes of a subscription again, spread over a while."""
        subscription = find_subscription(request, subscription_id)
        body = checked(RetryBlockedPost, request.data)
        retried = lanes.retry_blocked(
            subscription.pk, over_seconds=body["over_seconds"], by=operator_of(request, body["reason"])
        )
        return Response(RetryBlockedAnswer({"lanes": retried}).data)
