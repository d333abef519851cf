"""`POST /subscriptions/{id}/rotate_secret`: another signing secret, without a webhook that nobody can verify."""

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from delivery.api.reasons import ReasonPost
from delivery.reconfigure import rotate_secret
from subscriptions.api.views import find_subscription
from tenants.authentication import operator_of
from tenants.fields import checked

DAY_SECONDS = 86_400


class RotateSecretPost(ReasonPost):
    overlap_seconds = serializers.IntegerField(
        min_value=0,
        max_value=7 * DAY_SECONDS,
        required=False,
        default=DAY_SECONDS,
        help_text="For how long the old secret signs along. 0: it is void at once.",
    )


class RotatedSecretAnswer(serializers.Serializer[Any]):
    subscription_id = serializers.UUIDField(source="id")
    secret = serializers.UUIDField(help_text="The new one.")
    previous_secret_until = serializers.DateTimeField(allow_null=True, help_text="How long the old one signs along.")


class RotateSecretView(APIView):
    @extend_schema(
        operation_id="subscriptions.rotateSecret",
        tags=["Subscriptions"],
        request=RotateSecretPost,
        responses=RotatedSecretAnswer,
    )
    def post(self, request: Request, subscription_id: uuid.UUID) -> Response:
        """Give a subscription another signing secret; the old one signs along for a while."""
        subscription = find_subscription(request, subscription_id)
        body = checked(RotateSecretPost, request.data)
        rotated = rotate_secret(
            subscription.pk, overlap_seconds=body["overlap_seconds"], by=operator_of(request, body["reason"])
        )
        return Response(RotatedSecretAnswer(rotated).data)
