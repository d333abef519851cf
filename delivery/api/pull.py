"""For consumers that pull: `/subscriptions/{id}/poll/`, and `/deliveries/` to say what came of it."""

import base64
import uuid
from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from delivery.attempt_ids import attempt_id
from delivery.finish import Report, extend, finish
from delivery.progress import Progress, report
from delivery.pull import Pulled, Wanted, poll
from delivery.receipts import Receipt, read_receipt
from delivery.webhook import BASE64
from subscriptions import limits
from subscriptions.api.views import find_subscription
from subscriptions.problems import SubscriptionIsNotPull
from tenants.authentication import principal_of
from tenants.fields import StringMap, checked, no_control_characters
from tenants.problems import raises

MOST = 100
MOST_TYPES = 100
ERROR_CHARACTERS = 4_000
STAGE_CHARACTERS = 200


class PollPost(serializers.Serializer[Any]):
    limit = serializers.IntegerField(min_value=1, max_value=MOST, required=False, default=10)
    event_types = serializers.ListField(
        child=serializers.CharField(max_length=limits.EVENT_TYPE_BYTES, validators=[no_control_characters]),
        max_length=MOST_TYPES,
        required=False,
        default=list,
        help_text="Deliveries of these types alone, `billing.*` for all that start so. Empty: of all.",
    )
    labels = StringMap(
        least=0,
        most=limits.LABELS[1],
        entry_bytes=limits.KEY_OR_VALUE_BYTES,
        required=False,
        default=dict,
        help_text="Deliveries of events that carry all of these. Empty: of all.",
    )


class PulledAnswer(serializers.Serializer[Any]):
    token = serializers.CharField(source="receipt", help_text="Names this lease, to acknowledge, reject or extend it.")
    lease_until = serializers.DateTimeField(help_text="From then on others may get it.")
    delivery_id = serializers.UUIDField(source="claimed.delivery_id")
    request_attempt_id = serializers.SerializerMethodField()
    attempt = serializers.IntegerField(source="claimed.try_number", help_text="1 for the first.")
    lane_id = serializers.IntegerField(source="claimed.lane_id", allow_null=True)
    lane_sequence = serializers.IntegerField(source="claimed.lane_seq", allow_null=True)
    event_id = serializers.UUIDField(source="claimed.event_id")
    event_type = serializers.CharField(source="claimed.event_type")
    payload = serializers.SerializerMethodField(help_text="As it was sent: text, or base64 if its type says so.")
    payload_content_type = serializers.CharField(source="claimed.payload_content_type")
    labels = serializers.DictField(child=serializers.CharField())
    metadata = serializers.DictField(child=serializers.CharField())
    occurred_at = serializers.DateTimeField()
    received_at = serializers.DateTimeField(source="claimed.received_at")

    def get_request_attempt_id(self, pulled: Pulled) -> uuid.UUID:
        return attempt_id(pulled.claimed.delivery_id, pulled.claimed.try_number)

    def get_payload(self, pulled: Pulled) -> str:
        if pulled.claimed.payload_content_type.endswith(BASE64):
            return base64.b64encode(pulled.claimed.payload).decode()
        return bytes(pulled.claimed.payload).decode("utf-8", "replace")


class PollAnswer(serializers.Serializer[Any]):
    deliveries = PulledAnswer(many=True)


class PollView(APIView):
    @raises(SubscriptionIsNotPull)
    @extend_schema(operation_id="subscriptions.poll", tags=["Pull"], request=PollPost, responses=PollAnswer)
    def post(self, request: Request, subscription_id: uuid.UUID) -> Response:
        """Lease deliveries that are due, so many at most.

        Each is yours until its lease ends: acknowledge, reject or extend it before. In a lane it is the head alone, and
        the next one comes when that is acknowledged.
        """
        subscription = find_subscription(request, subscription_id)
        body = checked(PollPost, request.data)
        if not subscription.pulls:
            raise SubscriptionIsNotPull
        pulled = poll(subscription, most=body["limit"], wanted=Wanted(body["event_types"], body["labels"]))
        return Response(PollAnswer({"deliveries": pulled}).data)


@extend_schema_field({"type": "string"})
class TokenField(serializers.Field[Receipt, Any, str, Any]):
    """A lease, by the token that came with it."""

    default_error_messages = {"token": "This is no token that came with a delivery."}

    def to_internal_value(self, data: Any) -> Receipt:
        receipt = read_receipt(data) if isinstance(data, str) else None
        if receipt is None:
            self.fail("token")
        return receipt

    def to_representation(self, value: Receipt) -> str:
        return str(value)


class LeasesPost(serializers.Serializer[Any]):
    subscription_id = serializers.UUIDField()


class AckPost(LeasesPost):
    tokens = serializers.ListField(child=TokenField(), min_length=1, max_length=MOST)


