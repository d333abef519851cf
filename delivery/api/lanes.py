"""`/lanes/`: where each lane stands, and what can be done about it."""

from functools import partial
from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from delivery import lanes
from delivery.api.reasons import ReasonPost
from delivery.api.verb_views import verb_view
from delivery.heads import find_head
from delivery.models import Lane, Phase
from delivery.problems import LaneConflict
from tenants.api.event_types import ApplicationListQuery, application_asked_for
from tenants.authentication import find, operator_of
from tenants.fields import checked
from tenants.pages import Page
from tenants.problems import raises

STATES = {phase.name.lower(): phase for phase in Phase}


class LaneListQuery(ApplicationListQuery):
    subscription_id = serializers.UUIDField(required=False)
    state = serializers.ChoiceField(choices=list(STATES), required=False)
    key = serializers.CharField(
        required=False, allow_blank=True, trim_whitespace=False, help_text="What `fifo_key` names, of its events."
    )


class SkipToPost(ReasonPost):
    number = serializers.IntegerField(min_value=1, help_text="The first that is not skipped.")


class LaneAnswer(serializers.Serializer[Any]):
    lane_id = serializers.IntegerField(source="id")
    subscription_id = serializers.UUIDField()
    key = serializers.CharField(help_text="What `fifo_key` names, of its events; empty without one.")
    state = serializers.SerializerMethodField()
    is_paused = serializers.BooleanField(help_text="By itself: its subscription may be paused, too.")
    depth = serializers.IntegerField(help_text="How many wait.")
    head_number = serializers.IntegerField(source="head_seq", help_text="The number that is next.")
    tail_number = serializers.IntegerField(source="tail_seq", help_text="The last number that was given out.")
    tries = serializers.IntegerField(help_text="Of the head, a running one included.")
    failing_since = serializers.DateTimeField(source="since", allow_null=True, help_text="Since the head first failed.")
    blocked_since = serializers.DateTimeField(allow_null=True, help_text="The same, if the lane is blocked.")
    next_try_at = serializers.DateTimeField(source="ready_at", allow_null=True, help_text="If it waits.")
    updated_at = serializers.DateTimeField()

    def get_state(self, lane: Lane) -> str:
        return Phase(lane.phase).name.lower()


class HeadAnswer(serializers.Serializer[Any]):
    delivery_id = serializers.UUIDField()
    request_attempt_id = serializers.UUIDField(help_text="Of the last try, or of the first one to come.")
    event_id = serializers.UUIDField()
    event_type = serializers.CharField()
    created_at = serializers.DateTimeField()
    age_seconds = serializers.FloatField()
    tries = serializers.IntegerField()
    last_error = serializers.CharField(allow_null=True)
    last_http_status = serializers.IntegerField(allow_null=True)
    last_tried_at = serializers.DateTimeField(allow_null=True)


class LaneWithHeadAnswer(LaneAnswer):
    head = serializers.SerializerMethodField()

    @extend_schema_field(HeadAnswer(allow_null=True))
    def get_head(self, lane: Lane) -> Any:
        head = find_head(lane)
        return head and HeadAnswer(head).data


@extend_schema(tags=["Lanes"])
class LanesView(APIView):
    @extend_schema(operation_id="lanes.list", parameters=[LaneListQuery], responses=LaneAnswer(many=True))
    def get(self, request: Request) -> Response:
        """The lanes of an application's FIFO subscriptions; of the blocked ones, those that fail longest come first."""
        application_id = application_asked_for(request)
        wanted = checked(LaneListQuery, request.query_params)
        found = Lane.objects.filter(subscription__application=application_id)
        if "subscription_id" in wanted:
            found = found.filter(subscription_id=wanted["subscription_id"])
        if "key" in wanted:
            found = found.filter(key=wanted["key"])
        if "state" in wanted:
            found = found.filter(phase=STATES[wanted["state"]])
        blocked = wanted.get("state") == "blocked"
        page = Page(request, found, by=["since", "id"] if blocked else ["subscription_id", "key"])
        return page.answer(LaneAnswer(page.rows, many=True).data)


@extend_schema(tags=["Lanes"])
class LaneView(APIView):
    @extend_schema(operation_id="lanes.get", responses=LaneWithHeadAnswer)
    def get(self, request: Request, lane_id: int) -> Response:
        """One lane, with its head."""
        return Response(LaneWithHeadAnswer(_find(request, lane_id)).data)


def _find(request: Request, lane_id: int) -> Lane:
    return find(request, Lane.objects.all(), lane_id, application="subscription__application")


_verb = partial(verb_view, tag="Lanes", find=_find, answer=LaneWithHeadAnswer, refusal=LaneConflict)
LaneRetryView = _verb("lanes.retry", lanes.retry_head)
LaneSkipView = _verb("lanes.skip", lanes.skip_head)
LanePauseView = _verb("lanes.pause", lanes.pause)
LaneResumeView = _verb("lanes.resume", lanes.resume)
LaneResetView = _verb("lanes.reset", lanes.reset)
LanePurgeView = _verb("lanes.purge", lanes.purge)


@extend_schema(tags=["Lanes"])
class LaneSkipToView(APIView):
    @raises(LaneConflict)
    @extend_schema(operation_id="lanes.skipTo", request=SkipToPost, responses=LaneWithHeadAnswer)
    def post(self, request: Request, lane_id: int) -> Response:
        """Give up everything before a number. They are kept as dead letters."""
        _find(request, lane_id)
        body = checked(SkipToPost, request.data)
        lanes.skip_to(lane_id, body["number"], by=operator_of(request, body["reason"]))
        return Response(LaneWithHeadAnswer(_find(request, lane_id)).data)
