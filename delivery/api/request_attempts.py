"""`/request_attempts/` and `/responses/`: what became of an application's events."""

import base64
import uuid
from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from delivery.api.reasons import ReasonPost, operator_in
from delivery.attempt_ids import FIRST, LAST, first_after, first_from, tries_of
from delivery.attempts import ENDED, PENDING, Attempt, Sought, find_attempts, find_ended
from delivery.models import AttemptLog
from delivery.outcome import ERRORS
from delivery.problems import AttemptConflict, LaneConflict
from delivery.retry_now import retry_now, subscription_of
from subscriptions.matching import like_pattern
from subscriptions.models import Subscription
from tenants.api.event_types import ApplicationListQuery, ApplicationQuery, application_asked_for
from tenants.authentication import find
from tenants.fields import CommaList, Label, checked
from tenants.pages import Page
from tenants.problems import NotFound, raises

PAGE = 50


class AttemptsQuery(ApplicationListQuery):
    event_id = serializers.UUIDField(required=False)
    subscription_id = serializers.UUIDField(required=False)
    min_created_at = serializers.DateTimeField(required=False)
    max_created_at = serializers.DateTimeField(required=False)
    labels = serializers.ListField(
        child=Label(), required=False, help_text="`key:value` of the event; repeated, it must carry all of them."
    )
    status = CommaList(
        choices=(*sorted(PENDING), *sorted(ENDED)), required=False, help_text="Some of these, separated by commas."
    )
    lane_id = serializers.IntegerField(min_value=1, max_value=2**63 - 1, required=False)
    delivery_id = serializers.UUIDField(required=False, help_text="All tries of one delivery.")
    error_name = serializers.ChoiceField(choices=ERRORS, required=False)
    http_status = serializers.IntegerField(min_value=100, max_value=999, required=False)

    def get_fields(self) -> dict[str, Any]:
        """With the one whose name Python could not write."""
        names = CommaList(
            source="event_types", required=False, help_text="Names, separated by commas; `a.b.*` for all that start so."
        )
        return {**super().get_fields(), "event.event_type_names": names}


class AttemptEvent(serializers.Serializer[Any]):
    event_id = serializers.UUIDField()
    event_type_name = serializers.CharField(source="event_type")


class AttemptSubscription(serializers.Serializer[Any]):
    subscription_id = serializers.UUIDField()
    description = serializers.SerializerMethodField()

    def get_description(self, attempt: Attempt) -> str | None:
        return attempt.description or None


class AttemptStatus(serializers.Serializer[Any]):
    type = serializers.ChoiceField(choices=(*sorted(PENDING), *sorted(ENDED)))
    since = serializers.DateTimeField(allow_null=True, help_text="Of those that have not ended.")
    until = serializers.DateTimeField(allow_null=True, help_text="Of `waiting`.")
    at = serializers.DateTimeField(allow_null=True, help_text="Of those that have ended.")
    full_processing_ms = serializers.IntegerField(allow_null=True, help_text="From when it was due to its end.")


class AttemptProgressAnswer(serializers.Serializer[Any]):
    percent = serializers.IntegerField(allow_null=True)
    stage = serializers.CharField(allow_null=True)
    events_count = serializers.IntegerField(allow_null=True)
    reported_at = serializers.DateTimeField()


class AttemptAnswer(serializers.Serializer[Any]):
    request_attempt_id = serializers.UUIDField(source="id")
    event_id = serializers.UUIDField()
    event = AttemptEvent(source="*")
    subscription = AttemptSubscription(source="*")
    created_at = serializers.DateTimeField(help_text="When its delivery was made.")
    picked_at = serializers.DateTimeField(allow_null=True)
    failed_at = serializers.DateTimeField(allow_null=True)
    succeeded_at = serializers.DateTimeField(allow_null=True)
    delay_until = serializers.DateTimeField(source="due_at", help_text="It is not sent before.")
    response_id = serializers.UUIDField(allow_null=True)
    retry_count = serializers.SerializerMethodField(help_text="How many tries came before.")
    http_response_status = serializers.IntegerField(source="http_status", allow_null=True)
    status = AttemptStatus()
    delivery_id = serializers.UUIDField()
    error_name = serializers.CharField(allow_null=True)
    lane_id = serializers.IntegerField(allow_null=True)
    lane_sequence = serializers.IntegerField(source="lane_seq", allow_null=True)
    progress = AttemptProgressAnswer(
        allow_null=True, help_text="How far the consumer that pulled it says it has come, while it holds it."
    )

    def get_retry_count(self, attempt: Attempt) -> int:
        return attempt.number - 1