class RejectionPost(serializers.Serializer[Any]):
    token = TokenField()
    error = serializers.CharField(
        max_length=ERROR_CHARACTERS,
        trim_whitespace=False,
        allow_blank=True,
        required=False,
        default="",
        help_text="Why; it is kept as the response of the try.",
    )


class NackPost(LeasesPost):
    rejections = serializers.ListField(child=RejectionPost(), min_length=1, max_length=MOST)


class ExtendPost(AckPost):
    lease_seconds = serializers.IntegerField(
        min_value=limits.LEASE_SECONDS[0],
        max_value=limits.LEASE_SECONDS[1],
        required=False,
        help_text="From now on. Left out: as long as the subscription says.",
    )


class ProgressReport(serializers.Serializer[Any]):
    """All but the token may be left out, and stays as it was then."""

    token = TokenField()
    percent = serializers.IntegerField(min_value=0, max_value=100, required=False, allow_null=True)
    stage = serializers.CharField(
        max_length=STAGE_CHARACTERS, required=False, allow_null=True, validators=[no_control_characters]
    )
    events_count = serializers.IntegerField(min_value=0, max_value=2**63 - 1, required=False, allow_null=True)


class ProgressPost(LeasesPost):
    reports = serializers.ListField(child=ProgressReport(), min_length=1, max_length=MOST)


class LeaseAnswer(serializers.Serializer[Any]):
    token = serializers.CharField()
    delivery_id = serializers.UUIDField()
    accepted = serializers.BooleanField(
        help_text="False: the lease had ended, and the delivery is another's, or has ended. Nothing was changed."
    )


class LeasesAnswer(serializers.Serializer[Any]):
    results = LeaseAnswer(many=True, help_text="One for each that was sent, in this order.")


class ExtendedAnswer(LeaseAnswer):
    lease_until = serializers.DateTimeField(allow_null=True)


class ExtendAnswer(serializers.Serializer[Any]):
    results = ExtendedAnswer(many=True, help_text="One for each that was sent, in this order.")


class AckView(APIView):
    @extend_schema(operation_id="deliveries.ack", tags=["Pull"], request=AckPost, responses=LeasesAnswer)
    def post(self, request: Request) -> Response:
        """Acknowledge deliveries: they are done, and the next in their lanes can be fetched."""
        body = checked(AckPost, request.data)
        return _finish(request, body["subscription_id"], [Report(receipt) for receipt in body["tokens"]])


class NackView(APIView):
    @extend_schema(operation_id="deliveries.nack", tags=["Pull"], request=NackPost, responses=LeasesAnswer)
    def post(self, request: Request) -> Response:
        """Reject deliveries: they are due again after the next wait of the retry policy, or given up after the last."""
        body = checked(NackPost, request.data)
        reports = [Report(rejection["token"], rejection["error"]) for rejection in body["rejections"]]
        return _finish(request, body["subscription_id"], reports)


class ExtendView(APIView):
    @extend_schema(operation_id="deliveries.extend", tags=["Pull"], request=ExtendPost, responses=ExtendAnswer)
    def post(self, request: Request) -> Response:
        """Extend leases: they end so long from now."""
        body = checked(ExtendPost, request.data)
        subscription = find_subscription(request, body["subscription_id"])
        seconds = body.get("lease_seconds", subscription.lease_seconds)
        until = extend(subscription.pk, body["tokens"], seconds=seconds)
        results = [
            {**_result(receipt, accepted=receipt in until), "lease_until": until.get(receipt)}
            for receipt in body["tokens"]
        ]
        return Response(ExtendAnswer({"results": results}).data)


class ProgressView(APIView):
    @extend_schema(operation_id="deliveries.progress", tags=["Pull"], request=ProgressPost, responses=LeasesAnswer)
    def post(self, request: Request) -> Response:
        """Report how far deliveries have come: it is shown with their attempts. Leases end when they would have."""
        body = checked(ProgressPost, request.data)
        subscription = find_subscription(request, body["subscription_id"])
        reports = [Progress(each.pop("token"), **each) for each in body["reports"]]
        accepted = report(subscription.pk, reports)
        results = [_result(each.receipt, accepted=each.receipt in accepted) for each in reports]
        return Response(LeasesAnswer({"results": results}).data)


def _finish(request: Request, subscription_id: uuid.UUID, reports: list[Report]) -> Response:
    subscription = find_subscription(request, subscription_id)
    accepted = finish(subscription, reports, by=principal_of(request).name)
    results = [_result(report.receipt, accepted=report.receipt in accepted) for report in reports]
    return Response(LeasesAnswer({"results": results}).data)


def _result(receipt: Receipt, *, accepted: bool) -> dict[str, Any]:
    return {"token": str(receipt), "delivery_id": receipt.delivery_id, "accepted": accepted}
