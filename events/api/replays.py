"""`/replays/`: past events are delivered again, in the background."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from delivery.api.reasons import ReasonPost, operator_in
from events import limits, replays
from events.models import Replay
from subscriptions.api.views import require_subscription
from tenants.api.event_types import ApplicationListQuery, application_asked_for
from tenants.authentication import find, operator_of, require_application
from tenants.fields import StringMap, checked
from tenants.pages import Page
from tenants.problems import NotFound, raises

MOST_EVENT_TYPES = 100


class ReplayPost(ReasonPost):
    application_id = serializers.UUIDField()
    subscription_id = serializers.UUIDField(
        required=False, allow_null=True, default=None, help_text="Left out: all that are enabled."
    )
    since = serializers.DateTimeField()
    until = serializers.DateTimeField(required=False, allow_null=True, default=None, help_text="Left out: now.")
    event_types = serializers.ListField(
        child=serializers.CharField(max_length=limits.EVENT_TYPE_CHARACTERS),
        min_length=1,
        max_length=MOST_EVENT_TYPES,
        required=False,
        allow_null=True,
        default=None,
        help_text="Names, or wildcards.",
    )
    labels = StringMap(
        least=1,
        most=limits.LABEL_ENTRIES,
        entry_bytes=limits.KEY_OR_VALUE_BYTES,
        required=False,
        allow_null=True,
        default=None,
        help_text="Events that carry all of these.",
    )
    status = serializers.ChoiceField(
        choices=["failed", "all"],
        default="failed",
        help_text="`failed`: what has no successful delivery and none that is pending.",
    )

    def validate(self, fields: dict[str, Any]) -> dict[str, Any]:
        if fields["until"] and fields["until"] <= fields["since"]:
            raise serializers.ValidationError({"until": "This must be later than `since`."})
        days = settings.ATTEMPT_RETENTION_DAYS
        if fields["status"] == "failed" and fields["since"] < datetime.now(UTC) - timedelta(days=days):
            raise serializers.ValidationError({"since": f"What was delivered is known for {days} days."})
        return fields


class ReplayAnswer(serializers.Serializer[Any]):
    replay_id = serializers.UUIDField(source="id")
    application_id = serializers.UUIDField()
    subscription_id = serializers.UUIDField(allow_null=True)
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    event_types = serializers.ListField(child=serializers.CharField(), allow_null=True)
    labels = serializers.DictField(child=serializers.CharField(), allow_null=True)
    status = serializers.SerializerMethodField()
    actor = serializers.CharField()
    reason = serializers.CharField()
    state = serializers.ChoiceField(choices=Replay.State.choices)
    total = serializers.IntegerField(allow_null=True, help_text="Events to look at; known when it has started.")
    done = serializers.IntegerField(help_text="Events looked at.")
    deliveries = serializers.IntegerField(help_text="Deliveries made.")
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_status(self, replay: Replay) -> str:
        return "failed" if replay.only_failed else "all"


class ReplayListQuery(ApplicationListQuery):
    subscription_id = serializers.UUIDField(required=False)
    state = serializers.ChoiceField(choices=Replay.State.choices, required=False)


@extend_schema(tags=["Replays"])
class ReplaysView(APIView):
    @raises(NotFound)
    @extend_schema(operation_id="replays.create", request=ReplayPost, responses={202: ReplayAnswer})
    def post(self, request: Request) -> Response:
        """Deliver past events again, in their order: those that failed, or all. It goes on in the background."""
        fields = checked(ReplayPost, request.data)
        require_application(request, fields["application_id"])
        if fields["subscription_id"]:
            require_subscription(fields["application_id"], fields["subscription_id"])
        only_failed, reason = fields.pop("status") == "failed", fields.pop("reason")
        replay = replays.start(**fields, only_failed=only_failed, by=operator_of(request, reason))
        return Response(ReplayAnswer(replay).data, status=202)

    @extend_schema(operation_id="replays.list", parameters=[ReplayListQuery], responses=ReplayAnswer(many=True))
    def get(self, request: Request) -> Response:
        """The replays of an application, latest first."""
        found = Replay.objects.filter(application_id=application_asked_for(request))
        query = checked(ReplayListQuery, request.query_params)
        found = found.filter(**{name: query[name] for name in ("subscription_id", "state") if name in query})
        page = Page(request, found, by=["-created_at", "-id"])
        return page.answer(ReplayAnswer(page.rows, many=True).data)


@extend_schema(tags=["Replays"])
class ReplayView(APIView):
    @extend_schema(operation_id="replays.get", responses=ReplayAnswer)
    def get(self, request: Request, replay_id: uuid.UUID) -> Response:
        """One replay, and how far it has come."""
        return Response(ReplayAnswer(_find(request, replay_id)).data)

    @extend_schema(operation_id="replays.cancel", responses={204: None})
    def delete(self, request: Request, replay_id: uuid.UUID) -> Response:
        """Make no more deliveries. Those that are made stay."""
        replays.cancel(_find(request, replay_id).pk, by=operator_in(request))
        return Response(status=204)


def _find(request: Request, replay_id: uuid.UUID) -> Replay:
    return find(request, Replay.objects.all(), replay_id)
