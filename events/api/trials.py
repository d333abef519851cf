"""`POST /subscriptions/{id}/test`: send a webhook now, and see what the endpoint answers."""

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from delivery.outcome import Outcome
from delivery.problems import TooManyTests
from delivery.trials import send_test
from events import limits
from events.payload import decode_payload
from events.problems import EventInvalidBase64Payload, EventInvalidJsonPayload, EventInvalidPayloadContentType
from subscriptions.api.views import find_subscription
from subscriptions.matching import is_wildcard
from subscriptions.models import Subscription
from subscriptions.problems import SubscriptionIsPull
from tenants.fields import checked, no_control_characters
from tenants.ids import new_id
from tenants.problems import raises

TYPE_OF_TESTS = "hook0.subscription.tested"


class TestPost(serializers.Serializer[Any]):
    event_type = serializers.CharField(
        max_length=limits.EVENT_TYPE_CHARACTERS,
        trim_whitespace=False,
        validators=[no_control_characters],
        required=False,
        help_text="Left out: the first that the subscription lists by its full name.",
    )
    payload = serializers.CharField(
        max_length=limits.PAYLOAD_CHARACTERS,
        trim_whitespace=False,
        allow_blank=True,
        required=False,
        default='{"test": true}',
    )
    payload_content_type = serializers.CharField(
        max_length=limits.CONTENT_TYPE_CHARACTERS, trim_whitespace=False, required=False, default=limits.JSON
    )


class TestAnswer(serializers.Serializer[Any]):
    event_id = serializers.UUIDField(help_text="As the endpoint got it. There is no such event.")
    succeeded = serializers.BooleanField(source="outcome.succeeded")
    response_error_name = serializers.CharField(source="outcome.error_name", allow_null=True)
    http_code = serializers.IntegerField(source="outcome.http_status", allow_null=True)
    headers = serializers.DictField(source="outcome.headers", child=serializers.CharField())
    body = serializers.SerializerMethodField(help_text="What is not UTF-8 is replaced.")
    elapsed_time_ms = serializers.IntegerField(source="outcome.elapsed_ms", allow_null=True)

    def get_body(self, answer: dict[str, Any]) -> str:
        outcome: Outcome = answer["outcome"]
        return outcome.body.decode("utf-8", "replace")


class SubscriptionTestView(APIView):
    @raises(
        EventInvalidPayloadContentType,
        EventInvalidBase64Payload,
        EventInvalidJsonPayload,
        SubscriptionIsPull,
        TooManyTests,
    )
    @extend_schema(operation_id="subscriptions.test", tags=["Subscriptions"], request=TestPost, responses=TestAnswer)
    def post(self, request: Request, subscription_id: uuid.UUID) -> Response:
        """Send a webhook to a subscription's target, past its queue, and answer with what came back.

        It is signed as all are, and carries `X-Hook0-Test: true`. It goes out even if the subscription is disabled,
        paused, or left alone for its failures.
        """
        subscription = find_subscription(request, subscription_id)
        event_id, outcome = try_out(subscription, checked(TestPost, request.data))
        return Response(TestAnswer({"event_id": event_id, "outcome": outcome}).data)


def try_out(subscription: Subscription, fields: dict[str, Any]) -> tuple[uuid.UUID, Outcome]:
    """The id under which a checked body was sent, and what came back."""
    event_id = new_id()
    outcome = send_test(
        subscription,
        event_id=event_id,
        event_type=fields.get("event_type") or _usual_type(subscription),
        payload=decode_payload(fields["payload"], fields["payload_content_type"]),
        content_type=fields["payload_content_type"],
    )
    return event_id, outcome


def _usual_type(subscription: Subscription) -> str:
    return next((name for name in subscription.event_types if not is_wildcard(name)), TYPE_OF_TESTS)