class ResponseAnswer(serializers.Serializer[Any]):
    response_id = serializers.UUIDField(source="id")
    response_error_name = serializers.CharField(source="error_name", allow_null=True)
    http_code = serializers.IntegerField(source="http_status", allow_null=True)
    headers = serializers.DictField(source="response_headers", child=serializers.CharField(), allow_null=True)
    body = serializers.SerializerMethodField(help_text="Text, or base64 of what is no UTF-8.")
    body_is_base64 = serializers.SerializerMethodField()
    elapsed_time_ms = serializers.IntegerField(source="elapsed_ms", allow_null=True)

    def get_body(self, attempt: AttemptLog) -> str | None:
        if attempt.response_body is None:
            return None
        body = bytes(attempt.response_body)
        return base64.b64encode(body).decode() if _is_binary(body) else body.decode()

    def get_body_is_base64(self, attempt: AttemptLog) -> bool:
        return _is_binary(bytes(attempt.response_body or b""))


class RequestAttemptsView(APIView):
    @extend_schema(
        operation_id="requestAttempts.read",
        tags=["Request attempts"],
        parameters=[AttemptsQuery],
        responses=AttemptAnswer(many=True),
    )
    def get(self, request: Request) -> Response:
        """The tries of an application's deliveries, pending and ended ones, the newest deliveries first."""
        application_id = application_asked_for(request)
        fields = checked(AttemptsQuery, request.query_params)

        def read(last: Mapping[str, Any] | None, count: int) -> list[Attempt]:
            return find_attempts(sought(application_id, fields, last), most=count)

        page: Page[Attempt] = Page(request, read, by=["-id"], size=PAGE)
        return page.answer(AttemptAnswer(page.rows, many=True).data)


class RequestAttemptView(APIView):
    @extend_schema(
        operation_id="requestAttempts.get",
        tags=["Request attempts"],
        parameters=[ApplicationQuery],
        responses=AttemptAnswer,
    )
    def get(self, request: Request, request_attempt_id: uuid.UUID) -> Response:
        """One try of a delivery."""
        end = uuid.UUID(int=min(request_attempt_id.int + 1, LAST.int))
        found = find_attempts(Sought(application_asked_for(request), since=request_attempt_id, before=end), most=1)
        if not found:
            raise NotFound
        return Response(AttemptAnswer(found[0]).data)


class RetryView(APIView):
    @raises(AttemptConflict, LaneConflict)
    @extend_schema(
        operation_id="requestAttempts.retry", tags=["Request attempts"], request=ReasonPost, responses={204: None}
    )
    def post(self, request: Request, request_attempt_id: uuid.UUID) -> Response:
        """Try again now. What has ended becomes a new delivery; the next try of what is pending is due at once."""
        find(request, Subscription.objects.all(), subscription_of(request_attempt_id))
        retry_now(request_attempt_id, by=operator_in(request))
        return Response(status=204)


class ResponseView(APIView):
    @extend_schema(
        operation_id="response.get", tags=["Request attempts"], parameters=[ApplicationQuery], responses=ResponseAnswer
    )
    def get(self, request: Request, response_id: uuid.UUID) -> Response:
        """What a target answered to a try. Its id is that of the try."""
        application_id = application_asked_for(request)
        found = find_ended(response_id)
        if found is None or found.application_id != application_id:
            raise NotFound
        return Response(ResponseAnswer(found).data)


def sought(application_id: uuid.UUID, fields: dict[str, Any], last: Mapping[str, Any] | None) -> Sought:
    """What a query string asks for, behind the last attempt of the page before."""
    since, before = [FIRST], [LAST]
    if "min_created_at" in fields:
        since.append(first_from(fields["min_created_at"]))
    if "max_created_at" in fields:
        before.append(first_after(fields["max_created_at"]))
    if "delivery_id" in fields:
        first, end = tries_of(fields["delivery_id"])
        since.append(first)
        before.append(end)
    if last is not None:
        before.append(uuid.UUID(last["id"]))
    names = fields.get("event_types")
    return Sought(
        application_id,
        since=max(since),
        before=min(before),
        subscription_id=fields.get("subscription_id"),
        event_id=fields.get("event_id"),
        event_types=[like_pattern(name) for name in names] if names else None,
        states=fields.get("status"),
        lane_id=fields.get("lane_id"),
        labels=fields.get("labels"),
        error_name=fields.get("error_name"),
        http_status=fields.get("http_status"),
    )


def _is_binary(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return True
    return False
