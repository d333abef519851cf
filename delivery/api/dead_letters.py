"""`/dead_letters/`: deliveries that were given up."""

import uuid
from typing import Any

from django.db.models import Count, Max, Min, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from delivery import dead_letters
from delivery.api.reasons import ReasonPost, operator_in
from delivery.models import DeadLetter
from tenants.api.event_types import ApplicationQuery, application_asked_for
from tenants.authentication import find
from tenants.fields import checked
from tenants.pages import Page, PageQuery


class DeadLetterQuery(ApplicationQuery):
    subscription_id = serializers.UUIDField(required=False)
    reason = serializers.ChoiceField(choices=DeadLetter.Reason.choices, required=False)
    event_type = serializers.CharField(required=False)
    min_died_at = serializers.DateTimeField(required=False)
    max_died_at = serializers.DateTimeField(required=False)


class DeadLetterListQuery(DeadLetterQuery, PageQuery):
    pass


class DeadLetterAnswer(serializers.Serializer[Any]):
    dead_letter_id = serializers.UUIDField(source="id", help_text="The same as the delivery's.")
    subscription_id = serializers.UUIDField()
    event_id = serializers.UUIDField(source="event.event_id")
    event_type = serializers.CharField(source="event.event_type")
    reason = serializers.ChoiceField(choices=DeadLetter.Reason.choices)
    tries = serializers.IntegerField()
    last_error = serializers.CharField(allow_null=True)
    last_http_status = serializers.IntegerField(allow_null=True)
    lane_id = serializers.IntegerField(allow_null=True)
    number = serializers.IntegerField(source="lane_seq", allow_null=True, help_text="In the lane.")
    created_at = serializers.DateTimeField(help_text="When the delivery was made.")
    died_at = serializers.DateTimeField()


class PurgedAnswer(serializers.Serializer[Any]):
    purged = serializers.IntegerField()


class DeadLetterStatsAnswer(serializers.Serializer[Any]):
    subscription_id = serializers.UUIDField()
    reason = serializers.ChoiceField(choices=DeadLetter.Reason.choices)
    amount = serializers.IntegerField()
    first_died_at = serializers.DateTimeField()
    last_died_at = serializers.DateTimeField()


@extend_schema(tags=["Dead letters"])
class DeadLettersView(APIView):
    @extend_schema(
        operation_id="deadLetters.list", parameters=[DeadLetterListQuery], responses=DeadLetterAnswer(many=True)
    )
    def get(self, request: Request) -> Response:
        """The deliveries of an application that were given up, latest first."""
        page = Page(request, _asked_for(request), by=["-died_at", "-id"])
        return page.answer(DeadLetterAnswer(page.rows, many=True).data)

    @extend_schema(operation_id="deadLetters.purge", parameters=[DeadLetterQuery], responses={200: PurgedAnswer})
    def delete(self, request: Request) -> Response:
        """Let all of these go for good. What is filtered out stays."""
        purged = dead_letters.purge(_asked_for(request), by=operator_in(request))
        return Response(PurgedAnswer({"purged": purged}).data)


class DeadLetterStatsView(APIView):
    @extend_schema(
        operation_id="deadLetters.stats",
        tags=["Dead letters"],
        parameters=[DeadLetterQuery],
        responses=DeadLetterStatsAnswer(many=True),
    )
    def get(self, request: Request) -> Response:
        """How many dead letters each subscription has for each reason."""
        groups = _asked_for(request).order_by("subscription_id", "reason").values("subscription_id", "reason")
        counted = groups.annotate(amount=Count("id"), first_died_at=Min("died_at"), last_died_at=Max("died_at"))
        return Response(DeadLetterStatsAnswer(counted, many=True).data)


@extend_schema(tags=["Dead letters"])
class DeadLetterView(APIView):
    @extend_schema(operation_id="deadLetters.get", responses=DeadLetterAnswer)
    def get(self, request: Request, dead_letter_id: uuid.UUID) -> Response:
        """One dead letter."""
        return Response(DeadLetterAnswer(_find(request, dead_letter_id)).data)

    @extend_schema(operation_id="deadLetters.delete", responses={204: None})
    def delete(self, request: Request, dead_letter_id: uuid.UUID) -> Response:
        """Let one go for good."""
        dead_letters.delete(_find(request, dead_letter_id).pk, by=operator_in(request))
        return Response(status=204)


class DeadLetterRequeueView(APIView):
    @extend_schema(operation_id="deadLetters.requeue", tags=["Dead letters"], request=ReasonPost, responses={204: None})
    def post(self, request: Request, dead_letter_id: uuid.UUID) -> Response:
        """Send it again: at the tail of its lane, or before what is ordinary. It is a dead letter no more."""
        dead_letters.requeue(_find(request, dead_letter_id).pk, by=operator_in(request))
        return Response(status=204)


def _asked_for(request: Request) -> QuerySet[DeadLetter]:
    """The dead letters that the query string asks for, if the caller may act on them."""
    application_id = application_asked_for(request)
    wanted = checked(DeadLetterQuery, request.query_params)
    filters = {
        "subscription_id": wanted.get("subscription_id"),
        "reason": wanted.get("reason"),
        "event__event_type": wanted.get("event_type"),
        "died_at__gte": wanted.get("min_died_at"),
        "died_at__lte": wanted.get("max_died_at"),
    }
    given = {name: value for name, value in filters.items() if value is not None}
    return _shown(DeadLetter.objects.filter(subscription__application=application_id, **given))


def _find(request: Request, dead_letter_id: uuid.UUID) -> DeadLetter:
    return find(request, _shown(DeadLetter.objects.all()), dead_letter_id, application="subscription__application")


def _shown(letters: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
    return letters.select_related("event").defer("event__payload")
